"""Frequencies chosen by the training rows: from a pool by scores, and weighted for it, or by steps of resampling."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "leverage": "rffbench.features.weighted.leverage:LeverageScoreFeatures",
    "surrogate-leverage": "rffbench.features.weighted.surrogate:SurrogateLeverageFeatures",
    "eerf": "rffbench.features.weighted.eerf:EnergyBasedFeatures",
    "kernel-alignment": "rffbench.features.weighted.kernel_alignment:KernelAlignmentFeatures",
    "adaptive-resampling": "rffbench.features.weighted.adaptive:AdaptiveResamplingFeatures",
}

__getattr__ = classes_of(FEATURES)
