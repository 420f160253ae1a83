"""The tables of the board's page on its run: what was chosen, on which data, how sure it is, and where it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from rffbench import Table, run_table
from rffbench.stats import BASELINE, GROUPS, NOT_RUN, in_percent, loss_name
from studies.board.registered import COLUMNS, CONFIRMATORY, MARK, TIMES_MEDIAN
from studies.board.standing import CALIBRATION, PARTS, Board, shape

MOST_FALSE, LEAST_FOUND = 0.05, 0.8
"""What was required of simulated boards: the share of false verdicts, and of right ones."""


# ---- What was chosen, on which data ----------------------------------------------------------------------------------


def chosen(board: Board) -> Table:
    """σ and λ as cross-validation chose them, and how often at an edge of the grid."""
    trials = board.scores.trials[board.scores.trials["status"] == "ok"]
    header = ["map", "σ / median", "σ at an edge", "λ at 512 columns", "λ at an edge"]
    table = Table(
        "Chosen parameters: medians over datasets and trials, from the 5th to the 95th percentile", header, stub=1
    )
    trials = trials[trials["method"].isin(board.maps) & (trials["n_features"] == COLUMNS)]
    found = board.scores.edges[board.scores.edges["n_features"] == COLUMNS]
    for name, mine in trials.groupby("method", sort=False):
        at = found[found["method"] == name]
        of_sigma, of_lambda = (_by_end(at[at["tuned"] == tuned]) for tuned in ("σ/median", "λ"))
        table.rows.append([str(name), _spread(mine[TIMES_MEDIAN]), of_sigma, _spread(mine["lambda"]), of_lambda])
    table.notes = [
        "At an edge: datasets on which more than a fifth of the trials chose the smallest or the largest value there "
        "is. A value beyond it may be better.",
        _ends_chosen(board, trials, TIMES_MEDIAN, "σ"), _ends_chosen(board, trials, "lambda", "λ"),
    ]  # fmt: skip
    if grid := board.scores.tuned(BASELINE).get("lambda"):
        least, rounding = min(grid), np.finfo(float).eps
        table.notes.append(
            f"λ is relative to the mean of ‖z‖². Its grid ends at {least:g}. There the condition number of the "
            f"equations is at most {1 / least:.0g}, so that rounding changes a solution by {rounding / least:.0e} of "
            f"it at most; a λ below {rounding:.1e} would be lost in rounding."
        )
    return table


def _by_end(found: pd.DataFrame) -> str:
    """The datasets by the end of the grid, "smallest: …; largest: …"."""
    ends = {end: found.loc[found["end"] == end, "dataset"] for end in ("smallest", "largest")}
    return "; ".join(f"{end}: {', '.join(names)}" for end, names in ends.items() if len(names)) or NOT_RUN


def _ends_chosen(board: Board, trials: pd.DataFrame, tuned: str, symbol: str) -> str:
    """In which share of the trials a value is an end of its grid, and for which map most often."""
    chosen = trials.set_index("method")[tuned]
    grids = {name: board.scores.tuned(str(name)).get(tuned, []) for name in chosen.index.unique()}
    ends = pd.Series([_end(grids[name], value) for name, value in chosen.items()], chosen.index)
    said = []
    for end in ("smallest", "largest"):
        of_maps = (ends == end).groupby(level=0).mean()
        most = f" (most often for {of_maps.idxmax()}, in {in_percent(of_maps.max())})" if of_maps.max() > 0 else ""
        said.append(f"the {end} in {in_percent((ends == end).mean(), 1)}{most}")
    return f"{symbol} is {' and '.join(said)} of the trials at {COLUMNS} columns."


def _end(grid: Sequence[float], chosen: float) -> str:
    """The end of its grid that a value is; empty inside the grid."""
    return "" if not grid or chosen == 0 else "smallest" if chosen == min(grid) else (
        "largest" if chosen == max(grid) else ""
    )  # fmt: skip


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
    header = ["dataset", "training rows", "inputs", "loss", "constant", "RFF at 4,096", "noise, regions", "trials"]
    table = Table("Datasets", header, stub=1)
    counts = board.losses[(board.losses["n_features"] == COLUMNS) & (board.losses["method"] == BASELINE)]
    trials = counts.groupby("dataset").size().to_dict()
    for name in board.datasets:
        known, (n, d) = board.known.get(name), shape(name, board.scores.setting("preprocess", name) or ())
        mine = noise.loc[name, own].median() if name in noise.index and own else np.nan
        table.rows.append([
            f"{name} *" if name in GROUPS["synthetic"] else name, f"{n:,}", str(d), loss_name(name),
            f"{known.constant:.4g}" if known else NOT_RUN, f"{known.reference:.4g}" if known else NOT_RUN,
            NOT_RUN if np.isnan(mine) else f"{mine:.2f}", str(trials.get(name, 0)),
        ])  # fmt: skip
    middle = float(np.nanmedian(noise[own].median(axis=1))) if own and len(noise) else np.nan
    table.notes = [
        "Noise: the standard error of a gain over trials, in units of 1 %; the median over the six maps marked "
        f"{MARK}, at {COLUMNS} columns. "
        + (f"Its median over datasets is {middle:.2f}; a verdict needs 1 or less." if not np.isnan(middle) else ""),
        *(["* synthetic."] if any(name in GROUPS["synthetic"] for name in board.datasets) else []),
        *(f"{name} {why}: left out." for name, why in board.left_out.items()),
    ]
    return table


# ---- How sure it is ----------------------------------------------------------------------------------------------


def calibrations(board: Board) -> list[Table]:
    """How often simulated boards of this noise reach a wrong verdict, and the right one: at equal columns, and at equal
    seconds. Empty where none were simulated."""
    found = _simulated(board)
    return [_calibration(mine, f"at equal {at}") for at, mine in found.groupby("at")] if len(found) else []


def less_sure(board: Board, maps: Sequence[str]) -> str:
    """Of which of these maps simulated boards at equal seconds have too many false verdicts, in words; empty where none
    do."""
    found = _simulated(board)
    mine = found[(found["at"] == "seconds") & found["map"].isin(maps)] if len(found) else found
    said = [
        f"that of {row['map']} is false in {in_percent(_false(row), 1)} where the true gain is 0, and right in "
        f"{in_percent(_found(row), 1)} where it is 2 %" for row in mine.to_dict("records") if _false(row) > MOST_FALSE
    ]  # fmt: skip
    return (
        "Where gains differ much between datasets, a verdict at equal seconds is less sure than .95. In simulated "
        f"boards {'; '.join(said)}." if said else ""
    )  # fmt: skip


def _simulated(board: Board) -> pd.DataFrame:
    """What studies/board/calibrate.py has written; empty where it has not."""
    path = board.scores.folder / CALIBRATION
    return pd.read_csv(path) if path.is_file() else pd.DataFrame()


def _calibration(found: pd.DataFrame, where: str) -> Table:
    header = ["map", "datasets", "trials", "noise", "spread", "false better", "false worse", "better at the edge",
              "found"]  # fmt: skip
    table = Table(f"Simulated boards {where}: how often a verdict is reached", header, stub=1)
    for row in found.to_dict("records"):
        shares = [f"{in_percent(row[name], 1)} / {in_percent(row[f'{name} with spread'], 1)}" for name in header[5:]]
        table.rows.append([str(row["map"]), str(row["datasets"]), str(row["trials"]), f"{row['noise']:.2f}",
                           f"{row['spread']:.2f}", *shares])  # fmt: skip
    table.notes = [
        "Each cell has two numbers. For the first, all datasets have one true gain; for the second, true gains differ "
        "between datasets as much as the measured ones do. False better and false worse: how often that verdict comes "
        "up where the true gain is 0. The last two columns: how often the verdict is better, where the true gain is "
        "1 % and 2 %. Noise and spread are in units of 1 %.",
        _required(found),
    ]
    return table


KINDS = ("", " with spread")
"""The two numbers of a cell."""


def _false(row: Mapping[Any, Any]) -> float:
    """The share of false verdicts where the true gain is 0, the larger of the two numbers."""
    return max(row[f"false better{kind}"] + row[f"false worse{kind}"] for kind in KINDS)


def _found(row: Mapping[Any, Any]) -> float:
    """The share of boards that find a gain of 2 %, the smaller of the two numbers."""
    return min(row[f"found{kind}"] for kind in KINDS)


def _required(found: pd.DataFrame) -> str:
    """What was required of the simulated boards, and which maps miss it, by the worse of their two numbers."""
    missed = []
    for row in found.to_dict("records"):
        false, share = _false(row), _found(row)
        edge = max(row[f"better at the edge{kind}"] for kind in KINDS)
        said = [f"{in_percent(false, 1)} false where the true gain is 0"] * (false > MOST_FALSE)
        said += [f"{in_percent(edge, 1)} better where it is 1 %"] * (edge > MOST_FALSE)
        said += [f"{in_percent(share, 1)} better where it is 2 %"] * (share < LEAST_FOUND)
        if said:
            missed.append(f"Missed by {row['map']}: {', '.join(said)}.")
    required = (
        f"Required: at most {in_percent(MOST_FALSE)} false verdicts, be they worse or better, where the true gain is "
        f"0; at most {in_percent(MOST_FALSE)} better where it is 1 %, as that is no gain; at least "
        f"{in_percent(LEAST_FOUND)} better where it is 2 %. "
    )
    if not missed:
        return f"{required}All maps meet this."
    maps = " ".join(missed)
    return f"{required}Of a cell's two numbers the worse one counts. {maps} Their verdicts are less sure than .95."


# ---- What is in, and where it ran ----------------------------------------------------------------------------------


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


def progress(board: Board) -> Table:
    """How far every part has run."""
    table = Table("What is in", ["part", "trials", "planned", "failed"], stub=1)
    for name in PARTS:
        found = board.progress(name)
        table.rows.append([name, f"{found.done:,}", f"{found.planned:,}", f"{found.failed:,}"] if found else
                          [name, "0", NOT_RUN, ""])  # fmt: skip
    table.notes = [
        f"{left_out:,} trials of {name} are left out: they were measured at another time than RFF, when the machine "
        f"may have been faster or slower. `rffbench run {name} --fresh` measures all of them together."
        for name, left_out in board.elsewhere.items() if left_out
    ]  # fmt: skip
    return table


def runs(board: Board) -> Table:
    """When every part ran, by which commits, and where."""
    return run_table({name: [run for each in board.of_part(name)[:1] for run in each.runs] for name in PARTS})
