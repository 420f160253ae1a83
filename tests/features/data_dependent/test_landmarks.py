"""Landmarks by every rule: distinct rows, of any kernel and kind of rows, by few kernel values, and near the best."""

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy.sparse import csr_matrix

from rffbench import NystroemFeatures
from rffbench.data import Rows
from rffbench.features.data_dependent import landmarks
from rffbench.features.data_dependent.landmarks import (
    CENTRES,
    RULES,
    choose_landmarks,
    greedily_pivoted,
    leverage_scores,
    own_landmarks,
    randomly_pivoted,
)
from rffbench.kernels import KERNELS, make_kernel
from rffbench.linalg.kernel_blocks import KernelBlocks

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(700, 3)), 0.1 * RNG.normal(size=(100, 3)) + 3])
GAUSSIAN = make_kernel("gaussian", 0.1)


def left(kernel, rows, points):
    """tr(K − K_nS·K_SS⁺·K_Sn) over tr K."""
    values, vectors = np.linalg.eigh(kernel(points))
    kept = values > 1e-12 * values[-1]
    F = kernel(rows, points) @ (vectors[:, kept] / np.sqrt(values[kept]))
    trace = kernel.diagonal(rows).sum()
    return (trace - np.square(F).sum()) / trace


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", KERNELS)
def test_every_rule_gives_distinct_landmarks_of_every_kernel(rule, name):
    kernel = make_kernel(name, 0.1 if KERNELS[name].has_bandwidth else 1.0)
    rows = np.repeat(X[::4], 2, axis=0)
    points, numbers = choose_landmarks(rule, kernel, rows, 40, SeedSequence(1))
    assert points.shape == (40, 3)
    assert len(np.unique(points, axis=0)) == 40
    if rule in CENTRES:
        assert numbers is None
    else:
        np.testing.assert_array_equal(rows[numbers], points)


@pytest.mark.parametrize("rule", RULES)
def test_arrays_csr_matrices_and_streamed_rows_have_the_same_landmarks(rule):
    expected = choose_landmarks(rule, GAUSSIAN, X, 40, SeedSequence(1)).points
    streamed = Rows(X, np.arange(len(X)), dtype=np.float64)
    np.testing.assert_allclose(choose_landmarks(rule, GAUSSIAN, streamed, 40, SeedSequence(1)).points, expected)
    sparse = choose_landmarks(rule, GAUSSIAN, csr_matrix(X), 40, SeedSequence(1)).points
    np.testing.assert_allclose(sparse.toarray() if rule not in CENTRES else sparse, expected, atol=1e-8)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "uniform"])
def test_streamed_rows_of_no_numbers_are_refused(rule, value):
    class Streamed:
        shape, dtype, ndim = X.shape, X.dtype, 2

        def __getitem__(self, rows):
            part = X[rows].copy()
            part[np.arange(len(X))[rows] == 777] = value
            return part

    with pytest.raises(ValueError, match=r"X contains NaN or infinity in rows 0 to 799"):
        NystroemFeatures(64, landmarks=rule, gamma=0.1, random_state=0).fit(Streamed())


@pytest.mark.parametrize("rule", CENTRES)
def test_centres_of_a_kernel_with_lengths_are_those_of_scaled_rows(rule):
    lengths = np.array([0.5, 2.0, 4.0])
    of_lengths = make_kernel("gaussian", 0.1, lengths=lengths.tolist())
    found = choose_landmarks(rule, of_lengths, X, 20, SeedSequence(1)).points
    plain = choose_landmarks(rule, GAUSSIAN, X / lengths, 20, SeedSequence(1)).points
    np.testing.assert_allclose(found, plain * lengths)


@pytest.mark.parametrize("rule", RULES)
def test_more_landmarks_than_distinct_rows_are_refused(rule):
    rows = np.repeat(X[:30], 5, axis=0)
    assert len(choose_landmarks(rule, GAUSSIAN, rows, 30, SeedSequence(0)).points) == 30
    with pytest.raises(ValueError, match="31 landmarks need as many distinct rows, and X has 30; take fewer"):
        choose_landmarks(rule, GAUSSIAN, rows, 31, SeedSequence(0))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in CENTRES])
def test_a_kernel_of_low_rank_is_filled_up_with_other_rows(rule):
    line = make_kernel("polynomial").__class__(gamma=1.0, degree=1, c=1.0)  # of rank 4 on these rows
    points = choose_landmarks(rule, line, X, 20, SeedSequence(0)).points
    assert len(np.unique(points, axis=0)) == 20
    assert left(line, X, points) < 1e-12


@pytest.mark.parametrize("rule", RULES)
def test_kernel_values_are_a_few_times_rows_times_landmarks(rule, monkeypatch):
    values, fill = [], KernelBlocks.fill

    def counted(self, rows, out):
        values.append(out.size)
        fill(self, rows, out)

    monkeypatch.setattr(KernelBlocks, "fill", counted)
    rows, m = RNG.normal(size=(8000, 4)), 128
    choose_landmarks(rule, GAUSSIAN, rows, m, SeedSequence(0))
    assert sum(values) < 8 * len(rows) * m


@pytest.mark.slow
@pytest.mark.parametrize("proposed", [4, 64])  # rows at a time
def test_randomly_pivoted_cholesky_keeps_its_bound_on_the_trace(proposed, monkeypatch):
    """E tr(K − K̂) ≤ (1 + ε)·tr(K − K_r) of r/ε + r·log(1/(ε·η)) pivots, η = tr(K − K_r)/tr K (Chen et al. 2022)."""
    monkeypatch.setattr(landmarks, "FEWEST_PROPOSED", proposed)
    monkeypatch.setattr(landmarks, "MOST_PROPOSED", proposed)
    spectrum = np.linalg.eigvalsh(GAUSSIAN(X))[::-1]
    for r in (5, 15):
        eta = spectrum[r:].sum() / spectrum.sum()
        pivots = int(np.ceil(r + r * np.log(1 / eta)))
        found = [
            left(GAUSSIAN, X, X[randomly_pivoted(GAUSSIAN, X, pivots, np.random.default_rng(seed))])
            for seed in range(10)
        ]
        assert np.mean(found) <= 2 * eta


@pytest.mark.parametrize(
    ("proposed", "refresh", "draws"),
    [(32, 8.0, 1000), *(pytest.param(*each, 4000, marks=pytest.mark.slow) for each in ((1, 8.0), (1, 0.25)))],
)
def test_the_first_two_random_pivots_have_the_law_of_one_by_one(proposed, refresh, draws, monkeypatch):
    """P(i, j) = d_i/tr K · d_j′/tr K′, K′ what pivot i leaves: where both are of one block of proposals, of two blocks
    by the same old residuals, and with the residuals computed again between them."""
    monkeypatch.setattr(landmarks, "FEWEST_PROPOSED", proposed)
    monkeypatch.setattr(landmarks, "MOST_PROPOSED", proposed)
    monkeypatch.setattr(landmarks, "WORTH_REFRESHING", refresh)
    rows = np.array([[0.0], [0.3], [1.0], [3.0]])
    K = GAUSSIAN.with_gamma(1.0)(rows)
    expected = np.zeros((4, 4))
    for i in range(4):
        rest = np.diag(K - np.outer(K[:, i], K[i]) / K[i, i])
        expected[i] = rest / rest.sum() / 4
    counts = np.zeros((4, 4))
    for seed in range(draws):
        i, j = randomly_pivoted(GAUSSIAN.with_gamma(1.0), rows, 2, np.random.default_rng(seed))
        counts[i, j] += 1
    assert np.abs(counts / draws - expected).max() < 4 * np.sqrt(expected.max() / draws)


def test_residuals_of_all_rows_are_rarely_computed_for_random_pivots(monkeypatch):
    """A pass over all rows costs as much as the map itself, and a few thousand proposals a small part of it."""
    passes, residuals = [], landmarks.residuals

    def counted(*args):
        passes.append(len(args[2]))
        return residuals(*args)

    monkeypatch.setattr(landmarks, "residuals", counted)
    rows = RNG.normal(size=(8000, 4))
    choose_landmarks("rpcholesky", GAUSSIAN, rows, 256, SeedSequence(0))
    assert sum(passes) <= 400  # landmarks of all passes together; 566 with a pass when an eighth is accepted


def test_greedy_pivots_have_half_of_the_largest_residual():
    index = greedily_pivoted(GAUSSIAN, X, 60, np.random.default_rng(0))
    K = GAUSSIAN(X)
    for pivot in index:
        assert K[pivot, pivot] >= 0.5 * K.diagonal().max() - 1e-12
        K -= np.outer(K[:, pivot], K[pivot]) / K[pivot, pivot]


@pytest.mark.slow
def test_chosen_landmarks_leave_less_of_rows_with_a_far_cluster():
    rows = np.concatenate([0.2 * RNG.normal(size=(3000, 3)), RNG.normal(size=(30, 3)) + 20])
    found = {
        rule: np.mean([left(GAUSSIAN, rows, choose_landmarks(rule, GAUSSIAN, rows, 40, SeedSequence(seed)).points)
                       for seed in range(3)])
        for rule in RULES if rule not in CENTRES
    }  # fmt: skip
    for rule in ("rls", "bless", "rpcholesky", "greedy"):
        assert found[rule] < found["uniform"] / 5, rule


def test_scores_of_all_rows_are_exact_and_those_of_a_sample_within_a_factor():
    K, penalty = GAUSSIAN(X), 1.0
    exact = np.diag(np.linalg.solve(K + penalty * np.eye(len(X)), K))
    np.testing.assert_allclose(leverage_scores(GAUSSIAN, X, X, np.ones(len(X)), penalty), exact, rtol=1e-6)
    own = np.sort(np.random.default_rng(0).choice(len(X), 300, replace=False))
    found = leverage_scores(GAUSSIAN, X, X[own], np.full(300, len(X) / 300), penalty)
    assert (found > exact / 2).all()
    assert (found < 2 * exact).all()


def test_a_user_s_own_rows_are_numbers_or_points():
    np.testing.assert_array_equal(own_landmarks(X, [5, 2]).points, X[[5, 2]])
    np.testing.assert_array_equal(own_landmarks(X, X[:4] + 1).points, X[:4] + 1)
    for wrong, message in [
        ([1, 1], "distinct row numbers, got some twice"), ([0, 800], "from 0 to 799, got 0 to 800"),
        ([0.5], r"or points \(m, 3\), got shape \(1,\)"), (X[:, :2], r"or points \(m, 3\), got shape \(800, 2\)"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            own_landmarks(X, wrong)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="landmarks must be one of 'uniform', 'kmeans'"):
        choose_landmarks("best", GAUSSIAN, X, 3, SeedSequence(0))


@pytest.mark.parametrize("choose", [randomly_pivoted, greedily_pivoted])
def test_residuals_that_are_rounding_end_the_choice(choose, monkeypatch):
    """A residual that is above the bound when it is computed one way, and below it in another, is taken by none."""
    X = np.repeat(np.random.default_rng(0).standard_normal((3, 2)), 10, axis=0)
    monkeypatch.setattr(landmarks, "residuals", lambda kernel, X, *_: np.full(len(X), 1e-3))
    chosen = choose(GAUSSIAN.with_gamma(1.0), X, 10, np.random.default_rng(1))
    assert len(np.unique(X[chosen], axis=0)) == len(chosen) == 3
