"""Wacker et al. 2022: what its page says, and flaws of its released code."""
