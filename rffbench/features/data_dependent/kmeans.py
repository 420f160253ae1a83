"""Mini-batch k-means for landmarks: centres with a small mean squared distance of all rows to the nearest one.

Two passes over all rows, in steps of some rows. A step moves each centre to the mean of the rows for which it has been
the nearest, as they come (Sculley, WWW 2010). A pass takes n·m·d multiply-adds, one product in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.kernels.base import squared_lengths
from rffbench.linalg.nearest import nearest, sums_by_point
from rffbench.linalg.threads import blas_for

STEP_ROWS = 1024
KEPT = 0.1  # of the rows that a centre has seen in a pass, as many count in the next: others are nearer to them by now
LEAST_DISTANCE = 1e-4  # mean squared distance, over that to the mean of all, below which float32's rounding would show
FARTHEST = 1e15  # coordinate in such units, so that float32 has its square
FEWEST_PROPOSED, MOST_PROPOSED = 32, 256  # rows at a time

Blocks = Callable[[], Iterable[NDArray[np.float64]]]
"""Gives all rows, in blocks (rows, d) of about `STEP_ROWS`; called once a pass."""


def minibatch_centres(
    blocks: Blocks, sample: NDArray[np.float64], count: int, rng: Generator, passes: int = 2
) -> NDArray[np.float64]:
    """``count`` centres (count, d) of the rows of ``blocks``. The first ones are drawn from ``sample`` (s, d), some of
    these rows, by k-means++ (Arthur and Vassilvitskii, SODA 2007).

    If the sample has fewer distinct rows than ``count``, some centres may be equal. What is found depends on the order
    of the rows, but not on the number of threads.
    """
    shift = sample.mean(axis=0)
    unit = float(np.sqrt(squared_lengths(sample - shift).mean())) or 1.0

    def in_units(rows: NDArray[np.float64], dtype: np.dtype[Any]) -> FloatArray:
        return np.asarray(np.clip((rows - shift) / unit, -FARTHEST, FARTHEST), dtype)

    state = rng.bit_generator.state
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        rng.bit_generator.state = state
        S = in_units(sample, dtype)
        centres = drawn(S, count, rng)
        if nearest(S, centres)[1].mean() > LEAST_DISTANCE:
            break
    weights = np.ones(count)
    for _ in range(passes):
        for rows in blocks():
            _step(in_units(rows, dtype), centres, weights)
        weights *= KEPT
    return np.asarray(centres.astype(np.float64) * unit + shift, np.float64)


def _step(rows: FloatArray, centres: FloatArray, weights: NDArray[np.float64]) -> None:
    """Move each of the centres (m, d) to the mean of itself, ``weights`` (m,) times, and the rows that are nearest to
    it, whose number is added to its weight."""
    labels, _ = nearest(rows, centres)
    sums, counts = sums_by_point(rows, labels, len(centres))
    moved = np.flatnonzero(counts)
    weights[moved] += counts[moved]
    centres[moved] += (sums[moved] - counts[moved, None] * centres[moved]) / weights[moved, None]


def drawn(rows: FloatArray, count: int, rng: Generator) -> FloatArray:
    """``count`` of the ``rows`` (s, d), by k-means++: the first uniformly, each other one with a probability in
    proportion to its squared distance to the nearest of those before it.

    Rows are proposed by old distances, many at a time, and accepted one by one with the probability of the present
    distance over the old one, which has the same distribution; distances of all rows are computed once for a block
    (so are pivots chosen in `landmarks.randomly_pivoted`). Once all distances are 0, rows are drawn uniformly.
    """
    parts, missing, proposed = [rows[[rng.integers(len(rows))]]], count - 1, FEWEST_PROPOSED
    left = nearest(rows, parts[0])[1].astype(np.float64)
    while missing and left.any():
        at = rng.choice(len(rows), min(proposed, MOST_PROPOSED), p=left / left.sum())
        taken = _accepted(rows[at], left[at], rng.uniform(size=len(at)), missing)
        parts.append(rows[at[taken]])
        missing -= len(taken)
        proposed = (count - missing) // 2 + FEWEST_PROPOSED
        if missing:
            np.minimum(left, nearest(rows, parts[-1])[1], out=left)
            left[at[taken]] = 0
    parts.append(rows[rng.choice(len(rows), missing)])
    return np.concatenate(parts)


def _accepted(rows: FloatArray, old: NDArray[np.float64], uniform: NDArray[np.float64], most: int) -> list[int]:
    """The numbers of the proposed ``rows`` (b, d) that are accepted in their order, ``most`` at most: of each, its
    distance ``old`` (b,) times ``uniform`` (b,) is less than its distance to those and to the centres before them."""
    squares = squared_lengths(rows)
    with blas_for(0):
        apart = np.maximum(squares[:, None] - 2 * (rows @ rows.T) + squares, 0)
    left, enough = old.copy(), old * uniform
    taken: list[int] = []
    for i in range(len(rows)):
        if left[i] > enough[i] and len(taken) < most:
            taken.append(i)
            np.minimum(left, apart[i], out=left)
            left[i] = 0
    return taken
