"""All that the site's pages are made of: the parts, how their maps stand, the papers, and the address of each page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from rffbench.config.catalogue import maps
from rffbench.report.board.entries import Checked
from rffbench.report.site.claims import OfPaper
from rffbench.report.site.parts import COSTS, Part
from rffbench.report.site.standing import View, at_columns, at_equal_cost, with_ratios

RFF = "random Fourier features"
"""The baseline, in sentences."""
WORDS = {
    "better": f"better than {RFF}",
    "same": f"the same as {RFF}",
    "worse": f"worse than {RFF}",
    "undecided": f"not shown to differ from {RFF}",
}
BUDGETS = {"columns": "with as many columns", "fit": "for the same seconds", "memory": "in the same memory"}


@dataclass(frozen=True)
class Content:
    """The ``parts`` and ``papers`` of a site, and who has ``checked`` the entries of the board."""

    parts: Sequence[Part]
    papers: Sequence[OfPaper]
    checked: Mapping[str, Checked] = field(default_factory=dict)

    @property
    def board(self) -> Part:
        """The part that the site's sentences are about: the largest board that ships."""
        return self.parts[0]

    @cached_property
    def views(self) -> dict[str, dict[str, View]]:
        """By part and budget, how the maps stand."""
        return {part.name: self._views(part) for part in self.parts if part.baseline}

    @staticmethod
    def _views(part: Part) -> dict[str, View]:
        found = {"columns": at_columns(part)}
        for of in COSTS:
            if view := at_equal_cost(part, of):
                found[of] = view
        return found

    @cached_property
    def rows(self) -> dict[str, pd.DataFrame]:
        """By part, the rows with test errors and their ratios."""
        return {part.name: with_ratios(part) for part in self.parts}

    @cached_property
    def facts(self) -> dict[str, dict[str, Any]]:
        """By the name of a feature map, what the catalogue says of it."""
        return {row["name"]: row for row in maps()}

    @cached_property
    def addresses(self) -> dict[tuple[str, str], str]:
        """Of each entry (part, label) the name of its page in maps/. A map of several boards has one page."""
        found: dict[tuple[str, str], str] = {}
        taken: set[str] = set()
        for part in self.parts:
            for label in part.methods:
                same = next((found[each.name, label] for each in self.parts if (each.name, label) in found), None)
                if same and not part.is_own:
                    found[part.name, label] = same
                    continue
                found[part.name, label] = _free(f"{part.name}-{label}" if part.is_own else label, taken)
        return found

    @cached_property
    def datasets(self) -> dict[str, str]:
        """Of each dataset the name of its page in datasets/."""
        taken: set[str] = set()
        names = dict.fromkeys(name for part in self.parts for name in part.datasets)
        return {name: _free(name, taken) for name in names}

    @cached_property
    def pages_of_maps(self) -> dict[str, str]:
        """Of each feature map on a shipped board, by its name, the name of the first page in maps/."""
        boards = [part for part in self.parts if not part.is_own]
        return {
            part.maps[label]["name"]: self.addresses[part.name, label]
            for part in reversed(boards) for label in reversed(part.methods) if part.is_map(label)
        }  # fmt: skip

    def of_dataset(self, dataset: str) -> list[Part]:
        """The parts with rows on a dataset. What a smaller board repeats of a larger one is left out."""
        found = [part for part in self.parts if dataset in part.datasets]
        first = next((part for part in found if not part.is_own), None)
        return [part for part in found if part.is_own or part is first]

    def who_checked(self, label: str, part: Part) -> Checked:
        """Who has looked at an entry; of own results only if they are of the map's file that was looked at."""
        entry = self.checked.get(label, Checked())
        return entry if entry.sha256 == part.sources.get(label, "") else Checked()


def _free(name: str, taken: set[str]) -> str:
    """A file name for a page: ASCII letters, digits and hyphens, and a number where it is taken."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:80] or "entry"
    place, number = stem, 1
    while place in taken:
        number += 1
        place = f"{stem}-{number}"
    taken.add(place)
    return place
