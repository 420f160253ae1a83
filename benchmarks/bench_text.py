"""Sparse rows, of the shape of the rcv1 training set, against scikit-learn's RBFSampler: seconds and memory.

The rows are made up: 20,242 × 47,236 with 0.16 % of the entries, of length 1, in CSR. Dense they would take 7.6 GB.

Memory is what the process grows by at its peak while a map and ridge regression are fitted, after a first, tiny fit has
loaded the code; X itself was there before. It is held against what must be held, whatever the number of rows: the
frequencies W (d × s), the Gram matrix, and a block of features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, random_array
from sklearn.base import ClassifierMixin
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from benchmarks.measure import compare, extra_memory, result, single, threads
from rffbench import RandomFourierFeatures, StreamedRidgeClassifier
from rffbench.linalg.triangles import TriangleStack
from rffbench.solvers.base import default_block_rows

ROWS, WORDS, DENSITY, COLUMNS = 20_242, 47_236, 0.0016, 1000
QUICK_ROWS, QUICK_WORDS, QUICK_COLUMNS = 5_000, 20_000, 200
TINY = 300  # rows and words of the fit that loads the code
MORE = 4  # times the rows, for the growth of memory
GAMMA, ALPHA = 1.0, 1e-4
GOALS = {"time": 1.0, "memory": 1.5, "needed": 1.3, "growth": 1.2}


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
    megabytes = [extra_memory(fit, model, n, d, columns) / 1e6 for model in (streamed, sampler)]
    more = extra_memory(fit, streamed, MORE * n, d, columns) / 1e6
    needed = held_whatever_the_rows(n, d, columns) / 1e6
    return [
        timed,
        result(
            f"memory of mapping and fitting ridge, {shape}", megabytes[:1], megabytes[1:], goal=GOALS["memory"],
            bound="at least", peer_name="RBFSampler and RidgeClassifier", unit="MB",
        ),
        single(
            f"that memory over {needed:.0f} MB, which W, the Gram matrix and a block of features take",
            megabytes[:1], megabytes[0] / needed, goal=GOALS["needed"], peer="1 is no more than these", unit="MB",
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


def held_whatever_the_rows(n: int, d: int, columns: int) -> int:
    """Bytes of the frequencies of ``columns`` columns in pairs, of two triangles, and of a block of features."""
    frequencies = 8 * d * columns // 2
    return frequencies + TriangleStack.bytes_needed(2, columns) + 8 * min(n, default_block_rows(columns)) * columns


def fit(model: Callable[[int, int], ClassifierMixin], n: int, d: int, columns: int) -> Callable[[], object]:
    """Fitting ``model(n, columns)`` to n rows of d words. A tiny fit before it has loaded, or compiled, the code."""
    X, y = text_like(n, d)
    model(TINY, columns).fit(*text_like(TINY, TINY))
    return lambda: model(n, columns).fit(X, y)


def streamed(n: int, columns: int) -> ClassifierMixin:
    """Ours: the same number of columns, as pairs."""
    return StreamedRidgeClassifier(ALPHA, features=RandomFourierFeatures(columns, gamma=GAMMA, random_state=0))


def sampler(n: int, columns: int) -> ClassifierMixin:
    """scikit-learn's."""
    return make_pipeline(RBFSampler(n_components=columns, gamma=GAMMA, random_state=0), RidgeClassifier(ALPHA * n))
