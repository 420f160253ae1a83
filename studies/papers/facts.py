"""All papers together: what came of each, and where more cells differ than chance explains."""

import re

import pandas as pd
from scipy.stats import binom

from studies import pages
from studies.evidence import FLAWS, NO_SPREAD, NOT_MEASURED, ROOT, Cells, cells, of_paper, papers, signed
from studies.figures import TITLES

LEVEL = 0.05  # of the intervals that a cell is judged by


def came_out(paper: str) -> tuple[str, str]:
    """The title of a paper's page, and the sentences in bold that it opens with."""
    text = pages.rendered(ROOT / "studies" / "papers" / paper / "page.md")
    title, verdict = (re.search(pattern, text, re.S | re.M)[1] for pattern in (r"^# (.*?)$", r"\*\*(.*?)\*\*"))
    return title, " ".join(verdict.split())


def reproductions(paper: str) -> Cells:
    """The cells of the experiments that are to give a paper's numbers."""
    return cells(*of_paper(paper, "reproductions"))


def everything() -> list[str]:
    return list(papers())


def tried(paper: str) -> int:
    """How many protocols were run to find the one nearest to a paper's numbers."""
    return papers()[paper].get("tried", 1)


def sources() -> list[str]:
    """The papers whose authors released their numbers."""
    return [paper for paper, each in papers().items() if each.get("numbers") == "released"]


def of_sources() -> Cells:
    """All cells of papers whose authors released their numbers."""
    return cells(*(name for paper in sources() for name in of_paper(paper, "reproductions")))


def measured() -> int:
    """Of the released numbers those that were measured."""
    return len(of_sources().compared) + of_sources().count(NO_SPREAD)


def measurable() -> int:
    """Of the released numbers those whose data and method are here."""
    return measured() + of_sources().count(NOT_MEASURED)


def crowded() -> list[tuple[str, str, int, int]]:
    """The metrics of datasets, and the kinds of maps, of which more cells differ than chance leaves of cells that are
    right: experiment, what, how many, of how many. By the binomial distribution, as for independent cells, with
    Bonferroni's correction."""
    rows = of_sources().compared
    rows = rows.assign(kind=rows["method"].str.partition(" ")[0])
    found = []
    for columns in (["dataset", "metric"], ["kind"]):
        groups = list(rows.groupby(["experiment", *columns], sort=False))
        for (name, *what), part in groups:
            missed = Cells(part).differ
            if binom.sf(missed - 1, len(part), LEVEL) < LEVEL / len(groups):
                said = ", ".join(TITLES.get(each, each) for each in what)
                found.append((str(name), said, missed, len(part)))
    return sorted(found, key=lambda each: -each[2] / each[3])


def flaws() -> list[dict[str, str]]:
    """Each released protocol with its flaw and without: a row for each dataset."""
    rows = pd.read_csv(FLAWS).to_dict("records")
    told = []
    for row in rows:
        decimals = 2 if row["unit"] == "points" else 1
        interval = f"{signed(row['low'], decimals)} to {signed(row['high'], decimals)}"
        effect = f"{signed(row['effect'], decimals)} {row['unit']} ({interval})"
        told.append({**row, "effect": effect, "score": f"{row['dataset']}, {TITLES.get(row['metric'], row['metric'])}"})
    return told
