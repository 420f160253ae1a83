"""The hot kernels of the feature maps: scaled cosines and sines of X·W."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numba
import numpy as np
from numpy.typing import NDArray


def in_threads(work: Callable[[int, int], object], count: int, *, worthwhile: bool = True) -> None:
    """Call ``work(first, last)`` on contiguous parts of range(count), one part a thread.

    The number of threads is numba's (``numba.set_num_threads``, ``NUMBA_NUM_THREADS``); ``work`` must release
    the GIL. Plain threads rather than numba's own parallel loops: those abort in a process that was forked.
    """
    threads = min(numba.get_num_threads(), count) if worthwhile else 1
    if threads <= 1:
        work(0, count)
        return
    bounds = [count * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work, *part) for part in pairwise(bounds[1:])]
        work(bounds[0], bounds[1])
        for other in others:
            other.result()


def fourier_columns(
    X: NDArray,
    W: NDArray,
    cos: NDArray | None = None,
    sin: NDArray | None = None,
    *,
    offset: NDArray | None = None,
    scale: NDArray | float = 1.0,
) -> None:
    """Write ``scale_j·cos(x_iᵀw_j + b_j)`` into ``cos`` and ``scale_j·sin(x_iᵀw_j + b_j)`` into ``sin``.

    X is (n, d), W is (d, s), offset (s,) or None, scale a number or (s,); cos and sin are (n, s) arrays to
    fill, views with a row stride allowed, either of them None. All of one dtype, float32 or float64.
    """
    phase = X @ W
    if offset is not None:
        phase += offset
    if cos is not None:
        np.cos(phase, out=cos)
        cos *= scale
    if sin is not None:
        np.sin(phase, out=sin)
        sin *= scale
