"""The advice in at most twelve lines."""

from __future__ import annotations

import math

from rffbench.fit.advising import Advice, Row
from rffbench.fit.candidates import CONSTANT, FOURIER, LINEAR, Candidate
from rffbench.fit.metrics import Metric
from rffbench.fit.trying import Search
from rffbench.io.text import first_of
from rffbench.stats import columns_needed

MAPS = {
    "RandomFourierFeatures": "Fourier features",
    "NystroemFeatures": "Nyström features",
    "ActivationFeatures": "random rectifiers",
    "TensorSketchFeatures": "TensorSketch features",
    "OrthogonalRandomFeatures": "orthogonal features",
    "StructuredOrthogonalFeatures": "SORF features",
    "QuasiMonteCarloFeatures": "quasi-Monte Carlo features",
}
KERNELS = {"gaussian": "Gaussian", "laplacian": "Laplacian", "matern": "Matérn", "cauchy": "Cauchy"}
WIDTH = 80


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
        kind = "logistic" if search.metric.of_classes else "linear"
        return f"Advice: {kind} regression without a map; no map is shown to be better."
    said = f"Advice: {described(advice.use, advice.columns)}"
    if advice.over is None:
        return f"{said}; none beats it."
    by = search.metric.shown(advice.over.mean)
    if by <= 0:
        return f"{said}; the test rows do not confirm it."
    over = "" if advice.columns else f" than {advice.base}"
    return f"{said}: better{over} by {by:.{_decimals(by)}f}."


def described(candidate: Candidate, columns: int) -> str:
    """A candidate in words: its kernel, its map and its columns."""
    if not columns:
        return candidate.name
    plain = "random " if candidate == FOURIER else ""
    kernel = str(candidate.kernel)
    return f"{KERNELS.get(kernel, kernel)} kernel, {plain}{MAPS[candidate.map]}, {columns:,} columns"


def table(metric: Metric, rows: list[Row]) -> list[str]:
    """The table; all rows have the same trials."""
    width = rows[0].error if rows[0].error > 0 else abs(rows[0].score) / 100
    decimals = _decimals(metric.shown(width))
    shown = []
    for each in rows:
        error = f" ± {metric.shown(each.error):.{decimals}f}" if math.isfinite(each.error) else ""
        score = f"{metric.shown(each.score):.{decimals}f}{error}"
        shown.append((each.name, f"{each.columns:,}" if each.columns else "", score, f"{each.seconds:.2g}"))
    header = ("method (columns: numbers made of a row)", "columns", f"{metric.title} ± s.e.", "seconds")
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
    """How many columns would be enough."""
    if not advice.use or not advice.columns:
        return []
    sizes = search.sizes(advice.use)
    of_sizes = [search.trials[advice.use, size] for size in sizes]
    common = set.intersection(*({each.split for each in trials} for trials in of_sizes))
    *losses, constant = (
        search.metric.loss([each.score for each in trials if each.split in common])
        for trials in [*of_sizes, search.trials[CONSTANT, 0]]
    )
    tested = set().union(*(search.splits[each].test.tolist() for each in common))
    needed = columns_needed(sizes, losses, constant, test_rows=len(tested))
    if needed.estimate is not None:
        return [
            f"{advice.columns:,} columns; about {needed.estimate:,} ({needed.low:,} to {needed.high:,}) "
            "come within 1 % of what more can give."
        ]
    why = "that takes 512 or more" if "three sizes" in needed.why_not else needed.why_not
    return [f"{advice.columns:,} columns; not known if enough: {why}."]


def about_rows(search: Search) -> list[str]:
    """That the search takes a part of the rows, if it does."""
    most, rows = search.training_rows, search.question.rows
    if most > 0.7 * rows:
        return []
    return [
        f"the search fits to {most:,} of the {rows:,} rows at a time, and the model to all; --minutes says otherwise"
    ]


def not_tried(search: Search) -> list[str]:
    """What there was no time for, and what failed, in a line."""
    if search.interrupted:
        return ["Stopped by Ctrl-C: other kernels, maps and sizes were not tried."]
    names = list(dict.fromkeys(search.not_tried))
    if not names:
        return ["All that was planned was tried."]
    some_failed = any(name.endswith("(failed)") for name in names)
    why = "Left out, for want of time or failed" if some_failed else "Not tried, for want of time"
    lines = [f"{why}: {first_of(names, most)}." for most in range(len(names), 0, -1)]
    short = f"{why}: {len(names)} other kernels, maps and sizes."
    return [next((line for line in lines if len(line) <= WIDTH), short)]
