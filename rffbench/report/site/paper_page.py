"""A paper's page: how many of its numbers and claims came out here."""

from __future__ import annotations

from typing import Any

from rffbench.report.site.claims import Experiment, OfPaper
from rffbench.report.site.content import Content
from rffbench.report.site.table import Cell, Table, number
from rffbench.stats.verdicts import HOLDS, OPEN, REFUTED


def context(content: Content, paper: OfPaper) -> dict[str, Any]:
    """What the template paper.html shows."""
    return {
        "title": paper.short,
        "said": paper.said,
        "citation": paper.citation,
        "tables": [_experiments(paper), *(_claims(content, each) for each in paper.experiments if each.claims)],
    }


def _experiments(paper: OfPaper) -> Table:
    rows = []
    for each in paper.experiments:
        verdicts = [claim.verdict for claim in each.claims]
        rows.append([
            Cell(each.title), Cell(each.role), Cell(f"{each.agree:,} of {each.compared:,}" if each.compared else "–"),
            *(number(float(verdicts.count(verdict)), ".0f") for verdict in (HOLDS, REFUTED, OPEN)),
            number(float(each.not_measured), ".0f"),
        ])  # fmt: skip
    header = ["experiment", "kind", "numbers that agree", "claims held", "refuted", "open", "not measured"]
    note = "Only reproductions count in the sentence above; controls, studies and searches ask something else."
    return Table("experiments", "Experiments", header, rows, [note])


def _claims(content: Content, experiment: Experiment) -> Table:
    pages = content.pages_of_maps
    rows = [
        [Cell(claim.verdict), Cell(claim.claim), Cell(claim.dataset),
         Cell(claim.method, f"../maps/{pages[claim.features]}.html" if claim.features in pages else ""),
         Cell(claim.together), Cell(claim.evidence), Cell(claim.where)]
        for claim in experiment.claims
    ]  # fmt: skip
    header = ["verdict", "claim", "dataset", "method", "all together", "evidence", "where"]
    note = "All together: the verdict after a correction over all claims of the experiment (Benjamini and Yekutieli)."
    return Table(f"claims-{experiment.name}", f"Claims: {experiment.title}", header, rows, [note])
