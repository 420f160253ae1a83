"""A config of 8 small trials on embedded data."""

TINY = """\
name: tiny
datasets: [digits]
preprocess: minmax
kernel: {name: gaussian, sigma: 2.0}
n_features: [8, 16]
methods:
  RFF: {features: fourier}
  Ours: {features: surrogate-leverage}
solver: {name: ridge, lambda: [0.001, 0.01], folds: 3}
trials: 2
kernel_error_points: 100
"""
