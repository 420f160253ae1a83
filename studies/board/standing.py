"""The board as far as it has run: its results folders, what is in them, and what is still to come."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pandas as pd

import rffbench
from rffbench import Results, load_card
from rffbench.errors import LeftOut, ResultsError, RffbenchError
from rffbench.stats import (
    BASELINE,
    CELL,
    CLOCKS,
    MEMORY,
    REFERENCE_COLUMNS,
    SESSION,
    AtCost,
    Cost,
    Reference,
    Summary,
    at_columns,
    at_cost,
    cost_to_reach,
    gains,
    left_out,
    losses,
    noise,
    references,
    summaries,
    with_cost,
)
from studies.board.registered import TIMES_MEDIAN
from studies.board.sessions import Timing, beside_baseline, joined, last_again, timings, with_trials

Read = TypeVar("Read")
Protocols = Sequence[tuple[dict[str, str], Results]]
SECONDS, TUNING, SOLVERS = "board-seconds", "board-tuning", "board-solvers"
PARTS = ("board", SECONDS, TUNING, "board-one-sigma", "board-kernels", "board-reweighted",
         "board-reference", SOLVERS)  # fmt: skip
"""The configs that the page is made of; the first has the scores."""
TIMED = (SECONDS, TUNING, SOLVERS)
"""Those whose seconds and memory count: they have run with nothing else at work."""
RATIOS = (SECONDS, TUNING)
"""Those whose seconds count as ratios to RFF's."""
CALIBRATION = "calibration.csv"
"""What studies/board/calibrate.py writes beside the scores."""
IN_ROWS = ("status", "gamma", TIMES_MEDIAN, "lambda", "accuracy", "balanced_accuracy", "auc", "rmse", "cv_error",
           "kernel_error", "delta_error", "entry_error", "ridge_delta_error", "ridge_dimension", "spectral_decay",
           "passes")  # fmt: skip
"""What the file of all trials has of each besides its cell, its loss and its costs."""
MEASURED = (*IN_ROWS, *CLOCKS["tuning"], MEMORY, "train_s", "finished")
MOST_NOISE = 1.0
"""The standard error of a gain, in regions, that a verdict needs at most: the median over datasets."""


@dataclass(frozen=True)
class Progress:
    """How many of a config's ``planned`` trials are ``done``, and how many of those have failed."""

    name: str
    done: int
    failed: int
    planned: int

    @property
    def is_complete(self) -> bool:
        return self.done >= self.planned


@dataclass(frozen=True, eq=False)
class Board:
    """The results of the parts that have run, by the config's name, the frozen references, and of board-solvers every
    problem's results."""

    results: dict[str, Results]
    known: dict[str, Reference]
    solvers: Protocols = ()
    elsewhere: dict[str, int] = field(default_factory=dict)
    """By part, how many trials were left out, because their seconds are of a session without RFF's."""
    unread: list[str] = field(default_factory=list)
    """Why folders of parts are left out, which are there and cannot be read."""
    before: Board | None = None
    """The board by the seconds before the last ones that were measured again; None where no map was."""

    @cached_property
    def timings(self) -> dict[str, list[Timing]]:
        """By part, the sessions in which its seconds were measured; without a part where they are not known."""
        return {
            part: timings(results, results.runs)
            for part in RATIOS if (results := self.results.get(part)) and SESSION in results.trials
        }  # fmt: skip

    @property
    def scores(self) -> Results:
        return self.results["board"]

    @property
    def maps(self) -> list[str]:
        """The methods of the board that are maps, RFF first."""
        return [name for name in self.scores.methods if self.scores.features(name)["name"] != "none"]

    @property
    def not_maps(self) -> list[str]:
        """The methods of the board that are learners on the rows themselves."""
        return [name for name in self.scores.methods if name not in self.maps]

    @property
    def compared(self) -> list[str]:
        """The maps but RFF, which they are compared with."""
        return [name for name in self.maps if name != BASELINE]

    @property
    def datasets(self) -> list[str]:
        """All datasets of the board, whether they have run or not."""
        return list(self.scores.config["datasets"])

    @cached_property
    def losses(self) -> pd.DataFrame:
        """A row for every trial (`rffbench.stats.losses`)."""
        return losses(self.scores.trials)

    @cached_property
    def losses_of_maps(self) -> pd.DataFrame:
        """Those of maps."""
        return self.losses[self.losses["method"].isin(self.maps)]

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The datasets without a score, and why."""
        return left_out(self.datasets, self.known)

    def costs(self, of: Cost) -> pd.DataFrame:
        """What each trial costs, of the part that measures it; empty where that has not run."""
        part = self.results.get(TUNING if of == "tuning" else SECONDS)
        if part is None:
            return pd.DataFrame(columns=[*CELL, "cost"])
        return with_cost(part.trials, of)

    def at_columns(self, columns: int) -> pd.DataFrame:
        """The gains of the maps over RFF at that many columns."""
        return at_columns(self.losses_of_maps, self.known, columns)

    def without_a_map(self, columns: int) -> list[Summary]:
        """What learners without a map gain over RFF at that many columns, each on the trials that both have."""
        own = self.losses["method"].isin(self.not_maps)
        rows = self.losses[own | ((self.losses["method"] == BASELINE) & (self.losses["n_features"] == columns))]
        return summaries(gains(rows.assign(n_features=columns), self.known), self.not_maps)

    @cached_property
    def at_each_size(self) -> dict[int, list[Summary]]:
        """The gains of the maps over RFF at equal columns, by the number of columns, where any is measured."""
        return self.gains_by_size(self.losses_of_maps, self.compared)

    def gains_by_size(self, found: pd.DataFrame, methods: Sequence[str]) -> dict[int, list[Summary]]:
        """By the number of columns, the gains over RFF of ``methods``, whose losses are ``found``, at equal columns.
        A size at which none is measured is left out."""
        sizes = sorted(found["n_features"].unique())
        by_size = {int(size): summaries(at_columns(found, self.known, size), methods) for size in sizes}
        return {size: of_methods for size, of_methods in by_size.items() if of_methods}

    @cached_property
    def over_references(self) -> list[Summary]:
        """The gains of the maps with as many columns as the references have, over these: RFF's frozen mean losses, of
        other seeds, so that no trial is paired. Empty where no map has run with them."""
        rows = self.losses_of_maps[self.losses_of_maps["n_features"] == REFERENCE_COLUMNS]
        frozen = rows["dataset"].map({name: each.reference for name, each in self.known.items()})
        of_baseline = rows.assign(method=BASELINE, loss=frozen, failed=False).drop_duplicates(CELL)
        return summaries(gains(pd.concat([rows, of_baseline]), self.known), self.compared)

    def at_cost(self, of: Cost, columns: int, baseline: str = BASELINE) -> AtCost | None:
        """The gains of the maps at what ``baseline`` costs with that many columns; None where that is not measured."""
        if (view := (of, columns, baseline)) not in self._at_costs:
            costs = self._costs_beside(of, columns, baseline)
            found = None if costs is None else at_cost(self.losses_of_maps, costs, self.known, columns, baseline)
            self._at_costs[view] = found
        return self._at_costs[view]

    @cached_property
    def _at_costs(self) -> dict[tuple[Cost, int, str], AtCost | None]:
        """`at_cost` by its arguments; kept, because tables and answers ask for the same."""
        return {}

    def cost_to_reach(self, of: Cost, columns: int) -> pd.DataFrame | None:
        """What the maps cost that come to RFF's loss with that many columns (`rffbench.stats`); None where
        that is not measured."""
        costs = self._costs_beside(of, columns, BASELINE)
        return None if costs is None else cost_to_reach(self.losses_of_maps, costs, self.known, columns)

    def _costs_beside(self, of: Cost, columns: int, baseline: str) -> pd.DataFrame | None:
        """The costs that are known; None where that of ``baseline`` with that many columns is not."""
        costs = self.costs(of).dropna()
        is_there = ((costs["method"] == baseline) & (costs["n_features"] == columns)).any()
        return costs if is_there else None

    # ---- What is in, and what is missing -----------------------------------------------------------------------------

    def of_part(self, name: str) -> list[Results]:
        """The results of a part, of board-solvers those of every problem; empty where it has not run."""
        if name == SOLVERS:
            return [results for _, results in self.solvers]
        return [self.results[name]] if name in self.results else []

    def progress(self, name: str) -> Progress | None:
        """How far a part has run; None where nothing of it is there."""
        if not (found := self.of_part(name)):
            return None
        planned = sum(int(results.planned["trials"].sum()) for results in found)
        failed = sum(int((results.trials["status"] != "ok").sum()) for results in found)
        done = sum(len(results.trials.drop_duplicates(CELL)) for results in found)
        return Progress(name, done, failed, planned)

    def missing(self, methods: Sequence[str], columns: int | None = None, part: str = "board") -> int:
        """How many trials of these methods, at that many columns or at all of theirs, are still to come."""
        if (to_come := self._to_come.get(part)) is None:
            return -1
        return int(
            sum(count for (method, size), count in to_come.items() if method in methods and columns in (None, size))
        )

    @cached_property
    def _to_come(self) -> dict[str, Counter[tuple[str, int]]]:
        """By part, how many trials of each method and size are still to come."""
        found = {}
        for part, results in self.results.items():
            there = results.trials.groupby(["dataset", "method", "n_features"]).size().to_dict()
            found[part] = Counter[tuple[str, int]]()
            for dataset, method, size, count in results.planned.itertuples(index=False, name=None):
                found[part][method, size] += max(0, count - there.get((dataset, method, size), 0))
        return found

    def noise(self, columns: int) -> pd.DataFrame:
        """The standard error of each map's gain on each dataset, in units of the region: datasets × maps."""
        rows = self.at_columns(columns)
        found = {
            method: noise({str(name): each["gain"].to_numpy() for name, each in mine.groupby("dataset", sort=False)})
            for method, mine in rows.groupby("method", sort=False) if method != BASELINE
        }  # fmt: skip
        return pd.DataFrame(found)

    @cached_property
    def _noises(self) -> dict[int, pd.Series]:
        """By columns, each map's median noise; kept, because every verdict asks for one."""
        return {}

    def withheld(self, method: str, columns: int) -> str:
        """Why there is no verdict on a map yet, by the registered rules; empty where there may be one."""
        if method not in self.maps:
            return f"{method} is not among the maps"
        absent = [name for name in self.datasets if name not in self.known]
        if missing := self.missing((BASELINE, method), columns):
            return f"{missing} trials to come"
        if absent:
            return f"no reference of {len(absent)} datasets"
        if columns not in self._noises:
            self._noises[columns] = self.noise(columns).median()
        noise = float(self._noises[columns][method])
        return "" if noise <= MOST_NOISE else f"noise {noise:.1f} regions" if noise > 0 else "noise unknown"


def load(folder: Path) -> Results:
    """The results of a part."""
    return with_columns(rffbench.load(folder))


def load_protocols(folder: Path) -> Protocols:
    """The results of each problem of a part that is a sweep."""
    return [(labels, with_columns(results)) for labels, results in rffbench.load(folder).protocols]


def with_columns(results: Results) -> Results:
    """The trials with every column that the study reads, NaN where nothing was measured."""
    missing = [name for name in MEASURED if name not in results.trials]
    return with_trials(results, results.trials.reindex(columns=[*results.trials, *missing]))


def load_board(folder: Path) -> Board:
    """The board of the results in ``folder``, a folder a config; ResultsError where there are no scores. Another part
    whose folder cannot be read is left out, with a warning at once (`LeftOut`)."""
    if not (folder / "board").is_dir():
        raise ResultsError(f"{folder / 'board'}: no such results folder; rffbench run board makes it")
    found, unread = {"board": load(folder / "board")}, list[str]()
    for name in (each for each in PARTS[1:] if each != SOLVERS):
        if results := _of_folder(load, folder / name, unread):
            found[name] = results
    elsewhere, earlier = dict[str, int](), None
    for name in (each for each in RATIOS if each in found):
        measured = [with_columns(each) for each in found[name].sessions]
        whole = joined(measured)
        if name == SECONDS and (last := last_again(measured)):
            earlier = beside_baseline(joined([each for at, each in enumerate(measured) if at != last]))
        found[name] = beside_baseline(whole)
        elsewhere[name] = len(whole.trials) - len(found[name].trials)
    of_solvers = _of_folder(load_protocols, folder / SOLVERS, unread) or ()
    board = Board(found, references(), of_solvers, elsewhere, unread)
    if earlier is None:
        return board
    return replace(board, before=replace(board, results={**found, SECONDS: earlier}))


def _of_folder(read: Callable[[Path], Read], folder: Path, unread: list[str]) -> Read | None:
    """What ``read`` makes of a part's folder. None if the folder does not exist, as the part has not begun. None, too,
    if it cannot be read: a warning says so at once, and ``unread`` keeps why."""
    if not folder.exists():
        return None
    try:
        return read(folder)
    except Exception as error:  # a config of another version can be wrong in any way
        why = str(error) if isinstance(error, RffbenchError) else f"{folder}: {type(error).__name__}: {error}"
        unread.append(why)
        warnings.warn(f"left out: {why}", LeftOut, stacklevel=3)
        return None


def shape(dataset: str, preprocess: Sequence[str] = ()) -> tuple[int, int]:
    """Training rows and input columns of a dataset."""
    card = load_card(dataset)
    return card.n_train, card.columns_after(preprocess)
