"""Is a method better than its baselines? Paired t-tests over trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.report.frame import Results
from rffbench.stats.intervals import LEVEL, holm, paired_p_value
from rffbench.trials.metrics import Metric

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
    sizes, values = by_trial(trials, results.methods, [metric.name for metric in judged])
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


def by_trial(
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
