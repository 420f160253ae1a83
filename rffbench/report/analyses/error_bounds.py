"""What theory promises of random Fourier features: bounds on the error of an entry, of all of them, of the matrix.

All are for the paired form (or the complex one, whose Gram matrix has the same real part): k̃(x, x′) is the mean of m
independent cos wⱼᵀ(x − x′), each in [−1, 1]. In the √2·cos(wᵀx + b) form the terms lie in [−2, 2], and a bound on ε
needs four times as many features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import lambertw


def sup_error_bound(D: ArrayLike, d: int, sigma_p: float, diameter: float, delta: float) -> NDArray[np.float64]:
    """ε that sup |φᵀφ′ − k| over a set of ``diameter`` in ℝᵈ stays below with probability 1 − ``delta``.

    Solves 2⁸(σ_p·diam/ε)²·exp(−Dε²/(4(d + 2))) = δ, σ_p² = E‖w‖² (Rahimi & Recht 2007, Claim 1): with
    a = D/(4(d + 2)) it is aε²·exp(aε²) = 2⁸a(σ_p·diam)²/δ, so ε = √(W(2⁸a(σ_p·diam)²/δ)/a), W Lambert's function.
    Infinite where σ_p is, as the Laplacian kernel's.
    """
    a = np.asarray(D, dtype=np.float64) / (4 * (d + 2))
    if np.isinf(sigma_p):
        return np.full_like(a, np.inf)
    return np.sqrt(lambertw(2**8 * a * (sigma_p * diameter) ** 2 / delta).real / a)


def entry_error_bound(m: ArrayLike, delta: float) -> NDArray[np.float64]:
    """ε that |k̃ − k| of one pair of points stays below with probability 1 − ``delta``: √(2·ln(2/δ)/m).

    Hoeffding's inequality for the mean of m terms in [−1, 1], P(|k̃ − k| ≥ ε) ≤ 2·exp(−mε²/2): m = O(log(1/δ)/ε²)
    (Musco's notes, Section 3). For N pairs at once, with δ/N in δ's place.
    """
    return np.sqrt(2 * np.log(2 / delta) / np.asarray(m, dtype=np.float64))


def spectral_bound_from_entries(m: ArrayLike, n: ArrayLike, delta: float) -> NDArray[np.float64]:
    """What ‖K̃ − K‖₂ ≤ n·max|k̃ − k| stays below with probability 1 − ``delta``, each entry by Hoeffding.

    n·√(2·ln(n(n − 1)/δ)/m): below √n from about m = 2n·ln(n²/δ) on (Musco's notes, Section 4.3: m ≈ n).
    """
    n = np.asarray(n, dtype=np.float64)
    return n * np.sqrt(2 * np.log(n * (n - 1) / delta) / np.asarray(m, dtype=np.float64))


def spectral_bound_by_concentration(m: ArrayLike, n: ArrayLike, kernel_norm: ArrayLike) -> NDArray[np.float64]:
    """What E‖K̃ − K‖₂ stays below by matrix concentration: √(2n‖K‖₂·ln(2n)/m) + 2n·ln(2n)/(3m).

    K̃ is the mean of m independent positive semi-definite matrices of norm n at most and mean K, whose squares have a
    mean of norm n‖K‖₂ at most (J. Tropp, "An introduction to matrix concentration inequalities", 2015, Corollary
    6.2.1). Where ‖K‖₂ is about √n it is below √n from about m = √n·log n on: the m ≈ √n of Musco's notes, Section 4.3.
    Where ‖K‖₂ grows as n, as for points of one distribution at a fixed bandwidth, that takes m ≈ n·log n.
    """
    m, n, norm = (np.asarray(value, dtype=np.float64) for value in (m, n, kernel_norm))
    log = np.log(2 * n)
    return np.sqrt(2 * n * norm * log / m) + 2 * n * log / (3 * m)


def delta_error_bound(s: ArrayLike, surrogate: float, effective: float, delta: float) -> NDArray[np.float64]:
    """ε that ‖(K + nλI)^−½(K̃ − K)(K + nλI)^−½‖₂ stays below with probability 1 − ``delta``, of s frequencies drawn from
    the surrogate distribution: s = D·(1/ε² + 2/(3ε))·ln(16d/δ) (Liu et al. 2020, Lemma 1, Eq. 17).

    D (``surrogate``) and d (``effective``) are of Eqs. 10 and 5. With r = s/(D·ln(16d/δ)), ε = 1/(√(1/9 + r) − 1/3).
    """
    ratio = np.asarray(s, dtype=np.float64) / (surrogate * np.log(16 * effective / delta))
    return 1 / (np.sqrt(1 / 9 + ratio) - 1 / 3)
