"""The choice of σ, λ and the trees' settings, by the metric, in folds of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.fit import candidates
from rffbench.fit.candidates import Candidate
from rffbench.fit.learners import learner, predictions, trees_grown
from rffbench.fit.metrics import Metric
from rffbench.solvers.base import class_targets
from rffbench.solvers.platt import Sigmoids, by_class
from rffbench.solvers.ridge.held_out import cross_validated_outputs, dealt
from rffbench.solvers.weights import class_row_weights

FOLDS = 5
LAMBDAS = [10.0**power for power in range(-9, 1)]  # λ relative to the sum of all squared features
TIMES_MEDIAN = [0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16]
TREES_TRIED = [
    {"learning_rate": rate, "max_leaf_nodes": leaves} for rate, leaves in ((0.1, 31), (0.05, 15), (0.05, 63), (0.1, 7))
]
MOST_TREES = 500
LOGISTIC_LAMBDAS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]


@dataclass
class Rows:
    """The training rows of a split: inputs X (n, d) and the answers, codes (n,) or values (n, targets)."""

    X: NDArray[np.float32]
    y: NDArray
    classes: int  # 0 for values
    class_weight: str | None
    Y: NDArray[np.float64] = field(init=False)
    fold: NDArray[np.intp] = field(init=False)
    weights: NDArray[np.float64] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if not self.classes:
            self.Y = np.asarray(self.y, dtype=np.float64)
            self.fold = np.arange(len(self.y)) % FOLDS  # the rows are in random order
            return
        codes = np.arange(self.classes)
        self.Y = class_targets(self.y, codes)
        self.fold = dealt(self.Y, FOLDS)
        if self.class_weight:
            self.weights = class_row_weights("balanced", codes, self.Y, None)

    def answers(self, mine: Any = slice(None)) -> NDArray:
        """What an estimator is fitted to, for all rows or those of a mask."""
        y = self.y[mine]
        return y if self.classes or y.shape[1] > 1 else y[:, 0]

    def learner(self, candidate: Candidate, settings: dict[str, Any], metric: Metric) -> Any:
        """The unfitted estimator of a candidate."""
        share = float(self.y.mean()) if self.classes == 2 else 0.0
        targets = 1 if self.classes else self.y.shape[1]
        return learner(candidate, settings, metric, self.class_weight, share, targets)


@dataclass(frozen=True)
class Tuned:
    """What was chosen, and its score in each fold: greater is better."""

    settings: dict[str, Any]
    scores: NDArray[np.float64]
    times: float | None = None

    @property
    def mean(self) -> float:
        return float(self.scores.mean())


def tune_map(
    candidate: Candidate, rows: Rows, metric: Metric, columns: int, start: float, check: Callable[[], object]
) -> Tuned:
    """σ and λ with this number of ``columns``: λ of all LAMBDAS, σ uphill from ``start`` times the median distance.
    ``check`` is called before each σ."""
    found: dict[float, Tuned] = {}

    def tried(times: float) -> float:
        if times not in found:
            check()
            found[times] = tune_lambda(candidate, rows, metric, columns, candidate.gamma(rows.X, times), times)
        return found[times].mean

    at = TIMES_MEDIAN.index(start)
    if not candidate.has_bandwidth:
        tried(start)
        return found[start]
    tried(start)
    for step in (1, -1):
        while 0 <= at + step < len(TIMES_MEDIAN) and tried(TIMES_MEDIAN[at + step]) > tried(TIMES_MEDIAN[at]):
            at += step
    return found[TIMES_MEDIAN[at]]


def tune_lambda(
    candidate: Candidate, rows: Rows, metric: Metric, columns: int, gamma: float | None, times: float | None = None,
    lambdas: list[float] | None = None,
) -> Tuned:  # fmt: skip
    """λ with this number of columns and γ."""
    lambdas = lambdas or LAMBDAS
    features = None if candidate.kind == "linear" else candidate.features(columns, gamma)
    outputs = cross_validated_outputs(features, rows.X, rows.Y, rows.fold, lambdas, rows.weights)
    scores = np.array([_fold_scores(metric, rows, each) for each in outputs])
    mean = np.where(np.isfinite(scores).all(axis=1), scores.mean(axis=1), -np.inf)
    best = int(mean.argmax())
    return Tuned({"columns": columns, "gamma": gamma, "lambda": lambdas[best]}, scores[best], times)


def _fold_scores(metric: Metric, rows: Rows, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The score of held-out outputs (n, t) in each fold; −∞ where a λ has no solution."""
    if not np.isfinite(outputs).all():
        return np.full(FOLDS, -np.inf)
    found: NDArray = outputs
    if rows.classes:
        found = by_class(outputs[:, 0]) if rows.classes == 2 else outputs
        if metric.needs == "labels":
            found = found.argmax(axis=1)
        elif metric.needs == "probabilities":
            found = Sigmoids.fit(found, rows.y[:, None] == np.arange(rows.classes)).probabilities(found)
    each = (rows.fold == fold for fold in range(FOLDS))
    return np.array([metric.sign * metric.compute(rows.y[mine], found[mine]) for mine in each])


def tune_trees(rows: Rows, metric: Metric, few: bool, check: Callable[[], object]) -> Tuned:
    """The learning rate, the leaves and the number of trees, which early stopping finds in each fold; with ``few`` the
    first of TREES_TRIED."""
    tried = [{**each, "max_iter": MOST_TREES, "early_stopping": True} for each in TREES_TRIED[: 1 if few else None]]
    tuned, models = _best_of(candidates.TREES, tried, rows, metric, check)
    grown = round(float(np.mean([trees_grown(model) for model in models])))
    settings = {name: value for name, value in tuned.settings.items() if name != "early_stopping"}
    return Tuned({**settings, "max_iter": max(10, grown)}, tuned.scores)


def tune_logistic(rows: Rows, metric: Metric, check: Callable[[], object]) -> Tuned:
    """λ of a logistic regression without a map."""
    tuned, _ = _best_of(candidates.LINEAR, [{"lambda": each} for each in LOGISTIC_LAMBDAS], rows, metric, check)
    return tuned


def _best_of(
    candidate: Candidate, settings: Sequence[dict[str, Any]], rows: Rows, metric: Metric, check: Callable[[], object]
) -> tuple[Tuned, list[Any]]:
    """The settings that score best in the first fold, with their scores in all folds and the models fitted for
    these. ``check`` is called before each fit."""

    def tried(of: dict[str, Any], fold: int) -> tuple[float, Any]:
        check()
        train, held = rows.fold != fold, rows.fold == fold
        model = rows.learner(candidate, of, metric).fit(rows.X[train], rows.answers(train))
        return metric.sign * metric.compute(rows.y[held], predictions(model, rows.X[held], metric)), model

    first = [tried(each, 0) for each in settings]
    best = max(range(len(settings)), key=lambda at: first[at][0])
    scores, models = zip(first[best], *(tried(settings[best], fold) for fold in range(1, FOLDS)), strict=True)
    return Tuned(settings[best], np.array(scores)), list(models)
