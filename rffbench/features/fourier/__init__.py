"""Frequencies drawn independently from the kernel's spectral density."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "fourier": "rffbench.features.fourier.random_fourier:RandomFourierFeatures",
    "moment-matching": "rffbench.features.fourier.moment_matching:MomentMatchingFeatures",
    "low-precision": "rffbench.features.fourier.low_precision:LowPrecisionFeatures",
}

__getattr__ = classes_of(FEATURES)
