"""scikit-learn's exact Gaussian process beside the config gp: python -m studies.gp [DATASET…]

It is fitted once to the 3,000 training rows of each dataset's first trial, with noise, prior variance and one bandwidth
learnt by the marginal likelihood, as in gp. Its scores go to exact.csv in the results of gp; datasets that are there
are skipped. `python -m studies.pages` writes the page.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

import rffbench
from rffbench import train_test
from rffbench.plugin import Predictions, score
from studies.gp import facts


def fitted(X: np.ndarray, y: np.ndarray) -> GaussianProcessRegressor:
    """The exact process, from the median distance on."""
    some = X[:1000]
    distances = np.sqrt(np.maximum(((some[:, None] - some[None, :500]) ** 2).sum(axis=2), 0))
    kernel = ConstantKernel(1.0, (1e-6, 1e6)) * Matern(float(np.median(distances)), (1e-3, 1e4), nu=1.5)
    return GaussianProcessRegressor(kernel + WhiteKernel(0.1, (1e-6, 10.0)), alpha=1e-10).fit(X, y)


def scores(name: str) -> dict[str, float]:
    """The scores on the test rows of the dataset's first trial."""
    split = train_test(name, seed=0, trial=0, preprocess=["standard"], train_rows=int(facts.ROWS), target="standard")
    process = fitted(np.asarray(split.X_train[:]), np.asarray(split.y_train))
    y, parts = np.asarray(split.y_test), np.array_split(np.asarray(split.X_test[:]), max(1, len(split.y_test) // 5000))
    found = [process.predict(part, return_std=True) for part in parts]
    mean, deviation = (np.concatenate(each) for each in zip(*found, strict=True))
    of = Predictions(y, mean, deviations=deviation)  # of y: a WhiteKernel is in the process
    rmse = {"rmse": float(np.sqrt(np.mean((y - mean) ** 2)))}
    return rmse | {each: score(each).compute(of) for each in facts.SCORES}


def main(asked: list[str]) -> None:
    known = facts.exact()
    for name in asked or rffbench.load(facts.FOLDER).datasets:
        if name in set(known["dataset"]):
            continue
        known = pd.concat([known, pd.DataFrame([{"dataset": name, **scores(name)}])], ignore_index=True)
        facts.FOLDER.mkdir(parents=True, exist_ok=True)
        known.to_csv(facts.EXACT, index=False, lineterminator="\n")
        print(known.iloc[-1].to_dict())


if __name__ == "__main__":
    main(sys.argv[1:])
