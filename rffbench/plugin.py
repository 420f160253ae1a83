"""Base classes for your own parts: import these names from ``rffbench.plugin`` only.

===================  ==================================================================================================
FeatureMap           a feature map: implement ``fit`` and ``fill``
FourierFeatures      a feature map whose columns are cosines and sines of wᵀx: implement ``fit``
Kernel               a kernel: implement ``matrix``
make_kernel          a kernel by its name, γ and other parameters
SpectralKernel       a kernel with a spectral density, so that Fourier features approximate it
ProductKernel        a kernel with a spectral density whose coordinates are independent
IsotropicKernel      a kernel with a spectral density of uniform direction
MaclaurinKernel      a kernel with a power series in xᵀx′
ActivationKernel     a kernel that is the mean of products of an activation of wᵀx
BinningKernel        a kernel that is the probability of one cell of a random grid
Regressor            a solver for regression: implement ``fit`` and ``_linear``
Classifier           a solver for classification
Score                a score of predictions: implement ``compute``, which gets `Predictions`
score                a built-in score by its name, such as ``nll``
Predictions          labels, decision scores and probabilities of the test rows, with the right answers
Metric               a number's name, title, unit and better direction
Executor             the interface of an executor on this machine
ClusterExecutor      an executor on other machines: implement how jobs are submitted and messages received
Contention           whether anything else used the processors while something was timed
===================  ==================================================================================================

They load on first use. A part may also derive from none of them if it keeps scikit-learn's contract.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rffbench.execution import Executor as Executor
    from rffbench.execution.cluster import ClusterExecutor as ClusterExecutor
    from rffbench.features.base import FeatureMap as FeatureMap
    from rffbench.features.base import FourierFeatures as FourierFeatures
    from rffbench.io.process import Contention as Contention
    from rffbench.kernels import ActivationKernel as ActivationKernel
    from rffbench.kernels import BinningKernel as BinningKernel
    from rffbench.kernels import IsotropicKernel as IsotropicKernel
    from rffbench.kernels import Kernel as Kernel
    from rffbench.kernels import MaclaurinKernel as MaclaurinKernel
    from rffbench.kernels import ProductKernel as ProductKernel
    from rffbench.kernels import SpectralKernel as SpectralKernel
    from rffbench.kernels import make_kernel as make_kernel
    from rffbench.solvers.base import Classifier as Classifier
    from rffbench.solvers.base import Regressor as Regressor
    from rffbench.trials.metrics import Metric as Metric
    from rffbench.trials.scores import Predictions as Predictions
    from rffbench.trials.scores import Score as Score
    from rffbench.trials.scores import score as score

_HOME = {
    "FeatureMap": "rffbench.features.base",
    "FourierFeatures": "rffbench.features.base",
    "Kernel": "rffbench.kernels",
    "make_kernel": "rffbench.kernels",
    "SpectralKernel": "rffbench.kernels",
    "ProductKernel": "rffbench.kernels",
    "IsotropicKernel": "rffbench.kernels",
    "MaclaurinKernel": "rffbench.kernels",
    "ActivationKernel": "rffbench.kernels",
    "BinningKernel": "rffbench.kernels",
    "Regressor": "rffbench.solvers.base",
    "Classifier": "rffbench.solvers.base",
    "Metric": "rffbench.trials.metrics",
    "Score": "rffbench.trials.scores",
    "score": "rffbench.trials.scores",
    "Predictions": "rffbench.trials.scores",
    "Executor": "rffbench.execution",
    "ClusterExecutor": "rffbench.execution.cluster",
    "Contention": "rffbench.io.process",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'rffbench.plugin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
