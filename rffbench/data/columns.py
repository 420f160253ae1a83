"""The columns of a table: what each holds, and what is done with it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rffbench.data import dates
from rffbench.data.cells import NUMBER_AND_UNIT, Spelling, label_order, merged, number
from rffbench.errors import ConfigError, unknown
from rffbench.io import yamlfile

MOST_CATEGORIES = 1000  # different words of a column; `onehot` makes a column of each
FEWEST_IDS = 20  # rows from which values that are all different say something
ID_NAME = re.compile(
    r"(^|[\W_])(id|ids|uid|guid|uuid|key|index|idx|no|nr|number|num|row|rownames|rownum|serial|code|record|case|patient"
    r"|customer|client|user|member|passenger|sample|account|order|invoice|ticket|transaction|unnamed: 0)([\W_]|$)",
    re.IGNORECASE,
)
WITH_SIGNS = re.compile(r"[-+(]?\s?[$€£¥]?\s?[-+]?\d[\d.,']*\s?(%|[$€£¥°]|[A-Za-z]{1,4})?\)?")  # $5.00, 10 cm, 7%, (3)
_CAMEL = re.compile(r"[a-z](ID|Id|Nr|No|Key)$")

Kind = Literal["numbers", "words", "text", "dates", "id", "constant", "empty", "mixed"]
Place = Callable[[int, int], str]


class Column:
    """Collects what is in one column while its blocks are read. With ``words``, numbers are words, too; with ``keep``
    the cells are kept for `cells`."""

    def __init__(self, spelling: Spelling, *, words: bool = False, keep: bool = False) -> None:
        self.spelling, self.declared = spelling, words
        self._kept: list[tuple[Sequence[int], np.ndarray]] | None = [] if keep else None
        self.rows = self.missing = self.numbers = 0
        self.words: Counter[str] = Counter()
        self.first_word: tuple[int, str] | None = None
        self.first_missing: tuple[int, str] | None = None
        self.first_infinite: tuple[int, str] | None = None
        self.low, self.high = math.inf, -math.inf
        self._different: list[np.ndarray] | None = []  # whole numbers, while they are all different
        self.counts_from: set[int] = {0, 1}  # the rows, in order

    def add(self, texts: Sequence[str], places: Sequence[int]) -> None:
        """Add cells, which are at ``places``."""
        values = None if self.declared else self.spelling.finite(texts)
        if values is None:
            found = self._add_texts(texts, places)
            values = np.array([found[text] for text in texts], dtype=np.float64)
            if self._kept is not None and (self.words or self.declared):
                words = {text: None if self.spelling.is_missing(text) else text.strip() for text in found}
                self._kept.append((places, np.array([words[text] for text in texts], dtype=object)))
                places = ()
        self._add_values(values, places)

    def add_numbers(self, values: np.ndarray, places: Sequence[int]) -> None:
        """Add float64 values, NaN for a missing one."""
        if self.declared:
            self.add([text_of(value) for value in values.tolist()], places)
            return
        if not np.isfinite(values).all():
            if (none := np.isnan(values)).any():
                first = int(none.argmax())
                self.first_missing = self.first_missing or (places[first], "nan")
                self.missing += int(none.sum())
            for row in np.flatnonzero(np.isinf(values))[:1]:
                self.first_infinite = self.first_infinite or (places[row], str(values[row]))
        self._add_values(values, places)

    def _add_texts(self, texts: Sequence[str], places: Sequence[int]) -> dict[str, float]:
        """Count the different texts of cells; return their numbers, NaN for those that have none."""
        counts = Counter(texts)
        found: dict[str, float] = {}
        for text, value in self.spelling.numbers(counts).items():
            found[text] = math.nan if value is None or self.declared else value
            if value is not None and math.isnan(value):
                self.missing += counts[text]
                self.first_missing = self.first_missing or (places[texts.index(text)], text.strip())
            elif value is None or self.declared:
                self.words[text.strip()] += counts[text]
                self.first_word = self.first_word or (places[texts.index(text)], text.strip())
            elif math.isinf(value):
                self.first_infinite = self.first_infinite or (places[texts.index(text)], text.strip())
        return found

    def _add_values(self, values: np.ndarray, places: Sequence[int] = ()) -> None:
        """Add numbers, and keep those that have places."""
        if self._kept is not None and len(places):
            self._kept.append((places, np.asarray(values, dtype=np.float64)))
        there = values[np.isfinite(values)]
        if self.counts_from and len(there) == len(values):
            counted = np.arange(self.rows, self.rows + len(values))
            self.counts_from = {start for start in self.counts_from if np.array_equal(values, counted + start)}
        else:
            self.counts_from = set()
        self.rows += len(values)
        self.numbers += len(there)
        if not len(there):
            return
        self.low, self.high = min(self.low, float(there.min())), max(self.high, float(there.max()))
        if self._different is not None:
            if (there != np.round(there)).any() or len(np.unique(there)) < len(there):
                self._different = None
            else:
                self._different.append(there)

    @property
    def cells(self) -> np.ndarray:
        """The kept cells (n,): of words texts, None for a missing one; of numbers floats, NaN for a missing one."""
        pieces = [cells for _, cells in self._kept or ()]
        if self.words or self.declared:
            pieces = [each if each.dtype == object else np.full(len(each), None) for each in pieces]
        return np.concatenate(pieces) if pieces else np.empty(0)

    def place_of(self, row: int) -> int:
        """The place of a kept cell, counted from 0."""
        for places, _ in self._kept or ():
            if row < len(places):
                return places[row]
            row -= len(places)
        raise IndexError(row)

    @property
    def different_wholes(self) -> bool:
        """Whether it has whole numbers alone, all of them different."""
        if self._different is None or self.words or self.missing or not self.numbers:
            return False
        return len(np.unique(np.concatenate(self._different))) == self.numbers

    def kind(self, name: str | None, *, keep: bool = False) -> Kind:
        """What the column holds; ``name`` is None where no column has one. With ``keep`` it is an input in any case,
        and so no id and not constant."""
        words = self.words.total()
        if not words and not self.numbers:
            return "mixed" if self.first_infinite else "empty"
        if words and self.numbers:
            return "mixed"
        if words:
            if self.declared:
                return "words"
            if dates.formats_of(self.words):
                return "dates"
            if len(self.words) == 1 and not self.missing and self.rows > 1 and not keep:
                return "constant"
            if len(self.words) == words > FEWEST_IDS and not keep:
                return "id"
            return "text" if len(self.words) > MOST_CATEGORIES else "words"
        if keep or self.first_infinite:
            return "numbers"
        if self.low == self.high and not self.missing and self.rows > 1:
            return "constant"
        return "id" if self._is_id(name) else "numbers"

    def _is_id(self, name: str | None) -> bool:
        """Whether whole numbers that are all different name or count the rows."""
        named = name == "" or bool(name and (ID_NAME.search(name) or _CAMEL.search(name)))
        if self.counts_from and self.rows > 1 and named:
            return True
        if self.rows < FEWEST_IDS or not self.different_wholes:
            return False
        return named or (self.low in (0, 1) and self.high - self.low + 1 == self.rows)  # years are no numbers of rows


def unit_of(column: Column) -> str:
    """The one unit that follows every number of a column of texts; empty if a text is no number with that unit."""
    if column.declared or column.numbers or len(column.words) < 2 or dates.formats_of(column.words):
        return ""
    units = set()
    for word in column.words:
        found = NUMBER_AND_UNIT.fullmatch(word)
        value = column.spelling.number(found[1]) if found else None
        if not found or value is None or not math.isfinite(value):
            return ""
        units.add(found[2])
    return units.pop() if len(units) == 1 else ""


def text_of(value: float) -> str:
    """A number as a cell of text; empty for NaN."""
    return "" if math.isnan(value) else repr(value).removesuffix(".0")


# ---- What is done with columns ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """What is done with a column: ``use``, and ``why`` in words. ``format`` is that of dates."""

    name: str  # empty without one
    number: int  # of the column in the file, from 0
    kind: Kind
    use: Literal["input", "target", "ignored"]
    why: str
    format: str = ""
    words: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return repr(self.name) if self.name else f"column {self.number + 1}"


@dataclass
class Findings:
    """The contents of the inputs besides numbers. A file with ``faults`` cannot be used. ``missing`` (column → count)
    and ``categories`` (column → words) need steps of ``preprocess``; ``advice`` says which, and where."""

    faults: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    missing: dict[int, int] = field(default_factory=dict)
    categories: dict[int, list[str]] = field(default_factory=dict)
    targets_missing: int = 0


@dataclass(frozen=True)
class Content:
    """The content of a file. ``target`` (n,), or (n, targets), has floats or texts; ``notes`` are pairs (what, how it
    was decided)."""

    format: dict[str, Any]
    columns: int
    target: np.ndarray
    target_name: str
    names: list[str]  # of the inputs, if the file has names
    inputs: Findings
    decisions: list[Decision] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    spelling: Spelling = field(default_factory=Spelling)
    read: Mapping[int, Column] = field(default_factory=dict, repr=False)  # the columns, by their number in the file


def decided(
    column: Column, name: str, at: int, *, keep: bool = False, parts: bool | str = False, named: bool = True
) -> tuple[Decision, str]:
    """What is done with a column that is neither target nor ignored, and a fault, which may be empty.

    ``parts``: dates are inputs, read as their parts; a text is their format.
    """
    kind = column.kind(name if named else None, keep=keep)
    count = len(column.words)
    if kind == "dates":
        formats = dates.formats_of(column.words)
        if isinstance(parts, str):
            if parts not in formats:
                raise ConfigError(f"dates: {parts}: the column {name or at!r} is not of this format, but {formats[0]}")
            formats = [parts]
        if not parts:
            why = f"dates ({formats[0]}); with dates: parts they are {', '.join(dates.parts_of(formats[0]))}"
            return Decision(name, at, kind, "ignored", why, formats[0]), ""
        why = f"dates ({formats[0]}), as {', '.join(dates.parts_of(formats[0]))}"
        fault = ""
        if len(formats) > 1:
            fault = f"the dates can be {' or '.join(formats[:2])}; say which: {{path: …, dates: '{formats[0]}'}}"
        return Decision(name, at, kind, "input", why, formats[0]), fault
    whys = {
        "empty": "no value at all",
        "constant": "the same value in every row",
        "id": "another text in every row" if column.words else "a different whole number in every row, as an ID",
        "text": f"{count:,} different texts, more than the {MOST_CATEGORIES:,} that onehot takes",
    }
    if kind in ("id", "text") and column.words and all(map(WITH_SIGNS.fullmatch, column.words)):
        word = next(iter(column.words))
        what = f"{word!r} and its other texts are numbers with signs or units; write the numbers alone"
        return Decision(name, at, kind, "ignored", "numbers with signs or units"), what
    if kind in whys:
        return Decision(name, at, kind, "ignored", whys[kind]), ""
    missing = f", {column.missing} missing" if column.missing else ""
    if kind == "words":
        words = tuple(sorted(merged(column.words), key=label_order))
        return Decision(name, at, kind, "input", f"{len(words)} different words{missing}", words=words), ""
    return Decision(name, at, kind, "input", f"numbers{missing}"), ""


def findings(columns: Mapping[int, Column], chosen: Sequence[Decision], place: Place, leave_out: Callable) -> Findings:
    """The findings on the inputs ``chosen``, with messages, by their position among a card's inputs.

    ``place(place, column)`` is a cell's place in words, ``leave_out(columns)`` the config that ignores columns.
    """
    found, wrong = Findings(), dict[int, tuple[int, str]]()
    position, of_words, of_missing = 0, dict[int, int](), dict[int, int]()
    for each in chosen:
        column = columns[each.number]
        width = len(dates.parts_of(each.format)) if each.kind == "dates" else 1
        if column.first_infinite:
            wrong[each.number] = column.first_infinite
        if each.kind == "mixed" and column.first_word:
            wrong[each.number] = min(wrong.get(each.number, column.first_word), column.first_word)
        elif each.kind == "words":
            found.categories[position] = list(each.words)
            of_words[each.number] = position
        if column.missing:
            found.missing |= {position + part: column.missing for part in range(width)}
            of_missing[each.number] = column.missing
        position += width
    if wrong:
        at, (line, text) = min(wrong.items(), key=lambda each: (each[1][0], each[0]))
        found.faults.append(f"{place(line, at)}: {text!r} is not a finite number{_mended(text, wrong, leave_out)}")
    if of_missing:
        line, at, text = _earliest({each: columns[each].first_missing for each in of_missing})
        total = sum(of_missing.values())
        more = f" here and in {total - 1} more" if total > 1 else ""
        fill = "impute-most-frequent" if found.missing.keys() & found.categories.keys() else "impute-median"
        found.advice.append(
            f"{place(line, at)}: the value is missing ({text!r}){more}; fill it, remove such rows, or begin preprocess "
            f"with {fill}"
        )
    if of_words:
        line, at, text = _earliest({each: columns[each].first_word for each in of_words})
        others = len(of_words) - 1
        more = f", and {_columns(others)} more hold{'s' if others == 1 else ''} text" if others else ""
        leave = f"leave {'them' if others else 'it'} out: {leave_out(sorted(of_words))}"
        found.advice.append(
            f"{place(line, at)}: {text!r} is not a number{more}; put onehot into preprocess, which makes a column of "
            f"every word, or {leave}"
        )
    return found


def _earliest(firsts: Mapping[int, tuple[int, str] | None]) -> tuple[int, int, str]:
    """(place, column, text) of the first of the cells, one a column."""
    return min((first[0], column, first[1]) for column, first in firsts.items() if first)


def looks_like_a_number(text: str) -> bool:
    """Whether a word is a number with a comma, as other programs write it."""
    return "," in text and number(text.replace(",", "").replace(".", "")) is not None


def _mended(value: str, columns: Iterable[int], leave_out: Callable[[list[int]], str]) -> str:
    """The end of a message on a value that is not a number: how to mend it. ``columns`` are all columns with such."""
    if looks_like_a_number(value):
        return "; write decimals with a point, and nothing between thousands, or say {path: …, decimal: ','}"
    if (others := len(list(columns)) - 1) > 0:
        out = leave_out(sorted(columns))
        return f", nor are values of {_columns(others)} more; make them numbers, or leave the columns out: {out}"
    is_word = number(value) is None
    absent = f"; if it stands for a missing value: {{path: …, missing: {written([value])}}}" if is_word else ""
    return f"; make it a number, or leave the column out: {leave_out(list(columns))}{absent}"


def _columns(count: int) -> str:
    return "one column" if count == 1 else f"{count} columns"


def column_of(path: Any, key: str, column: str | int, names: Sequence[str], width: int) -> int:
    """The number, from 0, of a column that is given by its name or number. ConfigError if there is no such column."""
    if isinstance(column, int):
        if -width <= column < width:
            return column % width
        raise ConfigError(f"{path.name}: {key}: {column}: there are {width} columns, counted from 0")
    if not names:
        raise ConfigError(f"{path.name}: {key}: {column!r}: it has no header, so columns are given by number, from 0")
    if (times := list(names).count(column)) > 1:
        raise ConfigError(f"{path.name}: {key}: {times} columns are called {column!r}; give its number, from 0")
    if not times:
        raise ConfigError(f"{path.name}: {key}: {unknown('column', column, names)}")
    return list(names).index(column)


def written(columns: Collection[str | int]) -> str:
    """A list of columns in YAML."""
    return " ".join(yamlfile.dump(list(columns)).split())
