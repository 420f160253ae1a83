"""Feature maps: against scikit-learn's RBFSampler at equal columns, and against the matrix product alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from benchmarks.measure import compare, thread_counts, threads
from rffbench import RandomFourierFeatures
from rffbench.linalg.trigonometric import fourier_columns

SHAPES = [(14, 256), (14, 1792), (54, 256), (54, 864), (54, 1728)]  # (d, s): EEG's and covtype's dimensions
SMALL = {"n": 7_490, "d": 14, "multiples": (1, 2, 4, 8, 16, 32)}  # EEG's smaller sizes
ELEMENTS = 8_000_000  # rows are chosen so that Z has about this many numbers
RBF_GOALS = {"float64": 5.0, "float32": 2.0}
PRODUCT_GOAL, PRODUCT_DIMENSION = 2.5, 54
SMALL_GOAL = 1.05  # never slower, but for what a clock cannot tell


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Every shape in both precisions, on one thread and on all."""
    results = []
    repeats = 3 if quick else 15
    for count in thread_counts():
        with threads(count):
            for dtype in ("float64", "float32"):
                for d, s in SHAPES[:3] if quick else SHAPES:
                    results += _at(d, s, dtype, count, ELEMENTS // (8 if quick else 1), repeats)
    if count > 1:
        results += [_small(multiple, dtype, count, repeats) for dtype in RBF_GOALS for multiple in SMALL["multiples"]]
    return results


def _small(multiple: int, dtype: str, count: int, repeats: int) -> dict[str, Any]:
    """All threads against one where there is little to map."""
    n, d = SMALL["n"], SMALL["d"]
    s = multiple * d
    X = np.random.default_rng(0).uniform(size=(n, d)).astype(dtype)
    W = np.random.default_rng(1).normal(size=(d, s)).astype(dtype)
    Z = np.empty((n, 2 * s), dtype)

    def mapped(on: int) -> None:
        with threads(on):
            for _ in range(10):
                fourier_columns(X, W, Z[:, :s], Z[:, s:], scale=s**-0.5)

    return compare(
        f"cos and sin of {dtype}, n={n:,}, d={d}, s={s} ({multiple}d), {count} threads, 10 times",
        lambda: mapped(count), lambda: mapped(1), goal=SMALL_GOAL, bound="at most", repeats=repeats,
        peer_name="1 thread", n=n, d=d, frequencies=s, dtype=dtype, threads=count,
    )  # fmt: skip


def _at(d: int, s: int, dtype: str, count: int, elements: int, repeats: int) -> list[dict[str, Any]]:
    n = elements // (2 * s)
    X = np.random.default_rng(0).uniform(size=(n, d)).astype(dtype)
    gamma = 0.5
    ours = RandomFourierFeatures(2 * s, gamma=gamma, random_state=0).fit(X)
    peer = RBFSampler(n_components=2 * s, gamma=gamma, random_state=0).fit(X)
    details: dict[str, Any] = {"n": n, "d": d, "frequencies": s, "dtype": dtype, "threads": count}
    label = f"{dtype}, d={d}, s={s}, {count} thread{'s' * (count > 1)}"
    results = [
        compare(
            f"2s columns of {label}",
            lambda: ours.transform(X),
            lambda: peer.transform(X),
            goal=RBF_GOALS[dtype],
            repeats=repeats,
            peer_name="RBFSampler.transform",
            **details,
        )
    ]
    if d >= PRODUCT_DIMENSION:
        W = ours.frequencies_.astype(dtype)
        Z, product = np.empty((n, 2 * s), dtype), np.empty((n, s), dtype)
        results.append(
            compare(
                f"cos and sin of {label}",
                lambda: fourier_columns(X, W, Z[:, :s], Z[:, s:], scale=s**-0.5),
                lambda: np.matmul(X, W, out=product),
                goal=PRODUCT_GOAL,
                bound="at most",
                repeats=repeats,
                peer_name="the product X·W alone",
                **details,
            )
        )
    return results
