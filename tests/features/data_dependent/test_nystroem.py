"""Nyström features: of any landmarks, of singular kernel matrices, and a refusal of those that are not positive."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from rffbench import NystroemFeatures
from rffbench.errors import Fallback
from rffbench.features.data_dependent.landmarks import RULES
from rffbench.features.data_dependent.nystroem import positive_root
from rffbench.kernels import LaplacianKernel, make_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))


@pytest.mark.parametrize("rule", RULES)
def test_features_of_every_rule_are_exact_at_its_landmarks(rule):
    features = NystroemFeatures(30, landmarks=rule, gamma=0.3, random_state=0).fit(X)
    at = features.points_
    found = features.transform(X) @ features.transform(at).T
    np.testing.assert_allclose(found, make_kernel("gaussian", 0.3)(X, at), atol=1e-7)


def test_landmarks_of_one_s_own_are_row_numbers_or_points():
    by_number = NystroemFeatures(3, landmarks=[7, 2, 40], gamma=0.3).fit(X)
    assert by_number.landmarks_.tolist() == [7, 2, 40]
    by_points = NystroemFeatures(3, landmarks=X[[7, 2, 40]], gamma=0.3).fit(X)
    np.testing.assert_array_equal(by_number.transform(X), by_points.transform(X))
    with pytest.raises(ValueError, match="n_components must be 3, the landmarks given, got 5"):
        NystroemFeatures(5, landmarks=[7, 2, 40]).fit(X)


def test_a_singular_matrix_says_the_rank_that_is_kept():
    rows = np.repeat(X[:10], 4, axis=0)
    features = NystroemFeatures(40, gamma=0.3, random_state=0).fit(rows)
    assert features.rank_ == 10
    Z = features.transform(rows)
    assert Z.shape == (40, 40)
    assert not Z[:, 10:].any()
    np.testing.assert_allclose(Z @ Z.T, make_kernel("gaussian", 0.3)(rows), atol=1e-7)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rows", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_more_landmarks_than_rows_are_warned_of_and_than_distinct_rows_too_or_refused(rule, rows):
    repeated = rows(np.repeat(X[:10], 6, axis=0))
    features = NystroemFeatures(20, landmarks=rule, gamma=0.3, random_state=0)
    if rule == "uniform":
        with pytest.warns(Fallback, match=r"of 20 landmarks \d+ are distinct rows: the others add nothing"):
            assert features.fit(repeated).rank_ <= 10
    else:
        with pytest.raises(ValueError, match="20 landmarks need as many distinct rows, and X has 10; take fewer"):
            features.fit(repeated)
    with pytest.warns(Fallback, match="99 landmarks are more than the 60 rows: all rows are landmarks"):
        NystroemFeatures(99, landmarks=rule, gamma=0.3, random_state=0).fit(repeated)


def test_a_rank_that_a_large_bandwidth_lowers_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NystroemFeatures(100, gamma=1e-9, random_state=0).fit(X).rank_ < 100


def test_a_nearly_singular_matrix_loses_no_more_than_rounding():
    smooth = make_kernel("gaussian", 1e-3)
    features = NystroemFeatures(200, gamma=1e-3, random_state=0).fit(X)
    assert features.rank_ < 200
    Z = features.transform(X)
    np.testing.assert_allclose(Z @ Z.T, smooth(X), atol=1e-6)


def test_a_matrix_that_is_not_positive_is_named_with_its_eigenvalue():
    K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    with pytest.raises(ValueError, match=r"not positive semi-definite: its smallest eigenvalue is -0\.273"):
        positive_root(K)


def test_rows_beyond_the_perceptron_s_ball_are_refused():
    with pytest.raises(ValueError, match="its smallest eigenvalue is -"):
        NystroemFeatures(50, kernel="perceptron", gamma=1.0, random_state=0).fit(20 * X)


def test_chosen_landmarks_have_less_error_than_uniform_ones_on_uneven_rows():
    rows = np.concatenate([0.1 * X, X + 15])
    kernel = make_kernel(LaplacianKernel(0.2))
    exact = kernel(rows)

    def error(rule):
        Z = NystroemFeatures(100, landmarks=rule, kernel=kernel, gamma=0.2, random_state=0).fit_transform(rows)
        return np.trace(exact - Z @ Z.T)

    assert error("rpcholesky") < error("uniform")


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="landmarks must be one of 'uniform', 'kmeans'"):
        NystroemFeatures(3, landmarks="best").fit(X)


@pytest.mark.parametrize("kernel", ["gaussian", "rational-quadratic", "laplacian", "matern"])
@pytest.mark.parametrize("landmarks", ["uniform", "kmeans"])
@pytest.mark.parametrize("gamma", [1e-8, 1e-4, 0.1])
def test_rows_in_two_places_far_apart_have_features_of_length_one_at_most(kernel, landmarks, gamma):
    """γ‖x − mean‖² is up to 1e7 there, and what rounding leaves of that in a value must not be magnified."""
    near = np.random.default_rng(0).normal(size=(400, 6))
    rows = np.vstack([near[:200] + 1e4, near[200:] - 1e4])
    Z = NystroemFeatures(60, landmarks=landmarks, kernel=kernel, gamma=gamma, random_state=0).fit_transform(rows)
    assert (Z**2).sum(axis=1).max() < 1 + 1e-6
    K = make_kernel(kernel, gamma)(rows)
    if gamma <= 1e-4:  # 60 landmarks are enough
        np.testing.assert_allclose(Z @ Z.T, K, atol=0.02)


def largest_errors(features, rows):
    """Of φ(x) as a vector and of φ(x)ᵀφ(x′), of float32 ``rows``, from the same features in float64."""
    exact, single = features.transform(rows.astype(np.float64)), features.transform(rows).astype(np.float64)
    return np.linalg.norm(single - exact, axis=1).max(), np.abs(single @ single.T - exact @ exact.T).max()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern", "rational-quadratic"])
def test_single_precision_is_used_where_it_is_safe(rule, kernel):
    rows = np.random.default_rng(1).normal(size=(500, 10)).astype(np.float32)
    features = NystroemFeatures(60, landmarks=rule, kernel=kernel, gamma=0.1, random_state=0).fit(rows[:300])
    assert features.maps_in_single_
    assert features.transform(rows).dtype == np.float32
    of_vector, of_kernel = largest_errors(features, rows)
    assert of_vector < 1e-4
    assert of_kernel < 1e-5
    Z = features.transform(rows)
    values = make_kernel(kernel, 0.1)(features.points_, rows.astype(np.float64))
    np.testing.assert_allclose(features.transform(features.points_) @ Z.T, values, atol=1e-5)


NEARLY_EQUAL = np.repeat(X[:100], 3, axis=0) + 1e-4 * RNG.normal(size=(300, 3))
TWO_PLACES = X + np.where(RNG.random((300, 1)) < 0.5, 30, -30)


@pytest.mark.parametrize(
    ("rows", "kernel", "gamma"),
    [
        (X, "gaussian", 1e-3), (NEARLY_EQUAL, "gaussian", 0.3), (NEARLY_EQUAL[:, :1], "laplacian", 0.3),
        (TWO_PLACES, "gaussian", 1.0), (X * 1e6, "laplacian", 1e-9), (X, "polynomial", 1.0),
    ],
    ids=["smooth", "nearly equal", "nearly equal numbers", "far apart", "long lengths", "unbounded"],
)  # fmt: skip
def test_double_precision_is_used_where_single_is_not_safe(rows, kernel, gamma):
    rows = rows.astype(np.float32)
    features = NystroemFeatures(60, kernel=kernel, gamma=gamma, random_state=0).fit(rows)
    assert not features.maps_in_single_
    exact = features.transform(rows.astype(np.float64))
    np.testing.assert_array_equal(features.transform(rows), exact.astype(np.float32))


@pytest.mark.parametrize("kernel", ["gaussian", "rational-quadratic", "laplacian", "matern"])
@pytest.mark.parametrize("far", [10.0, 20.0, 55.0])
def test_rows_near_a_landmark_far_from_the_others_keep_the_promise_too(kernel, far):
    """A distance of float32 between such rows is rounded by ε·far², but that of the landmark to itself is 0."""
    rows = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    rows[:60] = far + 0.3 * rows[:60]
    features = NystroemFeatures(60, kernel=kernel, gamma=1.0, landmarks=np.arange(50, 110)).fit(rows)
    assert largest_errors(features, rows)[0] < 1e-4
    lone = NystroemFeatures(50, kernel=kernel, gamma=1.0, landmarks=np.arange(59, 109)).fit(rows)
    assert largest_errors(lone, rows)[0] < 1e-4


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_rows_tiny_and_huge_equal_and_sparse_keep_the_promise_of_single_precision(scale):
    rows = np.repeat(scale * np.random.default_rng(2).normal(size=(60, 8)), 5, axis=0).astype(np.float32)
    with pytest.warns(Fallback, match=r"of 80 landmarks \d+ are distinct rows"):
        features = NystroemFeatures(80, gamma=0.1 / scale**2, random_state=0).fit(rows)
    assert features.maps_in_single_
    for new in (rows, np.float32(3) * rows, rows + np.float32(1e4 * scale)):
        assert max(largest_errors(features, new)) < 1e-4
        np.testing.assert_allclose(features.transform(csr_matrix(new)), features.transform(new), atol=1e-4)


@pytest.mark.parametrize("gamma", np.logspace(-4, 1, 11))
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "cauchy"])
def test_features_in_single_precision_are_never_worse_than_promised(kernel, gamma):
    rows = np.random.default_rng(3).standard_t(3, size=(600, 2)).astype(np.float32)
    features = NystroemFeatures(100, kernel=kernel, gamma=gamma, random_state=0).fit(rows[:300])
    of_vector, _ = largest_errors(features, rows)
    assert of_vector < 1e-4


def test_a_map_fitted_to_double_precision_maps_as_before():
    features = NystroemFeatures(60, gamma=0.3, random_state=0).fit(X)
    assert not features.maps_in_single_
    single = X.astype(np.float32)
    np.testing.assert_array_equal(features.transform(single), features.transform(single.astype(float)).astype("f"))
