"""Maps of grids and trees: a column for every cell that a training row is in, and rows that are sparse."""

from rffbench.features.lazy import classes_of

FEATURES = {"random-binning": "rffbench.features.binning.random_binning:RandomBinningFeatures"}

__getattr__ = classes_of(FEATURES)
