"""What your own map, or your own data, comes to on the board: tables for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rffbench.config.loading import load_experiment
from rffbench.errors import ResultsError
from rffbench.report.board.registered import COLUMNS
from rffbench.report.board.score import BASELINE, CELL, Reference, gains, left_out, loss_name, losses, references
from rffbench.report.board.shipped import SHIPPED, Shipped, protocol, read_shipped, shipped
from rffbench.report.board.summary import gains_of, interval, odds, percent, summaries, summary_of, summary_table
from rffbench.report.board.views import Clock, at_cost, cost, outside
from rffbench.report.frame import Results
from rffbench.report.significance import mean_interval
from rffbench.report.text_table import Table
from rffbench.text import plural


def map_tables(results: Results, label: str | None = None) -> list[Table]:
    """Where the map called ``label`` lies: its gains over RFF beside those of the maps that ship with the package, on
    each dataset, and what it costs. Without a label, the gains of all maps of the results."""
    known = references()
    found = losses(results)
    own = [label] if label else [name for name in results.methods if results.grid.features(name)["name"] != "none"]
    others = None
    notes = [f"{name} {why}: left out." for name, why in left_out(results.datasets, known).items()]
    if label:
        try:
            if (others := shipped(protocol(results.config))) is None:
                notes.append(
                    "The maps that ship with the package were measured by another protocol; they are not shown."
                )
        except ResultsError as error:
            notes.append(str(error))
    tables = [_gain_table(results.title, results.datasets, found, own, known, others, notes)]
    if label:
        tables += [_dataset_table(found, label, known), _cost_table(results, found, label, known)]
    return tables


def shipped_tables(name: str = "board") -> list[Table]:
    """The gains of the maps whose rows ship with the package, at every size of which they have all datasets."""
    rows = read_shipped(SHIPPED[name]).rows
    datasets = list(rows["dataset"].unique())
    counts = rows[rows["method"] == BASELINE].groupby("n_features")["dataset"].nunique()
    whole = rows[rows["n_features"].isin(counts.index[counts == len(datasets)])]
    maps = [method for method in whole["method"].unique() if method != BASELINE]
    notes = ["These rows ship with rffbench. `rffbench run board` measures them anew, and the trials to come: hours."]
    title = load_experiment(name).title
    tables = [_gain_table(title, datasets, whole, maps, references(), None, notes)]
    if "cost" in rows:
        tables.append(_equal_seconds_table(rows, maps))
    return tables


def _equal_seconds_table(rows: pd.DataFrame, maps: Sequence[str]) -> Table:
    """The gains at RFF's seconds with 512 columns, of shipped rows with their cost."""
    at = at_cost(rows, rows[[*CELL, "cost"]].dropna(), references(), COLUMNS)
    title = f"Gain at RFF's seconds with {COLUMNS} columns: map, one fit and prediction"
    table = summary_table(title, summaries(at.trials, maps))
    table.notes = [
        "Left out: datasets on which the map is dearer, or cheaper, than that at every size that was run. Ratios of "
        "seconds are those of the machine that measured the board.",
    ]
    return table


def _gain_table(
    title: str, datasets: Sequence[str], found: pd.DataFrame, own: Sequence[str], known: dict[str, Reference],
    others: Shipped | None, notes: list[str],
) -> Table:  # fmt: skip
    """Each map's gain at each size: median over datasets, interval, and the probabilities."""
    table = Table(
        f"{title}: gain over RFF at equal columns, in % of what RFF at 4,096 columns gains over a constant",
        ["columns", "map", "gain", "95 %", "better | same | worse", "datasets", "failures"], stub=2,
    )  # fmt: skip
    for columns in sorted(found["n_features"].unique()):
        rows = []
        at = gains(found[found["n_features"] == columns], known)
        here = {name: at for name in own if name != BASELINE}
        if others:
            there = others.rows[(others.rows["n_features"] == columns) & others.rows["dataset"].isin(datasets)]
            gained = gains(there, known)
            here |= {name: gained for name in there["method"].unique() if name not in (BASELINE, *here)}
        for name, trials in here.items():
            mine = trials[trials["method"] == name]
            each = summary_of(name, gains_of(mine, name))
            if not each.is_known:
                continue
            rows.append((each.median, [
                str(columns), f"{name} *" if name in own and others else name, percent(each.median),
                interval(each.low, each.high), odds(each.posterior), str(mine["dataset"].nunique()),
                str(int(mine["failed"].sum())),
            ]))  # fmt: skip
        table.rows += [cells for _, cells in sorted(rows, key=lambda each: -each[0])]
    table.notes = [
        "Median over datasets of the mean over trials, with its interval by a bootstrap over datasets and trials; then "
        "the probabilities that the map is better than RFF, the same to within 1 %, or worse. A failed trial counts as "
        "a constant.",
        *(["* the map that was run now; the other rows ship with the package."] if others else []),
        *notes,
    ]
    return table


def _dataset_table(found: pd.DataFrame, label: str, known: dict[str, Reference]) -> Table:
    table = Table("On each dataset", ["dataset", "columns", "loss", "RFF", label, "gain, %", "± s.e."])
    rows = gains(found, known)
    rows = rows[rows["method"] == label]
    of_rff = found[found["method"] == BASELINE].groupby(["dataset", "n_features"])["loss"].mean().to_dict()
    for (dataset, columns), each in rows.groupby(["dataset", "n_features"], sort=False):
        error = each["gain"].std(ddof=1) / np.sqrt(each["gain"].count())
        table.rows.append([
            str(dataset), str(columns), loss_name(str(dataset)), f"{of_rff[dataset, columns]:.4g}",
            "failed" if each["loss"].isna().all() else f"{each['loss'].mean():.4g}",
            f"{100 * each['gain'].mean():+.1f}", "" if np.isnan(error) else f"{100 * error:.1f}",
        ])  # fmt: skip
    return table


def _cost_table(results: Results, found: pd.DataFrame, label: str, known: dict[str, Reference]) -> Table:
    """What the map costs, in ratios to RFF of the same trials, and its gain at RFF's cost."""
    header = ["columns", "map and prediction", "tuning too", "gain at RFF's time, %"]
    table = Table(f"What {label} costs, RFF being 1", header, stub=1)
    disturbed = bool(results.trials["contended"].any())
    trials = results.trials.assign(contended=False)  # in ratios of one run, and said
    for columns in sorted(found["n_features"].unique()):
        cells = [str(columns)]
        clocks: tuple[Clock, ...] = ("map", "tuning")
        for clock in clocks:
            seconds = trials.assign(cost=cost(trials, clock))
            wide = seconds[seconds["n_features"] == columns].pivot_table(
                index=["dataset", "trial"], columns="method", values="cost"
            )
            ratio = (wide[label] / wide[BASELINE]).median() if {label, BASELINE} <= set(wide) else np.nan
            cells.append("not measured" if np.isnan(ratio) else f"{ratio:.2f}")
        costs = trials.assign(cost=cost(trials, "map"))
        at = at_cost(found, costs, known, int(columns))
        read = at.gains[label].dropna() if label in at.gains else pd.Series(dtype=float)
        gain = f"{100 * read.median():+.1f}" if len(read) else "–"
        where = ", ".join(filter(None, (plural(len(read), "dataset"), outside(at.trials, label))))
        table.rows.append([*cells, f"{gain} ({where})"])
    table.notes = [
        "Medians over datasets and trials. The last column reads the loss from the map's own curve where map and "
        "prediction take as long as RFF's with that many columns. Dearer, cheaper: datasets without a gain, as the map "
        "takes longer there at every size, or less.",
        *(["Other work used the processors, or it cannot be told: the ratios are rough."] if disturbed else []),
    ]
    return table


def data_tables(results: Results) -> list[Table]:
    """Which map is best on your own data: every map at every size, by its score, and the difference to RFF."""
    (dataset,) = results.datasets
    metric = results.score(dataset)
    sign = 1 if metric.better == "greater" else -1
    header = ["columns", "map", "score", "better than RFF by", "95 %", "failures"]
    table = Table(f"{results.title}: {metric.label}", header, stub=1)
    best: tuple[float, str, int] | None = None
    for columns, of_size in results.trials.groupby("n_features"):
        rows = []
        base = of_size[of_size["method"] == BASELINE].set_index("trial")[metric.name]
        for method, trials in of_size.groupby("method", sort=False):
            scores = trials.set_index("trial")[metric.name]
            failed, mean = int((trials["status"] != "ok").sum()), float(scores.mean())
            difference = (sign * (scores - base)).dropna()
            low, high = mean_interval(difference)
            interval = "" if method == BASELINE or not np.isfinite(low) else f"{low:+.3g} to {high:+.3g}"
            gain = "" if method == BASELINE or difference.empty else f"{difference.mean():+.3g}"
            shown = "failed" if np.isnan(mean) else f"{mean:.4g}"
            cells = [str(columns), str(method), shown, gain, interval, str(failed)]
            rows.append((np.inf if np.isnan(mean) else -sign * mean, cells))
            if not np.isnan(mean) and (best is None or sign * mean > best[0]):
                best = sign * mean, str(method), int(str(columns))
        table.rows += [cells for _, cells in sorted(rows, key=lambda each: each[0])]
    if best:
        table.notes.append(
            f"The best mean has {best[1]} with {best[2]} columns. An interval that holds 0 tells no map from RFF."
        )
    table.notes.append("σ and λ are chosen for each map by cross-validation; the differences are paired by the split.")
    return [table]
