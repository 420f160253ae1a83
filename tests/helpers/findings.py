"""What pages say of results: sentences computed from ``results/``, and the numbers in a page that none of them has.

A page that speaks of results has a module in ``tests/findings/``. There, a function decorated with ``@finding(page)``
returns what the page says, with every number computed from ``results/``; `tests/test_findings.py` looks it up in the
page. Line breaks, emphasis and list marks don't matter.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from rffbench.report.compare import Comparison, compare
from rffbench.report.frame import Protocols, Results, load_protocols
from rffbench.stats.intervals import mean_interval

ROOT = Path(__file__).resolve().parent.parent.parent


# ---- Sentences ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """Text that a page must have; ``compute`` makes it of results."""

    page: str
    compute: Callable[[], str]

    def __str__(self) -> str:
        return f"{self.page}: {self.compute.__name__}"


FINDINGS: list[Finding] = []


def finding(*pages: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """The function returns text that is on each of the pages, named from the repository's root."""

    def register(compute: Callable[[], str]) -> Callable[[], str]:
        computed = functools.cache(compute)
        FINDINGS.extend(Finding(page, computed) for page in pages)
        return compute

    return register


def plain(text: str) -> str:
    """Text on one line, without emphasis; without list marks, included tables, code blocks and HTML comments."""
    text = re.sub(r"^```.*?^```|<!-- results/.*?<!-- end -->|<!--.*?-->", "", text, flags=re.M | re.S)
    text = re.sub(r"^ *(?:- |\d+\. )", "", text, flags=re.M)
    text = re.sub(r"\*+", "", text)
    return " ".join(text.split())


def page_text(page: str) -> str:
    return plain((ROOT / page).read_text(encoding="utf-8"))


NUMBER = r"[+−-]?\d[\d,]*(?:\.\d+)?"
_NOT_MEASURED = [
    r"`[^`]*`",
    r"\]\([^)]*\)",  # a link's target
    r"https?://\S+",
    r"\b\d+d\b",  # a size, 16d
    r"(?:Tables?|Figures?|Lemma|Theorem|Eqs?\.|Equations?|Sections?|Algorithm|Appendix|VI-)\s?[\d.]+(?:\([a-z]\))?"
    r"(?: (?:and|to) \d+)?",
    r"\b(?:et al\.,?|AAAI|NIPS|ICML|JMLR|Bengio|Yekutieli) \(?\d{4}\)?",
    r"[A-Za-z_]\w*\d+(?:-\d+)?",  # magic04
    r"[A-Za-zλσγδεµ‖][²′]? ?[=≥≤<>] ?[−-]?[\d.,]+(?:e[−-]?\d+)?(?: or (?:more|less))?",  # λ = 0.05
    r"\[[−-]?\d, ?\d\]",  # an interval that inputs are scaled to
    r"exp\([^)]*\)",
    r"95 %",
    r"‖₂|‖²",
]


def unaccounted(page: str, texts: list[str], described: list[str]) -> list[str]:
    """The numbers of a page, each with the words around it, that are in none of the texts, in no table, and match no
    pattern of what describes an experiment (``described`` has the page's own)."""
    text = re.sub(r"^\|.*$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M)
    text = plain(re.sub(r"^( {4}\S.*\n)+", "", text, flags=re.M))
    for known in sorted(map(plain, texts), key=len, reverse=True):
        text = text.replace(known, " … ")
    for pattern in [*described, *_NOT_MEASURED]:
        text = re.sub(pattern, " … ", text)
    return [text[max(0, m.start() - 40) : m.end() + 30] for m in re.finditer(rf"(?<![\w.]){NUMBER}", text)]


# ---- Results -----------------------------------------------------------------------------------------------


@functools.cache
def protocols(name: str) -> Protocols:
    return load_protocols(ROOT / "results" / name)


@functools.cache
def results(name: str) -> Results:
    """Of an experiment; of a sweep, its first protocol."""
    return protocols(name)[0][1]


@functools.cache
def compared(name: str) -> Comparison:
    """With the paper's numbers, without claims."""
    return compare(results(name), judged=False)


def trials(name: str, metric: str = "accuracy", **where: object) -> pd.DataFrame:
    """A metric by trial (rows) and size and method (columns): those of ``dataset``, ``method``, ``multiple`` asked for,
    each a value or a list of values."""
    rows = results(name).trials
    for column, value in where.items():
        rows = rows[rows[column].isin(value if isinstance(value, list) else [value])]
    return rows.pivot(index="trial", columns=["multiple", "method"], values=metric)


def mean(name: str, dataset: str, method: str, multiple: int, metric: str = "accuracy") -> float:
    """Over the trials of one cell."""
    return float(trials(name, metric, dataset=dataset, method=method, multiple=multiple).mean().iloc[0])


def mean_of(name: str, dataset: str, method: str, metric: str = "accuracy") -> float:
    """Over the trials of a method that has a single size on a dataset."""
    rows = results(name).trials.query("dataset == @dataset and method == @method and status == 'ok'")
    assert rows["n_features"].nunique() == 1, (dataset, method)
    return float(rows[metric].mean())


def gain(
    name: str, dataset: str, method: str, baseline: str, multiple: int, metric: str = "accuracy"
) -> tuple[float, float, float]:
    """The method less the baseline in one cell, paired by trial: the mean and its 95 % interval on this dataset."""
    both = trials(name, metric, dataset=dataset, multiple=multiple)[multiple]
    differences = (both[method] - both[baseline]).dropna()
    return (float(differences.mean()), *mean_interval(differences))


# ---- Words -------------------------------------------------------------------------------------------------


def signed(value: float, decimals: int = 2) -> str:
    """+1.07, −0.40."""
    return f"{round(value, decimals) + 0.0:+.{decimals}f}".replace("-", "−")


def span(values: list[float], decimals: int = 1) -> str:
    """``0.3 to 0.4``; one number where both round to it."""
    low, high = (f"{value:.{decimals}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]


def word(count: int) -> str:
    """A count up to twelve as a word."""
    return _WORDS[count] if count < len(_WORDS) else str(count)
