"""The paper's table: one row per dataset and size, one column per method, ``mean±std (time±std) •``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from rffbench.errors import ConfigError, ResultsError, amount, unknown
from rffbench.report import edges
from rffbench.report.at_seconds import make_table_at
from rffbench.report.columns import columns_note, make_columns_table
from rffbench.report.frame import Protocols, Results, as_written, each_cell
from rffbench.report.model_table import make_model_table
from rffbench.report.significance import baselines, significance_settings
from rffbench.report.summary import summarise
from rffbench.report.text_table import LEAD, NOT_RUN, Table, failures, lead, marked, plus_minus, significant_digits
from rffbench.report.typeset import to_latex
from rffbench.trials.metrics import BYTES, ERRORS, SECONDS, Metric

COLUMNS = "columns"  # shown like a metric: the number of columns of the features
ALIASES = {"time": "feature_s", "memory": "peak_memory_bytes"}


@dataclass(frozen=True)
class Shown:
    """What a table shows.

    ``metric``: a metric by its name or alias (``ALIASES``), instead of each dataset's main metric. ``seconds``: beside
    a score, the seconds to generate the features, where the config has them timed alone. ``best``: marks at the best
    cells of a row. ``written``: names as people write them, not as in the config. ``at_seconds``: only the largest size
    that trains in that time, not every size.
    """

    metric: str | None = None
    seconds: bool = True
    best: bool = False
    written: bool = False
    at_seconds: float | None = None


KEPT = ".table.json"
NOT_TIMED = "Seconds are not shown, because trials shared the machine; `timing: features` in a config takes them alone."
FILES = Shown()
"""What the table's files in a results folder show."""


def make_table(results: Results, shown: Shown = FILES, summary: pd.DataFrame | None = None) -> Table:
    """The table of an experiment's results. ``summary`` is their summary, if it is computed already.

    A cell is the score's mean ± standard deviation over trials (accuracy in %; RMSE if a dataset has no
    accuracy) and, in brackets, the seconds to generate the training features, unless trials shared the machine
    (``timing: shared``). ``~`` marks times of which some were taken while other work used the processors. A cell
    with fewer finished trials than the config asks for gives their number and the reason; a cell without any, a
    dash and the reason. A cell that the config does not ask for is empty.

    Raises ConfigError for a metric that does not exist, ResultsError for a metric that no trial has.
    """
    if shown.metric == COLUMNS:
        return make_columns_table(results, written=shown.written)
    is_shared = results.grid.timing == "shared"
    hidden = is_shared and shown.seconds and shown.metric is None and shown.at_seconds is None
    if hidden:
        shown = replace(shown, seconds=False)
    metrics = _metrics(results, shown)
    if shown.at_seconds is not None:
        table, found = make_table_at(results, shown.at_seconds, metrics, seconds=shown.seconds, written=shown.written)
        table.baseline = baseline_column(results.config, results.methods, table)
        if shown.best:
            _mark_best(table, found, [metrics[dataset] for dataset in results.datasets])
        return table
    name = as_written if shown.written else str
    table = Table(results.title, [*LEAD, *map(name, results.methods)], stub=len(LEAD))
    table.baseline = baseline_column(results.config, results.methods, table)
    summary = summarise(results) if summary is None else summary
    numbers = {
        (row["dataset"], row["n_features"], row["method"], row["metric"]): row for row in summary.to_dict("records")
    }
    largest = summary.groupby(["dataset", "metric"])["mean"].max().to_dict()
    datasets = {each: marked(each, results, table.notes, shown.written) for each in results.datasets}
    rows: dict[tuple[str, int], list[str]] = {}
    at_edges = edges.marks(results) if shown.metric is None else {}
    found = []  # for each row, the numbers that may be the best, by column
    contended = False
    for dataset, n_features, size, method, trials in each_cell(results.trials):
        if (dataset, n_features) not in rows:
            asked = [results.grid.asks_for(dataset, each, size) for each in results.methods]
            rows[dataset, n_features] = [*lead(datasets[dataset], size), *[NOT_RUN if each else "" for each in asked]]
            found.append({})
        metric, column = metrics[dataset], len(LEAD) + results.methods.index(method)
        number = numbers.get((dataset, n_features, method, metric.name))
        mean = float(number["mean"]) if number else math.nan
        decimals = metric.decimals or _decimals(mean, largest.get((dataset, metric.name), 0.0))
        cell = _cell(number, metric, decimals, trials, results.grid.planned_trials(dataset, method, size), shown)
        if mark := at_edges.get((dataset, n_features, method)):
            cell += f" {mark}"
        contended = contended or "~" in cell
        rows[dataset, n_features][column] = cell
        if number and number["n_ok"]:
            found[-1][column] = math.nan if cell.startswith("~") else round(number["mean"], decimals)
    table.rows = list(rows.values())
    if shown.best:
        _mark_best(table, found, [metrics[dataset] for dataset, _ in rows])
    table.notes[:0] = _legend(results, table, metrics, contended, shown)
    if hidden:
        table.notes.append(NOT_TIMED)
    for dataset in results.datasets:
        methods = results.grid.methods_on(dataset)
        if metrics[dataset].name in ERRORS and (differ := results.kernels_differ(dataset, methods)):
            table.notes.append(f"{datasets[dataset]}: {differ}.")
    if shown.metric is None:
        table.notes += edges.notes(results)
    return table


def baseline_column(config: Mapping[str, Any], methods: Sequence[str], table: Table) -> int | None:
    """The column of the config's first baseline among the methods; None without a baseline."""
    names = [name for name in baselines(config) if name in methods]
    return len(table.header) - len(methods) + methods.index(names[0]) if names else None


def _mark_best(table: Table, numbers: Sequence[Mapping[int, float]], metrics: Sequence[Metric]) -> None:
    """Mark the best cells of every row, given the rows' numbers by column and their metrics."""
    for index, (of_row, metric) in enumerate(zip(numbers, metrics, strict=True)):
        table.best |= {(index, column) for column in best_of(of_row, metric)}


def best_of(numbers: Mapping[int, float], metric: Metric) -> list[int]:
    """The columns with the best number. Empty with fewer than two numbers, with a NaN, which cannot be compared, or for
    a metric without a better direction."""
    better = metric.better or ("less" if metric.unit in (SECONDS, BYTES) else None)
    if better is None or len(numbers) < 2 or any(map(math.isnan, numbers.values())):
        return []
    best = max(numbers.values()) if better == "greater" else min(numbers.values())
    return [column for column, number in numbers.items() if number == best]


def folder_table(protocols: Protocols, shown: Shown = FILES, summaries: Sequence[pd.DataFrame] | None = None) -> Table:
    """The table of a folder. For a sweep, the protocols' tables follow one another, with a protocol's labels before its
    datasets' names, and empty cells for the methods that a protocol lacks."""
    models = shown.metric is None and shown.at_seconds is None and protocols[0][1].config.get("table") == "models"
    parts = []
    for index, (_, results) in enumerate(protocols):
        if models:
            parts.append(make_model_table(results, written=shown.written, seconds=shown.seconds, best=shown.best))
        else:
            parts.append(make_table(results, shown, summaries[index] if summaries else None))
    if len(parts) == 1:
        return parts[0]
    name = as_written if shown.written else str
    columns = list(dict.fromkeys(name for part in parts for name in part.header[1:]))  # methods may differ
    table = replace(parts[0], header=[f"{', '.join(protocols[0][0])}: dataset", *columns], rows=[], best=set())
    if parts[0].baseline is not None:
        table.baseline = 1 + columns.index(parts[0].header[parts[0].baseline])
    for (labels, _), part in zip(protocols, parts, strict=True):
        places = [0, *(1 + columns.index(each) for each in part.header[1:])]
        table.best |= {(len(table.rows) + row, places[column]) for row, column in part.best}
        for row in part.rows:
            named = dict(zip(part.header, row, strict=True))
            protocol = ", ".join(map(name, labels.values()))
            table.rows.append([f"{protocol}: {row[0]}", *(named.get(each, "") for each in columns)])
    table.notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    return table


def table_files(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> tuple[Table, dict[str, str]]:
    """The table of a folder, and the texts of table.csv, table.md, table.tex (with names as people write them, across
    two columns) and ``KEPT`` (the table as JSON, which shows it again without reading the log), by file name."""
    table = folder_table(protocols, FILES, summaries)
    paper = folder_table(protocols, replace(FILES, written=True), summaries)
    texts = {"table.csv": table.to_csv(), "table.md": table.to_markdown(), "table.tex": to_latex(paper)}
    return table, {**texts, KEPT: table.to_json()}


def _metrics(results: Results, shown: Shown) -> dict[str, Metric]:
    """The metric of each dataset's cells."""
    if shown.metric is None:
        return {dataset: results.score(dataset) for dataset in results.datasets}
    return dict.fromkeys(results.datasets, measured_metric([({}, results)], shown.metric))


def measured_metric(protocols: Protocols, name: str) -> Metric:
    """The metric with this name or alias (``ALIASES``). ConfigError if there is no such metric, ResultsError if no
    trial of the folder has it."""
    known = {each: metric for _, results in protocols for each, metric in results.metrics.items()}
    metric = known.get(ALIASES.get(name, name))
    if metric is None:
        raise ConfigError(unknown("metric", name, [*ALIASES, COLUMNS, *known]))
    trials = pd.concat([results.trials for _, results in protocols])
    measured = [each for each in known if trials[each].notna().any()]
    if metric.name not in measured:
        raise ResultsError(f"{protocols[0][1].folder}: no trial has {metric.name}; measured: {', '.join(measured)}")
    return metric


def _cell(
    number: Mapping[Any, Any] | None, metric: Metric, decimals: int, trials: pd.DataFrame, planned: int, shown: Shown
) -> str:
    lost = failures(trials)
    if not number or not number["n_ok"]:
        return f"— ({lost or ('no score' if shown.metric is None else 'not measured')})"
    ok = trials[trials["status"] == "ok"]
    mark = "~" if ok["contended"].any() else ""
    seconds = ok["feature_s"]
    if metric.unit == BYTES:
        cell = amount(number["mean"])
    elif metric.unit == SECONDS:
        cell = mark + _seconds(ok[metric.name])
    else:
        cell = plus_minus(number["mean"], number["std"], decimals)
        if shown.seconds and seconds.notna().any():
            cell += f" ({mark}{_seconds(seconds)})"
    if number["significant"]:
        cell += " •"
    if number["n_ok"] < planned:
        cell += f" [n={number['n_ok']}" + (f", {lost}]" if lost else "]")
    return cell


def _decimals(mean: float, largest: float) -> int:
    """The decimals that show three digits of the dataset's largest number; for a mean below a hundredth of that, three
    digits of the mean."""
    return significant_digits(mean if 0 < mean < largest / 100 else largest, 3)


def _seconds(values: pd.Series) -> str:
    return plus_minus(values.mean(), values.std(ddof=1), significant_digits(values.mean(), 2))


def _legend(results: Results, table: Table, metrics: Mapping[str, Metric], contended: bool, shown: Shown) -> list[str]:
    labels: dict[str, list[str]] = {}
    for dataset in results.datasets:
        called = results.called(dataset) if shown.written else dataset
        labels.setdefault(metrics[dataset].label, []).append(called)
    said = [label + (f" of {', '.join(names)}" if len(labels) > 1 else "") for label, names in labels.items()]
    unit = {metric.unit for metric in metrics.values()}
    beside = " (seconds to generate the training features)" if shown.seconds and not unit & {SECONDS, BYTES} else ""
    spread = "Mean" if unit == {BYTES} else "Mean ± standard deviation"
    legend = [f"{spread} over trials: {'; '.join(said)}{beside}."]
    settings = significance_settings(results)
    if any("•" in cell for row in table.rows for cell in row):
        holm = ", Holm's correction over a dataset's cells" if settings["correction"] == "holm" else ""
        legend.append(
            f"• better than {' and '.join(settings['baselines'])}: one-sided paired t-test over"
            f" trials, level {settings['level']:g}{holm}."
        )
    if table.best:
        legend.append("Bold: the best at a dataset and size.")
    if contended:
        legend.append("~ times not comparable: some were taken while other work used the processors.")
    legend += columns_note(results)
    if any(cell == NOT_RUN for row in table.rows for cell in row):
        legend.append(f"{NOT_RUN} not run yet.")
    return legend
