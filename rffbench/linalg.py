"""The hot kernels: cosines and sines of X·W, and symmetric matrices in packed triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
