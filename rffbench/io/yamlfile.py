"""A YAML file checked against a pydantic model, every complaint with its file and line.

YAML is read by PyYAML's safe loader, which builds plain data only, with the numbers of YAML 1.2: ``010`` is ten,
``1e-3`` a number, ``1:30``, ``1_000`` and ``2020-01-01`` are text. A key given twice is refused, and so is what grows
without limit: the values behind anchors are counted before anything is built.

ruamel.yaml, which keeps lines too, would replace few of these: see "Written here, and why" in CONTRIBUTING.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, Field, RootModel, ValidationError
from yaml.reader import ReaderError

from rffbench.errors import ConfigError, amount, not_utf8, unknown, unreadable

Model = TypeVar("Model", bound=BaseModel)

MOST_BYTES = 4_000_000
MOST_VALUES = 50_000  # of a file, every anchor written out; the largest config that ships has some hundred
DEEPEST = 40
NEAR = 0.6  # of 1: how alike two names are for the one to be taken for the other, misspelt
STANDARD = "tag:yaml.org,2002:"
TEXT, INTEGER, FLOAT, TIME = (f"{STANDARD}{name}" for name in ("str", "int", "float", "timestamp"))
INTEGERS = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
FLOATS = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)


class Misplaced(ValueError):
    """A validator's complaint about something inside what it validates: ``where`` is the path from there."""

    def __init__(self, message: str, *where: str | int) -> None:
        super().__init__(message)
        self.where = where


def load(path: Path, model: type[Model]) -> Model:
    """The file's content as a ``model``; ConfigError says where, what is wrong and what is right.

    Validators find the file's folder as ``info.context["folder"]``.
    """
    data, root = _read(path)
    if not isinstance(data, dict) and not issubclass(model, RootModel):
        raise ConfigError(f"{path}: must hold a mapping (key: value lines), not {shown(data)}")
    try:
        return model.model_validate(data, context={"folder": path.parent})
    except ValidationError as error:
        complaints = [_complaint(each, model, root) for each in error.errors()]
        raise ConfigError(_joined(path, complaints)) from None


def read(path: Path) -> Any:
    """The file as plain data; ConfigError as of ``load``."""
    return _read(path)[0]


def parsed(text: str, name: str) -> Any:
    """A text as plain data; ConfigError, with the ``name`` of the text, if it is not YAML."""
    return _parsed(text, name)[0]


def dump(data: Any) -> str:
    """Plain data as YAML that both versions, 1.1 and 1.2, read alike."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None))


def place(path: Path, *where: str | int) -> str:
    """``<path>, line N`` of what the file has at ``where``, a path of keys and positions, for a complaint that only
    its reader can make."""
    return f"{path}, line {_locate(_read(path)[1], where)[0]}"


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._values = 0
        self._sizes: dict[yaml.Node, int] = {}  # the values that each anchor's node stands for

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event, before = self.peek_event(), self._values
        self._depth += 1
        if self._depth > DEEPEST:
            raise _at(event.start_mark, f"is nested deeper than {DEEPEST} levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None or not isinstance(event, yaml.AliasEvent):
            self._values += 1
        elif node.end_mark is None:  # it is still being read
            raise _at(event.start_mark, f"*{event.anchor} stands inside what &{event.anchor} names")
        else:
            self._values += self._sizes[node]
        if self._values > MOST_VALUES:
            raise _at(event.start_mark, f"up to here it stands for more than {MOST_VALUES:,} values")
        if node is not None:
            self._sizes[node] = self._values - before
        return node

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        if any("\ud800" <= letter <= "\udfff" for letter in node.value):  # half a character, as an escape
            raise _at(node.start_mark, f"must be text that can be written as UTF-8, not {shown(node.value)}")
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _at(key.start_mark, "a key must be plain text")
            if key.value in lines:
                raise _at(key.start_mark, f"the key {key.value!r} is given twice (first on line {lines[key.value]})")
            lines[key.value] = key.start_mark.line + 1
        node.value = [(_as_text(key) if key.tag == FLOAT else key, value) for key, value in node.value]
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except Exception:  # what a tag such as !!bool makes of any text
            kind = node.tag.removeprefix(STANDARD)
            raise _at(
                node.start_mark, f"the value behind the tag !!{kind} is not of that kind; leave the tag out"
            ) from None

    def construct_integer(self, node: yaml.ScalarNode) -> int:
        base = {"0o": 8, "0x": 16}.get(node.value[:2], 10)
        try:
            return int(node.value, base)
        except ValueError:  # Python takes some thousand digits
            if not INTEGERS.match(node.value):
                raise
            raise _at(node.start_mark, f"a number of {len(node.value)} digits") from None

    def construct_float(self, node: yaml.ScalarNode) -> float:
        return float(node.value.lower().replace(".inf", "inf").replace(".nan", "nan"))


class _Dumper(yaml.SafeDumper):
    """Writes in quotes what either version would take for a number."""


def _at(mark: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _as_text(key: yaml.ScalarNode) -> yaml.ScalarNode:
    """A label such as ``1e-3`` or ``0.5`` is what is written, not what it amounts to."""
    return yaml.ScalarNode(TEXT, key.value, key.start_mark, key.end_mark)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (INTEGER, FLOAT, TIME)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for kind in (_Loader, _Dumper):
    kind.add_implicit_resolver(INTEGER, INTEGERS, list("-+0123456789"))
    kind.add_implicit_resolver(FLOAT, FLOATS, list("-+.0123456789"))
_Loader.add_constructor(INTEGER, _Loader.construct_integer)
_Loader.add_constructor(FLOAT, _Loader.construct_float)


def _read(path: Path) -> tuple[Any, yaml.Node | None]:
    """The file as plain data, and as YAML nodes, which know their lines."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ConfigError(f"{path}: is not a regular file")
        if (size := path.stat().st_size) > MOST_BYTES:
            raise ConfigError(f"{path}: is {amount(size)} long; a YAML file is read up to {amount(MOST_BYTES)}")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(unreadable(path, error)) from error
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error
    return _parsed(text, path)


def _parsed(text: str, name: Path | str) -> tuple[Any, yaml.Node | None]:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return (None if node is None else loader.construct_document(node)), node
    except ReaderError as error:
        number = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{name}, line {number}: holds a control character (#x{error.character:02x})") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{name}{line}: {_syntax(error.problem or error.context or '')}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{name}: is not YAML: {error}") from None


def _complaint(error: Any, model: type[BaseModel], root: yaml.Node | None) -> tuple[int, str]:
    """One of pydantic's errors as (line, message)."""
    where = tuple(part for part in error["loc"] if part != "[key]")
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, Misplaced):
        where += cause.where
    line, found = _locate(root, where)
    name = dotted(found or getattr(cause, "where", ()))  # of a key that the file lacks there is no line
    match error["type"]:
        case "extra_forbidden":
            message = problem(error, model)
        case "missing":
            message = f"the key {where[-1]!r} is missing" + (f" under {name}" if name else "")
            if near := get_close_matches(str(where[-1]), map(str, error["input"]), n=1, cutoff=NEAR):
                message += f"; is {near[0]!r} meant for it?"
        case _:
            message = f"{name}: {problem(error)}" if name else problem(error)
    return line, message


def problem(error: Any, model: type[BaseModel] | None = None) -> str:
    """One of pydantic's errors in a config's words: what the value must be, and what it is; of an unknown key, the
    nearest that ``model`` has, if given."""
    context, value = error.get("ctx", {}), error["input"]
    given = f", not {shown(value)}"
    match error["type"]:
        case "value_error":
            return str(context["error"])
        case "extra_forbidden":
            *where, key = (part for part in error["loc"] if part != "[key]")
            return "unknown key" if model is None else unknown("key", key, _keys(model, where))
        case "missing":
            return "is missing"
        case "string_type":
            return f"must be text{given}{_in_quotes(value)}"
        case "string_unicode":
            return f"must be text that can be written as UTF-8{given}"
        case "invalid_key":
            return f"a key must be text{given}{_in_quotes(value)}"
        case "int_type" | "int_parsing" | "int_from_float" | "int_parsing_size":
            return f"must be a whole number{given}"
        case "float_type" | "float_parsing":
            return f"must be a number{given}"
        case "finite_number":
            return f"must be a finite number{given}"
        case "bool_type" | "bool_parsing":
            return f"must be true or false{given}"
        case "list_type" | "tuple_type":
            return f"must be a list, such as [a, b]{given}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"must be a mapping (key: value){given}"
        case "string_pattern_mismatch":
            return f"must be {_PATTERNS.get(context['pattern'], context['pattern'])}{given}"
        case "too_short" | "string_too_short":
            least = context["min_length"]
            return "must not be empty" if least == 1 else f"must have {least} or more{given}"
        case "too_long" | "string_too_long":
            return f"must be {context['max_length']} long at most{given}"
        case "greater_than":
            return f"must be greater than {context['gt']}{given}"
        case "greater_than_equal":
            return f"must be {context['ge']} or more{given}"
        case "less_than":
            return f"must be less than {context['lt']}{given}"
        case "less_than_equal":
            return f"must be {context['le']} or less{given}"
        case "literal_error":
            return _one_of(re.findall(r"'(.*?)'", context["expected"]), value)
        case "union_tag_invalid":
            kinds = _one_of(re.findall(r"'(.*?)'", context["expected_tags"]), context["tag"])
            return f"{context['discriminator']}: {kinds}"
        case "union_tag_not_found":
            if not isinstance(value, Mapping):
                return f"must be a mapping (key: value){given}"
            return f"the key {context['discriminator']} is missing"
        case _:
            return f"{_lower(error['msg'])}{given}"


def _in_quotes(value: object) -> str:
    """How a number would be text."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"; in quotes it is: '{value}'" if plain else ""


_PATTERNS: dict[str, str] = {}


def pattern(regex: str, words: str) -> Any:
    """A field of text that matches ``regex``, which messages call ``words``."""
    _PATTERNS[regex] = words
    return Field(pattern=regex)


def counted(where: Sequence[str | int]) -> list[str | int]:
    """A path of keys and positions, these as people count: from one."""
    return [part + 1 if isinstance(part, int) else part for part in where]


def dotted(where: Sequence[str | int]) -> str:
    """A path of keys and positions for a message, in one line."""
    return ".".join(str(part) if str(part).isprintable() else repr(part) for part in where)


_MEANT = {"gpu": "cuda"}  # what looks like another word than the one that it means


def _one_of(valid: Sequence[str], value: object) -> str:
    meant = _MEANT.get(str(value), str(value))
    near = get_close_matches(meant, valid, n=1, cutoff=NEAR)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"must be {' or '.join(filter(None, [', '.join(valid[:-1]), valid[-1]]))}, not {shown(value)}{hint}"


# What the YAML library says, as far as people meet it, and what that comes from.
_SYNTAX = {
    r"found character '\\t' that cannot start any token": "is indented by a tab; YAML takes spaces alone",
    "mapping values are not allowed here": "has a ': ' too many; text that holds one goes in quotes",
    "could not find expected ':'": "here or above, a key has no ': ' behind it, a colon and a space",
    "expected <block end>": "does not fit the lines above: indented otherwise, or a quote or bracket ends too early",
    "found another document": "a second document begins (---); a file holds one",
    r"expected ',' or '[\]}]'": "a bracket opened above is not closed, or a comma is missing",
    "expected the node content": "ends, or goes on, where a value is expected; is a bracket not closed?",
    "could not determine a constructor for the tag": "has a tag (!…), for which nothing is read here; leave it out",
    "found unexpected end of stream": "ends within quotes that are not closed",
}


def _syntax(problem: str) -> str:
    return next((words for pattern, words in _SYNTAX.items() if re.search(pattern, problem)), problem)


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
    models = [model]
    for part in where:
        if isinstance(part, int):
            continue
        inner = [m for each in models if part in each.model_fields for m in _models(each.model_fields[part].annotation)]
        models = inner or [each for each in models if _is_kind(each, part)]  # pydantic names the one of several meant
    return list(dict.fromkeys(field.alias or name for each in models for name, field in each.model_fields.items()))


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models of an annotation such as ``Model``, ``Model | None`` or ``list[Model]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for each in get_args(annotation) for model in _models(each)]


def _is_kind(model: type[BaseModel], kind: str) -> bool:
    return any(kind in get_args(field.annotation) for field in model.model_fields.values())


def _joined(path: Path, complaints: Sequence[tuple[int, str]]) -> str:
    if len(complaints) == 1:
        line, message = complaints[0]
        return f"{path}, line {line}: {message}"
    lines = [f"  line {line}: {message}" for line, message in sorted(complaints)]
    return "\n".join([f"{path}: {len(complaints)} errors", *lines])


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def shown(value: object) -> str:
    """The value as YAML would say it."""
    if value is None:
        return "nothing"
    if isinstance(value, bytes):
        return "binary data"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
