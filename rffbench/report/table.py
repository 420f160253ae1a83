"""The paper's table: one row per dataset and size, one column per method, ``mean±std (time±std) •``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rffbench.report.frame import Protocols, Results, cells, size_label
from rffbench.report.model_table import has_models, make_model_table
from rffbench.report.significance import significance_settings
from rffbench.report.summary import summarise
from rffbench.report.text_table import NOT_RUN, Table, failures, marked, plus_minus, significant_digits


def make_table(results: Results) -> Table:
    """The table of an experiment's results.

    A cell is the score's mean ± standard deviation over trials (accuracy in %; RMSE where a dataset has no
    accuracy) and, in brackets, the seconds to generate the training features. ``~`` marks times of which
    some were taken while other work used the processors. A cell with fewer finished trials than the config
    asks for says their number and why; one without any is a dash and why.
    """
    table = Table(results.title, ["dataset", "s", *results.methods])
    summary = summarise(results)
    scores = {
        (row["dataset"], row["n_features"], row["method"], row["metric"]): row for row in summary.to_dict("records")
    }
    largest = summary.groupby(["dataset", "metric"])["mean"].max().to_dict()
    datasets = {name: marked(name, results, table.notes) for name in results.datasets}
    rows: dict[tuple[str, int], list[str]] = {}
    contended = False
    for dataset, n_features, method, trials in cells(results.trials):
        if (dataset, n_features) not in rows:
            size = size_label(n_features, trials["multiple"].iloc[0])
            rows[dataset, n_features] = [datasets[dataset], size, *[NOT_RUN] * len(results.methods)]
        metric = results.score(dataset)
        decimals = metric.decimals or significant_digits(largest[dataset, metric.name], 3)
        planned = results.planned_trials(n_features, trials["multiple"].iloc[0])
        cell = _cell(scores[dataset, n_features, method, metric.name], decimals, trials, planned)
        contended = contended or "~" in cell
        rows[dataset, n_features][2 + results.methods.index(method)] = cell
    table.rows = list(rows.values())
    table.notes[:0] = _legend(results, table.rows, contended)
    return table


def write_table(protocols: Protocols) -> tuple[Table, list[Path]]:
    """Make the table and write table.csv, table.md and table.tex into the folder."""
    table, folder = folder_table(protocols), protocols[0][1].folder
    texts = {"table.csv": table.to_csv(), "table.md": table.to_markdown(), "table.tex": table.to_latex()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return table, [folder / name for name in texts]


def folder_table(protocols: Protocols) -> Table:
    """The table of a folder's results.

    Of a sweep it is one table below the other, a protocol's labels in front of its datasets; a method that a protocol
    does not have is left empty there.
    """
    make = make_model_table if any(has_models(results) for _, results in protocols) else make_table
    tables = [make(results) for _, results in protocols]
    table = tables[0]
    if len(tables) > 1:
        columns = list(dict.fromkeys(name for part in tables for name in part.header[1:]))  # methods may differ
        rows = []
        for (labels, _), part in zip(protocols, tables, strict=True):
            for row in part.rows:
                named = dict(zip(part.header, row, strict=True))
                rows.append([f"{', '.join(labels.values())}: {row[0]}", *(named.get(name, "") for name in columns)])
        notes = list(dict.fromkeys(note for part in tables for note in part.notes))
        table = Table(table.title, [f"{', '.join(protocols[0][0])}: dataset", *columns], rows, notes)
    return table


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


def _legend(results: Results, rows: list[list[str]], contended: bool) -> list[str]:
    scores: dict[str, list[str]] = {}
    for dataset in results.datasets:
        scores.setdefault(results.score(dataset).label, []).append(dataset)
    labels = [label + (f" of {', '.join(names)}" if len(scores) > 1 else "") for label, names in scores.items()]
    legend = [
        f"Mean ± standard deviation over trials: {'; '.join(labels)} (seconds to generate the training features)."
    ]
    settings = significance_settings(results)
    if any("•" in cell for row in rows for cell in row):
        holm = ", Holm's correction over a dataset's cells" if settings["correction"] == "holm" else ""
        legend.append(
            f"• better than {' and '.join(settings['baselines'])}: one-sided paired t-test over"
            f" trials, level {settings['level']:g}{holm}."
        )
    if contended:
        legend.append("~ times not comparable: some were taken while other work used the processors.")
    if any(cell == NOT_RUN for row in rows for cell in row):
        legend.append(f"{NOT_RUN} not run yet.")
    return legend
