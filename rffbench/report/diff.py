"""Compares two results folders of one experiment cell by cell: which cells got worse, better, slower, larger?

Trials of the same seed have the same split and start from the same frequencies, so they are paired: a cell's difference
is the mean over the trials that both finished, with Student's interval of the differences. Trials of different seeds
have nothing in common, so the interval is Welch's. Scores in percent are compared in points; errors and metrics without
a unit in percent of the old mean. A cell is worse, or better, if its interval lies beyond the tolerance, at the level
that Holm's procedure gives it among all cells that changed (`rffbench.report.settled`). If the interval lies neither
beyond nor within the tolerance, the cell is not settled.

Seconds and memory are compared by the mean of log(new/old) over common trials. Contended seconds, and seconds of
different machines, are not compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rffbench.errors import ResultsError
from rffbench.execution.counted import counted_rows
from rffbench.execution.manifest import runs_of
from rffbench.execution.places import experiment_folders
from rffbench.io.text import first_of
from rffbench.plugins import ownfile
from rffbench.report.frame import Protocols, Results, each_cell, load_protocols
from rffbench.report.settled import Change, change_of
from rffbench.stats.intervals import LEVEL, holm, mean_interval
from rffbench.trials.metrics import PERCENT, TIMES, Metric, check_direction

WORSE, BETTER, CHANGED, WITHIN, SAME = "worse", "better", "changed", "within tolerance", "unchanged"
UNSETTLED = "not settled"
LOST, UNMEASURED, ONLY_OLD, ONLY_NEW = "lost", "not measured", "only in old", "only in new"
SLOWER, FASTER, LARGER, SMALLER = "slower", "faster", "larger", "smaller"
COMPARED = (WORSE, BETTER, CHANGED, WITHIN, SAME, UNSETTLED, LOST)
OUTSIDE = (WORSE, LOST)
SHOWN_ALIKE = (SAME, WITHIN)  # the only verdicts that a strict difference lets pass
NOTICEABLE = 1.1  # ratios of seconds or bytes nearer to 1 are noise of the machine
MOST_KEYS = 6  # keys of a config that a message lists
ABOUT_SCORES = ("name", "title", "reference", "significance")  # keys of a config that change no trial

CELL_COLUMNS = [
    "protocol", "dataset", "size", "method", "metric", "unit", "old", "new", "trials", "difference", "low", "high",
    "p", "settled_by", "lost", "verdict",
]  # fmt: skip
COST_COLUMNS = ["protocol", "dataset", "size", "method", "metric", "old", "new", "trials", "ratio", "low", "high",
                "verdict"]  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """``new`` against ``old``, two results folders of one experiment, with its ``name`` and ``title``.

    ``cells`` has a row for every cell of either, with ``CELL_COLUMNS``: the mean scores over the common ``trials``,
    ``difference`` (new less old, in the ``unit``: points, or % of the old mean), its 95 % interval ``low``, ``high``
    (infinite from a single trial), ``p`` of a difference beyond the tolerance by Holm's procedure (missing if the cell
    did not change), ``settled_by`` (the number of trials that would settle an unsettled cell), ``lost`` (the statuses
    of trials that were ok before and are not now), verdict. A ``strict`` one lets a cell pass only if it is unchanged,
    or its interval is within the tolerance. ``costs`` has a row for every cell and every metric of time
    or memory that both measured, with ``COST_COLUMNS``: ``ratio`` is new over old. ``notes`` are further sentences for
    the reader.
    """

    name: str
    title: str
    old: str
    new: str
    tolerance: float
    cells: pd.DataFrame
    costs: pd.DataFrame
    notes: list[str]
    strict: bool = False

    def is_outside(self, verdict: str) -> bool:
        """Whether a cell with this verdict does not pass."""
        return verdict not in SHOWN_ALIKE if self.strict else verdict in OUTSIDE

    @property
    def outside(self) -> int:
        """How many cells are worse by more than the tolerance, or lost trials; of a ``strict`` difference, how many are
        not shown to be alike."""
        return int(self.cells["verdict"].map(self.is_outside).sum())

    @property
    def compared(self) -> int:
        """How many cells could be compared."""
        return int(self.cells["verdict"].isin(COMPARED).sum())


def diff_folders(
    old: Path, new: Path, tolerance: float = 0.0, names: tuple[str, str] | None = None, strict: bool = False
) -> tuple[list[Difference], list[str]]:
    """The differences of all experiments that two folders have in common, and sentences on the others.

    Both are experiments' folders, or folders of such folders, whose experiments are matched by name. ``names`` are the
    names of the two in messages. ResultsError if they have no experiment in common.
    """
    names = names or (str(old), str(new))
    found = experiment_folders(old), experiment_folders(new)
    single = [folders == [place] for folders, place in zip(found, (old, new), strict=True)]
    if all(single):
        return _judged([_measured(old, new, tolerance, names)], strict), []
    if any(single):
        one, many = names if single[0] else names[::-1]
        raise ResultsError(f"{one} is one experiment's folder and {many} a folder of such folders; name two of a kind")
    by_name = [{folder.name: folder for folder in folders} for folders in found]
    common = [name for name in by_name[0] if name in by_name[1]]
    if not common:
        raise ResultsError(f"{names[0]} and {names[1]} have no experiment of the same name")
    unmatched = [
        f"Only in {names[side]}: {', '.join(left)}."
        for side in (0, 1)
        if (left := [name for name in by_name[side] if name not in common])
    ]
    pairs = [_measured(by_name[0][name], by_name[1][name], tolerance, _inside(names, name)) for name in common]
    return _judged(pairs, strict), unmatched


def diff(
    old: Path, new: Path, tolerance: float = 0.0, names: tuple[str, str] | None = None, strict: bool = False
) -> Difference:
    """One experiment's folder against another. ResultsError if they have no cell in common."""
    return _judged([_measured(old, new, tolerance, names or (str(old), str(new)))], strict)[0]


def _measured(old: Path, new: Path, tolerance: float, names: tuple[str, str]) -> Difference:
    """One experiment's folder against another, with a `Change` in place of the verdict on a change."""
    protocols = load_protocols(old), load_protocols(new)
    machines = _machine(old), _machine(new)
    same_machine = None in machines or machines[0] == machines[1]
    cells, costs, notes = [], [], [*_notes(protocols), *_code_notes((old, new), names)]
    for protocol, before, after in _matched(*protocols):
        for label, one, other in _cells_of(before, after):
            where = {"protocol": protocol, **label}
            cells.append(where | _score(label, one, other, before, after))
            costs += [where | cost for cost in _costs(one, other, before, same_machine)]
    if all(cell["verdict"] in (ONLY_OLD, ONLY_NEW) for cell in cells):
        raise ResultsError(f"{names[0]} and {names[1]} have no cell in common (dataset, size and method)")
    if not same_machine:
        notes.append(f"Seconds are not compared, as they are of two machines: {machines[0]}, and {machines[1]}.")
    newest = protocols[1][0][1]
    name = str(newest.config.get("name") or new.name)
    tables = pd.DataFrame(cells, columns=[*CELL_COLUMNS, "better"]), pd.DataFrame(costs, columns=COST_COLUMNS)
    return Difference(name, newest.title, *names, tolerance, *tables, notes)


def _judged(differences: list[Difference], strict: bool) -> list[Difference]:
    """The differences with verdicts on their changes; the tests of all of them are one family."""
    judged = judge([each.cells for each in differences], differences[0].tolerance)
    return [replace(each, cells=cells, strict=strict) for each, cells in zip(differences, judged, strict=True)]


def judge(tables: Sequence[pd.DataFrame], tolerance: float) -> list[pd.DataFrame]:
    """The tables of cells, with each `Change` in the column verdict replaced by a verdict, and with p and the number of
    trials that would settle it."""
    cells = [cell for table in tables for cell in table.to_dict("records")]
    changed = [cell for cell in cells if isinstance(cell["verdict"], Change)]
    for cell, p in zip(changed, holm([cell["verdict"].p_beyond(tolerance) for cell in changed]), strict=True):
        change = cell["verdict"]
        cell["p"] = p
        if p < LEVEL:
            cell["verdict"] = _direction(change.mean, cell["better"])
        elif change.within(tolerance):
            cell["verdict"] = WITHIN
        else:
            cell |= {"verdict": UNSETTLED, "settled_by": change.settling_trials(tolerance, len(changed))}
    rows = iter(cells)
    return [pd.DataFrame([next(rows) for _ in range(len(table))], columns=CELL_COLUMNS) for table in tables]


def _inside(names: tuple[str, str], experiment: str) -> tuple[str, str]:
    """``results/table3@HEAD~3`` for table3 in ``results@HEAD~3``."""
    parts = [name if Path(name).exists() else name.partition("@")[0] for name in names]
    inside = [f"{part.rstrip('/')}/{experiment}{name[len(part) :]}" for name, part in zip(names, parts, strict=True)]
    return inside[0], inside[1]


def _matched(old: Protocols, new: Protocols) -> Iterator[tuple[str, Results, Results]]:
    """(label, old results, new results) of every protocol that both have."""
    before = {tuple(sorted(labels.items())): results for labels, results in old}
    for labels, results in new:
        if (key := tuple(sorted(labels.items()))) in before:
            yield ", ".join(labels.values()), before[key], results


def _cells_of(old: Results, new: Results) -> Iterator[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]:
    """Every cell of either: its place, and its old and new trials, indexed by their numbers."""
    found: dict[tuple[str, int, str], tuple[str, dict[int, pd.DataFrame]]] = {}
    for side, results in enumerate((old, new)):
        for dataset, n_features, size, method, trials in each_cell(results.trials):
            found.setdefault((dataset, n_features, method), (size, {}))[1][side] = trials.set_index("trial")
    for (dataset, _, method), (size, sides) in found.items():
        empty = next(iter(sides.values())).iloc[:0]
        yield {"dataset": dataset, "size": size, "method": method}, sides.get(0, empty), sides.get(1, empty)


# ---- Scores ------------------------------------------------------------------------------------------------


def _score(
    cell: Mapping[str, str], old: pd.DataFrame, new: pd.DataFrame, before: Results, after: Results
) -> dict[str, Any]:
    """A cell's row; a `Change` as its verdict is judged later, together with all others."""
    results = before if len(old) else after
    metric = results.score(cell["dataset"])
    unit = "points" if metric.unit == PERCENT else "%"
    both = [trials.get(metric.name, pd.Series(dtype=float)).dropna() for trials in (old, new)]
    paired = before.grid.setting("seed") == after.grid.setting("seed")
    if paired:
        common = both[0].index.intersection(both[1].index)
        both = [scores[common] for scores in both]
    means = [float(scores.mean()) if len(scores) else math.nan for scores in both]
    change = change_of(both[0], both[1], paired)
    if change and unit == "%":  # any change of an old mean of zero is infinite
        change = change.scaled(100 / abs(means[0]) if means[0] else math.inf)
    difference, (low, high) = (change.mean, change.interval) if change else (math.nan, (math.nan, math.nan))
    ended = new["status"].reindex(old.index[old["status"] == "ok"]).dropna() if paired else new["status"]
    silent = _without_score(old, new, metric, paired)
    ended = ended.mask(silent.reindex(ended.index, fill_value=False), "without a score")
    failed = ended[~ended.isin(["ok", "unavailable"])].value_counts()
    lost = ", ".join(f"{count} {status}" for status, count in failed.items()) if len(old) else ""
    size = 16 * np.finfo(float).eps * np.abs(np.concatenate(both)).max(initial=0.0)  # of rounding
    same = paired and len(both[0]) > 0 and bool((np.abs(both[1] - both[0]) <= size).all())
    verdict: str | Change
    if lost:
        verdict = LOST
    elif change:
        verdict = SAME if same else change
    else:
        verdict = ONLY_OLD if not len(new) else ONLY_NEW if not len(old) else UNMEASURED
    return {
        "metric": metric.name, "unit": unit, "old": means[0], "new": means[1],
        "trials": min(map(len, both)), "difference": difference, "low": low, "high": high,
        "p": math.nan, "settled_by": None, "lost": lost, "verdict": verdict, "better": metric.better,
    }  # fmt: skip


def _without_score(old: pd.DataFrame, new: pd.DataFrame, metric: Metric, paired: bool) -> pd.Series:
    """A mask of the new trials that are ok but have no score, although the same trial had one before."""
    missing = (new["status"] == "ok") & new.get(metric.name, pd.Series(math.nan, new.index)).isna()
    had = old.get(metric.name, pd.Series(math.nan, old.index)).notna()
    return missing & had.reindex(new.index, fill_value=False) if paired else missing & bool(had.any())


def _direction(difference: float, better: str | None) -> str:
    """The verdict on a difference beyond the tolerance."""
    if better is None:
        return CHANGED
    check_direction(better)
    return BETTER if (difference > 0) == (better == "greater") else WORSE


# ---- Seconds and memory ------------------------------------------------------------------------------------


def _costs(old: pd.DataFrame, new: pd.DataFrame, results: Results, same_machine: bool) -> Iterator[dict[str, Any]]:
    fits_shared = results.grid.timing == "features"  # other trials then share the fit
    times = ("feature_s" if fits_shared else "train_s", "predict_s") if same_machine else ()
    measured = [name for name in ("own_memory_bytes",) if old[name].notna().any() and new[name].notna().any()]
    for name in (*times, *(measured or ["peak_memory_bytes"])):
        both = [trials[name].dropna() for trials in (old, new)]
        if name in TIMES:
            both = [seconds[~trials["contended"]] for seconds, trials in zip(both, (old, new), strict=True)]
        common = both[0].index.intersection(both[1].index)
        before, after = (cost[common] for cost in both)
        usable = (before > 0) & (after > 0)
        if not usable.any():
            continue
        logs = np.log(after[usable] / before[usable])
        low, high = mean_interval(logs)
        more, less = (SLOWER, FASTER) if name in TIMES else (LARGER, SMALLER)
        ratio = math.exp(logs.mean())
        above, below = ratio > NOTICEABLE and not low <= 0, ratio < 1 / NOTICEABLE and not high >= 0
        yield {
            "metric": name, "old": float(before[usable].mean()), "new": float(after[usable].mean()),
            "trials": int(usable.sum()), "ratio": ratio, "low": float(np.exp(low)), "high": float(np.exp(high)),
            "verdict": more if above else less if below else SAME,
        }  # fmt: skip


# ---- Notes -------------------------------------------------------------------------------------------------


def _notes(protocols: tuple[Protocols, Protocols]) -> list[str]:
    before, after = (each[0][1] for each in protocols)
    keys = changed_keys(before.config, after.config)
    notes = [f"The configs differ in {first_of(keys, MOST_KEYS, 'more keys')}."] if keys else []
    if before.grid.setting("seed") != after.grid.setting("seed"):
        notes.append("The seeds differ, so that trials are not paired: intervals are Welch's.")
    labels = [{tuple(each.items()) for each, _ in side} for side in protocols]
    if labels[0] != labels[1]:
        notes.append(f"Compared are the {len(labels[0] & labels[1])} protocols of the sweep that both hold.")
    return notes


def changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The dotted keys whose values differ in two configs, without the keys that change no trial."""
    flat = [dict(_flat(config)) for config in (old, new)]
    return [key for key in dict.fromkeys((*flat[0], *flat[1])) if flat[0].get(key) != flat[1].get(key)]


def other_code(name: str, one: str, was: str, other: str, now: str) -> str:
    """A sentence that the code of a map or solver differs between two places, with its version or hash in each."""
    what = f"the file {name.rpartition(':')[0]}" if ownfile.is_own(name) else f"the code of {name}"
    return f"{what} differs between {one} ({was}) and {other} ({now})"


def code(version: Any) -> str:
    """A version of code for messages: hashes are shortened."""
    return re.sub(r"([0-9a-f]{12})[0-9a-f]{52}", r"\1", str(version))


def _code_notes(folders: tuple[Path, Path], names: tuple[str, str]) -> list[str]:
    """A sentence for every map and solver whose code differs between the two folders."""
    before, after = map(_code_of, folders)
    return [
        f"{said[0].upper()}{said[1:]}."
        for part in sorted(before.keys() & after.keys())
        if (was := ", ".join(sorted(before[part]))) != (now := ", ".join(sorted(after[part])))
        for said in [other_code(part[0], names[0], was, names[1], now)]
    ]


def _code_of(folder: Path) -> dict[tuple[str, str], set[str]]:
    """The versions of code behind a folder's finished trials, by the name of a map or solver and the device. Rows of
    older versions of rffbench, without ``made_by``, do not have it."""
    found: dict[tuple[str, str], set[str]] = {}
    for _, row in counted_rows(folder, left_out=lambda _: None):
        if row["status"] == "ok":
            for part, version in (row.get("made_by") or {}).items():
                found.setdefault((row[part]["name"], row["device"]), set()).add(code(version))
    return found


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a config by their dotted keys, without the keys that change no trial."""
    for key, value in config.items():
        if not prefix and key in ABOUT_SCORES:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _machine(folder: Path) -> str | None:
    """The machine that ran the trials: the processor's name and the number of processors; None without a manifest."""
    with suppress(ResultsError, LookupError):
        newest = runs_of(folder)[-1]
        return f"{newest['cpu']}, {newest['processors']} processors"
    return None
