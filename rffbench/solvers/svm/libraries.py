"""LIBSVM and LIBLINEAR, which are loaded where they are asked for: they need a compiler, and are an extra."""

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
LIBSVM_MOST_STEPS, LIBSVM_STEPS_A_ROW = 10_000_000, 100  # the larger is its limit; it says so on standard error alone


def load(library: Literal["LIBSVM", "LIBLINEAR"], parameter: str, otherwise: str) -> Any:
    """The library's module; ConfigError, with what to install, where it is missing.

    ``parameter`` is the solver's that asks for it, ``otherwise`` what to write in the config to do without.
    """
    try:
        return import_module(MODULES[library])
    except (ImportError, OSError) as error:
        install = "pip install 'rffbench[svm]', which needs a C and a C++ compiler"
        message = f"{library} cannot be loaded ({error}): {install}; {otherwise} does without"
        raise ConfigError(message, parameter=parameter) from error


@contextmanager
def heard(print_by: Callable[[Any], object]) -> Iterator[list[str]]:
    """What a library prints within the block, which nobody else sees; ``print_by`` sets the function that it calls."""
    said: list[str] = []
    printer = _Printer(lambda text: said.append(text.decode(errors="replace")))
    print_by(printer)
    try:
        yield said
    finally:
        print_by(_print_nothing)


def tell_of_liblinear(said: list[str]) -> None:
    """ConvergenceWarning, in LIBLINEAR's words, where it has stopped at its limit."""
    if found := _AT_ITS_LIMIT.search("".join(said)):
        what = ", ".join(part for part in found.groups() if part)
        warnings.warn(f"LIBLINEAR has not converged: {what}", ConvergenceWarning, stacklevel=3)


def tell_of_libsvm(said: list[str], n: int) -> None:
    """ConvergenceWarning where LIBSVM has stopped at its limit for n rows."""
    for steps in map(int, _STEPS.findall("".join(said))):
        if steps >= max(LIBSVM_MOST_STEPS, LIBSVM_STEPS_A_ROW * n):
            warnings.warn(f"LIBSVM has not converged in {steps:,} steps", ConvergenceWarning, stacklevel=3)
