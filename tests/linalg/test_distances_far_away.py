"""Kernel values of rows far from the origin, and far from each other, have the digits that the rows have."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from rffbench import NystroemFeatures
from rffbench.kernels import make_kernel
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.solvers.ridge.exact import ExactKernelRidgeCV

KERNELS = ["gaussian", "laplacian", "cauchy", "matern", "rational-quadratic", "perceptron"]
rng = np.random.default_rng(0)
# Multiples of 2⁻¹⁰, which no shift rounds.
NEAR = np.round(rng.normal(size=(90, 3)) * 2**10) / 2**10


def clusters(distance):
    """Rows in two groups that are far from each other, in which distances are about 1."""
    return NEAR + np.where(np.arange(90)[:, None] % 2, distance, -distance)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shift", [1e6, 1e8, 2.0**40])
def test_a_shift_of_all_rows_changes_no_value(name, shift):
    kernel = make_kernel(name, 0.3 if name != "perceptron" else 0.01)
    points = NEAR[::3]
    expected = kernel(NEAR, points)
    np.testing.assert_allclose(KernelBlocks(kernel, points + shift)(NEAR + shift), expected, atol=1e-12)
    np.testing.assert_allclose(kernel(NEAR + shift, points + shift), expected, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS[:-1])
@pytest.mark.parametrize("distance", [1e4, 1e8, 2.0**40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_groups_far_from_each_other_keep_their_own_distances(name, distance, dtype):
    X = clusters(distance)
    kernel = make_kernel(name, 0.3)
    found = KernelBlocks(kernel, X[::3], dtype)(X)
    expected = kernel(X, X[::3])  # by differences
    tolerance = 1e-8 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(found, expected, atol=tolerance)
    assert found.max() <= 1


def test_the_gaussian_of_scipys_distances():
    X = clusters(1e8)
    expected = np.exp(-0.3 * cdist(X, X[::3], "sqeuclidean"))
    for rows, points in ((X, X[::3]), (csr_array(X), csr_array(X[::3])), (csr_array(X), X[::3])):
        np.testing.assert_allclose(KernelBlocks(make_kernel("gaussian", 0.3), points)(rows), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8, 1e12])
def test_nystroem_features_are_never_longer_than_one(scale):
    X = rng.normal(size=(200, 4)) * scale
    for landmarks in ("uniform", "rpcholesky"):
        Z = NystroemFeatures(50, landmarks=landmarks, gamma=1.0, random_state=0).fit(X).transform(X)
        assert np.square(Z).sum(axis=1).max() <= 1 + 1e-8
    far = clusters(1e8)
    Z = NystroemFeatures(90, gamma=0.3, random_state=0).fit(far).transform(far)
    np.testing.assert_allclose(Z @ Z.T, make_kernel("gaussian", 0.3)(far), atol=1e-6)


def test_a_few_rows_far_away_leave_the_others_to_the_last_digit():
    kernel, points = make_kernel("gaussian", 0.3), NEAR[::3]
    alone = KernelBlocks(kernel, points)(NEAR)
    with_far = NEAR.copy()
    with_far[7] += 1e9
    both = KernelBlocks(kernel, points)(with_far)
    np.testing.assert_array_equal(np.delete(both, 7, axis=0), np.delete(alone, 7, axis=0))
    assert (both[7] == 0).all()


def test_kernel_ridge_of_shifted_rows_is_the_same():
    y = np.sin(NEAR[:, 0])
    here, there = (ExactKernelRidgeCV([1e-3], gamma=0.3).fit(NEAR + shift, y) for shift in (0.0, 2.0**40))
    np.testing.assert_allclose(there.predict(NEAR + 2.0**40), here.predict(NEAR), atol=1e-9)
