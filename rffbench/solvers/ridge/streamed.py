"""The estimators of ridge regression on features, streamed over row blocks by `rffbench.solvers.ridge.streaming`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rffbench.solvers.ridge.settings import ALPHAS, Center, Method, RidgeScale, Scoring
from rffbench.solvers.ridge.streaming import StreamingClassifier, StreamingCV, StreamingRegressor
from rffbench.solvers.weights import ClassWeight


class StreamedRidge(StreamingRegressor):
    """Ridge regression min ‖y − Zβ − c‖² + nλ‖β‖², streamed over row blocks.

    Peak memory is about p² numbers and a block for p columns of Z and any number of rows n.

    Parameters
    ----------
    alpha : float
        λ ≥ 0.
    lambda_scale : 'n', 1 or 'trace'
        'n': the penalty on ‖β‖² is n·λ, with the n training rows of that fit (Liu et al. 2020, Eq. 8); 1: it is λ;
        'trace': it is λ·tr(ZᵀZ), n·λ times the mean of ‖z‖², so that scaling all columns does not change the meaning of
        λ. With ``center='both'`` the columns' means are subtracted from Z first.
    method : None, 'cholesky', 'svd' or 'cg'
        'cholesky': the normal equations, ZᵀZ + nλI, which lose a λ below ε times the mean of ‖z‖², ε = 2.2e-16.

        'svd': the singular values of Z, by QR factors of row blocks, accurate down to (p·ε)² times the largest
        eigenvalue of ZᵀZ/n. Smaller λ give the solution of λ = 0, that of minimum norm, where singular values below p·ε
        times the largest count as 0. It takes several times as long.

        'cg': only for sparse features, as from random binning: conjugate gradients for all λ together, in memory linear
        in the numbers of Z.

        None: 'svd' if a λ is 0, or below ε with ``lambda_scale='trace'``, else 'cholesky'; for sparse features 'cg' if
        ZᵀZ would have more numbers than Z. A `rffbench.errors.Fallback` warning names a λ that is lost.
    center : True, 'target', 'both' or False
        True or 'target': the targets' training mean is subtracted, and added back to predictions, as
        ``Ridge(fit_intercept=False)`` on y − ȳ; 'both': an unpenalised intercept, as
        ``Ridge(fit_intercept=True)``; False: neither.
    features : transformer or None
        A feature map, cloned, fitted on the training rows and applied block by block; None: Z is X.
    block_rows : int or None
        Rows per block; None chooses by the number of columns.
    memory : int or None
        Bytes that the fit may use besides X. The statistics of all folds are kept if they fit (one pass over the
        rows), else those of one training set at a time (one pass per fold); MemoryBudgetError, before anything
        is computed, if neither fits.

    Attributes
    ----------
    coef_ : (p,) or (t, p) float64
    intercept_ : float or (t,) float64
    alpha_ : float
        The λ of the fit.
    accuracy_ : tuple
        The ``method``, ``smallest_alpha``, the smallest λ that rounding does not hide, and ``unit``, the penalty at
        λ = 1.
    features_ : the fitted feature map, if ``features`` is given.
    timing_ : dict
        Seconds in 'feature_s' (fitting and applying the feature map), 'gram_s' and 'solve_s', without the time in which
        a lazy X fetched rows (its ``seconds``).

    Notes ----- ``partial_fit`` adds rows to the statistics, (folds + 1)/2·p² numbers that the model keeps, and solves
    for all rows so far, with the result of a ``fit`` to all rows. A feature map is fitted to the first part only. The
    estimators that choose λ divide each part among the folds. ``fit`` forgets the parts.

    Feature maps never make a CSR matrix dense. Without ``features``, row blocks of it are made dense, or only its
    kernel matrix if there are fewer rows than columns.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = StreamedRidge(alpha=1e-12, center="both").fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(6)
    array([9.])
    """

    def __init__(
        self, alpha: float = 1e-3, *, lambda_scale: RidgeScale = "n", method: Method | None = None,
        center: Center = True, features: Any = None, block_rows: int | None = None, memory: int | None = None,
    ) -> None:  # fmt: skip
        self.alpha = alpha
        self.lambda_scale = lambda_scale
        self.method = method
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory

    def _grid(self) -> tuple[list[float], int]:
        return [self.alpha], 1


class StreamedRidgeCV(StreamingCV, StreamingRegressor):
    """Streamed ridge regression with λ from ``alphas`` by cross-validation on mean squared error.

    Without ``alphas`` it chooses among the powers of ten from 1e-6 to 1. ``path=True`` also keeps the solution at every
    λ, for `predict_path`.

    Folds are contiguous blocks of the training rows, with the sizes of scikit-learn's ``KFold(folds)``. The λ with the
    smallest held-out mean squared error, averaged over folds, is fitted to all rows. Peak memory is about
    (folds + 1)/2·p² numbers and a block. Other parameters and attributes are as in `StreamedRidge`.

    On 2,048 columns or more, one Cholesky factor for each λ serves all folds, if these are alike
    (`rffbench.solvers.ridge.cross_validation`). ``coef_`` is the same; held-out errors are, to about 9 digits.

    Attributes
    ----------
    alpha_ : float
        The chosen λ.
    cv_results_ : dict
        'alpha' (a,), 'fold_test_error' (a, folds), 'mean_test_error' (a,); with one alpha the latter two are empty.
    """

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, folds: int = 5, lambda_scale: RidgeScale = "n",
        method: Method | None = None, center: Center = True, features: Any = None, block_rows: int | None = None,
        memory: int | None = None, path: bool = False,
    ) -> None:  # fmt: skip
        self.alphas = alphas
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.method = method
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory
        self.path = path


class StreamedRidgeClassifier(StreamingClassifier):
    """The sign of a streamed ridge regression on targets −1/+1; one against the rest for more classes.

    Labels may be text, numbers or anything that sorts. All classes share one Gram matrix, and one factor of it.
    Parameters and attributes are as in `StreamedRidge`, and

    Parameters
    ----------
    class_weight : None, 'balanced' or a dictionary from label to weight
        The factor of a row's ``sample_weight``. 'balanced': n/(classes·rows of its class), where n and rows are sums of
        ``sample_weight``, so that all classes have the same total weight; not for ``partial_fit``.

    Attributes
    ----------
    classes_ : the labels, sorted; of two, the second is the positive one.
    """

    def __init__(
        self, alpha: float = 1e-3, *, lambda_scale: RidgeScale = "n", method: Method | None = None,
        center: Center = True, features: Any = None, block_rows: int | None = None, memory: int | None = None,
        class_weight: ClassWeight = None,
    ) -> None:  # fmt: skip
        self.alpha = alpha
        self.lambda_scale = lambda_scale
        self.method = method
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory
        self.class_weight = class_weight

    def _grid(self) -> tuple[list[float], int]:
        return [self.alpha], 1


class StreamedRidgeClassifierCV(StreamingCV, StreamingClassifier):
    """`StreamedRidgeClassifier` with λ from ``alphas`` by cross-validation, as in `StreamedRidgeCV`.

    λ is chosen by mean squared error on the −1/+1 targets, or with ``scoring='accuracy'`` by the share of wrong labels,
    which needs a second pass over the rows.
    """

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, folds: int = 5, lambda_scale: RidgeScale = "n",
        method: Method | None = None, center: Center = True, features: Any = None, block_rows: int | None = None,
        memory: int | None = None, scoring: Scoring = None, path: bool = False, class_weight: ClassWeight = None,
    ) -> None:  # fmt: skip
        self.alphas = alphas
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.method = method
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory
        self.scoring = scoring
        self.path = path
        self.class_weight = class_weight
