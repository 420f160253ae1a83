"""The command run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rffbench.cli.completion import complete_config, complete_executor, complete_only
from rffbench.cli.datasets import warn_of_cards
from rffbench.cli.options import COUNT, FILE, TEXT, json_option, quiet_option
from rffbench.cli.output import Progress, echo, name_files, note, say, width, write_json
from rffbench.errors import ConfigError, DataError, EnvironmentFault
from rffbench.io.text import first_of, plural

if TYPE_CHECKING:
    from rffbench.config.experiment import Experiment
    from rffbench.trials.spec import TrialResult

MANY_TRIALS = 1_000_000
REASONS_SHOWN = 10  # why trials failed
NAMES_SHOWN = 3  # of the methods, and of the datasets, of one reason
LONG_TO_WRITE = 2_000  # trials whose tables and figures take a minute


def note_decisions(datasets: Sequence[str]) -> None:
    """Print what was decided of the user's own files, and is not seen in them."""
    from rffbench.data.cards import load_card

    for line in (line for name in datasets for line in load_card(name).decisions):
        note(line)


@click.command()
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
    help="The folder that holds the experiment's folder of results, or groups of such folders.",
)
@click.option(
    "--only",
    multiple=True,
    shell_complete=complete_only,
    metavar="KEY=VALUE",
    help="Run only these trials. KEY is dataset, method, n_features or trial; separate several values by commas, and "
    "write trial=1-3 for a range. With several --only, a trial must meet all of them.",
)
@click.option("--trials", type=COUNT, help="How many trials every cell has, in place of the config's number.")
@click.option("--fresh", is_flag=True, help="Start from the beginning; the old results are moved aside.")
@click.option("--retry-failed", is_flag=True, help="Run failed trials again.")
@click.option(
    "--dry-run", is_flag=True, help="Print the grid, its size and an estimate of time and memory; run nothing."
)
@click.option(
    "--executor",
    shell_complete=complete_executor,
    metavar="NAME",
    help="Where trials run: local (worker processes), serial (this process), dask (a new cluster on this machine), "
    "dask://HOST:PORT (an existing one), slurm (jobs), or one that a package adds. "
    "[default: the config's executor, or local]",
)
@click.option("--scheduler-file", metavar="FILE", help="With dask: the file that names the scheduler.")
@click.option(
    "--executor-option",
    "executor_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the executor, for example partition=long; overrides the config.",
)
@click.option("--yes", is_flag=True, help=f"Run an experiment of more than {MANY_TRIALS:,} trials.")
@quiet_option
@json_option
def run(
    config: str,
    workers: int | None,
    results: Path,
    only: tuple[str, ...],
    trials: int | None,
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

    Finished trials are skipped, except those whose data was unavailable or that the machine lost.
    """
    from rffbench.api import check_reference
    from rffbench.config.loading import load_experiment
    from rffbench.execution import make_executor
    from rffbench.execution.places import folder_of

    if executor == "":
        raise click.BadParameter("must name an executor, and is empty", param_hint="--executor")
    experiment = load_experiment(config)
    if trials is not None:
        experiment = experiment.with_trials(trials)
    note_decisions(experiment.datasets)
    check_reference(experiment.reference)
    warn_of_cards()
    if (size := experiment.size()) > MANY_TRIALS and not yes:
        raise ConfigError(f"{config}: has {size:,} trials; --yes runs them")
    name, options = experiment.runs_on(executor)
    options |= dict(map(_option, executor_options)) | ({"scheduler_file": scheduler_file} if scheduler_file else {})
    runs_on = make_executor(name, experiment, workers=workers, options=options)
    folder = folder_of(results, experiment.name)
    with contextlib.ExitStack() as stack:
        stack.callback(getattr(runs_on, "close", lambda: None))
        if dry_run:
            echo(_dry_run(experiment, folder, only, fresh, runs_on.workers))
            return 0

        from rffbench.execution.run import run_experiment

        with Progress(experiment.name) as progress:
            summary = run_experiment(
                experiment,
                folder,
                executor=runs_on,
                fresh=fresh,
                retry_failed=retry_failed,
                only=only,
                progress=progress,
                announce=note if progress.shown else None,
                tell=note,
            )
    status = finish(folder, summary, json_file)
    if summary.failed:
        say("--retry-failed runs failed trials again")
    return status


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ConfigError(f"--executor-option {text}: must be KEY=VALUE, for example partition=long")
    return key.replace("-", "_"), value


def _dry_run(experiment: Experiment, folder: Path, only: Sequence[str], fresh: bool, workers: int) -> str:
    from rffbench.config.dryrun import describe
    from rffbench.config.loading import filter_specs
    from rffbench.execution.bandwidths import Bandwidths
    from rffbench.execution.log import each_row
    from rffbench.execution.provenance import OtherCode
    from rffbench.execution.run import check_folder

    grid = experiment.grid()
    specs, other = filter_specs(grid, only), OtherCode(grid)
    logged = [] if fresh else other.left_out_of(each_row(folder / "trials.jsonl", other_keys=True))
    rows = list({row["key"]: row for row in logged}.values())
    if not fresh:
        check_folder(folder, other.specs, rows)
    at_once = 1 if experiment.timing == "exclusive" else workers
    text = describe(experiment, specs, rows, folder, at_once, Bandwidths(specs, rows).given)
    return f"{text}\n{other.in_words()}; a run would keep them aside and measure anew" if other.found else text


def finish(folder: Path, summary: Any, json_file: str | None) -> int:
    """Print the table and name the files. Returns the exit status."""
    from rffbench.execution.log import log_files
    from rffbench.report import FILES, described, make_tables, redraw, up_to_date, written_tables

    undrawn = ""
    if summary.ok and not summary.run and up_to_date(folder):
        table = (folder / "table.md").read_text(encoding="utf-8")
        fits = max(map(len, table.splitlines())) <= width()
        echo(table if fits else "\n".join(each.to_text(width()) for each in written_tables(folder)))
        note("nothing was left to do")
    elif summary.ok:
        if summary.ok >= LONG_TO_WRITE:
            note("writing tables and figures …")
        for each in make_tables(folder, FILES):
            echo(each.to_text(width()))
        try:
            name_files([*log_files(folder), *redraw(folder)])
        except EnvironmentFault as fault:
            undrawn = f"error: {fault}"
    if json_file:
        about = described(folder) if summary.ok else {"name": folder.name, "folder": str(folder)}
        counts = {name: getattr(summary, name) for name in ("ok", "failed", "unavailable", "run")}
        write_json(about | counts, json_file)
    lost = [f"{count} {what}" for what in ("failed", "unavailable") if (count := getattr(summary, what))]
    (say if lost else note)(plural(summary.ok, "trial") + " ok" + "".join(f", {each}" for each in lost))
    if lost:
        reasons = sorted(reasons_of_failures(folder).items(), key=lambda each: -len(each[1]))
        for reason, places in reasons[:REASONS_SHOWN]:
            methods, datasets = (first_of([*dict.fromkeys(names)], NAMES_SHOWN) for names in zip(*places, strict=True))
            say(f"  {len(places)} × {reason} ({methods} on {datasets})")
        if rest := reasons[REASONS_SHOWN:]:
            say(f"  {sum(len(places) for _, places in rest)} × {len(rest)} other reasons")
        say(f"details are in {' and '.join(map(str, log_files(folder)))}")
    if undrawn:
        say(undrawn)
    if not summary.ok and summary.unavailable:
        return DataError.exit_status
    return 1 if lost or undrawn else 0


def reasons_of_failures(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Why trials have no result: each reason with the method and the dataset of every trial."""
    from rffbench.execution.counted import counted_rows

    reasons: dict[str, list[tuple[str, str]]] = {}
    for _, row in counted_rows(folder):
        if row.get("error"):
            reasons.setdefault(_reason(row["status"], row["error"]), []).append((row["method"], row["dataset"]))
    return reasons


def _reason(status: str, error: Mapping[str, Any]) -> str:
    """Why a trial has no result, in one line."""
    first, *others = error["message"].splitlines() or [""]
    details = "; ".join(each.strip() for each in others if first.endswith(":"))  # what each source said
    return f"{status}: {first} {details}".rstrip()


def telling_failures() -> Callable[[TrialResult], None]:
    """A function of finished trials that says why one has no result, each reason once, when it first occurs."""
    told: set[str] = set()

    def tell(result: TrialResult) -> None:
        if not result.error or len(told) == REASONS_SHOWN:
            return
        if (reason := _reason(result.status, result.error)) not in told:
            told.add(reason)
            say(f"{result.spec.label}: {reason}")

    return tell
