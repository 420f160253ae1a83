"""Datasets that are never stored as a whole: their rows are made, or read from shards, when they are needed.

A `Stream` is the whole dataset, `Targets` is a part of its target. Both are small when they are pickled; another
process makes or reads the rows itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from rffbench.arguments import seeds
from rffbench.data.cards import Card
from rffbench.data.formats import GeneratedFormat, ShardsFormat
from rffbench.data.shards import read_shard
from rffbench.data.store import targets
from rffbench.errors import DataError

CHUNK_ROWS = 4096  # rows of a generated dataset that share a random stream
FREQUENCIES = 20  # of the target function of a generated dataset


def stream(card: Card) -> Stream:
    """The rows of a streamed card."""
    return Generated(card) if isinstance(card.format, GeneratedFormat) else Shards(card)


class Stream(ABC):
    """All rows of a dataset: ``stream[a:b]`` is a new array (b − a, d) float64.

    Subclasses implement ``pieces(start, stop)``. Reading X keeps y of the same rows, so that reading y next does not
    read the rows again.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, card: Card) -> None:
        self.card = card
        self.shape = (card.rows, card.columns)
        self._left: tuple[int, int, np.ndarray] | None = None

    def __reduce__(self) -> tuple[Callable[[Card], Stream], tuple[Card]]:
        return stream, (self.card,)

    def __len__(self) -> int:
        return self.shape[0]

    def part(self, rows: range) -> tuple[Stream, range]:
        """(stream, range): a stream with these rows, in order, which is small when it is pickled, and their numbers in
        it."""
        return self, rows

    @abstractmethod
    def pieces(self, start: int, stop: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows start…stop−1 and their targets, in order, as arrays X (m, d) and y (m,), which callers only read."""

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        return _gather(self._inputs, rows, self.shape)

    def target(self, rows: slice | np.ndarray) -> np.ndarray:
        """The target of ``rows``, a slice or integers: (m,) float64."""
        return _gather(self._target, rows, self.shape[:1])

    @property
    def labels(self) -> np.ndarray | None:
        """The classes as in y, sorted; None for a regression."""
        if self.card.task == "regression":
            return None
        return np.array([-1.0, 1.0]) if self.card.labels else np.arange(len(self.card.classes), dtype=np.float64)

    def _inputs(self, start: int, stop: int) -> np.ndarray:
        X, y = np.empty((stop - start, self.shape[1])), np.empty(stop - start)
        at = 0
        for inputs, target in self.pieces(start, stop):
            X[at : at + len(inputs)], y[at : at + len(inputs)] = inputs, target
            at += len(inputs)
        self._left = start, stop, y
        return X

    def _target(self, start: int, stop: int) -> np.ndarray:
        if self._left is not None and self._left[:2] == (start, stop):
            y, self._left = self._left[2], None
            return y
        return np.concatenate([np.empty(0), *(target for _, target in self.pieces(start, stop))])


def _gather(read: Callable[[int, int], np.ndarray], rows: slice | np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """``rows`` (a slice or integers) of an array of this shape, of which ``read`` reads contiguous rows. For integers,
    the chunks are read that contain some of them."""
    if isinstance(rows, slice):
        start, stop, step = rows.indices(shape[0])
        if step != 1:
            raise IndexError(f"streamed rows come in slices of step 1 only, got step {step}")
        return read(start, max(start, stop))
    chosen = np.asarray(rows)
    found = np.empty((len(chosen), *shape[1:]))
    chunks = chosen // CHUNK_ROWS
    for chunk in np.unique(chunks):
        here, start = chunks == chunk, int(chunk) * CHUNK_ROWS
        found[here] = read(start, min(shape[0], start + CHUNK_ROWS))[chosen[here] - start]
    return found


class Targets:
    """The targets of the rows ``index`` of a stream: a 1-D array (n,) float64 that is never in memory as a whole.

    ``targets[a:b]`` (step 1) and ``targets[integers]`` are arrays; ``numpy.asarray(targets)`` is the whole.
    ``labels`` are the classes, sorted; None for a regression.
    """

    ndim = 1
    dtype = np.dtype(np.float64)

    def __init__(self, base: Stream, index: range) -> None:
        self.base, self.index = base, index
        self.shape = (len(index),)
        self.labels = base.labels

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        return self.base.target(shifted(self.index, rows))

    def part(self, rows: slice) -> Targets:
        """The targets of some of the rows, in order."""
        return Targets(*self.base.part(self.index[rows]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("Targets are read when they are needed; an array of them is always a copy")
        return self[:].astype(dtype or self.dtype, copy=False)


def shifted(index: range, rows: slice | np.ndarray) -> slice | np.ndarray:
    """``rows`` within the contiguous rows ``index``, as rows of the whole."""
    if isinstance(rows, slice):
        chosen = index[rows]
        return slice(chosen.start, max(chosen.start, chosen.stop))
    return index.start + np.asarray(rows)


class Generated(Stream):
    """X uniform on [0,1]^d; y = f(x) + noise with f(x) = √(2/20)·Σⱼ cos(wⱼᵀx + bⱼ), 20 frequencies wⱼ of the Gaussian
    kernel exp(−‖Δ‖²/(2σ²)), so that f² is 1 on average over the phases.

    Rows 4096k…4096k+4095 have the random stream of (seed, k), so that they do not depend on other rows or the machine.
    """

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        assert isinstance(card.format, GeneratedFormat)
        self._draw = card.format
        self._last = -1

    @cached_property
    def _function(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seeds.stream("function", self._draw.seed))
        W = rng.standard_normal((self.shape[1], FREQUENCIES)) / self._draw.sigma
        return W, rng.uniform(0, 2 * np.pi, FREQUENCIES)

    def pieces(self, start: int, stop: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for chunk in range(start // CHUNK_ROWS, -(-stop // CHUNK_ROWS)):
            X, y = self._chunk(chunk)
            first = chunk * CHUNK_ROWS
            some = slice(max(start - first, 0), min(stop - first, CHUNK_ROWS))
            yield X[some], y[some]

    def _chunk(self, chunk: int) -> tuple[np.ndarray, np.ndarray]:
        if chunk != self._last:  # several blocks may be in one chunk
            rng = np.random.default_rng(seeds.stream("rows", self._draw.seed, chunk))
            X = rng.random((CHUNK_ROWS, self.shape[1]))
            W, b = self._function
            y = np.sqrt(2 / FREQUENCIES) * np.cos(X @ W + b).sum(axis=1)
            y += self._draw.noise * rng.standard_normal(CHUNK_ROWS)
            self._made, self._last = (X, y), chunk
        return self._made


class Shards(Stream):
    """The rows of Parquet or npy files in a folder, or at a URL that fsspec knows, one after the other."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        assert isinstance(card.format, ShardsFormat)
        self._layout = card.format
        self._starts = np.cumsum([0, *(shard.rows for shard in card.format.shards)]).tolist()
        self._parted: tuple[range, tuple[Stream, range]] | None = None

    def part(self, rows: range) -> tuple[Stream, range]:
        """See `Stream`: only the shards with these rows. The same rows (first for inputs, then for their target) give
        the same stream, which reads them once."""
        if self._parted is None or self._parted[0] != rows:
            first, last = bisect_right(self._starts, rows.start) - 1, bisect_left(self._starts, rows.stop)
            start, stop = self._starts[first], self._starts[max(first, last)]
            some = self._layout.model_copy(update={"shards": self._layout.shards[first:last]})
            card = self.card.model_copy(update={"rows": stop - start, "format": some})
            self._parted = rows, (Shards(card), range(rows.start - start, rows.stop - start))
        return self._parted[1]

    def pieces(self, start: int, stop: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        layout = self._layout
        for shard, first in zip(layout.shards, self._starts, strict=False):
            if first < stop and start < first + shard.rows:
                some = max(start - first, 0), min(stop - first, shard.rows)
                row = first + some[0]
                for X, target in read_shard(layout.folder, shard, layout.target, self.shape[1], *some):
                    if not np.isfinite(X).all() or not np.isfinite(target).all():
                        wrong = np.flatnonzero(~np.isfinite(np.column_stack([X, target])).all(axis=1))[0]
                        at = f"{shard.name}: row {row + wrong - first + 1}"
                        raise DataError(f"{self.card.name}: {at} has a value that is missing or not finite")
                    row += len(X)
                    yield X, targets(self.card, target, Counter())
