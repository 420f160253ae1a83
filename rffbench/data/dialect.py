"""How a delimited text is laid out: delimiter, quotes, comments and header, decided by its first lines.

The delimiter is chosen as by CleverCSV (van den Burg, Nazábal and Sutton 2019, Data Mining and Knowledge Discovery 33,
1799–1820): the one with which rows have the same number of cells, and cells are numbers, dates and plain words. The
header is chosen by log-odds, to which each column adds what its first cell says.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise, takewhile

from rffbench.data import dates
from rffbench.data.cells import MISSING, number
from rffbench.data.marks import is_number
from rffbench.data.texts import LINE_SHOWN, Lines
from rffbench.errors import DataError
from rffbench.io.text import in_one_line

DELIMITERS = (",", "\t", ";", "|", " ")
DELIMITER_NAMES = {"\t": "tab", " ": "blanks", ",": "comma", ";": "semicolon", "|": "|"}
SAMPLE_LINES = 500  # lines by which the layout is recognised
SAMPLE_CHARACTERS = 300_000
LIKELY = {",": 1.0, "\t": 1.0, ";": 1.0, "|": 0.9, " ": 0.8}
AS_GOOD = 0.8  # a second delimiter with this share of the first one's score is nearly as good
PLAIN, NOT_FAR = 0.7, 0.3  # below this worth of the first one's cells, this share is enough
SURE = 1.2  # log-odds of a header
COMMENTS = ("#", "%")
_NUMBERS = re.compile(r"[-+]?[\d.]+(\s+[-+]?[\d.]+)+")  # in one cell
SEP = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel's first line
_STARTS = "(^|[,;\t| ])"
_QUOTED = {
    '"': re.compile(_STARTS + r'"((?:[^"]|"")*)"(?=[,;\t| ]|\r?$)', re.MULTILINE),
    "'": re.compile(_STARTS + r"'((?:[^'\n]|'')*)'(?=[,;\t| ]|\r?$)", re.MULTILINE),
}


@dataclass(frozen=True)
class Dialect:
    """The layout of a text. ``skip`` lines come before the header or the first row; ``width`` is the number of cells of
    a row. ``row_names``: rows begin with a cell that the header has no name for. ``notes`` are pairs (what, why)."""

    delimiter: str
    header: bool
    width: int
    names: list[str]
    quote: str | None = None
    comment: str | None = None
    skip: int = 0
    row_names: bool = False
    notes: list[tuple[str, str]] = field(default_factory=list)


def dialect_of(
    name: str, lines: Lines, delimiter: str | None = None, header: bool | None = None, comment: str | None = None,
    skip: int | None = None,
) -> Dialect:  # fmt: skip
    """The layout of the text called ``name``; what is given is not questioned, and ``comment`` may be empty: no line is
    one. DataError if two readings are nearly as good."""
    numbers, sample = _sample(lines)
    notes: list[tuple[str, str]] = []
    if sample and not skip and (excel := SEP.fullmatch(sample[0])):
        delimiter = delimiter or excel[1]
        numbers, sample = numbers[1:], sample[1:]
        notes.append(("delimiter", "by the first line, as Excel writes it"))
    mark = comment or (sample[0][0] if comment is None and sample and sample[0][0] in COMMENTS else None)
    above = list(takewhile(lambda line: mark is not None and line.startswith(mark), sample))
    inside = [line for line in sample[len(above) :] if mark and line.startswith(mark)]
    if sample and len(above) == len(sample):
        raise DataError(f"{name}: all its lines begin with {mark!r}; if these are rows: {{path: …, comment: ''}}")
    numbers = numbers[len(above) :]
    sample = [line for line in sample[len(above) :] if line not in inside]
    if not sample:
        raise DataError(f"{name}: is empty; it must have one line per row")
    before = numbers[0] - 1 if above or notes or skip else 0  # lines that are blank are passed over in any case
    quote = _quote(sample)
    if delimiter is None:
        delimiter = _delimiter(name, sample, quote)
    first, *others = _cells(sample, delimiter, quote)
    width = Counter(map(len, others)).most_common(1)[0][0] if others else len(first)
    row_names = header is not False and len(first) == width - 1 > 1 and not all(not row[-1].strip() for row in others)
    trailing = len(first) == width - 1 > 0 and not row_names
    body = [row[1:] for row in others] if row_names else others
    told = _names_in(name, above, inside, mark, delimiter, quote, body) if comment is None and mark else []
    if header is None and (row_names or trailing):
        header = True
        notes.append(("header", "the first line has one cell less than the rows"))
    elif header is None:
        header, why = header_of(name, first, body, named=bool(told))
        notes.append(("header", why))
    names = [each.strip() for each in first] if header else []
    if row_names and header:
        names = ["", *names]
        notes.append(("row names", "rows begin with a cell that the header has no name for, as R writes them"))
    elif trailing and header:
        names = [*names, ""]
    elif header and len(first) == width + 1 and not first[-1].strip():
        names = names[:-1]
    if not header and len(told) == width:
        names = told
        notes.append(("names", "they are in the comment above the rows"))
    kept = mark if comment or inside else None
    width = width if others else len(names or first)
    return Dialect(delimiter, header, width, names, quote, kept, before, row_names and header, notes)


def _named(delimiter: str) -> str:
    return DELIMITER_NAMES.get(delimiter, delimiter)


def _sample(lines: Lines) -> tuple[list[int], list[str]]:
    """(line numbers, lines) of the first lines without blank ones; fewer if they are long, but at least two."""
    sample: list[str] = []
    characters = 0
    for line in islice(lines, SAMPLE_LINES):
        if line.strip():
            sample.append(line)
            characters += len(line)
        if len(sample) > 1 and characters > SAMPLE_CHARACTERS:
            break
    return lines.numbers, sample


def _quote(sample: Sequence[str]) -> str | None:
    text = "".join(sample)
    if _QUOTED['"'].search(text) or text.count("'") < len(sample):
        return '"'
    return "'" if len(_QUOTED["'"].findall(text)) >= len(sample) / 2 else '"'


def _cells(lines: Sequence[str], delimiter: str, quote: str | None) -> list[list[str]]:
    """The cells of every row; several blanks count as one."""
    more = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    if delimiter == " ":
        lines = [" ".join(line.split("\t")).strip() for line in lines]
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, **more)
    return [row for row in rows if row]


# ---- The delimiter -------------------------------------------------------------------------------------------


def _delimiter(name: str, sample: Sequence[str], quote: str | None) -> str:
    """DataError, with both readings, if a second delimiter is nearly as good."""
    text = _QUOTED[quote or '"'].sub(lambda found: found[1] + ("1" if is_number(found[2]) else "w"), "".join(sample))
    lines = [line for line in text.splitlines() if line.strip()]
    readings = {each: _reading(lines, each) for each in DELIMITERS}
    scores = {each: score * LIKELY[each] for each, (score, _, _) in readings.items() if score > 0}
    if "\t" in scores and scores["\t"] > scores.get(" ", 0) / 2:
        scores.pop(" ", None)  # a tab is no part of a value, and blanks often are
    if not scores:
        return ","
    first, *others = sorted(scores, key=lambda each: -scores[each])
    enough = AS_GOOD if readings[first][1] > PLAIN else NOT_FAR
    for second in others:
        if scores[second] > enough * scores[first] and readings[second][2] != readings[first][2]:
            shown = _cells(sample, first, quote)[-1], _cells(sample, second, quote)[-1]
            raise DataError(
                f"{name}: the last of the first lines is {_shown(shown[0])} with the delimiter {_named(first)}, and "
                f"{_shown(shown[1])} with {_named(second)}, nearly as good; say which: {{path: …, delimiter: "
                f"{first!r}}} or {second!r}"
            )
    return first


def _shown(cells: Sequence[str]) -> str:
    shown = " · ".join(in_one_line(cell)[:LINE_SHOWN] for cell in cells[:5])
    return f"{len(cells)} cells ({shown}{' …' if len(cells) > 5 else ''})"


def _reading(lines: Sequence[str], delimiter: str) -> tuple[float, float, list[list[str]]]:
    """(score, worth of a cell, cells) of lines without quotes; 0 unless most lines have as many cells, and several."""
    rows = [line.split() if delimiter == " " else line.rstrip("\r\n").split(delimiter) for line in lines]
    rows = [[cell.strip() for cell in row] for row in rows]
    body = rows[1:] or rows
    width, alike = Counter(map(len, body)).most_common(1)[0]
    if width < 2 or alike < 0.9 * len(body):  # lines that are too short get an error later
        return 0.0, 0.0, rows
    cells = [cell for row in body for cell in row]
    types = sum(count * _worth(cell, delimiter) for cell, count in Counter(cells).items()) / len(cells)
    begins = 1.0 if abs(len(rows[0]) - width) <= (1 if width > 2 else 0) else 0.3
    return begins * alike / len(body) * types**2 * math.sqrt(1 - 1 / width), types, rows


def _worth(cell: str, delimiter: str) -> float:
    """How much a cell looks like a value: 1 for a number, a date and nothing; less for a word in which other
    delimiters are."""
    if not cell or is_number(cell) or dates.LIKE_A_DATE.fullmatch(cell):
        return 1.0
    others = [each for each in DELIMITERS[:-1] if each != delimiter and each in cell]
    if not others:
        return 0.3 if _NUMBERS.fullmatch(cell) else 0.95
    return 0.7 if others == [","] and re.sub(", ", "", cell).count(",") == 0 else 0.1


# ---- The header ------------------------------------------------------------------------------------------------


def header_of(
    name: str, first: Sequence[str], rows: Sequence[Sequence[str]], *, named: bool = False
) -> tuple[bool, str]:
    """(whether the first line is a header, why). DataError, with both readings, if both are nearly as likely. With
    ``named``, a comment above it seems to have the names."""
    odds, why = header_odds(first, rows)
    if named and odds < SURE:
        return False, ""
    if abs(odds) < SURE:
        shown = ", ".join(in_one_line(cell)[:LINE_SHOWN] for cell in first[:6]) + (" …" if len(first) > 6 else "")
        raise DataError(
            f"{name}: the first line, {shown}, may be a header or a row ({why or 'nothing tells'}); say which: "
            "{path: …, header: true} or {path: …, header: false}"
        )
    return odds > 0, why


def header_odds(first: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[float, str]:
    """The log-odds that the cells of the first line are names, from the rows below, and the reason in words.

    A word above numbers is a name. A word that columns of words do not have again is one with the odds by which a new
    word is unlikely there (Good and Turing: the share of words that come once). A number in the range of the numbers
    below is a value.
    """
    names = [each.strip() for each in first]
    words = [
        not is_number(each) and each.casefold().lstrip("+-") not in {*MISSING, "inf", "infinity"} for each in names
    ]
    empty = [not each for each in names]
    rows = [row for row in rows if len(row) == len(names)]
    said: list[tuple[float, str]] = []
    if all(each or none for each, none in zip(words, empty, strict=True)) and any(words):
        said.append((2.0, "the first line has words alone"))
    elif not any(words):
        said.append((-2.0, "the first line has no word"))
    else:
        said.append((-2.0, "the first line has numbers"))
    if not rows:
        return said[0]
    counted = next((begin for begin in (0, 1) if names == [str(i + begin) for i in range(len(names))]), None)
    numeral = [i for i, (word, none) in enumerate(zip(words, empty, strict=True)) if not word and not none]
    numbered = [begin for begin in (0, 1) if numeral and all(names[i] == str(i + begin) for i in numeral)]
    if any(words) and (numbered == [0] or (numbered and len(numeral) > 3)):
        said.append((len(numeral) * 1.0, "its numbers are those of the columns"))
    for i, cell in enumerate(names):
        below = [row[i].strip() for row in rows]
        there = [each for each in below if each.casefold().lstrip("+-") not in {*MISSING, "inf", "infinity"}]
        numeric = bool(there) and all(map(is_number, there))
        if empty[i] or not there:
            if empty[i] and len(there) == len(below):
                said.append((1.0, "a name is missing above a column without gaps"))
            continue
        if words[i] and (
            numeric or (all(map(dates.LIKE_A_DATE.fullmatch, there)) and not dates.LIKE_A_DATE.fullmatch(cell))
        ):
            said.append((8.0, f"{cell!r} is above {'numbers' if numeric else 'dates'}"))
        elif not numeric:
            said.append(_new_word(cell, there))
        elif numeric and not words[i]:
            odds = _of_number(cell, there)
            said.append((odds, f"{cell} is {'like' if odds < 0 else 'unlike'} the numbers below it"))
    if counted is not None:
        among = all(cell in {row[i].strip() for row in rows} for i, cell in enumerate(names))
        if not among or (counted == 0 and len(names) > 4):
            return 9.0, "it numbers the columns"
        if len(names) > 4 or counted == 0:
            return 0.0, "it numbers the columns, and the rows have the same numbers"
    values = [value for i in numeral if (value := number(names[i])) is not None and math.isfinite(value)]
    steps = {round(b - a, 9) for a, b in pairwise(values)}
    if any(words) and len(values) > 2 and len(steps) == 1 and 0 not in steps:
        said.append((3.0, "its numbers have equal steps"))
    twice = len(names) - len({*names}) - max(0, sum(empty) - 1)
    if twice > 0:
        said.append((-1.0 * twice, "a cell comes twice"))
    total = sum(odds for odds, _ in said)
    strongest = max(said[1:] or said, key=lambda each: each[0] if total > 0 else -each[0])
    return total, strongest[1]


def _new_word(cell: str, below: Sequence[str]) -> tuple[float, str]:
    counts = Counter(below)
    if cell in counts:
        return -4.0, f"{cell!r} comes again below"
    once = sum(count == 1 for count in counts.values())
    return -math.log((once + 0.5) / (len(below) + 1)), f"{cell!r} does not come again in its column"


def _of_number(cell: str, below: Sequence[str]) -> float:
    """What a number above numbers says: it is a value if it is among theirs, perhaps a name far from them."""
    value = number(cell)
    values = [each for each in map(number, below) if each is not None and math.isfinite(each)]
    if value is None or not math.isfinite(value) or not values:
        return 0.0
    low, high = min(values), max(values)
    if low <= value <= high:
        return -1.5
    if low == high:
        return 0.0
    away = max(low - value, value - high)
    return 2.0 if away > 2 * (high - low) and len(values) > 10 else -0.5


def _names_in(
    name: str, above: Sequence[str], inside: Sequence[str], mark: str, delimiter: str, quote: str | None,
    rows: Sequence[Sequence[str]],
) -> list[str]:  # fmt: skip
    """The names in the comment above the rows, as numpy.savetxt writes them; else none. DataError if a comment may be a
    row: it has as many cells."""
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    last = [each.strip() for each in (_cells([above[-1].lstrip(mark).strip()], delimiter, quote) or [[]])[0]]
    is_named = len(last) == width == len({*last}) and not any(is_number(each) or not each for each in last)
    is_named = is_named and header_odds(last, rows)[0] >= SURE
    if delimiter != " ":
        doubtful = [
            line for line in [*above[: -1 if is_named else None], *inside] if _is_like(line, width, delimiter, quote)
        ]
        if doubtful:
            raise DataError(
                f"{name}: {in_one_line(doubtful[0].strip())[:LINE_SHOWN]!r} may be a comment or a row: it has {width} "
                f"cells; say which: {{path: …, comment: {mark!r}}} or {{path: …, comment: ''}}"
            )
    return last if is_named else []


def _is_like(line: str, width: int, delimiter: str, quote: str | None) -> bool:
    return len((_cells([line], delimiter, quote) or [[]])[0]) == width > 1
