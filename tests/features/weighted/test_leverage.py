"""Leverage and surrogate features: scores by brute force, unbiased weights, the facts of the reweighted variant."""

from copy import copy

import numpy as np
import pytest

from rffbench import LeverageScoreFeatures, RandomFourierFeatures, SurrogateLeverageFeatures
from rffbench.arguments import rowsource
from rffbench.arguments.seeds import generator, seed_sequence
from rffbench.features.base import draw_frequencies, draw_phases
from rffbench.features.weighted.leverage import ridge_leverage_scores
from rffbench.features.weighted.pool import frequency_scores, resample, reweight, whole_pool
from rffbench.features.weighted.surrogate import alignment_scores
from rffbench.kernels import SPECTRAL_KERNELS, make_kernel
from rffbench.linalg.triangles import TriangleStack
from rffbench.linalg.trigonometric import fourier_columns, fourier_products

GAMMA, SEED, N, D = 0.6, 11, 70, 4
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3, 1.0, -1.0)
METHODS = {
    "leverage": LeverageScoreFeatures,
    "surrogate, eq. 14": lambda *args, **kwargs: SurrogateLeverageFeatures(*args, form="eq14", **kwargs),
    "surrogate, eq. 12": lambda *args, **kwargs: SurrogateLeverageFeatures(*args, form="eq12", **kwargs),
}


def pool_of(kernel, size):
    """Base frequencies, phases and plain unscaled features of the pool that a map with SEED draws."""
    sequence = seed_sequence(SEED)
    W = draw_frequencies(make_kernel(kernel, GAMMA), size, D, sequence)
    return W, draw_phases(size, sequence), np.hstack([np.cos(X @ W), np.sin(X @ W)])


def complex_pool_scores(method, W, score_lambda=0.05):
    """Frequency scores from the n × n definitions: Eq. 3 with K̃ = ZZ*, Eq. 12, Eq. 14; Z complex, (n, l)."""
    Z = np.exp(-1j * X @ W) / np.sqrt(W.shape[1])
    if method == "leverage":
        middle = np.linalg.inv((Z @ Z.conj().T).real + N * score_lambda * np.eye(N))
    else:
        middle = np.outer(Y, Y) + N * np.eye(N) * (method == "surrogate, eq. 12")
    return np.einsum("ij,ik,kj->j", Z.conj(), middle, Z).real


def triangle_of(gram):
    """Only the lower triangle is taken: the upper one is nobody's business."""
    triangle = TriangleStack(1, len(gram))[0]
    lower = np.tril_indices(len(gram))
    triangle.lower[lower] = gram[lower]
    return triangle


@pytest.mark.parametrize("pool", [6, 40])  # fewer and more columns than rows
def test_ridge_leverage_scores_equal_the_n_by_n_definition(pool):
    B = pool_of("gaussian", pool)[2] / np.sqrt(pool)
    c = N * 0.05
    brute = np.einsum("ij,ik,kj->j", B, np.linalg.inv(B @ B.T + c * np.eye(N)), B)
    np.testing.assert_allclose(ridge_leverage_scores(triangle_of(B.T @ B), c), brute, rtol=1e-11)
    direct = np.diag(B.T @ B @ np.linalg.inv(B.T @ B + c * np.eye(2 * pool)))
    np.testing.assert_allclose(ridge_leverage_scores(triangle_of(B.T @ B), c), direct, rtol=1e-11)


def test_ridge_leverage_scores_refuse_what_is_no_gram_matrix():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        ridge_leverage_scores(triangle_of(-np.eye(4)), 0.5)
    with pytest.raises(ValueError, match="must be positive"):
        ridge_leverage_scores(triangle_of(np.eye(4)), 0.0)


def test_a_column_that_vanishes_on_the_data_keeps_a_positive_score():
    scores = ridge_leverage_scores(triangle_of(np.diag([3.0, 0.0, 1e-30, 2.0])), 1.0)
    np.testing.assert_allclose(scores[[0, 3]], [3 / 4, 2 / 3])
    assert (scores > 0).all()
    assert np.isfinite(reweight(scores, 2, np.zeros(2)).amplitude).all()


def test_alignment_scores_equal_eq_14_and_eq_12():
    W, _, B0 = pool_of("gaussian", 9)
    B = B0 / 3
    eq14 = frequency_scores(alignment_scores(B.T @ Y))
    np.testing.assert_allclose(eq14, complex_pool_scores("surrogate, eq. 14", W))
    eq12 = frequency_scores(alignment_scores(B.T @ Y, (B**2).sum(axis=0), N))
    np.testing.assert_allclose(eq12, complex_pool_scores("surrogate, eq. 12", W))
    np.testing.assert_allclose(eq12 - eq14, N * N / 9)  # n‖zᵢ‖² is the same for all: |z|² = 1/l


@pytest.mark.parametrize("kernel", SPECTRAL_KERNELS)
@pytest.mark.parametrize("pool", [1, 3, 2.6])
@pytest.mark.parametrize("method", METHODS)
def test_as_written_map_is_algorithm_1_taken_literally(method, pool, kernel):
    s = 8
    map_ = METHODS[method](2 * s, pool=pool, kernel=kernel, gamma=GAMMA, random_state=SEED).fit(X, Y)
    size = {1: s, 3: 24, 2.6: 21}[pool]  # 20.8, rounded
    W = pool_of(kernel, size)[0]
    scores = complex_pool_scores(method, W)
    L = scores.sum()
    counts = generator(seed_sequence(SEED), "resampling").multinomial(s, scores / L)
    columns = [(i, np.sqrt(L / (size * scores[i]) / s)) for i in range(size) for _ in range(counts[i])]
    cosines = [factor * np.cos(X @ W[:, i]) for i, factor in columns]
    sines = [factor * np.sin(X @ W[:, i]) for i, factor in columns]
    rtol = 1e-5 if method == "surrogate, eq. 14" else 1e-9  # scored in single precision
    np.testing.assert_allclose(map_.transform(X), np.stack(cosines + sines, axis=1), rtol=rtol, atol=1e-12)
    chosen = [i for i, _ in columns]
    np.testing.assert_array_equal(map_.frequencies_, W[:, chosen])
    np.testing.assert_allclose(map_.weights_, L / (size * scores[chosen]), rtol=rtol)
    np.testing.assert_allclose(map_.probabilities_, scores[chosen] / L, rtol=rtol)
    assert map_.offset_ is None


@pytest.mark.parametrize("kernel", SPECTRAL_KERNELS)
@pytest.mark.parametrize("pool", [1, 2.0])
@pytest.mark.parametrize("method", ["leverage", "surrogate, eq. 14"])
def test_as_released_map_is_the_published_routine_taken_literally(method, pool, kernel):
    s = 7
    map_ = METHODS[method](2 * s, variant="reweighted", pool=pool, kernel=kernel, gamma=GAMMA, random_state=SEED).fit(
        X, Y
    )
    size = round(pool * s)
    W, b, _ = pool_of(kernel, size)
    columns = []  # (frequency, score) of the phased pool: cosines, then sines
    phased = [np.cos(X @ W[:, i] + b[i]) / np.sqrt(size) for i in range(size)]
    phased += [np.sin(X @ W[:, i] + b[i]) / np.sqrt(size) for i in range(size)]
    B = np.stack(phased, axis=1)
    inverse = np.linalg.inv(B.T @ B + N * 0.05 * np.eye(2 * size))
    for j in range(2 * size):
        score = (B.T @ B @ inverse)[j, j] if method == "leverage" else (B[:, j] @ Y) ** 2
        columns.append((j % size, score))
    total = sum(score for _, score in columns)
    columns.sort(key=lambda column: -column[1])
    expected, weights = [], []
    for position, (i, score) in enumerate(columns[: 2 * s]):
        wave = np.cos if position < s else np.sin
        weights.append(total / score)
        expected.append(np.sqrt(weights[-1] / s) * wave(X @ W[:, i] + b[position % s]))
    np.testing.assert_allclose(map_.transform(X), np.stack(expected, axis=1), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(map_.frequencies_, W[:, [i for i, _ in columns[: 2 * s]]])
    np.testing.assert_allclose(map_.weights_, weights, rtol=1e-7)
    np.testing.assert_allclose(map_.offset_, np.tile(b[:s], 2))
    assert (np.diff(map_.probabilities_) <= 0).all()
    if pool == 1:  # all columns are kept: the mean weight is 2s or more, so λ acts 2s times weaker
        assert map_.probabilities_.sum() == pytest.approx(1)
        assert map_.weights_.mean() >= 2 * s


@pytest.mark.parametrize("method", METHODS)
def test_resampled_kernel_is_the_pools_on_average(method):
    size, s, repetitions = 12, 6, 4000
    W, _, B0 = pool_of("gaussian", size)
    scores = complex_pool_scores(method, W)
    few = B0[:5]
    estimates = np.empty((repetitions, 5, 5))
    stream = np.random.default_rng(1)
    for i in range(repetitions):
        first, second, a, b = resample(scores, s, stream).recombination(size)
        Z = a * few[:, first] + b * few[:, second]
        estimates[i] = Z @ Z.T
    error = estimates.std(axis=0) / np.sqrt(repetitions)
    assert (np.abs(estimates.mean(axis=0) - few @ few.T / size) < 4.5 * error + 1e-12).all()


def test_importance_weight_times_probability_is_one_over_the_pool():
    scores = np.array([0.0, 1.0, 2.0, 5.0])
    selection = resample(scores, 1000, np.random.default_rng(0))
    np.testing.assert_allclose(selection.weights * selection.probabilities, 1 / 4)
    counts = np.bincount(selection.index[:1000], minlength=4)
    assert counts[0] == 0
    np.testing.assert_allclose(counts / 1000, scores / 8, atol=0.06)


@pytest.mark.parametrize("variant", ["as-written", "reweighted"])
@pytest.mark.parametrize("method", METHODS)
def test_selection_recombines_the_plain_pool_into_the_map(method, variant):
    s, size = 6, 10
    map_ = METHODS[method](2 * s, variant=variant, pool=size / s, gamma=GAMMA, random_state=SEED).fit(X, Y)
    _, phases, B0 = pool_of("gaussian", size)

    def recombined(selection):
        first, second, a, b = selection.recombination(size)
        return a * B0[:, first] + b * B0[:, second]

    B = recombined(whole_pool(size, phases if variant == "reweighted" else None))
    if method == "leverage":
        scores = ridge_leverage_scores(triangle_of(B.T @ B), N * 0.05)
    else:
        norms = (B**2).sum(axis=0) if method == "surrogate, eq. 12" else 0.0
        scores = alignment_scores(B.T @ Y, norms, N)
    Z = recombined(map_.choose(scores, s, seed_sequence(SEED)))
    np.testing.assert_allclose(map_.transform(X), Z, rtol=1e-6, atol=1e-9)


def test_whole_pool_without_phases_is_the_random_fourier_map():
    _, _, B0 = pool_of("gaussian", 9)
    first, second, a, b = whole_pool(9).recombination(9)
    Z = RandomFourierFeatures(18, gamma=GAMMA, random_state=SEED).fit_transform(X)
    np.testing.assert_allclose(a * B0[:, first] + b * B0[:, second], Z, atol=1e-14)


@pytest.mark.parametrize("variant", ["as-written", "reweighted"])
@pytest.mark.parametrize("method", METHODS)
def test_scores_do_not_depend_on_the_row_blocks(method, variant, monkeypatch):
    map_ = METHODS[method](12, variant=variant, pool=3.0, gamma=GAMMA, random_state=SEED)
    whole = map_.fit(X, Y).probabilities_
    monkeypatch.setattr(rowsource, "BLOCK_ROWS", 16)
    rtol = 1e-5 if (method, variant) == ("surrogate, eq. 14", "as-written") else 1e-10  # scored in single precision
    np.testing.assert_allclose(map_.fit(X, Y).probabilities_, whole, rtol=rtol)


def test_frequencies_that_follow_the_labels_are_drawn_most():
    w = np.array([1.3, -0.4, 0.0, 0.8])
    W = np.stack([w, 3 * w[::-1]], axis=1)
    B = np.hstack([np.cos(X @ W), np.sin(X @ W)]) / np.sqrt(2)
    y = np.sin(X @ w + 0.4)
    scores = frequency_scores(alignment_scores(B.T @ y))
    assert scores[0] > 10 * scores[1]


@pytest.mark.parametrize("variant", ["as-written", "reweighted"])
def test_zero_targets_are_refused(variant):
    with pytest.raises(ValueError, match="targets are orthogonal to every feature"):
        SurrogateLeverageFeatures(10, variant=variant).fit(X, np.zeros(N))


def test_missing_or_short_targets_are_refused():
    with pytest.raises(ValueError, match="requires y to be passed"):
        SurrogateLeverageFeatures(10).fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SurrogateLeverageFeatures(10).fit(X, Y[:-1])


def test_score_lambda_is_a_parameter_of_its_own():
    weak, strong = (
        LeverageScoreFeatures(40, score_lambda=lam, variant="reweighted", gamma=GAMMA, random_state=0).fit(X)
        for lam in (1e-6, 1e3)
    )
    assert np.ptp(weak.probabilities_) != pytest.approx(np.ptp(strong.probabilities_), rel=0.1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_with_the_targets_are_those_of_the_columns(dtype):
    rows, W = rng.normal(size=(700, D)).astype(dtype), rng.normal(size=(D, 600)).astype(dtype)
    y = rng.normal(size=700)
    cos, sin = np.empty((700, 600), dtype), np.empty((700, 600), dtype)
    fourier_columns(rows, W, cos, sin)
    for product, columns in zip(fourier_products(rows, W, y), (cos, sin), strict=True):
        assert product.dtype == np.float64
        np.testing.assert_allclose(product, y @ columns.astype(np.float64), rtol=0, atol=1e-4)


@pytest.mark.parametrize("pool", [1, 2.0])
def test_scores_of_single_precision_choose_what_those_of_double_do(pool):
    X = rng.normal(size=(500, D))
    y = np.sign(X[:, 0] + 0.1)
    features = SurrogateLeverageFeatures(400, gamma=GAMMA, pool=pool, random_state=3)
    single = copy(features).fit(X, y)
    double = copy(features)
    double.check_parameters()

    def gather(columns):
        B = np.empty((len(X), columns))
        double.fill(X, B)
        return {"right_side": y @ B}

    double.fit_pool(*X.shape, gather)
    np.testing.assert_array_equal(single.frequencies_, double.frequencies_)
    np.testing.assert_allclose(single.weights_, double.weights_, rtol=1e-4)


@pytest.mark.parametrize("map_class", [LeverageScoreFeatures, SurrogateLeverageFeatures])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_map_without_its_equal_columns_makes_the_same_kernel_and_the_same_outputs(map_class, dtype):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4)).astype(dtype)
    y = np.sign(X[:, 0])
    features = map_class(120, gamma=0.3, random_state=1).fit(X, y)
    distinct = features.distinct()
    left = distinct.features.n_components
    assert left == 2 * len(np.unique(features.frequencies_[0])) < 120
    assert features.n_components == 120
    whole, once = features.transform(X).astype(float), distinct.features.transform(X).astype(float)
    assert once.shape == (50, left)
    atol = 1e-12 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(once @ once.T, whole @ whole.T, atol=atol)
    coef = rng.normal(size=(left, 2))
    np.testing.assert_allclose(whole @ distinct.columns.spread(coef), once @ coef, atol=10 * atol)
    np.testing.assert_allclose(distinct.columns.collapse(distinct.columns.spread(coef)), coef, rtol=1e-12)
    full = rng.normal(size=120)
    np.testing.assert_allclose(once @ distinct.columns.collapse(full), whole @ full, atol=10 * atol)


def test_a_map_without_equal_columns_stays_as_it_is():
    X = np.random.default_rng(3).normal(size=(50, 4))
    assert LeverageScoreFeatures(120, variant="reweighted", random_state=1).fit(X).distinct() is None
    assert LeverageScoreFeatures(2, pool=100, random_state=1).fit(X).distinct() is None
