"""Structured maps: the Walsh–Hadamard transform, Fastfood against dense maps and its peer, TEFM against an exact PCA.

Fastfood has the columns and the precision of what it is compared with; scikit-learn-extra's computes in float64 only,
and is left out, and said to be, where it cannot be imported. Its wheels are for numpy 1; beside numpy 2 it has to be
built: pip install "cython<3.1" setuptools wheel; pip install --no-build-isolation --no-binary :all: scikit-learn-extra
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd
from sklearn.kernel_approximation import RBFSampler

from benchmarks.measure import compare, single, thread_counts, threads
from rffbench import FastfoodFeatures, RandomFourierFeatures, TrainingEfficientFeatureMap
from rffbench.linalg.hadamard import walsh_hadamard

BATCH_BYTES = 1 << 27  # of rows to transform: more than a level-3 cache holds
LENGTHS = [16, 64, 256, 1024, 4096, 16384]
COPY_GOAL = 3.0

DIMENSIONS = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
DENSE, EXTRA = "the dense map", "scikit-learn-extra's Fastfood"
CROSSED = 128  # from here on Fastfood is to be ahead
LEAST_FREQUENCIES = 512
ELEMENTS = 8_000_000  # rows are chosen so that Z has about this many numbers

PCA_ROWS, PCA_COLUMNS, PCA_SIZES = 6_554, 21, [100, 400]  # the shape of the paper's CPU data; sizes l, m = 4l
PCA_GAMMA = 0.5


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Everything on one thread; Fastfood against the dense map on all as well."""
    results = []
    repeats = 3 if quick else 9
    batch = BATCH_BYTES // (16 if quick else 1)
    for dtype in ("float64", "float32"):
        with threads(1):
            for length in LENGTHS:
                results.append(_transform(length, dtype, batch, repeats))
    if isinstance(missing := _extra_fastfood(), Exception):
        results.append(single(f"Fastfood: no comparison ({missing})", [], np.nan, goal=None, peer=EXTRA, unit="s"))
    for count in thread_counts():
        with threads(count):
            for dtype in ("float64", "float32"):
                dimensions = DIMENSIONS[2:5] if quick else DIMENSIONS
                results += _fastfood(dtype, count, dimensions, ELEMENTS // (8 if quick else 1), repeats)
    with threads(1):
        for columns in PCA_SIZES[:1] if quick else PCA_SIZES:
            results += _tefm(columns, 3)
    return results


def _transform(length: int, dtype: str, batch: int, repeats: int) -> dict[str, Any]:
    shape = (batch // np.dtype(dtype).itemsize // length, length)
    rows, copy = np.full(shape, 0.0, dtype), np.full(shape, 0.0, dtype)  # written, so that the memory is there
    return compare(
        f"Walsh–Hadamard transform of rows of {length}, {dtype}, 1 thread",
        lambda: walsh_hadamard(rows), lambda: np.copyto(copy, rows),
        goal=COPY_GOAL, bound="at most", repeats=repeats, peer_name="a copy of the rows", length=length, dtype=dtype,
    )  # fmt: skip


def _fastfood(dtype: str, count: int, dimensions: list[int], elements: int, repeats: int) -> list[dict[str, Any]]:
    results = []
    where = f"{dtype}, {count} thread{'s' * (count > 1)}"
    dense = {}
    for d in dimensions:
        s = max(d, LEAST_FREQUENCIES)
        n = elements // (2 * s)
        X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype) / np.dtype(dtype).type(np.sqrt(d))
        ours = FastfoodFeatures(2 * s, gamma=0.5, random_state=0).fit(X)
        for name, peer in _peers(s, dtype, count).items():
            peer.fit(X)
            measured = compare(
                f"Fastfood, d={d}, {2 * s:,} columns, {where}",
                lambda ours=ours, X=X: ours.transform(X), lambda peer=peer, X=X: peer.transform(X),
                goal=1.0 if d >= CROSSED else None, repeats=repeats, peer_name=name,
                n=n, d=d, frequencies=s, dtype=dtype, threads=count,
            )  # fmt: skip
            results.append(measured)
            if name == DENSE:
                dense[d] = measured["ratio"]
    from_here = crossing(dense)
    about = f"Fastfood is ahead from this dimension on, {where}"
    return [
        *results,
        single(about, [from_here], from_here, goal=CROSSED, peer=DENSE, unit="columns", dtype=dtype, threads=count),
    ]


def crossing(ratios: dict[int, float]) -> float:
    """The smallest dimension from which on every ratio is above 1; infinity where the last is not."""
    behind = max((d for d, ratio in ratios.items() if ratio <= 1), default=0)
    return float(min((d for d in ratios if d > behind), default=np.inf))


def _peers(s: int, dtype: str, count: int) -> dict[str, Any]:
    """The maps of 2s columns to compare with, not yet fitted; those of others on one thread alone."""
    peers: dict[str, Any] = {DENSE: RandomFourierFeatures(2 * s, gamma=0.5, random_state=0)}
    if count == 1:
        peers["RBFSampler"] = RBFSampler(gamma=0.5, n_components=2 * s, random_state=0)
        if dtype == "float64" and not isinstance(peer := _extra_fastfood(), Exception):
            peers[EXTRA] = peer(sigma=1.0, n_components=s, random_state=0)
    return peers


def _extra_fastfood() -> Any:
    """scikit-learn-extra's class, or the error that importing it ends in: ValueError where numpy is another."""
    try:
        from sklearn_extra.kernel_approximation import Fastfood
    except (ImportError, ValueError) as error:
        return error
    return Fastfood


def _tefm(columns: int, repeats: int) -> list[dict[str, Any]]:
    """Finding Q, F made included, against the exact leading right singular vectors of the same F."""
    X = np.random.default_rng(0).uniform(size=(PCA_ROWS, PCA_COLUMNS))
    maps = {
        f"TEFM-G, q={q}": TrainingEfficientFeatureMap(
            columns, sketch="gaussian", power=q, gamma=PCA_GAMMA, random_state=0
        )
        for q in (0, 1, 2)
    }
    others = {"TEFM-S": "srht", "TEFM, CountSketch–Gaussian, q=0": "countsketch", "TEFM without a sketch": "none"}
    for name, sketch in others.items():
        maps[name] = TrainingEfficientFeatureMap(
            columns, sketch=sketch, power=0, gamma=PCA_GAMMA, random_state=0
        )  # fmt: skip
    maps["TEFM, sketch: auto, q=1"] = TrainingEfficientFeatureMap(columns, gamma=PCA_GAMMA, random_state=0)
    fourier = RandomFourierFeatures(4 * columns, gamma=PCA_GAMMA, random_state=0).fit(X)
    m = fourier.n_components

    def pca() -> NDArray:
        F = fourier.transform(X)
        return eigh(F.T @ F, subset_by_index=[m - columns, m - 1])[1]

    def full_svd() -> NDArray:
        return svd(fourier.transform(X), full_matrices=False)[2][:columns].T

    F = fourier.transform(X)
    best = _residual(F, pca())
    peers: dict[str, Callable[[], NDArray]] = {"eigenvectors of FᵀF": pca, "SVD of F": full_svd}
    results = []
    for name, map_ in maps.items():
        map_.fit(X)
        error = _residual(F, map_.components_) / best
        for peer_name, peer in peers.items():
            results.append(
                compare(
                    f"{name}, l={columns}, m={m}, n={PCA_ROWS:,}, 1 thread; ‖F − FQQᵀ‖_F {error:.3f} times the least",
                    lambda map_=map_: map_.fit(X), peer,
                    goal=1.0, repeats=repeats, peer_name=peer_name, residual=error, columns=columns,
                )
            )  # fmt: skip
    return results


def _residual(F: NDArray, Q: NDArray) -> float:
    return float(np.linalg.norm(F - F @ Q @ Q.T))
