"""docs/estimators.md: conjugate gradients beside the direct solve on covtype."""

import json

from tests.helpers.findings import ROOT, finding, results

PAGE_OF_ESTIMATORS = "docs/estimators.md"


def _rff(name: str, size: int) -> dict:
    rows = results(name).trials.query("method == 'RFF' and trial == 0 and status == 'ok' and n_features == @size")
    (row,) = rows.to_dict("records")
    return row


@finding(PAGE_OF_ESTIMATORS)
def covtype_by_conjugate_gradients() -> str:
    pairs = [(_rff("covtype-pcg", size), _rff("table3-as-written-covtype", size)) for size in (1728, 6912)]
    apart = max(abs(ours["accuracy"] - direct["accuracy"]) for ours, direct in pairs)
    assert all(ours["lambda"] == direct["lambda"] for ours, direct in pairs)
    assert apart <= 0.05
    (passes,) = {int(ours["passes"]) for ours, _ in pairs}
    ours, direct = pairs[-1]
    assert not ours["contended"]
    seconds = ours["feature_s"] + ours["fit_s"] + ours["predict_s"]
    return (
        f"at 128d (13,824 columns) it took {passes} passes and chose the same λ as the direct solve. The test accuracies are "
        f"{ours['accuracy']:.3f} % and {direct['accuracy']:.3f} %. The trial took {seconds:.0f} s alone on two cores and its process held "
        f"{ours['peak_memory_bytes'] / 1e9:.1f} GB; the direct solve held {direct['peak_memory_bytes'] / 1e9:.1f} GB."
    )


@finding(PAGE_OF_ESTIMATORS)
def protein_by_conjugate_gradients() -> str:
    found = {row["method"]: row for row in results("protein-pcg").trials.to_dict("records")}
    exact, falkon = found["kernel ridge"], found["falkon"]
    assert exact["lambda"] == min(results("protein-pcg").config["solver"]["lambda"])
    return (
        f"On the 41,157 training rows of protein (`rffbench run protein-pcg`, three λ and five folds) it needed {exact['passes']:.0f} passes and "
        f"{exact['peak_memory_bytes'] / 1e9:.1f} GB, where the kernel matrix alone takes 13.6 GB. Its test RMSE is {exact['rmse']:.2f}, at the "
        f"smallest λ of the grid; that of falkon with 2,000 landmarks is {falkon['rmse']:.2f}."
    )


def _ratios(kind: str) -> dict[int, float]:
    """How many times as fast as ridge pcg is, by the number of columns."""
    rows = json.loads((ROOT / "docs" / "performance.json").read_text(encoding="utf-8"))["iterative"]["results"]
    found = {}
    for row in rows:
        if row["name"].startswith(f"{kind}, "):
            columns = row["name"].split(", ")[-1].removesuffix(" columns")
            found[int(columns.replace(",", ""))] = row["ratio"]
    return found


@finding(PAGE_OF_ESTIMATORS)
def from_how_many_columns_on_pcg_is_faster() -> str:
    one, eight = _ratios("one λ"), _ratios("8 λ × 5 folds")
    behind = max(columns for columns, ratio in one.items() if ratio < 1)
    ahead = min(columns for columns, ratio in one.items() if ratio > 1)
    assert behind < ahead
    assert max(eight.values()) < 1
    return (
        f"On 30,000 rows of covtype with λ = 1e-5, `pcg` becomes faster than `ridge` between {behind:,} and {ahead:,} columns; with 8 λ "
        f"down to 1e-7 and five folds it is still slower at {max(eight):,} columns"
    )
