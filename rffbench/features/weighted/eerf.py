"""Frequencies that are chosen for their correlation with the targets, and not weighted for it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from rffbench.arguments.seeds import RandomState
from rffbench.features.weighted.pool import Selection, frequency_scores, normalised, unweighted
from rffbench.features.weighted.surrogate import SurrogateLeverageFeatures
from rffbench.kernels import Kernel
from rffbench.plugins.parts import MapServes


class EnergyBasedFeatures(SurrogateLeverageFeatures):
    """EERF, energy-based exploration of random features: the frequencies that correlate most with the targets.

    l = ``pool``·s frequencies are drawn from the spectral density, and the s with the largest scores |Σⱼ yⱼ z(wᵢ, xⱼ)|²
    are kept: φ(x) = [cos(Wᵀx) | sin(Wᵀx)]/√s. There are no weights, so φ(x)ᵀφ(x′) estimates another kernel, which fits
    these targets. The more frequencies are drawn, the farther it is from the given kernel.

    Parameters
    ----------
    n_components : number of output columns, even; s = ``n_components``/2.
    pool : l/s, the frequencies drawn to choose from, as a multiple of those chosen; 1 or more. With 1 all are kept.
    kernel, gamma, random_state : as in RandomFourierFeatures, whose frequencies the pool's are.

    Attributes
    ----------
    frequencies_ : (d, s) float64, in the order in which they were drawn.
    weights_ : ones.

    Notes
    -----
    ``fit`` needs targets y, as in SurrogateLeverageFeatures, at the same cost, n·l·(d + 2). It sees only the rows that
    it is given. If a solver then chooses λ on folds of these rows, the choice of frequencies has already seen the
    targets of each fold.

    References
    ----------
    S. Shahrampour, A. Beirami, V. Tarokh, "On data-dependent random features for improved generalization in supervised
    learning", AAAI 2018, Algorithm 1, which chooses single cosines with a phase; here pairs are chosen.
    """

    serves: ClassVar[MapServes] = replace(
        SurrogateLeverageFeatures.serves, bias="the frequencies that correlate most with the targets", unbiased_if="",
        source="Shahrampour et al., AAAI 2018",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {}
    variant, form = "as-written", "eq14"

    def __init__(
        self, n_components: int = 100, *, pool: float | None = 10, kernel: str | Kernel = "gaussian",
        gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.pool = pool
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    @property
    def unbiased(self) -> bool:
        return False

    def choose(self, column_scores: NDArray[np.float64], s: int, sequence: SeedSequence) -> Selection:
        """The s frequencies of the largest scores, of those of the pool's columns (2l,)."""
        best = np.argsort(-normalised(frequency_scores(column_scores)), kind="stable")[:s]
        return unweighted(np.sort(best))
