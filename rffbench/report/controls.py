"""Negative controls for the count of reproduced cells: how many would be reproduced if methods were mixed up?

A count such as "82 of 84 within a point" means little if other methods' numbers would come near it too. So the same
cells are counted with one method's measured numbers in every column, with two methods exchanged, and with all methods
exchanged in pairs, the most similar ones with each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rffbench.io.text import first_of

MOST_SHOWN = 4  # controls of a kind, or pairs of methods, that a sentence lists
ALIKE, EXCHANGED, IN_PAIRS = KINDS = ("in every column", "exchanged", "exchanged in pairs")


@dataclass(frozen=True)
class Control:
    """``within`` of ``count`` cells would be within their tolerance if ``methods`` were mixed up; ``kind`` (one of
    KINDS) says how."""

    kind: str
    methods: str
    within: int
    count: int

    def __str__(self) -> str:
        return f"{self.methods} ({self.within} of {self.count})"


def controls(cells: pd.DataFrame) -> list[Control]:
    """The controls of one metric's cells (``Comparison.counted``), the highest count of each kind first. Empty with
    fewer than two methods.

    A cell counts in a control if the method that replaces its own was measured at the same size, or, in a table without
    sizes, on the same dataset.
    """
    methods = list(dict.fromkeys(cells["method"]))
    cells = cells.assign(place=_places(cells))
    if len(methods) < 2 or cells.duplicated(["place", "method"]).any():
        return []
    measured = cells.pivot(index="place", columns="method", values="measured")
    numbers = measured[methods].to_numpy(float)
    row = measured.index.get_indexer(pd.Index(cells["place"]))
    column = pd.Index(methods).get_indexer(pd.Index(cells["method"]))
    reported = cells["reported"].to_numpy(float)
    allowed = cells["tolerance"].to_numpy(float) * np.where(cells["percent"].astype(bool), np.abs(reported) / 100, 1.0)

    def control(kind: str, called: str, instead: Mapping[str, str]) -> Control:
        replaced = np.array([methods.index(instead.get(method, method)) for method in methods])
        off = np.abs(numbers[row, replaced[column]] - reported)
        return Control(kind, called, int((off <= allowed + 1e-9).sum()), int((~np.isnan(off)).sum()))

    alike = [control(ALIKE, name, dict.fromkeys(methods, name)) for name in methods]
    pairs = {
        (one, other): control(EXCHANGED, f"{one} and {other}", {one: other, other: one})
        for one, other in itertools.combinations(methods, 2)
    }
    nearest = sorted(pairs, key=lambda pair: -pairs[pair].within)
    matched: dict[str, str] = {}
    for one, other in nearest:
        if not {one, other} & matched.keys():
            matched |= {one: other, other: one}
    named = [f"{one} and {other}" for one, other in nearest if matched.get(one) == other]
    both = [control(IN_PAIRS, first_of(named, MOST_SHOWN, "more pairs"), matched)] if len(matched) > 2 else []
    return [*sorted(alike, key=lambda control: -control.within), *(pairs[pair] for pair in nearest), *both]


def _places(cells: pd.DataFrame) -> pd.Series:
    """The dataset and size of each cell; in a table without sizes, where each method has its own, the dataset."""
    if cells.duplicated(["dataset", "method"]).any():
        return cells["dataset"] + " " + cells["size"].astype(str)
    return cells["dataset"]


def in_words(found: list[Control]) -> str:
    """A sentence that names the controls of each kind; of many, those with the highest and the lowest count."""
    said = []
    for kind in KINDS:
        mine = [control for control in found if control.kind == kind]
        if len(mine) > MOST_SHOWN:
            said.append(f"{kind}: from {mine[0]} to {mine[-1]}, of {len(mine)}")
        elif mine:
            said.append(f"{kind}: {', '.join(map(str, mine))}")
    return f"The same for other methods' columns: {'; '.join(said)}."
