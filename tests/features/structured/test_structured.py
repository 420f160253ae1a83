"""Structured frequencies: what each map is made of, and its marginals."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import hadamard
from scipy.sparse import csr_array
from scipy.special import hyp0f1
from sklearn.base import clone

from rffbench import (
    FastfoodFeatures,
    GaussHermiteFeatures,
    OrthogonalRandomFeatures,
    RandomFourierFeatures,
    RandomOrthoMatrixFeatures,
    SimplexRandomFeatures,
    SRHTFeatures,
    StructuredOrthogonalFeatures,
)
from rffbench.errors import Fallback
from rffbench.kernels import IsotropicKernel, MaternKernel, RationalQuadraticKernel, make_kernel, with_trait
from tests.helpers.cases import others_slow, slow

pytestmark = pytest.mark.usefixtures("one_thread")

MAPS = {
    "fastfood": FastfoodFeatures(),
    "orthogonal": OrthogonalRandomFeatures(),
    "orthogonal, coupled": OrthogonalRandomFeatures(lengths="coupled"),
    "simplex": SimplexRandomFeatures(),
    "rom": RandomOrthoMatrixFeatures(products=2),
    "sorf": StructuredOrthogonalFeatures(),
    "sorf, fixed": StructuredOrthogonalFeatures(lengths="fixed", rotation="structured"),
}
UNBIASED = ["fastfood", "orthogonal", "orthogonal, coupled", "simplex"]
OF_EVERY_KERNEL = [name for name in MAPS if name not in ("sorf, fixed", "orthogonal, coupled")]
SIGMA = 0.7
GAMMA = 1 / (2 * SIGMA**2)


def test_bias_of_sorf_falls_with_the_dimension_and_more_so_with_drawn_lengths():
    """At the same distances: E[cos] over frequencies of length √N/σ nears exp(−r²/(2σ²)) as N grows."""
    biases = {"fixed": [], "chi": []}
    for d in (2, 8, 32):
        x = np.random.default_rng(0).normal(size=d)
        x *= 1.2 / np.linalg.norm(x)
        for lengths, found in biases.items():
            map_ = StructuredOrthogonalFeatures(
                1 << 15, lengths=lengths, rotation="structured", gamma=0.5, random_state=0
            )
            Z = map_.fit_transform(np.stack([0 * x, x]))
            found.append(abs(Z[0] @ Z[1] - np.exp(-(1.2**2) / 2)))
    assert biases["fixed"][0] > 0.01
    assert biases["fixed"][-1] < biases["fixed"][0] / 4
    assert biases["chi"][0] > 0.01  # of two columns directions are few
    assert biases["chi"][1] < biases["fixed"][1] / 4


FEW = {
    "sorf": StructuredOrthogonalFeatures(),
    "rom": RandomOrthoMatrixFeatures(products=2),
    "srht": SRHTFeatures(),
    "gauss-hermite": GaussHermiteFeatures(),
}


def far_and_near(d):
    """Differences of rows of d inputs, from 0.5 to 4 of the kernel's widths: along each axis, and anywhere."""
    rng = np.random.default_rng(0)
    directions = np.vstack([np.eye(d), rng.normal(size=(20, d))])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.vstack([width * directions for width in (0.5, 1, 2, 3, 4)])


@pytest.mark.parametrize(
    ("name", "d"),
    others_slow(
        [(name, d) for name in FEW for d in (1, 2, 3, 4) if (name, d) != ("gauss-hermite", 4)],
        quick=[(name, 2) for name in FEW],
    ),
)
def test_in_few_inputs_the_mean_is_the_kernel_and_the_error_falls_with_its_rate(name, d):
    X = np.vstack([np.zeros(d), far_and_near(d)])
    exact = np.exp(-0.5 * (X**2).sum(axis=1))

    def estimates(columns, seeds):
        for seed in range(seeds):
            Z = clone(FEW[name]).set_params(n_components=columns, gamma=0.5, random_state=seed).fit_transform(X)
            yield Z @ Z[0]

    few = np.array(list(estimates(64, 200)))
    spread = few.std(axis=0, ddof=1) / np.sqrt(len(few))
    assert np.all(np.abs(few.mean(axis=0) - exact) < 4.5 * spread + 1e-9)
    many = np.array(list(estimates(64 * 64, 25)))
    errors = [np.sqrt(np.square(each - exact).mean()) for each in (few, many)]
    assert 6 < errors[0] / errors[1] < 11  # the root of 64 times as many columns


@pytest.mark.parametrize("name", ["sorf", "rom", "srht"])
def test_in_few_inputs_the_products_of_hadamard_matrices_are_another_kernel(name):
    X = np.vstack([np.zeros(2), far_and_near(2)])
    Z = clone(FEW[name]).set_params(n_components=1 << 14, rotation="structured", gamma=0.5).fit_transform(X)
    assert np.abs(Z @ Z[0] - np.exp(-0.5 * (X**2).sum(axis=1))).max() > 0.3


def test_srht_warns_where_its_signs_are_felt():
    with pytest.warns(Fallback, match="srht's frequencies in 8 inputs are all ±1/σ"):
        SRHTFeatures(16).fit(np.zeros((2, 8)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SRHTFeatures(16).fit(np.zeros((2, 17)))
        SRHTFeatures(16).fit(np.zeros((2, 3)))
        SRHTFeatures(16, rotation="structured").fit(np.zeros((2, 8)))


@pytest.mark.parametrize("name", ["sorf", "rom", "srht"])
def test_a_dense_draw_nests_and_is_of_the_data_s_dtype(name):
    X = np.random.default_rng(0).normal(size=(5, 3))
    small, large = (clone(FEW[name]).set_params(n_components=2 * s, random_state=1).fit(X) for s in (5, 12))
    np.testing.assert_array_equal(small.frequencies_, large.frequencies_[:, :5])
    np.testing.assert_allclose(large.transform(X.astype(np.float32)), large.transform(X), atol=1e-5)
    np.testing.assert_allclose(large.transform(X), large.transform(csr_array(X)), atol=1e-12)
    np.testing.assert_allclose(large.phases(X), X @ large.frequencies_, atol=1e-12)


def relative_errors(map_, X, gamma, s, seeds):
    """‖ZZᵀ − K‖₂/‖K‖₂ of each seed."""
    K = make_kernel("gaussian", gamma)(X)
    found = []
    for seed in range(seeds):
        Z = clone(map_).set_params(n_components=2 * s, gamma=gamma, random_state=seed).fit_transform(X)
        found.append(np.linalg.norm(Z @ Z.T - K, 2) / np.linalg.norm(K, 2))
    return np.array(found)


def test_sorf_is_ahead_of_independent_frequencies_with_drawn_lengths_and_behind_them_with_fixed_ones():
    """At 16 columns, where a frequency of fixed length is far from a Gaussian one."""
    X = np.random.default_rng(0).normal(size=(300, 16))
    maps = (MAPS["sorf"], RandomFourierFeatures(), MAPS["sorf, fixed"])
    chi, independent, fixed = (relative_errors(each, X, 1 / (2 * 3.9**2), 512, 8) for each in maps)
    assert chi.max() < 0.8 * independent.mean()
    assert fixed.min() > 1.2 * independent.mean()


@pytest.mark.parametrize(
    "kernel", [MaternKernel(nu=0.5), *slow(MaternKernel(nu=2.5), RationalQuadraticKernel(alpha=0.7))]
)
@pytest.mark.parametrize("name", OF_EVERY_KERNEL)
def test_every_isotropic_kernel_is_approximated(name, kernel):
    """The mean over seeds is the kernel, to within the standard errors and the bias of 16 columns' directions."""
    X = np.random.default_rng(1).normal(size=(8, 16)) / 4
    K = kernel.with_gamma(0.9)(X)
    map_ = clone(MAPS[name]).set_params(n_components=128, gamma=0.9, kernel=kernel)
    products = []
    for seed in range(120):
        Z = clone(map_).set_params(random_state=seed).fit_transform(X)
        products.append(Z @ Z.T)
    error = np.std(products, axis=0, ddof=1) / np.sqrt(len(products))
    bias = 0.0 if name in UNBIASED else 0.004
    assert np.all(np.abs(np.mean(products, axis=0) - K) < 4.5 * error + bias + 1e-12)


@pytest.mark.parametrize("kernel", [MaternKernel(nu=0.5), MaternKernel(nu=2.5), RationalQuadraticKernel(alpha=0.7)])
@pytest.mark.parametrize("name", OF_EVERY_KERNEL)
def test_lengths_are_those_of_the_kernel_s_own_frequencies(name, kernel):
    d, s = 16, 2000
    shared = {"n_components": 2 * s, "gamma": 0.9, "kernel": kernel}
    X = np.zeros((2, d))
    own = np.linalg.norm(RandomFourierFeatures(random_state=0, **shared).fit(X).frequencies_, axis=0)
    found = np.linalg.norm(clone(MAPS[name]).set_params(random_state=1, **shared).fit(X).frequencies_, axis=0)
    assert stats.ks_2samp(own, found).pvalue > 1e-3


@pytest.mark.parametrize("name", with_trait(IsotropicKernel))
def test_radii_drawn_at_once_are_those_drawn_one_by_one(name):
    kernel = make_kernel(name, 0.3)
    at_once, one_by_one = (np.random.default_rng(3) for _ in range(2))
    radii = [kernel.spectral_scale * kernel.radius(one_by_one, 7) for _ in range(20)]
    np.testing.assert_array_equal(kernel.radii(at_once, 20, 7), radii)


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
    assert mean_square(MAPS["orthogonal"]) < mean_square(MAPS["simplex"]) < 0.6 * independent
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
    map_ = StructuredOrthogonalFeatures(4 * N, lengths="fixed", gamma=GAMMA, random_state=3).fit(np.zeros((2, d)))
    H = hadamard(N) / np.sqrt(N)
    D3, D2, D1 = map_.diagonals_
    blocks = [np.sqrt(N) / SIGMA * H @ np.diag(D1[b]) @ H @ np.diag(D2[b]) @ H @ np.diag(D3[b]) for b in range(2)]
    np.testing.assert_allclose(map_.frequencies_, np.vstack(blocks)[:, :d].T, atol=1e-12)
    np.testing.assert_allclose(blocks[0] @ blocks[0].T, N / SIGMA**2 * np.eye(N), atol=1e-9)
    drawn = clone(map_).set_params(lengths="chi").fit(np.zeros((2, d)))
    np.testing.assert_array_equal(drawn.diagonals_, map_.diagonals_)  # the same directions, other lengths
    W, V = (each.frequencies_ / each.lengths_.ravel() for each in (drawn, map_))
    np.testing.assert_allclose(W, V, atol=1e-11)


@pytest.mark.parametrize("lengths", ["chi", "fixed"])
@pytest.mark.parametrize("products", [1, 2, 4])
def test_rom_is_its_product_of_matrices(products, lengths):
    d, N = 13, 16
    shared = {"n_components": 4 * N, "lengths": lengths, "gamma": GAMMA, "random_state": 3}
    map_ = RandomOrthoMatrixFeatures(products=products, **shared).fit(np.zeros((2, d)))
    H = hadamard(N) / np.sqrt(N)
    blocks = []
    for b in range(2):
        Q = np.eye(N)
        for D in map_.diagonals_[:, b]:
            Q = H @ np.diag(D) @ Q
        np.testing.assert_allclose(Q @ Q.T, np.eye(N), atol=1e-12)
        blocks.append(np.diag(map_.lengths_[b]) * N ** (products / 2) @ Q)
    np.testing.assert_allclose(map_.frequencies_, np.vstack(blocks)[:, :d].T, atol=1e-12)
    if lengths == "fixed":
        np.testing.assert_allclose(map_.lengths_ * N ** (products / 2), np.sqrt(N) / SIGMA, rtol=1e-12)


@pytest.mark.parametrize("lengths", ["chi", "fixed"])
def test_rom_of_three_products_is_sorf_and_that_of_one_srht(lengths):
    shared = {"n_components": 100, "gamma": GAMMA, "random_state": 3}
    X = np.random.default_rng(0).normal(size=(20, 13))
    rom = RandomOrthoMatrixFeatures(lengths=lengths, **shared).fit(X)
    sorf = StructuredOrthogonalFeatures(lengths=lengths, **shared).fit(X)
    np.testing.assert_array_equal(rom.transform(X), sorf.transform(X))
    if lengths == "fixed":
        rom, srht = RandomOrthoMatrixFeatures(products=1, lengths=lengths, **shared).fit(X), SRHTFeatures(**shared)
        entries = np.abs(rom.frequencies_)
        np.testing.assert_allclose(entries, np.abs(srht.fit(X).frequencies_), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 16])
def test_simplex_frequencies_are_at_the_widest_angle_that_d_directions_have(d):
    map_ = SimplexRandomFeatures(2 * (2 * d + d // 2), gamma=GAMMA, random_state=2).fit(np.zeros((2, d)))
    base = OrthogonalRandomFeatures(2 * (2 * d + d // 2), gamma=GAMMA, random_state=2).fit(np.zeros((2, d)))
    lengths = np.linalg.norm(map_.frequencies_, axis=0)
    np.testing.assert_allclose(lengths, np.linalg.norm(base.frequencies_, axis=0), rtol=1e-12)
    U = map_.frequencies_ / lengths
    for first in range(0, U.shape[1], d):
        cosines = U[:, first : first + d].T @ U[:, first : first + d]
        apart = cosines[~np.eye(len(cosines), dtype=bool)]
        np.testing.assert_allclose(apart, -1 / max(1, d - 1), atol=1e-12)


@pytest.mark.parametrize("d", [6, *slow(8)])
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


def test_the_signs_of_qr_do_not_matter_to_fourier_features():
    """google-research #436: a cosine is even, so that w and −w are one frequency."""
    X = np.random.default_rng(0).normal(size=(20, 6)) / 3
    map_ = OrthogonalRandomFeatures(32, random_state=0).fit(X)
    Z, map_.frequencies_ = map_.transform(X), map_.frequencies_ * np.resize([1, -1, -1], 16)
    np.testing.assert_allclose(map_.transform(X) @ map_.transform(X).T, Z @ Z.T, atol=1e-12)


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


@pytest.mark.parametrize(("d", "s"), [(1, 5), (2, 7), (5, 13), (6, 4)])
def test_coupled_lengths_are_the_stream_s_and_their_partners(d, s):
    """In a block the first of a pair has its own length, and F(ρ) + F(ρ′) = 1; a last odd one has its own."""
    shared = {"n_components": 2 * s, "gamma": GAMMA, "random_state": 2}
    own, coupled = (
        OrthogonalRandomFeatures(lengths=lengths, **shared).fit(np.zeros((2, d))).frequencies_
        for lengths in ("own", "coupled")
    )
    partner = np.arange(s) % d % 2 == 1
    np.testing.assert_allclose(coupled[:, ~partner], own[:, ~partner], atol=1e-14)
    of_own, of_coupled = (np.linalg.norm(W, axis=0) for W in (own, coupled))
    np.testing.assert_allclose(coupled / of_coupled, own / of_own, atol=1e-12)
    F = stats.chi(d).cdf(SIGMA * of_coupled)
    np.testing.assert_allclose(F[partner] + F[:-1][partner[1:]], 1, atol=1e-12)


def variance_of_a_block(d, z, coupled):
    """Of the estimate of exp(−z²/2) by d orthogonal frequencies, by quadrature over the lengths. Two orthogonal
    frequencies have E[cos(wᵀΔ)·cos(w′ᵀΔ)] = f(z²(ρ² + ρ′²)), f(t) = ₀F₁(d/2, −t/4), because w ± w′ has the length
    √(ρ² + ρ′²) and a uniform direction."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    u, weights = (nodes + 1) / 2, weights / 2
    squares, partners = stats.chi2(d).ppf(u), stats.chi2(d).ppf(1 - u)
    k = np.exp(-(z**2) / 2)
    own = (1 + k**4 - 2 * k**2) / 2
    apart = weights @ hyp0f1(d / 2, -(z**2) * (squares[:, None] + squares) / 4) @ weights - k**2
    together = weights @ hyp0f1(d / 2, -(z**2) * (squares + partners) / 4) - k**2
    pairs = d // 2 if coupled else 0
    return (d * own + (d * (d - 1) - 2 * pairs) * apart + 2 * pairs * together) / d**2


@pytest.mark.parametrize("d", [1, 3, *slow(2, 8)])
@pytest.mark.parametrize("z", [1.0, *slow(0.5)])
def test_coupled_lengths_have_the_variance_that_theory_gives(d, z):
    X = np.zeros((2, d))
    X[1, 0] = z
    found = {}
    for lengths in ("own", "coupled"):
        blocks = 2000
        map_ = OrthogonalRandomFeatures(2 * d * blocks, lengths=lengths, gamma=0.5, random_state=5).fit(X)
        of_blocks = np.cos(z * map_.frequencies_[0]).reshape(blocks, d).mean(axis=1)
        found[lengths], expected = of_blocks.var(ddof=1), variance_of_a_block(d, z, lengths == "coupled")
        squares = (of_blocks - of_blocks.mean()) ** 2
        assert abs(found[lengths] - expected) < 4 * squares.std() / np.sqrt(blocks)
    assert d == 1 or found["coupled"] < 0.95 * found["own"]


@pytest.mark.parametrize("d", [3, *slow(2, 8, 32)])
def test_coupled_lengths_never_have_more_variance_for_close_points(d):
    for z in (0.01, 0.1, 0.5, 1.0, 1.5):
        assert variance_of_a_block(d, z, True) < variance_of_a_block(d, z, False)


def test_the_page_has_the_variance_of_coupled_lengths():
    page = (Path(__file__).parents[3] / "docs" / "maps.md").read_text(encoding="utf-8")
    said = r"\| z = 1 \| (\.\d+) \| (\.\d+) \| (\.\d+) \|\n\| z = 4, where k is near 0 \| ([\d.]+) \|"
    numbers = [float(number) for number in re.search(said, page).groups()]
    for number, (d, z) in zip(numbers, [(2, 1), (8, 1), (64, 1), (2, 4)], strict=True):
        assert variance_of_a_block(d, z, True) / variance_of_a_block(d, z, False) == pytest.approx(number, abs=0.006)


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
    from rffbench.linalg import trigonometric as linalg

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
    if name != "sorf, fixed":  # of one column its frequencies are ±1/σ
        np.testing.assert_allclose(Z @ Z.T, make_kernel("gaussian", 0.5)(X[:, 2:]), atol=0.06)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplacian"}, "Features needs a kernel with an isotropic density; laplacian has none; gaussian, "),
        ({"n_components": 7}, "n_components must be even"),
        ({"n_components": 0}, "n_components must be a whole number, 1 or more"),
        ({"gamma": 0.0}, "gamma must be a positive number"),
    ],
)
def test_wrong_parameters_are_refused_with_what_would_be_right(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        clone(MAPS[name]).set_params(**parameters).fit(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            StructuredOrthogonalFeatures(lengths="fixed", kernel="matern"),
            "lengths must be 'chi' with the matern kernel",
        ),
        (StructuredOrthogonalFeatures(lengths="normal"), "lengths must be one of 'chi', 'fixed', got 'normal'"),
        (
            OrthogonalRandomFeatures(lengths="coupled", kernel="matern"),
            "lengths must be 'own' with the matern kernel: 'coupled' is for the gaussian one alone",
        ),
        (OrthogonalRandomFeatures(lengths="coupled", block="tall"), "lengths must be 'own' with block='tall'"),
        (RandomOrthoMatrixFeatures(products=0), "products must be a whole number, 1 or more, got 0"),
        (SRHTFeatures(kernel="matern"), "needs the gaussian kernel, got matern"),
        (StructuredOrthogonalFeatures(lengths="fixed"), "lengths must be 'chi' with 3 inputs, where"),
        (RandomOrthoMatrixFeatures(lengths="fixed", rotation="dense"), "lengths must be 'chi' with rotation='dense'"),
        (SRHTFeatures(rotation="haar"), "rotation must be one of 'auto', 'structured', 'dense', got 'haar'"),
    ],
)
def test_values_that_a_map_cannot_have_are_refused_with_what_would_do(features, message):
    with pytest.raises(ValueError, match=message):
        features.fit(np.zeros((2, 3)))


def test_fourier_features_do_not_depend_on_the_signs_of_orthogonal_frequencies():
    X = np.random.default_rng(0).normal(size=(9, 4))
    haar, lapack = (OrthogonalRandomFeatures(24, signs=signs, random_state=0).fit(X) for signs in ("haar", "lapack"))
    assert not np.array_equal(haar.frequencies_, lapack.frequencies_)
    np.testing.assert_allclose(abs(haar.frequencies_), abs(lapack.frequencies_))
    gram, same = (Z @ Z.T for Z in (haar.transform(X), lapack.transform(X)))
    np.testing.assert_allclose(gram, same, atol=1e-12)


def test_transposed_sorf_has_the_transposed_product():
    """√N·D₁·H·D₂·H·D₃·H, without signs on the inputs before the first H."""
    fitted = StructuredOrthogonalFeatures(
        16, lengths="fixed", transposed=True, rotation="structured", gamma=0.5, random_state=0
    )
    fitted.fit(np.zeros((2, 3)))
    assert (fitted.diagonals_[0] == 1).all()
    H = hadamard(4) / 2
    for block in range(2):
        third, second = (np.diag(fitted.diagonals_[place, block]) for place in (1, 2))
        first = np.diag(np.sign(fitted.lengths_[block]))
        rows = slice(4 * block, 4 * block + 4)
        expected = 2 * first @ H @ second @ H @ third @ H
        np.testing.assert_allclose(fitted.frequencies_.T[rows], expected[:, :3], atol=1e-12)
