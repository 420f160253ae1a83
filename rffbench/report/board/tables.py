"""The tables of the board's page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import pandas as pd

from rffbench.parameters import TIMES_MEDIAN
from rffbench.report.board.advice import Advice, advise, classes
from rffbench.report.board.answers import Answer, Number
from rffbench.report.board.registered import COLUMNS, CONFIRMATORY
from rffbench.report.board.score import BASELINE, gains, loss_name, losses
from rffbench.report.board.standing import CALIBRATION, Board, shape
from rffbench.report.board.statistics import wilcoxon_holm
from rffbench.report.board.summary import (
    Summary,
    gains_of,
    interval,
    odds,
    percent,
    summaries,
    summary_of,
    summary_table,
)
from rffbench.report.board.views import AtCost, Cost, at_columns, outside
from rffbench.report.edges import edges
from rffbench.report.text_table import NOT_RUN, Table

MARK = "†"  # of a map that was named beforehand
COSTS: dict[Cost, str] = {
    "fit": "seconds: map, one fit and prediction",
    "map": "seconds: map and prediction",
    "tuning": "seconds, tuning included",
    "memory": "memory",
}
MOST_NAMES = 4  # of datasets in a cell
REWEIGHTED, RFF_WIDE = "surrogate reweighted", "RFF, smaller λ"
BUDGETS = (256, 512, 1024)
"""The columns with which RFF's cost is a budget."""


# ---- Which map -------------------------------------------------------------------------------------------------------


def first_lines(board: Board) -> Table:
    """Data and budget → map, columns, σ, gain with its interval, and when not."""
    grid = board.scores.grid
    shapes = {name: shape(name, grid.setting("preprocess", name) or ()) for name in board.datasets}
    header = ["data", "budget", "map", "columns", "σ / median", "gain, %", "95 %", "not on"]
    table = Table("By data and budget", header, stub=2)
    chosen = board.scores.trials.pivot_table(index="dataset", columns="method", values=TIMES_MEDIAN, aggfunc="median")
    timed = board.at_cost("fit", COLUMNS)
    at_columns = board.at_columns(COLUMNS)
    for data in classes(shapes):
        found = advise(at_columns, data, float(COLUMNS), chosen)
        table.rows.append([f"{data.rows}, {data.inputs}", f"{COLUMNS} columns", *_advice_cells(found)])
        if timed:
            found = advise(timed.trials, data, timed.columns, chosen)
            what = f"RFF's time, {COLUMNS}"
            table.rows.append([f"{data.rows}, {data.inputs}", what, *_advice_cells(found)])
    table.notes = [
        "For each class of datasets, the map with the largest median gain over RFF; or RFF, where no gain is clearly "
        "above 0. The gain that is shown is a fair one: on each dataset, that of the map which the other datasets "
        "choose. Not on: datasets on which the map loses more than 1 % to RFF.",
        f"RFF's time: its seconds with {COLUMNS} columns, of the map, one fit and prediction." if timed else
        "At equal seconds nothing is known yet; the columns of Nyström cost more.",
    ]  # fmt: skip
    return table


def _advice_cells(found: Advice | None) -> list[str]:
    if found is None:
        return [NOT_RUN] * 6
    return [
        found.method, NOT_RUN if np.isnan(found.columns) else f"{found.columns:.0f}", f"{found.times_median:.3g}",
        percent(found.gain), interval(found.low, found.high), ", ".join(found.worse_on),
    ]  # fmt: skip


# ---- Better, the same, or worse --------------------------------------------------------------------------------------


def verdicts(board: Board) -> Table:
    """All maps at 512 columns: the confirmatory ones with p and verdict, the others exploratory."""
    rows = board.at_columns(COLUMNS)
    means = rows.pivot_table(index="dataset", columns="method", values="gain")
    tested = [name for name in CONFIRMATORY if name in means]
    p = wilcoxon_holm(means[tested])["p_holm"].to_dict() if len(tested) == len(CONFIRMATORY) else {}
    header = ["map", "gain, %", "95 %", "better | same | worse", "p", "verdict", "datasets", "failures"]
    table = Table(f"Over RFF at {COLUMNS} columns", header, stub=1)
    failed = Counter(rows.loc[rows["failed"], "method"])
    for each in board.at_each_size.get(COLUMNS, []):
        confirmatory = each.method in CONFIRMATORY
        withheld = board.withheld(each.method, COLUMNS)
        verdict = (f"none yet: {withheld}" if withheld else each.posterior.verdict) if confirmatory else "exploratory"
        table.rows.append([
            f"{each.method} {MARK}" if confirmatory else each.method, percent(each.median),
            interval(each.low, each.high), odds(each.posterior), _p(p.get(each.method)) if confirmatory else "",
            verdict, str(each.datasets), str(failed[each.method]),
        ])  # fmt: skip
    table.notes = [
        f"{MARK} named before the run. p is of Wilcoxon's signed-rank test, corrected by Holm for six maps. The "
        "verdict does not use p: it is better, same or worse where that has a probability of .95 or more, else "
        "undecided. Gains within ±1 % are the same. A failed trial counts as a constant.",
        *_without_failures(board, failed),
    ]
    return table


def _without_failures(board: Board, failed: Mapping[str, int]) -> list[str]:
    """The second number: the gains of maps with failed trials, these left out."""
    if not failed:
        return []
    known = board.losses[board.losses["n_features"] == COLUMNS]
    rows = gains(known, board.known, with_failures=False)
    said = ", ".join(f"{each.method} {percent(each.median)} %" for each in summaries(rows, list(failed)))
    return [f"Without failed trials: {said}."] if said else []


def _p(value: float | None) -> str:
    return NOT_RUN if value is None or np.isnan(value) else "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0")


def by_columns(board: Board) -> Table:
    """The median gain of every map at every size."""
    found = {size: {each.method: each for each in of_maps} for size, of_maps in board.at_each_size.items()}
    table = Table("Median gain over RFF at equal columns, in %", ["map", *(f"{size:,}" for size in found)], stub=1)
    for name in board.compared:
        cells = [_shown(of_size.get(name)) for of_size in found.values()]
        if any(cell != NOT_RUN for cell in cells):
            table.rows.append([_marked(name), *cells])
    return table


def by_cost(board: Board, of: Cost) -> Table | None:
    """The median gain of every map at RFF's cost with that many columns; None where that was not measured."""
    views = {columns: at for columns in BUDGETS if (at := board.at_cost(of, columns))}
    if not views:
        return None
    header = ["map", *(f"RFF's with {columns:,} columns" for columns in views), "better | same | worse"]
    table = Table(f"Median gain over RFF at equal {COSTS[of]}, in %", header, stub=1)
    found = {
        columns: {each.method: each for each in summaries(at.trials, board.compared)} for columns, at in views.items()
    }
    middle = COLUMNS if COLUMNS in views else next(iter(views))
    for name in board.compared:
        cells = [_at_cost_cell(found[columns].get(name), at, name) for columns, at in views.items()]
        mine = found[middle].get(name)
        if any(cell != NOT_RUN for cell in cells):
            table.rows.append([_marked(name), *cells, odds(mine.posterior) if mine else NOT_RUN])
    table.notes = [
        "Each map is read from its own curve of loss over cost where it costs as much as RFF. In brackets: datasets "
        "that are left out, as the map is dearer or cheaper there at every size that has run. Where it is dearer, "
        "it does not fit this budget; where it is cheaper, it could have more columns than were run. The probabilities "
        f"are those at RFF's cost with {middle} columns.",
        *(["σ is chosen at 512 columns for every size, so a map that is slower there is dearer at every size."]
          if of == "tuning" else []),
    ]  # fmt: skip
    return table


def _at_cost_cell(found: Summary | None, at: AtCost, name: str) -> str:
    beside = outside(at.trials, name)
    return f"{_shown(found)}{f' ({beside})' if beside else ''}"


def _shown(found: Summary | None) -> str:
    return NOT_RUN if found is None else f"{percent(found.median)} ({interval(found.low, found.high)})"


def _marked(name: str) -> str:
    return f"{name} {MARK}" if name in CONFIRMATORY else name


def without_a_map(board: Board) -> Table | None:
    """What learners on the rows themselves gain over RFF; None where none has run."""
    if not (found := board.without_a_map(COLUMNS)):
        return None
    table = summary_table(f"Learners without a map, over RFF at {COLUMNS} columns", found)
    table.notes = [
        "Boosted trees are scikit-learn's, with its defaults. A trial is compared with RFF's of the same split."
    ]
    return table


BESIDE = {"accuracy": "test error, %", "auc": "AUC", "rmse": "RMSE over RFF's", "kernel_error": "kernel error",
          "delta_error": "Δ"}  # fmt: skip
"""What else is measured of a map, and the headers."""


def beside(board: Board) -> Table:
    """Of every map at 512 columns the medians over datasets of what else is measured."""
    trials = board.scores.trials
    at = trials[(trials["n_features"] == COLUMNS) & trials["method"].isin(board.maps)]
    means = at.groupby(["dataset", "method"], sort=False)[list(BESIDE)].mean().reset_index()
    means["accuracy"] = 100 - means["accuracy"]
    of_rff = means[means["method"] == BASELINE].set_index("dataset")["rmse"]
    means["rmse"] /= means["dataset"].map(of_rff)
    costs = {"seconds over RFF's": board.costs("fit"), "memory over RFF's": board.costs("memory")}
    ratios = {name: _over_baseline(each) for name, each in costs.items() if len(each.dropna())}
    table = Table(f"Medians over datasets, at {COLUMNS} columns", ["map", *BESIDE.values(), *ratios], stub=1)
    for name, mine in means.groupby("method", sort=False):
        cells = [NOT_RUN if np.isnan(value) else f"{value:.3g}" for value in mine[list(BESIDE)].median()]
        cells += [f"{each[name]:.2f}" if name in each else NOT_RUN for each in ratios.values()]
        table.rows.append([_marked(str(name)), *cells])
    table.notes = [
        "Test error and AUC over classifications, RMSE over regressions. Kernel error: ‖K̃ − K‖/‖K‖ in the Frobenius "
        "norm. Each map chose its own σ, so that the errors are of different kernels; question 2 compares at one σ. "
        "The columns of surrogate reweighted estimate a multiple of a kernel, so that its errors mean nothing. "
        "Ridge regression gives no probabilities, so there is no log-loss, and all its coefficients differ from 0.",
    ]
    return table


def _over_baseline(costs: pd.DataFrame) -> pd.Series:
    """By map, the median over datasets of the cost over the baseline's, at 512 columns."""
    at = costs[costs["n_features"] == COLUMNS].groupby(["dataset", "method"])["cost"].median().unstack()
    return at.div(at[BASELINE], axis=0).median() if BASELINE in at else pd.Series(dtype=float)


# ---- The questions ---------------------------------------------------------------------------------------------------


def answer_tables(answer: Answer) -> list[Table]:
    """The numbers of an answer."""
    tables = []
    for title, found in answer.maps:
        tables.append(summary_table(f"Gains {title}", found))
    if answer.numbers:
        table = Table("Numbers", ["what", "value", "95 %", "datasets"], stub=1)
        table.rows = [[each.name, _number(each.value), _ends(each), str(each.datasets)] for each in answer.numbers]
        tables.append(table)
    return tables


def _number(value: float) -> str:
    return NOT_RUN if np.isnan(value) else f"{value:+.2f}"


def _ends(number: Number) -> str:
    return NOT_RUN if np.isnan(number.low) else f"{number.low:+.2f} to {number.high:+.2f}"


# ---- What was chosen, what failed, how sure it is --------------------------------------------------------------------


def chosen(board: Board) -> Table:
    """σ and λ as cross-validation chose them, and how often at an edge of the grid."""
    trials = board.scores.trials[board.scores.trials["status"] == "ok"]
    header = ["map", "σ / median", "σ at an edge", "λ at 512 columns", "λ at an edge"]
    table = Table(
        "Chosen parameters: medians over datasets and trials, from the 5th to the 95th percentile", header, stub=1
    )
    found: dict[tuple[str, str], list[str]] = {(name, tuned): [] for name in board.maps for tuned in ("σ/median", "λ")}
    for edge in edges(board.scores):
        if (key := (edge.method, edge.tuned)) in found and (edge.tuned != "λ" or edge.n_features == COLUMNS):
            found[key].append(edge.dataset)
    for name in board.maps:
        mine = trials[trials["method"] == name]
        at = mine[mine["n_features"] == COLUMNS]
        if at.empty:
            continue
        table.rows.append([
            name, _spread(at[TIMES_MEDIAN]), _some(found[name, "σ/median"]), _spread(at["lambda"]),
            _some(found[name, "λ"]),
        ])  # fmt: skip
    table.notes = [
        "At an edge: datasets on which more than a fifth of the trials chose the smallest or the largest value there "
        "is. A value beyond it may be better.",
    ]
    return table


def _some(names: Sequence[str]) -> str:
    """The first of several names, and how many more there are."""
    names = list(dict.fromkeys(names))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return (", ".join(names[:MOST_NAMES]) or "–") + more


def _spread(values: pd.Series) -> str:
    known = values.dropna()
    if known.empty:
        return NOT_RUN
    low, middle, high = known.quantile([0.05, 0.5, 0.95])
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def datasets(board: Board) -> Table:
    """Every dataset: its shape, unit, and the noise of a gain in units of the region."""
    noise = board.noise(COLUMNS)
    own = [name for name in CONFIRMATORY if name in noise]
    header = ["dataset", "rows", "inputs", "loss", "constant", "RFF at 4,096", "noise, regions", "trials"]
    table = Table("Datasets", header, stub=1)
    grid = board.scores.grid
    counts = board.losses[(board.losses["n_features"] == COLUMNS) & (board.losses["method"] == BASELINE)]
    trials = counts.groupby("dataset").size().to_dict()
    for name in board.datasets:
        known, (n, d) = board.known.get(name), shape(name, grid.setting("preprocess", name) or ())
        mine = noise.loc[name, own].median() if name in noise.index and own else np.nan
        table.rows.append([
            name, f"{n:,}", str(d), loss_name(name), f"{known.constant:.4g}" if known else NOT_RUN,
            f"{known.reference:.4g}" if known else NOT_RUN, NOT_RUN if np.isnan(mine) else f"{mine:.2f}",
            str(trials.get(name, 0)),
        ])  # fmt: skip
    middle = float(np.nanmedian(noise[own].median(axis=1))) if own and len(noise) else np.nan
    table.notes = [
        "Noise: the standard error of a gain over trials, in units of 1 %; the median over the six maps marked "
        f"{MARK}, at {COLUMNS} columns. "
        + (f"Its median over datasets is {middle:.2f}; a verdict needs 1 or less." if not np.isnan(middle) else ""),
        *(f"{name} {why}: left out." for name, why in board.left_out.items()),
    ]
    return table


def calibration(board: Board) -> Table | None:
    """How often simulated boards of this noise reach a wrong verdict, and the right one; None where none were."""
    path = board.scores.folder / CALIBRATION
    if not path.is_file():
        return None
    found = pd.read_csv(path)
    header = [
        "map",
        "datasets",
        "trials",
        "noise",
        "spread",
        "false better",
        "false worse",
        "better at the edge",
        "found",
    ]
    table = Table("Simulated boards: how often a verdict is reached", header, stub=1)
    for row in found.to_dict("records"):
        shares = [f"{row[name]:.1%} / {row[f'{name} with spread']:.1%}" for name in header[5:]]
        table.rows.append([str(row["map"]), str(row["datasets"]), str(row["trials"]), f"{row['noise']:.2f}",
                           f"{row['spread']:.2f}", *shares])  # fmt: skip
    table.notes = [
        "Each cell has two numbers. For the first, all datasets have one true gain; for the second, true gains differ "
        "between datasets as much as the measured ones do. False better and false worse: how often that verdict comes "
        "up where the true gain is 0. The last two columns: how often the verdict is better, where the true gain is "
        "1 % and 2 %. Noise and spread are in units of 1 %.",
    ]
    return table


def with_smaller_lambdas(board: Board) -> list[Summary]:
    """Is it the grid of λ that holds surrogate reweighted back? Its gain with the board's λ; with smaller ones, which
    RFF may choose, too; and what RFF itself gains by these. Empty where board-reweighted has not run."""
    wide = board.results.get("board-reweighted")
    if wide is None:
        return []
    on_board = board.losses[board.losses["n_features"] == COLUMNS]
    of_wide = losses(wide).replace({"method": {BASELINE: RFF_WIDE}})
    of_wide = of_wide[of_wide["n_features"] == COLUMNS]
    of_baseline = pd.concat([on_board[on_board["method"] == BASELINE], of_wide[of_wide["method"] == RFF_WIDE]])
    pairs = (
        (on_board, REWEIGHTED, BASELINE, f"{REWEIGHTED} over RFF, both with the board's λ"),
        (of_wide, REWEIGHTED, RFF_WIDE, f"{REWEIGHTED} over RFF, both with smaller λ"),
        (of_baseline, RFF_WIDE, BASELINE, "RFF with smaller λ over RFF with the board's"),
    )
    return [
        summary_of(title, gains_of(at_columns(rows, board.known, COLUMNS, baseline), method))
        for rows, method, baseline, title in pairs
    ]


def by_lambdas(board: Board) -> Table | None:
    """`with_smaller_lambdas` as a table."""
    if not (found := with_smaller_lambdas(board)):
        return None
    table = summary_table(f"What smaller λ change, at {COLUMNS} columns", found)
    table.notes = [
        "Surrogate reweighted chose the smallest λ of the board on most datasets. `board-reweighted` lets λ go down to "
        "1e-19, by singular values. This run was not registered, and changes no verdict.",
    ]
    return table


def failures(board: Board) -> Table | None:
    """The trials that failed, by method, status and dataset; None where none did."""
    lost = board.scores.trials[board.scores.trials["status"] != "ok"]
    if lost.empty:
        return None
    table = Table("Failed trials", ["method", "status", "trials", "where"], stub=1)
    for (method, status), mine in lost.groupby(["method", "status"], sort=False):
        where = list(zip(mine["dataset"], mine["n_features"], strict=True))
        said = [f"{name} {', '.join(dict.fromkeys(str(size) for _, size in sizes))}" for name, sizes in
                groupby(where, key=lambda each: each[0])]  # fmt: skip
        table.rows.append([str(method), str(status), str(len(mine)), "; ".join(said)])
    return table


def progress(board: Board, parts: Sequence[str]) -> Table:
    """How far every part has run."""
    table = Table("What is in", ["part", "trials", "planned", "failed"], stub=1)
    for name in parts:
        found = board.progress(name)
        table.rows.append([name, f"{found.done:,}", f"{found.planned:,}", f"{found.failed:,}"] if found else
                          [name, "0", NOT_RUN, ""])  # fmt: skip
    return table
