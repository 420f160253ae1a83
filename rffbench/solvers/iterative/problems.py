"""Ridge problems that are solved together: one for each held-out fold and for all rows, each λ and each target."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rffbench.solvers.ridge.fold_statistics import fold_bounds, mean_error, penalty
from rffbench.solvers.ridge.settings import Center, Scoring

Columns = NDArray[np.int64]


class Problems:
    """The columns of a block of right sides, in the order (fold, λ, target), with the target changing fastest.

    With several λ, the problems of fold k < ``folds`` are fitted to all rows except those of fold k, and the problems
    of fold ``folds`` to all rows. With one λ there are only the latter, and ``folds`` is 0. Folds are contiguous rows.
    """

    def __init__(
        self, Y: NDArray[np.float64], alphas: Sequence[float], folds: int, lambda_scale: object, center: Center
    ) -> None:
        self.n, self.targets = Y.shape
        self.Y, self._first, self.center = Y, 0, center  # the targets of rows from this one on
        self.alphas = [float(alpha) for alpha in alphas]
        self.folds = folds if len(self.alphas) > 1 else 0
        self.bounds = fold_bounds(self.n, self.folds) if self.folds else [0, self.n]
        grid = np.indices((self.folds + 1, len(self.alphas), self.targets)).reshape(3, -1)
        self.fold, self.alpha, self.target = grid
        held = np.diff(self.bounds) if self.folds else np.empty(0, int)
        self.rows = self.n - np.append(held, 0)  # of each fold's fit
        self.penalties = np.array(
            [penalty(self.alphas[a], self.rows[f], lambda_scale) for f, a in zip(self.fold, self.alpha, strict=True)]  # type: ignore[arg-type]
        )
        self.y_means = np.zeros((self.folds + 1, self.targets))
        if center:
            for fold in range(self.folds + 1):
                held_out = self.held_out(fold)
                total = Y.sum(axis=0) - Y[held_out].sum(axis=0)
                self.y_means[fold] = total / self.rows[fold]

    def __len__(self) -> int:
        return len(self.fold)

    @property
    def share(self) -> NDArray[np.float64]:
        """For each column, the share of the rows that it is fitted to."""
        return self.rows[self.fold] / self.n

    def part(self, rows: slice) -> Problems:
        """The same problems with the targets of ``rows`` alone, for a process that visits no others."""
        mine = copy.copy(self)
        mine.Y, mine._first = self._targets(rows), rows.start
        return mine

    def _targets(self, rows: slice) -> NDArray[np.float64]:
        return self.Y[rows.start - self._first : rows.stop - self._first]

    def held_out(self, fold: int) -> slice:
        """The rows that ``fold`` holds out."""
        return slice(self.bounds[fold], self.bounds[fold + 1]) if fold < self.folds else slice(0, 0)

    def leave_out(self, values: NDArray, rows: slice, columns: Columns) -> None:
        """Set the entries of ``values`` (rows, columns), of the block ``rows``, to 0 where a column holds out a row."""
        for fold in range(self.folds):
            values[self._within(fold, rows), self.fold[columns] == fold] = 0

    @property
    def of_right_side(self) -> NDArray[np.int64]:
        """For each column, its column of `right_sides`."""
        return self.fold * self.targets + self.target

    def right_sides(self, rows: slice) -> NDArray[np.float64]:
        """y − ȳ of ``rows``, 0 where held out, for each fold and target: (rows, (folds + 1)·targets)."""
        right = np.tile(self._targets(rows), self.folds + 1) - self.y_means.ravel()
        for fold in range(self.folds):
            right[self._within(fold, rows), fold * self.targets : (fold + 1) * self.targets] = 0
        return right

    def belongs(self, rows: slice) -> NDArray[np.float64]:
        """(rows, folds + 1): 1 where a fold holds out a row, and in the last column, for all rows; else 0."""
        belongs = np.zeros((rows.stop - rows.start, self.folds + 1))
        for fold in range(self.folds):
            belongs[self._within(fold, rows), fold] = 1
        belongs[:, self.folds] = 1
        return belongs

    def _within(self, fold: int, rows: slice) -> slice:
        """The rows that ``fold`` holds out, counted within the block ``rows``."""
        held = self.held_out(fold)
        first, last = max(held.start, rows.start), min(held.stop, rows.stop)
        return slice(first - rows.start, max(first, last) - rows.start)

    def of_all_rows(self, alpha: int) -> Columns:
        """The columns of the fit to all rows with λ number ``alpha``, one per target."""
        return np.flatnonzero((self.fold == self.folds) & (self.alpha == alpha))

    def errors(self, outputs: NDArray, rows: slice, columns: Columns, scoring: Scoring) -> NDArray[np.float64]:
        """The contribution of the block ``rows`` to the held-out errors (alphas, folds), from its ``outputs`` (rows,
        columns), intercepts included. ``columns`` has all targets of a fold and λ, or none."""
        errors = np.zeros((len(self.alphas), self.folds))
        for fold in range(self.folds):
            held, within = self.held_out(fold), self._within(fold, rows)
            if within.start >= within.stop:
                continue
            share = (within.stop - within.start) / (held.stop - held.start)
            Y = self._targets(slice(rows.start + within.start, rows.start + within.stop))
            for alpha in range(len(self.alphas)):
                of = (self.fold[columns] == fold) & (self.alpha[columns] == alpha)
                errors[alpha, fold] = share * mean_error(outputs[within, of], Y, scoring)
        return errors
