"""The hypotheses of docs/board/learners.md: what each config's results say of them.

Where the registration leaves something open, the stricter reading is taken: a rule must be met with every map. Errors
are those of `rffbench.stats.losses`, the test error of a classification and the mean squared error of a regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from rffbench import Results, load_card
from rffbench.stats import (
    CELL,
    OfTrials,
    Range,
    at_columns,
    bootstrap,
    cost,
    losses,
    median,
    over_datasets,
    references,
    sessions,
)
from studies.board.choosing import chosen
from studies.board.solvers import reached
from studies.landmarks.facts import crossing as first_crossing
from studies.learners.judged import (
    Hypothesis,
    Part,
    Trials,
    by_dataset,
    in_range,
    means,
    median_of,
    more_than_not,
    on_enough,
    relative,
)

MAPS = ("RFF", "quadrature", "Nyström")
MOST, MIDDLE, FEWEST = 2048, 1024, 128
"""Columns: of learners; of crossing's seconds; of board-coupled's kernel error."""
SAME = Range(-0.01, 0.01)
"""The registered region."""
TITLES = {
    "L1": ("The learner does not matter for accuracy", "test error, over ridge"),
    "L2": ("Logistic regression has the best probabilities", "sets with less log-loss"),
    "L3": ("Platt's sigmoid makes ridge usable for probabilities", "points of calibration error over logistic's"),
    "L4": ("Ridge is the cheapest", "training seconds over ridge's"),
    "L5": ("2,048 columns replace the exact machine", "test error, over the exact machine"),
    "C1": ("At 2,000 rows features train faster than the exact machine", "sets on which they do"),
    "C2": ("Kernel ridge and its features cross between 1,000 and 8,000 rows", "sets on which they do"),
    "C3": ("The error does not cross there", "test error at 16,000 rows, Nyström over exact"),
    "S1": ("Scaling is needed", "test error, standard over none"),
    "S2": ("Standard and min–max are the same", "test error, min–max over standard"),
    "S3": ("Quantiles help where inputs have heavy tails", "sets beyond ±3 %, quantile over standard"),
    "S4": ("Nyström says the same as RFF", "the signs of S1 to S3"),
    "Reid et al.": ("Coupled lengths have less variance", "sets with less kernel error at 128 columns"),
    "Reid et al., downstream": ("Less variance need not be a gain downstream", "normalised test loss"),
    "Rathore et al.": ("ASkotch beats pcg and eigenpro", "problems on which it is the first within 1 %"),
    "Resampling, regression": ("Resampled frequencies beat random ones", "regressions with less test error"),
    "Resampling, classification": ("Resampled frequencies beat random ones", "classifications with less test error"),
    "Resampling, EERF": ("They beat the frequencies that correlate most", "sets with less test error"),
    "Resampling, columns": ("They are worth four times the columns", "regressions with less test error"),
}  # fmt: skip
"""Of each hypothesis, the registered sentence and its measure."""
ASKED = {
    "learners": ("L1", "L2", "L3", "L4", "L5"),
    "crossing": ("C1", "C2", "C3"),
    "scaling": ("S1", "S2", "S3", "S4"),
    "board-coupled": ("Reid et al.", "Reid et al., downstream"),
    "board-askotch": ("Rathore et al.",),
    "board-adaptive": (
        "Resampling, regression",
        "Resampling, classification",
        "Resampling, EERF",
        "Resampling, columns",
    ),
}
"""The hypotheses that a config's results answer."""


def _answered(name: str, parts: Sequence[Part]) -> Hypothesis:
    return Hypothesis(name, *TITLES[name], parts)


# ---- learners --------------------------------------------------------------------------------------------------------


def learners(results: Results) -> list[Hypothesis]:
    """L1 to L5, at 2,048 columns."""
    every = with_least_cv_error(results.trials)
    trials = every[(every["n_features"] == MOST) | (every["method"] == "exact machine")]
    error, log_loss, calibration = (_table(trials, of) for of in ("loss", "log_loss", "calibration_error"))
    seconds = _table(trials.assign(log_seconds=np.log(training_seconds(trials))), "log_seconds", [*PAIRED, "session"])
    pairs = [(f"{kind} {learner}", f"{kind} ridge") for learner in ("logistic", "machine") for kind in MAPS]
    accuracy = [in_range(mine, relative(error, mine, ridge), Range(-0.02, 0.02)) for mine, ridge in pairs]
    probabilities = [
        _lower_on_nine(f"{kind}, against {other}", relative(log_loss, f"{kind} logistic", f"{kind} {other}"))
        for kind in MAPS for other in ("ridge", "machine")
    ]  # fmt: skip
    differences = {kind: calibration[f"{kind} ridge"] - calibration[f"{kind} logistic"] for kind in MAPS}
    usable = [in_range(kind, by_dataset(each), Range(-np.inf, 1), "") for kind, each in differences.items()]
    cheapest = [
        in_range(mine, by_dataset(seconds[mine] - seconds[ridge]), Range(np.log(2), np.inf), "log")
        for mine, ridge in pairs
    ]
    found = {"L1": accuracy, "L2": probabilities, "L3": usable, "L4": cheapest, "L5": _replaced(error)}
    return [_answered(name, parts) for name, parts in found.items()]


def with_least_cv_error(trials: pd.DataFrame) -> pd.DataFrame:
    """Of every cell and trial the row with the least cross-validation error: that of a machine with its best C. Rows
    of learners without a C are all the same."""
    return trials.sort_values("cv_error", kind="stable").drop_duplicates(CELL).sort_index()


def _lower_on_nine(of: str, gains: Trials) -> Part:
    lower = int((means(gains) > 0).sum())
    return on_enough(of, lower, len(gains), 9, median_of(gains), gains)


def _replaced(error: pd.DataFrame) -> list[Part]:
    """L5. The best map is the one whose machine has the largest median gain over the exact one, one for all sets."""
    of_maps = {kind: relative(error, f"{kind} machine", "exact machine") for kind in MAPS}
    best = max(MAPS, key=lambda kind: means(of_maps[kind]).median())
    kept = means(of_maps[best]) > -0.1
    within = in_range(f"{best} machine", of_maps[best], SAME)
    return [within, on_enough("loses less than 10 %", int(kept.sum()), len(kept), len(kept), "")]


# ---- crossing --------------------------------------------------------------------------------------------------------


def crossing(results: Results) -> list[Hypothesis]:
    """C1 to C3."""
    trials = results.trials.assign(rows=results.trials["train_rows"].astype(int))
    seconds = trials.assign(log_seconds=np.log(training_seconds(trials)))
    at = ["dataset", "rows", "trial", "session"]
    table = _table(seconds[seconds["n_features"].isin([1, MIDDLE])], "log_seconds", at)
    faster, cross = [], []
    for kind in ("RFF", "Nyström"):
        logs = (table[f"{kind} machine"] - table["exact machine"]).dropna()
        at_2000 = by_dataset(logs[logs.index.get_level_values("rows") == 2000])
        ratio = in_range("", at_2000, Range(-np.inf, 0), "log").said
        count = int((means(at_2000) < 0).sum())
        faster.append(
            on_enough(f"{kind} machine", count, len(at_2000), 3, f"seconds over the exact machine's: {ratio}")
        )
        cross.append(_crosses(f"{kind} ridge", (table[f"{kind} ridge"] - table["kernel ridge"]).dropna()))
    largest = trials[(trials["rows"] == 16000) & trials["n_features"].isin([1, MOST])]
    error = _table(largest, "loss")
    pairs = (("Nyström machine", "exact machine"), ("Nyström ridge", "kernel ridge"))
    kept = [in_range(mine, relative(error, mine, exact), Range(-0.05, np.inf)) for mine, exact in pairs]
    return [_answered(name, parts) for name, parts in (("C1", faster), ("C2", cross), ("C3", kept))]


def _crosses(of: str, logs: pd.Series) -> Part:
    """On how many sets the logarithm of the ratio of seconds comes down to 0 between 1,000 and 8,000 rows."""
    where = {}
    for name, mine in logs.groupby("dataset", sort=False):
        table = mine.groupby(["trial", "rows"]).mean().unstack("rows")
        where[str(name)] = OfTrials(len(table), partial(_rows_at_zero, table))
    rows = {name: np.exp(each.of_all) for name, each in where.items()}
    count = sum(1000 <= each <= 8000 for each in rows.values())
    number = over_datasets(where, median, of)
    middle, low, high = np.exp([number.value, number.low, number.high])
    beside = f"median {middle:,.0f} rows ({low:,.0f} to {high:,.0f})" if number.datasets else "no crossing was measured"
    return on_enough(of, count, len(rows), 4, beside)


def _rows_at_zero(table: pd.DataFrame, trials: np.ndarray) -> float:
    curve = table.iloc[trials].mean()
    return first_crossing(np.log(curve.index.to_numpy(float)), curve.to_numpy(), 0.0)


# ---- scaling ---------------------------------------------------------------------------------------------------------

WAYS = {"S1": ("standard", "none"), "S2": ("minmax", "standard"), "S3": ("quantile", "standard")}
"""Which way of scaling is held against which."""


def scaling(results: Results) -> list[Hypothesis]:
    """S1 to S4."""
    found, same = [], []
    of_maps = {kind: scaling_parts(results, kind) for kind in ("RFF", "Nyström")}
    for name in WAYS:
        mine, other = of_maps["RFF"][name], of_maps["Nyström"][name]
        found.append(_answered(name, [mine]))
        is_same = _sign(name, mine.gains) == _sign(name, other.gains)
        is_sure = all(_sign_is_sure(name, each) for each in (mine, other))
        same.append(Part(f"{name} with Nyström", other.said, is_same, is_sure, other.gains))
    return [*found, _answered("S4", same)]


def scaling_parts(results: Results, method: str, root: bool = False) -> dict[str, Part]:
    """The numbers of S1 to S3 with a method; with ``root``, of the root of a regression's mean squared error."""
    trials = results.trials[results.trials["method"] == method]
    error = _table(trials.assign(root=losses(trials)["loss"].where(trials["rmse"].isna(), trials["rmse"])),
                   "root" if root else "loss", columns="preprocess")  # fmt: skip
    gains = {name: relative(error, *ways) for name, ways in WAYS.items()}
    return {
        "S1": in_range(method, gains["S1"], Range(0.05, np.inf)),
        "S2": in_range(method, gains["S2"], Range(-0.03, 0.03)),
        "S3": more_than_not(method, *beyond(gains["S3"]), gains["S3"]),
    }


def beyond(gains: Trials, least: float = 0.03) -> tuple[int, int]:
    """On how many sets the gain is above ``least``, and on how many the loss is."""
    return int((means(gains) > least).sum()), int((means(gains) < -least).sum())


def chosen_scaling(results: Results, method: str, over: str) -> Part:
    """What the way of scaling with the least cross-validation error of each trial gains over one way in all. It was not
    registered."""
    trials = results.trials[results.trials["method"] == method]
    rows = trials.assign(method=trials["preprocess"], task="", error=losses(trials)["loss"], cv=trials["cv_error"])
    best, of_one = (chosen(rows, ways).droplevel("task") for ways in (list(rows["method"].unique()), [over]))
    return in_range(method, relative(pd.DataFrame({"chosen": best, over: of_one}), "chosen", over), Range(0.0, np.inf))


def _sign(name: str, gains: Trials) -> float:
    """Of a median; of S3, whether more sets gain than lose."""
    ups, downs = beyond(gains)
    return float(np.sign(ups - downs if name == "S3" else means(gains).median()))


def _sign_is_sure(name: str, part: Part) -> bool:
    """Whether the interval of a median leaves out 0; of S3, what the sign test says."""
    _, low, high = bootstrap(part.gains)
    return part.is_sure if name == "S3" else low > 0 or high < 0


# ---- maps and solvers ------------------------------------------------------------------------------------------------


def coupled(results: Results) -> list[Hypothesis]:
    """The claim of Reid et al., and their warning, which the config registers: a gain in the board's units within the
    region."""
    normalised = [at_columns(losses(results.trials), references(), size, "orthogonal") for size in (FEWEST, 4 * FEWEST)]
    downstream = [
        in_range(f"{size} columns", by_dataset(mine[mine["method"] == "coupled"].set_index(PAIRED)["gain"]), SAME)
        for size, mine in zip((FEWEST, 4 * FEWEST), normalised, strict=True)
    ]
    claim = coupled_part(results, "kernel_error", FEWEST)
    return [_answered("Reid et al.", [claim]), _answered("Reid et al., downstream", downstream)]


def coupled_part(results: Results, of: str, columns: int) -> Part:
    """On how many sets coupled lengths have less of it, the loss or an error of the kernel, than independent ones."""
    gains = coupled_gains(results, of, columns)
    return more_than_not("", *beyond(gains, 0.0), gains)


def coupled_gains(results: Results, of: str, columns: int) -> Trials:
    return relative(_table(results.trials[results.trials["n_features"] == columns], of), "coupled", "orthogonal")


def askotch(results: Results) -> list[Hypothesis]:
    """The claim of Rathore et al.: as board-askotch says, in fewer seconds than pcg and eigenpro need."""
    first = {}
    for labels, problem in results.protocols:
        for dataset in problem.datasets:
            seconds = {each.solver: each.seconds for each in reached(problem, dataset, "whole kernel")}
            others = [seconds.get(f"kernel {name}", np.nan) for name in ("pcg", "eigenpro")]
            mine = seconds.get("kernel askotch", np.nan)
            first[next(iter(labels.values()))] = mine < np.nanmin([*others, np.inf])
    won = [name for name, is_first in first.items() if is_first]
    return [_answered("Rathore et al.", [on_enough("kernel askotch", len(won), len(first), 3, ", ".join(won))])]


def adaptive(results: Results) -> list[Hypothesis]:
    """The claim of arXiv:2509.03151, by task, and what else a user could do with the targets, or with the seconds."""
    regressions = [name for name in results.datasets if load_card(name).task == "regression"]
    of_task = {"regression": regressions, "classification": [*set(results.datasets) - {*regressions}]}
    over_rff = adaptive_gains(results, "RFF")
    parts = {task: [_less_error("", {name: over_rff[name] for name in over_rff if name in names})]
             for task, names in of_task.items()}  # fmt: skip
    parts["EERF"] = [_less_error(pool, adaptive_gains(results, pool)) for pool in ("EERF", "EERF of a larger pool")]
    over_more = adaptive_gains(results, "RFF", MOST)
    parts["columns"] = [_less_error("", {name: over_more[name] for name in over_more if name in regressions})]
    return [_answered(f"Resampling, {name}", each) for name, each in parts.items()]


def adaptive_gains(results: Results, over: str, columns: int = 4 * FEWEST, own_columns: int = 4 * FEWEST) -> Trials:
    """Of resampled frequencies with ``own_columns`` over another map with that many columns."""
    mine, other = (
        _table(results.trials[results.trials["n_features"] == size], "loss") for size in (own_columns, columns)
    )
    return relative(pd.DataFrame({"adaptive": mine["adaptive"], over: other[over]}), "adaptive", over)


def _less_error(of: str, gains: Trials) -> Part:
    return more_than_not(of, *beyond(gains, 0.0), gains)


# ---- what they share -------------------------------------------------------------------------------------------------

PAIRED = ["dataset", "trial"]


def training_seconds(trials: pd.DataFrame) -> pd.Series:
    """Seconds of the map and of the fit with its choice of λ, but for the choice of σ; NaN where other work used the
    processors."""
    return cost(trials, "fit") - trials["predict_s"]


def _table(trials: pd.DataFrame, of: str, index: Sequence[str] = PAIRED, columns: str = "method") -> pd.DataFrame:
    """A number of every trial, one row for those that are compared. Seconds are compared within a session."""
    rows = trials.assign(loss=losses(trials)["loss"], session=sessions(trials["finished"].fillna("").tolist()))
    return rows.pivot(index=list(index), columns=columns, values=of)


MEASURED = {
    "learners": learners, "crossing": crossing, "scaling": scaling, "board-coupled": coupled, "board-askotch": askotch,
    "board-adaptive": adaptive,
}  # fmt: skip
