"""The search: every candidate in the same outer splits, for as long as there is time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rffbench.fit.candidates import (
    CONSTANT,
    EXACT,
    FIRST,
    FOURIER,
    KERNELS,
    MAPS,
    MOST_EXACT_ROWS,
    SIZES,
    Candidate,
    first_sizes,
)
from rffbench.fit.learners import few_threads, predictions
from rffbench.fit.preparing import preparation
from rffbench.fit.question import Question
from rffbench.fit.tuning import FOLDS, Rows, Tuned, tune_lambda, tune_logistic, tune_map, tune_trees

OUTER_FOLDS = 5
FEWEST_SPLITS = 3
MOST_TEST_ROWS = 20_000
FOR_THE_MODEL = 0.15  # of the time is kept for the fit to all rows, or more where that is foreseen
UNSCORED = Tuned({}, np.full(FOLDS, np.nan))

Report = Callable[[float, str], object]
"""Called with the seconds that are gone, and what is being done."""


@dataclass(frozen=True)
class Trial:
    """A candidate with ``size`` columns (0: it has none) in a split: what was ``chosen`` within the training rows, the
    ``score`` on the test rows, and the seconds of one fit and prediction."""

    candidate: Candidate
    size: int
    split: int
    chosen: Tuned
    score: float
    seconds: float


class Split:
    """Training and test rows, prepared by steps that are fitted to the training rows."""

    def __init__(self, question: Question, train: NDArray[np.intp], test: NDArray[np.intp]) -> None:
        self._question, self.train, self.test = question, train, test

    @cached_property
    def prepared(self) -> tuple[Rows, NDArray[np.float32], NDArray]:
        """The training rows, and the test rows' inputs and answers."""
        from sklearn.pipeline import make_pipeline

        asked, steps = self._question, make_pipeline(*preparation(self._question.inputs))
        inputs = asked.frame
        X = steps.fit_transform(inputs.iloc[self.train]).astype(np.float32)
        X_test = steps.transform(inputs.iloc[self.test]).astype(np.float32)
        classes = 0 if asked.classes is None else len(asked.classes)
        return Rows(X, asked.y[self.train], classes, asked.class_weight), X_test, asked.y[self.test]


def most_rows(minutes: float) -> int:
    """The most training rows of a split."""
    return int(min(max(3000 * (1 + minutes), 4000), 30_000))


def splits_of(question: Question, most: int) -> list[Split]:
    """Five folds of the rows, so that every row is a test row once; of few rows several times."""
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    n = question.rows
    repeats = 4 if n < 1000 else 2 if n < 4000 else 1
    kind = RepeatedKFold if question.classes is None else RepeatedStratifiedKFold
    found = kind(n_splits=OUTER_FOLDS, n_repeats=repeats, random_state=0)
    splits = []
    for at, (train, test) in enumerate(found.split(np.zeros(n), question.y if question.classes is not None else None)):
        rng = np.random.default_rng(at)
        splits.append(
            Split(question, _sampled(rng, train, question, most), _sampled(rng, test, question, MOST_TEST_ROWS))
        )
    return splits


def _sampled(rng: np.random.Generator, rows: NDArray[np.intp], question: Question, most: int) -> NDArray[np.intp]:
    """At most about this number of the rows, in random order; of each class its share, and some rows."""
    rows = rng.permutation(rows)
    if len(rows) <= most:
        return rows
    if question.classes is None:
        return rows[:most]
    y, kept = question.y[rows], np.zeros(len(rows), dtype=bool)
    for each in range(len(question.classes)):
        mine = np.flatnonzero(y == each)
        kept[mine[: max(2 * FOLDS, round(most * len(mine) / len(rows)))]] = True
    return rows[kept]


class TimeIsUp(Exception):
    """The time for the search is over."""


class Search:
    """Tries candidates until the time is up or Ctrl-C: ``trials`` by candidate and size, a list by split."""

    def __init__(
        self, question: Question, minutes: float, report: Report = lambda seconds, doing: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.question, self.metric = question, question.metric
        self.seconds, self._clock, self._report, self._began = 60 * minutes, clock, report, clock()
        self.splits = splits_of(question, most_rows(minutes))
        self.trials: dict[tuple[Candidate, int], list[Trial]] = {}
        self.not_tried: list[str] = []
        self.interrupted = False
        self._failed: list[Candidate] = []
        self._reserved = FOR_THE_MODEL * self.seconds
        self._few_trees = minutes < 1
        self._ends: float = np.inf  # the first split is finished in any case

    @property
    def training_rows(self) -> int:
        return len(self.splits[0].train)

    @property
    def first_size(self) -> int:
        """The size with which σ is chosen."""
        return first_sizes(self.training_rows)[-1]

    @property
    def gone(self) -> float:
        return self._clock() - self._began

    def run(self) -> None:
        """The whole search."""
        with warnings.catch_warnings(), few_threads(self.training_rows * self.first_size**2):
            warnings.simplefilter("ignore")
            try:
                self._first()
                self._more()
            except KeyboardInterrupt:
                self.interrupted = True
        self._keep_whole()

    def report(self, doing: str) -> None:
        """Say what is being done."""
        self._report(self.gone, doing)

    # ---- What is tried, and when ----

    def _first(self) -> None:
        """The candidates that are tried in any case, in as many splits as there is time for."""
        self._try_split(0, FIRST)
        took = self.gone
        scale = self.question.rows / self.training_rows
        largest = max(each[0].seconds for each in self.trials.values())
        self._reserved = max(self._reserved, min(3 * scale * largest + 0.02 * took * scale, self.seconds / 2))
        self._ends = self.seconds - self._reserved
        room = 0.65 * (self._ends - took) / took
        self.splits = self.splits[: max(FEWEST_SPLITS, min(len(self.splits), 1 + int(room)))]
        self._ends = max(self._ends, (FEWEST_SPLITS + 0.5) * took)
        for split in range(1, len(self.splits)):
            try:
                self._try_split(split, FIRST)
            except TimeIsUp:
                self.splits = self.splits[:split]
                return

    def _try_split(self, split: int, candidates: tuple[Candidate, ...]) -> None:
        for candidate in (each for each in candidates if each not in self._failed):
            self._try_sizes(candidate, first_sizes(self.training_rows), split)

    def _more(self) -> None:
        """Larger sizes and other kernels, by turns, each in all splits, as long as they fit into the time."""
        for candidate, size in self._queue():
            if (candidate, size) in self.trials or candidate in self._failed:
                continue
            sizes = first_sizes(self.training_rows) if size == 0 and candidate.has_columns else (size,)
            name = f"{candidate.name} with {size:,} columns" if size else candidate.name
            if self._foreseen(candidate, sizes) > self._ends - self.gone:
                self.not_tried.append(name)
                continue
            try:
                for split in range(len(self.splits)):
                    if candidate not in self._failed:
                        self._try_sizes(candidate, sizes, split)
            except TimeIsUp:
                self.not_tried.append(name)

    def _queue(self) -> Iterator[tuple[Candidate, int]]:
        """Candidates with a size, 0 for the first two sizes."""
        if self.training_rows <= MOST_EXACT_ROWS:
            yield EXACT, 0
        yield from self._grown(2)
        others = [(each, 0) for each in (*KERNELS, *MAPS)]
        yield from others[:2]
        yield from self._grown(4)
        yield from others[2:5]
        yield from self._grown(8)
        yield from others[5:]

    def _grown(self, times: int) -> Iterator[tuple[Candidate, int]]:
        """The best map so far, and random Fourier features, with more columns than they had first."""
        size = times * self.first_size
        if size <= SIZES[-1] and size <= self.training_rows:
            maps = {each for each, _ in self.trials if each.has_columns}
            best = max(maps, key=lambda each: max(self.inner(each, at) for at in self.sizes(each)))
            yield best, size
            yield FOURIER, size

    def try_one(self, candidate: Candidate, split: int) -> None:
        """Try a candidate in a split with the first sizes, whatever the time."""
        self._ends = np.inf
        self._try_sizes(candidate, first_sizes(self.training_rows) if candidate.has_columns else (0,), split)

    def _foreseen(self, candidate: Candidate, sizes: tuple[int, ...]) -> float:
        """About the seconds of a candidate in all splits: those of a map that was tried, times the columns squared."""
        columns = self.first_size
        seconds = next(self.took[each, columns] for each in (candidate, FOURIER) if (each, columns) in self.took)
        if candidate.kind == "exact":
            return len(self.splits) * seconds * max(1.0, (self.training_rows / columns) ** 2 / 3)
        return len(self.splits) * seconds * max(1.0, (sizes[-1] / columns) ** 2 / 2)

    # ---- One trial ----

    @cached_property
    def took(self) -> dict[tuple[Candidate, int], float]:
        """The seconds of the last trials, with what was chosen in them; for all sizes that were tried together."""
        return {}

    def _check(self) -> None:
        self._report(self.gone, self._doing)
        if self.gone > self._ends:
            raise TimeIsUp

    def _try_sizes(self, candidate: Candidate, sizes: tuple[int, ...], split: int) -> None:
        """Try a candidate in a split with these sizes; σ is chosen with the largest of the first, and kept."""
        self._doing = f"split {split + 1} of {len(self.splits)}: {candidate.name}"
        self._check()
        began = self._clock()
        rows = self.splits[split].prepared[0]
        try:
            for size, chosen in self._chosen(candidate, sizes, rows, split):
                self._score(candidate, size, split, chosen)
        except TimeIsUp:
            raise
        except Exception:
            if candidate in (CONSTANT, FOURIER):
                raise
            self._failed.append(candidate)  # the others go on without it
        self.took[candidate, sizes[-1]] = self._clock() - began

    def _chosen(
        self, candidate: Candidate, sizes: tuple[int, ...], rows: Rows, split: int
    ) -> Iterator[tuple[int, Tuned]]:
        if candidate is CONSTANT:
            yield 0, UNSCORED
        elif candidate.kind == "trees":
            yield 0, tune_trees(rows, self.metric, self._few_trees, self._check)
        elif candidate.kind == "linear" and self.metric.of_classes:
            yield 0, tune_logistic(rows, self.metric, self._check)
        elif candidate.kind == "linear":
            yield 0, tune_lambda(candidate, rows, self.metric, 0, None)
        elif candidate.kind == "exact":
            like = self.trials[FOURIER, self.first_size][split].chosen
            near = [like.settings["lambda"] * factor for factor in (0.01, 0.1, 1.0, 10.0)]
            yield 0, tune_lambda(
                candidate, rows, self.metric, len(rows.X), like.settings["gamma"], like.times, near
            )  # fmt: skip
        else:
            yield from self._chosen_by_size(candidate, sizes, rows, split)

    def _chosen_by_size(
        self, candidate: Candidate, sizes: tuple[int, ...], rows: Rows, split: int
    ) -> Iterator[tuple[int, Tuned]]:
        first = self.first_size
        if known := self.trials.get((candidate, first), [])[split : split + 1]:
            tuned = known[0].chosen
        else:
            before = self.trials.get((candidate, first), [])
            start = before[-1].chosen.times if before else 1.0
            tuned = tune_map(candidate, rows, self.metric, first, start or 1.0, self._check)
        for size in sizes:
            self._check()
            if size == first:
                yield size, tuned
            else:
                yield size, tune_lambda(candidate, rows, self.metric, size, tuned.settings["gamma"], tuned.times)

    def _score(self, candidate: Candidate, size: int, split: int, chosen: Tuned) -> None:
        """Fit with what was chosen to all training rows of the split, and score the test rows."""
        rows, X_test, y_test = self.splits[split].prepared
        model = rows.learner(candidate, chosen.settings, self.metric)
        began = self._clock()
        model.fit(rows.X, rows.answers())
        found = predictions(model, X_test, self.metric)
        seconds = self._clock() - began
        score = self.metric.compute(y_test, found)
        self.trials.setdefault((candidate, size), []).append(Trial(candidate, size, split, chosen, score, seconds))

    def _keep_whole(self) -> None:
        """Keep what was tried in all splits; after an interrupt, in the splits where all of the first candidates were,
        or else in the one where random Fourier features were."""
        first = self.first_size
        tried = [each for each in FIRST if each not in self._failed]
        counts = {each: len(self.trials.get((each, first if each.has_columns else 0), [])) for each in tried}
        whole = min(counts.values()) or min(counts[CONSTANT], counts[FOURIER])
        if not whole:
            raise KeyboardInterrupt
        self.splits = self.splits[:whole]
        self.not_tried += [f"{each.name} (failed)" for each in self._failed]
        for key, trials in list(self.trials.items()):
            if len(trials) < whole or key[0] in self._failed:
                del self.trials[key]
                if key[0] not in self._failed:
                    self.not_tried.insert(0, key[0].name)
            else:
                del trials[whole:]

    # ---- What was found ----

    def sizes(self, candidate: Candidate) -> list[int]:
        """The sizes that a candidate was tried with."""
        return sorted(size for each, size in self.trials if each == candidate)

    def inner(self, candidate: Candidate, size: int) -> float:
        """The mean score within the training rows."""
        return float(np.mean([each.chosen.mean for each in self.trials[candidate, size]]))
