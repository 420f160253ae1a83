"""The training-efficient feature map: its algorithm done densely, its limit, its promises about error and memory."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import hadamard

from rffbench import RandomFourierFeatures, TrainingEfficientFeatureMap
from rffbench.arguments.rowsource import BLOCK_ROWS
from rffbench.arguments.seeds import seed_sequence
from rffbench.kernels import make_kernel
from rffbench.linalg.sketches import SRHT, CountSketchGaussian, GaussianSketch
from tests.helpers.cases import others_slow
from tests.helpers.kernel_rates import ServedRows

pytestmark = pytest.mark.usefixtures("one_thread")

SKETCHES = ["gaussian", "srht", "countsketch"]
OR_NONE = [*SKETCHES, "none"]
X = np.random.default_rng(0).uniform(size=(700, 3))
GAMMA = 0.8


def tefm(l=20, **parameters):  # noqa: E741
    return TrainingEfficientFeatureMap(l, **{"gamma": GAMMA, "random_state": 1, **parameters})


def theta(sketch, n, l, m, seed):  # noqa: E741
    """Θ (n, l), written out."""
    sequence = seed_sequence(seed)
    if sketch == "srht":
        drawn = SRHT(n, l, sequence)
        N = drawn.padded
        return np.sqrt(N / l) * drawn.signs[:, None] * (hadamard(N) / np.sqrt(N))[:n, drawn.sampled]
    made = GaussianSketch(n, l, sequence) if sketch == "gaussian" else CountSketchGaussian(n, l, m, sequence)
    return made.columns(np.eye(n))


def dense(map_, X, l, q):  # noqa: E741
    """G = FQ by the paper's Algorithms 1 and 2, everything held whole; Q's columns with the sign that R ≥ 0 gives."""
    m = 2 * int(np.ceil(map_.expansion * l / 2))
    F = RandomFourierFeatures(m, gamma=GAMMA, random_state=1).fit_transform(X)
    Y = np.linalg.matrix_power(F.T @ F, q) @ F.T @ theta(map_.sketch, len(X), l, m, 1)
    Q, R = np.linalg.qr(Y)
    return F @ (Q * np.sign(np.diag(R)))


# Expansions of 4 and less sum up FᵀF, 9 goes over the rows again; 700 rows are padded to 1024.
@pytest.mark.parametrize("expansion", [1, 2.5, 4, 9])
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("sketch", SKETCHES)
def test_it_is_the_dense_algorithm(sketch, power, expansion):
    map_ = tefm(10, sketch=sketch, power=power, expansion=expansion).fit(X)
    G = dense(map_, X, 10, 0 if sketch == "srht" else power)
    assert map_.power_ == (0 if sketch == "srht" else power)
    assert map_.letters(4)["g"] == (sketch != "srht" and power > 0 and expansion <= 4 * power)
    found = map_.transform(X)
    np.testing.assert_allclose(found @ found.T, G @ G.T, atol=1e-8)
    if power < 2:  # an odd dense power loses the directions of small singular values to rounding
        np.testing.assert_allclose(found, G, atol=1e-6)
    np.testing.assert_allclose(map_.components_.T @ map_.components_, np.eye(10), atol=1e-12)


@pytest.mark.parametrize("rows", [700, 8])  # 8: fewer than columns
def test_without_a_sketch_it_is_the_best_approximation_of_its_rank(rows):
    map_ = tefm(10, sketch="none", power=2).fit(X[:rows])
    assert map_.power_ == 0
    F = map_.fourier_.transform(X[:rows])
    U, singular, _ = np.linalg.svd(F, full_matrices=False)
    best = (U[:, :10] * singular[:10] ** 2) @ U[:, :10].T
    found = map_.transform(X[:rows])
    np.testing.assert_allclose(found @ found.T, best, atol=1e-10)
    np.testing.assert_allclose(map_.components_.T @ map_.components_, np.eye(10), atol=1e-12)
    sketched = [tefm(10, sketch=each, power=1).fit(X[:rows]).components_ for each in SKETCHES]
    least = np.linalg.norm(F - found @ map_.components_.T)
    assert all(least <= np.linalg.norm(F - F @ Q @ Q.T) + 1e-12 for Q in sketched)


@pytest.mark.parametrize(
    ("n", "given", "chosen"),
    [
        (640, {}, "none"),
        (639, {}, "gaussian"),  # fewer rows than 4m²/l: the eigenvectors take more time than a sketch
        (700, {"power": 0}, "gaussian"),  # FᵀF is not summed
        (700, {"expansion": 5}, "gaussian"),
        (700, {"expansion": 5, "power": 2}, "gaussian"),
        (700, {"expansion": 2, "power": 2}, "none"),
    ],
)
def test_auto_takes_eigenvectors_where_a_sketch_is_slower(n, given, chosen):
    found, same = tefm(10, **given).fit(X[:n]), tefm(10, **{**given, "sketch": chosen}).fit(X[:n])
    assert (found.sketch, found.sketch_) == ("auto", chosen)
    assert found.power_ == same.power_ == (0 if chosen == "none" else found.power)
    np.testing.assert_array_equal(found.components_, same.components_)
    assert found.bytes_to_fit >= same.bytes_to_fit


@pytest.mark.parametrize("sketch", OR_NONE)
def test_many_blocks_of_rows_make_the_same_map_as_one(sketch, monkeypatch):
    whole = tefm(sketch=sketch).fit(X)
    for module in ("arguments.rowsource", "features.data_dependent.tefm"):
        monkeypatch.setattr(f"rffbench.{module}.BLOCK_ROWS", 64)
    served = ServedRows(X)
    blocks = tefm(sketch=sketch).fit(served)
    assert served.largest == 64
    np.testing.assert_allclose(blocks.transform(X), whole.transform(X), atol=1e-7)


@pytest.mark.parametrize("sketch", ["gaussian", "countsketch"])
def test_with_growing_power_it_becomes_the_exact_principal_components(sketch):
    rows = X[:150]
    F = RandomFourierFeatures(48, gamma=GAMMA, random_state=1).fit_transform(rows)
    _, values, right = np.linalg.svd(F)
    l = 4 + np.argmin(values[4:12] / values[3:11])  # noqa: E741  the columns that stand out most from the next
    V = right[:l].T
    error = {}
    for power in (0, 5, 100):
        map_ = tefm(int(l), expansion=48 / l, sketch=sketch, power=power).fit(rows)
        assert map_.n_expanded == 48
        Z = map_.transform(rows)
        error[power] = np.abs(Z @ Z.T - F @ V @ V.T @ F.T).max()
    assert error[0] > 10 * error[5]
    assert error[100] < 1e-10


def residual(sketch, power, seed, l=12):  # noqa: E741
    map_ = tefm(l, sketch=sketch, power=power, random_state=seed).fit(X)
    F, Q = map_.fourier_.transform(X), map_.components_
    return np.linalg.norm(F - F @ Q @ Q.T, 2) / np.linalg.svd(F, compute_uv=False)[l]


def test_power_nears_the_best_rank_l_and_sketches_find_it_about_as_well():
    """‖F − FQQᵀ‖₂ over the singular value that no rank l goes below (Halko et al. 2011)."""
    mean = {
        (sketch, q): np.mean([residual(sketch, q, seed) for seed in range(10)])
        for sketch in SKETCHES for q in (0, 1, 2)
    }  # fmt: skip
    assert 1 <= mean["gaussian", 2] < mean["gaussian", 1] < mean["gaussian", 0] < 6
    assert mean["gaussian", 2] < 1.2
    for sketch in ("srht", "countsketch"):
        assert mean[sketch, 0] < 1.3 * mean["gaussian", 0]


SIZES = (16, 32, 64)
LOW_RANK = X[:150, :2]


def root_mean_square_errors(made):
    """Of ``made(size, seed)``: the relative error of the kernel matrix of low-rank data, at each size."""
    K = make_kernel("gaussian", GAMMA)(LOW_RANK)

    def error(map_):
        Z = map_.fit_transform(LOW_RANK)
        return np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K)

    seeds = [range(100 * i, 100 * i + 40) for i in range(len(SIZES))]
    squares = [[error(made(size, seed)) ** 2 for seed in at] for size, at in zip(SIZES, seeds, strict=True)]
    return np.sqrt(np.mean(squares, axis=1))


@pytest.fixture(scope="module")
def theirs():
    return root_mean_square_errors(lambda size, seed: RandomFourierFeatures(size, gamma=GAMMA, random_state=seed + 7))


@pytest.mark.parametrize("sketch", others_slow(SKETCHES, ["srht"]))
def test_error_is_half_that_of_random_fourier_features_and_falls_at_their_rate(sketch, theirs):
    """Beyond rank l little of FFᵀ is left, so that m = 4l columns' error remains, half of l's."""
    ours = root_mean_square_errors(lambda size, seed: tefm(size, sketch=sketch, random_state=seed))
    np.testing.assert_allclose(ours / theirs, 0.5, atol=0.2)
    for errors in (ours, theirs):
        assert abs(np.polyfit(np.log(SIZES), np.log(errors), 1)[0] + 0.5) < 0.2


def test_error_stays_below_random_fourier_features_where_the_kernel_is_far_from_low_rank():
    rows = np.random.default_rng(3).normal(size=(300, 20)) / 3
    K = make_kernel("gaussian", 0.5)(rows)

    def error(map_):
        Z = map_.fit_transform(rows)
        return np.linalg.norm(Z @ Z.T - K)

    for sketch in SKETCHES:
        pairs = [
            (
                error(tefm(60, sketch=sketch, gamma=0.5, random_state=seed)),
                error(RandomFourierFeatures(60, gamma=0.5, random_state=seed)),
            )
            for seed in range(6)
        ]
        assert np.mean([a for a, _ in pairs]) < np.mean([b for _, b in pairs])


def test_its_frequencies_are_those_of_random_fourier_features():
    base = RandomFourierFeatures(40, gamma=GAMMA, random_state=1).fit(X)
    np.testing.assert_array_equal(tefm(10).fit(X).fourier_.frequencies_, base.frequencies_)


class MadeRows:
    """n rows that are made when they are asked for."""

    def __init__(self, n, d):
        self.shape, self.dtype = (n, d), np.dtype(np.float64)

    def __getitem__(self, rows):
        index = np.arange(rows.start, min(rows.stop, self.shape[0]))[:, None]
        return np.sin(index * np.arange(1.0, self.shape[1] + 1))


@pytest.mark.parametrize("sketch", SKETCHES)
def test_memory_does_not_grow_with_the_rows(sketch):
    map_ = tefm(16, sketch=sketch)
    map_.fit(MadeRows(100, 4))
    peaks = []
    for n in (2 * BLOCK_ROWS, 16 * BLOCK_ROWS):
        tracemalloc.start()
        map_.fit(MadeRows(n, 4))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    a_number_a_row = 14 * BLOCK_ROWS * 24  # signs and buckets: 24 bytes, where F has 8·64
    assert peaks[1] - peaks[0] < 1.2 * a_number_a_row
    assert peaks[0] < 1.5 * map_.bytes_to_fit


@pytest.mark.parametrize("sketch", SKETCHES)
def test_constant_columns_one_column_and_equal_rows_are_mapped(sketch):
    line = np.linspace(0, 1, 60)[:, None]
    for rows in (line, np.hstack([np.ones((60, 1)), line, np.zeros((60, 1))])):
        Z = tefm(sketch=sketch, expansion=50).fit_transform(rows)
        np.testing.assert_allclose(Z @ Z.T, make_kernel("gaussian", GAMMA)(rows), atol=0.15)
    Z = tefm(sketch=sketch).fit_transform(np.ones((60, 3)))  # F has rank one
    np.testing.assert_allclose(Z @ Z.T, 1, atol=1e-10)


@pytest.mark.parametrize("n", [1, 7, 20])
def test_columns_beyond_the_rows_complete_the_basis(n):
    """All of F on the training rows is kept."""
    map_ = tefm(20).fit(X[:n])
    F, Z = map_.fourier_.transform(X[:n]), map_.transform(X[:n])
    np.testing.assert_allclose(map_.components_.T @ map_.components_, np.eye(20), atol=1e-12)
    np.testing.assert_allclose(Z @ Z.T, F @ F.T, atol=1e-8)


@pytest.mark.parametrize("sketch", ["srht", "countsketch"])
def test_fewer_rows_than_columns_are_mapped_by_the_other_sketches(sketch):
    Z = tefm(20, sketch=sketch).fit_transform(X[:7])
    assert Z.shape == (7, 20)
    assert np.linalg.norm(Z, axis=1).max() < 1 + 1e-12  # a projection of F, whose rows have length 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sketch": "sparse"}, "sketch must be one of 'auto', 'gaussian', 'srht', 'countsketch', 'none', got 'sparse'"),
        ({"power": -1}, "power must be a whole number, 0 or more, got -1"),
        ({"power": 1.5}, "power must be a whole number"),
        ({"expansion": 0.5}, "expansion must be a number, 1 or more, to make at least the 20 columns that are kept"),
        ({"expansion": np.inf}, "expansion must be a number"),
        ({"expansion": "4"}, "expansion must be a number"),
        ({"kernel": "perceptron"}, "needs a kernel with a spectral density"),
        ({"gamma": -1}, "gamma must be a positive number"),
    ],
)
def test_wrong_parameters_are_refused_with_what_would_be_right(parameters, message):
    with pytest.raises(ValueError, match=message):
        tefm(**parameters).fit(X)
