"""Random activations: the arc-cosine kernels at their rate, and what each way of drawing the weights gives."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from rffbench import ActivationFeatures, OrthogonalRandomFeatures, RandomFourierFeatures, StructuredOrthogonalFeatures
from rffbench.kernels import ActivationKernel, ArcCosineKernel
from tests.helpers.cases import slow
from tests.helpers.kernel_rates import largest_bias, slope

pytestmark = pytest.mark.usefixtures("one_thread")


@dataclass(frozen=True)
class Squares(ActivationKernel):
    """The kernel of the activation t²."""

    name: ClassVar[str] = "squares"
    has_bandwidth: ClassVar[bool] = False
    rules: ClassVar[tuple[str, ...]] = ()

    def matrix(self, X, Y):
        """‖x‖²‖x′‖² + 2(xᵀx′)², which is of degree 4 in the length of w."""
        Y = X if Y is None else Y
        return np.outer((X**2).sum(axis=1), (Y**2).sum(axis=1)) + 2 * (X @ Y.T) ** 2

    def activation(self, T):
        return np.multiply(T, T, out=T)


SIZES = (16, 64, 256)
COUPLED = ("orthogonal", "qmc", "quadrature")


def errors(weights, order, d, repetitions=60, sizes=SIZES):
    """φ(x)ᵀφ(x′) − k(x, x′): (sizes, repetitions, pairs of 12 points)."""
    X, pairs = np.random.default_rng(0).normal(size=(12, d)), np.triu_indices(12, 1)
    kernel = ArcCosineKernel(order=order)
    found = np.empty((len(sizes), repetitions, len(pairs[0])))
    for i, columns in enumerate(sizes):
        for seed in range(repetitions):
            Z = ActivationFeatures(columns, weights=weights, kernel=kernel, random_state=seed).fit_transform(X)
            found[i, seed] = (Z @ Z.T - kernel(X))[pairs]
    return found


@pytest.mark.parametrize("order", [*slow(0), 1])
@pytest.mark.parametrize("weights", ["iid", *COUPLED])
def test_the_arc_cosine_kernels_are_approximated_at_the_rate_without_bias(weights, order):
    found = errors(weights, order, 3)
    value, error = slope(found, SIZES)
    assert largest_bias(found) < 4.5
    if weights == "qmc":
        assert value + 3.5 * error < -0.55
    else:
        assert abs(value + 0.5) < 3.5 * error


@pytest.mark.parametrize("order", [0, 1])
def test_coupled_weights_have_less_error_than_independent_ones(order):
    """Of 6 columns; a whole quadrature rule is 14."""
    of = {weights: np.mean(errors(weights, order, 6, sizes=(112,)) ** 2) for weights in ("iid", *COUPLED)}
    assert of["orthogonal"] < (1.05 if order == 0 else 0.9) * of["iid"]
    assert of["qmc"] < 0.6 * of["iid"]
    assert of["quadrature"] < (0.6 if order == 0 else 0.1) * of["iid"]


def test_sorfs_weights_near_the_kernel_as_columns_grow_and_not_beyond_their_bias():
    def bias(d):
        return np.sqrt(np.mean(errors("sorf", 0, d, repetitions=30, sizes=(512,)).mean(axis=1) ** 2))

    assert bias(3) > 0.05
    assert bias(16) < 0.02


@pytest.mark.parametrize("weights", ["iid", "orthogonal", "sorf", "qmc", "quadrature"])
@pytest.mark.parametrize("order", [0, 1])
def test_features_are_steps_and_rectifiers_of_the_projections(weights, order):
    X = np.random.default_rng(1).normal(size=(600, 5))
    kernel = ArcCosineKernel(order=order)
    map_ = ActivationFeatures(41, weights=weights, kernel=kernel, random_state=4).fit(X)
    T = X @ map_.frequencies_
    assert T.shape == (600, 41)
    far = np.abs(T) > 1e-9  # else a step may go either way
    expected = np.sqrt(2) * map_.scale_ * (T > 0) * (T if order else 1)
    np.testing.assert_allclose(map_.transform(X)[far], expected[far], atol=1e-12)
    np.testing.assert_allclose(map_.transform(csr_matrix(X))[far], expected[far], atol=1e-12)
    np.testing.assert_allclose(map_.scale_, 1 / np.sqrt(41), rtol=1e-12)


def test_weights_are_the_frequencies_of_the_stream():
    X = np.zeros((2, 5))
    maps = {
        "iid": RandomFourierFeatures,
        "orthogonal": OrthogonalRandomFeatures,
        "sorf": StructuredOrthogonalFeatures,
    }
    for weights, cls in maps.items():
        layer = ActivationFeatures(20, weights=weights, random_state=3).fit(X)
        fourier = cls(40, gamma=0.5, random_state=3).fit(X)
        np.testing.assert_array_equal(layer.frequencies_, fourier.frequencies_)


def test_a_quadrature_rule_has_each_weights_opposite_and_the_exact_norms():
    """Rectifiers of t and −t have squares that add up to t², which is of degree 2."""
    d = 6
    X = np.random.default_rng(2).normal(size=(30, d))
    map_ = ActivationFeatures(3 * 2 * (d + 1), weights="quadrature", random_state=0).fit(X)
    np.testing.assert_array_equal(map_.frequencies_[:, 1::2], -map_.frequencies_[:, ::2])
    np.testing.assert_allclose(np.linalg.norm(map_.frequencies_, axis=0), np.sqrt(d), rtol=1e-12)
    np.testing.assert_allclose((map_.transform(X) ** 2).sum(axis=1), (X**2).sum(axis=1), rtol=1e-10)


def test_quadrature_weights_of_a_kernel_that_is_not_homogeneous_have_the_lengths_that_it_needs():
    X = np.random.default_rng(5).normal(size=(8, 3))
    exact = Squares()(X)
    maps = [ActivationFeatures(40, weights="quadrature", kernel=Squares(), random_state=seed) for seed in range(400)]
    found = np.stack([Z @ Z.T for Z in (each.fit_transform(X) for each in maps)])
    off = (found.mean(axis=0) - exact) / (found.std(axis=0, ddof=1) / np.sqrt(len(found)))
    assert np.abs(off).max() < 4.5
    assert np.ptp(np.linalg.norm(maps[0].frequencies_, axis=0)) > 0.1


@pytest.mark.parametrize("weights", ["iid", "orthogonal", "sorf", "qmc", "quadrature"])
def test_lengths_of_the_inputs_are_those_of_the_kernel(weights):
    lengths = [0.5, 1.0, 2.0, 4.0]
    X = np.random.default_rng(3).normal(size=(10, 4))
    shared = {"n_components": 40, "weights": weights, "random_state": 1}
    scaled = ActivationFeatures(kernel=ArcCosineKernel(lengths=lengths), **shared).fit_transform(X)
    np.testing.assert_allclose(scaled, ActivationFeatures(**shared).fit_transform(X / lengths), atol=1e-12)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            ActivationFeatures(weights="sobol"),
            "weights must be one of 'iid', 'truncated', 'orthogonal', 'lapack-orthogonal', 'tall-orthogonal', 'sorf'",
        ),
        (ActivationFeatures(kernel="gaussian"), "needs a kernel with an activation; gaussian has none; arc-cosine has"),
        (ActivationFeatures(gamma=2.0), "gamma must be 1: the arc-cosine kernel has no bandwidth"),
        (ActivationFeatures(0), "n_components must be a whole number, 1 or more"),
    ],
)
def test_what_the_map_cannot_do_is_refused_with_what_would_do(features, message):
    with pytest.raises(ValueError, match=message):
        features.fit(np.zeros((3, 2)))


def test_with_the_signs_of_lapack_the_error_stops_falling():
    haar, lapack = (
        np.abs(errors(weights, 0, 3, repetitions=8, sizes=(3000,))).mean()
        for weights in ("orthogonal", "lapack-orthogonal")
    )
    assert haar < 0.02
    assert lapack > 0.06
