"""Maps that depend on the training rows: landmarks, and subspaces of the data."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "tefm": "rffbench.features.data_dependent.tefm:TrainingEfficientFeatureMap",
    "nystroem": "rffbench.features.data_dependent.nystroem:NystroemFeatures",
}

__getattr__ = classes_of(FEATURES)
