"""The cells of a table of text: numbers in their spellings, words and missing values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}  # other programs' texts for a missing value
BOOLEANS = {"false": 0.0, "true": 1.0}
MOST_CLASSES = 20  # whole numbers with more different values are taken for a regression's target


def number(text: str) -> float | None:
    """The number in a cell, read by ``float``; True and False are 1 and 0. NaN for a missing value, None for a word."""
    try:
        value = float(text)
    except ValueError:
        bare = text.strip().casefold()
        return math.nan if bare in MISSING else BOOLEANS.get(bare)
    return None if "_" in text else value


def is_finite(text: str) -> bool:
    """Whether a cell holds a finite number."""
    value = number(text)
    return value is not None and math.isfinite(value)


# ---- Spellings ---------------------------------------------------------------------------------------------

NUMBER_AND_UNIT = re.compile(r"(.*\d[.,]?)\s*(%|°?[A-Za-z]{1,4}|[$€£¥°])")  # 10 cm, 7%, 21.5 °C
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_MARKS = {" ": " \u00a0\u202f", "'": "'\u2019"}  # between thousands: also blanks that break no line, and ’


@dataclass(frozen=True)
class Spelling:
    """How the numbers and missing values of a file are written; ``missing`` are texts in lower case. A number may be
    followed by one of the ``units``."""

    decimal: str = "."
    thousands: str = ""
    missing: frozenset[str] = frozenset(MISSING)
    units: frozenset[str] = frozenset()

    @cached_property
    def is_usual(self) -> bool:
        """Whether `float` reads the numbers, and `MISSING` has the missing values."""
        return self == USUAL

    @cached_property
    def _has_missing_numbers(self) -> bool:
        """Whether a number, such as -999, is a missing value."""
        return any(is_finite(word.replace(self.decimal, ".")) for word in self.missing)

    def number(self, text: str) -> float | None:
        """The number in a cell; NaN for a missing value, None for a word."""
        if self.is_usual:
            return number(text)
        if self.is_missing(text):
            return math.nan
        plain = self.plain(self._without_unit(text))
        value = None if plain is None else number(plain)
        return None if value is None or math.isnan(value) else value

    def numbers(self, texts: Iterable[str]) -> dict[str, float | None]:
        """The `number` of each different text."""
        different = dict.fromkeys(texts)
        there = [text for text in different if not self.is_missing(text)]
        values = self.finite(there)
        found: dict[str, float | None] = dict.fromkeys(different, math.nan)
        found.update(zip(there, map(self.number, there) if values is None else values.tolist(), strict=True))
        return found

    def finite(self, texts: Sequence[str]) -> NDArray[np.float64] | None:
        """The numbers of texts that are all finite numbers; None if one is not, or may not be."""
        if self.thousands or self._has_missing_numbers:
            return None
        if self.decimal != ".":
            if "." in "".join(texts):
                return None
            texts = [text.replace(self.decimal, ".") for text in texts]
        try:
            values = np.array([*map(float, texts)])
        except ValueError:
            return None
        return values if np.isfinite(values).all() and "_" not in "".join(texts) else None

    def _without_unit(self, text: str) -> str:
        found = NUMBER_AND_UNIT.fullmatch(text.strip()) if self.units else None
        return found[1] if found and found[2] in self.units else text

    def plain(self, text: str) -> str | None:
        """A number as `float` reads it, and a word as it is; None for a number in another spelling."""
        if (self.decimal, self.thousands) == (".", ""):
            return text
        bare = text.strip()
        if not _pattern(self.decimal, self.thousands).fullmatch(bare):
            return None if any(mark in bare for mark in ".,") else text
        for mark in _MARKS.get(self.thousands, self.thousands):
            bare = bare.replace(mark, "")
        return bare.replace(self.decimal, ".")

    def label(self, text: str) -> str:
        """A class's label: a number in its usual spelling, and a word as it is."""
        return self.plain(text) or text

    def is_missing(self, text: str) -> bool:
        bare = text.strip()
        return not bare or bare.casefold() in self.missing


USUAL = Spelling()


def spelling_of(
    decimal: str | None, thousands: str | None, missing: Collection[str] | None, units: Collection[str] | None = None
) -> Spelling:
    """The spelling of a format's keys, which are None if they are usual."""
    words = USUAL.missing if missing is None else frozenset(word.strip().casefold() for word in missing)
    return Spelling(decimal or ".", thousands or "", words, frozenset(units or ()))


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    whole = r"\d+"
    if thousands:
        whole = rf"(?:\d+|\d{{1,3}}(?:[{_MARKS.get(thousands, thousands)}]\d{{3}})+)"
    return re.compile(rf"[+-]?(?:{whole}(?:{re.escape(decimal)}\d*)?|{re.escape(decimal)}\d+){_EXPONENT}")


# ---- Labels ------------------------------------------------------------------------------------------------


def label_text(value: float) -> str:
    """A number as a label: the shortest text for it, such as ``1`` for 1.0."""
    short = f"{value + 0.0:g}"
    return short if float(short) == value else repr(float(value)).removesuffix(".0")


def identity(labels: Iterable[str]) -> Callable[[str], Hashable]:
    """A key that is equal for spellings of the same label. If all labels are numbers, they are compared by value, so
    that ``1``, ``1.0``, ``01`` and ``1e0`` are one label; otherwise by text."""
    return _exact if all(map(is_finite, labels)) else str.strip


def _exact(text: str) -> Hashable:
    if not is_finite(text):
        return text.strip()
    boolean = BOOLEANS.get(text.strip().casefold())
    return Decimal(text.strip()) if boolean is None else Decimal(int(boolean))


def merged(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts of labels, with spellings of the same number added up. A number with a single spelling keeps it."""
    same = identity(counts)
    spellings: dict[Hashable, list[str]] = {}
    for label in counts:
        spellings.setdefault(same(label), []).append(label)
    found = {}
    for key, labels in spellings.items():
        name = labels[0] if len(labels) == 1 else label_text(number(labels[0]) or 0.0)
        found[name if same(name) == key else str(key)] = sum(counts[label] for label in labels)
    return found


def few_whole(y: np.ndarray) -> bool:
    """Whether numbers look like labels: two values, or not many and all whole."""
    values = np.unique(y)
    return len(values) <= 2 or (len(values) <= MOST_CLASSES and bool((values == np.round(values)).all()))


def label_order(label: str) -> tuple[bool, float, str]:
    """A sort key: numbers by value, before words."""
    return (False, number(label) or 0.0, label) if is_finite(label) else (True, 0.0, label)
