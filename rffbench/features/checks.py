"""Checks of a feature map: columns, seeds, dtype, nesting, scikit-learn's contract, and the rate at which its kernel
approaches the exact one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.rowsource import dense_rows
from rffbench.arguments.seeds import watching_global_generators
from rffbench.errors import ConfigError, is_ctrl_c
from rffbench.features import MAPS, make_features
from rffbench.features.base import fitted, mapped, naming_who_writes
from rffbench.features.hooks import columns_of, hook, makes_sparse
from rffbench.kernels import KERNELS, make_kernel
from rffbench.kernels.checks import BIAS_SIGMAS, PAIRS, SIGMAS, SIZES, Check, largest_bias, run_checks, slope
from rffbench.plugins.guarded import outlived
from rffbench.plugins.registry import NONE

GAMMA = 0.8
X = np.random.default_rng(0).uniform(size=(40, 3))
Y = 1 + X[:, 0] ** 2
for each in (X, Y):
    each.setflags(write=False)  # as in a trial: a map that changes them gets an error


def check_map(name: str) -> Iterator[Check]:
    """Check the map that a config calls ``name``, with its parameters' defaults, and yield each check when it is done.

    A map whose class has ``unbiased = False`` is biased by design: its rate is reported, not judged. ConfigError if the
    map cannot be made.
    """
    if name == NONE:
        raise ConfigError(f"{NONE} means no feature map, so there is nothing to check")
    kernel = _kernel_of(name)
    features, recipe = _made(name, kernel), MAPS.recipe(name, {})
    checks: dict[str, Callable[[Any], tuple[bool, str]]] = {
        "columns": _columns, "global seeds": _global_seeds, "seed": _seed, "dtype": _dtype, "nesting": _nesting,
        "contract": _contract, "rate": partial(_rate, kernel=kernel),
    }  # fmt: skip
    named = naming_who_writes(features)
    yield from run_checks(
        {label: named(partial(check, features)) for label, check in checks.items()},
        lambda error: recipe.blame(error, features),
    )


def errors(
    features: Any, kernel: str, X: FloatArray = X, repetitions: int = 60, gamma: float = GAMMA,
    true_gamma: float = GAMMA, sizes: Sequence[int] = SIZES,
) -> NDArray[np.float64]:  # fmt: skip
    """φ(x)ᵀφ(x′) − k(x, x′): (sizes, repetitions, pairs of the first 12 points)."""
    if not make_kernel(kernel).has_bandwidth:
        gamma = true_gamma = 1.0
    K = make_kernel(kernel, true_gamma)(X[:12])[PAIRS]
    found = np.empty((len(sizes), repetitions, len(K)))
    for i, n_components in enumerate(sizes):
        for seed in range(repetitions):
            given = {"n_components": n_components, "kernel": kernel, "gamma": gamma, "random_state": seed}
            Z = _numbers(_fitted(features, X, **given), X[:12])
            found[i, seed] = (Z @ Z.T)[PAIRS] - K
    return found


def _kernel_of(name: str) -> str:
    """The first kernel that the map serves."""
    for kernel in KERNELS:
        try:
            with outlived():
                _made(name, kernel).fit(X, Y)
        except ConfigError as error:
            if error.parameter != "kernel":
                raise
            continue
        except (
            Exception,
            SystemExit,
            KeyboardInterrupt,
        ) as error:  # another kernel's, or broken: the checks say so
            if is_ctrl_c(error):
                raise
            continue
        return kernel
    return next(iter(KERNELS))


def _made(name: str, kernel: str) -> Any:
    gamma = GAMMA if KERNELS[kernel].has_bandwidth else 1.0
    return make_features({"name": name}, kernel=kernel, gamma=gamma, n_features=16, count="columns", random_state=0)


def _set(features: Any, **values: Any) -> Any:
    """An unfitted copy with ``values``, except those for which the map has no parameter."""
    has = features.get_params()
    return clone(features).set_params(**{key: value for key, value in values.items() if key in has})


def _fitted(features: Any, X: FloatArray = X, **values: Any) -> Any:
    """A copy with ``values``, fitted to the rows X."""
    return fitted(_set(features, **values), X, Y)


def _numbers(features: Any, X: FloatArray = X, columns: int | None = None) -> FloatArray:
    """The features of the rows X, as an array; ValueError if they are not finite."""
    Z = dense_rows(mapped(features, X, columns))
    if wrong := int(np.count_nonzero(~np.isfinite(Z))):
        who = type(features).__name__
        raise ValueError(f"{who}.transform gives {Z.size} numbers, of which {wrong} are not finite")
    return Z


def _columns(features: Any) -> tuple[bool, str]:
    made = _fitted(features, n_components=16)
    if makes_sparse(made):
        Z = mapped(made, X, columns_of(made))
        most = int(np.diff(Z.indptr).max())
        return most <= 16, f"16 numbers a row asked for, {most} given; the rows decide the {Z.shape[1]} columns"
    _numbers(made, columns=16)
    return True, "16 columns asked for, 16 finite ones given"


def _global_seeds(features: Any) -> tuple[bool, str]:
    with watching_global_generators() as changed:
        _fitted(features, random_state=1).transform(X)
    who = type(features).__name__
    return not changed, f"{who} changes {' and '.join(changed)} global generator" if changed else "unchanged"


def _seed(features: Any) -> tuple[bool, str]:
    one, same, other = (_numbers(_fitted(features, random_state=seed)) for seed in (1, 1, 2))
    if not np.array_equal(one, same):
        return False, "two fits with random_state=1 give different features"
    if np.array_equal(one, other):
        return True, "every seed gives the same features: right if the map draws nothing, else it must use random_state"
    return True, "equal seeds give equal features, other seeds give others"


def _dtype(features: Any) -> tuple[bool, str]:
    x = X.astype(np.float32)
    x.setflags(write=False)
    Z, z = (_numbers(_fitted(features, rows, random_state=3), rows) for rows in (X, x))
    if (Z.dtype, z.dtype) != (np.dtype(np.float64), np.dtype(np.float32)):
        return False, f"float64 gives {Z.dtype}, float32 gives {z.dtype}; the dtype of X must be kept"
    off = float(np.abs(z @ z.T - Z @ Z.T).max() / np.abs(Z @ Z.T).max())
    return off < 1e-3, f"kept; the kernels of float32 and float64 are {off:.0e} apart"


def _nesting(features: Any) -> tuple[bool, str]:
    """Reported, not judged: nested sizes are paired, which makes their comparison sharper."""
    small, large = (_fitted(features, n_components=n, random_state=5) for n in (10, 64))
    arrays = {key: value for key, value in vars(small).items() if key.endswith("_") and isinstance(value, np.ndarray)}
    nested = [
        key for key, less in arrays.items()
        if less.ndim and (more := getattr(large, key)).shape[-1] > less.shape[-1]
        and more[..., : less.shape[-1]].shape == less.shape and np.allclose(more[..., : less.shape[-1]], less)
    ]  # fmt: skip
    return True, f"{', '.join(nested)} of a smaller map begin a larger one's" if nested else "sizes do not nest"


def _contract(features: Any) -> tuple[bool, str]:
    results = check_estimator(_set(features, random_state=None), on_fail=None, on_skip=None)
    failed = [each for each in results if each["status"] == "failed"]
    if failed:
        reason = str(failed[0]["exception"]).strip().partition("\n")[0]
        return False, f"{len(failed)} of scikit-learn's {len(results)} fail: {failed[0]['check_name']}: {reason}"
    return True, f"all of scikit-learn's {len(results)} pass"


def _rate(features: Any, kernel: str) -> tuple[bool, str]:
    found = errors(features, kernel)
    first, last = np.sqrt((found**2).mean(axis=(1, 2)))[[0, -1]]
    falls = f"against the {kernel} kernel the error goes from {first:.3f} at {SIZES[0]} columns to {last:.3f} at "
    falls += f"{SIZES[-1]}"
    if same := not np.ptp(found, axis=1).any():
        falls += ", the same for every seed, so it is all bias"
    else:
        value, error = slope(found)
        bias = largest_bias(found)
        falls += f", as s^{value:.2f}±{error:.2f}, and the largest bias is {bias:.1f} standard errors"
    if not hook(features, "unbiased"):
        return True, f"{falls}; biased by design, not judged"
    if not same and value - SIGMAS * error < -0.5 and bias < BIAS_SIGMAS:
        return True, falls
    required = f"required: s^-0.5 or faster, and a bias below {BIAS_SIGMAS} standard errors"
    return False, f"{falls}; {required}; a map that is biased by design has `unbiased = False` in its class"
