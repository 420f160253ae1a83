"""The advice in at most twelve lines."""

from __future__ import annotations

import math

from rffbench.fit.advising import Advice, Row
from rffbench.fit.candidates import CONSTANT, LINEAR, Candidate
from rffbench.fit.metrics import Metric
from rffbench.fit.trying import Search
from rffbench.stats import columns_needed
from rffbench.text import first_of

MAPS_OF = {"RandomFourierFeatures": "random Fourier features", "NystroemFeatures": "Nyström features"}


def lines(search: Search, advice: Advice) -> list[str]:
    """The task, the advice, the table, the number of columns, and what was not tried."""
    return [
        search.question.in_one_line(),
        in_a_sentence(search, advice),
        *table(search.metric, advice.rows),
        *about_columns(search, advice),
        *not_tried(search),
    ]


def in_a_sentence(search: Search, advice: Advice) -> str:
    """The advice."""
    what = " and ".join(search.question.targets)
    if advice.use is None:
        return f"Advice: none. Nothing is shown to predict {what} better than a constant does."
    if len(search.splits) < 2:
        return f"Advice: {described(advice.use, advice.columns)}, from one split alone: give it more time."
    if advice.use == LINEAR:
        return "Advice: linear regression without a map; no map is shown to be better."
    said = f"Advice: {described(advice.use, advice.columns)}"
    if advice.over is None:
        return f"{said}; no other is shown to be better."
    by = search.metric.shown(advice.over.mean)
    return f"{said}; better than {advice.base} by {by:.{_decimals(by)}f}."


def described(candidate: Candidate, columns: int) -> str:
    """A candidate in words, with its columns."""
    if not columns:
        return candidate.name
    name = candidate.name
    if candidate.kernel != "gaussian" and candidate.map in MAPS_OF and not name.endswith("Nyström"):
        name = f"{name}, {MAPS_OF[candidate.map]}"
    return f"{name}, {columns:,} columns"


def table(metric: Metric, rows: list[Row]) -> list[str]:
    """The table; all rows have the same trials."""
    spread = [metric.shown(each.error) for each in rows if math.isfinite(each.error) and each.error > 0]
    decimals = max(0, _decimals(min(spread, default=metric.shown(abs(rows[0].score) / 100))))
    shown = []
    for each in rows:
        error = f" ± {metric.shown(each.error):.{decimals}f}" if math.isfinite(each.error) else ""
        score = f"{metric.shown(each.score):.{decimals}f}{error}"
        shown.append((each.name, f"{each.columns:,}" if each.columns else "", score, f"{each.seconds:.2g}"))
    header = ("", "columns", f"{metric.title} ± s.e.", "seconds")
    widths = [max(len(cell) for cell in column) for column in zip(header, *shown, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(each, widths, strict=True))
        ).rstrip()
        for each in (header, *shown)
    ]


def _decimals(number: float) -> int:
    """Decimals that show two digits of a number."""
    return 1 if not number or not math.isfinite(number) else max(0, 1 - math.floor(math.log10(abs(number))))


def about_columns(search: Search, advice: Advice) -> list[str]:
    """What columns are, and how many would be enough."""
    if not advice.use or not advice.columns:
        return []
    sizes = search.sizes(advice.use)
    losses = [search.metric.loss([each.score for each in search.trials[advice.use, size]]) for size in sizes]
    constant = search.metric.loss([each.score for each in search.trials[CONSTANT, 0]])
    needed = columns_needed(sizes, losses, constant)
    said = f"Columns are numbers computed from a row: {advice.columns:,}"
    if needed.estimate is None:
        return [f"{said}; how many are enough is not known: {needed.why_not}."]
    return [f"{said}; {needed}."]


def not_tried(search: Search) -> list[str]:
    """What there was no time for."""
    names = list(dict.fromkeys(search.not_tried))
    if search.interrupted:
        return ["Stopped by Ctrl-C: other kernels, maps and sizes were not tried."]
    return [f"Not tried, for want of time: {first_of(names, 3)}."] if names else ["All that was planned was tried."]
