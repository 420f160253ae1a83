"""The commands configs, validate, schema, environment and completion."""

from __future__ import annotations

import json
import textwrap

import click
from click.shell_completion import get_completion_class

from rffbench.cli.completion import SHELLS, complete_config
from rffbench.cli.datasets import warn_of_cards
from rffbench.cli.options import TEXT
from rffbench.cli.output import echo, room, say, write_json
from rffbench.errors import ConfigError, refusals
from rffbench.io.text import duration, plural

LONGEST_M = 60_000.0  # minutes; a dry run counts trials beyond the memory, too, which take years


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def configs(as_json: bool) -> int:
    """List the configs that ship with the package.

    Each has its title, its number of trials, and about how long it takes on two processors.
    """
    from rffbench.io.resources import listed_configs

    found = listed_configs()
    if as_json:
        echo(json.dumps(found, ensure_ascii=False, indent=2))
        return 0
    echo("rffbench run NAME runs a config; times are by a dry run, on two processors.")
    for each in found:
        widest = max(len(row["name"]) for row in each["configs"])
        path = f" (configs/{each['folder']})" if each["folder"] else ""
        echo(f"\n{each['heading']}{path}")
        echo(textwrap.fill(each["about"], room()))
        for row in each["configs"]:
            takes = duration(row["minutes"] * 60) if row["minutes"] < LONGEST_M else "> 1,000 h"
            line = f"  {row['name']:<{widest}} {row['trials']:>7,}{takes:>10}  "
            below = " " * len(line)
            echo(
                textwrap.fill(
                    row["title"], room(), initial_indent=line, subsequent_indent=below, break_on_hyphens=False
                )
            )
    return 0


@click.command()
@click.argument("config", type=TEXT, shell_complete=complete_config)
def validate(config: str) -> int:
    """Check a config without running it."""
    from rffbench.api import check_reference
    from rffbench.config.columns import warnings_of_columns
    from rffbench.config.loading import load_experiment
    from rffbench.execution import check_executor
    from rffbench.execution.devices import check_device
    from rffbench.solvers import check_installed

    experiment = load_experiment(config)
    check_reference(experiment.reference)
    unchecked = check_executor(*experiment.runs_on())
    warn_of_cards()
    if unchecked:
        say(f"not checked: {unchecked}")
    devices = refusals(check_device, dict.fromkeys(each.device for _, each in experiment.protocols()))
    for missing in (*devices, *refusals(check_installed, experiment.solvers())):
        say(f"it cannot run here: {missing}")
    for warning in warnings_of_columns(experiment):
        say(f"warning: {warning}")
    echo(f"{config}: OK; {plural(experiment.size(), 'trial')}")
    return 0


@click.command()
def schema() -> int:
    """Print the JSON Schema of configs, for editors."""
    from rffbench.config.schema import json_schema

    write_json(json_schema())
    return 0


@click.command()
def environment() -> int:
    """Print the record of this machine.

    A run writes the same to manifest.json.
    """
    from rffbench.execution.environment import record

    write_json(record())
    return 0


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the shell code that completes commands and names.

    It completes commands, options, configs, datasets and methods.

    bash and zsh: add `eval "$(rffbench completion bash)"` (or zsh) to ~/.bashrc or ~/.zshrc. fish: write it into
    ~/.config/fish/completions/rffbench.fish.
    """
    complete = get_completion_class(shell)
    if complete is None:
        raise ConfigError(f"this version of click has no completion for {shell}")
    echo(complete(click.get_current_context().find_root().command, {}, "rffbench", "_RFFBENCH_COMPLETE").source())
    return 0
