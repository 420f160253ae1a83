"""Several functions minimised together have the minima that each has alone."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from rffbench.linalg.quasi_newton import minimise_together

rng = np.random.default_rng(0)
M, Q = 5, 12
ROOTS = rng.normal(size=(M, 30, Q)) * np.logspace(0, 1.5, Q)
SHIFTS = rng.normal(size=(M, 30))
START = rng.normal(size=(M, Q))
SETTINGS = {"tolerance": 1e-9, "promise": 1e-15, "most_steps": 500, "rounding": 1e-15}


def evaluate(numbers, X):
    """Σ log(1 + exp(r)) + ‖x‖²/2 for r = Rx − s, and its gradient."""
    residuals = np.einsum("mij,mj->mi", ROOTS[numbers], X) - SHIFTS[numbers]
    values = np.logaddexp(0, residuals).sum(axis=1) + 0.5 * np.einsum("mj,mj->m", X, X)
    return values, np.einsum("mij,mi->mj", ROOTS[numbers], expit(residuals)) + X


def quarter(numbers, G):
    hessians = np.einsum("mij,mik->mjk", ROOTS[numbers], ROOTS[numbers]) / 4 + np.eye(Q)
    return np.linalg.solve(hessians, G[:, :, None])[:, :, 0]


@pytest.mark.parametrize("precondition", [quarter, lambda numbers, G: G])
def test_minima_are_scipy_s(precondition):
    found = minimise_together(evaluate, START, precondition, **SETTINGS)
    assert found.converged.all()
    for number in range(M):
        alone = np.array([number])
        expected = minimize(
            lambda x, alone=alone: [each[0] for each in evaluate(alone, x[None])], START[number], jac=True,
            method="BFGS", options={"gtol": 1e-7},
        )  # fmt: skip
        assert found.values[number] == pytest.approx(expected.fun, rel=1e-12)
        np.testing.assert_allclose(found.X[number], expected.x, atol=1e-6)


def test_a_function_s_steps_do_not_depend_on_the_others():
    together = minimise_together(evaluate, START, quarter, **SETTINGS)
    for number in range(M):
        alone = minimise_together(
            lambda _, X, number=number: evaluate(np.array([number]), X), START[[number]],
            lambda _, G, number=number: quarter(np.array([number]), G), **SETTINGS,
        )  # fmt: skip
        assert alone.steps[0] == together.steps[number]
        np.testing.assert_allclose(alone.X[0], together.X[number], rtol=1e-9, atol=1e-12)


def test_a_parabola_preconditioned_by_its_hessian_takes_one_step():
    A = ROOTS[0].T @ ROOTS[0] + np.eye(Q)
    found = minimise_together(
        lambda numbers, X: (np.einsum("mi,ij,mj->m", X, A, X) / 2 + 1, X @ A), START,
        lambda numbers, G: np.linalg.solve(A, G.T).T, **{**SETTINGS, "promise": 1e-12, "tolerance": 1e-6},
    )  # fmt: skip
    assert (found.steps == 1).all()
    np.testing.assert_allclose(found.X, 0, atol=1e-9)


def test_too_few_steps_have_not_converged_and_a_start_at_the_minimum_needs_none():
    found = minimise_together(evaluate, START, quarter, **{**SETTINGS, "most_steps": 2})
    assert (found.steps == 2).all()
    assert not found.converged.any()
    minimum = minimise_together(evaluate, START, quarter, **SETTINGS)
    again = minimise_together(evaluate, minimum.X, quarter, **{**SETTINGS, "tolerance": 1e-6, "promise": 1e-9})
    assert (again.steps == 0).all()
    assert again.converged.all()
