"""How λ is chosen over folds, does it matter? python -m studies.papers.liu2020.fold_choices [--trials N]

Cross-validation leaves choices open that no paper states: how many folds, of rows as they come or drawn anew; accuracy
averaged over folds or over rows; the smallest or the largest of equally good λ. The protocol of configs/table3.yaml is
measured under each combination, 24 in all, at the sizes and trials of configs/protocol-search-accuracy.yaml. The first
combination is rffbench's own, and must give what protocol-search-accuracy has in results/, to the last digit.

Ridge is solved here row by row of its textbook formula, not by rffbench's solver: β = (ZᵀZ + λI)⁻¹Zᵀ(y − ȳ).

Written are, beside its trials: folds.csv, a row for each trial of each cell; and folds.md, each
combination's distance to the paper's Table 3, the root mean square over cells of measured less reported.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from tqdm import tqdm

import rffbench
from rffbench import Results
from rffbench.stats import generator, stream
from studies.evidence import folder_of

NAME, PROTOCOL = "protocol-search-accuracy", "samples by mapstd, 2σ², accuracy, 5 folds"
FOLDS, ROWS, MEANS, TIES = (5, 3, 10), ("as they come", "drawn anew"), ("folds", "rows"), ("smallest", "largest")
CHOICES = list(product(FOLDS, ROWS, MEANS, TIES))
AXES = ["folds", "rows", "mean over", "of equal λ"]
ROUNDING = 1e-12  # of means over folds
CELL = ["dataset", "multiple", "method"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, help="how many, from the first on [default: all that the config has]")
    given = parser.parse_args()
    folder = folder_of(NAME)
    results = measured()
    trials = results.trials.sort_values("trial", kind="stable")
    trials = trials[trials["trial"] < (given.trials or np.inf)]
    trials = pd.concat(of for _, of in trials.groupby("dataset", sort=False))
    rows = []
    for trial in tqdm(trials.to_dict("records")):
        accuracies = measure(results, trial["dataset"], trial["method"], trial["n_features"], trial["trial"])
        if accuracies[CHOICES[0]] != trial["accuracy"]:
            raise SystemExit(f"{accuracies[CHOICES[0]]} here, in {folder} {trial}")
        rows.append([*(trial[name] for name in (*CELL, "trial")), *(accuracies[choice] for choice in CHOICES)])
    table = pd.DataFrame(rows, columns=[*CELL, "trial", *(", ".join(map(str, choice)) for choice in CHOICES)])
    table.to_csv(folder / "folds.csv", index=False, lineterminator="\n")
    (folder / "folds.md").write_text(page(table))


def measured() -> Results:
    """The trials of PROTOCOL."""
    protocols = rffbench.load(folder_of(NAME)).protocols
    return next(results for labels, results in protocols if PROTOCOL in labels.values())


def measure(results: Results, dataset: str, method: str, n_features: int, trial: int) -> dict[tuple[Any, ...], float]:
    """The test accuracy of a trial in % by each of CHOICES."""
    split, features = results.refit(dataset, method, n_features, trial)
    Z, Z_test = features.transform(np.asarray(split.X_train)), features.transform(np.asarray(split.X_test))
    y, y_test, lambdas = (
        np.asarray(split.y_train),
        split.y_test,
        sorted(results.setting("solver", dataset, method)["lambda"]),
    )
    gram, accuracies = Z.T @ Z, {}
    on_test = [100 * float(np.mean(right)) for right in _right(gram, Z, y, Z_test, y_test, lambdas)]
    rng = generator(stream("fold choices", dataset, trial), "rows")
    orders = {"as they come": np.arange(len(y)), "drawn anew": rng.permutation(len(y))}
    for folds, rows in product(FOLDS, ROWS):
        sizes = [len(each) for each in np.array_split(np.arange(len(y)), folds)]
        bounds, right = [0, *np.cumsum(sizes)], []
        for fold in range(folds):
            held = orders[rows][bounds[fold] : bounds[fold + 1]]
            rest = np.setdiff1d(np.arange(len(y)), held)
            right.append(_right(gram - Z[held].T @ Z[held], Z[rest], y[rest], Z[held], y[held], lambdas))
        means = {
            "folds": np.mean([each.mean(axis=1) for each in right], axis=0),
            "rows": np.concatenate(right, axis=1).mean(axis=1),
        }
        for mean, tie in product(MEANS, TIES):
            best = np.flatnonzero(means[mean] > means[mean].max() - ROUNDING)
            accuracies[folds, rows, mean, tie] = on_test[best[0 if tie == "smallest" else -1]]
    return accuracies


def _right(
    gram: NDArray, Z: NDArray, y: NDArray, Z_held: NDArray, y_held: NDArray, lambdas: list[float]
) -> NDArray[np.bool_]:
    """Whether each held row's sign is right, (λ, rows), after training on the rows Z with their Gram matrix."""
    found, centre = [], y.mean()
    for penalty in lambdas:
        factor = cho_factor(gram + penalty * np.eye(len(gram)))
        outputs = Z_held @ cho_solve(factor, Z.T @ (y - centre)) + centre
        found.append(np.where(outputs > 0, 1, -1) == y_held)
    return np.array(found)


def page(table: pd.DataFrame) -> str:
    """Each combination's distance on each dataset and on both, nearest first."""
    reported = rffbench.load(folder_of(NAME)).reported.numbers.set_index(CELL)["reported"]
    means = table.drop(columns="trial").groupby(CELL).mean()
    squares = means.sub(reported[means.index], axis=0) ** 2
    by_dataset = squares.groupby("dataset").mean()
    distances = (pd.concat([by_dataset, by_dataset.mean().to_frame("both").T]) ** 0.5).T
    farther = distances - distances.iloc[0]
    lines = [[*AXES, *distances.columns], ["--:", "---", "---", "---", *["--:"] * len(distances.columns)]]
    for place in distances["both"].argsort(kind="stable"):
        numbers = zip(distances.iloc[place], farther.iloc[place], strict=True)
        row = [*map(str, CHOICES[place]), *(f"{distance:.3f} ({more:+.3f})" for distance, more in numbers)]
        lines.append(row if place else [f"**{each}**" for each in row])
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    told = f"{len(means)} cells, {len(table) // len(means)} trials. Distances in points; in brackets, how much farther"
    return f"{rows}\n\n{told} than rffbench's own choice, in bold.\n"


if __name__ == "__main__":
    main()
