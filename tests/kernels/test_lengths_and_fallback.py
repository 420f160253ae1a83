"""Lengths, and kernels without compiled rows, in every map and solver that uses a kernel."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from rffbench import NystroemFeatures
from rffbench.features import MAPS, make_features
from rffbench.kernels import KERNELS, make_kernel
from rffbench.kernels.served import kernels_served
from rffbench.plugins.registry import NONE
from rffbench.solvers import make_solver
from rffbench.solvers.svm.kernel import KernelSVM
from tests.helpers.cases import slow

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, size=(60, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=60) > 0, 1, 0)
LENGTHS = [0.9, 2.0, 1.5]
BUILT_IN = [name for name in MAPS.names() if name != NONE and name in MAPS.built_in]


def made(name, gamma=0.7, **parameters):
    return make_kernel(name, gamma if KERNELS[name].has_bandwidth else 1.0, **parameters)


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "low-precision"])  # rounds by the row's bytes
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_a_map_of_a_kernel_with_lengths_is_the_plain_map_of_scaled_rows(name, kind):
    served = kernels_served(MAPS.factory(name).serves.kernels)[0]
    gamma = 0.5 if KERNELS[served].has_bandwidth else 1.0
    kernel = make_kernel(served, lengths=LENGTHS)
    common = {"gamma": gamma, "n_features": 8, "count": "columns", "random_state": 0}
    features, plain = (make_features({"name": name}, kernel=each, **common) for each in (kernel, served))
    if kind is csr_matrix and not features.accepts_sparse:
        pytest.skip("takes dense rows alone")
    found, Z = features.fit(kind(X), Y).transform(kind(X)), plain.fit(X / LENGTHS, Y).transform(X / LENGTHS)
    np.testing.assert_allclose(csr_array(found).toarray(), csr_array(Z).toarray(), atol=1e-9)


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ("gaussian", "laplacian")])
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_nystroem_of_any_kernel_is_exact_at_its_landmarks(name, kind):
    kernel = made(name)
    features = NystroemFeatures(40, kernel=kernel, random_state=0).fit(kind(X))
    at = X[features.landmarks_]
    found = features.transform(kind(X)) @ features.transform(kind(at)).T
    np.testing.assert_allclose(found, kernel(X, at), atol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_exact_ridge_of_lengths_is_that_of_scaled_rows(name):
    kernel = made(name, lengths=LENGTHS)
    config = {"name": "kernel-ridge", "lambda": 0.1}
    model = make_solver(config, task="classification", kernel=kernel, gamma=kernel.gamma).fit(X, Y)
    plain = make_solver(config, task="classification", kernel=kernel.without_lengths(), gamma=kernel.gamma)
    plain.fit(X / LENGTHS, Y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X / LENGTHS), atol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("bias", [True, False])
def test_the_squared_hinge_of_any_kernel_closes_the_gap_to_its_dual(name, bias):
    kernel, C = made(name, lengths=LENGTHS), 2.0
    model = KernelSVM(C=C, kernel=kernel, bias=bias, tolerance=1e-5).fit(X, Y)
    K, y = kernel(X), np.where(Y == 1, 1.0, -1.0)
    beta = np.zeros(len(X))
    beta[[np.flatnonzero((row == X).all(axis=1))[0] for row in model.X_fit_]] = model.dual_coef_
    f = K @ beta + model.intercept_
    primal = 0.5 * beta @ K @ beta + C * np.square(np.maximum(0, 1 - y * f)).sum()
    dual = y @ beta - 0.5 * beta @ K @ beta - beta @ beta / (4 * C)
    assert primal - dual + 1e-5 * primal >= 0
    assert primal - dual < 1e-3 * primal
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-5)


@pytest.mark.parametrize("name", ["matern", "polynomial", "arc-cosine"])
def test_the_hinge_of_any_kernel_is_scikit_learns(name):
    from sklearn.svm import SVC

    kernel = made(name)
    ours = KernelSVM("hinge", 2.0, kernel=kernel, tolerance=1e-6).fit(X, Y)
    peer = SVC(C=2.0, kernel=lambda A, B: kernel(A, B), tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("name", ["perceptron", *slow("gaussian", "matern", "rational-quadratic")])
def test_functions_of_a_kernel_with_lengths_are_those_of_scaled_rows(name):
    kernel = made(name, gamma=0.2, lengths=LENGTHS)
    config = {"name": "sparse-rf", "lambda": 0.01, "steps": 3}
    common = {"task": "classification", "gamma": 0.2, "n_features": 30, "random_state": 0}
    model = make_solver(config, kernel=kernel, **common).fit(X, Y)
    plain = make_solver(config, kernel=name, **common).fit(X / LENGTHS, Y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X / LENGTHS), atol=1e-5)
