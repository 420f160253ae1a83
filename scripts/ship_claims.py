"""Ship what came out of the papers: python scripts/ship_claims.py

Writes what `rffbench site` shows of papers without their results: of each experiment on a paper its numbers that agree
and its claims with their verdicts, by comparing the results in results/ with the papers anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rffbench.config.grid import Grid
from rffbench.config.loading import load_resolved
from rffbench.execution.places import experiment_folders
from rffbench.papers import references, role_of
from rffbench.papers.table import NOT_MEASURED
from rffbench.report import compare_folder
from rffbench.report.cells import CLOSE, REPRODUCED, counted
from rffbench.report.judge import Finding
from rffbench.report.site.claims import SHIPPED, Claim, Experiment, write
from studies.evidence import searches

ROOT = Path(__file__).resolve().parent.parent


def experiments(folder: Path) -> list[Experiment]:
    """The experiments on papers in ``folder``, by name; but for the searches whose protocols are ranked alone."""
    folders = sorted(experiment_folders(folder), key=lambda each: each.name)
    found = (experiment(each) for each in folders if searches().get(each.name) != "ranked alone")
    return [each for each in found if each is not None]


def experiment(folder: Path) -> Experiment | None:
    """An experiment beside its paper; None if it is on no paper, or a gate."""
    config = load_resolved(folder / "config.yaml")[0][1]
    name = str(config.get("name") or folder.name)
    paper, role = role_of(name, config.get("reference"))
    known = references().get(str(config.get("reference")))
    if not paper or known is None or role == "gate":
        return None
    comparison, _ = compare_folder(folder)
    cells = counted(comparison.cells)
    judged = [finding for finding in comparison.findings if finding.verdict != NOT_MEASURED]
    return Experiment(
        name=name,
        title=str(config.get("title") or name),
        paper=paper,
        short=known.short,
        citation=references()[paper].citation if paper in references() else known.citation,
        role=str(role),
        agree=int(cells["verdict"].isin([REPRODUCED, CLOSE]).sum()),
        compared=len(cells),
        not_measured=len(comparison.findings) - len(judged),
        claims=tuple(_claim(finding, Grid(config), known.methods) for finding in judged),
    )


def _claim(finding: Finding, grid: Grid, names: Mapping[str, Any]) -> Claim:
    called = [finding.method, names.get(finding.method, "")]  # as the config has it, or as the paper does
    features = next((grid.features(label)["name"] for label in called if label in grid.methods), "")
    return Claim(
        finding.claim, finding.where, finding.dataset, finding.method, str(features or ""), finding.verdict,
        finding.verdict_adjusted, finding.evidence,
    )  # fmt: skip


if __name__ == "__main__":
    write(experiments(ROOT / "results"), SHIPPED)
