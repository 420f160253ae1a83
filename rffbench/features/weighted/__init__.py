"""Frequencies drawn from a pool by scores, and weighted for it."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "leverage": "rffbench.features.weighted.leverage:LeverageScoreFeatures",
    "surrogate-leverage": "rffbench.features.weighted.surrogate:SurrogateLeverageFeatures",
}

__getattr__ = classes_of(FEATURES)
