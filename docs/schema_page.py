"""The directive ``config-keys``: the keys of a part of the config, from the schema that ``rffbench schema`` prints."""

import json

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from rffbench.config.schema import json_schema

OF_EVERY_METHOD = ("features", "solver", "kernel", "n_features", "datasets")
SECTIONS = {  # of docs/config.md, by the definitions they are about
    "Kernel": "[kernel](#kernel)",
    "OwnData": "[mapping](#datasets-a-file-of-your-own)",
    "Significance": "[significance](#significance)",
    "Solver": "[solver](#solver)",
}


class ConfigKeys(Directive):
    """Its argument is a definition of the schema; without one it is the config itself. Where a definition is one of
    several, such as solvers, each has a table; of ``Method``, the keys that every method has are left out."""

    optional_arguments = 1

    def run(self):
        schema = json_schema()
        part = schema["$defs"][self.arguments[0]] if self.arguments else schema
        left_out = OF_EVERY_METHOD if self.arguments == ["Method"] else ()
        lines = []
        for each in part.get("oneOf", [part]):
            keys = {
                key: value for key, value in each["properties"].items() if key not in left_out and "const" not in value
            }
            if "oneOf" in part:
                lines += ["", f"### `{each['title']}`", "", each.get("description", ""), ""]
            lines += table(keys, each.get("required", [])) if keys else []
        found = nodes.Element()
        self.state.nested_parse(StringList(lines, self.name), self.content_offset, found, match_titles=True)
        return found.children


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
