"""What scikit-learn asks of its RBFSampler and Nystroem, asked of the maps here that do the same."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from rffbench import NystroemFeatures, RandomFourierFeatures

rng = np.random.default_rng(0)
X, OTHER = (rows / rows.sum(axis=1, keepdims=True) for rows in rng.uniform(size=(2, 300, 50)))
FORMS = ["paired", "offset"]


@pytest.mark.parametrize("form", FORMS)
def test_products_of_features_are_near_the_kernel(form):
    gamma = 10.0
    features = RandomFourierFeatures(2000, form=form, gamma=gamma, random_state=42)
    error = rbf_kernel(X, OTHER, gamma=gamma) - features.fit_transform(X) @ features.transform(OTHER).T
    assert abs(error.mean()) < 0.01  # no bias
    assert np.abs(error).max() < 0.1
    assert np.abs(error).mean() < 0.05
    peer = RBFSampler(gamma=gamma, n_components=2000, random_state=42)
    peer_error = rbf_kernel(X, OTHER, gamma=gamma) - peer.fit_transform(X) @ peer.transform(OTHER).T
    assert np.abs(error).mean() < 2 * np.abs(peer_error).mean()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_was_learnt_of_float64_makes_features_of_the_rows_dtype(form, dtype):
    features = RandomFourierFeatures(20, form=form, random_state=0)
    assert features.fit_transform(X.astype(dtype)).dtype == dtype
    assert features.frequencies_.dtype == np.float64


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gamma", [0.3, "scale"])
def test_float32_and_float64_agree(form, gamma):
    features = RandomFourierFeatures(20, form=form, gamma=gamma, random_state=0)
    single = clone(features).fit(X.astype(np.float32)).transform(X.astype(np.float32))
    np.testing.assert_allclose(single, features.fit_transform(X), atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_any_dtype_have_the_same_frequencies(form):
    features = RandomFourierFeatures(20, form=form, random_state=42)
    fits = [clone(features).fit(np.array([[1, 2], [3, 4], [5, 6]], dtype)) for dtype in (np.float32, np.float64, int)]
    for name in ("frequencies_", "offset_", "scale_"):
        first, *others = (getattr(fitted, name) for fitted in fits)
        assert all(np.array_equal(first, other) for other in others), name


@pytest.mark.parametrize("features", [
    RandomFourierFeatures(4, form="paired", random_state=0), RandomFourierFeatures(4, form="offset", random_state=0),
    NystroemFeatures(3, random_state=0),
], ids=["paired", "offset", "nystroem"])  # fmt: skip
@pytest.mark.parametrize("kind", [list, lambda rows: list(np.array(rows)), csr_array, csr_matrix])
def test_lists_whole_numbers_and_csr_matrices_are_taken(features, kind):
    rows = [[1, 2], [3, 4], [5, 6]]
    found = clone(features).fit(kind(rows)).transform(kind(rows))
    np.testing.assert_allclose(found, clone(features).fit_transform(np.array(rows, dtype=float)), atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_features_have_names_of_their_class_in_small_letters(form):
    features = RandomFourierFeatures(4, form=form, random_state=0).fit(X)
    assert features.get_feature_names_out().tolist() == [f"randomfourierfeatures{j}" for j in range(4)]
    landmarks = NystroemFeatures(3, random_state=0).fit(X)
    assert landmarks.get_feature_names_out().tolist() == [f"nystroemfeatures{j}" for j in range(3)]


def test_gamma_scale_of_two_numbers_is_one_over_their_variance():
    assert RandomFourierFeatures(gamma="scale").fit([[0.0], [1.0]], [0, 1]).gamma_ == pytest.approx(4)


def test_gamma_scale_is_that_of_both_classes_there():
    rows, _ = load_iris(return_X_y=True)
    gamma = RandomFourierFeatures(gamma="scale").fit(rows).gamma_
    theirs, ours = (RBFSampler(gamma=each, random_state=0).fit_transform(rows) for each in ("scale", gamma))
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(("kernel", "exact"), [("gaussian", rbf_kernel), ("laplacian", laplacian_kernel)])
def test_as_many_landmarks_as_rows_give_the_kernel_itself(kernel, exact):
    rows = X[:20]
    Z = NystroemFeatures(20, kernel=kernel, gamma=0.7, random_state=0).fit_transform(rows)
    np.testing.assert_allclose(Z @ Z.T, exact(rows, gamma=0.7), atol=1e-6)


def test_fewer_landmarks_give_as_many_columns():
    features = NystroemFeatures(2, random_state=1).fit(X)
    assert features.transform(X).shape == (len(X), 2)
    assert features.transform(csr_array(OTHER)).shape == (len(OTHER), 2)


def test_the_rows_that_are_landmarks_are_told():
    features = NystroemFeatures(10, gamma=3.0, random_state=0).fit(X)
    assert features.landmarks_.shape == (10,)
    assert len(np.unique(features.landmarks_)) == 10
    at, Z = X[features.landmarks_], features.transform(X)
    np.testing.assert_allclose(Z @ features.transform(at).T, rbf_kernel(X, at, gamma=3.0), atol=1e-6)


@pytest.mark.parametrize("kernel", ["poly", "chi2", "linear"])
def test_kernels_that_are_not_here_are_refused_by_name(kernel):
    with pytest.raises(ValueError, match=f"unknown kernel '{kernel}'"):
        NystroemFeatures(kernel=kernel).fit(X)


def test_a_kernel_of_low_rank_is_no_hindrance():
    rows = np.repeat(X[:10], 5, axis=0)
    Z = NystroemFeatures(50, gamma=20.0, random_state=0).fit_transform(rows)
    assert np.isfinite(Z).all()
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(rows, gamma=20.0), atol=1e-6)


def test_more_landmarks_than_rows_leave_columns_of_zeros():
    rows = X[:7]
    Z = NystroemFeatures(9, gamma=1.0, random_state=0).fit_transform(rows)
    assert Z.shape == (7, 9)
    assert not Z[:, 7:].any()
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(rows, gamma=1.0), atol=1e-6)


def test_equal_landmarks_give_scikit_learn_s_features():
    features = NystroemFeatures(15, gamma=2.0, random_state=3).fit(X)
    peer = Nystroem(gamma=2.0, n_components=15, random_state=0).fit(X[features.landmarks_])
    ours, theirs = features.transform(OTHER), peer.transform(OTHER)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-8)
