"""Kernel machines against LIBSVM on cod-RNA, and linear machines on its features against LIBLINEAR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import compare, extra_memory, result, single, threads
from rffbench import RandomFourierFeatures, data
from rffbench.solvers.svm.kernel import KernelSVM
from rffbench.solvers.svm.linear import LinearSVM

GAMMA = 0.5  # σ = 1
TOLERANCE = 1e-6  # of the linear machines, so that their objectives can be compared
KERNEL_ROWS, LINEAR_ROWS, COLUMNS = (10_000, 30_000), 20_000, 1_000
GOALS = {"time": 2.0, "bytes": 2e9, "newton": 5.0, "memory": 1.9}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """On one thread, all that LIBLINEAR has."""
    repeats = 1 if quick else 3
    with threads(1):
        kernel_rows = (3_000,) if quick else KERNEL_ROWS
        results = [_against_libsvm(n, repeats) for n in kernel_rows]
        results += [_memory_at_most(kernel_rows[-1])]
        n, columns = (2_000, 200) if quick else (LINEAR_ROWS, COLUMNS)
        for method in ("held", "streamed"):
            results += _against_liblinear(method, n, columns, repeats)
    return results


def cod_rna(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first rows of the training part, scaled to [0, 1]."""
    split = data.train_test("cod-rna", seed=0, trial=0, preprocess=["minmax"], preprocess_fit="train", dtype="float64")
    return np.ascontiguousarray(split.X_train[:n]), split.y_train[:n]


def kernel_machine(loss: str, n: int) -> Callable[[], KernelSVM]:
    X, y = cod_rna(n)
    return lambda: KernelSVM(loss, gamma=GAMMA).fit(X, y)


def linear_machine(method: str, n: int, columns: int) -> Callable[[], LinearSVM]:
    X, y = cod_rna(n)
    features = RandomFourierFeatures(columns, form="offset", gamma=GAMMA, random_state=0)
    return lambda: LinearSVM(features, method=method, tolerance=TOLERANCE).fit(X, y)


def _against_libsvm(n: int, repeats: int) -> dict[str, Any]:
    ours, peer = kernel_machine("squared-hinge", n), kernel_machine("hinge", n)
    models = {"ours": ours(), "peer": peer()}  # the round that doesn't count, too
    details = {f"{side}_{name}": value for side, model in models.items() for name, value in model.metrics_.items()}
    return compare(
        f"squared hinge, n={n:,}", ours, peer, goal=GOALS["time"], bound="at most", repeats=repeats,
        warm_up=False, peer_name="LIBSVM's hinge", **details,
    )  # fmt: skip


def _memory_at_most(n: int) -> dict[str, Any]:
    extra = extra_memory(kernel_machine, "squared-hinge", n)
    return single(
        f"squared hinge, extra memory in 2 GB, n={n:,}", [extra / 1e6], extra / GOALS["bytes"], goal=1.0,
        peer="a bound", unit="MB",
    )  # fmt: skip


def _against_liblinear(method: str, n: int, columns: int, repeats: int) -> list[dict[str, Any]]:
    arguments = (n, columns)
    ours, peer = linear_machine(method, *arguments), linear_machine("liblinear", *arguments)
    mine, theirs = ours().metrics_, peer().metrics_
    label = f"{method}, n={n:,}, {columns:,} columns"
    time = compare(
        f"squared hinge in the primal, {label}", ours, peer, goal=GOALS["newton"] if method == "held" else 1.0,
        repeats=repeats, warm_up=False, peer_name="LIBLINEAR -s 2",
        relative_difference=mine["objective"] / theirs["objective"] - 1, passes=mine["passes"],
    )  # fmt: skip
    memory = result(
        f"extra memory, {label}", [extra_memory(linear_machine, method, *arguments) / 1e6],
        [extra_memory(linear_machine, "liblinear", *arguments) / 1e6], goal=GOALS["memory"], bound="at least",
        peer_name="LIBLINEAR -s 2", unit="MB", told_bytes=mine["training_bytes"],
    )  # fmt: skip
    return [time, memory]
