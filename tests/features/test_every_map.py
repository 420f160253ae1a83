"""Promises of every registered feature map: the kernel at its rate, scikit-learn's contract, dtypes, seeds, nesting."""

import warnings
from operator import attrgetter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rffbench import (
    LeverageScoreFeatures,
    QuasiMonteCarloFeatures,
    RandomFourierFeatures,
    SurrogateLeverageFeatures,
)
from rffbench.arguments.rowsource import BLOCK_ROWS, dense_rows
from rffbench.errors import Fallback
from rffbench.kernels import SPECTRAL_KERNELS, kernel_class
from tests.helpers import contract, plug_ins
from tests.helpers.cases import others_slow
from tests.helpers.feature_maps import (
    ALL,
    CONTRACT,
    FASTER,
    FITTED,
    MONTE_CARLO,
    OTHER_WAYS,
    REGISTERED,
    label,
    made,
    promises,
)
from tests.helpers.kernel_rates import GAMMA, SIZES, ServedRows, X, Y, errors, largest_bias, slope

FIRST = dict(reversed(ALL))  # the way that each map's defaults choose
DEAR = {"tensor-sketch", "positive", "leverage", "surrogate-leverage", "random-binning", "complex-to-real", "simplex"}
QUICK = {name: promise for name, promise in FIRST.items() if name not in DEAR}  # of the rate, in a third of a second
ONE_OF_A_FAMILY = [
    each
    for each in CONTRACT
    if type(each).__name__.startswith(
        ("RandomFourier", "Quadrature", "Surrogate", "Orthogonal", "Fastfood", "Nystroem", "Activation",
         "RandomBinning", "Maclaurin")
    )
]  # fmt: skip
every_map = pytest.mark.parametrize(("name", "promise"), ALL, ids=[label(*each) for each in ALL])


@pytest.fixture(autouse=True)
def _plug_in(one_thread):
    with plug_ins.installed():
        yield


def test_a_map_that_tests_know_nothing_of_is_tested_with_its_defaults_on_every_kernel_that_it_serves():
    (promise,) = promises("simplex")
    assert (promise.parameters, promise.rate, promise.nests) == ({}, MONTE_CARLO, ("frequencies_",))
    assert "gaussian" in promise.kernels
    (promise,) = promises("srht")
    assert "entries" in promise.rate


@pytest.mark.parametrize(
    ("name", "promise", "kernel"),
    [
        pytest.param(
            name, promise, kernel, id=f"{label(name, promise)}, {kernel}",
            marks=[] if promise is QUICK.get(name) and kernel == promise.kernels[0] else [pytest.mark.slow],
        )
        for name, promise in ALL if promise.rate in (MONTE_CARLO, FASTER) for kernel in promise.kernels
    ],
)  # fmt: skip
def test_error_falls_at_the_promised_rate_without_bias(name, promise, kernel):
    features, gammas = made(name, promise), {"gamma": promise.gamma, "true_gamma": promise.gamma}
    if promise.rate == FASTER:
        found = errors(features, kernel, X=X[:, :2], repetitions=40, **gammas)
        value, error = slope(found)
        assert value + 3.5 * error < -0.55
    else:
        found = errors(features, kernel, **gammas)
        value, error = slope(found)
        assert error < 0.07
        assert abs(value + 0.5) < 3.5 * error
    assert largest_bias(found) < 4.5


UNBIASED = [
    name for name in REGISTERED
    if FIRST[name].rate == MONTE_CARLO and kernel_class(FIRST[name].kernels[0]).has_bandwidth
]  # fmt: skip


@pytest.mark.parametrize("name", UNBIASED)
@pytest.mark.parametrize("wrong", [0.5, 2.0])
def test_a_bandwidth_wrong_by_two_is_a_bias(name, wrong):
    (promise, *_) = promises(name)
    gammas = {"gamma": wrong * promise.gamma, "true_gamma": promise.gamma}
    found = errors(made(name, promise), promise.kernels[0], repetitions=20, sizes=SIZES[-1:], **gammas)
    assert largest_bias(found) > 4.5


@pytest.mark.parametrize("kernel", SPECTRAL_KERNELS)
@pytest.mark.parametrize("wrong", [0.5, 2.0])
def test_the_rate_test_notices_a_bandwidth_wrong_by_two(kernel, wrong):
    value, error = slope(errors(RandomFourierFeatures(), kernel, repetitions=20, gamma=wrong * GAMMA))
    assert abs(value + 0.5) > 3.5 * error


@pytest.mark.parametrize("estimator", others_slow(CONTRACT, quick=ONE_OF_A_FAMILY), ids=contract.name)
def test_scikit_learn_s_contract_is_kept(estimator):
    contract.keeps_the_contract(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", OTHER_WAYS, ids=contract.name)
def test_scikit_learn_s_contract_is_kept_in_other_ways(estimator):
    contract.keeps_the_contract_in_another_way(estimator)


@every_map
def test_dtype_is_preserved_and_float32_agrees(name, promise):
    double = made(name, promise, 30, random_state=3).fit(X, Y)
    single = clone(double).fit(X.astype(np.float32), Y)
    Z, z = dense_rows(double.transform(X)), dense_rows(single.transform(X.astype(np.float32)))
    assert (Z.dtype, z.dtype) == (np.float64, np.float32)
    for attribute in promise.nests:  # the draws are float64, whatever the data
        if attrgetter(attribute)(double) is not None:
            assert attrgetter(attribute)(double).dtype == attrgetter(attribute)(single).dtype == np.float64
    scale = np.abs(Z).max()
    np.testing.assert_allclose(dense_rows(double.transform(X.astype(np.float32))), Z, atol=1e-4 * scale)
    if promise.rate != FITTED:  # its columns are a basis that rounding may turn
        np.testing.assert_allclose(z, Z, atol=1e-4 * scale)
    np.testing.assert_allclose(z @ z.T, Z @ Z.T, atol=1e-4 * scale**2 * 30)


@pytest.mark.parametrize(("name", "promise"), [each for each in ALL if each[1].nests])
def test_sizes_nest(name, promise):
    small, large = (made(name, promise, columns, random_state=5).fit(X, Y) for columns in (10, 64))
    for attribute in promise.nests:
        first, more = attrgetter(attribute)(small), attrgetter(attribute)(large)
        if first is None:  # the phases of a paired map
            continue
        assert more.shape[-1] > first.shape[-1] >= 5
        np.testing.assert_allclose(more[..., : first.shape[-1]], first, rtol=1e-12, atol=1e-13)


@every_map
def test_equal_seeds_give_equal_maps_and_other_seeds_others(name, promise):
    def features(seed=None):
        return dense_rows(made(name, promise, 16, random_state=seed).fit_transform(X, Y))

    one, same, other = map(features, (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.array_equal(one, other) != promise.seeded
    first, *others = [features() for _ in range(6)]
    # Of maps of a few signs two may well be the same by chance.
    assert all(np.array_equal(first, each) for each in others) != promise.seeded


@pytest.mark.parametrize("kernel", SPECTRAL_KERNELS)
@pytest.mark.parametrize("variant", ["as-written", "reweighted"])
@pytest.mark.parametrize("cls", [LeverageScoreFeatures, SurrogateLeverageFeatures])
def test_maps_of_one_stream_are_paired(cls, variant, kernel):
    shared = {"n_components": 20, "kernel": kernel, "random_state": 6}
    base = {tuple(w) for w in RandomFourierFeatures(**shared).fit(X).frequencies_.T}
    chosen = {tuple(w) for w in cls(variant=variant, **shared).fit(X, Y).frequencies_.T}
    assert chosen == base if variant == "reweighted" else chosen < base


@pytest.mark.parametrize("cls", [LeverageScoreFeatures, SurrogateLeverageFeatures])
def test_a_larger_pool_adds_frequencies_to_those_of_a_smaller_one(cls):
    def chosen(columns, pool):
        return {tuple(w) for w in cls(columns, pool=pool, random_state=6).fit(X, Y).frequencies_.T}

    drawn = [tuple(w) for w in RandomFourierFeatures(400, random_state=6).fit(X).frequencies_.T]
    for columns, pool in [(20, 4), (40, 2), (20, 20), (40, 10)]:
        assert chosen(columns, pool) <= set(drawn[: pool * columns // 2])
    assert not chosen(20, 20) <= set(drawn[:40])


@pytest.mark.parametrize(
    ("name", "promise", "dtype"),
    [
        (name, promise, dtype)
        for name, promise in ALL if name != "plug-in"  # it takes arrays
        for dtype in (np.float64, np.float32) if dtype == np.float64 or promise is FIRST[name]
    ],
)  # fmt: skip
def test_rows_served_on_demand_give_the_same_map(name, promise, dtype):
    many = np.random.default_rng(7).uniform(size=(2 * BLOCK_ROWS + 100, 3)).astype(dtype)
    y = many[:, 0] - 0.3
    served = ServedRows(many)
    features = made(name, promise, 12, random_state=8)
    expected = dense_rows(clone(features).fit(many, y).transform(many))
    result = dense_rows(features.fit(served, y).transform(served))
    assert result.dtype == dtype
    assert served.largest == BLOCK_ROWS
    np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6)
    with pytest.raises(ValueError, match="expecting 3 features"):
        features.transform(ServedRows(many[:, :2]))


@pytest.mark.parametrize("name", REGISTERED)
def test_map_works_in_a_pipeline_and_a_grid_search(name):
    promise = FIRST[name]
    labels = np.where(X[:, 0] > X[:, 1], 1, -1)
    pipeline = make_pipeline(made(name, promise, random_state=0), RidgeClassifier(alpha=1e-3))
    step = pipeline.steps[0][0]
    gammas = [0.5, 2.0] if kernel_class(promise.kernels[0]).has_bandwidth else [1.0]
    search = GridSearchCV(pipeline, {f"{step}__n_components": [20, 40], f"{step}__gamma": gammas}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "40 landmarks are more than the", Fallback)  # a fold has fewer rows
        warnings.filterwarnings("ignore", ".*of the features' norm at gamma=2", Fallback)
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
        (QuasiMonteCarloFeatures(scramble=1), "scramble must be one of True, False, 'rr2', 'digits'"),
        (QuasiMonteCarloFeatures(skip=-1), "skip must be a whole number, 0 or more"),
        (QuasiMonteCarloFeatures(leap=0.5), "leap must be a whole number"),
        (LeverageScoreFeatures(variant="released"), "variant must be one of 'as-written', 'reweighted'"),
        (LeverageScoreFeatures(score_lambda=0), "score_lambda must be a positive number"),
        (LeverageScoreFeatures(20, pool=0.9), "pool must be a multiple of s, a number of 1 or more"),
        (SurrogateLeverageFeatures(20, pool=np.inf), "pool must be a multiple of s, a number of 1 or more"),
        (LeverageScoreFeatures(pool="all"), "pool must be a multiple of s, a number of 1 or more .* got 'all'"),
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
