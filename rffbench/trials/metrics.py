"""Every metric: its name, its unit, the better direction, and the function that measures it.

The functions that score predictions are here; those that measure a feature map are in `rffbench.trials.measuring`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import TIMES_MEDIAN
from rffbench.kernels import GaussianKernel
from rffbench.kernels.served import check_kernel
from rffbench.plugins.parts import NotServed, Task, Traits, declared
from rffbench.trials.measuring import (
    MapOnPoints,
    complex_frobenius_error,
    cross_error,
    delta_error,
    diameter,
    effective_dimension,
    entry_error,
    entry_quantile,
    frobenius_error,
    kernel_effective_dimension,
    kernel_error,
    kernel_norm,
    kernel_surrogate_dimension,
    marginal_energy,
    marginal_ks,
    ridge_delta_error,
    ridge_dimension,
    scaled_error,
    spectral_decay,
    spectral_error,
    spectrum,
    sup_error,
    surrogate_dimension,
)

if TYPE_CHECKING:
    pass


SECONDS, PERCENT, BYTES = "s", "%", "bytes"
Direction = Literal["greater", "less"]
Needs = Literal["labels", "values", "scores", "probabilities", "deviations"]


def check_direction(better: object, of: str = "", besides: str = "") -> None:
    """ValueError unless ``better`` is a `Direction`."""
    if better not in get_args(Direction):
        raise ValueError(f"{of}better must be 'greater'{',' if besides else ' or'} 'less'{besides}, got {better!r}")


@dataclass(frozen=True)
class Metric:
    """A number measured in a trial, with its description for readers.

    ``name`` is its key in trials.jsonl and summary.csv; ``title`` its name for readers (default: the name); ``unit`` is
    empty for a plain number; ``better`` is the better direction, None for neither. ``heading`` is the title of a
    figure's panel (default: the label), ``short`` the heading of a narrow column (default: the title).

    A score of predictions is ``score(y, predicted)``, for trials of this ``task``; ``needs`` is the kind of predictions
    that it needs. A measure of a fitted map is ``measure(mapped)``: ``kernels`` is the trait that the kernel must have
    (`rffbench.plugins.parts`), ``of_frequencies`` means that only Fourier maps have it, ``cost`` is its multiply-adds
    for n points, s frequencies and D columns. Measures that are ``judged`` are shown beside the score of every dataset.
    """

    name: str
    title: str = ""
    unit: str = ""
    better: Direction | None = None
    heading: str = ""
    short: str = ""
    score: Callable[[NDArray, NDArray], float] | None = None
    task: Task | None = None
    needs: Needs | None = None
    measure: Callable[[MapOnPoints], float] | None = None
    judged: bool = False
    kernels: Traits = None
    of_frequencies: bool = False
    cost: str = "450*n**2"  # a norm by Lanczos, or a sort, takes that for each number of the matrix

    def __post_init__(self) -> None:
        if self.better is not None:
            check_direction(self.better, f"metric {self.name!r}: ", " or None")
        for name, default in (("title", self.name), ("heading", self.label), ("short", self.title or self.name)):
            object.__setattr__(self, name, getattr(self, name) or default)

    @property
    def label(self) -> str:
        """The title with its unit, as on an axis: ``training time (s)``."""
        return (self.title or self.name) + (f" ({self.unit})" if self.unit else "")

    @property
    def decimals(self) -> int | None:
        """Decimals in a table: 2 for a percentage; None if the size of the number decides."""
        return 2 if self.unit == PERCENT else None


TRIAL_COLUMNS = ("dataset", "n_features", "method", "multiple", "trial", "status", "contended")
"""The other columns of a table of trials: a metric cannot have these names."""


# ---- What a map or solver says of itself -------------------------------------------------------------------


def metrics_of(fitted: Any) -> dict[str, float]:
    """The ``metrics_`` of a fitted map or solver: finite numbers by name; empty without that attribute. Metrics that
    rffbench measures itself, such as the accuracy, are left out.

    ValueError, with the metric's name, for a number that is not finite or a name that means something else in a row,
    and if ``metrics_`` is not a dictionary.
    """
    measured, found = {}, declared(fitted, "metrics_", {})
    if not isinstance(found, Mapping):
        raise ValueError(f"metrics_ of {type(fitted).__name__} must be a dictionary, numbers by name, got {found!r}")
    for name, value in found.items():
        where = f"metrics_[{name!r}] of {type(fitted).__name__}"
        if name in TRIAL_COLUMNS:
            raise ValueError(f"{where}: that name means something else in a trial's row; give the metric another")
        if not _is_finite(value):
            raise ValueError(f"{where} must be a finite number, got {value!r}")
        if name not in METRICS or name in SAID:
            measured[name] = float(value)
    return measured


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, numbers.Real) and math.isfinite(value)
    except OverflowError:  # a whole number beyond float64
        return False


def described(fitted: Any) -> dict[str, dict[str, str | None]]:
    """Title, unit and better direction, by name, of the ``metrics_`` of a map or solver, from its ``own_metrics``, a
    sequence of `Metric`. A trial's row keeps them, so that its results can be read without the map's package. Metrics
    of rffbench keep their meaning. ValueError if ``own_metrics`` is not such a sequence."""
    own = declared(fitted, "own_metrics", ())
    if not isinstance(own, list | tuple) or not all(isinstance(each, Metric) for each in own):
        raise ValueError(
            f"own_metrics of {type(fitted).__name__} must be a tuple of rffbench.trials.metrics.Metric, got {own!r}"
        )
    return {
        metric.name: {"title": metric.title, "unit": metric.unit, "better": metric.better}
        for metric in own
        if metric.name in declared(fitted, "metrics_", {}) and metric.name not in METRICS
    }


# ---- Predictions -------------------------------------------------------------------------------------------


def accuracy(y: NDArray, predicted: NDArray) -> float:
    """The share of correctly predicted labels, in percent."""
    return 100.0 * float(np.mean(y == predicted))


def rmse(y: NDArray, predicted: NDArray) -> float:
    """√(mean (y − ŷ)²), in the target's unit."""
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def relative_rmse(y: NDArray, predicted: NDArray) -> float:
    """‖y − ŷ‖₂ / ‖y‖₂ (Chen et al. 2015, Figure 2); NaN if y is zero."""
    norm = float(np.linalg.norm(y))
    return float(np.linalg.norm(y - predicted)) / norm if norm > 0 else float("nan")


# ---- Every metric ------------------------------------------------------------------------------------------

_DECOMPOSED = "450*n**2 + 3*n**3"  # with eigenvalues or a factorisation
_PROJECTED = "450*n*s"

METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "test accuracy", PERCENT, "greater", score=accuracy, task="classification", needs="labels"),
        Metric("rmse", "test RMSE", better="less", score=rmse, task="regression", needs="values"),
        Metric("relative_rmse", "relative test RMSE", better="less", score=relative_rmse, task="regression",
               needs="values"),
        Metric("balanced_accuracy", "balanced test accuracy", PERCENT, "greater"),  # those of `rffbench.trials.scores`
        Metric("auc", "area under the ROC curve", better="greater", short="AUC"),
        Metric("average_precision", "average precision", better="greater"),
        Metric("log_loss", "log-loss", better="less"),
        Metric("brier", "Brier score", better="less"),
        Metric("calibration_error", "calibration error", PERCENT, "less"),
        Metric("mae", "mean absolute error", better="less"),
        Metric("mse", "test mean squared error", better="less"),
        Metric("r2", "R²", better="greater"),
        Metric("nll", "negative log-likelihood", better="less"),
        Metric("coverage_50", "coverage of 50 % intervals", PERCENT),
        Metric("coverage_90", "coverage of 90 % intervals", PERCENT),
        Metric("coverage_95", "coverage of 95 % intervals", PERCENT),
        Metric("kernel_error", "relative kernel error", better="less", measure=kernel_error, judged=True),
        Metric("scaled_error", "kernel error at the best scale", better="less", measure=scaled_error, judged=True,
               cost=_DECOMPOSED),
        Metric("delta_error", "Δ-spectral error", better="less", heading="Δ-spectral error, λ = 1/√n",
               measure=delta_error, judged=True, cost=_DECOMPOSED),
        Metric("spectral_error", "spectral error ‖K−K̃‖₂", better="less", heading="spectral error ‖K̃−K‖₂",
               measure=spectral_error, judged=True),
        Metric("frobenius_error", "relative kernel error in the Frobenius norm", better="less",
               measure=frobenius_error, judged=True, cost="6*n**2"),
        Metric("cross_error", "relative kernel error between two samples", better="less", measure=cross_error,
               judged=True, cost="6*n**2 + n*D*n"),
        Metric("complex_frobenius_error", "relative kernel error of the complex features", better="less",
               measure=complex_frobenius_error, judged=True, cost="(6 + D)*n**2"),
        Metric("sup_error", "largest entry error", better="less", heading="largest error of an entry",
               measure=sup_error, judged=True),
        Metric("entry_error", "entry error (RMS)", better="less", measure=entry_error, judged=True),
        Metric("entry_quantile", "entry error (99th percentile)", better="less",
               heading="error that 1 entry in 100 exceeds", measure=entry_quantile),
        Metric("marginal_ks", "Kolmogorov–Smirnov distance", better="less", measure=marginal_ks, judged=True,
               kernels=GaussianKernel, of_frequencies=True, cost=_PROJECTED),
        Metric("marginal_energy", "energy distance", better="less", measure=marginal_energy, judged=True,
               kernels=GaussianKernel, of_frequencies=True, cost=_PROJECTED),
        Metric("effective_dimension", "effective dimension of K̃", measure=effective_dimension, cost=_DECOMPOSED),
        Metric("surrogate_dimension", "surrogate dimension of K̃", measure=surrogate_dimension),
        Metric("kernel_effective_dimension", "effective dimension of K", measure=kernel_effective_dimension,
               cost=_DECOMPOSED),
        Metric("ridge_delta_error", "Δ-spectral error at kernel ridge's λ", better="less", measure=ridge_delta_error,
               cost=_DECOMPOSED),
        Metric("ridge_dimension", "effective dimension of K at kernel ridge's λ", measure=ridge_dimension,
               cost=_DECOMPOSED),
        Metric("spectral_decay", "decay of K's eigenvalues", measure=spectral_decay, cost=_DECOMPOSED),
        Metric("kernel_surrogate_dimension", "surrogate dimension of K", measure=kernel_surrogate_dimension),
        Metric("kernel_norm", "‖K‖₂", measure=kernel_norm),
        Metric("diameter", "diameter of the points", measure=diameter),
        Metric("objective"),
        Metric("model_size", "model size"),
        Metric("newton_steps", "Newton steps"),
        Metric("passes", "passes over the rows"),
        Metric("residual", "relative residual"),
        Metric("residual_norm", "‖b − Ax‖/‖b‖", better="less"),
        Metric("rank", "rank of the landmarks' kernel matrix"),
        Metric("training_bytes", "training memory as planned", BYTES),
        Metric("train_s", "training time", SECONDS),
        Metric("feature_s", "feature time", SECONDS),
        Metric("fit_s", "fit time", SECONDS),
        Metric("predict_s", "prediction time", SECONDS),
        Metric("peak_memory_bytes", "peak memory", BYTES),
        Metric("own_memory_bytes", "peak memory less what was held before", BYTES, short="memory"),
        Metric("lambda", "chosen λ"),
        Metric("effective_lambda", "effective λ"),
        Metric("median_lambda", "effective λ by the median column"),
        Metric("gamma", "chosen γ"),
        Metric(TIMES_MEDIAN, "chosen σ over the median distance"),
        Metric("bandwidth_s", "time to choose the bandwidth", SECONDS),
        Metric("choice_fits", "fits to choose settings"),
        Metric("trees", "trees"),
        Metric("cv_error", "cross-validation error"),
        Metric("test_error", "test error", better="less"),  # of a solver's curves, as the next
        Metric("nonzeros", "features in the model"),
    )
}  # fmt: skip
"""Every metric of rffbench, in the order of summary.csv. Maps and solvers of other packages describe further metrics in
their ``own_metrics``, which the rows of trials keep."""

SCORES = tuple(name for name, metric in METRICS.items() if metric.score)
"""The candidates for a dataset's main metric: the first that its trials have is used."""
MAP_MEASURES = tuple(name for name, metric in METRICS.items() if metric.judged)
"""The main measures of a map, in the order of a figure's panels."""
ERRORS = tuple(name for name in MAP_MEASURES if not name.startswith("marginal"))
"""Those of them that are errors against the exact kernel. They cannot be compared between kernels."""
MEASURES = {name: metric.measure for name, metric in METRICS.items() if metric.measure}
"""The measures of a fitted map that a config may name."""
CURVES: dict[str, Callable[[MapOnPoints], dict[str, list[float]]]] = {"spectrum": spectrum}
"""The measures that are curves and not numbers, which a config may also name."""
COSTS = {name: METRICS[name].cost for name in MEASURES} | dict.fromkeys(CURVES, _DECOMPOSED)
"""Multiply-adds of measures and curves, as formulas."""
SAID = (
    "objective",
    "model_size",
    "newton_steps",
    "passes",
    "residual",
    "residual_norm",
    "rank",
    "training_bytes",
    "choice_fits",
    "trees",
    "nonzeros",
    "test_error",
)
"""The names in METRICS that a solver may set in its ``metrics_``; rffbench measures all others itself."""

TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == SECONDS)
"""The metrics that can be compared only if nothing else used the processors."""


def scored(task: str, y: NDArray, predicted: NDArray) -> dict[str, float]:
    """The task's scores of the predictions, by name."""
    return {name: each.score(y, predicted) for name, each in METRICS.items() if each.score and each.task == task}


def check_measurable(name: str, features: Any) -> None:
    """NotServed if the map ``features``, or its kernel, lacks what the measure ``name`` needs."""
    from rffbench.features.base import FourierFeatures  # slow to load; reports need only the metrics' names

    metric = METRICS.get(name)
    if metric is None:
        return
    if metric.of_frequencies and not isinstance(features, FourierFeatures):
        raise NotServed("measures", f"{name} is of a Fourier map's frequencies; {type(features).__name__} has none")
    if metric.kernels is not None:
        check_kernel(name, metric.kernels, features.kernel)
