"""Which rows a trial trains on and which it is tested on."""

from __future__ import annotations

import numpy as np

from rffbench import seeds
from rffbench.data.cards import Card


def held_out_rows(share: float | None, n_train: int) -> int:
    """How many of the training rows a share is, 1 or more; 0 of None."""
    return max(1, round(share * n_train)) if share is not None else 0


def split_rows(card: Card, seed: int, trial: int, folds: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(training rows, test rows) as indices, by the card's rule and the stream of (seed, dataset, trial).

    ``folds`` (n,), for the rule of that name: the number of each row's fold. Trial t is tested on fold t, and after
    the last fold on the first again, with other features.

    The training rows come in a random order for every rule, because the folds of a cross-validation are
    contiguous blocks of it. The order of test rows changes no score; it is ascending, which reads faster.
    """
    rng = np.random.default_rng(seeds.split_stream(seed, card.name, trial))
    if card.split.rule == "given":
        return rng.permutation(card.n_train), np.arange(card.n_train, card.rows)
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
