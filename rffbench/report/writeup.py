"""A comparison with a paper as text, Markdown and CSV: cells, sums a method, ratios of costs, claims."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from rffbench.report.claims import HOLDS, NOT_MEASURED, REFUTED, Finding
from rffbench.report.compare import CELL_COLUMNS, CLOSE, DIFFERS, NOT_REPORTED, RATIO_FACTOR, REPRODUCED, Comparison
from rffbench.report.frame import METRICS, size_label
from rffbench.report.table import Table, plus_minus

COSTS = {"model_size": "model size", "train_s": "training time", "predict_s": "prediction time",
         "own_memory_bytes": "memory"}
CSV_COLUMNS = ["kind", *CELL_COLUMNS[:5], "baseline", *CELL_COLUMNS[5:], "claim", "where", "evidence"]
_WIDTH = 110


def to_text(comparison: Comparison) -> str:
    """Everything for a terminal."""
    parts = [table.to_text() for table in _tables(comparison)]
    parts += [_claims_text(comparison), *(f"{line}\n" for line in comparison.missing), f"{summary_line(comparison)}\n"]
    return "\n".join(part for part in parts if part)


def to_markdown(comparison: Comparison) -> str:
    parts = [f"# {comparison.results.title}, measured and reported\n", f"Reported: {comparison.reference.citation}.\n",
             f"{summary_line(comparison)}\n", *(table.to_markdown() for table in _tables(comparison))]
    if comparison.findings:
        claims = Table("Claims", ["verdict", "dataset", "method", "claim", "evidence"])
        claims.rows = [[finding.verdict, finding.dataset, finding.method, f"{finding.claim} [{finding.where}]",
                        finding.evidence] for finding in _sorted(comparison.findings)]
        parts.append(claims.to_markdown())
    return "\n".join([*parts, *(f"{line}\n" for line in comparison.missing)])


def to_csv(comparison: Comparison) -> str:
    """A row a cell, ratio of costs and claim (``kind``); numbers in full precision."""
    claims = pd.DataFrame([vars(finding) for finding in comparison.findings])
    parts = [part.assign(kind=kind) for kind, part in
             (("cell", comparison.cells), ("ratio", comparison.costs), ("claim", claims)) if len(part)]
    rows = pd.concat(parts) if parts else pd.DataFrame()
    return rows.reindex(columns=CSV_COLUMNS).to_csv(index=False, lineterminator="\n")


def summary_line(comparison: Comparison) -> str:
    """How many cells are within the tolerance and how many claims hold."""
    both = comparison.cells.dropna(subset=["difference"])
    said = []
    if len(both):
        said.append(f"{len(both) - comparison.outside} of {len(both)} within {_tolerance(comparison)}")
    elif comparison.reference.table:
        said.append("No cell is both measured and reported")
    judged = [finding for finding in comparison.findings if finding.verdict != NOT_MEASURED]
    if judged:
        said.append(f"{sum(finding.verdict == HOLDS for finding in judged)} of {len(judged)} claims hold")
    if unmeasured := len(comparison.findings) - len(judged):
        said.append(f"{unmeasured} claims not measured")
    return "; ".join(said) + "."


# ---- Tables ------------------------------------------------------------------------------------------------


def _tables(comparison: Comparison) -> list[Table]:
    cells = comparison.cells
    tables = []
    if cells["reported"].notna().any():
        tables = [_cells_table(comparison), _sums_table(comparison)]
    if len(comparison.costs):
        tables.append(_costs_table(comparison))
    return tables


def _cells_table(comparison: Comparison) -> Table:
    unit = _unit(comparison)
    table = Table(f"{comparison.results.title}: measured against {comparison.reference.citation}",
                  ["dataset", "s", "method", "reported", "measured", f"difference ({unit})", "95 %", "verdict"])
    for cell in comparison.cells.to_dict("records"):
        decimals = 2 if cell["metric"] == "accuracy" else 4
        size = "" if pd.isna(cell["n_features"]) else size_label(cell["n_features"], cell["multiple"])
        size = size or ("" if pd.isna(cell["multiple"]) else f"{cell['multiple']}d")
        table.rows.append([
            cell["dataset"], size, cell["method"], _number(cell, "reported", decimals),
            _number(cell, "measured", decimals), _signed(cell["difference"]),
            "" if math.isnan(cell["low"]) else f"{_signed(cell['low'])} to {_signed(cell['high'])}", cell["verdict"],
        ])
    labels = dict.fromkeys(METRICS[name].label for name in comparison.cells["metric"].dropna())
    table.notes = [
        f"Mean ± standard deviation over trials: {'; '.join(labels)}. 95 %: Welch's interval of the difference.",
        f"{REPRODUCED}: within the tolerance ({_tolerance(comparison)}), and the interval covers 0, or the paper gives "
        f"no spread; {CLOSE}: within it, but the interval excludes 0; {DIFFERS}: beyond it.",
    ]
    if (comparison.cells[["reported_significant", "measured_significant"]] == 1).any(axis=None):
        both = comparison.cells.dropna(subset=["difference"])
        agreeing = int((both["measured_significant"] == both["reported_significant"]).sum())
        table.notes.append(f"• significantly better than the baselines; agrees in {agreeing} of {len(both)} cells.")
    return table


def _sums_table(comparison: Comparison) -> Table:
    """A line a dataset and method."""
    unit = _unit(comparison)
    kinds = [REPRODUCED, CLOSE, DIFFERS, NOT_MEASURED]
    table = Table("By dataset and method", ["dataset", "method", f"mean difference ({unit})", "largest", *kinds])
    reported = comparison.cells[comparison.cells["verdict"] != NOT_REPORTED]
    for (dataset, method), cells in reported.groupby(["dataset", "method"], sort=False):
        sizes = cells["difference"].abs()
        mean, largest = ("", "") if sizes.isna().all() else (_signed(cells["difference"].mean()), f"{sizes.max():.2f}")
        counts = [str((cells["verdict"] == kind).sum() or "") for kind in kinds]
        table.rows.append([str(dataset), str(method), mean, largest, *counts])
    return table


def _costs_table(comparison: Comparison) -> Table:
    """A line a dataset and two methods, a column a cost: the ratio reported, measured, and its verdict."""
    costs = comparison.costs
    kinds = list(dict.fromkeys(costs["metric"]))
    table = Table("Costs of one method over another's: reported → measured",
                  ["dataset", "methods", *(COSTS[kind] for kind in kinds)])
    for (dataset, method, baseline), rows in costs.groupby(["dataset", "method", "baseline"], sort=False):
        of_kind = rows.set_index("metric").to_dict("index")
        shown = [of_kind[kind] for kind in kinds]
        table.rows.append([str(dataset), f"{method} / {baseline}", *(
            f"{cost['reported']:.3g} → " + ("–" if math.isnan(cost["measured"]) else f"{cost['measured']:.3g}")
            + f" {cost['verdict']}" for cost in shown)])
    table.notes = [f"Seconds and bytes of two machines cannot be compared, their ratios can. {REPRODUCED}: within a "
                   f"factor of {RATIO_FACTOR:g} of the paper's; {CLOSE}: the same method is the cheaper one; {DIFFERS}:"
                   " the other is. Only seconds that nothing else disturbed count; memory is the peak less what the"
                   " process held before."]
    return table


def _claims_text(comparison: Comparison) -> str:
    """The claims with their evidence; those not measured by their reasons."""
    if not comparison.findings:
        return ""
    lines = [f"Claims of {comparison.reference.citation.rpartition(', ')[0] or comparison.reference.citation}", ""]
    for finding in _sorted(comparison.findings):
        if finding.verdict != NOT_MEASURED:
            about = f"{finding.verdict:<14}{finding.claim} — {finding.dataset}, {finding.method} [{finding.where}]"
            lines += textwrap.wrap(about, _WIDTH, subsequent_indent=" " * 14)
            lines += textwrap.wrap(finding.evidence, _WIDTH, initial_indent=" " * 16, subsequent_indent=" " * 16,
                                   max_lines=2, placeholder=" … (in full in compare.md)")
    reasons = Counter(each.evidence for each in comparison.findings if each.verdict == NOT_MEASURED)
    lines += [f"{NOT_MEASURED:<14}{count} × {reason}" for reason, count in reasons.items()]
    return "\n".join(lines) + "\n"


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: [HOLDS, REFUTED, NOT_MEASURED].index(finding.verdict))


def _unit(comparison: Comparison) -> str:
    table = comparison.reference.table
    return "%" if table and table.tolerance_unit == "percent" else "points"


def _tolerance(comparison: Comparison) -> str:
    allowed = sorted(set(comparison.cells["tolerance"].dropna()))
    if len(allowed) > 1:
        return "each cell's own tolerance"
    unit = _unit(comparison)
    return f"{allowed[0]:g} {unit.removesuffix('s') if allowed[0] == 1 else unit}"


def _number(cell: Mapping[Any, Any], which: str, decimals: int) -> str:
    if math.isnan(cell[which]):
        return "–"
    sign = " •" if cell[f"{which}_significant"] == 1 else ""
    return plus_minus(cell[which], cell[f"{which}_std"], decimals) + sign


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{round(value, 2) + 0.0:+.2f}"
