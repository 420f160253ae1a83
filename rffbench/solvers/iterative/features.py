"""Ridge on features that are mapped anew in each pass: (ZᵀZ + cI)β = Zᵀ(y − ȳ), neither Z nor ZᵀZ ever whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rffbench.linalg.sketches import CountSketch
from rffbench.rowsource import Stopwatch
from rffbench.seeds import generator
from rffbench.solvers.feature_rows import FeatureRows
from rffbench.solvers.iterative.preconditioners import Spectrum, of_nystroem, of_sketch
from rffbench.solvers.iterative.problems import Columns, Problems
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
        self, rows: FeatureRows, problems: Problems, *, transform: Numbers | None = None,
        counting: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self.rows, self.problems, self.transform, self._count = rows, problems, transform, counting
        self.preconditioner: Spectrum | None = None
        self.size = rows.p if transform is None else transform.shape[1]
        self.sums = np.zeros((problems.folds + 1, rows.p))  # of Z's rows, in each fold's fit
        self.precondition_s = 0.0

    def begin(self, kind: Preconditioning, rank: int, sequence: np.random.SeedSequence) -> None:
        """The first pass, and the preconditioner of that ``kind`` and rank."""
        gathered = self._gather()
        if kind == "sketch":
            sketched = CountSketch(self.rows.n, rank, sequence).row_blocks(gathered, self.rows.p)
            if self.problems.center == "both":
                ones = CountSketch(self.rows.n, rank, sequence).row_blocks([np.ones((self.rows.n, 1))], 1)
                sketched -= ones * (self.sums[-1] / self.rows.n)
            with Stopwatch() as watch:
                self.preconditioner = of_sketch(sketched if self.transform is None else sketched @ self.transform)
        elif kind == "nystroem":
            Omega = np.linalg.qr(generator(sequence, "nystroem").standard_normal((self.size, rank)))[0]
            lifted = Omega if self.transform is None else self.transform @ Omega
            product = np.zeros(lifted.shape)
            for Z in gathered:
                V = lifted.astype(Z.dtype, copy=False)
                product += Z.T @ (Z @ V)
            if self.problems.center == "both":
                product -= np.outer(self.sums[-1], self.sums[-1] @ lifted) / self.rows.n
            with Stopwatch() as watch:
                product = product if self.transform is None else self.transform.T @ product
                self.preconditioner = of_nystroem(product, Omega, float(np.finfo(self.rows.dtype).eps))
        else:
            with Stopwatch() as watch:
                for _ in gathered:
                    pass
        self.precondition_s = watch.seconds

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        """One pass."""
        self._count()
        for part, Z, _ in self.rows.visit(np.arange(self.rows.n)):
            yield part, Z

    def _gather(self) -> Iterator[Any]:
        """The blocks of Z, while the right sides and the columns' sums are found."""
        problems = self.problems
        right, index = problems.right_sides()
        found, held = np.zeros((self.rows.p, right.shape[1])), np.zeros_like(self.sums)
        for part, Z in self._blocks():
            found += Z.T @ right[part].astype(Z.dtype)
            held[-1] += Z.sum(axis=0, dtype=np.float64)
            for fold in range(problems.folds):
                out = problems.held_out(fold)
                first, last = max(out.start, part.start) - part.start, min(out.stop, part.stop) - part.start
                if first < last:
                    held[fold] += Z[first:last].sum(axis=0, dtype=np.float64)
            yield Z
        self.sums[:] = held[-1]
        self.sums[:-1] -= held[:-1]
        self.right = self._back(found)[:, index]

    def _back(self, values: Numbers) -> Numbers:
        return values if self.transform is None else self.transform.T @ values

    def _forth(self, V: Numbers) -> Numbers:
        return V if self.transform is None else self.transform @ V

    def multiply(self, V: Numbers, columns: Columns) -> Numbers:
        """See `rffbench.solvers.iterative.ridge_cv.System`."""
        return self._product(V, columns, lambda part, outputs: None)

    def _product(self, V: Numbers, columns: Columns, look: Callable[[slice, Numbers], None]) -> Numbers:
        """(ZᵀDZ + cI)V; ``look`` sees what Z·V is in each block, before rows are left out."""
        problems, lifted = self.problems, self._forth(V)
        shared, product = lifted.astype(self.rows.dtype, copy=False), np.zeros(lifted.shape)
        for part, Z in self._blocks():
            outputs = Z @ shared
            look(part, outputs)
            problems.leave_out(outputs, part, columns)
            product += Z.T @ outputs
        if problems.center == "both":
            sums = self.sums[problems.fold[columns]].T
            product -= sums * (np.einsum("ij,ij->j", sums, lifted) / problems.rows[problems.fold[columns]])
        return self._back(product) + problems.penalties[columns] * V

    def precondition(self, R: Numbers, columns: Columns) -> Numbers:
        """See `rffbench.solvers.iterative.ridge_cv.System`."""
        if self.preconditioner is None:
            return R.copy()
        return self.preconditioner.solve(R, self.problems.penalties[columns], self.problems.share[columns])

    def judge(self, X: Numbers, errors: Numbers, scoring: Scoring) -> Numbers:
        """See `rffbench.solvers.iterative.ridge_cv.System`."""
        problems, every = self.problems, np.arange(len(self.problems))
        intercepts = self._intercepts(self._forth(X), every)

        def look(part: slice, outputs: Numbers) -> None:
            problems.add_errors(errors, outputs + intercepts, part, every, scoring)

        return self._product(X, every, look)

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
