"""Gaussian processes on features against scikit-learn's exact process: a fit at given parameters, and one that learns
the bandwidth, the noise and the prior variance by the marginal likelihood."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.measure import compare
from rffbench import FeatureGPRegressor, NystroemFeatures, RandomFourierFeatures

ROWS, COLUMNS, INPUTS = 2_000, 512, 8
GAMMA, NOISE = 1 / (2 * INPUTS), 0.1
GOAL = 10.0


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Each with random Fourier features and with Nyström features and a corrected diagonal (FITC)."""
    n, columns = (400, 64) if quick else (ROWS, COLUMNS)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, INPUTS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.sqrt(NOISE) * rng.normal(size=n)
    y -= y.mean()
    kernel = ConstantKernel(1.0) * RBF(1 / np.sqrt(2 * GAMMA)) + WhiteKernel(NOISE)
    maps = {
        "RFF": (RandomFourierFeatures(columns, gamma=GAMMA, random_state=0), False),
        "FITC": (NystroemFeatures(columns, gamma=GAMMA, random_state=0), True),
    }
    for name, (features, diagonal) in maps.items():
        for learnt in (False, True):
            settings = {"noise": NOISE, "variance": 1.0, "diagonal": diagonal, "learn": "gamma" if learnt else None}
            ours = FeatureGPRegressor(features=features, **settings)
            peer = GaussianProcessRegressor(kernel, alpha=0, optimizer="fmin_l_bfgs_b" if learnt else None)
            yield compare(
                f"{name}, n={n:,}, {columns:,} columns, {'learnt' if learnt else 'given'} parameters",
                lambda ours=ours: ours.fit(X, y), lambda peer=peer: peer.fit(X, y),
                goal=None if learnt or diagonal else GOAL, repeats=1 if learnt else 5,
                peer_name="GaussianProcessRegressor", warm_up=not learnt,
            )  # fmt: skip
