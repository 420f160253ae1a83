"""What an answer to one of the board's questions consists of: maps' gains, and numbers over datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rffbench.figures import Strip, Strips, gains_in_percent
from rffbench.stats import Number, Summary


@dataclass(frozen=True)
class Answer:
    """The maps' gains by the title of their table, other numbers, and ``notes`` on these. ``waits`` says what is
    missing for it to count as an answer."""

    number: int
    asked: str
    maps: list[tuple[str, list[Summary]]] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    waits: str = ""
    strips: tuple[Strips, ...] = ()

    def panels(self) -> list[Strips]:
        """The panels of its figure: the gains of its maps, then what else has a value on each dataset."""
        return [*(gains_in_percent(title, found) for title, found in self.maps if found), *self.strips]


def strips(title: str, numbers: Sequence[Number], axis: str, band: tuple[float, float]) -> Strips:
    """A panel of numbers that are medians over datasets; those without a dataset are left out."""
    known = [each for each in numbers if each.datasets]
    return Strips(title, tuple(Strip(each.name, each.values, each.value, each.low, each.high) for each in known),
                  axis, band)  # fmt: skip


def waiting(answer: Answer, part: str) -> Answer:
    """The answer before any trial of a part."""
    return Answer(answer.number, answer.asked, waits=f"{part} has not run")
