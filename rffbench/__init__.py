"""rffbench: a benchmark suite for random-feature kernel approximation.

``rffbench.run`` and ``rffbench.load`` give an experiment's results (`rffbench.api`); ``rffbench.plugin`` has what own
maps, kernels, solvers, metrics and executors derive from. The names below load on first use, so that
``import rffbench`` and ``rffbench --help`` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rffbench.api import Results as Results
    from rffbench.api import load as load
    from rffbench.api import load_dataset as load_dataset
    from rffbench.api import run as run
    from rffbench.data import train_test as train_test
    from rffbench.data.cards import load_card as load_card
    from rffbench.report.board.page import run_table as run_table
    from rffbench.report.text_table import Table as Table

__version__ = "0.2.0"

_PUBLIC = {
    "run": "rffbench.api",
    "load": "rffbench.api",
    "Results": "rffbench.api",
    "Table": "rffbench.report.text_table",
    "run_table": "rffbench.report.board.page",
    "load_dataset": "rffbench.api",
    "load_card": "rffbench.data.cards",
    "train_test": "rffbench.data",
    "RandomFourierFeatures": "rffbench.features.fourier",
    "QuasiMonteCarloFeatures": "rffbench.features.quadrature",
    "QuadratureFeatures": "rffbench.features.quadrature",
    "GaussHermiteFeatures": "rffbench.features.quadrature",
    "LeverageScoreFeatures": "rffbench.features.weighted",
    "SurrogateLeverageFeatures": "rffbench.features.weighted",
    "ActivationFeatures": "rffbench.features.activation",
    "PerceptronFeatures": "rffbench.features.activation",
    "OrthogonalRandomFeatures": "rffbench.features.structured",
    "SimplexRandomFeatures": "rffbench.features.structured",
    "RandomOrthoMatrixFeatures": "rffbench.features.structured",
    "StructuredOrthogonalFeatures": "rffbench.features.structured",
    "FastfoodFeatures": "rffbench.features.structured",
    "SRHTFeatures": "rffbench.features.structured",
    "CountSketchGaussianFeatures": "rffbench.features.structured",
    "CompactFeatures": "rffbench.features.structured",
    "TrainingEfficientFeatureMap": "rffbench.features.data_dependent",
    "NystroemFeatures": "rffbench.features.data_dependent",
    "RandomBinningFeatures": "rffbench.features.binning",
    "EnergyBasedFeatures": "rffbench.features.weighted",
    "KernelAlignmentFeatures": "rffbench.features.weighted",
    "AdaptiveResamplingFeatures": "rffbench.features.weighted",
    "MomentMatchingFeatures": "rffbench.features.fourier",
    "LowPrecisionFeatures": "rffbench.features.fourier",
    "PositiveFeatures": "rffbench.features.activation",
    "MaclaurinFeatures": "rffbench.features.dot_product",
    "ComplexToRealFeatures": "rffbench.features.dot_product",
    "TensorSketchFeatures": "rffbench.features.dot_product",
    "StreamedRidge": "rffbench.solvers.ridge.streamed",
    "StreamedRidgeCV": "rffbench.solvers.ridge.streamed",
    "StreamedRidgeClassifier": "rffbench.solvers.ridge.streamed",
    "StreamedRidgeClassifierCV": "rffbench.solvers.ridge.streamed",
    "CalibratedRidgeClassifier": "rffbench.solvers.ridge.calibrated",
    "LogisticClassifierCV": "rffbench.solvers.logistic",
    "LinearSVM": "rffbench.solvers.svm.linear",
    "FeatureGPRegressor": "rffbench.solvers.gaussian_process",
    "FeatureGPClassifier": "rffbench.solvers.gaussian_process",
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
