"""Büchel et al. 2024: what its page says, and flaws of its released code."""
