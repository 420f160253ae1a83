"""Which seconds may be compared: those of one session of measuring.

A rented machine is not the same every day. RFF with 512 columns, measured again by the same code on a machine of the
same name and an older processor, took 1.8 times as long, and its map and prediction 2.5 times: the ratio of two methods
that were measured on two days says nothing. So every method is compared with the baseline's trials of its own session.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.stats.costs import SESSION
from rffbench.stats.gain import BASELINE, CELL

BREAK = timedelta(hours=1)  # without a trial, after which another session begins; a run carried on at once is the same


def sessions(finished: Sequence[str]) -> NDArray[np.int64]:
    """The number of the session of each trial, by when it was ``finished``, ISO text; 0 where that is not known, "".

    A session ends where no trial finishes for an hour.
    """
    known = sorted({when for when in finished if when})
    moments = [datetime.fromisoformat(when) for when in known]
    starts = [when for at, when in enumerate(known) if not at or moments[at] - moments[at - 1] > BREAK]
    return np.searchsorted(np.array(starts, str), np.array(finished, str), side="right").astype(np.int64)


def joined(parts: Sequence[pd.DataFrame], baseline: str = BASELINE) -> pd.DataFrame:
    """The trials of several sessions, or folders, of one experiment as one frame, with each trial's ``session``, a
    number.

    Each part has the columns dataset, method, n_features, trial and finished. Of a trial, the last part that has it
    counts; of the ``baseline``, every part.
    """
    folder = np.repeat(np.arange(len(parts)), [len(each) for each in parts])
    trials = pd.concat(parts, ignore_index=True)
    trials[SESSION] = pd.MultiIndex.from_arrays([folder, sessions(trials["finished"].tolist())]).factorize()[0]
    last = trials.assign(folder=folder).groupby([*CELL])["folder"].transform("max")
    return trials[(folder == last) | (trials["method"] == baseline)].reset_index(drop=True)


def beside_baseline(trials: pd.DataFrame, columns: int, baseline: str = BASELINE) -> pd.DataFrame:
    """The trials, as `joined` has them, of sessions that measured the ``baseline`` with that many ``columns`` on their
    dataset; all, of a dataset without it."""
    base = trials[(trials["method"] == baseline) & (trials["n_features"] == columns)]
    known = pd.MultiIndex.from_frame(base[["dataset", SESSION]].drop_duplicates())
    is_beside = pd.MultiIndex.from_frame(trials[["dataset", SESSION]]).isin(known)
    return trials[is_beside | ~trials["dataset"].isin(base["dataset"])].reset_index(drop=True)
