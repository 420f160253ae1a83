"""Tables of maps, solvers, kernels, commands, estimators and a config's keys, from what these say of themselves."""

import inspect
import json
import re

import click

import rffbench
from rffbench.cli import cli
from rffbench.config import catalogue
from rffbench.config.grid import OF_METHOD
from rffbench.config.schema import json_schema
from rffbench.features import FEATURES, served
from rffbench.kernels import KERNELS, NAMED
from rffbench.plugins.parts import LETTERS, letters_of
from rffbench.solvers import BUILT_IN

_SECTION = re.compile(r"^## (.+)\n\n`([\w-]+)`", re.MULTILINE)  # a map's: its title, then its name in configs
_SECTIONS = {  # of docs/config.md, by the definitions they are about
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
        lines += [*_rows(keys, each.get("required", [])), ""] if keys else []
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


def _rows(keys, required):
    """A row for each key: its values, its default, what it means."""
    rows = ["| key | values | default | meaning |", "|---|---|---|---|"]
    for key, value in keys.items():
        default = "" if key in required or "default" not in value else f"`{_written(value['default'])}`"
        meaning = value.get("description", "").replace("``", "`").replace("\n", " ")
        cells = (f"`{key}`", _values(value), default, meaning)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return rows


def _values(value):
    """What a key may hold, in words."""
    if "enum" in value:
        return ", ".join(f"`{_written(each)}`" for each in value["enum"])
    if "const" in value:
        return f"`{_written(value['const'])}`"
    if "$ref" in value:
        return _SECTIONS.get(value["$ref"].rpartition("/")[2], "mapping")
    if "anyOf" in value:
        return ", ".join(dict.fromkeys(_values(each) for each in value["anyOf"]))
    if value.get("type") == "array":
        return f"list of {_values(value.get('items', {}))}"
    return {"object": "mapping"}.get(value.get("type"), value.get("type", "any"))


def _written(value):
    """As a config would have it; what applies to all datasets alike is given by itself."""
    if isinstance(value, dict) and value.keys() == {"default"}:
        value = value["default"]
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def maps(page: str) -> str:
    """The feature maps in rows, each linked to its section in the text of the ``page``."""
    titles = {name: title for title, name in _SECTION.findall(page)}
    rows, letters = [], set()
    for row in catalogue.maps():
        if row["name"] not in FEATURES:
            continue
        title = titles.get(row["name"])
        anchor = re.sub(r"[^\w -]", "", title or "").lower().replace(" ", "-")
        unbiased = {True: "yes", False: "no"}.get(row["unbiased"], row["unbiased"])
        cells = [
            f"[{title}](#{anchor})" if title else row["name"], f"`{row['name']}`", ", ".join(row["kernels"]), unbiased,
            row["fits_on"], row["row_cost"], row["fit_cost"] if row["fit_cost"] != "0" else "",
        ]  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
        serves = served(row["name"])
        letters |= set().union(*map(letters_of, (serves.row_cost, serves.fit_sums, serves.fit_cost)))
    head = ["| map | in a config | kernels | unbiased | fits on | cost of a row | cost of the fit |",
            "|---|---|---|:-:|---|---|---|"]  # fmt: skip
    meanings = [f"| {letter} | {LETTERS[letter]} |" for letter in LETTERS if letter in letters]
    return "\n".join([*head, *rows, "", "| in the costs | what it is |", "|---|---|", *meanings])


def solvers() -> str:
    """The solvers in rows."""
    rows = [
        f"| `{row['name']}` | {row['uses']} | {' and '.join(row['tasks'])} | "
        f"{row['needs'] or ('' if row['uses'] in ('features', 'inputs') else 'any')} | "
        f"{'yes' if row['iterative'] else 'no'} |"
        for row in catalogue.learners() if row["name"] in BUILT_IN
    ]  # fmt: skip
    return "\n".join(["| solver | learns on | tasks | kernel needed | iterative |", "|---|---|---|---|:-:|", *rows])


def kernels() -> str:
    """A row for each kernel: what its class says."""
    lines = ["| kernel | k(x, x′) | γ | parameters | traits | compiled |", "|---|---|---|---|---|:-:|"]
    for name, kernel in KERNELS.items():
        factor, power = "2" if kernel.sigma_factor == 2 else "", "²" if kernel.power == 2 else ""
        gamma = f"1/({factor}σ{power})" if factor else f"1/σ{power}"
        own = [f"`{key}: {value}`" for key, value in NAMED.defaults(name).items() if key != "lengths"]
        also = "".join(f", `{alias}`" for alias in kernel.aliases)
        cells = [
            f"`{name}`{also}", kernel.formula, gamma if kernel.has_bandwidth else "–", ", ".join(own) or "–",
            ", ".join(kernel.traits()) or "–", "yes" if kernel().compiled_form(1) else "no",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
