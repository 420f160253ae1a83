"""Promises that all feature maps keep: the kernel at its rate, scikit-learn's contract, dtypes, nesting."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from rffbench import (
    LeverageScoreFeatures,
    QuasiMonteCarloFeatures,
    RandomFourierFeatures,
    SurrogateLeverageFeatures,
)
from rffbench.features.base import BLOCK_ROWS
from rffbench.kernels import SPECTRAL_KERNELS, make_kernel

pytestmark = pytest.mark.usefixtures("one_thread")

GAMMA = 0.8
rng = np.random.default_rng(0)
X = rng.uniform(size=(40, 3))
Y = 1 + X[:, 0] ** 2
PAIRS = np.triu_indices(12, 1)

MONTE_CARLO = {
    "paired": RandomFourierFeatures(),
    "offset": RandomFourierFeatures(form="offset"),
    "leverage": LeverageScoreFeatures(),
    "leverage, pool": LeverageScoreFeatures(pool=1.5),
    "surrogate, eq. 12": SurrogateLeverageFeatures(form="eq12"),
    "surrogate, eq. 14": SurrogateLeverageFeatures(),
}
QUASI = {
    "halton": QuasiMonteCarloFeatures(),
    "sobol": QuasiMonteCarloFeatures(sequence="sobol"),
    "halton, leaped": QuasiMonteCarloFeatures(skip=20, leap=30),
}
ALL = {
    **MONTE_CARLO,
    **QUASI,
    "halton, plain": QuasiMonteCarloFeatures(scramble=False),
    "halton, rr2": QuasiMonteCarloFeatures(scramble="rr2"),
    "sobol, plain": QuasiMonteCarloFeatures(sequence="sobol", scramble=False),
    "halton, released": QuasiMonteCarloFeatures(variant="as-released"),
    "leverage, released": LeverageScoreFeatures(variant="as-released"),
    "surrogate, released": SurrogateLeverageFeatures(variant="as-released"),
}
SIZES = (16, 32, 64, 128, 256)


def errors(features, kernel, X=X, repetitions=60, gamma=GAMMA, true_gamma=GAMMA):
    """φ(x)ᵀφ(x′) − k(x, x′): (sizes, repetitions, pairs of the first 12 points)."""
    K = make_kernel(kernel, true_gamma)(X[:12])[PAIRS]
    found = np.empty((len(SIZES), repetitions, len(K)))
    for i, n_components in enumerate(SIZES):
        for seed in range(repetitions):
            map_ = clone(features).set_params(
                n_components=n_components, kernel=kernel, gamma=gamma, random_state=seed
            )
            Z = map_.fit(X, Y).transform(X[:12])
            found[i, seed] = (Z @ Z.T)[PAIRS] - K
    return found


def slope(found):
    """Slope of log error against log size, and its standard error by the bootstrap over repetitions."""
    squared = (found**2).mean(axis=2)
    at = np.log2(SIZES) - np.log2(SIZES).mean()

    def fit(rows):
        return at @ (np.log2(squared[:, rows].mean(axis=1)) / 2) / (at @ at)

    draws = np.random.default_rng(1).integers(squared.shape[1], size=(400, squared.shape[1]))
    return fit(slice(None)), np.std([fit(rows) for rows in draws])


def largest_bias(found):
    """The largest mean error over pairs of points, in its standard errors, at the largest size."""
    error = found[-1]
    return np.max(np.abs(error.mean(axis=0)) / (error.std(axis=0, ddof=1) / np.sqrt(len(error))))


# Eq. 14's weights 1/pᵢ have no variance under a heavy-tailed spectral density, so there is no rate to test;
# that they are unbiased is tested given the pool.
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        (name, kernel) for name in MONTE_CARLO for kernel in SPECTRAL_KERNELS
        if name != "surrogate, eq. 14" or kernel == "gaussian"
    ],
)
def test_error_falls_at_the_monte_carlo_rate_without_bias(name, kernel):
    found = errors(MONTE_CARLO[name], kernel)
    value, error = slope(found)
    assert error < 0.06
    assert abs(value + 0.5) < 3.5 * error
    assert largest_bias(found) < 4.5


@pytest.mark.parametrize("kernel", SPECTRAL_KERNELS)
@pytest.mark.parametrize("name", QUASI)
def test_quasi_monte_carlo_error_falls_faster(name, kernel):
    found = errors(QUASI[name], kernel, X=X[:, :2], repetitions=40)
    value, error = slope(found)
    assert value + 3.5 * error < -0.55
    assert largest_bias(found) < 4.5


@pytest.mark.parametrize("kernel", SPECTRAL_KERNELS)
@pytest.mark.parametrize("wrong", [0.5, 2.0])
def test_the_rate_test_notices_a_bandwidth_wrong_by_two(kernel, wrong):
    found = errors(RandomFourierFeatures(), kernel, repetitions=20, gamma=wrong * GAMMA)
    value, error = slope(found)
    assert abs(value + 0.5) > 3.5 * error
    assert largest_bias(found) > 4.5


@parametrize_with_checks([clone(features) for features in ALL.values()])
def test_scikit_learn_estimator_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ALL)
def test_dtype_is_preserved_and_float32_agrees(name):
    double = clone(ALL[name]).set_params(n_components=30, random_state=3).fit(X, Y)
    single = clone(double).fit(X.astype(np.float32), Y)
    Z, z = double.transform(X), single.transform(X.astype(np.float32))
    assert (Z.dtype, z.dtype) == (np.float64, np.float32)
    assert double.frequencies_.dtype == single.frequencies_.dtype == np.float64
    np.testing.assert_allclose(z, Z, atol=1e-4 * np.abs(Z).max())


@pytest.mark.parametrize("name", [name for name in ALL if "leverage" not in name and "surrogate" not in name])
def test_sizes_nest(name):
    small = clone(ALL[name]).set_params(n_components=10, random_state=5).fit(X)
    large = clone(small).set_params(n_components=64).fit(X)
    s = small.frequencies_.shape[1]
    np.testing.assert_array_equal(large.frequencies_[:, :s], small.frequencies_)
    if small.offset_ is not None:
        np.testing.assert_array_equal(large.offset_[:s], small.offset_)


@pytest.mark.parametrize("kernel", SPECTRAL_KERNELS)
@pytest.mark.parametrize("variant", ["as-written", "as-released"])
@pytest.mark.parametrize("cls", [LeverageScoreFeatures, SurrogateLeverageFeatures])
def test_maps_of_one_stream_are_paired(cls, variant, kernel):
    shared = {"n_components": 20, "kernel": kernel, "random_state": 6}
    base = {tuple(w) for w in RandomFourierFeatures(**shared).fit(X).frequencies_.T}
    chosen = {tuple(w) for w in cls(variant=variant, **shared).fit(X, Y).frequencies_.T}
    assert chosen == base if variant == "as-released" else chosen < base


@pytest.mark.parametrize("name", ALL)
def test_equal_seeds_give_equal_maps_and_other_seeds_others(name):
    features = clone(ALL[name]).set_params(n_components=16)
    one, same, other = (
        clone(features).set_params(random_state=seed).fit_transform(X, Y) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    fixed = isinstance(features, QuasiMonteCarloFeatures) and (
        features.scramble is not True or features.variant == "as-released"
    )
    assert np.array_equal(one, other) == fixed


class ServedRows:
    """Rows that can only be had a block at a time."""

    def __init__(self, X):
        self._X, self.shape, self.dtype, self.largest = X, X.shape, X.dtype, 0

    def __getitem__(self, rows):
        self.largest = max(self.largest, rows.stop - rows.start)
        return self._X[rows]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ALL)
def test_rows_served_on_demand_give_the_same_map(name, dtype):
    many = np.random.default_rng(7).uniform(size=(2 * BLOCK_ROWS + 100, 3)).astype(dtype)
    y = many[:, 0] - 0.3
    served = ServedRows(many)
    features = clone(ALL[name]).set_params(n_components=12, random_state=8)
    expected = clone(features).fit(many, y).transform(many)
    result = features.fit(served, y).transform(served)
    assert result.dtype == dtype
    assert served.largest == BLOCK_ROWS
    np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6)
    with pytest.raises(ValueError, match="expecting 3 features"):
        features.transform(ServedRows(many[:, :2]))


@pytest.mark.parametrize("name", ALL)
def test_map_works_in_a_pipeline_and_a_grid_search(name):
    labels = np.where(X[:, 0] > X[:, 1], 1, -1)
    pipeline = make_pipeline(clone(ALL[name]).set_params(random_state=0), RidgeClassifier(alpha=1e-3))
    step = pipeline.steps[0][0]
    search = GridSearchCV(pipeline, {f"{step}__n_components": [20, 40], f"{step}__gamma": [0.5, 2.0]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search.fit(X, labels).score(X, labels) > 0.8


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (RandomFourierFeatures(7), "n_components must be even"),
        (RandomFourierFeatures(0), "n_components must be a whole number, 1 or more"),
        (RandomFourierFeatures(10.0), "n_components must be a whole number"),
        (RandomFourierFeatures(form="pair"), "form must be one of 'paired', 'offset'"),
        (RandomFourierFeatures(kernel="rbf"), "unknown kernel 'rbf'"),
        (RandomFourierFeatures(gamma=-1), "gamma must be a positive number"),
        (QuasiMonteCarloFeatures(sequence="sobol", scramble="rr2"), "permutes Halton digits"),
        (QuasiMonteCarloFeatures(scramble=1), "scramble must be one of True, False, 'rr2'"),
        (QuasiMonteCarloFeatures(skip=-1), "skip must be a whole number, 0 or more"),
        (QuasiMonteCarloFeatures(leap=0.5), "leap must be a whole number"),
        (LeverageScoreFeatures(variant="released"), "variant must be one of 'as-written', 'as-released'"),
        (LeverageScoreFeatures(score_lambda=0), "score_lambda must be a positive number"),
        (LeverageScoreFeatures(20, pool=9), "fewer than the 10 to choose"),
        (LeverageScoreFeatures(pool="all"), "pool must be None, a count"),
        (SurrogateLeverageFeatures(form="eq15"), "form must be one of 'eq14', 'eq12'"),
    ],
)
def test_wrong_parameters_are_refused_with_what_would_be_right(features, message):
    with pytest.raises(ValueError, match=message):
        features.fit(X, Y)


def test_paired_features_have_unit_norm_and_offset_features_have_it_on_average():
    Z = RandomFourierFeatures(60, random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-13)
    Z = RandomFourierFeatures(40_000, form="offset", random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), 1, atol=0.03)


def test_columns_are_the_cosines_then_the_sines():
    map_ = RandomFourierFeatures(8, random_state=0).fit(X)
    phase = X @ map_.frequencies_
    expected = np.hstack([np.cos(phase), np.sin(phase)]) / 2
    np.testing.assert_allclose(map_.transform(X), expected, atol=1e-14)
    assert list(map_.get_feature_names_out()[:1]) == ["randomfourierfeatures0"]
    map_ = RandomFourierFeatures(8, form="offset", random_state=0).fit(X)
    expected = np.cos(X @ map_.frequencies_ + map_.offset_) / 2
    np.testing.assert_allclose(map_.transform(X), expected, atol=1e-14)
