"""The table's grid as one would first write it: numpy features, GridSearchCV(Ridge), joblib over trials.

Only splits and base frequencies are taken from rffbench, so that scores can be compared one by one. Everything
else is the papers' formulas; each trial stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold

from rffbench import data
from rffbench.arguments.seeds import feature_stream, generator
from rffbench.features import make_features
from rffbench.features.base import draw_frequencies
from rffbench.kernels import make_kernel
from rffbench.linalg.trigonometric import fourier_columns
from rffbench.trials.spec import TrialSpec

SCORE_LAMBDA = 0.05
Mapping = Any  # (X, W) -> [cos XW | sin XW]


def run(specs: Sequence[TrialSpec], workers: int, *, fused: bool = False) -> dict[str, float]:
    """Test accuracies by the specs' keys. ``fused`` takes rffbench's cosines and sines instead of numpy's."""
    parallel = Parallel(n_jobs=workers)
    return dict(parallel(delayed(one_trial)(spec, fused) for spec in specs))


def one_trial(spec: TrialSpec, fused: bool) -> tuple[str, float]:
    X, y, X_test, y_test = arrays(spec.dataset, spec.seed, spec.trial, tuple(spec.preprocess), spec.preprocess_fit)
    waves = fused_waves if fused else plain_waves
    W, amplitude = frequencies(spec, X, y, waves)
    Z, Z_test = (waves(rows, W) * np.tile(amplitude, 2) for rows in (X, X_test))
    mean = y.mean()
    beta = ridge(Z, y - mean, spec.solver)
    return spec.key, float(np.mean(np.sign(Z_test @ beta + mean) == y_test))


@lru_cache(maxsize=2)
def arrays(dataset: str, seed: int, trial: int, preprocess: tuple[str, ...], fit: Any) -> tuple[NDArray, ...]:
    split = data.train_test(
        dataset, seed=seed, trial=trial, preprocess=list(preprocess), preprocess_fit=fit, dtype="float64"
    )
    return np.asarray(split.X_train), split.y_train, np.asarray(split.X_test), split.y_test


def plain_waves(X: NDArray, W: NDArray) -> NDArray:
    phases = X @ W
    return np.hstack([np.cos(phases), np.sin(phases)])


def fused_waves(X: NDArray, W: NDArray) -> NDArray:
    s = W.shape[1]
    Z = np.empty((len(X), 2 * s))
    fourier_columns(X, W, Z[:, :s], Z[:, s:])
    return Z


def frequencies(spec: TrialSpec, X: NDArray, y: NDArray, waves: Mapping) -> tuple[NDArray, NDArray]:
    """The method's frequencies (d, s) and their factors (s,), √(weight/s)."""
    s, (n, d) = spec.n_features, X.shape
    sequence = feature_stream(spec.seed, spec.dataset, spec.trial, spec.kernel["name"])
    method = spec.features["name"]
    if method == "qmc":
        features = make_features(
            spec.features, kernel=spec.kernel["name"], gamma=spec.kernel["gamma"], n_features=s,
            count="frequencies", random_state=sequence,
        )  # fmt: skip
        return features.fit(X[:2]).frequencies_, np.full(s, s**-0.5)
    W = draw_frequencies(make_kernel(spec.kernel["name"], spec.kernel["gamma"]), s, d, sequence)
    if method == "fourier":
        return W, np.full(s, s**-0.5)
    Z = waves(X, W) / np.sqrt(s)
    if method == "leverage":  # Li et al. 2019, Algorithm 1
        gram = Z.T @ Z
        scores = np.einsum("ij,ji->i", gram, np.linalg.inv(gram + n * SCORE_LAMBDA * np.eye(2 * s)))
    else:  # Liu et al. 2020, Algorithm 1
        scores = (Z.T @ y) ** 2
    p = scores[:s] + scores[s:]
    p /= p.sum()
    drawn = np.repeat(np.arange(s), generator(sequence, "resampling").multinomial(s, p))
    return W[:, drawn], np.sqrt(1 / (s * p[drawn]) / s)


def ridge(Z: NDArray, y: NDArray, solver: dict[str, Any]) -> NDArray:
    """β = (ZᵀZ + nλI)⁻¹Zᵀy, λ by cross-validation, n the rows that are fitted."""
    n, folds = len(Z), solver["folds"]
    in_a_fold = n * (folds - 1) / folds
    search = GridSearchCV(
        Ridge(fit_intercept=False), {"alpha": [in_a_fold * each for each in solver["lambda"]]},
        cv=KFold(folds), scoring="neg_mean_squared_error", refit=False,
    ).fit(Z, y)  # fmt: skip
    chosen = solver["lambda"][search.best_index_]
    return Ridge(alpha=n * chosen, fit_intercept=False).fit(Z, y).coef_
