"""Splits the rows of a trial into training and test rows."""

from __future__ import annotations

import numpy as np

from rffbench.arguments import seeds
from rffbench.data.cards import Card

SEEDS_APPENDED = 20  # the seeds of the loop that appends test rows: a trial is one of them


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


def times_appended(card: Card, seed: int, trial: int) -> int:
    """How often a trial with the flaw ``test-rows-appended`` has the test part in its rows: 1 to 20, at random."""
    stream = seeds.split_stream(seed, card.name, trial)
    return int(seeds.generator(stream, "times appended").integers(1, SEEDS_APPENDED + 1))


def appended_rows(card: Card, seed: int, trial: int) -> tuple[int, int]:
    """How many training and test rows `split_appended` gives."""
    rows = card.n_train + times_appended(card, seed, trial) * card.n_test
    train = int(card.n_train / (card.n_train + card.n_test) * rows)
    return train, rows - train


def split_appended(card: Card, seed: int, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """As `split_rows` by the rule ``random``, with the flaw ``test-rows-appended`` (`rffbench.trials.flaws`).

    The rows are the training part of a first split, of each trial its own, and its test part `times_appended` times.
    They are split at random, in the card's shares, so that a row may be in both parts.
    """
    first, added = split_rows(card, seed, trial)
    rows = np.concatenate([first, *[added] * times_appended(card, seed, trial)])
    order = seeds.generator(seeds.split_stream(seed, card.name, trial), "appended").permutation(rows)
    n_train, _ = appended_rows(card, seed, trial)
    return order[:n_train], np.sort(order[n_train:])
