"""Structured frequencies: what each map is made of, and its marginals."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import hadamard
from sklearn.base import clone

from rffbench import (
    FastfoodFeatures,
    OrthogonalRandomFeatures,
    RandomFourierFeatures,
    StructuredOrthogonalFeatures,
)
from rffbench.kernels import make_kernel

pytestmark = pytest.mark.usefixtures("one_thread")

MAPS = {
    "fastfood": FastfoodFeatures(),
    "orthogonal": OrthogonalRandomFeatures(),
    "sorf": StructuredOrthogonalFeatures(),
}
UNBIASED = ["fastfood", "orthogonal"]
SIGMA = 0.7
GAMMA = 1 / (2 * SIGMA**2)


def test_bias_of_sorf_falls_with_the_dimension():
    """At the same distances: E[cos] over frequencies of length √N/σ nears exp(−r²/(2σ²)) as N grows."""
    biases = []
    for d in (2, 8, 32, 128):
        x = np.random.default_rng(0).normal(size=d)
        x *= 1.2 / np.linalg.norm(x)
        Z = StructuredOrthogonalFeatures(1 << 15, gamma=0.5, random_state=0).fit_transform(np.stack([0 * x, x]))
        biases.append(abs(Z[0] @ Z[1] - np.exp(-(1.2**2) / 2)))
    assert biases[0] > 0.01
    assert biases[-1] < biases[0] / 4


def test_orthogonal_frequencies_have_less_error_than_independent_ones():
    X = np.random.default_rng(1).normal(size=(12, 16)) / 4
    K = make_kernel("gaussian", 0.5)(X)

    def mean_square(map_):
        products = []
        for seed in range(40):
            Z = clone(map_).set_params(n_components=32, gamma=0.5, random_state=seed).fit_transform(X)
            products.append(np.mean((Z @ Z.T - K) ** 2))
        return np.mean(products)

    independent = mean_square(RandomFourierFeatures())
    assert mean_square(MAPS["orthogonal"]) < 0.5 * independent
    assert mean_square(MAPS["sorf"]) < 0.5 * independent
    assert mean_square(MAPS["fastfood"]) < 2.5 * independent  # its rows are uncorrelated, not independent


# d = 5 is padded to 8, 16 is a power of two; blocks whole and cut.
@pytest.mark.parametrize(("d", "N"), [(1, 1), (5, 8), (16, 16), (33, 64)])
@pytest.mark.parametrize("s", [1, 8, 50])
def test_fastfood_is_its_product_of_matrices(d, N, s):
    map_ = FastfoodFeatures(2 * s, gamma=GAMMA, random_state=3).fit(np.zeros((2, d)))
    H = hadamard(N)
    blocks = []
    for (B, G), Pi, lengths in zip(
        np.moveaxis(map_.diagonals_, 0, 1), np.eye(N)[map_.permutation_], map_.lengths_, strict=True
    ):
        S = lengths * SIGMA * np.sqrt(N)  # what the formula's S is
        blocks.append((np.diag(S) @ H @ np.diag(G) @ Pi @ H @ np.diag(B))[:, :d] / (SIGMA * np.sqrt(N)))
        chi = S * np.linalg.norm(G)
        assert (chi > 0).all()
    assert N == 1 or set(map_.diagonals_[0].ravel()) == {-1.0, 1.0}
    V = np.vstack(blocks)[:s]
    np.testing.assert_allclose(map_.frequencies_, V.T, atol=1e-12)
    X = np.random.default_rng(0).normal(size=(700, d))
    expected = np.hstack([np.cos(X @ V.T), np.sin(X @ V.T)]) / np.sqrt(s)
    np.testing.assert_allclose(map_.transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(map_.phases(X), X @ V.T, atol=1e-12)


@pytest.mark.parametrize(("d", "N"), [(5, 8), (16, 16)])
def test_sorf_is_its_product_of_matrices(d, N):
    map_ = StructuredOrthogonalFeatures(4 * N, gamma=GAMMA, random_state=3).fit(np.zeros((2, d)))
    H = hadamard(N) / np.sqrt(N)
    D3, D2, D1 = map_.diagonals_
    blocks = [np.sqrt(N) / SIGMA * H @ np.diag(D1[b]) @ H @ np.diag(D2[b]) @ H @ np.diag(D3[b]) for b in range(2)]
    np.testing.assert_allclose(map_.frequencies_, np.vstack(blocks)[:, :d].T, atol=1e-12)
    np.testing.assert_allclose(blocks[0] @ blocks[0].T, N / SIGMA**2 * np.eye(N), atol=1e-9)


@pytest.mark.parametrize("d", [6, 8])
@pytest.mark.parametrize("name", UNBIASED)
def test_every_frequency_is_gaussian(name, d):
    """One frequency of each of many draws: they are independent N(0, I/σ²)."""
    draws = [
        clone(MAPS[name]).set_params(n_components=2 * d, gamma=GAMMA, random_state=seed).fit(np.zeros((2, d)))
        for seed in range(600)
    ]
    W = SIGMA * np.array([map_.frequencies_ for map_ in draws])
    for i in (0, d - 1):
        w = W[:, :, i]
        assert stats.kstest(w.ravel(), "norm").pvalue > 1e-3
        assert stats.kstest((w**2).sum(axis=1), stats.chi2(d).cdf).pvalue > 1e-3
        covariance = np.cov(w.T)
        assert np.abs(covariance - np.eye(d)).max() < 4.5 * np.sqrt(2 / len(draws))


@pytest.mark.parametrize("s", [4, 6, 20])
def test_orthogonal_frequencies_are_the_stream_s_made_orthogonal_in_their_lengths(s):
    d = 6
    X = np.zeros((2, d))
    shared = {"n_components": 2 * s, "gamma": GAMMA, "random_state": 2}
    base = RandomFourierFeatures(**shared).fit(X).frequencies_
    W = OrthogonalRandomFeatures(**shared).fit(X).frequencies_
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), np.linalg.norm(base, axis=0))
    np.testing.assert_allclose(W[:, ::d], base[:, ::d])  # the first of each block stays
    for first in range(0, s, d):
        block = W[:, first : first + d]
        np.testing.assert_allclose(block.T @ block, np.diag(np.diag(block.T @ block)), atol=1e-12)
        np.testing.assert_array_less(0, np.sum(block * base[:, first : first + d], axis=0))


@pytest.mark.parametrize("name", MAPS)
def test_float32_agrees_over_several_blocks_of_many_columns(name):
    X = np.random.default_rng(4).uniform(size=(50, 100)) / 10
    map_ = clone(MAPS[name]).set_params(n_components=300, random_state=3).fit(X)
    Z, z = map_.transform(X), map_.transform(X.astype(np.float32))
    assert (Z.dtype, z.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(z, Z, atol=1e-5)


@pytest.mark.parametrize("name", MAPS)
def test_threads_change_nothing(name, monkeypatch):
    import numba

    from rffbench.linalg import hadamard
    from rffbench.linalg import waves as linalg

    monkeypatch.setattr(linalg, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(hadamard, "WORTH_A_THREAD", 0)
    X = np.random.default_rng(9).normal(size=(301, 20))
    map_ = clone(MAPS[name]).set_params(n_components=1400, random_state=1).fit(X)
    results = []
    for threads in (1, 2):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        results.append(map_.transform(X))
    np.testing.assert_allclose(*results, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", MAPS)
def test_constant_columns_and_one_column_are_mapped(name):
    X = np.column_stack([np.ones(20), np.zeros(20), np.linspace(0, 1, 20)])
    Z = clone(MAPS[name]).set_params(n_components=40, random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-12)
    Z = clone(MAPS[name]).set_params(n_components=4000, gamma=0.5, random_state=0).fit_transform(X[:, 2:])
    if name != "sorf":  # of one column SORF's frequencies are ±1/σ
        np.testing.assert_allclose(Z @ Z.T, make_kernel("gaussian", 0.5)(X[:, 2:]), atol=0.06)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplacian"}, "Features needs the gaussian kernel, got laplacian"),
        ({"n_components": 7}, "n_components must be even"),
        ({"n_components": 0}, "n_components must be a whole number, 1 or more"),
        ({"gamma": 0.0}, "gamma must be a positive number"),
    ],
)
def test_wrong_parameters_are_refused_with_what_would_be_right(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        clone(MAPS[name]).set_params(**parameters).fit(np.zeros((2, 3)))
