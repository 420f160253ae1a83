"""Splits the rows of a trial into training and test rows."""

from __future__ import annotations

import numpy as np

from rffbench import seeds
from rffbench.data.cards import Card


def held_out_rows(share: float | None, n_train: int) -> int:
    """The number of training rows that a share is, at least 1; 0 for None."""
    return max(1, round(share * n_train)) if share is not None else 0


def split_rows(card: Card, seed: int, trial: int, folds: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(training rows, test rows) as indices, by the card's rule and the stream of (seed, dataset, trial).

    ``folds`` (n,), for the rule ``folds``, are the numbers of the rows' folds. Trial t is tested on fold t modulo the
    number of folds.

    Training rows are in random order for every rule, because the folds of cross-validation are contiguous blocks of
    them. The order of test rows does not affect scores; it is ascending, which is faster to read.
    """
    rng = np.random.default_rng(seeds.split_stream(seed, card.name, trial))
    if card.split.rule == "given":
        return rng.permutation(card.n_train), np.arange(card.rows - card.n_test, card.rows)
    if card.split.rule == "given-sampled":
        train = rng.permutation(card.n_train)
        return train, np.sort(card.n_train + rng.permutation(card.rows - card.n_train)[: card.n_test])
    if folds is not None:
        tested = folds == trial % (int(folds.max()) + 1)
        return rng.permutation(np.flatnonzero(~tested)), np.flatnonzero(tested)
    if card.split.rule == "permuted":
        fixed = np.random.default_rng(card.split.seed).choice(card.rows, card.rows, replace=False)
        train, test = fixed[: card.n_train], fixed[card.n_train : card.n_train + card.n_test]
        return rng.permutation(train), np.sort(test)
    order = rng.permutation(card.rows)
    return order[: card.n_train], np.sort(order[card.n_train : card.n_train + card.n_test])
