"""Merged equal columns of a matrix, for the same kernel and the same ridge solution from fewer columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class EqualColumns:
    """The columns of a matrix after equal ones are merged: k equal columns z become one, z√k, with the same kernel.

    In ridge regression the merged column's coefficient is √k times that of each of the k. ``first`` (merged,): the
    first of each group; ``of`` (columns,): each column's group; ``root`` (merged,): √k.
    """

    first: NDArray[np.int64]
    of: NDArray[np.int64]
    root: NDArray[np.float64]

    @classmethod
    def side_by_side(cls, columns: NDArray) -> EqualColumns:
        """Merge ``columns`` (rows, columns) in which equal ones are neighbours, in their order."""
        new = np.append(True, (columns[:, 1:] != columns[:, :-1]).any(axis=0))
        first = np.flatnonzero(new)
        return cls(first, np.cumsum(new) - 1, np.sqrt(np.diff(np.append(first, len(new)))))

    @classmethod
    def anywhere(cls, columns: NDArray) -> EqualColumns:
        """Merge any ``columns`` (rows, columns); the merged ones are sorted by their first entry, then the second, …"""
        order = np.lexsort(columns[::-1])
        sorted_ = cls.side_by_side(columns[:, order])
        of = np.empty_like(sorted_.of)
        of[order] = sorted_.of
        return cls(order[sorted_.first], of, sorted_.root)

    def spread(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients of all columns, from those of the merged columns, (merged, t)."""
        return (coef / self.root[:, None])[self.of]

    def collapse(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients of the merged columns, from those of all columns, (columns,) or (columns, t)."""
        sums = np.zeros((len(self.root), *coef.shape[1:]))
        np.add.at(sums, self.of, coef)
        return (sums.T / self.root).T
