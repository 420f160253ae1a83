"""Write what came out from results/ and docs/reproduction.yaml: python scripts/reproduction.py [--check]

docs/reproduction.md opens with a table of all papers; below are their experiments. Each paper has a page in
docs/reproduction/: whether it reproduces, what was assumed, what is off, its notes, and then each of its tables and
figures in full. It reads the compare.csv and statistics.md that `rffbench compare` writes, and the search.md of
`python -m studies.papers.search`. With --check
nothing is written; exit status 1 says that a page is out of date.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from scipy.stats import binom

from rffbench.config.grid import Grid
from rffbench.config.loading import load_resolved
from rffbench.execution.log import log_files, read_rows
from rffbench.execution.manifest import runs_of
from rffbench.io.text import plural
from rffbench.papers import Reference, references, role_of
from rffbench.papers.table import NOT_MEASURED
from rffbench.report.agreement import lean
from rffbench.report.cells import (
    CLOSE,
    DIFFERS,
    INCOMPARABLE,
    NO_SPREAD,
    NOT_COMPARABLE,
    OTHER_ROWS,
    REPRODUCED,
    WITHOUT_SPREAD,
    counted,
    in_words,
    left_out,
)
from rffbench.report.claims import load_claims
from rffbench.report.escape import from_csv_cell
from rffbench.report.writeup import CSV_COLUMNS
from rffbench.stats.intervals import LEVEL
from rffbench.stats.verdicts import HOLDS, OPEN, REFUTED
from rffbench.trials.metrics import METRICS, PERCENT

ROOT = Path(__file__).resolve().parent.parent
VERDICT_PAGE = ROOT / "docs" / "reproduction.md"
FOLDER = ROOT / "docs" / "reproduction"  # of the papers' pages
FLAWS = ROOT / "results" / "protocol-flaws.csv"  # of scripts/protocol_flaws.py
MOST_DIFFERENT = 5  # cells that differ, by name in a sentence
MOST_NAMED = 40  # cells that differ for one reason, by name in a table
FEWEST_LEANING, LEANING = 10, 0.85  # cells, and the share of them on one side, of a dataset that leans
VERDICTS = {
    REPRODUCED: "reproduced",
    CLOSE: "close",
    DIFFERS: "different",
    OTHER_ROWS: "on other rows",
    NO_SPREAD: WITHOUT_SPREAD,
}
ROLES = {
    "": "Reproductions",
    "study": "Studies of its methods",
    "apart": "Negative controls and protocol searches, which are in no sum",
}
ASIDE = {"": "", "study": " (a study)", "apart": " (a control)"}
"""What a table of several experiments says of those that are no reproduction."""
MOST_PAIRS = 6  # pairs of methods in a table whose rows are experiments
# Two protocols are one where they differ in these alone.
NO_PROTOCOL = (
    "name", "title", "datasets", "n_features", "trials", "timing", "memory", "time_limit", "kernel_error_points",
)  # fmt: skip
CASE = ["told", "released", "methods"]  # of a claim
MARK, LEANS = "†", "Do the differences lean to one side?"
NOTES, CLAIMS = "What else came out", "Its claims"
IN_WORDS = {HOLDS: ("holds", "hold"), REFUTED: ("does not hold", "do not hold"), OPEN: ("is open", "are open")}
IN_A_CELL = {HOLDS: "holds", REFUTED: "**fails**", OPEN: "open"}
TITLES = {
    "accuracy": "accuracy in %",
    "rmse": "RMSE",
    "relative_rmse": "relative RMSE",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "kernel_error": "kernel error",
    "cross_error": "kernel error between two samples",
    "frobenius_error": "kernel error (Frobenius)",
    "complex_frobenius_error": "kernel error of complex features (Frobenius)",
    "model_size": "size",
    "train_s": "training time",
    "predict_s": "test time",
    "own_memory_bytes": "memory",
}

INTRODUCTION = """\
# What came out

Do papers' numbers come out here? The table has a row for each paper; its name links to the experiments. Each paper also
has a page of its own, with the assumptions, the differences, notes, every cell that was compared and every claim that
was judged. `make reproduction` writes these pages from `results/`. `tests/test_findings.py` computes the numbers in
sentences from results; only what describes a protocol is typed.
"""

FLAWS_INTRODUCTION = """\
`python scripts/protocol_flaws.py` runs each protocol with its flaw and without, all else the same. The difference has
its 95 % interval over the runs; accuracies differ in points, errors in percent of the error without the flaw. What it
is worth to choose σ on the test part on more data, and λ with it, stands on the page of
[Wu et al. 2016](reproduction/wu2016.md#at-equal-rank).
Bins of test rows alone change no score, on any data: a column that no training row has gets the weight 0.
"""

EXPLANATION = """\
## What the words mean

**Cells** are the paper's numbers next to ours. A cell is *reproduced* where the difference is within the tolerance and
Welch's 95 % interval of the difference covers 0 (or the paper gives no spread), *close* where it is within the
tolerance and the interval excludes 0, and *differs* beyond it; what differs is in **bold**. A ratio of costs is
reproduced within a factor of two of the paper's, and differs where the other method is the cheaper.

Where numbers were released with the spread of their runs, a cell is *reproduced* where the two means differ by no more
than runs of one protocol do: t₉₅·s·√(1/n₁ + 1/n₂) and half a unit of the last decimal, with the pooled spread s of n₁
runs there and n₂ trials here. With the right protocol 95 % of the cells are reproduced. Of a number released without a
spread, n₁ is 1 and s is that of our trials: the difference may be t₉₅·s·√(1 + 1/n₂), as in all cells of Wu et al. 2016.
The exact solution of Lin et al. 2023 has no spread on either side: a cell agrees within 1.5 %. A released number whose
data or method is not here is *not comparable*, and is counted as that. A cell is *without a spread* where both numbers
are of a single run: nothing says how far they may differ. The goal is agreement in 90 % of the cells whose data and
method are here. The last row of the table at the top says how many of them were measured, and how many agree.

**The mean difference** is measured less reported: in points of accuracies, and in percent of errors, by the logarithms
of their ratios; errors of kernels are apart from errors of predictions. It is the mean over datasets of their cells'
mean, over all cells that agree or differ. Wide intervals can hide that all numbers are too large; this shows it. The
cells of one metric on a dataset *lean* where at least 85 % of ten or more are on one side. They share splits and draws,
so they are not independent of one another, and a lean may be that of a few splits. The *furthest* cell is the one whose
difference is the largest multiple of what is allowed.

**Protocols tried** counts the protocols that were run to find the one nearest to a paper's numbers. It is 1 where the
released code or the text gave the protocol. Numbers that chose the protocol are weaker evidence for it.

A line below some tables says how many cells would agree with **other methods' columns**: with one method's numbers
everywhere, or with two methods exchanged. If the true count is hardly higher, it says little.

**Claims** are the paper's sentences, each with a range for its number. A trial's number is the mean over sizes of its
differences (accuracy, in points) or of the logarithms of its ratios (errors, times, sizes), and the 95 % interval of
its mean over trials is Student's. A claim *holds* where the whole interval lies in the range and *does not hold* where
none of it does. Otherwise there is *not enough evidence*: it is *open*, and its cell says, for example, *5 of 9
trials*: there are 5, and about 9 with the same mean and spread would settle it. A range with two bounds asks for
equivalence, by two one-sided tests (Schuirmann 1987): the 90 % interval has to lie within. A claim about every size is
judged at each size: it holds where it holds at all of them, and fails where it fails at any, after Holm's correction.
The number in its cell is the mean over sizes, so its interval can lie within the range while the claim is open or
fails. The cell says what the mean over sizes would give, where that is another verdict. A claim is not judged without
measurements, or with a single trial. A page tells a claim once, with a table of all experiments that judged it; what it
counts are the reproductions.

**What an interval covers** is one of three things. *This dataset*: other random splits of the same rows, and other
draws of the features. *Draws only*: the split is given, so all trials have the same rows. *New rows*: other rows of
this kind.
Random halves of one dataset overlap, so the spread over trials understates what other rows would change; Nadeau and
Bengio (Machine Learning 52, 2003) multiply the variance of the mean over J trials by 1 + J·n_test/n_train. Claims are
judged for this dataset; where new rows would change the verdict on a score, the cell says so. More trials on one
dataset cannot settle a claim about new rows.

**Numbers in brackets** count the claims that hold, or do not, when all claims of an experiment are judged together. At
most 5 % of these verdicts are expected to be wrong (Benjamini and Yekutieli, Annals of Statistics 29, 2001), however
the claims depend on one another.

**Minutes** are the wall-clock time of all runs of an experiment, also of repeated ones and under load. A run that was
stopped counts up to the last trial that it stored.
`rffbench plot results/NAME` makes the figures that are not shown here, and the tables as CSV and TeX.
"""


def main() -> int:
    papers = yaml.safe_load((ROOT / "docs" / "reproduction.yaml").read_text(encoding="utf-8"))
    of_papers = [[Experiment(element) for element in paper["elements"]] for paper in papers]
    pages, verdicts, rows = {}, [], []
    for paper, experiments in zip(papers, of_papers, strict=True):
        page = FOLDER / f"{paper['page']}.md"
        said = notes(paper)
        head = [f"# {paper['paper']}\n", *in_words_of(paper), answers(experiments)]
        by_hand = (ROOT / "studies" / "papers" / paper["page"] / "page.md").exists()
        if not by_hand:
            pages[page] = "\n".join([*head, *said, *told_once(experiments), *map(details, experiments)])
        link = str(page.relative_to(VERDICT_PAGE.parent))
        shown = overview(experiments, page)
        shown = re.sub(r"(\(reproduction/\w+\.md)#[^)]*", r"\1", shown) if by_hand else shown
        verdicts += [f"## [{paper['paper']}]({link})\n", shown, *([] if by_hand else notes_linked(paper, link))]
        rows.append(in_a_row(paper, experiments))
    of_all, on_misses = all_sources(of_papers)
    pages[VERDICT_PAGE] = "\n".join(
        [INTRODUCTION, in_short([*rows, of_all], on_misses), *verdicts, flaws(), EXPLANATION]
    )
    stale = [page for page, text in pages.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    for page in stale:
        if "--check" not in sys.argv[1:]:
            page.parent.mkdir(exist_ok=True)
            page.write_text(pages[page], encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {'out of date' if '--check' in sys.argv[1:] else 'written'}")
    return int(bool(stale) and "--check" in sys.argv[1:])


class Experiment:
    """One table or figure of a paper, and the results folder that stands for it."""

    def __init__(self, element: dict[str, Any]) -> None:
        self.title, self.name, self.assumed = element["element"], element["results"], element["assumed"]
        self.explained: list[dict[str, Any]] = element.get("explained", [])
        self.tried: int = element.get("tried", 1)  # protocols, of which one is kept and the others are in no results
        self.folder = ROOT / "results" / self.name
        self.figures = element.get("figures", [])
        self.run = bool(log_files(self.folder))
        self.compared = (self.folder / "compare.csv").exists()
        self.searched = (self.folder / "search.md").exists()
        comparison = read(self.folder / "compare.csv") if self.compared else pd.DataFrame(columns=CSV_COLUMNS)
        self.cells, self.ratios, self.claims = (
            comparison[comparison["kind"] == kind] for kind in ("cell", "ratio", "claim")
        )

    @cached_property
    def configs(self) -> list[dict[str, Any]]:
        """Of the protocols of its sweep, as they were run."""
        config = self.folder / "config.yaml"
        return [resolved for _, resolved in load_resolved(config)] if config.exists() else []

    @cached_property
    def reference(self) -> Reference | None:
        return references().get(self.configs[0].get("reference") or "") if self.configs else None

    @property
    def released(self) -> bool:
        """Whether it is held to a file that others released, of which all rows count."""
        table = self.reference.table if self.reference else None
        return table is not None and table.counts_all

    @cached_property
    def sentences(self) -> dict[str, str]:
        """A claim as it is told of one method → as the paper has it for all, its values named in brackets."""
        found: dict[str, str] = {}
        for claim in load_claims(self.reference.claims) if self.reference else ():
            names = {name: values[0] if len(values) == 1 else f"[{name}]" for name, values in claim.each.items()}
            found |= {each.claim: claim.claim.format(**names) for each in claim.expanded()}
        return found

    @property
    def times(self) -> dict[tuple[str, str], float]:
        """How many times the size the baseline has, of each claim as told of one method, and its sizes in words."""
        listed = load_claims(self.reference.claims) if self.reference else ()
        every = (each for claim in listed for each in claim.expanded())
        return {
            (each.claim, str(each.sizes[0]) if len(each.sizes) == 1 else ""): getattr(each.test, "baseline_size", 1)
            for each in every
        }

    @cached_property
    def role(self) -> str:
        """``study``, ``apart`` of negative controls and searches, or empty of a reproduction."""
        role = role_of(self.name, self.reference.name if self.reference else None)[1]
        return {"study": "study", "control": "apart", "search": "apart"}.get(str(role), "")

    @property
    def heading(self) -> str:
        return f"{self.title}: {self.name}"

    def link(self, page: str = "") -> str:
        """To the heading, on ``page`` or on the same one."""
        return f"[{self.title}]({page}#{anchor(self.heading)})"

    @property
    def verdicts(self) -> Counter[str]:
        return Counter(self.claims["verdict"])

    def held(self, verdict: str) -> str:
        """How many claims have the verdict, and in brackets how many when all are taken together."""
        count, together = self.verdicts[verdict], int((self.claims["verdict_adjusted"] == verdict).sum())
        return f"{count} ({together})" if count != together else str(count or "")

    @property
    def stood_in(self) -> int:
        """How many claims were judged on other data than they name."""
        return int(self.claims.loc[self.claims["verdict"] != NOT_MEASURED, "stands_in_for"].notna().sum())

    @property
    def minutes(self) -> float:
        """Of its runs, by the manifest. A run that was stopped ends with its last trial, or as it starts."""
        runs = runs_of(self.folder)
        starts = [_time(run["started"]) for run in runs]
        rows = [] if all(run["finished"] for run in runs) else read_rows(self.folder / "trials.jsonl")
        stored = [_time(row["finished"]) for row in rows]
        seconds = 0.0
        for run, start, following in zip(runs, starts, [*starts[1:], None], strict=True):
            mine = [time for time in stored if start <= time and (following is None or time < following)]
            end = _time(run["finished"]) if run["finished"] else max(mine, default=start)
            seconds += (end - start).total_seconds()
        return seconds / 60


def read(path: Path) -> pd.DataFrame:
    """A CSV file that `rffbench compare` wrote, its text as it was."""
    return pd.read_csv(path, dtype={"sizes": str}).map(
        lambda cell: from_csv_cell(cell) if isinstance(cell, str) else cell
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


# ---- Cells -------------------------------------------------------------------------------------------------


def agreeing(cells: pd.DataFrame) -> int:
    return int(cells["verdict"].isin([REPRODUCED, CLOSE]).sum())


def tally(cells: pd.DataFrame, agree: str = "", none: str = "") -> str:
    """``14 of 14, 108 not measured, 244 not comparable``; empty without a reported cell. ``agree`` is written after the
    first, and ``none`` in its place if no cell is compared."""
    compared, rest = len(counted(cells)), left_out(cells)
    first = f"{agreeing(cells)} of {compared}{agree}" if compared else none if rest else ""
    return ", ".join([*filter(None, [first]), *(f"{count} {why}" for why, count in rest.items())])


def mean_difference(cells: pd.DataFrame) -> str:
    """``−4.4 %, +0.55 points, kernel −1.3 %``: of errors, of accuracies, and of kernel errors."""
    compared = counted(cells)
    kinds = [
        compared["metric"].map(lambda name: "kernel " * bool(METRICS[name].measure)),
        compared["metric"].map(unit_of),
    ]
    return ", ".join(f"{kind}{mean_of(part, unit)}" for (kind, unit), part in compared.groupby(kinds))


def mean_of(cells: pd.DataFrame, unit: str) -> str:
    """Their mean difference: the mean over datasets of their cells' mean."""
    return signed(lean("", cells, unit == "%").mean, unit)


def unit_of(metric: str) -> str:
    """Of a difference: points of an accuracy, percent of an error."""
    return "points" if METRICS[metric].unit == PERCENT else "%"


def signed(value: float, unit: str) -> str:
    digits = 1 if unit == "%" else 2
    return f"{round(value, digits) + 0.0:+.{digits}f} {unit}".replace("-", "−")


def title_of(metric: str) -> str:
    return TITLES.get(metric) or METRICS[metric].title


# ---- The answers -------------------------------------------------------------------------------------------


def in_a_row(paper: dict[str, Any], experiments: list[Experiment]) -> list[str]:
    """A paper's row of the table of all papers: its reproductions, and how many protocols were tried."""
    cells = of_reproductions(experiments)
    words = [paper.get("claimed", ""), told_first(paper)[0]]
    return [
        f"[{paper['paper']}](#{anchor(paper['paper'])})", *words,
        agreement(cells), mean_difference(cells), *apart(cells),
        str(protocols_tried(experiments)), paper.get("make_of_it", ""),
    ]  # fmt: skip


def in_words_of(paper: dict[str, Any]) -> list[str]:
    """What a paper claimed, and what came out, as paragraphs."""
    heads = {"claimed": "What it claimed", "came_out": "What came out", "make_of_it": "What to make of it"}
    return [f"**{head}:** {paper[key].strip()}\n" for key, head in heads.items() if paper.get(key)]


def told_first(paper: dict[str, Any]) -> tuple[str, str]:
    """What came out of a paper, in a sentence; and the other sentences."""
    first, *others = re.split(r"(?<=\.) (?=[A-Z√])", paper.get("came_out", ""))
    return first, " ".join(others)


def all_sources(papers: list[list[Experiment]]) -> tuple[list[str], str]:
    """The row of all papers that released their numbers, and a paragraph on the cells that differ."""
    sources = [experiments for experiments in papers if any(each.released for each in experiments)]
    released = [each for experiments in sources for each in experiments if each.released]
    cells = of_reproductions(released)
    uncounted = left_out(cells)
    measured = len(counted(cells)) + uncounted[WITHOUT_SPREAD]
    here = measured + uncounted[NOT_MEASURED]
    agree = agreeing(cells)
    misses = Counter[bool]()  # by whether they are open
    reproductions = [each for each in released if each.role == "" and each.run and each.compared]
    for each in reproductions:
        for why, rows in different(each).items():
            misses[why == STANDS_OPEN] += len(rows)
    came_out = (
        f"Of {here:,} cells whose data and method are here, {measured:,} were measured ({percent(measured, here)}), "
        f"and {agree:,} agree ({percent(agree, here)})."
    )
    rest = (
        f"Of the {misses.total()} cells that differ, the cause is known of "
        f"{misses[False]} and open of {misses[True]}, that is {100 * misses[True] / measured:.1f} % of those measured; "
        "of cells that are right, 95 % intervals let 5 % differ by chance."
    )
    if named := crowded(reproductions):
        rest += (
            f" Chance would spread the open ones evenly. These places have more than it explains: {', '.join(named)} "
            "(by the binomial distribution, as for independent cells, with Bonferroni's correction at 5 %)."
        )
    share = agreement(cells, f" ({percent(agree, len(counted(cells)))})")
    name = f"**All {len(sources)} sources of released numbers**"
    return [name, "", came_out, share, "", *apart(cells), "", ""], rest


def crowded(experiments: list[Experiment]) -> list[str]:
    """``li2019-distributed features 11 of 61``: the metrics of datasets, and the kinds of maps, of which more cells are
    open than chance leaves of cells that are right. Those that have a known cause are in no count."""
    found: list[tuple[float, str]] = []
    for parts in (["dataset", "metric"], ["kind"]):
        groups = []
        for each in experiments:
            cells = counted(each.cells)
            if cells.empty:
                continue
            cells = cells.assign(kind=cells["method"].str.partition(" ")[0])
            is_open = [
                row["verdict"] == DIFFERS and reason(row, each.explained) == STANDS_OPEN
                for row in cells.to_dict("records")
            ]
            cells = cells.assign(open=is_open)
            cells = cells[cells["open"] | (cells["verdict"] != DIFFERS)]
            for names, part in cells.groupby(parts, sort=False):
                title = [title_of(name) if name in METRICS else name for name in names]
                groups.append((" ".join([each.name, *title]), int(part["open"].sum()), len(part)))
        for name, missed, of in groups:
            chance = float(binom.sf(missed - 1, of, LEVEL))
            if chance < LEVEL / len(groups):
                found.append((chance, f"{name} {missed} of {of}"))
    return [named for _, named in sorted(found)]


def percent(number: int, of: int) -> str:
    return f"{100 * number / of:.0f} %"


def of_reproductions(experiments: list[Experiment]) -> pd.DataFrame:
    """The cells of those that were run to reproduce a paper's numbers."""
    cells = [each.cells for each in experiments if each.role == "" and each.run and each.compared]
    return pd.concat(cells) if cells else pd.DataFrame(columns=CSV_COLUMNS)


def agreement(cells: pd.DataFrame, share: str = "") -> str:
    """How many agree of those compared, and how many have no spread."""
    return tally(cells[~cells["verdict"].isin([NOT_MEASURED, *NOT_COMPARABLE, OTHER_ROWS])], share)


def apart(cells: pd.DataFrame) -> list[str]:
    """How many are not measured, and how many not comparable."""
    return [str(left_out(cells)[why] or "") for why in (NOT_MEASURED, INCOMPARABLE)]


def in_short(rows: list[list[str]], below: str) -> str:
    """The table of all papers, and a paragraph below it."""
    names = ["paper", "what it claimed", "what came out", "cells that agree", "mean difference", "not measured",
             "not comparable", "protocols tried", "what to make of it"]  # fmt: skip
    lines = [f"| {' | '.join(names)} |", "|---|---|---|--:|--:|--:|--:|--:|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), "", below, ""])


def protocols_tried(experiments: list[Experiment]) -> int:
    """Those of a paper's searches, each once; without a search what docs/reproduction.yaml says, or 1."""
    searched = [config for each in experiments if each.searched for config in each.configs]
    known = len({Grid(config).identity(without=NO_PROTOCOL) for config in searched})
    return known or max(each.tried for each in experiments)


def overview(experiments: list[Experiment], page: Path) -> str:
    """The experiments of a paper, one row each, which leads to its ``page``: reproductions, and apart what is none."""
    lines, tried = [], f", {plural(protocols_tried(experiments), 'protocol')} tried"
    for role, title in ROLES.items():
        if mine := [each for each in experiments if each.role == role]:
            lines += [f"**{title}**{tried if not role else ''}:", "", *_rows_of(mine, page), ""]
    return "\n".join(lines)


def _rows_of(experiments: list[Experiment], page: Path) -> list[str]:
    lines = [
        "| experiment | cells that agree | claims held | refuted | open | not measured | minutes | results |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for each in experiments:
        link = each.link(f"{FOLDER.name}/{page.name}")
        if not each.run:
            lines.append(f"| {link} | not run yet | | | | | | |")
            continue
        link += " (claims on stand-in data)" if each.stood_in else ""
        plain = (str(each.verdicts[verdict] or "") for verdict in (OPEN, NOT_MEASURED))
        counts = " | ".join([each.held(HOLDS), each.held(REFUTED), *plain])
        where = f"[{each.name}](../results/{each.name})"
        minutes = str(max(round(each.minutes), 1)) if each.minutes else ""
        lines.append(f"| {link} | {tally(each.cells)} | {counts} | {minutes} | {where} |")
    return lines


def answers(experiments: list[Experiment]) -> str:
    """What a reader asks of a paper, one line for each experiment."""
    lines = ["**Does it reproduce?**", ""]
    lines += [f"- {each.link()}: {outcome(each)}" for each in experiments]
    why = "[why that matters](../reproduction.md#what-the-words-mean)"
    lines += ["", f"**Protocols tried**: {protocols_tried(experiments)} ({why}).", "", "**What was assumed?**", ""]
    for each in experiments:
        lines += [f"- {each.link()}:", *(f"  - {assumption}" for assumption in each.assumed)]
    off = [(each, said) for each in experiments if (said := deviations(each))]
    if off:
        lines += ["", "**What differs?**", ""]
        for each, said in off:
            lines += [f"- {each.link()}:", *(f"  - {one}" for one in said)]
    return "\n".join([*lines, ""])


def notes(paper: dict[str, Any]) -> list[str]:
    """A paper's notes, for its page. Their links are those of a page in docs/; the paper's page is a folder below."""
    from_folder = [re.sub(r"\]\((?!https?:)", "](../", note) for note in paper.get("notes", [])]
    return [f"## {NOTES}", "", *(f"- {note}" for note in from_folder), ""] if from_folder else []


def notes_linked(paper: dict[str, Any], page: str) -> list[str]:
    """How many notes the paper's ``page`` has."""
    count = len(paper.get("notes", []))
    return [f"[{NOTES}]({page}#{anchor(NOTES)}): {plural(count, 'note')} on its page.\n"] if count else []


def outcome(each: Experiment) -> str:
    if not each.run:
        return "not run yet."
    said = [*filter(None, [tally(each.cells, " cells agree", "no cell compared")])]
    if judged := sum(each.verdicts[verdict] for verdict in (HOLDS, REFUTED, OPEN)):
        said.append(f"of {plural(judged, 'claim')} {verdicts_in_words(each.verdicts)}")
        together = Counter(each.claims["verdict_adjusted"])
        if (together[HOLDS], together[REFUTED]) != (each.verdicts[HOLDS], each.verdicts[REFUTED]):
            said[-1] += f" (judged together, {together[HOLDS]} hold and {together[REFUTED]} do not)"
        said += [f"{each.stood_in} of them on stand-in data"] * bool(each.stood_in)
        in_mean = Counter(each.claims.loc[each.claims["verdict"] == OPEN, "verdict_in_mean"])
        if decided := verdicts_in_words(Counter({verdict: in_mean[verdict] for verdict in (HOLDS, REFUTED)})):
            said.append(f"of those that are open, {decided} in the mean over sizes")
    if count := each.verdicts[NOT_MEASURED]:
        said.append(f"{plural(count, 'claim')} not measured")
    if not said:
        ranked = "protocols are ranked by their distance to the paper"
        said = [ranked if each.searched else "there is no number to compare with"]
    return "; ".join(said) + "."


def deviations(each: Experiment) -> list[str]:
    """The cells furthest from the paper, how they lean, the costs that another method wins, how many claims do not
    hold."""
    said = []
    for why, rows in different(each).items():
        about = f"{'1 cell differs' if len(rows) == 1 else f'{len(rows)} cells differ'}{why and f', {why}'}"
        cells = [*map(miss, rows[:MOST_DIFFERENT])]
        if len(rows) <= MOST_DIFFERENT:
            said.append(f"{about}: {'; '.join(cells)}")
        elif each.role == "":
            where = "a table" if len(rows) <= MOST_NAMED else "a list"
            said.append(f"{about}; the furthest is {cells[0]}; {where} below has all")
        else:
            said.append(f"{about}, the furthest {'; '.join(cells)}")
    said += leaning(each) if each.role == "" else []
    wrong = each.ratios[each.ratios["verdict"] == DIFFERS]
    if len(wrong):
        kinds = Counter(f"{title_of(row['metric'])} on {row['dataset']}" for row in wrong.to_dict("records"))
        of_kinds = ", ".join(f"{kind} ({count})" for kind, count in kinds.items())
        said.append(f"{plural(len(wrong), 'cost ratio')} in which the other method is cheaper: {of_kinds}")
    if refuted := each.verdicts[REFUTED]:
        fail, number = IN_WORDS[REFUTED][refuted != 1], "its number is" if refuted == 1 else "their numbers are"
        said.append(f"{plural(refuted, 'claim')} {fail}: {number} in [{CLAIMS}](#{anchor(CLAIMS)})")
    if missing := left_out(each.cells)[NOT_MEASURED]:
        said.append(f"{plural(missing, 'cell')} without a measurement")
    return said


def different(each: Experiment) -> dict[str, list[dict[str, Any]]]:
    """The cells that differ, by why they do; those of what is no reproduction all together. The furthest are first, by
    multiples of the difference that is allowed."""
    rows = each.cells[each.cells["verdict"] == DIFFERS]
    order = (rows["difference"].abs() / rows["tolerance"]).sort_values(ascending=False, kind="stable").index
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.reindex(order).to_dict("records"):
        found.setdefault(reason(row, each.explained) if each.role == "" else "", []).append(row)
    return found


def leaning(each: Experiment) -> list[str]:
    """The metrics of datasets of which nearly all cells are on one side, in a list below a sentence."""
    said = []
    for (dataset, metric), cells in counted(each.cells).groupby(["dataset", "metric"], sort=False):
        sides = {"above": int((cells["difference"] > 0).sum()), "below": int((cells["difference"] < 0).sum())}
        side, most = max(sides.items(), key=lambda item: item[1])
        if len(cells) >= FEWEST_LEANING and most >= LEANING * len(cells):
            mean = mean_of(cells, unit_of(metric))
            said.append(f"    - {dataset}, {title_of(metric)}: {mean} in the mean, {most} of {len(cells)} {side}")
    told = "cells lean to one side; those of a dataset share splits, so they are not independent:"
    return ["\n".join([told, *said])] if said else []


def miss(row: dict[str, Any]) -> str:
    """A cell that differs, by name."""
    place = f"{row['dataset']} {size_of(row)} {row['method']}".replace("  ", " ")
    fold = f" fold {row['trial']:.0f}" if pd.notna(row.get("trial")) else ""
    return f"{place}{fold} {row['measured']:.4g} against {row['reported']:.4g}"


STANDS_OPEN = "open"  # of a cell that differs, for no known cause


def reason(row: dict[str, Any], explained: list[dict[str, Any]]) -> str:
    """Why a cell differs, by the first rule whose columns are those of the cell, and ``side`` the side that its number
    here is on; else that it is open. A cause that makes a difference of ``at_most`` so much explains no larger one,
    beyond what is allowed without a cause."""
    row = row | {"side": "above" if row["difference"] > 0 else "below"}
    beyond = abs(row["difference"]) - row["tolerance"]
    for rule in explained:
        wanted = {key: value for key, value in rule.items() if key not in ("because", "at_most")}
        fits = all(row[key] in (value if isinstance(value, list) else [value]) for key, value in wanted.items())
        if fits and beyond <= rule.get("at_most", beyond):
            return f"explained ({rule['because']})"
    return STANDS_OPEN


# ---- Words ------------------------------------------------------------------------------------------------


def verdicts_in_words(verdicts: Counter[str]) -> str:
    """``1 holds, 4 are open``."""
    words = {verdict: forms[verdicts[verdict] != 1] for verdict, forms in IN_WORDS.items()}
    return ", ".join(f"{verdicts[verdict]} {each}" for verdict, each in words.items() if verdicts[verdict])


def in_all(verdicts: Counter[str]) -> str:
    """``Here it holds``, or of several cases ``Of 5 cases 1 holds, 4 are open``."""
    cases = verdicts.total()
    words = verdicts_in_words(verdicts)
    return f"Here it {words.removeprefix('1 ')}" if cases == 1 else f"Of {cases} cases {words}"


def in_range(asked: str) -> str:
    """``less than 1``, or of two bounds ``between 10 and 12``."""
    low, found, high = asked.partition(" to ")
    return f"between {low} and {high}" if found else asked


def flaws() -> str:
    """What flaws of released protocols are worth: each protocol without the flaw and with it."""
    lines = ["## What flaws of released protocols are worth", "", FLAWS_INTRODUCTION]
    lines += ["| source | flaw | dataset | without | with | difference | runs |", "|---|---|---|--:|--:|--:|--:|"]
    for row in read(FLAWS).to_dict("records"):
        gap = f"{row['effect']:+.2f} {row['unit']} ({row['low']:+.2f} to {row['high']:+.2f})"
        score = f"{row['dataset']}, {title_of(row['metric'])}"
        without, flawed = (f"{row[which]:.4g}" for which in ("without", "with"))
        lines.append(f"| {row['source']} | {row['flaw']} | {score} | {without} | {flawed} | {gap} | {row['runs']} |")
    return "\n".join([*lines, ""])


# ---- The details -------------------------------------------------------------------------------------------


def details(each: Experiment) -> str:
    """One table or figure of a paper: what was run, and all that came of it."""
    compare = f"rffbench compare results/{each.name}"
    search = f"python -m studies.papers.search results/{each.name}"
    commands = [f"rffbench run {each.name}", *[compare] * each.compared, *[search] * each.searched]
    lines = [f"## {each.heading}", "", ", ".join(f"`{command}`" for command in commands) + ".", ""]
    if not each.run:
        return "\n".join([*lines, "Not run yet.\n"])
    lines += [run_of(each.folder), ""]
    lines += [
        *cells(each.cells),
        *incomparable(each.cells),
        *differing(each),
        *leans(each),
        *other_columns(each),
        *ratios(each.ratios),
    ]
    if each.searched:
        lines += [(each.folder / "search.md").read_text(encoding="utf-8").strip(), ""]
    return "\n".join([*lines, *files(each.folder, each.figures)])


def run_of(folder: Path) -> str:
    """How many trials came to what, and on which machine."""
    latest = {row["key"]: row["status"] for row in read_rows(folder / "trials.jsonl")}
    statuses = Counter(latest.values())
    done = ", ".join(f"{count:,} {status}" for status, count in statuses.most_common())
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return f"{len(latest):,} trials: {done}; on {manifest['cpu']}, rffbench {manifest['rffbench']}."


def cells(compared: pd.DataFrame) -> list[str]:
    """Every cell with the paper's number, and how many come out."""
    both = compared[compared["difference"].notna()]
    if both.empty:
        return []
    lines: list[str] = []
    for metric, part in both.groupby("metric", sort=False):
        lines += ["", f"Measured (reported), {title_of(str(metric))}:", "", *grid(part), ""]
    verdicts = Counter(both["verdict"])
    counts = ", ".join(f"{verdicts[verdict]} {word}" for verdict, word in VERDICTS.items() if verdicts[verdict])
    lines += [f"{len(both)} cells: {counts}.", ""]
    return lines[1:]


def incomparable(compared: pd.DataFrame) -> list[str]:
    """How many cells cannot be compared, by why."""
    rows = compared[compared["verdict"].isin(NOT_COMPARABLE)]
    why = rows.groupby(["verdict", "because"], sort=False).size()
    lines = [f"- {count} {in_words(*reason)}" for reason, count in why.items()]
    return [*lines, ""] if lines else []


def differing(each: Experiment) -> list[str]:
    """The cells that differ, where they are too many for a sentence; of very many how many each dataset and map has,
    and a list to unfold."""
    lines = []
    for why, rows in different(each).items():
        if each.role == "" and len(rows) > MOST_DIFFERENT:
            named = each_miss(rows) if len(rows) <= MOST_NAMED else [*count_misses(rows), "", *list_misses(rows)]
            lines += [f"The {len(rows)} cells that differ, {why}:", "", *named, ""]
    return lines


def each_miss(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| dataset | size | method | metric | measured | reported | difference | times the allowed |",
        "|---|--:|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        place = f"{row['dataset']} | {column_of(row)} | {row['method']} | {title_of(row['metric'])}"
        numbers = f"{row['measured']:.4g} | {row['reported']:.4g} | {signed(row['difference'], unit_of(row['metric']))}"
        lines.append(f"| {place} | {numbers} | {abs(row['difference']) / row['tolerance']:.1f} |")
    return lines


def count_misses(rows: list[dict[str, Any]]) -> list[str]:
    """Datasets down and maps across, or the other way where maps are the more."""
    places = pd.DataFrame({"dataset": row["dataset"], "map": map_and_sigma(row["method"])[0]} for row in rows)
    down, across = sorted(places, key=lambda name: -places[name].nunique())
    counts = pd.crosstab(places[down], places[across])
    counts = counts.loc[counts.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    lines = [f"| {down} | {' | '.join(counts)} |", f"|---|{'--:|' * len(counts.columns)}"]
    return [*lines, *(f"| {name} | {' | '.join(str(n or '') for n in row)} |" for name, *row in counts.itertuples())]


def list_misses(rows: list[dict[str, Any]]) -> list[str]:
    """Each by name, to unfold: a line for each dataset, map and metric."""
    lines = [f"<details><summary>All {len(rows)} by name, with size, measured (reported)</summary>", ""]
    for (dataset, name, metric), misses in groupby(sorted(rows, key=place_of), key=lambda row: place_of(row)[:3]):
        told = []
        for method, cells in groupby(misses, key=lambda row: row["method"]):
            sizes = ", ".join(f"{column_of(row)}: {cell(row).replace('*', '')}" for row in cells)
            told.append(sizes if method == name else f"{method} at {sizes}")
        lines.append(f"- {dataset}, {name}, {metric}: {'; '.join(told)}")
    return [*lines, "", "</details>"]


def place_of(row: dict[str, Any]) -> tuple[str, str, str, float, int]:
    """A cell's dataset, map, metric, σ and size, by which cells are in order."""
    name, sigma = map_and_sigma(row["method"])
    return row["dataset"], name, title_of(row["metric"]), sigma, row["n_features"]


def map_and_sigma(method: str) -> tuple[str, float]:
    """A map's name without the σ that it may end with, and that σ, else 0: ``binning`` and 0.39."""
    found = re.fullmatch(r"(.*) ([0-9.]+)", method)
    return (found[1], float(found[2])) if found else (method, 0.0)


def leans(each: Experiment) -> list[str]:
    """What compare.md says of how the differences lean to one side, of numbers released with their spread."""
    text = (each.folder / "compare.md").read_text(encoding="utf-8") if each.compared else ""
    found = re.search(rf"^\*\*{re.escape(LEANS)}\*\*\n\n(?:\|.*\n)+\n.*$", text, re.M)
    return [found[0], ""] if found else []


def other_columns(each: Experiment) -> list[str]:
    """What compare.md says of the count with other methods' columns."""
    if not each.compared:
        return []
    text = (each.folder / "compare.md").read_text(encoding="utf-8")
    found = re.findall(r"^The same for other methods' columns: .*$", text, re.M)
    return [line for sentence in found for line in (sentence, "")]


MOST_ACROSS = 20  # sizes in a table's head


def grid(cells: pd.DataFrame) -> list[str]:
    """Datasets and methods down, sizes across; of sizes that are counts, other ones for each dataset. Very many sizes
    are down, with the methods across, and methods of a single size have a table of their own."""
    parts = [cells]
    if cells["multiple"].isna().all() and cells.duplicated(["dataset", "method"]).any():
        parts = [part for _, part in cells.groupby("dataset", sort=False)]
    tables = []
    for part in parts:
        places = pd.Series([column_of(row) for row in part.to_dict("records")], part.index)
        sizes = places.groupby(part["method"]).transform("nunique")
        if sizes.max() > MOST_ACROSS:
            tables += [_grid(part[sizes > 1], sizes_down=True), _grid(part[sizes == 1])]
        else:
            tables.append(_grid(part))
    return [line for table in tables if table for line in [*table, ""]][:-1]


def _grid(cells: pd.DataFrame, *, sizes_down: bool = False) -> list[str]:
    if cells.empty:
        return []
    across = cells.to_dict("records")
    places = {column_of(row): None for row in sorted(across, key=lambda row: (row["multiple"], row["n_features"]))}
    told = cells["method"] + cells.get("reported_method", pd.Series("", cells.index)).astype(object).fillna("").map(
        lambda name: f" ({name})" if name else ""
    )
    table = [["dataset", "method", *places]]
    for names, part in cells.groupby([cells["dataset"], told], sort=False):
        by_size = {column_of(row): row for row in part.to_dict("records")}
        table.append([*names, *(cell(by_size.get(each)) for each in places)])
    marks = ["---", "---", *["--:"] * len(places)]
    if sizes_down:  # dataset and method in one head
        table = [list(row) for row in zip(*([" ".join(row[:2]), *row[2:]] for row in table), strict=True)]
        table[0][0], marks = "size", ["--:"] * len(table[0])
    head, *rows = (f"| {' | '.join(row)} |" for row in table)
    return [head, f"|{'|'.join(marks)}|", *rows]


def column_of(row: dict[str, Any]) -> str:
    """Where a cell stands: its size, or the fold that it is of; empty in a table without sizes."""
    return f"fold {row['trial']:.0f}" if pd.notna(row.get("trial")) else size_of(row)


def size_of(row: dict[str, Any]) -> str:
    """``16d``, or a count where the reference's sizes are counts."""
    if row["multiple"] > 0:
        return f"{int(row['multiple'])}d"
    size = row.get("size")
    if pd.isna(size) or pd.notna(row.get("trial")):
        return ""
    return f"{size:.0f}" if isinstance(size, float) else str(size)


def cell(row: dict[str, Any] | None, digits: int = 4) -> str:
    """Measured and, in brackets, reported; bold where they differ, and then with as many digits as show it."""
    if row is None:
        return ""
    measured, reported = (f"{row[which]:.{digits}g}" for which in ("measured", "reported"))
    if row["verdict"] != DIFFERS:
        return f"{measured} ({reported})"
    shown = measured != reported or row["measured"] == row["reported"]
    return f"**{measured}** ({reported})" if shown else cell(row, digits + 1)


def ratios(compared: pd.DataFrame) -> list[str]:
    """Ratios of one method's costs to another's, with the same ratio in the paper."""
    both = compared[compared["reported"].notna() & compared["measured"].notna()]
    if both.empty:
        return []
    metrics = list(dict.fromkeys(both["metric"]))
    lines = [
        "Ratios of one method's costs to another's, measured (reported):", "",
        f"| dataset | methods | {' | '.join(map(title_of, metrics))} |",
        f"|---|---|{'--:|' * len(metrics)}",
    ]  # fmt: skip
    for (dataset, method, baseline), part in both.groupby(["dataset", "method", "baseline"], sort=False):
        by_metric = {row["metric"]: row for row in part.to_dict("records")}
        row = " | ".join(cell(by_metric.get(metric), digits=3) for metric in metrics)
        lines.append(f"| {dataset} | {method} : {baseline} | {row} |")
    return [*lines, ""]


def claims(experiments: Sequence[Experiment]) -> list[str]:
    """The paper's claims, each once: the range that it asks for and why, and what came out by experiment, dataset and
    methods; then what was not judged. The counts are those of reproductions, where a claim has any."""
    every = pd.concat([cases_of(each).assign(of=at, role=each.role) for at, each in enumerate(experiments)])
    judged = every[every["verdict"] != NOT_MEASURED]
    lines: list[str] = []
    for (sentence, asked), rows in judged.groupby(["told", "asked"], sort=False):
        at = " at each size" if rows["verdict_in_mean"].notna().any() else ""
        where, because = "; ".join(dict.fromkeys(rows["where"])), merged(list(dict.fromkeys(rows["because"])))
        lines += [
            f"**{sentence}** ({where}). It holds for a number {in_range(asked)}{at} ({because}). "
            f"{in_all(Counter(of_reproduction(rows)['verdict']))}.",
            "",
        ]
        of = list(dict.fromkeys(rows["of"]))
        titles = {at: experiments[at].title + ASIDE[experiments[at].role] for at in of}
        lines += [*matrix(rows.assign(experiment=rows["of"].map(titles)) if len(of) > 1 else rows), ""]
    if lines:
        judges = [experiments[at] for at in judged["of"].unique()]
        evidence = ", ".join(f"[{each.name}]({there(each.folder)}/compare.md)" for each in judges)
        lines.append(f"{legend(judged)} The evidence: {evidence}.\n")
    return [*lines, *unjudged(every)]


def of_reproduction(cases: pd.DataFrame) -> pd.DataFrame:
    """The cases of a claim that count: those of reproductions, where there are any."""
    mine = cases[cases["role"] == ""]
    return mine if len(mine) else cases


def merged(texts: Sequence[str]) -> str:
    """Reasons that differ in some words, in one: ``smaller in 35 of 36, 29 of 33 cells``; else one after the other."""
    words = [text.split() for text in texts]
    shortest = min(map(len, words))
    before = next((at for at in range(shortest) if len({each[at] for each in words}) > 1), shortest)
    after = next((at for at in range(shortest - before) if len({each[-1 - at] for each in words}) > 1), 0)
    middles = [" ".join(each[before : len(each) - after]) for each in words]
    if len(texts) == 1 or not all(re.fullmatch(r"[\w ·]+", each) for each in middles):
        return "; ".join(texts)
    return " ".join([*words[0][:before], ", ".join(middles), *words[0][len(words[0]) - after :]])


def told_once(experiments: Sequence[Experiment]) -> list[str]:
    """The section of a page that has the claims."""
    found = claims([each for each in experiments if each.run])
    return [f"## {CLAIMS}", "", *found] if found else []


def cases_of(each: Experiment) -> pd.DataFrame:
    """The cases of its claims; ``told`` is the sentence that the paper has for several of them, ``methods`` are those
    that it compares, and ``released`` is the paper's name of the dataset."""
    told = [each.sentences.get(claim, claim) for claim in each.claims["claim"]]
    times = each.times
    methods = []
    for row in each.claims.to_dict("records"):
        size = row["sizes"] if (row["claim"], row["sizes"]) in times else ""
        methods.append(compared_methods(row["method"], row["baseline"], size, times.get((row["claim"], size), 1)))
    names = each.reference.datasets if each.reference else {}
    released = [names.get(dataset, dataset) for dataset in each.claims["dataset"]]
    return each.claims.assign(told=told, methods=methods, released=released)


def compared_methods(method: str, baseline: str | float, size: str, times: float) -> str:
    """``Nyström : RFF``; with sizes where the baseline has ``times`` the ``size``, the claim's only one or empty."""
    if pd.isna(baseline):
        return method
    if times == 1:
        return f"{method} : {baseline}"
    if size:
        return f"{method}, {size} columns : {baseline}, {int(size) * times:g}"
    return f"{method} : {baseline} with {times:g} times the columns"


def unjudged(cases: pd.DataFrame) -> list[str]:
    """A line for each claim with cases that no experiment judged: how many, and why. They are those of reproductions,
    where a claim has any."""
    judged = pd.MultiIndex.from_frame(cases.loc[cases["verdict"] != NOT_MEASURED, CASE])
    lines: list[str] = []
    for sentence, rows in cases.groupby("told", sort=False):
        rows = of_reproduction(rows)
        missed = rows[rows["verdict"] == NOT_MEASURED].drop_duplicates(CASE)
        missed = missed[~pd.MultiIndex.from_frame(missed[CASE]).isin(judged)]
        if len(missed):
            why = merged(list(dict.fromkeys(missed["evidence"])))
            lines.append(f"- *{sentence}*, {plural(len(missed), 'case')}: {why}")
    return ["Cases of claims that were not judged, and why:", "", *lines, ""] if lines else []


def legend(judged: pd.DataFrame) -> str:
    """How to read the cells of these claims."""
    said = ["Each cell has the verdict, the number and its 95 % interval."]
    if judged["verdict_in_mean"].notna().any():
        said.append("A claim at each size has to hold at all of them; its number is the mean over sizes.")
    if any(map(trials_of, judged.to_dict("records"))):
        said.append("*5 of 9 trials*: there are 5, and about 9 with the same mean and spread would settle it.")
    if any(map(on_new_rows, judged.to_dict("records"))):
        said.append("*New rows*: the verdict for other rows of this kind, where it is another.")
    if any(map(at_edge, judged.to_dict("records"))):
        said.append("*At an edge*: a tuned value is the first or last of its grid; a wider one may change the number.")
    return " ".join([*said, f"{MARK} marks a verdict that changes when all claims are judged together."])


def matrix(rows: pd.DataFrame) -> list[str]:
    """Methods down, datasets across (or the other way where datasets are the more): verdict and number. The rows of
    several experiments have a column ``experiment``; then experiments are across if there is one pair of methods, or
    down if there is one dataset, and else one is below the other."""
    methods = rows["methods"]
    protocol = rows["protocol"].map(lambda name: f" ({name})" if pd.notna(name) else "")
    if "experiment" not in rows:
        return table_of(rows.assign(methods=methods + protocol), *across_and_down(rows["dataset"], methods + protocol))
    every = rows.assign(experiment=rows["experiment"] + protocol)
    if every["methods"].nunique() == 1:
        return table_of(every, "experiment", "dataset", every["methods"].iloc[0])
    if every["dataset"].nunique() == 1 and every["methods"].nunique() <= MOST_PAIRS:
        return table_of(every, "methods", "experiment", every["dataset"].iloc[0])
    return table_of(every, *across_and_down(every["dataset"], methods), blocks="experiment")


def across_and_down(datasets: pd.Series, methods: pd.Series) -> tuple[str, str]:
    """Of ``dataset`` and ``methods`` the one with fewer names is across."""
    return ("methods", "dataset") if datasets.nunique() > methods.nunique() else ("dataset", "methods")


def table_of(rows: pd.DataFrame, across: str, down: str, corner: str = "", blocks: str = "") -> list[str]:
    """A table of findings, whose first heading is ``corner``; ``blocks`` are below each other."""
    columns = list(dict.fromkeys(rows[across]))
    names = [*filter(None, [blocks]), down]
    first = [*names[:-1], corner or down]
    lines = [f"| {' | '.join(map(escaped, [*first, *columns]))} |", f"|{'---|' * len(first)}{'--:|' * len(columns)}"]
    above = ""
    for name, part in rows.groupby(names, sort=False):
        found: dict[str, list[str]] = {}
        for row in part.to_dict("records"):
            found.setdefault(row[across], []).append(finding(row))
        *block, own = map(str, name)
        shown = ["" if each == above else each for each in block]
        above = next(iter(block), "")
        cells_of_row = ["; ".join(found.get(each, [])) for each in columns]
        lines.append(f"| {' | '.join([*map(escaped, [*shown, own]), *cells_of_row])} |")
    return lines


def finding(row: dict[str, Any]) -> str:
    """A verdict, its number, and why it is no other: ``open 0.52 (0.48 to 1.1), 5 of 9 trials``."""
    mark = "" if row["verdict_adjusted"] == row["verdict"] else f" {MARK}"
    number = f"{row['measured']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
    return ", ".join([
        f"{IN_A_CELL[row['verdict']]}{mark} {number}", *at_sizes(row), *trials_of(row), *on_new_rows(row),
        *["at an edge"] * at_edge(row),
    ])  # fmt: skip


def at_sizes(row: dict[str, Any]) -> list[str]:
    """Of a claim about each size, the verdict in the mean over sizes if it is another, and where the claim is wrong."""
    in_mean = row["verdict_in_mean"]
    if pd.isna(in_mean) or in_mean == row["verdict"]:
        return []
    return [f"in the mean: {IN_A_CELL[in_mean]}", *re.findall(r"; (wrong at [^;]+)", row["evidence"])]


def trials_of(row: dict[str, Any]) -> list[str]:
    """Of an open claim the trials that there are, of those that would settle it: ``5 of 9 trials``."""
    found = re.search(r"; (?:about )?((?:more than )?[\d,]+) trials with this mean", row["evidence"])
    return [f"{row['n_ok']:.0f} of {found[1]} trials"] if found else []


def on_new_rows(row: dict[str, Any]) -> list[str]:
    """The verdict for new rows, if it is another."""
    verdict = row["verdict_new_rows"]
    return [] if pd.isna(verdict) or verdict == row["verdict"] else [f"new rows: {IN_A_CELL[verdict]}"]


def at_edge(row: dict[str, Any]) -> bool:
    """Whether a tuned value of the claim's cells is on the edge of its grid."""
    return str(row["evidence"]).startswith("on the edge of the grid")


def anchor(heading: str) -> str:
    """The name that GitHub gives to the place of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def there(folder: Path) -> str:
    return f"../../results/{folder.name}"


def files(folder: Path, figures: list[str]) -> list[str]:
    """Links to what there is to read, and the figures that the page shows."""
    shown = [name for name in ("table.md", "compare.md", "search.md", "statistics.md") if (folder / name).exists()]
    links = ", ".join(f"[{name}]({there(folder)}/{name})" for name in shown)
    return [
        f"Files: {links}.",
        "",
        *(line for name in figures for line in (f"![{name}]({there(folder)}/figures/{name}.png)", "")),
    ]


if __name__ == "__main__":
    sys.exit(main())
