"""Is a method better than its baselines? Paired t-tests over trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from rffbench.report.frame import Results
from rffbench.trials.metrics import Metric, check_direction

LEVEL = 0.05  # of tests (1 − LEVEL of intervals), unless a config sets another level

_DEFAULTS: dict[str, Any] = {"baselines": ["RFF", "QMC"], "level": LEVEL, "correction": "none"}


def baselines(config: Mapping[str, Any]) -> list[str]:
    """The labels of the methods with which a config compares the others."""
    given = (config.get("significance") or {}).get("baselines")
    return list(_DEFAULTS["baselines"] if given is None else given)


def significance_settings(results: Results) -> dict[str, Any]:
    """The config's ``significance``: baselines (only methods of the config), level, correction."""
    given = results.config.get("significance") or {}
    settings: dict[str, Any] = _DEFAULTS | {key: value for key, value in given.items() if value is not None}
    return settings | {"baselines": [name for name in settings["baselines"] if name in results.methods]}


def significantly_better(results: Results, dataset: str, metrics: Sequence[Metric]) -> set[tuple[int, str, str]]:
    """The (n_features, method, metric's name) at which a method beats **every** baseline at the config's level.

    A method and a baseline are compared by :func:`paired_p_value` over the trials that both finished. "Better
    than all baselines" is an intersection–union test: its p-value is the largest of the comparisons', without a
    correction for their number. With ``correction: holm``, the p-values of one dataset and metric (all sizes,
    all methods except baselines) are one family, and Holm's step-down procedure keeps the chance of any false •
    at the level. A comparison with fewer than two common trials is never significant, and not in the family.
    """
    settings = significance_settings(results)
    baselines = [results.methods.index(name) for name in settings["baselines"]]
    judged = [metric for metric in metrics if metric.better is not None]
    if not judged or not baselines:
        return set()
    trials = results.trials[results.trials["dataset"] == dataset]
    sizes, values = _by_trial(trials, results.methods, [metric.name for metric in judged])
    better = set()
    for metric, scores in zip(judged, values, strict=True):
        p_values: dict[tuple[int, str], float] = {}
        for n_features, of_size in zip(sizes, scores, strict=True):
            for place, method in enumerate(results.methods):
                if place not in baselines:
                    against = [paired_p_value(of_size[place], of_size[each], str(metric.better)) for each in baselines]
                    p_values[n_features, method] = float(np.max(against))  # NaN if any comparison is
        if settings["correction"] == "holm":
            p_values = dict(zip(p_values, holm(list(p_values.values())), strict=True))
        better |= {(*cell, metric.name) for cell, p in p_values.items() if p < settings["level"]}
    return better


def _by_trial(
    trials: pd.DataFrame, methods: Sequence[str], metrics: Sequence[str]
) -> tuple[list[int], NDArray[np.float64]]:
    """The sizes of a dataset's trials, and an array of their numbers by metric, size, method and trial (NaN if
    missing)."""
    sizes, size = np.unique(trials["n_features"].to_numpy(int), return_inverse=True)
    numbers, trial = np.unique(trials["trial"].to_numpy(int), return_inverse=True)
    method = [methods.index(name) for name in trials["method"]]
    values = np.full((len(metrics), len(sizes), len(methods), len(numbers)), np.nan)
    values[:, size, method, trial] = trials[[*metrics]].to_numpy(float).T
    return sizes.tolist(), values


def paired_p_value(candidate: ArrayLike, baseline: ArrayLike, better: str) -> float:
    """The p-value of a one-sided paired t-test that ``candidate`` is better ('greater' or 'less') than ``baseline``.

    Arrays are paired by position, two series by their index, the trial; trials with a NaN are left out. NaN with fewer
    than two pairs. If all differences are equal, the t statistic is infinite or 0/0; then p is 0 if they favour the
    candidate, else 1.
    """
    check_direction(better)
    if isinstance(candidate, pd.Series) and isinstance(baseline, pd.Series):
        candidate, baseline = candidate.align(baseline)
    pairs = np.array([candidate, baseline], float)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    count = pairs.shape[1]
    if count < 2:
        return float("nan")
    gains = pairs[0] - pairs[1] if better == "greater" else pairs[1] - pairs[0]
    rounding = 16 * np.finfo(float).eps * np.abs(pairs).max()
    if np.ptp(gains) <= rounding:
        return 0.0 if gains.mean() > rounding else 1.0
    # The same as scipy.stats.ttest_rel in a tenth of the time: a report of many protocols makes thousands of tests.
    return float(stdtr(count - 1, -gains.mean() / np.sqrt(gains.var(ddof=1) / count)))


def mean_interval(sample: ArrayLike) -> tuple[float, float]:
    """Student's interval of a mean at 1 − ``LEVEL``; infinite from a single value."""
    values = np.asarray(sample, float)
    if len(values) < 2:
        return -np.inf, np.inf
    return interval_of(float(values.mean()), float(values.std(ddof=1)), len(values))


def interval_of(mean: float, std: float, n: int) -> tuple[float, float]:
    """Student's interval at 1 − ``LEVEL`` of the mean of ``n`` numbers; infinite from a single one."""
    half = float(stdtrit(n - 1, 1 - LEVEL / 2) * std / np.sqrt(n)) if n > 1 else np.inf
    return mean - half, mean + half


def welch_interval(
    mean: float, std: float, n: int, other_mean: float, other_std: float, other_n: int
) -> tuple[float, float]:
    """Welch's interval at 1 − ``LEVEL`` of ``mean − other_mean``, from the two samples' statistics.

    NaN if either has no standard deviation or fewer than two numbers.
    """
    if not (n > 1 and other_n > 1 and np.isfinite([std, other_std]).all()):
        return np.nan, np.nan
    variances = np.array([std**2 / n, other_std**2 / other_n])
    if not variances.any():  # the degrees of freedom would be 0/0
        return mean - other_mean, mean - other_mean
    freedom = variances.sum() ** 2 / (variances**2 / [n - 1, other_n - 1]).sum()  # Welch–Satterthwaite
    half = float(stdtrit(freedom, 1 - LEVEL / 2) * np.sqrt(variances.sum()))
    return mean - other_mean - half, mean - other_mean + half


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down adjusted p-values, in the given order: max over j ≤ i of (m − j + 1)·pⱼ, at most 1.

    NaN, for a comparison that was not possible, is not part of the family and stays NaN.
    """
    adjusted = np.array(p_values, dtype=float)
    order = np.argsort(adjusted, kind="stable")[: np.count_nonzero(~np.isnan(adjusted))]  # NaN comes last
    steps = np.maximum.accumulate(adjusted[order] * np.arange(len(order), 0, -1))
    adjusted[order] = np.minimum(steps, 1)
    return adjusted.tolist()
