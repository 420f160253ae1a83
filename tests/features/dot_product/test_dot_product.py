"""Maps of power series in xᵀx′: what their columns are, their variances, and the degrees that they have."""

import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import poisson
from sklearn.kernel_approximation import PolynomialCountSketch

from rffbench import ComplexToRealFeatures, MaclaurinFeatures, TensorSketchFeatures
from rffbench.arguments.seeds import seed_sequence
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.features.dot_product.degrees import optimised_terms
from rffbench.kernels import GaussianKernel, PolynomialKernel
from tests.helpers.cases import slow
from tests.helpers.kernel_rates import errors, largest_bias, slope

pytestmark = pytest.mark.usefixtures("one_thread")
MAPS = {"maclaurin": MaclaurinFeatures, "complex-to-real": ComplexToRealFeatures, "tensor-sketch": TensorSketchFeatures}
every_map = pytest.mark.parametrize("kind", MAPS.values(), ids=MAPS)
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 6)) / 3


def complex_columns(Z):
    s = Z.shape[1] // 2
    return Z[:, :s] + 1j * Z[:, s:]


# ---- What the columns are ----


def complex_directions(map_):
    return map_.directions_[:, ::2] + 1j * map_.directions_[:, 1::2]


projected = pytest.mark.parametrize("kind", [MaclaurinFeatures, ComplexToRealFeatures])


@pytest.mark.parametrize("projection", ["rademacher", "gaussian", "srht"])
@pytest.mark.parametrize("degrees", ["optimised", "geometric"])
@projected
def test_a_column_is_the_product_of_its_projections_times_the_rows_factor(kind, degrees, projection):
    map_ = kind(40, degrees=degrees, projection=projection, gamma=0.7, random_state=1).fit(X)
    Z, W = map_.transform(X), map_.directions_
    if kind is ComplexToRealFeatures:
        Z, W = complex_columns(Z), complex_directions(map_)
    if projection != "gaussian":
        assert set(np.unique(W)) == ({1, -1, 1j, -1j} if kind is ComplexToRealFeatures else {1, -1})
    starts = np.cumsum([0, *map_.degrees_])
    for j, n in enumerate(map_.degrees_):
        own = np.prod(X @ W[:, starts[j] : starts[j] + n], axis=1)
        expected = map_.scale_[j] * np.exp(-0.7 * (X**2).sum(axis=1)) * own
        np.testing.assert_allclose(Z[:, j], expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("c", [0.0, 2.0])
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("columns", [16, 21])
def test_a_tensor_sketch_is_scikit_learns_with_the_same_hashes(columns, degree, c):
    theirs = PolynomialCountSketch(gamma=0.4, degree=degree, coef0=c, n_components=columns, random_state=0).fit(X)
    kernel = PolynomialKernel(0.4, degree=degree, c=c)
    ours = TensorSketchFeatures(columns, degrees="product", kernel=kernel, random_state=0).fit(X)
    for i, sketch in enumerate(ours.sketches_[degree]):
        sketch.signs[:] = np.sqrt(0.4) * theirs.bitHash_[i, :6]
        sketch.buckets[:] = theirs.indexHash_[i, :6]
        if c:
            ours.constants_[i] = theirs.indexHash_[i, 6], np.sqrt(c) * theirs.bitHash_[i, 6]
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-12)
    np.testing.assert_allclose(ours.transform(csr_array(X)), theirs.transform(X), atol=1e-12)


@every_map
def test_the_term_of_degree_0_is_exact_in_one_column(kind):
    Z = kind(20, kernel=PolynomialKernel(0.5, degree=3, c=2.0), random_state=0).fit(X).transform(np.zeros((2, 6)))
    np.testing.assert_allclose(Z @ Z.T, 8.0, rtol=1e-12)
    assert np.count_nonzero(Z[0]) == 1


@every_map
def test_a_homogeneous_polynomial_has_columns_of_its_degree_alone(kind):
    map_ = kind(20, kernel=PolynomialKernel(degree=3, c=0.0), random_state=0).fit(X)
    np.testing.assert_array_equal(map_.degrees_, 3)


@every_map
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_too_long_for_the_gaussians_series_have_features_of_0(kind, dtype):
    rows = np.concatenate([X, [[1e5, *[0] * 5]]]).astype(dtype)
    Z = kind(40, gamma=1.0, random_state=0).fit(rows).transform(rows)
    assert np.isfinite(Z).all()
    assert not Z[-1].any()
    assert np.isfinite(kind(40, gamma=1.0).fit_transform(rows[-1:])).all()


# ---- Variances ----


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_variances_are_those_of_the_papers(degree):
    """Of one pair of rows, s columns; Wacker et al., JMLR 2024, Table 1, real and complex signs."""
    x, y = np.array([[0.9, 0.2, -0.4], [0.5, 0.6, 0.1]])
    t, ab, squares = x @ y, (x @ x) * (y @ y), (x**2) @ (y**2)
    real = (ab + 2 * t**2 - 2 * squares) ** degree - t ** (2 * degree)
    complex_ = ((ab + t**2 - squares) ** degree + (2 * t**2 - squares) ** degree) / 2 - t ** (2 * degree)
    kernel, s = PolynomialKernel(degree=degree, c=0.0), 40_000
    for kind, columns, variance in ((MaclaurinFeatures, s, real), (ComplexToRealFeatures, 2 * s, complex_)):
        Z = kind(columns, kernel=kernel, random_state=degree).fit_transform(np.stack([x, y]))
        if kind is ComplexToRealFeatures:
            Z = complex_columns(Z)
        estimates = s * (Z[0] * Z[1].conj()).real  # of one column each
        assert estimates.var() == pytest.approx(variance, rel=0.1)
        assert abs(estimates.mean() - t**degree) < 4.5 * np.sqrt(variance / s)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_variances_of_normal_projections_are_those_of_the_papers(degree):
    """As above, of w whose entries have the fourth moment 3, and 2 of complex ones."""
    x, y = np.array([[0.9, 0.2, -0.4], [0.5, 0.6, 0.1]])
    t, ab = x @ y, (x @ x) * (y @ y)
    real = (ab + 2 * t**2) ** degree - t ** (2 * degree)
    complex_ = ((ab + t**2) ** degree + (2 * t**2) ** degree) / 2 - t ** (2 * degree)
    kernel, s = PolynomialKernel(degree=degree, c=0.0), 200_000
    for kind, columns, variance in ((MaclaurinFeatures, s, real), (ComplexToRealFeatures, 2 * s, complex_)):
        Z = kind(columns, kernel=kernel, projection="gaussian", random_state=degree).fit_transform(np.stack([x, y]))
        if kind is ComplexToRealFeatures:
            Z = complex_columns(Z)
        estimates = s * (Z[0] * Z[1].conj()).real
        assert estimates.var() == pytest.approx(variance, rel=0.2)
        assert abs(estimates.mean() - t**degree) < 4.5 * np.sqrt(variance / s)


def of_one_transform(kind, degree, N=4, draws=6000):
    """Estimates of (xᵀy)ⁿ, each by the N columns of one transform, and what their variance is made of."""
    x, y = np.array([[0.9, 0.2, -0.4, 0.3], [0.5, 0.6, 0.1, -0.2]])
    kernel, columns = PolynomialKernel(degree=degree, c=0.0), draws * N * (1 + (kind is ComplexToRealFeatures))
    Z = kind(columns, kernel=kernel, projection="srht", random_state=degree).fit_transform(np.stack([x, y]))
    Z = complex_columns(Z) if kind is ComplexToRealFeatures else Z
    found = draws * (Z[0] * Z[1].conj()).real.reshape(draws, N).sum(axis=1)
    return found, x @ y, (x @ x) * (y @ y), (x**2) @ (y**2)


@pytest.mark.parametrize("degree", [2, 3])
def test_rows_of_one_transform_have_the_papers_covariance(degree):
    """Wacker et al., JMLR 2024, Theorem 3.6: a pair of the N columns has this covariance, below 0 here."""
    found, t, ab, squares = of_one_transform(MaclaurinFeatures, degree)
    variance = (ab + 2 * t**2 - 2 * squares) ** degree - t ** (2 * degree)
    covariance = (t**2 - (ab + t**2 - 2 * squares) / 3) ** degree - t ** (2 * degree)
    assert found.var() == pytest.approx(variance / 4 + 3 / 4 * covariance, rel=0.12)
    assert abs(found.mean() - t**degree) < 4.5 * found.std() / np.sqrt(len(found))


@projected
def test_whole_transforms_of_degree_1_are_exact(kind):
    """(1/N)·(HD)ᵀHD = I: of as many columns as transforms have, which is a power of two from d + 1 with a constant."""
    rows, size = X[:, :5], 1 + (kind is ComplexToRealFeatures)
    for c, columns in ((0.0, 8), (0.7, 16)):
        kernel = PolynomialKernel(0.4, degree=1, c=c)
        map_ = kind(columns * size, degrees="product", kernel=kernel, projection="srht", random_state=0)
        Z = map_.fit_transform(rows)
        np.testing.assert_allclose(Z @ Z.T, kernel(rows), atol=1e-12)


@projected
def test_projections_of_a_column_are_of_different_transforms(kind):
    """Of one transform they would be one w twice, and the estimate (xᵀy)² would be far off."""
    found, t, _, _ = of_one_transform(kind, 2)
    assert abs(found.mean() - t**2) < 4.5 * found.std() / np.sqrt(len(found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "degrees"), [("polynomial", "optimised"), ("polynomial", "product"), ("exponential", "optimised")]
)
def test_the_error_of_tensor_sketches_falls_as_monte_carlos(kernel, degrees):
    """Of 8 inputs: of the 3 of the test of every map hardly any two share a bucket of hundreds."""
    many, sizes = np.random.default_rng(4).uniform(size=(40, 8)), (32, 64, 128, 256)
    map_ = TensorSketchFeatures(degrees=degrees)
    found = errors(map_, kernel, X=many, gamma=0.3, true_gamma=0.3, repetitions=150, sizes=sizes)
    value, error = slope(found, sizes)
    assert error < 0.06
    assert abs(value + 0.5) < 3.5 * error
    assert largest_bias(found) < 4.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "degrees"), [("polynomial", "optimised"), ("polynomial", "product"), ("exponential", "optimised")]
)
@projected
def test_the_error_of_transforms_falls_at_least_as_monte_carlos(kind, kernel, degrees):
    """Faster, where whole transforms make the term of degree 1 exact."""
    many, sizes = np.random.default_rng(4).uniform(size=(40, 8)), (32, 64, 128, 256)
    map_ = kind(degrees=degrees, projection="srht")
    found = errors(map_, kernel, X=many, gamma=0.3, true_gamma=0.3, repetitions=150, sizes=sizes)
    value, error = slope(found, sizes)
    assert error < 0.08
    assert -1 < value < -0.5 + 3.5 * error
    assert largest_bias(found) < 4.5


def mean_square(kind, kernel, degrees):
    K, total = kernel(X), 0.0
    for seed in range(30):
        Z = kind(64, kernel=kernel, degrees=degrees, random_state=seed).fit_transform(X)
        total += np.mean((Z @ Z.T - K) ** 2)
    return total


@every_map
def test_optimised_degrees_have_less_error_than_the_papers(kind):
    polynomial, gaussian = PolynomialKernel(0.5, degree=4, c=1.0), GaussianKernel(0.5)
    optimised = mean_square(kind, polynomial, "optimised")
    assert optimised < 0.7 * mean_square(kind, polynomial, "product")
    assert optimised < 0.7 * mean_square(kind, polynomial, "geometric")
    assert mean_square(kind, gaussian, "optimised") < 0.7 * mean_square(kind, gaussian, "geometric")


# ---- Degrees ----


def test_degrees_of_the_gaussian_are_poissons():
    """Σᵢ r(xᵢ)²·aₙ‖xᵢ‖²ⁿ is a Poisson probability of mean 2γ‖xᵢ‖²."""
    kernel, columns = GaussianKernel(0.8), 400
    terms = optimised_terms(kernel, X, columns, seed_sequence(0))
    p = poisson.pmf(np.arange(40)[:, None], 2 * 0.8 * (X**2).sum(axis=1)).mean(axis=1)
    p[0] = 0
    p /= p.sum()
    assert terms.degrees[0] == 0
    for prefix in (20, 100, 400):
        counts = np.bincount(terms.degrees[1:prefix], minlength=40)
        assert np.abs(counts - (prefix - 1) * p).max() < 2.5  # independent draws would be √prefix/2 apart
    n = terms.degrees[1:]
    expected = np.sqrt(kernel.coefficients(40)[n] / ((columns - 1) * p[n]))
    np.testing.assert_allclose(terms.scales[1:], expected, rtol=1e-9)


def test_truncated_degrees_have_four_columns_or_more_and_all_of_their_terms():
    kernel = GaussianKernel(0.8)
    terms = optimised_terms(kernel, X, 100, seed_sequence(0), least=4)
    degrees, counts = np.unique(terms.degrees[1:], return_counts=True)
    assert counts.min() >= 3  # spread evenly, to about one
    assert degrees.max() < optimised_terms(kernel, X, 100, seed_sequence(0)).degrees.max()
    for n, count in zip(degrees, counts, strict=True):
        assert (terms.scales[terms.degrees == n] ** 2).sum() == pytest.approx(kernel.coefficients(40)[n]), count


@every_map
def test_truncated_degrees_have_less_error_where_a_few_rows_are_long(kind):
    rows = rng.standard_t(4, size=(60, 6)) / 3
    K, kernel = GaussianKernel(0.5)(rows), GaussianKernel(0.5)

    def error(degrees):
        maps = (kind(32, kernel=kernel, degrees=degrees, random_state=seed) for seed in range(30))
        return np.mean([((Z := each.fit_transform(rows)) @ Z.T - K) ** 2 for each in maps])

    assert error("truncated") < 0.8 * error("optimised")


@every_map
def test_the_term_of_degree_1_is_exact_where_that_is_asked(kind):
    kernel = PolynomialKernel(0.5, degree=3, c=2.0, lengths=[0.5, 1, 1, 1, 1, 2])
    map_ = kind(40, kernel=kernel, linear="exact", random_state=0).fit(X)
    np.testing.assert_allclose(map_.transform(X)[:, -6:], np.sqrt(6) * X / kernel.lengths, rtol=1e-12)
    assert sorted(set(map_.degrees_.tolist())) == [0, 2, 3]
    gaussian = kind(40, gamma=0.7, linear="exact", random_state=0).fit(X)
    expected = np.sqrt(1.4) * np.exp(-0.7 * (X**2).sum(axis=1))[:, None] * X
    np.testing.assert_allclose(gaussian.transform(X)[:, -6:], expected, rtol=1e-12)


@every_map
@pytest.mark.parametrize("degrees", ["optimised", "truncated", "geometric"])
@pytest.mark.parametrize("inputs", [5, *slow(6)])  # 5: an odd number of columns is left
def test_an_exact_degree_1_has_less_error_where_its_term_is_large(kind, inputs, degrees):
    kernel, rows = PolynomialKernel(0.5, degree=2, c=4.0), X[:, :inputs]
    K = kernel(rows)

    def error(linear):
        maps = (kind(32, kernel=kernel, degrees=degrees, linear=linear, random_state=seed) for seed in range(30))
        return np.mean([((Z := each.fit_transform(rows)) @ Z.T - K) ** 2 for each in maps])

    share = 0.8 if degrees == "geometric" else 0.5  # of which the constant term is sampled, too
    assert error("exact") < share * error("sampled")


@every_map
def test_columns_that_leave_no_room_for_an_exact_degree_1_are_all_sampled(kind):
    few, sampled = (kind(8, linear=linear, random_state=0).fit(X) for linear in ("exact", "sampled"))
    assert few.linear_columns_ == 0
    np.testing.assert_array_equal(few.transform(X), sampled.transform(X))


@every_map
def test_rows_of_zeros_have_degrees_too(kind):
    map_ = kind(10, kernel="polynomial", random_state=0).fit(np.zeros((3, 2)))
    assert np.isfinite(map_.transform(np.ones((1, 2)))).all()


@every_map
@pytest.mark.parametrize(
    ("given", "kernel", "message"),
    [
        (
            {"degrees": "product"},
            "gaussian",
            "degrees must be 'optimised', 'truncated', 'geometric', 'least-error' or 'power' with the gaussian kernel: "
            "'product' is for the polynomial kernel",
        ),
        (
            {"degrees": "power"},
            "polynomial",
            "degrees must be 'optimised', 'truncated', 'geometric', 'least-error' or 'product' with the polynomial "
            "kernel: 'power' is for kernels of infinitely many degrees",
        ),
        (
            {"degrees": "best"},
            "gaussian",
            "degrees must be one of 'optimised', 'truncated', 'geometric', 'least-error', 'product', 'power', "
            "got 'best'",
        ),
        (
            {"linear": "exact", "degrees": "power"},
            "gaussian",
            "must be 'sampled' with degrees 'power': 'exact' is for opt",
        ),
        ({"linear": "exact"}, PolynomialKernel(degree=1), "linear must be 'sampled' with a kernel of degree 1"),
        ({}, PolynomialKernel(degree=200), "degree must be below 200 for random features, got 200"),
        ({}, "laplacian", "needs a kernel with Maclaurin coefficients; laplacian has none; gaussian, polynomial"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(kind, given, kernel, message):
    name = next(each for each in MAPS if MAPS[each] is kind)
    with pytest.raises(ConfigError, match=message):
        make_features({"name": name, **given}, kernel=kernel, gamma=1.0, n_features=8)


def test_complex_columns_come_in_pairs():
    with pytest.raises(ValueError, match="n_components must be even, a real and an imaginary part each, got 7"):
        ComplexToRealFeatures(7).fit(X)


# ---- What is left of the norm ----


@every_map
@pytest.mark.parametrize("dtype", [np.float64, *slow(np.float32)])
@pytest.mark.parametrize("gamma", [0.05, 100.0, 1e8, *slow(8.0, 1e4)])
def test_a_map_that_loses_its_norm_says_so_and_has_no_nan(kind, dtype, gamma):
    """‖φ(x)‖² is 1 for the Gaussian kernel; with rows of length 2.4 and γ = 8 most of it needs degrees near 90."""
    rows = np.random.default_rng(1).normal(size=(300, 6)).astype(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Z = kind(512, gamma=gamma, random_state=0).fit_transform(rows)
    kept = np.square(Z, dtype=np.float64).sum(axis=1).mean()
    assert np.isfinite(Z).all()
    said = [str(each.message) for each in caught]
    if gamma < 1:
        assert kept == pytest.approx(1, abs=0.1)
        assert not said
    else:
        assert kept < 0.5
        [said] = said
        assert re.search(rf"keeps [\d.e-]+ % of the features' norm at gamma={re.escape(f'{gamma:.3g}')}", said)
