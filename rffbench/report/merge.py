"""Joins shards of one experiment, which several processes or machines ran into separate folders."""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rffbench.config.values import repeated
from rffbench.errors import ConfigError, ResultsError
from rffbench.execution.log import Row, cell, read_rows
from rffbench.execution.manifest import runs_of
from rffbench.execution.places import experiment_folders
from rffbench.execution.row import line_of
from rffbench.io import files, yamlfile
from rffbench.io.text import first_of
from rffbench.papers.recorded import is_path
from rffbench.report.diff import MOST_KEYS, changed_keys, code, other_code
from rffbench.stats.session import sessions
from rffbench.trials.metrics import MAP_MEASURES, SCORES
from rffbench.trials.spec import TrialSpec, in_words

ROUNDING = 1e-5  # relative: kernel errors are equal only in single precision
ROUNDING_OF_ZERO = 1e-12  # absolute: the error of an exact map is rounding


@dataclass(frozen=True)
class Merged:
    """A folder made of shards, its number of trials, and how many of these were in several shards."""

    folder: Path
    trials: int
    repeated: int


def merge(shards: Sequence[Path], into: Path) -> list[Merged]:
    """Join shards into a new folder. If they are folders of experiments, each experiment gets a folder with its name.

    The shards' configs must be equal, except for title, reference and significance, which are taken from the first
    shard. A trial that is in several shards becomes one row, with status ok if any is; but of seconds that were
    measured in several sessions (`rffbench.stats.sessions`), each stays. The manifest is the newest run's, with all
    others under ``earlier_runs``. ResultsError, and nothing is written, if the configs differ, a trial has two scores,
    the code of a feature map or solver differs between shards, but for such sessions, or ``into`` exists.
    """
    places = [Path(shard).resolve() for shard in shards]
    if twice := repeated(places):
        raise ResultsError(f"{twice}: is given twice; shards are several folders")
    if inside := set(places) & set(into.resolve().parents):
        raise ResultsError(f"{into}: lies in {inside.pop()}, which is to be merged; merge into a folder elsewhere")
    found = [experiment_folders(shard) for shard in shards]
    single = [folders == [shard] for folders, shard in zip(found, shards, strict=True)]
    if all(single):
        return [_merged(shards, into)]
    if any(single):
        one, many = shards[single.index(True)], shards[single.index(False)]
        raise ResultsError(f"{one} is one experiment's folder and {many} a folder of such folders; name one kind")
    by_name: dict[str, list[Path]] = {}
    for folders in found:
        for folder in folders:
            by_name.setdefault(folder.name, []).append(folder)
    return [_merged(folders, into / name) for name, folders in by_name.items()]


def _merged(shards: Sequence[Path], into: Path) -> Merged:
    if into.exists():
        raise ResultsError(f"{into}: is there already; merge into a new folder")
    configs = [_config(shard) for shard in shards]
    for shard, config in zip(shards[1:], configs[1:], strict=True):
        if keys := changed_keys(configs[0], config):
            raise ResultsError(
                f"{shards[0]} and {shard} are no shards of one experiment: their configs differ in "
                f"{first_of(keys, MOST_KEYS, 'more keys')}"
            )
    rows, repeated = _rows(shards, swept=bool(configs[0].get("sweep")))
    config, manifest = dict(configs[0]), _manifest(shards)
    if (reference := config.get("reference")) and is_path(reference):
        config["reference"] = os.path.relpath(shards[0] / reference, into)
    part = into.with_name(f".{into.name}.{secrets.token_hex(8)}")  # moved to `into` when it is complete
    try:
        files.make_folder(into.parent)
        part.mkdir()
        files.replace(part / "config.yaml", yamlfile.dump(config))
        files.replace(part / "trials.jsonl", map(line_of, rows))
        if manifest:
            files.replace(part / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        files.move(part, into)
    except OSError as error:
        raise ResultsError(f"{into}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Merged(into, len(rows), repeated)


def _config(shard: Path) -> dict[str, Any]:
    path = shard / "config.yaml"
    try:
        config = yamlfile.read(path)
    except ConfigError as error:
        raise ResultsError(str(error)) from None
    if not isinstance(config, dict):
        raise ResultsError(f"{path}: not an experiment: it must have datasets and methods")
    return config


# ---- Trials ------------------------------------------------------------------------------------------------


def _rows(shards: Sequence[Path], swept: bool) -> tuple[list[Row], int]:
    """One row per key, in the shards' order, and the number of keys that were in several shards. A trial that was
    timed in several sessions has a row of each, the last one last."""
    chosen: dict[tuple[str, int], tuple[Path, Row]] = {}
    scored: dict[str, tuple[Path, Row]] = {}
    of_cell: dict[Any, tuple[Path, Row]] = {}
    makers: dict[Any, tuple[Path, Any]] = {}
    repeated: set[str] = set()
    logs = [read_rows(shard / "trials.jsonl") for shard in shards]
    finished = [str(row.get("finished") or "") for log in logs for row in log]
    session = dict(zip(finished, sessions(finished).tolist(), strict=True))

    def place(row: Row) -> tuple[str, int]:
        timed = row["status"] == "ok" and row["timing_mode"] != "shared"
        return row["key"], session[str(row.get("finished") or "")] if timed else 0

    for shard, log in zip(shards, logs, strict=True):
        for (key, number), row in {place(row): row for row in log}.items():
            other, before = chosen.get((key, number)) or scored.get(key) or (shard, row)
            if other != shard:
                repeated.add(key)
                if before["status"] == row["status"] == "ok":
                    _refuse_two_scores(other, before, shard, row)
            if (key, number) in chosen and before["status"] == "ok":
                continue
            if row["status"] == "ok":
                scored.setdefault(key, (shard, row))
                if not swept:  # the protocols of a sweep have the same cells
                    other, before = of_cell.setdefault(cell(row), (shard, row))
                    if before["key"] != key and other != shard:
                        _refuse_two_specs(other, before, shard, row)
                _refuse_other_code(makers, shard, row, number)
            chosen[key, number] = (shard, row)
    kept = [each for each, (_, row) in chosen.items() if row["status"] == "ok" or row["key"] not in scored]
    if len({key for key, _ in kept}) < len(kept):
        kept.sort(key=lambda each: each[1])
    return [chosen[each][1] for each in kept], len(repeated)


def _refuse_two_scores(one: Path, before: Row, other: Path, row: Row) -> None:
    for name in (*SCORES, *MAP_MEASURES):
        values = [each["metrics"].get(name) for each in (before, row)]
        if values[0] == values[1] or (
            None not in values and math.isclose(*values, rel_tol=ROUNDING, abs_tol=ROUNDING_OF_ZERO)
        ):
            continue
        raise ResultsError(
            f"{TrialSpec.from_row(row).label}: {name} is {values[0]} in {one} and {values[1]} in {other}; the same "
            "trial must come out the same: leave the shard out that is wrong"
        )


def _refuse_two_specs(one: Path, before: Row, other: Path, row: Row) -> None:
    spec = TrialSpec.from_row(row)
    name, was, now = TrialSpec.from_row(before).difference(spec)
    if name == "source":
        raise _two_codes(row, "features", one, was, other, now)
    raise ResultsError(
        f"{spec.label}: was measured with {name} {in_words(name, was)} in {one} and {in_words(name, now)} in {other}"
    )


def _refuse_other_code(makers: dict[Any, tuple[Path, Any]], shard: Path, row: Row, session: int) -> None:
    """``makers`` holds, for each map and solver of a session's rows so far, the first shard that has it and its code's
    version there. Rows of older versions of rffbench, without ``made_by``, are not checked."""
    for part, version in (row.get("made_by") or {}).items():
        other, before = makers.setdefault(
            (session, row["method"], part, row[part]["name"], row["device"]), (shard, version)
        )
        if version != before and other != shard:
            raise _two_codes(row, part, other, before, shard, version)


def _two_codes(row: Row, part: str, one: Path, was: Any, other: Path, now: Any) -> ResultsError:
    differs = other_code(row[part]["name"], str(one), code(was), str(other), code(now))
    return ResultsError(
        f"{row['method']}: {differs}; run the one that is out of date again, which measures such trials anew"
    )


# ---- Manifests ---------------------------------------------------------------------------------------------


def _manifest(shards: Sequence[Path]) -> Mapping[str, Any] | None:
    runs = sorted((run for shard in shards for run in runs_of(shard)), key=lambda run: str(run.get("started") or ""))
    return {**runs[-1], "earlier_runs": runs[:-1]} if runs else None
