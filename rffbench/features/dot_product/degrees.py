"""The degrees of the columns of maps whose kernel is a power series, Σₙ aₙ(xᵀx′)ⁿ."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.special import logsumexp

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.rowsource import dense_rows
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.errors import Fallback
from rffbench.features.base import FeatureMap
from rffbench.features.dot_product.allocation import Law, highest_degree, least_error_counts
from rffbench.kernels import Kernel, MaclaurinKernel, PolynomialKernel, make_kernel_with
from rffbench.kernels.bandwidth import chosen_rows
from rffbench.kernels.base import squared_lengths
from rffbench.plugins.parts import MapServes

MOST_TERMS = 200  # of a series: estimates of (xᵀx′)ⁿ with a higher n are useless
SAMPLED_ROWS = 1000  # training rows whose lengths decide how much each degree matters
A_PAIR = 500  # multiply-adds that take as long as a pair of rows and a degree, in choosing degrees by the least error
NEGLIGIBLE = 1e-12  # share of the diagonal: degrees with less are left out
LEAST_LOG = -1e4  # of a share: less is 0
POWER = 4  # of the polynomial that replaces the exponential
SINGLE_DEGREES = ("optimised", "truncated", "geometric")  # each column has one degree, drawn at random
NORM_ROWS = 200  # rows on which the norm of the features is checked
LEAST_NORM = 0.5  # share of it that a map without a warning keeps
LEAST_SAMPLED = 4  # columns beside the exact ones of degree 1: two complex ones
FEWEST_COLUMNS = 4  # of a degree that is kept; among 0.5, 1, 2 and 4 it has the smallest errors on magic04
GOLDEN = (5**0.5 - 1) / 2  # any number of its multiples modulo 1 fill [0, 1) evenly


class Terms(NamedTuple):
    """What each column estimates: ``scale``²·(gain²·xᵀx′ + constant²)^``degree``; columns of degree 0 are constant."""

    degrees: NDArray[np.int64]
    scales: NDArray[np.float64]
    gain: float = 1.0
    constant: float = 0.0


class SeriesFeatures(FeatureMap):
    """Base class: a column of degree n is r(x) times a product of n random projections of the row.

    E[φ(x)ᵀφ(x′)] = r(x)·r(x′)·Σₙ aₙ(xᵀx′)ⁿ: the columns of degree n estimate the n-th term. A subclass implements
    ``_draw`` and ``_fill``.
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=MaclaurinKernel, bias="terms of high degree left out", unbiased_if="degrees are not truncated",
        fits_on="inputs", row_cost="h*d*D", fit_cost="min(n, 1000)*d + a*min(n, 1000)**2", nests=("directions_",),
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {
        "degrees": ("optimised", "truncated", "geometric", "least-error", "product", "power"),
        "linear": ("sampled", "exact"),
    }
    accepts_sparse = True

    degrees: str
    linear: str
    linear_columns_: int  # d if the term of degree 1 has exact columns, else 0
    degrees_: NDArray[np.int64]
    scale_: NDArray[np.float64]

    def __init__(
        self, n_components: int = 100, *, degrees: str = "optimised", linear: str = "sampled",
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.degrees = degrees
        self.linear = linear

    def check_parameters(self) -> None:
        super().check_parameters()
        kernel = self._check_kernel()
        assert isinstance(kernel, MaclaurinKernel)
        served = {"product": isinstance(kernel, PolynomialKernel), "power": kernel.highest_degree is None}
        if not served.get(self.degrees, True):
            *most, last = [repr(each) for each in self.choices["degrees"] if served.get(str(each), True)]
            needed = "the polynomial kernel" if self.degrees == "product" else "kernels of infinitely many degrees"
            problem = f"must be {', '.join(most)} or {last} with the {kernel.called()} kernel"
            raise WrongParameter("degrees", f"{problem}: {self.degrees!r} is for {needed}")
        if self.linear == "exact" and self.degrees not in SINGLE_DEGREES:
            problem = f"must be 'sampled' with degrees {self.degrees!r}: 'exact' is for {', '.join(SINGLE_DEGREES)}"
            raise WrongParameter("linear", problem)
        if self.linear == "exact" and kernel.highest_degree == 1:
            raise WrongParameter("linear", "must be 'sampled' with a kernel of degree 1: the rows are its features")
        _terms_of(kernel)

    @property
    def unbiased(self) -> bool:
        return self.degrees not in ("truncated", "least-error", "power")

    def terms_in(self, columns: int) -> int:
        """The number of estimates of terms of the series that these columns hold."""
        return columns

    def letters(self, d: int) -> dict[str, float]:
        """h of the formulas: the degree of a product, else about 2, the mean degree; and a, which is measured."""
        kernel = self._check_kernel()
        if self.degrees == "least-error":
            assert isinstance(kernel, MaclaurinKernel)
            return {"h": 2, "a": A_PAIR * float(highest_degree(kernel))}
        if self.degrees == "product" and isinstance(kernel, PolynomialKernel):
            return {"h": kernel.degree, "a": 0}
        return {"h": POWER if self.degrees == "power" else 2, "a": 0}

    def fit(self, X: Any, y: Any = None) -> Any:
        """Choose the degrees by X's rows and draw the projections for its columns; y is not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        kernel = make_kernel_with(MaclaurinKernel, self.kernel, self.bandwidth)
        sequence, d = seed_sequence(self.random_state), X.shape[1]
        exact = self.linear == "exact" and kernel.coefficients(2)[1] > 0 and self.n_components >= d + LEAST_SAMPLED
        self.linear_columns_ = d if exact else 0
        count = self.terms_in(self.n_components - self.linear_columns_)
        if self.degrees == "product":
            assert isinstance(kernel, PolynomialKernel)
            terms = product_terms(kernel, count)
        elif self.degrees == "geometric":
            terms = geometric_terms(kernel, count, sequence, linear=not exact)
        elif self.degrees == "power":
            terms = power_terms(kernel, count)
        elif self.degrees == "least-error":
            terms = least_error_terms(kernel, sampled(X, sequence), count, self.law(d))
        else:
            least = FEWEST_COLUMNS if self.degrees == "truncated" else 0
            terms = optimised_terms(kernel, sampled(X, sequence), count, sequence, least=least, linear=not exact)
        self.degrees_, self.scale_ = terms.degrees, np.minimum(terms.scales, np.finfo(X.dtype).max)
        self._draw(kernel, terms, d, sequence)
        if kernel.of_differences:
            self._check_norm(X, sequence)
        return self

    def _check_norm(self, X: Any, sequence: SeedSequence) -> None:
        """Warn if little of the mean of ‖φ(x)‖², which is 1, is left. Its mean over maps is 1, but the few columns of
        high degree that would have the rest are drawn too seldom once γ‖x‖² is large."""
        rows = sampled(X, sequence)[:NORM_ROWS]
        out = np.zeros((rows.shape[0], self.n_components), X.dtype)
        self.fill(rows, out)
        kept = float(np.square(out, dtype=np.float64).sum(axis=1).mean())
        if kept < LEAST_NORM:
            warnings.warn(
                f"{type(self).__name__} keeps {100 * kept:.2g} % of the features' norm at gamma={self.bandwidth:.3g}: "
                "gamma times a row's squared length is too large for a power series; take a larger sigma, or fourier",
                Fallback, stacklevel=3,
            )  # fmt: skip

    def fill(self, X: Any, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        first = out.shape[1] - self.linear_columns_
        self._fill(X, out[:, :first])
        if self.linear_columns_:
            kernel = self.kernel_
            assert isinstance(kernel, MaclaurinKernel)
            factors = (np.sqrt(kernel.coefficients(2)[1]) * self.row_factors(X)).astype(X.dtype)
            np.multiply(dense_rows(kernel.scaled(X)), factors[:, None], out=out[:, first:])

    def law(self, d: int) -> Law:
        """The spread of estimates of a degree, for rows of d inputs."""
        raise NotImplementedError

    def _draw(self, kernel: MaclaurinKernel, terms: Terms, d: int, sequence: SeedSequence) -> None:
        """Draw the projections of the columns of these degrees."""
        raise NotImplementedError

    def _fill(self, X: Any, out: FloatArray) -> None:
        """Write the columns of random projections."""
        raise NotImplementedError

    def row_factors(self, X: Any) -> FloatArray:
        """r(x) of the rows X (n, d), (n,), in X's dtype."""
        kernel = self.kernel_
        assert isinstance(kernel, MaclaurinKernel)
        return kernel.row_factor(kernel.scaled(X)).astype(X.dtype, copy=False)


def sampled(X: Any, sequence: SeedSequence) -> Any:
    """At most SAMPLED_ROWS of the rows X, at random."""
    n = X.shape[0]
    chosen = generator(sequence, "rows for degrees").choice(n, min(SAMPLED_ROWS, n), replace=False)
    return chosen_rows(X, np.sort(chosen))


def optimised_terms(
    kernel: MaclaurinKernel, X: Any, count: int, sequence: SeedSequence, least: int = 0, linear: bool = True
) -> Terms:
    """A column has the degree n with the probability pₙ ∝ aₙ·Σᵢ r(xᵢ)²‖xᵢ‖²ⁿ, its share in Σᵢ k(xᵢ, xᵢ) of the rows X.

    The variance of an estimate of aₙ(xᵀx′)ⁿ is about aₙ²‖x‖²ⁿ‖x′‖²ⁿ. Columns in proportion to its root have the
    smallest sum of variances. (J. Wacker, M. Kanagawa, M. Filippone, "Improved random features for dot product
    kernels", JMLR 25, 2024, choose whole numbers of columns by the variances themselves.) The first column is the term
    of degree 0, which needs no estimate. The others take the degrees at U + j·GOLDEN modulo 1 of their distribution
    function, with U uniform, so that every prefix has a share of about pₙ of each degree, and the mean is right.

    A degree whose mean number of columns is far below one has a column now and then, which is then very long. With
    ``least``, degrees with fewer columns are left out. That is a bias, which falls with more columns, and a smaller
    error. Without ``linear`` no column has degree 1.
    """
    coefficients = _coefficients(kernel, linear)
    rows = kernel.scaled(X).astype(np.float64)
    n = np.arange(len(coefficients))
    with np.errstate(divide="ignore", invalid="ignore"):  # of rows of zeros, and rows that are too long for their r(x)
        powers = np.where(n == 0, 0.0, np.multiply.outer(np.log(squared_lengths(rows)), n))
        logs = np.log(coefficients) + logsumexp(powers + 2 * np.log(kernel.row_factor(rows))[:, None], axis=0)
    shares = np.exp(logs - max(logs.max(), LEAST_LOG))
    constant = coefficients[0] > 0
    shares[0] = 0
    shares[shares < NEGLIGIBLE * shares.max()] = 0
    if not shares.any():
        shares[1 + np.flatnonzero(coefficients[1:])[0]] = 1
    p = shares / shares.sum()
    left = max(0, count - constant)
    p = _without_rare(p, least / left) if least and left else p
    u = (generator(sequence, "degrees").uniform() + GOLDEN * np.arange(left)) % 1
    degrees = _at(p, u)
    columns = np.bincount(degrees, minlength=len(p)) if least else left * p
    scales = np.sqrt(coefficients[degrees] / columns[degrees])
    if not constant:
        return Terms(degrees, scales)
    return Terms(np.concatenate([[0], degrees]), np.concatenate([[np.sqrt(coefficients[0])], scales]))


def _without_rare(p: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """p without degrees below ``least``, removed repeatedly until all are above it; the likeliest is kept."""
    while True:
        kept = p >= min(least, p.max())
        if (kept == (p > 0)).all():
            return p
        p = np.where(kept, p, 0) / p[kept].sum()


def geometric_terms(kernel: MaclaurinKernel, count: int, sequence: SeedSequence, linear: bool = True) -> Terms:
    """Every column's degree n is drawn with the probability pₙ ∝ 2⁻ⁿ, among those with aₙ > 0, as in P. Kar and H.
    Karnick, "Random feature maps for dot product kernels", AISTATS 2012, Algorithm 1."""
    coefficients = _coefficients(kernel, linear)
    p = np.where(coefficients > 0, 0.5 ** np.arange(len(coefficients)), 0)
    p /= p.sum()
    degrees = _at(p, generator(sequence, "degrees").uniform(size=count))
    return Terms(degrees, np.sqrt(coefficients[degrees] / (count * p[degrees])))


def least_error_terms(kernel: MaclaurinKernel, X: Any, count: int, law: Law) -> Terms:
    """The numbers of columns of the degrees 1 to p with the least estimated error on the rows X
    (`rffbench.features.dot_product.allocation.least_error_counts`); the first column is the term of degree 0."""
    rows = dense_rows(kernel.scaled(X)).astype(np.float64)
    constant = kernel.coefficients(1)[0] > 0
    counts = least_error_counts(kernel, rows, max(1, count - constant), law)
    degrees = np.repeat(np.arange(1, len(counts) + 1), counts)
    scales = np.sqrt(kernel.coefficients(len(counts) + 1)[degrees] / counts[degrees - 1])
    if constant:
        degrees = np.concatenate([[0], degrees])
        scales = np.concatenate([[np.sqrt(kernel.coefficients(1)[0])], scales])
    return Terms(degrees[:count], scales[:count])


def power_terms(kernel: MaclaurinKernel, count: int) -> Terms:
    """All columns estimate (1 + t/q)^q, q = POWER, in place of exp(t), t = a₁·xᵀx′: the sketch of the Gaussian kernel
    in J. Wacker, M. Kanagawa, M. Filippone, "Improved random features for dot product kernels", 2024."""
    gain = np.sqrt(kernel.coefficients(2)[1] / POWER)
    return Terms(np.full(count, POWER), np.full(count, 1 / np.sqrt(count)), gain, 1.0)


def product_terms(kernel: PolynomialKernel, count: int) -> Terms:
    """All columns estimate the whole polynomial, (γxᵀx′ + c)^degree, from rows √γ·x with √c appended."""
    degrees, scales = np.full(count, kernel.degree), np.full(count, 1 / np.sqrt(count))
    return Terms(degrees, scales, np.sqrt(kernel.gamma), np.sqrt(kernel.c))


def _coefficients(kernel: MaclaurinKernel, linear: bool) -> NDArray[np.float64]:
    """a₀, a₁, …; 0 if infinite, because r(x) is 0 then; without ``linear`` 0 for a₁, whose term has exact columns."""
    coefficients = kernel.coefficients(_terms_of(kernel))
    coefficients[np.isinf(coefficients)] = 0
    coefficients[1] *= linear
    return coefficients


def _terms_of(kernel: MaclaurinKernel) -> int:
    highest = kernel.highest_degree
    if highest is not None and highest >= MOST_TERMS:
        raise WrongParameter("degree", f"must be below {MOST_TERMS} for random features, got {highest}")
    return MOST_TERMS if highest is None else highest + 1


def _at(p: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.int64]:
    """The degrees at which the distribution function of p reaches u."""
    possible = np.flatnonzero(p)
    return possible[np.searchsorted(p[possible].cumsum()[:-1], u, side="right")]
