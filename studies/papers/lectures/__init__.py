"""Lecture notes on random Fourier features: their bounds beside the errors, and from which dimension quick maps pay."""
