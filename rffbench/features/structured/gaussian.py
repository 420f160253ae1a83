"""The base class of maps for the Gaussian kernel alone, whose spectral density has the same law in every direction."""

from __future__ import annotations

from typing import ClassVar

from rffbench.features.base import FourierFeatures
from rffbench.kernels import GaussianKernel, Kernel
from rffbench.parts import MapServes
from rffbench.seeds import RandomState


class GaussianFeatures(FourierFeatures):
    """Base class: paired maps of the Gaussian kernel that have no parameters of their own."""

    serves: ClassVar[MapServes] = MapServes(kernels=GaussianKernel)

    def __init__(
        self, n_components: int = 100, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state
