"""Long logs and small tasks: a run that has nothing left to do, the tables, what a task of one trial takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import disturbed, single
from rffbench.config.loading import load_experiment
from rffbench.execution.provenance import made_by
from rffbench.trials.spec import TrialResult, TrialSpec

CONFIG = """
name: load
datasets: [{datasets}]
preprocess: minmax
kernel: {{name: gaussian, sigma: 2.0}}
n_features: [{sizes}]
methods:
{methods}
solver: {{name: ridge, lambda: [1.0e-4, 1.0e-3, 1.0e-2], folds: 5}}
trials: {trials}
"""
METHODS = {
    "RFF": "{features: fourier}", "QMC": "{features: qmc, sequence: halton}", "leverage-RFF": "{features: leverage}",
    "Ours": "{features: surrogate-leverage}",
}  # fmt: skip
DATASETS = ("digits", "breast-cancer")
SIZES = tuple(range(8, 88, 8))
ROWS = 80_000
RESUME_GOAL_S, RESUME_GOAL_MB, TABLE_GOAL_S, TASK_GOAL_S = 3.0, 300.0, 5.0, 0.05
FEW, MANY = 20, 120  # tasks of one trial: what the latter takes longer is theirs


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Processor seconds, user and system, of the command and what it starts; memory of the command."""
    return [*_long_log(ROWS // (20 if quick else 1), 1 if quick else 3), _single_trials(1 if quick else 3)]


def _long_log(rows: int, repeats: int) -> list[dict[str, Any]]:
    """Nothing to do, and the tables, in a folder that has a row for each of this number of trials."""
    trials = rows // (len(DATASETS) * len(SIZES) * len(METHODS))
    with tempfile.TemporaryDirectory() as place:
        config = Path(place) / "load.yaml"
        config.write_text(_config(DATASETS, SIZES, METHODS, trials))
        fill(Path(place) / "results" / "load", load_experiment(config).grid())
        rffbench("run", config, "--results", f"{place}/results")  # writes the table and draws the figures, once
        others = disturbed()
        resumes = [rffbench("run", config, "--results", f"{place}/results") for _ in range(repeats)]
        tables = [rffbench("table", f"{place}/results/load") for _ in range(repeats)]
        others = others or disturbed()
    seconds, table_s = ([each[0] for each in done] for done in (resumes, tables))
    megabytes = [each[1] / 1e6 for each in resumes]
    share = rows / ROWS
    return [
        single(
            f"nothing to do in {rows:,} rows: processor seconds", seconds, min(seconds), goal=RESUME_GOAL_S * share,
            peer="nothing", unit="s", contended=others,
        ),
        single(
            f"nothing to do in {rows:,} rows: memory", megabytes, max(megabytes), goal=RESUME_GOAL_MB, peer="nothing",
            unit="MB",
        ),
        single(
            f"tables of {rows:,} rows: processor seconds", table_s, min(table_s), goal=TABLE_GOAL_S * share,
            peer="nothing", unit="s", contended=others,
        ),
    ]  # fmt: skip


def fill(folder: Path, grid: list[TrialSpec]) -> None:
    """A log in which every trial of ``grid`` is done, with numbers like a trial's."""
    folder.mkdir(parents=True)
    with (folder / "trials.jsonl").open("w", encoding="utf-8") as log:
        for index, spec in enumerate(grid):
            part = (index * 7919 % 1000) / 1000
            metrics = {"accuracy": 80 + 10 * part, "kernel_error": part / 3, "cv_error": part, "effective_lambda": part}
            seconds = {"feature_s": part, "fit_s": part, "predict_s": part, "contended": False, "shared": True}
            result = TrialResult(spec, "ok", metrics, seconds, peak_memory_bytes=10**8 + index, lambda_=1e-3)
            log.write(json.dumps({**result.to_row(), "made_by": made_by(spec)}, ensure_ascii=False) + "\n")


def _single_trials(repeats: int) -> dict[str, Any]:
    """What a task of a single trial takes, with the trial, which is a small one."""
    with tempfile.TemporaryDirectory() as place:
        configs = []
        for count in (FEW, MANY):
            configs.append(Path(place) / f"{count}.yaml")
            configs[-1].write_text(_config(DATASETS[1:], SIZES[1:2], {"RFF": METHODS["RFF"]}, count))
        others, seconds = disturbed(), []
        for _ in range(repeats):
            few, many = (
                rffbench("run", config, "--fresh", "--results", f"{place}/{config.stem}")[0] for config in configs
            )
            seconds.append((many - few) / (MANY - FEW))
    return single(
        "a task of one trial: processor seconds, the trial's among them", seconds, min(seconds), goal=TASK_GOAL_S,
        peer="nothing", unit="s", contended=others or disturbed(),
    )  # fmt: skip


# A process keeps the peak of the one that it was started from: here that is one with nothing in it. It waits too for
# what the command leaves to the system, the server that workers are forked from: the processor seconds are of all.
LAUNCHER = """
import ctypes, json, os, resource, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
every = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([os.waitstatus_to_exitcode(status), every.ru_utime + every.ru_stime, used.ru_maxrss * 1024]))
"""


def rffbench(*arguments: object) -> tuple[float, float]:
    """The processor seconds that the command and what it starts take, and the most bytes that one of them holds."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "rffbench", *map(str, arguments)]
    launched = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCHER, *command], env=environment, capture_output=True, text=True
    )
    status, seconds, peak = json.loads(launched.stdout)
    if status:
        raise RuntimeError(f"{' '.join(command)} failed: {launched.stderr}")
    return seconds, peak


def _config(datasets: tuple[str, ...], sizes: tuple[int, ...], methods: dict[str, str], trials: int) -> str:
    lines = "\n".join(f"  {name}: {features}" for name, features in methods.items())
    return CONFIG.format(datasets=", ".join(datasets), sizes=", ".join(map(str, sizes)), methods=lines, trials=trials)
