"""Flaws of a protocol, which a config runs on purpose under ``flaws``, to see what they are worth.

A reported number often comes from code that does more, or less, than its text says. With the flaw a run is held to the
reported number; without it, to the text. The difference is the flaw's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rffbench.errors import ConfigError

Flaw = Literal["last-class-lost", "zero-scores-wrong", "test-rows-appended", "test-rows-scaled-apart"]
"""- ``last-class-lost``: no row is given the last of three or more classes, as by code that has a column for each class
  from 0 on where classes begin at 1.
- ``zero-scores-wrong``: a row whose scores are all 0 counts as an error, whatever its class, such as a test row that
  shares no bin with a training row.
- ``test-rows-appended``: the rows that are split are those of a first training part and, 1 to 20 times, those of its
  test part, so that a test row may be among the training rows: a loop over 20 seeds adds the test rows to the training
  rows at each of them. A trial is a seed of a loop of its own, drawn at random.
- ``test-rows-scaled-apart``: before the steps of ``preprocess``, the numbers of all columns are standardised by one
  mean and one deviation, those of the training rows for these, those of the test rows for these."""
NAMES: tuple[Flaw, ...] = get_args(Flaw)
OF_SCORES = ("last-class-lost", "zero-scores-wrong")
RANDOM = ("random", "half")  # rules of splits


def check_flaws(
    flaws: Sequence[str], dataset: str, classes: int, rule: str, gives_scores: bool, gaps: Sequence[str] = ()
) -> None:
    """ConfigError if a flaw has no meaning for the dataset or the solver. ``classes`` is the number of classes, 0 for a
    regression, ``rule`` that of the split, and ``gaps`` names what in the inputs is no number."""
    for flaw in flaws:
        if flaw in OF_SCORES and not (classes and gives_scores):
            what = "the solver has no decision scores" if classes else f"{dataset} is a regression"
            raise ConfigError(f"{flaw} is a flaw of the scores of classes; {what}")
        if flaw == "last-class-lost" and classes < 3:
            raise ConfigError(f"{flaw} needs three classes or more; {dataset} has {classes}")
        if flaw == "test-rows-appended" and rule not in RANDOM:
            raise ConfigError(f"{flaw} needs a split at random; that of {dataset} is {rule}")
        if flaw == "test-rows-scaled-apart" and gaps:
            raise ConfigError(f"{flaw} scales numbers, before all steps; {dataset} has {' and '.join(gaps)}")


def with_flawed_scores(
    flaws: Sequence[str], predicted: NDArray, scores: NDArray[np.float64], classes: NDArray
) -> NDArray:
    """The labels (n,) that a code with these flaws predicts from ``scores`` (n, c), one column for each of the
    ``classes`` (c,): NaN, which is no label, where it counts an error whatever the class."""
    if "last-class-lost" in flaws:
        predicted = classes[scores[:, :-1].argmax(axis=1)]
    if "zero-scores-wrong" in flaws:
        predicted = np.where((scores == 0).all(axis=1), np.nan, predicted)
    return predicted
