"""The number of columns of each cell's features, which at one size may differ between methods."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

from rffbench.config.columns import Cells, unequal_columns
from rffbench.errors import ConfigError, ResultsError
from rffbench.features import make_features, served
from rffbench.plugins import ownfile
from rffbench.report.frame import Results, as_written, each_cell, size_label
from rffbench.report.text_table import LEAD, Table, lead


def columns_of(results: Results) -> Cells:
    """The columns of every cell's features, from its rows. Rows of older versions lack the number; then a map is
    made to ask it, unless it is in a user's own file. Methods without a map are left out."""

    @cache
    def columns_of_map(method: str, n_features: int, dataset: str) -> int | None:
        features, kernel = results.grid.features(method), results.grid.setting("kernel", dataset, method)
        if ownfile.is_own(str(features["name"])) or not isinstance(kernel, dict):
            return None
        with suppress(ConfigError):  # a map of a package that is not installed
            count: Any = results.grid.setting("count") or "frequencies"
            made = make_features(features, kernel=kernel["name"], gamma=1.0, n_features=n_features, count=count)
            return getattr(made, "n_components", None)
        return None

    found: Cells = {}
    for dataset, n_features, size, method, _ in each_cell(results.trials):
        columns = results.columns.get((dataset, n_features, method)) or columns_of_map(method, n_features, dataset)
        if columns is not None:
            found.setdefault((dataset, size), {})[method] = columns
    return found


def columns_note(results: Results) -> list[str]:
    """A line for a table whose methods have unequal numbers of columns at one size; empty if the numbers are equal."""
    found = columns_of(results)
    methods = dict.fromkeys(method for columns in found.values() for method in columns)
    unequal = unequal_columns(found, [method for method in methods if _is_sparse(results, method)])
    return [f"{unequal[:1].upper()}{unequal[1:]}."] if unequal else []


def _is_sparse(results: Results, method: str) -> bool:
    """Whether the method's map is sparse: then the rows decide its number of columns."""
    with suppress(ConfigError):  # a map that is not registered any more
        return served(str(results.grid.features(method)["name"])).sparse
    return False


def make_columns_table(results: Results, *, written: bool = False) -> Table:
    """The table of the number of columns of every cell's features. ResultsError if no cell has one."""
    found = columns_of(results)
    if not found:
        raise ResultsError(f"{results.folder}: no trial says how many columns its features have")
    name = as_written if written else str
    table = Table(results.title, [*LEAD, *map(name, results.methods)], stub=len(LEAD))
    places = results.trials[["dataset", "n_features", "multiple"]].drop_duplicates()
    for dataset, n_features, multiple in places.itertuples(index=False):
        size = size_label(n_features, multiple)
        columns = found.get((dataset, size), {})
        row = [str(columns.get(method, "")) for method in results.methods]
        table.rows.append([*lead(results.called(dataset) if written else dataset, size), *row])
    table.notes = ["Columns of the features.", *columns_note(results)]
    return table
