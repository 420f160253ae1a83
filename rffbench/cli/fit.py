"""The commands fit and predict."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from rffbench.cli.options import FILE, POINTS, quiet_option, table_options, writing_options
from rffbench.cli.output import TimeLeft, echo, note, say, width
from rffbench.cli.streams import INTERRUPTED
from rffbench.errors import ConfigError
from rffbench.io.text import plural, wrapped


@click.command()
@click.argument("file", metavar="FILE", type=FILE)
@click.option(
    "--metric",
    metavar="M",
    help="What a good model is: accuracy, balanced_accuracy, auc, average_precision, log_loss; rmse, mae, r2. It also "
    "says whether the target is of classes or a number. [default: by the data, and said]",
)
@click.option(
    "--class-weight",
    type=click.Choice(["balanced", "none"]),
    help="Whether each class weighs as much as the others. [default: balanced if one is rare, and said]",
)
@click.option("--best", is_flag=True, help="Advise what scores best, also where something simpler is a tie with it.")
@click.option("--minutes", type=POINTS, default=5.0, show_default=True, help="How long it may take.")
@click.option("--output", type=FILE, metavar="FOLDER", help="Where the model goes. [default: the file's name and -fit]")
@table_options
@quiet_option
def fit(
    file: Path, metric: str | None, class_weight: str | None, best: bool, minutes: float, output: Path | None,
    reading: dict[str, Any],
) -> int:  # fmt: skip
    """Advise a kernel and a map for a table, and write the model.

    FILE is a table with a row for each case and a column to predict: CSV, Excel or parquet. The advice says which
    kernel and map suit it, and how many columns. Kernels, feature maps and sizes are tried, and for comparison a linear
    model, boosted trees and a constant; scores are of rows that the models did not see. FOLDER gets the model
    (model.joblib), the same as code (model.py), and a page that explains both. Ctrl-C ends the search early: the advice
    is then from what there is.
    """
    from rffbench.fit import advising, preparing, question, saying, trying, writing

    if not minutes:
        raise ConfigError("--minutes: must be above 0")
    preparing.check_libraries()
    began = time.monotonic()
    folder = output or Path(f"{_stem(file)}-fit")
    writing.check_folder(folder)
    asked = question.ask(file, metric=metric, class_weight=class_weight, **reading)
    for line in asked.said:
        _in_lines(line, note)
    with TimeLeft(60 * minutes, "fit") as progress:
        left = max(minutes - (time.monotonic() - began) / 60, minutes / 4)  # to read a large table takes a while
        search = trying.Search(asked, left, report=progress)
        for line in saying.about_rows(search):
            _in_lines(line, note)
        try:
            search.run()
        except KeyboardInterrupt:
            say("interrupted before anything was measured; nothing was written")
            return INTERRUPTED
        if search.interrupted:
            note("interrupted: the advice is from what there is; another Ctrl-C stops at once")
        advice = advising.advise(search, best)
        lines = saying.lines(search, advice)
        status, written = 0, ""
        if advice.use:
            search.report("fitting the model to all rows")
            try:
                made = writing.make(search, advice)
                paths = writing.write(folder, made, asked, writing.page(lines, asked, str(folder)))
                written = f"wrote {', '.join(each.name for each in paths)} into {folder}"
            except KeyboardInterrupt:
                status, written = INTERRUPTED, "interrupted while the model was fitted to all rows: it was not written"
    if written:
        note(written)
    if written and not status:
        note(f"next: rffbench predict {folder / writing.MODEL} NEW.csv")
    for line in lines:
        _in_lines(line, echo)
    return status


def _stem(file: Path) -> str:
    """The file's name without its ending, and that of how it is packed."""
    return Path(file.stem).stem if file.suffix in (".gz", ".bz2", ".xz") else file.stem


def _in_lines(text: str, show: object) -> None:
    """Print a line, or several where the terminal is narrower."""
    for line in wrapped(text, width(), "") if len(text) > width() and "  " not in text else [text]:
        show(line)  # type: ignore[operator]


@click.command()
@click.argument("model", metavar="MODEL", type=FILE)
@click.argument("file", metavar="FILE", type=FILE)
@click.option("--output", type=FILE, metavar="FILE", help="Where the predictions go. [default: printed]")
@writing_options
@quiet_option
def predict(model: Path, file: Path, output: Path | None, reading: dict[str, Any]) -> int:
    """Predict the rows of FILE by a model of `rffbench fit`.

    MODEL is model.joblib, or its folder. FILE needs the columns that the model was fitted to, in any order, and is read
    as the table of the model was; options overrule it. The result is CSV: the label and a probability for each class
    (prob_<class>), or the value, row by row.
    """
    from rffbench.fit import predicting, preparing
    from rffbench.io import files

    preparing.check_libraries()
    fitted, card = predicting.load(model, note)
    found = predicting.predict(fitted, card, file, note, reading)
    text = found.to_csv(index=False)
    if output is None:
        echo(text, nl=False)
    else:
        files.replace(output, text)
        note(f"wrote {plural(len(found), 'row')} to {output}")
    return 0
