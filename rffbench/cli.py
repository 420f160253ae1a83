"""The command line: parse, call, print. The only place that prints or exits.

Exit status: 0 done; 1 the run finished, but trials failed or some data could not be had, or a comparison is
out of tolerance; 2 the command or the config is wrong; 3 nothing could be measured; 130 interrupted, and the
same command carries on; 70 a defect in rffbench itself.

Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rffbench import __version__
from rffbench.errors import ConfigError, DataError, ResultsError, RffbenchError

if TYPE_CHECKING:
    from rffbench.experiment import Experiment

FORMATS = ("png", "pdf", "svg")
INTERRUPTED = 130
DEFECT = 70


def main() -> NoReturn:
    """Entry point of ``rffbench``: run the command, turn errors into messages and exit statuses."""
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
    except BrokenPipeError:  # the reader, head for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except OSError as error:
        _say(f"error: {error.filename}: {error.strerror}" if error.filename else f"error: {error}")
        status = ConfigError.exit_status
    except Exception as error:
        if os.environ.get("RFFBENCH_DEBUG"):
            raise
        _say(f"error: {type(error).__name__}: {error}\nThis is a defect; RFFBENCH_DEBUG=1 shows where it is.")
        status = DEFECT
    sys.exit(status)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(version)s")
def cli() -> None:
    """Benchmarks of random-feature kernel approximation.

    CONFIG is a YAML file, or the name of a config that ships with the package. RESULTS is the folder of one
    experiment's results, or a folder of such folders.
    """


# ---- run ---------------------------------------------------------------------------------------------------


@cli.command()
@click.argument("config")
@click.option("--workers", type=click.IntRange(min=1),
              help="Worker processes. [default: as many as processors and memory allow]")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True,
              help="Where the experiment's folder of results is.")
@click.option("--only", multiple=True, metavar="KEY=VALUE",
              help="Only these trials, by dataset, method, n_features or trial; several values by "
              "commas; of several --only all must hold.")
@click.option("--fresh", is_flag=True, help="Start anew; the old results are moved aside.")
@click.option("--retry-failed", is_flag=True, help="Do failed trials again.")
@click.option("--dry-run", is_flag=True, help="Print the grid, its size and an estimate; start nothing.")
@click.option("--executor", default="local", show_default=True, metavar="local|dask|dask://HOST:PORT|slurm",
              help="Where trials run.")
def run(
    config: str,
    workers: int | None,
    results: Path,
    only: tuple[str, ...],
    fresh: bool,
    retry_failed: bool,
    dry_run: bool,
    executor: str,
) -> int:
    """Run an experiment, or carry on with it: trials that are done are not done again."""
    _check_executor(executor)
    from rffbench.experiment import load_experiment

    experiment = load_experiment(config)
    folder = results / experiment.name
    if dry_run:
        click.echo(_dry_run(experiment, folder, only, fresh, workers))
        return 0

    from rffbench.execution.run import run_experiment

    with _Progress(experiment.name) as progress:
        summary = run_experiment(
            experiment,
            folder,
            workers=workers,
            fresh=fresh,
            retry_failed=retry_failed,
            only=only,
            progress=progress,
            announce=_say if sys.stderr.isatty() else None,
        )
    return _finish(folder, summary)


def _check_executor(executor: str) -> None:
    if executor == "local":
        return
    if executor in ("dask", "slurm") or executor.startswith("dask://"):
        raise ConfigError(f"--executor {executor}: not available in this version; trials run with: local")
    raise ConfigError(f"--executor {executor}: must be local, dask, dask://HOST:PORT or slurm")


def _dry_run(
    experiment: Experiment, folder: Path, only: Sequence[str], fresh: bool, workers: int | None
) -> str:
    from rffbench.dryrun import describe
    from rffbench.execution.log import read_rows
    from rffbench.execution.run import default_workers
    from rffbench.experiment import filter_specs

    grid = experiment.grid()
    specs = filter_specs(grid, only)
    rows = [] if fresh else list({row["key"]: row for row in read_rows(folder / "trials.jsonl")}.values())
    if experiment.timing == "exclusive":
        workers = 1
    return describe(experiment, specs, rows, folder, workers or default_workers(grid, experiment.memory))


def _finish(folder: Path, summary: Any) -> int:
    """Print the table, name the files, and say by the exit status how it went."""
    from rffbench.report import redraw, write_table

    if summary.ok:
        table, _ = write_table(folder)
        click.echo(table.to_text())
        _name_files([folder / "trials.jsonl", *redraw(folder)])
    lost = [f"{count} {what}" for what in ("failed", "unavailable") if (count := getattr(summary, what))]
    _say(f"{summary.ok} trials ok" + "".join(f", {each}" for each in lost))
    if lost:
        for reason, count in _reasons(folder):
            _say(f"  {count} × {reason}")
        _say(f"details are in {folder / 'trials.jsonl'}")
    if summary.failed:
        _say("--retry-failed does failed trials again")
    if not summary.ok and summary.unavailable:
        return DataError.exit_status
    return 1 if lost else 0


def _reasons(folder: Path) -> list[tuple[str, int]]:
    """Why trials of the log came to no result: the commonest reasons, each with its number of trials."""
    from rffbench.execution.log import latest, read_rows

    rows = latest(read_rows(folder / "trials.jsonl"))
    errors = [(row["status"], row["error"]) for row in rows if row["error"]]
    reasons = Counter(f"{status}: {error['message'].partition(chr(10))[0]}" for status, error in errors)
    return reasons.most_common(5)


class _Progress:
    """A bar on stderr with counts of ok and failed and the time left; nothing where stderr is no terminal."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bar: Any = None

    def __enter__(self) -> _Progress:
        return self

    def __call__(self, done: int, total: int, ok: int, failed: int, eta: float | None) -> None:
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            from tqdm import tqdm

            layout = "{desc} {bar} {n_fmt}/{total_fmt}, {elapsed} gone{postfix}"
            self._bar = tqdm(total=total, desc=self._name, file=sys.stderr, bar_format=layout)
        left = "" if eta is None else f", {self._bar.format_interval(eta)} left"
        self._bar.n, self._bar.total = done, total
        self._bar.set_postfix_str(f"{ok} ok, {failed} failed{left}", refresh=True)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


class _Download:
    """A bar on stderr for the file being downloaded; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> Callable[[str, int, int | None], None] | None:
        return self._show if sys.stderr.isatty() else None

    def _show(self, file: str, received: int, total: int | None) -> None:
        if self._bar is None or self._bar.desc != file:
            from tqdm import tqdm

            self.__exit__()
            self._bar = tqdm(desc=file, total=total, unit="B", unit_scale=True, file=sys.stderr)
        self._bar.update(received - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


# ---- plot, table, compare ----------------------------------------------------------------------------------


def _formats(_context: click.Context, _parameter: click.Parameter, value: str) -> list[str]:
    formats = [each.strip() for each in value.split(",")]
    if unknown := [each for each in formats if each not in FORMATS]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(FORMATS)}")
    return formats


@cli.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--format", "formats", default="png", show_default=True, callback=_formats,
              metavar="png,pdf,svg", help="Formats of the figures, separated by commas.")
def plot(results: Path, formats: list[str]) -> int:
    """Draw figures, tables and summary anew from the trials in RESULTS."""
    from rffbench.report import experiment_folders, redraw

    return _in_every(experiment_folders(results), lambda folder: _name_files(redraw(folder, formats)))


@cli.command()
@click.argument("results", type=click.Path(path_type=Path))
def table(results: Path) -> int:
    """Print the table of RESULTS, and write it: table.csv, table.md, table.tex, summary.csv."""
    from rffbench.report import experiment_folders, write_table

    def show(folder: Path) -> None:
        made, paths = write_table(folder)
        click.echo(made.to_text())
        for path in paths:
            _say(f"wrote {path}")

    return _in_every(experiment_folders(results), show)


def _in_every(folders: Sequence[Path], work: Callable[[Path], None]) -> int:
    """Do ``work`` for every experiment's folder; of several, one that is no good doesn't keep the others from it."""
    status = 0
    for folder in folders:
        try:
            work(folder)
        except ResultsError as error:
            if len(folders) == 1:
                raise
            _say(f"passed over: {error}")
            status = 1
    return status


@cli.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--tolerance", type=click.FloatRange(min=0), metavar="POINTS",
              help="How far a mean may be from the reported one. [default: the reference's own]")
@click.option("--search", is_flag=True,
              help="Rank the protocols of a sweep by their distance to the reported numbers instead.")
def compare(results: Path, tolerance: float | None, search: bool) -> int:
    """Compare RESULTS with the paper that their config names as reference: its numbers and its claims.

    Exits with 1 where a number is out of tolerance or a claim does not hold, with 3 where none could be measured.
    """
    from rffbench.report import experiment_folders
    from rffbench.report.compare import NoReference
    from rffbench.report.search import NoSweep

    folders = experiment_folders(results)
    statuses: list[int] = []
    for folder in folders:
        try:
            statuses.append(_search(folder) if search else _compare(folder, tolerance))
        except (NoReference, NoSweep) as error:
            if not statuses and folder == folders[-1]:  # there is nothing to compare
                raise
            _say(f"passed over: {error}")
        except ResultsError as error:
            if len(folders) == 1:
                raise
            _say(f"passed over: {error}")
            statuses.append(1)
    if statuses and set(statuses) == {DataError.exit_status}:
        return DataError.exit_status
    return 1 if any(statuses) else 0


def _compare(folder: Path, tolerance: float | None) -> int:
    from rffbench.report import compare_folder
    from rffbench.report.writeup import to_text

    comparison, statistics, paths = compare_folder(folder, tolerance)
    if statistics:
        click.echo(statistics.table().to_text())
    click.echo(to_text(comparison))
    _name_files(paths)
    if not comparison.measured:
        return DataError.exit_status
    return 1 if comparison.outside or comparison.refuted else 0


def _search(folder: Path) -> int:
    from rffbench.report import search_folder

    found, paths = search_folder(folder)
    click.echo(found.table().to_text())
    _name_files(paths)
    return 0


# ---- datasets ----------------------------------------------------------------------------------------------


@cli.group()
def datasets() -> None:
    """List, fetch, verify and describe datasets."""


@datasets.command("list")
def list_datasets() -> int:
    """Every dataset: its shape, its licence, and whether it is on this machine."""
    from rffbench.data import cache_folder, card_names, describe

    click.echo(f"{'name':<22}{'rows':>8}{'columns':>9}  {'cached':<8}{'balance':<18}licence")
    for name in card_names():
        about = describe(name)
        positive = sum(share for label, share in about["balance"].items() if label in about["positive"])
        balance = f"{positive:.1%} are +1" if positive else about["task"]
        click.echo(
            f"{name:<22}{about['rows']:>8}{about['columns']:>9}  {'yes' if about['cached'] else 'no':<8}"
            f"{balance:<18}{about['licence']}"
        )
    _say(f"cache: {cache_folder()}")
    return 0


@datasets.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def fetch(names: tuple[str, ...]) -> int:
    """Fetch, parse and check datasets, so that runs need no network."""
    from rffbench.data import ensure

    with _Download() as progress:
        return _each(names, lambda name: ensure(name, progress), "ready")


@datasets.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def verify(names: tuple[str, ...]) -> int:
    """Check datasets on this machine against their cards: checksums, shape, class counts."""
    from rffbench.data import verify as verify_dataset

    return _each(names, verify_dataset, "agrees with its card")


@datasets.command()
@click.argument("name")
def info(name: str) -> int:
    """What a dataset is: shape, class balance, licence, citation, where it is cached."""
    from rffbench.data import describe

    for key, value in describe(name).items():
        if isinstance(value, dict):
            value = [f"{label}: {number:.4g}" if key == "balance" else f"{label}: {number}"
                     for label, number in value.items()]
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if value not in ("", []):
            click.echo(f"{key:<14}{', '.join(map(str, value)) if isinstance(value, list) else value}")
    return 0


def _each(names: Sequence[str], act: Callable[[str], object], done: str) -> int:
    """Act on every dataset; one that cannot be had costs the others nothing."""
    from rffbench.data.cards import load_card

    for name in names:
        load_card(name)  # a misspelt name is refused before anything starts
    failed = 0
    for name in names:
        try:
            act(name)
            click.echo(f"{name}: {done}")
        except DataError as error:
            failed += 1
            _say(f"error: {error}")
    if failed == len(names):
        return DataError.exit_status
    return 1 if failed else 0


# ---- methods, validate, schema, environment ----------------------------------------------------------------


@cli.command()
def methods() -> int:
    """List feature maps, solvers and kernels with their parameters."""
    from rffbench import features, solvers
    from rffbench.kernels import KERNELS

    click.echo("feature maps:")
    for row in features.describe():
        _print_method(row["name"], row["summary"], row["parameters"])
    click.echo("\nsolvers:")
    for name, summary, parameters in solvers.describe():
        _print_method(name, summary, parameters)
    click.echo("\nkernels:")
    for name, kernel in KERNELS.items():
        _print_method(name, (kernel.__doc__ or "").partition("\n")[0], {"sigma": 1.0, "gamma": None})
    return 0


def _print_method(name: str, summary: str, parameters: Mapping[str, Any]) -> None:
    click.echo(f"  {name:<20}{summary}")
    if parameters:
        defaults = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in parameters.items())
        click.echo(f"  {'':<20}{{{', '.join(defaults)}}}")


@cli.command()
@click.argument("config")
def validate(config: str) -> int:
    """Check a config without running it."""
    from rffbench.experiment import load_experiment

    experiment = load_experiment(config)
    click.echo(f"{config}: OK; {len(experiment.grid())} trials")
    return 0


@cli.command()
def schema() -> int:
    """Print the JSON Schema of configs, for editors."""
    from rffbench.experiment import Experiment

    click.echo(json.dumps(Experiment.model_json_schema(), indent=2, ensure_ascii=False))
    return 0


@cli.command()
def environment() -> int:
    """Print what manifest.json records of this machine."""
    from rffbench.execution.environment import record

    click.echo(json.dumps(record(), indent=2, ensure_ascii=False))
    return 0


def _name_files(paths: Sequence[Path]) -> None:
    for path in paths:
        click.echo(f"wrote {path}")


def _say(message: str) -> None:
    click.echo(message, err=True)


if __name__ == "__main__":
    main()
