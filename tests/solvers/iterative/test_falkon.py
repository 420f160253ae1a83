"""Falkon: kernel ridge on landmarks, as solved directly, also where the landmarks' kernel matrix is singular."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rffbench.errors import ConfigError, Fallback, MemoryBudgetError
from rffbench.features.data_dependent.landmarks import RULES
from rffbench.kernels import Kernel, make_kernel
from rffbench.solvers import check_map, make_solver
from rffbench.solvers.iterative.falkon import FalkonClassifierCV, FalkonCV, whitened
from rffbench.solvers.ridge.exact import ExactKernelRidgeCV

rng = np.random.default_rng(0)
X, NEW = rng.uniform(size=(400, 3)), rng.uniform(size=(50, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=400)
TIGHT = {"tolerance": 1e-9}


def directly(model, X, Y, alpha, new):
    """The restricted problem on orthonormal functions of the landmarks."""
    K_mm = model.kernel_(model.landmarks_)
    values, Q = np.linalg.eigh(K_mm)
    kept = values > 1e-13 * values[-1]
    T = Q[:, kept] / np.sqrt(values[kept])
    Z, mean = model.kernel_(X, model.landmarks_) @ T, Y.mean()
    beta = np.linalg.solve(Z.T @ Z + len(X) * alpha * np.eye(Z.shape[1]), Z.T @ (Y - mean))
    return model.kernel_(new, model.landmarks_) @ (T @ beta) + mean


@pytest.mark.parametrize("preconditioner", ["falkon", "krill", "none"])
@pytest.mark.parametrize(("kernel", "gamma"), [("gaussian", 2.0), ("laplacian", 1.0)])
def test_it_agrees_with_the_direct_solve(kernel, gamma, preconditioner):
    model = FalkonCV(
        [1e-4], kernel=kernel, gamma=gamma, n_landmarks=80, preconditioner=preconditioner, budget=TIGHT, random_state=0
    ).fit(X, Y)  # fmt: skip
    np.testing.assert_allclose(model.predict(NEW), directly(model, X, Y, 1e-4, NEW), atol=1e-6)
    assert model.landmarks_.shape == (80, 3)
    assert set(map(tuple, model.landmarks_)) <= set(map(tuple, X))


def test_with_all_rows_as_landmarks_it_is_exact_kernel_ridge_and_chooses_as_that_does():
    alphas = [1e-5, 1e-3, 1e-1]
    settings = {"kernel": "laplacian", "gamma": 1.0, "folds": 3}
    exact = ExactKernelRidgeCV(alphas, **settings).fit(X, Y)
    ours = FalkonCV(alphas, n_landmarks=400, budget=TIGHT, random_state=0, **settings).fit(X, Y)
    # The landmarks span all rows' functions, also those of rows that are held out: errors differ there alone.
    np.testing.assert_allclose(ours.predict(NEW), exact.predict(NEW), atol=1e-6)
    assert ours.alpha_ == exact.alpha_


def test_landmarks_that_rounding_cannot_tell_apart_do_no_harm_and_the_rank_is_kept():
    twice = np.concatenate([X[:60], X[:60] + 1e-12])
    target = np.concatenate([Y[:60], Y[:60]])
    model = FalkonCV([1e-3], gamma=20.0, n_landmarks=120, budget=TIGHT, random_state=0).fit(twice, target)
    assert model.rank_ == 60
    assert model.metrics_["rank"] == 60
    exact = ExactKernelRidgeCV([1e-3], gamma=20.0).fit(twice, target)
    np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), atol=1e-6)
    with pytest.warns(Fallback, match="120 landmarks are more than the distinct rows: all 60 are landmarks"):
        model.fit(np.concatenate([X[:60], X[:60]]), target)
    np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_landmarks_serves(rule):
    model = FalkonCV([1e-4], kernel="laplacian", n_landmarks=60, landmarks=rule, budget=TIGHT, random_state=0)
    np.testing.assert_allclose(model.fit(X, Y).predict(NEW), directly(model, X, Y, 1e-4, NEW), atol=1e-6)


def test_the_landmarks_preconditioner_takes_far_fewer_passes():
    def passes(kind):
        model = FalkonCV([1e-6], kernel="laplacian", n_landmarks=100, preconditioner=kind, random_state=0)
        return model.fit(X, Y).metrics_["passes"]

    assert passes("falkon") < passes("none") / 2


@dataclass(frozen=True)
class Negative(Kernel):
    """tanh, which is no kernel."""

    name: ClassVar[str] = "negative"

    def matrix(self, X, Y):
        return np.tanh(5 * X @ (X if Y is None else Y).T - 2)


def test_a_matrix_that_is_not_positive_names_the_eigenvalue():
    smallest = np.linalg.eigvalsh(Negative()(X[:50]))[0]
    with pytest.raises(ValueError, match=rf"not positive semi-definite: its smallest eigenvalue is {smallest:.3g}"):
        whitened(Negative()(X[:50]))
    with pytest.raises(ValueError, match="not positive semi-definite: its smallest eigenvalue is -"):
        FalkonCV([1e-3], kernel=Negative(), n_landmarks=50).fit(X, Y)


def test_classes_stand_side_by_side_and_float32_gives_the_same_to_its_precision():
    labels = np.digitize(Y, [0.2, 0.8])
    settings = {"kernel": "laplacian", "n_landmarks": 100, "random_state": 0}
    model = FalkonClassifierCV([1e-4, 1e-2], scoring="accuracy", **settings).fit(X, labels)
    assert model.decision_function(NEW).shape == (50, 3)
    assert model.score(X, labels) > 0.8
    single = FalkonCV([1e-2], **settings).fit(X.astype(np.float32), Y)
    double = FalkonCV([1e-2], **settings).fit(X, Y)
    np.testing.assert_allclose(single.predict(NEW.astype(np.float32)), double.predict(NEW), atol=1e-3)


def test_landmarks_that_take_more_than_the_memory_are_refused_and_an_early_end_says_so():
    with pytest.raises(MemoryBudgetError, match=r"the preconditioner of 400 landmarks needs 5 MB"):
        FalkonCV([1e-3], n_landmarks=1000, memory=10**6).fit(X, Y)
    with pytest.warns(Fallback, match="1000 landmarks are more than the distinct rows: all 400 are landmarks"):
        FalkonCV([1e-1], n_landmarks=1000, random_state=0).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match=r"lambda=1e-06 has not converged: .* after 4 passes"):
        FalkonCV([1e-6], kernel="laplacian", n_landmarks=100, budget={"passes": 4}).fit(X, Y)


def test_in_a_config_the_landmarks_are_n_features():
    model = make_solver({"name": "falkon", "lambda": 0.1}, task="regression", n_features=70, kernel="laplacian")
    assert model.n_landmarks == 70
    with pytest.raises(ConfigError, match="takes no feature map"):
        check_map("falkon", "fourier")
    with pytest.raises(ConfigError, match="landmarks must be one of 'uniform'"):
        make_solver({"name": "falkon", "landmarks": "best"}, task="regression", n_features=70)


def test_the_kernel_may_have_lengths():
    kernel = make_kernel("gaussian", 2.0)
    kernel = type(kernel)(gamma=2.0, lengths=(1.0, 0.5, 3.0))
    model = FalkonCV([1e-4], kernel=kernel, n_landmarks=60, budget=TIGHT, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), directly(model, X, Y, 1e-4, NEW), atol=1e-6)
