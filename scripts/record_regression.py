"""Write what the regression gate expects: python scripts/record_regression.py RESULTS...

RESULTS are folders of the experiment `regression` run on this version under different conditions: BLAS kernels
(OPENBLAS_CORETYPE), threads, and `dtype: float32`, whose rounding is far coarser than any other machine's. Trials are
drawn from their seeds, so that conditions change rounding alone, and a cell's measured spread is how far its means are
apart. Written is rffbench/papers/rffbench_regression.csv:

- `recorded`: the mean over the conditions, with a tolerance of three times the spread, and a row of the test part that
  changes sides in every trial (for a regression, 0.1 % of the recorded error);
- `paper`: for the cells whose protocol is that of results/table3 and that come out there (verdict
  reproduced), the paper's mean, with a tolerance of the half-width of Welch's 95 % interval of the paper's ten trials
  and as many as the gate's; and of Yen et al. 2014 the exact Gaussian machines, on CPU within half a unit of the last
  printed digit, on cod-RNA within the 95 % interval of a share of 10,000 drawn test rows against another 10,000.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from scipy import stats

from rffbench.data.cards import load_card
from rffbench.report import compare_folder
from rffbench.report.frame import load_results
from rffbench.report.summary import summarise

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "rffbench" / "papers" / "rffbench_regression.csv"
RELEASED = {
    "RFF": "RFF",
    "QMC": "QMC",
    "leverage-RFF reweighted": "leverage-RFF",
    "surrogate-RFF reweighted": "surrogate-RFF",
}
SAME_PROTOCOL = ("magic04", "cod-rna", "covtype")  # scaled and solved as in results/table3
CELL = ["dataset", "multiple", "method"]
SPREADS = 3
ROWS = 1
OF_AN_ERROR = 0.001
LAST_DIGIT = 0.001  # of the errors that Yen et al. print


def main(folders: list[str]) -> None:
    conditions = [scores(folder) for folder in folders]
    means = pd.concat([each["mean"] for each in conditions], axis=1)
    if means.isna().any(axis=None):
        raise SystemExit("the folders hold different cells")
    first = conditions[0]
    recorded = pd.DataFrame({"expected": means.mean(axis=1), "source": "recorded"})
    floor = [
        ROWS * 100 / load_card(dataset).n_test if metric == "accuracy" else OF_AN_ERROR * expected
        for (dataset, *_), metric, expected in zip(first.index, first["metric"], recorded["expected"], strict=True)
    ]
    recorded["tolerance"] = SPREADS * (means.max(axis=1) - means.min(axis=1)) + floor
    table = pd.concat([recorded, paper(first)]).reset_index().round({"expected": 6, "tolerance": 6})
    table = table.rename(columns={"multiple": "s_over_d"})
    table[["dataset", "s_over_d", "method", "source", "expected", "tolerance"]].to_csv(
        OUTPUT, index=False, lineterminator="\n"
    )
    print(f"wrote {OUTPUT.relative_to(ROOT)}: {len(table)} cells")


def scores(folder: str) -> pd.DataFrame:
    """The cells' scores: mean, std, n_ok and the metric, by CELL."""
    results = load_results(folder)
    summary = summarise(results)
    wanted = summary["dataset"].map({name: results.score(name).name for name in results.datasets})
    return summary[summary["metric"] == wanted].set_index(CELL).sort_index()


def paper(measured: pd.DataFrame) -> pd.DataFrame:
    """The cells that are held against the paper."""
    compared, _ = compare_folder(ROOT / "results" / "table3")
    cells = compared.cells[compared.cells["verdict"] == "reproduced"].set_index(CELL)
    rows = []
    for cell, gate in measured.iterrows():
        dataset, multiple, method = cell
        there = (dataset, multiple, RELEASED.get(method))
        if dataset in SAME_PROTOCOL and there in cells.index:
            reported = cells.loc[there]
            spread = (
                gate["std"] if pd.isna(reported["measured_std"]) else reported["measured_std"]
            )  # of one trial: none
            a, b = reported["reported_std"] ** 2 / 10, spread**2 / gate["n_ok"]
            degrees = (a + b) ** 2 / (a**2 / 9 + b**2 / (gate["n_ok"] - 1))
            half = stats.t.ppf(0.975, degrees) * (a + b) ** 0.5
            rows.append((*cell, reported["reported"], "paper", half))
    rows += [row for row in exact_machines() if row[:3] in measured.index]
    return pd.DataFrame(rows, columns=[*CELL, "expected", "source", "tolerance"]).set_index(CELL)


def exact_machines() -> list[tuple[str, int, str, float, str, float]]:
    """Rows of Yen et al.'s kernel machines with the Gaussian kernel."""
    tables = [pd.read_csv(OUTPUT.with_name(f"yen2014_table{number}.csv")) for number in (1, 2)]
    cpu, cod = (
        table[(table["dataset"] == name) & (table["kernel"] == "gaussian") & (table["method"] == "Kernel")].iloc[0]
        for table, name in zip(tables, ("CPU", "Cod-RNA"), strict=True)
    )
    share = cod["accuracy"]
    half = 1.96 * (2 * share * (1 - share) / load_card("cod-rna-yen").n_test) ** 0.5
    return [
        ("cpu-yen", 100, "kernel ridge", cpu["rmse"], "paper", LAST_DIGIT / 2),
        ("cod-rna-yen", 100, "kernel SVM", 100 * share, "paper", 100 * half),
    ]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(sys.argv[1:])
