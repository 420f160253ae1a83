"""Spherical-radial rules: what they integrate exactly, the laws of their lengths and directions, and their errors."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from rffbench import OrthogonalRandomFeatures, QuadratureFeatures, RandomFourierFeatures
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.features.base import held_bytes
from rffbench.features.quadrature import spherical_radial
from rffbench.features.quadrature.spherical_radial import radius_pair
from rffbench.kernels import GaussianKernel, IsotropicKernel, MaternKernel, make_kernel, with_trait
from rffbench.linalg.butterflies import ButterflySimplices
from tests.helpers.cases import slow

pytestmark = pytest.mark.usefixtures("one_thread")
ISOTROPIC = with_trait(IsotropicKernel)


def second_moment(map_):
    return (map_.frequencies_ * map_.weights_) @ map_.frequencies_.T / len(map_.weights_)


@pytest.mark.parametrize("kernel", ISOTROPIC)
@pytest.mark.parametrize("rotation", ["orthogonal", "butterfly"])
@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_whole_rules_integrate_polynomials_of_degree_three_exactly(d, rotation, kernel):
    """Over w and −w: those of odd degree are 0, the others are the mean weight and the second moments."""
    map_ = QuadratureFeatures(3 * 4 * (d + 1), rotation=rotation, kernel=kernel, gamma=0.7, random_state=d)
    map_.fit(np.zeros((2, d)))
    exact = make_kernel(kernel, 0.7).spectral_variance * np.eye(d)
    assert map_.weights_.min() >= 0
    assert np.mean(map_.weights_) == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(second_moment(map_), exact, atol=1e-10)
    # Degree 4 is beyond it, and so are independent lengths: the test above can fail.
    if d > 1:
        fourth = (map_.weights_ * map_.frequencies_[0] ** 4).mean()
        assert fourth != pytest.approx(3 * exact[0, 0] ** 2, rel=1e-3)
    independent = clone(map_).set_params(radii="independent").fit(np.zeros((2, d)))
    assert np.abs(second_moment(independent) - exact).max() > 1e-3


def test_the_papers_rule_has_the_constant_that_makes_it_exact():
    d, simplices = 6, 4
    map_ = QuadratureFeatures(2 * (1 + simplices * (d + 1)), radii="truncated", gamma=0.5, random_state=0)
    map_.fit(np.zeros((2, d)))
    assert map_.weights_.min() >= 0
    assert not map_.frequencies_[:, 0].any()
    assert map_.weights_.mean() == pytest.approx(1)
    np.testing.assert_allclose(second_moment(map_), np.eye(d), atol=1e-12)
    lengths = np.linalg.norm(map_.frequencies_[:, 1:], axis=0)
    assert lengths.min() >= np.sqrt(d)
    assert len(np.unique(lengths.round(9))) == simplices


def test_close_points_have_far_less_error_than_with_other_directions_of_as_many_columns():
    """d = 10: where kernel values are near 1 the error is of the first degree that the rule does not integrate."""
    rng = np.random.default_rng(0)
    for length, of_fourier, of_orthogonal in ((0.5, 0.15, 0.3), (1.5, 0.7, 1.05)):
        X = rng.normal(size=(14, 10)) * length / np.sqrt(20)
        K = make_kernel("gaussian", 0.5)(X)

        def error(map_, X=X, K=K):
            made = (clone(map_).set_params(n_components=88, gamma=0.5, random_state=i) for i in range(40))
            return np.sqrt(np.mean([((Z := each.fit_transform(X)) @ Z.T - K) ** 2 for each in made]))

        quadrature = error(QuadratureFeatures())
        assert quadrature < of_fourier * error(RandomFourierFeatures())
        assert quadrature < of_orthogonal * error(OrthogonalRandomFeatures())


@pytest.mark.parametrize("kernel", ISOTROPIC)
@pytest.mark.parametrize("d", [1, 4])
def test_a_pair_of_lengths_stands_for_their_law(kernel, d):
    """Either of the two, with its weight, has the mean of any function: here of cos ρ."""
    kernel, rng = make_kernel(kernel), np.random.default_rng(3)
    pairs = np.array([radius_pair(kernel, rng, d) for _ in range(4000)])
    plain = np.cos([kernel.radius(rng, d) for _ in range(40_000)])
    for lengths, weights in (pairs[:, 0].T, pairs[:, 1].T):
        found = weights * np.cos(lengths)
        error = np.hypot(found.std() / np.sqrt(len(found)), plain.std() / np.sqrt(len(plain)))
        assert abs(found.mean() - plain.mean()) < 4 * error


@pytest.mark.parametrize("kernel", ISOTROPIC)
def test_a_size_biased_length_is_one_in_proportion_to_its_square(kernel):
    """E[f(ρ)/ρ²] over it is E[f]/E[ρ²] over plain lengths, for f = ρ²·exp(−ρ²)."""
    kernel, rng, d, draws = make_kernel(kernel), np.random.default_rng(5), 3, 40_000
    biased = np.exp(-np.square([kernel.size_biased_radius(rng, d) for _ in range(draws)]))
    plain = np.square([kernel.radius(rng, d) for _ in range(draws)])
    weighted = plain * np.exp(-plain) / (d * kernel.spectral_variance / kernel.spectral_scale**2)
    assert abs(biased.mean() - weighted.mean()) < 4 * np.hypot(biased.std(), weighted.std()) / np.sqrt(draws)


def fast_and_dense(monkeypatch, d, columns, radii, lengths=None):
    """The map of butterflies as it is for many inputs, and as it is for few: multiplied out."""
    map_ = QuadratureFeatures(
        columns, rotation="butterfly", radii=radii, kernel=GaussianKernel(0.5, lengths=lengths), random_state=4
    )
    monkeypatch.setattr(spherical_radial, "BUTTERFLIES_PAY", 1)
    fast = map_.fit(np.zeros((2, d)))
    monkeypatch.setattr(spherical_radial, "BUTTERFLIES_PAY", d + 1)
    return fast, clone(map_).fit(np.zeros((2, d)))


@pytest.mark.parametrize("radii", ["pairs", *slow("independent", "truncated")])
@pytest.mark.parametrize(("d", "columns"), [(1, 10), (2, 2), (5, 60), (8, 46), (33, 400), (64, 1300), (100, 1100)])
def test_butterflies_give_what_their_matrix_gives(monkeypatch, d, columns, radii):
    """Of numbers of rows that fill registers or do not, arrays in any order, and sparse rows."""
    rng = np.random.default_rng(d)
    fast, dense = fast_and_dense(monkeypatch, d, columns, radii, lengths=rng.uniform(0.5, 2, d).tolist())
    np.testing.assert_allclose(fast.frequencies_, dense.frequencies_, rtol=1e-12)
    for n in (1, 8, 37):
        X = rng.normal(size=(n, d))
        for rows in (X, np.asfortranarray(X), csr_array(X)):
            np.testing.assert_allclose(fast.transform(rows), dense.transform(X), atol=1e-12 * columns**-0.5 * d)
        single = fast.transform(X.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, dense.transform(X), atol=2e-6 * columns**-0.5 * d)


def test_butterflies_take_no_memory_of_a_matrix(monkeypatch):
    d = 512
    fast, dense = fast_and_dense(monkeypatch, d, 4 * (d + 1), "pairs")
    pairs, simplices = 9 * d // 2, 2
    assert held_bytes(dense) > 8 * d * 2 * (d + 1)
    assert held_bytes(fast) < simplices * 3 * (16 * pairs + 4 * d) + 8 * 10 * d < held_bytes(dense) / 5


def test_few_inputs_are_rotated_by_a_matrix_and_many_are_not():
    few, many = (
        QuadratureFeatures(8, rotation="butterfly", random_state=0).fit(np.zeros((2, d)))
        for d in (spherical_radial.BUTTERFLIES_PAY - 1, spherical_radial.BUTTERFLIES_PAY)
    )
    assert few.frequencies_ is few.frequencies_
    assert many.frequencies_ is not many.frequencies_


@pytest.mark.parametrize("d", [1, 2, 3, 8, 13])
def test_butterflies_are_orthogonal_and_spread_a_vector_over_all_coordinates(d):
    Q = ButterflySimplices.draw(np.random.default_rng(0), 1, d).rotated(np.eye(d), 0)
    np.testing.assert_allclose(Q @ Q.T, np.eye(d), atol=1e-13)
    assert d == 1 or (np.abs(Q) > 1e-12).all()


def test_frequencies_beyond_whole_rules_keep_the_directions_of_larger_maps():
    X = np.zeros((2, 3))
    small, large = (QuadratureFeatures(n, gamma=0.5, random_state=1).fit(X) for n in (22, 32))
    np.testing.assert_allclose(small.frequencies_[:, :8], large.frequencies_[:, :8])  # a whole rule
    np.testing.assert_allclose(small.directions_, large.directions_[:, :11])
    np.testing.assert_array_equal(small.weights_[8:], 1)


@pytest.mark.parametrize("radii", ["pairs", "truncated"])
def test_a_kernel_whose_frequencies_have_no_variance_is_told_what_would_do(radii):
    rough = MaternKernel(nu=0.5)
    with pytest.raises(ConfigError, match=r"must be 'independent': frequencies of the matern .* have no variance"):
        make_features({"name": "quadrature", "radii": radii}, kernel=rough, gamma=1.0, n_features=8)
    features = make_features({"name": "quadrature", "radii": "independent"}, kernel=rough, gamma=1.0, n_features=8)
    assert np.isfinite(features.fit_transform(np.zeros((2, 3)))).all()


def test_a_kernel_without_a_size_biased_length_is_told_what_would_do():
    class Flat(MaternKernel):
        size_biased_radius = IsotropicKernel.size_biased_radius

    with pytest.raises(ValueError, match=r"radii must be 'independent': the matern .* has no size_biased_radius"):
        QuadratureFeatures(kernel=Flat(nu=1.5)).fit(np.zeros((2, 3)))
