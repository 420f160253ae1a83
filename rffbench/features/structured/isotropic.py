"""The base class of maps for isotropic kernels: the map draws the directions of the frequencies, the kernel their
lengths."""

from __future__ import annotations

from typing import ClassVar

from rffbench.features.base import FourierFeatures
from rffbench.kernels import IsotropicKernel, Kernel
from rffbench.parts import MapServes
from rffbench.seeds import RandomState


class IsotropicFeatures(FourierFeatures):
    """Base class of paired maps of an isotropic kernel, without further parameters."""

    serves: ClassVar[MapServes] = MapServes(kernels=IsotropicKernel, nests=("frequencies_",))

    def __init__(
        self, n_components: int = 100, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state
