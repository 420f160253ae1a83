"""A table of numbers that others reported or released: its file, what the columns mean, what can be compared.

A file keeps its own columns and names; a `Table` of ``references.yaml`` maps them to this suite's. Every row of the
file that the table is of is read: one that nothing here can be compared with keeps the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rffbench.errors import ConfigError, unknown
from rffbench.papers import csvfile
from rffbench.yamlfile import Misplaced

KEYS = ["multiple", "n_features", "trial", "run"]
NUMBERS = ["reported", "reported_std", "reported_significant", "reported_trials"]
DATA_NOT_HERE, METHOD_NOT_HERE, NO_NUMBER = "data not here", "method not here", "no number"

Cell = str | int | float


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NotHere(BaseModel):
    """Rows of a file that can't be compared with anything here, and why: those that have all of these values (or one of
    a list of them) in the columns that are named beside ``because``."""

    model_config = ConfigDict(extra="allow")

    because: str
    metrics: list[str] = Field(default_factory=list, description="of a file with several, those that it is about")

    @model_validator(mode="after")
    def _of_some_rows(self) -> NotHere:
        if not self.columns:
            raise Misplaced("must name the column and the value of the rows that it is about, as {dataset: USPS}")
        return self

    @property
    def columns(self) -> dict[str, Cell | list[Cell]]:
        return self.model_extra or {}


class Part(_Strict):
    """One metric of a file that has several; with ``where`` of those rows alone, as a table's."""

    where: dict[str, Cell | list[Cell]] = Field(default_factory=dict)
    reported: str
    reported_std: str | None = None
    factor: float = 1.0
    offset: float = 0.0


class Table(_Strict):
    """A table: which file and rows it is, what its columns hold, and when a cell agrees.

    With a ``tolerance`` a cell agrees where the means differ by no more. Without one it agrees where they differ by no
    more than runs of the same protocol would (`rffbench.report.agreement`).
    """

    title: str
    file: str | None = Field(default=None, description="its file's name; else <paper>_<table>.csv")
    where: dict[str, Cell | list[Cell]] = Field(
        default_factory=dict, description="the rows of the file that it is: column and value, or a list of values"
    )
    dataset: str = Field(default="dataset", description="the column that names the dataset")
    method: list[str] = Field(
        default_factory=list,
        description="the columns that together name the method, the first never empty; else method, and kernel",
    )
    datasets: dict[str, str] = Field(default_factory=dict, description="dataset here: its name; else the paper's")
    methods: dict[str, str | list[str]] = Field(
        default_factory=dict, description="method here: its name, or those of several; else the paper's"
    )
    not_here: list[NotHere] = Field(default_factory=list, description="rows that nothing here is comparable with")
    no_number: str | None = Field(default=None, description="why some of its rows have no number, where they do")
    metric: str | None = Field(default=None, description="the score, as trials name it; else each dataset's own")
    factor: float = Field(default=1.0, description="the paper's number times this is in the suite's unit")
    offset: float = Field(
        default=0.0, description="and this is added: an error rate is an accuracy with factor -100 and offset 100"
    )
    metrics: dict[str, Part] = Field(default_factory=dict, description="of a file with several: in place of metric")
    columns: dict[str, str] = Field(
        default_factory=dict, description="of multiple, n_features, trial, run, reported, reported_std, …: the file's"
    )
    trials: int | None = Field(default=None, description="trials behind a reported mean; or columns.reported_trials")
    tolerance: float | None = Field(
        default=None, gt=0,
        description="how far a measured mean may be off; a column of that name in the file says it for a row",
    )  # fmt: skip
    tolerance_unit: Literal["points", "percent"] = Field(
        default="points", description="points of the score, or percent of the reported number"
    )
    costs: dict[str, str] = Field(default_factory=dict, description="metric of trials: the file's column")

    @model_validator(mode="after")
    def _known_columns(self) -> Table:
        for name in self.columns:
            if name not in (known := [*KEYS, *NUMBERS]):
                raise Misplaced(unknown("column", name, known), "columns", name)
        if self.metrics and (self.metric or "reported" in self.columns):
            raise Misplaced("each of several metrics has its own column: give metric, or metrics", "metrics")
        if not self.metrics and "reported" not in self.columns:
            raise Misplaced("must say which column is reported", "columns")
        return self

    @property
    def by_interval(self) -> bool:
        """Whether a cell agrees by what runs differ by, and not by a tolerance."""
        return self.tolerance is None

    @property
    def counts_all(self) -> bool:
        """Whether every row of it is a cell of an experiment, also of what the experiment does not have."""
        return self.by_interval or bool(self.not_here)

    @property
    def parts(self) -> list[tuple[str | None, Part]]:
        """Each metric, as trials name it, and what the file has of it; None: each dataset's own score."""
        if self.metrics:
            return [*self.metrics.items()]
        reported, std = self.columns["reported"], self.columns.get("reported_std")
        return [(self.metric, Part(reported=reported, reported_std=std, factor=self.factor, offset=self.offset))]

    # ---- Reading ----

    def read(
        self,
        path: Path,
        place: Callable[..., str],
        datasets: Mapping[str, str],
        methods: Mapping[str, str | list[str]],
    ) -> pd.DataFrame:
        """The rows as `Reference.numbers` describes them. ConfigError, with file and line, where something is wrong.

        ``datasets`` and ``methods`` have what the file calls them, by the names here. ``place`` says where a key of the
        table is written.
        """
        printed = self._printed(path, place)
        named_by = self._named_by(printed)
        numbers = pd.DataFrame({"line": printed["line"], "paper_dataset": printed[self.dataset]})
        numbers["reported_method"] = [" ".join(filter(str.strip, row)) for row in printed[named_by].to_numpy()]
        here = {theirs: here for here, named in methods.items() for theirs in _listed(named)}
        numbers["method"] = numbers["reported_method"].replace(here)
        for name in KEYS:
            numbers[name] = printed[self.columns[name]] if name in self.columns else math.nan
        for name in NUMBERS[2:]:
            numbers[name] = printed[self.columns[name]] if name in self.columns else math.nan
        if self.trials:
            numbers["reported_trials"] = float(self.trials)
        numbers["tolerance"] = printed.get("tolerance", math.nan if self.tolerance is None else self.tolerance)
        for metric, column in self.costs.items():
            numbers[metric] = printed[column]
        self._judge(numbers, printed, path, place)
        keys = [self.dataset, *named_by, *(self.columns[key] for key in KEYS if key in self.columns), *self._told_apart]
        csvfile.check_once(path, printed, list(dict.fromkeys(name for name in (*keys, "source") if name in printed)))
        compared = (numbers["absent"] == "").to_numpy()
        csvfile.check_names(path, printed[compared], self.dataset, set(datasets.values()))
        if methods and self.counts_all:
            named = numbers.assign(method=numbers["reported_method"])
            csvfile.check_names(path, named[compared], "method", here)
        found = pd.concat([self._part(metric, part, numbers, printed, path) for metric, part in self.parts])
        found[["multiple", "n_features", "trial"]] = found[["multiple", "n_features", "trial"]].astype("Int64")
        return _over_runs(found.drop(columns="run")) if "run" in self.columns else found.drop(columns="run")

    def _printed(self, path: Path, place: Callable[..., str]) -> pd.DataFrame:
        """The file's rows that the table is of, with the number of their ``line``."""
        numbers = [*self.columns.values(), *self.costs.values()]
        numbers += [name for part in self.metrics.values() for name in (part.reported, part.reported_std) if name]
        text = [self.dataset, *(self.method or ["method"])]
        # What is left out is looked at where it is known what it is of.
        blank = [*(numbers if self.counts_all else ()), *text[2:]]  # and of a name only the first part must be there
        printed = csvfile.load(path, text=text, numbers=numbers, optional=["tolerance"], blank=blank)
        places = [
            *(("where", column) for column in self.where),
            *(("not_here", number, column) for number, rule in enumerate(self.not_here) for column in rule.columns),
            *(("metrics", metric, "where", column) for metric, part in self.metrics.items() for column in part.where),
        ]
        for key in places:
            column = key[-1]
            if column not in printed:
                where = place(*key)
                raise ConfigError(f"{where}: {path.name}: {unknown('column', column, printed.columns)}")
        printed["line"] = printed.attrs["lines"]
        return printed[_having(printed, self.where)].reset_index(drop=True)

    def _named_by(self, printed: pd.DataFrame) -> list[str]:
        return self.method or [name for name in ("method", "kernel") if name in printed]

    @property
    def _told_apart(self) -> list[str]:
        """The columns by which rows are chosen or left out, so that they tell rows apart, too."""
        return [*self.where, *(column for rule in self.not_here for column in rule.columns)]

    def _judge(self, numbers: pd.DataFrame, printed: pd.DataFrame, path: Path, place: Callable[..., str]) -> None:
        """Say in the columns ``absent`` and ``because`` of which rows nothing here can be compared, and why."""
        numbers["absent"] = numbers["because"] = ""
        for number, rule in enumerate(self.not_here):
            for name in rule.metrics:
                if name not in self.metrics:
                    raise ConfigError(
                        f"{place('not_here', number, 'metrics')}: {unknown('metric', name, self.metrics)}"
                    )
            rows = _having(printed, rule.columns)
            if not rows.any():
                raise ConfigError(f"{place('not_here', number)}: no row of {path.name} is {_in_words(rule.columns)}")
            if not rule.metrics:
                self._leave_out(numbers, rows, rule)

    def _leave_out(self, numbers: pd.DataFrame, rows: pd.Series, rule: NotHere) -> None:
        label = DATA_NOT_HERE if [*rule.columns] == [self.dataset] else METHOD_NOT_HERE
        numbers.loc[rows & (numbers["absent"] == ""), ["absent", "because"]] = label, rule.because

    def _part(
        self, metric: str | None, part: Part, numbers: pd.DataFrame, printed: pd.DataFrame, path: Path
    ) -> pd.DataFrame:
        """The rows with what is reported of one metric, in the suite's unit."""
        rows = _having(printed, part.where)
        numbers, printed = numbers[rows], printed[rows]
        found = numbers.assign(metric=metric, reported=printed[part.reported] * part.factor + part.offset)
        std = printed[part.reported_std] if part.reported_std else math.nan
        found["reported_std"] = std * abs(part.factor)
        found["rounding"] = 0.5 * 10.0 ** -printed.attrs["decimals"][part.reported] * abs(part.factor)
        if not self.counts_all:
            return found
        for rule in self.not_here:
            if metric in rule.metrics:
                self._leave_out(found, _having(printed, rule.columns), rule)
        compared = found["absent"] == ""
        for name, column in (
            (part.reported, "reported"),
            *((self.columns[key], key) for key in KEYS if key in self.columns),
        ):
            empty = compared & found[column].isna()
            if empty.any() and column == "reported" and self.no_number:
                found.loc[empty, ["absent", "because"]] = NO_NUMBER, self.no_number
            elif empty.any():
                line = found["line"][empty].iloc[0]
                raise ConfigError(f"{path}, line {line}, column {name!r}: must be a number, not ''")
        if self.by_interval and (none := compared & (found["reported_std"] <= 0)).any():
            first = found[none].iloc[0]
            raise ConfigError(
                f"{path}, line {first['line']}, column {part.reported_std!r}: a spread must be more than 0, not "
                f"{first['reported_std']:g}; leave it empty where runs do not differ or none is known"
            )
        return found


def _having(printed: pd.DataFrame, columns: Mapping[str, Cell | list[Cell]]) -> pd.Series:
    """Which rows have these values, or one of a list of them, in these columns; numbers count by their value."""
    rows = pd.Series(True, index=printed.index)
    for column, values in columns.items():
        cells = printed[column]
        if cells.dtype == float:
            rows &= cells.isin([float(value) for value in _listed(values)])
        else:
            rows &= cells.isin([str(value) for value in _listed(values)])
    return rows


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _in_words(columns: Mapping[str, Cell | list[Cell]]) -> str:
    return ", ".join(f"{column}: {' or '.join(map(str, _listed(values)))}" for column, values in columns.items())


def _over_runs(numbers: pd.DataFrame) -> pd.DataFrame:
    """Rows that are runs of one cell as a row each: the mean, the standard deviation (divisor n − 1), how many."""
    of_cell = ["paper_dataset", "reported_method", "multiple", "n_features", "trial", "metric", "absent", "because"]
    cells = numbers.groupby(of_cell, sort=False, dropna=False)["reported"].agg(["mean", "std", "count"])
    first = numbers.drop_duplicates(of_cell).reset_index(drop=True)
    first["reported"], first["reported_std"] = cells["mean"].to_numpy(), cells["std"].to_numpy()
    first["reported_trials"] = cells["count"].to_numpy(float)
    return first
