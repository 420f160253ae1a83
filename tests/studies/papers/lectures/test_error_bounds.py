"""Promises of the bounds: hand-computed values, and that what is measured keeps below them."""

import math

import numpy as np
import pytest

from rffbench import RandomFourierFeatures
from rffbench.kernels import make_spectral_kernel
from rffbench.trials.measuring import MapOnPoints, Points
from rffbench.trials.metrics import MEASURES
from studies.papers.lectures import error_bounds as bounds


def test_the_uniform_bound_where_lamberts_function_is_known():
    """D = 4(d + 2) and 2⁸(σ·diam)²/δ = e give W(e) = 1, ε = 1; D = 8(d + 2) and e², W(2e²) = 2, ε = √(2/2)."""
    assert bounds.sup_error_bound(16, 2, 1.0, math.sqrt(math.e * 0.01 / 256), 0.01) == pytest.approx(1)
    diameter = math.sqrt(math.e**2 * 0.01 / 256)
    assert bounds.sup_error_bound(32, 2, 1.0, diameter, 0.01) == pytest.approx(1)
    assert bounds.sup_error_bound(32, 2, 3.0, diameter / 3, 0.01) == pytest.approx(1)


def test_the_uniform_bound_solves_the_theorems_inequality():
    D = np.array([10.0, 1000.0, 1e5])
    e = bounds.sup_error_bound(D, 10, 3.0, 2.5, 0.05)
    assert 2**8 * (3.0 * 2.5 / e) ** 2 * np.exp(-D * e**2 / (4 * 12)) == pytest.approx(np.full(3, 0.05))


def test_a_density_without_a_variance_has_no_uniform_bound():
    kernel = make_spectral_kernel("laplacian", 1.0)
    sigma_p = math.sqrt(3 * kernel.spectral_variance)
    assert bounds.sup_error_bound([10, 20], 3, sigma_p, 1.0, 0.1).tolist() == [math.inf, math.inf]


def test_bounds_of_entries_and_norms_by_hand():
    assert bounds.entry_error_bound(800, 2 * math.exp(-4)) == pytest.approx(0.1)
    assert bounds.spectral_bound_from_entries(8, 2, 2 / math.e) == pytest.approx(1)
    assert bounds.spectral_bound_from_entries(18, 3, 6 / math.e) == pytest.approx(1)
    n = math.e**2 / 2  # ln 2n = 2
    by_hand = math.sqrt(2 * n * 3.0 * 2 / 6) + 2 * n * 2 / 18
    assert bounds.spectral_bound_by_concentration(6, n, 3.0) == pytest.approx(by_hand)


@pytest.mark.parametrize("name", ["gaussian", "cauchy"])
def test_the_spectral_variance_is_the_kernels_curvature_at_0(name):
    kernel = make_spectral_kernel(name, 0.7)
    h = 1e-4
    curvature = (2 - 2 * kernel([[0.0]], [[h]])[0, 0]) / h**2
    assert kernel.spectral_variance == pytest.approx(curvature, rel=1e-5)
    W = kernel.sample(np.random.default_rng(0), 200_000, 2)
    assert kernel.spectral_variance == pytest.approx(float(np.mean(W**2)), rel=0.02)


def test_what_is_measured_keeps_below_its_bound():
    """Of 100 draws: an entry leaves Hoeffding's bound in at most δ of them, all entries at once theirs too; the mean
    norm is below the one that concentration gives, which is no looser than ten times."""
    X = np.random.default_rng(0).random((40, 3))
    points, m, delta = Points(X, make_spectral_kernel("gaussian", 2.0)), 50, 0.05
    draws = [RandomFourierFeatures(2 * m, gamma=2.0, random_state=seed).fit(X) for seed in range(100)]
    maps = [MapOnPoints(features, points) for features in draws]
    entry = bounds.entry_error_bound(m, delta)
    outside = np.mean([mapped.entries > entry for mapped in maps])
    assert outside <= delta
    assert np.mean([mapped.entries > entry / 4 for mapped in maps]) > delta
    sigma_p = math.sqrt(3 * points.kernel.spectral_variance)
    uniform = bounds.sup_error_bound(m, 3, sigma_p, points.diameter, delta)
    every = bounds.entry_error_bound(m, delta / (40 * 39 / 2))
    sup = np.array([MEASURES["sup_error"](mapped) for mapped in maps])
    assert np.mean(sup > every) <= delta
    assert every < uniform
    norm = np.mean([mapped.spectral_error for mapped in maps])
    concentration = bounds.spectral_bound_by_concentration(m, 40, points.kernel_norm)
    assert norm < concentration < bounds.spectral_bound_from_entries(m, 40, delta)
    assert concentration < 10 * norm
