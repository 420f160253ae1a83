"""Exact kernel machines for classification: the squared hinge by this package, the hinge by LIBSVM."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast, get_args

import numba
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rffbench.arguments.parameters import WrongParameter, check_choice, check_memory, check_positive
from rffbench.arguments.rowsource import BLOCK_ROWS, Stopwatch, row_blocks
from rffbench.arguments.seeds import RandomState
from rffbench.errors import MemoryBudgetError
from rffbench.io.text import BYTES, quantity
from rffbench.kernels import GaussianKernel, Kernel
from rffbench.kernels.bandwidth import Bandwidth
from rffbench.kernels.own import OwnKernel
from rffbench.linalg.kernel_rows import kernel_product
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, checked_rows, read_rows
from rffbench.solvers.platt import Calibrate
from rffbench.solvers.svm.dual_descent import solve_squared_hinge, warm_up, working_bytes
from rffbench.solvers.svm.libraries import heard, load, warn_of_libsvm
from rffbench.solvers.svm.libsvm_nodes import NODE, dense_nodes, problem_of

Loss = Literal["squared-hinge", "hinge"]
USUAL_STEPS = 7000  # multiply-adds over n^1.5·√d; the shipped results have 0.4 to 1.8 times this, ijcnn1 a fifth
MANY_NUMBERS = 1 << 15  # a row of K of fewer rows and columns is computed sooner than threads wake for it
LIBSVM_BYTES = 120  # LIBSVM's vectors, per point
REACH = 1e4  # largest coordinate, in widths of the kernel: single precision then rounds to 1e-3 of a width


def _cache_bytes(cache: int | str) -> int:
    """``cache`` in bytes; ValueError if it is not a size."""
    try:
        size = cast(float, quantity(BYTES, "200MB")(cache))
    except ValueError as error:
        raise WrongParameter("cache", str(error)) from None
    check_positive("cache", size)
    return int(size)


def _check_reach(X: NDArray[np.float64], kernel: Kernel) -> None:
    """ValueError if points are so far from their mean, in widths of the kernel, that its values are mostly rounding."""
    if not kernel.of_differences:
        return
    X = kernel.scaled(X)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.max([np.abs(column - column.mean()).max() for column in X.T])
    if not largest * kernel.unit_scale <= REACH:
        sigma = kernel.sigma_from_gamma(kernel.gamma)
        raise ValueError(
            f"X has numbers {largest:.2g} from their column's mean; with σ = {sigma:.4g} (γ = {kernel.gamma:.4g}) the "
            f"kernel is lost in rounding beyond {REACH / kernel.unit_scale:.2g}: scale X first, or take a larger σ"
        )


class _Machine(NamedTuple):
    """Σᵢ βᵢk(xᵢ, ·) + b, and its values f(xᵢ) + b at the training points, or None if unknown."""

    coefficients: NDArray[np.float64]
    bias: float
    decision: NDArray[np.float64] | None


class KernelSVM(Bandwidth, Classifier):
    """The support vector machine f = argmin ½‖f‖² + C·Σᵢ L(f(xᵢ) + b, yᵢ) over the kernel's Hilbert space.

    Multiplied by 1/(CN), that is (λ/2)‖f‖² + (1/N)Σ L with λN = 1/C (Yen et al. 2014, Eq. 1): their λN = 1 is C = 1,
    for either loss. K is not stored: memory is the cache, the points and some numbers per point.

    Parameters
    ----------
    loss : 'squared-hinge' or 'hinge'
        'squared-hinge': L = max(0, 1 − yz)², with the dual min ½αᵀ(Q + I/(2C))α − eᵀα, α ≥ 0, Qᵢⱼ = yᵢyⱼk(xᵢ, xⱼ), by
        `rffbench.solvers.svm.dual_descent`, for every kernel. 'hinge': L = max(0, 1 − yz), by LIBSVM, which computes
        the Gaussian kernel itself; for other kernels it needs all n² values, 16 bytes each.
    C : float
        The weight of the loss, C > 0.
    kernel, gamma : as in `rffbench.kernels.make_kernel`; or gamma is 'scale' or 'median', of the rows
        (`rffbench.kernels.bandwidth.gamma_of_rows`), as in the feature maps. A kernel of your own as in
        `NystroemFeatures`, but a callable takes two sets of rows and gives their matrix, as in scikit-learn's SVC.
    bias : bool
        Whether there is an unpenalised b, as in LIBSVM, which trained the paper's kernel machines; False, as in the
        paper's formula, only for the squared hinge.
    tolerance : float
        The steps end at this violation of the dual's optimality, on LIBSVM's scale.
    cache : int or str
        Bytes for rows of the kernel matrix, such as '200MB'.
    memory : int or None
        Bytes that the fit may use besides X; MemoryBudgetError, before anything is computed, if that is too little.
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState
        Draws the rows for 'median' if there are many.

    Attributes
    ----------
    gamma_ : γ as a number.
    X_fit_ : the support vectors (m, d) float64.
    dual_coef_ : yᵢαᵢ of these, (m,), or (m, classes), one against the rest, for more than two classes.
    intercept_ : b, a float or (classes,).
    metrics_ : 'model_size', m; 'objective', (λ/2)‖f‖² + (1/N)Σ L, the mean over classes.
    timing_ : as in `StreamedRidge`; all time is 'solve_s'.

    References
    ----------
    C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", ACM TIST 2, 2011.
    I. Yen et al., "Sparse random feature algorithm as coordinate descent in Hilbert space", NIPS 2014.
    """

    own_kernels = "matrices"

    def __init__(
        self, loss: str = "squared-hinge", C: float = 1.0, *, kernel: str | Kernel = "gaussian",
        gamma: float | str = 1.0, bias: bool = True, tolerance: float = 1e-3, cache: int | str = "200MB",
        memory: int | None = None, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.bias = bias
        self.tolerance = tolerance
        self.cache = cache
        self.memory = memory
        self.random_state = random_state

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_choice("loss", self.loss, get_args(Loss))
        check_choice("bias", self.bias, (True, False))
        self._check_kernel()
        check_positive("C", self.C)
        check_memory(self.memory)
        check_positive("tolerance", self.tolerance)
        _cache_bytes(self.cache)
        if self.loss == "hinge" and not self.bias:
            raise WrongParameter("bias", "must be True with loss='hinge', because LIBSVM has an intercept")

    def check_installed(self) -> None:
        """ConfigError, with what to install, if the loss needs LIBSVM, and that is missing."""
        if self.loss == "hinge":
            _load_libsvm()

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        self.check_parameters()
        what, needed = self._needed(*X.shape)
        if self.memory is not None and needed > self.memory:
            raise MemoryBudgetError(f"{what} on {X.shape[0]} rows", needed, self.memory)
        X = read_rows(X)
        self._learn_gamma(X)
        kernel = self.kernel_
        _check_reach(X, kernel)
        if not isinstance(kernel, OwnKernel):
            warm_up(kernel)
        self.check_installed()  # loading it is not timed
        solve = self._squared_hinge if self.loss == "squared-hinge" else self._libsvm
        with Stopwatch() as solving:
            machines = [solve(X, column, kernel) for column in Y.T]
            coefficients = np.stack([machine.coefficients for machine in machines], axis=1)
            support = np.flatnonzero(coefficients.any(axis=1))
            self.X_fit_ = X[support]
        self.timing_ = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": solving.seconds}
        single = len(machines) == 1
        self.dual_coef_ = coefficients[support, 0] if single else coefficients[support]
        self.intercept_ = machines[0].bias if single else np.array([machine.bias for machine in machines])
        objectives = [self._objective(machine, target, X) for machine, target in zip(machines, Y.T, strict=True)]
        self.metrics_ = {"model_size": float(len(support)), "objective": float(np.mean(objectives))}
        self._own = self._own and self._own.without_matrix()

    def bytes_to_fit(self, n: int, d: int) -> int:
        """The bytes that a fit to (n, d) rows needs besides the rows; the cache is at most all of K, float32."""
        return self._needed(n, d)[1] - max(0, _cache_bytes(self.cache) - 4 * n * n)

    def _needed(self, n: int, d: int) -> tuple[str, int]:
        """The part that needs the memory, in words, and the most bytes that it needs."""
        cache = _cache_bytes(self.cache)
        if self.loss == "squared-hinge":
            return "squared-hinge kernel machine", cache + 2 * 8 * d * n + working_bytes(n, d)
        kernel = self._check_kernel()
        if isinstance(kernel, GaussianKernel):
            return "LIBSVM", max(cache, 8 * n) + ((8 + 12 + NODE.itemsize) * d + LIBSVM_BYTES) * n
        matrix = NODE.itemsize * n * (n + 2) + 8 * n * min(n, BLOCK_ROWS)
        what = f"LIBSVM, which needs the whole {kernel.called()} kernel matrix,"
        return what, max(cache, 8 * n) + matrix + LIBSVM_BYTES * n

    def _squared_hinge(self, X: NDArray[np.float64], y: NDArray[np.float64], kernel: Kernel) -> _Machine:
        solution = solve_squared_hinge(
            X, y, kernel, C=float(self.C), bias=bool(self.bias), tolerance=float(self.tolerance),
            cache_bytes=_cache_bytes(self.cache),
        )  # fmt: skip
        return _Machine(solution.coefficients, solution.bias, solution.decision)

    def _libsvm(self, X: NDArray[np.float64], y: NDArray[np.float64], kernel: Kernel) -> _Machine:
        from scipy.sparse import csr_matrix

        library = _load_libsvm()
        gaussian = isinstance(kernel, GaussianKernel)
        if gaussian:
            problem = library.svm_problem(y, csr_matrix(kernel.scaled(X)))
        else:  # LIBSVM needs the row's number, then its values
            nodes = dense_nodes(len(y), len(y) + 1, first_index=0)
            nodes["value"][:, 0] = np.arange(1, len(y) + 1)
            for rows in row_blocks(len(y)):
                nodes["value"][rows, 1:-1] = kernel(X[rows], X)
            problem = problem_of(library.svm_problem, nodes, y)
        megabytes = _cache_bytes(self.cache) / 2**20
        options = f"-q -s 0 -t {2 if gaussian else 4} -g {kernel.gamma!r} -c {self.C!r} -e {self.tolerance!r}"
        parameter = library.svm_parameter(f"{options} -m {megabytes!r}")
        threads = numba.get_num_threads() if X.size >= MANY_NUMBERS else 1
        with (
            threadpool_limits(threads, user_api="openmp"),  # it computes rows in threads
            heard(library.libsvm.svm_set_print_string_function) as printed,
        ):
            model = library.toPyModel(library.libsvm.svm_train(problem, parameter))
        warn_of_libsvm(printed, len(y))
        support = np.array(model.get_sv_indices()) - 1
        coefficients = np.zeros(len(y))  # yᵢαᵢ, also if the first label is −1
        coefficients[support] = np.array(model.get_sv_coef())[:, 0]
        return _Machine(coefficients, -model.rho[0], None)

    def _objective(self, machine: _Machine, y: NDArray[np.float64], X: NDArray[np.float64]) -> float:
        """(λ/2)‖f‖² + (1/N)Σ L, λN = 1/C; ‖f‖² = βᵀKβ is Σ βᵢf(xᵢ) over the support vectors."""
        beta = machine.coefficients
        decision = machine.decision
        if decision is None:
            support = np.flatnonzero(beta)
            kernel = self.kernel_
            decision = kernel_product(kernel, np.ascontiguousarray(X[support].T), beta[support, None], X)[:, 0]
            decision += machine.bias
        slack = np.maximum(0, 1 - y * decision)
        loss = slack if self.loss == "hinge" else slack**2
        return float(beta @ (decision - machine.bias)) / (2 * self.C * len(y)) + float(loss.mean())

    def _linear(self, X: Any) -> NDArray[np.float64]:
        """Σ k(x, xᵢ)βᵢ + b over the support vectors, a block of rows at a time."""
        kernel = self.kernel_
        coefficients = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        if isinstance(kernel, OwnKernel):
            decision = kernel.product(X, self.X_fit_, coefficients) + self.intercept_
        else:
            columns = np.ascontiguousarray(self.X_fit_.T)
            blocks = [
                kernel_product(kernel, columns, coefficients, np.array(checked_rows(X, rows), dtype=np.float64))
                for rows in row_blocks(X.shape[0])
            ]
            decision = np.concatenate(blocks) + self.intercept_
        return decision[:, 0] if self.dual_coef_.ndim == 1 else decision


def _load_libsvm() -> Any:
    return load("LIBSVM", "loss", "loss: squared-hinge")


@serves(
    SolverServes(
        uses="kernel rows", tasks=("classification",), iterative=True, cost=f"{USUAL_STEPS}*c*n**1.5*d**0.5",
        libraries=("LIBSVM",), source="Chang and Lin, ACM TIST 2011",
    )
)  # fmt: skip
def make_kernel_svm(
    *, task: str, kernel: str, gamma: float, memory: int | None = None,
    loss: Loss = "squared-hinge", C: float = 1.0, bias: bool = True, tolerance: float = 1e-3,
    cache: int | str = "200MB", calibrate: Calibrate = None,
) -> KernelSVM:  # fmt: skip
    """Exact support vector machine: squared hinge for every kernel, or hinge by LIBSVM, without storing K.

    Parameters
    ----------
    loss : the hinge max(0, 1 − yf), or its square.
    C : the weight of the loss.
    bias : whether there is an intercept; the hinge always has one.
    tolerance : the steps end at this violation of the dual's optimality.
    cache : memory for rows of the kernel matrix: bytes, or with a unit, as 200MB.
    calibrate : null; or platt: probabilities by a sigmoid of the decision scores of held-out rows, as of ridge.
    """
    check_choice("calibrate", calibrate, (None, "platt"))
    return KernelSVM(loss, C, kernel=kernel, gamma=gamma, bias=bias, tolerance=tolerance, cache=cache, memory=memory)
