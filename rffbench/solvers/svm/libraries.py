"""LIBSVM and LIBLINEAR, an extra that needs a compiler. They are loaded on demand."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_char_p
from importlib import import_module
from typing import Any, Literal

from sklearn.exceptions import ConvergenceWarning

from rffbench.errors import ConfigError

MODULES = {"LIBSVM": "libsvm.svm", "LIBLINEAR": "liblinear.liblinear"}
_Printer = CFUNCTYPE(None, c_char_p)
_print_nothing = _Printer(lambda _text: None)
_AT_ITS_LIMIT = re.compile(r"WARNING: (reaching max number of (?:Newton )?iterations)(?:\s*(Switching to use -s \d+))?")
_STEPS = re.compile(r"#iter = (\d+)")
LIBSVM_MOST_STEPS, LIBSVM_STEPS_A_ROW = 10_000_000, 100  # the larger is its limit, which it reports only on stderr


def load(library: Literal["LIBSVM", "LIBLINEAR"], parameter: str, otherwise: str) -> Any:
    """The library's module; ConfigError, with what to install, if it is missing.

    ``parameter``: the solver's parameter that needs it; ``otherwise``: the setting that does not need it.
    """
    try:
        return import_module(MODULES[library])
    except (ImportError, OSError) as error:
        install = "pip install 'rffbench[svm]', which needs a C and a C++ compiler"
        message = f"{library} cannot be loaded ({error}): {install}; {otherwise} does not need it"
        raise ConfigError(message, parameter=parameter) from error


@contextmanager
def heard(print_by: Callable[[Any], object]) -> Iterator[list[str]]:
    """Collect what a library prints in the block, instead of printing it; ``print_by`` sets the function that it
    calls."""
    printed: list[str] = []
    printer = _Printer(lambda text: printed.append(text.decode(errors="replace")))
    print_by(printer)
    try:
        yield printed
    finally:
        print_by(_print_nothing)


def warn_of_liblinear(printed: list[str]) -> None:
    """ConvergenceWarning, in LIBLINEAR's words, if it stopped at its limit."""
    if found := _AT_ITS_LIMIT.search("".join(printed)):
        what = ", ".join(part for part in found.groups() if part)
        warnings.warn(f"LIBLINEAR has not converged: {what}", ConvergenceWarning, stacklevel=3)


def warn_of_libsvm(printed: list[str], n: int) -> None:
    """ConvergenceWarning if LIBSVM stopped at its limit for n rows."""
    for steps in map(int, _STEPS.findall("".join(printed))):
        if steps >= max(LIBSVM_MOST_STEPS, LIBSVM_STEPS_A_ROW * n):
            warnings.warn(f"LIBSVM has not converged in {steps:,} steps", ConvergenceWarning, stacklevel=3)
