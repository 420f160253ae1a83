"""The page's record of an experiment: its machine, code and runs, its failures, and the command that repeats it."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from rffbench import __version__
from rffbench.errors import amount
from rffbench.execution.log import cell as cell_of
from rffbench.execution.log import each_row
from rffbench.report.frame import Protocols, size_label
from rffbench.report.page.sheet import Cell, Line, Sheet

MOST_FAILURES = 50  # different messages that are listed

_Record = dict[str, Any]


def facts_of(runs: list[_Record]) -> list[tuple[str, str]]:
    """The newest run's machine and software, as names and values; empty without a manifest."""
    if not runs:
        return []
    run = runs[-1]
    memory = run.get("memory_bytes")
    packages = run.get("packages") if isinstance(run.get("packages"), dict) else {}
    blas = run.get("blas") if isinstance(run.get("blas"), list) else []
    facts = {
        "rffbench": run.get("rffbench"),
        "commit": run.get("git_commit"),
        "Python": run.get("python"),
        "packages": ", ".join(f"{name} {version}" for name, version in (packages or {}).items() if version),
        "processor": f"{run.get('cpu')}, {run.get('processors')} of {run.get('processors_total')} processors used",
        "memory": amount(memory) if isinstance(memory, int) else None,
        "GPUs": ", ".join(map(str, run.get("gpus") or [])),
        "BLAS": "; ".join(
            f"{each.get('internal_api')} {each.get('version') or ''}, {each.get('num_threads')} threads"
            for each in blas or []
            if isinstance(each, dict)
        ),
        "system": run.get("os"),
        "executor": f"{run.get('executor') or 'local'}, {run.get('workers')} workers",
        "started": run.get("started"),
        "finished": run.get("finished"),
    }
    return [(name, str(value)) for name, value in facts.items() if value]


def runs_sheet(runs: list[_Record]) -> Sheet | None:
    """All runs into the folder, newest first; None if there is only one."""
    if len(runs) < 2:
        return None
    sheet = Sheet("Runs into this folder", ["started", "finished", "commit", "rffbench", "processor", "trials"])
    for run in reversed(runs):
        statuses = run.get("statuses") if isinstance(run.get("statuses"), dict) else {}
        trials = ", ".join(f"{count} {status}" for status, count in (statuses or {}).items())
        texts = (run.get("started"), run.get("finished"), str(run.get("git_commit") or "")[:12], run.get("rffbench"),
                 run.get("cpu"), trials)  # fmt: skip
        sheet.lines.append(Line([Cell(str(text or "")) for text in texts]))
    return sheet


def command_of(place: str, name: str, runs: list[_Record]) -> str:
    """The commands that repeat the newest run, with its code and the config in its folder, and compare the results."""
    run = runs[-1] if runs else {}
    options = ["--results", "again"]
    if run.get("executor") in ("local", "serial"):
        options += ["--executor", str(run["executor"])]
        options += ["--workers", str(run["workers"])] if run["executor"] == "local" and run.get("workers") else []
    if isinstance(only := run.get("only"), list):
        options += [part for each in only for part in ("--only", str(each))]
    commit = re.fullmatch(r"([0-9a-f]{7,40})(-dirty)?", str(run.get("git_commit") or ""))
    lines = []
    if commit:
        changed = ", with changes that were not committed" if commit[2] else ""
        lines.append(f"git checkout {commit[1]}   # of rffbench{changed}")
    folder = place if Path(place).is_dir() else place.partition("@")[0]
    lines.append(shlex.join(["rffbench", "run", f"{folder}/config.yaml", *options]))
    lines.append(shlex.join(["rffbench", "diff", place, f"again/{name}"]))
    return "\n".join(lines)


def newer_version(runs: list[_Record]) -> str:
    """The newest run's version of rffbench, if that is newer than this one; else empty."""
    version = str(runs[-1].get("rffbench") or "") if runs else ""
    return version if _numbers(version) > _numbers(__version__) else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def written_by(newer: str) -> str:
    return f"written by rffbench {newer}, which is newer than this one, {__version__}"


def failures_sheet(protocols: Protocols) -> Sheet | None:
    """The messages of failed trials, each with its trials; None if all are ok."""
    place = ["dataset", "method", "n_features", "trial"]
    lost = [
        set(each.trials.loc[each.trials["status"] != "ok", place].itertuples(index=False, name=None))
        for _, each in protocols
    ]
    if not any(lost):
        return None
    ended: dict[Any, _Record] = {}
    for row in each_row(protocols[0][1].folder / "trials.jsonl", lambda _: None):
        for number, (mine, (_, each)) in enumerate(zip(lost, protocols, strict=True)):
            if cell_of(row) in mine and each.grid.wants(row):
                ended[number, cell_of(row)] = row
    groups: dict[tuple[str, str], list[str]] = {}
    for row in ended.values():
        error = row.get("error") or {}
        message = f"{error['type']}: {error['message']}" if error else ""
        size = size_label(row["n_features"], row.get("multiple"))
        groups.setdefault((row["status"], message), []).append(f"{row['dataset']} {size} {row['method']}")
    sheet = Sheet("Failures", ["trials", "status", "message", "where"], chosen_by=("status",))
    for (status, message), where in sorted(groups.items(), key=lambda group: -len(group[1]))[:MOST_FAILURES]:
        places = ", ".join(f"{each} × {times}" for each, times in Counter(where).items())
        count = Cell(str(len(where)), len(where))
        sheet.lines.append(Line([count, Cell(status, tone="bad"), Cell(message), Cell(places)]))
    if len(groups) > MOST_FAILURES:
        sheet.notes = [f"{len(groups) - MOST_FAILURES} more messages are in trials.jsonl."]
    return sheet
