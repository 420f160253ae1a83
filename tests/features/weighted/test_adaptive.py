"""Adaptive resampling: the amplitudes by another library, what is drawn by them, and that frequencies arrive."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from rffbench import AdaptiveResamplingFeatures, EnergyBasedFeatures, RandomFourierFeatures, StreamedRidgeCV
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.kernels import GaussianKernel, LaplacianKernel

pytestmark = pytest.mark.usefixtures("one_thread")
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] * X[:, 2]])
LABELS = np.where(Y[:, 0] > 0, "yes", "no")
STILL = 1e-9  # a walk that leaves a frequency where it was


def start(s, **given):
    return RandomFourierFeatures(2 * s, random_state=4, **given).fit(X).frequencies_


def drawn(features, pool):
    """Which frequency of the pool (d, s) each of the map's was drawn from."""
    distance = np.abs(features.frequencies_[:, :, None] - pool[:, None, :]).max(axis=0)
    assert distance.min(axis=1).max() < 1e-6
    return distance.argmin(axis=1)


def amplitudes(W, y, penalty=1e-4):
    """By scikit-learn: the norms of the coefficients of each frequency's cosine and sine, over all targets."""
    Z = np.hstack([np.cos(X @ W), np.sin(X @ W)]) / np.sqrt(W.shape[1])
    alpha = penalty * np.square(Z - Z.mean(axis=0)).sum() / Z.shape[1]
    coefficients = Ridge(alpha).fit(Z, y.reshape(len(y), -1)).coef_
    return np.sqrt((coefficients**2).reshape(-1, 2, W.shape[1]).sum(axis=(0, 1)))


def test_without_a_step_it_is_random_fourier_features():
    mine = AdaptiveResamplingFeatures(20, steps=0, random_state=4).fit(X, Y)
    np.testing.assert_array_equal(mine.transform(X), RandomFourierFeatures(20, random_state=4).fit(X).transform(X))


@pytest.mark.parametrize("y", [Y[:, 0], Y], ids=["one target", "two"])
def test_a_frequency_is_drawn_as_often_as_its_amplitude_says(y):
    s, draws, counts = 10, 400, np.zeros(10)
    pool = start(s)
    for seed in range(draws):  # of the steps alone: all begin with the same frequencies
        features = AdaptiveResamplingFeatures(2 * s, steps=1, walk=STILL, penalty=0.01, random_state=seed)
        features.draw = lambda count, d: pool
        counts += np.bincount(drawn(features.fit(X, y), pool), minlength=s)
    expected = amplitudes(pool, y, 0.01)
    expected *= s * draws / expected.sum()
    assert expected.max() > 2 * expected.min()
    # Its mean is s·draws·(1 − Σp²), its deviation half of that.
    assert np.square(counts - expected).sum() < 3 * expected.sum()
    assert np.square(s * draws / s - expected).sum() > 20 * expected.sum()  # as often as each other: far away


@pytest.mark.parametrize("kernel", [GaussianKernel(2.0), LaplacianKernel(0.7), GaussianKernel(0.5, lengths=[1, 2, 4])])
def test_a_step_has_the_length_it_is_given_in_units_of_the_kernel(kernel):
    pool = RandomFourierFeatures(2, kernel=kernel, random_state=4).fit(X).frequencies_
    steps = []
    for seed in range(300):
        features = AdaptiveResamplingFeatures(2, steps=1, walk=0.3, kernel=kernel, random_state=seed)
        features.draw = lambda count, d: pool
        steps.append((features.fit(X, Y).frequencies_ - pool)[:, 0])
    units = 0.3 * kernel.spectral_scale / np.asarray(kernel.lengths if kernel.lengths is not None else np.ones(3))
    np.testing.assert_allclose(np.std(steps, axis=0), units, rtol=0.2)
    np.testing.assert_allclose(np.mean(steps, axis=0), 0, atol=0.3 * units.max())


def test_frequencies_arrive_at_those_of_the_target():
    """A wave in one of six directions, far from where a Gaussian kernel's frequencies are."""
    X = np.random.default_rng(1).normal(size=(1500, 6))
    y = np.cos(4 * X[:, 2])
    errors = {}
    for kind in (RandomFourierFeatures, EnergyBasedFeatures, AdaptiveResamplingFeatures):
        features = kind(60, gamma=0.5, random_state=0)
        model = StreamedRidgeCV([1e-6, 1e-4, 1e-2, 1.0], features=features).fit(X[:1000], y[:1000])
        errors[kind] = np.mean((model.predict(X[1000:]) - y[1000:]) ** 2)
    assert errors[AdaptiveResamplingFeatures] < 0.1
    assert errors[RandomFourierFeatures] > 0.4
    assert errors[EnergyBasedFeatures] > 0.3
    along, across = np.abs(model.features_.frequencies_[2]), np.abs(np.delete(model.features_.frequencies_, 2, axis=0))
    assert np.median(along) == pytest.approx(4, abs=0.5)
    assert np.median(across) < 1


@pytest.mark.parametrize("y", [Y[:, 0], Y, LABELS], ids=["one target", "two", "classes"])
def test_neither_the_unit_nor_the_origin_of_the_targets_counts(y):
    mine = AdaptiveResamplingFeatures(20, steps=3, random_state=4).fit(X, y)
    as_numbers = np.where(y == "yes", 1.0, -1.0) if y.dtype.kind == "U" else y
    for other in (as_numbers[:, None] if as_numbers.ndim == 1 else as_numbers, 100 + 7.0 * as_numbers - 0.25):
        same = AdaptiveResamplingFeatures(20, steps=3, random_state=4).fit(X, other)
        np.testing.assert_allclose(same.frequencies_, mine.frequencies_)


def test_the_same_rows_written_differently_give_the_same_frequencies():
    expected = AdaptiveResamplingFeatures(20, steps=3, rows=100, random_state=4).fit(X, Y).frequencies_

    class Rows:
        shape, dtype = X.shape, X.dtype

        def __getitem__(self, rows):
            return X[rows]

    for given in (csr_array(X), Rows(), np.asfortranarray(X)):
        found = AdaptiveResamplingFeatures(20, steps=3, rows=100, random_state=4).fit(given, Y)
        np.testing.assert_allclose(found.frequencies_, expected)
    in_single = AdaptiveResamplingFeatures(20, steps=3, rows=100, random_state=4).fit(X.astype(np.float32), Y)
    assert in_single.transform(X.astype(np.float32)).dtype == np.float32


def test_at_most_the_given_rows_are_used_wherever_they_stand():
    """The targets of the first two thirds are noise; rows are drawn from all."""
    y = np.where(np.arange(300) < 200, 0.0, Y[:, 0])
    fits = [AdaptiveResamplingFeatures(20, steps=3, rows=rows, random_state=4).fit(X, y) for rows in (300, 1000, 60)]
    np.testing.assert_array_equal(fits[0].frequencies_, fits[1].frequencies_)
    assert not np.array_equal(fits[0].frequencies_, fits[2].frequencies_)


def test_only_the_rows_of_the_fit_are_seen():
    model = StreamedRidgeCV([1e-3, 1.0], features=AdaptiveResamplingFeatures(20, steps=3, random_state=4))
    alone = AdaptiveResamplingFeatures(20, steps=3, random_state=4).fit(X[:200], Y[:200])
    np.testing.assert_array_equal(model.fit(X[:200], Y[:200]).features_.frequencies_, alone.frequencies_)


@pytest.mark.parametrize(("rows", "y"), [(X, np.full(300, 2.5)), (np.ones_like(X), Y), (X[:1], Y[:1])])
def test_where_there_is_nothing_to_choose_by_frequencies_stay(rows, y):
    mine = AdaptiveResamplingFeatures(20, random_state=4).fit(rows, y)
    np.testing.assert_array_equal(mine.frequencies_, start(10))


def test_targets_are_required():
    with pytest.raises(ValueError, match="requires y to be passed"):
        AdaptiveResamplingFeatures(20).fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AdaptiveResamplingFeatures(20).fit(X, Y[:-1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": -1}, "steps must be"),
        ({"walk": 0}, "walk must be a positive number, got 0"),
        ({"penalty": "small"}, "penalty must be a positive number, got 'small'"),
        ({"rows": 1}, "rows must be"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(given, message):
    with pytest.raises(ConfigError, match=message):
        make_features({"name": "adaptive-resampling", **given}, kernel="gaussian", gamma=1.0, n_features=8)
