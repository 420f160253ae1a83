"""Where in a config an error is: the errors of what is checked, reported at its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rffbench.errors import ConfigError
from rffbench.io.yamlfile import Misplaced, problem

Value = TypeVar("Value")


def placed(check: Callable[[Any], Value], value: Any, *where: str | int) -> Value:
    """Call ``check(value)``; its errors are reported at ``where``."""
    try:
        return check(value)
    except ValidationError as error:
        raise misplaced(error, *where) from None


def misplaced(error: ValidationError, *where: str | int, model: type[BaseModel] | None = None) -> Misplaced:
    """Raise the first validation error of a ``model``, with its place below ``where``."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    inner = (*first["loc"], *getattr(cause, "where", ()))
    return Misplaced(problem(first, model), *where, *inner)


@contextmanager
def located(*where: str | int) -> Iterator[None]:
    """In the block a ConfigError is reported at ``where``, or at the parameter there that it names."""
    try:
        yield
    except ConfigError as error:
        raise Misplaced(str(error), *where, *([error.parameter] if error.parameter else [])) from None


@contextmanager
def under(*where: str | int) -> Iterator[None]:
    """In the block the place of an error is relative to ``where``."""
    try:
        yield
    except Misplaced as error:
        raise Misplaced(str(error), *where, *error.where) from None
