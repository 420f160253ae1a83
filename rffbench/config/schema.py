"""The JSON Schema of a config, with the keys of every feature map and solver."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from rffbench.config.experiment import Experiment
from rffbench.config.sections import Solver
from rffbench.errors import ConfigError
from rffbench.features import MAPS
from rffbench.plugins.registry import Parameter, Registry
from rffbench.solvers import SOLVERS

Schema = dict[str, Any]

OWN_FILE: Schema = {
    "title": "a class in your own file",
    "description": "./mine.py:MyFeatures, relative to the config's folder; its parameters beside it",
    "type": "object",
    "properties": {"features": {"type": "string", "pattern": r"\.py:"}},
    "required": ["features"],
}


def json_schema() -> Schema:
    """The schema of a config: a method has the keys of its map, a solver those of the solver it names."""
    schema = Experiment.model_json_schema()
    definitions = schema["$defs"]
    default = Solver().name
    of_a_method = {key: each for key, each in definitions["Method"]["properties"].items() if key != "features"}
    of_a_method["solver"] = {
        "description": of_a_method["solver"]["description"],
        "anyOf": [{"$ref": "#/$defs/MethodSolver"}, {"type": "null"}],
    }
    solvers = _alternatives(SOLVERS, "name", {})
    definitions["Method"] |= {"oneOf": [*_alternatives(MAPS, "features", of_a_method), OWN_FILE]}
    definitions["Solver"] |= {
        "oneOf": [each if each["title"] != default else {**each, "required": []} for each in solvers]
    }
    definitions["MethodSolver"] = {"oneOf": [*solvers, _without_a_name(solvers)]}
    for name in ("Method", "Solver"):  # what pydantic says of the keys that all have is said in each alternative
        for key in ("properties", "additionalProperties", "required"):
            definitions[name].pop(key, None)
    return schema


def _alternatives(registry: Registry, key: str, common: Schema) -> list[Schema]:
    """A schema for each name, the value of ``key``: it allows the name's own keys and the ``common`` ones."""
    return [
        {
            "title": row["name"],
            "description": row["summary"],
            "type": "object",
            "properties": {key: {"const": row["name"]}, **_keys(registry, row["name"]), **common},
            "required": [key],
            "additionalProperties": False,
        }
        for row in registry.describe()
    ]


def _without_a_name(solvers: list[Schema]) -> Schema:
    """A method's settings of the experiment's solver, for any solver."""
    keys: dict[str, list[Schema]] = {}
    for solver in solvers:
        for key, each in solver["properties"].items():
            if key != "name" and each not in keys.setdefault(key, []):
                keys[key].append(each)
    return {
        "title": "of the experiment's solver",
        "type": "object",
        "properties": {key: each[0] if len(each) == 1 else {"anyOf": each} for key, each in keys.items()},
        "additionalProperties": False,
    }


def _keys(registry: Registry, name: str) -> dict[str, Schema]:
    try:
        return {key: _value(parameter) for key, parameter in registry.parameters(name).items()}
    except ConfigError:  # another package's, which cannot be loaded: so says its description
        return {}


def _value(parameter: Parameter) -> Schema:
    """The schema of a parameter's value."""
    schema: Schema = {"description": parameter.description} if parameter.description else {}
    if parameter.choices is not None:
        schema["enum"] = list(parameter.choices)
    else:
        schema |= _of_type(parameter.annotation)
    if parameter.default is not inspect.Parameter.empty:
        schema["default"] = to_jsonable_python(parameter.default, fallback=repr)
    return schema


def _of_type(annotation: Any) -> Schema:
    try:
        schema = TypeAdapter(annotation).json_schema()
    except (PydanticUserError, NameError, TypeError):  # a type that JSON does not have
        return {}
    return {} if "$defs" in schema else schema
