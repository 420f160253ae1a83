"""The rate at which a feature map's kernel nears the exact one, and rows that are served on demand."""

from rffbench.features.checks import GAMMA, SIZES, X, Y, errors, largest_bias, slope

__all__ = ["GAMMA", "SIZES", "ServedRows", "X", "Y", "errors", "largest_bias", "slope"]


class ServedRows:
    """Rows that can only be had a block at a time."""

    def __init__(self, X):
        self._X, self.shape, self.dtype, self.largest = X, X.shape, X.dtype, 0

    def __getitem__(self, rows):
        self.largest = max(self.largest, rows.stop - rows.start)
        return self._X[rows]
