"""Platt's sigmoids: probabilities of the classes from decision scores of held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Calibrate = Literal["platt"] | None
"""The parameter ``calibrate`` of solvers without probabilities: how a trial finds them from held-out rows' scores."""


def by_class(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Decision scores with one column per class, also for two classes, where a solver gives one number per row."""
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


@dataclass
class Sigmoids:
    """The sigmoids 1/(1 + exp(−(a·s + b))) of the scores s of each class; of two classes only of the second."""

    slopes: NDArray[np.float64]
    intercepts: NDArray[np.float64]

    @classmethod
    def fit(
        cls, scores: NDArray[np.float64], right: NDArray[np.bool_], weights: NDArray[np.float64] | None = None
    ) -> Sigmoids:
        """Fit to decision ``scores`` (m, c) of held-out rows; ``right`` (m, c) is True for a row's class,
        ``weights`` (m,) are those of the rows.

        With m₊ rows of the class and m₋ others, the targets are (m₊ + 1)/(m₊ + 2) and 1/(m₋ + 2), so that a and b are
        finite even if the scores separate the classes (Platt 1999, Section 2.2; Zadrozny & Elkan 2002 for several
        classes).
        """
        from sklearn.linear_model import LogisticRegression  # late, as in kernels/bandwidth.py

        columns = range(1, 2) if scores.shape[1] == 2 else range(scores.shape[1])
        of_rows = np.ones(len(scores)) if weights is None else weights
        spread, m = float(scores.std()) or 1.0, float(of_rows.sum())
        slopes, intercepts = [], []
        for at in columns:
            positive = float(of_rows[right[:, at]].sum())
            target = np.where(right[:, at], (positive + 1) / (positive + 2), 1 / (m - positive + 2))
            # A row with target t counts as t rows of the class and 1 − t rows of the others.
            rows, labels = np.tile(scores[:, [at]] / spread, (2, 1)), np.repeat([True, False], len(scores))
            shares = np.concatenate([target * of_rows, (1 - target) * of_rows])
            found = LogisticRegression(C=1e9, max_iter=1000).fit(rows, labels, shares)
            slopes.append(float(found.coef_[0, 0]) / spread)
            intercepts.append(float(found.intercept_[0]))
        return cls(np.array(slopes), np.array(intercepts))

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities (n, c) of decision scores (n, c); rows sum to 1."""
        used = scores[:, 1:] if scores.shape[1] == 2 else scores
        P = expit(used * self.slopes + self.intercepts)
        if scores.shape[1] == 2:
            return np.column_stack([1 - P[:, 0], P[:, 0]])
        total = P.sum(axis=1, keepdims=True)
        return np.divide(P, total, out=np.full_like(P, 1 / P.shape[1]), where=total > 0)
