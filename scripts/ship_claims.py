"""Ship what came out of the papers: python scripts/ship_claims.py

Writes what `rffbench site` shows of papers without their results: of each experiment on a paper its numbers that agree
and its claims with their verdicts, from the compare.csv that `rffbench compare` wrote in results/.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rffbench.config.grid import Grid
from rffbench.config.loading import load_resolved
from rffbench.papers import references, role_of
from rffbench.papers.table import NOT_MEASURED
from rffbench.report.cells import CLOSE, REPRODUCED, counted
from rffbench.report.escape import csv_cell
from rffbench.report.site.claims import SHIPPED, Claim, Experiment, write

ROOT = Path(__file__).resolve().parent.parent


def experiments(folder: Path) -> list[Experiment]:
    """The experiments on papers whose compare.csv lies below ``folder``, by name."""
    found = (experiment(path) for path in sorted(folder.rglob("compare.csv")))
    return [each for each in found if each is not None]


def experiment(path: Path) -> Experiment | None:
    """The experiment of a compare.csv; None if it is on no paper, or a gate."""
    config = load_resolved(path.parent / "config.yaml")[0][1]
    name = str(config.get("name") or path.parent.name)
    paper, role = role_of(name, config.get("reference"))
    known = references().get(str(config.get("reference") or paper))
    if not paper or known is None or role == "gate":
        return None
    rows = pd.read_csv(path, low_memory=False)
    cells = counted(rows[rows["kind"] == "cell"])
    claims = rows[rows["kind"] == "claim"]
    judged = claims[claims["verdict"] != NOT_MEASURED]
    texts = judged.astype(object).fillna("")
    return Experiment(
        name=name,
        title=str(config.get("title") or name),
        paper=paper,
        short=known.short,
        citation=references()[paper].citation if paper in references() else known.citation,
        role=str(role),
        agree=int(cells["verdict"].isin([REPRODUCED, CLOSE]).sum()),
        compared=len(cells),
        not_measured=len(claims) - len(judged),
        claims=tuple(_claim(row, Grid(config), known.methods) for row in texts.to_dict("records")),
    )


def from_csv_cell(cell: str) -> str:
    """The text without the apostrophe that `csv_cell` put before it."""
    return cell[1:] if cell[:1] == "'" and csv_cell(cell[1:]) == cell else cell


def _claim(row: dict[Any, Any], grid: Grid, names: Mapping[str, Any]) -> Claim:
    text = {str(key): from_csv_cell(str(value)) for key, value in row.items()}
    called = [text["method"], names.get(text["method"], "")]  # as the config has it, or as the paper does
    features = next((grid.features(label)["name"] for label in called if label in grid.methods), "")
    return Claim(
        text["claim"], text["where"], text["dataset"], text["method"], str(features or ""), text["verdict"],
        text["verdict_adjusted"], text["evidence"],
    )  # fmt: skip


if __name__ == "__main__":
    write(experiments(ROOT / "results"), SHIPPED)
