"""The papers' reported numbers, as printed, and the registry of papers.

A file of numbers keeps the paper's columns and names; ``references.yaml`` maps them to this suite's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, RootModel

from rffbench.errors import ConfigError, unknown
from rffbench.io import yamlfile
from rffbench.papers import csvfile
from rffbench.papers.table import NUMBERS, Table

FOLDER = Path(__file__).parent
BRACKETS = re.compile(r" \([^()]*\)$")  # what a label adds to the name of a method, for a variant


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


Role = Literal["reproduction", "control", "study", "search", "gate"]
"""The purpose of an experiment: to reproduce a paper's numbers; to show that another protocol does not give them; to
study its methods further; to search for its protocol; to repeat scores that were recorded here."""


class Paper(_Strict):
    experiments: dict[str, Role] = Field(default_factory=dict, description="experiments on it except reproductions")
    datasets: dict[str, str] = Field(default_factory=dict, description="dataset here: its name in the paper")
    methods: dict[str, str | list[str]] = Field(
        default_factory=dict, description="method here: its name in the paper, or those of several"
    )
    stated: dict[str, Any] = Field(default_factory=dict, description="the protocol in its text, as part of a config")
    tables: dict[str, Table] = Field(default_factory=dict)


class _Registry(_Strict):
    papers: dict[str, Paper]


class _Author(BaseModel):
    family: str


class _Issued(BaseModel):
    date_parts: Annotated[list[Annotated[list[int], Field(min_length=1)]], Field(min_length=1, alias="date-parts")]


class _Citation(BaseModel):
    """The fields of CSL-JSON that a citation needs."""

    title: str
    author: Annotated[list[_Author], Field(min_length=1)]
    container_title: str | None = Field(default=None, alias="container-title")
    genre: str | None = None
    issued: _Issued | None = None


class _Citations(RootModel[Annotated[list[_Citation], Field(min_length=1, max_length=1)]]):
    pass


class Reference(_Strict):
    """The paper, or its table, that a config's ``reference`` names."""

    name: str
    paper: str
    datasets: dict[str, str]
    methods: dict[str, str | list[str]] = {}
    stated: dict[str, Any]
    table: Table | None
    key: str = ""  # of its table in references.yaml
    renamed: dict[str, str] = {}  # methods that an experiment calls as the paper does: name here to its own

    @property
    def short(self) -> str:
        """Authors and year: ``Liu et al. 2020``."""
        item = self._cited
        first, *others = [author.family for author in item.author]
        names = f"{first} et al." if len(others) > 1 else " and ".join([first, *others])
        return names + (f" {item.issued.date_parts[0][0]}" if item.issued else "")

    @property
    def _cited(self) -> _Citation:
        (item,) = yamlfile.load(FOLDER / f"{self.paper}.json", _Citations).root  # JSON is YAML
        return item

    def called_as_in(self, labels: Collection[str]) -> Self:
        """The same, with the methods called as an experiment's ``labels`` call them: a label may be a method's name
        here or the paper's own, with something in brackets."""
        names = {BRACKETS.sub("", label) for label in labels}
        own = {here: theirs for here, theirs in self.methods.items() if isinstance(theirs, str) and theirs in names}
        if not (own := {here: theirs for here, theirs in own.items() if here not in names}):
            return self
        methods = {own.get(here, here): theirs for here, theirs in self.methods.items()}
        return self.model_copy(update={"methods": methods, "stated": renamed(self.stated, own), "renamed": own})

    @property
    def given(self) -> str:
        """The word for its numbers in tables, beside "measured"."""
        return "reported"

    @property
    def difference_unit(self) -> str:
        """The unit of differences: percent of its numbers if its tolerance is in percent, else points."""
        return "%" if self.table and self.table.tolerance_unit == "percent" else "points"

    @property
    def citation(self) -> str:
        """Authors (year), title, journal or book, and the table; from the paper's CSL-JSON."""
        item = self._cited
        *others, last = [author.family for author in item.author]
        authors = f"{', '.join(others)} and {last}" if others else last
        year = f" ({item.issued.date_parts[0][0]})" if item.issued else ""
        where = item.container_title or item.genre or ""
        parts = [f"{authors}{year}", item.title, where, *([self.table.title] if self.table else [])]
        return ", ".join(parts)

    @property
    def claims(self) -> Path:
        """The file of the table's claims if there is one, else of the paper's."""
        own = FOLDER / f"{self.paper}_{self.key}_claims.yaml"
        return own if own.exists() else FOLDER / f"{self.paper}_claims.yaml"

    def metric_of(self, dataset: str) -> str | None:
        """The metric by which a dataset is compared, as trials name it; None for the dataset's own score."""
        return self.table.metric if self.table else None

    def numbers(self) -> pd.DataFrame:
        """The table's rows as printed, with the suite's names in addition to the paper's; empty without a table.

        ``paper_dataset``; ``method``, by its name here if it has one, and ``reported_method``, as printed (followed by
        the kernel if the table has that column: ``RF gaussian``); ``multiple`` (s/d), ``n_features`` and ``trial``,
        missing values if the table lacks them; ``metric`` (None: the dataset's own score); ``reported``,
        ``reported_std`` and ``rounding`` (half a unit of the last decimal) in the suite's unit;
        ``reported_significant`` (0/1), ``reported_trials``, ``tolerance``; ``line`` of the file; ``absent``,
        DATA_NOT_HERE, METHOD_NOT_HERE, INCOMPARABLE or empty, and ``because``, the reason; and one column per cost
        metric.
        """
        if self.table is None:
            return pd.DataFrame(columns=["paper_dataset", "method", "multiple", *NUMBERS])
        return self.table.read(self.file, self.place, self.datasets, self.methods)

    @property
    def file(self) -> Path:
        """The file of the table's numbers."""
        own = self.table.file if self.table else None
        return FOLDER / (own or f"{self.name.replace('-', '_')}.csv")

    def place(self, *where: str | int) -> str:
        """File and line, for a message, of a key of the table, or of the paper if ``where`` begins with ``..``."""
        above = ("papers", self.paper) if where[:1] == ("..",) else ("papers", self.paper, "tables", self.key)
        return yamlfile.place(FOLDER / "references.yaml", *above, *(where[1:] if where[:1] == ("..",) else where))

    @property
    def statistics_file(self) -> Path:
        """The file of `dataset_statistics`, if the paper states any."""
        return FOLDER / f"{self.paper}_datasets.csv"

    def dataset_statistics(self) -> pd.DataFrame:
        """The sizes of the datasets that the paper states, by the paper's names, and the ``line`` of each; empty if it
        states none. ``zero_columns`` are columns that are 0 in all rows, and left out of the paper's ``n_features``."""
        path = self.statistics_file
        if not path.exists():
            return pd.DataFrame()
        counts = ["n_features", "n_train", "n_test", "zero_columns"]
        printed = csvfile.load(path, text=["dataset"], numbers=counts[:1], optional=counts)
        of_paper = [each.datasets for each in references().values() if each.paper == self.paper]
        csvfile.check_names(path, printed, "dataset", {name for datasets in of_paper for name in datasets.values()})
        csvfile.check_once(path, printed, ["dataset"])
        stated = [name for name in counts if name in printed]
        for name in stated:
            csvfile.check_whole(path, printed, name)
        numbers = printed.astype(dict.fromkeys(stated, int))
        return numbers.assign(line=csvfile.lines_of(printed)).set_index("dataset")


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Keys and texts in ``value`` with each of the ``names`` replaced."""
    if isinstance(value, Mapping):
        return {renamed(key, names): renamed(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    for name, other in names.items() if isinstance(value, str) else ():
        value = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", other.replace("\\", r"\\"), value)
    return value


def role_of(experiment: str, reference: str | None) -> tuple[str, Role | None]:
    """The paper and the role of an experiment with this name and reference; "" and None if it has no paper."""
    for name, paper in _registry().papers.items():
        if experiment in paper.experiments:
            return name, paper.experiments[experiment]
    known = references().get(reference or "")
    return (known.paper, "reproduction") if known else ("", None)


def _registry() -> _Registry:
    return yamlfile.load(FOLDER / "references.yaml", _Registry)


@cache
def references() -> dict[str, Reference]:
    """Every reference by its name: the papers, and their tables as ``<paper>-<table>``."""
    found = {}
    for name, paper in _registry().papers.items():
        for key, table in ((name, None), *((f"{name}-{key}", table) for key, table in paper.tables.items())):
            found[key] = Reference(
                name=key, paper=name, stated=paper.stated, table=table, key=key.removeprefix(f"{name}-"),
                datasets=(table and table.datasets) or paper.datasets,
                methods=(table and table.methods) or paper.methods,
            )  # fmt: skip
    return found


def load_reference(name: str) -> Reference:
    """The reference called ``name``; ConfigError for an unknown name."""
    known = references()
    if name not in known:
        raise ConfigError(unknown("reference", name, known))
    return known[name]
