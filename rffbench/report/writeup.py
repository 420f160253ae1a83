"""Writes a comparison with a paper as text, Markdown, CSV and JSON: cells, sums per method, ratios of costs, claims."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from rffbench.io.text import in_one_line, plural
from rffbench.papers.table import NOT_MEASURED
from rffbench.report import edges
from rffbench.report.cells import (
    BESIDES,
    CELL_COLUMNS,
    CLOSE,
    DIFFERS,
    NO_SPREAD,
    NOT_COMPARABLE,
    NOT_REPORTED,
    OTHER_ROWS,
    REPRODUCED,
)
from rffbench.report.compare import NOT_ASKED, NOT_RUN_YET, RATIO_FACTOR, Comparison
from rffbench.report.controls import in_words
from rffbench.report.escape import csv_frame, markdown
from rffbench.report.judge import Finding
from rffbench.report.summary import records
from rffbench.report.text_table import Table, plus_minus
from rffbench.stats.verdicts import DRAWS, HOLDS, NEW_ROWS, OPEN, REFUTED, THIS_DATASET
from rffbench.trials.metrics import METRICS

VERDICTS = (HOLDS, REFUTED, OPEN, NOT_MEASURED)
CSV_COLUMNS = [
    "kind", *CELL_COLUMNS[:5], "baseline", *CELL_COLUMNS[5:], "claim", "where", "asked", "because",
    "protocol", "sizes", "covers", "p", "p_adjusted", "verdict_adjusted", "verdict_in_mean", "verdict_new_rows",
    "stands_in_for", "evidence",
]  # fmt: skip
_WIDTH = 110
_INTERVAL, _TOGETHER = "95 %", "all together"
_VERDICT = len(OPEN) + 1  # width of a verdict
_EXPLAINED = (
    f"A claim is judged by the mean over trials, with Student's 95 % interval; a trial's number is the mean over sizes "
    f"of its differences, or of the logarithms of its ratios. {HOLDS}: the interval lies where the claim has it; "
    f"{REFUTED}: it lies beyond; {OPEN}: it has a bound inside. A claim with two bounds holds by two one-sided tests "
    f"(the 90 % interval lies within); one for every size holds where it holds at each, and fails where it fails at "
    f"any (Holm). A single trial has no interval.",
    f"What an interval covers: {THIS_DATASET}, other splits and draws; {DRAWS}, where the split is given; {NEW_ROWS}, "
    f"other rows of this kind (Nadeau and Bengio's variance), which is named where it changes the verdict.",
    "p: of the verdict, or, where the evidence is not enough, of the nearer one. all together: the verdict after "
    "Benjamini and Yekutieli's correction over all claims of this table.",
)


def to_text(comparison: Comparison, width: int | None = None) -> str:
    """The comparison for a terminal of this ``width``: how many cells and claims come out, then what differs, then the
    rest of what was measured, and a line that counts what was not (compare.md lists it)."""
    differing, others = _tables(comparison, width)
    refuted = [finding for finding in comparison.findings if finding.verdict == REFUTED]
    judged = [finding for finding in comparison.findings if finding.verdict not in (REFUTED, NOT_MEASURED)]
    citation = comparison.reference.citation
    title = f"{comparison.results.title}, against {citation}"
    parts = [
        _lines([title, summary_line(comparison)], width),
        *(table.to_text(width) for table in differing),
        _claims_text("Claims that do not hold", refuted, width or _WIDTH),
        *(table.to_text(width) for table in others),
        _claims_text("Other claims", judged, width or _WIDTH),
        _lines(_rest(comparison), width),
    ]
    return "\n".join(filter(None, parts)).rstrip("\n") + "\n"


def _lines(texts: Sequence[str], width: int | None) -> str:
    """Paragraphs, broken into lines of this width."""
    broken = [
        line for text in texts for line in (textwrap.wrap(text, width, break_on_hyphens=False) if width else [text])
    ]
    return "".join(f"{line}\n" for line in broken)


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Every cell, cost and claim for JSON: numbers in full precision, None if missing."""
    return {
        "title": comparison.results.title, "reference": comparison.reference.citation, "outside": comparison.outside,
        "compared": len(comparison.counted), "refuted": comparison.refuted, "cells": records(comparison.cells),
        "costs": records(comparison.costs), "claims": records(pd.DataFrame(map(vars, comparison.findings))),
        "controls": [vars(control) for control in comparison.controls],
        "not_comparable": comparison.not_comparable, "leans": records(pd.DataFrame(map(vars, comparison.leans))),
        "missing": comparison.missing, "summary": summary_line(comparison),
    }  # fmt: skip


def to_markdown(comparison: Comparison) -> str:
    """The text of compare.md: all tables, and the sentences on missing numbers."""
    parts = [
        f"# {markdown(in_one_line(comparison.results.title))}, measured and {comparison.reference.given}\n",
        f"{comparison.reference.given.capitalize()}: {comparison.reference.citation}.\n",
        f"{summary_line(comparison)}\n",
        *(table.to_markdown() for part in _tables(comparison) for table in part),
    ]
    if comparison.findings:
        parts.append(claims_table(comparison).to_markdown())
    return "\n".join([*parts, *(f"{markdown(in_one_line(line))}\n" for line in comparison.missing)])


def to_csv(comparison: Comparison) -> str:
    """The text of compare.csv: one row per cell, ratio of costs and claim (``kind``); numbers in full precision."""
    claims = pd.DataFrame([vars(finding) for finding in comparison.findings]).rename(columns={"trials": "n_ok"})
    parts = [
        part.assign(kind=kind)
        for kind, part in (("cell", comparison.cells), ("ratio", comparison.costs), ("claim", claims))
        if len(part)
    ]
    rows = pd.concat(parts) if parts else pd.DataFrame()
    table = comparison.reference.table
    columns = [*CSV_COLUMNS, *BESIDES[:4]] if table and table.counts_all else CSV_COLUMNS
    return csv_frame(rows.reindex(columns=columns)).to_csv(index=False, lineterminator="\n")


def summary_line(comparison: Comparison) -> str:
    """Sentences: how many cells come out, how many claims hold, and what was not compared."""
    said = [*_cells_in_words(comparison), *_claims_in_words(comparison.findings)]
    return " ".join(f"{sentence}." for sentence in said)


def _cells_in_words(comparison: Comparison) -> list[str]:
    if not comparison.reference.table:
        return []
    counted, given = len(comparison.counted), comparison.reference.given
    agreeing = "agree" if comparison.by_interval else "come out"
    said = [f"{counted - comparison.outside:,} of {counted:,} cells {agreeing}"]
    if not comparison.by_interval:
        said.append(f"The tolerance is {tolerance_text(comparison)}")
    left = [f"{_are(count)} {why}" for why, count in comparison.left_out.items()]
    return [*(said if counted else [f"No cell is both measured and {given}"]), *left]


def _claims_in_words(findings: Sequence[Finding]) -> list[str]:
    counts = Counter(finding.verdict for finding in findings)
    said = []
    if judged := len(findings) - counts[NOT_MEASURED]:
        said.append(f"{counts[HOLDS]:,} of {plural(judged, 'claim')} {_hold(counts[HOLDS])}")
        others = [f"{_do(counts[REFUTED])} not"] if counts[REFUTED] else []
        others += [f"of {counts[OPEN]:,} the evidence is not enough"] if counts[OPEN] else []
        said += [", and ".join(others).capitalize()] if others else []
        said += _all_together(findings)
        if at_edge := sum(finding.verdict == HOLDS and finding.at_edge for finding in findings):
            said.append(f"{at_edge} of those that hold rest on a value at the edge of its grid")
        if stood_in := sum(bool(each.stands_in_for) for each in findings if each.verdict != NOT_MEASURED):
            said.append(f"{stood_in} of the claims are judged on stand-in data")
    if counts[NOT_MEASURED]:
        said.append(f"{_are(counts[NOT_MEASURED], 'claim')} not measured")
    return said


def _are(count: int, what: str = "") -> str:
    """``1 claim is``, ``2 claims are``; without ``what``: ``1 is``, ``2 are``."""
    named = plural(count, what) if what else f"{count:,}"
    return f"{named} {'is' if count == 1 else 'are'}"


def _hold(count: int) -> str:
    return "holds" if count == 1 else "hold"


def _do(count: int) -> str:
    return f"{count:,} {'does' if count == 1 else 'do'}"


def _all_together(findings: Sequence[Finding]) -> list[str]:
    """The numbers of verdicts after the correction over all claims, if it changes any."""
    counts = Counter(finding.verdict_adjusted for finding in findings)
    changed = any(finding.verdict != finding.verdict_adjusted for finding in findings if finding.verdict_adjusted)
    holds = f"{counts[HOLDS]:,} {_hold(counts[HOLDS])}"
    refuted = f" and {_do(counts[REFUTED])} not" if counts[REFUTED] else ""
    return [f"Corrected for their number, {holds}{refuted}"] if changed else []


def _rest(comparison: Comparison) -> list[str]:
    """One line that counts the reported numbers that were not measured, and the notes on those that were."""
    counts = {
        "cells": comparison.unmeasured,
        "ratios of costs": int((comparison.costs["verdict"] == NOT_MEASURED).sum()),
        "claims": sum(finding.verdict == NOT_MEASURED for finding in comparison.findings),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    kept = [line for line in comparison.missing if not line.startswith((NOT_RUN_YET, NOT_ASKED))]
    return [*([f"{NOT_MEASURED}: {said}; compare.md names them."] if said else []), *kept]


# ---- Tables ------------------------------------------------------------------------------------------------


def claims_table(comparison: Comparison) -> Table:
    """One row per claim and dataset, claims that hold first."""
    header = ["verdict", "dataset", "methods", "claim", "asked for", "measured", "p", _TOGETHER]
    rows = [
        [
            finding.verdict, _place(finding), _methods(finding), f"{finding.claim} [{finding.where}]",
            f"{finding.asked} ({finding.because})", finding.evidence,
            "" if math.isnan(finding.p) else f"{finding.p:.2g}", finding.verdict_adjusted,
        ]
        for finding in _sorted(comparison.findings)
    ]  # fmt: skip
    return Table("Claims", header, rows, [*_EXPLAINED], stub=3)


def _tables(comparison: Comparison, width: int | None = None) -> tuple[list[Table], list[Table]]:
    """The table of the cells that differ, and the tables of the others; for a terminal with ``width`` columns, without
    the cells that were not measured."""
    cells, differing, others = comparison.cells, [], []
    if cells["reported"].notna().any():
        differs = cells["verdict"] == DIFFERS
        if differs.any():
            differing = [replace(_cells_table(comparison, cells[differs], "Cells that differ"), notes=[])]
        others = [
            _sums_table(comparison),
            _cells_table(comparison, cells[~differs], "The other cells" if differs.any() else "Cells"),
        ]
        others += [_leans_table(comparison)] if comparison.leans else []
    if len(comparison.costs):
        others.append(costs_table(comparison))
    if width is None:
        return differing, others
    found = [_measured(table, width) for table in others]
    return [_measured(table, width) for table in differing], [table for table in found if table.rows]


def _measured(table: Table, width: int) -> Table:
    """The table without rows and columns that were not measured, and without intervals if it is too wide."""

    def empty(cell: str) -> bool:
        return cell in ("", "–") or NOT_MEASURED in cell

    table = _without(table, NOT_MEASURED)
    kept = [row for row in table.rows if NOT_MEASURED not in row and not all(map(empty, row[table.stub :]))]
    table = replace(table, rows=kept)
    if _INTERVAL in table.header and table.narrowest() > width:
        table = _without(table, _INTERVAL)
        table.notes = [*table.notes, "compare.md has the intervals."]
    return table


def _without(table: Table, heading: str) -> Table:
    """The table without the column with this heading."""
    kept = [column for column, name in enumerate(table.header) if name != heading]
    rows = [[row[column] for column in kept] for row in table.rows]
    return replace(table, header=[table.header[column] for column in kept], rows=rows)


def _cells_table(comparison: Comparison, cells: pd.DataFrame, title: str) -> Table:
    """One row per cell; the notes explain the signs and verdicts that these cells have."""
    unit, metrics, given = comparison.unit, comparison.results.metrics, comparison.reference.given
    marks = edges.marks(comparison.results)
    table = Table(
        title,
        ["dataset", "s", "method", given, "measured", f"difference ({unit})", _INTERVAL, "verdict"],
        stub=3,
    )
    for cell in cells[~cells["verdict"].isin(NOT_COMPARABLE)].to_dict("records"):
        decimals = metrics[cell["metric"]].decimals or 4
        mark = marks.get((cell["dataset"], cell["n_features"], cell["method"]), "")
        table.rows.append([
            cell["dataset"],
            cell["size"] if pd.isna(cell["trial"]) else f"{cell['size']} trial {cell['trial']}".strip(),
            f"{cell['method']} ({cell['reported_method']})" if cell["reported_method"] else cell["method"],
            _number(cell, "reported", decimals), f"{_number(cell, 'measured', decimals)} {mark}".rstrip(),
            _signed(cell["difference"]),
            "" if math.isnan(cell["low"]) else f"{_signed(cell['low'])} to {_signed(cell['high'])}",
            f"not {given}" if cell["verdict"] == NOT_REPORTED else cell["verdict"],
        ])  # fmt: skip
    labels = dict.fromkeys(metrics[name].label for name in comparison.cells["metric"].dropna())
    no_spread = "a mean is of a single trial" if given == "recorded" else "the paper gives no spread"
    interval = "Student's (pooled)" if comparison.by_interval else "Welch's"
    table.notes = [
        f"Mean ± standard deviation over trials: {'; '.join(labels)}. 95 %: {interval} interval of the difference.",
        f"{REPRODUCED}: the interval, and half a unit of the last decimal, cover 0; {DIFFERS}: they don't."
        if comparison.by_interval
        else f"{REPRODUCED}: within the tolerance ({tolerance_text(comparison)}), and the interval covers 0, or "
        f"{no_spread}; {CLOSE}: within it, but the interval excludes 0; {DIFFERS}: beyond it.",
    ]
    if found := comparison.controls:
        table.notes.append(in_words(found))
    if (comparison.cells[["reported_significant", "measured_significant"]] == 1).any(axis=None):
        note, both = "• significantly better than the baselines", comparison.counted
        if comparison.cells["reported_significant"].notna().any():  # a recorded baseline has no marks
            agreeing = int((both["measured_significant"] == both["reported_significant"]).sum())
            note += f"; agrees in {agreeing} of {len(both)} cells"
        table.notes.append(f"{note}.")
    if (comparison.cells["verdict"] == OTHER_ROWS).any():
        table.notes.append(f"{OTHER_ROWS}: measured on other rows than the paper's (see below), and in no sum.")
    return table


def _sums_table(comparison: Comparison) -> Table:
    """One row per dataset and method: mean and largest difference, and the number of cells by verdict."""
    unit = comparison.unit
    found = set(comparison.cells["verdict"])
    kinds = [REPRODUCED, CLOSE, DIFFERS, *(kind for kind in (OTHER_ROWS, NO_SPREAD) if kind in found), NOT_MEASURED]
    table = Table("By dataset and method", ["dataset", "method", f"mean difference ({unit})", "largest", *kinds])
    reported = comparison.cells[~comparison.cells["verdict"].isin([NOT_REPORTED, *NOT_COMPARABLE])]
    for (dataset, method), cells in reported.groupby(["dataset", "method"], sort=False):
        sizes = cells["difference"].abs()
        mean, largest = ("", "") if sizes.isna().all() else (_signed(cells["difference"].mean()), f"{sizes.max():.2f}")
        counts = [str((cells["verdict"] == kind).sum() or "") for kind in kinds]
        table.rows.append([str(dataset), str(method), mean, largest, *counts])
    return table


def _leans_table(comparison: Comparison) -> Table:
    """One row per metric: the number of cells that agree, and the mean signed difference."""
    table = Table(
        "Do the differences lean to one side?",
        ["metric", "agree", "mean difference", _INTERVAL, "above", "a cell may differ by", "spread"],
        stub=1,
    )
    for each in comparison.leans:
        unit = f" {each.unit}"
        interval = "" if math.isnan(each.low) else f"{_signed(each.low)} to {_signed(each.high)}{unit}"
        table.rows.append([
            comparison.results.metrics[each.metric].title, f"{each.agreeing} of {each.cells}",
            _signed(each.mean) + unit, interval, f"{each.above} of {each.cells}", f"{each.allowed:.2g}{unit}",
            "" if math.isnan(each.spreads) else f"{each.spreads:.2f}",
        ])  # fmt: skip
    given = comparison.reference.given
    right = "Of right protocols 95 % of the cells agree. " if comparison.by_interval else ""
    table.notes = [
        f"{right}Mean difference: measured less {given}, the mean over datasets of their cells' mean; 95 %: Student's "
        "interval over the datasets. A cell may differ by: the median. Spread: the median ratio of our standard "
        f"deviation to the {given} one."
    ]
    return table


def costs_table(comparison: Comparison) -> Table:
    """One row per dataset and two methods, one column per cost: the reported ratio, the measured one, and the
    verdict."""
    costs = comparison.costs
    kinds = list(dict.fromkeys(costs["metric"]))
    header = ["dataset", "methods", *(METRICS[kind].short for kind in kinds)]
    table = Table("Costs of one method over another's: reported → measured", header)
    for (dataset, method, baseline), rows in costs.groupby(["dataset", "method", "baseline"], sort=False):
        of_kind = rows.set_index("metric").to_dict("index")
        row = [str(dataset), f"{method} / {baseline}"]
        for cost in (of_kind[kind] for kind in kinds):
            measured = "–" if math.isnan(cost["measured"]) else f"{cost['measured']:.3g}"
            row.append(f"{cost['reported']:.3g} → {measured} {cost['verdict']}")
        table.rows.append(row)
    table.notes = [
        f"Seconds and bytes of two machines cannot be compared, their ratios can. {REPRODUCED}: within a "
        f"factor of {RATIO_FACTOR:g} of the paper's; {CLOSE}: the same method is the cheaper one; {DIFFERS}:"
        " the other is. Only seconds that nothing else disturbed count; memory is the peak less what the"
        " process held before."
    ]
    return table


def _claims_text(title: str, findings: Sequence[Finding], width: int) -> str:
    """Claims with their evidence, under a title; empty without any."""
    if not findings:
        return ""
    lines = [title, ""]
    for finding in _sorted(findings):
        about = f"{finding.verdict:<{_VERDICT}}{finding.claim} — {_place(finding)}, {_methods(finding)}"
        lines += textwrap.wrap(f"{about} [{finding.where}]", width, subsequent_indent=" " * _VERDICT)
        indent, said = " " * (_VERDICT + 2), f"{finding.evidence}; asked for {finding.asked}"
        lines += textwrap.wrap(said, width, initial_indent=indent, subsequent_indent=indent, max_lines=2,
                               placeholder=" … (in full in compare.md)")  # fmt: skip
    return "\n".join(lines) + "\n"


def _place(finding: Finding) -> str:
    """The dataset, and the protocol of a sweep."""
    return f"{finding.dataset} ({finding.protocol})" if finding.protocol else finding.dataset


def _methods(finding: Finding) -> str:
    return f"{finding.method} : {finding.baseline}" if finding.baseline else finding.method


def _sorted(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: VERDICTS.index(finding.verdict))


def tolerance_text(comparison: Comparison) -> str:
    """The tolerance in words: ``1 point``, ``5 %``, or ``each cell's own tolerance``."""
    allowed = sorted(set(comparison.cells["tolerance"].dropna()))
    if len(allowed) != 1:
        return "each cell's own tolerance"
    unit = comparison.unit
    return f"{allowed[0]:g} {unit.removesuffix('s') if allowed[0] == 1 else unit}"


def _number(cell: Mapping[Any, Any], which: str, decimals: int) -> str:
    if math.isnan(cell[which]):
        return "–"
    sign = " •" if cell[f"{which}_significant"] == 1 else ""
    return plus_minus(cell[which], cell[f"{which}_std"], decimals) + sign


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{round(value, 2) + 0.0:+.2f}"
