"""Dates in the cells of a table: their format, and the numbers that they are read as."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y",
        "%B %d, %Y", "%b %d, %Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y")  # fmt: skip
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f", "T%H:%M:%SZ",
         "T%H:%M:%S.%fZ", " %H:%M:%S%z", "T%H:%M:%S%z", " %I:%M %p", " %I:%M:%S %p")  # fmt: skip
PARTS = ("year", "month", "day", "weekday")
LIKE_A_DATE = re.compile(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T].*)?|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d\d)( .*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}( .*)?|[A-Za-z]{3,9} \d{1,2}, \d{4}( .*)?"
)


def parts_of(format_: str) -> tuple[str, ...]:
    """The names of the numbers that a date of this format is read as; the hour only if it has one."""
    return (*PARTS, "hour") if "%H" in format_ or "%I" in format_ else PARTS


def formats_of(texts: Iterable[str]) -> list[str]:
    """The formats in which all of the texts are dates, the most usual one first; several for 01/02/2024."""
    texts = [*texts]
    if not texts or not all(map(LIKE_A_DATE.fullmatch, texts)):
        return []
    return [day + time for day in DAYS for time in TIMES if _fits(texts, day + time)]


def _fits(texts: Sequence[str], format_: str) -> bool:
    try:
        moments(texts[:1], format_)  # most formats fail here
        moments(texts, format_)
    except ValueError:
        return False
    return True


def moments(texts: Sequence[str], format_: str) -> np.ndarray:
    """The texts (n,) as datetime64, NaT for an empty one; ValueError for one that is no date of the format."""
    import pandas

    cells = pandas.Series([text or None for text in texts], dtype=object)
    found = pandas.to_datetime(cells, format=format_, errors="raise", utc="z" in format_)
    return np.asarray(found.dt.tz_localize(None))


def numbers(texts: Sequence[str], format_: str) -> np.ndarray:
    """The parts of dates, (n, parts): year, month 1–12, day of the month, weekday from Monday 0, hour with the minutes
    and seconds as its fraction. NaN for an empty text; ValueError for one that is no date of the format."""
    import pandas

    when = pandas.DatetimeIndex(moments(texts, format_))
    parts = {
        "year": when.year, "month": when.month, "day": when.day, "weekday": when.day_of_week,
        "hour": when.hour + when.minute / 60 + when.second / 3600,
    }  # fmt: skip
    return np.column_stack([np.asarray(parts[part], dtype=np.float64) for part in parts_of(format_)])
