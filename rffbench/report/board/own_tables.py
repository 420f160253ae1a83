"""What your own map, or your own data, comes to on the board: tables for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rffbench.arguments.parameters import TIMES_MEDIAN
from rffbench.config.costs import train_rows
from rffbench.config.loading import load_experiment
from rffbench.errors import ResultsError
from rffbench.report.board.entry import rows_used
from rffbench.report.board.shipped import COLUMNS, FIRST_TABLES, SHIPPED, protocol, read_shipped, read_tables, shipped
from rffbench.report.edges import TUNED, edges
from rffbench.report.frame import Results
from rffbench.report.strips import Strips, gains_in_percent
from rffbench.report.text_table import NOT_RUN, Table, significant_digits
from rffbench.stats.costs import Cost, at_columns, at_cost, cost_ratios, outside, with_cost
from rffbench.stats.gain import BASELINE, CELL, Reference, gains, left_out, losses
from rffbench.stats.intervals import LEVEL, holm, mean_interval, paired_p_value
from rffbench.stats.session import beside_baseline, joined
from rffbench.stats.summary import gains_of, interval, odds, percent, summaries, summary_of
from rffbench.stats.units import loss_name, references
from rffbench.trials.metrics import Metric

COSTS: dict[Cost, str] = {
    "fit": "seconds: map, one fit and prediction",
    "memory": "memory: what the map and the fit hold besides the rows",
}
NYSTROEM = "nystroem"  # its columns are landmarks, and it has no more of them than there are training rows
_WORD: dict[Cost, str] = {"fit": "seconds", "memory": "memory"}
UNIT = "100 % is what 4,096 random Fourier features gain over predicting a constant."


@dataclass(frozen=True)
class Measured:
    """Trials of some maps and of RFF beside them: their ``losses``, and by what they cost the ``costs``."""

    losses: pd.DataFrame
    costs: Mapping[Cost, pd.DataFrame] = field(default_factory=dict)


def map_tables(results: Results, label: str | None = None, timed: Results | None = None) -> list[Table]:
    """Where the map called ``label`` lies: its gains over RFF beside those of the maps that ship with the package, on
    each dataset, and at equal cost, which was measured in ``timed``. Without a label, the gains of all maps of the
    results."""
    known = references()
    found = losses(results.trials)
    if label is None:
        maps = [name for name in results.methods if results.grid.features(name)["name"] != "none"]
        return [_gain_table(results.title, [Measured(found[found["method"].isin(maps)])], known)]
    notes = [f"{name} {why}: left out." for name, why in left_out(results.datasets, known).items()]
    parts, why = _with_shipped(results, timed)
    notes += [why] if why else []
    table = _gain_table(results.title, parts, known, label)
    table.notes += [*_without_failures(found, known, label), *notes]
    tables = [table, _dataset_table(found, label, known)]
    if timed:
        sizes = [int(size) for size in found["n_features"].unique()]
        notes = [*_without_failures_at_cost(parts[0], known, sizes, label), *_disturbed(timed)]
        tables += _cost_tables(parts, known, sizes, label, notes)
    return tables


def map_panels(results: Results, label: str) -> list[Strips]:
    """The gains over RFF of the map called ``label`` and of the maps that ship, with the most columns that were run: a
    dot for every dataset."""
    columns = int(results.trials["n_features"].max())
    parts, _ = _with_shipped(results)
    known = references()
    rows = _beside([at_columns(part.losses, known, columns) for part in parts])
    rows["method"] = [_marked(name, label, parts) for name in rows["method"]]
    found = summaries(rows, list(rows["method"].unique()))
    return [gains_in_percent(f"Gains over RFF at {columns} columns", found)] if found else []


def chosen_table(results: Results) -> Table:
    """σ and λ as cross-validation chose them, on every dataset: the medians over trials."""
    trials = results.trials[results.trials["status"] == "ok"]
    at_an_edge = {(each.dataset, each.n_features, each.method, each.tuned): each.end for each in edges(results)}
    table = Table("Chosen parameters: medians over trials", ["dataset", "columns", "map", "σ / median", "λ"], stub=2)
    for (dataset, columns, method), mine in trials.groupby(["dataset", "n_features", "method"], sort=False):
        cells = []
        for name in (TIMES_MEDIAN, "lambda"):
            end = at_an_edge.get((str(dataset), int(str(columns)), str(method), TUNED[name]))
            middle = mine[name].median() if name in mine else np.nan
            cells.append(NOT_RUN if np.isnan(middle) else f"{middle:.3g}" + (f" ({end} there is)" if end else ""))
        table.rows.append([str(dataset), str(columns), str(method), *cells])
    if at_an_edge:
        table.notes = [
            "Smallest or largest there is: more than a fifth of the trials chose that end of the grid; a value beyond "
            "it may be better."
        ]
    return table


def _with_shipped(results: Results, timed: Results | None = None) -> tuple[list[Measured], str]:
    """The trials of results, and those that ship with the package, on the same datasets; or why the latter are not
    among them, in a sentence."""
    parts = [Measured(losses(results.trials), own_costs(timed) if timed else {})]
    try:
        if there := shipped(protocol(results.config)):
            return [*parts, _of_shipped(there.rows[there.rows["dataset"].isin(results.datasets)])], ""
        return parts, "The maps that ship with the package were measured by another protocol; they are not shown."
    except ResultsError as error:
        return parts, str(error)


def first_tables() -> list[Table]:
    """What ships with the package and no rows give: which map to take, and the verdicts."""
    return read_tables(FIRST_TABLES)


def run_tables(results: Results, timed: Results | None = None) -> list[Table]:
    """The gains of all maps of your own run of the board, at every size and at RFF's cost, which was measured in
    ``timed``."""
    tables = map_tables(results)
    if timed:
        parts = [Measured(losses(results.trials), own_costs(timed))]
        tables += _cost_tables(parts, references(), [COLUMNS], notes=_disturbed(timed))
    return tables


def shipped_tables() -> list[Table]:
    """The gains of the maps that ship with the package, at every size of which they have all datasets, and at RFF's
    cost."""
    rows = read_shipped(SHIPPED["board"]).rows
    counts = rows.groupby(["method", "n_features"])["dataset"].transform("nunique")
    whole = rows[counts == rows["dataset"].nunique()]
    whole = whole[whole["n_features"].isin(whole.loc[whole["method"] == BASELINE, "n_features"])]
    known = references()
    table = _gain_table(load_experiment("board").title, [Measured(whole)], known)
    table.notes.append(
        "These rows ship with rffbench. `rffbench run board` measures them anew, and the trials to come: hours."
    )
    return [table, *_cost_tables([_of_shipped(rows)], known, [COLUMNS])]


def _disturbed(timed: Results) -> list[str]:
    notes = ["Other work used the processors: the seconds are rough."] if timed.trials["contended"].any() else []
    trials = joined([timed.trials.assign(finished=timed.finished or "")])
    if len(beside_baseline(trials, COLUMNS)) < len(trials):
        notes.append("Some maps were measured at another time than RFF: the ratios of seconds are rough.")
    return notes


def own_costs(timed: Results) -> dict[Cost, pd.DataFrame]:
    """The costs of trials; as ratios within one run they count where other work used the processors, too."""
    trials = timed.trials.assign(contended=False)
    return {of: with_cost(trials, of).dropna() for of in COSTS}


def beside_each(results: Results) -> Results:
    """The trials that have RFF's beside them: of the same number, on the same dataset, at the same size."""
    trials, place = results.trials, ["dataset", "n_features", "trial"]
    base = pd.MultiIndex.from_frame(trials.loc[trials["method"] == BASELINE, place])
    kept = pd.MultiIndex.from_frame(trials[place]).isin(base)
    finished = [when for when, keep in zip(results.finished, kept, strict=bool(results.finished)) if keep]
    return replace(results, trials=trials[kept].reset_index(drop=True), finished=finished)


def _of_shipped(rows: pd.DataFrame) -> Measured:
    return Measured(rows, {of: rows[[*CELL, of]].rename(columns={of: "cost"}).dropna() for of in COSTS if of in rows})


# ---- Your own map ----------------------------------------------------------------------------------------------------


def _gain_table(title: str, parts: Sequence[Measured], known: dict[str, Reference], own: str | None = None) -> Table:
    """Each map's gain at each size of the first part: median over datasets, interval, and the probabilities."""
    table = Table(
        f"{title}: gain over RFF at equal columns",
        ["columns", "map", "gain, %", "95 %", "better | same | worse", "datasets", "trials", "failures"], stub=2,
    )  # fmt: skip
    for columns in sorted(parts[0].losses["n_features"].unique()):
        rows = _beside([at_columns(part.losses, known, columns) for part in parts])
        for each in summaries(rows, list(rows["method"].unique())):
            mine = rows[rows["method"] == each.method]
            trials = mine.groupby("dataset")["trial"].nunique().unique()
            table.rows.append([
                str(columns), _marked(each.method, own, parts), percent(each.median), interval(each.low, each.high),
                odds(each.posterior), str(each.datasets), " to ".join(map(str, sorted({min(trials), max(trials)}))),
                str(int(mine["failed"].sum())),
            ])  # fmt: skip
    if {row[4] for row in table.rows} == {NOT_RUN}:
        _drop(table, table.header[4])
    table.notes = [
        *_said_once(table),
        UNIT,
        "Median over datasets of the mean over trials, with its interval by a bootstrap over datasets and trials; then "
        "the probabilities that the map is better than RFF, the same to within 1 %, or worse, if there are three "
        "datasets. A failed trial counts as a constant.",
        *(["* the map that was run now; the other rows ship with the package."] if len(parts) > 1 else []),
    ]
    return table


def _beside(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The gains of all maps but RFF; of a map that is in several parts, those in the first."""
    seen, kept = {BASELINE}, []
    for rows in parts:
        kept.append(rows[~rows["method"].isin(seen)])
        seen |= set(rows["method"])
    return pd.concat(kept, ignore_index=True)


def _marked(method: str, own: str | None, parts: Sequence[Measured]) -> str:
    """The map's name; with a sign if it is your ``own`` and others stand beside it."""
    return f"{method} *" if method == own and len(parts) > 1 else method


def _said_once(table: Table) -> list[str]:
    """Take the columns of numbers out of the table in which all rows have the same, and say it in notes."""
    told = {}
    for name in ("datasets", "trials", "failures"):
        if name not in table.header:
            continue
        if len(cells := {row[table.header.index(name)] for row in table.rows}) == 1:
            (told[name],) = cells
            _drop(table, name)
    failures = told.pop("failures", None)
    counts = [f"{number} {name.removesuffix('s') if number == '1' else name}" for name, number in told.items()]
    said = [f"In every row: {', '.join(counts)}."] if counts else []
    if failures is not None:
        said.append("No trial failed." if failures == "0" else f"Failed trials in every row: {failures}.")
    return said


def _drop(table: Table, name: str) -> None:
    at = table.header.index(name)
    for row in [table.header, *table.rows]:
        del row[at]


def _without_failures(found: pd.DataFrame, known: dict[str, Reference], label: str) -> list[str]:
    """The second number: the map's gains without its failed trials, where it has some."""
    rows = gains(found, known, with_failures=False)
    lost = found[found["failed"] & (found["method"] == label)]
    return [
        f"Without its failed trials {label} gains {percent(each.median)} % at {columns} columns."
        for columns in sorted(lost["n_features"].unique())
        for each in summaries(rows[rows["n_features"] == columns], [label])
    ]


def _without_failures_at_cost(
    part: Measured, known: dict[str, Reference], sizes: Sequence[int], label: str
) -> list[str]:
    """The same at RFF's cost, and that a failure counts there, too."""
    of_map = part.losses[part.losses["method"] == label]
    if not of_map["failed"].any():
        return []
    left = part.losses[~part.losses["failed"]]
    said = []
    for of, costs in part.costs.items():
        for columns in (each for each in sorted(sizes) if _has_baseline(costs, each)):
            each = summary_of(label, gains_of(at_cost(left, costs, known, columns).trials, label))
            gain = f"{percent(each.median)} % at RFF's {_WORD[of]} with {columns} columns"
            said += [f"Without its failed trials {label} gains {gain}."] * each.is_known
    return [
        "A failed trial counts as a constant, whatever it would have cost.",
        *(said or [f"Without its failed trials {label} has no gain at any of these costs."]),
    ]


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


def _cost_tables(
    parts: Sequence[Measured], known: dict[str, Reference], sizes: Sequence[int], own: str | None = None,
    notes: Sequence[str] = (),
) -> list[Table]:  # fmt: skip
    """The maps at RFF's seconds and at its memory, where these are measured, with ``notes`` on how."""
    tables = [table for of in COSTS if (table := _cost_table(of, parts, known, sizes, own)).rows]
    for last in tables[-1:]:
        last.notes = [
            "Cost: the median over datasets of what the map costs with as many columns, RFF being 1. Gain: the map's "
            "loss is read from its own curve where it costs as much as RFF. Left out: datasets on which the map is "
            "dearer, or cheaper, than that at every size that was run, or on which its cost could not be measured.",
            *notes,
        ]
    return tables


def _cost_table(
    of: Cost, parts: Sequence[Measured], known: dict[str, Reference], sizes: Sequence[int], own: str | None = None
) -> Table:
    """What the maps cost, RFF with as many columns being 1, and their gains at RFF's cost; a row for your ``own`` map,
    and for the others that have a gain."""
    table = Table(f"Gain at RFF's {COSTS[of]}", ["RFF's columns", "map", "cost", "gain, %", "95 %", "left out"], stub=2)
    for columns in sorted(sizes):
        measured = [part for part in parts if of in part.costs and _has_baseline(part.costs[of], columns)]
        if not measured:
            continue
        rows = _beside([at_cost(part.losses, part.costs[of], known, columns).trials for part in measured])
        wanted = _beside([at_columns(part.losses, known, columns) for part in measured])
        ratios: dict[Any, float] = {}
        for part in reversed(measured):  # the first has the last word
            of_size = cost_ratios(part.costs[of], columns).xs(columns, level="n_features")
            ratios.update(of_size.groupby("method").median().items())
        found = [
            summary_of(name, gains_of(rows, name), outside=_left_out(rows, wanted, name))
            for name in dict.fromkeys(filter(None, [own, *rows["method"].unique()]))
        ]
        for each in sorted(found, key=lambda each: (not each.is_known, -each.median)):
            if each.is_known or each.method == own:
                ratio = f"{ratios[each.method]:.2f}" if each.method in ratios else NOT_RUN
                name = _marked(each.method, own, parts)
                gain = [percent(each.median), interval(each.low, each.high), each.outside]
                table.rows.append([str(columns), name, ratio, *gain])
    return table


def _left_out(rows: pd.DataFrame, wanted: pd.DataFrame, method: str) -> str:
    """On how many of the ``wanted`` datasets a map has no gain at this cost, in words."""
    here, there = (each.loc[each["method"] == method, "dataset"].nunique() for each in (rows, wanted))
    return ", ".join(filter(None, [outside(rows, method), f"{there - here} not measured" if there > here else ""]))


def _has_baseline(costs: pd.DataFrame, columns: int) -> bool:
    return bool(((costs["method"] == BASELINE) & (costs["n_features"] == columns)).any())


# ---- Your own data ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Cell:
    """A map at a size on your own data, or, with 0 ``columns``, a learner without a map: its score in each trial
    (``scores``), and as ``ranks`` these or their negatives, the larger the better; what it costs, and how many of its
    ``trials`` have ``failed``. ``all_rows``: each training row is a landmark, and ``columns`` are as many."""

    columns: int
    method: str
    scores: pd.Series
    ranks: pd.Series
    seconds: float
    trials: int
    failed: int
    all_rows: bool = False

    def __str__(self) -> str:
        return f"{self.method} with {self.columns} columns" if self.columns else f"{self.method}, without a map,"

    @property
    def rank(self) -> float:
        return float(self.ranks.mean())

    def better(self, other: _Cell) -> pd.Series:
        """By how much it is better than another in each trial that both finished."""
        return (self.ranks - other.ranks).dropna()

    def lead(self, other: _Cell) -> float:
        """The mean of that: what is not the same trials is not compared."""
        return float(better.mean()) if len(better := self.better(other)) else -np.inf

    def is_alike(self, other: _Cell) -> bool:
        """Whether it is better than another by the same in every trial, of two or more. Scores are counts of test rows,
        so two trials have that by chance: it says nothing of how far other trials would differ."""
        better = self.better(other)
        return bool(len(better) > 1 and np.ptp(better) <= 1e-12 * np.abs(self.ranks).max())

    def interval(self, other: _Cell) -> tuple[float, float]:
        """Student's interval of the difference to another; infinite from one trial, and where all trials are alike."""
        return (-np.inf, np.inf) if self.is_alike(other) else mean_interval(self.better(other))

    def not_shown_better(self, other: _Cell) -> bool:
        """Whether the interval of the difference to another does not lie above 0."""
        return self.interval(other)[0] <= 0

    def p_value(self, other: _Cell) -> float:
        """Two-sided, that it is better than another; NaN of itself and from one trial, 1 where all are alike."""
        if self is other:
            return np.nan
        return 1.0 if self.is_alike(other) else 2 * paired_p_value(self.ranks, other.ranks, "greater")


def data_tables(results: Results, timed: Results | None = None) -> list[Table]:
    """Which map is best on your own data: every map at every size, by its score, the difference to RFF at the size that
    suits RFF best, and the seconds of one fit, which were measured in ``timed``."""
    (dataset,) = results.datasets
    metric = results.score(dataset)
    found = _cells(results, metric, own_costs(timed)["fit"] if timed else None)
    scored = [each for each in found if each.columns and not np.isnan(each.rank)]
    base = max((each for each in scored if each.method == BASELINE), key=lambda each: each.rank, default=None)
    header = ["columns", "map", "score", "better than RFF by", "95 %", "seconds", "trials", "failures"]
    rows = [_data_cells(each, base) for each in found]
    table = Table(f"{results.title}: {metric.label}", header, stub=2, rows=rows)
    table.notes = [
        *_said_once(table),
        *([f"Differences are to {base}, the best of its sizes."] if base else []),
        *_alike(found, base),
        *_best_of(scored, base),
        *_all_rows(found),
        *_without_a_map(found),
        "σ and λ are chosen for each map by cross-validation; the differences are paired by the split. Seconds: map, "
        "one fit and prediction, alone on the machine.",
        *(_disturbed(timed) if timed else []),
    ]
    if some := rows_used(results.grid):
        table.notes.append(f"{some}.")
    return [table]


def _cells(results: Results, metric: Metric, costs: pd.DataFrame | None) -> list[_Cell]:
    """All maps at all sizes, by size and score, and then the learners without a map. A map whose landmarks are all
    training rows is the same at every larger size: it is there once."""
    sign = 1 if metric.better == "greater" else -1
    seconds = pd.Series(dtype=float) if costs is None else costs.groupby(["n_features", "method"])["cost"].median()
    rows = next(train_rows(spec) for spec, _ in results.grid.cells())
    found: dict[tuple[int, str], _Cell] = {}
    for (size, name), mine in results.trials.groupby(["n_features", "method"]):
        columns, method, features = int(str(size)), str(name), results.grid.features(str(name))["name"]
        all_rows = features == NYSTROEM and columns >= rows
        shown = 0 if features == "none" else rows if all_rows else columns
        scores = mine.set_index("trial")[metric.name].astype(float)
        each = _Cell(
            shown, method, scores, sign * scores, float(seconds.get((columns, method), np.nan)), len(mine),
            int((mine["status"] != "ok").sum()), all_rows,
        )  # fmt: skip
        found.setdefault((shown, method), each)
    return sorted(found.values(), key=lambda each: (each.columns or np.inf, np.isnan(each.rank), -each.rank))


def _data_cells(cell: _Cell, base: _Cell | None) -> list[str]:
    score = float(cell.scores.mean())
    decimals = significant_digits(abs(score), 4)
    better = pd.Series(dtype=float) if base is None or cell is base else cell.better(base)
    low, high = cell.interval(base) if base else (-np.inf, np.inf)
    seconds = NOT_RUN if np.isnan(cell.seconds) else f"{cell.seconds:.{significant_digits(cell.seconds, 2)}f}"
    return [
        str(cell.columns or NOT_RUN), cell.method, "failed" if np.isnan(score) else f"{score:.4g}",
        f"{better.mean():+z.{decimals}f}" if len(better) else "",
        f"{low:+z.{decimals}f} to {high:+z.{decimals}f}" if len(better) and np.isfinite(low) else "",
        seconds, str(cell.trials), str(cell.failed),
    ]  # fmt: skip


def _alike(found: Sequence[_Cell], base: _Cell | None) -> list[str]:
    """Why some differences over several trials have no interval."""
    if base and any(each is not base and each.is_alike(base) for each in found):
        return ["Where the difference is the same in all trials, there is no interval: its spread is not known."]
    return []


def _all_rows(found: Sequence[_Cell]) -> list[str]:
    """Of which maps all training rows are landmarks, and with how many columns."""
    if not (these := [each for each in found if each.all_rows]):
        return []
    names = ", ".join(dict.fromkeys(each.method for each in these))
    return [f"{these[0].columns} columns: all training rows. With more columns {names} would be the same."]


def _without_a_map(found: Sequence[_Cell]) -> list[str]:
    """That some rows are learners without a map, and whether one of these has a better mean than all maps."""
    if all(each.columns for each in found):
        return []
    best = max((each for each in found if not np.isnan(each.rank)), key=lambda each: each.rank, default=None)
    said = "Rows without columns are learners without a map."
    return [f"{said} {best} has a better mean than every map." if best and not best.columns else said]


def _best_of(found: Sequence[_Cell], base: _Cell | None) -> list[str]:
    """Which map to use and with how many columns, in sentences: of the maps that are shown to be better than RFF at the
    best of its sizes, ``base``, or else of ``base`` and the maps that have as good a mean with fewer columns, the best;
    or one with fewer columns that is not shown to be worse."""
    if not found:
        return []
    if base is None:
        best = max(found, key=lambda each: each.rank)
        return [f"{best} has the best mean. RFF has no score to compare it with."]
    best = max(found, key=lambda each: each.lead(base))
    corrected = holm([each.p_value(base) for each in found])
    shown = [each for each, p in zip(found, corrected, strict=True) if p < LEVEL]
    fewer = [each for each in found if each.columns < base.columns and each.lead(base) >= 0]
    allowed = shown or [base, *fewer]
    top = max(allowed, key=lambda each: each.lead(base))
    use = min(filter(top.not_shown_better, allowed), key=lambda each: (each.columns, -each.lead(base)))
    said = f"{best} has the best mean"
    if best is not base:
        said += f", {'and is' if best in shown else 'but is not'} shown to be better than {base}"
    if use is not best:
        said += f": use {use}{_why(use, top, shown, base)}"
    elif use in fewer and not shown:
        said += ": use it, as it has fewer columns"
    if not (tests := int(np.isfinite(corrected).sum())):
        return [f"{said}. There are no intervals: they need two trials."]
    smaller = [each for each in found if each.method == use.method and each.columns < use.columns]
    if enough := next(filter(use.not_shown_better, smaller), None):
        said += f". {enough} is not shown to be worse than that"
    return [
        f"{said}. Where an interval includes 0, the map is not shown to differ from {base}. One interval in twenty "
        f"leaves 0 out by chance; what is shown to be better than it allows for all {tests} (Holm)."
    ]


def _why(use: _Cell, top: _Cell, shown: Sequence[_Cell], base: _Cell) -> str:
    """Why to ``use`` a map that has not the best mean."""
    if use is base:
        return ""
    if not shown:
        return ", which has fewer columns and no worse a mean"
    return ", which is shown to be" if use is top else ", which is shown to be, too, and has fewer columns"
