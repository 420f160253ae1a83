"""The meaning of a config: its values, its experiment and its grid of trials."""
