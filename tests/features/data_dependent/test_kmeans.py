"""Mini-batch k-means: as good as scikit-learn's, however rows are scaled, ordered, repeated or stored."""

import numba
import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, MiniBatchKMeans

from rffbench import NystroemFeatures
from rffbench.data import Rows
from rffbench.features.data_dependent.kmeans import STEP_ROWS, drawn, minibatch_centres
from rffbench.features.data_dependent.landmarks import choose_landmarks
from rffbench.kernels import make_kernel
from rffbench.linalg.nearest import nearest, sums_by_point

GAUSSIAN = make_kernel("gaussian", 0.1)
RNG = np.random.default_rng(0)
BLOBS = RNG.normal(size=(12, 5)) * 4
MIXED = BLOBS[RNG.integers(12, size=6000)] + RNG.normal(size=(6000, 5))
NORMAL = RNG.normal(size=(6000, 8))
HEAVY = RNG.standard_t(2, size=(6000, 4))


def centres(X, count, seed=0, rule="minibatch"):
    return choose_landmarks(rule, GAUSSIAN, X, count, SeedSequence(seed)).points


def inertia(X, points):
    """The mean squared distance of the rows to the nearest point."""
    return np.mean(
        [(cdist(X[at : at + 1000], points, "sqeuclidean").min(axis=1)).mean() for at in range(0, len(X), 1000)]
    )


@pytest.mark.parametrize(
    ("X", "above_converged"), [(MIXED, 1.08), (NORMAL, 1.08), (HEAVY, np.inf)], ids=["mixed", "normal", "heavy"]
)
def test_the_mean_squared_distance_is_that_of_scikit_learn_s_mini_batches(X, above_converged, one_thread):
    ours = np.mean([inertia(X, centres(X, 128, seed)) for seed in range(3)])
    as_landmarks = np.mean([inertia(X, centres(X, 128, seed, "kmeans")) for seed in range(3)])
    fitted = inertia(X, MiniBatchKMeans(128, random_state=0, n_init=1).fit(X).cluster_centers_)
    converged = inertia(X, KMeans(128, random_state=0, n_init=1).fit(X).cluster_centers_)
    assert ours < 1.02 * as_landmarks
    assert ours < 1.02 * fitted
    assert ours < above_converged * converged


def test_a_second_pass_that_forgets_most_of_the_first_lowers_it(monkeypatch):
    steps = [NORMAL[at : at + STEP_ROWS] for at in range(0, len(NORMAL), STEP_ROWS)]

    def found(passes):
        return inertia(NORMAL, minibatch_centres(lambda: steps, NORMAL[:384], 128, np.random.default_rng(0), passes))

    two = found(2)
    assert two < 0.99 * found(1)
    monkeypatch.setattr("rffbench.features.data_dependent.kmeans.KEPT", 1.0)
    assert two < 0.995 * found(2)


def test_drawn_rows_have_the_law_of_k_means_plus_plus():
    """P(i, j) = 1/n · D_j(i)/Σ D: both of one block of proposals."""
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    D = (X - X.T) ** 2
    expected = D / D.sum(axis=1, keepdims=True) / 4
    third = np.zeros(4)
    counts, draws = np.zeros((4, 4)), 1000
    rng = np.random.default_rng(0)
    for _ in range(draws):
        i, j, k = (int(np.flatnonzero(X[:, 0] == x)[0]) for x in drawn(X, 3, rng)[:, 0])
        counts[i, j] += 1
        third[k] += 1
    assert np.abs(counts / draws - expected).max() < 4 * np.sqrt(expected.max() / draws)
    left = np.minimum(D[:, None, :], D[None, :, :])
    law = np.einsum("ij,ijk->k", expected, left / np.maximum(left.sum(axis=2, keepdims=True), 1e-300))
    assert np.abs(third / draws - law).max() < 4 * np.sqrt(law.max() / draws)


@pytest.mark.parametrize(
    ("scale", "shift"), [(1e-100, 0.0), (1e-12, 0.0), (1e12, 0.0), (1.0, 1e5), (1e30, 1e32), (1e100, 0)]
)
def test_centres_move_with_rows_that_are_scaled_and_shifted(scale, shift):
    found = centres(scale * MIXED + shift, 64)
    assert inertia(MIXED, (found - shift) / scale) == pytest.approx(inertia(MIXED, centres(MIXED, 64)), rel=0.03)


def test_the_order_of_the_rows_changes_no_quality():
    mixed = np.mean([inertia(MIXED, centres(MIXED, 64, seed)) for seed in range(3)])
    for order in (np.argsort(MIXED[:, 0]), np.lexsort(np.round(MIXED.T))):
        ordered = np.mean([inertia(MIXED, centres(MIXED[order], 64, seed)) for seed in range(3)])
        assert ordered == pytest.approx(mixed, rel=0.03)


def test_repeated_rows_weigh_as_often_as_they_are_there():
    repeated = np.concatenate([np.repeat(MIXED[:50], 100, axis=0), MIXED[50:1000]])
    found = centres(repeated, 200)
    assert len(np.unique(found, axis=0)) == 200
    assert inertia(MIXED[:50], found) < 0.05 * inertia(MIXED[50:1000], found)


def test_as_many_centres_as_rows_are_the_rows_and_few_distinct_rows_are_found():
    few = MIXED[:300]
    assert inertia(few, centres(few, 300)) == pytest.approx(0, abs=1e-12)
    two_far = np.concatenate([few[:40] * 1e-3, few[:40] * 1e-3 + 10])  # float32 has no digit for what is within one
    assert (
        inertia(two_far, centres(np.repeat(two_far, 20, axis=0), 80)) < 1e-6
    )  # 1e-4 within, a few are not in the sample


@pytest.mark.parametrize("threads", [1, 2])
def test_a_seed_gives_the_same_centres_with_any_number_of_threads(threads):
    before = numba.get_num_threads()
    expected = centres(NORMAL, 300)
    try:
        numba.set_num_threads(min(threads, before))
        np.testing.assert_array_equal(centres(NORMAL, 300), expected)
    finally:
        numba.set_num_threads(before)


def test_stored_in_whatever_way_rows_have_the_same_centres():
    X = NORMAL.astype(np.float32)
    expected = centres(X, 100)
    np.testing.assert_array_equal(centres(X.astype(np.float64), 100), expected)
    np.testing.assert_array_equal(centres(csr_matrix(X), 100), expected)
    np.testing.assert_array_equal(centres(Rows(X, np.arange(len(X)), dtype=np.float32), 100), expected)


def test_rows_are_read_in_steps_of_bounded_size():
    class Reads:
        def __init__(self):
            self.shape, self.dtype, self.ndim, self.most = NORMAL.shape, NORMAL.dtype, 2, 0

        def __getitem__(self, rows):
            self.most = max(self.most, rows.stop - rows.start)
            return NORMAL[rows]

    lazy = Reads()
    NystroemFeatures(40, landmarks="minibatch", gamma=0.1, random_state=0).fit(lazy)
    assert 0 < lazy.most <= 2 * STEP_ROWS


@pytest.mark.parametrize("m", [1, 63, 64, 100, 128])
def test_a_row_of_nan_is_near_some_point_and_near_none(m):
    X = NORMAL[:10].copy()
    X[3] = np.nan
    labels, squares = nearest(X, NORMAL[100 : 100 + m])
    assert 0 <= labels.min() <= labels.max() < m  # sums are added in compiled code, which checks no number
    assert np.flatnonzero(~np.isfinite(squares)).tolist() == [3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 63, 64, 200])
def test_the_nearest_points_are_those_of_all_distances(m, dtype):
    X, points = NORMAL[:3000].astype(dtype), NORMAL[3000 : 3000 + m].astype(dtype)
    labels, squares = nearest(X, points)
    distances = cdist(X, points, "sqeuclidean")
    rounding = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(squares, distances.min(axis=1), atol=rounding)
    np.testing.assert_allclose(distances[np.arange(3000), labels], distances.min(axis=1), atol=rounding)
    sums, counts = sums_by_point(X, labels, m)
    np.testing.assert_array_equal(counts, np.bincount(labels, minlength=m))
    np.testing.assert_allclose(sums, [X[labels == k].astype(float).sum(axis=0) for k in range(m)], atol=1e-6)
