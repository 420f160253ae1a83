"""The paper's table: a row a dataset and size, a column a method, ``mean±std (time±std) •``."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from rffbench.report.frame import METRICS, Protocols, Results, cells, size_label
from rffbench.report.significance import significance_settings
from rffbench.report.summary import summarise

NOT_RUN = "–"
_FOOTNOTES = "†‡§¶‖"
_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "•": r"$\bullet$",
    "–": "--", "—": "---",
    "†": r"$\dagger$", "‡": r"$\ddagger$", "§": r"\S{}", "¶": r"\P{}", "‖": r"$\|$", "λ": r"$\lambda$",
    "−": "$-$", "×": r"$\times$", "σ": r"$\sigma$", "γ": r"$\gamma$",
}


@dataclass
class Table:
    """A table of text: ``rows`` of a dataset, a size and a cell a method; ``notes`` explain the signs."""

    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_csv(self) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue()

    def to_text(self) -> str:
        """Aligned for a terminal, the dataset's name at its first row only."""
        widths = self._widths(self._sparse_rows())
        lines = [self.title, "", _aligned(self.header, widths), "  ".join("─" * width for width in widths)]
        for row, sparse in zip(self.rows, self._sparse_rows(), strict=True):
            if row is not self.rows[0] and sparse[0]:
                lines.append("")
            lines.append(_aligned(sparse, widths))
        return "\n".join([*lines, "", *self.notes]) + "\n"

    def to_markdown(self) -> str:
        rows = [[cell.replace("|", r"\|") for cell in row] for row in [self.header, *self._sparse_rows()]]
        widths = self._widths(rows)
        rule = ["-" * width for width in widths]
        lines = [f"| {_aligned(row, widths, ' | ', strip=False)} |" for row in [rows[0], rule, *rows[1:]]]
        notes = [line for note in self.notes for line in (note, "")]
        return "\n".join([f"**{self.title}**", "", *lines, "", *notes]).rstrip() + "\n"

    def to_latex(self) -> str:
        r"""A ``table*`` in booktabs' style (the document needs ``\usepackage{booktabs}``)."""
        body = []
        for row, sparse in zip(self.rows, self._sparse_rows(), strict=True):
            if row is not self.rows[0] and sparse[0]:
                body.append(r"\midrule")
            body.append(" & ".join(_tex(cell) for cell in sparse) + r" \\")
        return "\n".join([
            r"\begin{table*}", r"\centering",
            rf"\caption{{{_tex(self.title)}. {_tex(' '.join(self.notes))}}}",
            rf"\begin{{tabular}}{{ll{'l' * (len(self.header) - 2)}}}", r"\toprule",
            " & ".join(_tex(name) for name in self.header) + r" \\", r"\midrule", *body,
            r"\bottomrule", r"\end{tabular}", r"\end{table*}",
        ]) + "\n"

    def _sparse_rows(self) -> list[list[str]]:
        above = ["", *(row[0] for row in self.rows)]
        return [["" if row[0] == last else row[0], *row[1:]]
                for row, last in zip(self.rows, above, strict=False)]

    def _widths(self, rows: list[list[str]]) -> list[int]:
        return [max(len(row[column]) for row in [self.header, *rows]) for column in range(len(self.header))]


def make_table(results: Results) -> Table:
    """The table of an experiment's results.

    A cell is the score's mean ± standard deviation over trials (accuracy in %; RMSE where a dataset has no
    accuracy) and, in brackets, the seconds to generate the training features. ``~`` marks times of which
    some were taken while other work used the processors. A cell with fewer finished trials than the config
    asks for says their number and why; one without any is a dash and why.
    """
    table = Table(results.title, ["dataset", "s", *results.methods])
    summary = summarise(results)
    scores = {(row["dataset"], row["n_features"], row["method"], row["metric"]): row
              for row in summary.to_dict("records")}
    largest = summary.groupby(["dataset", "metric"])["mean"].max().to_dict()
    datasets = {name: marked(name, results, table.notes) for name in results.datasets}
    rows: dict[tuple[str, int], list[str]] = {}
    contended = False
    for dataset, n_features, method, trials in cells(results.trials):
        if (dataset, n_features) not in rows:
            size = size_label(n_features, trials["multiple"].iloc[0])
            rows[dataset, n_features] = [datasets[dataset], size, *[NOT_RUN] * len(results.methods)]
        metric = results.score(dataset).name
        decimals = 2 if metric == "accuracy" else significant_digits(largest[dataset, metric], 3)
        planned = results.planned_trials(n_features, trials["multiple"].iloc[0])
        cell = _cell(scores[dataset, n_features, method, metric], decimals, trials, planned)
        contended = contended or "~" in cell
        rows[dataset, n_features][2 + results.methods.index(method)] = cell
    table.rows = list(rows.values())
    table.notes[:0] = _legend(results, table.rows, contended)
    return table


def write_table(protocols: Protocols) -> tuple[Table, list[Path]]:
    """Make the table and write table.csv, table.md and table.tex into the folder.

    Of a sweep it is one table below the other, a protocol's labels in front of its datasets.
    """
    from rffbench.report.model_table import has_models, make_model_table  # it builds on this module

    make = make_model_table if any(has_models(results) for _, results in protocols) else make_table
    tables = [make(results) for _, results in protocols]
    table, results = tables[0], protocols[0][1]
    if len(tables) > 1:
        rows = [
            [f"{', '.join(labels.values())}: {row[0]}", *row[1:]]
            for (labels, _), part in zip(protocols, tables, strict=True) for row in part.rows
        ]  # fmt: skip
        notes = list(dict.fromkeys(note for part in tables for note in part.notes))
        table = Table(table.title, [f"{', '.join(protocols[0][0])}: dataset", *table.header[1:]], rows, notes)
    texts = {"table.csv": table.to_csv(), "table.md": table.to_markdown(), "table.tex": table.to_latex()}
    for name, text in texts.items():
        (results.folder / name).write_text(text, encoding="utf-8")
    return table, [results.folder / name for name in texts]


def plus_minus(mean: float, std: float, decimals: int) -> str:
    """``mean±std``; the mean alone where there is no standard deviation (a single trial)."""
    return f"{mean:.{decimals}f}" + ("" if math.isnan(std) else f"±{std:.{decimals}f}")


def _cell(score: dict, decimals: int, trials: pd.DataFrame, planned: int) -> str:
    lost = failures(trials)
    if not score["n_ok"]:
        return f"— ({lost or 'no score'})"
    cell = plus_minus(score["mean"], score["std"], decimals)
    ok = trials[trials["status"] == "ok"]
    seconds = ok["feature_s"]
    if seconds.notna().any():
        time = plus_minus(seconds.mean(), seconds.std(ddof=1), significant_digits(seconds.mean(), 2))
        cell += f" ({'~' if ok['contended'].any() else ''}{time})"
    if score["significant"]:
        cell += " •"
    if score["n_ok"] < planned:
        cell += f" [n={score['n_ok']}" + (f", {lost}]" if lost else "]")
    return cell


def failures(trials: pd.DataFrame) -> str:
    """How a cell's trials ended that are not ok: ``3 timeout, 1 killed``."""
    counts = trials["status"].value_counts(sort=False)
    return ", ".join(f"{count} {status}" for status, count in counts.items() if status != "ok")


def significant_digits(value: float, digits: int) -> int:
    """Decimals that show ``digits`` significant digits, fewer from 10 on; for 2: 13.3, 0.45, 0.012."""
    if not value > 0:
        return digits
    return min(max(digits - 1 - math.floor(math.log10(value)), digits if value < 10 else 1), 6)


def marked(dataset: str, results: Results, notes: list[str]) -> str:
    """The dataset's name, with a sign and a note where its card wants one."""
    mark = results.mark(dataset)
    if not mark:
        return dataset
    sign = _FOOTNOTES[len(notes) % len(_FOOTNOTES)]
    notes.append(f"{sign} {dataset}: {mark}")
    return f"{dataset} {sign}"


def _legend(results: Results, rows: list[list[str]], contended: bool) -> list[str]:
    scores: dict[str, list[str]] = {}
    for dataset in results.datasets:
        scores.setdefault(results.score(dataset).name, []).append(dataset)
    labels = [METRICS[name].label + (f" of {', '.join(names)}" if len(scores) > 1 else "")
              for name, names in scores.items()]
    legend = [f"Mean ± standard deviation over trials: {'; '.join(labels)}"
              " (seconds to generate the training features)."]
    settings = significance_settings(results)
    if any("•" in cell for row in rows for cell in row):
        holm = ", Holm's correction over a dataset's cells" if settings["correction"] == "holm" else ""
        legend.append(f"• better than {' and '.join(settings['baselines'])}: one-sided paired t-test over"
                      f" trials, level {settings['level']:g}{holm}.")
    if contended:
        legend.append("~ times not comparable: some were taken while other work used the processors.")
    if any(cell == NOT_RUN for row in rows for cell in row):
        legend.append(f"{NOT_RUN} not run yet.")
    return legend


def _aligned(row: list[str], widths: list[int], gap: str = "  ", strip: bool = True) -> str:
    line = gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return line.rstrip() if strip else line


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)
