"""Many rows: time and memory of a trial as n grows, each measured in a process of its own by the execution layer.

The rows are made up, 54 columns as covertype's, and memory-mapped from a file, as a dataset's are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import single
from rffbench import RandomFourierFeatures
from rffbench.data.rows import Rows
from rffbench.execution.channel import Channel
from rffbench.execution.local import LocalExecutor
from rffbench.io.process import Contention, peak_memory, private_memory
from rffbench.linalg.trigonometric import warm_up
from rffbench.solvers.ridge.streamed import StreamedRidgeCV
from rffbench.stats import exponents
from rffbench.trials.spec import TrialResult, TrialSpec

SIZES, DIMENSION, COLUMNS = [50_000, 100_000, 200_000, 350_000, 500_000], 54, 1024
QUICK_SIZES, QUICK_COLUMNS = [4_000, 8_000, 16_000], 256
LAMBDAS, FOLDS, GAMMA = [0.05, 0.1, 0.5, 1.0], 5, 0.5
EXPONENT_GOAL, GROWTH_GOAL = 1.1, 1.1


def run(quick: bool = False) -> list[dict[str, Any]]:
    """The exponent of n in the seconds, and the growth of the memory a trial takes of its own."""
    sizes, columns = (QUICK_SIZES, QUICK_COLUMNS) if quick else (SIZES, COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        make_rows(Path(folder), max(sizes))
        specs = [spec_of(n, columns, folder) for n in sizes]
        done: list[TrialResult] = []
        LocalExecutor(work=f"{__name__}:fit_rows", workers=1, threads=1).run([[spec] for spec in specs], done.append)
    measured = sorted(done, key=lambda one: sizes.index(one.spec.trial))
    for one in measured:
        if one.error:
            raise RuntimeError(one.error["message"])
    seconds = [one.seconds["fit_s"] for one in measured]
    resident = [one.metrics["resident"] / 1e6 for one in measured]
    private = [one.metrics["private"] / 1e6 for one in measured]
    exponent = float(exponents(sizes, seconds))
    what = f"{columns:,} columns, {FOLDS} folds, 1 thread, n={sizes[0]:,} to {sizes[-1]:,}"
    details = {
        "sizes": sizes, "columns": columns, "contended": any(one.seconds["contended"] for one in measured)
    }  # fmt: skip
    return [
        single(
            f"exponent of n in mapping and fitting {what}", seconds, exponent, goal=EXPONENT_GOAL,
            peer="1 is linear", unit="s", **details,
        ),
        single(
            f"growth of a trial's own memory at its peak, {what}", private, max(private) / private[0],
            goal=GROWTH_GOAL, peer="1 is flat", unit="MB", **details,
        ),
        single(
            f"growth of the resident set at its peak, the mapped rows included, {what}", resident,
            max(resident) / resident[0], goal=None, peer="1 is flat", unit="MB", **details,
        ),
    ]  # fmt: skip


def make_rows(folder: Path, n: int) -> None:
    """X.npy (n, 54) and y.npy (n,), written block by block."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float64, shape=(n, DIMENSION))
    y = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.float64, shape=(n,))
    for start in range(0, n, 50_000):
        block = rng.uniform(size=(min(50_000, n - start), DIMENSION))
        X[start : start + len(block)] = block
        y[start : start + len(block)] = np.sign(np.sin(6 * block[:, 0]) + block[:, 1] - 0.7)


def spec_of(n: int, columns: int, folder: str) -> TrialSpec:
    """The trial that ``fit_rows`` is to do, with the number of rows as its trial number."""
    return TrialSpec(
        dataset=folder, data_hash="", method="RFF", n_features=columns, count="columns", trial=n, seed=0,
        features={"name": "fourier"}, solver={"name": "ridge"}, kernel={"name": "gaussian", "gamma": GAMMA},
    )  # fmt: skip


def fit_rows(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Fit each spec's rows, chosen in a random order from the mapped file; done in a worker process."""
    for spec in specs:
        folder, n = Path(spec.dataset), spec.trial
        order = np.random.default_rng(1).permutation(n)
        X = Rows(np.load(folder / "X.npy", mmap_mode="r"), order)
        y = np.load(folder / "y.npy", mmap_mode="r")[order]
        features = RandomFourierFeatures(spec.n_features, gamma=GAMMA, random_state=0)
        model = StreamedRidgeCV(LAMBDAS, folds=FOLDS, features=features)
        warm_up(X.dtype)
        channel.begin(spec)
        with Contention() as contention, PeakPrivate() as peak:
            started = perf_counter()
            model.fit(X, y)
            seconds = perf_counter() - started
        memory = {"resident": float(peak_memory() or 0), "private": float(peak.bytes)}
        channel.result(TrialResult(spec, "ok", memory, {"fit_s": seconds, "contended": contention.contended}))


class PeakPrivate:
    """The largest memory of its own, mapped files not counted, that this process holds meanwhile, in ``bytes``."""

    INTERVAL_S = 0.02

    def __enter__(self) -> PeakPrivate:
        self.bytes = private_memory() or 0
        self._over = Event()
        self._thread = Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(self.INTERVAL_S):
            self.bytes = max(self.bytes, private_memory() or 0)

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
