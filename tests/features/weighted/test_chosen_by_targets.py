"""EERF and kernel alignment: which frequencies of the pool they keep, by which targets, and nothing of other rows."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rffbench import EnergyBasedFeatures, KernelAlignmentFeatures, RandomFourierFeatures, StreamedRidgeClassifierCV
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.features.weighted.kernel_alignment import aligned_probabilities

pytestmark = pytest.mark.usefixtures("one_thread")
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
LABELS = np.where(np.sin(3 * X[:, 0]) > 0, 1, -1)
both = pytest.mark.parametrize("kind", [EnergyBasedFeatures, KernelAlignmentFeatures])


def scores(W, X, Y):
    """|Σⱼ yⱼ exp(i·wᵀxⱼ)|² of the frequencies W (d, l), summed over the targets Y (n, t)."""
    return (np.abs(np.exp(1j * X @ W).T @ Y) ** 2).sum(axis=1)


def positions(features, pool):
    """Where in the pool (d, l) the map's frequencies are."""
    return [int(np.flatnonzero((pool == w[:, None]).all(axis=0))[0]) for w in features.frequencies_.T]


def pool_of(count, **given):
    return RandomFourierFeatures(2 * count, random_state=4, **given).fit(X).frequencies_


@pytest.mark.parametrize("targets", ["two classes", "three classes", "values", "several values"])
def test_eerf_keeps_the_frequencies_of_the_largest_scores_unweighted(targets):
    three = np.digitize(X[:, 1], [-0.5, 0.5])
    y, Y = {
        "two classes": (LABELS, LABELS[:, None]),
        "three classes": (three, np.where(three[:, None] == np.arange(3), 1, -1)),
        "values": (X[:, 0] + 0.5, X[:, :1] + 0.5),
        "several values": (X[:, :2] ** 2, X[:, :2] ** 2),
    }[targets]
    features, pool = EnergyBasedFeatures(20, pool=7, random_state=4).fit(X, y), pool_of(70)
    assert positions(features, pool) == sorted(np.argsort(-scores(pool, X, Y))[:10])
    np.testing.assert_array_equal(features.weights_, 1)
    phase = X @ features.frequencies_
    np.testing.assert_allclose(
        features.transform(X), np.hstack([np.cos(phase), np.sin(phase)]) / np.sqrt(10), atol=1e-12
    )


def test_a_pool_of_s_is_all_kept_which_is_random_fourier_features():
    features, plain = (
        EnergyBasedFeatures(20, pool=1, random_state=4).fit(X, LABELS),
        RandomFourierFeatures(20, random_state=4),
    )
    np.testing.assert_array_equal(features.transform(X), plain.fit(X).transform(X))


@pytest.mark.parametrize("divergence", [0.1, 1.0, 3.0, 9.0, 100.0])
def test_aligned_probabilities_are_the_best_within_the_divergence(divergence):
    v = np.random.default_rng(1).exponential(size=12) ** 2
    q = aligned_probabilities(v, divergence)
    least = [
        {"type": "eq", "fun": lambda q: q.sum() - 1},
        {"type": "ineq", "fun": lambda q: divergence + 1 - 12 * (q**2).sum()},
    ]
    best = minimize(lambda q: -q @ v, np.full(12, 1 / 12), bounds=[(0, 1)] * 12, constraints=least, method="SLSQP")
    assert q.sum() == pytest.approx(1)
    assert q.min() >= 0
    assert 12 * (q**2).sum() - 1 <= divergence + 1e-9
    assert q @ v == pytest.approx(-best.fun, rel=1e-5)


def test_aligned_probabilities_of_equal_scores_are_equal():
    np.testing.assert_allclose(aligned_probabilities(np.ones(4), 3.0), 0.25)
    np.testing.assert_allclose(aligned_probabilities(np.array([0.0, 2.0, 2.0, 1.0]), 3.0), [0, 0.5, 0.5, 0])


def test_kernel_alignment_draws_by_these_probabilities_and_approaches_their_kernel_at_the_rate():
    count, pool = 4000, pool_of(4000)
    q = aligned_probabilities(scores(pool, X, LABELS[:, None]), 2.0)
    phase = X[:10] @ pool
    aligned = (np.cos(phase) * q) @ np.cos(phase).T + (np.sin(phase) * q) @ np.sin(phase).T
    error = []
    for pool_size in (40, 2.5):
        features = KernelAlignmentFeatures(round(2 * count / pool_size), pool=pool_size, divergence=2.0, random_state=4)
        Z = features.fit(X, LABELS).transform(X[:10])
        np.testing.assert_allclose(features.probabilities_, q[positions(features, pool)], rtol=1e-3)
        error.append(np.sqrt(np.mean((Z @ Z.T - aligned) ** 2)))
    assert error[0] / error[1] == pytest.approx(4, rel=0.5)  # of 16 times as many frequencies
    plain = RandomFourierFeatures(2 * count, random_state=4).fit(X).transform(X[:10])
    assert np.sqrt(np.mean((plain @ plain.T - aligned) ** 2)) > 3 * error[1]


@both
def test_the_frequencies_kept_have_more_to_do_with_the_targets(kind):
    pool = pool_of(100, gamma=4.0)
    chosen = kind(20, gamma=4.0, random_state=4).fit(X, LABELS).frequencies_
    assert scores(chosen, X, LABELS[:, None]).mean() > 2 * scores(pool, X, LABELS[:, None]).mean()


@both
def test_only_the_rows_of_the_fit_are_seen(kind):
    train, test = slice(0, 150), slice(150, 200)
    model = StreamedRidgeClassifierCV([1e-3, 1.0], features=kind(20, gamma=2.0, random_state=4))
    expected = model.fit(X[train], LABELS[train]).decision_function(X[test])
    alone = kind(20, gamma=2.0, random_state=4).fit(X[train], LABELS[train])
    np.testing.assert_array_equal(model.features_.frequencies_, alone.frequencies_)
    assert np.isfinite(expected).all()


@both
def test_targets_are_required(kind):
    with pytest.raises(ValueError, match="requires y to be passed"):
        kind(20).fit(X, None)
    with pytest.raises(ValueError, match="the scores sum to 0"):
        kind(20).fit(X, np.zeros((200, 1)))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"name": "eerf", "pool": 0.5}, "pool must be a multiple of s, a number of 1 or more"),
        ({"name": "kernel-alignment", "divergence": 0}, "divergence must be a positive number, got 0"),
        ({"name": "eerf", "variant": "reweighted"}, "variant"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(config, message):
    with pytest.raises(ConfigError, match=message):
        make_features(config, kernel="gaussian", gamma=1.0, n_features=8)
