"""Flaws of the released code of Wu et al. 2016: the bins of test rows are columns, too; a score of 0 is an error; the
solver stops early; the last class is never predicted; σ is chosen on the test part."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import lsqr
from sklearn.model_selection import KFold

from rffbench import (
    NystroemFeatures,
    RandomBinningFeatures,
    RandomFourierFeatures,
    StreamedRidge,
    StreamedRidgeClassifier,
    train_test,
)
from studies.papers.flaw import Flaw

Rows = NDArray[np.float64]


def with_bins_of_test_rows(name: str, grids: int, gamma: float) -> Iterator[tuple[float, float]]:
    """Ridge with λ = 0.01 on the columns [0, 1], with the map fitted to the training rows and to all rows."""
    split = train_test(name, seed=0, trial=0, preprocess=["minmax"])
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
    split = train_test(name, seed=0, trial=0, preprocess=[preprocess], split=given)
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
    split = train_test("letter-libsvm", seed=0, trial=0, preprocess=["minmax-symmetric"], train_rows=10500)
    A, B = (np.asarray(part[: len(part)], float) for part in (split.X_train, split.X_test))
    for seed in range(5):
        features = NystroemFeatures(columns, kernel="laplacian-l2", gamma=1 / sigma, random_state=seed)
        model = StreamedRidgeClassifier(0.01, features=features, lambda_scale=1).fit(A, split.y_train)
        scores = model.decision_function(B)
        predicted = model.classes_[scores.argmax(axis=1)]
        without = model.classes_[scores[:, :-1].argmax(axis=1)]
        right, flawed = (100 * float(np.mean(labels == split.y_test)) for labels in (predicted, without))
        yield right, flawed


SIGMAS = [0.01, 0.03, 0.1, 0.14, 0.19, 0.28, 0.39, 0.56, 0.79, 1.12, 1.58, 2.23, 3.16, 4.46, 6.3, 8.91, 10, 31.62, 100]


def sigma_of_the_test_part(name: str, of: str, rank: int, preprocess: str, **how: Any) -> Iterator[tuple[float, float]]:
    """σ of the released grid by three folds of the training rows, and the one that is best on the test rows, as their
    tables have it. Ridge with λ = 0.01 is solved; the draw for each σ is the same in the folds and in the last fit."""
    split = train_test(name, seed=0, trial=0, preprocess=[preprocess], **how)
    A, B = (np.asarray(part[: len(part)], float) for part in (split.X_train, split.X_test))
    y, truth = np.asarray(split.y_train), np.asarray(split.y_test)
    classes = split.card.task == "classification"
    made = StreamedRidgeClassifier if classes else StreamedRidge

    def score(sigma: float, seed: int, train: Any, labels: Any, test: Any, right: Any) -> float:
        """The accuracy in %, or the relative error in %."""
        model = made(0.01, features=_of_wu(of, rank, sigma, seed), lambda_scale=1, center=of != "binning")
        predicted = model.fit(train, labels).predict(test)
        return 100 * float(
            np.mean(predicted == right) if classes else np.linalg.norm(predicted - right) / np.linalg.norm(right)
        )

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


A9A: dict[str, Any] = {"train": 32561, "test": 16281, "preprocess": "minmax"}
COD_RNA: dict[str, Any] = {"train": 59535, "test": 271617, "preprocess": "max-abs"}
CPU: dict[str, Any] = {"preprocess": "minmax-symmetric", "split": {"rule": "random", "train": 6554, "test": 819}}
ON_TEST = "σ is chosen on the test part ({}, rank 16)"
FLAWS = [
    Flaw("bins of test rows are columns, too", "penbased", "accuracy",
         lambda: with_bins_of_test_rows("penbased", 16, 0.56)),
    Flaw("a score of 0 is an error (σ = 1.58)", "a9a", "accuracy",
         lambda: with_scores_of_0_wrong(binned("a9a", 64, 1.58, **A9A))),
    Flaw("a score of 0 is an error (σ = 100)", "a9a", "accuracy",
         lambda: with_scores_of_0_wrong(binned("a9a", 64, 100, **A9A))),
    Flaw("a score of 0 is an error (σ = 10)", "ijcnn1", "accuracy",
         lambda: with_scores_of_0_wrong(binned("ijcnn1", 64, 10, train=35000, test=91701, preprocess="none"))),
    Flaw("a score of 0 is an error (σ = 100)", "cod-rna", "accuracy",
         lambda: with_scores_of_0_wrong(binned("cod-rna", 64, 100, **COD_RNA))),
    Flaw("conjugate gradients stop after 50 steps (σ = 0.28)", "a9a", "accuracy",
         lambda: with_50_steps(binned("a9a", 64, 0.28, **A9A))),
    Flaw("conjugate gradients stop after 50 steps (σ = 8.91)", "cod-rna", "accuracy",
         lambda: with_50_steps(binned("cod-rna", 64, 8.91, **COD_RNA))),
    Flaw("the last class is never predicted (Nyström, σ = 1.12)", "letter-libsvm", "accuracy",
         lambda: without_the_last_class(256, 1.12)),
    *(Flaw(ON_TEST.format(of), "penbased", "accuracy",
           partial(sigma_of_the_test_part, "penbased", of, 16, preprocess="minmax"))
      for of in ("binning", "RFF", "Nyström")),
    *(Flaw(ON_TEST.format(of), "cpu-small", "relative_rmse",
           partial(sigma_of_the_test_part, "cpu-small", of, 16, **CPU))
      for of in ("RFF", "Nyström")),
]  # fmt: skip
