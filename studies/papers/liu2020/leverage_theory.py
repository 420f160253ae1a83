"""Measures the assumptions of leverage sampling's theory: the kernel's dimensions against n, and its eigenvalues."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rffbench import Results, Table
from rffbench.stats import Slope, fitted_slope
from studies.papers.points import with_points

DIMENSIONS = {"kernel_effective_dimension": "d", "kernel_surrogate_dimension": "D"}
LEAST_EIGENVALUE = 1e-12  # over n; smaller eigenvalues of K are rounding


class Measured(NamedTuple):
    """All protocols' trials and curves, with an additional column ``points``, n."""

    trials: pd.DataFrame
    curves: pd.DataFrame


class Decay(NamedTuple):
    """The decay of eigenvalues with their rank i: the exponent ``power`` of i^−2t, 2t, and R² of the lines through the
    logarithms for i^−2t (``polynomial``), e^(−ci) (``exponential``) and e^(−c√i) (``root``)."""

    power: float
    polynomial: float
    exponential: float
    root: float


def measured(every: Results) -> Measured | None:
    """The protocols' measurements of dimensions and spectra; None without any."""
    trials = pd.concat([with_points(results, results.trials) for _, results in every.protocols], ignore_index=True)
    if not DIMENSIONS.keys() <= set(trials.columns):
        return None
    trials = trials[(trials["status"] == "ok") & trials[list(DIMENSIONS)].notna().all(axis=1)]
    curves = pd.concat([with_points(results, results.curves) for _, results in every.protocols], ignore_index=True)
    return Measured(trials, curves) if len(trials) and "eigenvalue" in curves else None


def of_points(trials: pd.DataFrame) -> pd.DataFrame:
    """The kernel's dimensions: one row per dataset, number of points and trial."""
    return trials.groupby(["dataset", "points", "trial"], as_index=False, sort=False)[list(DIMENSIONS)].first()


def exponent_in_n(trials: pd.DataFrame, metric: str) -> Slope | None:
    """p of metric ∝ n^p, from one dataset's rows of `of_points`."""
    return fitted_slope(trials.rename(columns={"points": "n_features"}), metric)


def mean_spectrum(curves: pd.DataFrame, dataset: str, points: int) -> pd.DataFrame:
    """The eigenvalues of K over n by rank: geometric means over trials, without those that are rounding."""
    here = curves[(curves["dataset"] == dataset) & (curves["points"] == points)]
    here = here[here["eigenvalue"] > LEAST_EIGENVALUE]
    return np.exp(np.log(here.set_index("rank")["eigenvalue"]).groupby("rank").mean()).reset_index()


def decay(spectrum: pd.DataFrame) -> Decay:
    """The decay of a spectrum, by least-squares lines through the logarithms of the eigenvalues."""
    rank, values = spectrum["rank"].to_numpy(float), np.log(spectrum["eigenvalue"].to_numpy(float))

    def fit(x: np.ndarray) -> tuple[float, float]:
        slope, constant = np.polyfit(x, values, 1)
        return float(slope), float(1 - np.var(values - slope * x - constant) / np.var(values))

    (power, polynomial), (_, exponential), (_, root) = fit(np.log(rank)), fit(rank), fit(np.sqrt(rank))
    return Decay(-power, polynomial, exponential, root)


def leverage_table(every: Results) -> Table | None:
    """The table of d and D at the largest n, their exponents in n, and the decay of K's eigenvalues; None if nothing
    was measured."""
    found = measured(every)
    if found is None:
        return None
    header = ["dataset", "n", "d", "D", "2/λ", "d ∝ n^", "D ∝ n^", "i^−2t: 2t", "R²", "e^−ci: R²", "e^−c√i: R²"]
    table = Table(every.title, header)
    kernels = of_points(found.trials)
    for dataset, mine in kernels.groupby("dataset", sort=False):
        n = int(mine["points"].max())
        largest = mine[mine["points"] == n]
        slopes = [exponent_in_n(mine, metric) for metric in DIMENSIONS]
        lines = decay(mean_spectrum(found.curves, str(dataset), n))
        table.rows.append([
            str(dataset), str(n), *(f"{largest[metric].mean():.1f}" for metric in DIMENSIONS), f"{2 * np.sqrt(n):.1f}",
            *("–" if slope is None else str(slope) for slope in slopes), f"{lines.power:.1f}",
            *(f"{r:.3f}" for r in (lines.polynomial, lines.exponential, lines.root)),
        ])  # fmt: skip
    table.notes = [
        "At λ = 1/√n: d = tr(K(K+nλI)⁻¹), D = tr((yyᵀ+nI)K)/(n²λ), means over trials; exponents over all n with 95 % "
        "intervals over trials.",
        f"Eigenvalues of K over n at the largest n, those above {LEAST_EIGENVALUE:g}, at ranks i a constant factor "
        "apart: R² of straight lines through their logarithms.",
    ]
    return table


def write_leverage(every: Results) -> list[Path]:
    """Write leverage.csv and leverage.md, if dimensions and spectra were measured; return the paths."""
    table = leverage_table(every)
    if table is None:
        return []
    folder = every.folder
    (folder / "leverage.csv").write_text(table.to_csv(), encoding="utf-8")
    (folder / "leverage.md").write_text(table.to_markdown(), encoding="utf-8")
    return [folder / "leverage.csv", folder / "leverage.md"]


def delta_error_bound(s: ArrayLike, surrogate: float, effective: float, delta: float) -> NDArray[np.float64]:
    """The ε with ‖(K + nλI)^−½(K̃ − K)(K + nλI)^−½‖₂ < ε with probability 1 − ``delta``, for s frequencies from the
    surrogate distribution: s = D·(1/ε² + 2/(3ε))·ln(16d/δ) (Liu et al. 2020, Lemma 1, Eq. 17).

    D (``surrogate``) is Eq. 10, d (``effective``) Eq. 5. With r = s/(D·ln(16d/δ)), ε = 1/(√(1/9 + r) − 1/3).
    """
    ratio = np.asarray(s, dtype=np.float64) / (surrogate * np.log(16 * effective / delta))
    return 1 / (np.sqrt(1 / 9 + ratio) - 1 / 3)
