"""Linear machines on features, for classification: Newton steps on Z, held or streamed, or LIBLINEAR."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from ctypes import pointer
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rffbench.arguments.parameters import WrongParameter, check_choice, check_map, check_memory, check_positive
from rffbench.arguments.rowsource import Stopwatch, row_blocks
from rffbench.errors import MemoryBudgetError
from rffbench.features.base import check_finite, fitted_map, mapped
from rffbench.features.hooks import hook, makes_sparse, most_columns
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, default_block_rows
from rffbench.solvers.feature_rows import FeatureRows
from rffbench.solvers.platt import Calibrate
from rffbench.solvers.svm.libraries import heard, load, warn_of_liblinear
from rffbench.solvers.svm.libsvm_nodes import NODE, dense_nodes, problem_of
from rffbench.solvers.svm.primal_newton import (
    PARTS,
    SAMPLED,
    minimise_squared_hinge,
    sampled_bytes,
    sampled_hessian,
    warm_up,
)
from rffbench.solvers.weights import (
    Balanced,
    ClassWeight,
    check_balanced,
    check_class_weight,
    check_counted,
    class_row_weights,
    row_weights,
)

Loss = Literal["squared-hinge", "hinge"]
Method = Literal["auto", "held", "streamed", "liblinear", "liblinear-dual"]
# LIBLINEAR's solver (its -s) for a loss and a method; the other methods are this package's.
LIBLINEAR = {("squared-hinge", "liblinear"): 2, ("squared-hinge", "liblinear-dual"): 1, ("hinge", "liblinear-dual"): 3}
OURS = ("held", "streamed")
VECTORS = 12  # a solver holds this many vectors (n,) and (p,) besides Z


class _Machine(NamedTuple):
    """The weights (p,) and facts about the fit: steps and passes over the rows, if known."""

    weights: NDArray[np.float64]
    counts: dict[str, float]


class _Plan(NamedTuple):
    """The method of a fit, whether a sample's Hessian preconditions it, and the bytes that it needs."""

    method: str
    preconditioned: bool
    training_bytes: int


class LinearSVM(Classifier):
    """The linear machine min ½(‖w‖² + b²) + C·Σ L(zᵢᵀw + B·b, yᵢ) on features z, with an intercept B·b.

    Multiplied by 1/(CN) that is (λ/2)‖w‖² + (1/N)Σ L with λN = 1/C (Yen et al. 2014, Eq. 6): their λN = 1 is C = 1.
    With weights c it is C·Σ cᵢL and N = Σc: a row of weight c counts as c equal rows.

    Parameters
    ----------
    features : transformer or None
        A feature map, cloned, fitted on the training rows and applied block by block; None: Z is X.
    loss : 'squared-hinge' or 'hinge'
        L = max(0, 1 − yz)², or max(0, 1 − yz), which only 'liblinear-dual' minimises; with it 'auto' is that method.
    C : float
        The weight of the loss, C > 0.
    bias : float
        B: a constant column of this value joins the features, as with LIBLINEAR's ``-B``; 0: no intercept.
    method : 'auto', 'held', 'streamed', 'liblinear' or 'liblinear-dual' 'liblinear' is LIBLINEAR's Newton method in the
        primal (``-s 2``), which the paper used; 'liblinear-dual' is its coordinate descent (``-s 1``, hinge ``-s 3``).
        Both hold Z as sparse nodes, 16 bytes per number. The others are `rffbench.solvers.svm.primal_newton`: 'held'
        keeps Z in X's dtype, 'streamed' maps the rows again in each pass, and 'auto' is 'held' if ``memory`` allows,
        else 'streamed'. To need fewer passes, 'streamed' also keeps the Hessian of a sample, 8(D+1)² bytes, if there
        are four rows per feature and ``memory`` allows it. Sparse features, and a CSR matrix X without features, stay
        sparse and are held; only 'auto' and 'held' take them.
    tolerance : float
        LIBLINEAR's ``-e``; the methods of this package stop as its ``-s 2``.
    class_weight : None, 'balanced' or a dictionary from label to weight
        The factor of a row's ``sample_weight``, as in `StreamedRidgeClassifier`. LIBLINEAR has no weights for rows;
        with weights, scikit-learn's modified copy of it is used.
    memory : int or None
        Bytes that the fit may use besides X; MemoryBudgetError, before anything is computed, if that is too little.

    Attributes
    ----------
    coef_ : w, (D,), or (classes, D), one against the rest, for more than two classes.
    intercept_ : B·b, a float or (classes,).
    features_ : the fitted feature map, if there is one.
    metrics_ : 'model_size', D; 'objective', (λ/2)(‖w‖² + b²) + (1/N)Σ L; 'training_bytes', the memory as computed
        beforehand; for 'held' and 'streamed' also 'newton_steps' and 'passes' over the rows.
    timing_ : seconds; 'feature_s' for mapping each row once, 'solve_s' for the rest.

    References
    ----------
    R.-E. Fan et al., "LIBLINEAR: a library for large linear classification", JMLR 9, 2008.
    """

    accepts_sparse = True

    _weights: NDArray[np.float64] | None = None  # the rows' weights, during a fit

    def __init__(
        self, features: Any = None, loss: str = "squared-hinge", C: float = 1.0, *, bias: float = 1.0,
        method: str = "auto", tolerance: float = 0.01, class_weight: ClassWeight = None, memory: int | None = None,
    ) -> None:  # fmt: skip
        self.features = features
        self.loss = loss
        self.C = C
        self.bias = bias
        self.method = method
        self.tolerance = tolerance
        self.class_weight = class_weight
        self.memory = memory

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_choice("loss", self.loss, get_args(Loss))
        check_choice("method", self.method, get_args(Method))
        check_positive("C", self.C)
        check_memory(self.memory)
        check_map(self.features)
        check_positive("tolerance", self.tolerance)
        if self.bias != 0:
            check_positive("bias", self.bias)
        if self.loss == "hinge" and self._method != "liblinear-dual":
            raise WrongParameter("method", f"must be 'auto' or 'liblinear-dual' with loss='hinge', got {self.method!r}")
        check_class_weight(self.class_weight)
        if makes_sparse(self.features):
            self._check_sparse("sparse features")

    def _check_sparse(self, what: str) -> None:
        """WrongParameter if loss or method do not take a sparse Z, which ``what`` names."""
        if self.loss == "hinge":
            raise WrongParameter("loss", f"must be 'squared-hinge' for {what}, got 'hinge'")
        if self.method not in ("auto", "held"):
            raise WrongParameter("method", f"must be 'auto' or 'held' for {what}, got {self.method!r}")

    @property
    def _method(self) -> str:
        """``method``; of the hinge, which only one method minimises, 'auto' is that."""
        return "liblinear-dual" if self.loss == "hinge" and self.method == "auto" else self.method

    def check_installed(self) -> None:
        """ConfigError, with what to install, if the method's library is missing."""
        if "liblinear" in self._method and self.class_weight is None:
            _load_liblinear()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.features is not None or self.method in ("auto", "held")
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVM:
        """Fit to the labels y (n,), of any type. X: (n, d) array, CSR matrix, or a lazy array with shape, dtype and row
        slices. ``sample_weight`` (n,): a row of weight w counts as w equal rows."""
        self.check_parameters()
        X, Y, y = self._targets(X, y)
        self._weights = class_row_weights(self.class_weight, self.classes_, Y, row_weights(sample_weight, X))
        try:
            self._fit_targets(X, Y, y)
        finally:
            del self._weights
        return self

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        check_counted(Y, self._weights, self.classes_)
        known = int(X.shape[1]) if self.features is None else getattr(self.features, "n_components", None)
        if known is not None:  # to refuse before the map is fitted
            self._plan(X.shape[0], known, X.dtype, self._entries(X))
        columns = int(X.shape[1])
        with Stopwatch(X) as fitting:
            self.__dict__.pop("features_", None)  # of an earlier fit
            if self.features is not None:
                self.features_ = fitted_map(self.features, X, y, Y)
                columns = mapped(self.features_, X[:1]).shape[1]
        plan = self._plan(X.shape[0], columns, X.dtype, self._entries(X))
        solve = self._newton if plan.method in OURS else self._liblinear
        if plan.method in OURS:
            warm_up(X.dtype)
        elif self._weights is None:
            self.check_installed()  # loading it is not timed
        else:
            solve = self._weighted_liblinear
        with Stopwatch(X) as solving:
            machines, map_s = solve(X, Y, columns, plan)
        self.timing_ = {"feature_s": fitting.seconds + map_s, "gram_s": 0.0, "solve_s": solving.seconds - map_s}
        weights = np.stack([machine.weights for machine in machines])
        single = len(machines) == 1
        self.coef_ = weights[0, :columns] if single else weights[:, :columns]
        intercepts = self.bias * weights[:, columns] if self.bias else np.zeros(len(machines))
        self.intercept_ = float(intercepts[0]) if single else intercepts
        self.metrics_ = {"model_size": float(columns), "training_bytes": float(plan.training_bytes)}
        for name in machines[0].counts:
            self.metrics_[name] = float(np.mean([machine.counts[name] for machine in machines]))

    def bytes_to_fit(self, n: int, d: int) -> int:
        """The bytes that a fit to (n, d) float64 rows needs besides the rows."""
        columns = d if self.features is None else most_columns(self.features, n)
        entries = columns if makes_sparse(self.features) else None
        needed = self._plan(n, columns, np.dtype(np.float64), entries).training_bytes
        return max(needed, hook(self.features, "bytes_to_fit"))

    def _entries(self, X: Any) -> int | None:
        """The number of entries of a sparse Z, sparse features or a CSR matrix X; None for a dense Z."""
        if makes_sparse(self.features):
            return most_columns(self.features, X.shape[0])
        return int(X.nnz) if self.features is None and issparse(X) else None

    def _plan(self, n: int, columns: int, dtype: np.dtype, entries: int | None = None) -> _Plan:
        """The plan of the fit; MemoryBudgetError if it needs too many bytes."""
        p = columns + (self.bias != 0)
        block_rows = min(n, default_block_rows(p))
        block = block_rows * p * dtype.itemsize
        vectors = 8 * (VECTORS * (n + p) + PARTS * p)
        needed = {
            "held": n * p * dtype.itemsize + vectors,
            "streamed": block + vectors,
            "liblinear": NODE.itemsize * n * (p + 1) + block + vectors,
        }
        needed["liblinear-dual"] = needed["liblinear"]
        if self._weights is not None:  # and their roots, and the labels times these
            needed = {name: each + 8 * n * (3 + p * ("liblinear" in name)) for name, each in needed.items()}
        memory = sys.maxsize if self.memory is None else self.memory
        method = self._method
        if entries is not None:
            if self.features is None:
                self._check_sparse("a sparse X without features")
            copies = 1 if self.features is None else 2  # with the constant column, and without
            needed["held"] = (copies * entries + n) * (dtype.itemsize + 8) + 8 * n + vectors
            if self._weights is not None:  # each entry's row's root
                needed["held"] += 8 * (3 * n + entries)
            method = "held"
        if method == "auto":
            method = "held" if needed["held"] <= memory else "streamed"
        if needed[method] > memory:
            what = "LIBLINEAR" if "liblinear" in method else "a linear machine"
            raise MemoryBudgetError(f"{what} on {n} rows of {columns} features", needed[method], memory)
        with_sample = needed[method] + sampled_bytes(p, block_rows, dtype)
        if method == "streamed" and n >= SAMPLED * p and with_sample <= memory:
            return _Plan(method, True, with_sample)
        return _Plan(method, False, needed[method])

    def _newton(self, X: Any, Y: NDArray[np.float64], columns: int, plan: _Plan) -> tuple[list[_Machine], float]:
        """A machine for each column of Y, and the seconds of mapping."""
        roots = None if self._weights is None else np.sqrt(self._weights)
        rows = FeatureRows(
            X, getattr(self, "features_", None), columns, float(self.bias), hold=plan.method == "held",
            block_rows=default_block_rows(columns), factors=roots,
        )  # fmt: skip
        C, total = float(self.C), rows.n if self._weights is None else float(self._weights.sum())
        preconditioner = sampled_hessian(rows, C) if plan.preconditioned else None
        machines = []
        for y in Y.T:
            before = rows.passes
            labels = y if roots is None else roots * y
            found = minimise_squared_hinge(rows, labels, C, float(self.tolerance), preconditioner)
            counts = {
                "objective": found.objective / (C * total), "newton_steps": found.steps,
                "passes": rows.passes - before,
            }  # fmt: skip
            machines.append(_Machine(found.w, counts))
        return machines, rows.feature_s

    def _liblinear(self, X: Any, Y: NDArray[np.float64], columns: int, plan: _Plan) -> tuple[list[_Machine], float]:
        """The same by LIBLINEAR."""
        library = _load_liblinear()
        n, p = X.shape[0], columns + (self.bias != 0)
        nodes = dense_nodes(n, p)
        values = nodes["value"][:, :p]
        values[:, columns:] = self.bias
        rows = FeatureRows(
            X, getattr(self, "features_", None), columns, 0.0, hold=False, block_rows=default_block_rows(columns)
        )
        for part, Z, _ in rows.visit(np.arange(n)):
            values[part, :columns] = Z
            check_finite(rows.features, values[part, :columns])
        solver = LIBLINEAR[self.loss, plan.method]
        options = library.parameter(f"-q -s {solver} -c {float(self.C)!r} -e {float(self.tolerance)!r}")
        machines = []
        for y in Y.T:
            data = problem_of(library.problem, nodes, y, n=p, bias=float(self.bias) if self.bias else -1.0)
            with heard(library.liblinear.set_print_string_function) as printed:
                model = library.liblinear.train(data, options)
            warn_of_liblinear(printed)
            w = np.ctypeslib.as_array(model.contents.w, (p,)).copy()  # positive for 1, also if the first label is −1
            library.liblinear.free_and_destroy_model(pointer(model))
            decision = np.concatenate([values[part] @ w for part in row_blocks(n)])
            machines.append(_Machine(w, {"objective": self._objective(w, decision, y)}))
        return machines, rows.feature_s

    def _weighted_liblinear(
        self, X: Any, Y: NDArray[np.float64], columns: int, plan: _Plan
    ) -> tuple[list[_Machine], float]:
        """The same by scikit-learn's copy of LIBLINEAR, which has a C per row."""
        from sklearn.svm import LinearSVC

        weights = np.asarray(self._weights)
        rows = FeatureRows(
            X, getattr(self, "features_", None), columns, float(self.bias), hold=True,
            block_rows=default_block_rows(columns),
        )  # fmt: skip
        [(_, Z, _)] = rows.visit(np.arange(rows.n))
        machines = []
        for y in Y.T:
            machine = LinearSVC(
                loss=self.loss.replace("-", "_"), dual=plan.method == "liblinear-dual", C=float(self.C),
                tol=float(self.tolerance), fit_intercept=False, random_state=0,
            ).fit(Z, y, weights)  # fmt: skip
            w = machine.coef_[0].astype(np.float64)
            machines.append(_Machine(w, {"objective": self._objective(w, Z @ w, y)}))
        return machines, rows.feature_s

    def _objective(self, w: NDArray[np.float64], decision: NDArray[np.float64], y: NDArray[np.float64]) -> float:
        """(λ/2)(‖w‖² + b²) + (1/N)Σ L, where b is the last entry of w."""
        slack = np.maximum(0, 1 - y * decision)
        loss = slack if self.loss == "hinge" else slack**2
        total = len(y) if self._weights is None else self._weights.sum()
        return float(w @ w) / (2 * self.C * total) + float(np.average(loss, weights=self._weights))

    def _linear(self, X: Any) -> NDArray[np.float64]:
        """Zw + B·b, block by block: (n,) or (n, classes)."""
        columns = self.coef_.shape[-1]
        rows = FeatureRows(
            X, getattr(self, "features_", None), columns, 0.0, hold=False, block_rows=default_block_rows(columns)
        )
        out = np.empty((rows.n, *self.coef_.shape[:-1]))
        for part, Z, _ in rows.visit(np.arange(rows.n)):
            out[part] = Z @ self.coef_.T
        return out + self.intercept_


def _load_liblinear() -> Any:
    return load("LIBLINEAR", "method", "method: auto with loss: squared-hinge")


# Multiply-adds of a fit per number in Z; most of the shipped results have half to twice as many.
_USUAL, _USUAL_OF_LIBLINEAR = 1500, 3600


def _letters(config: Mapping[str, Any]) -> dict[str, float]:
    """i of the formula: the usual number for the config's method."""
    return {"i": _USUAL_OF_LIBLINEAR if str(config.get("method")).startswith("liblinear") else _USUAL}


@serves(
    SolverServes(
        tasks=("classification",), iterative=True, cost="i*c*n*p", sparse_cost="4*i*c*n*R", letters=_letters,
        libraries=("LIBLINEAR",),
        source="Fan et al., JMLR 2008",
    )
)  # fmt: skip
def make_linear_svm(
    *, task: str, features: Any, memory: int | None = None,
    loss: Loss = "squared-hinge", C: float = 1.0, bias: float = 1.0, method: Method = "auto", tolerance: float = 0.01,
    class_weight: Balanced = None, calibrate: Calibrate = None,
) -> LinearSVM:  # fmt: skip
    """Linear support vector machine on the features: Newton steps on Z held or streamed, or LIBLINEAR.

    Parameters
    ----------
    loss : the hinge max(0, 1 − yf), only by liblinear-dual, or its square.
    C : the weight of the loss.
    bias : the value of a constant column that joins the features; 0: no intercept.
    method : Newton steps on features that are held, or mapped again in each pass (auto: held if memory allows); or
        LIBLINEAR, in the primal or the dual, which auto is for the hinge.
    tolerance : the tolerance, as LIBLINEAR's -e.
    class_weight : null; or balanced: all classes have the same total weight.
    calibrate : null; or platt: probabilities by a sigmoid of the decision scores of held-out rows, as of ridge.
    """
    check_balanced(class_weight, task)
    check_choice("calibrate", calibrate, (None, "platt"))
    return LinearSVM(
        features, loss, C, bias=bias, method=method, tolerance=tolerance, class_weight=class_weight, memory=memory
    )
