"""Measure what flaws of released protocols are worth: python scripts/protocol_flaws.py [WORDS]

Each protocol is run with its flaw and without, all else the same, and the differences become
results/protocol-flaws.csv: a row for each flaw and dataset, with the mean of the paired runs and its 95 %
interval. WORDS runs only the flaws whose name has these words, and keeps the rows of all others.
docs/reproduction.md shows them. Accuracies differ in points, errors in percent of
the error without the flaw.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import lsqr
from sklearn.model_selection import KFold

from rffbench import (
    MaclaurinFeatures,
    NystroemFeatures,
    RandomBinningFeatures,
    RandomFourierFeatures,
    StreamedRidge,
    StreamedRidgeClassifier,
    data,
)
from rffbench.flaws import with_flawed_scores
from rffbench.kernels.dot_product import PolynomialKernel
from rffbench.solvers.gaussian_process import FeatureGPClassifier, FeatureGPRegressor
from rffbench.stats.intervals import interval_of
from rffbench.trials.metrics import relative_rmse

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "results" / "protocol-flaws.csv"
Rows = NDArray[np.float64]


class Flaw(NamedTuple):
    """``run`` gives pairs of scores, without the flaw and with it, of independent draws."""

    flaw: str
    source: str
    dataset: str
    metric: str
    run: Callable[[], Iterator[tuple[float, float]]]


# ---- Wacker et al. 2022: the test rows of every seed are appended to the rows that the next seed splits ----


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
        power = PolynomialKernel(0.5, degree=self.degree, c=0.5)
        features = MaclaurinFeatures(self.columns, degrees="product", kernel=power, gamma=0.5, random_state=seed)
        return made(self.noise, variance="residuals", features=features)


def appended(name: str, process: Process, seeds: int = 10, repeats: int = 20) -> Iterator[tuple[float, float]]:
    """The mean over seeds, as the script's loop has them: one part of the rows is appended anew at each of them."""
    found = data.load(name)
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


# ---- The same: the test images are scaled by their own mean and deviation ------------------------------------


def scaled_apart(degree: int = 0) -> Iterator[tuple[float, float]]:
    """One fit predicts the same test images twice: scaled as the training images, and by themselves. Then pixels are
    standardised as in training. The polynomial kernel is for rows of length 1."""
    split = data.train_test("mnist", seed=0, trial=0)
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


# ---- Wu et al. 2016: the bins of test rows are columns, too; a score of 0 is an error; the solver stops early; ----
# ---- the last class is never predicted -------------------------------------------------------------------------


def with_bins_of_test_rows(name: str, grids: int, gamma: float) -> Iterator[tuple[float, float]]:
    """Ridge with λ = 0.01 on the columns [0, 1], with the map fitted to the training rows and to all rows."""
    split = data.train_test(name, seed=0, trial=0, preprocess=["minmax"])
    A, B = (np.asarray(rows[: len(rows)], float) for rows in (split.X_train, split.X_test))
    y = np.asarray(split.y_train)
    for seed in range(5):
        scores = []
        for rows in (A, np.concatenate([A, B])):
            features = RandomBinningFeatures(grids, gamma=gamma, random_state=seed).fit(rows)
            model = StreamedRidgeClassifier(0.01, features=None, lambda_scale=1, center=False)
            predicted = model.fit(features.transform(A), y).predict(features.transform(B))
            scores.append(100 * float(np.mean(predicted == split.y_test)))
        yield scores[0], scores[1]


class Binned(NamedTuple):
    """Random binning of two classes: features of training rows, their signs, those of test rows, which are positive."""

    train: Any
    signs: Rows
    test: Any
    positive: NDArray[np.bool_]


def binned(name: str, grids: int, gamma: float, train: int, test: int, preprocess: str) -> Iterator[Binned]:
    """Five draws. The first rows are for training, and the last for testing."""
    given = {"rule": "given", "train": train, "test": test}
    split = data.train_test(name, seed=0, trial=0, preprocess=[preprocess], split=given)
    A, B = (np.asarray(part[: len(part)], float) for part in (split.X_train, split.X_test))
    positive = np.max(split.y_train)
    signs = np.where(np.asarray(split.y_train) == positive, 1.0, -1.0)
    for seed in range(5):
        features = RandomBinningFeatures(grids, gamma=gamma, random_state=seed).fit(A)
        yield Binned(features.transform(A), signs, features.transform(B), split.y_test == positive)


def ridge(Z: Any, y: Rows, steps: int | None = None) -> Rows:
    """With λ = 0.01, by the conjugate gradients of lsqr: there are more columns than a Gram matrix could have."""
    weights: Rows = lsqr(Z, y, damp=0.1, atol=1e-8, btol=1e-8, iter_lim=steps)[0]
    return weights


def with_scores_of_0_wrong(draws: Iterator[Binned]) -> Iterator[tuple[float, float]]:
    """A test row has the score 0 if no training row shares a bin with it. A score of 0 is the negative class, as for
    other learners; or an error whatever the class, as their code has it."""
    for Z, signs, test, positive in draws:
        scores = test @ ridge(Z, signs)
        right = (scores > 0) == positive
        yield 100 * float(np.mean(right)), 100 * float(np.mean(right & (scores != 0)))


def with_50_steps(draws: Iterator[Binned]) -> Iterator[tuple[float, float]]:
    """Ridge solved, and after the 50 steps that their script allows."""
    for Z, signs, test, positive in draws:
        solved, stopped = ((test @ ridge(Z, signs, steps) > 0) == positive for steps in (None, 50))
        yield 100 * float(np.mean(solved)), 100 * float(np.mean(stopped))


def without_the_last_class(columns: int, sigma: float) -> Iterator[tuple[float, float]]:
    """Ridge on Nyström features of exp(−‖Δ‖₂/σ), λ = 0.01. Their code has a column for each class from 0 on, and the
    classes of letter are 1 to 26: the last one has none."""
    split = data.train_test("letter-libsvm", seed=0, trial=0, preprocess=["minmax-symmetric"], train_rows=10500)
    A, B = (np.asarray(part[: len(part)], float) for part in (split.X_train, split.X_test))
    for seed in range(5):
        features = NystroemFeatures(columns, kernel="laplacian-l2", gamma=1 / sigma, random_state=seed)
        model = StreamedRidgeClassifier(0.01, features=features, lambda_scale=1).fit(A, split.y_train)
        scores = model.decision_function(B)
        predicted = model.classes_[scores.argmax(axis=1)]
        without = with_flawed_scores(["last-class-lost"], predicted, scores, model.classes_)
        right, flawed = (100 * float(np.mean(labels == split.y_test)) for labels in (predicted, without))
        yield right, flawed


SIGMAS = [0.01, 0.03, 0.1, 0.14, 0.19, 0.28, 0.39, 0.56, 0.79, 1.12, 1.58, 2.23, 3.16, 4.46, 6.3, 8.91, 10, 31.62, 100]


def sigma_of_the_test_part(name: str, of: str, rank: int, preprocess: str, **how: Any) -> Iterator[tuple[float, float]]:
    """σ of the released grid by three folds of the training rows, and the one that is best on the test rows, as their
    tables have it. Ridge with λ = 0.01 is solved; the draw for each σ is the same in the folds and in the last fit."""
    split = data.train_test(name, seed=0, trial=0, preprocess=[preprocess], **how)
    A, B = (np.asarray(part[: len(part)], float) for part in (split.X_train, split.X_test))
    y, truth = np.asarray(split.y_train), np.asarray(split.y_test)
    classes = split.card.task == "classification"
    made = StreamedRidgeClassifier if classes else StreamedRidge

    def score(sigma: float, seed: int, train: Any, labels: Any, test: Any, right: Any) -> float:
        """The accuracy in %, or the relative error in %."""
        model = made(0.01, features=_of_wu(of, rank, sigma, seed), lambda_scale=1, center=of != "binning")
        predicted = model.fit(train, labels).predict(test)
        return 100 * float(np.mean(predicted == right) if classes else relative_rmse(right, predicted))

    best = np.argmax if classes else np.argmin
    for seed in range(5):
        folds = list(KFold(3, shuffle=True, random_state=seed).split(A))
        tested = [score(sigma, seed, A, y, B, truth) for sigma in SIGMAS]
        by_folds = [np.mean([score(sigma, seed, A[a], y[a], A[b], y[b]) for a, b in folds]) for sigma in SIGMAS]
        yield tested[int(best(by_folds))], tested[int(best(tested))]


def _of_wu(name: str, rank: int, sigma: float, seed: int) -> Any:
    """Their maps: σ of random binning is an inverse width, of the others a width."""
    if name == "binning":
        return RandomBinningFeatures(rank, gamma=sigma, random_state=seed)
    if name == "RFF":
        return RandomFourierFeatures(rank, form="offset", kernel="laplacian-l2", gamma=1 / sigma, random_state=seed)
    return NystroemFeatures(rank, kernel="laplacian-l2", gamma=1 / sigma, random_state=seed)


# ---- Büchel et al. 2024: the kernel error of cod-RNA is that of the first 1,000 test rows ----


def on_the_first_rows(name: str, frequencies: int, gamma: float) -> Iterator[tuple[float, float]]:
    """‖K − ZZᵀ‖/‖K‖ on 1,000 test rows at random, and on the first 1,000; each part is standardised by itself."""
    split = data.train_test(name, seed=0, trial=0)
    X = np.asarray(split.X_test[: len(split.X_test)], float)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    for seed in range(20):
        rng = np.random.default_rng([2024, seed])
        features = RandomFourierFeatures(2 * frequencies, gamma=gamma, random_state=seed).fit(X)
        errors = []
        for rows in (X[np.sort(rng.choice(len(X), 1000, replace=False))], X[:1000]):
            Z = features.transform(rows)
            squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
            K = np.exp(-gamma * squares)
            errors.append(float(np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K)))
        yield errors[0], errors[1]


A9A: dict[str, Any] = {"train": 32561, "test": 16281, "preprocess": "minmax"}
COD_RNA: dict[str, Any] = {"train": 59535, "test": 271617, "preprocess": "max-abs"}
CPU: dict[str, Any] = {"preprocess": "minmax-symmetric", "split": {"rule": "random", "train": 6554, "test": 819}}
ON_TEST = "σ is chosen on the test part ({}, rank 16)"
APPENDED = "test rows are appended to the rows of the next seed"
APPENDED_OF_POWERS = f"{APPENDED} (the polynomial kernel of degree {{}})"
FLAWS = [
    Flaw(APPENDED, "wacker2022", "magic04", "accuracy", lambda: appended("magic04", Process(80, 0.01))),
    Flaw(APPENDED, "wacker2022", "kin8nm", "mse", lambda: appended("kin8nm", Process(40, 0.03125))),
    Flaw(APPENDED, "wacker2022", "concrete", "mse", lambda: appended("concrete", Process(40, 64))),
    Flaw(APPENDED, "wacker2022", "housing-gp", "mse", lambda: appended("housing-gp", Process(80, 8))),
    Flaw(APPENDED_OF_POWERS.format(7), "wacker2022", "housing-gp", "mse",
         lambda: appended("housing-gp", Process(80, 4, degree=7), seeds=20)),
    Flaw(APPENDED_OF_POWERS.format(3), "wacker2022", "naval", "mse",
         lambda: appended("naval", Process(80, 0.015625, degree=3), seeds=20, repeats=5)),
    Flaw(APPENDED_OF_POWERS.format(3), "wacker2022", "letter", "accuracy",
         lambda: appended("letter", Process(256, 0.001, degree=3, positive=True), seeds=20, repeats=5)),
    Flaw("test images are scaled by themselves (RFF)", "wacker2022", "mnist", "accuracy",
         lambda: scaled_apart()),
    Flaw("test images are scaled by themselves (product signs)", "wacker2022", "mnist", "accuracy",
         lambda: scaled_apart(degree=3)),
    Flaw("bins of test rows are columns, too", "wu2016", "penbased", "accuracy",
         lambda: with_bins_of_test_rows("penbased", 16, 0.56)),
    Flaw("a score of 0 is an error (σ = 1.58)", "wu2016", "a9a", "accuracy",
         lambda: with_scores_of_0_wrong(binned("a9a", 64, 1.58, **A9A))),
    Flaw("a score of 0 is an error (σ = 100)", "wu2016", "a9a", "accuracy",
         lambda: with_scores_of_0_wrong(binned("a9a", 64, 100, **A9A))),
    Flaw("a score of 0 is an error (σ = 10)", "wu2016", "ijcnn1", "accuracy",
         lambda: with_scores_of_0_wrong(binned("ijcnn1", 64, 10, train=35000, test=91701, preprocess="none"))),
    Flaw("a score of 0 is an error (σ = 100)", "wu2016", "cod-rna", "accuracy",
         lambda: with_scores_of_0_wrong(binned("cod-rna", 64, 100, **COD_RNA))),
    Flaw("conjugate gradients stop after 50 steps (σ = 0.28)", "wu2016", "a9a", "accuracy",
         lambda: with_50_steps(binned("a9a", 64, 0.28, **A9A))),
    Flaw("conjugate gradients stop after 50 steps (σ = 8.91)", "wu2016", "cod-rna", "accuracy",
         lambda: with_50_steps(binned("cod-rna", 64, 8.91, **COD_RNA))),
    Flaw("the last class is never predicted (Nyström, σ = 1.12)", "wu2016", "letter-libsvm", "accuracy",
         lambda: without_the_last_class(256, 1.12)),
    *(Flaw(ON_TEST.format(of), "wu2016", "penbased", "accuracy",
           partial(sigma_of_the_test_part, "penbased", of, 16, preprocess="minmax"))
      for of in ("binning", "RFF", "Nyström")),
    *(Flaw(ON_TEST.format(of), "wu2016", "cpu-small", "relative_rmse",
           partial(sigma_of_the_test_part, "cpu-small", of, 16, **CPU))
      for of in ("RFF", "Nyström")),
    Flaw("the error is that of the first 1,000 test rows", "buchel2024", "cod-rna", "frobenius_error",
         lambda: on_the_first_rows("cod-rna", 30, 0.05)),
]  # fmt: skip


def measured(flaw: Flaw) -> dict[str, Any]:
    """Its row of the file."""
    without, with_it = np.array(list(flaw.run())).T
    in_points = flaw.metric == "accuracy"
    effects = with_it - without if in_points else 100 * (with_it / without - 1)
    low, high = interval_of(float(effects.mean()), float(effects.std(ddof=1)), len(effects))
    return {
        "flaw": flaw.flaw, "source": flaw.source, "dataset": flaw.dataset, "metric": flaw.metric,
        "runs": len(effects),
        "without": f"{without.mean():.6g}", "with": f"{with_it.mean():.6g}", "unit": "points" if in_points else "%",
        "effect": f"{effects.mean():.4g}", "low": f"{low:.4g}", "high": f"{high:.4g}",
    }  # fmt: skip


def main(words: str = "") -> int:
    if not any(words in flaw.flaw for flaw in FLAWS):
        print(f"no flaw has {words!r} in its name", file=sys.stderr)
        return 2
    before: dict[tuple[str, str], dict[str, Any]] = {}
    if words:
        with FILE.open(encoding="utf-8", newline="") as lines:
            before = {(row["flaw"], row["dataset"]): row for row in csv.DictReader(lines)}
    rows: list[dict[str, Any]] = []
    for flaw in FLAWS:
        if words in flaw.flaw:
            rows.append(measured(flaw))
            print(rows[-1], flush=True)
        elif (flaw.flaw, flaw.dataset) in before:
            rows.append(before[flaw.flaw, flaw.dataset])
    with FILE.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
