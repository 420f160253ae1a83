"""Whole numbers of columns for the degrees of a series, against every other division and against variances as drawn."""

import itertools

import numpy as np
import pytest

from rffbench import ComplexToRealFeatures, MaclaurinFeatures, TensorSketchFeatures
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.features.dot_product import allocation
from rffbench.kernels import GaussianKernel, PolynomialKernel

pytestmark = pytest.mark.usefixtures("one_thread")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5)) / 2
LAWS = {
    "signs": (MaclaurinFeatures, {}), "signs complex": (ComplexToRealFeatures, {}),
    "normals": (MaclaurinFeatures, {"projection": "gaussian"}),
    "normals complex": (ComplexToRealFeatures, {"projection": "gaussian"}),
    "srht": (MaclaurinFeatures, {"projection": "srht"}),
    "srht complex": (ComplexToRealFeatures, {"projection": "srht"}),
    "sketch": (TensorSketchFeatures, {}),
}  # fmt: skip


def spread(kind, law, columns, n, pairs):
    found = law(pairs, n)
    together = min(columns, found.block)
    return (found.variance + (together - 1) * found.covariance) / columns


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(("kind", "parameters"), LAWS.values(), ids=LAWS)
def test_a_law_is_the_variance_of_estimates_as_they_are_drawn(kind, parameters, n):
    """Of one block of columns, of five pairs of rows; the complex law counts the imaginary part too."""
    rows, columns, draws = X[:5], 6, 200
    complex_ = kind is ComplexToRealFeatures
    kernel = PolynomialKernel(degree=n, c=0.0)
    law = kind(2, kernel=kernel, **parameters).law(5)
    expected = spread(kind, law, columns, n, allocation.Pairs.of(kernel, rows))
    found = np.zeros((5, 5))
    for seed in range(draws):
        map_ = kind(columns * (1 + complex_), kernel=kernel, degrees="product", random_state=seed, **parameters)
        Z = map_.fit_transform(rows)
        Z = Z[:, :columns] + 1j * Z[:, columns:] if complex_ else Z
        found += np.square(np.abs(Z @ Z.conj().T - (rows @ rows.T) ** n)) / draws
    between = ~np.eye(5, dtype=bool)
    tolerance = 0.7 if kind is TensorSketchFeatures else 0.3  # the paper's law of a sketch leaves Σ xᵢ²x′ᵢ² out
    assert found[between].sum() == pytest.approx(expected[between].sum(), rel=tolerance)


def test_the_law_of_a_sketch_holds_where_rows_are_parallel():
    """Of 40 like numbers, Σ xᵢ²x′ᵢ² is a fortieth of (xᵀx′)²: what the law leaves out is little."""
    rows, draws, kernel = 1 + rng.normal(size=(3, 40)) / 10, 400, PolynomialKernel(degree=1, c=0.0)
    expected = spread(None, allocation.sketches, 16, 1, allocation.Pairs.of(kernel, rows))
    found = np.zeros((3, 3))
    for seed in range(draws):
        Z = TensorSketchFeatures(16, kernel=kernel, degrees="product", random_state=seed).fit_transform(rows)
        found += np.square(Z @ Z.T - rows @ rows.T) / draws
    np.testing.assert_allclose(found, expected, rtol=0.3)


def left(kernel, rows, law, counts):
    """The estimated squared error of a division: variances over pairs of different rows, and the bias over all."""
    pairs, between = allocation.Pairs.of(kernel, rows), ~np.eye(len(rows), dtype=bool)
    a = kernel.coefficients(len(counts) + 1)
    total, series = 0.0, a[0] * np.ones_like(pairs.dots)
    for n, columns in enumerate(counts, 1):
        total += a[n] ** 2 * (pairs.factors**2 * spread(None, law, columns, n, pairs))[between].mean()
        series += a[n] * pairs.dots**n
    return total + np.square(kernel(rows) - pairs.factors * series).mean()


@pytest.mark.parametrize("columns", [4, 9])
@pytest.mark.parametrize("kernel", [GaussianKernel(0.6), PolynomialKernel(0.5, degree=3, c=0.5)])
def test_no_other_division_has_less_of_the_estimated_error(kernel, columns):
    law = allocation.signs
    best = allocation.least_error_counts(kernel, X, columns, law)
    assert best.sum() == columns
    highest = kernel.highest_degree or 5
    every = (
        counts
        for degrees in range(2, highest + 1)
        for counts in itertools.product(range(1, columns), repeat=degrees)
        if sum(counts) == columns
    )
    assert left(kernel, X, law, best) <= min(left(kernel, X, law, counts) for counts in every) * (1 + 1e-12)


@pytest.mark.parametrize("kind", [MaclaurinFeatures, ComplexToRealFeatures, TensorSketchFeatures])
def test_columns_of_a_degree_stand_for_all_of_its_term(kind):
    map_ = kind(60, degrees="least-error", gamma=0.6, random_state=0).fit(X)
    a = GaussianKernel(0.6).coefficients(20)
    for n in np.unique(map_.degrees_):
        total = (map_.scale_[map_.degrees_ == n] ** 2).sum()
        assert total == pytest.approx(a[n] * (np.sum(map_.degrees_ == n) if kind is TensorSketchFeatures and n else 1))


def test_the_power_of_a_sum_stands_for_the_exponential():
    kernel = GaussianKernel(0.3)
    expected = (1 + 2 * 0.3 * (X @ X.T) / 4) ** 4 * np.exp(-0.3 * np.add.outer(*[np.square(X).sum(axis=1)] * 2))
    found = np.zeros_like(expected)
    for seed in range(60):
        Z = MaclaurinFeatures(400, degrees="power", kernel=kernel, random_state=seed).fit_transform(X)
        found += Z @ Z.T / 60
    assert np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected)


def test_a_power_is_for_kernels_without_a_highest_degree():
    with pytest.raises(ConfigError, match="'power' is for kernels of infinitely many degrees"):
        make_features({"name": "maclaurin", "degrees": "power"}, kernel="polynomial", gamma=1.0, n_features=8)
