"""The commands of datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rffbench.cli.completion import complete_dataset
from rffbench.cli.options import FILE, json_option, quiet_option, table_options
from rffbench.cli.output import Download, echo, message_of, name_files, note, room, say, write_json
from rffbench.errors import ConfigError, DataError, RffbenchError

if TYPE_CHECKING:
    pass


@click.group()
def datasets() -> None:
    """List, fetch, verify and describe datasets."""


@datasets.command("list")
@json_option
def list_datasets(json_file: str | None) -> int:
    """List every dataset, with its shape and its licence.

    The list also shows which datasets are on this machine.
    """
    from rffbench.data import cache_folder, card_names, describe

    echo(f"{'name':<22}{'rows':>8}{'columns':>9}  {'cached':<8}{'balance':<18}licence")
    warn_of_cards()
    found = []
    for name in card_names():
        try:
            found.append(about := describe(name))
        except (RffbenchError, OSError) as error:
            say(f"warning: passed over: {message_of(error)}")
            continue
        positive = sum(share for label, share in about["balance"].items() if label in about["positive"])
        balance = f"{positive:.1%} are +1" if positive else about["task"]
        line = (
            f"{name:<22}{about['rows']:>8}{about['columns']:>9}  {'yes' if about['cached'] else 'no':<8}"
            f"{balance:<18}{about['licence']}"
        )
        echo(line if len(line) <= room() else f"{line[: room() - 1]}…")  # `datasets info` has the licence whole
    if json_file:
        write_json(found, json_file)
    note(f"cache: {cache_folder()}")
    return 0


@datasets.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_dataset)
@quiet_option
def fetch(names: tuple[str, ...]) -> int:
    """Fetch, parse and check datasets.

    Runs on these datasets then need no network.
    """
    from rffbench.data import mend

    with Download() as progress:
        return _each(names, lambda name: mend(name, progress), "ready")


@datasets.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_dataset)
@quiet_option
def verify(names: tuple[str, ...]) -> int:
    """Check the files of datasets again.

    Compares checksums, shape and class counts of the files on this machine with the datasets' cards.
    """
    from rffbench.data import verify as verify_dataset

    return _each(names, verify_dataset, "agrees with its card")


@datasets.command()
@click.argument("name", shell_complete=complete_dataset)
def info(name: str) -> int:
    """Describe a dataset.

    Prints its shape, class balance, licence and citation, and where it is cached.
    """
    from rffbench.data import describe

    _known_dataset(name)
    for key, value in describe(name).items():
        if isinstance(value, dict):
            value = [
                f"{label}: {number:.4g}" if key == "balance" else f"{label}: {number}"
                for label, number in value.items()
            ]
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if value not in ("", []):
            echo(f"{key:<14}{', '.join(map(str, value)) if isinstance(value, list) else value}")
    return 0


@datasets.command("describe")
@click.argument("file", type=FILE, metavar="FILE|NAME", shell_complete=complete_dataset)
@table_options
@click.option("--write-card", "card", type=FILE, help="Write a card, FILE.yaml, to be edited.")
def describe_file(file: Path, card: Path | None, reading: dict[str, Any]) -> int:
    """Describe a data file of your own, or a dataset.

    Says how the file is read, and why: delimiter, header, decimal mark, missing values, task, and what is done with
    each column. The other options overrule that. Counts the repeated rows, and the test rows that are also in the
    training part. A config can name the file, or the card that --write-card writes, by its path. FILE may be a card,
    too.
    """
    from rffbench.data import repeated_rows
    from rffbench.data.cards import add_card, is_card, read_card
    from rffbench.data.userfile import described, look, write_card

    a_card = file.suffix in (".yaml", ".yml") and file.is_file()
    if a_card or (is_card(str(file)) and not file.exists()):
        if given := [*reading, *(["write-card"] if card else [])]:
            raise ConfigError(
                f"{file} is a dataset with a card, which says this itself; --{given[0]} is for a file of data"
            )
        return _describe_dataset(add_card(read_card(file)) if a_card else str(file))
    seen = look(file, **reading)
    for what, value in [*described(seen), *([] if seen.faults else repeated_rows(seen.card(), [file]))]:
        echo(f"{what:<14}{value}")
    if card:
        write_card(seen, card)
        name_files([card])
    return DataError.exit_status if seen.faults else 0


def _describe_dataset(name: str) -> int:
    """A dataset with a card: its shape and its repeated rows. It is fetched if necessary."""
    from rffbench.data import ensure, load_card, repeated_rows

    card = load_card(name)
    with Download() as progress:
        ensure(name, progress)
    said = [("dataset", card.title), ("rows", f"{card.rows}"), ("inputs", f"{card.columns}"), ("task", card.task)]
    said += [("class", f"{label}: {count}, {count / card.rows:.1%}") for label, count in card.classes.items()]
    for what, value in [*said, *repeated_rows(card)]:
        echo(f"{what:<14}{value}")
    return 0


def _known_dataset(name: str) -> None:
    """ConfigError if no card has the name; of a file, what is done with one."""
    from rffbench.data.cards import load_card
    from rffbench.data.userfile import is_data_path

    if is_data_path(name):
        raise ConfigError(
            f"{name}: is a path, not the name of a dataset; `rffbench datasets describe {name}` looks at a file"
        )
    load_card(name)


def _each(names: Sequence[str], act: Callable[[str], object], done: str) -> int:
    """Act on every dataset, also if one is unavailable."""
    for name in names:
        _known_dataset(name)  # a misspelt name is refused before anything starts
    failed = 0
    for name in names:
        try:
            act(name)
            echo(f"{name}: {done}")
        except (RffbenchError, OSError, MemoryError) as error:
            failed += 1
            say(f"error: {error}" if isinstance(error, RffbenchError) else f"error: {name}: {error}")
    if failed == len(names):
        return DataError.exit_status
    return 1 if failed else 0


def warn_of_cards() -> None:
    from rffbench.data.cards import card_faults

    for fault in card_faults():
        say(f"warning: {fault}")
