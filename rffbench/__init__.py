"""rffbench: a benchmark suite for random-feature kernel approximation.

The names below load on first use, so that ``import rffbench`` and ``rffbench --help`` stay quick.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "RandomFourierFeatures": "rffbench.features.fourier",
    "QuasiMonteCarloFeatures": "rffbench.features.qmc",
    "LeverageScoreFeatures": "rffbench.features.leverage",
    "SurrogateLeverageFeatures": "rffbench.features.leverage",
    "PerceptronFeatures": "rffbench.features.perceptron",
    "OrthogonalRandomFeatures": "rffbench.features.structured",
    "StructuredOrthogonalFeatures": "rffbench.features.structured",
    "FastfoodFeatures": "rffbench.features.structured",
    "SRHTFeatures": "rffbench.features.structured",
    "CountSketchGaussianFeatures": "rffbench.features.countsketch",
    "CompactFeatures": "rffbench.features.compact",
    "TrainingEfficientFeatureMap": "rffbench.features.tefm",
    "NystroemFeatures": "rffbench.features.nystroem",
    "StreamedRidge": "rffbench.solvers.ridge.streamed",
    "StreamedRidgeCV": "rffbench.solvers.ridge.streamed",
    "StreamedRidgeClassifier": "rffbench.solvers.ridge.streamed",
    "StreamedRidgeClassifierCV": "rffbench.solvers.ridge.streamed",
    "LogisticClassifierCV": "rffbench.solvers.logistic",
    "LinearSVM": "rffbench.solvers.svm.linear",
    "SparseRandomFeaturesRegressor": "rffbench.solvers.sparse.sparse_rf",
    "SparseRandomFeaturesClassifier": "rffbench.solvers.sparse.sparse_rf",
    "BoostedFeaturesRegressor": "rffbench.solvers.sparse.boosting",
    "BoostedFeaturesClassifier": "rffbench.solvers.sparse.boosting",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'rffbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
