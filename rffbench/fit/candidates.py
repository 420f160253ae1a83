"""What `fit` tries, in the order in which it should run: kernels × maps × sizes, and learners without a map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import NDArray

import rffbench
from rffbench.arguments.seeds import seed_sequence
from rffbench.kernels.bandwidth import gamma_of_rows

Kind = Literal["constant", "linear", "map", "exact", "trees"]
SEED = 0  # of maps and trees, in the search and in the model


@dataclass(frozen=True)
class Candidate:
    """A learner to try. ``name`` is for people; ``map`` is a public class of rffbench, with ``settings``, for
    ``kernel``. The kind "exact" is kernel ridge: Nyström features with every training row as a landmark."""

    name: str
    kind: Kind
    kernel: str | None = None
    map: str = ""
    settings: tuple[tuple[str, Any], ...] = field(default=())
    has_bandwidth: bool = True

    @property
    def has_columns(self) -> bool:
        return self.kind == "map"

    def arguments(self, columns: int, gamma: float | None) -> dict[str, Any]:
        """The arguments of the map besides its number of columns."""
        bandwidth = {} if gamma is None else {"gamma": gamma}
        return {**dict(self.settings), "kernel": self.kernel, **bandwidth, "random_state": SEED}

    def features(self, columns: int, gamma: float | None) -> Any:
        """The unfitted map."""
        return getattr(rffbench, self.map)(columns, **self.arguments(columns, gamma))

    def gamma(self, X: NDArray, times: float) -> float | None:
        """γ of σ, ``times`` the median distance of the rows X; None for a kernel without a bandwidth."""
        if not self.has_bandwidth:
            return None
        try:
            return float(gamma_of_rows(str(self.kernel), "median", X, seed_sequence(SEED), times))
        except ValueError:  # half of the rows are equal: the median distance is 0
            return float(gamma_of_rows(str(self.kernel), "scale", X, seed_sequence(SEED))) / times**2


def _fourier(kernel: str, name: str) -> Candidate:
    return Candidate(name, "map", kernel, "RandomFourierFeatures")


def _nystroem(kernel: str, name: str) -> Candidate:
    return Candidate(name, "map", kernel, "NystroemFeatures", (("landmarks", "rpcholesky"),))


CONSTANT = Candidate("constant", "constant")
LINEAR = Candidate("linear", "linear")
FOURIER = _fourier("gaussian", "random Fourier features")
NYSTROEM = _nystroem("gaussian", "Nyström features")
LAPLACIAN = _nystroem("laplacian", "Laplacian Nyström features")
TREES = Candidate("boosted trees", "trees")
EXACT = Candidate("kernel ridge", "exact", "gaussian", "NystroemFeatures")

FIRST = (CONSTANT, LINEAR, FOURIER, NYSTROEM, LAPLACIAN, TREES)
"""Tried in any case, whatever the time. Their maps and the first of KERNELS are the four of ten kernels and maps among
which a choice did as well on the board as among all ten (docs/board/refuted.md)."""

KERNELS = (
    _nystroem("matern", "Matérn Nyström features"),
    _fourier("laplacian", "Laplacian Fourier features"),
    _fourier("matern", "Matérn Fourier features"),
    _fourier("cauchy", "Cauchy Fourier features"),
    Candidate("arc-cosine features", "map", "arc-cosine", "ActivationFeatures", has_bandwidth=False),
    Candidate("polynomial TensorSketch", "map", "polynomial", "TensorSketchFeatures"),
    _fourier("rational-quadratic", "rational quadratic features"),
)
"""Other kernels, and other maps of them."""

MAPS = (
    Candidate("orthogonal features", "map", "gaussian", "OrthogonalRandomFeatures"),
    Candidate("SORF", "map", "gaussian", "StructuredOrthogonalFeatures"),
    Candidate("quasi-Monte Carlo features", "map", "gaussian", "QuasiMonteCarloFeatures"),
)
"""Other maps of the Gaussian kernel, which rarely differ from random Fourier features."""

MOST_EXACT_ROWS = 2500
SIZES = (64, 128, 256, 512, 1024, 2048, 4096)


def first_sizes(rows: int) -> tuple[int, int, int]:
    """The sizes that every map is tried with, for this number of training rows: 128, 256 and 512, or fewer."""
    most = max(size for size in SIZES[:4] if size <= max(rows, SIZES[1]))
    return most // 4, most // 2, most
