"""What a run would do, without doing it: the grid, its size, and an estimate of its time and memory.

Seconds come from the results folder where a cell was measured before. Other cells are counted in
multiply-adds, at the pace of the measured ones, or where there are none, of this machine's matrix product.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rffbench.data.cards import load_card
from rffbench.experiment import Experiment
from rffbench.spec import TrialSpec

TRIGONOMETRY = 20  # operations one cosine or sine costs, in multiply-adds of a matrix product
Row = Mapping[str, Any]
Cell = tuple[str, str, int]


@dataclass(frozen=True)
class Estimate:
    """Of all trials: the ``seconds`` with one worker, and the memory of the ``largest`` in bytes."""

    seconds: float
    peak_bytes: int
    largest: TrialSpec
    measured: int  # trials whose cell was measured before, the others being counted


def describe(
    experiment: Experiment, specs: Sequence[TrialSpec], rows: Sequence[Row], folder: Path, workers: int
) -> str:
    """The grid as text: a line a dataset, the number of trials, how many are done, time and memory."""
    done = {row["key"] for row in rows if row["status"] == "ok"}
    todo = [spec for spec in specs if spec.key not in done]
    heading = f"{experiment.name}: {experiment.title}" if experiment.title else experiment.name
    lines = [heading, "", f"{'dataset':<16}{'d':>5}{'train':>9}{'test':>9}{'trials':>8}  sizes"]
    for dataset in dict.fromkeys(spec.dataset for spec in specs):
        card, mine = load_card(dataset), [spec for spec in specs if spec.dataset == dataset]
        sizes = dict.fromkeys(f"{spec.multiple}d" if spec.multiple else str(spec.n_features) for spec in mine)
        rows_of = f"{card.columns:>5}{max(map(_train_rows, mine)):>9}{card.n_test:>9}"
        lines.append(f"{dataset:<16}{rows_of}{len(mine):>8}  {', '.join(sizes)}")
    methods = ", ".join(dict.fromkeys(spec.method for spec in specs))
    lines += ["", f"methods: {methods}", f"{len(specs)} trials, {len(specs) - len(todo)} already done"]
    if todo:
        lines += _estimate_lines(estimate(todo, rows), len(todo), workers, experiment.memory)
    return "\n".join([*lines, f"results go to {folder}; nothing was started"])


def estimate(
    specs: Sequence[TrialSpec], rows: Iterable[Row], rate: Callable[[], float] | None = None
) -> Estimate:
    """Time and memory of the trials ``specs``, from the log's ``rows`` as far as these go.

    ``rate`` gives multiply-adds a second (default: measured here).
    """
    seconds: dict[Cell, list[float]] = {}
    peaks: dict[Cell, int] = {}
    ratios = []
    for row in rows:
        if row["status"] == "ok":
            spec = TrialSpec.from_row(dict(row))
            took = sum(row["timing"].get(part) or 0.0 for part in ("feature_s", "fit_s", "predict_s"))
            seconds.setdefault(_cell(spec), []).append(took)
            peaks[_cell(spec)] = max(peaks.get(_cell(spec), 0), row["peak_memory_bytes"] or 0)
            ratios.append(took / operations(spec))
    per_operation = statistics.median(ratios) if ratios else 1 / (rate or multiply_adds_per_second)()
    total = sum(
        statistics.mean(seconds[_cell(spec)]) if _cell(spec) in seconds else operations(spec) * per_operation
        for spec in specs
    )
    memory = {_cell(spec): peaks.get(_cell(spec)) or peak_bytes(spec) for spec in specs}
    largest = max(specs, key=lambda spec: memory[_cell(spec)])
    measured = sum(_cell(spec) in seconds for spec in specs)
    return Estimate(total, memory[_cell(largest)], largest, measured)


def operations(spec: TrialSpec) -> float:
    """Multiply-adds of one trial: all rows' features, a Gram triangle, a Cholesky for each λ and fold."""
    card = load_card(spec.dataset)
    columns = _columns(spec)
    n_train = _train_rows(spec)
    features = (n_train + card.n_test) * (card.columns * columns / 2 + TRIGONOMETRY * columns)
    if spec.solver["name"] == "none":
        return features
    gram = n_train * columns**2 / 2
    factorisations = (len(spec.solver.get("lambda", [1])) * _folds(spec) + 1) * columns**3 / 6
    return features + gram + factorisations


def peak_bytes(spec: TrialSpec) -> int:
    """Memory of one trial's arrays: a float64 Gram triangle for each fold, and one to work in; of a map alone,
    the kernel matrix of its points and their difference to the map's."""
    if spec.solver["name"] == "none":
        return 8 * 2 * spec.kernel_error_points**2
    return int(8 * (_folds(spec) + 1) * _columns(spec) ** 2 / 2)


@cache
def multiply_adds_per_second() -> float:
    """This machine's speed: the best of a few float64 matrix products."""
    import numpy as np

    A = np.ones((512, 512))
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        A @ A
        best = min(best, time.perf_counter() - start)
    return len(A) ** 3 / best


def _cell(spec: TrialSpec) -> Cell:
    return spec.dataset, spec.method, spec.n_features


def _train_rows(spec: TrialSpec) -> int:
    there = load_card(spec.dataset).n_train
    return min(spec.train_rows or there, there)


def _columns(spec: TrialSpec) -> int:
    return spec.n_features * (2 if spec.count == "frequencies" else 1)


def _folds(spec: TrialSpec) -> int:
    return int(spec.solver.get("folds", 1))


def _estimate_lines(estimate: Estimate, todo: int, workers: int, budget: int | None) -> list[str]:
    counts = {"measured before": estimate.measured, "counted": todo - estimate.measured}
    source = ", ".join(f"{count} {how}" for how, count in counts.items() if count)
    workers_text = "1 worker" if workers == 1 else f"{workers} workers"
    lines = [
        f"time: about {duration(estimate.seconds / workers)} with {workers_text} (trials: {source})",
        f"memory: about {amount(estimate.peak_bytes)} for the largest trial ({estimate.largest.label})",
    ]
    if budget is not None and estimate.peak_bytes > budget:
        lines.append(f"that is more than the budget of {amount(budget)}: such trials may be refused")
    return lines


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def amount(size: int) -> str:
    """``35 MB``, ``6.20 GB``."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):.0f} MB"
