"""Frequencies drawn from a pool by scores, and weighted for it."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "leverage": "rffbench.features.weighted.leverage:LeverageScoreFeatures",
    "surrogate-leverage": "rffbench.features.weighted.surrogate:SurrogateLeverageFeatures",
    "eerf": "rffbench.features.weighted.eerf:EnergyBasedFeatures",
    "kernel-alignment": "rffbench.features.weighted.kernel_alignment:KernelAlignmentFeatures",
}

__getattr__ = classes_of(FEATURES)
