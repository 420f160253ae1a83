"""Theoretical bounds on the errors of random Fourier features: of one entry, of all entries, and of the matrix.

All are for the paired form (and for the complex form, whose Gram matrix has the same real part): k̃(x, x′) is the mean
of m independent cos wⱼᵀ(x − x′), each in [−1, 1]. In the form √2·cos(wᵀx + b) the terms lie in [−2, 2], and the same
bound on ε needs four times as many features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import lambertw


def sup_error_bound(D: ArrayLike, d: int, sigma_p: float, diameter: float, delta: float) -> NDArray[np.float64]:
    """The ε with sup |φᵀφ′ − k| < ε, over a set of ``diameter`` in ℝᵈ, with probability 1 − ``delta``.

    Solves 2⁸(σ_p·diam/ε)²·exp(−Dε²/(4(d + 2))) = δ, σ_p² = E‖w‖² (Rahimi & Recht 2007, Claim 1): with
    a = D/(4(d + 2)) it is aε²·exp(aε²) = 2⁸a(σ_p·diam)²/δ, so ε = √(W(2⁸a(σ_p·diam)²/δ)/a), W Lambert's function.
    Infinite if σ_p is, as for the Laplacian kernel.
    """
    a = np.asarray(D, dtype=np.float64) / (4 * (d + 2))
    if np.isinf(sigma_p):
        return np.full_like(a, np.inf)
    return np.sqrt(lambertw(2**8 * a * (sigma_p * diameter) ** 2 / delta).real / a)


def entry_error_bound(m: ArrayLike, delta: float) -> NDArray[np.float64]:
    """The ε with |k̃ − k| < ε, for one pair of points, with probability 1 − ``delta``: √(2·ln(2/δ)/m).

    Hoeffding's inequality for the mean of m terms in [−1, 1], P(|k̃ − k| ≥ ε) ≤ 2·exp(−mε²/2): m = O(log(1/δ)/ε²)
    (Musco's notes, Section 3). For N pairs at once, use δ/N.
    """
    return np.sqrt(2 * np.log(2 / delta) / np.asarray(m, dtype=np.float64))


def spectral_bound_from_entries(m: ArrayLike, n: ArrayLike, delta: float) -> NDArray[np.float64]:
    """A bound on ‖K̃ − K‖₂ ≤ n·max|k̃ − k| with probability 1 − ``delta``, by Hoeffding's inequality for each entry.

    n·√(2·ln(n(n − 1)/δ)/m): below √n from about m = 2n·ln(n²/δ) on (Musco's notes, Section 4.3: m ≈ n).
    """
    n = np.asarray(n, dtype=np.float64)
    return n * np.sqrt(2 * np.log(n * (n - 1) / delta) / np.asarray(m, dtype=np.float64))


def spectral_bound_by_concentration(m: ArrayLike, n: ArrayLike, kernel_norm: ArrayLike) -> NDArray[np.float64]:
    """A bound on E‖K̃ − K‖₂ by matrix concentration: √(2n‖K‖₂·ln(2n)/m) + 2n·ln(2n)/(3m).

    K̃ is the mean of m independent positive semi-definite matrices with norm at most n and mean K; the mean of their
    squares has a norm of at most n‖K‖₂ (J. Tropp, "An introduction to matrix concentration inequalities", 2015,
    Corollary 6.2.1). If ‖K‖₂ is about √n, the bound is below √n from about m = √n·log n on: the m ≈ √n of Musco's
    notes, Section 4.3. If ‖K‖₂ grows as n, as for points of one distribution at a fixed bandwidth, it needs m ≈ n·log
    n.
    """
    m, n, norm = (np.asarray(value, dtype=np.float64) for value in (m, n, kernel_norm))
    log = np.log(2 * n)
    return np.sqrt(2 * n * norm * log / m) + 2 * n * log / (3 * m)
