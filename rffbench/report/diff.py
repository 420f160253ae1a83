"""Two results folders of one experiment, cell by cell: what got worse, better, slower, larger.

Trials of the same seed have the same split and start from the same frequencies, so that they are paired: a cell's
difference is the mean over the trials that both finished, with Student's interval of the differences. Of two seeds the
trials have nothing in common, and the interval is Welch's. Scores in percent are compared in points; errors, and all
else without a unit, in percent of the old mean.

Seconds and memory are compared by the mean of log(new/old) over common trials; seconds only of trials that nothing else
disturbed, and only of one machine.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rffbench import ownfile
from rffbench.errors import ResultsError
from rffbench.execution.log import each_row, latest
from rffbench.report.frame import Protocols, Results, experiment_folders, load_protocols, size_label
from rffbench.report.frame import cells as every_cell
from rffbench.report.significance import mean_interval, welch_interval
from rffbench.trials.metrics import PERCENT, TIMES, Metric
from rffbench.units import first_of

WORSE, BETTER, CHANGED, WITHIN, SAME = "worse", "better", "changed", "within tolerance", "unchanged"
LOST, UNMEASURED, ONLY_OLD, ONLY_NEW = "lost", "not measured", "only in old", "only in new"
SLOWER, FASTER, LARGER, SMALLER = "slower", "faster", "larger", "smaller"
COMPARED = (WORSE, BETTER, CHANGED, WITHIN, SAME, LOST)
OUTSIDE = (WORSE, LOST)
NOTICEABLE = 1.1  # a ratio of seconds or bytes nearer to 1 is the machine's noise
MOST_KEYS = 6  # of a config that are named
ABOUT_SCORES = ("name", "title", "reference", "significance")  # keys of a config that change no trial

CELL_COLUMNS = [
    "protocol", "dataset", "size", "method", "metric", "unit", "old", "new", "trials", "difference", "low", "high",
    "lost", "verdict",
]  # fmt: skip
COST_COLUMNS = ["protocol", "dataset", "size", "method", "metric", "old", "new", "trials", "ratio", "low", "high",
                "verdict"]  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """``new`` against ``old``, two results folders of one experiment, with its ``name`` and ``title``.

    ``cells`` has a row for every cell of either, with ``CELL_COLUMNS``: the mean scores over the common ``trials``,
    ``difference`` (new less old, in the ``unit``: points, or % of the old mean), its 95 % interval ``low``, ``high``
    (infinite from a single trial), ``lost`` (how the trials ended that were ok before and are not any more), verdict.
    ``costs`` has a row for every cell and every metric of time or memory that both measured, with ``COST_COLUMNS``:
    ``ratio`` is new over old. ``notes`` says in sentences what else a reader must know.
    """

    name: str
    title: str
    old: str
    new: str
    tolerance: float
    cells: pd.DataFrame
    costs: pd.DataFrame
    notes: list[str]

    @property
    def outside(self) -> int:
        """How many cells are worse by more than the tolerance, or lost trials."""
        return int(self.cells["verdict"].isin(OUTSIDE).sum())

    @property
    def unclear(self) -> int:
        """How many of the worse cells have an interval that covers 0: more trials would tell."""
        cells = self.cells[self.cells["verdict"] == WORSE]
        return int(((cells["low"] < 0) & (cells["high"] > 0)).sum())

    @property
    def compared(self) -> int:
        """How many cells could be compared."""
        return int(self.cells["verdict"].isin(COMPARED).sum())


def diff_folders(
    old: Path, new: Path, tolerance: float = 0.0, names: tuple[str, str] | None = None
) -> tuple[list[Difference], list[str]]:
    """Every experiment of two folders that both hold, the one against the other; and what only one of them holds.

    Each is an experiment's folder or a folder of such folders, whose experiments go together by their names. ``names``
    is what the two are called. ResultsError where nothing goes together.
    """
    names = names or (str(old), str(new))
    found = experiment_folders(old), experiment_folders(new)
    alone = [folders == [place] for folders, place in zip(found, (old, new), strict=True)]
    if all(alone):
        return [diff(old, new, tolerance, names)], []
    if any(alone):
        one, many = names if alone[0] else names[::-1]
        raise ResultsError(f"{one} is one experiment's folder and {many} a folder of such folders; name two of a kind")
    by_name = [{folder.name: folder for folder in folders} for folders in found]
    common = [name for name in by_name[0] if name in by_name[1]]
    if not common:
        raise ResultsError(f"{names[0]} and {names[1]} have no experiment of the same name")
    single = [
        f"Only in {names[side]}: {', '.join(left)}."
        for side in (0, 1)
        if (left := [name for name in by_name[side] if name not in common])
    ]
    pairs = [diff(by_name[0][name], by_name[1][name], tolerance, _inside(names, name)) for name in common]
    return pairs, single


def diff(old: Path, new: Path, tolerance: float = 0.0, names: tuple[str, str] | None = None) -> Difference:
    """One experiment's folder against another. ResultsError where they have no cell in common."""
    names = names or (str(old), str(new))
    protocols = load_protocols(old), load_protocols(new)
    machines = _machine(old), _machine(new)
    same_machine = None in machines or machines[0] == machines[1]
    cells, costs, notes = [], [], [*_notes(protocols), *_code_notes((old, new), names)]
    for protocol, before, after in _matched(*protocols):
        for label, one, other in _cells_of(before, after):
            where = {"protocol": protocol, **label}
            cells.append(where | _score(label, one, other, before, after, tolerance))
            costs += [where | cost for cost in _costs(one, other, before, same_machine)]
    if not any(cell["verdict"] in (*COMPARED, UNMEASURED) for cell in cells):
        raise ResultsError(f"{names[0]} and {names[1]} have no cell in common (dataset, size and method)")
    if not same_machine:
        notes.append(f"Seconds are not compared, as they are of two machines: {machines[0]}, and {machines[1]}.")
    newest = protocols[1][0][1]
    name = str(newest.config.get("name") or new.name)
    tables = pd.DataFrame(cells, columns=CELL_COLUMNS), pd.DataFrame(costs, columns=COST_COLUMNS)
    return Difference(name, newest.title, *names, tolerance, *tables, notes)


def _inside(names: tuple[str, str], experiment: str) -> tuple[str, str]:
    """``results/table3@HEAD~3`` for table3 in ``results@HEAD~3``."""
    parts = [name if Path(name).exists() else name.partition("@")[0] for name in names]
    inside = [f"{part.rstrip('/')}/{experiment}{name[len(part) :]}" for name, part in zip(names, parts, strict=True)]
    return inside[0], inside[1]


def _matched(old: Protocols, new: Protocols) -> Iterator[tuple[str, Results, Results]]:
    """The protocols that both hold, by their labels."""
    before = {tuple(sorted(labels.items())): results for labels, results in old}
    for labels, results in new:
        if (key := tuple(sorted(labels.items()))) in before:
            yield ", ".join(labels.values()), before[key], results


def _cells_of(old: Results, new: Results) -> Iterator[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]:
    """Every cell of either, with its trials there, each by its number."""
    found: dict[tuple[str, int, str], dict[int, pd.DataFrame]] = {}
    for side, results in enumerate((old, new)):
        for dataset, n_features, method, trials in every_cell(results.trials):
            found.setdefault((dataset, n_features, method), {})[side] = trials.set_index("trial")
    for (dataset, n_features, method), sides in found.items():
        some = next(iter(sides.values()))
        label = {"dataset": dataset, "size": size_label(n_features, some["multiple"].iloc[0]), "method": method}
        yield label, sides.get(0, some.iloc[:0]), sides.get(1, some.iloc[:0])


# ---- Scores ------------------------------------------------------------------------------------------------


def _score(
    cell: Mapping[str, str], old: pd.DataFrame, new: pd.DataFrame, before: Results, after: Results, tolerance: float
) -> dict[str, Any]:
    results = before if len(old) else after
    metric = results.score(cell["dataset"])
    unit = "points" if metric.unit == PERCENT else "%"
    both = [trials.get(metric.name, pd.Series(dtype=float)).dropna() for trials in (old, new)]
    paired = before.grid.setting("seed") == after.grid.setting("seed")
    if paired:
        common = both[0].index.intersection(both[1].index)
        both = [scores[common] for scores in both]
    means = [float(scores.mean()) if len(scores) else math.nan for scores in both]
    difference, low, high = _interval(both[0], both[1], paired)
    if unit == "%":
        difference, low, high = (_share(value, means[0]) for value in (difference, low, high))
    ended = new["status"].reindex(old.index[old["status"] == "ok"]).dropna() if paired else new["status"]
    failed = ended[~ended.isin(["ok", "unavailable"])].value_counts()
    lost = ", ".join(f"{count} {status}" for status, count in failed.items()) if len(old) else ""
    size = 16 * np.finfo(float).eps * np.abs(np.concatenate(both)).max(initial=0.0)  # of rounding
    same = paired and len(both[0]) > 0 and bool((np.abs(both[1] - both[0]) <= size).all())
    if lost:
        verdict = LOST
    elif not math.isnan(difference):
        verdict = SAME if same else _verdict(difference, metric, tolerance)
    else:
        verdict = ONLY_OLD if not len(new) else ONLY_NEW if not len(old) else UNMEASURED
    return {
        "metric": metric.name, "unit": unit, "old": means[0], "new": means[1],
        "trials": min(map(len, both)), "difference": difference, "low": low, "high": high,
        "lost": lost, "verdict": verdict,
    }  # fmt: skip


def _interval(old: pd.Series, new: pd.Series, paired: bool) -> tuple[float, float, float]:
    """new less old: the mean and its interval."""
    if not (len(old) and len(new)):
        return math.nan, math.nan, math.nan
    if paired:
        return float((new - old).mean()), *mean_interval(new - old)
    samples = [(float(each.mean()), float(each.std(ddof=1)), len(each)) for each in (new, old)]
    return samples[0][0] - samples[1][0], *welch_interval(*samples[0], *samples[1])


def _share(difference: float, old: float) -> float:
    """In percent of the old mean; of zero, everything is infinitely much more."""
    if old == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return 100 * difference / abs(old)


def _verdict(difference: float, metric: Metric, tolerance: float) -> str:
    if abs(difference) <= tolerance + 1e-9:  # one that equals it is within it, also after rounding
        return WITHIN
    if metric.better is None:
        return CHANGED
    return BETTER if (difference > 0) == (metric.better == "greater") else WORSE


# ---- Seconds and memory ------------------------------------------------------------------------------------


def _costs(old: pd.DataFrame, new: pd.DataFrame, results: Results, same_machine: bool) -> Iterator[dict[str, Any]]:
    apart = results.grid.exclusive == "features"  # the fit is then shared with other trials
    times = ("feature_s" if apart else "train_s", "predict_s") if same_machine else ()
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


# ---- What else a reader must know --------------------------------------------------------------------------


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
    """The keys, dotted, whose values differ in two configs, but for what changes no trial."""
    flat = [dict(_flat(config)) for config in (old, new)]
    return [key for key in dict.fromkeys((*flat[0], *flat[1])) if flat[0].get(key) != flat[1].get(key)]


def other_code(name: str, one: str, was: str, other: str, now: str) -> str:
    """That a map or solver, by its name, was not the same code in two places: which version, or which hash."""
    what = f"the file {name.rpartition(':')[0]}" if ownfile.is_own(name) else f"the code of {name}"
    return f"{what} differs between {one} ({was}) and {other} ({now})"


def code(version: Any) -> str:
    """A version as it is, or of a hash the beginning."""
    return re.sub(r"([0-9a-f]{12})[0-9a-f]{52}", r"\1", str(version))


def _code_notes(folders: tuple[Path, Path], names: tuple[str, str]) -> list[str]:
    """Which maps and solvers were other code in one folder than in the other."""
    before, after = map(_code_of, folders)
    return [
        f"{said[0].upper()}{said[1:]}."
        for part in sorted(before.keys() & after.keys())
        if (was := ", ".join(sorted(before[part]))) != (now := ", ".join(sorted(after[part])))
        for said in [other_code(part[0], names[0], was, names[1], now)]
    ]


def _code_of(folder: Path) -> dict[tuple[str, str], set[str]]:
    """The code behind a folder's trials that are ok, by the name of a map or solver and the device; rows of before
    there was a ``made_by`` say nothing of it."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in latest(each_row(folder / "trials.jsonl", left_out=lambda _: None)):
        if row["status"] == "ok":
            for part, version in (row.get("made_by") or {}).items():
                found.setdefault((row[part]["name"], row["device"]), set()).add(code(version))
    return found


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a config by their dotted keys, but for what changes no trial."""
    for key, value in config.items():
        if not prefix and key in ABOUT_SCORES:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _machine(folder: Path) -> str | None:
    """What seconds depend on: the processor and how many there are; None where no manifest says."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        return f"{manifest['cpu']}, {manifest['processors']} processors"
    except (OSError, ValueError, KeyError, TypeError):
        return None
