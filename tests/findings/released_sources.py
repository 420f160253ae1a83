"""Notes of docs/reproduction.yaml on the experiments that are held to numbers which others released."""

import csv

import numpy as np

from tests.helpers.findings import ROOT, finding, mean_of, results, span

PAGE_OF_NOTES = "docs/reproduction.yaml"


def released(file: str, **cell: str) -> list[dict[str, str]]:
    """The rows of a file of ``rffbench/papers`` that have these values."""
    with open(ROOT / "rffbench" / "papers" / file, encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines) if all(row[key] == value for key, value in cell.items())]


@finding(PAGE_OF_NOTES)
def one_map_behind_all_released_runs() -> str:
    theirs = {
        (f"{row['study']} {row['partitions']}", int(row["n_features"])): 100 * float(row["error_std"])
        for row in released("li2019_distributed.csv", dataset="covtype")
    }
    ours = results("li2019-distributed").trials.groupby(["method", "n_features"])["accuracy"].std().dropna().to_dict()
    spreads = [theirs[cell] for cell in ours]
    return (
        f"Where more than one trial was run, the standard deviation of the released runs, over rows alone, is "
        f"{span(spreads, 2)} points, and of ours, over maps and rows, {span(list(ours.values()), 2)}."
    )


@finding(PAGE_OF_NOTES)
def rff_by_order_of_magnitude() -> str:
    names = {"pol-gp": "pol", "elevators-gp": "elevators", "kin40k-gp": "kin40k"}
    parts = []
    for card, name in names.items():
        rows = released("potapczynski2021_rtgps.csv", dataset=name, method="RFF")
        theirs = np.mean([float(row["rmse"]) for row in rows])
        parts.append(f"{mean_of('potapczynski2021', card, 'RFF', 'relative_rmse'):.3f} against {theirs:.3f} on {name}")
    return f"The error of RFF, in units of the target's spread, is {', '.join(parts)}."
