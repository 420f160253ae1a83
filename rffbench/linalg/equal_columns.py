"""Equal columns of a matrix, merged: the same kernel and the same ridge from fewer columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class EqualColumns:
    """What is left of a matrix's columns when equal ones are merged: of k columns z one, z√k, of the same kernel.

    To ridge they are the same too: its coefficient is √k times each of the k. ``first`` (columns left,): the first of
    each; ``of`` (columns,): which of those left each became; ``root`` (columns left,): √k.
    """

    first: NDArray[np.int64]
    of: NDArray[np.int64]
    root: NDArray[np.float64]

    @classmethod
    def side_by_side(cls, columns: NDArray) -> EqualColumns:
        """Of ``columns`` (rows, columns) in which equal ones are neighbours; their order stays."""
        new = np.append(True, (columns[:, 1:] != columns[:, :-1]).any(axis=0))
        first = np.flatnonzero(new)
        return cls(first, np.cumsum(new) - 1, np.sqrt(np.diff(np.append(first, len(new)))))

    @classmethod
    def anywhere(cls, columns: NDArray) -> EqualColumns:
        """Of any ``columns`` (rows, columns); those left are sorted by their first entries, then their second, …."""
        order = np.lexsort(columns[::-1])
        sorted_ = cls.side_by_side(columns[:, order])
        of = np.empty_like(sorted_.of)
        of[order] = sorted_.of
        return cls(order[sorted_.first], of, sorted_.root)

    def spread(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients (columns left, t) as those of all columns."""
        return (coef / self.root[:, None])[self.of]

    def collapse(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients of all columns, (columns,) or (columns, t), as those of the columns left."""
        sums = np.zeros((len(self.root), *coef.shape[1:]))
        np.add.at(sums, self.of, coef)
        return (sums.T / self.root).T
