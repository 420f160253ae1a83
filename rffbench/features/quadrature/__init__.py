"""Frequencies at the points of a quadrature rule, random or not."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "qmc": "rffbench.features.quadrature.qmc:QuasiMonteCarloFeatures",
    "quadrature": "rffbench.features.quadrature.spherical_radial:QuadratureFeatures",
    "gauss-hermite": "rffbench.features.quadrature.gauss_hermite:GaussHermiteFeatures",
}

__getattr__ = classes_of(FEATURES)
