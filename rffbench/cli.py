"""The command line: parse, call, print. The only place that prints or exits.

Exit status: 0 done; 1 the run finished, but trials failed or some data was unavailable, or a comparison is
out of tolerance; 2 the command or the config is wrong; 3 nothing could be measured; 130 interrupted, and the
same command carries on; 70 a defect in rffbench itself.

Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gc
import io
import json
import math
import os
import re
import shutil
import signal
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TextIO

import click
from click.shell_completion import get_completion_class

from rffbench import __version__, ownfile
from rffbench.completion import (
    SHELLS,
    complete_config,
    complete_dataset,
    complete_executor,
    complete_kernel,
    complete_method,
    complete_metric,
    complete_only,
)
from rffbench.errors import ConfigError, DataError, LeftOut, RffbenchError, refusals
from rffbench.plaintext import printable, spelt_out
from rffbench.terminal import LinesAboveBar
from rffbench.units import duration, first_of, so_many

if TYPE_CHECKING:
    from rffbench.config.experiment import Experiment
    from rffbench.kernels.checks import Check

FORMATS = ("png", "pdf", "svg")
INTERRUPTED = 130
DEFECT = 70
MANY_TRIALS = 1_000_000
REASONS_SHOWN = 10  # why trials failed
NAMES_SHOWN = 3  # of the methods, and of the datasets, of one reason
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
COLLECTED_AFTER = 100_000  # new objects: looking for cycles among a long log's is a tenth of the time to read it


def main() -> NoReturn:
    """Entry point of ``rffbench``: run the command, turn errors into messages and exit statuses."""
    gc.set_threshold(COLLECTED_AFTER)
    _stand_in_for_closed_streams()
    _write_what_readers_take()
    _stop_at_once_when_interrupted_again()
    try:
        status = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted; the same command carries on from here")
        status = INTERRUPTED
    except RffbenchError as error:
        _say(f"error: {error}")
        status = error.exit_status
    except OSError as error:
        _say(f"error: {_words(error)}")
        status = ConfigError.exit_status
    except Exception as error:
        if os.environ.get("RFFBENCH_DEBUG"):
            raise
        _say(f"error: {type(error).__name__}: {error}\nThis is a defect; RFFBENCH_DEBUG=1 shows where it is.")
        status = DEFECT
    try:
        sys.stdout.flush()
    except OSError:  # Python would try again on its way out, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _stand_in_for_closed_streams() -> None:
    """Standard streams that the caller has closed become empty ones: the next file opened would get their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing == number:
                os.set_inheritable(number, True)  # workers have standard streams, too
            else:
                os.dup2(nothing, number)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False))


def _stop_at_once_when_interrupted_again() -> None:
    """The first Ctrl-C ends a command in order, the next without waiting for that: workers end with their parent."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # it is ignored, as in the background
        return
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        if interrupted:
            with contextlib.suppress(OSError):
                os.write(
                    _Progress.terminal.fileno() if _Progress.terminal else 2,
                    b"\ninterrupted again: stopped at once; the same command carries on from here\n",
                )
            os._exit(INTERRUPTED)
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


class _Output(io.TextIOWrapper):
    """Standard output whose reader may leave before the end, as `head` does: the command goes on, its exit status is
    what it would have been, and nobody reads the rest."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            self._write_nowhere()
            return len(text)
        except OSError as error:
            raise self._unwritten(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._write_nowhere()
            super().flush()
        except OSError as error:
            raise self._unwritten(error) from None

    def _unwritten(self, error: OSError) -> OSError:
        """The error with a name of what could not be written to, a full disk for one; the rest goes nowhere."""
        self._write_nowhere()
        return OSError(error.errno, error.strerror, "standard output")

    def _write_nowhere(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


class _Place(click.Path):
    """A file or folder; the empty text, which stands for the current folder elsewhere, is a mistake."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if value == "":
            self.fail("must name a file or folder, and is empty", parameter, context)
        return super().convert(value, parameter, context)


class _Whole(click.IntRange):
    name = "whole number"


class _Points(click.FloatRange):
    """A finite number, 0 or more."""

    name = "number"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        number = super().convert(value, parameter, context)
        if not math.isfinite(number):
            self.fail(f"must be a number, not {number}", parameter, context)
        return number


FILE, TEXT, COUNT, POINTS = _Place(path_type=Path), _Place(), _Whole(min=1), _Points(min=0)


def _write_what_readers_take() -> None:
    """Characters that a stream's encoding lacks are spelt out; standard output may be closed."""
    codecs.register_error("spelt-out", spelt_out)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="spelt-out")
    if isinstance(old := sys.stdout, io.TextIOWrapper):
        encoding, by_line = old.encoding, old.line_buffering
        sys.stdout = _Output(old.detach(), encoding=encoding, errors="spelt-out", line_buffering=by_line)
        sys.__stdout__ = sys.stdout  # type: ignore[misc]  # the old one has nothing to write to any more


def _words(error: Exception) -> str:
    """An error's message; of the system's, the file and what is wrong."""
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(version)s")
def cli() -> None:
    """Benchmark random-feature methods for kernel approximation.

    CONFIG is a YAML file, or the name of a config that ships with the package. RESULTS is the folder of one
    experiment's results, or a folder of such folders.
    """


# ---- run ---------------------------------------------------------------------------------------------------


def _quiet(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    _context.meta[_QUIET] = value


def _json_file(context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    context.meta[_ONLY_JSON] = value == "-"
    return value


_QUIET, _ONLY_JSON = "rffbench.quiet", "rffbench.only_json"  # what the command was told of its output
_quiet_option = click.option(
    "--quiet", "-q", is_flag=True, expose_value=False, callback=_quiet, help="Print errors and warnings alone."
)
_json_option = click.option(
    "--json", "json_file", is_flag=False, flag_value="-", metavar="[FILE]", callback=_json_file,
    help="Write the result as JSON into FILE; without FILE print it, and nothing else.",
)  # fmt: skip


@cli.command()
@click.argument("config", type=TEXT, shell_complete=complete_config)
@click.option(
    "--workers",
    type=COUNT,
    help="How many worker processes to use. [default: as many as processors and memory allow]",
)
@click.option(
    "--results",
    type=FILE,
    default=Path("results"),
    show_default=True,
    help="The folder that holds the experiment's folder of results.",
)
@click.option(
    "--only",
    multiple=True,
    shell_complete=complete_only,
    metavar="KEY=VALUE",
    help="Run only these trials. KEY is dataset, method, n_features or trial; separate several values by commas. "
    "With several --only, a trial must meet all of them.",
)
@click.option("--fresh", is_flag=True, help="Start from the beginning; the old results are moved aside.")
@click.option("--retry-failed", is_flag=True, help="Run failed trials again.")
@click.option(
    "--dry-run", is_flag=True, help="Print the grid, its size and an estimate of time and memory; run nothing."
)
@click.option(
    "--executor",
    shell_complete=complete_executor,
    metavar="NAME",
    help="Where trials run: local (worker processes), serial (this process), dask (a cluster of dask on this machine), "
    "dask://HOST:PORT (one that is there), slurm (jobs), or one that a package adds. "
    "[default: the config's executor, or local]",
)
@click.option("--scheduler-file", metavar="FILE", help="With dask: the file that names the scheduler.")
@click.option(
    "--executor-option",
    "executor_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the executor, for example partition=long; before what the config's executor says.",
)
@click.option("--yes", is_flag=True, help=f"Run an experiment of more than {MANY_TRIALS:,} trials.")
@_quiet_option
@_json_option
def run(
    config: str,
    workers: int | None,
    results: Path,
    only: tuple[str, ...],
    fresh: bool,
    retry_failed: bool,
    dry_run: bool,
    executor: str | None,
    scheduler_file: str | None,
    executor_options: tuple[str, ...],
    yes: bool,
    json_file: str | None,
) -> int:
    """Run an experiment, or carry on with it.

    Trials that were run before are skipped, except those whose data was unavailable or that the machine lost.
    """
    from rffbench.config.loading import load_experiment
    from rffbench.execution import make_executor

    if executor == "":
        raise click.BadParameter("must name an executor, and is empty", param_hint="--executor")
    experiment = load_experiment(config)
    _warn_of_cards()
    if (trials := experiment.size()) > MANY_TRIALS and not yes:
        raise ConfigError(f"{config}: stands for {trials:,} trials; if that is meant, --yes runs them")
    name, options = experiment.runs_on(executor)
    options |= dict(map(_option, executor_options)) | ({"scheduler_file": scheduler_file} if scheduler_file else {})
    runs_on = make_executor(name, experiment, workers=workers, options=options)
    folder = results / experiment.name
    with contextlib.ExitStack() as stack:
        stack.callback(getattr(runs_on, "close", lambda: None))
        if dry_run:
            _print(_dry_run(experiment, folder, only, fresh, runs_on.workers))
            return 0

        from rffbench.execution.run import run_experiment

        with _Progress(experiment.name) as progress:
            summary = run_experiment(
                experiment,
                folder,
                executor=runs_on,
                fresh=fresh,
                retry_failed=retry_failed,
                only=only,
                progress=progress,
                announce=_tell if progress.shown else None,
                tell=_tell,
            )
    return _finish(folder, summary, json_file)


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ConfigError(f"--executor-option {text}: must be KEY=VALUE, for example partition=long")
    return key.replace("-", "_"), value


def _dry_run(experiment: Experiment, folder: Path, only: Sequence[str], fresh: bool, workers: int) -> str:
    from rffbench.config.dryrun import describe
    from rffbench.config.loading import filter_specs
    from rffbench.execution.log import read_rows
    from rffbench.execution.provenance import OtherCode

    grid = experiment.grid()
    specs, other = filter_specs(grid, only), OtherCode(grid)
    logged = [] if fresh else other.left_out_of(read_rows(folder / "trials.jsonl"))
    rows = list({row["key"]: row for row in logged}.values())
    text = describe(experiment, specs, rows, folder, 1 if experiment.timing == "exclusive" else workers)
    return f"{text}\n{other.told()}; a run would keep them aside and measure anew" if other.found else text


def _finish(folder: Path, summary: Any, json_file: str | None) -> int:
    """Print the table, name the files; the exit status says how it went."""
    from rffbench.execution.log import log_files
    from rffbench.report import FILES, described, make_table, redraw, up_to_date, written_table

    if summary.ok and not summary.run and up_to_date(folder):
        table = (folder / "table.md").read_text(encoding="utf-8")
        fits = max(map(len, table.splitlines())) <= _width()
        _print(table if fits else written_table(folder).to_text(_width()))
        _tell("nothing was left to do")
    elif summary.ok:
        drawn = redraw(folder)
        _print(make_table(folder, FILES).to_text(_width()))
        _name_files([*log_files(folder), *drawn])
    if json_file:
        about = described(folder) if summary.ok else {"name": folder.name, "folder": str(folder)}
        counts = {name: getattr(summary, name) for name in ("ok", "failed", "unavailable", "run")}
        _write_json(about | counts, json_file)
    lost = [f"{count} {what}" for what in ("failed", "unavailable") if (count := getattr(summary, what))]
    (_say if lost else _tell)(so_many(summary.ok, "trial") + " ok" + "".join(f", {each}" for each in lost))
    if lost:
        reasons = sorted(_reasons(folder).items(), key=lambda each: -len(each[1]))
        for reason, places in reasons[:REASONS_SHOWN]:
            methods, datasets = (first_of([*dict.fromkeys(names)], NAMES_SHOWN) for names in zip(*places, strict=True))
            _say(f"  {len(places)} × {reason} ({methods} on {datasets})")
        if rest := reasons[REASONS_SHOWN:]:
            _say(f"  {sum(len(places) for _, places in rest)} × {len(rest)} other reasons")
        _say(f"details are in {' and '.join(map(str, log_files(folder)))}")
    if summary.failed:
        _say("--retry-failed runs failed trials again")
    if not summary.ok and summary.unavailable:
        return DataError.exit_status
    return 1 if lost else 0


def _reasons(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Why trials have no result: each reason with the method and the dataset of every trial."""
    from rffbench.execution.log import cell, each_row

    failed: dict[Any, str] = {}
    for row in each_row(folder / "trials.jsonl"):
        failed.pop(cell(row), None)
        if row.get("error"):
            first, *others = row["error"]["message"].splitlines() or [""]
            details = "; ".join(each.strip() for each in others if first.endswith(":"))  # what each source said
            failed[cell(row)] = f"{row['status']}: {first} {details}".rstrip()
    reasons: dict[str, list[tuple[str, str]]] = {}
    for (dataset, method, *_), reason in failed.items():
        reasons.setdefault(reason, []).append((method, dataset))
    return reasons


class _Progress:
    """On stderr, counts of ok and failed and the time left: a bar; a line a minute where stderr is no terminal, as in
    a log of a cluster's job."""

    EVERY_S: ClassVar[float] = 60.0
    terminal: ClassVar[TextIO | None] = None  # the terminal itself, while standard error leads above the bar

    def __init__(self, name: str) -> None:
        self._name = name
        self._bar: Any = None
        self.shown = sys.stderr.isatty() and not _told(_QUIET)
        self._lines = LinesAboveBar(_beside_bars)
        self._told = time.monotonic()

    def __enter__(self) -> _Progress:
        if self.shown:
            _Progress.terminal = self._lines.__enter__().terminal
        return self

    def __call__(self, done: int, total: int, ok: int, failed: int, eta: float | None) -> None:
        if not self.shown:
            if done < total and time.monotonic() - self._told >= self.EVERY_S:
                self._told = time.monotonic()
                left = "" if eta is None else f", about {duration(eta)} left"
                _tell(f"{self._name}: {done:,} of {total:,} trials, {ok:,} ok, {failed:,} failed{left}")
            return
        if self._bar is None:
            from tqdm import tqdm

            layout = "{desc} {bar} {n_fmt}/{total_fmt}, {elapsed} gone{postfix}"
            self._bar = tqdm(total=total, desc=self._name, file=self.terminal, bar_format=layout, dynamic_ncols=True)
        left = "" if eta is None else f", {self._bar.format_interval(eta)} left"
        self._bar.n, self._bar.total = done, total
        self._bar.set_postfix_str(f"{ok} ok, {failed} failed{left}", refresh=True)

    def __exit__(self, *error: object) -> None:
        if self.shown:
            self._lines.__exit__(*error)
        if self._bar is not None:
            self._bar.close()
        if self.terminal:
            self.terminal.close()
            _Progress.terminal = None


class _Download:
    """A bar on stderr for the file being downloaded; nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> Callable[[str, int, int | None], None] | None:
        return self._show if sys.stderr.isatty() and not _told(_QUIET) else None

    def _show(self, file: str, received: int, total: int | None) -> None:
        if self._bar is None or self._bar.desc != file:
            from tqdm import tqdm

            self.__exit__()
            self._bar = tqdm(desc=file, total=total, unit="B", unit_scale=True, file=sys.stderr, dynamic_ncols=True)
        self._bar.update(received - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


# ---- plot, table, compare, diff ----------------------------------------------------------------------------


def _formats(_context: click.Context, _parameter: click.Parameter, value: str) -> list[str]:
    formats = [each.strip() for each in value.split(",")]
    if unknown := [each for each in formats if each not in FORMATS]:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(FORMATS)}")
    return formats


def _names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str]:
    if value is None:
        return []
    names = [each.strip() for each in value.split(",")]
    if "" in names:
        raise click.BadParameter(f"{value!r} must be names, separated by commas")
    return list(dict.fromkeys(names))


@cli.command()
@click.argument("results", type=FILE)
@click.option(
    "--format",
    "formats",
    default="png",
    show_default=True,
    callback=_formats,
    metavar="png,pdf,svg",
    help="Formats of the figures, separated by commas.",
)
@click.option(
    "--style",
    type=click.Choice(["screen", "paper"]),
    default="screen",
    show_default=True,
    help="With paper, figures are as wide as one or both columns of an article (3.25 or 6.75 inches), in 8 pt.",
)
@click.option(
    "--columns",
    type=click.IntRange(1, 2),
    help="With --style paper: how many columns of an article every figure is wide. [default: as many as it needs]",
)
@click.option(
    "--panels",
    callback=_names,
    shell_complete=complete_metric,
    metavar="NAME,NAME",
    help="The metrics that have a panel, separated by commas: time, memory, or any of summary.csv.",
)
@_quiet_option
def plot(results: Path, formats: list[str], style: str, columns: int | None, panels: list[str]) -> int:
    """Draw the figures and write the tables of RESULTS again.

    Both are made from the trials alone. The figures are all there are, those of `compare` too.
    """
    from rffbench.report import experiment_folders, redraw

    if columns and style != "paper":
        raise click.UsageError("--columns goes with --style paper alone")
    draw = lambda folder: _name_files(redraw(folder, formats, style, columns, panels))  # noqa: E731
    return _in_every(experiment_folders(results), draw)


def _label(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9:._-]*", value):
        raise click.BadParameter(f"{value!r} must be a letter, then letters, digits, ':', '.', '_' and '-'")
    return value


@cli.command()
@click.argument("results", type=FILE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["tex", "typst", "csv", "md"]),
    help="Print the table for LaTeX (booktabs and graphicx), Typst, a spreadsheet or Markdown.",
)
@click.option(
    "--columns",
    type=click.IntRange(1, 2),
    default=2,
    show_default=True,
    help="How many columns of an article it is set across, in tex and typst.",
)
@click.option("--metric", metavar="NAME", shell_complete=complete_metric,
              help="time, memory, columns, or one of summary.csv. [default: what a dataset is judged by]")  # fmt: skip
@click.option("--at-seconds", type=POINTS, metavar="T",
              help="Each method at the largest size whose mean training time is at most T seconds.")  # fmt: skip
@click.option("--no-seconds", "seconds", flag_value=False, default=True, help="Without times beside the scores.")
@click.option("--best", type=click.Choice(["bold", "none"]), default="none", show_default=True,
              help="How the best of the methods is set, in tex, typst and md.")  # fmt: skip
@click.option("--caption", metavar="TEXT", help="The caption, in tex and typst. [default: the experiment's title]")
@click.option("--label", metavar="NAME", callback=_label, help="The label, in tex and typst.")
@click.option("--output", type=FILE, metavar="FILE", help="Write it there instead of printing.")
@_quiet_option
@_json_option
def table(
    results: Path,
    form: str | None,
    columns: int,
    metric: str | None,
    at_seconds: float | None,
    seconds: bool,
    best: str,
    caption: str | None,
    label: str | None,
    output: Path | None,
    json_file: str | None,
) -> int:
    """Print the table of RESULTS, and write it.

    It writes table.csv, table.md, table.tex and summary.csv. With options, the table that they ask for is printed, and
    no file but that of --output is written. With --format, names are as people write them: EEG, σ = 1.
    """
    from rffbench.report import Shown, described, experiment_folders, make_table, set_table, table_files

    _refuse_unused(form)
    folders = experiment_folders(results)
    if (label or output) and len(folders) > 1:
        raise click.UsageError(f"{results} holds {len(folders)} experiments; --label and --output are for one")
    shown = Shown(metric, seconds, best == "bold", written=form is not None, at_seconds=at_seconds)
    found = []

    def show(folder: Path) -> None:
        if json_file:
            found.append(described(folder))
        if form or shown != Shown() or output:
            made = make_table(folder, shown)
            text = set_table(made, form, columns, caption, label) if form else made.to_text(_width())
            if output:
                output.parent.mkdir(parents=True, exist_ok=True)
                output.write_text(text, encoding="utf-8")
                _name_files([output])
            else:
                _print(text, nl=False)
            return
        made, texts = table_files(folder)
        _print(made.to_text(_width()))
        with _if_writable():
            for name, text in texts.items():
                (folder / name).write_text(text, encoding="utf-8")
                _tell(f"wrote {folder / name}")

    status = _in_every(folders, show)
    if json_file:
        _write_json(found, json_file)
    return status


@contextlib.contextmanager
def _if_writable() -> Iterator[None]:
    """Within the block, files are written of what was printed; in a folder that is read-only, it is said that they are
    not."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        _say(f"not written: {_words(error)}")


def _refuse_unused(form: str | None) -> None:
    """UsageError for an option that goes with other formats of a table than ``form``."""
    context = click.get_current_context()
    forms = {"columns": ("tex", "typst"), "caption": ("tex", "typst"), "label": ("tex", "typst"),
             "best": ("tex", "typst", "md")}  # fmt: skip
    for name, needed in forms.items():
        if form not in needed and context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} goes with --format {', '.join(needed)} alone")


def _in_every(folders: Sequence[Path], work: Callable[[Path], None]) -> int:
    """Do ``work`` for every experiment's folder; where there are several, those that cannot be read are passed over."""
    status = 0
    with _left_out() as told:
        for folder in folders:
            try:
                work(folder)
            except Exception as error:
                _pass_over(folder, error, folders)
                status = 1
    return 1 if told else status


@contextlib.contextmanager
def _left_out() -> Iterator[list[str]]:
    """Within the block, what a report leaves out is said once on stderr; the messages."""
    told: list[str] = []
    show = warnings.showwarning

    def say(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, LeftOut):
            show(message, category, *where, **more)
        elif str(message) not in told:
            told.append(str(message))
            _say(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", LeftOut)
        warnings.showwarning = say
        yield told


def _pass_over(folder: Path, error: Exception, folders: Sequence[Path]) -> None:
    """Say why a folder is passed over where there are others, which are done all the same; else raise the error."""
    defect = not isinstance(error, RffbenchError | OSError)
    if len(folders) == 1 or isinstance(error, BrokenPipeError) or (defect and os.environ.get("RFFBENCH_DEBUG")):
        raise error
    _say(f"passed over: {f'{folder}: {type(error).__name__}: {error}' if defect else _words(error)}")


@cli.command()
@click.argument("results", type=FILE)
@click.option(
    "--tolerance",
    type=POINTS,
    metavar="POINTS",
    help="How far a mean may be from the reported one. [default: as the reference says]",
)
@click.option(
    "--search", is_flag=True, help="Instead, rank the protocols of a sweep by their distance to the reported numbers."
)
@_quiet_option
@_json_option
def compare(results: Path, tolerance: float | None, search: bool, json_file: str | None) -> int:
    """Compare RESULTS with their reference, and methods with each other.

    The config's `reference` is a paper, with its numbers and claims, or a file that `record` wrote. The exit status is
    1 if a number is out of tolerance or a claim does not hold, and 3 if none of them was measured. Without a reference,
    and without --tolerance, the methods alone are compared.
    """
    from rffbench.report import experiment_folders
    from rffbench.report.compare import NoReference
    from rffbench.report.search import NoSweep

    folders = experiment_folders(results)
    statuses: list[int] = []
    found: list[dict[str, Any]] = []
    with _left_out() as told:
        for folder in folders:
            try:
                statuses.append(_search(folder, found) if search else _compare(folder, tolerance, found))
            except (NoReference, NoSweep) as error:
                if not statuses and folder == folders[-1]:  # there is nothing to compare
                    raise
                _say(f"passed over: {error}")
            except Exception as error:
                _pass_over(folder, error, folders)
                statuses.append(1)
    if json_file:
        _write_json(found, json_file)
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
    if statistics:
        _print(statistics.table().to_text(_width()))
    _print(to_text(comparison, _width()))
    with _if_writable():
        _name_files(write_comparison(comparison, statistics))
    if not comparison.measured:
        return DataError.exit_status
    return 1 if comparison.outside or comparison.refuted else 0


def _compare_methods(folder: Path, no_reference: ConfigError, found: list[dict[str, Any]]) -> int:
    """What can be said without a reference; where that is nothing either, the error."""
    from rffbench.report import compare_methods, write_statistics

    statistics = compare_methods(folder)
    if statistics is None:
        raise no_reference
    found.append({"name": folder.name, "title": statistics.title, "methods": statistics.records()})
    _print(statistics.table().to_text(_width()))
    with _if_writable():
        _name_files(write_statistics(statistics, folder))
    _tell(f"methods were compared with each other alone: {no_reference}")
    return 0


def _search(folder: Path, found: list[dict[str, Any]]) -> int:
    from rffbench.report import search_folder, write_search

    searched = search_folder(folder)
    found.append({"name": folder.name, "title": searched.title, "protocols": searched.records()})
    _print(searched.table().to_text(_width()))
    with _if_writable():
        _name_files(write_search(searched, folder))
    return 0


@cli.command()
@click.argument("results", type=FILE)
@click.option(
    "--output",
    type=FILE,
    metavar="FILE",
    help="The file. [default: the config's own reference, else NAME_reference.csv]",
)
@click.option("--overwrite", is_flag=True, help="Write the file also where it is there and holds anything else.")
@_quiet_option
def record(results: Path, output: Path | None, overwrite: bool) -> int:
    """Write what RESULTS came to as a reference file.

    It holds every cell's expected score with a tolerance from the spread over trials. A config that has the file as
    its `reference` is compared with it by `rffbench compare`.
    """
    from rffbench.report import experiment_folders
    from rffbench.report.record import record as write_reference

    folders = experiment_folders(results)
    if output and len(folders) > 1:
        raise click.BadParameter(f"{results} holds {len(folders)} experiments, each of which needs a file of its own",
                                 param_hint="--output")  # fmt: skip

    def write(folder: Path) -> None:
        path, cells, notes = write_reference(folder, output, overwrite=overwrite)
        _print(f"wrote {path}: {so_many(cells, 'cell')}")
        for note in notes:
            _say(note)

    return _in_every(folders, write)


@cli.command()
@click.argument("shards", nargs=-1, required=True, type=FILE, metavar="RESULTS...")
@click.option("--into", required=True, type=FILE, metavar="FOLDER", help="The new folder.")
@_quiet_option
def merge(shards: tuple[Path, ...], into: Path) -> int:
    """Join RESULTS, shards of one experiment, into a new folder.

    Shards are runs of the same config with different --only and --results, on one machine or several.
    """
    from rffbench.report.merge import merge as join

    for made in join(shards, into):
        twice = f", {made.repeated} of them in several shards" if made.repeated else ""
        _print(f"wrote {made.folder}: {so_many(made.trials, 'trial')}{twice}")
    return 0


@cli.command()
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
@click.option("--junit", type=FILE, metavar="FILE", help="Write every cell as a test of JUnit.")
@_quiet_option
@_json_option
def diff(old: str, new: str, tolerance: float, json_file: str | None, junit: Path | None) -> int:
    """Compare the results NEW with the results OLD, cell by cell.

    Both are RESULTS; FOLDER@REVISION is a folder as a git commit has it, for example results/mine@HEAD~3, and
    FOLDER@source:1 one with the rows of the first version of a file of one's own that was edited since. A score is
    worse where the interval of its difference lies beyond the tolerance, with Holm's correction for all cells; a cell
    that too few trials leave open is "not settled". The exit status is 1 if a score is worse, if trials fail that were
    ok, or if a log has lines that cannot be read; it is 3 if no cell could be compared.
    """
    from rffbench.report.diff import diff_folders
    from rffbench.report.diff_writeup import cases, to_json, to_text
    from rffbench.report.junit import to_junit
    from rffbench.report.revision import results_at

    with _left_out() as told, results_at(old) as before, results_at(new) as after:
        differences, alone = diff_folders(before, after, tolerance, (old, new))
    _print("\n".join(map(to_text, differences)), nl=False)
    for line in alone:
        _print(line)
    if json_file:
        _write_json_text(to_json(differences), json_file)
    if junit:
        junit.write_text(to_junit([(each.name, cases(each)) for each in differences]), encoding="utf-8")
    if not any(each.compared for each in differences):
        return DataError.exit_status
    return 1 if told or any(each.outside for each in differences) else 0


@cli.command()
@click.argument("places", nargs=-1, required=True, type=TEXT, metavar="RESULTS...")
@_json_option
def history(places: tuple[str, ...], json_file: str | None) -> int:
    """Show how scores moved over several RESULTS of one experiment.

    FOLDER@REVISION is a folder as a git commit has it; of a single FOLDER, the history is that of the commits that
    changed its log. A change point is looked for in every cell.
    """
    from rffbench.report.history import history as history_of
    from rffbench.report.history import to_json, to_text

    with _left_out() as told:
        found = history_of(places)
    _print(to_text(found), nl=False)
    if json_file:
        _write_json_text(to_json(found), json_file)
    return 1 if told else 0


@cli.command()
@click.argument("places", nargs=-1, required=True, type=TEXT, metavar="RESULTS...")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file. [default: report.html in RESULTS]",
)
def report(places: tuple[str, ...], output: Path | None) -> int:
    """Write one HTML page that shows RESULTS in a browser.

    It holds everything and loads nothing: tables that sort and filter, measured beside reported, claims, interactive
    figures, failures, and how to repeat each experiment. With several RESULTS of one experiment, or FOLDER@REVISION, it
    also shows how scores moved.
    """
    from rffbench.report.page import write_page

    with _left_out() as told:
        page = write_page(places, output)
    _print(f"wrote {page.path}: {page.experiments} experiment{'s' if page.experiments > 1 else ''}")
    for message in page.passed_over:
        _say(f"passed over: {message}")
    return 1 if told or page.passed_over else 0


@cli.command()
@click.argument("results", type=FILE)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port. [default: one that is free]")
def serve(results: Path, port: int) -> int:
    """Show in a browser how a running experiment stands.

    Serves a page on 127.0.0.1 that updates by itself: progress and time left, the table so far, failures. Ctrl-C ends
    it; the experiment runs on.
    """
    from rffbench.report.page.server import address, make_server

    with make_server(results, port) as server:
        _print(f"{results} is at {address(server)}")
        _say("Ctrl-C ends this")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0


# ---- datasets ----------------------------------------------------------------------------------------------


@cli.group()
def datasets() -> None:
    """List, fetch, verify and describe datasets."""


@datasets.command("list")
@_json_option
def list_datasets(json_file: str | None) -> int:
    """List every dataset, with its shape and its licence.

    Also says which ones are on this machine.
    """
    from rffbench.data import cache_folder, card_names, describe

    _print(f"{'name':<22}{'rows':>8}{'columns':>9}  {'cached':<8}{'balance':<18}licence")
    _warn_of_cards()
    found = []
    for name in card_names():
        try:
            found.append(about := describe(name))
        except (RffbenchError, OSError) as error:
            _say(f"warning: passed over: {_words(error)}")
            continue
        positive = sum(share for label, share in about["balance"].items() if label in about["positive"])
        balance = f"{positive:.1%} are +1" if positive else about["task"]
        line = (
            f"{name:<22}{about['rows']:>8}{about['columns']:>9}  {'yes' if about['cached'] else 'no':<8}"
            f"{balance:<18}{about['licence']}"
        )
        _print(line if len(line) <= _room() else f"{line[: _room() - 1]}…")  # `datasets info` has the licence whole
    if json_file:
        _write_json(found, json_file)
    _tell(f"cache: {cache_folder()}")
    return 0


@datasets.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_dataset)
@_quiet_option
def fetch(names: tuple[str, ...]) -> int:
    """Fetch, parse and check datasets.

    Runs on these datasets then need no network.
    """
    from rffbench.data import mend

    with _Download() as progress:
        return _each(names, lambda name: mend(name, progress), "ready")


@datasets.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_dataset)
@_quiet_option
def verify(names: tuple[str, ...]) -> int:
    """Check the files of datasets again.

    Compares checksums, shape and class counts of what is on this machine with the datasets' cards.
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
            _print(f"{key:<14}{', '.join(map(str, value)) if isinstance(value, list) else value}")
    return 0


@datasets.command("describe")
@click.argument("file", type=FILE, metavar="FILE|NAME", shell_complete=complete_dataset)
@click.option("--target", metavar="COLUMN", help="The target's column, by name or counted from 0. [default: the last]")
@click.option("--task", type=click.Choice(["classification", "regression"]), help="What the target is.")
@click.option("--write-card", "card", type=FILE, help="Write a card, FILE.yaml, to be edited.")
def describe_file(file: Path, target: str | None, task: Any, card: Path | None) -> int:
    """Say what a data file of your own holds, or a dataset.

    Counts the repeated rows, and the test rows that are in the training part too. A config takes the file by its path,
    or the card that is written.
    """
    from rffbench.data import repeated_rows
    from rffbench.data.cards import is_card
    from rffbench.data.own import described, look, write_card

    if is_card(str(file)) and not file.exists():
        if target or task or card:
            raise ConfigError(f"{file} is a dataset with a card; --target, --task and --write-card are for a file")
        return _describe_dataset(str(file))
    number = target is not None and target.lstrip("-").isdigit()
    seen = look(file, target=int(target) if number and target else target, task=task)
    for what, value in [*described(seen), *([] if seen.faults else repeated_rows(seen.card(), [file]))]:
        _print(f"{what:<14}{value}")
    if card:
        write_card(seen, card)
        _name_files([card])
    return DataError.exit_status if seen.faults else 0


def _describe_dataset(name: str) -> int:
    """A dataset with a card: its shape and its repeated rows; it is fetched where that is needed."""
    from rffbench.data import ensure, load_card, repeated_rows

    card = load_card(name)
    with _Download() as progress:
        ensure(name, progress)
    said = [("dataset", card.title), ("rows", f"{card.rows}"), ("inputs", f"{card.columns}"), ("task", card.task)]
    said += [("class", f"{label}: {count}, {count / card.rows:.1%}") for label, count in card.classes.items()]
    for what, value in [*said, *repeated_rows(card)]:
        _print(f"{what:<14}{value}")
    return 0


def _known_dataset(name: str) -> None:
    """ConfigError where no card has the name; of a file, what is done with one."""
    from rffbench.data.cards import load_card
    from rffbench.data.own import is_data_path

    if is_data_path(name):
        raise ConfigError(
            f"{name}: is a path, and no dataset's name; `rffbench datasets describe {name}` looks at a file"
        )
    load_card(name)


def _each(names: Sequence[str], act: Callable[[str], object], done: str) -> int:
    """Act on every dataset; if one is unavailable, the others are done all the same."""
    for name in names:
        _known_dataset(name)  # a misspelt name is refused before anything starts
    failed = 0
    for name in names:
        try:
            act(name)
            _print(f"{name}: {done}")
        except (RffbenchError, OSError, MemoryError) as error:
            failed += 1
            _say(f"error: {error}" if isinstance(error, RffbenchError) else f"error: {name}: {error}")
    if failed == len(names):
        return DataError.exit_status
    return 1 if failed else 0


# ---- methods, validate, schema, environment ----------------------------------------------------------------


@cli.command()
@click.option("--for", "wanted", multiple=True, metavar="KEY=VALUE",
              help="Those that serve kernel=NAME, or task=classification or regression.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON, with everything that is known of each.")
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
        _print(json.dumps(found, ensure_ascii=False, indent=2, default=repr))
        return 0
    headings = {"maps": "feature maps", "solvers": "solvers", "kernels": "kernels", "metrics": "metrics"}
    for index, (kind, heading) in enumerate(headings.items()):
        _print(f"{'' if not index else chr(10)}{heading}:")
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
    room = max(_room() - 24, 30)
    lines = [line for text in texts for line in textwrap.wrap(text, room, break_on_hyphens=False)]
    for index, line in enumerate(lines):
        _print(f"  {'' if index else name + ' ':<22}{line}")


@cli.command("check-method")
@click.argument("method", metavar="METHOD", shell_complete=complete_method)
def check_method(method: str) -> int:
    """Check a feature map: one of one's own, ./mine.py:MyFeatures, or any by its name.

    Prints what each check found: columns, global seeds, seed, dtype, nesting, scikit-learn's contract, and the rate at
    which the map's kernel nears the exact one. Where the first fails the others are not judged. The exit status is 1
    if one fails.
    """
    from rffbench.features.checks import check_map

    return _print_checks(check_map(method))


@cli.command()
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
@_quiet_option
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
            _print_checks(checks)
        if spoilt := [name for name in failed if name in SPOILING]:
            raise ConfigError(f"{ref}: the check {spoilt[0]} failed, which scores depend on; nothing was run")
        _tell(f"{ref}: {so_many(sum(check.ok is True for check in checks), 'check')} passed")
    if data:
        experiment = own_data(data, ref, minutes, workers or thread_count())
    else:
        assert ref
        experiment = own_map(ref, datasets.split(",") if datasets else (), full)
    folder = results / experiment.name
    runs_on = make_executor("local", experiment, workers=workers, options={})
    _tell(f"{so_many(experiment.size(), 'trial')}; results go to {folder}")
    with contextlib.ExitStack() as stack:
        stack.callback(getattr(runs_on, "close", lambda: None))
        with _Progress(experiment.name) as progress:
            summary = run_experiment(
                experiment, folder, executor=runs_on, progress=progress,
                announce=_tell if progress.shown else None, tell=_tell,
            )  # fmt: skip
    if not summary.ok:
        return _finish(folder, summary, None)
    found = load_results(folder)
    tables = data_tables(found) if data else map_tables(found, label_of(str(ref)))
    for table in tables:
        _print(table.to_text(_width()) + "\n")
    if save and ref:
        _name_files(save_entry(folder, ref, tables, save))
    if summary.failed or summary.unavailable:
        for reason, places in _reasons(folder).items():
            _say(f"  {len(places)} × {reason} ({', '.join(sorted({dataset for _, dataset in places}))})")
        return 1
    return 0


@cli.command("check-kernel")
@click.argument("kernel", metavar="KERNEL", shell_complete=complete_kernel)
def check_kernel(kernel: str) -> int:
    """Check a kernel: one of one's own, ./mine.py:MyKernel, or any by its name.

    Prints what each check found: the exact form, that it is positive semi-definite, what gamma means, the parameters,
    and that what is drawn for random features gives the exact form at the right rate, nested. Where the first fails the
    others are skipped. The exit status is 1 if one fails.
    """
    from rffbench.kernels.checks import check_kernel

    return _print_checks(check_kernel(kernel))


def _print_checks(checks: Iterable[Check]) -> int:
    failed = 0
    for check in checks:
        failed += check.ok is False
        _print(f"{'-' if check.ok is None else 'ok' if check.ok else 'FAILED':<8}{check.name:<14}{check.found}")
    return 1 if failed else 0


@cli.command()
@click.argument("kind", type=click.Choice(["method", "dataset", "experiment"]))
@click.argument("name")
def new(kind: str, name: str) -> int:
    """Write a commented skeleton that works as it is, into the current folder.

    A method is NAME.py, a feature map; a dataset is the card NAME.yaml with a file of data; an experiment is the config
    NAME.yaml.
    """
    from rffbench.skeletons import class_name, write_skeleton

    _name_files(write_skeleton(kind, name, Path()))
    _say(
        {
            "method": f"rffbench check-method ./{name}.py:{class_name(name)} checks it",
            "dataset": f"datasets: [./{name}.yaml] in a config takes it",
            "experiment": f"rffbench run {name}.yaml runs it",
        }[kind]
    )
    return 0


@cli.command()
@click.argument("config", type=TEXT, shell_complete=complete_config)
def validate(config: str) -> int:
    """Check a config without running it."""
    from rffbench.config.columns import warnings_of_columns
    from rffbench.config.loading import load_experiment
    from rffbench.execution import check_executor
    from rffbench.execution.devices import check_device
    from rffbench.solvers import check_installed

    experiment = load_experiment(config)
    unchecked = check_executor(*experiment.runs_on())
    _warn_of_cards()
    if unchecked:
        _say(f"not checked: {unchecked}")
    devices = refusals(check_device, dict.fromkeys(each.device for _, each in experiment.protocols()))
    for missing in (*devices, *refusals(check_installed, experiment.solvers())):
        _say(f"it cannot run here: {missing}")
    for warning in warnings_of_columns(experiment.firsts()):
        _say(f"warning: {warning}")
    _print(f"{config}: OK; {so_many(experiment.size(), 'trial')}")
    return 0


@cli.command()
def schema() -> int:
    """Print the JSON Schema of configs, for editors."""
    from rffbench.config.schema import json_schema

    _write_json(json_schema())
    return 0


@cli.command()
def environment() -> int:
    """Print what is recorded of this machine.

    It is what a run writes to manifest.json.
    """
    from rffbench.execution.environment import record

    _write_json(record())
    return 0


@cli.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print what makes a shell complete commands, options, configs, datasets and methods.

    bash and zsh: add `eval "$(rffbench completion bash)"` (or zsh) to ~/.bashrc or ~/.zshrc. fish: write it into
    ~/.config/fish/completions/rffbench.fish.
    """
    complete = get_completion_class(shell)
    if complete is None:
        raise ConfigError(f"this version of click has no completion for {shell}")
    _print(complete(cli, {}, "rffbench", "_RFFBENCH_COMPLETE").source())
    return 0


# ---- Printing ----------------------------------------------------------------------------------------------


def _name_files(paths: Sequence[Path]) -> None:
    for path in paths:
        _print(f"wrote {path}")


def _print(text: str, *, nl: bool = True) -> None:
    """A result, on standard output."""
    if not _told(_QUIET) and not _told(_ONLY_JSON):
        with _beside_bars():
            click.echo(printable(text), nl=nl)


def _write_json(value: Any, file: str = "-") -> None:
    _write_json_text(json.dumps(value, indent=2, ensure_ascii=False), file)


def _write_json_text(text: str, file: str) -> None:
    """Into a file, or on standard output, whatever else is printed; there with codes for what its encoding lacks."""
    if file != "-":
        Path(file).write_text(text.rstrip() + "\n", encoding="utf-8")
        return
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    click.echo(text.rstrip())


def _tell(message: str) -> None:
    """How it goes, on standard error."""
    if not _told(_QUIET):
        _say(message)


def _say(message: str) -> None:
    """An error or a warning, on standard error."""
    beside = contextlib.nullcontext() if _Progress.terminal else _beside_bars()
    with contextlib.suppress(OSError), beside:  # who has closed standard error wants none of it
        click.echo(printable(message), err=True)


def _told(what: str) -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(what))


def _width() -> int:
    """The columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def _room() -> int:
    """The columns of the terminal; without one a line may be as long as it is."""
    return _width() if sys.stdout.isatty() else sys.maxsize


@contextlib.contextmanager
def _beside_bars() -> Iterator[None]:
    """Within the block no bar is on the terminal; it is drawn again below what was written."""
    bars = sys.modules.get("tqdm")
    with bars.tqdm.external_write_mode(file=_Progress.terminal) if bars else contextlib.nullcontext():
        yield


def _warn_of_cards() -> None:
    from rffbench.data.cards import card_faults

    for fault in card_faults():
        _say(f"warning: {fault}")


if __name__ == "__main__":
    main()
