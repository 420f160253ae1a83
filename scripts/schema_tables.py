"""Tables of a config's keys, of commands and of estimators for the pages, from what these say of themselves."""

import inspect
import json
import re

import click

import rffbench
from rffbench.cli import cli
from rffbench.config.grid import OF_METHOD
from rffbench.config.schema import json_schema

SECTIONS = {  # of docs/config.md, by the definitions they are about
    "Kernel": "[kernel](#kernel)",
    "OwnData": "[mapping](#datasets-a-file-of-your-own)",
    "Significance": "[significance](#significance)",
    "Solver": "[solver](#solver)",
}


def config_keys(definition=""):
    """The keys of a definition of the schema; without one, of the config itself. Where a definition is one of several,
    such as solvers, each has a table; of ``Method``, the keys that every method has are left out."""
    schema = json_schema()
    part = schema["$defs"][definition] if definition else schema
    left_out = OF_METHOD if definition == "Method" else ()
    lines = []
    for each in part.get("oneOf", [part]):
        keys = {key: value for key, value in each["properties"].items() if key not in left_out and "const" not in value}
        if "oneOf" in part:
            lines += [f"### `{each['title']}`", "", each.get("description", ""), ""]
        lines += [*table(keys, each.get("required", [])), ""] if keys else []
    return "\n".join(lines)


def commands(group=cli, name="rffbench"):
    """A section for each command: its usage, what it does, its options."""
    lines = []
    for word, command in sorted(group.commands.items()):
        whole = f"{name} {word}"
        if isinstance(command, click.Group):
            lines.append(commands(command, whole))
            continue
        context = click.Context(command, info_name=whole)
        usage = " ".join([whole, *command.collect_usage_pieces(context)])
        lines += [f"## {whole.removeprefix('rffbench ')}", "", f"    {usage}", "", inspect.cleandoc(command.help), ""]
        records = [each.get_help_record(context) for each in command.params if isinstance(each, click.Option)]
        rows = [tuple(" ".join(cell.split()).replace("|", r"\|") for cell in record) for record in records if record]
        if rows:
            lines += [
                "| option | meaning |",
                "|---|---|",
                *(f"| `{names}` | {meaning} |" for names, meaning in rows),
                "",
            ]
    return "\n".join(lines)


def estimators(page):
    """A row for each class that the page has: its name and what it is."""
    rows = []
    for name in re.findall(r"autoclass:: rffbench\.(\w+)", page):
        summary = (inspect.getdoc(getattr(rffbench, name)) or "").partition("\n\n")[0].replace("\n", " ")
        rows.append(f"| `{name}` | {summary.replace('|', chr(92) + '|')} |")
    return "\n".join(["| class | what it is |", "|---|---|", *rows])


def table(keys, required):
    """A row for each key: its values, its default, what it means."""
    rows = ["| key | values | default | meaning |", "|---|---|---|---|"]
    for key, value in keys.items():
        default = "" if key in required or "default" not in value else f"`{written(value['default'])}`"
        meaning = value.get("description", "").replace("``", "`").replace("\n", " ")
        cells = (f"`{key}`", values(value), default, meaning)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return rows


def values(value):
    """What a key may hold, in words."""
    if "enum" in value:
        return ", ".join(f"`{written(each)}`" for each in value["enum"])
    if "const" in value:
        return f"`{written(value['const'])}`"
    if "$ref" in value:
        return SECTIONS.get(value["$ref"].rpartition("/")[2], "mapping")
    if "anyOf" in value:
        return ", ".join(dict.fromkeys(values(each) for each in value["anyOf"]))
    if value.get("type") == "array":
        return f"list of {values(value.get('items', {}))}"
    return {"object": "mapping"}.get(value.get("type"), value.get("type", "any"))


def written(value):
    """As a config would have it; what applies to all datasets alike is given by itself."""
    if isinstance(value, dict) and value.keys() == {"default"}:
        value = value["default"]
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
