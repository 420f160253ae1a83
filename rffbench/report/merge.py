"""Shards of one experiment, run by several processes or machines into folders of their own, joined into one."""

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

from rffbench import files, yamlfile
from rffbench.config.values import repeated
from rffbench.errors import ConfigError, ResultsError
from rffbench.execution.log import Row, cell, line_of, read_rows
from rffbench.execution.manifest import runs_of
from rffbench.papers.recorded import is_path
from rffbench.report.diff import MOST_KEYS, changed_keys, code, other_code
from rffbench.report.frame import experiment_folders
from rffbench.text import canonical_json, first_of
from rffbench.trials.metrics import MAP_MEASURES, SCORES
from rffbench.trials.spec import TrialSpec

ROUNDING = 1e-5  # relative: kernel errors are the same in single precision alone
ROUNDING_OF_ZERO = 1e-12  # the error of a map that is exact is rounding alone


@dataclass(frozen=True)
class Merged:
    """A folder made of shards: how many trials it holds, and how many of them were in several shards."""

    folder: Path
    trials: int
    repeated: int


def merge(shards: Sequence[Path], into: Path) -> list[Merged]:
    """Join shards into a new folder; where they are folders of experiments, each experiment under its name.

    The shards' configs must be the same, but for the title, the reference and the significance, which are the first
    one's. A trial that is in several shards is one row: one that is ok, where there is one. The manifests are kept: the
    newest run's, with all others under ``earlier_runs``. Nothing is written where anything is refused: ResultsError
    for two configs, for a trial with two scores, for a feature map or solver that was other code in another shard, and
    for an ``into`` that is there already.
    """
    places = [Path(shard).resolve() for shard in shards]
    if twice := repeated(places):
        raise ResultsError(f"{twice}: is given twice; shards are several folders")
    if inside := set(places) & set(into.resolve().parents):
        raise ResultsError(f"{into}: lies in {inside.pop()}, which is to be merged; merge into a folder elsewhere")
    found = [experiment_folders(shard) for shard in shards]
    alone = [folders == [shard] for folders, shard in zip(found, shards, strict=True)]
    if all(alone):
        return [_merged(shards, into)]
    if any(alone):
        single, many = shards[alone.index(True)], shards[alone.index(False)]
        raise ResultsError(f"{single} is one experiment's folder and {many} a folder of such folders; name one kind")
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
    part = into.with_name(f".{into.name}.{secrets.token_hex(8)}")  # seen whole or not at all
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
    """One row of every key, in the shards' order; and how many keys were in several shards."""
    chosen: dict[str, tuple[Path, Row]] = {}
    of_cell: dict[Any, tuple[Path, Row]] = {}
    makers: dict[Any, tuple[Path, Any]] = {}
    repeated: set[str] = set()
    for shard in shards:
        for key, row in {row["key"]: row for row in read_rows(shard / "trials.jsonl")}.items():
            if key in chosen:
                repeated.add(key)
                other, before = chosen[key]
                if before["status"] == row["status"] == "ok":
                    _refuse_two_scores(other, before, shard, row)
                if before["status"] == "ok":
                    continue
            if row["status"] == "ok" and not swept:  # a sweep measures a cell in several ways
                other, before = of_cell.setdefault(cell(row), (shard, row))
                if before["key"] != key and other != shard:
                    _refuse_two_specs(other, before, shard, row)
            if row["status"] == "ok":
                _refuse_other_code(makers, shard, row)
            chosen[key] = (shard, row)
    return [row for _, row in chosen.values()], len(repeated)


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
        f"{spec.label}: was measured with {name} {canonical_json(was)} in {one} and {canonical_json(now)} in {other}"
    )


def _refuse_other_code(makers: dict[Any, tuple[Path, Any]], shard: Path, row: Row) -> None:
    """``makers`` holds, of what the rows so far were made by, the shard that had it first and which code it was there;
    rows of before there was a ``made_by`` say nothing of it."""
    for part, version in (row.get("made_by") or {}).items():
        other, before = makers.setdefault((row["method"], part, row[part]["name"], row["device"]), (shard, version))
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
