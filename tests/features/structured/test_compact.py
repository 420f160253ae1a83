"""Compact random features and Nyström features: what they are made of, and how near the kernel."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem

from rffbench import CompactFeatures, NystroemFeatures, RandomFourierFeatures
from rffbench.kernels import make_kernel

pytestmark = pytest.mark.usefixtures("one_thread")

X = np.random.default_rng(0).uniform(size=(600, 3))


@pytest.mark.parametrize(("l", "expansion", "m"), [(10, 4, 40), (16, 4, 64), (5, 1, 6), (7, 2.5, 18)])
def test_compact_features_are_the_stream_s_fourier_features_projected(l, expansion, m):  # noqa: E741
    """m is rounded up to whole pairs, and padded to a power of two inside the projection."""
    map_ = CompactFeatures(l, expansion=expansion, gamma=0.8, random_state=4).fit(X)
    F = RandomFourierFeatures(m, gamma=0.8, random_state=4).fit_transform(X)
    Theta = map_.sketch_.columns(np.eye(m))
    assert Theta.shape == (m, l)
    np.testing.assert_allclose(map_.transform(X), F @ Theta, atol=1e-12)


def test_nystroem_is_scikit_learn_s_on_landmarks_of_the_stream():
    for kernel, name in (("gaussian", "rbf"), ("laplacian", "laplacian")):
        map_ = NystroemFeatures(30, kernel=kernel, gamma=0.8, random_state=2).fit(X)
        assert len(set(map_.landmarks_)) == 30
        landmarks = X[map_.landmarks_]
        theirs = Nystroem(kernel=name, gamma=0.8, n_components=30, random_state=5).fit(landmarks)
        Z, T = map_.transform(X), theirs.transform(X)
        np.testing.assert_allclose(Z @ Z.T, T @ T.T, atol=1e-7)
        K = make_kernel(kernel, 0.8)(X, landmarks)
        np.testing.assert_allclose(Z @ map_.transform(landmarks).T, K, atol=1e-6)


def test_nystroem_s_error_falls_with_the_landmarks_to_nothing_at_all_rows():
    K = make_kernel("laplacian", 0.8)(X[:200])
    found = []
    for count in (5, 20, 80, 200):
        Z = NystroemFeatures(count, kernel="laplacian", gamma=0.8, random_state=3).fit_transform(X[:200])
        found.append(np.linalg.norm(Z @ Z.T - K, 2))
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-9


def test_nystroem_of_fewer_rows_than_columns_has_all_as_landmarks_and_zeros_beyond():
    Z = NystroemFeatures(20, gamma=0.8, random_state=0).fit(X[:7]).transform(X[:9])
    assert Z.shape == (9, 20)
    assert (Z[:, 7:] == 0).all()
    np.testing.assert_allclose((Z @ Z.T)[:7], make_kernel("gaussian", 0.8)(X[:7], X[:9]), atol=1e-6)


MAPS = {"compact": CompactFeatures(), "nystroem": NystroemFeatures()}


@pytest.mark.parametrize("name", MAPS)
def test_constant_columns_and_one_column_are_mapped(name):
    line = np.linspace(0, 1, 60)[:, None]
    for rows in (line, np.hstack([np.ones((60, 1)), line, np.zeros((60, 1))])):
        Z = clone(MAPS[name]).set_params(n_components=60, random_state=0).fit_transform(rows)
        np.testing.assert_allclose(Z @ Z.T, make_kernel("gaussian", 1.0)(rows), atol=0.7)
        assert np.isfinite(Z).all()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (CompactFeatures(10, expansion=0.9), "expansion must be a number, 1 or more, to make at least the 10 columns"),
        (CompactFeatures(10, expansion=None), "expansion must be a number"),
        (CompactFeatures(kernel="perceptron"), "needs a kernel with a spectral density; perceptron has none"),
        (NystroemFeatures(0), "n_components must be a whole number, 1 or more"),
    ],
)
def test_wrong_parameters_are_refused_with_what_would_be_right(features, message):
    with pytest.raises(ValueError, match=message):
        features.fit(X)
