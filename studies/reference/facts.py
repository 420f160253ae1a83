"""What was measured of single methods, as tables for the pages of maps, estimators and scaling."""

import json

import pandas as pd

from studies.evidence import ROOT, Gain, chosen, folder_of, interval, results, signed, trials

LEARNT = "learnt-frequencies"


def _table(rows: list[list[str]]) -> str:
    """A table whose first row is its head."""
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|---|{'--:|' * (len(rows[0]) - 1)}", *rest])


# ---- Maps ------------------------------------------------------------------------------------------------------------


def _differences(experiment: str, method: str, baseline: str, **where: str) -> Gain:
    """The mean accuracy of a method less that of a baseline, with its interval over paired trials."""
    rows = chosen(trials(experiment), **where)
    by_trial = rows.pivot(index="trial", columns="method", values="accuracy")
    return interval((by_trial[method] - by_trial[baseline]).dropna())


def learnt(method: str) -> str:
    """Points more than random Fourier features with 512 columns, by dataset and bandwidth."""
    names = ("magic04", "eeg", "spambase", "phoneme")
    gains = {
        sigma: [_differences(LEARNT, method, "RFF", dataset=name, σ=sigma) for name in names]
        for sigma in ("1", "median")
    }
    return _table([["σ", *names], *([sigma, *(each.said for each in of)] for sigma, of in gains.items())])


def left_out(experiment: str, methods: dict[str, str], baseline: str, datasets: list[str]) -> str:
    """Points more than a baseline, with standard errors over paired trials; ``methods`` has the name that the
    table shows for each."""
    rows = trials(experiment)
    found = [["", *datasets]]
    for method, told in methods.items():
        cells = []
        for name in datasets:
            by_trial = rows[rows["dataset"] == name].pivot(index="trial", columns="method", values="accuracy")
            differences = (by_trial[method] - by_trial[baseline]).dropna()
            cells.append(f"{signed(differences.mean())} ± {differences.sem():.2f}")
        found.append([told, *cells])
    return _table(found)


# ---- Estimators ------------------------------------------------------------------------------------------------------


def _first(experiment: str, columns: int) -> dict:
    where = {"method": "RFF", "trial": 0, "n_features": columns}
    (row,) = chosen(trials(experiment), **where).to_dict("records")
    return row


def conjugate_gradients_on_covtype(frequencies: int = 6912) -> str:
    """One trial by conjugate gradients, and the same by the direct solve."""
    found = [["", "passes", "λ", "accuracy", "memory"]]
    for told, experiment in (("`pcg`", "covtype-pcg"), ("`ridge`", "table3-as-written-covtype")):
        row = _first(experiment, frequencies)
        passes = f"{row['passes']:.0f}" if "passes" in row else ""
        memory = f"{row['peak_memory_bytes'] / 1e9:.1f} GB"
        found.append([told, passes, f"{row['lambda']:g}", f"{row['accuracy']:.3f} %", memory])
    return _table(found)


def exact_on_protein() -> str:
    """Exact kernel ridge by conjugate gradients, and falkon."""
    found = [["", "passes", "λ", "test RMSE", "memory"]]
    for row in trials("protein-pcg").to_dict("records"):
        numbers = [f"{row['passes']:.0f}", f"{row['lambda']:g}", f"{row['rmse']:.2f}"]
        found.append([row["method"], *numbers, f"{row['peak_memory_bytes'] / 1e9:.1f} GB"])
    return _table(found)


def faster_than_ridge() -> str:
    """How many times as fast as ridge pcg is, by the number of columns."""
    rows = json.loads((ROOT / "docs" / "performance.json").read_text(encoding="utf-8"))["iterative"]["results"]
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        *kind, columns = row["name"].split(", ")
        if columns.endswith(" columns"):
            found.setdefault(kind[0], {})[columns.removesuffix(" columns")] = f"{row['ratio']:.2f}"
    sizes = list(dict.fromkeys(size for ratios in found.values() for size in ratios))
    return _table([["columns", *sizes], *([kind, *(of.get(size, "") for size in sizes)] for kind, of in found.items())])


def scale_out() -> str:
    """The one run of scale-out."""
    (row,) = trials("scale-out").to_dict("records")
    minutes = (row["feature_s"] + row["fit_s"] + row["predict_s"]) / 60
    smallest = " (the smallest of its grid)" * (row["lambda"] == min(results("scale-out").config["solver"]["lambda"]))
    head = ["rows", "test RMSE", "λ", "minutes", "memory of the process that solved"]
    memory = f"{row['peak_memory_bytes'] / 1e6:.0f} MB"
    return _table([head, ["10⁷", f"{row['rmse']:.4f}", f"{row['lambda']:.0e}{smallest}", f"{minutes:.0f}", memory]])


def messages() -> str:
    """What fits by row blocks sent over dask clusters of one and of two workers, by `benchmarks.messages`."""
    rows = pd.read_csv(folder_of("scale-out") / "messages.csv")
    links = [name for name in rows["link"].unique() if name != "tasks"]
    names, found = {"direct": "`ridge`", "pcg": "`pcg`"}, [["", "workers", "tasks", *links]]
    for (fit, per, workers), of in rows.groupby(["fit", "per", "workers"], sort=False):
        sent = of.set_index("link")[["messages", "bytes"]]
        cells = [
            f"{count}, {_bytes(size)}" if count else "–" for count, size in sent.loc[links].itertuples(index=False)
        ]
        found.append([f"{names[fit]}, {per}", str(workers), str(sent.at["tasks", "messages"]), *cells])
    return _table(found)


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
