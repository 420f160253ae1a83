"""Which seconds may be compared: those of one session of measuring.

A rented machine is not the same every day. RFF with 512 columns, measured again by the same code on a machine of the
same name and an older processor, took 1.8 times as long, and its map and prediction 2.5 times: the ratio of two maps
that were measured on two days says nothing. So every map is compared with RFF's trials of its own session. Maps whose
code has changed since are measured again, beside RFF, in a session of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rffbench import Results, stats
from rffbench.stats import BASELINE, SESSION
from studies.board.registered import COLUMNS


def with_trials(results: Results, trials: pd.DataFrame) -> Results:
    """The same results with other trials."""
    other = copy.copy(results)
    other.trials = trials
    return other


def joined(parts: Sequence[Results]) -> Results:
    """The sessions of one part as one, with the number of each trial's `SESSION`. Of a map's trial, the last session
    that has it counts; of RFF, every session."""
    return with_trials(parts[0], stats.joined([each.trials.fillna({"finished": ""}) for each in parts]))


def last_again(parts: Sequence[Results]) -> int:
    """The number of the last session that measured maps again at the size of the questions: on datasets that one before
    it has, too. 0 where no session did; those of other sizes or of more datasets do not count, nor does RFF."""
    seen, last = set[tuple[str, str]](), 0
    for at, each in enumerate(parts):
        rows = each.trials[(each.trials["method"] != BASELINE) & (each.trials["n_features"] == COLUMNS)]
        cells = set(rows[["dataset", "method"]].itertuples(index=False, name=None))
        last = at if cells & seen else last
        seen |= cells
    return last


def beside_baseline(results: Results) -> Results:
    """The trials of `joined` results that were measured in a session that measured RFF at 512 columns on their dataset;
    all, of a dataset without RFF there."""
    return with_trials(results, stats.beside_baseline(results.trials, COLUMNS))


@dataclass(frozen=True)
class Timing:
    """A session's ``maps`` but RFF, their ``sizes`` in columns, the ``day`` of its first trial, ISO text, and the
    ``processor``, in the manifest's words; day and processor are empty where they are not known."""

    maps: tuple[str, ...]
    sizes: tuple[int, ...]
    day: str
    processor: str

    def __str__(self) -> str:
        ends = dict.fromkeys((f"{self.sizes[0]:,}", f"{self.sizes[-1]:,}"))
        where = f"{self.day}, {self.processor or 'an unknown processor'}, {' to '.join(ends)} columns"
        return f"{where}: {', '.join(self.maps)}"


def timings(results: Results, runs: Iterable[Mapping[str, Any]]) -> list[Timing]:
    """The sessions of `joined` results, the first one first; ``runs`` are the records of all their runs."""
    began = sorted((str(run.get("started") or ""), str(run.get("cpu") or "")) for run in runs)
    rows = results.trials[[SESSION, "method", "n_features", "finished"]]
    found = []
    for _, mine in rows[rows["method"] != BASELINE].groupby(SESSION):
        first = str(mine["finished"].min())
        processors = [cpu for started, cpu in began if started <= first]
        sizes = tuple(sorted(int(size) for size in mine["n_features"].unique()))
        found.append(Timing(tuple(mine["method"].unique()), sizes, first[:10], processors[-1] if processors else ""))
    return sorted(found, key=lambda each: each.day)
