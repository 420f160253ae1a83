"""Ridge on sparse features of more columns than rows, without vectors as long as the columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rffbench.linalg.conjugate_gradients import column_dots
from rffbench.linalg.row_gram import RowGram
from rffbench.solvers.iterative.kernel import KernelSystem
from rffbench.solvers.iterative.problems import Columns, Problems
from rffbench.solvers.iterative.system import Numbers
from rffbench.solvers.iterative.tiles import SparseTiles
from rffbench.solvers.ridge.fold_statistics import Solution
from rffbench.solvers.ridge.settings import Scoring


class RowSystem(KernelSystem):
    """The equations of `FeatureSystem` without a preconditioner, (ZᵀDZ + cI)β = ZᵀD(y − ȳ), for Z (n, p) with p > n.

    All vectors of conjugate gradients are combinations of Z's rows. A residual ZᵀDρ is kept as ρ (n,), a direction or a
    solution ZᵀDa as a and Ka, (2n,), with K = DZZᵀD. Then (ZᵀDZ + cI)ZᵀDa = ZᵀD(Ka + ca), and the product of ZᵀDa with
    a residual ZᵀDρ is (Ka)ᵀρ. So the steps and the residuals' norms are those of `FeatureSystem`, and each step needs
    one product with K, for the residual.
    """

    passes_before = 1  # for the first residual
    matrix: RowGram

    def __init__(self, tiles: SparseTiles, problems: Problems, counting: Callable[[], object]) -> None:
        super().__init__(RowGram(tiles.mapped(), len(problems)), problems, counting)
        self._feature_s = tiles.feature_s

    @property
    def feature_s(self) -> float:
        """See `rffbench.solvers.iterative.system.System`."""
        return self._feature_s

    def multiply(self, V: Numbers, columns: Columns) -> Numbers:
        """Ka + ca for the vectors (a, Ka)."""
        a, Ka = np.split(V, 2)
        return Ka + self.problems.penalties[columns] * a

    def precondition(self, R: Numbers, columns: Columns) -> Numbers:
        """(ρ, Kρ) for the residuals ρ: the same vectors, in the coordinates of solutions."""
        self._count()
        return np.concatenate([R, self.projected(self.matrix.times(R), columns)])

    def dots(self, V: Numbers, R: Numbers) -> Numbers:
        """See `rffbench.solvers.iterative.system.System`."""
        return column_dots(np.split(V, 2)[1], R)

    def norms(self, R: Numbers) -> tuple[Numbers, Numbers]:
        """‖ZᵀDρ‖, twice."""
        norms = np.sqrt(column_dots(self.matrix.times(R), R))
        return norms, norms

    def judge(self, X: Numbers, scoring: Scoring) -> tuple[Numbers, Numbers]:
        """See `rffbench.solvers.iterative.system.System`."""
        return super().judge(np.split(X, 2)[0], scoring)

    def solution(self, X: Numbers, columns: Columns) -> Solution:
        """See `rffbench.solvers.iterative.system.System`."""
        a, intercept = super().solution(np.split(X, 2)[0], columns)
        return self.matrix.transposed_times(a), intercept
