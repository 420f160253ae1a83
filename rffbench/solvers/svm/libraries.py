"""LIBSVM and LIBLINEAR, which are loaded where they are asked for: they need a compiler, and are an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

from rffbench.errors import ConfigError

MODULES = {"LIBSVM": "libsvm.svm", "LIBLINEAR": "liblinear.liblinear"}


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
