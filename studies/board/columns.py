"""How far off is the rule for the number of columns? python -m studies.board.columns

Writes what `rffbench.stats.columns_needed` makes its intervals of, rffbench/stats/columns.csv, from the trials of
board, board-kernels and columns-confirm-large; and the tables of docs/board/columns.md and choose-a-map.md,
columns*.md beside the board's. A number of columns is predicted from one trial's losses up to 512 or 1,024 columns, and
read from the mean curve of all trials up to 2,048. The median of the ratio of the two is the middle; the factor is the
conformal quantile of the ratio's distance from it, on a logarithmic scale: the smallest that is not below a share
.9·(N + 1)/N of the distances, for N datasets. How often the interval holds the number is measured on each dataset with
the middle and the factor of all others.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from rffbench import Table
from rffbench.stats import CALIBRATION, NOT_RUN, REFERENCE_COLUMNS, enough, losses, references, why_not
from studies.evidence import folder_of, results

BOARD = {
    "board": ("RFF", "Nyström", "Nyström k-means", "Nyström RPCholesky"),
    "board-kernels": ("Laplacian RFF", "Laplacian Nyström", "Matérn RFF", "Matérn Nyström"),
}
"""The trials of the registered calibration: random features and Nyström features of three kernels."""
RESULTS = BOARD | {"columns-confirm-large": ("RFF", "Nyström RPCholesky", "Laplacian RFF")}
"""Those of today's: with the datasets of the confirmation that have test rows enough."""
CONSTANTS = folder_of("columns-confirm") / "constants.csv"
"""The losses of constants there, which `studies/board/confirm_columns.py` writes."""
SHOWN = ("RFF", "Nyström", "Nyström RPCholesky")  # in the tables of errors and counts
SIZES = (128, 256, 512, 1024, 2048)
LARGEST = (512, 1024)  # of the sizes that a prediction is made from
WITHIN = (0.01, 0.02, 0.05)
LEVEL = 0.9


def curves(experiment: str, methods: tuple[str, ...] | None = None, sizes: tuple[int, ...] = SIZES) -> pd.DataFrame:
    """The losses of an experiment's trials that have all sizes: a row for each dataset, method and trial, a column for
    each size."""
    found = losses(results(experiment).trials)
    found = found[~found["failed"] & found["n_features"].isin(sizes)]
    if methods is not None:
        found = found[found["method"].isin(methods)]
    index = ["dataset", "method", "trial"]
    return found.pivot_table(index=index, columns="n_features", values="loss", dropna=False).dropna()


def ratios(of: pd.DataFrame, constants: dict[str, float], largest: int, within: float) -> pd.DataFrame:
    """A row for each curve: the ``predicted`` number from its sizes up to the largest, the ``true`` one from the mean
    over the trials of the method on the dataset, the binary logarithm of their ``ratio``, and whether the rule
    ``answers``."""
    sizes = of.columns.to_numpy(dtype=float)
    known = sizes <= largest
    means = of.groupby(["dataset", "method"]).mean()
    rows = []
    for (dataset, method, trial), curve in zip(of.index.to_list(), of.to_numpy(), strict=True):
        of_trial, of_all = curve, means.loc[(dataset, method)].to_numpy()
        constant = constants[dataset]
        predicted = enough(sizes[known], of_trial[known], constant, within)
        rows.append({
            "dataset": dataset, "method": method, "trial": trial, "predicted": predicted,
            "true": enough(sizes, of_all, constant, within),
            "answers": not why_not(sizes[known], of_trial[known], constant, within),
        })  # fmt: skip
    found = pd.DataFrame(rows)
    found["ratio"] = np.log2((found["true"] / found["predicted"]).where(found["answers"]))
    return found


def quantiles(answers: pd.DataFrame) -> tuple[float, float]:
    """The middle, and the conformal factor around it."""
    datasets = answers["dataset"].nunique()
    middle = float(answers["ratio"].median())
    distances = np.sort((answers["ratio"] - middle).abs())
    rank = int(np.ceil(LEVEL * (datasets + 1) / datasets * len(distances)))
    return 2**middle, float(2 ** distances[min(rank, len(distances)) - 1])


def held(answers: pd.DataFrame, middle: float, factor: float, smallest: float = SIZES[0]) -> pd.Series:
    """Whether each answer's interval has the true number."""
    estimate = answers["predicted"] * middle
    low, high = (estimate / factor).clip(lower=smallest), (estimate * factor).clip(lower=smallest)
    return (answers["true"] >= low * (1 - 1e-9)) & (answers["true"] <= high * (1 + 1e-9))


def held_left_out(answers: pd.DataFrame) -> pd.Series:
    """`held`, each dataset by the quantiles of all others."""
    return pd.concat(
        held(rows, *quantiles(answers[answers["dataset"] != dataset])) for dataset, rows in answers.groupby("dataset")
    ).reindex(answers.index)


def calibrate(results: Mapping[str, tuple[str, ...]] = RESULTS) -> pd.DataFrame:
    """The rows of columns.csv."""
    of = pd.concat(curves(name, methods) for name, methods in results.items())
    means = pd.read_csv(CONSTANTS).groupby("dataset")["constant"].mean()
    constants = {str(name): float(constant) for name, constant in means.items()}
    constants |= {name: each.constant for name, each in references().items()}
    rows = []
    for largest in LARGEST:
        for within in WITHIN:
            found = ratios(of, constants, largest, within)
            answers = found[found["answers"]]
            middle, factor = quantiles(answers)
            inside = held_left_out(answers)
            by_dataset = inside.groupby(answers["dataset"]).mean()
            rows.append({
                "largest": largest, "within": within, "middle": middle, "factor": factor,
                "trials": len(found), "answered": len(answers) / len(found), "datasets": len(by_dataset),
                "covered": inside.mean(), "covered by dataset": by_dataset.mean(), "worst": by_dataset.min(),
            })  # fmt: skip
    return pd.DataFrame(rows)


# ---- Tables for the pages ----------------------------------------------------------------------------------


def intervals_table(found: pd.DataFrame) -> Table:
    """What `calibrate` found, in words."""
    header = ["sizes up to", "within", "estimate", "factor", "answered", "datasets", "held", "by dataset", "worst"]
    title = "Intervals for the number of columns, and how often they hold it on a dataset that was left out"
    table = Table(title, header, stub=2)
    for row in found.to_dict("records"):
        shares = (f"{100 * row[name]:.0f} %" for name in ("covered", "covered by dataset", "worst"))
        cells = [f"{row['middle']:.2f} × rule", f"{row['factor']:.1f}", f"{100 * row['answered']:.0f} %"]
        table.rows.append([str(row["largest"]), f"{100 * row['within']:g} %", *cells, str(row["datasets"]), *shares])
    table.notes = ["Held: the share of the answers. By dataset: the mean over datasets, and the worst of them."]
    return table


def rule_table() -> Table:
    """How far the rule's loss at 2,048 columns is from the measured one, in % of the board's unit."""
    header = ["map", "sizes up to", "of", "median", "90 % below", "worst", "last value alone"]
    header += ["answered", "median there", "worst there"]
    table = Table("The rule's loss at 2,048 columns: its error in % of the board's unit", header, stub=3)
    for method, largest in itertools.product(SHOWN, LARGEST):
        trials = curves("board", (method,))
        means = trials.groupby(["dataset", "method"]).mean()
        for name, rows in (("means of five trials", means), ("single trials", trials)):
            errors = prediction_errors(rows, largest)
            rule, passes = errors["rule"], errors[errors["answers"]]["rule"]
            cells = [f"{rule.median():.1f}", f"{rule.quantile(0.9):.1f}", f"{rule.max():.0f} ({rule.idxmax()})"]
            cells += [f"{errors['last value'].median():.1f}", f"{len(passes)} of {len(rule)}"]
            cells += [f"{passes.median():.1f}", f"{passes.max():.0f} ({passes.idxmax()})"]
            table.rows.append([method, str(largest), name, *cells])
    table.notes = ["Answered: curves that the guard for 1 % lets pass, and the errors there."]
    return table


def prediction_errors(of: pd.DataFrame, largest: int) -> pd.DataFrame:
    """For each curve, in % of the board's unit, how far the loss with the most columns is from that of the ``rule``
    through sizes up to the largest, and from the ``last value`` of these; and whether the guard ``answers``."""
    known = references()
    datasets = of.index.get_level_values("dataset")
    unit = np.array([known[str(each)].unit for each in datasets]) / 100
    tried = [size for size in map(int, of.columns) if size <= largest]
    sizes, curves_tried = np.array(tried, dtype=float), of[tried].to_numpy()
    answers = [
        not why_not(sizes, curve, known[str(dataset)].constant, WITHIN[0])
        for dataset, curve in zip(datasets, curves_tried, strict=True)
    ]
    measured, last = of[SIZES[-1]].to_numpy(), curves_tried[:, -1]
    rule = np.abs(predicted_loss(of, largest, SIZES[-1]) - measured) / unit
    return pd.DataFrame({"rule": rule, "last value": np.abs(last - measured) / unit, "answers": answers}, datasets)


def predicted_loss(of: pd.DataFrame, largest: int, columns: int) -> np.ndarray:
    """L at this number of ``columns`` by A + B/D through the curves' two sizes up to the ``largest``."""
    first, last = sorted(size for size in map(int, of.columns) if size <= largest)[-2:]
    slope = (of[first] - of[last]) / (1 / first - 1 / last)
    return (of[last] + slope * (1 / columns - 1 / last)).to_numpy()


def needed_table() -> Table:
    """On how many datasets this number of columns is within a share of what the most columns give."""
    known = references()
    title = "On how many of 28 datasets does each number of columns come close to what the most give?"
    table = Table(title, ["map", "compared with, to within 1 / 2 / 5 %", *(str(size) for size in SIZES[1:])], stub=2)
    for method in SHOWN:
        means = curves("board", (method,)).groupby("dataset").mean()
        constants = np.array([known[str(name)].constant for name in means.index])
        of_fourier = np.array([known[str(name)].reference for name in means.index])
        most: list[tuple[np.ndarray, str, tuple[int, ...]]] = [
            (of_fourier, f"{REFERENCE_COLUMNS:,} random Fourier features", SIZES[1:])
        ]
        if method != "RFF":
            most.append((means[SIZES[-1]].to_numpy(), f"{SIZES[-1]:,} of its own", SIZES[1:-1]))
        for losses_of_most, name, sizes in most:
            missing = {size: (means[size] - losses_of_most) / (constants - losses_of_most) for size in sizes}
            counts = {size: [str(int((each <= within).sum())) for within in WITHIN] for size, each in missing.items()}
            cells = [" / ".join(counts[size]) if size in counts else NOT_RUN for size in SIZES[1:]]
            table.rows.append([method, name, *cells])
    table.notes = [
        "Means of five trials, in shares of what the compared map gains over the best constant. The 4,096 random "
        "Fourier features are those of `board-reference`, three trials on other splits. 4,096 Nyström features were "
        "not run."
    ]
    return table


def made() -> dict[Path, str]:
    """Every file that is made here, with its text."""
    found = calibrate()
    tables = {"intervals": intervals_table(found), "rule": rule_table(), "needed": needed_table()}
    folder = folder_of("board")
    return {
        CALIBRATION: found.to_csv(index=False, float_format="%.4g", lineterminator="\n"),
        **{folder / f"columns-{name}.md": table.to_markdown() for name, table in tables.items()},
    }


def stale() -> list[Path]:
    """The files that say something else than the results."""
    return [path for path, text in made().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
        print(text)
