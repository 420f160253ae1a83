"""Measured against reported, cell by cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import files

import pandas as pd

from rffbench.errors import ConfigError, unknown
from rffbench.report.frame import Results
from rffbench.report.summary import summarise
from rffbench.report.table import plus_minus


@dataclass(frozen=True)
class Reference:
    """A paper's table, stored as a CSV in ``rffbench/papers`` as the paper prints it."""

    file: str
    citation: str


REFERENCES = {
    "liu2020-table3": Reference(
        "liu2020_table3.csv",
        "Liu, Huang, Chen, Yang and Suykens (2020), Random Fourier Features via Fast Surrogate Leverage "
        "Weighted Sampling, AAAI 2020, Table 3",
    ),
}

_CELL = ["dataset", "multiple", "method"]


class NoReference(ConfigError):
    """The experiment's config names no reference to be compared with."""


@dataclass(frozen=True)
class Comparison:
    """Measured against reported accuracies.

    ``cells`` has a row for every cell that is measured or reported of the datasets measured: dataset,
    multiple (s/d), method, reported and reported_std, measured and measured_std (%), difference (measured
    less reported, points), reported_significant and measured_significant (0/1; missing where there is no
    number), n_ok, and verdict: 'within' or 'outside' the tolerance, 'not measured', 'not reported', or ''
    where no tolerance was given.
    """

    reference: Reference
    title: str
    tolerance: float | None
    cells: pd.DataFrame

    @property
    def outside(self) -> int:
        """How many cells differ by more than the tolerance."""
        return int((self.cells["verdict"] == "outside").sum())

    def to_text(self) -> str:
        """A line a cell, and the sums; for a terminal."""
        lines = [f"{self.title}: measured against {self.reference.citation} (accuracy, %)", "",
                 f"{'dataset':<12}{'s':>5}  {'method':<14}{'reported':>14}{'measured':>14}{'difference':>12}"]
        last = None
        for cell in self.cells.to_dict("records"):
            if last not in (None, cell["dataset"]):
                lines.append("")
            last = cell["dataset"]
            lines.append((
                f"{cell['dataset']:<12}{str(cell['multiple']) + 'd':>5}  {cell['method']:<14}"
                f"{_number(cell, 'reported'):>14}{_number(cell, 'measured'):>14}"
                f"{_signed(cell['difference']):>12}  {cell['verdict']}"
            ).rstrip())
        return "\n".join([*lines, "", *self._sums()]) + "\n"

    def _sums(self) -> list[str]:
        both = self.cells.dropna(subset=["difference"])
        if both.empty:
            return ["No cell is both measured and reported."]
        size = both["difference"].abs()
        agreeing = int((both["measured_significant"] == both["reported_significant"]).sum())
        sums = [f"{len(both)} cells compared: mean difference {both['difference'].mean():+.2f} points, "
                f"median size {size.median():.2f}, largest {size.max():.2f}; • agrees in {agreeing}."]
        if self.tolerance is not None:
            sums.append(f"{len(both) - self.outside} of {len(both)} within {self.tolerance:g} points.")
        return sums


def compare(results: Results, tolerance: float | None = None) -> Comparison:
    """Compare an experiment's accuracies with those its ``reference`` reports.

    ``tolerance`` is the largest size of a difference, in points, that is still within.
    Raises NoReference where the config names none, ConfigError where it names an unknown one.
    """
    name = results.config.get("reference")
    if not name:
        raise NoReference(f"{results.folder / 'config.yaml'}: names no reference to compare with; "
                          f"known: {', '.join(REFERENCES)}")
    reported = load_reference(name)
    summary = summarise(results)
    measured = summary[(summary["metric"] == "accuracy") & summary["multiple"].notna()].rename(
        columns={"mean": "measured", "std": "measured_std", "significant": "measured_significant"}
    )[[*_CELL, "measured", "measured_std", "measured_significant", "n_ok"]]
    measured.loc[measured["n_ok"] == 0, "measured_significant"] = float("nan")
    cells = reported[reported["dataset"].isin(results.datasets)].merge(measured, on=_CELL, how="outer")
    cells["n_ok"] = cells["n_ok"].fillna(0).astype(int)
    cells["difference"] = cells["measured"] - cells["reported"]
    cells["verdict"] = [_verdict(cell, tolerance) for cell in cells.to_dict("records")]
    for column, order in (("dataset", results.datasets), ("method", [*results.methods, *cells["method"]])):
        cells[column] = pd.Categorical(cells[column], list(dict.fromkeys(order)))
    cells = cells.sort_values(_CELL).astype({"dataset": str, "method": str})
    return Comparison(REFERENCES[name], results.title, tolerance, cells.reset_index(drop=True))


def load_reference(name: str) -> pd.DataFrame:
    """A paper's accuracies in %: dataset, multiple, method, reported, reported_std, reported_significant."""
    if name not in REFERENCES:
        raise ConfigError(unknown("reference", name, REFERENCES))
    with files("rffbench").joinpath("papers", REFERENCES[name].file).open(encoding="utf-8") as file:
        table = pd.read_csv(file)
    table = table.rename(columns={
        "s_over_d": "multiple", "accuracy_mean": "reported", "accuracy_std": "reported_std",
        "significant": "reported_significant",
    })[[*_CELL, "reported", "reported_std", "reported_significant"]]
    table["dataset"] = table["dataset"].str.lower()  # the paper's EEG and cod-RNA are eeg and cod-rna here
    table["multiple"] = table["multiple"].astype("Int64")
    return table


def _verdict(cell: dict, tolerance: float | None) -> str:
    if math.isnan(cell["measured"]):
        return "not measured"
    if math.isnan(cell["reported"]):
        return "not reported"
    if tolerance is None:
        return ""
    # A difference that equals the tolerance is within it, whatever the subtraction's rounding.
    return "within" if abs(cell["difference"]) <= tolerance + 1e-9 else "outside"


def _number(cell: dict, which: str) -> str:
    if math.isnan(cell[which]):
        return "–"
    sign = " •" if cell[f"{which}_significant"] == 1 else "  "
    return plus_minus(cell[which], cell[f"{which}_std"], 2) + sign


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{round(value, 2) + 0.0:+.2f}"
