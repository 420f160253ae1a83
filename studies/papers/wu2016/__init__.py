"""Wu et al. 2016: what its page says, and flaws of its released code."""
