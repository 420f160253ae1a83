"""The Pareto front: the results that no other beats in both cost and score."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rffbench.trials.metrics import check_direction


def pareto_front(cost: ArrayLike, score: ArrayLike, better: str) -> NDArray[np.bool_]:
    """Which of n results (cost and score of shape (n,)) are on the Pareto front, as a mask of shape (n,).

    A result is on the front unless another costs no more, scores no worse, and is better in one of the two; so equal
    results are all on it. A result with a NaN is not. ``better`` is the score's better direction, 'greater' or 'less'.

    >>> pareto_front([1, 2, 3], [80, 90, 85], "greater")
    array([ True,  True, False])
    """
    check_direction(better)
    costs, scores = np.asarray(cost, float), np.asarray(score, float)
    losses = -scores if better == "greater" else scores
    front = np.zeros(len(costs), bool)
    for i in np.flatnonzero(np.isfinite(costs) & np.isfinite(losses)):
        no_worse = (costs <= costs[i]) & (losses <= losses[i])
        front[i] = not np.any(no_worse & ((costs < costs[i]) | (losses < losses[i])))
    return front
