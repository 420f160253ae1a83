"""Landmarks: against scikit-learn's Nystroem, alone and with its Ridge; centres against its MiniBatchKMeans; and blocks
of kernel values against the product and the exponentials that they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from benchmarks.measure import compare, extra_memory, result, thread_counts, threads
from rffbench import NystroemFeatures, StreamedRidge
from rffbench.features.data_dependent.landmarks import RULES, choose_landmarks
from rffbench.kernels import make_kernel
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.linalg.nearest import nearest

SIZES = {"n": 50_000, "d": 20, "m": 2_000}
BANDWIDTHS = {"n": 9_510, "d": 10, "m": 2_048, "count": 7}  # magic04's training rows
ALPHA = 1e-3
CENTRES = [  # n, d, m
    (20_000, 5, 512), (20_000, 784, 512), (20_000, 20, 2_048), (100_000, 20, 512),
]  # fmt: skip
CENTRES_GOAL, SAME_INERTIA = 3.0, 1.01
BLOCK_GOAL, RIDGE_GOAL, MAP_GOAL, MEMORY_GOAL = 1.5, 3.0, 1.3, 1 / 3


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Blocks and centres on one thread and on all; the rest on all; several bandwidths on one."""
    n, d, m = SIZES["n"] // (20 if quick else 1), SIZES["d"], SIZES["m"] // (8 if quick else 1)
    repeats = 3
    results = []
    for count in thread_counts():
        with threads(count):
            results += [
                _block(d, dtype, count, 3 if quick else 15) for d in (10, 54) for dtype in ("float32", "float64")
            ]
            results += [each for sizes in CENTRES for each in _centres(*sizes, count, quick)]
    with threads(count):
        results.append(compare(
            f"Ridge on {m:,} landmarks, n={n:,}, d={d}", ridge(n, d, m), peer_ridge(n, d, m), goal=RIDGE_GOAL,
            repeats=repeats, peer_name="Nystroem and Ridge", warm_up=quick,
        ))  # fmt: skip
        rows = min(n, 20_000)
        results.append(compare(
            f"Features of {m:,} landmarks, fit and n={rows:,} rows", features(rows, d, m), peer_features(rows, d, m),
            goal=MAP_GOAL, repeats=repeats, peer_name="Nystroem", warm_up=quick,
        ))  # fmt: skip
        results += _rules(n, d, m)
    ours, peer = (extra_memory(work, n, d, m) / 1e6 for work in (ridge, peer_ridge))
    results.append(result(
        f"Memory of ridge on {m:,} landmarks, n={n:,}", [ours], [peer], goal=MEMORY_GOAL, bound="at most",
        peer_name="Nystroem and Ridge", unit="MB",
    ))  # fmt: skip
    with threads(1):
        n, d, m, count = BANDWIDTHS["n"], BANDWIDTHS["d"], BANDWIDTHS["m"] // (8 if quick else 1), BANDWIDTHS["count"]
        gammas = np.geomspace(1 / d / 50, 1 / d * 50, count)
        results.append(compare(
            f"{count} bandwidths of {m:,} landmarks, n={n:,}, d={d}, one thread",
            lambda: [features(n, d, m, gamma)() for gamma in gammas],
            lambda: [peer_features(n, d, m, gamma)() for gamma in gammas],
            goal=MAP_GOAL, repeats=1, peer_name="Nystroem", warm_up=False,
        ))  # fmt: skip
    return results


def _data(n: int, d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    X = np.random.default_rng(0).normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1]


def ridge(n: int, d: int, m: int) -> Callable[[], object]:
    X, y = _data(n, d)
    return lambda: StreamedRidge(ALPHA, features=NystroemFeatures(m, gamma=1 / (2 * d), random_state=0)).fit(X, y)


def peer_ridge(n: int, d: int, m: int) -> Callable[[], object]:
    X, y = _data(n, d)
    solver = Ridge(alpha=ALPHA * n, fit_intercept=False)
    return lambda: make_pipeline(Nystroem(gamma=1 / (2 * d), n_components=m, random_state=0), solver).fit(
        X, y - y.mean()
    )


def features(n: int, d: int, m: int, gamma: float | None = None) -> Callable[[], object]:
    X, _ = _data(n, d)
    return lambda: NystroemFeatures(m, gamma=gamma or 1 / (2 * d), random_state=0).fit_transform(X)


def peer_features(n: int, d: int, m: int, gamma: float | None = None) -> Callable[[], object]:
    X, _ = _data(n, d)
    return lambda: Nystroem(gamma=gamma or 1 / (2 * d), n_components=m, random_state=0).fit_transform(X)


def _block(d: int, dtype: str, count: int, repeats: int) -> dict[str, Any]:
    rng, n, m = np.random.default_rng(0), 2048, 2000
    X, points = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype)
    blocks, out = KernelBlocks(make_kernel("gaussian", 1 / (2 * d)), points, dtype), np.empty((n, m), dtype)
    product, scaled = np.empty((n, m), dtype), X / (4 * d)

    def peer() -> None:
        for _ in range(10):
            np.matmul(scaled, points.T, out=product)
            np.exp(product, out=product)

    def ours() -> None:
        for _ in range(10):
            blocks.fill(X, out)

    label = f"{dtype}, d={d}, {count} thread{'s' * (count > 1)}"
    return compare(
        f"Gaussian kernel of {n:,} rows and {m:,} points, {label}, 10 times", ours, peer,
        goal=BLOCK_GOAL, bound="at most", repeats=repeats, peer_name="the product and its exponentials",
    )  # fmt: skip


def _centres(n: int, d: int, m: int, count: int, quick: bool) -> list[dict[str, Any]]:
    """Our centres against scikit-learn's, as the rule kmeans calls it, and as it is by default: seconds, and the mean
    squared distance of all rows to the nearest centre. Rows are of 50 clusters, some wide. By default scikit-learn's
    may stop early with a larger distance, so its seconds have no goal."""
    if quick:
        n, m = n // 20, m // 8
    rng = np.random.default_rng(0)
    middles, widths = 2 * rng.normal(size=(50, d)), rng.gamma(2.0, size=(50, 1))
    of = rng.integers(50, size=n)
    X, kernel = middles[of] + widths[of] * rng.normal(size=(n, d)), make_kernel("gaussian", 1.0)
    found: dict[str, NDArray[np.float64]] = {}

    def by_rule(rule: Any) -> Callable[[], object]:
        return lambda: found.update({rule: choose_landmarks(rule, kernel, X, m, SeedSequence(0)).points})

    def by_default() -> None:
        found["default"] = MiniBatchKMeans(m, random_state=0).fit(X).cluster_centers_

    def distance(rule: str) -> list[float]:
        return [float(nearest(X, found[rule])[1].mean())]

    name, ours, results = f"{m:,} centres, n={n:,}, d={d}, {count} thread{'s' * (count > 1)}", by_rule("minibatch"), []
    for rule, peer, goal, peer_name in (
        ("kmeans", by_rule("kmeans"), CENTRES_GOAL, "MiniBatchKMeans, two passes"),
        ("default", by_default, None, "MiniBatchKMeans, its defaults"),
    ):
        results += [
            compare(
                name, ours, peer, goal=goal, repeats=1 if quick or rule == "default" else 3, peer_name=peer_name,
                warm_up=quick,
            ),
            result(
                f"Mean squared distance to {name}", distance("minibatch"), distance(rule), goal=SAME_INERTIA,
                bound="at most", peer_name=peer_name, unit="squared",
            ),
        ]  # fmt: skip
    return results


def _rules(n: int, d: int, m: int) -> list[dict[str, Any]]:
    """What it takes to choose landmarks, beside a fit to uniform ones."""
    X, _ = _data(n, d)

    def fit(rule: str) -> Callable[[], object]:
        return lambda: NystroemFeatures(m // 2, landmarks=rule, gamma=1 / (2 * d), random_state=0).fit(X)

    uniform = ridge(n, d, m // 2)
    return [
        compare(
            f"{m // 2:,} landmarks by {rule}, n={n:,}, d={d}", fit(rule), uniform, goal=None, bound="at most",
            repeats=1, peer_name="ridge on as many uniform ones", warm_up=False,
        )
        for rule in RULES
    ]  # fmt: skip
