"""The paper's table: one row per dataset and size, one column per method, ``mean±std (time±std) •``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from rffbench.errors import ConfigError, ResultsError, amount, unknown
from rffbench.io.text import plural
from rffbench.report import edges
from rffbench.report.at_seconds import make_table_at
from rffbench.report.columns import columns_note, make_columns_table
from rffbench.report.frame import Protocols, Results, as_written, each_cell, protocol_labels
from rffbench.report.leaders import BEST, leaders, sentence
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
    a score, the seconds to generate the features, where the config has them timed alone. ``best``: marks at the cells
    of a row that lead (leaders.py). ``written``: names as people write them, not as in the config. ``at_seconds``: only
    the largest size that trains in that time, not every size.
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
    dash and the reason. What is so in most cells is said once, in a note. A cell that the config does not ask for is
    empty.

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
    usual = _usual(results)
    for dataset, n_features, size, method, trials in each_cell(results.trials):
        if (dataset, n_features) not in rows:
            asked = [results.grid.asks_for(dataset, each, size) for each in results.methods]
            rows[dataset, n_features] = [*lead(datasets[dataset], size), *[NOT_RUN if each else "" for each in asked]]
            found.append({})
        metric, column = metrics[dataset], len(LEAD) + results.methods.index(method)
        number = numbers.get((dataset, n_features, method, metric.name))
        mean = float(number["mean"]) if number else math.nan
        decimals = metric.decimals or _decimals(mean, largest.get((dataset, metric.name), 0.0))
        planned = results.grid.planned_trials(dataset, method, size)
        cell = _cell(number, metric, decimals, trials, planned, usual, shown)
        if mark := at_edges.get((dataset, n_features, method)):
            cell += f" {mark}"
        rows[dataset, n_features][column] = cell
        if number and number["n_ok"]:
            uncertain = metric.unit == SECONDS and _is_contended(trials)
            found[-1][column] = math.nan if uncertain else round(number["mean"], decimals)
    table.rows = list(rows.values())
    if shown.best:
        _mark_leaders(table, list(rows), found, results, metrics)
    table.notes[:0] = _legend(results, table, metrics, usual, shown)
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


@dataclass(frozen=True)
class _Usual:
    """What is so in most cells: of ``planned`` trials ``n`` are finished. ``contended``: all seconds are disturbed."""

    n: int
    planned: int
    contended: bool


def _usual(results: Results) -> _Usual:
    counts: Counter[tuple[int, int]] = Counter()
    contended = []
    for dataset, _, size, method, trials in each_cell(results.trials):
        if ok := int((trials["status"] == "ok").sum()):
            counts[ok, results.grid.planned_trials(dataset, method, size)] += 1
            contended.append(_is_contended(trials))
    (n, planned), _ = counts.most_common(1)[0] if counts else ((0, 0), 0)
    return _Usual(n, planned, len(contended) > 1 and all(contended))


def _is_contended(trials: pd.DataFrame) -> bool:
    """Whether other work disturbed the seconds of one of the finished trials."""
    return bool(trials.loc[trials["status"] == "ok", "contended"].any())


def _mark_leaders(
    table: Table, rows: Sequence[tuple[str, int]], numbers: Sequence[Mapping[int, float]], results: Results,
    metrics: Mapping[str, Metric],
) -> None:  # fmt: skip
    """Mark the leading cells of every row, given the rows' dataset and size, and their numbers by column; of seconds
    and bytes only the best."""
    leading = leaders(results, metrics)
    for index, ((dataset, n_features), of_row) in enumerate(zip(rows, numbers, strict=True)):
        if metrics[dataset].better is None:
            table.best |= {(index, column) for column in best_of(of_row, metrics[dataset])}
        else:
            methods = leading.get((dataset, n_features), frozenset())
            table.best |= {(index, len(LEAD) + results.methods.index(method)) for method in methods}


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
    metric = measured_metric(protocols, shown.metric) if shown.metric and shown.metric != COLUMNS else None
    said = "" if shown.metric == COLUMNS or shown.at_seconds is not None else sentence(protocols, metric)
    if len(parts) == 1:
        return replace(parts[0], sentence=said)
    name = as_written if shown.written else str
    columns = list(dict.fromkeys(name for part in parts for name in part.header[1:]))  # methods may differ
    header = [f"{', '.join(protocols[0][0])}: dataset", *columns]
    table = replace(parts[0], header=header, rows=[], best=set(), sentence=said)
    if parts[0].baseline is not None:
        table.baseline = 1 + columns.index(parts[0].header[parts[0].baseline])
    for (labels, results), part in zip(protocols, parts, strict=True):
        places = [0, *(1 + columns.index(each) for each in part.header[1:])]
        table.best |= {(len(table.rows) + row, places[column]) for row, column in part.best}
        for row in part.rows:
            named = dict(zip(part.header, row, strict=True))
            protocol = ", ".join(name(each) for each in protocol_labels(labels, results.config))
            table.rows.append([f"{protocol}: {row[0]}", *(named.get(each, "") for each in columns)])
    table.notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    return table


def folder_tables(
    protocols: Protocols, shown: Shown = FILES, summaries: Sequence[pd.DataFrame] | None = None
) -> list[Table]:
    """The table of a folder, and without a metric that is asked for one more for each of the config's ``scores``."""
    first = folder_table(protocols, shown, summaries)
    if shown.metric is not None or shown.at_seconds is not None:
        return [first]
    judged = {results.score(dataset).name for _, results in protocols for dataset in results.datasets}
    found = [first]
    asked = dict.fromkeys(name for _, results in protocols for name in _asked_scores(results))
    for name in asked:
        if name not in judged and any(results.trials[name].notna().any() for _, results in protocols):
            each = folder_table(protocols, replace(shown, metric=name, seconds=False), summaries)
            found.append(replace(each, title=f"{each.title}: {measured_metric(protocols, name).title}"))
    return found


def _asked_scores(results: Results) -> list[str]:
    """The metrics that the config's ``scores`` name; those of users' own files have the names that their rows give."""
    given = results.config.get("scores") or []
    return [each for name in given for each in ([name] if name in results.metrics else results.own_metrics)]


def table_files(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> tuple[list[Table], dict[str, str]]:
    """The tables of a folder, and the texts of table.csv (the first alone), table.md, table.tex (with names as people
    write them and bold leaders, across two columns) and ``KEPT`` (the tables as JSON, one a line, which shows them
    again without reading the log), by file name."""
    tables = folder_tables(protocols, FILES, summaries)
    paper = folder_tables(protocols, replace(FILES, written=True, best=True), summaries)
    texts = {
        "table.csv": tables[0].to_csv(),
        "table.md": "\n".join(each.to_markdown() for each in tables),
        "table.tex": "\n".join(to_latex(each) for each in paper),
    }
    return tables, {**texts, KEPT: "".join(f"{each.to_json()}\n" for each in tables)}


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
    number: Mapping[Any, Any] | None, metric: Metric, decimals: int, trials: pd.DataFrame, planned: int, usual: _Usual,
    shown: Shown,
) -> str:  # fmt: skip
    lost = failures(trials)
    if not number or not number["n_ok"]:
        return f"— ({lost or ('no score' if shown.metric is None else 'not measured')})"
    ok = trials[trials["status"] == "ok"]
    mark = "~" if _is_contended(trials) and not usual.contended else ""
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
    is_usual = (number["n_ok"], planned) == (usual.n, usual.planned)
    if lost or (number["n_ok"] < planned and not is_usual) or (usual.n < usual.planned and not is_usual):
        cell += f" [n={number['n_ok']}" + (f", {lost}]" if lost else "]")
    return cell


def _decimals(mean: float, largest: float) -> int:
    """The decimals that show three digits of the dataset's largest number; for a mean below a hundredth of that, three
    digits of the mean."""
    return significant_digits(mean if 0 < mean < largest / 100 else largest, 3)


def _seconds(values: pd.Series) -> str:
    return plus_minus(values.mean(), values.std(ddof=1), significant_digits(values.mean(), 2))


def _legend(results: Results, table: Table, metrics: Mapping[str, Metric], usual: _Usual, shown: Shown) -> list[str]:
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
        legend.append(BEST if any(metric.better for metric in metrics.values()) else "Bold: the best.")
    if any("~" in cell for row in table.rows for cell in row):
        legend.append("~ times not comparable: some were taken while other work used the processors.")
    elif usual.contended and (beside or SECONDS in unit):
        legend.append("No times are comparable: in each cell some were taken while other work used the processors.")
    if usual.n < usual.planned:
        legend.append(f"Cells have {usual.n} of {plural(usual.planned, 'planned trial')}, unless marked [n=…].")
    legend += columns_note(results)
    if any(cell == NOT_RUN for row in table.rows for cell in row):
        legend.append(f"{NOT_RUN} not run yet.")
    return legend
