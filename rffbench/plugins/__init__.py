"""Names in configs: the built-in parts, parts of other packages, and classes in a user's own file."""
