"""The commands plot and table."""

from __future__ import annotations

import re
from pathlib import Path

import click

from rffbench.cli.completion import complete_metric
from rffbench.cli.folders import if_writable, in_every
from rffbench.cli.options import FILE, POINTS, article_option, json_option, quiet_option
from rffbench.cli.output import echo, name_files, note, width, write_json
from rffbench.io.files import named

FORMATS = ("png", "pdf", "svg")


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


@click.command()
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
    help="With paper, figures are as wide as one or both columns of an article (3.17 or 6.5 inches), in 8 pt.",
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
@quiet_option
def plot(results: Path, formats: list[str], style: str, columns: int | None, panels: list[str]) -> int:
    """Draw the figures and write the tables of RESULTS again.

    Both are made from the trials only. All figures are drawn, including those of `compare`.
    """
    from rffbench.report import experiment_folders, redraw

    if columns and style != "paper":
        raise click.UsageError("--columns goes with --style paper alone")
    draw = lambda folder: name_files(redraw(folder, formats, style, columns, panels))  # noqa: E731
    return in_every(experiment_folders(results), draw)


def _label(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9:._-]*", value):
        raise click.BadParameter(f"{value!r} must be a letter, then letters, digits, ':', '.', '_' and '-'")
    return value


@click.command()
@click.argument("results", type=FILE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["tex", "typst", "csv", "md"]),
    help="Print the table for LaTeX (booktabs and graphicx), Typst, a spreadsheet or Markdown.",
)
@article_option
@click.option("--metric", metavar="NAME", shell_complete=complete_metric,
              help="time, memory, columns, or one of summary.csv. [default: what a dataset is judged by]")  # fmt: skip
@click.option("--at-seconds", type=POINTS, metavar="T",
              help="Each method at the largest size whose mean training time is at most T seconds.")  # fmt: skip
@click.option("--no-seconds", "seconds", flag_value=False, default=True, help="No times beside the scores.")
@click.option("--best", type=click.Choice(["bold", "none"]),
              help="Whether the best method is bold, with those not shown to be worse, in tex, typst and md. [default: "
              "bold in tex and typst]")  # fmt: skip
@click.option("--caption", metavar="TEXT", help="The caption, in tex and typst. [default: the experiment's title]")
@click.option("--label", metavar="NAME", callback=_label, help="The label, in tex and typst.")
@click.option("--output", type=FILE, metavar="FILE", help="Write the table to FILE instead of printing it.")
@quiet_option
@json_option
def table(
    results: Path,
    form: str | None,
    columns: int,
    metric: str | None,
    at_seconds: float | None,
    seconds: bool,
    best: str | None,
    caption: str | None,
    label: str | None,
    output: Path | None,
    json_file: str | None,
) -> int:
    """Print the table of RESULTS, and write it.

    It writes table.csv, table.md, table.tex and summary.csv. With options it prints the requested table, and writes no
    file except --output. With --format, names are written as in papers: EEG, σ = 1.
    """
    from rffbench.report import Shown, described, experiment_folders, make_tables, set_table, table_files

    _refuse_unused(form)
    folders = experiment_folders(results)
    if (label or output) and len(folders) > 1:
        raise click.UsageError(f"{results} holds {len(folders)} experiments; --label and --output are for one")
    bold = form in ("tex", "typst") if best is None else best == "bold"
    shown = Shown(metric, seconds, bold, written=form is not None, at_seconds=at_seconds)
    found = []

    def show(folder: Path) -> None:
        if json_file:
            found.append(described(folder))
        if form or shown != Shown() or output:
            made = make_tables(folder, shown)
            if form == "csv" or caption or label:  # one table alone can have them
                made = made[:1]
            texts = [set_table(each, form, columns, caption, label) if form else each.to_text(width()) for each in made]
            text = "\n".join(texts)
            if output:
                output.parent.mkdir(parents=True, exist_ok=True)
                with named(output):
                    output.write_text(text, encoding="utf-8")
                name_files([output])
            else:
                echo(text, nl=False)
            return
        tables, files = table_files(folder)
        for each in tables:
            echo(each.to_text(width()))
        with if_writable():
            for name, text in files.items():
                with named(folder / name):
                    (folder / name).write_text(text, encoding="utf-8")
                if not name.startswith("."):
                    note(f"wrote {folder / name}")

    status = in_every(folders, show)
    if json_file:
        write_json(found, json_file)
    return status


def _refuse_unused(form: str | None) -> None:
    """UsageError for an option that goes with other formats of a table than ``form``."""
    context = click.get_current_context()
    forms = {"columns": ("tex", "typst"), "caption": ("tex", "typst"), "label": ("tex", "typst"),
             "best": ("tex", "typst", "md")}  # fmt: skip
    for name, needed in forms.items():
        if form not in needed and context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} goes with --format {', '.join(needed)} alone")
