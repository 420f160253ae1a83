"""The command board."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from rffbench.cli.completion import complete_method
from rffbench.cli.options import COUNT, FILE, POINTS, quiet_option
from rffbench.cli.output import Progress, echo, name_files, note, say, width
from rffbench.cli.parts import print_checks
from rffbench.cli.running import finish, reasons_of_failures
from rffbench.errors import ConfigError
from rffbench.plugins import ownfile
from rffbench.text import plural


@click.command()
@click.argument("ref", metavar="[REF]", required=False, shell_complete=complete_method)
@click.option("--small", is_flag=True, help="On the six datasets of board-small. [default]")
@click.option("--full", is_flag=True, help="On all datasets and sizes of the board: hours.")
@click.option("--datasets", metavar="A,B", help="On these datasets of the board, at the sizes of board-small.")
@click.option(
    "--data", metavar="FILE", help="Which map is best on one's own data: a file as a config's datasets have it."
)
@click.option("--minutes", type=POINTS, help="With --data: as many sizes and trials as take about so long.")
@click.option("--save", type=FILE, metavar="FOLDER", help="Copy the map, its trials and the manifest there.")
@click.option("--results", type=FILE, default=Path("results"), show_default=True, help="The folder of results.")
@click.option("--workers", type=COUNT, help="How many worker processes to use. [default: as many as there is room for]")
@quiet_option
def board(
    ref: str | None,
    small: bool,
    full: bool,
    datasets: str | None,
    data: str | None,
    minutes: float | None,
    save: Path | None,
    results: Path,
    workers: int | None,
) -> int:
    """Put a feature map on the board, or the board's maps on one's own data.

    REF is a class in a file, ./mine.py:MyMap, or a registered map. It is checked, run beside RFF on the board's
    datasets by the board's protocol, and shown among the maps that ship with the package. Ctrl-C stops a run; the same
    command carries on. With --data FILE it is the other way round: all maps of board-small, and REF if given, on that
    data.
    """
    from rffbench.execution import make_executor
    from rffbench.execution.run import run_experiment
    from rffbench.features.checks import check_map
    from rffbench.linalg.threads import thread_count
    from rffbench.report.board.entry import SPOILING, data_tables, label_of, map_tables, own_data, own_map, save_entry
    from rffbench.report.frame import load_results

    if sum(map(bool, (small, full, datasets, data))) > 1:
        raise ConfigError("give one of --small, --full, --datasets and --data")
    if minutes is not None and not data:
        raise ConfigError("--minutes plans a run on one's own data, and goes with --data")
    if not ref and not data:
        raise ConfigError("give a map, ./mine.py:MyMap or a registered name, or --data FILE")
    if save and not (ref and ownfile.is_own(ref)):
        raise ConfigError("--save keeps a map in a file of one's own, ./mine.py:MyMap")
    if ref:
        checks = list(check_map(ref))
        failed = [check.name for check in checks if check.ok is False]
        if failed:
            print_checks(checks)
        if spoilt := [name for name in failed if name in SPOILING]:
            raise ConfigError(f"{ref}: the check {spoilt[0]} failed, which scores depend on; nothing was run")
        note(f"{ref}: {plural(sum(check.ok is True for check in checks), 'check')} passed")
    if data:
        experiment = own_data(data, ref, minutes, workers or thread_count())
    else:
        assert ref
        experiment = own_map(ref, datasets.split(",") if datasets else (), full)
    folder = results / experiment.name
    runs_on = make_executor("local", experiment, workers=workers, options={})
    note(f"{plural(experiment.size(), 'trial')}; results go to {folder}")
    with contextlib.ExitStack() as stack:
        stack.callback(getattr(runs_on, "close", lambda: None))
        with Progress(experiment.name) as progress:
            summary = run_experiment(
                experiment, folder, executor=runs_on, progress=progress,
                announce=note if progress.shown else None, tell=note,
            )  # fmt: skip
    if not summary.ok:
        return finish(folder, summary, None)
    found = load_results(folder)
    tables = data_tables(found) if data else map_tables(found, label_of(str(ref)))
    for table in tables:
        echo(table.to_text(width()) + "\n")
    if save and ref:
        name_files(save_entry(folder, ref, tables, save))
    if summary.failed or summary.unavailable:
        for reason, places in reasons_of_failures(folder).items():
            say(f"  {len(places)} × {reason} ({', '.join(sorted({dataset for _, dataset in places}))})")
        return 1
    return 0
