"""scikit-learn's exact Gaussian process, and a constant, beside the config gp: python -m studies.gp [DATASET…]

It is fitted once to the 3,000 training rows of each dataset's first trial, with noise, prior variance and one bandwidth
learnt by the marginal likelihood, as in gp. The constant has the mean and the deviation of these rows for every row: it
says what intervals that know nothing cover. Their scores go to exact.csv and constant.csv in the results of gp;
datasets that are there are skipped. `python -m studies.pages` writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

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


def of_exact(split: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the exact process at the test rows."""
    process = fitted(np.asarray(split.X_train[:]), np.asarray(split.y_train))
    parts = np.array_split(np.asarray(split.X_test[:]), max(1, len(split.y_test) // 5000))
    found = [process.predict(part, return_std=True) for part in parts]
    mean, deviation = (np.concatenate(each) for each in zip(*found, strict=True))
    return mean, deviation


def of_constant(split: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the training rows, at each test row."""
    y, like = np.asarray(split.y_train), np.ones(len(split.y_test))
    return y.mean() * like, y.std() * like


def scores(name: str, of: Callable[[Any], tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """The scores on the test rows of the dataset's first trial."""
    split = train_test(name, seed=0, trial=0, preprocess=["standard"], train_rows=int(facts.ROWS), target="standard")
    y, (mean, deviation) = np.asarray(split.y_test), of(split)
    predictions = Predictions(y, mean, deviations=deviation)  # of y: a WhiteKernel is in the process
    rmse = {"rmse": float(np.sqrt(np.mean((y - mean) ** 2)))}
    return rmse | {each: score(each).compute(predictions) for each in facts.SCORES}


def main(asked: list[str]) -> None:
    for path, of in ((facts.EXACT, of_exact), (facts.CONSTANT, of_constant)):
        known = facts.beside(path)
        for name in asked or rffbench.load(facts.FOLDER).datasets:
            if name in set(known["dataset"]):
                continue
            known = pd.concat([known, pd.DataFrame([{"dataset": name, **scores(name, of)}])], ignore_index=True)
            known.to_csv(path, index=False, lineterminator="\n")
            print(known.iloc[-1].to_dict())


if __name__ == "__main__":
    main(sys.argv[1:])
