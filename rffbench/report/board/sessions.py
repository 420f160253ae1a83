"""Which seconds may be compared: those of one session of measuring.

A rented machine is not the same every day. RFF with 512 columns, measured again by the same code on a machine of the
same name and an older processor, took 1.8 times as long, and its map and prediction 2.5 times: the ratio of two maps
that were measured on two days says nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from rffbench.report.board.registered import COLUMNS
from rffbench.report.board.score import BASELINE
from rffbench.report.frame import Results

BREAK = timedelta(hours=1)  # without a trial, after which another session begins; a run carried on at once is the same


def beside_baseline(results: Results) -> Results:
    """The trials that were measured in the session that measured the baseline at 512 columns on their dataset; all, of
    a dataset without it."""
    trials, session = results.trials, sessions(results.finished)
    if not len(session):
        return results
    base = (trials["method"] == BASELINE) & (trials["n_features"] == COLUMNS)
    of_dataset = dict(zip(trials["dataset"][base], session[base.to_numpy()], strict=True))
    wanted = [of_dataset.get(name, at) for name, at in zip(trials["dataset"], session, strict=True)]
    kept = session == wanted
    finished = [when for when, keep in zip(results.finished, kept, strict=True) if keep]
    return replace(results, trials=trials[kept].reset_index(drop=True), finished=finished)


def sessions(finished: list[str]) -> NDArray[np.int64]:
    """The number of the session of each trial, by when it was ``finished``, ISO text; 0 where that is not known."""
    known = sorted({when for when in finished if when})
    moments = [datetime.fromisoformat(when) for when in known]
    starts = [when for at, when in enumerate(known) if not at or moments[at] - moments[at - 1] > BREAK]
    return np.searchsorted(np.array(starts, str), np.array(finished, str), side="right").astype(np.int64)
