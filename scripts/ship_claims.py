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
from rffbench.report.cells import CLOSE, REPRODUCED, counted
from rffbench.report.site.claims import SHIPPED, Claim, Experiment, write
from studies.evidence import compared, searches

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
    found = compared(folder.name)
    agree = counted(found["cell"])["verdict"].isin([REPRODUCED, CLOSE]) if "cell" in found else []
    claims = found["claim"].to_dict("records") if "claim" in found else []
    judged = [claim for claim in claims if claim["verdict"] != NOT_MEASURED]
    return Experiment(
        name=name,
        title=str(config.get("title") or name),
        paper=paper,
        short=known.short,
        citation=references()[paper].citation if paper in references() else known.citation,
        role=str(role),
        agree=int(sum(agree)),
        compared=len(agree),
        not_measured=len(claims) - len(judged),
        claims=tuple(_claim(claim, Grid(config), known.methods) for claim in judged),
    )


def _claim(found: Mapping[Any, Any], grid: Grid, names: Mapping[str, Any]) -> Claim:
    called = [found["method"], names.get(found["method"], "")]  # as the config has it, or as the paper does
    features = next((grid.features(label)["name"] for label in called if label in grid.methods), "")
    told = {name: found[name] for name in ("claim", "where", "dataset", "method", "verdict", "evidence")}
    return Claim(**told, features=str(features or ""), together=found["verdict_adjusted"])


if __name__ == "__main__":
    write(experiments(ROOT / "results"), SHIPPED)
