"""Frequencies drawn with the probabilities that align the kernel with the targets."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from rffbench.arguments.parameters import check_positive
from rffbench.arguments.seeds import RandomState, generator
from rffbench.features.weighted.eerf import EnergyBasedFeatures
from rffbench.features.weighted.pool import Selection, frequency_scores, normalised, unweighted
from rffbench.kernels import Kernel
from rffbench.plugins.parts import MapServes


def aligned_probabilities(scores: NDArray[np.float64], divergence: float) -> NDArray[np.float64]:
    """The probabilities q (l,) with the largest Σ qᵢ·scoreᵢ, for ``scores`` (l,), whose χ² divergence from 1/l,
    l·Σ qᵢ² − 1, is at most ``divergence``. Takes l·log l operations.

    q ∝ max(0, score − τ). If the k largest scores, with mean m and variance v, are above τ, the divergence is attained
    by τ = m − √(v/((1 + divergence)·k/l − 1)); k is the largest number for which they are. If no τ attains it, q is
    uniform over the scores that equal the largest.
    """
    relative, count = scores / scores.max(), len(scores)
    falling, k = np.sort(relative)[::-1], np.arange(1, count + 1)
    mean = np.cumsum(falling) / k
    variance = np.maximum(np.cumsum(falling**2) / k - mean**2, 0)
    room = (1 + divergence) * k / count - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        threshold = np.where(room > 0, mean - np.sqrt(variance / room), np.inf)
    below = np.flatnonzero(threshold < falling)
    q = np.maximum(relative - threshold[below[-1]], 0) if len(below) else (relative == 1).astype(np.float64)
    return np.asarray(q / q.sum())


class KernelAlignmentFeatures(EnergyBasedFeatures):
    """Kernel-alignment features: frequencies re-sampled with the probabilities that align the kernel with the targets.

    l = ``pool``·s frequencies are drawn from the spectral density; vᵢ = |Σⱼ yⱼ z(wᵢ, xⱼ)|² are their scores. q are the
    probabilities with the largest alignment yᵀK_q·y = Σ qᵢvᵢ whose χ² divergence l·Σ qᵢ² − 1 is at most ``divergence``.
    s frequencies are drawn by q, without weights: φ(x)ᵀφ(x′) estimates K_q, another kernel, which fits these targets.

    Parameters
    ----------
    n_components : number of output columns, even; s = ``n_components``/2.
    pool : l/s, the frequencies drawn to choose from, as a multiple of those chosen; 1 or more.
    divergence : ρ > 0: q is spread over about l/(1 + ρ) frequencies.
    kernel, gamma, random_state : as in RandomFourierFeatures, whose frequencies the pool's are.

    Attributes
    ----------
    frequencies_ : (d, s) float64, each frequency as often as it was drawn.
    weights_ : ones.
    probabilities_ : q of the chosen, (s,).

    Notes
    -----
    Targets, cost and the rows that ``fit`` sees are as in EnergyBasedFeatures.

    References
    ----------
    A. Sinha and J. Duchi, "Learning kernels with random features", NIPS 2016, Eqs. 4 and 7.
    """

    serves: ClassVar[MapServes] = replace(
        EnergyBasedFeatures.serves, bias="the kernel that is aligned with the targets",
        source="Sinha and Duchi, NIPS 2016",
    )  # fmt: skip

    def __init__(
        self, n_components: int = 100, *, pool: float | None = 10, divergence: float = 3.0,
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, pool=pool, kernel=kernel, gamma=gamma, random_state=random_state)
        self.divergence = divergence

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("divergence", self.divergence)

    def choose(self, column_scores: NDArray[np.float64], s: int, sequence: SeedSequence) -> Selection:
        """s frequencies drawn by q, with replacement, of the scores of the pool's columns (2l,)."""
        q = aligned_probabilities(normalised(frequency_scores(column_scores)), self.divergence)
        drawn = np.repeat(np.arange(len(q)), generator(sequence, "resampling").multinomial(s, q))
        return unweighted(drawn, q[drawn])
