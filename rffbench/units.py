"""Times and amounts of memory as people write them: ``30m``, ``6GB``, read and printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

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


def so_many(number: int, what: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def first_of(names: Sequence[str], most: int, more: str = "more") -> str:
    """``a, b and 3 more``: the first ``most`` names, and how many there are besides."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} {more}" if rest > 0 else "")


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def amount(size: float) -> str:
    """So many bytes: ``510 kB``, ``35 MB``, ``6.20 GB``."""
    if size >= 1e9:
        return f"{size / 1e9:.2f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
