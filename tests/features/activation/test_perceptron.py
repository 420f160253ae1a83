"""Perceptron features against their kernel and their definition; the offset form with heavy-tailed frequencies."""

import numpy as np
import pytest
from numba import get_num_threads, set_num_threads
from scipy import stats

from rffbench import PerceptronFeatures, QuasiMonteCarloFeatures, RandomFourierFeatures
from rffbench.arguments.rowsource import BLOCK_ROWS
from rffbench.features import make_features
from rffbench.features.checks import PAIRS, errors, largest_bias, slope
from rffbench.kernels import KERNELS, make_kernel, mean_abs_coordinate
from rffbench.linalg.trigonometric import FAR, WORTH_A_THREAD

RADIUS = 2.0


def ball(n, d, seed=0):
    """Points of the ball in which the kernel's formula holds, its surface included."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return RADIUS * X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.sqrt(d) / 2)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 54])
def test_the_kernel_is_the_mean_product_of_signs(d):
    rng = np.random.default_rng(d)
    x, x_ = ball(2, d, seed=d)
    theta = rng.normal(size=(200_000, d))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    alpha = rng.uniform(-RADIUS, RADIUS, len(theta))
    products = np.sign(theta @ x - alpha) * np.sign(theta @ x_ - alpha)
    error = products.std() / np.sqrt(len(products))
    K = make_kernel("perceptron", 1 / RADIUS)(np.stack([x, x_]))
    assert abs(products.mean() - K[0, 1]) < 4 * error


def test_the_constant_is_the_mean_of_a_coordinate_s_size_on_the_sphere():
    np.testing.assert_allclose([mean_abs_coordinate(d) for d in (1, 2, 3)], [1, 2 / np.pi, 0.5], rtol=1e-14)
    assert mean_abs_coordinate(10_000) == pytest.approx(np.sqrt(2 / np.pi / 10_000), rel=1e-4)


def test_the_kernel_is_positive_definite_within_the_ball():
    X = ball(300, 5)
    assert np.linalg.eigvalsh(make_kernel("perceptron", 1 / RADIUS)(X))[0] > 0


def test_the_rate_test_notices_a_constant_of_another_dimension():
    X = ball(12, 4)
    found = errors(PerceptronFeatures(), "perceptron", X, 30, gamma=1 / RADIUS, true_gamma=1 / RADIUS)
    right = make_kernel("perceptron", 1 / RADIUS)(X)[PAIRS]
    wrong = 1 - (1 - right) * mean_abs_coordinate(5) / mean_abs_coordinate(4)
    value, error = slope(found + right - wrong)
    assert largest_bias(found) < 4.5 < largest_bias(found + right - wrong)
    assert abs(value + 0.5) > 3.5 * error


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_are_the_scaled_signs(dtype):
    X = ball(2 * BLOCK_ROWS + 77, 3).astype(dtype)
    map_ = PerceptronFeatures(600, gamma=1 / RADIUS, random_state=1).fit(X)
    np.testing.assert_allclose(np.linalg.norm(map_.directions_, axis=0), 1, rtol=1e-14)
    assert map_.directions_.dtype == map_.thresholds_.dtype == np.float64
    Z = map_.transform(X)
    assert Z.dtype == dtype
    margin = X.astype(np.float64) @ map_.directions_ - map_.thresholds_
    clear = np.abs(margin) > 1e-5  # nearer, float32 may round to the other side
    np.testing.assert_allclose(Z[clear], (np.sign(margin) / np.sqrt(600))[clear], rtol=1e-6)
    assert clear.mean() > 0.99


def test_a_point_on_the_boundary_counts_as_above_it():
    map_ = PerceptronFeatures(1, random_state=0).fit([[0.0]])
    map_.thresholds_ = np.zeros(1)
    assert map_.transform([[0.0]]) == 1


def test_directions_are_uniform_on_the_sphere_and_thresholds_on_the_diameter():
    map_ = PerceptronFeatures(5000, gamma=1 / RADIUS, random_state=2).fit(ball(2, 3))
    for coordinate in map_.directions_:  # Archimedes: uniform on [−1, 1] for the sphere in three dimensions
        assert stats.kstest(coordinate, stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert stats.kstest(map_.thresholds_, stats.uniform(-RADIUS, 2 * RADIUS).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(map_.directions_, map_.thresholds_)[-1, :-1]).max() < 0.05


def test_directions_are_paired_with_the_gaussian_map_s_frequencies():
    X = ball(5, 4)
    directions = PerceptronFeatures(10, gamma=1 / RADIUS, random_state=3).fit(X).directions_
    W = RandomFourierFeatures(10, form="offset", random_state=3).fit(X).frequencies_
    np.testing.assert_allclose(W / np.linalg.norm(W, axis=0), directions, rtol=1e-13)


class ServedRows:
    """Rows that can only be had a block at a time."""

    def __init__(self, X):
        self._X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        assert rows.stop - rows.start <= BLOCK_ROWS
        return self._X[rows]


def test_rows_served_on_demand_and_any_number_of_threads_give_the_same_map():
    X = ball(WORTH_A_THREAD // 4000, 3)
    map_ = PerceptronFeatures(700, gamma=1 / RADIUS, random_state=4).fit(ServedRows(X))
    Z = map_.transform(X)
    np.testing.assert_array_equal(map_.transform(ServedRows(X)), Z)
    threads = get_num_threads()
    try:
        set_num_threads(1)
        np.testing.assert_array_equal(map_.transform(X), Z)
    finally:
        set_num_threads(threads)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (PerceptronFeatures(0), "n_components must be a whole number, 1 or more"),
        (
            PerceptronFeatures(kernel="gaussian"),
            "needs a kernel with random half-spaces; gaussian has none",
        ),
        (PerceptronFeatures(gamma=0), "gamma must be a positive number"),
        (
            RandomFourierFeatures(kernel="perceptron"),
            "needs a kernel with a spectral density; perceptron has none",
        ),
        (
            QuasiMonteCarloFeatures(kernel="perceptron"),
            "needs a kernel with a product density; perceptron has none",
        ),
    ],
)
def test_wrong_parameters_are_refused_with_what_would_be_right(features, message):
    with pytest.raises(ValueError, match=message):
        features.fit(ball(3, 2))


def test_it_is_found_by_name_one_column_a_feature():
    made = make_features({"name": "perceptron"}, kernel="perceptron", gamma=0.5, n_features=9, random_state=5)
    assert isinstance(made, PerceptronFeatures)
    assert (made.n_components, "perceptron" in KERNELS) == (9, True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cosines_of_heavy_tailed_frequencies_are_right_far_out(dtype):
    X = ball(50, 2).astype(dtype)
    map_ = RandomFourierFeatures(20_000, form="offset", kernel="laplacian", gamma=20.0, random_state=6).fit(X)
    W, b = map_.frequencies_.astype(dtype), map_.offset_.astype(dtype)
    phase = X @ W + b
    far = np.abs(phase) > FAR
    assert far.any()
    expected = np.sqrt(2 / 20_000) * np.cos(phase.astype(np.float64))
    rounding = 4 * np.finfo(dtype).eps * np.maximum(np.abs(phase), np.abs(X) @ np.abs(W)) + np.finfo(dtype).eps
    difference = np.abs(map_.transform(X) - expected) / np.sqrt(2 / 20_000)
    assert (difference <= rounding)[far].all()
    assert (difference <= rounding)[~far].all()
