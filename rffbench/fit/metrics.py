"""The scores that `fit` takes for --metric. Classes are codes 0, 1, …; values are (n, targets)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rffbench.errors import ConfigError, unknown

Needs = Literal["labels", "ranking", "probabilities", "values"]


@dataclass(frozen=True)
class Metric:
    """A score: ``compute(y, found)`` of codes y (n,) and predicted codes, or decision scores or probabilities (n, c),
    or of values, both (n, t). ``sign`` is +1 if greater is better, else −1; ``factor`` is for people, as in percent."""

    name: str
    title: str
    needs: Needs
    sign: int
    compute: Callable[[NDArray, NDArray], float]
    factor: float = 1.0

    @property
    def of_classes(self) -> bool:
        return self.needs != "values"

    def loss(self, scores: Sequence[float]) -> float:
        """The mean over splits as a loss, the smaller the better: one minus the score, or the mean square."""
        values = np.asarray(scores)
        if self.name == "rmse":
            values = values**2
        return float(values.mean() if self.sign < 0 else 1 - values.mean())

    def shown(self, value: float) -> float:
        """A score as people read it."""
        return value * self.factor


def accuracy(y: NDArray, found: NDArray) -> float:
    """The share of right labels."""
    return float(np.mean(y == found))


def balanced_accuracy(y: NDArray, found: NDArray) -> float:
    """The mean over the classes of the share of right labels among their rows."""
    return float(np.mean([np.mean(found[y == each] == each) for each in np.unique(y)]))


def auc(y: NDArray, found: NDArray) -> float:
    """The area under the ROC curve: the chance that a row of the class scores higher than another row; for more than
    two classes the mean over the classes, each against the rest."""
    from sklearn.metrics import roc_auc_score

    return _over_classes(roc_auc_score, y, found)


def average_precision(y: NDArray, found: NDArray) -> float:
    """The area under the curve of precision against recall; over classes as `auc`."""
    from sklearn.metrics import average_precision_score

    return _over_classes(average_precision_score, y, found)


def _over_classes(score: Callable[..., Any], y: NDArray, found: NDArray) -> float:
    columns = [1] if found.shape[1] == 2 else range(found.shape[1])
    present = [each for each in columns if 0 < np.sum(y == each) < len(y)]
    return float(np.mean([score(y == each, found[:, each]) for each in present])) if present else float("nan")


def log_loss(y: NDArray, found: NDArray) -> float:
    """The mean of −ln p of the right class."""
    p = found[np.arange(len(y)), y]
    return float(-np.log(np.clip(p, np.finfo(float).eps, 1)).mean())


def rmse(y: NDArray, found: NDArray) -> float:
    """√(mean (y − ŷ)²), the mean over the targets."""
    return float(np.sqrt(np.square(y - found).mean(axis=0)).mean())


def mae(y: NDArray, found: NDArray) -> float:
    """Mean |y − ŷ|, the mean over the targets."""
    return float(np.abs(y - found).mean())


def r2(y: NDArray, found: NDArray) -> float:
    """1 − Σ(y − ŷ)²/Σ(y − ȳ)², the mean over the targets; of a constant target 1 without an error and else 0, as in
    scikit-learn."""
    moved = y - y[:1]  # exactly 0 for constants
    total = np.square(moved - moved.mean(axis=0)).sum(axis=0)
    rest = np.square(y - found).sum(axis=0)
    return float(np.mean(np.where(total > 0, 1 - rest / np.where(total > 0, total, 1), rest == 0)))


METRICS = {
    each.name: each
    for each in (
        Metric("accuracy", "accuracy (%)", "labels", 1, accuracy, 100),
        Metric("balanced_accuracy", "balanced acc. (%)", "labels", 1, balanced_accuracy, 100),
        Metric("auc", "AUC", "ranking", 1, auc),
        Metric("average_precision", "average prec.", "ranking", 1, average_precision),
        Metric("log_loss", "log-loss", "probabilities", -1, log_loss),
        Metric("rmse", "RMSE", "values", -1, rmse),
        Metric("mae", "mean abs. error", "values", -1, mae),
        Metric("r2", "R²", "values", 1, r2),
    )
}


def metric_called(name: str) -> Metric:
    """The metric called ``name``; ConfigError if there is none."""
    if name not in METRICS:
        raise ConfigError(f"--metric: {unknown('metric', name, METRICS)}")
    return METRICS[name]
