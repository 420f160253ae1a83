"""The dry run: the grid of a run, its size, and an estimate of its time and memory.

The seconds of a cell come from the results folder if it was measured before. The multiply-adds of other cells are
counted, at the speed of the method's measured cells, or of all, or else of this machine's matrix product. Starting and
measuring the map, which no row's seconds include, are added. If the data decides the number of a solver's steps, the
usual number is counted, and the output says so. It also names trials without an estimate.
"""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from rffbench.config.columns import warnings_of_columns
from rffbench.config.costs import (
    EFFICIENCY,
    RUN_S,
    aside_seconds,
    bytes_needed,
    group_operations,
    in_order,
    is_usual,
    operations,
    test_rows,
    timing_seconds,
    train_rows,
)
from rffbench.config.experiment import Experiment
from rffbench.data.cards import load_card
from rffbench.errors import ConfigError, MemoryBudgetError, amount
from rffbench.io.text import canonical_json, duration, plural
from rffbench.linalg.threads import thread_count
from rffbench.trials.spec import TrialSpec

Row = Mapping[str, Any]
Cell = tuple[Any, ...]
SIZES_DIFFER = 4  # if the largest trial has this many times the work of the smallest, their common start can be found
MATRIX_PRODUCTS = 100  # of which the quickest tells the speed: on a busy machine most are disturbed


@dataclass(frozen=True)
class Estimate:
    """Sums over all trials with an estimate: the ``seconds`` with every processor at work, the seconds of one processor
    ``aside`` from them, which several workers share, the seconds of ``timing`` features alone on the machine, and the
    memory of the ``largest`` trial in bytes (None if no trial has an estimate)."""

    seconds: float
    aside: float
    timing: float
    peak_bytes: int | None
    largest: TrialSpec | None
    measured: int  # trials whose cell was measured before
    counted: int  # trials whose multiply-adds were counted
    usual: Counter[str]  # those of them that may take more steps or fewer, of each solver
    untimed: Counter[str]  # trials whose time is not estimated, of each solver
    unsized: Counter[str]  # trials whose memory is not estimated, of each solver


@dataclass(frozen=True)
class Pace:
    """The seconds of a trial by its multiply-adds.

    Between trials that were measured: ``start``, whatever the size, and ``each`` for a multiply-add. Beyond the
    ``largest`` of these, which took ``longest``, a trial takes at least that. Small trials use the machine badly, so
    the pace at the largest tends to the ``usual`` seconds for a multiply-add: c multiply-adds take
    usual·c·(longest/(usual·largest))^√(largest/c).
    """

    usual: float
    start: float = 0.0
    each: float = 0.0
    largest: float = 0.0
    longest: float = 0.0

    @classmethod
    def of(cls, points: Sequence[tuple[float, float]], usual: float) -> Pace:
        """From the multiply-adds and seconds of trials, by least squares if their sizes differ enough."""
        import numpy as np
        from scipy.optimize import nnls

        if not points:
            return cls(usual)
        counts, seconds = np.array(points).T
        most = float(counts.max())
        large = counts >= most / 2
        start, each = 0.0, float(seconds.sum() / counts.sum())
        if most >= SIZES_DIFFER * counts.min():
            (start, slope), _ = nnls(np.column_stack([np.ones_like(counts), counts / most]), seconds)
            each = float(slope) / most
        return cls(usual, float(start), each, float(counts[large].mean()), float(seconds[large].mean()))

    def seconds(self, count: float) -> float:
        usual = self.usual * count
        if count <= self.largest:
            return self.start + self.each * count
        if not self.longest > 0:
            return usual
        slowness = self.longest / (self.usual * self.largest)
        return max(self.longest, usual * math.pow(slowness, math.sqrt(self.largest / count)))


def describe(
    experiment: Experiment, specs: Sequence[TrialSpec], rows: Sequence[Row], folder: Path, workers: int,
    given: Callable[[TrialSpec], TrialSpec] = lambda spec: spec,
) -> str:  # fmt: skip
    """The grid as text: one line per dataset, the number of trials, how many are done, time and memory. ``given`` is
    what is run in place of a trial, where a part of it is known."""
    done = {row["key"] for row in rows if row["status"] == "ok"}
    todo = [given(spec) for spec in specs if spec.key not in done]
    heading = f"{experiment.name}: {experiment.title}" if experiment.title else experiment.name
    lines = [heading, "", f"{'dataset':<16}{'d':>5}{'train':>9}{'test':>9}{'trials':>8}  sizes"]
    for dataset in dict.fromkeys(spec.dataset for spec in specs):
        card, mine = load_card(dataset), [spec for spec in specs if spec.dataset == dataset]
        sizes = dict.fromkeys(spec.size for spec in mine)
        rows_of = f"{card.columns_after(mine[0].preprocess):>5}{max(map(train_rows, mine)):>9}{test_rows(mine[0]):>9}"
        lines.append(f"{dataset:<16}{rows_of}{len(mine):>8}  {', '.join(sizes)}")
    methods = ", ".join(dict.fromkeys(spec.method for spec in specs))
    lines += ["", f"methods: {methods}", f"{plural(len(specs), 'trial')}, {len(specs) - len(todo)} already done"]
    lines += [f"warning: {warning}" for warning in warnings_of_columns(experiment, {spec.cell_key for spec in specs})]
    if todo:
        brief, long = ([spec for task in tasks for spec in task] for tasks in in_order(todo))
        lines += _estimate_lines(estimate(todo, rows, experiment.memory), workers, experiment.memory)
        if brief and long:
            cells = ", ".join(dict.fromkeys(f"{spec.dataset} {spec.size}" for spec in long))
            seconds = _seconds(estimate(brief, rows), workers)
            lines.append(f"the long trials come last ({cells}); all others: about {duration(seconds)}")
    return "\n".join([*lines, f"results go to {folder}; nothing was started"])


def estimate(
    specs: Sequence[TrialSpec],
    rows: Iterable[Row],
    memory: int | None = None,
    rate: Callable[[], float] | None = None,
) -> Estimate:
    """Time and memory of the trials ``specs``, within a budget of ``memory`` bytes, using the log's ``rows`` if there
    are any.

    The time of trials that run together is reduced in proportion to their multiply-adds. ``rate`` returns the
    multiply-adds per second with all processors (default: measured here).
    """
    seconds: dict[Cell, list[float]] = {}
    held: dict[Cell, int] = {}
    points: dict[str, list[tuple[float, float]]] = {}  # of every method the multiply-adds and seconds of its trials
    for row in rows:
        if row["status"] == "ok":
            spec = TrialSpec.from_row(dict(row))
            cell = _cell(spec)
            took = sum(row["timing"].get(part) or 0.0 for part in ("feature_s", "fit_s", "predict_s"))
            took *= min(1.0, (row["timing"].get("threads") or thread_count()) / thread_count())
            seconds.setdefault(cell, []).append(took)
            bytes_ = row["metrics"].get("own_memory_bytes") or row.get("peak_memory_bytes") or 0
            held[cell] = max(held.get(cell, 0), int(bytes_))
            # A map that is not there any more, or a row that was edited into what no version can run.
            with contextlib.suppress(ConfigError, ArithmeticError, LookupError, TypeError, ValueError):
                if count := operations(spec):
                    points.setdefault(spec.method, []).append((count, took))
    per_second = (rate or multiply_adds_per_second)()
    usual_pace = 1 / (EFFICIENCY * per_second)
    paces = {method: Pace.of(mine, usual_pace) for method, mine in points.items()}
    of_all = Pace.of(list(chain.from_iterable(points.values())), usual_pace)
    total, aside, timing, measured, counted = 0.0, 0.0, 0.0, 0, 0
    untimed: Counter[str] = Counter()
    usual: Counter[str] = Counter()
    for group in chain(*in_order(specs)):
        alone, counts = 0.0, [operations(spec) for spec in group]
        for spec, count in zip(group, counts, strict=True):
            if known := seconds.get(_cell(spec)):
                alone += statistics.mean(known)
                measured += 1
            elif count is not None:
                alone += paces.get(spec.method, of_all).seconds(count)
                counted += 1
                usual.update([spec.solver["name"]] if is_usual(spec) else [])
            else:
                untimed[spec.solver["name"]] += 1
        together, apart = group_operations(group), sum(count or 0.0 for count in counts)
        total += alone * (together / apart if apart else 1.0)
        pairs = zip(group, counts, strict=True)
        if told := [spec for spec, count in pairs if count is not None or _cell(spec) in seconds]:
            aside += aside_seconds(told, thread_count() / per_second)
            timing += timing_seconds(told, thread_count() / per_second)
    cells = {_cell(spec): spec for spec in specs}
    sizes = {cell: held.get(cell) or _bytes_needed(spec, memory) for cell, spec in cells.items()}
    sized = {cell: size for cell, size in sizes.items() if size is not None}
    largest = max(sized, key=lambda cell: sized[cell], default=None)
    unsized = Counter(spec.solver["name"] for spec in specs if sizes[_cell(spec)] is None)
    peak, which = (None, None) if largest is None else (sized[largest], cells[largest])
    return Estimate(total, aside, timing, peak, which, measured, counted, usual, untimed, unsized)


def _bytes_needed(spec: TrialSpec, memory: int | None) -> int | None:
    try:
        return bytes_needed(spec, memory)
    except MemoryBudgetError as error:
        return error.needed


@cache
def multiply_adds_per_second() -> float:
    """This machine's speed with all threads: that of the fastest of some float64 matrix products on one thread, times
    the number of threads. Slower products were disturbed, and a product on all threads waits for the slowest."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    A = np.ones((512, 512))
    best = float("inf")
    with threadpool_limits(1):
        for _ in range(MATRIX_PRODUCTS):
            start = time.perf_counter()
            A @ A
            best = min(best, time.perf_counter() - start)
    return thread_count() * len(A) ** 3 / best


def _cell(spec: TrialSpec) -> Cell:
    """The same for trials that take about as long and hold about as much: those of one cell, whatever their γ."""
    of_kernel = {name: value for name, value in spec.kernel.items() if name != "gamma"}
    settings = spec.features, spec.solver, of_kernel, spec.preprocess, spec.split, spec.measures
    return (
        spec.dataset, spec.method, spec.n_features, spec.count, spec.dtype, spec.device, spec.train_rows,
        spec.held_out, spec.kernel_error_points, canonical_json(settings),
    )  # fmt: skip


def _estimate_lines(estimate: Estimate, workers: int, budget: int | None) -> list[str]:
    parts = {"measured before": estimate.measured, "counted": estimate.counted}
    source = ", ".join(f"{count} {how}" for how, count in parts.items() if count)
    workers_text = plural(workers, "worker")
    lines = []
    if source:
        lines.append(f"time: about {duration(_seconds(estimate, workers))} with {workers_text} (trials: {source})")
    if estimate.timing:
        lines.append(f"of that, about {duration(estimate.timing)} to time features, while all other trials pause")
    if estimate.usual:
        lines.append(f"it may be half or twice that, for the data decides: {_listed(estimate.usual)}")
    if estimate.untimed:
        lines.append(f"time not estimated: {_listed(estimate.untimed)}")
    if estimate.peak_bytes is not None and estimate.largest is not None:
        lines.append(f"memory: about {amount(estimate.peak_bytes)} for the largest trial ({estimate.largest.label})")
    if estimate.unsized:
        lines.append(f"memory not estimated: {_listed(estimate.unsized)}")
    if budget is not None and (estimate.peak_bytes or 0) > budget:
        lines.append(f"that is more than the budget of {amount(budget)}: such trials may be refused")
    return lines


def run_seconds(specs: Sequence[TrialSpec], workers: int, rate: Callable[[], float] | None = None) -> float:
    """About the time of a run of these trials, with a ``rate`` as of `estimate`; trials without an estimate are left
    out."""
    return _seconds(estimate(specs, (), rate=rate), workers)


def _seconds(estimate: Estimate, workers: int) -> float:
    return RUN_S + estimate.seconds + estimate.timing + estimate.aside / min(workers, thread_count())


def _listed(trials: Counter[str]) -> str:
    return ", ".join(f"{plural(count, 'trial')} of {solver}" for solver, count in trials.items())
