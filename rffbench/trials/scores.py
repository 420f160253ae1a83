"""Scores of predictions besides a dataset's accuracy or RMSE; a config names them under ``scores``.

Each needs labels or values, decision scores, probabilities of the classes, or standard deviations from a solver. Ridge
regression has no probabilities; its parameter ``calibrate: platt`` computes them from its scores on held-out rows.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rffbench.errors import ConfigError, unknown
from rffbench.plugins.ownfile import portable
from rffbench.plugins.parts import TASKS, Task, declared
from rffbench.plugins.registry import Registry
from rffbench.solvers import parameters
from rffbench.solvers.platt import Sigmoids
from rffbench.trials.metrics import METRICS, TRIAL_COLUMNS, Metric

Needs = Literal["labels", "scores", "probabilities", "deviations"]
BINS = 15  # bins of the calibration error


@dataclass
class Predictions:
    """A solver's predictions for the test rows: true labels or values ``y`` (n,) and ``predicted`` ones (n,), or
    of several targets both (n, targets).

    ``scores`` (n, c) are decision scores, one column per class; ``probabilities`` (n, c) sum to 1; columns are in the
    order of ``classes`` (c,). A regression has neither; its ``deviations``, of the shape of y, are the standard
    deviations of the normal distribution that is predicted for y, noise included.
    """

    y: NDArray
    predicted: NDArray
    classes: NDArray | None = None
    scores: NDArray[np.float64] | None = None
    probabilities: NDArray[np.float64] | None = None
    deviations: NDArray[np.float64] | None = None

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each row belongs to each class, (n, c)."""
        return np.asarray(self.y)[:, None] == self.classes

    @property
    def of_classes(self) -> range:
        """The columns to average over; only the second of two classes."""
        assert self.classes is not None
        return range(1, 2) if len(self.classes) == 2 else range(len(self.classes))


def balanced_accuracy(found: Predictions) -> float:
    """The mean over the classes of the share of their rows that is predicted correctly, in percent. Classes without a
    test row are left out."""
    from sklearn.metrics import recall_score

    return 100 * float(recall_score(found.y, found.predicted, labels=np.unique(found.y), average="macro"))


def auc(found: Predictions) -> float:
    """The area under the ROC curve: the probability that a row of the class scores higher than another row. For more
    than two classes, the mean over the classes, each against the rest."""
    from sklearn.metrics import roc_auc_score

    return _mean_over_classes(roc_auc_score, found)


def average_precision(found: Predictions) -> float:
    """Σₖ (Rₖ − Rₖ₋₁)Pₖ over the thresholds, P precision and R recall; averaged over classes as ``auc``."""
    from sklearn.metrics import average_precision_score

    return _mean_over_classes(average_precision_score, found)


def _mean_over_classes(score: Callable[..., float], found: Predictions) -> float:
    assert found.scores is not None
    present = [at for at in found.of_classes if found.right[:, at].any() and not found.right[:, at].all()]
    if not present:
        raise ValueError("the test rows are all of one class, so that no score can rank them")
    return float(np.mean([score(found.right[:, at], found.scores[:, at]) for at in present]))


def log_loss(found: Predictions) -> float:
    """−(1/n) Σ ln p of the right class, in nats; p is at least float64's ε."""
    p = _probabilities(found)[found.right]
    return float(-np.log(np.clip(p, np.finfo(float).eps, 1.0)).mean())


def brier(found: Predictions) -> float:
    """(1/n) Σ (p − 1[right])²: for two classes over the second (0 to 1), else over all (0 to 2; Brier 1950)."""
    at = found.of_classes
    squares = np.square(_probabilities(found)[:, at] - found.right[:, at])
    return float(squares.sum(axis=1).mean())


def calibration_error(found: Predictions) -> float:
    """Σ_b |b|/n·|accuracy(b) − confidence(b)| over 15 equal bins b of the confidence, the largest probability (the
    expected calibration error of Guo et al. 2017, Eq. 3), in percent."""
    P = _probabilities(found)
    confidence, right = P.max(axis=1), found.right[np.arange(len(P)), P.argmax(axis=1)]
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.abs(np.bincount(bins, right, BINS) - np.bincount(bins, confidence, BINS))
    return 100 * float(gaps.sum() / len(P))


def _probabilities(found: Predictions) -> NDArray[np.float64]:
    assert found.probabilities is not None
    return found.probabilities


def mae(found: Predictions) -> float:
    """(1/n) Σ |y − ŷ|, in the target's unit."""
    return float(np.abs(found.y - found.predicted).mean())


def mse(found: Predictions) -> float:
    """(1/n) Σ (y − ŷ)², in the target's unit squared."""
    return float(np.square(found.y - found.predicted).mean())


def r2(found: Predictions) -> float:
    """1 − Σ(y − ŷ)²/Σ(y − ȳ)², ȳ the mean of the test rows, of each target; the sums are over all targets. If all
    targets are constant, it is 1 for predictions without an error and else 0, as in scikit-learn."""
    errors = float(np.square(found.y - found.predicted).sum())
    moved = found.y - found.y[:1]  # exactly 0 for constants
    deviations = float(np.square(moved - moved.mean(axis=0)).sum())
    if not deviations:
        return float(not errors)
    return 1 - errors / deviations


def nll(found: Predictions) -> float:
    """−(1/n) Σ ln N(y; ŷ, s²), s the predicted standard deviation, in nats; of several targets the mean over them."""
    s = _deviations(found)
    return float((np.log(2 * np.pi * s**2) / 2 + np.square((found.y - found.predicted) / s) / 2).mean())


def coverage_50(found: Predictions) -> float:
    """The share of the y in the central interval ŷ ± z·s that holds 50 % of N(ŷ, s²), in percent."""
    return _coverage(found, 0.5)


def coverage_90(found: Predictions) -> float:
    """As ``coverage_50``, of 90 %."""
    return _coverage(found, 0.9)


def coverage_95(found: Predictions) -> float:
    """As ``coverage_50``, of 95 %."""
    return _coverage(found, 0.95)


def _coverage(found: Predictions, level: float) -> float:
    within = np.abs(found.y - found.predicted) <= ndtri((1 + level) / 2) * _deviations(found)
    return 100 * float(within.mean())


def _deviations(found: Predictions) -> NDArray[np.float64]:
    assert found.deviations is not None
    return found.deviations


class Score(ABC):
    """A score of predictions. A config names your own, a subclass of this, by its file: ``./mine.py:MyScore``.

    ``needs`` is what a solver must give, ``task`` the score's task; ``metric`` has its name in results, its title, its
    unit and the better direction.
    """

    needs: Needs = "labels"
    task: Task = "classification"
    metric: Metric

    @abstractmethod
    def compute(self, found: Predictions) -> float:
        """The score, a finite number."""


class Formula(Score):
    """A built-in score, computed by a function."""

    def __init__(self, needs: Needs, task: Task, function: Callable[[Predictions], float]) -> None:
        self.needs, self.task, self._function = needs, task, function
        self.metric = METRICS[function.__name__]

    def compute(self, found: Predictions) -> float:
        return self._function(found)


SCORES = {
    "balanced_accuracy": Formula("labels", "classification", balanced_accuracy),
    "auc": Formula("scores", "classification", auc),
    "average_precision": Formula("scores", "classification", average_precision),
    "log_loss": Formula("probabilities", "classification", log_loss),
    "brier": Formula("probabilities", "classification", brier),
    "calibration_error": Formula("probabilities", "classification", calibration_error),
    "mae": Formula("labels", "regression", mae),
    "mse": Formula("labels", "regression", mse),
    "r2": Formula("labels", "regression", r2),
    "nll": Formula("deviations", "regression", nll),
    "coverage_50": Formula("deviations", "regression", coverage_50),
    "coverage_90": Formula("deviations", "regression", coverage_90),
    "coverage_95": Formula("deviations", "regression", coverage_95),
}
"""The scores that a config may name under ``scores``. Their titles, units and better directions are in
`rffbench.trials.metrics.METRICS`."""


OWN = Registry("score", {}, "rffbench.scores", common=(), own_files=True, none=None)


def score(name: str) -> Score:
    """The score called ``name``, built-in or in a user's own file; ConfigError if it is unknown or wrong."""
    if name in SCORES:
        return SCORES[name]
    if not OWN.is_own(name):
        raise ConfigError(unknown("score", name, [*SCORES, *OWN.names()]))
    made, where = OWN.factory(name), f"score {portable(name)!r}"
    if not issubclass(made, Score) or inspect.isabstract(made):
        raise ConfigError(f"{where}: must derive from rffbench.plugin.Score, and have compute(found)")
    if not isinstance(getattr(made, "metric", None), Metric):
        raise ConfigError(f'{where}: needs metric = rffbench.plugin.Metric("name", "title", better="greater")')
    if made.metric.name in (*METRICS, *TRIAL_COLUMNS):
        raise ConfigError(f"{where}: its metric {made.metric.name!r} has the name of another; choose a new one")
    for attribute, allowed in {"needs": get_args(Needs), "task": TASKS}.items():
        if (value := getattr(made, attribute)) not in allowed:
            raise ConfigError(f"{where}: {attribute} must be one of {', '.join(allowed)}, not {value!r}")
    own: Score = made()
    return own


def computed(name: str, of: Score, found: Predictions) -> float:
    """The score ``of`` predictions, called ``name``; ValueError, with its name, unless it is a finite number."""
    value = of.compute(found)
    if not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"the score {portable(name)} must be a finite number, got {value!r}")
    return float(value)


def task_of(metric: Metric) -> Task | None:
    """The task whose trials have the metric; None if all have it."""
    scored_by = SCORES.get(metric.name)
    return scored_by.task if scored_by else metric.task


def metrics_of(task: Task) -> list[str]:
    """The built-in metrics that a trial of this ``task`` may have."""
    return [name for name, metric in METRICS.items() if task_of(metric) in (None, task)]


def described_scores(scores: Mapping[str, Score], measured: Mapping[str, float]) -> dict[str, dict[str, str | None]]:
    """Title, unit and better direction, by name, of those measured ``scores`` that are of users' own files, for a
    trial's row."""
    own = [each.metric for name, each in scores.items() if name not in SCORES]
    return {
        metric.name: {"title": metric.title, "unit": metric.unit, "better": metric.better}
        for metric in own
        if metric.name in measured
    }


def check_given(name: str, task: Task, config: Mapping[str, Any], solver: Any) -> None:
    """ConfigError if the score called ``name`` is for ``task`` and needs predictions that the unfitted ``solver``, made
    from ``config``, does not give."""
    asked = score(name)
    needs = asked.needs
    if asked.task != task or needs == "labels" or any(declared(solver, each) for each in _GIVEN_BY[needs]):
        return
    if needs == "probabilities" and config.get("calibrate"):
        return
    advice = f"use {'gp' if needs == 'deviations' else 'logistic'}"
    if needs != "deviations" and "calibrate" in parameters(config["name"]):
        advice = f"write calibrate: platt in the solver, or {advice}"
    raise ConfigError(f"{portable(name)} needs {needs}, which the solver {config['name']} does not give; {advice}")


_GIVEN_BY = {
    "scores": ("predict_proba", "decision_function"),
    "probabilities": ("predict_proba",),
    "deviations": ("predict_deviations",),
}
"""The methods of a solver that give what a score needs."""


def platt(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> Callable[[NDArray], NDArray[np.float64]]:
    """Platt's sigmoid fitted to held-out decision ``scores`` (m, c), each class against the rest; it maps scores (n, c)
    to probabilities (n, c) that sum to 1."""
    return Sigmoids.fit(scores, right).probabilities
