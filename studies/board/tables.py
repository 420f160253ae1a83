"""The tables of the board's page on gains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from rffbench import Table, load_card
from rffbench.stats import (
    BALANCED,
    BASELINE,
    NOT_RUN,
    REFERENCE_COLUMNS,
    AtCost,
    Cost,
    Summary,
    at_columns,
    cost_ratios,
    gains,
    gains_of,
    interval,
    losses,
    odds,
    outside,
    percent,
    summaries,
    summary_of,
    wilcoxon_holm,
)
from studies.board import draws
from studies.board.advice import Advice, Gain, advise, classes
from studies.board.answers import Answer
from studies.board.kernels_or_maps import whole_sizes
from studies.board.questions import RIDGE_DELTA, ROOT_DELTA
from studies.board.registered import COLUMNS, CONFIRMATORY, MARK, OF_ANOTHER_KERNEL, TIMES_MEDIAN
from studies.board.standing import SECONDS, TUNING, Board, shape

COSTS: dict[Cost, str] = {
    "fit": "seconds: map, one fit and prediction",
    "map": "seconds: map and prediction",
    "tuning": "seconds, tuning included",
    "memory": "memory",
}
REWEIGHTED, RFF_WIDE = "surrogate reweighted", "RFF, smaller λ"
BUDGETS = (256, 512, 1024)
"""The columns with which RFF's cost is a budget."""


# ---- Which map -------------------------------------------------------------------------------------------------------


def first_lines(board: Board) -> Table:
    """Data and budget → map, columns, σ, gain with its interval, and when not."""
    shapes = {name: shape(name, board.scores.setting("preprocess", name) or ()) for name in board.datasets}
    header = ["n training rows, d inputs", "budget", "map", "columns", "σ / median distance", "gain, % (95 %)",
              "of the choice, % (95 %)", "not on: gain, %"]  # fmt: skip
    table = Table("By data and budget", header, stub=2)
    chosen = board.scores.trials.pivot_table(index="dataset", columns="method", values=TIMES_MEDIAN, aggfunc="median")
    instead = dict.fromkeys((each.method for each in _same_as_advised(board)), LANDMARKS)
    timed = board.at_cost("fit", COLUMNS)
    at = [advise(board.at_columns(COLUMNS), data, float(COLUMNS), chosen, instead) for data in classes(shapes)]
    in_time = [advise(timed.trials, data, timed.columns, chosen) for data in classes(shapes)] if timed else []
    budgets = {f"{COLUMNS} columns": at} | ({f"RFF's time, {COLUMNS}": in_time} if timed else {})
    for budget, advice in budgets.items():
        if all(each and each.method == BASELINE for each in advice):
            times = sorted({f"{each.times_median:.3g}" for each in advice if each}, key=float)
            cells = [BASELINE, f"{COLUMNS}", " to ".join(dict.fromkeys((times[0], times[-1]))), *[NOT_RUN] * 3]
            table.rows.append(["any of these", budget, *cells])
        else:
            table.rows += [[f"{data.rows}, {data.inputs}", budget, *_advice_cells(each)]
                           for data, each in zip(classes(shapes), advice, strict=True)]  # fmt: skip
    table.notes = [
        "Exploratory: the table was not registered. Gains are over RFF, medians over the datasets of the class. Not "
        "on: datasets of the class on which the map loses more than 1 %. σ is chosen by cross-validation; the table "
        "has the median of the chosen ones.",
        "A class has the map with the largest median gain, or RFF, where the gain of choosing so is not clearly above "
        "0 on datasets that took no part in the choice. That is the gain of the choice.",
        *_of_landmarks(board, at),
        f"RFF's time: its seconds with {COLUMNS} columns, of the map, one fit and prediction." if timed else
        "At equal seconds nothing is known yet; the columns of Nyström cost more.",
        *(_untimed(board, timed, [each for each in (*at, *in_time) if each]) if timed else []),
    ]  # fmt: skip
    return table


def _advice_cells(found: Advice | None) -> list[str]:
    if found is None:
        return [NOT_RUN] * 6
    columns = NOT_RUN if np.isnan(found.columns) else f"{found.columns:.0f}"
    worse = ", ".join(f"{name} {percent(gain)}" for name, gain in found.worse_on.items()) or "none"
    gains_ = [_gained(found.own) if found.own else NOT_RUN, _gained(found.choice), worse if found.own else NOT_RUN]
    return [found.method, columns, f"{found.times_median:.3g}", *gains_]


def _gained(gain: Gain) -> str:
    return f"{percent(gain.median)} ({interval(gain.low, gain.high)})"


LANDMARKS = "Nyström RPCholesky"
"""The map that is advised for few columns."""


def over_advised(board: Board) -> list[Summary]:
    """What the other Nyström maps gain over the advised one at equal columns; empty where any has not run."""
    others = ("Nyström k-means", "Nyström")
    if not {LANDMARKS, *others} <= set(board.maps):
        return []
    found = summaries(at_columns(board.losses_of_maps, board.known, COLUMNS, LANDMARKS), others)
    return found if len(found) == len(others) else []


def _same_as_advised(board: Board) -> list[Summary]:
    """The other Nyström maps over the advised one, where all are the same; else none."""
    found = over_advised(board)
    return found if all(each.verdict == "same" for each in found) else []


def _of_landmarks(board: Board, at: Sequence[Advice | None]) -> list[str]:
    """Why a map is named in place of the class's best, as a note; empty where none is."""
    best = Counter(each.best for each in at if each and each.method not in (each.best, BASELINE))
    if not best:
        return []
    largest = ", ".join(f"{name} in {count}" for name, count in best.items())
    said = ", ".join(f"{each.method} {each.said}" for each in over_advised(board))
    return [
        f"{LANDMARKS} stands for all Nyström maps. Other landmarks have the largest median by classes: {largest}. But "
        f"over {LANDMARKS} they gain, on all datasets: {said}. That is the same to within 1 %. {LANDMARKS} was named "
        "before the run. Uniform landmarks miss a rare class (w8a), and of the three k-means takes the most seconds, "
        "as the tables below show."
    ]


def _untimed(board: Board, timed: AtCost, given: Sequence[Advice]) -> list[str]:
    """Which of the maps that are named have no seconds, as a note."""
    compared = set(timed.gains) - {BASELINE}
    named = Counter(each.method for each in given if each.method not in (BASELINE, *compared))
    said = ", ".join(f"{name} (named {count} times)" for name, count in named.items())
    if not said:
        return []
    everything = board.at_columns(COLUMNS)["method"].nunique() - 1
    return [
        f"At {COLUMNS} columns {everything} maps are compared with RFF, at its time {len(compared)}. The seconds of "
        f"the others are not measured; among them: {said}."
    ]


# ---- Better, the same, or worse --------------------------------------------------------------------------------------


def verdicts(board: Board) -> Table:
    """All maps at 512 columns: the confirmatory ones with p and verdict, the others exploratory."""
    rows = board.at_columns(COLUMNS)
    means = rows.pivot_table(index="dataset", columns="method", values="gain")
    tested = [name for name in CONFIRMATORY if name in means]
    p = wilcoxon_holm(means[tested])["p_holm"].to_dict() if len(tested) == len(CONFIRMATORY) else {}
    header = ["map", "gain, %", "95 %", "better | same | worse", "worst dataset", "p", "verdict", "datasets",
              "failures"]  # fmt: skip
    table = Table(f"Over RFF at {COLUMNS} columns", header, stub=1)
    failed = Counter(rows.loc[rows["failed"], "method"])
    for each in board.at_each_size.get(COLUMNS, []):
        confirmatory = each.method in CONFIRMATORY
        withheld = board.withheld(each.method, COLUMNS)
        verdict = (f"none yet: {withheld}" if withheld else each.verdict) if confirmatory else "exploratory"
        table.rows.append([
            f"{each.method} {MARK}" if confirmatory else each.method, percent(each.median),
            interval(each.low, each.high), odds(each.posterior), _worst(means[each.method]),
            _p(p.get(each.method)) if confirmatory else "", verdict, str(each.datasets), str(failed[each.method]),
        ])  # fmt: skip
    table.notes = [
        f"{MARK} named before the run. p is of Wilcoxon's signed-rank test, corrected by Holm for six maps. The "
        "verdict does not use p: it is better, same or worse where that has a probability of .95 or more, else "
        "undecided. Gains within ±1 % are the same. Worst dataset: where the map gains least. A failed trial counts as "
        "a constant.",
        *_drawn(board),
        *_without_failures(board, failed),
    ]
    return table


def _drawn(board: Board) -> list[str]:
    """How many of their columns are distinct, where maps draw again, as a note."""
    return [said] if (said := draws.in_words(board, "Leverage and surrogate")) else []


def _without_failures(board: Board, failed: Mapping[str, int]) -> list[str]:
    """The second number: the gains of maps with failed trials, these left out."""
    if not failed:
        return []
    known = board.losses[board.losses["n_features"] == COLUMNS]
    rows = gains(known, board.known, with_failures=False)
    said = ", ".join(f"{each.method} {percent(each.median)} %" for each in summaries(rows, list(failed)))
    return [f"Without failed trials: {said}."] if said else []


def _worst(means: pd.Series) -> str:
    """The dataset on which a map gains least, and that gain."""
    return f"{means.idxmin()} {percent(float(means.min()))}"


def _p(value: float | None) -> str:
    return NOT_RUN if value is None or np.isnan(value) else "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0")


def by_columns(board: Board) -> Table:
    """The median gain of every map at every size."""
    found: dict[str, list[Summary]] = {f"{size:,}": of_maps for size, of_maps in board.at_each_size.items()}
    title, notes = "Median gain over RFF at equal columns, in %", []
    if board.over_references:
        found[f"{REFERENCE_COLUMNS:,} *"] = board.over_references
        trials = next(iter(board.known.values())).trials
        notes.append(
            f"* Over the losses that the gains' unit is made of: means of {trials} trials of RFF with "
            f"{REFERENCE_COLUMNS:,} columns on other seeds. So no trial is paired, and these means' noise is in no "
            "interval."
        )
    return _by_size(title, found, board.compared, notes)


def kernels_by_columns(board: Board) -> Table | None:
    """The median gain of the kernels, each with every map of its own, over RFF of the Gaussian kernel at every size
    that has run whole; None where board-kernels has not run."""
    if (results := board.results.get("board-kernels")) is None:
        return None
    methods = [name for name in results.methods if name != BASELINE]
    rows = losses(results.trials)
    rows = rows[rows["n_features"].isin(whole_sizes(board))]
    found = {f"{size:,}": of_all for size, of_all in board.gains_by_size(rows, methods).items()}
    notes = [
        "Exploratory: no verdict between single kernels was registered. Each kernel chooses its own σ, but for the "
        "arc-cosine kernel, which has none."
    ]
    for name, count in results.trials.groupby("method")["dataset"].nunique().items():
        if count < len(results.datasets):
            notes.append(f"{name} has run on {count} datasets alone; its medians are over these.")
    return _by_size("Median gain over RFF of the Gaussian kernel at equal columns, in %", found, methods, notes)


def _by_size(title: str, found: Mapping[str, Sequence[Summary]], methods: Sequence[str], notes: list[str]) -> Table:
    """A row for each method, with its median gain at each size. A size that has not run on all of a method's datasets
    has none: the median over some would be of other datasets than that at the next size."""
    table = Table(title, ["map", *found], stub=1, notes=notes)
    for name in methods:
        of_method = [next((each for each in of_size if each.method == name), None) for of_size in found.values()]
        most = max((each.datasets for each in of_method if each), default=0)
        cells = [_shown(each if each and each.datasets == most else None) for each in of_method]
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
    for name in board.compared:
        cells = [_at_cost_cell(found[columns].get(name), at, name) for columns, at in views.items()]
        mine = found[COLUMNS].get(name) if COLUMNS in views else None
        if any(cell != NOT_RUN for cell in cells):
            table.rows.append([_marked(name), *cells, odds(mine.posterior) if mine and mine.is_enough else NOT_RUN])
    if of in ("fit", "map"):
        table.notes = _timed(board, SECONDS)
    if of == "memory":
        table.notes = _drawn(board)
    if of == "tuning":
        table.notes = [
            "σ is chosen at 512 columns for every size, so a map that is slower there is dearer at every size.",
            *_timed(board, TUNING),
        ]
    return table


def _timed(board: Board, part: str) -> list[str]:
    """When and where the seconds of which maps were measured in a part, if not all at once, as a note."""
    found = board.timings.get(part, [])
    if len(found) < 2:
        return []
    said = "; ".join(map(str, found))
    return [f"Seconds are ratios to RFF's of the same session, and not all are of one processor. {said}."]


def _at_cost_cell(found: Summary | None, at: AtCost, name: str) -> str:
    beside = outside(at.trials, name)
    return f"{_shown(found if found and found.is_enough else None)}{f' ({beside})' if beside else ''}"


def _shown(found: Summary | None) -> str:
    return NOT_RUN if found is None else f"{percent(found.median)} ({interval(found.low, found.high)})"


def _marked(name: str) -> str:
    return f"{name} {MARK}" if name in CONFIRMATORY else name


CONSTANT = "constant"
"""The best constant of the training rows, as a learner."""
WIDE = 2048
"""The columns of RFF with which learners without a map are compared, too."""


def without_a_map(board: Board) -> Table | None:
    """What learners on the rows themselves gain over RFF, and a constant; None where none has run."""
    if not board.without_a_map(COLUMNS):
        return None
    learners = [*board.not_maps, CONSTANT]
    at, wide = gains_of_learners(board, COLUMNS), gains_of_learners(board, WIDE)
    over_wide = {each.method: each for each in summaries(wide, learners)}
    means = at.pivot_table(index="dataset", columns="method", values="gain")
    header = ["learner", "gain, %", "95 %", "better | same | worse", "worst dataset", f"over {WIDE:,} columns",
              *_SCORES, "trials", "datasets"]  # fmt: skip
    table = Table(f"Learners without a map, over RFF at {COLUMNS} columns (exploratory)", header, stub=1)
    scores = _scores_of_learners(board)
    for each in summaries(at, learners):
        trials = at.loc[at["method"] == each.method, "trial"].nunique()
        of_learner = scores[scores["method"] == each.method][list(_SCORES.values())].median()
        cells = [NOT_RUN if np.isnan(value) else f"{value:.3g}" for value in of_learner]
        table.rows.append([
            each.method, percent(each.median), interval(each.low, each.high), odds(each.posterior),
            _worst(means[each.method]), _shown(over_wide.get(each.method)), *cells,
            "" if each.method == CONSTANT else str(trials), str(each.datasets),
        ])  # fmt: skip
    table.notes = [
        "Boosted trees are scikit-learn's, with its defaults. A trial is compared with RFF's of the same split. Test "
        "error, AUC and RMSE are medians over the datasets that the learner has run on. Boosted trees have "
        "probabilities, but the board asks for no log-loss. Seconds and memory of learners were not measured.",
        *_on_few_rows(board),
    ]
    return table


def gains_of_learners(board: Board, columns: int) -> pd.DataFrame:
    """The gains of learners and of a constant over RFF at that many columns, each on the trials that both have."""
    own = board.losses["method"].isin(board.not_maps)
    of_rff = board.losses[(board.losses["method"] == BASELINE) & (board.losses["n_features"] == columns)]
    level = of_rff["dataset"].map({name: each.constant for name, each in board.known.items()}).astype(float)
    constant = of_rff.assign(method=CONSTANT, loss=level, failed=False)
    rows = pd.concat([board.losses[own], of_rff, constant])
    return gains(rows.assign(n_features=columns), board.known)


_SCORES = {"test error, %": "error", "AUC": "auc", "RMSE over RFF's": "rmse"}


def _scores_of_learners(board: Board) -> pd.DataFrame:
    """By dataset and learner, a constant too, the means over trials of what `_SCORES` has."""
    trials = board.scores.trials
    means = trials[trials["method"].isin(board.not_maps)].groupby(["dataset", "method"], sort=False)
    found = means[["accuracy", "auc", "rmse"]].mean().reset_index()
    found["error"] = 100 - found["accuracy"]
    of_rff = trials[(trials["method"] == BASELINE) & (trials["n_features"] == COLUMNS)]
    rmse = of_rff.groupby("dataset")["rmse"].mean()
    found["rmse"] /= found["dataset"].map(rmse)
    constant = []
    for name in found["dataset"].unique():
        known, classes = board.known.get(name), load_card(name).classes
        loss = known.constant if known else np.nan
        if classes:
            error = 1 - max(classes.values()) / sum(classes.values()) if name in BALANCED else loss
            constant.append({"dataset": name, "method": CONSTANT, "error": 100 * error, "auc": 0.5})
        else:
            constant.append({"dataset": name, "method": CONSTANT, "rmse": np.sqrt(loss) / rmse.get(name, np.nan)})
    return pd.concat([found, pd.DataFrame(constant)])


def _on_few_rows(board: Board) -> list[str]:
    """On which datasets kernel ridge has run, and on how many rows it is tuned, as a note."""
    name = "kernel ridge"
    if name not in board.not_maps:
        return []
    trials = board.scores.trials
    run = trials.loc[trials["method"] == name, "dataset"].unique()
    most = max(shape(each)[0] for each in run)
    tuned = board.scores.setting("kernel", method=name)["gamma"]["rows"]
    return [
        f"Kernel ridge has run on the {len(run)} datasets of at most {most:,} training rows; the "
        f"{len(board.datasets) - len(run)} others have more. Its σ and λ are chosen on at most {tuned:,} rows."
    ]


BESIDE = {"accuracy": "test error, %", "auc": "AUC", "rmse": "RMSE over RFF's", "kernel_error": "kernel error",
          "delta_error": ROOT_DELTA}  # fmt: skip
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
    if len(of_kernel := _ridge_deltas(board)):
        ratios = {RIDGE_DELTA: of_kernel, **ratios}
    table = Table(f"Medians over datasets, at {COLUMNS} columns", ["map", *BESIDE.values(), *ratios], stub=1)
    for name, mine in means.groupby("method", sort=False):
        cells = [NOT_RUN if np.isnan(value) else f"{value:.3g}" for value in mine[list(BESIDE)].median()]
        cells += [_beside_cell(each.get(name, np.nan), called) for called, each in ratios.items()]
        table.rows.append([_marked(str(name)), *cells])
    table.notes = [
        "Test error and AUC over classifications, RMSE over regressions. Kernel error: ‖K̃ − K‖/‖K‖ in the Frobenius "
        "norm. Each map chose its own σ, so that these errors are of different kernels. "
        f"The {ROOT_DELTA} and the {RIDGE_DELTA} are ‖(K + nλI)^−½(K̃ − K)(K + nλI)^−½‖₂ on 1,000 training rows. "
        f"The {ROOT_DELTA} has λ = 1/√n, at the map's own σ. The {RIDGE_DELTA} has the λ that kernel ridge chooses on "
        "these rows, at the σ that RFF chose; it is the Δ of question 2. "
        f"The maps {', '.join(OF_ANOTHER_KERNEL)} change the kernel on purpose: their errors mean nothing here. "
        "Ridge regression gives no probabilities, so maps have no log-loss, and all its coefficients differ from 0.",
        *_drawn(board),
    ]
    return table


def _ridge_deltas(board: Board) -> pd.Series:
    """By map, the median over datasets of the ridge Δ, the mean over trials; empty where that has not run."""
    results = board.results.get("board-one-sigma")
    if results is None:
        return pd.Series(dtype=float)
    trials = results.trials[results.trials["n_features"] == COLUMNS]
    means = trials.groupby(["dataset", "method"])["ridge_delta_error"].mean()
    return means.groupby(level="method").median()


def _beside_cell(value: float, called: str) -> str:
    if np.isnan(value):
        return NOT_RUN
    return f"{value:.3g}" if called == RIDGE_DELTA else f"{value:.2f}"


def _over_baseline(costs: pd.DataFrame) -> pd.Series:
    """By map, the median over datasets of the cost over the baseline's, at 512 columns: in the same trial and session,
    as `cost_ratios` has it."""
    ratios = cost_ratios(costs.dropna(), COLUMNS)
    return ratios[ratios.index.get_level_values("n_features") == COLUMNS].groupby(level="method").median()


# ---- The questions ---------------------------------------------------------------------------------------------------


def summary_table(title: str, found: Sequence[Summary]) -> Table:
    """A row for each map: its gain with the interval, the probabilities, and the datasets with and without a gain."""
    table = Table(title, ["map", "gain, %", "95 %", "better | same | worse", "datasets", "left out"], stub=1)
    table.rows = [
        [each.method, percent(each.median), interval(each.low, each.high), odds(each.posterior), str(each.datasets),
         each.outside]
        for each in found
    ]  # fmt: skip
    return table


def answer_tables(answer: Answer) -> list[Table]:
    """The numbers of an answer."""
    tables = []
    for title, found in answer.maps:
        tables.append(summary_table(title, found))
    if answer.numbers:
        table = Table("Numbers", ["what", "value", "95 %", "datasets"], stub=1)
        table.rows = [[each.name, *each.cells, str(each.datasets)] for each in answer.numbers]
        table.notes = list(answer.notes)
        tables.append(table)
    return tables


# ---- Smaller λ -------------------------------------------------------------------------------------------------------


def with_smaller_lambdas(board: Board) -> list[Summary]:
    """Is it the grid of λ that holds surrogate reweighted back? Its gain with the board's λ; with smaller ones, which
    RFF may choose, too; and what RFF itself gains by these. Empty where board-reweighted has not run."""
    wide = board.results.get("board-reweighted")
    if wide is None:
        return []
    on_board = board.losses[board.losses["n_features"] == COLUMNS]
    of_wide = losses(wide.trials).replace({"method": {BASELINE: RFF_WIDE}})
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
