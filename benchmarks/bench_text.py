"""Sparse rows, of the shape of the rcv1 training set, against scikit-learn's RBFSampler: seconds and memory.

The rows are made up: 20,242 × 47,236 with 0.16 % of the entries, of length 1, in CSR. Dense they would take 7.6 GB.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, random_array
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from benchmarks.measure import compare, extra_memory, result, single, threads
from rffbench import RandomFourierFeatures, StreamedRidgeClassifier

ROWS, WORDS, DENSITY, COLUMNS = 20_242, 47_236, 0.0016, 1000
QUICK_ROWS, QUICK_WORDS, QUICK_COLUMNS = 2_000, 5_000, 100
MORE = 4  # times the rows, for the growth of memory
GAMMA, ALPHA = 1.0, 1e-4
GOALS = {"time": 1.0, "memory": 1.5, "growth": 1.2}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Mapping all rows, and fitting ridge regression to the features of as many rows and more."""
    n, d, columns = (QUICK_ROWS, QUICK_WORDS, QUICK_COLUMNS) if quick else (ROWS, WORDS, COLUMNS)
    X, _ = text_like(n, d)
    ours = RandomFourierFeatures(columns, form="offset", gamma=GAMMA, random_state=0).fit(X)
    peer = RBFSampler(n_components=columns, gamma=GAMMA, random_state=0).fit(X)
    shape = f"CSR {n:,} × {d:,} at {100 * DENSITY:g} %, {columns:,} columns"
    with threads(1):
        timed = compare(
            f"mapping {shape}", lambda: ours.transform(X), lambda: peer.transform(X), goal=GOALS["time"],
            repeats=1 if quick else 3, peer_name="RBFSampler",
        )  # fmt: skip
    megabytes = [extra_memory(fit, n, d, columns) / 1e6 for fit in (streamed_fit, sampler_fit)]
    more = extra_memory(streamed_fit, MORE * n, d, columns) / 1e6
    return [
        timed,
        result(
            f"memory of mapping and fitting ridge, {shape}", megabytes[:1], megabytes[1:], goal=GOALS["memory"],
            bound="at least", peer_name="RBFSampler and RidgeClassifier", unit="MB",
        ),
        single(
            f"growth of that memory with {MORE} times the rows", [megabytes[0], more], more / megabytes[0],
            goal=GOALS["growth"], peer="1 is flat", unit="MB",
        ),
    ]  # fmt: skip


def text_like(n: int, d: int) -> tuple[csr_array, NDArray[np.bool_]]:
    """Rows of length 1, and labels that a linear function of them gives."""
    rng = np.random.default_rng(0)
    X = csr_array(random_array((n, d), density=DENSITY, format="csr", rng=rng))
    X = csr_array(normalize(X))
    return X, X @ rng.normal(size=d) > 0


def streamed_fit(n: int, d: int, columns: int) -> Callable[[], object]:
    """Ours: the same number of columns, as pairs."""
    X, y = text_like(n, d)
    features = RandomFourierFeatures(columns, gamma=GAMMA, random_state=0)
    return lambda: StreamedRidgeClassifier(ALPHA, features=features).fit(X, y)


def sampler_fit(n: int, d: int, columns: int) -> Callable[[], object]:
    """scikit-learn's."""
    X, y = text_like(n, d)
    sampler = RBFSampler(n_components=columns, gamma=GAMMA, random_state=0)
    return lambda: make_pipeline(sampler, RidgeClassifier(ALPHA * n)).fit(X, y)
