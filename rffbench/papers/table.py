"""Tables of reported or released numbers: their files, the meaning of the columns, and the rows that can be compared.

A file keeps its own columns and names; a `Table` of ``references.yaml`` maps them to this suite's. All rows are read. A
row that cannot be compared keeps the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rffbench.errors import ConfigError, unknown
from rffbench.io.yamlfile import Misplaced
from rffbench.papers import csvfile

KEYS = ["multiple", "n_features", "trial", "run"]
NUMBERS = ["reported", "reported_std", "reported_significant", "reported_trials"]
DATA_NOT_HERE, METHOD_NOT_HERE, NOT_MEASURED = "data not here", "method not here", "not measured"
INCOMPARABLE = "not comparable"  # for another reason, as a released number of failed runs

METHOD = ("method", "kernel")  # the columns that name the method, by default

Cell = str | int | float


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NotHere(BaseModel):
    """Rows of a file that cannot be compared, and why. Keys beside ``because`` are columns of the file: the rows are
    those with this value, or one of this list, in each of the columns."""

    model_config = ConfigDict(extra="allow")

    because: str
    metrics: list[str] = Field(default_factory=list, description="if not all of the table's metrics: these")

    @model_validator(mode="after")
    def _of_some_rows(self) -> NotHere:
        if not self.columns:
            raise Misplaced("must name a column and the value of its rows, as {dataset: USPS}")
        return self

    @property
    def columns(self) -> dict[str, Cell | list[Cell]]:
        return self.model_extra or {}


class Part(_Strict):
    """One of several metrics of a file; ``where`` selects its rows, as for a table."""

    where: dict[str, Cell | list[Cell]] = Field(default_factory=dict)
    reported: str
    reported_std: str | None = None
    factor: float = 1.0
    offset: float = 0.0


class Table(_Strict):
    """A table: its file and rows, the meaning of the columns, and when a cell agrees.

    With a ``tolerance``, a cell agrees if the means differ by no more than that. Without, it agrees if they differ by
    no more than runs of one protocol do (`rffbench.report.agreement`).
    """

    title: str
    file: str | None = Field(default=None, description="its file; by default <paper>_<table>.csv")
    where: dict[str, Cell | list[Cell]] = Field(
        default_factory=dict, description="its rows of the file: column and value, or a list of values"
    )
    dataset: str = Field(default="dataset", description="the column that names the dataset")
    method: list[str] = Field(
        default_factory=list,
        description="the columns that together name the method; the first is never empty; by default method, kernel",
    )
    datasets: dict[str, str] = Field(
        default_factory=dict, description="dataset here: its name in the file; by default the paper's"
    )
    methods: dict[str, str | list[str]] = Field(
        default_factory=dict,
        description="method here: its name, or a list of names; or only a list, of names that are the same here; "
        "by default the paper's",
    )
    not_here: list[NotHere] = Field(default_factory=list, description="rows that cannot be compared here")
    not_run: list[NotHere] = Field(
        default_factory=list,
        description="rows whose data and method are here, but which no config runs: they count as not measured",
    )
    metric: str | None = Field(default=None, description="the score, as trials name it; by default the dataset's own")
    factor: float = Field(default=1.0, description="the paper's number times this is in the suite's unit")
    offset: float = Field(
        default=0.0, description="this is added then: an error rate is an accuracy with factor -100 and offset 100"
    )
    metrics: dict[str, Part] = Field(default_factory=dict, description="in place of metric, if the file has several")
    columns: dict[str, str] = Field(
        default_factory=dict, description="the file's columns for multiple, n_features, trial, run, reported, …"
    )
    trials: int | None = Field(default=None, ge=1, description="trials of a reported mean; or columns.reported_trials")
    tolerance: float | None = Field(
        default=None, gt=0,
        description="the largest difference of means that agrees; the file's column tolerance overrides it per row",
    )  # fmt: skip
    tolerance_unit: Literal["points", "percent"] = Field(
        default="points", description="points of the score, or percent of the reported number"
    )
    costs: dict[str, str] = Field(default_factory=dict, description="metric of trials: the file's column")

    @field_validator("methods", mode="before")
    @classmethod
    def _listed_are_the_same_here(cls, methods: Any) -> Any:
        return {str(name): name for name in methods} if isinstance(methods, list) else methods

    @model_validator(mode="after")
    def _known_columns(self) -> Table:
        for name in self.columns:
            if name not in (known := [*KEYS, *NUMBERS]):
                raise Misplaced(unknown("column", name, known), "columns", name)
        if self.metrics and (self.metric or "reported" in self.columns):
            raise Misplaced("takes the place of metric and columns.reported: leave these out", "metrics")
        if not self.metrics and "reported" not in self.columns:
            raise Misplaced("must name the column for reported", "columns")
        return self

    @property
    def by_interval(self) -> bool:
        """Whether cells agree by the spread of runs, not by a tolerance."""
        return self.tolerance is None

    @property
    def counts_all(self) -> bool:
        """Whether all rows are cells of a comparison, also those that the experiment did not measure."""
        return self.by_interval or bool(self.not_here)

    @property
    def parts(self) -> list[tuple[str | None, Part]]:
        """Each metric, as trials name it (None: the dataset's own score), and its part of the file."""
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
        """The rows, as in `Reference.numbers`. ConfigError, with file and line, if something is wrong.

        ``datasets`` and ``methods`` map names here to the file's. ``place`` gives file and line of a key of the table.
        """
        printed = self._printed(path, place)
        named_by = self._named_by(printed)
        numbers = pd.DataFrame({"line": printed["line"], "paper_dataset": printed[self.dataset]})
        numbers["reported_method"] = [" ".join(filter(str.strip, row)) for row in printed[named_by].to_numpy()]
        here = {theirs: here for here, named in methods.items() for theirs in _listed(named)}
        numbers["method"] = numbers["reported_method"].replace(here)
        for name in (name for name in (*KEYS[:3], "reported_trials") if name in self.columns):
            csvfile.check_whole(path, printed, self.columns[name], least=0 if name == "trial" else 1)
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
        keys = [self.dataset, *named_by, *(self.columns[key] for key in KEYS if key in self.columns), *self._selecting]
        csvfile.check_once(path, printed, list(dict.fromkeys(name for name in (*keys, "source") if name in printed)))
        compared = (numbers["absent"] == "").to_numpy()
        csvfile.check_names(path, printed[compared], self.dataset, set(datasets.values()))
        csvfile.check_names(path, printed, self.dataset, {*datasets.values(), *self._datasets_not_here})
        if methods and self.counts_all:
            named = numbers.assign(method=numbers["reported_method"])
            csvfile.check_names(path, named[compared], "method", here)
        found = pd.concat([self._part(metric, part, numbers, printed, path) for metric, part in self.parts])
        found[["multiple", "n_features", "trial"]] = found[["multiple", "n_features", "trial"]].astype("Int64")
        if self.counts_all:  # else, as of the regression gate, several sources may have a number of one cell
            of_cell = ["paper_dataset", "reported_method", *(key for key in KEYS if key in self.columns)]
            of_cell += ["metric"] if self.metrics else []
            advice = "keep one of them, or choose by where or not_here of the table in references.yaml"
            csvfile.check_once(path, found[found["absent"] == ""], of_cell, advice)
        return _over_runs(found.drop(columns="run")) if "run" in self.columns else found.drop(columns="run")

    def _printed(self, path: Path, place: Callable[..., str]) -> pd.DataFrame:
        """The table's rows of the file, each with its ``line``."""
        numbers = [*self.columns.values(), *self.costs.values()]
        numbers += [name for part in self.metrics.values() for name in (part.reported, part.reported_std) if name]
        text = [self.dataset, *(self.method or ["method"])]
        # `_part` checks empty cells, once it is known which rows are compared. Of a method's name only the first part
        # is needed.
        blank = [*(numbers if self.counts_all else ()), *text[2:]]
        printed = csvfile.load(path, text=text, numbers=numbers, optional=["tolerance"], blank=blank)
        places = [
            *(("where", column) for column in self.where),
            *((key, number, column) for key, number, rule in self._left_out for column in rule.columns),
            *(("metrics", metric, "where", column) for metric, part in self.metrics.items() for column in part.where),
        ]
        for key in places:
            column = key[-1]
            if column not in printed:
                where = place(*key)
                raise ConfigError(f"{where}: {path.name}: {unknown('column', column, printed.columns)}")
        printed["line"] = printed.attrs.pop("lines")
        return printed[_having(printed, self.where)].reset_index(drop=True)

    def _named_by(self, printed: pd.DataFrame) -> list[str]:
        return self.method or [name for name in METHOD if name in printed]

    @property
    def _left_out(self) -> list[tuple[str, int, NotHere]]:
        """The rules that leave rows out: each with its key of the table and its number there."""
        rules = {"not_here": self.not_here, "not_run": self.not_run}
        return [(key, number, rule) for key, listed in rules.items() for number, rule in enumerate(listed)]

    @property
    def _selecting(self) -> list[str]:
        """The columns that select rows or leave rows out, and so distinguish rows."""
        return [*self.where, *(column for _, _, rule in self._left_out for column in rule.columns)]

    @property
    def _datasets_not_here(self) -> list[str]:
        return [str(name) for _, _, rule in self._left_out for name in _listed(rule.columns.get(self.dataset, []))]

    def _judge(self, numbers: pd.DataFrame, printed: pd.DataFrame, path: Path, place: Callable[..., str]) -> None:
        """Set the columns ``absent`` and ``because`` of rows that cannot be compared."""
        numbers["absent"] = numbers["because"] = ""
        for key, number, rule in self._left_out:
            for name in rule.metrics:
                if name not in self.metrics:
                    raise ConfigError(f"{place(key, number, 'metrics')}: {unknown('metric', name, self.metrics)}")
            rows = _having(printed, rule.columns)
            if not rows.any():
                raise ConfigError(f"{place(key, number)}: no row of {path.name} is {_in_words(rule.columns)}")
            if not rule.metrics:
                self._leave_out(numbers, rows, key, rule)

    def _leave_out(self, numbers: pd.DataFrame, rows: pd.Series, key: str, rule: NotHere) -> None:
        if key == "not_run":
            label = NOT_MEASURED
        elif [*rule.columns] == [self.dataset] and not rule.metrics:
            label = DATA_NOT_HERE
        else:
            label = METHOD_NOT_HERE if rule.columns.keys() & {*(self.method or METHOD)} else INCOMPARABLE
        numbers.loc[rows & (numbers["absent"] == ""), ["absent", "because"]] = label, rule.because

    def _part(
        self, metric: str | None, part: Part, numbers: pd.DataFrame, printed: pd.DataFrame, path: Path
    ) -> pd.DataFrame:
        """The rows with one metric's reported numbers, in the suite's unit."""
        rows = _having(printed, part.where)
        numbers, printed = numbers[rows], printed[rows]
        found = numbers.assign(metric=metric, reported=printed[part.reported] * part.factor + part.offset)
        std = printed[part.reported_std] if part.reported_std else math.nan
        found["reported_std"] = std * abs(part.factor)
        found["rounding"] = csvfile.half_a_unit(printed, part.reported) * abs(part.factor)
        if (alone := found["reported_std"].notna() & (found["reported_trials"] == 1)).any():
            raise ConfigError(
                f"{path}, line {found['line'][alone].iloc[0]}, column {part.reported_std!r}: one run has no spread; "
                "leave it empty, or correct the number of runs"
            )
        if not self.counts_all:
            return found
        for key, _, rule in self._left_out:
            if metric in rule.metrics:
                self._leave_out(found, _having(printed, rule.columns), key, rule)
        compared = found["absent"] == ""
        for name, column in (
            (part.reported, "reported"),
            *((self.columns[each], each) for each in (*KEYS, "reported_trials") if each in self.columns),
        ):
            if (empty := compared & found[column].isna()).any():
                line = found["line"][empty].iloc[0]
                raise ConfigError(f"{path}, line {line}, column {name!r}: must be a number, not ''")
        if self.by_interval and (none := compared & (found["reported_std"] <= 0)).any():
            first = found[none].iloc[0]
            raise ConfigError(
                f"{path}, line {first['line']}, column {part.reported_std!r}: a spread must be more than 0, not "
                f"{first['reported_std']:g}; leave it empty if runs do not differ or no spread is known"
            )
        return found


def _having(printed: pd.DataFrame, columns: Mapping[str, Cell | list[Cell]]) -> pd.Series:
    """The mask of the rows with these values (or one of these lists) in these columns. Numbers compare by value."""
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
    """One row per cell from the rows of its runs: their mean, standard deviation (divisor n − 1) and number."""
    of_cell = ["paper_dataset", "reported_method", "multiple", "n_features", "trial", "metric", "absent", "because"]
    cells = numbers.groupby(of_cell, sort=False, dropna=False)["reported"].agg(["mean", "std", "count"])
    first = numbers.drop_duplicates(of_cell).reset_index(drop=True)
    first["reported"], first["reported_std"] = cells["mean"].to_numpy(), cells["std"].to_numpy()
    first["reported_trials"] = cells["count"].to_numpy(float)
    return first
