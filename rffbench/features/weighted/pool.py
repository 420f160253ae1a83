"""Base of the maps that draw a pool of l frequencies, score them on the training data, and choose by the scores.

Scores depend on the pool's base features B = [cos(Wᵀx + b) | sin(Wᵀx + b)]/√l only through BᵀB (2l, 2l) and Bᵀy (2l,).
A map is a ``Selection``: each of its columns is a column of the pool with another phase and factor. So one pass over
the data serves all methods and sizes that share a pool.

Columns are numbered as in a paired map: 0 … l−1 the cosines, l … 2l−1 the sines.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from rffbench.arguments.parameters import WrongParameter, is_number
from rffbench.arguments.rowsource import BLOCK_ROWS, row_blocks
from rffbench.arguments.seeds import generator, seed_sequence
from rffbench.features.base import FourierFeatures, draw_phases
from rffbench.features.hooks import Distinct
from rffbench.kernels import SpectralKernel
from rffbench.linalg.equal_columns import EqualColumns
from rffbench.linalg.triangles import TriangleStack
from rffbench.linalg.trigonometric import fourier_products
from rffbench.plugins.parts import MapServes

# Scores are known only up to rounding. They are kept above that level, so that the weight 1/q of a reweighted column
# stays finite if the column vanishes on the data.
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Selection:
    """The columns of a pool that make a map, each with its phase and factor.

    ``index`` (2s,): the pool's frequency of each output column, the s cosines first; ``offset`` (2s,): the phases in
    radians, or None; ``amplitude`` (2s,): the factors, including 1/√s. ``weights`` are the importance weights, and
    ``probabilities`` those of the choice: (s,), one per drawn frequency, if pairs stay whole; (2s,), one per column, if
    single columns are chosen.
    """

    index: NDArray[np.int64]
    amplitude: NDArray[np.float64]
    offset: NDArray[np.float64] | None
    weights: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def recombination(
        self, pool: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """The map as columns of the pool's plain features B₀ = [cos(Wᵀx) | sin(Wᵀx)], (n, 2·pool), unscaled.

        Returns (first, second, a, b), (2s,) each: column j is a_j·B₀[:, first_j] + b_j·B₀[:, second_j].
        Without phases b is zero and second is first.
        """
        half = len(self.index) // 2
        is_sine = np.arange(len(self.index)) >= half
        if self.offset is None:
            column = self.index + pool * is_sine
            return column, column, self.amplitude, np.zeros(len(column))
        cos, sin = np.cos(self.offset), np.sin(self.offset)
        # cos(t + b) = cos b·cos t − sin b·sin t;  sin(t + b) = sin b·cos t + cos b·sin t
        a = self.amplitude * np.where(is_sine, sin, cos)
        b = self.amplitude * np.where(is_sine, cos, -sin)
        return self.index, self.index + pool, a, b


def whole_pool(pool: int, offsets: NDArray[np.float64] | None = None) -> Selection:
    """All of the pool's frequencies, unweighted, with the given phases: the base features B."""
    return Selection(
        index=np.tile(np.arange(pool), 2),
        amplitude=np.full(2 * pool, 1 / np.sqrt(pool)),
        offset=None if offsets is None else np.tile(offsets[:pool], 2),
        weights=np.ones(pool),
        probabilities=np.full(pool, 1 / pool),
    )


def frequency_scores(column_scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A frequency's score (l,): its cosine's plus its sine's, the squared modulus of the complex feature."""
    return np.asarray(column_scores.reshape(2, -1).sum(axis=0))


def resample(scores: NDArray[np.float64], s: int, rng: Generator) -> Selection:
    """As-written choice: s of the pool's l frequencies, drawn with replacement with the probabilities pᵢ/L.

    A drawn frequency's importance weight is p/q = L/(l·pᵢ) (Eq. 9 and Algorithm 1 of Liu et al. 2020), so that the mean
    of the map's kernel estimate over this draw is the pool's own estimate. A frequency that is drawn twice makes two
    pairs of columns. ``scores`` (l,) are the unnormalised pᵢ, L their sum.
    """
    probabilities = normalised(scores)
    drawn = np.repeat(np.arange(len(scores)), rng.multinomial(s, probabilities))
    weights = 1 / (len(scores) * probabilities[drawn])
    return Selection(
        index=np.tile(drawn, 2),
        amplitude=np.tile(np.sqrt(weights / s), 2),
        offset=None,
        weights=weights,
        probabilities=probabilities[drawn],
    )


def unweighted(chosen: NDArray[np.int64], probabilities: NDArray[np.float64] | None = None) -> Selection:
    """The frequencies ``chosen`` (s,) of a pool with equal weights; ``probabilities`` are 1/s if nothing was drawn."""
    s = len(chosen)
    return Selection(
        index=np.tile(chosen, 2),
        amplitude=np.full(2 * s, 1 / np.sqrt(s)),
        offset=None,
        weights=np.ones(s),
        probabilities=np.full(s, 1 / s) if probabilities is None else probabilities,
    )


def reweight(column_scores: NDArray[np.float64], s: int, offsets: NDArray[np.float64]) -> Selection:
    """Reweighted choice: the 2s columns of the pool with the largest scores, in falling order; nothing is drawn.

    The MATLAB routines leverageRFF.m and SERLSRFF.m do this. J. Li published them with "Optimal convergence for
    agnostic kernel learning with random features" (github.com/superlj666/Agnostic-RF, commit 56bbd66, 2023, without
    a licence). They are a third party's: it is not known whether Liu et al. (2020) ran the same.

    q is the normalised score of the *column*. The frequencies of the first s columns in that order make the cosines and
    those of the last s the sines, whatever these columns were in the pool. Column j of either block has the phase
    ``offsets[j]`` of its new position and the factor √(1/q)/√s. These weights are not normalised: 1/q averages 2l or
    more, while an unweighted column has 1. ``column_scores`` (2l,) are those of the pool's features with their phases;
    with l = s, as published, all the pool's columns are kept. q is kept at ε² or above, the rounding level of a squared
    sum.
    """
    q = np.maximum(normalised(column_scores), EPS**2)
    kept = np.argsort(-q, kind="stable")[: 2 * s]
    return Selection(
        index=kept % (len(q) // 2),
        amplitude=np.sqrt(1 / (q[kept] * s)),
        offset=np.tile(offsets[:s], 2),
        weights=1 / q[kept],
        probabilities=q[kept],
    )


def normalised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores over their sum; ValueError if the sum is 0 or not finite."""
    total = scores.sum()
    if total == 0:
        raise ValueError(
            "the scores sum to 0: the targets are orthogonal to every feature (all zero, or balanced on rows that are "
            "alike), and there is nothing to choose by"
        )
    if not total < np.inf:
        raise ValueError(f"the scores sum to {total}: the features or targets hold NaN, or numbers too large to square")
    return np.asarray(scores / total)


class PooledFeatures(FourierFeatures):
    """Base class: draw a pool of frequencies, score it on the training data, choose from it."""

    choices: ClassVar[dict[str, tuple[object, ...]]] = {"variant": ("as-written", "reweighted")}

    serves: ClassVar[MapServes] = MapServes(
        kernels=SpectralKernel, bias="the columns of the largest scores, with their phases", unbiased_if="as written"
    )
    variant: str
    pool: float | None

    @property
    def unbiased(self) -> bool:
        return self.variant == "as-written"

    @property
    def n_drawn(self) -> int:
        """l, the frequencies that are drawn to choose from."""
        return self.pool_size(self.n_frequencies)

    def letters(self, d: int) -> dict[str, float]:
        """l of the formulas."""
        return {"l": self.n_drawn}

    def check_parameters(self) -> None:
        super().check_parameters()
        self.pool_size(self.n_frequencies)

    @property
    def reweighted(self) -> bool:
        """Whether the variant is 'reweighted', by either of its names."""
        return self.variant == "reweighted"

    def pool_size(self, s: int) -> int:
        """l, the frequencies drawn to choose s from: ``pool`` times s."""
        multiple = 1 if self.pool is None else self.pool
        if not is_number(multiple) or multiple < 1:
            problem = "must be a multiple of s, a number of 1 or more (4: four times as many frequencies as are chosen)"
            raise WrongParameter("pool", f"{problem}, got {multiple!r}")
        return round(s * float(multiple))

    def choose(self, column_scores: NDArray[np.float64], s: int, sequence: SeedSequence) -> Selection:
        """The s frequencies, or 2s columns, that this variant chooses by the scores (2l,) of the pool's columns, with
        random numbers from the stream."""
        if self.reweighted:
            return reweight(column_scores, s, draw_phases(s, sequence))
        return resample(frequency_scores(column_scores), s, generator(sequence, "resampling"))

    def set_selection(self, pool_frequencies: NDArray[np.float64], selection: Selection) -> None:
        """Install the map that ``selection`` makes of the pool's frequencies (d, l)."""
        columns = slice(None)
        cos, sin = np.split(np.stack([selection.index, selection.amplitude]), 2, axis=1)
        if np.array_equal(cos, sin):  # whole pairs: one frequency for its cosine and its sine
            columns = slice(len(selection.index) // 2)
        self.frequencies_ = self.laid_out(pool_frequencies[:, selection.index[columns]])
        self.scale_ = selection.amplitude[columns]
        self.offset_ = None if selection.offset is None else selection.offset[columns]
        self.weights_ = selection.weights
        self.probabilities_ = selection.probabilities

    def distinct(self) -> Distinct | None:
        """This fitted map without the copies of repeated frequencies; None if no frequency is repeated."""
        if self.reweighted:
            return None
        W = self.frequencies_  # copies of a frequency are side by side
        merged = EqualColumns.side_by_side(W)
        first, of, root, left = merged.first, merged.of, merged.root, len(merged.first)
        if left == W.shape[1]:
            return None
        features = copy(self)
        features.n_components = 2 * left
        features.frequencies_, features.scale_ = W[:, first], np.asarray(self.scale_)[first] * root
        features.weights_, features.probabilities_ = self.weights_[first] * np.bincount(of), self.probabilities_[first]
        cosines_and_sines = np.concatenate([first, first + W.shape[1]]), np.concatenate([of, of + left])
        return Distinct(features, EqualColumns(*cosines_and_sines, np.tile(root, 2)))

    @property
    def base(self) -> Hashable | None:
        return "random"

    def pool_phases(self, pool: int) -> NDArray[np.float64] | None:
        """The phases (l,) of the cosines and sines that are scored; None unless the variant is reweighted."""
        return draw_phases(pool, seed_sequence(self.random_state)) if self.reweighted else None

    @property
    def bytes_to_fit(self) -> int:
        """The bytes that ``fit`` holds at once: a block of the pool's features, and their Gram matrix if needed."""
        columns = 2 * self.pool_size(self.n_frequencies)
        return 16 * BLOCK_ROWS * columns + ("gram" in self.needs) * TriangleStack.bytes_needed(1, columns)

    @property
    def needs(self) -> tuple[str, ...]:
        """The statistics of the pool's features B that ``column_scores`` takes: 'gram' BᵀB, 'right_side' Bᵀy or
        'squared_norms'."""
        raise NotImplementedError

    def column_scores(self, n: int, **statistics: Any) -> NDArray[np.float64]:
        """Scores (2l,) of the pool's columns, over n training rows, from the statistics in ``needs``."""
        raise NotImplementedError

    def _fit(self, X: Any, y: NDArray[np.float64] | None) -> None:
        n, d = X.shape
        self.fit_pool(n, d, lambda columns: self._gathered(X, y, columns))

    def fit_pool(self, n: int, d: int, gather: Callable[[int], dict[str, Any]]) -> None:
        """Draw a pool for n rows of d columns, score it, and install the s frequencies that are chosen.

        ``gather(2l)`` sums the statistics in ``needs`` over the rows, while this map has the pool's 2l columns.
        """
        s = self.n_frequencies
        pool = self.pool_size(s)
        W = self.draw(pool, d)
        self.set_selection(W, whole_pool(pool, self.pool_phases(pool)))
        scores = self.column_scores(n, **gather(2 * pool))
        self.set_selection(W, self.choose(scores, s, seed_sequence(self.random_state)))

    def _gathered(self, X: Any, y: NDArray[np.float64] | None, columns: int) -> dict[str, Any]:
        """The statistics in ``needs`` of the pool's features, which ``fill`` now makes, over all rows. y is (n,), or
        (n, t) for several targets."""
        if y is not None and y.ndim == 1 and self.needs == ("right_side",) and not self.reweighted:
            # Single precision suffices for scores that only decide a random choice. It does not for reweighted
            # columns: there the column with the least score has the largest factor.
            W, _, _ = self._columns_in(X.dtype)
            products = np.zeros((2, columns // 2))
            for rows in row_blocks(X.shape[0]):
                products += fourier_products(X[rows], W, y[rows])
            return {"right_side": products.ravel() / np.sqrt(columns // 2)}
        gathered: dict[str, Any] = {
            name: TriangleStack(1, columns)[0] if name == "gram" else np.zeros(columns) for name in self.needs
        }
        if "right_side" in gathered and y is not None:
            gathered["right_side"] = np.zeros((columns, *y.shape[1:]))
        buffer = np.empty((min(BLOCK_ROWS, X.shape[0]), columns), dtype=X.dtype)
        for rows in row_blocks(X.shape[0]):
            B = buffer[: rows.stop - rows.start]
            self.fill(X[rows], B)
            B = B.astype(np.float64, copy=False)
            if "gram" in gathered:
                gathered["gram"].add_gram(B)
            if "right_side" in gathered and y is not None:
                gathered["right_side"] += (y[rows].T @ B).T
            if "squared_norms" in gathered:
                gathered["squared_norms"] += np.einsum("ij,ij->j", B, B)
        return gathered
