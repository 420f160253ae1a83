"""Divide-and-conquer ridge: each of m disjoint parts of the rows is solved separately, and the weights are averaged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import WrongParameter, check_count
from rffbench.features.base import held_bytes
from rffbench.features.hooks import makes_sparse
from rffbench.solvers.base import less_origin, no_singular, read_numbers, rows_of
from rffbench.solvers.ridge.fold_statistics import RidgeSolution, fold_bounds
from rffbench.solvers.ridge.settings import ALPHAS, Center, Method, RidgeScale
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.solvers.ridge.streaming import Streaming


class _PartitionedRidge(Streaming):
    alphas: Sequence[float]
    _unmixes = False  # parts have too few rows for it

    def __init__(
        self, alphas: Sequence[float] = ALPHAS[3:4], *, partitions: int = 1, lambda_scale: RidgeScale = "n",
        method: Method | None = None, center: Center = True, features: Any = None, block_rows: int | None = None,
        memory: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(  # type: ignore[call-arg]  # the second base of the classes below
            alphas, lambda_scale=lambda_scale, method=method, center=center, features=features, block_rows=block_rows,
            memory=memory,
        )  # fmt: skip
        self.partitions = partitions

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("partitions", self.partitions, least=1)
        if len(self.alphas) > 1:
            problem = (
                f"must be one number with partitions, got {list(self.alphas)}: a part could choose only for its rows"
            )
            raise WrongParameter("lambda", problem)
        if makes_sparse(self.features):
            raise WrongParameter("partitions", f"must be null for sparse features, got {self.partitions}")

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        alphas, _ = self._begin(X, Y)
        n, targets = Y.shape
        if self.partitions > n:
            raise WrongParameter("partitions", f"must be at most the rows, {n}, got {self.partitions}")
        self._fit_map(X, Y, y)
        kept, weights = held_bytes(getattr(self, "features_", None)), self._weights
        coef, intercept = np.zeros((self._columns, targets)), np.zeros(targets)
        Y = less_origin(Y, self._y_origin)
        for start, stop in pairwise(fold_bounds(n, self.partitions)):
            rows = rows_of(X, slice(start, stop))
            self._weights = None if weights is None else weights[start:stop]
            plan = self._plan((stop - start, read_numbers(X)), self._columns, targets, 1, 1, kept)
            with no_singular():
                solved = self._follow(plan, rows, Y[start:stop], alphas, 1)
            coef += solved.coef / self.partitions
            intercept += solved.intercept / self.partitions
        self.timing_["solve_s"] += self._again_s
        averaged = RidgeSolution(coef, intercept, solved.alpha, solved.fold_error, solved.accuracy)
        self._become(alphas, averaged, single=y.ndim == 1 and targets == 1)

    def bytes_to_fit(self, n: int, d: int) -> int:
        """About the bytes that a fit to (n, d) rows and one target needs besides the rows."""
        return super().bytes_to_fit(-(-n // self.partitions), d)

    def _fit_part(self, X: Any, Y: Any, y: Any) -> None:
        raise ValueError("partial_fit: partitions need all rows at once; StreamedRidgeCV adds rows in parts")


class PartitionedRidgeCV(_PartitionedRidge, StreamedRidgeCV):
    """Divide-and-conquer ridge: β = (1/m)Σⱼ(ZⱼᵀZⱼ + nⱼλI)⁻¹Zⱼᵀyⱼ over m disjoint parts of the rows (Y. Zhang,
    J. Duchi and M. Wainwright, "Divide and conquer kernel ridge regression", JMLR 2015; with random features J. Li,
    Y. Liu and W. Wang, "Distributed learning with random features", 2019).

    One map is fitted to all rows. The parts are contiguous, with sizes that differ by at most 1: shuffle ordered rows.
    A part with fewer rows than columns is solved in the dual, so that the time falls with m. Intercepts are averaged,
    too.

    Parameters
    ----------
    alphas : one λ, since a part could choose only for its rows.
    partitions : m ≥ 1; with 1 it is `StreamedRidgeCV`.
    lambda_scale, method, center, features, block_rows, memory : as in `StreamedRidge`; n are the rows of a part.

    Attributes
    ----------
    coef_, intercept_, alpha_, timing_ : as in `StreamedRidgeCV`; ``accuracy_`` is that of the last part.
    """


class PartitionedRidgeClassifierCV(_PartitionedRidge, StreamedRidgeClassifierCV):
    """The sign of `PartitionedRidgeCV` on targets −1/+1; one against the rest for more classes."""
