"""Flaws of the released code of Wacker et al. 2022: rows of the test part are trained on, or scaled by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffbench import (
    FeatureGPClassifier,
    FeatureGPRegressor,
    MaclaurinFeatures,
    RandomFourierFeatures,
    load_dataset,
    train_test,
)
from rffbench.plugin import make_kernel
from studies.papers.flaw import Flaw

Rows = NDArray[np.float64]


# ---- The test rows of every seed are appended to the rows that the next seed splits ----------------------------------


class Process(NamedTuple):
    """A Gaussian process on random features. Without a ``degree`` these are of the Gaussian kernel, else of the
    polynomial one, for which rows get the length 1. Before that each column is standardised, or, if ``positive``, it is
    shifted to begin at 0."""

    columns: int
    noise: float
    degree: int = 0
    positive: bool = False

    def scaled(self, train: Rows, test: Rows) -> tuple[Rows, Rows]:
        deviation = np.ones(train.shape[1]) if self.positive else train.std(axis=0, ddof=1)
        shift = train.min(axis=0) if self.positive else train.mean(axis=0)
        first, second = ((rows - shift) / np.where(deviation > 0, deviation, 1) for rows in (train, test))
        if self.degree:
            first, second = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (first, second))
        return first, second

    def model(self, task: str, seed: int | np.random.SeedSequence) -> FeatureGPClassifier | FeatureGPRegressor:
        made = FeatureGPClassifier if task == "classification" else FeatureGPRegressor
        if not self.degree:
            return made(self.noise, features=RandomFourierFeatures(self.columns, gamma="median", random_state=seed))
        power = make_kernel("polynomial", 0.5, degree=self.degree, c=0.5)
        features = MaclaurinFeatures(self.columns, degrees="product", kernel=power, gamma=0.5, random_state=seed)
        return made(self.noise, variance="residuals", features=features)


def appended(name: str, process: Process, seeds: int = 10, repeats: int = 20) -> Iterator[tuple[float, float]]:
    """The mean over seeds, as the script's loop has them: one part of the rows is appended anew at each of them."""
    found = load_dataset(name)
    X, y = np.asarray(found.X, float), np.asarray(found.y, float)
    for repeat in range(repeats):
        rng = np.random.default_rng([2022, repeat])
        grown, part = np.split(rng.permutation(len(y)), [int(0.9 * len(y))])
        scores = []
        for seed in range(seeds):
            order = rng.permutation(len(y))
            right = _of_process(X, y, order, process, [repeat, seed], found.card.task)
            grown = np.concatenate([grown, part])
            flawed = _of_process(X, y, rng.permutation(grown), process, [repeat, seed], found.card.task)
            scores.append((right, flawed))
        right, flawed = np.mean(scores, axis=0)
        yield float(right), float(flawed)


def _of_process(X: Rows, y: Rows, order: NDArray[np.int64], process: Process, seed: list[int], task: str) -> float:
    """The accuracy in %, or the mean squared error, of the process on the first nine tenths of these rows."""
    train, test = np.split(order, [int(0.9 * len(order))])
    A, B = process.scaled(X[train], X[test])
    predicted = process.model(task, np.random.SeedSequence(seed)).fit(A, y[train]).predict(B)
    if task == "classification":
        return 100 * float(np.mean(predicted == y[test]))
    return float(np.mean((predicted - y[test]) ** 2))


# ---- The test images are scaled by their own mean and deviation ------------------------------------------------------


def scaled_apart(degree: int = 0) -> Iterator[tuple[float, float]]:
    """One fit predicts the same test images twice: scaled as the training images, and by themselves. Then pixels are
    standardised as in training. The polynomial kernel is for rows of length 1."""
    split = train_test("mnist", seed=0, trial=0)
    images, tested = (np.asarray(part[: len(part)], float) for part in (split.X_train, split.X_test))
    train, alike = ((part - images.mean()) / images.std() for part in (images, tested))
    apart = (tested - tested.mean()) / tested.std()
    constant = np.ptp(train, axis=0) == 0
    mean, deviation = np.where(constant, train[0], train.mean(axis=0)), np.where(constant, 1, train.std(axis=0, ddof=1))
    rows = [(part - mean) / deviation for part in (train, alike, apart)]
    if degree:
        rows = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in rows]
    for seed in range(5):
        model = Process(1024, 0.001, degree).model("classification", seed).fit(rows[0], split.y_train)
        right, flawed = (100 * float(np.mean(model.predict(part) == split.y_test)) for part in rows[1:])
        yield right, flawed


APPENDED = "test rows are appended to the rows of the next seed"
APPENDED_OF_POWERS = f"{APPENDED} (the polynomial kernel of degree {{}})"
FLAWS = [
    Flaw(APPENDED, "magic04", "accuracy", lambda: appended("magic04", Process(80, 0.01))),
    Flaw(APPENDED, "kin8nm", "mse", lambda: appended("kin8nm", Process(40, 0.03125))),
    Flaw(APPENDED, "concrete", "mse", lambda: appended("concrete", Process(40, 64))),
    Flaw(APPENDED, "housing-gp", "mse", lambda: appended("housing-gp", Process(80, 8))),
    Flaw(APPENDED_OF_POWERS.format(7), "housing-gp", "mse",
         lambda: appended("housing-gp", Process(80, 4, degree=7), seeds=20)),
    Flaw(APPENDED_OF_POWERS.format(3), "naval", "mse",
         lambda: appended("naval", Process(80, 0.015625, degree=3), seeds=20, repeats=5)),
    Flaw(APPENDED_OF_POWERS.format(3), "letter", "accuracy",
         lambda: appended("letter", Process(256, 0.001, degree=3, positive=True), seeds=20, repeats=5)),
    Flaw("test images are scaled by themselves (RFF)", "mnist", "accuracy",
         lambda: scaled_apart()),
    Flaw("test images are scaled by themselves (product signs)", "mnist", "accuracy",
         lambda: scaled_apart(degree=3)),
]  # fmt: skip
