"""Quasi-Monte Carlo Fourier features: frequencies from a low-discrepancy sequence."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import qmc

from rffbench.arguments.parameters import WrongParameter, check_count
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import FourierFeatures
from rffbench.kernels import Kernel, ProductKernel, make_kernel_with
from rffbench.plugins.parts import MapServes

# Half the resolution of a 30-bit Sobol coordinate: a scrambled coordinate of exactly 0 is moved there, because the
# spectral densities' inverse distribution functions are infinite at 0 and 1.
_EDGE = 2.0**-31
# Points drawn from scipy's engines at a time, if ``leap`` skips most of them.
_CHUNK_POINTS = 1 << 16
_RELEASED = {"sequence": "halton", "scramble": "rr2", "skip": 1000, "leap": 700}


class QuasiMonteCarloFeatures(FourierFeatures):
    """Quasi-Monte Carlo features: W = F⁻¹(u₁, …, u_s), u a low-discrepancy sequence of the unit cube.

    φ(x) = [cos(Wᵀx) | sin(Wᵀx)]/√s with s = ``n_components``/2; F is the distribution function of the
    kernel's spectral density, coordinate by coordinate (for the Gaussian kernel W = √(2γ)·Φ⁻¹(u)).

    Parameters
    ----------
    n_components : number of output columns, even.
    sequence : 'halton'; 'sobol', a digital net (base 2, the direction numbers of Joe and Kuo, for up to
        21,201 columns); or 'lattice', a lattice sequence of rank 1 (`lattice_points`), a whole
        lattice if s is a power of two.
    scramble : True, scipy's randomisation (Owen's for Halton, a random linear matrix scramble with a digital
        shift for Sobol; a random shift of a lattice), which makes the estimate unbiased; 'shift', a random shift of
        all points modulo 1, which also makes it unbiased; False, the plain sequence; 'rr2' (Halton only), a fixed
        reverse-radix permutation of the digits, as MATLAB's ``scramble(haltonset, 'RR2')``; 'digits' (Halton only), a
        random permutation of the digits 1 to b − 1 of each prime base b, the same at every place: the generalised
        Halton sequence, which is biased and in high bases varies much from draw to draw.
    skip : points left out at the start; 0 for a lattice.
    leap : points left out between two that are taken; 0 for a lattice.
    variant : 'as-written', the sequence of the parameters above; 'as-released', the sequence of RandomFeatures.m in
        code that a third party published (`rffbench.features.weighted.pool.reweight`), which overrides them: Halton,
        skip 1000, leap 700, 'rr2'.
    kernel, gamma, random_state : as in RandomFourierFeatures; ``random_state`` matters only with
        ``scramble`` True, 'shift' or 'digits'; the other sequences are fixed.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64; the first s of a larger map are those of a smaller one.
    weights_, probabilities_ : (s,), ones and 1/s.

    Notes
    -----
    The point of index 0 of an unscrambled, 'rr2' or 'digits' sequence is the origin, where F⁻¹ is infinite. With
    ``skip=0`` these sequences start at index 1. Other coordinates are kept within [2⁻³¹, 1 − 2⁻³¹].

    References
    ----------
    H. Avron, V. Sindhwani, J. Yang, M. Mahoney, "Quasi-Monte Carlo feature maps for shift-invariant kernels",
    JMLR 17, 2016. L. Kocis and W. Whiten, "Computational investigations of low-discrepancy sequences", ACM
    TOMS 23, 1997 (the reverse-radix scramble). H. Faure and C. Lemieux, "Generalized Halton sequences in 2008", ACM
    TOMACS 19, 2009.
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=ProductKernel, bias="one fixed sequence", unbiased_if="scrambled", faster=True,
        nests=("frequencies_",), source="Avron et al., JMLR 2016",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {
        "sequence": ("halton", "sobol", "lattice"),
        "scramble": (True, False, "rr2", "digits", "shift"),
        "variant": ("as-written", "as-released"),
    }

    def __init__(
        self, n_components: int = 100, *, sequence: str = "halton", scramble: bool | str = True, skip: int = 0,
        leap: int = 0, variant: str = "as-written", kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.sequence = sequence
        self.scramble = scramble
        self.skip = skip
        self.leap = leap
        self.variant = variant

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("skip", self.skip, least=0)
        check_count("leap", self.leap, least=0)
        if self.sequence == "sobol" and self.scramble in ("rr2", "digits"):
            problem = f"must be True, False or 'shift' with sequence='sobol': {self.scramble!r} permutes Halton digits"
            raise WrongParameter("scramble", problem)
        if self.sequence != "lattice":
            return
        if self.scramble not in (True, "shift"):
            problem = "must be True with sequence='lattice': without a shift half of the points mirror the others"
            raise WrongParameter("scramble", f"{problem}, got {self.scramble!r}")
        for name in ("skip", "leap"):
            if given := getattr(self, name):
                problem = f"must be 0 with sequence='lattice', whose first points are whole lattices, got {given}"
                raise WrongParameter(name, problem)

    def fit(self, X: Any, y: Any = None) -> QuasiMonteCarloFeatures:
        """Make the frequencies for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        self.set_pairs(self.draw(self.n_frequencies, X.shape[1]))
        return self

    def _settings(self) -> dict[str, Any]:
        """The parameters of the sequence, by the variant."""
        asked = {name: getattr(self, name) for name in _RELEASED}
        return _RELEASED if self.variant == "as-released" else asked

    @property
    def unbiased(self) -> bool:
        return self._settings()["scramble"] in (True, "shift")

    @property
    def base(self) -> Hashable | None:
        return ("qmc", *self._settings().items())

    def draw(self, count: int, d: int) -> NDArray[np.float64]:
        """The frequencies (d, count) of the sequence's first ``count`` points."""
        rng = generator(seed_sequence(self.random_state), "frequencies")
        points = low_discrepancy_points(count, d, rng=rng, **self._settings())
        return make_kernel_with(ProductKernel, self.kernel, self.bandwidth).inverse_cdf(points)


FEW_COLUMNS = 1000  # for these scipy's Halton engine holds 120 MB of permutations; for 8,000 it would hold 10 GB


def low_discrepancy_points(
    s: int, d: int, *, sequence: str, scramble: bool | str, skip: int, leap: int, rng: Generator
) -> NDArray[np.float64]:
    """s points of the open unit cube, (s, d): indices skip, skip + (leap + 1), … of the sequence."""
    if scramble not in (True, "shift") and skip == 0:
        skip = 1  # index 0 is the origin
    index = skip + (leap + 1) * np.arange(s)
    if sequence == "lattice":
        points = lattice_points(s, d, rng)
    elif sequence == "sobol":
        points = _leaped(qmc.Sobol(d, scramble=scramble is True, seed=rng), s, skip, leap)
    elif scramble is True and d <= FEW_COLUMNS:
        points = _leaped(qmc.Halton(d, scramble=True, seed=rng), s, skip, leap)
    elif scramble is True:
        points = _owens_halton(index, d, rng)
    elif scramble == "digits":
        points = _halton(index, d, lambda base: np.append(0, 1 + rng.permutation(base - 1)))
    else:
        points = _halton(index, d, _reverse_radix if scramble == "rr2" else np.arange)
    if scramble == "shift" and sequence != "lattice":
        points = (points + rng.uniform(size=d)) % 1
    return np.clip(points, _EDGE, 1 - _EDGE)


def _leaped(engine: qmc.QMCEngine, s: int, skip: int, leap: int) -> NDArray[np.float64]:
    """s points of the engine's sequence, a few at a time: those at skip, skip + (leap + 1), …"""
    if skip:
        engine.fast_forward(skip)
    points = [engine.random(1)]
    while (left := s - sum(map(len, points))) > 0:
        take = min(left, max(1, _CHUNK_POINTS // (leap + 1)))
        points.append(engine.random(take * (leap + 1))[leap :: leap + 1])
    return np.concatenate(points)


def _halton(index: NDArray[np.int64], d: int, permutation: Callable[[int], NDArray[np.int64]]) -> NDArray[np.float64]:
    """Halton points of the given indices: in each prime base b, Σₖ π(digit k)·b^−(k+1), π the ``permutation`` of
    0 … b−1, with π(0) = 0."""
    points = np.zeros((len(index), d))
    for j, base in enumerate(_primes(d)):
        digit_of = permutation(base)
        rest, unit = index.copy(), 1.0
        while rest.any():
            unit /= base
            points[:, j] += unit * digit_of[rest % base]
            rest //= base
    return points


def _owens_halton(index: NDArray[np.int64], d: int, rng: Generator) -> NDArray[np.float64]:
    """Halton points of the given indices with Owen's random permutation of every digit that a float64 holds. They are
    exactly those of scipy's ``qmc.Halton``, which is faster but holds the permutations of all columns."""
    points = np.zeros((len(index), d))
    [rng] = rng.spawn(1)  # as scipy's engines do
    for j, base in enumerate(_primes(d)):
        rest, unit = index.copy(), 1.0
        for _ in range(math.ceil(54 / math.log2(base)) - 1):
            digit_of = np.arange(base)
            rng.shuffle(digit_of)
            unit /= base
            points[:, j] += unit * digit_of[rest % base]
            rest //= base
    return points


def _reverse_radix(base: int) -> NDArray[np.int64]:
    """The permutation of 0 … base−1 in bit-reversed order: 0, 2, 1 for 3; 0, 4, 2, 1, 3 for 5."""
    bits = (base - 1).bit_length()
    order = [int(f"{value:0{bits}b}"[::-1], 2) for value in range(1 << bits)]
    return np.array([value for value in order if value < base])


def _primes(count: int) -> list[int]:
    """The first primes."""
    below = int(count * math.log(count * math.log(count + 3) + 3)) + 15  # the last is smaller (Rosser)
    sieve = np.ones(below, dtype=bool)
    sieve[:2] = False
    for number in range(2, math.isqrt(below) + 1):
        sieve[number * number :: number] = False
    return [int(prime) for prime in np.flatnonzero(sieve)[:count]]


# ---- A lattice sequence of rank 1 in base 2, for any number of coordinates -------------------------------------

WEIGHT = 0.03  # of a coordinate; with 0.3, or with falling weights, errors in 10 and more dimensions are larger
ROUNDING = 1e-9  # of a mean: errors closer than this count as equal, so that z does not depend on the order of sums


def lattice_points(s: int, d: int, rng: Generator) -> NDArray[np.float64]:
    """The first s points {v(i)·z + shift} of a lattice sequence, (s, d). v(i) has the binary digits of i mirrored at
    the point, z is the generating vector, and ``rng`` draws the shift, uniform on the unit cube.

    Sizes nest, and the first 2ᵏ points are a whole lattice. (R. Cools, F. Kuo, D. Nuyens, "Constructing embedded
    lattice rules for multivariate integration", SIAM J. Sci. Comput. 28, 2006.)
    """
    bits = max(1, (s - 1).bit_length())
    index = np.arange(s)
    reversed_index = np.zeros(s, np.int64)
    for bit in range(bits):
        reversed_index |= (index >> bit & 1) << (bits - 1 - bit)
    points = np.outer(reversed_index, generating_vector(d, bits)) % (1 << bits) / (1 << bits)
    points += rng.uniform(size=d)
    points -= np.floor(points)
    return points


@lru_cache
def generating_vector(d: int, bits: int) -> NDArray[np.int64]:
    """z (d,), odd numbers below 2^bits. They are found coordinate by coordinate, and digit by digit, the lowest digit
    first: each digit is the one with the smaller worst-case error of the lattice of 2ᵏ points of the digits so far.

    The error is that of periodic functions with square-integrable mixed derivatives, with equal weights, because
    kernels treat all coordinates alike: Σᵢ ∏ⱼ (1 + WEIGHT·2π²B₂({i·zⱼ/2ᵏ})), B₂(x) = x² − x + 1/6. The lower digits do
    not depend on ``bits``. It takes about 20·d·2^bits operations. (A. Ebert, P. Kritzer, D. Nuyens, O. Osisiogu,
    "Digit-by-digit and component-by-component constructions of lattice rules for periodic functions with unknown
    smoothness", J. Complexity 66, 2021.)
    """
    products = np.ones(1 << bits)  # over the coordinates so far, of the points of the largest lattice
    products[0] = 0  # the origin is in every lattice, and would outgrow all other points
    z = np.ones(d, np.int64)
    for j in range(d):
        for k in range(2, bits + 1):
            points, of_lattice = np.arange(1 << k), products[:: 1 << (bits - k)]
            low, high = (of_lattice @ _bernoulli(points, z[j] + digit, k) for digit in (0, 1 << (k - 1)))
            z[j] += (1 << (k - 1)) * int(high < low - ROUNDING * of_lattice.sum())
        products *= 1 + WEIGHT * _bernoulli(np.arange(1 << bits), z[j], bits)
    return z


def _bernoulli(points: NDArray[np.int64], z: np.int64, k: int) -> NDArray[np.float64]:
    """2π²B₂({i·z/2ᵏ}) for the numbers i in ``points``."""
    x = (points * z & ((1 << k) - 1)) / (1 << k)
    return 2 * np.pi**2 * (x * x - x + 1 / 6)
