"""Running an experiment into a results folder, and carrying on where an earlier run stopped."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rffbench.arguments.parameters import is_chosen_once
from rffbench.data import reference
from rffbench.errors import ResultsError
from rffbench.execution import Announce, Done, Executor, Experiment, make_executor
from rffbench.execution.devices import check_device
from rffbench.execution.folders import set_aside
from rffbench.execution.log import TrialLog, cell
from rffbench.execution.manifest import Manifest, check_format, write_whole
from rffbench.execution.provenance import OtherCode, made_by
from rffbench.execution.row import Row
from rffbench.io.process import have_standard_streams
from rffbench.solvers import check_installed
from rffbench.trials.spec import Key, Timing, TrialResult, TrialSpec, in_words

if TYPE_CHECKING:
    from rffbench.execution.bandwidths import Bandwidths

Progress = Callable[[int, int, int, int, float | None], None]


@dataclass(frozen=True)
class Summary:
    """Counts of an experiment's requested trials after a run, each counted once.

    ``run`` trials were run now; the others had a result before.
    """

    folder: Path
    statuses: Counter[str]
    run: int
    seconds: float

    @property
    def total(self) -> int:
        return self.statuses.total()

    @property
    def ok(self) -> int:
        return self.statuses["ok"]

    @property
    def unavailable(self) -> int:
        """Trials whose data was unavailable."""
        return self.statuses["unavailable"]

    @property
    def failed(self) -> int:
        """Trials that were started and failed."""
        return self.total - self.ok - self.unavailable


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    executor: Executor | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    only: Sequence[str] = (),
    keys: Container[str] | None = None,
    progress: Progress | None = None,
    announce: Announce | None = None,
    tell: Announce | None = None,
    finished: Done | None = None,
) -> Summary:
    """Run the trials of an experiment that have no result yet, and log each in ``folder`` when it finishes.

    ``executor`` runs them; by default worker processes of this machine.

    Trials with status ok are skipped, failed ones too unless ``retry_failed``; trials whose data was unavailable are
    always tried again. ``fresh`` moves an earlier folder aside first. ``only`` holds ``KEY=VALUE`` filters; with
    ``keys``, only trials with these keys run. Trials with ``timing: exclusive`` run one task at a time, after the
    others, with a thread for every processor; with ``timing: features`` this holds for the timed parts only. After an
    interruption, by Ctrl-C or kill, the same call carries on.

    Rows of these trials that other code made, and rows that were edited, are moved to the folder's trials.aside.jsonl,
    ``tell(message)`` is called, and the trials are run again.

    ``announce(message)`` is called before a dataset is fetched, which may take long.
    ``progress(done, total, ok, failed, seconds_left)`` is called at the start and after every trial. Its counts
    include earlier trials; seconds_left is None before the first. ``finished(result)`` is called when a trial has been
    logged.

    ResultsError if another run writes to the folder, or if it holds trials measured under another config;
    ConfigError, before anything is changed, if the device or a library that a solver needs is missing.
    """
    started = time.monotonic()
    have_standard_streams()
    executor = executor or make_executor("local", experiment)
    grid = list({spec.key: spec for spec in experiment.grid()}.values())
    asked = grid
    if only:
        from rffbench.config.loading import filter_specs

        asked = filter_specs(grid, only)
    if keys is not None:
        asked = [spec for spec in asked if spec.key in keys]
    for device in {spec.device for spec in asked}:
        check_device(device)
    for solver in {id(spec.solver): spec.solver for spec in asked}.values():  # trials of a cell have one in common
        check_installed(solver)
    if fresh:
        set_aside(folder)
    with TrialLog(folder, tell or (lambda message: None)) as log:
        check_format(folder)
        earlier = _read(log, grid, tell)
        pending = [spec for spec in asked if not earlier.is_finished(spec, retry_failed)]
        tally = _Tally(asked, pending, earlier.statuses, progress)
        for file in experiment.files():  # config.yaml names them, and so can be run again from the folder alone
            write_whole(folder / file.name, file.read_text(encoding="utf-8"))
        write_whole(folder / "config.yaml", experiment.to_yaml(folder))

        bandwidths = _known_bandwidths(pending, log)

        def done(result: TrialResult) -> None:
            result = bandwidths.whole(result) if bandwidths else result
            if not earlier.is_repeated(result):
                log.append({**result.to_row(), "made_by": made_by(result.spec)})
            tally.add(result)
            if finished:
                finished(result)

        if pending:
            with Manifest(folder, experiment, grid, executor, only, tally.counts, tell):
                to_run = [bandwidths.given(spec) for spec in pending] if bandwidths else pending
                _carry_out(to_run, executor, done, announce)
    return Summary(folder, tally.counts(), len(pending), time.monotonic() - started)


def _known_bandwidths(pending: list[TrialSpec], log: TrialLog) -> Bandwidths | None:
    """The bandwidths that the log's trials of other sizes have chosen for the pending ones; None if these choose none
    for all sizes."""
    if not any(is_chosen_once(spec.kernel["gamma"]) for spec in pending):
        return None
    from rffbench.execution.bandwidths import Bandwidths  # with it come all maps and solvers

    return Bandwidths(pending, log.rows())


def _carry_out(pending: list[TrialSpec], executor: Executor, done: Done, announce: Announce | None) -> None:
    """Every pending trial: first those without data, then all others, by their timing; within each kind the long ones
    last."""
    from rffbench.config.costs import in_order  # with it come all maps and solvers

    ready = []
    datasets = dict.fromkeys(spec.dataset for spec in pending)
    failures = {dataset: executor.prepare(reference(dataset), announce) for dataset in datasets}
    for spec in pending:
        if failure := failures[spec.dataset]:
            done(replace(failure, environment=failure.status != "unavailable").result(spec))  # no trial has begun
        else:
            ready.append(spec)
    timings: tuple[Timing, ...] = ("shared", "features", "exclusive")
    for timing in timings:
        if specs := [spec for spec in ready if spec.timing == timing]:
            brief, long = in_order(specs)
            executor.run([*brief, *long], done, timing=timing)


def _not_its_own(status: str, error: Mapping[str, Any] | None) -> bool:
    """Whether a failure is not the trial's fault: unavailable data, or a fault of the machine."""
    return status == "unavailable" or bool(error and error.get("environment"))


def _in_words(status: str, error: Mapping[str, Any] | None) -> str:
    return f"{status}: {error.get('message') if error else ''}"


def _read(log: TrialLog, grid: list[TrialSpec], tell: Announce | None) -> _Earlier:
    """The state of a grid's trials in a log; rows that other code made are moved out of it."""
    other = OtherCode(grid)
    earlier = _Earlier(log.folder, other.specs, other.left_out_of(log.rows()))
    if other.found:
        aside = log.keep_aside(lambda row: other.reason(row) is not None)
        if tell:
            tell(f"{other.in_words()}; they are kept in {aside}, and their trials are measured anew")
    return earlier


def check_folder(folder: Path, by_key: Mapping[Key, TrialSpec], rows: Iterable[Row]) -> None:
    """ResultsError if a run of these trials would be refused in the folder, which has these ``rows``."""
    check_format(folder)
    _Earlier(folder, by_key, rows)


class _Earlier:
    """The status of a grid's trials in a log. The last row of each key counts; the rows are not kept.

    ResultsError if a cell was measured under another spec alone: its table would mix two experiments. If the grid
    itself measures a cell in several ways, as a sweep does, the settings distinguish them.

    Attributes
    ----------
    statuses : the status of every trial that has a row, by key
    """

    def __init__(self, folder: Path, by_key: Mapping[Key, TrialSpec], rows: Iterable[Row]) -> None:
        self.statuses: dict[Key, str] = {}
        self._lost: dict[Key, str] = {}  # trials that failed by no fault of their own, and how
        by_cell = cache(lambda: {spec.cell: spec for spec in by_key.values()})  # of rows that have other keys
        mixed: dict[str, tuple[Row, TrialSpec]] = {}
        for row in rows:
            if spec := by_key.get(row["key"]):
                self._count(spec.key, row)
            elif len(by_cell()) == len(by_key) and (spec := by_cell().get(cell(row))):
                mixed.pop(row["key"], None)
                if row["status"] == "ok":
                    mixed[row["key"]] = row, spec
        if other := [(row, spec) for row, spec in mixed.values() if spec.key not in self.statuses]:
            raise ResultsError(_mixing(folder, len(other), *other[0]))

    def _count(self, key: Key, row: Row) -> None:
        self.statuses[key] = sys.intern(row["status"])
        self._lost.pop(key, None)
        if _not_its_own(row["status"], error := row.get("error")):
            self._lost[key] = _in_words(row["status"], error)

    def is_repeated(self, result: TrialResult) -> bool:
        """Whether a trial failed again for the same reason that is not its fault: a second row would be redundant."""
        again = _not_its_own(result.status, result.error)
        return again and self._lost.get(result.spec.key) == _in_words(result.status, result.error)

    def is_finished(self, spec: TrialSpec, retry_failed: bool) -> bool:
        """Whether a trial is finished: it is ok, or it failed by its own fault and no retry was requested."""
        status = self.statuses.get(spec.key)
        if status is None or spec.key in self._lost:
            return False
        return status == "ok" or not retry_failed


def _mixing(folder: Path, count: int, row: Row, spec: TrialSpec) -> str:
    name, before, new = TrialSpec.from_row(row).difference(spec)
    return (
        f"{folder}: holds {count} of these trials measured under another config, e.g. {spec.label} with "
        f"{name} {in_words(name, before)} instead of {in_words(name, new)}; give the experiment another name or "
        "another results folder, or start over with --fresh (it moves this folder aside)"
    )


MOST_COMPILING_S = 60.0  # what workers may take to start and to compile; beyond it the machine is slow


def compiling_seconds(elapsed: float, share: float) -> float:
    """The part of the ``elapsed`` seconds until a run's first trial in which workers started and compiled: the time
    beyond its ``share``, which such a trial takes."""
    return min(max(0.0, elapsed - share), MOST_COMPILING_S)


class _Tally:
    """Counts the requested trials, and estimates how long the rest takes."""

    def __init__(
        self,
        asked: list[TrialSpec],
        pending: list[TrialSpec],
        statuses: Mapping[Key, str],
        progress: Progress | None,
    ) -> None:
        self.statuses = {spec.key: statuses[spec.key] for spec in asked if spec.key in statuses}
        self._total = len(asked)
        self._left = _shares(pending) if progress else dict.fromkeys((spec.key for spec in pending), 0.0)
        self._work = self._work_left = sum(self._left.values())
        self._counts = Counter(status for key, status in self.statuses.items() if key not in self._left)
        self._progress = progress
        self._started = time.monotonic()
        self._compiling: float | None = None  # seconds that the first trial took beyond what such a trial takes
        self._report()

    def counts(self) -> Counter[str]:
        """The number of requested trials by status, now or in an earlier run."""
        return Counter(self.statuses.values())

    def add(self, result: TrialResult) -> None:
        self.statuses[result.spec.key] = result.status
        self._counts[result.status] += 1
        share = self._left.pop(result.spec.key)
        self._work_left -= share
        if self._compiling is None:
            self._compiling = compiling_seconds(time.monotonic() - self._started, share)
        self._report()

    def _report(self) -> None:
        if self._progress is None:
            return
        settled, ok = self._counts.total(), self._counts["ok"]
        work_done = self._work - self._work_left
        # Small sizes come first and are quick: time is taken as proportional to what trials cost, not to their number.
        # The first trial waits for workers that start and for compilers, which the others do not.
        elapsed = time.monotonic() - self._started - (self._compiling or 0.0)
        seconds_left = elapsed * self._work_left / work_done if work_done else None
        if seconds_left is not None and not self._left:
            seconds_left = 0.0  # exactly, without rounding of the shares
        self._progress(settled, self._total, ok, settled - ok, seconds_left)


def _shares(pending: list[TrialSpec]) -> dict[Key, float]:
    if not pending:
        return {}
    from rffbench.config.costs import shares  # with it come all maps and solvers

    return shares(pending)
