"""Ridge on features that are mapped again in each pass: (ZᵀZ + cI)β = Zᵀ(y − ȳ), without all of Z or ZᵀZ in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import generator
from rffbench.linalg.sketches import CountSketch
from rffbench.solvers.iterative.preconditioners import Spectrum, of_nystroem, of_sketch
from rffbench.solvers.iterative.problems import Columns, Problems
from rffbench.solvers.iterative.system import System
from rffbench.solvers.iterative.tiles import Sums, Tiles, Work
from rffbench.solvers.ridge.fold_statistics import Solution
from rffbench.solvers.ridge.settings import Scoring

Numbers = NDArray[np.float64]
Preconditioning = Literal["nystroem", "sketch", "none"]


@dataclass(frozen=True)
class FirstPass:
    """For a tile, Zᵀ times the right sides and the folds' indicators, (p, (folds + 1)(targets + 1)), and ZᵀZΩ (p,
    r)."""

    Omega: NDArray | None = None

    def __call__(self, problems: Problems, rows: slice, Z: NDArray) -> tuple[NDArray, ...]:
        both = np.hstack([problems.right_sides(rows), problems.belongs(rows)]).astype(Z.dtype, copy=False)
        return (Z.T @ both,) if self.Omega is None else (Z.T @ both, Z.T @ (Z @ self.Omega))


@dataclass(frozen=True)
class Product:
    """For a tile, ZᵀDZV for the problems ``columns`` of V (p, t), where D holds out rows; with ``intercepts`` (t,) also
    the tile's part of the held-out errors, from the outputs ZV."""

    V: NDArray
    columns: Columns
    intercepts: Numbers | None = None
    scoring: Scoring = None

    def __call__(self, problems: Problems, rows: slice, Z: NDArray) -> tuple[NDArray, ...]:
        outputs = Z @ self.V
        errors: tuple[NDArray, ...] = ()
        if self.intercepts is not None:
            errors = (problems.errors(outputs + self.intercepts, rows, self.columns, self.scoring),)
        problems.leave_out(outputs, rows, self.columns)
        return (Z.T @ outputs, *errors)


class FeatureSystem(System):
    """The normal equations of ridge on Z·T, with features Z and a change of coordinates T (p, r), None for identity.

    With ``center='both'`` the columns' means are subtracted. The first pass computes the right sides and the products
    for the preconditioner.
    """

    def __init__(
        self, tiles: Tiles, problems: Problems, *, transform: Numbers | None = None,
        counting: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self.tiles, self.problems, self.transform, self._count = tiles, problems, transform, counting
        self.preconditioner: Spectrum | None = None
        self.size = tiles.p if transform is None else transform.shape[1]
        self.sums = np.zeros((problems.folds + 1, tiles.p))  # of Z's rows, in each fold's fit

    @property
    def feature_s(self) -> float:
        """See `rffbench.solvers.iterative.system.System`."""
        return self.tiles.feature_s

    def begin(self, kind: Preconditioning, rank: int, sequence: np.random.SeedSequence) -> None:
        """Make the first pass and the preconditioner, of this ``kind`` and rank."""
        if kind == "sketch":
            sketched = self._sketched(rank, sequence)
            with Stopwatch() as watch:
                self.preconditioner = of_sketch(sketched if self.transform is None else sketched @ self.transform)
            self.precondition_s = watch.seconds
        elif kind == "nystroem":
            Omega = np.linalg.qr(generator(sequence, "nystroem").standard_normal((self.size, rank)))[0]
            lifted = self._forth(Omega)
            sums, product = self._pass(FirstPass(lifted.astype(self.tiles.dtype, copy=False)))
            self._learn(sums)
            if self.problems.center == "both":
                product -= np.outer(self.sums[-1], self.sums[-1] @ lifted) / self.tiles.n
            with Stopwatch() as watch:
                product = self._back(product)
                self.preconditioner = of_nystroem(product, Omega, float(np.finfo(self.tiles.dtype).eps))
            self.precondition_s = watch.seconds
        else:
            self._learn(*self._pass(FirstPass()))

    def with_tiles(self, tiles: Tiles) -> FeatureSystem:
        """The same equations and preconditioner on other ``tiles``; it takes a pass."""
        made = FeatureSystem(tiles, self.problems, transform=self.transform, counting=self._count)
        made._learn(*made._pass(FirstPass()))
        made.preconditioner = self.preconditioner
        return made

    def _pass(self, work: Work) -> Sums:
        self._count()
        return self.tiles.total(work, self.problems)

    def _learn(self, found: Numbers) -> None:
        """Set the right sides, and the columns' sums in each fold's fit, from the sums of the first pass."""
        split = found.shape[1] - (self.problems.folds + 1)
        self.sums[:] = found[:, split:].T
        self.sums[:-1] = self.sums[-1] - self.sums[:-1]
        self.right = self._back(found[:, :split])[:, self.problems.of_right_side]

    def _sketched(self, rank: int, sequence: np.random.SeedSequence) -> Numbers:
        """``rank`` random sums of the rows of Z, centred like the problems."""
        found = np.zeros((self.tiles.p, 0))
        self._count()

        def blocks() -> Iterator[Any]:
            nonlocal found
            for _, Z, (sums,) in self.tiles.visit(partial(FirstPass(), self.problems)):
                found = found + sums if found.size else sums.astype(np.float64)
                yield Z

        sketched = CountSketch(self.tiles.n, rank, sequence).row_blocks(blocks(), self.tiles.p)
        self._learn(found)
        if self.problems.center == "both":
            ones = CountSketch(self.tiles.n, rank, sequence).row_blocks([np.ones((self.tiles.n, 1))], 1)
            sketched -= ones * (self.sums[-1] / self.tiles.n)
        return sketched

    def _back(self, values: Numbers) -> Numbers:
        return values if self.transform is None else self.transform.T @ values

    def _forth(self, V: Numbers) -> Numbers:
        return V if self.transform is None else self.transform @ V

    def multiply(self, V: Numbers, columns: Columns) -> Numbers:
        """See `rffbench.solvers.iterative.system.System`."""
        lifted = self._forth(V)
        (product,) = self._pass(Product(lifted.astype(self.tiles.dtype, copy=False), columns))
        return self._completed(product, V, lifted, columns)

    def _completed(self, product: Numbers, V: Numbers, lifted: Numbers, columns: Columns) -> Numbers:
        """(ZᵀDZ + cI)V from ZᵀDZV, with Z centred like the problems."""
        problems = self.problems
        if problems.center == "both":
            sums = self.sums[problems.fold[columns]].T
            product -= sums * (np.einsum("ij,ij->j", sums, lifted) / problems.rows[problems.fold[columns]])
        return self._back(product) + problems.penalties[columns] * V

    def precondition(self, R: Numbers, columns: Columns) -> Numbers:
        """See `rffbench.solvers.iterative.system.System`."""
        if self.preconditioner is None:
            return R
        return self.preconditioner.solve(R, self.problems.penalties[columns], self.problems.share[columns])

    def judge(self, X: Numbers, scoring: Scoring) -> tuple[Numbers, Numbers]:
        """See `rffbench.solvers.iterative.system.System`."""
        every, lifted = np.arange(len(self.problems)), self._forth(X)
        work = Product(lifted.astype(self.tiles.dtype, copy=False), every, self._intercepts(lifted, every), scoring)
        product, errors = self._pass(work)
        return self._completed(product, X, lifted, every), errors

    def _intercepts(self, coef: Numbers, columns: Columns) -> Numbers:
        problems, folds = self.problems, self.problems.fold[columns]
        means = problems.y_means[folds, problems.target[columns]]
        if problems.center == "both":
            means = means - np.einsum("ij,ji->i", self.sums[folds], coef) / problems.rows[folds]
        return means

    def solution(self, X: Numbers, columns: Columns) -> Solution:
        """See `rffbench.solvers.iterative.system.System`."""
        coef = self._forth(X[:, columns])
        return coef, self._intercepts(coef, columns)
