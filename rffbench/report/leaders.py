"""Which methods lead: the best at a dataset and size, and those that are not shown to be worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from rffbench.io.text import plural
from rffbench.report.frame import Protocols, Results
from rffbench.report.significance import by_trial
from rffbench.stats.intervals import LEVEL, paired_p_value
from rffbench.trials.metrics import Metric

BEST = (
    "Bold: the best at a dataset and size, and what is not shown to be worse (one-sided paired t-test over trials, "
    f"level {LEVEL:g})."
)
FEWEST_TRIALS = 2  # that two methods must share for a test
MOST_NAMED = 3  # methods in a sentence

Leaders = dict[tuple[str, int], frozenset[str]]
"""By dataset and size, the methods that lead."""


def leaders(results: Results, metrics: Mapping[str, Metric]) -> Leaders:
    """The leading methods by each dataset's metric, at the sizes where two methods or more have a number.

    The best method has the best mean; another leads with it unless a one-sided paired t-test over the trials of both
    (:func:`paired_p_value`) shows at ``LEVEL`` that the best is better. Without a test, for want of trials, a method
    leads only if its mean is equal. A dataset whose metric has no better direction has no leaders.
    """
    found: Leaders = {}
    for dataset in results.datasets:
        metric = metrics[dataset]
        if metric.better is None:
            continue
        trials = results.trials[results.trials["dataset"] == dataset]
        sizes, (values,) = by_trial(trials, results.methods, [metric.name])
        for n_features, of_size in zip(sizes, values, strict=True):
            measured = np.flatnonzero(~np.isnan(of_size).all(axis=1))
            if len(measured) < 2:
                continue
            means = np.nanmean(of_size[measured], axis=1)
            best = int(means.argmax() if metric.better == "greater" else means.argmin())
            found[dataset, n_features] = frozenset(
                results.methods[place]
                for place, mean in zip(measured, means, strict=True)
                if mean == means[best]
                # False for NaN: nothing was tested
                or paired_p_value(of_size[measured[best]], of_size[place], metric.better) >= LEVEL
            )
    return found


def sentence(protocols: Protocols, metric: Metric | None = None) -> str:
    """Who leads by ``metric``, or by what each dataset is judged by, in a sentence. Empty if nowhere two methods were
    measured at one dataset and size."""
    every: list[frozenset[str]] = []
    for _, results in protocols:
        metrics = {dataset: metric or results.score(dataset) for dataset in results.datasets}
        every += leaders(results, metrics).values()
    if not every:
        return ""
    if not any(_can_test(results) for _, results in protocols):
        return "One trial of each method shows of none that it is better than another."
    methods = list(dict.fromkeys(method for _, results in protocols for method in results.methods))
    counts = Counter(method for each in every for method in each)
    most = max(counts.values())
    leading = [method for method in methods if counts[method] == most]
    every_one = plural(len(every), "comparison") if len(every) > 1 else "the only comparison"
    where = f"in {most} of {every_one}" if len(every) > 1 else f"in {every_one}"
    if len(leading) == 1:
        return f"{leading[0]} leads: it is the best, or not shown to be worse than the best, {where}."
    measured = {method for _, results in protocols for method in results.trials["method"]}
    if most == len(every) and measured <= set(leading):
        return f"No method is shown to be better than another in {every_one}."
    named = f"{len(leading)} methods"
    if len(leading) <= MOST_NAMED:
        named = f"{', '.join(leading[:-1])} and {leading[-1]}"
    return f"{named} lead: each is the best, or not shown to be worse than the best, {where}."


def _can_test(results: Results) -> bool:
    """Whether two methods share enough trials anywhere."""
    ok = results.trials[results.trials["status"] == "ok"]
    methods = ok.groupby(["dataset", "n_features", "trial"])["method"].nunique()
    trials = (methods > 1).groupby(level=["dataset", "n_features"]).sum()
    return bool((trials >= FEWEST_TRIALS).any())
