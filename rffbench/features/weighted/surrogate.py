"""Features re-sampled by the surrogate of the leverage scores that uses the labels."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_consistent_length

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import checked_labels
from rffbench.arguments.seeds import RandomState
from rffbench.features.weighted.pool import PooledFeatures
from rffbench.kernels import Kernel
from rffbench.plugins.parts import MapServes

MOST_CLASSES = 20  # up to this number of different whole numbers, floats are classes, as in a user's own data file


def are_classes(y: FloatArray) -> bool:
    """Whether y (n,) holds labels, not values: text, booleans, integers, or few different whole numbers."""
    if y.dtype.kind != "f":
        return True
    different = np.unique(y)
    return 2 <= len(different) <= MOST_CLASSES and not np.mod(different, 1).any()


def scored_targets(y: Any, features: Any) -> NDArray[np.float64]:
    """The targets that the map ``features`` chooses by: values unchanged, classes as ±1; (n,) for one target or two
    classes, else (n, t)."""
    if y is None:
        raise ValueError(f"{type(features).__name__} requires y to be passed, but the target y is None")
    given = check_array(checked_labels(y), ensure_2d=False, dtype=None, input_name="y", estimator=features)
    if given.dtype.kind == "O":
        with suppress(ValueError, TypeError):  # numbers in a column of objects
            given = given.astype(np.float64)
    if given.ndim == 1 and are_classes(given):
        from sklearn.preprocessing import LabelBinarizer  # late, as in bandwidth.py

        codes: NDArray[np.float64] = LabelBinarizer(neg_label=-1).fit_transform(given).astype(np.float64)
        return codes[:, 0] if codes.shape[1] == 1 else codes
    values: NDArray[np.float64] = check_array(
        given, ensure_2d=False, dtype=np.float64, input_name="y", estimator=features
    )
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def alignment_scores(right_side: ArrayLike, squared_norms: ArrayLike | float = 0.0, n: int = 0) -> NDArray[np.float64]:
    """Surrogate leverage scores of the columns of B: (Bᵀy)ⱼ², plus n‖Bⱼ‖² where given; shape (2l,).

    ``right_side`` alone gives Eq. 14 of Liu et al. (2020), which they run; with ``squared_norms``, the
    diagonal of BᵀB, and ``n`` training rows it is Eq. 12. For several targets, Bᵀy (2l, t), scores are summed.
    """
    right = np.asarray(right_side, dtype=np.float64)
    squares = np.square(right.reshape(len(right), -1))
    return np.asarray(squares.sum(axis=1) + squares.shape[1] * n * np.asarray(squared_norms))


class SurrogateLeverageFeatures(PooledFeatures):
    """Surrogate leverage features: frequencies chosen by their correlation with the labels.

    l frequencies are drawn from the spectral density. A frequency's score is pᵢ = |Σⱼ yⱼ z(wᵢ, xⱼ)|², the squared
    modulus of a complex number: the sum of the squares of its two columns (Algorithm 1, Eq. 15). No matrix is inverted.

    Parameters
    ----------
    n_components : number of output columns, even; s = ``n_components``/2.
    variant : 'as-written' or 'reweighted', as in LeverageScoreFeatures; reweighted scores single columns.
    form : 'eq14', the score above, which the paper's experiments use; 'eq12' adds n‖zᵢ‖², the surrogate of its theory.
    pool : l/s, the frequencies drawn to choose from, as a multiple of those chosen; 1 or more. None is 1.
    kernel, gamma, random_state : as in RandomFourierFeatures, whose frequencies the pool's are.

    Attributes
    ----------
    frequencies_, weights_, probabilities_, offset_ : as in LeverageScoreFeatures.

    Notes
    -----
    ``fit`` needs targets y. Labels (n,) are text, booleans, integers, or floats with two to MOST_CLASSES different
    whole numbers. Two classes become −1 and +1; of more classes each is scored against the rest, and the scores are
    summed. Other floats (n,), and any array (n, t), are values and are used unchanged. The estimators of this package
    give (n, t), so that a regression is never taken for classes. Cost: one pass over the base features, n·l·(d + 2)
    multiplications, and memory for one row block of them. As written, for one target, the scores of 'eq14' have single
    precision for every dtype of X: this hardly ever changes the draw, and changes the weights by a few 1e-6.

    References
    ----------
    F. Liu, X. Huang, Y. Chen, J. Yang, J. Suykens, "Random Fourier features via fast surrogate leverage
    weighted sampling", AAAI 2020.
    """

    serves: ClassVar[MapServes] = replace(
        PooledFeatures.serves, fits_on="inputs and targets", fit_sums="n*l*(d + 2*t + 2)",
        source="Liu et al., AAAI 2020",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {**PooledFeatures.choices, "form": ("eq14", "eq12")}
    takes_targets = True  # (n, t) from an estimator, which knows whether they are classes

    def __init__(
        self, n_components: int = 100, *, variant: str = "as-written", form: str = "eq14", pool: float | None = 1,
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.variant = variant
        self.form = form
        self.pool = pool

    def fit(self, X: Any, y: Any) -> SurrogateLeverageFeatures:
        """Draw the pool, score it on X (n, d) with targets y (n,), and choose."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        targets = scored_targets(y, self)
        check_consistent_length(X, targets)
        self._fit(X, targets)
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        return ("right_side", "squared_norms") if self.form == "eq12" else ("right_side",)

    def column_scores(  # type: ignore[override]
        self, n: int, *, right_side: NDArray[np.float64], squared_norms: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.float64]:
        return alignment_scores(right_side, squared_norms, n)
