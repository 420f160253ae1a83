"""Features re-sampled by ridge leverage scores, and by their surrogate that uses the labels.

Both draw a pool of l frequencies, score them on the training data, and choose from the pool. Scoring and
choosing are functions of small arrays alone: the base features B = [cos(Wᵀx + b) | sin(Wᵀx + b)]/√l of the
pool enter through their Gram matrix BᵀB (2l, 2l) and through Bᵀy (2l,). What is chosen is a ``Selection``:
each column of the map is one column of the pool, rephased and rescaled. So one pass over the data serves
every method and size that share a pool.

Columns are numbered as in a paired map: 0 … l−1 the cosines, l … 2l−1 the sines.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_consistent_length

from rffbench.features.base import FourierFeatures, draw_phases
from rffbench.linalg.equal_columns import EqualColumns
from rffbench.linalg.triangles import Triangle, TriangleStack
from rffbench.linalg.waves import fourier_products
from rffbench.parameters import WrongParameter, check_positive, is_number
from rffbench.rowsource import BLOCK_ROWS, row_blocks
from rffbench.seeds import RandomState, generator, seed_sequence

# Scores are known to their rounding error only. Below it they are held there, so that an as-released weight
# 1/q of a column that vanishes on the data stays finite.
_EPS = float(np.finfo(np.float64).eps)
MOST_CLASSES = 20  # different whole numbers, as floats, that are taken for classes, as in a file of the user's own


@dataclass(frozen=True)
class Selection:
    """Which columns of a pool make a map, with what phase and factor.

    ``index`` (2s,): the pool's frequency of each output column, the s cosines first; ``offset`` (2s,) their
    phases in radians, or None; ``amplitude`` (2s,) their factors, 1/√s included. ``weights`` are the
    importance weights and ``probabilities`` those of the choice: (s,), one per drawn frequency, where pairs stay
    whole; (2s,), one per column, where columns are chosen singly.
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
    """All of the pool's frequencies, unweighted, with phases where given: the base features B."""
    return Selection(
        index=np.tile(np.arange(pool), 2),
        amplitude=np.full(2 * pool, 1 / np.sqrt(pool)),
        offset=None if offsets is None else np.tile(offsets[:pool], 2),
        weights=np.ones(pool),
        probabilities=np.full(pool, 1 / pool),
    )


def are_classes(y: NDArray) -> bool:
    """Whether y (n,) holds labels, not values: text, booleans, integers, or few different whole numbers."""
    if y.dtype.kind != "f":
        return True
    different = np.unique(y)
    return 2 <= len(different) <= MOST_CLASSES and not np.mod(different, 1).any()


@dataclass(frozen=True)
class Distinct:
    """A map without its equal columns, and which of the whole map's columns became which of its own."""

    features: FourierFeatures
    columns: EqualColumns


def ridge_leverage_scores(gram: Triangle, c: float) -> NDArray[np.float64]:
    """Ridge leverage scores of the columns of B: diag(G(G + cI)⁻¹), (2l,), from the Gram matrix G = BᵀB.

    c is nλ (Li et al. 2019, Algorithm 1). Computed as 1 − c·diag((G + cI)⁻¹) = 1 − c·‖L⁻¹e_j‖² with one
    Cholesky factor L of G + cI, in the triangle that held G. Scores lie in (0, 1); what rounds below machine
    epsilon is epsilon. Raises LinAlgError where G + cI isn't positive definite.
    """
    if not c > 0:
        raise ValueError(f"c = nλ must be positive, got {c!r}")
    gram.diagonal[:] += c
    gram.cholesky()
    return np.maximum(1 - c * gram.inverse_diagonal(), _EPS)


def alignment_scores(right_side: ArrayLike, squared_norms: ArrayLike | float = 0.0, n: int = 0) -> NDArray[np.float64]:
    """Surrogate leverage scores of the columns of B: (Bᵀy)ⱼ², plus n‖Bⱼ‖² where given; shape (2l,).

    ``right_side`` alone gives Eq. 14 of Liu et al. (2020), which they run; with ``squared_norms``, the
    diagonal of BᵀB, and ``n`` training rows it is Eq. 12. Of several targets, Bᵀy (2l, t), it is the sum over them.
    """
    right = np.asarray(right_side, dtype=np.float64)
    squares = np.square(right)
    if right.ndim == 1:
        return squares + n * np.asarray(squared_norms)
    return squares.sum(axis=1) + right.shape[1] * n * np.asarray(squared_norms)


def frequency_scores(column_scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A frequency's score (l,): its cosine's plus its sine's, the squared modulus of the complex feature."""
    return column_scores.reshape(2, -1).sum(axis=0)


def resample(scores: NDArray[np.float64], s: int, rng: Generator) -> Selection:
    """As-written choice: s of the pool's l frequencies, drawn with replacement, probabilities pᵢ/L.

    A drawn frequency's importance weight is p/q = L/(l·pᵢ) (Eq. 9 and Algorithm 1 of Liu et al. 2020), so
    that the map's kernel estimate is, on average over the drawing, the pool's own. A frequency drawn twice
    makes two pairs of columns. ``scores`` (l,) are the unnormalised pᵢ.
    """
    probabilities = _normalised(scores)
    drawn = np.repeat(np.arange(len(scores)), rng.multinomial(s, probabilities))
    weights = 1 / (len(scores) * probabilities[drawn])
    return Selection(
        index=np.tile(drawn, 2),
        amplitude=np.tile(np.sqrt(weights / s), 2),
        offset=None,
        weights=weights,
        probabilities=probabilities[drawn],
    )


def release(column_scores: NDArray[np.float64], s: int, offsets: NDArray[np.float64]) -> Selection:
    """As-released choice: the 2s best columns of the pool, by falling score, nothing drawn.

    With q the normalised score of the *column*: the frequencies of the first s columns in that order make the
    cosines and those of the last s the sines, no matter which they were; column j of either block has phase
    ``offsets[j]``, its new position's; its factor is √(1/q)/√s. These weights are not normalised: 1/q
    averages 2l or more, where an unweighted column has 1. ``column_scores`` (2l,) are of the pool's features
    with the phases inside; with l = s, as published, all the pool's columns are kept. q is held at ε² or
    above, the rounding level of a squared sum.
    """
    q = np.maximum(_normalised(column_scores), _EPS**2)
    kept = np.argsort(-q, kind="stable")[: 2 * s]
    return Selection(
        index=kept % (len(q) // 2),
        amplitude=np.sqrt(1 / (q[kept] * s)),
        offset=np.tile(offsets[:s], 2),
        weights=1 / q[kept],
        probabilities=q[kept],
    )


def _normalised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    total = scores.sum()
    if total == 0:
        raise ValueError(
            "the scores sum to 0: the targets are orthogonal to every feature (all zero, or balanced on rows that are "
            "alike), and there is nothing to choose by"
        )
    if not total < np.inf:
        raise ValueError(f"the scores sum to {total}: the features or targets hold NaN, or numbers too large to square")
    return scores / total


class PooledFeatures(FourierFeatures):
    """Base class: draw a pool of frequencies, score it on the training data, choose from it."""

    choices: ClassVar[dict[str, tuple]] = {"variant": ("as-written", "as-released")}

    variant: str
    pool: int | float | None

    def check_parameters(self) -> None:
        super().check_parameters()
        self.pool_size(self.n_frequencies)

    def pool_size(self, s: int) -> int:
        """l, the frequencies drawn to choose s from: ``pool``, an integer count or a float multiple of s."""
        pool = self.pool
        if pool is None:
            return s
        if not is_number(pool):
            raise WrongParameter("pool", f"must be None, a count (int) or a multiple of s (float), got {pool!r}")
        size = int(pool) if isinstance(pool, numbers.Integral) else round(s * float(pool))
        if size < s:
            problem = f"makes {size} frequencies, fewer than the {s} to choose, got {pool!r}"
            raise WrongParameter("pool", f"{problem}; an integer is a count, a float a multiple (2.0: twice as many)")
        return size

    def choose(self, column_scores: NDArray[np.float64], s: int, sequence: SeedSequence) -> Selection:
        """What this variant chooses by the scores (2l,) of the pool's columns, with the stream's numbers."""
        if self.variant == "as-written":
            return resample(frequency_scores(column_scores), s, generator(sequence, "resampling"))
        return release(column_scores, s, draw_phases(s, sequence))

    def set_selection(self, pool_frequencies: NDArray[np.float64], selection: Selection) -> None:
        """Install the map that ``selection`` makes of the pool's frequencies (d, l)."""
        columns = slice(None)
        cos, sin = np.split(np.stack([selection.index, selection.amplitude]), 2, axis=1)
        if np.array_equal(cos, sin):  # whole pairs: a frequency serves its cosine and its sine
            columns = slice(len(selection.index) // 2)
        self.frequencies_ = self.laid_out(pool_frequencies[:, selection.index[columns]])
        self.scale_ = selection.amplitude[columns]
        self.offset_ = None if selection.offset is None else selection.offset[columns]
        self.weights_ = selection.weights
        self.probabilities_ = selection.probabilities

    def distinct(self) -> Distinct | None:
        """This fitted map without the copies of frequencies that were drawn more than once; None without such."""
        if self.variant == "as-released":
            return None
        W = self.frequencies_  # a frequency's copies stand side by side
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
        """The phases (l,) inside the cosines and sines that are scored: as-released has them."""
        return draw_phases(pool, seed_sequence(self.random_state)) if self.variant == "as-released" else None

    @property
    def bytes_to_fit(self) -> int:
        """What ``fit`` holds at once: a block of the pool's features, and their Gram matrix where it is needed."""
        columns = 2 * self.pool_size(self.n_frequencies)
        return 16 * BLOCK_ROWS * columns + ("gram" in self.needs) * TriangleStack.bytes_needed(1, columns)

    @property
    def needs(self) -> tuple[str, ...]:
        """What of the pool's features B ``column_scores`` takes: of 'gram' BᵀB, 'right_side' Bᵀy, 'squared_norms'."""
        raise NotImplementedError

    def column_scores(self, n: int, **statistics: Any) -> NDArray[np.float64]:
        """Scores (2l,) of the pool's columns, over n training rows, from the statistics in ``needs``."""
        raise NotImplementedError

    def _fit(self, X: Any, y: NDArray[np.float64] | None) -> None:
        n, d = X.shape
        self.fit_pool(n, d, lambda columns: self._gathered(X, y, columns))

    def fit_pool(self, n: int, d: int, gather: Callable[[int], dict[str, Any]]) -> None:
        """Draw a pool for n rows of d columns, score it, and install what is chosen.

        ``gather(2l)`` sums the statistics in ``needs`` over the rows; this map is the pool's 2l columns then.
        """
        s = self.n_frequencies
        pool = self.pool_size(s)
        W = self.draw(pool, d)
        self.set_selection(W, whole_pool(pool, self.pool_phases(pool)))
        scores = self.column_scores(n, **gather(2 * pool))
        self.set_selection(W, self.choose(scores, s, seed_sequence(self.random_state)))

    def _gathered(self, X: Any, y: NDArray[np.float64] | None, columns: int) -> dict[str, Any]:
        """The statistics in ``needs`` of the pool's features, which ``fill`` now makes, over all rows. y is (n,), or
        (n, t) of several targets."""
        if y is not None and y.ndim == 1 and self.needs == ("right_side",) and self.variant == "as-written":
            # Scores that only decide a random choice do with single precision. As released they do not: there the
            # column with the least score has the largest factor.
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


class LeverageScoreFeatures(PooledFeatures):
    """Leverage-score features: frequencies chosen by their ridge leverage scores on the training data.

    l frequencies are drawn from the spectral density; with B their base features (n, 2l), the scores are the
    diagonal of BᵀB(BᵀB + nλI)⁻¹; a frequency's is the sum of its two columns'. y is not used.

    Parameters
    ----------
    n_components : number of output columns, even; s = ``n_components``/2.
    variant : 'as-written', s frequencies re-sampled by the scores and weighted by p/q (see ``resample``), the
        pairs [cos | sin] kept whole; 'as-released', the published code's deterministic choice of columns (see
        ``release``).
    score_lambda : λ of the scores; the published code has 0.05, independent of the solver's.
    pool : l; None for l = s, an integer for a count, a float for a multiple of s; l ≥ s.
    kernel, gamma, random_state : as in RandomFourierFeatures, whose frequencies the pool's are.

    Attributes
    ----------
    frequencies_ : as-written (d, s), each frequency as often as it was drawn; as-released (d, 2s), one per column.
    weights_, probabilities_ : p/q and pᵢ/L of the chosen, (s,); as-released 1/q and q of each column, (2s,).
    offset_ : None; as-released the phases, (2s,).

    Notes
    -----
    Cost: 2nl² + 8l³/3 multiplications after mapping the pool, streamed by row blocks; memory two matrices of
    2l × 2l numbers.

    References
    ----------
    Z. Li, J.-F. Ton, D. Oglic, D. Sejdinovic, "Towards a unified analysis of random Fourier features", ICML
    2019, Algorithm 1. As compared with in F. Liu et al., AAAI 2020 (Eq. 3).
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        variant: str = "as-written",
        score_lambda: float = 0.05,
        pool: int | float | None = None,
        kernel: str = "gaussian",
        gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.variant = variant
        self.score_lambda = score_lambda
        self.pool = pool
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("score_lambda", self.score_lambda)

    def fit(self, X: Any, y: Any = None) -> LeverageScoreFeatures:
        """Draw the pool, score it on X (n, d) and choose; y is not used."""
        self.check_parameters()
        self._fit(self._validated(X, reset=True), None)
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        return ("gram",)

    def column_scores(self, n: int, *, gram: Triangle) -> NDArray[np.float64]:  # type: ignore[override]
        return ridge_leverage_scores(gram, n * self.score_lambda)


class SurrogateLeverageFeatures(PooledFeatures):
    """Surrogate leverage features: frequencies chosen by their correlation with the labels.

    l frequencies are drawn from the spectral density; a frequency's score is pᵢ = |Σⱼ yⱼ z(wᵢ, xⱼ)|², the
    complex modulus: both its columns' squares (Algorithm 1, Eq. 15). No matrix is inverted.

    Parameters
    ----------
    n_components : number of output columns, even; s = ``n_components``/2.
    variant : 'as-written' or 'as-released', as in LeverageScoreFeatures; as-released scores single columns.
    form : 'eq14', the score above, which the paper runs; 'eq12' adds n‖zᵢ‖², the surrogate it analyses.
    pool : l; None for l = s, an integer for a count, a float for a multiple of s; l ≥ s.
    kernel, gamma, random_state : as in RandomFourierFeatures, whose frequencies the pool's are.

    Attributes
    ----------
    frequencies_, weights_, probabilities_, offset_ : as in LeverageScoreFeatures.

    Notes
    -----
    ``fit`` needs targets y. Labels (n,) are text, booleans, integers, and floats that are two to MOST_CLASSES
    different whole numbers: two classes are −1 and +1; of more each is scored against the rest, and the scores are
    summed. Other floats (n,), and anything (n, t), are values, taken as they are; the estimators of this package
    give (n, t), so that a regression is never taken for classes. Cost: one pass over the base features, n·l·(d + 2)
    multiplications; memory one row block of them. As written, for one target, the scores of 'eq14' have single
    precision for every dtype of X: this hardly ever changes what is drawn, and changes the weights by a few 1e-6.

    References
    ----------
    F. Liu, X. Huang, Y. Chen, J. Yang, J. Suykens, "Random Fourier features via fast surrogate leverage
    weighted sampling", AAAI 2020.
    """

    choices: ClassVar[dict[str, tuple]] = {**PooledFeatures.choices, "form": ("eq14", "eq12")}
    takes_targets = True  # (n, t) from an estimator, which knows whether they are classes

    def __init__(
        self,
        n_components: int = 100,
        *,
        variant: str = "as-written",
        form: str = "eq14",
        pool: int | float | None = None,
        kernel: str = "gaussian",
        gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.variant = variant
        self.form = form
        self.pool = pool
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SurrogateLeverageFeatures:
        """Draw the pool, score it on X (n, d) with targets y (n,), and choose."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        targets = self._targets(y)
        check_consistent_length(X, targets)
        self._fit(X, targets)
        return self

    def _targets(self, y: Any) -> NDArray[np.float64]:
        """What is scored: values as they are, classes as ±1, (n,) of one target or two classes, else (n, t)."""
        given = check_array(y, ensure_2d=False, dtype=None, input_name="y", estimator=self)
        if given.dtype.kind == "O":
            with suppress(ValueError, TypeError):  # numbers in a column of objects
                given = given.astype(np.float64)
        if given.ndim == 1 and are_classes(given):
            from sklearn.preprocessing import LabelBinarizer  # late, as in bandwidth.py

            codes = LabelBinarizer(neg_label=-1).fit_transform(given).astype(np.float64)
            return codes[:, 0] if codes.shape[1] == 1 else codes
        values = check_array(given, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    @property
    def needs(self) -> tuple[str, ...]:
        return ("right_side", "squared_norms") if self.form == "eq12" else ("right_side",)

    def column_scores(  # type: ignore[override]
        self, n: int, *, right_side: NDArray[np.float64], squared_norms: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.float64]:
        return alignment_scores(right_side, squared_norms, n)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
