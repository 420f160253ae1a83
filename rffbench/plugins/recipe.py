"""What a config's name and parameters stand for, found and checked once, so that parts can be built of it again and
again. Building looks up no name; what it can fail of is the part's own code."""

from __future__ import annotations

import inspect
import reprlib
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from typing import Any

from rffbench.arguments.parameters import WrongParameter
from rffbench.errors import ConfigError, is_ctrl_c
from rffbench.io.text import duration
from rffbench.plugins import guarded
from rffbench.plugins.guarded import (
    PUT_AWAY,
    TooLong,
    at_most,
    limit_del,
    outlived,
    printing_to_standard_error,
    problem_of,
)
from rffbench.plugins.parts import declared
from rffbench.plugins.surroundings import restored

NO_NAME = "rffbench_asks_for_no_such_name"

_BUILT_ONCE: set[str] = set()  # what messages call the foreign parts that have been built


@dataclass(frozen=True)
class Recipe:
    """A part to build: the ``factory`` that a ``name`` stands for, and the parameters ``given`` to it.

    ``called`` is what messages call it; ``foreign``: it is of the user's own file or of another package.
    """

    name: str
    called: str
    factory: Any
    given: Mapping[str, Any]
    foreign: bool

    def build(self, prepare: Callable[[Any], object] = lambda part: None, **common: Any) -> Any:
        """The part that `make` makes, once ``prepare`` has been called with it and its own ``check_parameters`` finds
        nothing wrong; ConfigError, by `refusing`, for what goes wrong."""
        with self.refusing():
            part = self.make(**common)
            prepare(part)
            if declared(part, "check_parameters"):
                part.check_parameters()
        return part

    def make(self, **common: Any) -> Any:
        """The part that the factory makes of the parameters, and of the ``common`` values that it asks for."""
        asked = signature(self.factory).parameters
        if not takes_all(asked):
            common = {key: value for key, value in common.items() if key in asked}
        needed = [key for key in _without_default(asked) if key not in common and key not in map(_argument, self.given)]
        if needed:
            raise ValueError(f"{', '.join(needed)} must have a default")
        by_key = listed(self.factory) is not None
        named = self.given if by_key else {_argument(key): value for key, value in self.given.items()}
        if hasattr(self.factory, "__del__") and self.factory not in PUT_AWAY:
            PUT_AWAY[self.factory] = None
            self.factory(**common, **named)
            check_class(self.called, self.factory)
        made = self.factory(**common, **named)
        if self.foreign:
            _check_answers(made)
        return made

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """A block that turns a ValueError of the factory, or of the part it made, into a ConfigError; for code that is
        not built in, every error. Printed text goes to standard error."""
        try:
            if self.foreign:
                first = self.called not in _BUILT_ONCE
                _BUILT_ONCE.add(self.called)  # to look through the libraries' functions every time would take too long
                with (
                    restored(modules=first), at_most(guarded.IMPORT_S), outlived(), printing_to_standard_error(),
                ):  # fmt: skip
                    yield
            else:
                yield
        except (ConfigError, MemoryError):
            raise
        except (Exception, SystemExit, KeyboardInterrupt, TooLong) as error:
            if is_ctrl_c(error) or not (self.foreign or isinstance(error, ValueError)):
                raise
            parameter = error.parameter if isinstance(error, WrongParameter) else None
            said = str(error) if isinstance(error, ValueError) else problem_of(error)
            raise ConfigError(self.blame(error) or f"{self.called}: {said}", parameter=parameter) from error

    def blame(self, error: BaseException, part: Any = None) -> str:
        """The message for an error that this code raised: its package or file, method, line and text. ``part`` is what
        its factory has made, if it has. Empty for built-in code, and if the code did not raise it."""
        if not self.foreign:
            return ""
        made = self.factory if part is None else type(part)
        package = (getattr(made, "__module__", None) or self.name).partition(".")[0]
        methods, lines = [], []
        for frame, line in traceback.walk_tb(error.__traceback__):
            code = frame.f_code
            if isinstance(made, type) and isinstance(frame.f_locals.get("self"), made) and hasattr(made, code.co_name):
                methods.append(f"in {code.co_name}")
            if frame.f_globals.get("__name__", "").partition(".")[0] == package:
                lines.append(f"{code.co_filename}, line {line}")
        if not methods and (part is not None or not lines):
            return ""
        said = str(error) if isinstance(error, WrongParameter) else problem_of(error, "it ends the process")
        if isinstance(error, TooLong):
            said = f"it is not done after {duration(guarded.IMPORT_S)}"
        return f"{self.called}: {', '.join(methods[:1] + lines[-1:])}: {said}"


def check_class(called: str, factory: Any) -> None:
    """Limit the time of ``__del__`` of a class of foreign code; ConfigError if one of its objects took longer, or if
    the class answers to every name."""
    if not isinstance(factory, type):
        return
    try:
        _check_answers(factory)
    except ValueError as problem:
        raise ConfigError(f"{called}: {problem}") from problem
    if hasattr(factory, "__del__"):
        limit_del(factory)
    if error := PUT_AWAY.get(factory):
        place = traceback.extract_tb(error.__traceback__)[1]  # that of __del__ itself
        where = f"in __del__: {place.filename}, line {place.lineno}"
        raise ConfigError(f"{called}: {where}: it is not done after {duration(guarded.PUT_AWAY_S)}") from error


def _check_answers(part: Any) -> None:
    """ValueError if a part, or its class, answers to a name that nobody has. scikit-learn asks a part for optional
    methods, and would call what it gets."""
    try:
        answer = getattr(part, NO_NAME)
    except AttributeError:
        return
    except Exception as error:
        got = f"raises {type(error).__name__}"
    else:
        got = f"gives {reprlib.repr(answer)}"
    kind = part if isinstance(part, type) else type(part)
    raise ValueError(
        f"__getattr__ of {kind.__name__} {got} for a name that it does not know; it must raise AttributeError, because "
        "scikit-learn and rffbench ask which methods a part has"
    )


# ---- What a factory asks for ---------------------------------------------------------------------------------

signature = cache(inspect.signature)


def listed(factory: Any) -> Mapping[str, Any] | None:
    """The parameters that a factory lists in its attribute ``parameters``, with their defaults; None if it does not."""
    found = getattr(factory, "parameters", None)
    return found if isinstance(found, Mapping) else None


def takes_all(asked: Mapping[str, inspect.Parameter]) -> bool:
    """Whether a signature takes every keyword."""
    return any(each.kind is each.VAR_KEYWORD for each in asked.values())


def _argument(key: str) -> str:
    return f"{key}_" if iskeyword(key) else key


def _without_default(asked: Mapping[str, inspect.Parameter]) -> list[str]:
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [key for key, each in asked.items() if each.kind in plain and each.default is inspect.Parameter.empty]
