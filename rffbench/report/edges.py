"""Cells in which a tuned value lies on the edge of its grid, and whether the held-out score still moves there.

In such a cell the grid may cause the difference between methods: the best value may lie beyond it. The trials' rows
have the gain of the held-out error at the edge over the neighbouring value (``edges``,
`rffbench.trials.edges.gain_at_edge`). For rows without it, the test rows' score at every λ is used, if the solver kept
it (``path``); else the gain is unknown. λ = 0 is not an edge, because nothing lies beyond it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rffbench.arguments.parameters import TIMES_MEDIAN
from rffbench.errors import RffbenchError
from rffbench.kernels import bandwidth_in_words
from rffbench.papers import references
from rffbench.report.frame import Results, each_cell
from rffbench.trials.edges import End, edge_of

SHARE = 0.2  # an edge counts if more than this share of a cell's trials are on it
TUNED = {"lambda": "λ", "gamma": "γ", TIMES_MEDIAN: "σ/median"}
"""The values that cross-validation chooses: the column of trials, and its symbol."""
OFTEN = "In more than a fifth of the trials the chosen value is the end of its grid."


@dataclass(frozen=True)
class Edge:
    """A tuned value of a cell that is the ``end`` of its grid, the value ``at``, in ``trials`` of the ``finished``
    trials, ``said`` with its symbol. ``moves``: whether the held-out score moves there by more than its standard error;
    None if unknown."""

    dataset: str
    n_features: int
    size: str
    method: str
    tuned: str
    end: End
    at: float
    said: str
    trials: int
    finished: int
    moves: bool | None

    @property
    def mark(self) -> str:
        """The mark in the cell of a table."""
        return "[edge]" if self.moves else "[edge?]"


def edges(results: Results) -> list[Edge]:
    """The edges at which the score moves or may move, without those of a grid that the paper prescribes."""
    return [edge for edge in all_edges(results) if edge.moves is not False and not _is_prescribed(results, edge)]


def notes(results: Results) -> list[str]:
    """The notes of a table or comparison on its edges: one on edges at which the score moves, one on those where that
    is unknown, and one on a grid that the paper prescribes."""
    found = list(all_edges(results))
    ours = [edge for edge in found if not _is_prescribed(results, edge)]
    theirs = [edge for edge in found if _is_prescribed(results, edge)]
    said = []
    if moving := [edge for edge in ours if edge.moves]:
        said.append(
            f"[edge] {OFTEN} The held-out score still moves there by more than its standard error, so a wider grid may "
            f"change what such cells say. {_in_sentences(moving)}"
        )
    if unknown := [edge for edge in ours if edge.moves is None]:
        said.append(
            f"[edge?] {OFTEN} How much the held-out score moves there is unknown, as these trials did not record it. "
            f"{_in_sentences(unknown)}"
        )
    if theirs:
        grid = _stated_grid(results) or [0.0]
        count = len({(edge.dataset, edge.n_features, edge.method) for edge in theirs})
        said.append(
            f"λ is chosen from the grid that the paper prescribes, {min(grid):g} to {max(grid):g}. It is an end of "
            f"that grid in {count} {'cell' if count == 1 else 'cells'}."
        )
    return said


def marks(results: Results) -> dict[tuple[str, int, str], str]:
    """(dataset, n_features, method) → the mark of the cell."""
    found: dict[tuple[str, int, str], str] = {}
    for edge in edges(results):
        cell = edge.dataset, edge.n_features, edge.method
        found[cell] = min(found.get(cell, edge.mark), edge.mark)  # [edge] before [edge?]
    return found


def listed(found: Sequence[Edge]) -> list[str]:
    """For each end of a grid where it was chosen: ``λ = 1e-13 for RFF, QMC on cod-RNA and ORF on eeg``. The sizes are
    those of the marked cells."""
    ends: dict[str, dict[str, dict[str, None]]] = {}
    for edge in found:
        ends.setdefault(edge.said, {}).setdefault(edge.method, {})[edge.dataset] = None
    lines = []
    for said, methods in ends.items():
        by_datasets: dict[tuple[str, ...], list[str]] = {}
        for method, datasets in methods.items():
            by_datasets.setdefault(tuple(datasets), []).append(method)
        where = " and ".join(f"{', '.join(each)} on {', '.join(datasets)}" for datasets, each in by_datasets.items())
        lines.append(f"{said} for {where}")
    return lines


def _in_sentences(found: Sequence[Edge]) -> str:
    return " ".join(f"{each}." for each in listed(found))


def at_cells(results: Results, dataset: str, methods: Collection[str], sizes: Collection[int]) -> list[Edge]:
    """The edges of some cells at which the score moves or may move."""
    return [
        edge
        for edge in edges(results)
        if edge.dataset == dataset and edge.method in methods and edge.n_features in sizes
    ]


def all_edges(results: Results) -> Iterator[Edge]:
    """All edges, also those at which the score does not move. They are cached, because several reports need them."""
    if "_edges" not in vars(results):
        vars(results)["_edges"] = list(_found(results))  # vars: the dataclass is frozen
    yield from vars(results)["_edges"]


def _found(results: Results) -> Iterator[Edge]:
    grids = {(method, name): grid_of(results, method, name) for method in results.methods for name in TUNED}
    tuned = {method: [name for name in TUNED if grids[method, name]] for method in results.methods}
    if not any(tuned.values()):
        return
    ok = results.trials[results.trials["status"] == "ok"]
    kept = results.edges  # an empty frame has no columns
    known = dict(list(kept.groupby(["dataset", "n_features", "method", "tuned"]))) if len(kept) else {}
    for dataset, n_features, size, method, trials in each_cell(ok):
        for name in tuned.get(method, ()):
            grid, chosen = grids[method, name], trials[name]
            ends = [edge_of(grid, value) for value in chosen]
            for end in ("smallest", "largest"):
                if ends.count(end) <= SHARE * len(trials):
                    continue
                at_end = trials[[each == end for each in ends]]
                of_cell = known.get((dataset, n_features, method, name))
                moves = _moves(results, of_cell, dataset, at_end, name, grid, end)
                at = min(grid) if end == "smallest" else max(grid)
                said = f"{TUNED[name]} = {at:g}"
                if name == "gamma":
                    said = bandwidth_in_words(results.grid.setting("kernel", dataset, method)["name"], at)
                yield Edge(
                    dataset, n_features, size, method, TUNED[name], end, at, said, len(at_end), len(trials), moves
                )  # fmt: skip


def grid_of(results: Results, method: str, name: str) -> list[float]:
    """The values from which a method's value is chosen; empty if it is not tuned."""
    setting = results.grid.setting("solver" if name == "lambda" else "kernel", method=method) or {}
    grid: Any = setting.get(name)
    if name == TIMES_MEDIAN and isinstance(chosen := setting.get("gamma"), dict):
        grid = chosen[name]
    return [float(value) for value in grid] if isinstance(grid, list) and len(grid) > 1 else []


def _moves(
    results: Results, known: pd.DataFrame | None, dataset: str, trials: pd.DataFrame, name: str, grid: list[float],
    end: End,
) -> bool | None:  # fmt: skip
    """Whether the mean gain at the edge over these trials is more than its standard error, which is over the trials, or
    for a single trial over its folds. ``known``: the gains that the cell's rows have."""
    known = None if known is None else known[known["trial"].isin(trials["trial"])]
    if known is not None and len(known):
        gains, error = known["gain"], float(known["standard_error"].iloc[0])
    elif name == "lambda":
        gains, error = _gains_on_test_rows(results, dataset, trials, grid, end), np.nan
    else:
        return None
    if len(gains) > 1:
        error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
    return None if not len(gains) or np.isnan(error) else bool(abs(gains.mean()) > error)


def _gains_on_test_rows(results: Results, dataset: str, trials: pd.DataFrame, grid: list[float], end: End) -> pd.Series:
    """By trial, the test rows' score at the edge less that at the neighbouring λ; empty if the path was not kept."""
    score = results.score(dataset).name
    if not {"lambda", score} <= set(results.curves):
        return pd.Series(dtype=float)
    place = ["dataset", "n_features", "method", "trial"]
    curves = results.curves.merge(trials[place], on=place).pivot_table(index="trial", columns="lambda", values=score)
    ordered = sorted(grid, reverse=end == "largest")
    if not {ordered[0], ordered[1]} <= set(curves):
        return pd.Series(dtype=float)
    return (curves[ordered[0]] - curves[ordered[1]]).dropna()


def _stated_grid(results: Results) -> list[float] | None:
    """The grid of λ that the experiment's reference prescribes, if it does."""
    try:
        reference = references().get(str(results.config.get("reference")))
    except RffbenchError:
        return None
    stated = (reference.stated if reference else {}).get("solver", {}).get("lambda")
    return [float(value) for value in stated] if isinstance(stated, list) else None


def _is_prescribed(results: Results, edge: Edge) -> bool:
    return edge.tuned == TUNED["lambda"] and grid_of(results, edge.method, "lambda") == _stated_grid(results)
