"""A flaw of the released code of Büchel et al. 2024: the kernel error of cod-RNA is that of the first test rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rffbench import RandomFourierFeatures, train_test
from studies.papers.flaw import Flaw


def on_the_first_rows(name: str, frequencies: int, gamma: float) -> Iterator[tuple[float, float]]:
    """‖K − ZZᵀ‖/‖K‖ on 1,000 test rows at random, and on the first 1,000; each part is standardised by itself."""
    split = train_test(name, seed=0, trial=0)
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


FLAWS = [
    Flaw("the error is that of the first 1,000 test rows", "cod-rna", "frobenius_error",
         lambda: on_the_first_rows("cod-rna", 30, 0.05)),
]  # fmt: skip
