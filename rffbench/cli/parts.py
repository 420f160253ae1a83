"""The commands methods, check-method, check-kernel and new."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rffbench.cli.completion import complete_kernel, complete_method
from rffbench.cli.output import echo, name_files, room, say
from rffbench.errors import ConfigError

if TYPE_CHECKING:
    from rffbench.kernels.checks import Check


@click.command()
@click.option("--for", "wanted", multiple=True, metavar="KEY=VALUE",
              help="Those that serve kernel=NAME, or task=classification or regression.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON, with all facts about each.")
def methods(wanted: Sequence[str], as_json: bool) -> int:
    """List feature maps, solvers, kernels and metrics.

    Each has its parameters with their defaults, and what it serves.
    """
    from rffbench.config.catalogue import catalogue, in_words

    pairs = [text.partition("=") for text in wanted]
    for key, equals, value in pairs:
        if not (equals and value):
            raise ConfigError(f"--for {key}{equals}: must be KEY=VALUE, for example kernel=laplacian")
    found = catalogue({key: value for key, _, value in pairs})
    if as_json:
        echo(json.dumps(found, ensure_ascii=False, indent=2, default=repr))
        return 0
    headings = {"maps": "feature maps", "solvers": "solvers", "kernels": "kernels", "metrics": "metrics"}
    for index, (kind, heading) in enumerate(headings.items()):
        echo(f"{'' if not index else chr(10)}{heading}:")
        for row in found[kind]:
            summary = row.get("summary") or row["title"]
            _print_method(row["name"], str(summary), row.get("parameters", {}), in_words(row))
    return 0


def _print_method(name: str, summary: str, parameters: Mapping[str, Any], serves: str) -> None:
    texts = [summary, *([serves] if serves else [])]
    if parameters:
        defaults = (
            f"{key}: {json.dumps(value, ensure_ascii=False, default=repr)}" for key, value in parameters.items()
        )
        texts.append(f"{{{', '.join(defaults)}}}")
    wide = max(room() - 24, 30)
    lines = [line for text in texts for line in textwrap.wrap(text, wide, break_on_hyphens=False)]
    for index, line in enumerate(lines):
        echo(f"  {'' if index else name + ' ':<22}{line}")


@click.command("check-method")
@click.argument("method", metavar="METHOD", shell_complete=complete_method)
def check_method(method: str) -> int:
    """Check a feature map: your own, or one by its name.

    Your own is FILE:CLASS, such as ./mine.py:MyFeatures. Prints the result of each check: columns, global seeds, seed,
    dtype, nesting, scikit-learn's contract, and the rate at which the map's kernel approaches the exact one. If the
    first check fails, the others are skipped. The exit status is 1 if one fails.
    """
    from rffbench.features.checks import check_map

    return print_checks(check_map(method))


@click.command("check-kernel")
@click.argument("kernel", metavar="KERNEL", shell_complete=complete_kernel)
def check_kernel(kernel: str) -> int:
    """Check a kernel: your own, or one by its name.

    Your own is FILE:CLASS, such as ./mine.py:MyKernel. Prints the result of each check: the exact form, that it is
    positive semi-definite, the meaning of gamma, the parameters, and that the draws for random features approach the
    exact form at the right rate, nested. If the first check fails, the others are skipped. The exit status is 1 if one
    fails.
    """
    from rffbench.kernels.checks import check_kernel

    return print_checks(check_kernel(kernel))


def print_checks(checks: Iterable[Check], tell: Callable[[str], None] = echo) -> int:
    """A line for each check, by ``tell``; 1 if one failed."""
    failed = 0
    for check in checks:
        failed += check.ok is False
        tell(f"{'-' if check.ok is None else 'ok' if check.ok else 'FAILED':<8}{check.name:<14}{check.found}")
    return 1 if failed else 0


@click.command()
@click.argument("kind", type=click.Choice(["method", "dataset", "experiment"]))
@click.argument("name")
def new(kind: str, name: str) -> int:
    """Write a commented, working skeleton into the current folder.

    A method is a feature map in NAME.py; a dataset is the card NAME.yaml with a data file; an experiment is the config
    NAME.yaml.
    """
    from rffbench.plugins.skeletons import class_name, write_skeleton

    name_files(write_skeleton(kind, name, Path()))
    say(
        {
            "method": f"rffbench check-method ./{name}.py:{class_name(name)} checks it",
            "dataset": f"datasets: [./{name}.yaml] in a config takes it",
            "experiment": f"rffbench run {name}.yaml runs it",
        }[kind]
    )
    return 0
