"""The fast Walsh–Hadamard transform, in place, of many rows at once.

H₁ = 1, H_{2N} = [[H_N, H_N], [H_N, −H_N]]: entries ±1, symmetric, H_N·H_N = N·I (Sylvester's order, as
``scipy.linalg.hadamard``). The transform takes N·log₂N additions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rffbench.linalg.threads import in_threads
from rffbench.linalg.trigonometric import WORTH_A_THREAD


def next_power_of_two(n: int) -> int:
    """The smallest power of two that is at least n, and at least 1."""
    return 1 << max(0, n - 1).bit_length()


def walsh_hadamard(A: NDArray) -> NDArray:
    """Replace each row a of A (…, N) by H_N·a, and return A. N is a power of two; A is float32 or float64.

    H_N/√N is orthogonal, and H_N² = N·I. ValueError for another length (pad with zeros to `next_power_of_two`), another
    dtype, or an array that is not C-contiguous and writable.
    """
    N = A.shape[-1] if A.ndim else 0
    if N < 1 or N & (N - 1):
        raise ValueError(f"the length of rows must be a power of two, got shape {A.shape}; pad with zeros")
    if A.dtype not in (np.float32, np.float64):
        raise ValueError(f"A must be float32 or float64, got {A.dtype}")
    if not A.flags.c_contiguous or not A.flags.writeable:
        raise ValueError("A is transformed in place: it must be C-contiguous and writable")
    from rffbench.linalg.hadamard_kernels import transform

    numbers = A.reshape(-1)
    in_threads(
        lambda first, last: transform(numbers[first * N : last * N], N),
        A.size // N,
        worthwhile=A.nbytes > WORTH_A_THREAD,
    )
    return A
