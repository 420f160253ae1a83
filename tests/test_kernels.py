"""Kernels against their formulas, and their spectral densities against the kernels."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from rffbench.kernels import (
    KERNELS,
    SPECTRAL_KERNELS,
    gamma_from_sigma,
    make_kernel,
    make_spectral_kernel,
    mean_abs_coordinate,
    median_distance,
)

GAMMA = 0.7
A, B = np.array([0.3, -1.0, 0.5]), np.array([1.1, 0.2, 0.1])  # Δ = (−0.8, −1.2, 0.4)
FORMULA = {
    "gaussian": np.exp(-GAMMA * (0.64 + 1.44 + 0.16)),
    "laplacian": np.exp(-GAMMA * (0.8 + 1.2 + 0.4)),
    "cauchy": 1 / ((1 + GAMMA * 0.64) * (1 + GAMMA * 1.44) * (1 + GAMMA * 0.16)),
    "perceptron": 1 - 0.5 * GAMMA * np.sqrt(0.64 + 1.44 + 0.16),  # Γ(3/2)/(√π Γ(2)) = ½
}
DENSITY = {
    "gaussian": stats.norm(scale=np.sqrt(2 * GAMMA)),
    "laplacian": stats.cauchy(scale=GAMMA),
    "cauchy": stats.laplace(scale=np.sqrt(GAMMA)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_has_its_formula(name):
    kernel = make_kernel(name, GAMMA)
    K = kernel(np.stack([A, B]))
    np.testing.assert_allclose(K, [[1, FORMULA[name]], [FORMULA[name], 1]], rtol=1e-14)
    np.testing.assert_array_equal(kernel([A], np.stack([A, B])), K[:1])


@pytest.mark.parametrize("name", SPECTRAL_KERNELS)
def test_mean_cosine_over_the_spectral_density_is_the_kernel(name):
    W = make_kernel(name, GAMMA).sample(np.random.default_rng(1), 200_000, 3)
    cosines = np.cos((A - B) @ W)
    error = cosines.std() / np.sqrt(len(cosines))
    assert error < 2e-3  # a bandwidth wrong by 2 moves the mean by more than 0.1
    assert abs(cosines.mean() - FORMULA[name]) < 4 * error


@pytest.mark.parametrize("name", SPECTRAL_KERNELS)
def test_inverse_cdf_and_samples_have_the_stated_density(name):
    kernel = make_kernel(name, GAMMA)
    U = np.random.default_rng(2).uniform(size=(50, 3))
    U[0] = [2.0**-31, 0.5, 1 - 2.0**-31]
    np.testing.assert_allclose(kernel.inverse_cdf(U), DENSITY[name].ppf(U).T, rtol=1e-9, atol=1e-12)
    W = kernel.sample(np.random.default_rng(3), 2000, 3)
    assert stats.kstest(W.ravel(), DENSITY[name].cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", SPECTRAL_KERNELS)
def test_first_frequencies_of_a_larger_draw_are_the_smaller_draw(name):
    kernel = make_kernel(name, GAMMA)
    small = kernel.sample(np.random.default_rng(4), 7, 5)
    large = kernel.sample(np.random.default_rng(4), 40, 5)
    assert small.shape == (5, 7)
    np.testing.assert_array_equal(large[:, :7], small)


@pytest.mark.parametrize("name", SPECTRAL_KERNELS)
def test_frequencies_are_the_same_in_either_layout_and_the_only_array_of_their_size(name):
    kernel = make_kernel(name, GAMMA)
    tracemalloc.start()
    try:
        by_input = kernel.sample(np.random.default_rng(5), 300, 2000, order="C")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert by_input.flags.c_contiguous
    assert peak < 1.3 * by_input.nbytes
    by_frequency = kernel.sample(np.random.default_rng(5), 300, 2000)
    assert by_frequency.flags.f_contiguous
    np.testing.assert_array_equal(by_input, by_frequency)
    at_once = kernel.spectral_scale * kernel._standard(np.random.default_rng(5), (300, 2000)).T
    np.testing.assert_array_equal(by_frequency, at_once)


@pytest.mark.parametrize(
    ("name", "value"), [("gaussian", np.exp(-0.5)), ("laplacian", np.exp(-1)), ("cauchy", 0.5), ("perceptron", 0.0)]
)
def test_sigma_is_the_distance_at_which_the_kernel_has_its_known_value(name, value):
    kernel = make_kernel(name, gamma_from_sigma(name, 3.0))
    assert kernel([[0.0]], [[3.0]])[0, 0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
@pytest.mark.parametrize("sigma", [0, -1.0, "wide", 1e-150, 1e150])
def test_sigma_must_be_a_positive_number_whose_square_is_one_too(name, sigma):
    with pytest.raises(ValueError, match=r"^sigma must (be a positive number|lie between 1e-150 and 1e150, so that)"):
        gamma_from_sigma(name, sigma)
    assert gamma_from_sigma(name, 0.01) == pytest.approx(5000 if name == "gaussian" else 100)


def test_an_unknown_kernel_has_no_sigma():
    with pytest.raises(ValueError, match="did you mean 'gaussian'"):
        gamma_from_sigma("gausian", 1.0)


@pytest.mark.parametrize(("name", "median"), [("gaussian", 5.0), ("cauchy", 5.0), ("laplacian", 7.0)])
def test_the_median_distance_is_in_the_kernel_s_own_distance(name, median):
    X = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, -4.0]])  # apart by 5, 5, 8; in the ℓ1 norm by 7, 7, 8
    assert median_distance(name, X) == median
    assert median_distance(name, X[:1]) == 0


@pytest.mark.parametrize(("d", "mean"), [(1, 1.0), (2, 2 / np.pi), (3, 0.5), (4, 4 / (3 * np.pi))])
def test_the_mean_size_of_a_coordinate_on_the_sphere(d, mean):
    assert mean_abs_coordinate(d) == pytest.approx(mean, rel=1e-14)


@pytest.mark.parametrize("name", KERNELS)
def test_points_of_other_columns_are_refused(name):
    with pytest.raises(ValueError, match=r"dimension|column|argument"):
        make_kernel(name, GAMMA)([A], [B[:2]])


def test_unknown_kernel_names_the_nearest():
    with pytest.raises(ValueError, match=r"unknown kernel 'gausian'.*did you mean 'gaussian'"):
        make_kernel("gausian", 1.0)


@pytest.mark.parametrize("gamma", [0, -1, np.nan, np.inf, "wide", None])
def test_gamma_must_be_a_positive_number(gamma):
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        make_kernel("gaussian", gamma)


def test_a_kernel_without_a_spectral_density_is_refused_with_what_to_use_instead():
    with pytest.raises(ValueError, match=r"no spectral density.*use the perceptron features.*gaussian, laplacian"):
        make_spectral_kernel("perceptron", 1.0)
