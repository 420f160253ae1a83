"""The board's page: which map to use, and how sure that is; as Markdown for the docs and as one HTML file."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rffbench import __version__, files
from rffbench.execution.manifest import runs_of
from rffbench.parameters import TIMES_MEDIAN
from rffbench.report.board import front, tables
from rffbench.report.board.answers import Answer, gains_in_percent
from rffbench.report.board.questions import answers
from rffbench.report.board.registered import COLUMNS, CONFIRMATORY, DEVIATIONS
from rffbench.report.board.score import BASELINE, CELL
from rffbench.report.board.solvers import in_words, solver_table
from rffbench.report.board.standing import PARTS, Board
from rffbench.report.board.views import CLOCKS, MEMORY
from rffbench.report.escape import markdown
from rffbench.report.strips import Strips
from rffbench.report.text_table import Table
from rffbench.text import in_one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = "board-rows.csv.gz"
"""The file of all trials, beside the page."""


@dataclass(frozen=True)
class Picture:
    """A figure, the ``name`` of its file, and what it shows in words."""

    name: str
    shows: str
    figure: Figure


@dataclass(frozen=True)
class Section:
    """A part of the page: sentences, tables and figures under a ``title``."""

    title: str
    said: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


# ---- What is on it ---------------------------------------------------------------------------------------------------


def sections(board: Board) -> list[Section]:
    """The page's parts, in order."""
    from rffbench.report.figures.style import SCREEN, drawn_in

    with drawn_in(SCREEN):
        drawn = _front(board), _each_dataset(board)
        found_out = answers(board)
        asked, better = _questions(found_out), _verdicts(board)
    found = [_which(board), _in_short(found_out), drawn[0], better, _beside(board), *asked, drawn[1], _chosen(board)]
    if (of_solvers := board.solvers) and (table := solver_table(of_solvers)):
        found.append(Section("Solvers", in_words(of_solvers), tables=[table]))
    deviations = Section("Deviations from the registration", list(DEVIATIONS))
    return [*found, deviations, _failures(board), _where(board)]


def _which(board: Board) -> Section:
    done = board.progress("board")
    assert done
    said = [f"{done.done:,} of {done.planned:,} planned trials are in."]
    if not done.is_complete:
        said.append(
            "The numbers below are of these and may change. A map has a verdict at 512 columns once all its trials and "
            "those of RFF are in, at that size."
        )
    return Section("Which map?", said, [tables.first_lines(board)])


def _in_short(found_out: Sequence[Answer]) -> Section:
    said = []
    for each in found_out:
        answered = each.said or "No answer yet."
        said.append(f"{each.number}. {each.asked} {'Not yet complete: ' if each.said and each.waits else ''}{answered}")
    return Section("The five questions, in short", said)


def _front(board: Board) -> Section:
    from rffbench.report.figures.board import front_figure

    rows, axis = front.points(board)
    figure = front_figure(front.medians(rows), (BASELINE, *CONFIRMATORY), axis)
    but = "" if axis == "seconds" else ", as seconds have not been measured yet"
    return Section(
        "Loss against cost", [f"The median over datasets, against {axis}{but}."],
        pictures=[Picture("board-front", f"Median loss over datasets against {axis}, a curve a map.", figure)],
    )  # fmt: skip


def _verdicts(board: Board) -> Section:
    said = [
        "The dataset is the unit: a map has one gain on each, the mean over its trials. The gain is (L_RFF − L_map) / "
        "(L_constant − L_ref), L the test error, for w8a the balanced error, for a regression the mean squared error."
    ]
    found = [tables.verdicts(board), tables.by_columns(board)]
    maps = board.at_each_size.get(COLUMNS)
    panels = [gains_in_percent(f"Gains over RFF at {COLUMNS} columns", maps)] if maps else []
    by_cost = [table for of in tables.COSTS if (table := tables.by_cost(board, of))]
    if not by_cost:
        said.append("Seconds and memory have not been measured yet: gains at equal cost will follow.")
    simulated = tables.calibration(board)
    shown = [*found, *by_cost, *(each for each in (tables.by_lambdas(board), simulated) if each)]
    return Section("Better than RFF, the same, or worse", said, shown, _of_strips("board-gains", panels))


def _questions(found_out: Sequence[Answer]) -> list[Section]:
    found = []
    for answer in found_out:
        said = []
        if answer.waits:
            said.append(f"{'Not yet complete' if answer.said else 'No answer yet'}: {answer.waits}.")
        said += [
            each for each in (answer.said, f"What would change it: {answer.changes}" if answer.changes else "") if each
        ]
        drawn = _of_strips(f"board-question-{answer.number}", answer.panels())
        found.append(Section(f"Question {answer.number}: {answer.asked}", said, tables.answer_tables(answer), drawn))
    return found


def _of_strips(name: str, panels: Sequence[Strips]) -> list[Picture]:
    """The picture of some panels; none without a panel."""
    from rffbench.report.figures.board import strips_figure

    if not panels:
        return []
    shows = f"{'; '.join(each.title for each in panels)}: a dot for every dataset, and the median over them."
    return [Picture(name, shows, strips_figure(panels))]


def _beside(board: Board) -> Section:
    shown = (tables.beside(board), tables.without_a_map(board))
    return Section("Beside the gain", tables=[each for each in shown if each])


def _each_dataset(board: Board) -> Section:
    from rffbench.report.figures.board import fronts_figure

    rows, axis = front.points(board)
    figure = fronts_figure(front.means(rows), (BASELINE, *CONFIRMATORY), axis)
    picture = Picture("board-fronts", f"Loss against {axis} on every dataset, a curve a map.", figure)
    return Section("On every dataset", tables=[tables.datasets(board)], pictures=[picture])


def _chosen(board: Board) -> Section:
    return Section("Chosen parameters", tables=[tables.chosen(board)])


def _failures(board: Board) -> Section:
    lost = tables.failures(board)
    return Section("Failures", [] if lost else ["No trial has failed."], [lost] if lost else [])


def _where(board: Board) -> Section:
    said = [f"All trials as one file: {ROWS}."]
    for name, results in board.results.items():
        for run in runs_of(results.folder)[-1:]:
            code = f"commit {run.get('git_commit') or 'unknown'}, rffbench {run.get('rffbench')}"
            machine = f"{run.get('cpu')}, {run.get('processors')} processors, {run.get('workers')} workers"
            said.append(f"{name}: {code}; {machine}; {run.get('finished') or 'not finished'}.")
    return Section("Rows and machine", said, [tables.progress(board, PARTS)])


# ---- As files --------------------------------------------------------------------------------------------------------


def write_rows(board: Board, path: Path) -> Path:
    """Write every trial of the board as one compressed CSV file: cell, status, loss, σ, λ, and what it cost in the part
    that measures that."""
    rows = board.losses.assign(status=board.scores.trials["status"])
    for name in (
        "gamma",
        TIMES_MEDIAN,
        "lambda",
        "kernel_error",
        "delta_error",
        "accuracy",
        "balanced_accuracy",
        "auc",
        "rmse",
    ):
        rows[name] = board.scores.trials[name]
    for part in ("board-seconds", "board-tuning"):
        if results := board.results.get(part):
            beside = results.trials[[*CELL, *CLOCKS["tuning"], MEMORY, "contended"]]
            rows = rows.merge(beside.rename(columns={name: f"{part}: {name}" for name in beside if name not in CELL}),
                              on=CELL, how="outer")  # fmt: skip
    text = rows.dropna(axis=1, how="all").to_csv(index=False, lineterminator="\n")
    files.replace(path, gzip.compress(text.encode(), mtime=0))
    return path


def to_markdown(found: Sequence[Section], folder: str) -> str:
    """The parts as Markdown, whose pictures lie in ``folder``, a path from the page."""
    lines: list[str] = []
    for section in found:
        lines += [f"## {markdown(section.title)}", ""]
        for each in section.said:
            lines += [markdown(in_one_line(each)), ""]
        for table in section.tables:
            lines += [table.to_markdown(), ""]
        for picture in section.pictures:
            lines += [f"![{markdown(picture.shows)}]({folder}/{picture.name}.png)", ""]
    return "\n".join(lines).rstrip() + "\n"


def save_pictures(found: Sequence[Section], folder: Path) -> list[Path]:
    """Write the figures as ``folder``/figures/<name>.png; the paths."""
    from rffbench.report.figures.style import SCREEN, drawn_in, saved

    with drawn_in(SCREEN):
        return [
            path for section in found for each in section.pictures for path in saved(each.figure, folder, each.name)
        ]


def write_html(title: str, found: Sequence[Section], path: Path, rows: str = "") -> Path:
    """Write the parts as one HTML file that loads nothing; ``rows`` is the file of the trials beside it, if any.
    ConfigError where what draws pages is not installed."""
    from rffbench.report.figures.style import SCREEN, drawn_in, rendered
    from rffbench.report.page.render import own_file, render

    def data(picture: Picture) -> str:
        (drawn,) = rendered(picture.figure, "svg")
        return f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}"

    with drawn_in(SCREEN):
        script = own_file("tables.js") + own_file("board.js")
        text = render(
            "board.html", [script], version=__version__, title=title, sections=found, picture=data, rows=rows
        )  # fmt: skip
    files.replace(path, text.encode())
    return path
