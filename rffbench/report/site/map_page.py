"""A map's page: what it computes and costs, on which data it is better, and which claims of its paper came out."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from rffbench import features
from rffbench.config.catalogue import in_words
from rffbench.errors import RffbenchError
from rffbench.io.text import plural
from rffbench.report.site import figures
from rffbench.report.site.claims import Claim, Experiment, OfPaper, claims_on
from rffbench.report.site.content import BUDGETS, RFF, WORDS, Content
from rffbench.report.site.parts import COSTS, Part, metric_of
from rffbench.report.site.standing import BETTER, Standing, told_apart
from rffbench.report.site.table import Cell, Table, interval, number
from rffbench.report.text_table import NOT_RUN
from rffbench.stats.intervals import mean_interval
from rffbench.stats.summary import odds
from rffbench.stats.verdicts import HOLDS


def context(content: Content, part: Part, label: str) -> dict[str, Any]:
    """What the template map.html shows."""
    views = content.views.get(part.name, {})
    standings = {of: each for of, view in views.items() for each in view.standings if each.method == label}
    name = part.maps[label]["name"]
    rows = _on_datasets(part, label, views["columns"].rows) if "columns" in standings else []
    parameters = {key: value for key, value in part.maps[label].items() if key != "name"}
    return {
        "title": label,
        "said": sentence(label, part, standings, rows),
        "part": part,
        "fact": content.facts.get(name) if part.is_map(label) else None,
        "parameters": ", ".join(f"{key}: {_written(value)}" for key, value in parameters.items()),
        "formula": content.facts[name]["summary"].replace("`", "") if name in content.facts else "",
        "serves": in_words(content.facts[name]) if name in content.facts and part.is_map(label) else "",
        "code": _code(name) if part.is_map(label) else None,
        "checked": content.who_checked(label, part),
        "figure": figures.by_dataset(rows, RFF) if rows else "",
        "tables": [
            *([_budgets(standings)] if standings else []),
            *([_datasets(content, part, rows)] if rows else []),
            _sizes(part, label, content.rows[part.name]),
        ],
        "claims": _claims(claims_on(name, content.papers)) if part.is_map(label) else None,
    }  # fmt: skip


def sentence(label: str, part: Part, standings: dict[str, Standing], rows: Sequence[dict[str, Any]]) -> str:
    """How the map compares with random Fourier features, by the board's verdicts."""
    if label == part.baseline:
        return f"{label} are what every other map is compared with here." if label == "RFF" else (
            f"{label} is what every other map is compared with here."
        )  # fmt: skip
    if "columns" not in standings:
        return f"{label} has no trial beside {RFF} to be compared with."
    better = sum(row["verdict"] == BETTER for row in rows)
    if not part.is_map(label) or standings["columns"].gain is None:
        return f"{label} has a smaller test error than {RFF} on {better} of {plural(len(rows), 'dataset')}."
    first = f"{label} is {WORDS[standings['columns'].verdict]} with as many columns"
    if "fit" not in standings:
        return f"{first}."
    timed = standings["fit"].verdict
    if timed == standings["columns"].verdict:
        return f"{first}, and for the same seconds."
    again = WORDS[timed].replace(RFF, "them")
    return f"{first}; for the same seconds it is {again}."


# ---- Its tables ------------------------------------------------------------------------------------------------------


def _on_datasets(part: Part, label: str, rows: Any) -> list[dict[str, Any]]:
    """On each dataset the mean ratio of test errors, its interval over trials, and whether it differs from 1 by more
    than chance; the smallest first."""
    mine = rows[(rows["method"] == label) & rows["ratio"].notna()]
    by_dataset = {str(name): each["ratio"].to_numpy(float) for name, each in mine.groupby("dataset")}
    if label == part.baseline or not by_dataset:
        return []
    verdicts = told_apart({name: list(each) for name, each in by_dataset.items()})
    found = []
    for name, values in by_dataset.items():
        low, high = mean_interval(values) if len(values) > 1 else (np.nan, np.nan)
        found.append({"dataset": name, "ratio": float(values.mean()), "low": low, "high": high,
                      "verdict": verdicts[name]})  # fmt: skip
    return sorted(found, key=lambda row: row["ratio"])


def _budgets(standings: dict[str, Standing]) -> Table:
    rows = [
        [Cell(BUDGETS[of]), number(each.ratio), interval(each.low, each.high),
         Cell(f"{each.smaller_on} of {len(each.on)}"),
         Cell(each.verdict if each.gain is not None else NOT_RUN),
         Cell(odds(each.gain.posterior) if each.gain is not None else NOT_RUN), Cell(each.outside or NOT_RUN)]
        for of, each in standings.items()
    ]  # fmt: skip
    header = [
        "budget",
        "test error over RFF's",
        "95 %",
        "smaller on",
        "verdict",
        "better | same | worse",
        "not measured there",
    ]
    note = "Not measured there: datasets on which every size of the map costs more, or less, than that."
    return Table("budgets", f"Beside {RFF}", header, rows, [note])


def _datasets(content: Content, part: Part, rows: Sequence[dict[str, Any]]) -> Table:
    table = [
        [Cell(row["dataset"], f"../datasets/{content.datasets[row['dataset']]}.html"), number(row["ratio"]),
         interval(row["low"], row["high"]), Cell(row["verdict"]), Cell(metric_of(part, row["dataset"]))]
        for row in rows
    ]  # fmt: skip
    note = (
        "Means over trials of the ratio to random Fourier features with as many columns, on the same split, with "
        "Student's interval. Of the datasets told apart, at most 5 % are so by chance (Benjamini and Hochberg)."
    )
    header = ["dataset", "test error over RFF's", "95 %", "test error is", "metric"]
    return Table("datasets", f"Where it is better, with {part.columns:,} columns", header, table, [note])


def _sizes(part: Part, label: str, rows: pd.DataFrame) -> Table:
    """At every size: the trials, the failures, and what they cost."""
    mine = rows[rows["method"] == label]
    costs = [of for of in COSTS if of in mine]
    table = []
    for columns in sorted(mine["n_features"].unique()):
        each = mine[mine["n_features"] == columns]
        table.append([
            number(float(columns), ",.0f") if part.is_map(label) else Cell("–"), Cell(str(each["dataset"].nunique())),
            number(float(len(each)), ".0f"), number(float(each["failed"].sum()), ".0f"),
            *(number(float(each.groupby("dataset")[of].first().median()), ".2g") for of in costs),
        ])  # fmt: skip
    header = ["columns", "datasets", "trials", "failed", *(f"{COSTS[of]} over RFF's" for of in costs)]
    notes = [f"Costs are medians over datasets, over those of {RFF} with {part.columns:,} columns."] if costs else []
    return Table("sizes", "What was run, and its cost", header, table, notes)


def _claims(found: Sequence[tuple[OfPaper, Experiment, Claim]]) -> dict[str, Any] | None:
    """The claims about the map, with a sentence that counts them; None without any."""
    if not found:
        return None
    counts = Counter(claim.verdict for *_, claim in found)
    rows = [
        [Cell(claim.verdict), Cell(claim.claim), Cell(claim.dataset), Cell(each.title),
         Cell(paper.short, f"../papers/{paper.name}.html")]
        for paper, each, claim in found
    ]  # fmt: skip
    held = f"{counts[HOLDS]} of {plural(len(found), 'claim')} about it that were judged held here."
    header = ["verdict", "claim", "dataset", "experiment", "paper"]
    return {"said": held, "table": Table("claims", "Claims", header, rows)}


def _written(value: Any) -> str:
    """A parameter as a config has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _code(name: str) -> dict[str, str] | None:
    """The class of a registered map: its name, its file and its text; None where it can't be had."""
    try:
        factory = features.feature_class(name)
        file, text = inspect.getsourcefile(factory) or "", inspect.getsource(factory)
    except (RffbenchError, OSError, TypeError):
        return None
    place = "/".join(str(file).replace("\\", "/").rpartition("/rffbench/")[1:]).replace("//", "/").lstrip("/")
    return {"name": factory.__name__, "file": place or str(file), "text": text}
