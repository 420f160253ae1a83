"""Exact kernel ridge by conjugate gradients: as solved directly, with K computed in blocks and never held."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.kernels import Kernel, make_kernel
from rffbench.linalg import kernel_blocks
from rffbench.solvers import make_solver
from rffbench.solvers.iterative import kernel as kernel_module
from rffbench.solvers.iterative.kernel import KernelMatrix, KernelSystem, PCGKernelRidgeClassifierCV, PCGKernelRidgeCV
from rffbench.solvers.iterative.problems import Problems
from rffbench.solvers.ridge.exact import ExactKernelRidgeClassifierCV, ExactKernelRidgeCV
from tests.helpers.cases import slow

rng = np.random.default_rng(0)
X, NEW = rng.uniform(size=(300, 3)), rng.uniform(size=(40, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=300)
TIGHT = {"tolerance": 1e-9}


@pytest.mark.parametrize("center", ["both", *slow(True, False)])
@pytest.mark.parametrize("preconditioner", ["rpcholesky", "uniform", "greedy", "none"])
def test_it_agrees_with_the_direct_solve_and_chooses_as_that_does(preconditioner, center, monkeypatch):
    monkeypatch.setattr(kernel_module, "BLOCK", 64)
    alphas, settings = [1e-4, 1e-3, 1e-1], {"kernel": "laplacian", "gamma": 1.0, "center": center, "folds": 3}
    exact = ExactKernelRidgeCV(alphas, **settings).fit(X, Y)
    rank = None if preconditioner == "none" else 40
    ours = PCGKernelRidgeCV(
        alphas, preconditioner=preconditioner, rank=rank, budget=TIGHT, random_state=0, **settings
    ).fit(X, Y)
    np.testing.assert_allclose(ours.predict(NEW), exact.predict(NEW), atol=1e-6)
    assert ours.alpha_ == exact.alpha_
    errors, wanted = (each.cv_results_["fold_test_error"] for each in (ours, exact))
    np.testing.assert_allclose(errors, wanted, rtol=1e-3)


def test_a_product_is_the_kernel_matrix_s_in_blocks_of_which_half_are_computed(monkeypatch):
    monkeypatch.setattr(kernel_module, "BLOCK", 64)
    values, fill = [], kernel_blocks.KernelBlocks.fill

    def counted(self, rows, out):
        values.append(out.size)
        fill(self, rows, out)

    monkeypatch.setattr(kernel_blocks.KernelBlocks, "fill", counted)
    kernel, V = make_kernel("gaussian", 2.0), rng.normal(size=(300, 3))
    matrix = KernelMatrix(kernel, X)
    np.testing.assert_allclose(matrix.times(V), kernel(X) @ V, atol=1e-12)
    assert sum(values) < 0.65 * 300**2
    assert max(values) <= 64**2


@pytest.mark.slow
def test_a_preconditioner_takes_fewer_passes():
    def passes(kind, rank=None):
        model = PCGKernelRidgeCV([1e-6], gamma=5.0, preconditioner=kind, rank=rank, random_state=0)
        return model.fit(X, Y).metrics_["passes"]

    assert passes("rpcholesky", 150) < passes("rpcholesky", 40) < passes("none")


def test_residual_norm_is_the_plain_norm_of_what_is_left():
    K = make_kernel("gaussian", 5.0)(X)
    for kind, rank in (("rpcholesky", 20), ("greedy", 20), ("uniform", 20), ("none", None)):
        model = PCGKernelRidgeCV(
            [1e-3], gamma=5.0, lambda_scale=1, center=False, preconditioner=kind, rank=rank, random_state=0,
            budget={"passes": 6},
        )  # fmt: skip
        with pytest.warns(ConvergenceWarning):
            model.fit(X, Y)
        left = np.linalg.norm(Y - K @ model.coef_ - 1e-3 * model.coef_) / np.linalg.norm(Y)
        assert model.metrics_["residual_norm"] == pytest.approx(left, rel=1e-6)


def test_classes_stand_side_by_side():
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [0.2, 0.8])]
    settings = {"kernel": "laplacian", "scoring": "accuracy", "folds": 3}
    exact = ExactKernelRidgeClassifierCV([1e-3, 1e-1], **settings).fit(X, labels)
    ours = PCGKernelRidgeClassifierCV([1e-3, 1e-1], rank=50, budget=TIGHT, random_state=0, **settings).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(NEW), exact.decision_function(NEW), atol=1e-6)
    np.testing.assert_allclose(ours.cv_results_["fold_test_error"], exact.cv_results_["fold_test_error"])


@dataclass(frozen=True)
class Negative(Kernel):
    """tanh, which is no kernel."""

    name: ClassVar[str] = "negative"

    def matrix(self, X, Y):
        return np.tanh(5 * X @ (X if Y is None else Y).T - 2)


def test_a_kernel_matrix_that_is_not_positive_names_an_eigenvalue():
    with pytest.raises(ValueError, match=r"kernel matrix is not positive .*definite: it has an eigenvalue of -\d"):
        PCGKernelRidgeCV([1e-6], kernel=Negative(), preconditioner="none").fit(X, Y)
    with pytest.raises(ValueError, match=r"of the landmarks is not positive .* eigenvalue is -\d"):
        PCGKernelRidgeCV([1e-6], kernel=Negative(), preconditioner="uniform", rank=50).fit(X, Y)


def test_equal_rows_do_no_harm():
    rows, target = np.concatenate([X, X[:50]]), np.concatenate([Y, Y[:50]])
    settings = {"kernel": "gaussian", "gamma": 5.0}
    exact = ExactKernelRidgeCV([1e-3], **settings).fit(rows, target)
    ours = PCGKernelRidgeCV([1e-3], rank=350, budget=TIGHT, random_state=0, **settings).fit(rows, target)
    np.testing.assert_allclose(ours.predict(NEW), exact.predict(NEW), atol=1e-6)


def test_memory_is_that_of_the_preconditioner_and_some_vectors():
    model = PCGKernelRidgeCV([1e-3], rank=500)
    assert model.bytes_to_fit(41_157, 9) < 1.2e9 < 8 * 41_157**2
    with pytest.raises(MemoryBudgetError, match="a preconditioner of rank 300 for 300 rows needs"):
        PCGKernelRidgeCV([1e-3], memory=10**6).fit(X, Y)


def test_in_a_config_pcg_without_a_map_learns_on_the_kernel():
    model = make_solver({"name": "pcg", "lambda": 0.1}, task="regression", kernel="laplacian", gamma=2.0)
    assert (type(model), model.kernel, model.gamma) == (PCGKernelRidgeCV, "laplacian", 2.0)
    with pytest.raises(ConfigError, match="rpcholesky, uniform, greedy, none without a feature map, got 'nys"):
        make_solver({"name": "pcg", "preconditioner": "nystroem"}, task="regression")


# ---- The preconditioner --------------------------------------------------------------------------------------


def system(F, alphas, folds, center):
    """That of folds of len(F) rows preconditioned with FFᵀ, whose kernel matrix is not asked for."""
    problems = Problems(np.ones((len(F), 1)), alphas, folds, 1, center)
    found = KernelSystem(SimpleNamespace(times=lambda V: V), problems, lambda: None)
    found.use(F.copy())
    return found, problems


def spanned(n, spectrum):
    """F (n, r) whose columns are orthogonal, and whose singular values are the roots of these."""
    U, _ = np.linalg.qr(rng.normal(size=(n, len(spectrum))))
    V, _ = np.linalg.qr(rng.normal(size=(len(spectrum), len(spectrum))))
    return U, U * np.sqrt(spectrum) @ V


def solved(A, B):
    """A⁻¹B by elimination in extended precision."""
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    for k in range(len(A)):
        for i in range(k + 1, len(A)):
            share = A[i, k] / A[k, k]
            A[i, k:] -= share * A[k, k:]
            B[i] -= share * B[k]
    X = np.zeros_like(B)
    for k in range(len(A) - 1, -1, -1):
        X[k] = (B[k] - A[k, k + 1 :] @ X[k + 1 :]) / A[k, k]
    return X


@pytest.mark.parametrize("center", [False, "both"])
@pytest.mark.parametrize("penalty", [1e-1, 1e-10])
def test_a_preconditioner_is_the_inverse_for_every_fold_and_penalty(penalty, center):
    n, spectrum = 40, np.geomspace(1, 1e-6, 8)
    _, F = spanned(n, spectrum)
    found, problems = system(F, [penalty, 10 * penalty], 3, center)
    R = rng.normal(size=(n, len(problems)))
    every = np.arange(len(problems))
    R = found.projected(R, every)
    ours = found.precondition(R, every)
    for column, (fold, c) in enumerate(zip(problems.fold, problems.penalties, strict=True)):
        D = np.ones((n, 1))
        D[problems.held_out(fold)] = 0
        part = D * F
        if center:
            part = D * (part - part.sum(axis=0) / D.sum())
        wanted = solved(part.astype(np.longdouble) @ part.T + c * np.eye(n), R[:, [column]])[:, 0]
        np.testing.assert_allclose(ours[:, column], wanted.astype(float), rtol=1e-6, atol=1e-9 * abs(wanted).max())


@pytest.mark.slow
def test_reorthogonalized_it_takes_fewer_passes_to_the_same_solution():
    def fitted(reorthogonalize):
        return PCGKernelRidgeCV(
            [1e-6, 1e-5], gamma=5.0, folds=2, preconditioner="uniform", rank=5, random_state=0,
            budget={"tolerance": 1e-8}, reorthogonalize=reorthogonalize,
        ).fit(X, Y)  # fmt: skip

    plain, ours = fitted(False), fitted(True)
    assert ours.metrics_["passes"] < 0.8 * plain.metrics_["passes"]
    np.testing.assert_allclose(ours.predict(NEW), plain.predict(NEW), atol=1e-5)
    assert ours.bytes_to_fit(10_000, 3) - plain.bytes_to_fit(10_000, 3) == 16 * 10_000 * 6 * 1000
