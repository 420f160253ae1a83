"""Checks of a kernel: its exact form, γ and the other parameters, and its draws, which must converge to the exact form
at the right rate, and nest."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.errors import ConfigError, is_ctrl_c
from rffbench.io.text import canonical_json
from rffbench.kernels import ALIASES, KERNELS, NAMED, make_kernel
from rffbench.kernels.base import (
    ActivationKernel,
    BinningKernel,
    IsotropicKernel,
    Kernel,
    MaclaurinKernel,
    ProductKernel,
    SpectralKernel,
)
from rffbench.plugins import ownfile
from rffbench.plugins.guarded import outlived

GAMMA = 0.8
X = default_rng(0).uniform(-0.5, 0.5, size=(40, 3))
X.setflags(write=False)
POINTS = 12  # rows whose pairs are checked
PAIRS = np.triu_indices(POINTS, 1)
SIZES = (16, 32, 64, 128, 256)
REPETITIONS = 40
SIGMAS, BIAS_SIGMAS = 3.5, 4.5  # standard errors that a slope, or the largest of 66 biases, may be off
ROUNDING = 1e-9  # of the largest value of the kernel
TERMS = 60  # of an infinite power series

Drawn = Callable[[np.random.Generator, int], NDArray[np.float64]]
"""A draw of s features Z (parts, 12 points, s). The sum of ZZᵀ/s over the parts estimates the kernel."""


@dataclass(frozen=True)
class Check:
    """One check and its finding, in words; ``ok`` is None if the check was skipped."""

    name: str
    ok: bool | None
    found: str


def check_kernel(name: str, **parameters: Any) -> Iterator[Check]:
    """Check the kernel that a config calls ``name``, with these parameters and the others' defaults, and yield each
    check when it is done. ConfigError if the kernel cannot be made."""
    recipe = NAMED.recipe(ALIASES[name][0] if name in ALIASES else name, parameters)
    with recipe.refusing():
        kernel = make_kernel(name, **parameters)
        kernel = kernel.with_gamma(GAMMA) if kernel.has_bandwidth else kernel
    checks: dict[str, Callable[[], tuple[bool, str]]] = {
        "form": lambda: _form(kernel),
        "positive": lambda: _positive(kernel),
        "bandwidth": lambda: _bandwidth(kernel),
        "parameters": lambda: _parameters(kernel),
    }
    checks |= {label: partial(_draws, kernel, draw) for label, draw in _drawn(kernel).items()}
    if isinstance(kernel, MaclaurinKernel):
        checks["series"] = lambda: _series(kernel)
    yield from run_checks(checks, lambda error: recipe.blame(error, kernel))


def run_checks(
    checks: Mapping[str, Callable[[], tuple[bool, str]]], blame: Callable[[BaseException], str | None]
) -> Iterator[Check]:
    """Run the checks, and yield each when it is done. If the first fails, the others are skipped, because they rely on
    it. An error fails a check; ``blame`` gives its message if it comes from the user's own code."""
    for label, check in checks.items():
        try:
            with warnings.catch_warnings(), outlived():
                warnings.simplefilter("ignore")
                done = Check(label, *check())
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # any error of the user's code
            if is_ctrl_c(error):
                raise
            plain = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            done = Check(label, False, (blame(error) or plain).partition("\n")[0])
        yield done
        if not done.ok and label == next(iter(checks)):
            yield Check("the others", None, f"skipped: {label} must be ok first")
            return


def check_own_kernel(spec: Mapping[str, Any]) -> None:
    """ConfigError if the kernel of a trial's spec is not built in and fails a check of `check_kernel`."""
    name = spec["name"]
    if name in KERNELS:
        return
    parameters = {key: value for key, value in spec.items() if key not in ("name", "gamma")}
    source = ownfile.source_hash(name) if ownfile.is_own(name) else None
    if problem := _problem(name, source, canonical_json(parameters)):
        called = ownfile.portable(name)
        raise ConfigError(f"kernel {called!r}: {problem}; `rffbench check-kernel {called}` runs all checks")


@lru_cache
def _problem(name: str, source: str | None, parameters: str) -> str:
    """The first check that fails and its finding, or "". ``source``, the file's hash, only makes the cache forget."""
    checks = check_kernel(name, **json.loads(parameters))
    return next((f"{check.name}: {check.found}" for check in checks if check.ok is False), "")


def slope(found: FloatArray, sizes: Sequence[int] = SIZES) -> tuple[float, float]:
    """The slope of log error against log size, for errors ``found`` (sizes, repetitions, pairs), and its standard
    error, by the bootstrap over repetitions."""
    squared = (found**2).mean(axis=2)
    at = np.log2(sizes) - np.log2(sizes).mean()

    def fit(rows: Any) -> float:
        return float(at @ (np.log2(squared[:, rows].mean(axis=1)) / 2) / (at @ at))

    draws = default_rng(1).integers(squared.shape[1], size=(400, squared.shape[1]))
    return fit(slice(None)), float(np.std([fit(rows) for rows in draws]))


def largest_bias(found: FloatArray) -> float:
    """The largest mean error of a pair of points, in standard errors, at the largest size."""
    error = found[-1]
    return float(np.max(np.abs(error.mean(axis=0)) / (error.std(axis=0, ddof=1) / np.sqrt(len(error)))))


def _form(kernel: Kernel) -> tuple[bool, str]:
    inputs = X.copy()
    K, block = kernel(inputs), kernel(inputs[:5], inputs[5:])
    for found, shape in ((K, (40, 40)), (block, (5, 35))):
        if not isinstance(found, np.ndarray) or found.shape != shape or found.dtype != np.float64:
            given = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
            return False, f"the matrix of {shape[0]} and {shape[1]} rows must be float64 {shape}, got {given}"
        if not np.isfinite(found).all():
            return False, "some values are not finite"
    if not np.array_equal(inputs, X):
        return False, "it changes the rows of its input"
    rounding = ROUNDING * np.abs(K).max()
    if (gap := float(np.abs(K - K.T).max())) > rounding:
        return False, f"not symmetric: k(x, x′) and k(x′, x) are up to {gap:.2g} apart"
    if (gap := float(np.abs(block - K[:5, 5:]).max())) > rounding:
        return False, f"k(X, Y) is not the block of k(X) for these rows: up to {gap:.2g} apart"
    if (gap := float(np.abs(kernel.diagonal(X) - K.diagonal()).max())) > rounding:
        right = "1, as unit_diagonal says" if kernel.unit_diagonal else "diagonal(X)"
        return False, f"k(x, x) is not {right}: up to {gap:.2g} apart"
    if kernel.of_differences and (gap := float(np.abs(kernel(X + 0.2) - K).max())) > rounding:
        return False, f"it must depend only on x − x′, but shifting the rows changes it by up to {gap:.2g}"
    return True, "symmetric, finite, and the same in blocks"


def _positive(kernel: Kernel) -> tuple[bool, str]:
    lowest = 0.0
    for d, seed in ((1, 1), (3, 2), (10, 3)):
        if kernel.lengths is not None:
            d = len(kernel.lengths)
        rows = default_rng(seed).normal(size=(60, d)) / (4 * np.sqrt(d))  # inside the ball, if the kernel has one
        values = np.linalg.eigvalsh(kernel(rows))
        lowest = min(lowest, float(values[0] / values[-1]))
    if lowest < -ROUNDING:
        return False, f"not positive semi-definite: an eigenvalue is {lowest:.2g} of the largest"
    return True, "no eigenvalue below 0, for 1, 3 and 10 inputs"


def _bandwidth(kernel: Kernel) -> tuple[bool, str]:
    if not kernel.has_bandwidth:
        return True, "no bandwidth"
    small = X / 4
    scaled, plain = kernel.with_gamma(2.0**kernel.power)(small), kernel.with_gamma(1.0)(2 * small)
    unit = "a squared length" if kernel.power == 2 else "a length"
    if (gap := float(np.abs(scaled - plain).max())) > ROUNDING * np.abs(plain).max():
        return False, (
            f"γ must be one over {unit} (power = {kernel.power}): scaling the rows by 2 in place of γ changes k by up "
            f"to {gap:.2g}"
        )
    return True, f"γ is one over {unit}"


def _parameters(kernel: Kernel) -> tuple[bool, str]:
    own = {key: value for key, value in kernel.parameters.items() if key != "lengths"}
    if not own:
        return True, "none besides gamma and lengths"
    again = type(kernel)(kernel.gamma, **kernel.parameters)
    if again != kernel or not np.array_equal(again(X), kernel(X)):
        return False, "a kernel made with the same parameters differs"
    return True, ", ".join(f"{key} = {value}" for key, value in own.items())


def _drawn(kernel: Kernel) -> dict[str, Drawn]:
    """The functions that draw s features, one for each of the kernel's traits."""
    points = X[:POINTS]
    draws: dict[str, Drawn] = {}

    def trigonometric(W: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([np.cos(points @ W), np.sin(points @ W)])

    def directed(rng: np.random.Generator, s: int) -> NDArray[np.float64]:
        assert isinstance(kernel, IsotropicKernel)
        directions = default_rng(rng.integers(2**32)).normal(size=(s, 3)).T
        lengths = kernel.radii(rng, s, 3)
        return trigonometric(kernel.fold(directions / np.linalg.norm(directions, axis=0) * lengths))

    def binned(rng: np.random.Generator, s: int) -> NDArray[np.float64]:
        assert isinstance(kernel, BinningKernel)
        shifts = default_rng(rng.integers(2**32)).uniform(size=(s, 3)).T
        cells = np.floor(points[:, :, None] / kernel.pitches(rng, s, 3) + shifts)
        first = (cells[:, None] == cells).all(axis=2).argmax(axis=1)  # of the points in one cell, (12, s)
        return np.asarray(first == np.arange(POINTS)[:, None, None], np.float64)

    if isinstance(kernel, SpectralKernel):
        draws["frequencies"] = lambda rng, s: trigonometric(kernel.sample(rng, s, 3))
    if isinstance(kernel, ProductKernel):
        draws["quantile"] = lambda rng, s: trigonometric(kernel.inverse_cdf(rng.uniform(size=(s, 3))))
    if isinstance(kernel, IsotropicKernel):
        draws["radii"] = directed
    if isinstance(kernel, ActivationKernel):
        draws["activation"] = lambda rng, s: kernel.activation(points @ kernel.weights(rng, s, 3))[None]
    if isinstance(kernel, BinningKernel):
        draws["pitches"] = binned
    return draws


def _draws(kernel: Kernel, draw: Drawn) -> tuple[bool, str]:
    """Whether the estimate is unbiased, with an error of order 1/√s, and sizes nest."""
    small, large = draw(default_rng(7), 5), draw(default_rng(7), 40)
    if not np.allclose(small, large[..., :5], rtol=1e-10, atol=1e-12):
        return False, "the first 5 of 40 draws differ from 5 draws with the same seed: draw one after the other"
    K = kernel(X[:POINTS])[PAIRS]
    found = np.empty((len(SIZES), REPETITIONS, len(K)))
    rng = default_rng(11)
    for i, s in enumerate(SIZES):
        for repetition in range(REPETITIONS):
            Z = draw(rng, s)
            found[i, repetition] = (np.einsum("kis,kjs->ij", Z, Z) / s)[PAIRS] - K
    first, last = np.sqrt((found**2).mean(axis=(1, 2)))[[0, -1]]
    value, error = slope(found)
    bias = largest_bias(found)
    falls = f"the error goes from {first:.3f} at {SIZES[0]} draws to {last:.3f} at {SIZES[-1]}, as "
    falls += f"s^{value:.2f}±{error:.2f}, and the largest bias is {bias:.1f} standard errors"
    if bias < BIAS_SIGMAS and abs(value + 0.5) < SIGMAS * error + 0.05:
        return True, falls
    return False, f"draws do not give the exact form: {falls}; required: s^-0.5, and a bias below {BIAS_SIGMAS}"


def _series(kernel: MaclaurinKernel) -> tuple[bool, str]:
    rows = kernel.scaled(X[:POINTS])
    count = TERMS if kernel.highest_degree is None else kernel.highest_degree + 1
    coefficients = kernel.coefficients(count)
    if coefficients.shape != (count,) or (coefficients < 0).any():
        return False, f"coefficients({count}) must be {count} numbers, all 0 or more"
    factor = kernel.row_factor(rows)
    K = np.polynomial.polynomial.polyval(rows @ rows.T, coefficients) * np.outer(factor, factor)
    exact = kernel(X[:POINTS])
    if (gap := float(np.abs(K - exact).max())) > 1e-8 * np.abs(exact).max():
        return False, f"r(x)·r(x′)·Σ aₙ(xᵀx′)ⁿ is not the exact form: up to {gap:.2g} apart"
    return True, "the power series equals the exact form"
