"""Exact kernels by name. A kernel's traits (`rffbench.kernels.base`) say which random features it has.

Each kernel has a parameter γ > 0, and some have others. Everything about a kernel is in its class. No other module
lists kernels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from rffbench.arguments.parameters import TIMES_MEDIAN, WrongParameter
from rffbench.errors import ConfigError
from rffbench.kernels.arc_cosine import ArcCosineKernel
from rffbench.kernels.base import (
    TRAITS,
    ActivationKernel,
    BinningKernel,
    CompiledForm,
    Form,
    HalfSpaceKernel,
    IsotropicKernel,
    Kernel,
    MaclaurinKernel,
    ProductKernel,
    SpectralKernel,
)
from rffbench.kernels.dot_product import ExponentialKernel, PolynomialKernel
from rffbench.kernels.shift_invariant import (
    CauchyKernel,
    GaussianKernel,
    LaplacianKernel,
    MaternKernel,
    PerceptronKernel,
    RationalQuadraticKernel,
    mean_abs_coordinate,
)
from rffbench.plugins import ownfile
from rffbench.plugins.registry import Registry

__all__ = [
    "ALIASES",
    "KERNELS",
    "NAMED",
    "SPECTRAL_KERNELS",
    "TRAITS",
    "ActivationKernel",
    "ArcCosineKernel",
    "BinningKernel",
    "CauchyKernel",
    "CompiledForm",
    "ExponentialKernel",
    "Form",
    "GaussianKernel",
    "HalfSpaceKernel",
    "IsotropicKernel",
    "Kernel",
    "LaplacianKernel",
    "MaclaurinKernel",
    "MaternKernel",
    "PerceptronKernel",
    "PolynomialKernel",
    "ProductKernel",
    "RationalQuadraticKernel",
    "SpectralKernel",
    "check_squares",
    "kernel_argument",
    "kernel_class",
    "kernel_of",
    "make_kernel",
    "make_kernel_with",
    "make_spectral_kernel",
    "mean_abs_coordinate",
    "with_trait",
]  # fmt: skip

KERNELS: dict[str, type[Kernel]] = {
    each.name: each
    for each in (
        GaussianKernel, LaplacianKernel, CauchyKernel, MaternKernel, RationalQuadraticKernel, PerceptronKernel,
        PolynomialKernel, ExponentialKernel, ArcCosineKernel,
    )
}  # fmt: skip
"""The built-in kernels by their names in configs."""

ALIASES = {
    alias: (name, parameters) for name, kernel in KERNELS.items() for alias, parameters in kernel.aliases.items()
}
"""Other names, each with the kernel's own name and the parameters that it means."""

NAMED = Registry(
    "kernel", {name: f"{kernel.__module__}:{kernel.__qualname__}" for name, kernel in KERNELS.items()},
    "rffbench.kernels", common=("gamma",), none=None, own_files=True,
)  # fmt: skip
"""The built-in kernels, those of packages with the entry point ``rffbench.kernels``, and classes in the user's own
files (``./mine.py:MyKernel``)."""


OWN_KERNELS = "NystroemFeatures, ExactKernelRidgeCV, FalkonCV and KernelSVM"
"""What takes kernels of the user's own (`rffbench.kernels.own`)."""

Trait = TypeVar("Trait", bound=Kernel)


def with_trait(trait: type) -> list[str]:
    """The names of the kernels that have ``trait``, one of `TRAITS`."""
    return [name for name, kernel in KERNELS.items() if kernel.has(trait)]


SPECTRAL_KERNELS = {name: KERNELS[name] for name in with_trait(SpectralKernel)}


def kernel_class(name: str) -> type[Kernel]:
    """The class of the kernel called ``name``; ValueError, naming the nearest name, if there is none."""
    if name in KERNELS:
        return KERNELS[name]
    try:
        found = NAMED.factory(ALIASES[name][0] if name in ALIASES else name)
    except ConfigError as error:
        raise ValueError(str(error)) from error
    if not isinstance(found, type) or not issubclass(found, Kernel):
        raise ValueError(f"kernel {ownfile.portable(name)!r}: must derive from rffbench.kernels.Kernel")
    return found


def make_kernel(kernel: str | Kernel, gamma: Any = 1.0, **parameters: Any) -> Kernel:
    """The kernel with γ = ``gamma`` and other parameters: ``kernel`` is its name, or a Kernel with these parameters.

    If a Kernel has a γ other than 1, ``gamma`` must be 1 or the same. Raises ValueError for an unknown name (naming the
    nearest one), an unknown parameter, a γ that is not a positive number, or two different γ.
    """
    if not isinstance(kernel, (str, Kernel)):
        raise ValueError(f"kernel must be a name or a Kernel, got {kernel!r}; {OWN_KERNELS} take a callable, too")
    if not isinstance(kernel, Kernel):
        made_by = kernel_class(kernel)
        name, given = ALIASES.get(kernel, (kernel, {}))
        if parameters:
            _check_parameters(name, parameters)
        return made_by(gamma, **given | parameters)
    changed = kernel.with_gamma(gamma)
    if kernel.gamma in (1, changed.gamma):
        return changed
    if changed.gamma == 1:
        return kernel
    raise WrongParameter("gamma", f"is given twice: {gamma!r}, and {kernel.gamma:g} in {kernel}")


def _check_parameters(name: str, given: Mapping[str, Any]) -> None:
    try:
        NAMED.check_names(name, given, besides=("gamma", "sigma"))
    except ConfigError as error:
        raise ValueError(str(error)) from error


def kernel_of(spec: Mapping[str, Any]) -> Kernel:
    """The kernel of a trial's spec, {"name": …, "gamma": …, parameters}, whose γ is a number."""
    return make_kernel(spec["name"], **{key: value for key, value in spec.items() if key != "name"})


def kernel_argument(spec: Mapping[str, Any]) -> str | Kernel:
    """The argument ``kernel`` of maps and solvers for a trial's spec, which they take beside ``gamma``: the name of a
    built-in kernel without other parameters, else a Kernel with γ = 1."""
    if spec["name"] in KERNELS and spec.keys() <= {"name", "gamma"}:
        return str(spec["name"])
    return kernel_of({**spec, "gamma": 1.0})


def kernel_in_words(spec: Mapping[str, Any], digits: int = 4) -> str:
    """The kernel of a config or a trial's spec in messages, ``gaussian, σ = 2 (γ = 0.125)``: its bandwidth as σ and as
    γ, because a config gives either of them."""
    own = [f"{key} = {_listed(value, digits)}" for key, value in spec.items() if key not in ("name", "gamma")]
    bandwidth = bandwidth_in_words(str(spec["name"]), spec.get("gamma"), digits)
    return ", ".join([str(spec["name"]), *([bandwidth] if bandwidth else []), *own])


def bandwidth_in_words(kernel: str, gamma: Any, digits: int = 4) -> str:
    """The bandwidth of the kernel called ``kernel`` as σ and γ, with its values or its rule; empty if the kernel has no
    bandwidth, or the rows determine it."""
    if isinstance(gamma, Mapping):
        return f"σ = {_listed(gamma[TIMES_MEDIAN], digits)} times the median distance"
    if isinstance(gamma, str):
        return "σ = the median distance" if gamma == "median" else f"γ = {gamma}"
    gammas = [float(value) for value in (gamma if isinstance(gamma, list) else [gamma]) if value is not None]
    if not gammas:
        return ""
    try:
        of = kernel_class(kernel)
    except ValueError:  # of the user's own file, which is not there any more
        return f"γ = {_listed(gammas, digits)}"
    if not of.has_bandwidth:
        return ""
    return f"σ = {_listed([of.sigma_from_gamma(each) for each in gammas], digits)} (γ = {_listed(gammas, digits)})"


def _listed(value: Any, digits: int) -> str:
    if isinstance(value, list):
        return " or ".join(_listed(each, digits) for each in value)
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def make_kernel_with(trait: type[Trait], kernel: str | Kernel, gamma: Any = 1.0) -> Trait:
    """`make_kernel`; ValueError, naming the kernels that would do, if it does not have ``trait``, one of `TRAITS`."""
    made = make_kernel(kernel, gamma)
    if isinstance(made, trait):
        return made
    raise ValueError(f"the {made.called()} kernel does not have {trait.trait}; {', '.join(with_trait(trait))} have")


def make_spectral_kernel(kernel: str | Kernel, gamma: Any = 1.0) -> SpectralKernel:
    """`make_kernel`; ValueError, naming the kernels that would do, if it has no spectral density."""
    made = make_kernel(kernel, gamma)
    if not isinstance(made, SpectralKernel):
        also = f"the {made.called()} features, or " if made.has(HalfSpaceKernel) else ""
        raise ValueError(
            f"the {made.called()} kernel has no spectral density for Fourier features to draw from; use {also}"
            f"one of the kernels {', '.join(SPECTRAL_KERNELS)}"
        )
    return made


def check_squares(X: Any) -> None:
    """ValueError if squares of numbers of X (n, d), an array or a CSR matrix, or their sums over a row may overflow."""
    largest = math.sqrt(float(np.finfo(X.dtype).max)) / (10 * X.shape[1])
    if not np.abs(X.data if issparse(X) else X).max(initial=0.0) < largest:
        raise ValueError(f"X holds numbers above {largest:.0g}, whose squares overflow; scale it first")
