"""Values as text: readable amounts and times, canonical JSON, text made safe to print."""

from __future__ import annotations

import json
import re
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

NOT_RUN = "–"
"""What a cell has in place of a number that is not known."""
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"must be a number, not {str(value).lower()}")
    return value


def quantity(units: dict[str, int], example: str) -> Callable[[object], object]:
    """A validator of numbers with a unit, such as ``30m``; a bare number is in the first of ``units``."""

    def validate(value: object) -> object:
        if isinstance(value, str):
            match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([A-Za-z]*)", value.strip())
            base = next(iter(units))
            if not match or (match[2] or base) not in units:
                raise ValueError(f"must be such as {example} (units: {', '.join(units)}), not {value!r}")
            return float(match[1]) * units[match[2] or base]
        return number(value)

    return validate


def plural(number: int, what: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def first_of(names: Sequence[str], most: int, more: str = "more") -> str:
    """``a, b and 3 more``: the first ``most`` names and the number of others."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} {more}" if rest > 0 else "")


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The text in indented lines of at most ``width`` characters; longer words, such as paths, are not broken."""
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# ---- Equal values, equal text --------------------------------------------------------------------------------

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return _encode(value)


# ---- Safe to print -------------------------------------------------------------------------------------------

# Controls but the tab and the end of a line; what turns the direction of writing; halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with control characters of a terminal escaped, ESC as ``\x1b``; newlines and tabs stay."""
    return _UNPRINTABLE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def in_one_line(text: str) -> str:
    """The same, and lines and tabs are spaces."""
    return printable(re.sub(r"[\t\r\n]+", " ", text))


_SPELT = {"±": "+-", "•": "*", "–": "-", "—": "-", "−": "-", "─": "-", "█": "#", "×": "x", "‖": "||", "→": "->",
          "≤": "<=", "≥": ">=", "≈": "~", "√": "sqrt", "†": "+", "‡": "++", "·": "."}  # fmt: skip


def spelt_out(error: UnicodeError) -> tuple[str, int]:
    """An error handler for codecs: spells out characters that an encoding lacks, ``sigma``, ``<=``, or writes a
    question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_spelt, error.object[error.start : error.end])), error.end


def _spelt(character: str) -> str:
    if known := _SPELT.get(character):
        return known
    if greek := re.fullmatch(r"GREEK (?:SMALL|CAPITAL) LETTER ([A-Z]+)", unicodedata.name(character, "")):
        return greek[1].lower().replace("lamda", "lambda")
    parts = unicodedata.normalize("NFKD", character)
    plain = parts.encode("ascii", "ignore").decode()
    return plain or ("" if all(map(unicodedata.combining, parts)) else "?")
