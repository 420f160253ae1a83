"""A YAML file checked against a pydantic model, every complaint with its file and line.

YAML is read by PyYAML's safe loader, which builds plain data only; a key given twice is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from yaml.reader import ReaderError

from rffbench.errors import ConfigError, unknown

Model = TypeVar("Model", bound=BaseModel)


class Misplaced(ValueError):
    """A validator's complaint about something inside what it validates: ``where`` is the path from there."""

    def __init__(self, message: str, *where: str | int) -> None:
        super().__init__(message)
        self.where = where


def load(path: Path, model: type[Model]) -> Model:
    """The file's content as a ``model``; ConfigError says where, what is wrong and what is right."""
    data, root = _read(path)
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: must hold a mapping (key: value lines), not {_shown(data)}")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        complaints = [_complaint(each, model, root) for each in error.errors()]
        raise ConfigError(_joined(path, complaints)) from None


class _Loader(yaml.SafeLoader):
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be plain text", problem_mark=key.start_mark)
            if key.value in lines:
                problem = f"the key {key.value!r} is given twice (first on line {lines[key.value]})"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            lines[key.value] = key.start_mark.line + 1
        return node


def _read(path: Path) -> tuple[Any, yaml.Node | None]:
    """The file as plain data, and as YAML nodes, which know their lines."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return (None if node is None else loader.construct_document(node)), node
    except ReaderError as error:
        number = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{path}, line {number}: holds a control character (#x{error.character:02x})") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not YAML: {error}") from None


def _complaint(error: Any, model: type[BaseModel], root: yaml.Node | None) -> tuple[int, str]:
    """One of pydantic's errors as (line, message)."""
    where = tuple(part for part in error["loc"] if part != "[key]")
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, Misplaced):
        where += cause.where
    line, found = _locate(root, where)
    name = ".".join(map(str, found))
    match error["type"]:
        case "extra_forbidden":
            message = unknown("key", where[-1], _keys(model, where[:-1]))
        case "missing":
            message = f"the key {where[-1]!r} is missing" + (f" under {name}" if name else "")
        case "value_error":
            message = f"{name}: {cause}" if name else str(cause)
        case "model_type" | "dict_type":
            message = f"{name}: must be a mapping (key: value), not {_shown(error['input'])}"
        case _:
            message = f"{name}: {_lower(error['msg'])}, not {_shown(error['input'])}"
    return line, message


def _locate(node: yaml.Node | None, where: Sequence[str | int]) -> tuple[int, list[str | int]]:
    """The line of the innermost part of ``where`` that the file holds, and the parts it holds."""
    line = node.start_mark.line + 1 if node else 1
    found: list[str | int] = []
    for part in where:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if pair:
                line, node = pair[0].start_mark.line + 1, pair[1]
                found.append(part)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
            found.append(part + 1)  # people count from one
    return line, found


def _keys(model: type[BaseModel], where: Sequence[str | int]) -> list[str]:
    """The keys valid at ``where`` in the model."""
    for part in where:
        if isinstance(part, int):
            continue
        inner = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _joined(path: Path, complaints: Sequence[tuple[int, str]]) -> str:
    if len(complaints) == 1:
        line, message = complaints[0]
        return f"{path}, line {line}: {message}"
    lines = [f"  line {line}: {message}" for line, message in sorted(complaints)]
    return "\n".join([f"{path}: {len(complaints)} errors", *lines])


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
