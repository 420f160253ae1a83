"""Positive features: what a column is, the variances of the papers, OPRF's parameter, centring, coupled weights."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from rffbench import OrthogonalRandomFeatures, PositiveFeatures
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.features.activation.positive import optimal_tilt
from rffbench.kernels import ExponentialKernel, GaussianKernel
from tests.helpers.kernel_rates import errors, slope

pytestmark = pytest.mark.usefixtures("one_thread")
X = np.random.default_rng(0).normal(size=(30, 5)) / 3 + 0.5
every_form = pytest.mark.parametrize("form", ["oprf", "hyperbolic", "exp"])


def log_second_moment(A, r, d):
    """log E[f(u)²f(u′)²] of f less that of the kernel's square, of ‖u + u′‖² = r."""
    return d * np.log(1 - 4 * A) - d / 2 * np.log(1 - 8 * A) + (2 * (1 - 4 * A) / (1 - 8 * A) - 1) * r


@pytest.mark.parametrize("kernel", [GaussianKernel(0.7), ExponentialKernel(0.7)])
@every_form
def test_a_column_is_the_exponential_that_the_formula_says(form, kernel):
    map_ = PositiveFeatures(40, form=form, kernel=kernel, random_state=1).fit(X)
    w, A, d = map_.frequencies_, map_.tilt_, X.shape[1]
    assert (A < 0) == (form == "oprf")
    unit = np.sqrt(0.7 if kernel.name == "exponential" else 1.4)
    moved, squares = unit * (X - X.mean(axis=0)), unit**2 * (X**2).sum(axis=1, keepdims=True)
    f = (1 - 4 * A) ** (d / 4) * np.exp(
        A * (w**2).sum(axis=0) + np.sqrt(1 - 4 * A) * moved @ w - (moved**2).sum(axis=1, keepdims=True)
    )
    if form == "hyperbolic":
        f = np.hstack([f, np.exp(-moved @ w - (moved**2).sum(axis=1, keepdims=True))])
    factor = np.exp(squares / 2) if kernel.name == "exponential" else 1
    np.testing.assert_allclose(map_.transform(X), factor * f / np.sqrt(40), rtol=1e-10)
    assert map_.transform(X).min() > 0


def test_weights_are_the_frequencies_of_the_map_of_that_name():
    other = OrthogonalRandomFeatures(30, gamma=0.5, random_state=4).fit(X)
    map_ = PositiveFeatures(15, weights="orthogonal", gamma=3.0, random_state=4).fit(X)
    np.testing.assert_array_equal(map_.frequencies_, other.frequencies_)


@pytest.mark.slow
@every_form
def test_variances_are_those_of_the_papers(form):
    x = np.array([[0.3, 0.1, -0.2], [0.1, 0.4, 0.3]])
    k, r, columns, draws = np.exp(-((x[0] - x[1]) ** 2).sum() / 2), ((x[0] + x[1]) ** 2).sum(), 8, 4000
    given = {"form": form, "weights": "iid", "center": False, "gamma": 0.5}
    maps = [PositiveFeatures(columns, random_state=seed, **given).fit(x) for seed in range(draws)]
    found = np.array([np.prod(each.transform(x), axis=0).sum() for each in maps])
    expected = k**2 * np.expm1(log_second_moment(maps[0].tilt_, r, 3)) / columns
    if form == "hyperbolic":
        expected *= 1 - np.exp(-r)
    assert found.mean() == pytest.approx(k, abs=4 * np.sqrt(expected / draws))
    assert found.var() == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize("r", [1e-9, 0.3, 5.0, 1e6])
def test_oprf_has_the_best_parameter(r, d):
    best = minimize_scalar(lambda rho: log_second_moment((1 - 1 / rho) / 8, r, d), bounds=(1e-9, 1), method="bounded",
                           options={"xatol": 1e-12})  # fmt: skip
    found = optimal_tilt(r, d)
    assert found <= 0
    assert log_second_moment(found, r, d) <= best.fun + 1e-9
    assert optimal_tilt(0.0, d) == 0


def test_oprf_takes_the_mean_over_pairs_of_training_rows():
    for center in (True, False):
        rows = X - X.mean(axis=0) if center else X
        mean = ((rows[:, None] + rows) ** 2).sum(axis=2).mean()
        map_ = PositiveFeatures(10, center=center, gamma=0.7).fit(X)
        assert map_.tilt_ == pytest.approx(optimal_tilt(1.4 * mean, 5))


@every_form
def test_a_constant_added_to_all_rows_changes_nothing(form):
    near, far = (PositiveFeatures(20, form=form, random_state=0).fit_transform(X + shift) for shift in (0, 50))
    np.testing.assert_allclose(far, near, rtol=1e-8)
    away = PositiveFeatures(20, form=form, random_state=0).fit_transform((X + 50).astype(np.float32))
    np.testing.assert_allclose(away, near, rtol=2e-3)
    assert not np.allclose(PositiveFeatures(20, form=form, center=False, random_state=0).fit_transform(X + 1), near)


def test_an_exponential_kernel_is_a_gaussian_one_times_a_factor_of_each_row():
    of_gaussian = PositiveFeatures(20, gamma=0.4, random_state=0).fit_transform(X)
    of_exponential = PositiveFeatures(20, kernel="exponential", gamma=0.8, random_state=0).fit_transform(X)
    np.testing.assert_allclose(of_exponential, of_gaussian * np.exp(0.4 * (X**2).sum(axis=1))[:, None], rtol=1e-10)


@pytest.mark.parametrize(("form", "less"), [("oprf", 0.75), ("exp", 0.95)])
def test_coupled_weights_have_less_error(form, less):
    rows = np.random.default_rng(1).normal(size=(12, 8)) / 4

    def error(weights):
        return np.sqrt(
            np.mean(errors(PositiveFeatures(form=form, weights=weights), "gaussian", X=rows, sizes=[64]) ** 2)
        )

    iid, orthogonal, simplex = map(error, ("iid", "orthogonal", "simplex"))
    assert orthogonal < iid
    assert simplex < less * orthogonal


def test_centred_rows_and_oprf_have_less_error_than_the_first_paper():
    rows = np.random.default_rng(1).normal(size=(12, 8)) / 2 + 0.3

    def error(**given):
        return np.sqrt(np.mean(errors(PositiveFeatures(weights="iid", **given), "gaussian", X=rows, sizes=[64]) ** 2))

    assert error(form="oprf") < error(form="exp") < 0.5 * error(form="exp", center=False)


def test_lengths_are_units_of_the_inputs():
    lengths = [0.5, 2.0, 1.0, 3.0, 1.0]
    scaled = PositiveFeatures(12, random_state=1).fit_transform(X / lengths)
    given = PositiveFeatures(12, kernel=GaussianKernel(lengths=lengths), random_state=1).fit_transform(X)
    np.testing.assert_allclose(given, scaled, rtol=1e-10)


@pytest.mark.slow
@every_form
@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_the_error_falls_as_one_over_the_root_of_the_columns_without_centring_too(form, kernel):
    value, error = slope(errors(PositiveFeatures(form=form, center=False), kernel, gamma=0.1, true_gamma=0.1))
    assert abs(value + 0.5) < 3.5 * error


@pytest.mark.parametrize(
    ("given", "kernel", "message"),
    [
        ({}, "laplacian", "positive needs the gaussian or exponential kernel, got laplacian"),
        ({"form": "cosine"}, "gaussian", "form must be one of 'oprf', 'hyperbolic', 'exp', got 'cosine'"),
        ({"weights": "sorf"}, "gaussian", "weights must be one of 'iid', 'orthogonal', 'simplex', got 'sorf'"),
        ({"center": "mean"}, "gaussian", "center must be one of True, False, got 'mean'"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(given, kernel, message):
    with pytest.raises(ConfigError, match=message):
        make_features({"name": "positive", **given}, kernel=kernel, gamma=1.0, n_features=8)


def test_hyperbolic_columns_come_in_pairs():
    with pytest.raises(ValueError, match=r"n_components must be even with form 'hyperbolic', .* got 7"):
        PositiveFeatures(7, form="hyperbolic").fit(X)


@pytest.mark.parametrize("signed", [True, False])
def test_the_signs_of_qr_matter_to_positive_features(signed):
    """google-research #436: LAPACK's Q alone is not uniform, so that E[exp(2wᵀu − 2‖u‖²)] is not 1."""
    normal, lengths = np.random.default_rng(0).normal(size=(2, 8000, 4, 4))
    Q, R = np.linalg.qr(normal)
    signs = np.sign(np.einsum("nii->ni", R))[:, None] if signed else 1
    w_u = (signs * Q)[:, 0] * np.linalg.norm(lengths, axis=1) * 0.7  # u = 0.7·e₁
    found = np.exp(2 * w_u - 2 * 0.7**2).mean(axis=1)
    off = abs(found.mean() - 1) / (found.std() / np.sqrt(len(found)))
    assert off < 4 if signed else off > 10
    assert signed or 0.75 < found.mean() < 0.85
