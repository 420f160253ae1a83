"""On which scale of λ do methods' curves coincide? Compares scores at equal values of each scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench import Results, Table
from rffbench.stats import NOT_RUN

LAMBDA_SCALES = {
    "lambda": "λ",
    "effective_lambda": "trace",
    "median_lambda": "median column",
    "effective_dimension": "effective dimension",
}
"""The scales: columns of the curves, and their names. They are λ, λ over the mean ‖z(x)‖², λ over p times the median of
the columns' mean squares, and tr(K̃(K̃ + nλI)⁻¹)."""

_PATH = ["dataset", "n_features", "multiple", "method"]


def distances(results: Results) -> pd.DataFrame:
    """For every dataset, size and method except the first, the distance of its curve to the first method's, in units of
    the score, one column per scale. Empty if no path of λ has all LAMBDA_SCALES.

    At each λ of a method, its score is compared with the first method's score in the same trial at the same value of
    the scale, linearly interpolated in the scale's logarithm. The mean of the absolute differences is over the λ that
    all scales can compare (``compared`` is their number), and then over trials.
    """
    curves = results.curves
    if not set(LAMBDA_SCALES) <= set(curves.columns) or curves["effective_dimension"].isna().all():
        return pd.DataFrame()
    curves = curves[curves["lambda"] > 0]  # 0 has no logarithm
    rows = []
    first = results.methods[0]
    for (dataset, n_features, multiple), here in curves.groupby(_PATH[:-1], sort=False, dropna=False):
        score = results.score(str(dataset)).name
        trials: dict[str, list[dict[str, float]]] = {}
        for _, paths in here.groupby("trial"):
            base = paths[paths["method"] == first]
            for method in results.methods[1:]:
                own = paths[paths["method"] == method]
                if len(base) > 1 and len(own) > 1:
                    trials.setdefault(method, []).append(_compared(own, base, score))
        for method, found in trials.items():
            rows.append({
                "dataset": dataset, "n_features": n_features, "multiple": multiple, "method": method, "against": first,
                **pd.DataFrame(found).mean().to_dict(), "trials": len(found),
            })  # fmt: skip
    return pd.DataFrame(rows)


def _compared(own: pd.DataFrame, base: pd.DataFrame, score: str) -> dict[str, float]:
    """The mean absolute differences between two paths of one trial by scale, and the number of λ behind them."""
    differences = np.stack([path_distances(own, base, name, score) for name in LAMBDA_SCALES])
    both = np.isfinite(differences).all(axis=0)
    means = differences[:, both].mean(axis=1) if both.any() else np.full(len(LAMBDA_SCALES), np.nan)
    return {**dict(zip(LAMBDA_SCALES, means, strict=True)), "compared": float(both.sum())}


def path_distances(own: pd.DataFrame, base: pd.DataFrame, scale: str, score: str) -> NDArray[np.float64]:
    """|score − the base's score at the same value of the scale| at each λ; NaN beyond the ends of the base's path."""
    base = base.dropna(subset=[scale]).sort_values(scale)
    at, reference = np.log(own[scale].to_numpy(float)), np.log(base[scale].to_numpy(float))
    return np.abs(own[score].to_numpy(float) - np.interp(at, reference, base[score], left=np.nan, right=np.nan))


def lambda_scale_table(results: Results) -> Table | None:
    """The table of `distances`, with means over all datasets; None if there are no distances."""
    found = distances(results)
    if found.empty:
        return None
    first = found["against"].iloc[0]
    header = ["dataset", "s", "method", *LAMBDA_SCALES.values()]
    table = Table(f"{results.title}: distance to the curve of {first}", header)
    for row in found.to_dict("records"):
        values = [NOT_RUN if pd.isna(row[name]) else f"{row[name]:.2f}" for name in LAMBDA_SCALES]
        size = str(row["n_features"]) if pd.isna(row["multiple"]) else f"{row['multiple']}d"
        table.rows.append([row["dataset"], size, row["method"], *values])
    for method, mine in found.groupby("method", sort=False):
        table.rows.append(["all", "", str(method), *(f"{mine[name].mean():.2f}" for name in LAMBDA_SCALES)])
    table.notes.append(
        f"Mean absolute difference of the score at a method's λ to {first}'s where the scale is the same, over the "
        "λ that all four scales can compare, and over trials. Columns: λ itself; λ over the mean squared length of "
        "a row of features; λ over p times the median mean square of a column; tr(K̃(K̃+nλI)⁻¹) of the training rows."
    )
    return table


def write_lambda_scales(results: Results) -> list[Path]:
    """Write lambda-scales.csv and lambda-scales.md, if trials kept the score at every λ with its effective dimension;
    return the paths. For a sweep, the CSV has all protocols, the page the first."""
    table = lambda_scale_table(results.protocols[0][1])
    if table is None:
        return []
    data, page = (results.folder / f"lambda-scales.{suffix}" for suffix in ("csv", "md"))
    parts = [distances(each).assign(**labels) for labels, each in results.protocols]
    pd.concat(parts).to_csv(data, index=False, float_format="%.4g", lineterminator="\n")
    page.write_text(table.to_markdown(), encoding="utf-8")
    return [data, page]
