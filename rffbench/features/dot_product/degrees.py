"""The degrees of the columns of maps whose kernel is a power series, Σₙ aₙ(xᵀx′)ⁿ."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.special import logsumexp

from rffbench.features.base import FeatureMap
from rffbench.features.dot_product.allocation import Law, least_error_counts
from rffbench.kernels import Kernel, MaclaurinKernel, PolynomialKernel, make_kernel_with
from rffbench.kernels.bandwidth import chosen_rows
from rffbench.kernels.base import squared_lengths
from rffbench.parameters import WrongParameter
from rffbench.parts import MapServes
from rffbench.rowsource import dense_rows
from rffbench.seeds import RandomState, generator, seed_sequence

MOST_TERMS = 200  # of a series: (xᵀx′)ⁿ of higher n has no estimate that is of use
SAMPLED_ROWS = 1000  # training rows whose lengths say how much each degree matters
NEGLIGIBLE = 1e-12  # share of the diagonal: degrees of less are left out
LEAST_LOG = -1e4  # of a share: less is 0
POWER = 4  # of the polynomial that stands for the exponential
FEWEST_COLUMNS = 4  # of a degree that is not left out; of 0.5, 1, 2 and 4 it has the smallest errors on magic04
GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo 1 fill [0, 1) evenly, however many there are


class Terms(NamedTuple):
    """What each column estimates: ``scale``²·(gain²·xᵀx′ + constant²)^``degree``; columns of degree 0 are numbers."""

    degrees: NDArray[np.int64]
    scales: NDArray[np.float64]
    gain: float = 1.0
    constant: float = 0.0


class SeriesFeatures(FeatureMap):
    """Base class: columns that are products of as many random projections of the row as their degree, times r(x).

    E[φ(x)ᵀφ(x′)] = r(x)·r(x′)·Σₙ aₙ(xᵀx′)ⁿ: the columns of degree n stand for the n-th term. A subclass implements
    ``_draw`` and ``_fill``.
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=MaclaurinKernel, bias="terms of high degree left out", unbiased_if="degrees are not truncated",
        fits_on="inputs", row_cost="h*d*D", fit_cost="min(n, 1000)*d", nests=("directions_",),
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple]] = {
        "degrees": ("optimised", "truncated", "geometric", "least-error", "product", "power"),
    }  # fmt: skip
    accepts_sparse = True

    degrees: str
    degrees_: NDArray[np.int64]
    scale_: NDArray[np.float64]

    def __init__(
        self, n_components: int = 100, *, degrees: str = "optimised", kernel: str | Kernel = "gaussian",
        gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.degrees = degrees
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def check_parameters(self) -> None:
        super().check_parameters()
        kernel = self._check_kernel()
        if (self.degrees == "product") > isinstance(kernel, PolynomialKernel):
            problem = "must be 'optimised', 'truncated' or 'geometric': 'product' is for the polynomial kernel, not the"
            raise WrongParameter("degrees", f"{problem} {kernel.called()} one")
        assert isinstance(kernel, MaclaurinKernel)
        if self.degrees == "power" and kernel.highest_degree is not None:
            problem = "must be 'product': 'power' is for kernels of infinitely many degrees, and this is the"
            raise WrongParameter("degrees", f"{problem} {kernel.called()} one")
        _terms_of(kernel)

    @property
    def unbiased(self) -> bool:
        return self.degrees not in ("truncated", "least-error", "power")

    @property
    def n_terms(self) -> int:
        """How many estimates of terms of the series ``n_components`` columns hold."""
        return self.n_components

    def letters(self, d: int) -> dict[str, float]:
        """h of the formulas: the degree of a product, else about 2 on average."""
        kernel = self._check_kernel()
        if self.degrees == "product" and isinstance(kernel, PolynomialKernel):
            return {"h": kernel.degree}
        return {"h": POWER if self.degrees == "power" else 2}

    def fit(self, X: Any, y: Any = None) -> Any:
        """Choose the degrees by X's rows and draw the projections for its columns; y is not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        kernel = make_kernel_with(MaclaurinKernel, self.kernel, self.bandwidth)
        sequence, count = seed_sequence(self.random_state), self.n_terms
        if self.degrees == "product":
            assert isinstance(kernel, PolynomialKernel)
            terms = product_terms(kernel, count)
        elif self.degrees == "geometric":
            terms = geometric_terms(kernel, count, sequence)
        elif self.degrees == "power":
            terms = power_terms(kernel, count)
        elif self.degrees == "least-error":
            terms = least_error_terms(kernel, sampled(X, sequence), count, self._law(X.shape[1]))
        else:
            least = FEWEST_COLUMNS if self.degrees == "truncated" else 0
            terms = optimised_terms(kernel, sampled(X, sequence), count, sequence, least=least)
        self.degrees_, self.scale_ = terms.degrees, terms.scales
        self._draw(kernel, terms, X.shape[1], sequence)
        return self

    def _law(self, d: int) -> Law:
        """How estimates of a degree spread, for rows of d inputs."""
        raise NotImplementedError

    def _draw(self, kernel: MaclaurinKernel, terms: Terms, d: int, sequence: SeedSequence) -> None:
        """Draw the projections of the columns of these degrees."""
        raise NotImplementedError

    def row_factors(self, X: Any) -> NDArray:
        """r(x) of the rows X (n, d), (n,), in X's dtype."""
        kernel = self.kernel_
        assert isinstance(kernel, MaclaurinKernel)
        return kernel.row_factor(kernel.scaled(X)).astype(X.dtype, copy=False)


def sampled(X: Any, sequence: SeedSequence) -> Any:
    """At most SAMPLED_ROWS of the rows X, at random."""
    n = X.shape[0]
    chosen = generator(sequence, "rows for degrees").choice(n, min(SAMPLED_ROWS, n), replace=False)
    return chosen_rows(X, np.sort(chosen))


def optimised_terms(kernel: MaclaurinKernel, X: Any, count: int, sequence: SeedSequence, least: int = 0) -> Terms:
    """The degree n of a column with the probability pₙ ∝ aₙ·Σᵢ r(xᵢ)²‖xᵢ‖²ⁿ, its share in Σᵢ k(xᵢ, xᵢ) of the rows X.

    The variance of an estimate of aₙ(xᵀx′)ⁿ is about aₙ²‖x‖²ⁿ‖x′‖²ⁿ, and columns in proportion to its root have the
    smallest sum of variances. (J. Wacker, M. Kanagawa, M. Filippone, "Improved random features for dot product
    kernels", JMLR 25, 2024, choose whole numbers of columns by the variances themselves.) The first column is all of
    the term of degree 0, which needs no estimate. Those after it take the degrees at U + j·GOLDEN modulo 1 of their
    distribution function, U uniform, so that every prefix has about pₙ of each, and the mean is right.

    A degree of much less than one column in the mean has a column now and then, which then is very long. With ``least``
    the degrees of fewer columns are left out, which is a bias that falls with more columns, and less of an error.
    """
    coefficients = kernel.coefficients(_terms_of(kernel))
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
    """The probabilities p of those degrees that then have ``least`` or more, or of the likeliest alone."""
    while True:
        kept = p >= min(least, p.max())
        if (kept == (p > 0)).all():
            return p
        p = np.where(kept, p, 0) / p[kept].sum()


def geometric_terms(kernel: MaclaurinKernel, count: int, sequence: SeedSequence) -> Terms:
    """The degree n of every column drawn with the probability pₙ ∝ 2⁻ⁿ, of those with aₙ > 0, as in P. Kar and H.
    Karnick, "Random feature maps for dot product kernels", AISTATS 2012, Algorithm 1."""
    coefficients = kernel.coefficients(_terms_of(kernel))
    p = np.where(coefficients > 0, 0.5 ** np.arange(len(coefficients)), 0)
    p /= p.sum()
    degrees = _at(p, generator(sequence, "degrees").uniform(size=count))
    return Terms(degrees, np.sqrt(coefficients[degrees] / (count * p[degrees])))


def least_error_terms(kernel: MaclaurinKernel, X: Any, count: int, law: Law) -> Terms:
    """Whole numbers of columns for the degrees 1 to p, for which the estimated error is least, by the rows X
    (`rffbench.features.dot_product.allocation.least_error_counts`); the first column is all of the term of degree 0."""
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
    """All columns stand for (1 + t/q)^q, q = POWER, in the place of exp(t), t = a₁·xᵀx′: the sketch of the Gaussian
    kernel in J. Wacker, M. Kanagawa, M. Filippone, "Improved random features for dot product kernels", 2024."""
    gain = np.sqrt(kernel.coefficients(2)[1] / POWER)
    return Terms(np.full(count, POWER), np.full(count, 1 / np.sqrt(count)), gain, 1.0)


def product_terms(kernel: PolynomialKernel, count: int) -> Terms:
    """All columns stand for the whole polynomial, (γxᵀx′ + c)^degree, of rows with √c appended to √γ·x."""
    degrees, scales = np.full(count, kernel.degree), np.full(count, 1 / np.sqrt(count))
    return Terms(degrees, scales, np.sqrt(kernel.gamma), np.sqrt(kernel.c))


def _terms_of(kernel: MaclaurinKernel) -> int:
    highest = kernel.highest_degree
    if highest is not None and highest >= MOST_TERMS:
        raise WrongParameter("degree", f"must be below {MOST_TERMS} for random features, got {highest}")
    return MOST_TERMS if highest is None else highest + 1


def _at(p: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.int64]:
    """The degrees where the distribution function of p reaches u."""
    possible = np.flatnonzero(p)
    return possible[np.searchsorted(p[possible].cumsum()[:-1], u, side="right")]
