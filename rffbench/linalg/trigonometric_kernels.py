"""The compiled part of `trigonometric`: loops over the numbers of a tile."""

import numpy as np

from rffbench.linalg.compiled import compiled


@compiled(fastmath={"contract"}, forceinline=True)
def _sin_and_cos(r, one, half, sin_series, cos_series):
    """sin r and cos r for |r| ≤ π/2."""
    z = r * r
    p = sin_series[-1]
    for k in range(len(sin_series) - 2, -1, -1):
        p = p * z + sin_series[k]
    q = cos_series[-1]
    for k in range(len(cos_series) - 2, -1, -1):
        q = q * z + cos_series[k]
    return r + r * (z * p), one - (half * z - (z * z) * q)


@compiled(fastmath={"contract"})
def cos_sin(phase, cos, cos_step, sin, sin_step, offset, scale, rows, s, plain, pi, sin_series, cos_series):
    """cos, sin ← scale·cos, scale·sin of (phase + offset), for rows of length s with starts ``…_step`` apart."""
    one, half, inverse_pi, rounder, far_limit = plain
    two = one + one
    for i in range(rows):
        phases, far = phase[i * s : i * s + s], False
        cosines, sines = cos[i * cos_step : i * cos_step + s], sin[i * sin_step : i * sin_step + s]
        for j in range(s):
            x = phases[j] + offset[j]
            n = (x * inverse_pi + rounder) - rounder
            r = x
            for k in range(len(pi)):
                r = r - n * pi[k]
            odd = n - two * ((n * half + rounder) - rounder)  # −1 or 1 where n is odd, else 0
            signed_scale = scale[j] * (one - two * (odd * odd))  # cos(r + nπ) = (−1)ⁿ cos r, and so for sin
            sine, cosine = _sin_and_cos(r, one, half, sin_series, cos_series)
            cosines[j] = signed_scale * cosine
            sines[j] = signed_scale * sine
            far |= not (abs(x) <= far_limit)
        if far:  # or NaN
            for j in range(s):
                x = phases[j] + offset[j]
                if not (abs(x) <= far_limit):
                    cosines[j] = scale[j] * np.cos(x)
                    sines[j] = scale[j] * np.sin(x)


@compiled(fastmath={"contract"})
def half_products(phase, y, squares, mixed, plain, single, sin_series, cos_series):
    """squares, mixed ← yᵀsin²(phase/2), yᵀ(sin·cos)(phase/2), for rows of their length.

    With half angles the parity of n does not matter: phase/2 = u + nπ, and both products have the period π. u is
    computed in float64, the rest in the precision of y and the series, float32, with twice the lanes.
    """
    _, half, inverse_pi, rounder, far_limit = plain
    one, half_single = single
    s = len(squares)
    squares[:], mixed[:] = 0, 0
    u = np.empty(s, y.dtype)
    for i in range(len(y)):
        phases, far = phase[i * s : i * s + s], False
        for j in range(s):
            x = half * phases[j]
            u[j] = x - ((x * inverse_pi + rounder) - rounder) * np.pi
            far |= not (abs(x) <= far_limit)
        if far:  # or NaN
            for j in range(s):
                x = half * phases[j]
                if not (abs(x) <= far_limit):
                    u[j] = np.arctan(np.tan(x))
        for j in range(s):
            sine, cosine = _sin_and_cos(u[j], one, half_single, sin_series, cos_series)
            weighted = y[i] * sine
            squares[j] += weighted * sine
            mixed[j] += weighted * cosine


@compiled(fastmath={"contract"})
def sparse_product(data, indices, starts, W, first, out):
    """out ← the product of the CSR rows between ``starts`` with the columns of W from ``first`` on."""
    for i in range(len(out)):
        row = out[i]
        row[:] = 0
        for k in range(starts[i], starts[i + 1]):
            x, w = data[k], W[indices[k], first : first + len(row)]
            for j in range(len(row)):
                row[j] += x * w[j]


@compiled()
def signs(out, step, thresholds, scale, rows):
    """out ← scale where out is at least the threshold, else −scale; rows start ``step`` apart."""
    s = len(thresholds)
    for i in range(rows):
        row = out[i * step : i * step + s]
        for j in range(s):
            row[j] = scale if row[j] >= thresholds[j] else -scale
