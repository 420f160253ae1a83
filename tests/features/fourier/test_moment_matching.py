"""Moment matching: second moments to the last digit, paired draws, less error, and a bias that falls as 1/s."""

import numpy as np
import pytest

from rffbench import MomentMatchingFeatures, OrthogonalRandomFeatures, QuadratureFeatures, RandomFourierFeatures
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.kernels import CauchyKernel, GaussianKernel
from tests.helpers.kernel_rates import errors, slope

pytestmark = pytest.mark.usefixtures("one_thread")
X = np.random.default_rng(0).normal(size=(12, 6)) / 2
both_kernels = pytest.mark.parametrize("kernel", ["gaussian", "cauchy"])


@both_kernels
@pytest.mark.parametrize("columns", [12, 40])
def test_the_second_moments_are_those_of_the_density(columns, kernel):
    W = MomentMatchingFeatures(columns, kernel=kernel, gamma=0.7, random_state=0).fit(X).frequencies_
    np.testing.assert_allclose(2 * W @ W.T / columns, 2 * 0.7 * np.eye(6), atol=1e-12)


def test_frequencies_are_those_of_random_fourier_features_whitened():
    G, W = (kind(40, random_state=1).fit(X).frequencies_ for kind in (RandomFourierFeatures, MomentMatchingFeatures))
    factor = W @ np.linalg.pinv(G)
    np.testing.assert_allclose(factor @ G, W, atol=1e-12)
    np.testing.assert_allclose(factor, factor.T, atol=1e-12)  # the root of a symmetric matrix, and no rotation
    assert np.linalg.eigvalsh(factor).min() > 0


def test_fewer_frequencies_than_inputs_are_orthogonal_and_as_long_as_the_mean():
    W = MomentMatchingFeatures(8, gamma=0.5, random_state=1).fit(X).frequencies_
    np.testing.assert_allclose(W.T @ W, 6 * np.eye(4), atol=1e-12)


def test_lengths_are_units_of_the_inputs():
    lengths = [0.5, 2.0, 1.0, 3.0, 1.0, 0.2]
    for kernel in (GaussianKernel, CauchyKernel):
        given = MomentMatchingFeatures(40, kernel=kernel(0.7, lengths=lengths), random_state=1).fit(X)
        scaled = MomentMatchingFeatures(40, kernel=kernel(0.7), random_state=1).fit(X / lengths)
        np.testing.assert_allclose(given.transform(X), scaled.transform(X / lengths), atol=1e-12)


@both_kernels
def test_the_error_falls_as_one_over_the_root_of_the_columns(kernel):
    sizes = (64, 256, 1024)  # of fewer columns the error is smaller still
    value, error = slope(errors(MomentMatchingFeatures(), kernel, sizes=sizes), sizes)
    assert abs(value + 0.5) < 3.5 * error


def mean_square(kind, kernel, columns, rows):
    return np.mean(errors(kind(), kernel, X=rows, sizes=[columns], gamma=1 / 32, true_gamma=1 / 32) ** 2)


def test_its_error_is_below_that_of_orthogonal_and_quadrature_features_where_columns_are_few():
    rows = np.random.default_rng(0).normal(size=(12, 16))
    matched, orthogonal, quadrature, plain = (
        mean_square(kind, "gaussian", 64, rows)
        for kind in (MomentMatchingFeatures, OrthogonalRandomFeatures, QuadratureFeatures, RandomFourierFeatures)
    )
    assert matched < 0.95 * min(orthogonal, quadrature)
    assert matched < 0.3 * plain
    assert mean_square(MomentMatchingFeatures, "cauchy", 64, rows) < 0.7 * mean_square(
        RandomFourierFeatures, "cauchy", 64, rows
    )


@pytest.mark.slow
def test_the_bias_falls_as_one_over_the_frequencies():
    directions = np.random.default_rng(0).standard_normal((40, 3))  # each draw is averaged over them
    rows = np.vstack([np.zeros(3), 1.2 * directions / np.linalg.norm(directions, axis=1, keepdims=True)])
    bias = []
    for columns, draws in ((16, 500), (64, 1500)):
        maps = [MomentMatchingFeatures(columns, gamma=0.5, random_state=seed).fit(rows) for seed in range(draws)]
        mapped = (each.transform(rows) for each in maps)
        bias.append(np.mean([Z[1:] @ Z[0] for Z in mapped]) - np.exp(-0.72))
    assert bias[0] == pytest.approx(-0.029, abs=0.003)  # four standard errors
    assert bias[0] / bias[1] == pytest.approx(4, abs=1)


@pytest.mark.parametrize("kernel", ["laplacian", "matern", "polynomial"])
def test_a_kernel_without_moments_to_match_is_refused_with_those_that_have_them(kernel):
    with pytest.raises(ConfigError, match=f"needs the gaussian or cauchy kernel, got {kernel}"):
        make_features({"name": "moment-matching"}, kernel=kernel, gamma=1.0, n_features=8)
