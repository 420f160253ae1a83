"""Low-precision features: levels beside the numbers, their mean, the variance that rounding adds, the packed form."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rffbench import LowPrecisionFeatures, RandomFourierFeatures
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.linalg.rounding_kernels import round_rows

pytestmark = pytest.mark.usefixtures("one_thread")
X = np.random.default_rng(0).normal(size=(40, 3))
every_width = pytest.mark.parametrize("bits", [1, 2, 3, 8, 16])


@every_width
def test_features_are_levels_beside_those_of_random_fourier_features(bits):
    Z = LowPrecisionFeatures(50, bits=bits, random_state=3).fit_transform(X)
    full = RandomFourierFeatures(50, random_state=3).fit_transform(X)
    step = 2 / 5 / (2**bits - 1)
    levels = (Z + 1 / 5) / step
    np.testing.assert_allclose(levels, np.rint(levels), atol=1e-6)
    assert levels.min() > -1e-6
    assert levels.max() < 2**bits - 1 + 1e-6
    assert np.abs(Z - full).max() < step
    assert np.abs(Z - full).max() > 0.8 * step


def test_the_mean_of_a_rounded_number_is_the_number():
    numbers = np.linspace(-1, 1, 9)
    rows, columns = (
        np.random.default_rng(1).integers(2**64, size=40_000, dtype=np.uint64),
        np.arange(9, dtype=np.uint64),
    )
    Z = np.tile(numbers, (40_000, 1))
    round_rows(Z, rows, columns, 1.0, 3.0)
    deviation = np.sqrt((2 / 3) ** 2 / 4 / 40_000)
    np.testing.assert_allclose(Z.mean(axis=0), numbers, atol=4.5 * deviation)
    np.testing.assert_array_equal(np.unique(Z[:, [0, -1]], axis=0), [[-1.0, 1.0]])  # levels stay
    correlations = np.corrcoef(Z[:, 1:-1].T) - np.eye(7)
    assert np.abs(correlations).max() < 4.5 / np.sqrt(40_000)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [1, 2, 4])
def test_rounding_adds_the_variance_that_it_says_and_no_bias_but_of_the_diagonal(bits):
    rows, columns, draws = X[:2] / 3, 32, 2000
    full, few = (
        np.array([(Z := kind(columns, random_state=seed, **given).fit_transform(rows)) @ Z.T for seed in range(draws)])
        for kind, given in ((RandomFourierFeatures, {}), (LowPrecisionFeatures, {"bits": bits}))
    )
    k, c = np.exp(-((rows[0] - rows[1]) ** 2).sum()), 1 / (2**bits - 1) ** 2
    assert few[:, 0, 1].mean() == pytest.approx(k, abs=4.5 * few[:, 0, 1].std() / np.sqrt(draws))
    added = few[:, 0, 1].var() - full[:, 0, 1].var()
    assert 0.2 * 4 * c / columns < added < 1.1 * (4 * c + 4 * c**2) / columns
    excess = few[:, 0, 0].mean() - 1
    assert excess == pytest.approx(1 if bits == 1 else 4 * c / 3, rel=0.4 if bits == 2 else 0.1)


def test_sixteen_bits_are_as_good_as_all():
    Z, full = (kind(64, random_state=0).fit_transform(X) for kind in (LowPrecisionFeatures, RandomFourierFeatures))
    few = LowPrecisionFeatures(64, bits=16, random_state=0).fit_transform(X)
    np.testing.assert_allclose(few, full, atol=1e-5)
    assert np.abs(Z - full).max() > 1e-4


def test_a_row_is_rounded_alike_wherever_it_stands_and_others_apart():
    features = LowPrecisionFeatures(64, bits=1, random_state=0).fit(X)
    Z = features.transform(X)
    np.testing.assert_array_equal(features.transform(X[::-1][:5]), Z[::-1][:5])
    sparse = X * (np.abs(X) > 0.5)
    np.testing.assert_array_equal(features.transform(csr_array(sparse)), features.transform(sparse))
    np.testing.assert_array_equal(features.transform(-sparse * 0.0), features.transform(sparse * 0.0))
    near = features.transform(X + 1e-4)  # numbers that are nearly the same, rounded independently
    assert 0.1 < np.mean(near != Z) < 0.5


def test_sizes_nest_levels_included():
    small, large = (LowPrecisionFeatures(columns, bits=3, random_state=5).fit(X) for columns in (10, 64))
    cosines, sines = np.split(large.transform(X), 2, axis=1)
    expected = np.hstack([cosines[:, :5], sines[:, :5]]) * np.sqrt(32 / 5)
    np.testing.assert_allclose(small.transform(X), expected, atol=1e-12)


@every_width
@pytest.mark.parametrize("columns", [2, 30])
def test_packed_features_take_b_bits_each_and_are_those_of_transform(bits, columns):
    features = LowPrecisionFeatures(columns, bits=bits, random_state=0).fit(X)
    packed = features.encode(X)
    assert packed.shape == (40, -(-columns * bits // 8))
    assert features.metrics_ == {"row_bytes": packed.nbytes / 40}
    np.testing.assert_allclose(features.decode(packed), features.transform(X), atol=1e-12)


@pytest.mark.parametrize("bits", [0, 17, 2.5, True, "8"])
def test_a_width_out_of_range_is_refused(bits):
    with pytest.raises(ConfigError, match="bits must be a whole number from 1 to 16, got"):
        make_features({"name": "low-precision", "bits": bits}, kernel="gaussian", gamma=1.0, n_features=8)
