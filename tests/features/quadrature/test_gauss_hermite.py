"""Gauss–Hermite grids: what they integrate exactly, what their mean is, and the sizes that there are."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from rffbench import GaussHermiteFeatures
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.features.quadrature.gauss_hermite import gauss_hermite
from rffbench.kernels import make_kernel
from tests.helpers.kernel_rates import SIZES, largest_bias, slope

pytestmark = pytest.mark.usefixtures("one_thread")
X = np.random.default_rng(0).uniform(size=(12, 3))
PAIRS = np.triu_indices(12, 1)


def dense(p, d, **given):
    """The dense grid of p points."""
    return GaussHermiteFeatures(2 * -(-(p**d) // 2), grid="dense", **given)


def of_the_grid(X, p, gamma):
    """∏ⱼ Σᵢ qᵢ·cos(√(2γ)·hᵢΔⱼ), (n, n)."""
    nodes, weights = gauss_hermite(p)
    differences = np.sqrt(2 * gamma) * (X[:, None] - X)
    return np.prod(np.cos(differences[..., None] * nodes) @ weights, axis=-1)


@pytest.mark.parametrize(("p", "d"), [(2, 1), (2, 4), (3, 3), (4, 2), (6, 1), (6, 2)])
def test_the_dense_grid_integrates_polynomials_to_degree_2p_minus_1_of_each_coordinate_exactly(p, d):
    map_ = dense(p, d, gamma=0.5).fit(np.zeros((2, d)))

    def moment(degrees):
        return (map_.weights_ * np.prod(map_.frequencies_ ** np.array(degrees)[:, None], axis=0)).mean()

    normal = {0: 1, 2: 1, 4: 3, 6: 15, 8: 105, 10: 945, 12: 10395}  # of N(0, 1); w and −w together have no odd ones
    for degrees in itertools.product(range(0, 2 * p, 2), repeat=d):
        assert moment(degrees) == pytest.approx(np.prod([normal[each] for each in degrees]), rel=1e-10)
    assert moment((2 * p, *[0] * (d - 1))) != pytest.approx(normal[2 * p], rel=1e-3)


@pytest.mark.parametrize("p", [2, 3, 4])
def test_the_dense_grid_is_the_product_of_its_rules(p):
    Z = dense(p, 3, gamma=0.8).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, of_the_grid(X, p, 0.8), atol=1e-13)


def test_the_error_of_the_dense_grid_falls_at_least_fourfold_with_every_point():
    K = make_kernel("gaussian", 0.8)(X)
    errors = [np.abs((Z := dense(p, 3, gamma=0.8).fit_transform(X)) @ Z.T - K).max() for p in range(2, 9)]
    assert all(4 * less < more for more, less in itertools.pairwise(errors))


@pytest.mark.parametrize("p", [2, 3, 6])
def test_points_of_the_grid_have_its_kernel_on_average_at_the_rate_of_monte_carlo(p):
    exact, found = of_the_grid(X, p, 0.8), np.empty((len(SIZES), 60, 66))
    for i, seed in itertools.product(range(len(SIZES)), range(60)):
        Z = GaussHermiteFeatures(SIZES[i], points=p, gamma=0.8, random_state=seed).fit_transform(X)
        found[i, seed] = (Z @ Z.T - exact)[PAIRS]
    value, error = slope(found)
    assert abs(value + 0.5) < 3.5 * error
    assert largest_bias(found) < 4.5


def test_two_points_are_random_signs():
    map_ = GaussHermiteFeatures(200, points=2, gamma=0.5, random_state=0).fit(np.zeros((2, 3)))
    np.testing.assert_allclose(np.abs(map_.frequencies_), 1)
    assert (map_.frequencies_ > 0).mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("columns", "d", "nearest"),
    [
        (16, 3, r"nearest 8 \(p = 2\) or 28 \(p = 3\), got 16"),
        (2, 3, r"nearest 8 \(p = 2\), got 2"),
        (100, 40, r"nearest 2\^40 \(p = 2\), got 100"),
    ],
)
def test_a_size_that_the_dense_grid_cannot_have_is_refused_with_the_nearest(columns, d, nearest):
    with pytest.raises(ValueError, match=f"n_components must be .* d = {d} inputs, {nearest}; grid='subsampled'"):
        GaussHermiteFeatures(columns, grid="dense").fit(np.zeros((2, d)))


def test_of_two_rules_with_as_many_columns_the_one_of_higher_degree_is_taken():
    map_ = clone(dense(4, 1)).fit(np.zeros((2, 1)))
    assert map_.frequencies_.shape == (1, 2)
    assert (map_.frequencies_ != 0).all()  # three points have 0 among them


@pytest.mark.parametrize(("points", "message"), [(1, "whole number, 2 or more"), (101, "must be 100 at most")])
def test_a_rule_of_too_few_or_too_many_points_is_refused(points, message):
    with pytest.raises(ConfigError, match=f"'gauss-hermite': points .*{message}"):
        make_features({"name": "gauss-hermite", "points": points}, kernel="gaussian", gamma=1.0, n_features=8)


def test_a_config_asks_for_a_size_that_a_dense_grid_of_its_dataset_has(tmp_path):
    config = tmp_path / "grid.yaml"
    text = """name: grid
datasets: [phoneme]
count: columns
n_features: [SIZE]
methods:
  A: {features: gauss-hermite, grid: dense}
solver: {name: ridge, lambda: 0.1}
"""
    config.write_text(text.replace("SIZE", "100"))
    with pytest.raises(ConfigError, match=r"line 6.*d = 5 inputs, nearest 32 \(p = 2\) or 244 \(p = 3\), got 100"):
        load_experiment(str(config))
    config.write_text(text.replace("SIZE", "32"))
    load_experiment(str(config))
