"""Where every random number comes from: named streams of ``numpy.random.SeedSequence``.

A stream is named by what it may depend on. The split depends on (seed, dataset, trial); the base
frequencies on (seed, dataset, trial, kernel) and not on the method, so that methods are paired. Inside a
feature map the base frequencies, the phases and the re-sampling draw from separate streams, so that a map
which needs more of one does not shift another.
"""

from __future__ import annotations

import hashlib
import numbers
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator, SeedSequence

WATCHED = 2_081_504_463  # a seed that nobody else sets
RandomState: TypeAlias = "int | SeedSequence | Generator | np.random.RandomState | None"


def _word(key: str | int) -> int:
    """A key as a 64-bit word: numbers as they are, names by their SHA-256 (stable across runs, unlike hash())."""
    if isinstance(key, numbers.Integral):
        return int(key)
    return int.from_bytes(hashlib.sha256(str(key).encode()).digest()[:8], "little")


def stream(*keys: str | int) -> SeedSequence:
    """The seed sequence named by ``keys``; equal keys give equal streams, on any machine, in any order of use."""
    return SeedSequence([_word(key) for key in keys])


def split_stream(seed: int, dataset: str, trial: int) -> SeedSequence:
    """What the train/test split and the folds of one trial are drawn from."""
    return stream("split", seed, dataset, trial)


def feature_stream(seed: int, dataset: str, trial: int, kernel: str) -> SeedSequence:
    """What every method's features of one trial are drawn from: the same for all methods and sizes."""
    return stream("features", seed, dataset, trial, kernel)


def seed_sequence(random_state: RandomState) -> SeedSequence:
    """All that scikit-learn accepts as ``random_state``, as a seed sequence (None: fresh entropy)."""
    if isinstance(random_state, SeedSequence):
        return random_state
    if random_state is None or isinstance(random_state, numbers.Integral):
        return SeedSequence(None if random_state is None else int(random_state))
    if isinstance(random_state, Generator):
        return SeedSequence(random_state.integers(2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.RandomState):
        return SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    raise ValueError(
        f"random_state must be None, an integer, a SeedSequence, a Generator or a RandomState, got {random_state!r}"
    )


def generator(sequence: SeedSequence, purpose: str) -> Generator:
    """The generator for one purpose ('frequencies', 'phases', 'resampling', …) of a stream.

    Unlike ``SeedSequence.spawn`` it keeps no count: the same stream and purpose give the same numbers, no matter
    how often and in which order they are asked for.
    """
    child = SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, _word(purpose) & 0xFFFFFFFF))
    return np.random.default_rng(child)


@contextmanager
def watching_global_generators() -> Iterator[list[str]]:
    """Yields a list that names, after the block, which of Python's and numpy's global generators were seeded or drawn
    from in it. In the block they have a state that nobody sets by chance; after it their old state is restored."""
    states: dict[str, Callable[[], Any]] = {"Python's": random.getstate, "numpy's": np.random.get_state}
    left = {whose: state() for whose, state in states.items()}
    random.seed(WATCHED)
    np.random.seed(WATCHED)  # noqa: NPY002
    before = {whose: pickle.dumps(state()) for whose, state in states.items()}
    changed: list[str] = []
    try:
        yield changed
    finally:
        changed += [whose for whose, state in states.items() if pickle.dumps(state()) != before[whose]]
        random.setstate(left["Python's"])
        np.random.set_state(left["numpy's"])  # noqa: NPY002
