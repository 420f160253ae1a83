"""Write docs/landmarks.md, and its figure, from what was measured: python -m studies.landmarks [--freeze]

The trials are those of configs/landmarks.yaml in results/landmarks, and those of configs/landmarks-seconds.yaml in
results/landmarks-seconds, where there are any. With --freeze the units of the gains are measured first, from the rows
of the datasets: results/landmarks/references.csv. The page says how many trials it is made of; run this again when
there are more.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from rffbench.data import train_test
from rffbench.report.figures.style import (
    SCREEN,
    aside,
    drawn_in,
    headline,
    legend_below,
    panels,
    saved,
    style_of,
    tidy_panel,
)
from rffbench.report.frame import Results, load_results
from rffbench.report.text_table import Table
from rffbench.stats import loss_name, losses, references
from rffbench.stats.costs import AtCost, at_cost, with_cost
from rffbench.stats.datasets import bootstrap, signed_rank, wilcoxon_holm
from rffbench.stats.gain import Reference, constant_loss, gains, reference_of
from rffbench.stats.intervals import mean_interval

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "landmarks.md"
FOLDER, SECONDS = ROOT / "results" / "landmarks", ROOT / "results" / "landmarks-seconds"
UNIFORM, MOST = "uniform", 2048


class Measured:
    """The trials of the experiment, and of the seconds where these were measured: what they come to."""

    def __init__(self, folder: Path = FOLDER, seconds: Path = SECONDS) -> None:
        self.results = load_results(folder)
        self.known = references(folder / "references.csv")
        self._seconds = seconds if (seconds / "config.yaml").exists() else None

    @cached_property
    def losses(self) -> pd.DataFrame:
        """As `rffbench.stats.losses`, of the trials that every rule has done at every size."""
        found = losses(self.results.trials)
        cells = found.groupby(["dataset", "trial"]).size()
        whole = cells[cells == len(self.results.methods) * len(self.results.config["n_features"])].index
        return found[pd.MultiIndex.from_frame(found[["dataset", "trial"]]).isin(whole)]

    @cached_property
    def sizes(self) -> list[int]:
        return sorted(int(size) for size in self.losses["n_features"].unique())

    @property
    def rules(self) -> list[str]:
        """All rules but uniform."""
        return [method for method in self.results.methods if method != UNIFORM]

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
        for dataset in self.results.datasets:
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
        return with_cost(load_results(self._seconds).trials, "fit") if self._seconds else None

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


def freeze(results: Results) -> dict[str, Reference]:
    """The unit of each dataset's gains: what uniform landmarks gain over the best constant, at the largest number."""
    found, seed = losses(results.trials), int(results.config["seed"])
    best = found[(found["method"] == UNIFORM) & (found["n_features"] == MOST) & ~found["failed"]]
    frozen = {}
    for name, trials in best.groupby("dataset", sort=False):
        constants = []
        for trial in trials["trial"]:
            split = train_test(str(name), seed=seed, trial=int(trial))
            constants.append(constant_loss(split.y_train, split.y_test, loss_name(str(name))))
        frozen[str(name)] = reference_of(str(name), constants, trials["loss"].tolist())
    return frozen


# ---- The page --------------------------------------------------------------------------------------------------------

HEAD = """# Do chosen landmarks help?

The Nyström map needs landmarks. Usually they are drawn uniformly from the training rows. This page measures what five rules
that choose them gain over that: k-means, recursive ridge leverage scores (RLS), BLESS, randomly pivoted Cholesky and weak greedy
pivots. The [map's section](maps.md#nyström-features) says what they are.
"""
PROTOCOL = """## How it was measured

`rffbench run landmarks` does the trials: {planned} at {sizes} landmarks. In a trial all rules have the same rows and folds. σ is
chosen for each rule alike, by five-fold cross-validation at 512 landmarks, and λ at each number of landmarks. The page was written
by `python -m studies.landmarks`; run it again when there are more trials.

A gain is (L_uniform − L_rule)/(L_constant − L_best) in %. L is the test error of a classification and the mean squared error of a
regression. L_constant is the loss of the best constant, L_best that of 2,048 uniform landmarks: 100 % is what these learn. Intervals
are 95 %, of the median over datasets, by a bootstrap over datasets and trials. With few datasets such an interval is nearly their
range. Kernel errors are relative, ‖K − K̃‖₂/‖K‖₂ on 1,000 training rows; only trials are compared in which both rules chose the
same σ. {edges}

Not covered: inputs of many columns, kernels other than the Gaussian, and more than 2,048 landmarks.
"""
NAMES = {"kmeans": "k-means", "rls": "RLS", "bless": "BLESS", "rpcholesky": "RPCholesky"}
SHOWN = (256, 1024)  # sizes of the table of datasets


def in_words(names: list[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def signed(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}".replace("-", "−")


def interval(found: tuple[float, float, float]) -> str:
    """Of gains in %."""
    middle, low, high = map(signed, found)
    return f"{middle} ({low} to {high})"


def share(found: tuple[float, float, float]) -> str:
    """Of ratios, to two digits."""
    middle, low, high = (f"{each:.2g}" for each in found)
    return f"{middle} ({low} to {high})"


def percent(gains_of: dict[str, np.ndarray]) -> tuple[float, float, float]:
    middle, low, high = bootstrap(gains_of)
    return 100 * middle, 100 * low, 100 * high


def kernel_ratio(measured: Measured, size: int, rule: str) -> tuple[float, float, float] | None:
    """The kernel error over that of uniform landmarks: median over datasets and interval; None without a pair."""
    ratios = measured.kernel_ratios(size, rule)
    if not ratios:
        return None
    middle, low, high = np.exp(bootstrap(ratios))
    return float(middle), float(low), float(high)


def answer(measured: Measured) -> str:
    """What came out, in words."""
    at = 1024
    ratios = {rule: kernel_ratio(measured, at, rule) for rule in measured.rules}
    known = {rule: each for rule, each in ratios.items() if each}
    lower = [rule for rule, each in known.items() if each[2] < 1]
    best = min(lower or known, key=lambda rule: known[rule][0])
    said = [
        f"**For the kernel matrix, {'yes' if lower else 'not clearly'}.** At 1,024 landmarks {in_words(lower) or 'no rule'} "
        f"{'have' if len(lower) > 1 else 'has'} a smaller kernel error than uniform landmarks on the median dataset; {best} has the "
        f"smallest, {share(known[best])} times theirs."
    ]
    clear: dict[str, list[str]] = {"above": [], "below": []}
    cells = 0
    for rule in measured.rules:
        found = {size: percent(measured.gains_at(size, rule)) for size in measured.sizes}
        for side, sizes in (
            ("above", [size for size, each in found.items() if each[1] > 0]),
            ("below", [size for size, each in found.items() if each[2] < 0]),
        ):
            cells += len(sizes)
            if sizes:
                clear[side].append(f"{rule} (at {in_words([f'{size:,}' for size in sizes])})")
    total = len(measured.rules) * len(measured.sizes)
    said.append(
        f"**For the test error, {'sometimes' if clear['above'] else 'no'}.** Of {total} combinations of a rule and a number of landmarks, "
        f"the interval of the gain is above 0 for {in_words(clear['above']) or 'none'}, and below 0 for "
        f"{in_words(clear['below']) or 'none'}; in the other {total - cells} it includes 0."
        + (" A smaller kernel error does not bring a smaller test error here." if lower and not clear["above"] else "")
    )
    said += [where(measured), *at_equal_seconds(measured), choosing_takes()]
    return "\n\n".join(said)


def at_equal_seconds(measured: Measured) -> list[str]:
    """The same at the seconds that 1,024 uniform landmarks take."""
    if measured.costs is None:
        return []
    at = measured.at_seconds(1024)
    found = {rule: percent(each) for rule in measured.rules if (each := measured.gains_in(at, rule))}
    below = [rule for rule, each in found.items() if each[2] < 0]
    above = [rule for rule, each in found.items() if each[1] > 0]
    headline = "some rules pay" if above else "they cost" if below else "it is undecided"
    best = max(found, key=lambda rule: found[rule][0])
    return [
        f"**At equal seconds {headline}.** At the seconds that 1,024 uniform landmarks take, choosing included, the interval of the gain "
        f"is above 0 for {in_words(above) or 'no rule'} and below 0 for {in_words(below) or 'none'}. The largest is that of "
        f"{best}, {interval(found[best])} %."
    ]


def where(measured: Measured) -> str:
    """On which datasets the gain of a rule is clear, by Student's interval over trials."""
    clear: dict[str, list[str]] = {"higher": [], "lower": []}
    for rule in measured.rules:
        for size in measured.sizes:
            for dataset, each in measured.gains_at(size, rule).items():
                low, high = mean_interval(pd.Series(each))
                if low > 0 or high < 0:
                    name = f"{rule} at {size:,} on {dataset} ({signed(100 * each.mean())} %)"
                    clear["higher" if low > 0 else "lower"].append(name)
    cells = sum(len(measured.gains_at(size, rule)) for rule in measured.rules for size in measured.sizes)
    chance = round(0.05 * cells / 2)
    return (
        f"On single datasets, by Student's interval over trials, the gain is above 0 in {len(clear['higher'])} of {cells} cells and "
        f"below 0 in {len(clear['lower'])}; {chance} of each sign are to be expected by chance. Above 0: "
        f"{in_words(clear['higher']) or 'none'}."
    )


def choosing_takes() -> str:
    """What the rules cost beside a fit, as `python -m benchmarks landmarks` measured it."""
    rows = json.loads((ROOT / "docs" / "performance.json").read_text())["landmarks"]["results"]
    found = [(row["ratio"], re.match(r"1,000 landmarks by (\w+), n=100,000", row["name"])) for row in rows]
    ratios = [
        f"{NAMES.get(name[1], name[1])} {ratio:.2g}" for ratio, name in sorted(found, key=lambda each: each[0]) if name
    ]
    return (
        "Choosing is not free. To choose 1,000 of 100,000 rows takes, of the seconds of a whole ridge fit on as many uniform "
        f"landmarks: {in_words(ratios)} ([Performance](performance.md))."
    )


def numbers_table(measured: Measured) -> Table:
    table = Table(
        "Gain over as many uniform landmarks, and kernel error over theirs",
        ["landmarks", "rule", "gain, %", "better | same | worse", "p (Holm)", "kernel error, ratio", "pairs of one σ"], stub=1,
    )  # fmt: skip
    for size in measured.sizes:
        of_rules = {rule: measured.gains_at(size, rule) for rule in measured.rules}
        means = pd.DataFrame(
            {rule: {name: values.mean() for name, values in each.items()} for rule, each in of_rules.items()}
        )
        p = wilcoxon_holm(means)["p_holm"]
        for rule, each in of_rules.items():
            odds, ratio = signed_rank(means[rule].to_numpy()), kernel_ratio(measured, size, rule)
            pairs = sum(map(len, measured.kernel_ratios(size, rule).values()))
            table.rows.append([
                f"{size:,}", rule, interval(percent(each)), f"{odds.better:.2f} | {odds.same:.2f} | {odds.worse:.2f}",
                "–" if np.isnan(p[rule]) else f"{p[rule]:.2g}", share(ratio) if ratio else "–", str(pairs),
            ])  # fmt: skip
    table.notes = [
        "Medians over datasets with their intervals. Better, same and worse: the probabilities that the gain is above 1 %, within "
        "±1 % or below −1 %, by the Bayesian signed-rank test over datasets; p by Wilcoxon's, with Holm's correction over the rules. "
        "A kernel error below 1 is smaller than that of uniform landmarks."
    ]
    return table


def dataset_table(measured: Measured) -> Table:
    table = Table(
        "Gain on each dataset, %: mean over trials and Student's interval", ["dataset", "landmarks", *measured.rules]
    )
    for dataset in measured.losses["dataset"].unique():
        for size in SHOWN:
            cells = []
            for rule in measured.rules:
                each = 100 * pd.Series(measured.gains_at(size, rule).get(str(dataset), np.empty(0)))
                cells.append(interval((each.mean(), *mean_interval(each))) if len(each) else "–")
            table.rows.append([str(dataset), f"{size:,}", *cells])
    return table


def worth_table(measured: Measured) -> Table:
    table = Table(
        "How many uniform landmarks are as good as one that a rule chose", ["landmarks", *measured.rules], stub=1
    )
    for size in [size for size in measured.sizes if size < MOST]:
        cells = []
        for rule in measured.rules:
            found, outside = measured.worth(size, rule)
            values = list(found.values())
            span = f"{np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else "–"
            cells.append(f"{span}, {outside} out of range" if outside else span)
        table.rows.append([f"{size:,}", *cells])
    table.notes = [
        "Read from the curve of uniform landmarks' mean loss, by straight lines in the logarithm of their number: median over "
        "datasets, smallest and largest. Out of range: datasets on which fewer than 64 or more than 2,048 would be needed."
    ]
    return table


def at_equal_time(measured: Measured) -> str:
    """Gains at the seconds of uniform landmarks."""
    if measured.costs is None:
        return (
            "Not measured yet. The seconds of the trials above were taken while other work used the processors, and rows hold no "
            "processor seconds. `rffbench run landmarks-seconds` takes the seconds alone on the machine; this section is then "
            "written from them. Choosing takes time besides, so that gains at equal time are below those at equal numbers."
        )
    table = Table(
        "Gain at the seconds of uniform landmarks, %, and seconds over theirs at equal numbers",
        ["uniform landmarks", "rule", "gain, %", "datasets out of range", "seconds, ratio"], stub=1,
    )  # fmt: skip
    for size in measured.sizes:
        found = measured.at_seconds(size)
        for rule in measured.rules:
            of_datasets = measured.gains_in(found, rule)
            ratios = measured.cost_ratios(size, rule)
            span = f"{ratios.median():.2f} ({ratios.min():.2f} to {ratios.max():.2f})" if len(ratios) else "–"
            outside = int(found.out_of_range.get(rule, 0))
            cell = interval(percent(of_datasets)) if of_datasets else "–"
            table.rows.append([f"{size:,}", rule, cell, str(outside), span])
    table.notes = [
        "Seconds: to choose the landmarks, to map, to fit once and to predict. A rule's loss is read from its own curve of loss "
        "over seconds, by a monotone cubic in their logarithm. Out of range: the rule was measured at no such seconds. Seconds over "
        "those of as many uniform landmarks: median over datasets, smallest and largest."
    ]
    return table.to_markdown()


def at_the_ends(measured: Measured) -> str:
    """How often a choice is the smallest or the largest value of its grid."""
    trials, config = measured.results.trials, measured.results.config
    grids = {
        "λ": ("lambda", config["solver"]["lambda"]),
        "σ": ("times_median", config["kernel"]["gamma"]["times_median"]),
    }
    said = []
    for name, (column, grid) in grids.items():
        for end, value in (("smallest", min(grid)), ("largest", max(grid))):
            found = trials[np.isclose(trials[column], value, atol=0)]["dataset"].value_counts(sort=False)
            if len(found := found[found > 0]):
                where = in_words([f"{count} trials on {dataset}" for dataset, count in found.items()])
                said.append(f"{name} is the {end} of its grid in {where}")
    return (
        f"{'; '.join(said)}. There a wider grid might change a gain." if said else "No choice is at an end of its grid."
    )


def page(measured: Measured) -> str:
    """The text of docs/landmarks.md."""
    counted = measured.losses.groupby("dataset", sort=False)["trial"].nunique()
    datasets = [str(name) for name in counted.index]
    planned = int(measured.results.config["trials"])
    listed = in_words([f"{name} ({count})" for name, count in counted.items()])
    every = list(measured.results.config["datasets"])
    missing = [name for name in every if name not in datasets or counted[name] < planned]
    state = f"Measured so far, with the number of trials: {listed}. " + (
        f"Not complete: {in_words(missing)}. What follows may change with them." if missing else "All trials are done."
    )
    sizes = in_words([f"{size:,}" for size in measured.sizes])
    return "\n".join([
        HEAD, state, "", "## The answer", "", answer(measured), "",
        "![Gain and kernel error against the number of landmarks](../results/landmarks/figures/rules.png)", "",
        "## At equal numbers", "", numbers_table(measured).to_markdown(), dataset_table(measured).to_markdown(),
        "## What a chosen landmark is worth", "", worth_table(measured).to_markdown(),
        "## At equal time", "", at_equal_time(measured), "",
        PROTOCOL.format(planned=f"{len(measured.results.methods)} rules on {len(every)} datasets, {planned} times, each",
            sizes=sizes, edges=at_the_ends(measured),
        ),
    ])  # fmt: skip


def draw(measured: Measured) -> None:
    """results/landmarks/figures/rules.png: kernel error and gain against the number of landmarks."""
    with drawn_in(SCREEN):
        figure, (left, right) = panels(2, 3.4, 2.6, above=0.5)
        handles = {}
        for index, rule in enumerate(measured.rules, start=1):
            style = style_of(index)
            gained = [(size, *percent(measured.gains_at(size, rule))) for size in measured.sizes]
            ratios = [(size, *each) for size in measured.sizes if (each := kernel_ratio(measured, size, rule))]
            for panel, rows in ((left, ratios), (right, gained)):
                at, middle, low, high = np.array(rows).T
                place = aside(at, index - 1, len(measured.rules))
                bars = np.maximum([middle - low, high - middle], 0)
                handles[rule] = panel.errorbar(place, middle, yerr=bars, capsize=1.8, elinewidth=0.8, **style)
        left.set_yscale("log")
        left.axhline(1, color="#000000", linewidth=0.8)
        right.axhline(0, color="#000000", linewidth=0.8)
        left.set_title("(a) kernel error over that of uniform landmarks")
        right.set_title("(b) gain in test error over uniform landmarks, %")
        for panel in (left, right):
            panel.set_xscale("log")
            panel.set_xticks(measured.sizes, [f"{size:,}" for size in measured.sizes])
            panel.minorticks_off()
            panel.set_xlabel("landmarks")
            tidy_panel(panel)
        legend_below(figure, handles)
        count = measured.losses["dataset"].nunique()
        headline(
            figure, "Chosen landmarks against as many uniform ones", f"medians over {count} datasets, 95 % intervals"
        )
        saved(figure, FOLDER, "rules")


def main() -> None:
    if "--freeze" in sys.argv[1:]:
        rows = [vars(each) for each in freeze(load_results(FOLDER)).values()]
        pd.DataFrame(rows).to_csv(FOLDER / "references.csv", index=False, lineterminator="\n")
    measured = Measured()
    draw(measured)
    PAGE.write_text(page(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
