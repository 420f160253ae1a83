"""The board's tables and figures, and all of its trials as one file."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from rffbench.figures import Picture, Section, strips_pictures
from rffbench.stats import BASELINE, CELL, CLOCKS, MEMORY, SESSION, losses
from studies.board import front, run_tables, tables
from studies.board.answers import Answer, gains_in_percent
from studies.board.questions import answers
from studies.board.ratios import ratio_table
from studies.board.registered import COLUMNS
from studies.board.solvers import solver_table
from studies.board.standing import IN_ROWS, PARTS, TIMED, Board

ROWS = "board-rows.csv.gz"
"""The file of all trials, beside the page."""


# ---- What is on it ---------------------------------------------------------------------------------------------------


@cache
def sections(board: Board) -> list[Section]:
    """The parts, in order."""
    from rffbench.figures import SCREEN, drawn_in

    with drawn_in(SCREEN):
        drawn = _front(board), _each_dataset(board)
        asked, better = _questions(board, answers(board)), _verdicts(board)
    found = [Section("Which map?", [tables.first_lines(board)]), drawn[0], better, _beside(board), *asked,
             drawn[1], Section("Chosen parameters", [run_tables.chosen(board)])]  # fmt: skip
    if (of_solvers := board.solvers) and (table := solver_table(of_solvers)):
        found.append(Section("Solvers", [table]))
    lost = run_tables.failures(board)
    found += [Section("Failures", [lost])] if lost else []
    return [*found, Section("Rows and machine", [run_tables.progress(board), run_tables.runs(board)])]


def _front(board: Board) -> Section:
    from studies.board.figures import each_map_figure, front_figure, profile_figure

    rows, axis = front.points(board)
    curves = front.medians(rows)
    figure = front_figure(curves, front.DRAWN, axis)
    pictures = [Picture("board-front", f"Median loss over datasets against {axis}, a curve a map.", figure)]
    if front.others(board):
        figure = each_map_figure(curves, BASELINE, axis)
        pictures.append(Picture("board-front-maps", f"Median loss against {axis}, a panel a map.", figure))
    if (shares := front.profiles(board)) is not None:
        figure = profile_figure(shares, front.DRAWN, front.TARGET)
        pictures.append(Picture("board-profiles", "Performance profiles of seconds, a line a map.", figure))
    return Section("Loss against cost", pictures=pictures)


def _verdicts(board: Board) -> Section:
    found = [tables.verdicts(board), tables.by_columns(board)]
    maps = board.at_each_size.get(COLUMNS)
    panels = [gains_in_percent(f"Gains over RFF at {COLUMNS} columns", maps)] if maps else []
    by_cost = [table for of in tables.COSTS if (table := tables.by_cost(board, of))]
    by_lambdas = tables.by_lambdas(board)
    shown = [*found, *by_cost, *([by_lambdas] if by_lambdas else []), *run_tables.calibrations(board)]
    return Section("Better than RFF, the same, or worse", shown, strips_pictures("board-gains", panels))


def _questions(board: Board, found_out: Sequence[Answer]) -> list[Section]:
    found = []
    for answer in found_out:
        shown = tables.answer_tables(answer)
        if answer.number == 5 and (of_kernels := tables.kernels_by_columns(board)):
            shown.append(of_kernels)
        drawn = strips_pictures(f"board-question-{answer.number}", answer.panels())
        found.append(Section(f"Question {answer.number}: {answer.asked}", shown, drawn))
    return found


def _beside(board: Board) -> Section:
    shown = (ratio_table(board), tables.beside(board), tables.without_a_map(board))
    return Section("Beside the gain", [each for each in shown if each])


def _each_dataset(board: Board) -> Section:
    from studies.board.figures import fronts_figure

    rows, axis = front.points(board)
    figure = fronts_figure(front.means(rows), front.DRAWN, axis)
    picture = Picture("board-fronts", f"Loss against {axis} on every dataset, a curve a map.", figure)
    return Section("On every dataset", [run_tables.datasets(board)], [picture])


# ---- As files --------------------------------------------------------------------------------------------------------


def write_rows(board: Board, path: Path) -> Path:
    """Write every trial of every part as one compressed CSV file: part, cell, the session of parts whose seconds are
    compared, status, loss (none of a failure), σ, λ, what else was measured, and, of the parts that measure it, what
    the trial cost."""
    parts = [(name, results) for name in PARTS for results in board.of_part(name)]
    rows = pd.concat([results.trials.assign(part=name, loss=losses(results.trials)["loss"]) for name, results in parts])
    costs = [*CLOCKS["tuning"], MEMORY, "contended"]
    rows[costs] = rows[costs].where(rows["part"].isin(TIMED))
    rows = rows.reindex(columns=["part", *CELL, SESSION, "loss", *IN_ROWS, *costs]).dropna(axis=1, how="all")
    text = rows.to_csv(index=False, float_format="%.8g", lineterminator="\n")
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def to_markdown(found: Sequence[Section]) -> str:
    """The tables as Markdown."""
    lines: list[str] = []
    for section in found:
        lines += [f"## {section.title}", "", *(line for table in section.tables for line in (table.to_markdown(), ""))]
    return "\n".join(lines).rstrip() + "\n"


def save_pictures(found: Sequence[Section], folder: Path) -> list[Path]:
    """Write the figures as ``folder``/figures/<name>.png; the paths."""
    from rffbench.figures import SCREEN, drawn_in, saved

    with drawn_in(SCREEN):
        return [
            path for section in found for each in section.pictures for path in saved(each.figure, folder, each.name)
        ]
