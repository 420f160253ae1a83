"""Minima of the ℓ1-penalised losses on fixed features."""

import numpy as np

from rffbench.arguments.seeds import generator, seed_sequence
from rffbench.solvers.sparse.l1 import Lasso, minimise


def solve(problem, Z, *, start=None, tol=1e-6, random_state=None):
    """The weights w (p,) of a problem on the features Z (N, p), from ``start`` or from zeros, and the minimum."""
    features = np.ascontiguousarray(Z.T)
    w = np.zeros(len(features)) if start is None else np.array(start, dtype=np.float64)
    problem.shift(features, w)
    return w, minimise(problem, features, w, tol=tol, rng=generator(seed_sequence(random_state), "descent"))


def solve_lasso(Z, y, penalty, **settings):
    return solve(Lasso(np.array(y, dtype=np.float64), penalty), Z, **settings)
