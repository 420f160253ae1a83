"""The equations of ridge problems, as conjugate gradients need them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from rffbench.linalg.conjugate_gradients import column_dots
from rffbench.solvers.iterative.problems import Columns
from rffbench.solvers.ridge.fold_statistics import Solution
from rffbench.solvers.ridge.settings import Scoring

Numbers = NDArray[np.float64]


class System(ABC):
    """The equations (A_j + c_jI)x_j = b_j of `Problems`: ``right`` (size, columns), and how to multiply by them.
    ``feature_s`` and ``precondition_s`` are seconds. P⁻¹r, and so the solutions X, may be in other coordinates than
    r."""

    right: Numbers
    precondition_s: float = 0.0
    passes_before: int = 0
    """The passes that conjugate gradients make before the first step."""

    @property
    def feature_s(self) -> float:
        """The seconds of mapping each row once; 0 if rows are not mapped."""
        return 0.0

    @abstractmethod
    def multiply(self, V: Numbers, columns: Columns) -> Numbers:
        """(A_j + c_jI)v_j for ``columns``, in one pass."""

    @abstractmethod
    def precondition(self, R: Numbers, columns: Columns) -> Numbers:
        """P_j⁻¹r_j for ``columns``."""

    def dots(self, V: Numbers, R: Numbers) -> Numbers:
        """vᵀr for each column of V, in the coordinates of X, and R."""
        return column_dots(V, R)

    def norms(self, R: Numbers) -> tuple[Numbers, Numbers]:
        """√(r_jᵀP_j⁻¹r_j) and ‖r_j‖ for all columns."""
        scaled = self.precondition(R, np.arange(R.shape[1]))
        return np.sqrt(column_dots(scaled, R)), np.linalg.norm(R, axis=0)

    @abstractmethod
    def judge(self, X: Numbers, scoring: Scoring) -> tuple[Numbers, Numbers]:
        """``multiply`` for all columns, and from the same pass the held-out errors (alphas, folds) of the solutions
        X."""

    @abstractmethod
    def solution(self, X: Numbers, columns: Columns) -> Solution:
        """The coefficients (columns of the map, targets) and intercepts of ``columns`` of X, which are of one fold."""
