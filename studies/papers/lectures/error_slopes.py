"""The errors of maps as powers of the number of features, with the exponents of theory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from rffbench import Results
from rffbench.stats import FEWEST_SIZES, fitted_slope
from studies.papers.points import with_points

_OF_SIZES = "points"  # the axis of the sweep over sizes and numbers of points

# The exponents of theory in m: −1/2 for all errors on n fixed points; for the spectral norm also ‖K̃ − K‖₂ ≤ √n if n = m
# (by the bound on entries) and if n = m² (by matrix concentration; Musco's notes, Section 4.3).
FIXED, EQUAL, SQUARE = "fixed", "n = m", "n = m²"
ERRORS = {"sup_error": -0.5, "entry_error": -0.5, "entry_quantile": -0.5, "spectral_error": -0.5, "delta_error": -0.5}
THEORY = {
    **{(FIXED, name): exponent for name, exponent in ERRORS.items()},
    (EQUAL, "spectral_error"): 0.5,
    (SQUARE, "spectral_error"): 1.0,
}


def measured_of_maps(every: Results) -> Iterator[tuple[dict[str, str], Results, pd.DataFrame]]:
    """(common labels, first results, trials) for each group of protocols that differ only in sizes and numbers of
    points. The trials are those of the whole group, with an additional column ``points``, n."""
    groups: dict[tuple[tuple[str, str], ...], list[Results]] = {}
    for labels, results in every.protocols:
        common = tuple((axis, label) for axis, label in labels.items() if axis != _OF_SIZES)
        groups.setdefault(common, []).append(results)
    for common, members in groups.items():
        trials = pd.concat([with_points(results, results.trials) for results in members], ignore_index=True)
        trials = trials[trials["status"] == "ok"]
        yield dict(common), members[0], trials.drop_duplicates(["dataset", "method", "n_features", "trial", "points"])


def series(trials: pd.DataFrame) -> Iterator[tuple[str, int | None, pd.DataFrame]]:
    """One dataset's trials in groups with several sizes: (FIXED, n, trials) for every n, then (EQUAL, None, trials) and
    (SQUARE, None, trials)."""
    m, n = trials["n_features"], trials["points"]
    for points, rows in trials.groupby("points"):
        if rows["n_features"].nunique() >= FEWEST_SIZES:
            yield FIXED, int(str(points)), rows
    for relation, rows in ((EQUAL, trials[m == n]), (SQUARE, trials[m**2 == n])):
        if rows["n_features"].nunique() >= FEWEST_SIZES:
            yield relation, None, rows


def slope_table(every: Results) -> pd.DataFrame:
    """One row per label of the sweep, dataset, method, number of points and error: the fitted exponent in m, its
    interval, and theory's exponent. Empty if no error was measured at several sizes."""
    rows = []
    for labels, results, trials in measured_of_maps(every):
        for dataset in results.datasets:
            for relation, points, mine in series(trials[trials["dataset"] == dataset]):
                for method in results.methods:
                    for metric in ERRORS:
                        theory = THEORY.get((relation, metric))
                        slope = (
                            fitted_slope(mine[mine["method"] == method], metric)
                            if theory is not None and metric in mine
                            else None
                        )
                        if slope is not None:
                            rows.append({
                                **labels, "dataset": dataset, "method": method, "error": metric,
                                "points": f"n = {points}" if points else relation, **slope._asdict(), "theory": theory,
                            })  # fmt: skip
    return pd.DataFrame(rows)


def write_slopes(results: Results) -> list[Path]:
    """Write slopes.csv into the folder of an experiment without a solver; return the path, or an empty list."""
    if any((each.setting("solver") or {}).get("name") != "none" for _, each in results.protocols):
        return []
    table = slope_table(results)
    if table.empty:
        return []
    path = results.folder / "slopes.csv"
    table.to_csv(path, index=False, float_format="%.4f", lineterminator="\n")
    return [path]
