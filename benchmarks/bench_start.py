"""From typing to the first row: what importing takes, how soon commands answer, the first table, and small trials.

Loading a map costs what scikit-learn's base classes cost, from which maps and solvers derive: that part is timed by
itself, in turn. The cold quickstart compiles every kernel, in a cache of numba's of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.measure import disturbed, result, single

ROOT = Path(__file__).parent.parent
MAP = "import rffbench; rffbench.RandomFourierFeatures(64)"
BASE = "import sklearn.base"
IMPORT_GOAL, HELP_GOAL_S, METHODS_GOAL_S, WARM_GOAL_S, COLD_GOAL_S = 1.1, 0.4, 0.5, 10.0, 20.0
SMALL_TRIALS, A_SECOND_GOAL, WORKERS = 2_000, 250, 2
SMALL = """
name: small
datasets: [breast-cancer]
preprocess: minmax
kernel: {{name: gaussian, sigma: 2.0}}
n_features: [4, 8, 12, 16, 20]
methods:
  RFF: {{features: fourier}}
  QMC: {{features: qmc, sequence: halton}}
solver: {{name: ridge, lambda: [1.0e-4, 1.0e-3], folds: 5}}
trials: {trials}
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Wall-clock seconds of processes, from their start to their end."""
    repeats = 1 if quick else 5
    others = disturbed()
    python = [sys.executable, "-c"]
    _seconds([*python, MAP])  # compiles the sources
    pairs = [(_seconds([*python, MAP]), _seconds([*python, BASE])) for _ in range(repeats)]
    ours, base = ([pair[side] for pair in pairs] for side in (0, 1))
    found = [
        result(
            f"{MAP}, in seconds", ours, base, goal=IMPORT_GOAL, bound="at most", peer_name=BASE, unit="s",
            contended=others,
        ),
        _answers("--help", HELP_GOAL_S, repeats),
        _answers("methods", METHODS_GOAL_S, repeats),
        *_quickstart(repeats),
        _small_trials(SMALL_TRIALS // (20 if quick else 1), repeats=1 if quick else 3),
    ]  # fmt: skip
    busy = others or disturbed()
    return [each | {"contended": busy} for each in found]


def _answers(command: str, goal: float, repeats: int) -> dict[str, Any]:
    seconds = [_rffbench(command) for _ in range(repeats)]
    return _within(f"rffbench {command}, in seconds", seconds, goal)


def _quickstart(repeats: int) -> list[dict[str, Any]]:
    """All of `rffbench run quickstart`, tables and figures included; cold, it has nothing compiled."""
    with tempfile.TemporaryDirectory() as place:
        run = ("run", str(ROOT / "configs" / "quickstart.yaml"), "--quiet", "--results")
        cold = [_rffbench(*run, f"{place}/cold", NUMBA_CACHE_DIR=f"{place}/compiled")]
        warm = [_rffbench(*run, f"{place}/{number}", NUMBA_CACHE_DIR=f"{place}/compiled") for number in range(repeats)]
    return [
        _within("rffbench run quickstart, in seconds", warm, WARM_GOAL_S),
        _within("rffbench run quickstart with nothing compiled, in seconds", cold, COLD_GOAL_S),
    ]


def _small_trials(trials: int, repeats: int) -> dict[str, Any]:
    """A run of small trials, less one of a tenth of them: what starting and drawing take is in both."""
    seconds = []
    with tempfile.TemporaryDirectory() as place:
        for number in range(repeats):
            taken = []
            for share in (10, 1):
                config = Path(place) / f"{number}-{share}.yaml"
                config.write_text(SMALL.format(trials=trials // (10 * share)), encoding="utf-8")
                results = f"{place}/{number}-{share}"
                taken.append(_rffbench("run", str(config), "--quiet", "--workers", str(WORKERS), "--results", results))
            seconds.append((taken[1] - taken[0]) / 0.9)
    return _within(f"{trials:,} trials of some ms by {WORKERS} workers, in seconds", seconds, trials / A_SECOND_GOAL)


def _within(name: str, seconds: list[float], goal: float) -> dict[str, Any]:
    return single(name, seconds, median(seconds), goal=goal, peer=f"{goal:g} s", unit="s")


def _rffbench(*arguments: str, **more: str) -> float:
    return _seconds([sys.executable, "-m", "rffbench", *arguments], **more)


def _seconds(command: list[str], **more: str) -> float:
    """From the start of a process to its end. RuntimeError, with what it said, if it failed."""
    started = perf_counter()
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT), **more}, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return perf_counter() - started
