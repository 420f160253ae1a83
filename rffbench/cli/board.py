"""The command board."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import textwrap
import time
import warnings
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rffbench.cli.completion import complete_method
from rffbench.cli.folders import left_out
from rffbench.cli.options import COUNT, FILE, POINTS, article_option, quiet_option, table_options
from rffbench.cli.output import Download, Progress, echo, name_files, note, say, width
from rffbench.cli.parts import print_checks
from rffbench.cli.running import finish, note_decisions, reasons_of_failures, telling_failures
from rffbench.errors import ConfigError, LeftOut, RffbenchError
from rffbench.io.text import plural
from rffbench.plugins import ownfile

if TYPE_CHECKING:
    from rffbench.config.experiment import Experiment
    from rffbench.execution import Done
    from rffbench.execution.run import Summary
    from rffbench.report.board.page import Section
    from rffbench.report.frame import Results
    from rffbench.report.text_table import Table

PAGE = "board.html"


@click.command()
@click.argument("ref", metavar="[REF]", required=False, shell_complete=complete_method)
@click.option("--small", is_flag=True, help="On the six datasets of board-small. [default]")
@click.option("--full", is_flag=True, help="On all datasets and sizes of the board: hours.")
@click.option("--datasets", metavar="A,B", help="On these datasets of the board, at the sizes of board-small.")
@click.option(
    "--data",
    metavar="FILE",
    help="Which map is best on your own data: a file, or '{path: FILE, target: COLUMN}' as a config has it. The "
    "options on how it is read go with it.",
)
@table_options
@click.option(
    "--minutes",
    type=POINTS,
    help="As many datasets, sizes and trials as take about so long. The first command after an installation also "
    "compiles, which takes a minute or two.",
)
@click.option("--anyway", is_flag=True, help="Run the map where a check fails that its scores do not depend on.")
@click.option("--save", type=FILE, metavar="FOLDER", help="Copy the map, its trials and the manifest there.")
@click.option("--check", type=FILE, metavar="FOLDER", help="Repeat a tenth of the trials that --save put there.")
@click.option("--without-sandbox", is_flag=True, help="With --check: run the map even where no sandbox can be made.")
@click.option("--nonce", metavar="TEXT", help="With --check: what draws the trials. [default: drawn now]")
@click.option("--entries", type=FILE, metavar="FILE",
              help="With --check: write to FILE, where it passes, which trials were repeated; the site shows "
              "rffbench/report/board/entries.yaml.")  # fmt: skip
@click.option("--authors", metavar="TEXT", help="With --entries: where the map's authors said that they checked it.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tex", "typst", "md"]),
    help="Print all tables for LaTeX (booktabs and graphicx), Typst or Markdown, with the rows that ship.",
)
@article_option
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
    anyway: bool,
    save: Path | None,
    check: Path | None,
    without_sandbox: bool,
    nonce: str | None,
    entries: Path | None,
    authors: str | None,
    form: str | None,
    columns: int,
    results: Path,
    workers: int | None,
    reading: dict[str, Any],
) -> int:
    """Show the board, or put a feature map or your own data on it.

    Without REF and --data: which map to take, the verdicts, and the gains of the maps; the gains are those of
    the board as far as it has run here, also as board.html, or those that ship with rffbench. REF is a class in
    a file, ./mine.py:MyMap, or a registered map. It is checked, run beside RFF on the board's datasets by the
    board's protocol, and shown among the maps that ship with the package: a verdict, the rows next to it, and
    board.html with all of them.
    Ctrl-C stops a run; the same command carries on. With --data FILE it is the other way round: the 22 maps of the
    board, linear regression, boosted trees, kernel ridge on up to 3,000 training rows, and REF if given, on that data.
    With --check FOLDER some trials of a folder that --save wrote are repeated, with the map in a sandbox; the exit
    status is 1 where a score or a gain differs. Seconds and memory are not measured again.
    """
    if sum(map(bool, (small, full, datasets, data))) > 1:
        raise ConfigError("give one of --small, --full, --datasets and --data")
    if save and not (ref and ownfile.is_own(ref)):
        raise ConfigError("--save keeps a map in a file of your own, ./mine.py:MyMap")
    if reading and not data:
        raise ConfigError(f"--{next(iter(reading))} says how a file of your own is read, and goes with --data FILE")
    if nonce is not None and not check:
        raise ConfigError("--nonce draws the trials of --check, and goes with it")
    if form not in ("tex", "typst") and columns != 2:
        raise ConfigError("--columns goes with --format tex and typst")
    output = _Output(form, columns)
    if check:
        if form:
            raise ConfigError("--format is of the board, and --check prints none")
        if ref or data or small or full or datasets or minutes is not None or save:
            raise ConfigError("--check FOLDER takes no map, data, datasets, --minutes or --save: the folder has them")
        if authors and not entries:
            raise ConfigError("--authors goes with --entries FILE, where it is written")
        return _check(check, nonce or secrets.token_hex(8), workers, without_sandbox, entries, authors)
    for name, given in (("without-sandbox", without_sandbox), ("entries", entries), ("authors", authors)):
        if given:
            raise ConfigError(f"--{name} goes with --check")
    if anyway and not ref:
        raise ConfigError("--anyway goes with a map, ./mine.py:MyMap or a registered name")
    if ref or data:
        names = datasets.split(",") if datasets else ()
        return _put(ref, data, reading, names, full, minutes, anyway, results, workers, save, output)
    if small or full or datasets or minutes is not None:
        raise ConfigError("give a map, ./mine.py:MyMap or a registered name, or --data FILE")
    return _show(results, output)


def _put(
    ref: str | None, data: str | None, reading: Mapping[str, Any], datasets: Sequence[str], full: bool,
    minutes: float | None, anyway: bool, results: Path, workers: int | None, save: Path | None, output: _Output,
) -> int:  # fmt: skip
    """Run a map, or the board's maps on a file of data, and say what it comes to."""
    from rffbench.config.grid import Grid
    from rffbench.execution.places import folder_of
    from rffbench.linalg.threads import thread_count
    from rffbench.report.board.entry import (
        Budget,
        check_datasets,
        cost_of,
        forecast,
        label_of,
        maps_left_out,
        own_data,
        own_map,
        parts_of,
        rows_used,
        seconds_a_row,
    )
    from rffbench.report.board.own_tables import beside_each, data_tables, map_tables
    from rffbench.report.board.own_verdict import main_size, short_table, verdict_of
    from rffbench.report.board.page import own_sections
    from rffbench.report.board.submission import save_entry
    from rffbench.report.frame import load_results

    budget = None if minutes is None else Budget(minutes)
    threads = workers or thread_count()
    check_datasets(datasets)
    slow = 0.0
    if ref:
        _check_map(ref, anyway, output)
        slow = seconds_a_row(ref)
    if data:
        note(f"reading {data} …")
        experiment = own_data(data, ref, budget, threads, reading)
        note_decisions(experiment.datasets)
        for some in filter(None, (rows_used(Grid(experiment.to_dict())), maps_left_out(experiment))):
            note(some)
    else:
        experiment = own_map(str(ref), datasets, full, budget, threads, slow)
    folder = folder_of(results, experiment.name)
    done = _done(experiment, results)
    takes = forecast(experiment, threads, ref, done, slow)
    for said in takes.said(label_of(ref) if ref else ""):
        note(said)
    note(f"{plural(experiment.size(), 'trial')}; results go to {folder}")
    tell, alone = telling_failures(), cost_of(experiment)
    beside = folder_of(results, alone.name)
    found: Results | None = None
    timed: Results | None = None
    with Progress(experiment.name) as bar:
        if ref and ownfile.is_own(ref):
            _try_twice(experiment, folder, ref, done, tell)
        if budget:
            share = takes.of_scores / takes.seconds if takes.seconds else 1.0
            ends = time.monotonic() + share * budget.seconds_left
            parts = {name: keys for name, keys in parts_of(experiment, ref).items() if keys - done}
            summary = _run_in_time(experiment, folder, workers, parts, ends, tell, bar, alone.size())
        else:
            bar.begin(alone.size(), takes.seconds - takes.of_scores)
            summary = _run(experiment, folder, workers, finished=tell, bar=bar)
        if summary.ok:
            found = load_results(folder) if data else beside_each(load_results(folder))
        if found and len(found.trials):
            note(f"{plural(alone.size(), 'trial')} for seconds and memory, one at a time; results go to {beside}")
            scored = set(zip(*(found.trials[name] for name in ("dataset", "method", "n_features")), strict=True))
            keys = {spec.key for spec in alone.grid() if spec.cell[:3] in scored}
            if budget:
                last = {"seconds and memory of some": keys}
                of_cost = _run_in_time(alone, beside, workers, last, budget.ends, tell, bar)
            else:
                bar.begin()
                of_cost = _run(alone, beside, workers, keys, tell, bar=bar)
            timed = load_results(beside) if of_cost.ok else None
    if not found:
        return finish(folder, summary, None)
    if not len(found.trials):
        say("there is nothing to show yet: RFF has no trial beside those of the map")
        return 1
    label = None if data else label_of(str(ref))
    tables = data_tables(found, timed) if data else map_tables(found, label, timed)
    is_drawn = _write_page(experiment.title, own_sections(tables, found, timed, label), folder / PAGE, output)
    if save and ref:
        output.name(save_entry(folder, beside if timed else None, ref, tables, save))
    if label:
        output.tell("\n".join(textwrap.wrap(verdict_of(found, label, timed), width())) + "\n")
    if label and is_drawn and not output.form:
        tables = [short_table(tables[0], label, main_size(found))]
    output.show(tables)
    if data:
        note(f"rffbench fit {data} also tries other kernels, and writes the model")
    if summary.failed or summary.unavailable:
        for reason, places in reasons_of_failures(folder).items():
            say(f"  {len(places)} × {reason} ({', '.join(sorted({dataset for _, dataset in places}))})")
        return 1
    return 0


def _run_in_time(
    experiment: Experiment, folder: Path, workers: int | None, parts: Mapping[str, Collection[str]], ends: float,
    tell: Done, bar: Progress, to_come: int = 0,
) -> Summary:  # fmt: skip
    """Run ``parts``, keys of trials by name, one after another until the moment that the time ``ends``, and say which
    are not done then. The counts are of all trials of the experiment in the log. On the ``bar`` are ``to_come`` trials
    after these."""
    from rffbench.execution.log import latest, read_rows
    from rffbench.execution.run import Summary
    from rffbench.report.board.entry import listed

    started = time.monotonic()
    names = list(parts)
    with contextlib.suppress(_TimeIsUp):
        while names:
            bar.begin(sum(len(parts[name]) for name in names[1:]) + to_come, None)
            _run(experiment, folder, workers, parts[names[0]], tell, ends, bar)
            del names[0]
    if names:
        note(f"time is up, not done: {listed(names)}; the same command with more --minutes carries on")
    grid = {spec.key for spec in experiment.grid()}
    counts = Counter(row["status"] for row in latest(read_rows(folder / "trials.jsonl")) if row["key"] in grid)
    return Summary(folder, counts, counts.total(), time.monotonic() - started)


class _TimeIsUp(Exception):
    """The minutes of a run are over."""


def _done(experiment: Experiment, results: Path) -> set[str]:
    """The keys of the trials that have a score already, or seconds."""
    from rffbench.execution.log import each_row
    from rffbench.execution.places import folder_of
    from rffbench.report.board.entry import cost_of

    logs = [folder_of(results, each.name) / "trials.jsonl" for each in (experiment, cost_of(experiment))]
    return {row["key"] for log in logs for row in each_row(log, lambda _: None) if row["status"] == "ok"}


def _try_twice(experiment: Experiment, folder: Path, ref: str, done: Container[str], tell: Done) -> None:
    """Before trials of the map that are still to come, run its cheapest one that finishes, and then repeat it, in
    another folder. ConfigError where the score is another one."""
    from rffbench.execution.log import latest, read_rows
    from rffbench.report.board.entry import label_of, to_try_twice
    from rffbench.report.board.submission import other_numbers

    if all(spec.key in done for spec in experiment.grid() if spec.method == label_of(ref)):
        return
    for spec in to_try_twice(experiment, ref):
        note(f"{spec.label}: the cheapest trial of {label_of(ref)} there, twice")
        if not _run(experiment, folder, 1, {spec.key}, tell).ok:
            continue
        with tempfile.TemporaryDirectory(prefix="rffbench-twice-") as place:
            again = Path(place) / experiment.name
            _run(experiment, again, 1, {spec.key}, tell)
            logs = (read_rows(where / "trials.jsonl") for where in (folder, again))
            first, second = (next(row for row in latest(rows) if row["key"] == spec.key) for rows in logs)
        if off := other_numbers(first, second):
            raise ConfigError(
                f"{ref}: {spec.dataset}, {spec.n_features} columns, trial {spec.trial}: a second try gives other "
                f"numbers, {off}; they must be the same for one random_state; nothing else was run"
            )
        return


def _check_map(ref: str, anyway: bool, output: _Output) -> None:
    """Check the map; ConfigError where a check fails, ``anyway`` only where its scores depend on that check."""
    from rffbench.config.values import check_registered_map
    from rffbench.features.checks import check_map
    from rffbench.plugins.registry import NONE
    from rffbench.report.board.entry import SPOILING

    if ref != NONE and not ownfile.is_own(ref):  # of no map the checks have a better word
        check_registered_map(ref)
    note(f"checking {ref} …")
    checks = list(check_map(ref))
    failed = [check.name for check in checks if check.ok is False]
    if failed:
        print_checks(checks, output.tell)
    if spoilt := [name for name in failed if name in SPOILING]:
        raise ConfigError(f"{ref}: the check {spoilt[0]} failed, which scores depend on; nothing was run")
    if failed and not anyway:
        raise ConfigError(f"{ref}: the check {failed[0]} failed; nothing was run; --anyway runs it all the same")
    passed = plural(sum(check.ok is True for check in checks), "check")
    note(f"{ref}: {passed} passed" + (f", {', '.join(failed)} failed" if failed else ""))


def _run(
    experiment: Experiment, folder: Path, workers: int | None, keys: Container[str] | None = None,
    finished: Done | None = None, ends: float | None = None, bar: Progress | None = None,
) -> Summary:  # fmt: skip
    """Run an experiment, or the trials with ``keys``, and count them on the ``bar``; _TimeIsUp where trials are left
    when the time ``ends``."""
    from rffbench.execution.local import local_executor
    from rffbench.execution.run import run_experiment

    def watch() -> None:
        if ends is not None and time.monotonic() > ends:
            raise _TimeIsUp

    runs_on: Any = local_executor(experiment, workers=workers)
    runs_on.watch = watch
    return run_experiment(
        experiment, folder, executor=runs_on, keys=keys, progress=bar,
        announce=note if Progress.terminal else None, tell=note, finished=finished,
    )  # fmt: skip


@dataclass(frozen=True)
class _Output:
    """How tables are printed: for a terminal, or as ``form`` across 1 or 2 ``columns`` of an article; those are alone
    on standard output."""

    form: str | None
    columns: int

    def tell(self, text: str) -> None:
        (note if self.form else echo)(text)

    def name(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self.tell(f"wrote {path}")

    def show(self, tables: Sequence[Table]) -> None:
        from rffbench.report import set_table

        for table in tables:
            echo(set_table(table, self.form, self.columns) if self.form else table.to_text(width()) + "\n")


def _show(results: Path, output: _Output) -> int:
    """The board's first tables, which ship with the package; then the gains of your own run of the board, which get a
    page, too, or without one those that ship. The status is 1 if anything of it cannot be read."""
    from rffbench.execution.places import folder_of
    from rffbench.report.board.own_tables import first_tables, run_tables, shipped_tables
    from rffbench.report.board.page import own_sections
    from rffbench.report.frame import load_results

    output.show(first_tables())
    folder, beside = folder_of(results, "board"), folder_of(results, "board-seconds")
    if not folder.exists():
        output.show(shipped_tables())
        return 0
    with left_out() as told:
        found, timed = load_results(folder), None
        try:
            timed = load_results(beside) if beside.exists() else None
        except RffbenchError as error:
            warnings.warn(f"left out: {error}", LeftOut, stacklevel=1)
    tables = run_tables(found, timed)
    output.tell(f"The tables above ship with rffbench; those below are of the run in {folder}.\n")
    output.show(tables)
    _write_page(found.title, own_sections(tables, found, timed), folder / PAGE, output)
    return 1 if told else 0


def _write_page(title: str, parts: Sequence[Section], path: Path, output: _Output) -> bool:
    """Write the page; without what draws pages, say so. Whether it was written."""
    from rffbench.report.board.page import write_html

    try:
        output.name([write_html(title, parts, path)])
    except ConfigError as error:
        note(f"no page was written: {error}")
        return False
    return True


def _check(
    folder: Path, nonce: str, workers: int | None, without_sandbox: bool, entries: Path | None, authors: str | None
) -> int:
    """Repeat some trials of a submission, and hold their scores against those in the folder, and the card's gains
    against its trials. The map runs in a sandbox, and nothing of it is imported here. Where it passes, the file
    ``entries`` gets which trials were repeated, and what its ``authors`` said."""
    from rffbench.data import ensure
    from rffbench.execution.log import latest, read_rows
    from rffbench.execution.sandbox import sandbox, shows
    from rffbench.execution.sandbox_map import command_of, described, stand_in
    from rffbench.report.board.entries import read_entries, write_entry
    from rffbench.report.board.submission import (
        check_table,
        checked_entry,
        differences,
        drawn,
        other_gains,
        read_submission,
        repeated,
        verdict,
    )

    submission = read_submission(folder)
    if entries and entries.exists():
        read_entries(entries)  # a file that is wrong is told before the trials run
    kind = None if without_sandbox else sandbox()
    if without_sandbox:
        note("no sandbox: the map runs as a process of yours, and can use your network and your files")
    elif kind is None:
        raise ConfigError(
            "no sandbox can be made here, neither by bubblewrap (install it: the command bwrap) nor by Linux "
            "namespaces; --without-sandbox runs the map as a process of yours, with your network and your files"
        )
    elif shows(folder):
        raise ConfigError(f"{folder}: lies among the files of Python, which the map can read; copy it elsewhere")
    else:
        note(f"sandbox: the map runs apart from your files, network and processes, by {kind.value}")
    with Download() as progress:
        for name in submission.datasets:
            ensure(name, progress)
    keys = drawn(submission, nonce)
    note(f"repeating {len(keys)} of {len(submission.rows)} trials, drawn by --nonce {nonce}")
    name = submission.card["class"]
    with tempfile.TemporaryDirectory(prefix="rffbench-check-") as place:
        root, theirs, ours = (Path(place, each) for each in ("root", "theirs", "ours"))
        for each in (root, theirs, ours):
            each.mkdir()
        (theirs / submission.card["map"]).write_bytes(submission.source)
        command = command_of(theirs / submission.card["map"], name, kind, root)
        about = described(command)
        if about["sparse"]:
            raise ConfigError(f"{submission.ref}: its features are sparse, and such maps cannot be repeated yet")
        (ours / submission.card["map"]).write_text(stand_in(command, name, about), encoding="utf-8")
        experiment = repeated(submission, f"{ours / submission.card['map']}:{name}")
        cells = {submission.specs[key].cell for key in keys}
        again = Path(place) / "again"
        _run(experiment, again, workers, {spec.key for spec in experiment.grid() if spec.cell in cells})
        rows = latest(read_rows(again / "trials.jsonl"))
    found = differences(submission, rows)
    other = other_gains(submission)
    echo(check_table(submission, rows, found, other).to_text(width()))
    why = verdict(submission, rows, keys, found, other)
    if entries and not why:
        write_entry(entries, *checked_entry(submission, len(rows), nonce, authors))
        name_files([entries])
    echo(f"refused: {why}" if why else "passed: the repeated trials have the folder's scores, and the card their gains")
    return 1 if why else 0
