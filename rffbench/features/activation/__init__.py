"""Activations of random linear and affine functions."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "activation": "rffbench.features.activation.random_layer:ActivationFeatures",
    "positive": "rffbench.features.activation.positive:PositiveFeatures",
    "perceptron": "rffbench.features.activation.perceptron:PerceptronFeatures",
}

__getattr__ = classes_of(FEATURES)
