"""Kernels against their formulas, scikit-learn's, and the means of what random features are made of."""

import math
import tracemalloc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic
from sklearn.metrics.pairwise import polynomial_kernel

from rffbench import RandomFourierFeatures
from rffbench.kernels import (
    ALIASES,
    KERNELS,
    SPECTRAL_KERNELS,
    TRAITS,
    ActivationKernel,
    IsotropicKernel,
    Kernel,
    MaclaurinKernel,
    MaternKernel,
    ProductKernel,
    kernel_class,
    kernel_in_words,
    make_kernel,
    make_kernel_with,
    make_spectral_kernel,
    mean_abs_coordinate,
    with_trait,
)
from rffbench.linalg.kernel_rows import add_kernel_rows, kernel_product, kernel_rows, unit_columns
from tests.helpers.cases import others_slow

GAMMA = 0.7
A, B = np.array([0.3, -1.0, 0.5]), np.array([1.1, 0.2, 0.1])  # Δ = (−0.8, −1.2, 0.4), ‖Δ‖² = 2.24, AᵀB = 0.18
R = math.sqrt(2.24)
COSINE = 0.18 / math.sqrt(1.34 * 1.26)
ANGLE = math.acos(COSINE)
FORMULA = {
    "gaussian": np.exp(-GAMMA * 2.24),
    "laplacian": np.exp(-GAMMA * (0.8 + 1.2 + 0.4)),
    "cauchy": 1 / ((1 + GAMMA * 0.64) * (1 + GAMMA * 1.44) * (1 + GAMMA * 0.16)),
    "matern": (1 + math.sqrt(3) * GAMMA * R) * np.exp(-math.sqrt(3) * GAMMA * R),
    "rational-quadratic": 1 / (1 + GAMMA * 2.24),
    "perceptron": 1 - 0.5 * GAMMA * R,  # Γ(3/2)/(√π Γ(2)) = ½
    "polynomial": (GAMMA * 0.18 + 1) ** 3,
    "exponential": np.exp(GAMMA * 0.18),
    "arc-cosine": math.sqrt(1.34 * 1.26) * (math.sin(ANGLE) + (math.pi - ANGLE) * COSINE) / math.pi,
}
DENSITY = {
    "gaussian": stats.norm(scale=np.sqrt(2 * GAMMA)),
    "laplacian": stats.cauchy(scale=GAMMA),
    "cauchy": stats.laplace(scale=np.sqrt(GAMMA)),
    "matern": stats.t(df=3, scale=GAMMA),  # 2ν degrees of freedom
}
# Other parameters than the defaults.
FURTHER = [
    ("matern", {"nu": 0.5}), ("matern", {"nu": 2.5}), ("matern", {"nu": 0.8}), ("rational-quadratic", {"alpha": 2.3}),
    ("polynomial", {"degree": 4, "c": 0.0}), ("arc-cosine", {"order": 0}),
]  # fmt: skip
EVERY = [*((name, {}) for name in KERNELS), *FURTHER]
every_kernel = pytest.mark.parametrize(("name", "parameters"), EVERY)


def made(name, parameters=None, gamma=GAMMA):
    return make_kernel(name, gamma if KERNELS[name].has_bandwidth else 1.0, **(parameters or {}))


def having(trait, quick=None):
    """Kernels that have it; where ``quick`` names some, all but their defaults are slow."""
    cases = [each for each in EVERY if KERNELS[each[0]].has(trait)]
    if quick:
        cases = others_slow(cases, [(name, {}) for name in quick])
    return pytest.mark.parametrize(("name", "parameters"), cases)


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_has_its_formula(name):
    kernel = made(name)
    K = kernel(np.stack([A, B]))
    np.testing.assert_allclose([K[0, 1], K[1, 0]], FORMULA[name], rtol=1e-12)
    np.testing.assert_allclose(kernel([A], np.stack([A, B])), K[:1], rtol=1e-14)


@every_kernel
def test_kernel_is_symmetric_and_positive_semi_definite_and_its_diagonal_is_known(name, parameters):
    X = 0.3 * np.random.default_rng(0).normal(size=(40, 3))  # within the perceptron's ball
    kernel = made(name, parameters)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-10
    np.testing.assert_allclose(kernel.diagonal(X), K.diagonal(), rtol=1e-12)
    if kernel.unit_diagonal:
        np.testing.assert_array_equal(K.diagonal(), 1)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 0.3, 3.7, 60.0])
def test_matern_is_scikit_learns_whose_length_scale_is_sigma(nu):
    X = np.random.default_rng(1).normal(size=(20, 4))
    kernel = make_kernel("matern", kernel_class("matern").gamma_from_sigma(1.6), nu=nu)
    np.testing.assert_allclose(kernel(X), Matern(length_scale=1.6, nu=nu)(X), rtol=1e-9)


def test_matern_of_great_smoothness_is_near_the_gaussian_also_where_bessel_functions_overflow():
    x = np.array([0.0, 1e-200, 1e-9, 1e-3, 0.05, 0.5, 2.0, 1e200])[:, None]
    sigma = 1.3
    smooth = make_kernel("matern", kernel_class("matern").gamma_from_sigma(sigma), nu=100)(x[:1], x)
    np.testing.assert_allclose(smooth, make_kernel("gaussian", 1 / (2 * sigma**2))(x[:1], x), atol=5e-3)
    assert np.all(np.diff(smooth[0]) <= 0)
    for nu in (0.1, 1.0, 2.5):  # at the ends of what numbers there are
        assert np.isfinite(values := make_kernel("matern", 1.0, nu=nu)(x[:1], x)).all()
        assert values[0, 0] == 1
        assert values[0, -1] == 0


def test_rational_quadratic_and_polynomial_are_scikit_learns():
    X = np.random.default_rng(2).normal(size=(20, 4))
    sigma = 0.9
    kernel = make_kernel("rational-quadratic", kernel_class("rational-quadratic").gamma_from_sigma(sigma), alpha=1.7)
    np.testing.assert_allclose(kernel(X), RationalQuadratic(length_scale=sigma, alpha=1.7)(X), rtol=1e-12)
    for degree, c in ((1, 0.0), (2, 1.0), (5, 0.5)):
        kernel = make_kernel("polynomial", 0.3, degree=degree, c=c)
        np.testing.assert_allclose(kernel(X), polynomial_kernel(X, degree=degree, gamma=0.3, coef0=c), rtol=1e-10)


@having(TRAITS["spectral"], quick=("gaussian", "laplacian", "matern"))
def test_mean_cosine_over_the_spectral_density_is_the_kernel(name, parameters):
    kernel = made(name, parameters)
    W = kernel.sample(np.random.default_rng(1), 100_000, 3)
    cosines = np.cos((A - B) @ W)
    error = cosines.std() / np.sqrt(len(cosines))
    assert error < 3e-3  # a bandwidth wrong by 2 moves the mean by more than 0.1
    assert abs(cosines.mean() - kernel([A], [B])[0, 0]) < 4 * error


@having(TRAITS["spectral"], quick=("gaussian", "cauchy"))
def test_the_error_of_the_mean_cosine_falls_as_one_over_the_root_of_their_number(name, parameters):
    kernel = made(name, parameters)
    W = kernel.sample(np.random.default_rng(2), 64_000, 3)
    errors = np.cos((A - B) @ W) - kernel([A], [B])[0, 0]
    rms = [np.sqrt(np.square(errors.reshape(-1, s).mean(axis=1)).mean()) for s in (20, 80, 320)]
    slope = np.polyfit(np.log([20, 80, 320]), np.log(rms), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.1)


@pytest.mark.parametrize("name", with_trait(ProductKernel))
def test_inverse_cdf_and_samples_have_the_stated_density(name):
    kernel = made(name)
    U = np.random.default_rng(2).uniform(size=(50, 3))
    U[0] = [2.0**-31, 0.5, 1 - 2.0**-31]
    np.testing.assert_allclose(kernel.inverse_cdf(U), DENSITY[name].ppf(U).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", DENSITY)
def test_coordinates_of_frequencies_have_the_stated_density(name):
    W = made(name).sample(np.random.default_rng(3), 2000, 3)
    assert stats.kstest(W[0], DENSITY[name].cdf).pvalue > 1e-3


def test_a_matern_frequency_is_a_multivariate_t_variable():
    kernel = make_kernel("matern", GAMMA, nu=2.0)
    d = 5  # ‖w‖²/(dγ²) of a multivariate t variable with 2ν degrees of freedom has the law F(d, 2ν)
    squares = np.square(kernel.sample(np.random.default_rng(4), 3000, d)).sum(axis=0) / (d * GAMMA**2)
    assert stats.kstest(squares, stats.f(d, 4).cdf).pvalue > 1e-3


@having(IsotropicKernel)
def test_radii_are_the_lengths_of_frequencies_and_directions_are_uniform(name, parameters):
    kernel = made(name, parameters)
    W = kernel.sample(np.random.default_rng(5), 4000, 4)
    lengths = np.linalg.norm(W, axis=0)
    assert stats.ks_2samp(lengths, kernel.radii(np.random.default_rng(6), 4000, 4)).pvalue > 1e-3
    assert np.abs((W / lengths).mean(axis=1)).max() < 4 / math.sqrt(4 * 4000)
    np.testing.assert_array_equal(
        kernel.radii(np.random.default_rng(7), 9, 4), kernel.radii(np.random.default_rng(7), 20, 4)[:9]
    )


@having(TRAITS["spectral"])
def test_the_spectral_variance_is_the_curvature_at_0(name, parameters):
    kernel, h = made(name, parameters), 1e-4
    curvature = 2 * (1 - kernel([[0.0]], [[h]])[0, 0]) / h**2
    if math.isinf(kernel.spectral_variance):
        assert curvature > 100
    else:
        assert kernel.spectral_variance == pytest.approx(curvature, rel=0.01)


@having(MaclaurinKernel)
def test_the_maclaurin_series_is_the_kernel(name, parameters):
    kernel = made(name, parameters)
    X = 0.6 * np.random.default_rng(8).normal(size=(10, 3))
    count = 40 if kernel.highest_degree is None else kernel.highest_degree + 1
    coefficients = kernel.coefficients(count)
    assert (coefficients >= 0).all()
    series = np.polynomial.polynomial.polyval(X @ X.T, coefficients)
    factor = kernel.row_factor(X)
    np.testing.assert_allclose(series * np.outer(factor, factor), kernel(X), rtol=1e-10)
    assert not kernel.coefficients(count + 3)[count:].any() or kernel.highest_degree is None


@having(ActivationKernel)
def test_the_mean_of_activations_is_the_kernel(name, parameters):
    kernel = made(name, parameters)
    X = np.stack([A, B, np.zeros(3)])
    Z = kernel.activation(X @ kernel.weights(np.random.default_rng(9), 200_000, 3))
    for i, j in ((0, 1), (0, 0), (0, 2)):
        products = Z[i] * Z[j]
        error = products.std() / math.sqrt(len(products))
        assert abs(products.mean() - kernel(X)[i, j]) <= 4 * error + 1e-12
    assert kernel.activation(np.zeros(3, np.float32)).dtype == np.float32


@having(TRAITS["spectral"])
def test_first_frequencies_of_a_larger_draw_are_the_smaller_draw(name, parameters):
    kernel = made(name, parameters)
    small = kernel.sample(np.random.default_rng(4), 7, 5)
    large = kernel.sample(np.random.default_rng(4), 40, 5)
    assert small.shape == (5, 7)
    np.testing.assert_array_equal(large[:, :7], small)


@pytest.mark.parametrize("name", SPECTRAL_KERNELS)
def test_frequencies_are_the_same_in_either_layout_and_the_only_array_of_their_size(name):
    kernel = made(name)
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
    at_once = kernel.spectral_scale * kernel.frequencies(np.random.default_rng(5), 300, 2000).T
    np.testing.assert_array_equal(by_frequency, at_once)


# ---- Lengths -----------------------------------------------------------------------------------------------

LENGTHS = [0.5, 2.0, 1.5]


@every_kernel
def test_lengths_measure_the_rows(name, parameters):
    X = 0.3 * np.random.default_rng(10).normal(size=(12, 3))
    plain, kernel = made(name, parameters), made(name, {**parameters, "lengths": LENGTHS})
    np.testing.assert_allclose(kernel(X), plain(X / LENGTHS), rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), plain.diagonal(X / LENGTHS), rtol=1e-12)
    np.testing.assert_allclose(kernel.scaled(csr_matrix(X)).toarray(), X / LENGTHS)
    assert kernel.parameters["lengths"] == LENGTHS
    with pytest.raises(ValueError, match="lengths must have one length for each of the 2 inputs, got 3"):
        kernel(X[:, :2])


@having(TRAITS["spectral"])
def test_lengths_are_folded_into_the_frequencies(name, parameters):
    plain, kernel = made(name, parameters), made(name, {**parameters, "lengths": LENGTHS})
    draws = [each.sample(np.random.default_rng(1), 6, 3) for each in (plain, kernel)]
    np.testing.assert_allclose(draws[1], draws[0] / np.array(LENGTHS)[:, None], rtol=1e-14)
    if isinstance(kernel, ProductKernel):
        U = np.random.default_rng(2).uniform(size=(4, 3))
        np.testing.assert_allclose(kernel.inverse_cdf(U), plain.inverse_cdf(U) / np.array(LENGTHS)[:, None])


@pytest.mark.parametrize("lengths", [[1.0, -1.0], [], "long", [1.0, math.nan], 3.0])
def test_wrong_lengths_are_refused(lengths):
    with pytest.raises(ValueError, match="lengths must be positive numbers, one for each input"):
        make_kernel("gaussian", 1.0, lengths=lengths)


# ---- Rows computed by compiled code, or by the kernel itself --------------------------------------------------


@every_kernel
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_rows_and_products_of_every_kernel_are_the_exact_kernels(name, parameters, lengths, monkeypatch):
    monkeypatch.setattr("rffbench.linalg.kernel_rows.BLOCK_NUMBERS", 100)
    X = 0.3 * np.random.default_rng(11).normal(size=(50, 3))
    kernel = made(name, {**parameters, "lengths": lengths})
    exact = kernel(X)
    unit, columns = unit_columns(kernel, X)
    rows = np.empty((5, 50), np.float32)
    points = np.ascontiguousarray(columns[:, :5].T)
    kernel_rows(unit, columns, points, rows)
    np.testing.assert_allclose(rows, exact[:5], atol=2e-5)
    sums, kept = np.ones(50), np.zeros((1, 50), np.float32)
    add_kernel_rows(unit, columns, points, np.arange(5.0), kept, np.array([-1, -1, 0, -1, -1]), sums)
    np.testing.assert_allclose(sums, 1 + np.arange(5) @ exact[:5], atol=2e-4)
    np.testing.assert_allclose(kept[0], exact[2], atol=2e-5)
    weights = np.random.default_rng(12).normal(size=(50, 2))
    product = kernel_product(kernel, np.ascontiguousarray(X.T), weights, X[:7])
    np.testing.assert_allclose(product, exact[:7] @ weights, rtol=1e-10, atol=1e-12)


# ---- The bandwidth -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("gaussian", np.exp(-0.5)), ("laplacian", np.exp(-1)), ("cauchy", 0.5), ("perceptron", 0.0),
     ("rational-quadratic", 1 / 1.5), ("matern", (1 + math.sqrt(3)) * math.exp(-math.sqrt(3)))],
)  # fmt: skip
def test_sigma_is_the_distance_at_which_the_kernel_has_its_known_value(name, value):
    kernel = make_kernel(name, kernel_class(name).gamma_from_sigma(3.0))
    assert kernel([[0.0]], [[3.0]])[0, 0] == pytest.approx(value, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
@pytest.mark.parametrize("sigma", [0, -1.0, "wide", 1e-150, 1e150])
def test_sigma_must_be_a_positive_number_whose_square_is_one_too(name, sigma):
    with pytest.raises(ValueError, match=r"^sigma must (be a positive number|lie between 1e-150 and 1e150, so that)"):
        kernel_class(name).gamma_from_sigma(sigma)
    assert kernel_class(name).gamma_from_sigma(0.01) == pytest.approx(5000 if name == "gaussian" else 100)


@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if kernel.has_bandwidth])
def test_a_gamma_has_the_sigma_that_it_is_of(name):
    of = kernel_class(name)
    assert of.sigma_from_gamma(of.gamma_from_sigma(0.3)) == pytest.approx(0.3, rel=1e-14)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"name": "gaussian", "gamma": 0.125}, "gaussian, σ = 2 (γ = 0.125)"),
        ({"name": "gaussian", "gamma": [50.0, 12.5]}, "gaussian, σ = 0.1 or 0.2 (γ = 50 or 12.5)"),
        ({"name": "matern", "gamma": 0.5, "nu": 1.5}, "matern, σ = 2 (γ = 0.5), nu = 1.5"),
        ({"name": "laplacian", "gamma": "median"}, "laplacian, σ = the median distance"),
        ({"name": "gaussian", "gamma": "scale"}, "gaussian, γ = scale"),
        ({"name": "cauchy", "gamma": {"times_median": [0.5, 1.0]}}, "cauchy, σ = 0.5 or 1 times the median distance"),
        ({"name": "perceptron", "gamma": None}, "perceptron"),
        ({"name": "arc-cosine", "gamma": 1.0, "order": 1}, "arc-cosine, order = 1"),
        ({"name": "./gone.py:Mine", "gamma": 2.0}, "./gone.py:Mine, γ = 2"),
    ],
)
def test_a_kernel_in_words_has_its_bandwidth_as_sigma_and_as_gamma(spec, said):
    assert kernel_in_words(spec) == said


def test_an_unknown_kernel_has_no_sigma():
    with pytest.raises(ValueError, match="did you mean 'gaussian'"):
        kernel_class("gausian").gamma_from_sigma(1.0)


def test_a_kernel_without_a_bandwidth_takes_none():
    with pytest.raises(ValueError, match="gamma must be 1: the arc-cosine kernel has no bandwidth"):
        make_kernel("arc-cosine", 0.5)
    with pytest.raises(ValueError, match="sigma is not for the arc-cosine kernel, which has no bandwidth"):
        kernel_class("arc-cosine").gamma_from_sigma(2.0)


@pytest.mark.parametrize(("name", "median"), [("gaussian", 5.0), ("cauchy", 5.0), ("laplacian", 7.0), ("matern", 5.0)])
def test_the_median_distance_is_in_the_kernel_s_own_distance(name, median):
    X = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, -4.0]])  # apart by 5, 5, 8; in the ℓ1 norm by 7, 7, 8
    assert kernel_class(name).median_distance(X) == median
    assert kernel_class(name).median_distance(X[:1]) == 0


@pytest.mark.parametrize(
    ("name", "gamma"), [("gaussian", 1 / 36), ("laplacian", 1 / 12), ("matern", 1 / 6), ("polynomial", 1 / 36)]
)
def test_scale_is_one_over_the_size_of_a_difference_in_the_kernels_norm(name, gamma):
    assert KERNELS[name].gamma_from_variance(9.0, 4) == pytest.approx(gamma)


@pytest.mark.parametrize(("d", "mean"), [(1, 1.0), (2, 2 / np.pi), (3, 0.5), (4, 4 / (3 * np.pi))])
def test_the_mean_size_of_a_coordinate_on_the_sphere(d, mean):
    assert mean_abs_coordinate(d) == pytest.approx(mean, rel=1e-14)


# ---- By name, or as an object --------------------------------------------------------------------------------


def test_an_alias_is_the_kernel_it_stands_for():
    assert ALIASES["laplacian-l2"] == ("matern", {"nu": 0.5})
    assert make_kernel("laplacian-l2", GAMMA) == MaternKernel(GAMMA, nu=0.5)
    assert make_kernel("laplacian-l2", GAMMA)([A], [B])[0, 0] == pytest.approx(math.exp(-GAMMA * R), rel=1e-14)


def test_a_map_takes_a_kernel_by_its_name_or_as_an_object_that_can_be_cloned():
    X = np.random.default_rng(13).normal(size=(30, 3))
    plain = RandomFourierFeatures(20, kernel="gaussian", gamma=GAMMA, random_state=0).fit(X)
    for features in (
        RandomFourierFeatures(20, kernel=make_kernel("gaussian", 1.0), gamma=GAMMA, random_state=0),
        RandomFourierFeatures(20, kernel=make_kernel("gaussian", GAMMA), random_state=0),
        RandomFourierFeatures(20, kernel=make_kernel("gaussian", GAMMA), gamma=GAMMA, random_state=0),
    ):
        found = clone(features).fit(X)
        np.testing.assert_array_equal(found.frequencies_, plain.frequencies_)
        assert found.gamma_ == GAMMA
        assert found.kernel_ == make_kernel("gaussian", GAMMA)
    for gamma in (2.0, "median"):
        with pytest.raises(ValueError, match=r"gamma is given twice: .* and 0\.7 in GaussianKernel"):
            RandomFourierFeatures(20, kernel=make_kernel("gaussian", GAMMA), gamma=gamma).fit(X)


def test_a_rule_measures_rows_in_units_of_the_lengths():
    X = np.random.default_rng(14).normal(size=(40, 3))
    for rule in ("scale", "median"):
        kernel = make_kernel("gaussian", lengths=LENGTHS)
        found = RandomFourierFeatures(20, kernel=kernel, gamma=rule, random_state=0).fit(X)
        alike = RandomFourierFeatures(20, gamma=rule, random_state=0).fit(X / LENGTHS)
        assert found.gamma_ == pytest.approx(alike.gamma_, rel=1e-12)
        np.testing.assert_allclose(found.transform(X), alike.transform(X / LENGTHS), atol=1e-10)
        sparse = RandomFourierFeatures(20, kernel=kernel, gamma=rule, random_state=0).fit(csr_matrix(X))
        assert sparse.gamma_ == pytest.approx(alike.gamma_, rel=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_points_of_other_columns_are_refused(name):
    with pytest.raises(ValueError, match=r"dimension|column|argument"):
        made(name)([A], [B[:2]])


def test_unknown_kernel_names_the_nearest():
    with pytest.raises(ValueError, match=r"unknown kernel 'gausian'.*did you mean 'gaussian'"):
        make_kernel("gausian", 1.0)


@pytest.mark.parametrize("gamma", [0, -1, np.nan, np.inf, "wide", None])
def test_gamma_must_be_a_positive_number(gamma):
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        make_kernel("gaussian", gamma)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("matern", {"nu": 0}, "nu must be a positive number, got 0"),
        ("matern", {"nu": 1000}, "nu must be at most 100, got 1000; use the gaussian kernel, its limit"),
        ("matern", {"nuu": 1.5}, "unknown parameter of kernel 'matern': 'nuu'; did you mean 'nu'"),
        ("gaussian", {"nu": 1.5}, r"unknown parameter of kernel 'gaussian': 'nu'.*; nu is one of matern"),
        ("rational-quadratic", {"alpha": -1}, "alpha must be a positive number"),
        ("polynomial", {"degree": 0}, "degree must be a whole number, 1 or more, got 0"),
        ("polynomial", {"c": -1}, "c must be 0 or a positive number, got -1"),
        ("arc-cosine", {"order": 2}, "order must be one of 0, 1, got 2"),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        make_kernel(name, 1.0, **parameters)


def test_values_that_overflow_are_refused_with_what_would_do():
    for name in ("polynomial", "exponential"):
        with pytest.raises(ValueError, match=f"values of the {name} kernel overflow .*; scale the rows"):
            make_kernel(name, 1.0)(np.full((2, 2), 1e160))


def test_a_kernel_without_a_spectral_density_is_refused_with_what_to_use_instead():
    with pytest.raises(ValueError, match=r"no spectral density.*use the perceptron features.*gaussian, laplacian"):
        make_spectral_kernel("perceptron", 1.0)


def test_a_kernel_without_a_trait_is_refused_with_those_that_have_it():
    with pytest.raises(
        ValueError, match="matern kernel does not have a product density; gaussian, laplacian, cauchy have"
    ):
        make_kernel_with(ProductKernel, "matern")


@dataclass(frozen=True)
class Constant(Kernel):
    """k = 1."""

    name: ClassVar[str] = "constant"

    def matrix(self, X, Y):
        return np.ones((len(X), len(X if Y is None else Y)))


def test_a_kernel_needs_its_exact_form_alone():
    kernel = Constant()
    np.testing.assert_array_equal(kernel.diagonal(np.zeros((3, 2))), 1)
    assert kernel.traits() == []
    assert kernel.compiled_form(3) is None
    assert kernel.parameters == {}
