"""Ridge on features that are mapped anew in each pass: (ZᵀZ + cI)β = Zᵀ(y − ȳ), neither Z nor ZᵀZ ever whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rffbench.linalg.sketches import CountSketch
from rffbench.rowsource import Stopwatch
from rffbench.seeds import generator
from rffbench.solvers.iterative.preconditioners import Spectrum, of_nystroem, of_sketch
from rffbench.solvers.iterative.problems import Columns, Problems
from rffbench.solvers.iterative.tiles import Tiles
from rffbench.solvers.ridge.fold_statistics import Solution
from rffbench.solvers.ridge.settings import Scoring

Numbers = NDArray[np.float64]
Preconditioning = Literal["nystroem", "sketch", "none"]


class FeatureSystem:
    """The normal equations of ridge on Z·T, Z the features and T (p, r) a change of coordinates, None: the identity.

    With ``center='both'`` the columns' means are taken off. The first pass finds the right sides and what the
    preconditioner needs.
    """

    def __init__(
        self, tiles: Tiles, problems: Problems, *, transform: Numbers | None = None,
        counting: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self.tiles, self.problems, self.transform, self._count = tiles, problems, transform, counting
        self.preconditioner: Spectrum | None = None
        self.size = tiles.p if transform is None else transform.shape[1]
        self.sums = np.zeros((problems.folds + 1, tiles.p))  # of Z's rows, in each fold's fit
        self.precondition_s = 0.0

    @property
    def feature_s(self) -> float:
        """See `rffbench.solvers.iterative.ridge_cv.System`."""
        return self.tiles.feature_s

    def begin(self, kind: Preconditioning, rank: int, sequence: np.random.SeedSequence) -> None:
        """The first pass, and the preconditioner of that ``kind`` and rank."""
        if kind == "sketch":
            sketched = CountSketch(self.tiles.n, rank, sequence).row_blocks(self._gather(lambda Z: Z), self.tiles.p)
            if self.problems.center == "both":
                ones = CountSketch(self.tiles.n, rank, sequence).row_blocks([np.ones((self.tiles.n, 1))], 1)
                sketched -= ones * (self.sums[-1] / self.tiles.n)
            with Stopwatch() as watch:
                self.preconditioner = of_sketch(sketched if self.transform is None else sketched @ self.transform)
        elif kind == "nystroem":
            Omega = np.linalg.qr(generator(sequence, "nystroem").standard_normal((self.size, rank)))[0]
            lifted = Omega if self.transform is None else self.transform @ Omega
            shared, product = lifted.astype(self.tiles.dtype, copy=False), np.zeros(lifted.shape)
            for part in self._gather(lambda Z: Z.T @ (Z @ shared)):
                product += part
            if self.problems.center == "both":
                product -= np.outer(self.sums[-1], self.sums[-1] @ lifted) / self.tiles.n
            with Stopwatch() as watch:
                product = product if self.transform is None else self.transform.T @ product
                self.preconditioner = of_nystroem(product, Omega, float(np.finfo(self.tiles.dtype).eps))
        else:
            with Stopwatch() as watch:
                for _ in self._gather(lambda Z: None):
                    pass
        self.precondition_s = watch.seconds

    def _gather(self, work: Callable[[Any], Any]) -> Iterator[Any]:
        """``work(Z)`` of each tile, while the right sides and the columns' sums are found."""
        problems = self.problems
        right, index = problems.right_sides()
        right = right.astype(self.tiles.dtype, copy=False)
        # Of the rows that each fold leaves out, and of all.
        belongs = np.ones((problems.n, problems.folds + 1), self.tiles.dtype)
        belongs[:, : problems.folds] = 0
        for fold in range(problems.folds):
            belongs[problems.held_out(fold), fold] = 1
        found = np.zeros((self.tiles.p, right.shape[1] + belongs.shape[1]))
        both = np.hstack([right, belongs])
        self._count()
        for _, _, (sums, result) in self.tiles.visit(lambda part, Z: (Z.T @ both[part], work(Z))):
            found += sums
            yield result
        self.sums[:] = found[:, right.shape[1] :].T
        self.sums[:-1] = self.sums[-1] - self.sums[:-1]
        self.right = self._back(found[:, : right.shape[1]])[:, index]

    def _back(self, values: Numbers) -> Numbers:
        return values if self.transform is None else self.transform.T @ values

    def _forth(self, V: Numbers) -> Numbers:
        return V if self.transform is None else self.transform @ V

    def multiply(self, V: Numbers, columns: Columns) -> Numbers:
        """See `rffbench.solvers.iterative.ridge_cv.System`."""
        return self._product(V, columns, lambda rows, outputs: 0.0)[0]

    def _product(self, V: Numbers, columns: Columns, look: Callable[[slice, Numbers], Any]) -> tuple[Numbers, Any]:
        """(ZᵀDZ + cI)V, and the sum of what ``look`` makes of each tile of ZV before rows are left out."""
        problems, lifted = self.problems, self._forth(V)
        shared, product, seen = lifted.astype(self.tiles.dtype, copy=False), np.zeros(lifted.shape), 0.0

        def work(rows: slice, Z: Any) -> tuple[Numbers, Any]:
            outputs = Z @ shared
            looked = look(rows, outputs)
            problems.leave_out(outputs, rows, columns)
            return Z.T @ outputs, looked

        self._count()
        for _, _, (part, looked) in self.tiles.visit(work):
            product += part
            seen = seen + looked
        if problems.center == "both":
            sums = self.sums[problems.fold[columns]].T
            product -= sums * (np.einsum("ij,ij->j", sums, lifted) / problems.rows[problems.fold[columns]])
        return self._back(product) + problems.penalties[columns] * V, seen

    def precondition(self, R: Numbers, columns: Columns) -> Numbers:
        """See `rffbench.solvers.iterative.ridge_cv.System`."""
        if self.preconditioner is None:
            return R.copy()
        return self.preconditioner.solve(R, self.problems.penalties[columns], self.problems.share[columns])

    def judge(self, X: Numbers, scoring: Scoring) -> tuple[Numbers, Numbers]:
        """See `rffbench.solvers.iterative.ridge_cv.System`."""
        problems, every = self.problems, np.arange(len(self.problems))
        intercepts = self._intercepts(self._forth(X), every)
        return self._product(
            X, every, lambda rows, outputs: problems.errors(outputs + intercepts, rows, every, scoring)
        )

    def _intercepts(self, coef: Numbers, columns: Columns) -> Numbers:
        problems, folds = self.problems, self.problems.fold[columns]
        means = problems.y_means[folds, problems.target[columns]]
        if problems.center == "both":
            means = means - np.einsum("ij,ji->i", self.sums[folds], coef) / problems.rows[folds]
        return means

    def solution(self, X: Numbers, columns: Columns) -> Solution:
        """See `rffbench.solvers.iterative.ridge_cv.System`."""
        coef = self._forth(X[:, columns])
        return coef, self._intercepts(coef, columns)
