"""What rules that choose landmarks gain over uniform ones: results of landmarks, and of landmarks-seconds.

A gain is a share of what 2,048 uniform landmarks gain over a constant. Intervals are 95 %, of the median over datasets.
"""

from __future__ import annotations

import json
import re
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd

import rffbench
from rffbench.stats import (
    AtCost,
    at_cost,
    bootstrap,
    gains,
    losses,
    mean_interval,
    references,
    signed_rank,
    wilcoxon_holm,
    with_cost,
)
from studies.evidence import folder_of, signed

ROOT = Path(__file__).resolve().parents[2]
FOLDER, SECONDS = folder_of("landmarks"), folder_of("landmarks-seconds")
UNIFORM, MOST = "uniform", 2048
NAMES = {"kmeans": "k-means", "rls": "RLS", "bless": "BLESS", "rpcholesky": "RPCholesky"}
SHOWN = (256, 1024)  # sizes of the table of datasets


class Measured:
    """The trials of the experiment, and of the seconds where these were measured: what they come to."""

    def __init__(self, folder: Path = FOLDER, seconds: Path = SECONDS) -> None:
        self.results = rffbench.load(folder)
        self.known = references(folder / "references.csv")
        self._seconds = seconds if (seconds / "config.yaml").exists() else None

    @cached_property
    def losses(self) -> pd.DataFrame:
        """As `rffbench.stats.losses`, of the trials that every rule has done at every size."""
        found = losses(self.results.trials)
        cells = found.groupby(["dataset", "trial"]).size()
        whole = cells[cells == len(self.results.config["methods"]) * len(self.results.config["n_features"])].index
        return found[pd.MultiIndex.from_frame(found[["dataset", "trial"]]).isin(whole)]

    @cached_property
    def sizes(self) -> list[int]:
        return sorted(int(size) for size in self.losses["n_features"].unique())

    @property
    def rules(self) -> list[str]:
        """All rules but uniform."""
        return [method for method in self.results.config["methods"] if method != UNIFORM]

    @cached_property
    def gains(self) -> pd.DataFrame:
        """Every trial's gain over uniform landmarks of the same number, in the same trial."""
        return gains(self.losses, self.known, baseline=UNIFORM).dropna(subset=["gain"])

    def gains_at(self, size: int, rule: str) -> dict[str, np.ndarray]:
        """The gains of a rule's trials, by dataset."""
        mine = self.gains[(self.gains["n_features"] == size) & (self.gains["method"] == rule)]
        return {str(name): each["gain"].to_numpy() for name, each in mine.groupby("dataset", sort=False)}

    def kernel_ratios(self, size: int, rule: str) -> dict[str, np.ndarray]:
        """By dataset, the log of a trial's kernel error over that of uniform landmarks, of the trials in which both
        chose the same σ: errors against two kernels cannot be compared."""
        trials = self.results.trials
        at = trials[(trials["n_features"] == size) & (trials["kernel_error"] > 0)].set_index(["dataset", "trial"])
        wide = at.pivot(columns="method", values=["kernel_error", "gamma"])
        if rule not in wide["gamma"] or UNIFORM not in wide["gamma"]:
            return {}
        wide = wide[np.isclose(wide["gamma"][rule], wide["gamma"][UNIFORM], rtol=1e-9)]
        ratio = np.log(wide["kernel_error"][rule] / wide["kernel_error"][UNIFORM])
        return {str(name): each.to_numpy() for name, each in ratio.groupby("dataset", sort=False)}

    def worth(self, size: int, rule: str) -> tuple[dict[str, float], int]:
        """By dataset, how many uniform landmarks reach the mean loss of ``size`` landmarks of a rule, over ``size``;
        and on how many datasets it is out of the range that was measured."""
        mean = self.losses.groupby(["dataset", "method", "n_features"])["loss"].mean()
        found, outside = {}, 0
        for dataset in self.results.config["datasets"]:
            try:
                curve, wanted = mean[dataset, UNIFORM].dropna(), mean[dataset, rule, size]
            except KeyError:
                continue
            number = crossing(np.log(curve.index.to_numpy(float)), curve.to_numpy(), float(wanted))
            if np.isnan(number):
                outside += 1
            else:
                found[dataset] = float(np.exp(number)) / size
        return found, outside

    @cached_property
    def costs(self) -> pd.DataFrame | None:
        """dataset, n_features, method, trial and cost: seconds to choose, map, fit once and predict, taken alone."""
        return with_cost(rffbench.load(self._seconds).trials, "fit") if self._seconds else None

    def at_seconds(self, size: int) -> AtCost:
        """Gains at the seconds that ``size`` uniform landmarks take."""
        return at_cost(self.losses, self.costs, self.known, size, baseline=UNIFORM)

    @staticmethod
    def gains_in(found: AtCost, rule: str) -> dict[str, np.ndarray]:
        """The gains of a rule's trials at equal cost, by dataset, where it was measured at that cost."""
        mine = found.trials[(found.trials["method"] == rule) & found.trials["gain"].notna()]
        return {str(name): each["gain"].to_numpy() for name, each in mine.groupby("dataset", sort=False)}

    def cost_ratios(self, size: int, rule: str) -> pd.Series:
        """By dataset, the median over trials of a rule's seconds over those of as many uniform landmarks."""
        costs = self.costs[self.costs["n_features"] == size]
        wide = costs.pivot_table(index=["dataset", "trial"], columns="method", values="cost")
        return (wide[rule] / wide[UNIFORM]).groupby("dataset").median().dropna()


def crossing(places: np.ndarray, curve: np.ndarray, wanted: float) -> float:
    """The first place at which the ``curve`` comes down to ``wanted``, by straight lines; NaN where it does not, and
    where it begins below."""
    if len(curve) == 0 or curve[0] < wanted:
        return np.nan
    for at in range(1, len(curve)):
        if curve[at] <= wanted:
            share = (curve[at - 1] - wanted) / (curve[at - 1] - curve[at]) if curve[at - 1] > curve[at] else 0.0
            return float(places[at - 1] + share * (places[at] - places[at - 1]))
    return np.nan


@cache
def measured() -> Measured:
    return Measured()


def rules() -> list[str]:
    return measured().rules


def sizes() -> list[int]:
    return measured().sizes


# ---- What the page says ----------------------------------------------------------------------------------------------

Estimate = tuple[float, float, float]
"""A median over datasets, and the ends of its interval."""


def percent(gains_of: dict[str, np.ndarray]) -> Estimate:
    middle, low, high = bootstrap(gains_of)
    return 100 * middle, 100 * low, 100 * high


@cache
def gain(rule: str, size: int) -> Estimate:
    """Over as many uniform landmarks, in %."""
    return percent(measured().gains_at(size, rule))


def kernel_ratio(of: Measured, size: int, rule: str) -> Estimate | None:
    """The kernel error over that of uniform landmarks; None without a pair of trials with one σ."""
    ratios = of.kernel_ratios(size, rule)
    if not ratios:
        return None
    middle, low, high = np.exp(bootstrap(ratios))
    return float(middle), float(low), float(high)


def smaller_kernel_error(size: int) -> list[str]:
    """The rules whose kernel error is smaller than that of uniform landmarks, the smallest first."""
    ratios = {rule: kernel_ratio(measured(), size, rule) for rule in rules()}
    found = {rule: each for rule, each in ratios.items() if each and each[2] < 1}
    return sorted(found, key=lambda rule: found[rule][0])


def clear(side: str) -> list[str]:
    """The rules whose gain is above 0, or below it, at some number of landmarks."""
    found = {rule: [gain(rule, size) for size in sizes()] for rule in rules()}
    return [rule for rule, gains in found.items()
            if any(low > 0 if side == "above" else high < 0 for _, low, high in gains)]  # fmt: skip


def on_datasets(side: str) -> int:
    """On how many datasets, of all rules and sizes, the gain is above 0, or below it, by Student's interval."""
    ends = [mean_interval(pd.Series(each)) for rule in rules() for size in sizes()
            for each in measured().gains_at(size, rule).values()]  # fmt: skip
    return sum(low > 0 if side == "above" else high < 0 for low, high in ends)


def cells() -> int:
    """How many datasets all rules and sizes have together."""
    return sum(len(measured().gains_at(size, rule)) for rule in rules() for size in sizes())


@cache
def at_seconds(size: int) -> dict[str, Estimate]:
    """The gains at the seconds that ``size`` uniform landmarks take, by rule."""
    at = measured().at_seconds(size)
    return {rule: percent(each) for rule in rules() if (each := measured().gains_in(at, rule))}


def loses_least(size: int) -> str:
    """The rule with the largest gain at those seconds."""
    return max(at_seconds(size), key=lambda rule: at_seconds(size)[rule][0])


def choosing_takes() -> list[tuple[str, float]]:
    """What it takes to choose 1,000 of 100,000 rows, of the seconds of a ridge fit on as many uniform landmarks."""
    rows = json.loads((ROOT / "docs" / "performance.json").read_text(encoding="utf-8"))["landmarks"]["results"]
    found = [(row["ratio"], re.match(r"1,000 landmarks by (\w+), n=100,000", row["name"])) for row in rows]
    return [(NAMES.get(name[1], name[1]), ratio) for ratio, name in sorted(found, key=lambda each: each[0]) if name]


def at_ends() -> dict[str, list[str]]:
    """By λ or σ and the end of its grid, on which datasets it was chosen, and how often."""
    trials, config = measured().results.trials, measured().results.config
    grids = {
        "λ": ("lambda", config["solver"]["lambda"]),
        "σ": ("times_median", config["kernel"]["gamma"]["times_median"]),
    }
    found = {}
    for name, (column, grid) in grids.items():
        for end, value in (("smallest", min(grid)), ("largest", max(grid))):
            counts = trials[np.isclose(trials[column], value, atol=0)]["dataset"].value_counts(sort=False)
            found[f"{name}, {end}"] = [f"{dataset} ({count})" for dataset, count in counts.items() if count]
    return found


def interval(found: Estimate) -> str:
    """Of gains in %."""
    middle, low, high = (signed(each, 1) for each in found)
    return f"{middle} ({low} to {high})"


def share(found: Estimate) -> str:
    """Of ratios, to two digits."""
    middle, low, high = (f"{each:.2g}" for each in found)
    return f"{middle} ({low} to {high})"


def rows_at_equal_numbers() -> list[list[str]]:
    """For each number of landmarks and rule: gain, odds, p and kernel error."""
    found = []
    for size in sizes():
        of_rules = {rule: measured().gains_at(size, rule) for rule in rules()}
        means = pd.DataFrame(
            {rule: {name: values.mean() for name, values in each.items()} for rule, each in of_rules.items()}
        )
        p = wilcoxon_holm(means)["p_holm"]
        for rule, each in of_rules.items():
            odds, ratio = signed_rank(means[rule].to_numpy()), kernel_ratio(measured(), size, rule)
            found.append([
                f"{size:,}", rule, interval(percent(each)), f"{odds.better:.2f}", f"{odds.same:.2f}",
                f"{odds.worse:.2f}", f"{p[rule]:.2g}", share(ratio) if ratio else "–",
            ])  # fmt: skip
    return found


def rows_of_datasets() -> list[list[str]]:
    """For each dataset and some numbers of landmarks: the mean gain of every rule, and Student's interval."""
    found = []
    for dataset in measured().losses["dataset"].unique():
        for size in SHOWN:
            each = [100 * pd.Series(measured().gains_at(size, rule)[str(dataset)]) for rule in rules()]
            found.append([str(dataset), f"{size:,}", *(interval((one.mean(), *mean_interval(one))) for one in each)])
    return found


def rows_of_worth() -> list[list[str]]:
    """For each number of landmarks, how many uniform ones are as good as one that a rule chose."""
    found = []
    for size in sizes()[:-1]:
        row = [f"{size:,}"]
        for rule in rules():
            worth, outside = measured().worth(size, rule)
            values = list(worth.values())
            span = f"{np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else "–"
            row.append(f"{span}, {outside} out of range" if outside else span)
        found.append(row)
    return found


def rows_at_equal_seconds() -> list[list[str]]:
    """For each number of uniform landmarks and rule: the gain at their seconds, and seconds at equal numbers."""
    found = []
    for size in sizes():
        at = measured().at_seconds(size)
        for rule in rules():
            gained = measured().gains_in(at, rule)
            ratios = measured().cost_ratios(size, rule)
            found.append([
                f"{size:,}", rule, interval(percent(gained)) if gained else "–", str(int(at.out_of_range.get(rule, 0))),
                f"{ratios.median():.2f} ({ratios.min():.2f} to {ratios.max():.2f})",
            ])  # fmt: skip
    return found
