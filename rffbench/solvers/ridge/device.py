"""The ridge on other devices than the CPU. This module does not import PyTorch, which is an extra, and slow to
import."""

from __future__ import annotations

from typing import Any

from rffbench.solvers.ridge.settings import Center, RidgeScale


def make_ridge_on_device(
    *, task: str, features: Any, device: str, lambda_: list[float], folds: int, lambda_scale: RidgeScale,
    center: Center,
) -> Any:  # fmt: skip
    """Ridge regression on Fourier features, computed on ``device``, with some of ridge's parameters."""
    from rffbench.solvers.ridge.torch import TorchRidgeClassifierCV, TorchRidgeCV

    estimator = TorchRidgeClassifierCV if task == "classification" else TorchRidgeCV
    return estimator(lambda_, features=features, folds=folds, lambda_scale=lambda_scale, center=center, device=device)
