"""Running an experiment into a results folder, and carrying on where an earlier run stopped."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rffbench.devices import check_device
from rffbench.errors import ResultsError
from rffbench.execution import Task
from rffbench.execution.environment import now, processors, record, total_memory
from rffbench.execution.local import CallFailed, LocalExecutor, call_alone
from rffbench.execution.log import Row, TrialLog, cell, set_aside
from rffbench.execution.worker import Failure, resolve
from rffbench.spec import TrialResult, TrialSpec, canonical_json

# Named, not imported: workers load them, the parent never loads data or compiles kernels.
GROUP = "rffbench.plan:tasks"  # specs → tasks
WORK = "rffbench.plan:run_group"  # does one task
PREPARE = "rffbench.data:ensure"  # makes one dataset ready in the cache
CACHED = "rffbench.data:is_cached"  # whether it is

LARGE = 2048  # frequencies: a Gram matrix of 4,096 columns, 134 MB

Progress = Callable[[int, int, int, int, float | None], None]


class Experiment(Protocol):
    """What a run asks of an experiment."""

    name: str
    time_limit: float | None  # seconds a trial
    memory: int | None  # bytes a worker

    def grid(self) -> list[TrialSpec]: ...

    def to_yaml(self) -> str: ...


@dataclass(frozen=True)
class Summary:
    """How an experiment's trials stand after a run: those asked for, each counted once.

    ``run`` of them were done now, the others had a result before.
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
        """Trials whose data could not be had."""
        return self.statuses["unavailable"]

    @property
    def failed(self) -> int:
        """Trials that were started and came to no result."""
        return self.total - self.ok - self.unavailable


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    workers: int | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    only: Sequence[str] = (),
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
) -> Summary:
    """Do the trials of an experiment that have no result yet, and log each in ``folder`` as it finishes.

    Trials with status ok are skipped, failed ones too unless ``retry_failed``; those whose data could not be
    had are always tried again. ``fresh`` moves an earlier folder aside first. ``only`` holds ``KEY=VALUE``
    filters. ``workers`` defaults to as many as processors and memory allow. Trials with ``timing: exclusive``
    run one at a time, after the others, with every processor's thread. Interrupted at any time, by Ctrl-C or
    kill, the same call carries on.

    ``announce(message)`` is called before a dataset is fetched, which may take long.
    ``progress(done, total, ok, failed, seconds_left)`` is called at the start and after every trial, earlier
    ones counted; seconds_left is None before the first.

    ResultsError where another run is at the folder, or it holds trials measured under another config;
    ConfigError, before anything is changed, where the device asked for is not there.
    """
    started = time.monotonic()
    grid = list({spec.key: spec for spec in experiment.grid()}.values())
    asked = list(grid)
    if only:
        from rffbench.experiment import filter_specs

        asked = filter_specs(grid, only)
    for device in {spec.device for spec in asked}:
        check_device(device)
    if fresh:
        set_aside(folder)
    with TrialLog(folder) as log:
        rows = {row["key"]: row for row in log.rows()}  # the last of each key
        _refuse_mixing(folder, grid, rows.values())
        skipped = {"ok"} if retry_failed else {"ok", "error", "timeout", "out-of-memory", "killed"}
        pending = [spec for spec in asked if rows.get(spec.key, {}).get("status") not in skipped]
        tally = _Tally(asked, pending, rows, progress)
        workers = workers or default_workers(grid, experiment.memory)
        _replace(folder / "config.yaml", experiment.to_yaml())
        if pending:
            with (
                _Manifest(folder, experiment, grid, workers, tally),
                closing(_results(pending, experiment, workers, announce)) as results,
            ):
                for result in results:
                    if result.status != "unavailable" or not tally.known_unavailable(result.spec):
                        log.append(result.to_row())
                    tally.add(result)
    counts = Counter(tally.statuses.values())
    return Summary(folder, counts, len(pending), time.monotonic() - started)


def _results(
    pending: list[TrialSpec], experiment: Experiment, workers: int, announce: Callable[[str], None] | None
) -> Generator[TrialResult, None, None]:
    """A result for every pending trial: first those without their data, then all others as they finish."""
    ready = []
    failures = _prepare(list(dict.fromkeys(spec.dataset for spec in pending)), announce)
    for spec in pending:
        if failure := failures.get(spec.dataset):
            yield TrialResult.failed(spec, failure.status, failure.type, failure.message, failure.traceback)
        else:
            ready.append(spec)
    for exclusive, workers_ in ((False, workers), (True, 1)):
        specs = [spec for spec in ready if spec.exclusive == exclusive]
        if not specs:
            continue
        tasks: list[Task] = resolve(GROUP)(specs)
        workers_ = min(workers_, len(tasks))
        executor = LocalExecutor(
            WORK,
            workers=workers_,
            threads=max(1, processors() // workers_),
            time_limit=experiment.time_limit,
            memory_limit=experiment.memory,
        )
        with closing(executor.run(tasks)) as events:
            for event in events:
                yield event.result


def _prepare(datasets: list[str], announce: Callable[[str], None] | None) -> dict[str, Failure]:
    """Make datasets ready for the workers, each in a process of its own; what went wrong with which."""
    failures = {}
    for dataset in datasets:
        if announce and not resolve(CACHED)(dataset):
            announce(f"{dataset}: not in the cache yet, fetching and parsing it")
        try:
            call_alone(PREPARE, dataset)
        except CallFailed as error:
            failures[dataset] = error.failure
    return failures


def _refuse_mixing(folder: Path, grid: list[TrialSpec], rows: Iterable[Row]) -> None:
    """ResultsError if a cell was measured under another spec: its table would mix two experiments. A cell that the
    grid itself measures in several ways, as in a sweep, is told apart by its settings."""
    specs = {cell(spec.to_dict()): spec for spec in grid}
    if len(specs) < len(grid):
        return
    other = [
        row
        for row in rows
        if row["status"] == "ok" and (spec := specs.get(cell(row))) and spec.key != row["key"]
    ]
    if not other:
        return
    spec = specs[cell(other[0])]
    before = TrialSpec.from_row(other[0])
    name, new = next((k, v) for k, v in vars(spec).items() if k != "key" and getattr(before, k) != v)
    raise ResultsError(
        f"{folder}: holds {len(other)} of these trials measured under another config, e.g. {spec.label} with "
        f"{name} {canonical_json(getattr(before, name))} instead of {canonical_json(new)}; give the experiment "
        "another name or another results folder, or start over with --fresh (it moves this folder aside)"
    )


def default_workers(grid: list[TrialSpec], memory: int | None) -> int:
    """A worker a processor, as many as memory allows; one with all threads where a Gram matrix is large, which
    all threads then do as quickly as several workers would theirs, in one worker's memory, or on a GPU."""
    if any(spec.n_features >= LARGE or spec.device != "cpu" for spec in grid):
        return 1
    return max(1, min(processors(), total_memory() // memory if memory else processors()))


class _Tally:
    """How the trials asked for stand, and how long the rest may take."""

    def __init__(
        self,
        asked: list[TrialSpec],
        pending: list[TrialSpec],
        rows: dict[str, Row],
        progress: Progress | None,
    ) -> None:
        self.statuses = {spec.key: rows[spec.key]["status"] for spec in asked if spec.key in rows}
        self._total = len(asked)
        self._left = {spec.key: spec.n_features for spec in pending}
        self._work = self._work_left = sum(self._left.values())
        self._progress = progress
        self._started = time.monotonic()
        self._report()

    def add(self, result: TrialResult) -> None:
        self.statuses[result.spec.key] = result.status
        self._work_left -= self._left.pop(result.spec.key)
        self._report()

    def known_unavailable(self, spec: TrialSpec) -> bool:
        """Whether the trial's latest row says already that its data can't be had."""
        return self.statuses.get(spec.key) == "unavailable"

    def _report(self) -> None:
        if self._progress is None:
            return
        statuses = [status for key, status in self.statuses.items() if key not in self._left]
        ok = statuses.count("ok")
        work_done = self._work - self._work_left
        # Small sizes come first and are quick: time is taken as proportional to the features, not the trials.
        seconds_left = (time.monotonic() - self._started) * self._work_left / work_done if work_done else None
        self._progress(len(statuses), self._total, ok, len(statuses) - ok, seconds_left)


class _Manifest:
    """manifest.json: the environment of the latest run, and under ``earlier_runs`` of those before it."""

    def __init__(
        self, folder: Path, experiment: Experiment, grid: list[TrialSpec], workers: int, tally: _Tally
    ) -> None:
        self._path = folder / "manifest.json"
        self._tally = tally
        self._record: dict[str, Any] = {
            "experiment": experiment.name,
            **record(),
            "workers": workers,
            "datasets": {spec.dataset: spec.data_hash for spec in grid},
            "started": now(),
            "finished": None,
            "statuses": {},
            "earlier_runs": self._earlier(),
        }

    def __enter__(self) -> _Manifest:
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        self._record["finished"] = now()
        self._record["statuses"] = dict(sorted(Counter(self._tally.statuses.values()).items()))
        self._write()

    def _earlier(self) -> list[dict[str, Any]]:
        try:
            previous = json.loads(self._path.read_bytes())
            return [*previous.pop("earlier_runs"), previous]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ResultsError(f"{self._path}: is no manifest of a run ({error}); move it away") from error

    def _write(self) -> None:
        _replace(self._path, json.dumps(self._record, indent=2, ensure_ascii=False) + "\n")


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ResultsError(f"{path}: cannot be written: {error.strerror}") from error
