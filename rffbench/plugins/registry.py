"""Feature maps and solvers by name: the built-in ones and those of other packages, loaded on first use, and feature
maps in the user's own file, by its path.

The factory (a class or a function) declares what a config may set. Its signature has the parameters with their defaults
and types, its docstring's section "Parameters" their descriptions (numpydoc's format, one ``name : text`` each), and
the docstring's first line is the summary. The attribute ``choices`` maps a parameter to its allowed values; so does the
type ``Literal``. A parameter whose name would be a Python keyword ends in an underscore: ``lambda_`` is a config's
``lambda``.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from keyword import iskeyword
from pathlib import Path
from typing import Any

from rffbench.errors import ConfigError, is_ctrl_c, unknown
from rffbench.plugins import ownfile
from rffbench.plugins.guarded import (
    load_added,
    problem_of,
)
from rffbench.plugins.recipe import Recipe, check_class, listed, signature, takes_all

NONE = "none"
"""The name in configs for having no feature map, or no solver."""

IN_CONFIGS = {  # parameters of estimators that a config sets by another key
    "n_components": "n_features",
    "gamma": "kernel: {gamma: …}",
    "sigma": "kernel: {sigma: …}",
    "random_state": "seed",
    "alpha": "lambda",
    "alphas": "lambda",
}


@dataclass(frozen=True)
class Parameter:
    """The facts about a parameter; ``default`` is ``inspect.Parameter.empty`` if it has no default."""

    default: Any
    annotation: Any = Any
    choices: tuple[Any, ...] | None = None
    description: str = ""


class Registry:
    """Factories by name: ``built_in`` ones, name to ``module:attribute``, and those of the entry-point group.

    Messages call them ``what``. ``none`` is the meaning of the name 'none'; if it is None, there is no such name.
    ``common`` names values that the experiment sets for all parts: they are not parameters of a config, and are passed
    to the factories that ask for them. With ``own_files`` a name may also be a class in a file
    (`rffbench.plugins.ownfile`).
    """

    def __init__(
        self,
        what: str,
        built_in: Mapping[str, str],
        group: str,
        *,
        common: tuple[str, ...],
        none: str | None,
        own_files: bool = False,
    ) -> None:
        self.what, self.group, self.common, self.none, self.own_files = what, group, common, none, own_files
        self.built_in = {name: EntryPoint(name, value, group) for name, value in built_in.items()}

    def names(self) -> list[str]:
        """The names for configs: built-in ones first, ``none`` last. Another package cannot replace a built-in name."""
        absent = [] if self.none is None else [NONE]
        return [*self.built_in, *sorted(set(self._added()) - set(self.built_in)), *absent]

    def _added(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def factory(self, name: str) -> Any:
        """The factory called ``name``; ConfigError if there is none, with the nearest name, or if it can't be
        loaded."""
        if self.is_own(name):
            return self._checked(name, self._own(name))
        point = self.built_in.get(name) or self._added().get(name)  # looking through installed packages takes 15 ms
        if point is None and self.own_files and ("/" in name or ":" in name):
            raise ConfigError(f"{self.what} {name!r}: your own class must be in a .py file: ./mine.py:MyFeatures")
        if point is None:
            raise ConfigError(unknown(self.what, name, self.names()))
        if name in self.built_in:
            return _loaded(point)
        try:
            found = load_added(point)
            if listed(found) is None:
                signature(found)
        except ConfigError as error:
            raise ConfigError(f"{self.what} {name!r} {error}") from error
        except (TypeError, ValueError):
            raise ConfigError(
                f"{self.what} {name!r}: {point.value} is neither a class nor a function: {found!r}"
            ) from None
        return self._checked(name, found)

    def is_foreign(self, name: str) -> bool:
        """Whether ``name`` is of the user's own file or of another package."""
        return name != NONE and name not in self.built_in

    def is_own(self, name: str) -> bool:
        """Whether ``name`` names a class in the user's own file."""
        return self.own_files and ownfile.is_own(name)

    def _own(self, name: str) -> Any:
        try:
            found = ownfile.load(name)
        except ConfigError as error:
            raise ConfigError(f"{self._called(name)}: {error}") from error
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            raise ConfigError(f"{self._called(name)}: {ownfile.place(name, error)}: {problem_of(error)}") from error
        if not isinstance(found, type):
            raise ConfigError(f"{self._called(name)}: {ownfile.path_of(name)}: that is not a class: {found!r}")
        return found

    def _checked(self, name: str, found: Any) -> Any:
        check_class(self._called(name), found)
        return found

    def _called(self, name: str) -> str:
        return f"{self.what} {ownfile.portable(name)!r}" if self.own_files else f"{self.what} {name!r}"

    def made_by(self, name: str, given: Mapping[str, Any] | None = None) -> int | str | None:
        """The identity of the code called ``name``: for a built-in part its ``version`` (an attribute of its class or
        function, else 1), for a user's own file its hash, for another package its name, its version and the hash of the
        module. None for ``none``.

        Where only one value of a parameter gives other numbers than before, the attribute ``versions`` has the version
        of that value, ``{parameter: {value: version}}``; it counts where ``given`` has the value."""
        if name == NONE:
            return None
        if self.is_own(name):
            return ownfile.source_hash(name)
        if name in self.built_in:
            factory, given = self.factory(name), given or {}
            of_values = getattr(factory, "versions", {}).items()
            versions = [version for key, of in of_values for value, version in of.items() if given.get(key) == value]
            return int(max([getattr(factory, "version", 1), *versions]))
        self.factory(name)
        point = self._added()[name]
        file = getattr(sys.modules.get(point.module), "__file__", None)
        package = f"{point.dist.name} {point.dist.version}" if point.dist else point.module
        return f"{package}, source {hashlib.sha256(Path(file).read_bytes()).hexdigest()}" if file else package

    def parameters(self, name: str) -> Mapping[str, Parameter]:
        """The parameters that a config may set, by their names there."""
        return {} if name == NONE and self.none else parameters_of(self.factory(name), self.common)

    def defaults(self, name: str) -> dict[str, Any]:
        """The same with their defaults as in YAML."""
        found = self.parameters(name)
        for key, parameter in found.items():
            if parameter.default is inspect.Parameter.empty:
                raise ConfigError(f"{self.what} {name!r} cannot be used in a config: its {key} has no default")
        return {key: _plain(parameter.default) for key, parameter in found.items()}

    def check_names(self, name: str, given: Collection[str], besides: Collection[str] = ()) -> None:
        """ConfigError for the first ``given`` key that is neither a parameter nor in ``besides``."""
        valid = [*self.parameters(name), *besides]
        for key in given:
            if key not in valid:
                message = unknown(f"parameter of {self._called(name)}:", key, valid)
                if (said := IN_CONFIGS.get(key)) and (said != "lambda" or said in valid):
                    message = f"{self._called(name)} has no parameter {key!r} in a config: use {said}"
                if others := [each for each in self.built_in if key in self.parameters(each)]:
                    message = f"{message}; {key} is one of {', '.join(others)}"
                raise ConfigError(message, parameter=key)

    def recipe(self, name: str, given: Mapping[str, Any]) -> Recipe:
        """What builds the part called ``name`` with the ``given`` parameters; ConfigError for an unknown name."""
        return Recipe(name, self._called(name), self.factory(name), given, self.is_foreign(name))

    def needs(self, name: str, key: str) -> bool | None:
        """Whether the factory needs the common value ``key``; False: it does not take it; None: it is optional."""
        factory = self.factory(name)
        if listed(factory) is not None:
            return None
        asked = signature(factory).parameters
        if key in asked:
            return True if asked[key].default is inspect.Parameter.empty else None
        return None if takes_all(asked) else False

    def summary(self, name: str) -> str:
        """The summary, in one line."""
        if name == NONE and self.none:
            return self.none
        return (inspect.getdoc(self.factory(name)) or name).partition("\n")[0]

    def describe(self) -> list[dict[str, Any]]:
        """For listings: each name with its summary line and its parameters with their defaults. The summary says if
        the part cannot be used."""
        rows = []
        for name in self.names():
            try:
                rows.append({"name": name, "summary": self.summary(name), "parameters": self.defaults(name)})
            except Exception as error:  # whatever a package's attributes may do where they are read
                problem = str(error) if isinstance(error, ConfigError) else f"cannot be described: {problem_of(error)}"
                rows.append({"name": name, "summary": problem, "parameters": {}})
        return rows


_loaded = cache(EntryPoint.load)  # a config asks for every method at every size


@cache
def parameters_of(factory: Any, common: tuple[str, ...]) -> Mapping[str, Parameter]:
    """The parameters of ``factory`` except the ``common`` ones: from its attribute ``parameters``, a mapping from name
    to default, if it has one, else from its signature."""
    if (known := listed(factory)) is not None:
        return {key: Parameter(default) for key, default in known.items()}
    try:
        signature = inspect.signature(factory, eval_str=True)
    except Exception:  # another package's annotations may need what is imported for type checkers alone
        signature = inspect.signature(factory)
    choices, texts = getattr(factory, "choices", {}), dict[str, str]()
    for each in reversed(getattr(factory, "__mro__", [factory])):  # a parameter may be a base class's
        texts |= _descriptions(inspect.cleandoc(each.__doc__ or ""))
    found = {}
    for name, each in signature.parameters.items():
        if name in common or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        annotation = Any if each.annotation is each.empty or isinstance(each.annotation, str) else each.annotation
        key = name[:-1] if name.endswith("_") and iskeyword(name[:-1]) else name
        found[key] = Parameter(each.default, annotation, choices.get(name), texts.get(name, ""))
    return found


def _plain(default: Any) -> Any:
    return list(default) if isinstance(default, (tuple, list)) else default


def _descriptions(docstring: str) -> dict[str, str]:
    """Each parameter's text in the docstring's section "Parameters"."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in docstring.partition("Parameters\n----------\n")[2].splitlines():
        head, colon, text = line.partition(" : ")
        if line.startswith(" "):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        elif colon:
            names = [name.strip() for name in head.split(",")]
            found |= dict.fromkeys(names, text)
        elif line:
            break  # the next section
    return found
