"""The commands compare, record, merge, migrate, diff and history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rffbench.cli.folders import if_writable, in_every, left_out, pass_over
from rffbench.cli.options import FILE, POINTS, TEXT, json_option, quiet_option
from rffbench.cli.output import echo, name_files, note, say, width, write_json, write_json_text
from rffbench.errors import ConfigError, DataError
from rffbench.io.files import named
from rffbench.io.text import plural


@click.command()
@click.argument("results", type=FILE)
@click.option(
    "--tolerance",
    type=POINTS,
    metavar="POINTS",
    help="How far a mean may be from the reported one. [default: the reference's tolerance]",
)
@quiet_option
@json_option
def compare(results: Path, tolerance: float | None, json_file: str | None) -> int:
    """Compare RESULTS with their reference, and their methods.

    The config's `reference` is a paper, with its numbers and claims, or a file that `record` wrote. The exit status is
    1 if a number is out of tolerance or a claim does not hold, and 3 if none of them was measured. Without a reference
    and without --tolerance, only the methods are compared with each other.
    """
    from rffbench.report import experiment_folders
    from rffbench.report.compare import NoReference

    folders = experiment_folders(results)
    statuses: list[int] = []
    found: list[dict[str, Any]] = []
    with left_out() as told:
        for folder in folders:
            try:
                statuses.append(_compare(folder, tolerance, found))
            except NoReference as error:
                if not statuses and folder == folders[-1]:  # there is nothing to compare
                    raise
                say(f"passed over: {error}")
            except Exception as error:
                pass_over(folder, error, folders)
                statuses.append(1)
    if json_file:
        write_json(found, json_file)
    if statuses and set(statuses) == {DataError.exit_status}:
        return DataError.exit_status
    return 1 if told or any(statuses) else 0


def _compare(folder: Path, tolerance: float | None, found: list[dict[str, Any]]) -> int:
    from rffbench.report import compare_folder, write_comparison
    from rffbench.report.compare import NoReference
    from rffbench.report.writeup import to_json, to_text

    try:
        comparison, statistics = compare_folder(folder, tolerance)
    except NoReference as error:
        if tolerance is not None:  # asked for is a comparison with a reference, and nothing else will do
            raise
        return _compare_methods(folder, error, found)
    found.append({"name": folder.name, **to_json(comparison), "methods": statistics.records() if statistics else []})
    echo(to_text(comparison, width()))
    if statistics:
        echo(statistics.table().to_text(width()))
    with if_writable():
        name_files(write_comparison(comparison, statistics))
    if not comparison.measured:
        return DataError.exit_status
    return 1 if comparison.outside or comparison.refuted else 0


def _compare_methods(folder: Path, no_reference: ConfigError, found: list[dict[str, Any]]) -> int:
    """The comparison of the methods without a reference; raises the error if they cannot be compared either."""
    from rffbench.report import compare_methods, write_statistics

    statistics = compare_methods(folder)
    if statistics is None:
        raise no_reference
    found.append({"name": folder.name, "title": statistics.title, "methods": statistics.records()})
    echo(statistics.table().to_text(width()))
    with if_writable():
        name_files(write_statistics(statistics, folder))
    note("the config names no reference: its methods were compared with each other alone")
    return 0


@click.command()
@click.argument("results", type=FILE)
@click.option(
    "--output",
    type=FILE,
    metavar="FILE",
    help="The file. [default: the config's own reference, else NAME_reference.csv]",
)
@click.option("--overwrite", is_flag=True, help="Overwrite the file if it exists with other content.")
@quiet_option
def record(results: Path, output: Path | None, overwrite: bool) -> int:
    """Write a reference file from RESULTS.

    It holds every cell's expected score with a tolerance from the spread over trials. `rffbench compare` compares
    results with it if their config names the file as `reference`.
    """
    from rffbench.report import experiment_folders
    from rffbench.report.record import record as write_reference

    folders = experiment_folders(results)
    if output and len(folders) > 1:
        raise click.BadParameter(f"{results} holds {len(folders)} experiments, each of which needs a file of its own",
                                 param_hint="--output")  # fmt: skip

    def write(folder: Path) -> None:
        path, cells, notes = write_reference(folder, output, overwrite=overwrite)
        echo(f"wrote {path}: {plural(cells, 'cell')}")
        for each in notes:
            say(each)

    return in_every(folders, write)


@click.command()
@click.argument("shards", nargs=-1, required=True, type=FILE, metavar="RESULTS...")
@click.option("--into", required=True, type=FILE, metavar="FOLDER", help="The new folder.")
@quiet_option
def merge(shards: tuple[Path, ...], into: Path) -> int:
    """Join RESULTS, shards of one experiment, into a new folder.

    Shards are runs of the same config with different --only and --results, on one machine or several.
    """
    from rffbench.report.merge import merge as join

    for made in join(shards, into):
        twice = f", {made.repeated} of them in several shards" if made.repeated else ""
        echo(f"wrote {made.folder}: {plural(made.trials, 'trial')}{twice}")
    return 0


@click.command()
@click.argument("results", type=FILE)
@quiet_option
def migrate(results: Path) -> int:
    """Rewrite RESULTS of an older rffbench in today's format.

    A copy takes the folder's place, and the former folder is kept beside it, as NAME.old-TIME. A folder that has
    today's format is left alone. One with a row that cannot be rewritten is left alone, too, and the row is named.
    """
    from rffbench.execution.migrate import migrate as rewrite
    from rffbench.report import experiment_folders

    def work(folder: Path) -> None:
        made = rewrite(folder)
        if made is None:
            echo(f"{folder}: has today's format; nothing was changed")
        else:
            echo(f"{folder}: {plural(made.rows, 'row')} rewritten; the former folder is {made.former}")

    return in_every(experiment_folders(results), work)


@click.command()
@click.argument("old", type=TEXT)
@click.argument("new", type=TEXT)
@click.option(
    "--tolerance",
    type=POINTS,
    default=0.0,
    show_default=True,
    metavar="POINTS",
    help="How much worse a score may be: points of an accuracy, percent of an error.",
)
@click.option(
    "--strict", is_flag=True, help="Let only cells pass that are unchanged or shown to be within --tolerance."
)
@click.option("--junit", type=FILE, metavar="FILE", help="Write every cell as a JUnit test.")
@quiet_option
@json_option
def diff(old: str, new: str, tolerance: float, strict: bool, json_file: str | None, junit: Path | None) -> int:
    """Compare the results NEW with the results OLD, cell by cell.

    Both are RESULTS. FOLDER@REVISION is the folder of a git commit, for example results/mine@HEAD~3. FOLDER@source:1
    has the rows of the first version of your own file, if you edited it since. A score is worse if the interval of its
    difference is beyond the tolerance, with Holm's correction for all cells. A cell with too few trials to decide is
    "not settled". The exit status is 1 if a score is worse, if trials fail that were ok, or if a log has lines that
    cannot be read; it is 3 if no cell could be compared. With --strict it is also 1 if a cell is better, not settled or
    not in both: every score must be equal to rounding, or have its interval within the tolerance.
    """
    from rffbench.report.diff import diff_folders
    from rffbench.report.diff_writeup import cases, to_json, to_text
    from rffbench.report.junit import to_junit
    from rffbench.report.revision import results_at

    with left_out() as told, results_at(old) as before, results_at(new) as after:
        differences, alone = diff_folders(before, after, tolerance, (old, new), strict)
    echo("\n".join(map(to_text, differences)), nl=False)
    for line in alone:
        echo(line)
    if json_file:
        write_json_text(to_json(differences), json_file)
    if junit:
        with named(junit):
            junit.write_text(to_junit([(each.name, cases(each)) for each in differences]), encoding="utf-8")
    if not any(each.compared for each in differences):
        return DataError.exit_status
    return 1 if told or (strict and alone) or any(each.outside for each in differences) else 0


@click.command()
@click.argument("places", nargs=-1, required=True, type=TEXT, metavar="RESULTS...")
@json_option
def history(places: tuple[str, ...], json_file: str | None) -> int:
    """Show how scores moved over RESULTS of one experiment.

    FOLDER@REVISION is the folder of a git commit. For a single FOLDER, the history is that of the commits that changed
    its log. Every cell is searched for a change point.
    """
    from rffbench.report.history import history as history_of
    from rffbench.report.history import to_json, to_text

    with left_out() as told:
        found = history_of(places)
    echo(to_text(found), nl=False)
    if json_file:
        write_json_text(to_json(found), json_file)
    return 1 if told else 0
