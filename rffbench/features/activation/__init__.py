"""Activations of random affine functions."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "perceptron": "rffbench.features.activation.perceptron:PerceptronFeatures",
}

__getattr__ = classes_of(FEATURES)
