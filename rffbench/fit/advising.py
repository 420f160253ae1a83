"""Advice from the trials of a search.

Two kinds of scores are kept apart. What is advised is chosen by scores within the training rows, in folds; what is
printed was measured on the test rows, which chose nothing. In each split the choice is made anew by that split's
training rows, and the score of the advice is the mean of what these choices scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rffbench.fit.candidates import CONSTANT, EXACT, FOURIER, LINEAR, NYSTROEM, TREES, Candidate
from rffbench.fit.trying import Search, Trial

SHOWN = 2.0  # standard errors: what leads by less is a tie
HARDLY = 0.25  # standard errors: fewer columns are taken if they cost less


@dataclass(frozen=True)
class Difference:
    """A mean difference, and its standard error."""

    mean: float
    error: float

    @property
    def is_shown(self) -> bool:
        return self.mean > SHOWN * self.error and self.mean > 0


@dataclass(frozen=True)
class Row:
    """A row of the table: the score on test rows, its standard error (NaN from one split), the seconds of one fit and
    prediction. ``candidate`` is that of most splits where the row is a choice among several."""

    name: str
    candidate: Candidate
    columns: int
    score: float
    error: float
    seconds: float
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Advice:
    """What to use: a candidate with a number of columns, 0 for none; None: nothing beats the constant. ``over`` is its
    difference to ``base``, the map or learner that would be used if nothing were better."""

    use: Candidate | None
    columns: int
    rows: list[Row]
    over: Difference | None
    base: str


def standard_error(values: Sequence[float], ratio: float) -> float:
    """The standard error of a mean over splits whose test rows are ``ratio`` times as many as their training rows:
    √((1/J + ratio)·var), as training rows overlap (Nadeau and Bengio 2003). NaN from one."""
    if len(values) < 2:
        return float("nan")
    return float(np.sqrt((1 / len(values) + ratio) * np.var(values, ddof=1)))


class Chooser:
    """Chooses among candidates by the scores within the training rows of some ``splits``."""

    def __init__(self, search: Search, splits: Sequence[int]) -> None:
        self._search, self._splits = search, splits

    def _scores(self, candidate: Candidate, size: int) -> np.ndarray:
        """(splits, folds)"""
        trials = self._search.trials[candidate, size]
        return np.array([trials[split].chosen.scores for split in self._splits])

    def lead(self, one: tuple[Candidate, int], other: tuple[Candidate, int]) -> Difference:
        """By how much one is better than another, with the standard error of the mean over a split's folds."""
        better = self._scores(*one) - self._scores(*other)
        return Difference(float(better.mean()), float(np.sqrt(better.var(axis=1, ddof=1).mean() / better.shape[1])))

    def size(self, candidate: Candidate) -> int:
        """The smallest size that is hardly worse than the best: by less than a quarter of a standard error."""
        sizes = self._search.sizes(candidate)
        best = max(sizes, key=lambda size: self._scores(candidate, size).mean())
        for size in sizes:
            behind = self.lead((candidate, best), (candidate, size))
            if size == best or behind.mean <= HARDLY * behind.error:
                return size
        return best

    def best(self, candidates: Sequence[Candidate]) -> tuple[Candidate, int]:
        """The candidate with the best mean, at its size."""
        found = [(each, self.size(each)) for each in candidates]
        return max(found, key=lambda each: self._scores(*each).mean())

    def advised(self, best: bool = False) -> tuple[Candidate, int]:
        """What is shown to be better than random Fourier features, and of that the best; else these, or a linear model
        that is no worse than they are. With ``best`` the best of all, shown or not."""
        tried = {each for each, _ in self._search.trials} - {CONSTANT}
        if best:
            return self.best(sorted(tried, key=lambda each: each.name))
        base = FOURIER, self.size(FOURIER)
        better = [each for each in tried - {FOURIER, LINEAR} if self.lead((each, self.size(each)), base).is_shown]
        if better:
            return self.best(sorted(better, key=lambda each: each.name))
        if LINEAR in tried:
            behind = self.lead(base, (LINEAR, 0))
            if behind.mean <= behind.error:
                return LINEAR, 0
        return base


def advise(search: Search, best: bool = False) -> Advice:
    """The advice, and the table of at most eight rows. Of what ties the simplest is advised, or with ``best`` what has
    the best score within the training rows."""
    splits = range(len(search.splits))
    over_all = Chooser(search, splits)
    each_split = [Chooser(search, [split]) for split in splits]
    use, columns = over_all.advised(best)
    ratio = len(search.splits[0].test) / len(search.splits[0].train)

    def row(candidates: Sequence[Candidate]) -> Row:
        """The row of a choice among candidates, made anew in each split."""
        chosen = [chooser.best(candidates) for chooser in each_split]
        candidate, size = over_all.best(candidates)
        return _row(
            candidate.name,
            candidate,
            size,
            [_trial(search, *each, at) for at, each in enumerate(chosen)],
            ratio,
        )

    tried = {each for each, _ in search.trials}
    others = sorted((each for each in tried if each.has_columns and each.kernel != "gaussian"), key=lambda x: x.name)
    choices = [[FOURIER], [NYSTROEM], [use] if use in others else others, [EXACT], [TREES], [LINEAR], [CONSTANT]]
    rows = [row(each) for each in choices if each and set(each) <= tried]
    advised = [_trial(search, *chooser.advised(best), at) for at, chooser in enumerate(each_split)]
    first = _row(f"advised: {use.name}", use, columns, advised, ratio)
    constant = rows[-1]
    against = [search.metric.sign * (a - b) for a, b in zip(first.scores, constant.scores, strict=True)]
    gain = Difference(float(np.mean(against)), standard_error(against, ratio))
    if not gain.is_shown:
        return Advice(None, 0, rows, gain, CONSTANT.name)
    base = FOURIER, over_all.size(FOURIER)
    if use == TREES:
        base = over_all.best([each for each in tried if each.has_columns or each == EXACT])
    over = None
    if use not in (FOURIER, LINEAR):
        outer = [
            search.metric.sign * (search.trials[use, columns][at].score - search.trials[base][at].score)
            for at in splits
        ]
        over = Difference(float(np.mean(outer)), standard_error(outer, ratio))
    return Advice(use, columns, [first, *(each for each in rows if each.candidate != use)], over, base[0].name)


def _trial(search: Search, candidate: Candidate, size: int, split: int) -> Trial:
    return search.trials[candidate, size][split]


def _row(name: str, candidate: Candidate, size: int, trials: Sequence[Trial], ratio: float) -> Row:
    scores = tuple(each.score for each in trials)
    seconds = float(np.median([each.seconds for each in trials]))
    return Row(name, candidate, size, float(np.mean(scores)), standard_error(scores, ratio), seconds, scores)
