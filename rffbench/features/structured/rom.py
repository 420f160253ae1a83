"""Random ortho-matrices: directions out of a product of Hadamard matrices and random signs."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from rffbench.arguments.parameters import WrongParameter, check_count
from rffbench.arguments.seeds import RandomState
from rffbench.features.by_inputs import AUTO
from rffbench.features.structured.hadamard import ROTATIONS, Block, HadamardFeatures
from rffbench.kernels import GaussianKernel, IsotropicKernel, Kernel
from rffbench.plugins.parts import MapServes


class RandomOrthoMatrixFeatures(HadamardFeatures):
    """ROM, random ortho-matrices: W = C·H·D₁·H·D₂·…·H·D_k, H the orthonormal Walsh–Hadamard matrix, D random signs.

    φ(x) = [cos(Wx) | sin(Wx)]/√s, s = ``n_components``/2. The rows of H·D₁·…·H·D_k are orthonormal directions; the
    diagonal C holds their lengths. Padding from d to N and stacking are as in FastfoodFeatures, with k transforms. The
    directions are not quite uniform, so the estimate is biased; the bias falls with N. One product is far from uniform:
    for an input with a single non-zero entry all projections have the same size, but for C.

    Parameters
    ----------
    n_components : number of output columns, even.
    products : k, 1 or more. The paper finds that three suffice; k = 3 is SORF.
    lengths : 'chi', drawn as those of the kernel's frequencies in N dimensions, √(2γ)·χ_N for the Gaussian kernel; or
        'fixed', the paper's, all √(2γN), only for the Gaussian kernel.
    rotation : 'structured', the products; 'dense', a Haar-distributed draw in each block, with lengths that are drawn;
        'auto', 'dense' for four inputs or fewer, where the products are far from uniform, else 'structured'.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)), 'matern', 'rational-quadratic', or a `Kernel` with an isotropic density.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in FastfoodFeatures; sizes nest, and signs do not depend on ``lengths``.

    Attributes
    ----------
    diagonals_ : D_k, …, D₁, (k, blocks, N) float64.
    lengths_ : C over the factors of H, (blocks, N) float64.
    frequencies_ : Wᵀ (d, s) float64, multiplied out when it is asked for.

    References
    ----------
    K. Choromanski, M. Rowland, A. Weller, "The unreasonable effectiveness of structured random orthogonal embeddings",
    NIPS 2017, Eq. 3, with real matrices. A block that is cut keeps its first rows, not a sample of them.
    """

    serves: ClassVar[MapServes] = replace(
        HadamardFeatures.serves, row_cost="k*s*log2(N) + k*s + t*D",
        bias="structured directions are not quite uniform; lengths: fixed are all √N/σ",
        source="Choromanski et al., NIPS 2017",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {"lengths": ("chi", "fixed"), "rotation": ROTATIONS}

    def __init__(
        self, n_components: int = 100, *, products: int = 3, lengths: str = "chi", rotation: str = AUTO,
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.products = products
        self.lengths = lengths
        self.rotation = rotation

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("products", self.products, least=1)
        if self.lengths == "fixed" and not isinstance(self.kernel_, GaussianKernel):
            problem = f"must be 'chi' with the {self.kernel_.called()} kernel: 'fixed' is for the gaussian one alone"
            raise WrongParameter("lengths", problem)
        if self.lengths == "fixed" and self.rotation == "dense":
            raise WrongParameter("lengths", "must be 'chi' with rotation='dense': 'fixed' is for 'structured'")

    def check_inputs(self, d: int) -> None:
        """WrongParameter if lengths are fixed and d is so small that the kernel would be another."""
        if self.lengths == "fixed" and self.rotation == AUTO and self._rotation(d) == "dense":
            problem = f"must be 'chi' with {d} inputs, where frequencies of one length make another kernel"
            raise WrongParameter("lengths", f"{problem}; to measure that, write rotation='structured'")

    def letters(self, d: int) -> dict[str, float]:
        """k of the formulas."""
        return {"k": self.products}

    def _block(self, kernel: IsotropicKernel, N: int, rng: Generator, of_lengths: Generator) -> Block:
        signs = list(rng.choice([-1.0, 1.0], (self.products, N)))
        if self.lengths == "fixed":
            return signs, None, np.full(N, N ** ((1 - self.products) / 2))
        return signs, None, kernel.unit_radii(of_lengths, N, N) / N ** (self.products / 2)
