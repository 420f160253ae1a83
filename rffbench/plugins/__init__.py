"""What has a name in configs: the built-in parts, those of other packages, and classes in a user's own file."""
