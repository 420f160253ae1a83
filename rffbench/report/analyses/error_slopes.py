"""Errors of maps alone as powers of the number of features, beside the exponents that theory has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from rffbench.report.escape import csv_frame
from rffbench.report.frame import Protocols, Results
from rffbench.report.slopes import FEWEST_SIZES, fitted_slope

_OF_SIZES = ("n_features", "kernel_error_points", "trials")

# What of the rows' measures goes as a power of m, and the exponent that theory has: with n points fixed 1/√m; the norm
# ‖K̃ − K‖₂ ≤ √n where n = m, from entries, and where n = m², by matrix concentration (Musco's notes, Section 4.3).
FIXED, EQUAL, SQUARE = "fixed", "n = m", "n = m²"
ERRORS = {"sup_error": -0.5, "entry_error": -0.5, "entry_quantile": -0.5, "spectral_error": -0.5, "delta_error": -0.5}
THEORY = {
    **{(FIXED, name): exponent for name, exponent in ERRORS.items()},
    (EQUAL, "spectral_error"): 0.5,
    (SQUARE, "spectral_error"): 1.0,
}


def measured_of_maps(protocols: Protocols) -> Iterator[tuple[dict[str, str], Results, pd.DataFrame]]:
    """The trials of protocols that differ in their sizes and numbers of points only, put together: the labels they have
    in common, the first of the results, and the trials with a column ``points`` more, n."""
    groups: dict[str, list[tuple[dict[str, str], Results]]] = {}
    for labels, results in protocols:
        groups.setdefault(results.grid.identity(without=_OF_SIZES), []).append((labels, results))
    for members in groups.values():
        common = dict(set.intersection(*(set(labels.items()) for labels, _ in members)))
        trials = pd.concat([_with_points(results) for _, results in members], ignore_index=True)
        trials = trials[trials["status"] == "ok"]
        axes = {axis: common[axis] for axis in members[0][0] if axis in common}
        yield axes, members[0][1], trials.drop_duplicates(["dataset", "method", "n_features", "trial", "points"])


def _with_points(results: Results) -> pd.DataFrame:
    points = [results.grid.setting("kernel_error_points", dataset) for dataset in results.trials["dataset"]]
    return results.trials.assign(points=points)


def series(trials: pd.DataFrame) -> Iterator[tuple[str, int | None, pd.DataFrame]]:
    """What of one dataset's trials goes together: (FIXED, n, trials) of every n measured at several sizes, then
    (EQUAL, None, …) and (SQUARE, None, …)."""
    m, n = trials["n_features"], trials["points"]
    for points, rows in trials.groupby("points"):
        if rows["n_features"].nunique() >= FEWEST_SIZES:
            yield FIXED, int(str(points)), rows
    for relation, rows in ((EQUAL, trials[m == n]), (SQUARE, trials[m**2 == n])):
        if rows["n_features"].nunique() >= FEWEST_SIZES:
            yield relation, None, rows


def slope_table(protocols: Protocols) -> pd.DataFrame:
    """One row per label of the sweep, dataset, method, number of points and error: the fitted exponent in m,
    its interval, and what theory has; empty if no error of a map alone was measured at several sizes."""
    rows = []
    for labels, results, trials in measured_of_maps(protocols):
        for dataset in results.datasets:
            for relation, points, mine in series(trials[trials["dataset"] == dataset]):
                for method in results.methods:
                    for metric in ERRORS:
                        theory = THEORY.get((relation, metric))
                        slope = fitted_slope(mine[mine["method"] == method], metric) if theory is not None else None
                        if slope is not None:
                            rows.append({
                                **labels, "dataset": dataset, "method": method, "error": metric,
                                "points": f"n = {points}" if points else relation, **slope._asdict(), "theory": theory,
                            })  # fmt: skip
    return pd.DataFrame(rows)


def write_slopes(protocols: Protocols) -> list[Path]:
    """Write slopes.csv into the folder of an experiment that measures the errors of maps alone; the path, or none."""
    if any((results.grid.setting("solver") or {}).get("name") != "none" for _, results in protocols):
        return []
    table = slope_table(protocols)
    if table.empty:
        return []
    path = protocols[0][1].folder / "slopes.csv"
    csv_frame(table).to_csv(path, index=False, float_format="%.4f", lineterminator="\n")
    return [path]
