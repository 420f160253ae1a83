"""The weights of training rows: ``sample_weight`` and ``class_weight`` together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from rffbench.arguments.parameters import WrongParameter, check_choice

Balanced = Literal["balanced"] | None
ClassWeight = Mapping[Any, float] | Balanced


def check_class_weight(class_weight: Any) -> None:
    """ValueError if ``class_weight`` is not one of None, 'balanced' and a dictionary."""
    if class_weight is not None and class_weight != "balanced" and not isinstance(class_weight, Mapping):
        raise WrongParameter("class_weight", f"must be None, 'balanced' or label: weight, got {class_weight!r}")


def check_balanced(class_weight: Any, task: str) -> None:
    """ValueError if a config's ``class_weight`` is neither null nor 'balanced', or balances a regression. A config
    cannot name classes, because a trial's labels are numbers without meaning."""
    check_choice("class_weight", class_weight, (None, "balanced"))
    if task == "regression" and class_weight:
        raise WrongParameter("class_weight", f"must be null for a regression, {class_weight!r} is for classification")


def row_weights(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
    """``sample_weight`` as weights (n,), from an array or one number: not negative, and not all 0."""
    if sample_weight is None:
        return None
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))


def class_row_weights(
    class_weight: ClassWeight, classes: NDArray, Y: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """``weights`` (n,) times each row's class weight; Y are the classes' targets −1/+1.

    'balanced' gives each of c classes the weight Σw/(c·Σ_class w), so that all classes have the same total weight. With
    equal w this is scikit-learn's.
    """
    if class_weight is None:
        return weights
    code = (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else Y.argmax(axis=1)
    given = np.ones(len(Y)) if weights is None else weights
    if isinstance(class_weight, Mapping):
        of_class = compute_class_weight(dict(class_weight), classes=classes, y=classes[code])
    else:
        totals = np.bincount(code, given, minlength=len(classes))
        of_class = given.sum() / (len(classes) * np.where(totals > 0, totals, 1))
    return given * of_class[code]


def check_counted(Y: NDArray[np.float64], weights: NDArray[np.float64] | None, classes: NDArray) -> None:
    """ValueError if all rows of a class, or all other rows, have weight 0; Y are targets −1/+1."""
    if weights is None:
        return
    for index, column in enumerate(Y.T):
        for sign, of in ((1, "the rows of"), (-1, "all rows but those of")):
            if not weights[column == sign].any():
                label = classes[-1] if Y.shape[1] == 1 else classes[index]
                raise ValueError(f"{of} class {label!s} all have weight 0: leave them out, or give them a weight")
