"""Repeated rows of a dataset, and the share of test rows that also occur in the training part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rffbench.data.cards import Card
from rffbench.data.split import split_rows

SPLITS = 5  # random splits over which the share is averaged


class Repeats(NamedTuple):
    """The groups of equal rows: two rows have the same number in ``inputs`` (n,) if their inputs are equal, and in
    ``rows`` (n,) if their inputs and targets are."""

    inputs: np.ndarray
    rows: np.ndarray

    @property
    def distinct_inputs(self) -> int:
        return int(self.inputs.max()) + 1

    @property
    def distinct_rows(self) -> int:
        return int(self.rows.max()) + 1

    def leaked(self, card: Card, folds: np.ndarray | None = None) -> float:
        """The share of test rows whose inputs also occur in the training part; the mean over the first trials."""
        shares = []
        for trial in range(SPLITS if card.split_is_random else 1):
            train, test = split_rows(card, 0, trial, folds)
            shares.append(np.isin(self.inputs[test], self.inputs[train]).mean())
        return float(np.mean(shares))


def repeats(blocks: Iterable[tuple[np.ndarray, np.ndarray]]) -> Repeats:
    """The repeated rows of blocks (X (b, d), target (b,)).

    Rows are compared by 64-bit hashes, so that they need not be in memory. Among a million different rows, the
    probability of two equal hashes is 3e-8.
    """
    inputs, rows = list[np.ndarray](), list[np.ndarray]()
    for X, target in blocks:
        inputs.append(_hashes(X))
        rows.append(_hashes(np.column_stack([inputs[-1], _hashes(target)])))
    return Repeats(_numbered(inputs), _numbered(rows))


def _hashes(values: np.ndarray) -> np.ndarray:
    """A hash of each row of numbers or texts, of shape (b,); −0 counts as 0."""
    import pandas

    if values.dtype.kind == "f":
        values = values + 0.0
    return pandas.util.hash_pandas_object(pandas.DataFrame(values), index=False).to_numpy()


def _numbered(hashes: list[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate(hashes), return_inverse=True)[1].reshape(-1)


def in_words(found: Repeats, card: Card, folds: np.ndarray | None = None) -> list[tuple[str, str]]:
    """The repeated rows in words: pairs (what, value)."""
    n = len(found.rows)
    if found.distinct_inputs == n:
        return [("repeated", "no rows")]
    split = "a random split" if card.split_is_random else "the fixed folds" if folds is not None else "the given split"
    return [
        ("repeated", f"{n - found.distinct_rows:,} of {n:,} rows; {found.distinct_inputs:,} distinct inputs"),
        ("leak", f"with {split}, {found.leaked(card, folds):.1%} of the test rows have the inputs of a training row"),
    ]
