"""What results say, as numbers, verdicts and tables for pages: cells beside a paper's, claims, means over trials.

Cells and claims are those of `rffbench.Results.compare`, made from the trials when first asked for, and trials those of
`rffbench.load`. A filter takes columns by name, with a value, a list of values, or a test: ``dataset="eeg"``,
``method=["RFF", "QMC"]``, ``n_features=lambda size: size > 64``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

import rffbench
from rffbench.stats import mean_interval

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "studies" / "papers" / "experiments.yaml"
FLAWS = ROOT / "results" / "papers" / "protocol-flaws.csv"
HOLDS, REFUTED, OPEN, NOT_MEASURED = "holds", "does not hold", "not enough evidence", "not measured"
AGREES, DIFFERS, NO_SPREAD = ("reproduced", "close"), "differs", "no spread"
INCOMPARABLE = ("data not here", "method not here", "not comparable")
SHORT = {HOLDS: "holds", REFUTED: "**fails**", OPEN: "open"}


@cache
def compared(experiment: str) -> dict[str, pd.DataFrame]:
    """An experiment beside its paper: its cells, ratios of costs, and claims. Nothing of one that is not there, or has
    no reference, nor of a search whose protocols are ranked alone."""
    if not folder_of(experiment).is_dir() or searches().get(experiment) == "ranked alone":
        return {}
    if not results(experiment).config.get("reference"):
        return {}
    found = results(experiment).compare()
    kinds = {"cell": found.cells, "ratio": found.costs, "claim": found.claims}
    return {kind: rows.assign(experiment=experiment) for kind, rows in kinds.items() if len(rows)}


def chosen(rows: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """The rows whose columns have these values."""
    if rows.empty:
        return rows
    for column, wanted in where.items():
        if callable(wanted):
            rows = rows[rows[column].map(wanted).astype(bool)]
        else:
            rows = rows[rows[column].isin(wanted if isinstance(wanted, list | tuple) else [wanted])]
    return rows


# ---- Cells -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cells:
    """A paper's numbers, and those measured here."""

    rows: pd.DataFrame

    def where(self, **where: Any) -> Cells:
        return Cells(chosen(self.rows, **where))

    def kind(self, name: str) -> Cells:
        """Those of methods whose names begin with this word."""
        return self.where(method=lambda method: method.split(" ")[0] == name)

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Those both reported and measured, on the same rows."""
        return self.rows[self.rows["verdict"].isin([*AGREES, DIFFERS])] if len(self.rows) else self.rows

    def count(self, *verdicts: str) -> int:
        return int(self.rows["verdict"].isin(verdicts).sum()) if len(self.rows) else 0

    @property
    def agree(self) -> int:
        return self.count(*AGREES)

    @property
    def differ(self) -> int:
        return self.count(DIFFERS)

    @property
    def said(self) -> str:
        """``82 of 84``."""
        return f"{self.agree:,} of {len(self.compared):,}" if len(self.compared) else "–"

    @property
    def share(self) -> float:
        """Of those compared, the percentage that agrees."""
        return 100 * self.agree / len(self.compared)

    @property
    def incomparable(self) -> int:
        return self.count(*INCOMPARABLE)

    @property
    def gaps(self) -> pd.Series:
        """Measured less reported: points of an accuracy, percent of an error."""
        return self.compared["difference"]

    @property
    def allowed(self) -> float:
        """How far a cell may differ, in the median."""
        return float(self.compared["tolerance"].median())

    @property
    def mean_differences(self) -> str:
        """``+0.55 points, −1.2 %, kernel −2.1 %``: of accuracies, of errors by the logarithms of their ratios, and of
        kernel errors; each is the mean over datasets of their cells' mean."""
        said = []
        for kind, rows in self.compared.groupby(self.compared["metric"].map(_kind)):
            if kind == "points":
                said.append(f"{signed(rows.groupby('dataset')['difference'].mean().mean())} points")
            else:
                logs = np.log(rows["measured"] / rows["reported"]).groupby(rows["dataset"]).mean()
                said.append(f"{kind}{signed(100 * math.expm1(logs.mean()), 1)} %")
        return ", ".join(sorted(said))


def _kind(metric: str) -> str:
    if metric == "accuracy":
        return "points"
    return "kernel " if metric.endswith("_error") and metric != "relative_error" else ""


def cells(*experiments: str, **where: Any) -> Cells:
    """Those of one experiment, or of several."""
    return Cells(_together(experiments, "cell")).where(**where)


def ratios(*experiments: str, **where: Any) -> Cells:
    """Ratios of one method's costs to another's, beside the paper's."""
    return Cells(_together(experiments, "ratio")).where(**where)


def _together(experiments: tuple[str, ...], kind: str) -> pd.DataFrame:
    parts = [compared(name)[kind] for name in experiments if kind in compared(name)]
    return pd.concat(parts) if parts else pd.DataFrame()


def size_of(row: dict[str, Any]) -> str:
    """``16d``; a count where sizes are counts; the fold of a cell that is one trial's."""
    if pd.notna(row.get("trial")):
        return f"fold {row['trial']:.0f}"
    return f"{row['multiple']:.0f}d" if pd.notna(row["multiple"]) else f"{row['n_features']:.0f}"


def cell(row: dict[str, Any], digits: int = 4) -> str:
    """Measured and, in brackets, reported; bold where they differ."""
    measured, reported = (f"{row[which]:.{digits}g}" for which in ("measured", "reported"))
    return f"**{measured}** ({reported})" if row["verdict"] == DIFFERS else f"{measured} ({reported})"


def table(of: Cells, down: str | Sequence[str], across: str = "", digits: int = 4) -> str:
    """The cells as in the paper: ``down`` and ``across`` are columns, of which ``size`` is the size in words."""
    rows = of.rows[of.rows["difference"].notna()]
    rows = rows.assign(size=[size_of(row) for row in rows.to_dict("records")])
    down = [down] if isinstance(down, str) else list(down)
    columns = list(dict.fromkeys(rows[across])) if across else ["measured (reported)"]
    lines = [line([*down, *columns]), "|" + "---|" * len(down) + "--:|" * len(columns)]
    for names, part in rows.groupby(down, sort=False):
        found = {row[across] if across else columns[0]: cell(row, digits) for row in part.to_dict("records")}
        lines.append(line([*names, *(found.get(each, "") for each in columns)]))
    return "\n".join(lines)


def agreement(of: Cells, down: str, across: str, names: dict[str, str] | None = None) -> str:
    """How many cells agree, of those compared: a table."""
    rows, names = of.compared, names or {}
    columns = list(dict.fromkeys(rows[across]))
    lines = [line([down, *(names.get(each, each) for each in columns), "all"]), "|---|" + "--:|" * (len(columns) + 1)]
    for name, part in rows.groupby(down, sort=False):
        counts = [Cells(part[part[across] == each]) for each in columns]
        said = [each.said.replace("–", "") for each in counts]
        lines.append(line([names.get(str(name), str(name)), *said, Cells(part).said]))
    return "\n".join(lines)


def line(texts: Iterable[str]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(str(text).replace('|', chr(92) + '|') for text in texts)} |"


# ---- Claims ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claims:
    """A paper's sentences, judged: a row for each dataset and pair of methods."""

    rows: pd.DataFrame

    def where(self, **where: Any) -> Claims:
        return Claims(chosen(self.rows, **where))

    @property
    def judged(self) -> pd.DataFrame:
        return self.rows[self.rows["verdict"] != NOT_MEASURED] if len(self.rows) else self.rows

    def count(self, verdict: str, by: str = "verdict") -> int:
        """``by``: verdict, verdict_adjusted (all claims of an experiment together), or verdict_in_mean (over sizes)."""
        return int((self.judged[by] == verdict).sum()) if len(self.judged) else 0

    @property
    def held(self) -> int:
        return self.count(HOLDS)

    @property
    def refuted(self) -> int:
        return self.count(REFUTED)

    @property
    def open(self) -> int:
        return self.count(OPEN)

    @property
    def verdict(self) -> str:
        """The verdict of them all; ``several`` where they have more than one."""
        return _one(self.judged, "verdict")

    @property
    def together(self) -> str:
        """The verdict of them all after the correction for all claims of their experiment."""
        return _one(self.judged, "verdict_adjusted")

    @property
    def measured(self) -> pd.Series:
        return self.judged["measured"]


def _one(claims: pd.DataFrame, column: str) -> str:
    if claims.empty:
        return NOT_MEASURED
    found = set(claims[column])
    return found.pop() if len(found) == 1 else "several"


def claims(*experiments: str, **where: Any) -> Claims:
    """Those of one experiment, or of several."""
    return Claims(_together(experiments, "claim")).where(**where)


def claims_table(*experiments: str, alike: str = "", each: str = "…") -> str:
    """A row for each claim: in how many cases it holds, fails and is open. Claims that differ in what the pattern
    ``alike`` matches are one, with ``each`` in its place."""
    rows = claims(*experiments).judged
    rows = rows.assign(told=rows["claim"].str.replace(alike, each, regex=True) if alike else rows["claim"])
    lines = [line(["claim", "asked for", "holds", "fails", "open"]), "|---|---|--:|--:|--:|"]
    for sentence, part in rows.groupby("told", sort=False):
        counts = [_with_correction(part, verdict) for verdict in (HOLDS, REFUTED)]
        asked = ", ".join(dict.fromkeys(part["asked"]))
        lines.append(line([sentence, asked, *counts, str((part["verdict"] == OPEN).sum() or "")]))
    return "\n".join(lines)


def _with_correction(rows: pd.DataFrame, verdict: str) -> str:
    """A count, and in brackets that of claims judged together, where it is another."""
    count, together = (int((rows[column] == verdict).sum()) for column in ("verdict", "verdict_adjusted"))
    return f"{count} ({together})" if count != together else str(count or "")


def verdicts(of: Claims, down: str | Sequence[str], across: str) -> str:
    """Claims as a table: the verdict, the number and its 95 % interval."""
    down = [down] if isinstance(down, str) else list(down)
    rows = of.judged.fillna(dict.fromkeys(down, ""))
    columns = list(dict.fromkeys(rows[across]))
    lines = [line([*down, *columns]), "|" + "---|" * len(down) + "--:|" * len(columns)]
    for names, part in rows.groupby(down, sort=False):
        found = {row[across]: _finding(row) for row in part.to_dict("records")}
        lines.append(line([*names, *(found.get(each, "") for each in columns)]))
    return "\n".join(lines)


def _finding(row: dict[str, Any]) -> str:
    mark = "" if row["verdict_adjusted"] == row["verdict"] else " †"
    return f"{SHORT[row['verdict']]}{mark} {row['measured']:.3g} ({row['low']:.3g} to {row['high']:.3g})"


# ---- Trials ----------------------------------------------------------------------------------------------------------


def folder_of(experiment: str) -> Path:
    """The experiment's folder, in whatever group of results/ it is; one that is not there is results/NAME."""
    found = sorted((ROOT / "results").rglob(f"{experiment}/config.yaml"))
    return found[0].parent if found else ROOT / "results" / experiment


@cache
def results(experiment: str) -> rffbench.Results:
    return rffbench.load(folder_of(experiment))


@cache
def trials(experiment: str) -> pd.DataFrame:
    rows = results(experiment).trials
    return rows[rows["status"] == "ok"]


def is_finished(experiment: str) -> bool:
    """Whether every planned trial has run, in every protocol of a sweep; one whose data could not be had has not."""
    return (folder_of(experiment) / "config.yaml").exists() and all(
        len(each.trials[each.trials["status"] != "unavailable"]) >= each.planned["trials"].sum()
        for _, each in results(experiment).protocols
    )


def mean(experiment: str, metric: str, **where: Any) -> float:
    """Over the trials of one cell; an error if they are of several."""
    rows = chosen(trials(experiment), **where)
    if rows.empty or len(rows[["dataset", "method", "n_features"]].drop_duplicates()) > 1:
        raise ValueError(f"{experiment}, {where}: not the trials of one cell")
    return float(rows[metric].mean())


@dataclass(frozen=True)
class Gain:
    """A mean of paired differences, with Student's 95 % interval over trials."""

    mean: float
    low: float
    high: float

    @property
    def said(self) -> str:
        """``−1.85 (−2.22 to −1.47)``."""
        return f"{signed(self.mean)} ({signed(self.low)} to {signed(self.high)})"

    @property
    def verdict(self) -> str:
        """better, worse, or undecided where the interval covers 0."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "undecided"


def gain(experiment: str, method: str, baseline: str, metric: str = "accuracy", **where: Any) -> Gain:
    """The method less the baseline in one cell, paired by trial."""
    rows = chosen(trials(experiment), **where)
    pairs = rows[rows["method"].isin([method, baseline])].pivot(index="trial", columns="method", values=metric)
    return interval((pairs[method] - pairs[baseline]).dropna())


def interval(values: pd.Series) -> Gain:
    """The mean of the values, with Student's 95 % interval."""
    return Gain(float(values.mean()), *mean_interval(values))


@cache
def released(file: str) -> pd.DataFrame:
    """A file of numbers that a paper's authors released, as it is kept with the references."""
    return pd.read_csv(ROOT / "rffbench" / "papers" / file)


def flaw(name: str, dataset: str) -> dict[str, float]:
    """What a flaw of a released protocol is worth, ``effect``, with its interval, ``low`` and ``high``, and the scores
    ``with`` and ``without`` it; ``name`` is how its description begins."""
    with open(FLAWS, encoding="utf-8", newline="") as lines:
        (row,) = (row for row in csv.DictReader(lines) if row["flaw"].startswith(name) and row["dataset"] == dataset)
    return {column: float(row[column]) for column in ("effect", "low", "high", "with", "without")}


# ---- Papers ----------------------------------------------------------------------------------------------------------


@cache
def papers() -> dict[str, dict[str, Any]]:
    """Every paper's experiments, by their role, with what they are of."""
    return yaml.safe_load(PAPERS.read_text(encoding="utf-8"))


def searches() -> dict[str, str]:
    """The searches for a paper's protocol, and whether these are ``ranked alone``, by their distance to the paper's
    numbers, or ``ranked and compared`` with them."""
    return {name: how for paper in papers().values() for name, how in paper.get("searches", {}).items()}


def of_paper(paper: str, *roles: str) -> list[str]:
    """The names of a paper's experiments with these roles; of all without one."""
    found = papers()[paper]
    return [name for role in roles or ("reproductions", "studies", "controls") for name in found.get(role, {})]


def experiments(paper: str) -> str:
    """A paper's experiments, a row each: how many cells agree, what its claims came to, where the results are."""
    names = ["experiment", "cells that agree", "claims hold", "fail", "open", "results"]
    lines = [line(names), "|---|--:|--:|--:|--:|---|"]
    for role, said in (("reproductions", ""), ("studies", " (a study)"), ("controls", " (a control)")):
        for name, title in papers()[paper].get(role, {}).items():
            judged = claims(name).judged
            counts = [_with_correction(judged, each) if len(judged) else "" for each in (HOLDS, REFUTED)]
            link = f"[{name}](../../{folder_of(name).relative_to(ROOT).as_posix()})"
            lines.append(line([title + said, cells(name).said, *counts, str(claims(name).open or ""), link]))
    return "\n".join(lines)


def every_cell(paper: str) -> str:
    """The text of the CSV file beside a paper's page: every cell that was compared."""
    of = cells(*of_paper(paper))
    if of.rows.empty:
        return ""
    rows = of.rows[of.rows["difference"].notna()]
    rows = rows.assign(size=[size_of(row) for row in rows.to_dict("records")])
    names = ["experiment", "dataset", "method", "size", "metric", "reported", "measured", "difference", "tolerance"]
    written = rows[[*names, "verdict"]].to_csv(index=False, float_format="%.5g", lineterminator="\n")
    return written if len(rows) else ""


# ---- Words -----------------------------------------------------------------------------------------------------------


def signed(value: float, decimals: int = 2) -> str:
    """+1.07, −0.40."""
    return f"{round(value, decimals) + 0.0:+.{decimals}f}".replace("-", "−")


def span(values: Iterable[float], decimals: int = 1) -> str:
    """``0.3 to 0.4``; one number where both round to it."""
    values = list(values)
    low, high = (f"{value:.{decimals}f}".replace("-", "−") for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


_WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def word(count: int) -> str:
    """A count up to twelve as a word."""
    return _WORDS[count] if count < len(_WORDS) else f"{count:,}"


def listed(names: Iterable[str]) -> str:
    """``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
