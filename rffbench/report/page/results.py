"""The table of an experiment on the page: one line per cell, with measured and reported numbers and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from rffbench.errors import amount
from rffbench.report import edges
from rffbench.report.cells import CLOSE, DIFFERS, NOT_COMPARABLE, OTHER_ROWS, REPRODUCED
from rffbench.report.compare import Comparison, cells_beside
from rffbench.report.figures import MOST_PROTOCOLS
from rffbench.report.frame import Protocols, Results, cell_places, size_label
from rffbench.report.page.sheet import Cell, Line, Sheet, anchor
from rffbench.report.text_table import NOT_RUN, plus_minus, significant_digits
from rffbench.stats.intervals import interval_of
from rffbench.stats.verdicts import HOLDS, OPEN, REFUTED
from rffbench.trials.metrics import BYTES, SECONDS, Metric

TONES = {REPRODUCED: "good", CLOSE: "good", DIFFERS: "bad", HOLDS: "good", REFUTED: "bad", OPEN: "open"}
COSTS = ("feature_s", "train_s", "predict_s", "own_memory_bytes")  # columns, if they were measured

_Record = dict[str, Any]
_Place = tuple[str, str, str]


def results_sheets(
    here: str, protocols: Protocols, summaries: list[pd.DataFrame], comparison: Comparison | None
) -> tuple[list[Sheet], Sheet | None]:
    """A sheet with one line per measured cell (measured and reported numbers, their difference, costs), and for a sweep
    another with the protocols side by side; and a sheet of the reported cells that were not measured, None without any.

    ``comparison`` is the first protocol's comparison with the reference, if there is one. With more than
    MOST_PROTOCOLS, the sheet shows the first protocol, and the reader can choose another.
    """
    reported: list[dict[_Place, _Record]] = [{} for _ in protocols]
    if comparison is not None:
        beside = cells_beside(comparison, protocols[1:], summaries[1:])
        reported = [_reported(cells, comparison.results) for cells in (comparison.cells, *beside)]
    table = _Columns(
        here,
        protocols[0][1].metrics,
        swept=1 < len(protocols) <= MOST_PROTOCOLS,
        given=comparison.reference.given if comparison is not None and any(reported) else "",
        costs=[name for name in COSTS if any((each["metric"] == name).any() for each in summaries)],
        named=len(_scores(protocols)) > 1,
    )
    lines = [
        [*table.lines(labels, results, summary, papers)]
        for (labels, results), summary, papers in zip(protocols, summaries, reported, strict=True)
    ]
    sheet = Sheet("Results", table.names, chosen_by=("protocol", "dataset", "method", "verdict"), stub=3 + table.swept)
    if len(protocols) <= MOST_PROTOCOLS:
        sheet.lines = [line for each in lines for line in each]
    else:
        sheet.lines = lines[0]
        sheet.protocols = {protocol_label(labels): each for (labels, _), each in zip(protocols, lines, strict=True)}
    sheet.notes = _legend(protocols, comparison if table.given else None)
    labels = [protocol_label(each) for each, _ in protocols]
    sheets = [sheet, *([_side_by_side(labels, lines, table)] if len(protocols) > 1 else [])]
    lost = Sheet(
        "Not measured", ["dataset", "s", "method", table.given, "why"], [*table.unmeasured(reported[0])], stub=3
    )  # fmt: skip
    return sheets, lost if lost.lines else None


def _side_by_side(labels: list[str], lines: list[list[Line]], table: _Columns) -> Sheet:
    """The measured numbers of every cell, one column per protocol, with the tone of the verdict. Of more than
    MOST_PROTOCOLS, those with the most cells within the tolerance are shown; without reported numbers, the first."""
    first = 1 if table.swept else 0
    where, measured = slice(first, first + 3), table.names.index("measured")
    verdict = table.names.index("verdict") if table.given else None
    tone = lambda line: "" if verdict is None else line.cells[verdict].tone  # noqa: E731
    good = [sum(tone(line) == "good" for line in each) for each in lines]
    shown = sorted(sorted(range(len(lines)), key=lambda place: -good[place])[:MOST_PROTOCOLS])
    rows: dict[tuple[str, ...], dict[int, Cell]] = {}
    names: dict[tuple[str, ...], Sequence[Cell]] = {}
    for place in shown:
        for line in lines[place]:
            key = tuple(cell.text for cell in line.cells[where])
            names.setdefault(key, line.cells[where])
            rows.setdefault(key, {})[place] = replace(line.cells[measured], tone=tone(line))
    sheet = Sheet(
        "Protocols side by side",
        ["dataset", "s", "method", *(labels[place] for place in shown)],
        chosen_by=("dataset", "method"),
        stub=3,
    )
    sheet.lines = [Line([*names[key], *(cells.get(place, Cell("")) for place in shown)]) for key, cells in rows.items()]
    left = len(lines) - len(shown)
    if left:
        which = "with the most cells within the tolerance" if verdict is not None else "that come first"
        sheet.notes = [f"The {len(shown)} protocols {which}; the other {left} are in the table above."]
    return sheet


def protocol_label(labels: Mapping[str, str]) -> str:
    """The name of a sweep's protocol: its labels."""
    return ", ".join(labels.values())


@dataclass(frozen=True)
class _Columns:
    """The columns of the table, and its lines. ``swept``: there is a column for the protocol. ``given``: the word for
    the reference's numbers, empty without any. ``named``: the hint names the score, because there are several."""

    here: str
    metrics: Mapping[str, Metric]
    swept: bool
    given: str
    costs: list[str]
    named: bool

    @property
    def names(self) -> list[str]:
        return [
            *(["protocol"] if self.swept else []), "dataset", "s", "method", *(["verdict"] if self.given else []),
            "measured", *([self.given, "difference"] if self.given else []),
            "trials", *(self.metrics[name].short for name in self.costs),
        ]  # fmt: skip

    def lines(
        self, labels: Mapping[str, str], results: Results, summary: pd.DataFrame, papers: dict[_Place, _Record]
    ) -> Iterator[Line]:
        """The lines of one protocol. ``papers`` are the reported cells by dataset, size as written and method; those
        that were measured are removed from it."""
        protocol = protocol_label(labels)
        of_cell: dict[tuple[str, int, str], dict[str, _Record]] = {}
        for row in summary.to_dict("records"):
            key = str(row["dataset"]), int(row["n_features"]), str(row["method"])
            of_cell.setdefault(key, {})[str(row["metric"])] = {str(name): value for name, value in row.items()}
        trials = results.trials
        marks = edges.marks(results)
        statuses, multiples, contended = (trials[name].tolist() for name in ("status", "multiple", "contended"))
        for (dataset, n_features, method), places in cell_places(trials).items():
            multiple = multiples[places[0]]
            size = size_label(n_features, multiple)
            paper = papers.pop((dataset, size, method), None)
            metric = results.metrics[paper["metric"]] if paper else results.score(dataset)
            measured = of_cell[dataset, n_features, method]
            ended = Counter(statuses[place] for place in places)
            disturbed = any(contended[place] for place in places if statuses[place] == "ok")
            line = [
                *([Cell(protocol)] if self.swept else []),
                Cell(dataset), Cell(size, n_features), Cell(method),
                *([_verdict(paper)] if self.given else []),
                _measured(metric, measured.get(metric.name), self.named, marks.get((dataset, n_features, method), "")),
                *(_against(paper, metric) if self.given else []),
                _trials(ended, results.grid.planned_trials(dataset, method, size_label(n_features, multiple))),
                *(_cost(results.metrics[name], measured.get(name), disturbed) for name in self.costs),
            ]  # fmt: skip
            yield Line(line, f"{self.here}:{anchor(protocol, dataset, size, method)}")

    def unmeasured(self, papers: dict[_Place, _Record]) -> Iterator[Line]:
        """The lines of reported cells that were not measured."""
        for (dataset, size, method), paper in papers.items():
            given, _ = _against(paper, self.metrics[paper["metric"]])
            line = [Cell(dataset), Cell(size), Cell(method), given, _verdict(paper)]
            yield Line(line, f"{self.here}:{anchor(dataset, size or 'reported', method)}")


def _reported(cells: pd.DataFrame, results: Results) -> dict[_Place, _Record]:
    """The reported cells by dataset, size as written and method; for several metrics, the dataset's main metric.
    Numbers of single trials are left out, because lines are means over trials."""
    if cells.empty:
        return {}
    of_means = cells[cells["reported"].notna() & cells["trial"].isna() & ~cells["verdict"].isin(NOT_COMPARABLE)]
    judged_by = of_means["metric"] == of_means["dataset"].map(lambda dataset: results.score(dataset).name)
    return {
        (str(cell["dataset"]), _size(cell), str(cell["method"])): {str(key): value for key, value in cell.items()}
        for cell in [*of_means[~judged_by].to_dict("records"), *of_means[judged_by].to_dict("records")]
    }


def _size(cell: Mapping[Any, Any]) -> str:
    return str(cell["size"]) if pd.isna(cell["n_features"]) else size_label(cell["n_features"], cell["multiple"])


def _measured(metric: Metric, row: _Record | None, named: bool, mark: str) -> Cell:
    if row is None or not row["n_ok"]:
        return Cell(NOT_RUN)
    decimals = _decimals(metric, row["mean"])
    low, high = interval_of(row["mean"], row["std"], row["n_ok"])
    interval = f"95 %: {low:.{decimals}f} to {high:.{decimals}f}" if row["n_ok"] > 1 else "a single trial"
    sign = " •" if row["significant"] else ""
    hint = f"{metric.label}; {interval}" if named else interval
    return Cell(f"{plus_minus(row['mean'], row['std'], decimals)}{sign} {mark}".rstrip(), row["mean"], hint)


def _against(paper: _Record | None, metric: Metric) -> list[Cell]:
    """The cells of the reported number and of the difference."""
    if paper is None:
        return [Cell(""), Cell("")]
    decimals = _decimals(metric, paper["reported"])
    sign = " •" if paper["reported_significant"] == 1 else ""
    reported = Cell(plus_minus(paper["reported"], paper["reported_std"], decimals) + sign, paper["reported"])
    if pd.isna(paper["difference"]):
        return [reported, Cell("")]
    hint = f"95 %: {paper['low']:+.2f} to {paper['high']:+.2f}; " if pd.notna(paper["low"]) else "no interval; "
    tolerance = f"tolerance {paper['tolerance']:g}" if pd.notna(paper["tolerance"]) else "a single run on both sides"
    difference = round(paper["difference"], 2) + 0.0
    return [reported, Cell(f"{difference:+.2f}", paper["difference"], hint + tolerance)]


def _verdict(paper: _Record | None) -> Cell:
    if paper is None:
        return Cell("")
    verdict = str(paper["verdict"])
    return Cell(verdict, tone="" if pd.isna(paper["difference"]) else TONES.get(verdict, ""))


def _trials(ended: Counter[str], planned: int) -> Cell:
    ok = ended["ok"]
    text = str(ok) if ok == planned else f"{ok} of {planned}"
    lost = ", ".join(f"{count} {status}" for status, count in ended.items() if status != "ok")
    return Cell(text, ok, lost, "bad" if lost else "")


def _cost(metric: Metric, row: _Record | None, contended: bool) -> Cell:
    if row is None or not row["n_ok"] or row["mean"] == 0:  # without a map, generating features takes 0 seconds
        return Cell(NOT_RUN)
    mean, std = row["mean"], row["std"]
    if metric.unit == BYTES:
        return Cell(amount(mean), mean)
    contended = contended and metric.unit == SECONDS
    digits = significant_digits(mean, 2)
    text = f"{'~' if contended else ''}{mean:.{digits}f} s"
    return Cell(text, mean, f"± {std:.{digits}f} s" if std == std else "")


def _decimals(metric: Metric, value: float) -> int:
    return metric.decimals if metric.decimals is not None else significant_digits(abs(value), 3)


def _scores(shown: Protocols) -> list[str]:
    """The labels of the datasets' main metrics, without repeats."""
    return list(dict.fromkeys(each.score(dataset).label for _, each in shown for dataset in each.datasets))


def _legend(shown: Protocols, comparison: Comparison | None) -> list[str]:
    notes = [
        f"Mean ± standard deviation over trials: {'; '.join(_scores(shown))}. On hover: Student's interval of the "
        "mean, 95 %.",
        "~ seconds not comparable: some were taken while other work used the processors. • significantly better than "
        "the baselines.",
    ]
    if comparison is not None:
        given, unit = comparison.reference.given, comparison.unit.replace("%", "percent")
        unit += f" of the {given} number" if "percent" in unit else ""
        notes.append(
            f"Difference: measured less {given}, in {unit}; on hover Student's interval, 95 %. {REPRODUCED}: it is no "
            f"more than runs of one protocol differ by; {DIFFERS}: it is."
            if comparison.by_interval
            else f"Difference: measured less {given}, in {unit}; on hover Welch's interval, 95 %. {REPRODUCED}: within "
            f"the tolerance, and the interval covers 0 or cannot be had; {CLOSE}: within it, but the interval excludes "
            f"0; {DIFFERS}: beyond it."
        )
        if (comparison.cells["verdict"] == OTHER_ROWS).any():
            notes.append(f"{OTHER_ROWS}: measured on other rows than the paper's, and in no sum.")
    marks = {dataset: mark for _, each in shown for dataset in each.datasets if (mark := each.mark(dataset))}
    at_edges = dict.fromkeys(note for _, each in shown for note in edges.notes(each))
    return [*notes, *(f"{dataset}: {mark}" for dataset, mark in marks.items()), *at_edges]
