"""Sketched Fourier features: what they are made of, and the kernel they are unbiased for."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from rffbench import CountSketchGaussianFeatures, RandomFourierFeatures, SRHTFeatures
from rffbench.kernels import make_kernel
from rffbench.trials.measuring import MapOnPoints, Points
from rffbench.trials.metrics import MEASURES

GAMMA = 0.8


@pytest.fixture(autouse=True)
def _no_network(embedded):
    """Embedded and synthetic data only."""


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).random((n, d))


def measured(features, X, gamma=GAMMA):
    return MapOnPoints(clone(features).fit(X), Points(X, make_kernel("gaussian", gamma)))


def test_complex_and_real_features_have_the_same_gram_matrix():
    """Meilă, "From Bochner to RFF"; Musco, Section 4.1: Re ZZ* of e^{-iwᵀx}/√s is that of [cos | sin]/√s."""
    X = rows()
    real = RandomFourierFeatures(40, gamma=GAMMA, random_state=3).fit(X)
    Z = np.exp(-1j * X @ real.frequencies_) / np.sqrt(20)
    complex_gram = Z @ Z.conj().T
    assert np.abs(complex_gram.imag).max() > 0.01  # it is the real part that agrees
    np.testing.assert_allclose(real.transform(X) @ real.transform(X).T, complex_gram.real, atol=1e-14)


@pytest.mark.parametrize("cls", [SRHTFeatures, CountSketchGaussianFeatures])
@pytest.mark.parametrize(("d", "s"), [(5, 12), (1, 3), (16, 8)])
def test_the_quick_product_is_that_with_the_frequencies(cls, d, s):
    X = rows(30, d)
    features = cls(2 * s, gamma=GAMMA, random_state=1).fit(X)
    T = X @ features.frequencies_
    assert T.shape == (30, s)
    np.testing.assert_allclose(features.transform(X), np.hstack([np.cos(T), np.sin(T)]) / np.sqrt(s), atol=1e-12)
    single = features.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, features.transform(X), atol=1e-5)


def test_an_srhts_frequencies_are_signs_and_a_countsketchs_are_equal_within_a_bucket():
    W = SRHTFeatures(2 * 50, gamma=GAMMA, random_state=0).fit(rows(d=6)).frequencies_
    np.testing.assert_allclose(np.abs(W), math.sqrt(2 * GAMMA), rtol=1e-12)
    W = CountSketchGaussianFeatures(2 * 50, buckets=3, gamma=GAMMA, random_state=0).fit(rows(d=6)).frequencies_
    assert len(np.unique(np.abs(W[:, 0]).round(12))) <= 3
    assert np.linalg.matrix_rank(W) <= 3


def test_a_countsketchs_estimate_is_the_kernel_of_the_sketched_points_and_nears_the_kernel_with_more_buckets():
    X = rows(40, 30)

    def error(buckets, s=4000):
        maps = [CountSketchGaussianFeatures(2 * s, buckets=buckets, gamma=GAMMA, random_state=i) for i in range(8)]
        return np.mean([MEASURES["entry_error"](measured(features, X)) for features in maps])

    few, many = error(8), error(128)
    assert 2.5 < few / many < 6.5  # √(2/B): a factor of 4
    features = CountSketchGaussianFeatures(2 * 4000, buckets=8, gamma=GAMMA, random_state=0).fit(X)
    sketched = make_kernel("gaussian", GAMMA)(features.sketch_.columns(X))
    assert np.abs(features.transform(X) @ features.transform(X).T - sketched).max() < 0.08


def test_buckets_must_be_a_count():
    with pytest.raises(ValueError, match="buckets must be a whole number, 1 or more, got 0"):
        CountSketchGaussianFeatures(8, buckets=0).fit(rows())
