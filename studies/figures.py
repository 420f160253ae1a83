"""The figure of a paper's page: every cell measured here against the number that the paper reports."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from studies.evidence import AGREES, Cells

TITLES = {
    "accuracy": "accuracy (%)", "mse": "mean squared error", "rmse": "RMSE", "mae": "mean absolute error",
    "relative_rmse": "relative RMSE", "frobenius_error": "kernel error", "cross_error": "kernel error",
    "complex_frobenius_error": "kernel error, complex",
}  # fmt: skip
AGREE, DIFFER = "#0072b2", "#d55e00"


def reported_and_measured(cells: Cells, path: Path) -> None:
    """A panel for each metric; a point on the line is a number that came out exactly."""
    rows = cells.compared
    metrics = list(dict.fromkeys(rows["metric"]))
    figure, axes = plt.subplots(1, len(metrics), figsize=(3.2 * len(metrics), 3.1), squeeze=False, layout="constrained")
    for axis, metric in zip(axes[0], metrics, strict=True):
        of = rows[rows["metric"] == metric]
        for agrees, colour, marker in ((True, AGREE, "o"), (False, DIFFER, "x")):
            part = of[of["verdict"].isin(AGREES) == agrees]
            label = f"{len(part):,} {'agree' if agrees else 'differ'}"
            axis.scatter(
                part["reported"], part["measured"], s=9, marker=marker, c=colour, lw=0.8, alpha=0.6, label=label
            )
        if metric != "accuracy":
            axis.set(xscale="log", yscale="log")
        both = of[["reported", "measured"]]
        ends = [both.min().min(), both.max().max()]
        axis.plot(ends, ends, color="0.5", lw=0.8, zorder=0)
        axis.set(title=TITLES[metric], xlabel="reported", ylabel="measured")
        axis.legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
