"""The table as a whole: a planned run against the same grid in plain joblib and scikit-learn, and what made it fast."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import plain_table
from benchmarks.measure import disturbed, result, single, thread_counts
from rffbench import data
from rffbench.config.experiment import Experiment
from rffbench.config.loading import load_experiment
from rffbench.execution.channel import Channel
from rffbench.execution.local import LocalExecutor
from rffbench.execution.log import read_rows
from rffbench.execution.run import run_experiment
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_single
from rffbench.trials.spec import TrialSpec

CONFIG = """
name: table
datasets: [eeg, magic04]
preprocess: minmax
preprocess_fit: all
kernel: {{name: gaussian, sigma: 1.0}}
n_features: [{sizes}]
methods:
  RFF: {{features: fourier}}
  QMC: {{features: qmc, sequence: halton}}
  leverage-RFF: {{features: leverage, score_lambda: {score_lambda}}}
  Ours: {{features: surrogate-leverage}}
solver: {{name: ridge, lambda: [0.05, 0.1, 0.5, 1.0], folds: 5, lambda_scale: n, center: true}}
trials: {trials}
kernel_error_points: 0    # the plain script measures none
"""
SIZES = ["1d", "2d", "4d", "8d", "16d", "32d", "64d"]
TRIALS, PLAIN_TRIALS = 1, 1  # a trial costs what another costs; the plain script's seconds are multiplied
GOAL = 6.0
MEAN_POINTS, MOST_POINTS = 0.02, 0.3  # a cell of EEG or magic04 has a spread of 0.3 to 1 points over trials


def run(quick: bool = False) -> list[dict[str, Any]]:
    """The whole grid; then, up to 32d, each way in turn. A quick run goes to 16d, one trial."""
    for name in ("eeg", "magic04"):
        data.ensure(name)
    workers = thread_counts()[-1]
    if quick:
        return _whole(experiment(SIZES[:5], 1), 1, workers) + _shares(experiment(SIZES[:4], 2), workers)
    return _whole(experiment(SIZES, TRIALS), PLAIN_TRIALS, workers) + _shares(experiment(SIZES[:6], 2), workers)


def experiment(sizes: Sequence[str], trials: int) -> Experiment:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(CONFIG.format(sizes=", ".join(sizes), trials=trials, score_lambda=plain_table.SCORE_LAMBDA))
        file.flush()
        return load_experiment(file.name)


def _whole(planned: Experiment, plain_trials: int, workers: int) -> list[dict[str, Any]]:
    """Planned run against plain script, and how far their scores are apart."""
    grid = planned.grid()
    some = [spec for spec in grid if spec.trial < plain_trials]
    others = disturbed()
    ours_s, ours = planned_run(planned, workers)
    plain_s, plain = _timed(lambda: plain_table.run(_largest_first(some), workers))
    points = [abs(ours[key] - 100 * plain[key]) for key in plain]
    name = f"{_grid_name(planned)}, {workers} workers"
    details = {"workers": workers, "contended": others or disturbed(), "trials": len(grid)}
    return [
        result(
            name, [ours_s], [plain_s * len(grid) / len(some)], goal=GOAL, bound="at least", unit="s",
            peer_name=f"joblib and GridSearchCV ({plain_trials} of the trials, scaled)", **details,
        ),
        single(
            f"accuracy, mean difference over {len(points)} cells", points, float(np.mean(points)),
            goal=MEAN_POINTS, peer="equal scores", unit="points",
        ),
        single(
            f"accuracy, largest difference of {len(points)} cells", points, max(points),
            goal=MOST_POINTS, peer="equal scores", unit="points",
        ),
    ]  # fmt: skip


def _shares(planned: Experiment, workers: int) -> list[dict[str, Any]]:
    """What the run gains by sharing, by its ridge solver, and by the fused kernel: one taken away after another."""
    grid = _largest_first(planned.grid())
    ways: list[tuple[str, Callable[[], object]]] = [
        ("", lambda: planned_run(planned, workers)),
        ("each trial alone", lambda: planned_run(planned, workers, alone=True)),
        ("and with GridSearchCV(Ridge)", lambda: plain_table.run(grid, workers, fused=True)),
        ("and with numpy's cos and sin", lambda: plain_table.run(grid, workers)),
    ]
    ways[0][1]()  # worker processes are forked from one that has been started now
    seconds = [_timed(work)[0] for _, work in ways]
    return [
        result(
            f"{_grid_name(planned)}: what {what} costs", [before], [after], goal=None, bound="at least",
            unit="s", peer_name=name,
        )
        for what, before, after, (name, _) in zip(
            ("not sharing", "plain ridge", "plain cosines"), seconds[:-1], seconds[1:], ways[1:], strict=True
        )
    ]  # fmt: skip


def planned_run(experiment: Experiment, workers: int, *, alone: bool = False) -> tuple[float, dict[str, float]]:
    """Seconds of a run into a fresh folder, and the accuracies by key. ``alone``: nothing is shared."""
    work = {"work": f"{__name__}:one_by_one"} if alone else {}
    with tempfile.TemporaryDirectory() as folder:
        started = perf_counter()
        run_experiment(experiment, Path(folder), executor=LocalExecutor(workers=workers, **work))
        seconds = perf_counter() - started
        rows = read_rows(Path(folder) / "trials.jsonl")
    if failed := [row["error"] for row in rows if row["status"] != "ok"]:
        raise RuntimeError(failed[0]["message"])
    return seconds, {row["key"]: row["metrics"]["accuracy"] for row in rows}


def one_by_one(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Do the trials of a task one after another, in the place of rffbench.trials.tasks.run_group."""
    for spec in specs:
        run_single(spec, Problem.of(spec), channel)


def _largest_first(specs: Sequence[TrialSpec]) -> list[TrialSpec]:
    """So that no worker is left with a long trial when the others are done."""
    return sorted(specs, key=lambda spec: -spec.n_features)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = perf_counter()
    answer = work()
    return perf_counter() - started, answer


def _grid_name(planned: Experiment) -> str:
    grid = planned.grid()
    multiples = sorted({spec.multiple or 0 for spec in grid})
    trials = len({spec.trial for spec in grid})
    return (
        f"{' + '.join(planned.datasets)}, {multiples[0]}d to {multiples[-1]}d, {len(planned.methods)} methods, "
        f"{trials} trial{'s' * (trials > 1)}"
    )
