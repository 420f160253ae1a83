"""The input dimension from which a map is quicker than the baseline, measured on synthetic data of several
dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from rffbench import Results, load_card

FEWEST_DIMENSIONS = 3


@dataclass(frozen=True)
class Crossover:
    """The dimension at which a method's feature time falls below the baseline's.

    ``faster_from`` is the least measured dimension from which the method is always quicker; None if it is slower at the
    largest. ``at`` is the dimension at which the log-log lines through the measured times cross; None if the method is
    quicker at all dimensions, or never.
    """

    method: str
    baseline: str
    faster_from: int | None
    at: float | None

    def __str__(self) -> str:
        if self.faster_from is None:
            return f"{self.method}: not quicker"
        crossing = f"≈\u00a0{self.at:.0f}" if self.at else f"= {self.faster_from} or less"
        return f"{self.method}: from\u00a0d\u00a0{crossing}"


def by_dimension(results: Results) -> pd.DataFrame | None:
    """The trials of maps at the largest size on synthetic data, with a column ``d``. None without measured projections,
    or with fewer than FEWEST_DIMENSIONS dimensions."""
    if "marginal_ks" not in results.trials:
        return None
    dimensions = {dataset: d for dataset in results.datasets if (d := _synthetic_dimension(dataset))}
    trials = results.trials[results.trials["dataset"].isin(dimensions) & (results.trials["status"] == "ok")]
    trials = trials[trials["n_features"] == trials["n_features"].max()]
    trials = trials.assign(d=trials["dataset"].map(dimensions))
    return trials if trials["d"].nunique() >= FEWEST_DIMENSIONS else None


def _synthetic_dimension(dataset: str) -> int | None:
    card = load_card(dataset)
    return card.columns if card.format.kind == "synthetic" else None


def median_times(trials: pd.DataFrame) -> pd.DataFrame:
    """The median seconds of the features by d (rows) and method (columns)."""
    return trials.pivot_table(index="d", columns="method", values="feature_s", aggfunc="median")


def crossovers(results: Results) -> list[Crossover]:
    """The crossover of every method with the config's first baseline; empty if `by_dimension` is None."""
    trials, baselines = by_dimension(results), results.baselines
    if trials is None or not baselines:
        return []
    times, baseline = median_times(trials), baselines[0]
    return [_crossover(times[[method, baseline]].dropna(), method, baseline)
            for method in results.methods if method in times and method != baseline]  # fmt: skip


def _crossover(times: pd.DataFrame, method: str, baseline: str) -> Crossover:
    d, ratio = times.index.to_numpy(float), np.log((times[method] / times[baseline]).to_numpy(float))
    slower = np.flatnonzero(ratio >= 0)
    if len(slower) == 0:
        return Crossover(method, baseline, int(d[0]), None)
    last = slower[-1]
    if last == len(d) - 1:
        return Crossover(method, baseline, None, None)
    share = ratio[last] / (ratio[last] - ratio[last + 1])
    at = np.exp(np.log(d[last]) + share * np.log(d[last + 1] / d[last]))
    return Crossover(method, baseline, int(d[last + 1]), float(at))


def write_crossover(every: Results) -> list[Path]:
    """Write crossover.csv into the folder: for each method its crossover, and its median seconds over the baseline's at
    every d. Returns the path; empty if nothing was measured."""
    rows = []
    for labels, results in every.protocols:
        for each in crossovers(results):
            trials = by_dimension(results)
            assert trials is not None
            times = median_times(trials)
            ratios = {f"seconds over {each.baseline}'s, d={d}": value
                      for d, value in (times[each.method] / times[each.baseline]).items()}  # fmt: skip
            rows.append({
                **labels, "method": each.method, "baseline": each.baseline, "n_features": trials["n_features"].iloc[0],
                "faster_from_d": each.faster_from, "crosses_at_d": each.at, **ratios,
            })  # fmt: skip
    if not rows:
        return []
    path = every.folder / "crossover.csv"
    table = pd.DataFrame(rows).astype({"faster_from_d": "Int64"})
    table.to_csv(path, index=False, float_format="%.3g", lineterminator="\n")
    return [path]
