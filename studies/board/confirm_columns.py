"""Does the rule for the number of columns hold on other data? python -m studies.board.confirm_columns [--constants]

Writes the tables of docs/board/columns.md, columns*.md beside the trials of columns-confirm, from these and those of
columns-confirm-large, by the rule, the guard and the intervals that the board's rows gave. With --constants it first
writes constants.csv beside them: the loss of the best constant on each trial's split, which needs the data.
"""

from __future__ import annotations

import itertools
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from rffbench import Table, train_test
from rffbench.stats import NOT_RUN, Calibration, constant_loss, enough, limit, loss_name, losses, why_not
from studies.board.columns import BOARD, CONSTANTS, calibrate
from studies.evidence import folder_of, results

FOLDER = folder_of("columns-confirm")
EXPERIMENTS = ("columns-confirm", "columns-confirm-large")
REGISTERED = {512: 2048, 1024: 4096}  # the sizes that a prediction is made from, and the size whose loss it is
LEAST_ERRORS = 10  # standard errors that a gain must have


def measured() -> pd.DataFrame:
    """The losses of all trials: dataset, n_features, method, trial, loss."""
    found = pd.concat(losses(results(name).trials) for name in EXPERIMENTS)
    return found[~found["failed"]]


def constants() -> pd.DataFrame:
    """The loss of the best constant on each dataset and trial that was measured."""
    seeds = {name: int(results(name).config["seed"]) for name in EXPERIMENTS}
    assert len(set(seeds.values())) == 1
    rows = []
    for dataset, trial in sorted(set(measured()[["dataset", "trial"]].itertuples(index=False, name=None))):
        split = train_test(str(dataset), seed=seeds[EXPERIMENTS[0]], trial=int(trial))
        rows.append((dataset, trial, constant_loss(split.y_train, split.y_test, loss_name(str(dataset)))))
    return pd.DataFrame(rows, columns=["dataset", "trial", "constant"])


@cache
def registered() -> tuple[Calibration, ...]:
    """The calibrations of the board's rows alone."""
    columns = ["largest", "within", "middle", "factor"]
    return tuple(Calibration(*row) for row in calibrate(BOARD)[columns].itertuples(index=False, name=None))


def answers(within: float = 0.01) -> pd.DataFrame:
    """A row for each trial of a map and each registered ``largest`` size: ``true`` and ``estimate`` with its interval,
    whether the guard ``answers`` and the interval ``holds`` the true number, and the ``error`` of the rule's loss at
    four times the size, a share of the gain. ``usable`` are maps whose gain is known well enough."""
    known = pd.read_csv(CONSTANTS).set_index(["dataset", "trial"])["constant"]
    rows = []
    for (dataset, method), of in measured().groupby(["dataset", "method"], sort=False):
        curves = of.pivot_table(index="trial", columns="n_features", values="loss").dropna(axis="columns")
        sizes, mean = curves.columns.to_numpy(dtype=float), curves.mean().to_numpy()
        of_trials = known.xs(dataset).reindex(curves.index)
        gains = [
            of_trials[trial] - limit(sizes, curve) for trial, curve in zip(curves.index, curves.to_numpy(), strict=True)
        ]
        gain = of_trials.mean() - limit(sizes, mean)
        error = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
        true = enough(sizes, mean, of_trials.mean(), within)
        common = {"dataset": dataset, "method": method, "usable": gain > LEAST_ERRORS * error, "most": int(sizes[-1]),
                  "true": true}  # fmt: skip
        for row, (trial, curve) in itertools.product(registered(), curves.iterrows()):
            if row.within == within and row.largest < sizes[-1]:
                found = _answer(curve, of_trials[trial], row)
                held = found["low"] * (1 - 1e-9) <= true <= found["high"] * (1 + 1e-9)
                missed = _error(curve, row.largest) / gain
                rows.append(common | found | {"trial": trial, "largest": row.largest, "holds": held, "error": missed})
    return pd.DataFrame(rows)


def _answer(curve: pd.Series, constant: float, row: Calibration) -> dict[str, float | bool]:
    """The estimate and its interval from the sizes up to the calibration's largest, and whether the guard answers."""
    tried = curve[curve.index <= row.largest]
    sizes, losses_tried = tried.index.to_numpy(dtype=float), tried.to_numpy()
    if why_not(sizes, losses_tried, constant, row.within):
        return {"estimate": np.nan, "low": np.nan, "high": np.nan, "answers": False}
    estimate = enough(sizes, losses_tried, constant, row.within) * row.middle
    low, high = (max(each, sizes[0]) for each in (estimate / row.factor, estimate * row.factor))
    return {"estimate": estimate, "low": low, "high": high, "answers": True}


def _error(curve: pd.Series, largest: int) -> float:
    """How far the rule's loss at four times the largest size is from the measured one; NaN where that was not run."""
    target = REGISTERED[largest]
    if target not in curve.index:
        return np.nan
    first, last = sorted(size for size in curve.index if size <= largest)[-2:]
    slope = (curve[first] - curve[last]) / (1 / first - 1 / last)
    return abs(curve[last] + slope * (1 / target - 1 / last) - curve[target])


def by_dataset(found: pd.DataFrame) -> Table:
    header = ["dataset", "map", "trials", "true number"]
    for largest in REGISTERED:
        header += [f"from {largest:,}: estimate", "answered", "held"]
    table = Table("How many columns are within 1 % of what more can give, true and predicted", header, stub=2)
    for (dataset, method), rows in found.groupby(["dataset", "method"], sort=False):
        first = rows.iloc[0]
        beyond = first["true"] > first["most"]
        true = f"{_about(first['true'])}{' †' if beyond else ''}" if first["usable"] else NOT_RUN
        cells = [str(rows["trial"].nunique()), true]
        for largest in REGISTERED:
            mine = rows[rows["largest"] == largest]
            known = mine[mine["answers"]]
            span = f"{_about(known['estimate'].min())} to {_about(known['estimate'].max())}" if len(known) else NOT_RUN
            cells += [span, f"{len(known)} of {len(mine)}" if len(mine) else NOT_RUN]
            cells += [f"{known['holds'].sum()} of {len(known)}" if len(known) else NOT_RUN]
        name = str(dataset) if first["usable"] else f"{dataset} (left out)"
        table.rows.append([name, str(method), *cells])
    table.notes = ["†: beyond the most columns that were run, by A + B/D through the two largest sizes."]
    return table


def summary(found: pd.DataFrame) -> Table:
    header = [
        "from sizes up to",
        "trials",
        "answered",
        "held, of the answers",
        "mean over datasets",
        "datasets held less",
    ]
    header += ["median error of the loss", "90 % below"]
    table = Table("The registered hypotheses, on data that is not on the board", header, stub=1)
    for largest, rows in found[found["usable"]].groupby("largest"):
        known = rows[rows["answers"]]
        held = known.groupby("dataset")["holds"].mean()
        errors = 100 * rows["error"].dropna()
        less = ", ".join(f"{name} {100 * share:.0f} %" for name, share in held.sort_values().items() if share < 0.9)
        cells = [f"{100 * len(known) / len(rows):.0f} %", f"{100 * known['holds'].mean():.0f} % ({len(known)})"]
        cells += [f"{100 * held.mean():.0f} % ({len(held)})", less or "none"]
        of_loss = [f"{errors.median():.2f} %", f"{errors.quantile(0.9):.1f} %"] if len(errors) else [NOT_RUN, NOT_RUN]
        table.rows.append([str(largest), str(len(rows)), *cells, *of_loss])
    table.notes = ["The error is that of the rule's loss at four times the size, in % of the gain, without the guard."]
    return table


def _about(number: float) -> str:
    return f"{int(float(f'{number:.2g}')):,}"


def made() -> dict[Path, str]:
    """Every table that is made here."""
    found = answers()
    return {
        FOLDER / "columns.md": by_dataset(found).to_markdown(),
        FOLDER / "columns-summary.md": summary(found).to_markdown(),
    }


if __name__ == "__main__":
    if "--constants" in sys.argv[1:]:
        constants().to_csv(CONSTANTS, index=False, lineterminator="\n")
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
        print(text)
