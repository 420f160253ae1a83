"""Every registered solver, and how it is made."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.svm import SVC, LinearSVC

from rffbench import RandomFourierFeatures
from rffbench.kernels import make_kernel
from rffbench.solvers import NONE, SOLVERS, make_solver
from rffbench.solvers.iterative.pcg import PCGRidgeClassifierCV, PCGRidgeCV
from tests.helpers import plug_ins
from tests.helpers.contract import first_of_class

BOTH, CLASSES = ("regression", "classification"), ("classification",)
FEATURES = RandomFourierFeatures(40, gamma=0.5, random_state=0)
rng = np.random.default_rng(0)
X = rng.uniform(size=(200, 3))


def ridge(model, X, y):
    """β = (ZᵀZ + I)⁻¹Zᵀy."""
    Z = FEATURES.fit_transform(X)
    return Z @ np.linalg.solve(Z.T @ Z + np.eye(Z.shape[1]), Z.T @ y)


def kernel_ridge(model, X, y):
    """K(K + I)⁻¹y."""
    K = make_kernel(model.kernel, model.gamma)(X)
    return K @ np.linalg.solve(K + np.eye(len(X)), y)


def restricted_kernel_ridge(model, X, y):
    """K_nm(K_nmᵀK_nm + K_mm)⁺K_nmᵀy."""
    kernel = make_kernel(model.kernel, model.gamma)
    K = kernel(X, model.landmarks_)
    return K @ np.linalg.lstsq(K.T @ K + kernel(model.landmarks_), K.T @ y, rcond=1e-12)[0]


def squared_hinge_machine(model, X, y):
    """LIBSVM on K + I/(2C), without an upper bound."""
    K = make_kernel(model.kernel, model.gamma)(X)
    machine = SVC(C=1e9, kernel="precomputed", tol=1e-8).fit(K + np.eye(len(X)) / (2 * model.C), y)
    return K[:, machine.support_] @ machine.dual_coef_[0] + machine.intercept_


def hinge_machine(model, X, y):
    K = make_kernel(model.kernel, model.gamma)(X)
    return SVC(C=model.C, kernel="precomputed", tol=1e-8).fit(K, y).decision_function(K)


def linear_machine(model, X, y):
    """Of b, too, the square is penalised."""
    Z = np.column_stack([FEATURES.fit_transform(X), np.full(len(X), model.bias)])
    machine = LinearSVC(C=model.C, fit_intercept=False, dual=False, tol=1e-10, max_iter=100_000)
    return machine.fit(Z, y).decision_function(Z)


def logistic_regression(model, X, y):
    """scikit-learn's, with C = 1/(nλ)."""
    Z = FEATURES.fit_transform(X)
    peer = LogisticRegression(C=1 / (len(X) * model.alpha_), tol=1e-8, max_iter=5000)
    return peer.fit(Z, y).decision_function(Z)


def l1_on_its_functions(model, X, y):
    """The LASSO, or the ℓ1-penalised squared hinge, on the functions that the model kept; 0 where it kept none."""
    if not len(model.coef_):
        return np.zeros(len(X))
    phases = X @ model.directions_.T + model.offsets_
    Z = np.where(phases >= 0, 1.0, -1.0) if model.kernel == "perceptron" else np.cos(phases)
    if is_classifier(model):
        machine = LinearSVC(
            penalty="l1", C=1 / model.alpha_, fit_intercept=False, dual=False, tol=1e-10, max_iter=100_000
        )
        return machine.fit(Z, y).decision_function(Z)
    return Lasso(model.alpha_ / len(X), fit_intercept=False, tol=1e-12, max_iter=1_000_000).fit(Z, y).predict(Z)


def linear(model, X, y):
    """Xw, w = (XᵀX + I)⁻¹Xᵀy."""
    return X @ np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ y)


def gaussian_process(model, X, y):
    """The posterior mean by the kernel matrix of the features; of classes the second's less the first's."""
    Z = FEATURES.fit_transform(X)
    K = model.variance_ * Z @ Z.T

    def mean(targets, noise):
        return K @ np.linalg.solve(K + np.diag(noise), targets)

    if not is_classifier(model):
        return y.mean() + mean(y - y.mean(), np.full(len(y), model.noise))
    outputs = []
    for sign, prior in zip((-1, 1), model.intercept_, strict=True):
        shape = (y == sign) + model.noise
        noise = np.log(1 + 1 / shape)
        outputs.append(prior + mean(np.log(shape) - noise / 2 - prior, noise))
    return outputs[1] - outputs[0]


def trees(model, X, y):
    """scikit-learn's gradient boosting."""
    if is_classifier(model):
        return HistGradientBoostingClassifier(max_iter=20).fit(X, y).decision_function(X)
    return HistGradientBoostingRegressor(max_iter=20).fit(X, y).predict(X)


@dataclass(frozen=True)
class Promise:
    """What a solver promises with these parameters of its own."""

    plain: Callable  # of the fitted model, X and y: what a plain implementation gives at X
    parameters: dict = field(default_factory=dict)
    tight: dict = field(default_factory=dict)  # the parameters with which it gives the same
    tasks: tuple[str, ...] = BOTH
    kernel: str = "gaussian"
    gamma: float = 0.05
    maps: bool = False  # it applies a feature map
    seeded: bool = False  # it draws: another random_state is another model


ONE = {"lambda": 1.0, "lambda_scale": 1, "center": False}
TIGHT = {"budget": {"tolerance": 1e-7}}
SPARSE = {"lambda": 0.3, "steps": 3}
PROMISES = {
    "ridge": [Promise(ridge, tight=ONE, maps=True)],
    "kernel-ridge": [Promise(kernel_ridge, {"lambda": [1e-3, 0.05]}, ONE)],
    "kernel-svm": [
        Promise(squared_hinge_machine, tight={"tolerance": 1e-7}, tasks=CLASSES),
        Promise(hinge_machine, {"loss": "hinge"}, {"tolerance": 1e-7}, CLASSES),
    ],
    "linear-svm": [
        Promise(linear_machine, {"method": method}, {"tolerance": 1e-8}, CLASSES, maps=True)
        for method in ("held", "streamed", "liblinear")
    ],
    "logistic": [Promise(logistic_regression, {"lambda": 0.01}, {"tolerance": 1e-8}, CLASSES, maps=True)],
    "sparse-rf": [
        Promise(l1_on_its_functions, SPARSE | {"lambda": [1.0, 0.1]}, SPARSE | {"tol": 1e-10}, BOTH[:1], seeded=True),
        Promise(l1_on_its_functions, SPARSE, {"tol": 1e-10}, CLASSES, "perceptron", 0.2, seeded=True),
    ],
    "boosting": [
        Promise(l1_on_its_functions, SPARSE | {"steps": 20, "candidates": 20}, {"tol": 1e-10}, BOTH[:1], seeded=True),
        Promise(l1_on_its_functions, SPARSE | {"steps": 10, "threshold": "best"}, {"tol": 1e-10}, CLASSES, "perceptron",
                0.2),
    ],
    "linear": [Promise(linear, tight=ONE)],
    "gradient-boosting": [Promise(trees, {"trees": 20}, seeded=False)],
    "pcg": [
        Promise(ridge, tight=ONE | TIGHT | {"preconditioner": kind}, maps=True)
        for kind in ("nystroem", "sketch", "none")
    ] + [Promise(kernel_ridge, {"preconditioner": kind}, ONE | TIGHT) for kind in ("rpcholesky", "uniform", "greedy")],
    "falkon": [
        Promise(restricted_kernel_ridge, {"preconditioner": kind, "lambda": [1e-4, 1e-2]}, ONE | TIGHT, seeded=seeded)
        for kind, seeded in (("falkon", False), ("krill", False))
    ],
    "gp": [Promise(gaussian_process, {"noise": 0.1}, maps=True)],
    "eigenpro": [Promise(kernel_ridge, {"lambda": 0.1}, ONE | TIGHT)],
    "askotch": [Promise(kernel_ridge, {"lambda": 0.1}, ONE | TIGHT)],
    "plug-in": [Promise(ridge, maps=True, tasks=BOTH[:1])],
}  # fmt: skip


def promises(name):
    """What is promised of the solver ``name``."""
    if name not in PROMISES:
        pytest.fail(
            f"solver {name!r} is registered, and nobody says what it promises: add {name!r}: [Promise(…)] to PROMISES "
            f"in tests/solvers/test_every_solver.py, one for each way of solving that its parameters choose, with a "
            f"plain implementation of what it computes",
            pytrace=False,
        )
    return PROMISES[name]


def made(name, promise, task, features=None, random_state=0, **parameters):
    """The solver, not yet fitted."""
    return make_solver(
        {"name": name, **promise.parameters, **parameters}, task=task, features=features if promise.maps else None,
        kernel=promise.kernel, gamma=promise.gamma, n_features=60, random_state=random_state,
    )  # fmt: skip


def outputs(model, X=X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


with plug_ins.installed():
    REGISTERED = [name for name in SOLVERS.names() if name != NONE]
    ALL = [
        pytest.param(name, promise, task, id=", ".join([name, *map(str, promise.parameters.values()), task]))
        for name in REGISTERED if name in PROMISES for promise in promises(name) for task in promise.tasks
    ]  # fmt: skip
    # pcg without a map learns on the kernel.
    CONTRACT, OTHER_WAYS = first_of_class(
        [*(made(*each.values) for each in ALL), PCGRidgeCV(random_state=0), PCGRidgeClassifierCV(random_state=0)]
    )
