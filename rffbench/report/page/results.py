"""The table of an experiment on the page: a line a cell, measured beside reported, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from rffbench.report.compare import CLOSE, DIFFERS, OTHER_ROWS, REPRODUCED, Comparison
from rffbench.report.frame import Protocols, cells, size_label
from rffbench.report.page.sheet import Cell, Line, Sheet, anchor
from rffbench.report.significance import mean_interval
from rffbench.report.text_table import NOT_RUN, failures, plus_minus, significant_digits
from rffbench.report.verdicts import HOLDS, OPEN, REFUTED
from rffbench.trials.metrics import BYTES, SECONDS, Metric
from rffbench.units import amount

TONES = {REPRODUCED: "good", CLOSE: "good", DIFFERS: "bad", HOLDS: "good", REFUTED: "bad", OPEN: "open"}
COSTS = ("feature_s", "train_s", "predict_s", "own_memory_bytes")  # columns, where they were measured

_Record = dict[str, Any]


def results_sheet(here: str, shown: Protocols, summaries: list[pd.DataFrame], comparison: Comparison | None) -> Sheet:
    """A line a cell: what was measured, what was reported, how far apart they are, and what it took."""
    reported = _reported(comparison)
    has_reported = any(pd.notna(cell["reported"]) for cell in reported.values())
    costs = [name for name in COSTS if any((each["metric"] == name).any() for each in summaries)]
    metrics = shown[0][1].metrics
    swept = len(shown) > 1
    several = len(_scores(shown)) > 1
    sheet = Sheet(
        "Results",
        [
            *(["protocol"] if swept else []), "dataset", "s", "method", "measured",
            *(["reported", "difference", "verdict"] if has_reported else []),
            "trials", *(metrics[name].short for name in costs),
        ],
        chosen_by=("protocol", "dataset", "method", "verdict"),
    )  # fmt: skip
    for (labels, results), summary in zip(shown, summaries, strict=True):
        protocol = ", ".join(labels.values())
        of_cell: dict[tuple[str, int, str], dict[str, _Record]] = {}
        for row in summary.to_dict("records"):
            key = str(row["dataset"]), int(row["n_features"]), str(row["method"])
            of_cell.setdefault(key, {})[str(row["metric"])] = {str(name): value for name, value in row.items()}
        for dataset, n_features, method, trials in cells(results.trials):
            size = size_label(n_features, trials["multiple"].iloc[0])
            paper = reported.pop((dataset, size, method), None) if results is shown[0][1] else None
            metric = results.metrics[paper["metric"]] if paper else results.score(dataset)
            measured = of_cell[dataset, n_features, method]
            contended = bool(trials.loc[trials["status"] == "ok", "contended"].any())
            line = [
                *([Cell(protocol)] if swept else []),
                Cell(dataset), Cell(size, n_features), Cell(method),
                _measured(metric, measured.get(metric.name), trials, named=several),
                *(_against(paper, metric) if has_reported else []),
                _trials(trials, results.planned_trials(n_features, trials["multiple"].iloc[0])),
                *(_cost(results.metrics[name], measured.get(name), contended) for name in costs),
            ]  # fmt: skip
            sheet.lines.append(Line(line, f"{here}:{anchor(protocol, dataset, size, method)}"))
    for (dataset, size, method), paper in reported.items():  # what is left was reported, and not measured
        metric = metrics[paper["metric"]]
        line = [
            *([Cell("")] if swept else []), Cell(dataset), Cell(size), Cell(method), Cell(NOT_RUN),
            *_against(paper, metric), Cell("0", 0), *(Cell(NOT_RUN) for _ in costs),
        ]  # fmt: skip
        sheet.lines.append(Line(line, f"{here}:{anchor(dataset, size or 'reported', method)}"))
    sheet.notes = _legend(shown, comparison if has_reported else None)
    return sheet


def _reported(comparison: Comparison | None) -> dict[tuple[str, str, str], _Record]:
    """What there is of every cell measured or reported, by dataset, size as written and method."""
    if comparison is None:
        return {}
    found = {}
    for cell in comparison.cells.to_dict("records"):
        if pd.notna(cell["reported"]):
            found[str(cell["dataset"]), _size(cell), str(cell["method"])] = {
                str(key): value for key, value in cell.items()
            }
    return found


def _size(cell: Mapping[Any, Any]) -> str:
    return str(cell["size"]) if pd.isna(cell["n_features"]) else size_label(cell["n_features"], cell["multiple"])


def _measured(metric: Metric, row: _Record | None, trials: pd.DataFrame, named: bool) -> Cell:
    if row is None or not row["n_ok"]:
        return Cell(NOT_RUN)
    decimals = _decimals(metric, row["mean"])
    low, high = mean_interval(trials[metric.name].dropna())
    interval = f"95 %: {low:.{decimals}f} to {high:.{decimals}f}" if row["n_ok"] > 1 else "a single trial"
    sign = " •" if row["significant"] else ""
    hint = f"{metric.label}; {interval}" if named else interval
    return Cell(plus_minus(row["mean"], row["std"], decimals) + sign, row["mean"], hint)


def _against(paper: _Record | None, metric: Metric) -> list[Cell]:
    """Reported, difference and verdict."""
    if paper is None:
        return [Cell(""), Cell(""), Cell("")]
    decimals = _decimals(metric, paper["reported"])
    sign = " •" if paper["reported_significant"] == 1 else ""
    reported = Cell(plus_minus(paper["reported"], paper["reported_std"], decimals) + sign, paper["reported"])
    verdict = str(paper["verdict"])
    if pd.isna(paper["difference"]):
        return [reported, Cell(""), Cell(verdict)]
    hint = f"95 %: {paper['low']:+.2f} to {paper['high']:+.2f}; " if pd.notna(paper["low"]) else "no interval; "
    tolerance = f"tolerance {paper['tolerance']:g}"
    difference = round(paper["difference"], 2) + 0.0
    return [
        reported,
        Cell(f"{difference:+.2f}", paper["difference"], hint + tolerance),
        Cell(verdict, tone=TONES.get(verdict, "")),
    ]


def _trials(trials: pd.DataFrame, planned: int) -> Cell:
    ok = int((trials["status"] == "ok").sum())
    text = str(ok) if ok == planned else f"{ok} of {planned}"
    return Cell(text, ok, failures(trials), "bad" if len(trials) > ok else "")


def _cost(metric: Metric, row: _Record | None, contended: bool) -> Cell:
    if row is None or not row["n_ok"] or row["mean"] == 0:  # of no map, there is none to generate
        return Cell(NOT_RUN)
    mean, std = row["mean"], row["std"]
    if metric.unit == BYTES:
        return Cell(amount(mean), mean)
    contended = contended and metric.unit == SECONDS
    text = plus_minus(mean, std, significant_digits(mean, 2)) + " s"
    return Cell("~" + text if contended else text, mean, "other work used the processors" if contended else "")


def _decimals(metric: Metric, value: float) -> int:
    return metric.decimals if metric.decimals is not None else significant_digits(abs(value), 3)


def _scores(shown: Protocols) -> list[str]:
    """What datasets are judged by, each once."""
    return list(dict.fromkeys(each.score(dataset).label for _, each in shown for dataset in each.datasets))


def _legend(shown: Protocols, comparison: Comparison | None) -> list[str]:
    notes = [
        f"Mean ± standard deviation over trials: {'; '.join(_scores(shown))}. On hover: Student's interval of the "
        "mean, 95 %.",
        "~ seconds not comparable: some were taken while other work used the processors. • significantly better than "
        "the baselines.",
    ]
    if comparison is not None:
        table = comparison.reference.table
        unit = "percent of the reported number" if table and table.tolerance_unit == "percent" else "points"
        notes.append(
            f"Difference: measured less reported, in {unit}; on hover Welch's interval, 95 %. {REPRODUCED}: within the "
            f"tolerance, and the interval covers 0 or cannot be had; {CLOSE}: within it, but the interval excludes 0; "
            f"{DIFFERS}: beyond it."
        )
        if (comparison.cells["verdict"] == OTHER_ROWS).any():
            notes.append(f"{OTHER_ROWS}: measured on other rows than the paper's, and in no sum.")
    marks = {dataset: mark for _, each in shown for dataset in each.datasets if (mark := each.mark(dataset))}
    return [*notes, *(f"{dataset}: {mark}" for dataset, mark in marks.items())]
