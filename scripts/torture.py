"""Inject faults into runs, and check that nothing is lost:

    python scripts/torture.py [--minutes N] [--seed N] [--only KIND] [--patience N] [--write]
    python scripts/torture.py --add TALLY...

Injects one fault after the other for three hours, or --minutes. The next kind is always the one that has had the least
time; each kind runs at least once. faults.py, stops.py, changes.py, misdeeds.py and environments.py of tests/helpers
cause the faults and check the promises. A fault that lost something is printed, with the folder as it was left. At the
end the tally is printed as JSON; the exit status is 1 if something was lost. Every campaign draws its own seed, and so
other faults, unless --seed gives one.

With --write the tally is added to those of earlier campaigns in docs/reliability.json, and docs/reliability.md is made
from all of them. --add does the same with printed tallies. Kinds whose faults were made by other code are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import platform
import random
import secrets
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import rffbench  # noqa: E402
from rffbench.execution.environment import git_commit  # noqa: E402
from rffbench.execution.failure import without_folders  # noqa: E402
from tests.helpers import changes, environments, faults, misdeeds  # noqa: E402
from tests.helpers.faults import Lost, Place, Skipped, workshop  # noqa: E402
from tests.helpers.random_grids import grids  # noqa: E402
from tests.helpers.stops import stops  # noqa: E402

PAGE = ROOT / "docs" / "reliability.md"
TALLY = PAGE.with_suffix(".json")
MADE_BY = ("faults.py", "misbehaving.py", "web_server.py")  # in tests/helpers: they cause faults and check the promises
KINDS = {
    **faults.KINDS, "stops": stops, **changes.KINDS, "own_files": misdeeds.own_files, "grids": grids,
    **environments.KINDS,
}  # fmt: skip
PROMISES = {  # on the page; not in MADE_BY, where a changed word would be another version of the faults
    "signals": "Signals (KILL, TERM, INT) are sent at any moment, several times in a row, to the run, to one of its "
    "workers, to the process that forks workers, or to the one that tracks their locks; a second run is started beside "
    "the first. All processes of the run end with it. The same command carries on (with `--retry-failed` if a worker "
    "was hit).",
    "torn": "The last line of a log is cut off anywhere, or is followed by the remains of a power cut: zeros, half a "
    "line, half a character. The run carries on, and measures only the cut-off trial again.",
    "folder": "The temporary folder is removed during a run. The run continues, or stops with a message. No trial is "
    "blamed.",
    "disk": "The disk of the results, the cache and the temporary folder fills up. The run stops with a message, or "
    "leaves rows that the same command repeats once there is room.",
    "plugins": "Feature maps and solvers of another package raise, exit, crash, hang, use up memory, change their "
    "inputs, or return nonsense. Each of their trials leaves one row, the scores of other methods are unchanged, and "
    "the results can be read.",
    "configs": "Lines of a valid config are left out, doubled or moved, and values are replaced by hostile text. The "
    "config is still valid, or is refused with a message.",
    "servers": "A server sends answers that are cut off, changed in a few bytes, have another status, or are not HTTP; "
    "the next server has the file. The right file arrives, or the dataset is an error. No partial file stays in the "
    "cache.",
    "stops": "The run, its workers, or the process that forks them are stopped for moments, as on an overloaded "
    "machine, while `timing: features` pauses workers for each other. The run ends by itself, and every score is "
    "equal.",
    "replaced": "During a run its log is compressed by `xz -9`, rewritten by `sed -i`, saved in an older state by an "
    "editor, overwritten in place, moved away or removed, several times. The run ends with all of its rows in the "
    "current log, or stops with a message, and the same command carries on.",
    "powercuts": "The power fails at any write of a run or a merge. Unsynced data is lost, and file names are the "
    "current ones or those of the folder's last sync. No row that was reported is lost, no empty file is in the way, "
    "a merged folder is complete or absent, and the same command carries on to equal scores.",
    "freezes": "All processes of a run, or only the main one, are stopped for longer than a trial may take, as in a "
    "paused container or a sleeping laptop. No trial is a timeout, and every score is equal.",
    "mutated": "Between two runs the arrays in the cache are changed: a byte is flipped, or arrays are cut off, zeroed "
    "or exchanged, with the same size and time as before. No trial uses them: the run makes them again, or says that "
    "it cannot.",
    "cousers": "Another user of a shared folder puts symbolic links, hard links, pipes or folders in the place of "
    "files that a run, a table or the cache writes. No other file is written to, and no command hangs.",
    "commands": "The commands that read (table, compare, plot, diff, history, report, record, merge, run --dry-run) "
    "get a results folder whose log, manifest or config has flipped, zeroed, cut-off or doubled bytes, or is a pipe. "
    "Each command ends in time with a result or a message, and never with exit status 70, a defect.",
    "bombs": "A log or a data file of a few kB unpacks to a line of hundreds of MB, to blank lines, to zeros or to "
    "thousands of empty streams, after its rows or without any. Commands that read it end soon, with a message or with "
    "its rows.",
    "unlocked": "Two runs write into one folder at the same time, on a file system without locks. Each ends well or "
    "says that there is another one. No trial is in the log twice, no row is lost, and the same command carries on.",
    "surroundings": "Variables that Jupyter, a container or another program has left: a backend of matplotlib that is "
    "not installed, damaged settings, a home that cannot be written to, odd terminals and languages. The run ends "
    "well, with equal scores, its tables and its figures.",
    "own_files": "Feature maps in files of the user's own replace functions of libraries, change settings of the "
    "process, leave timers and limits behind, or write to rows by their address. Each of their trials leaves one row, "
    "and the scores of other methods are unchanged.",
    "grids": "Configs are drawn at random: methods, variants of a sweep, sizes, kernels and their options, a bandwidth "
    "that is given, follows a rule or is chosen. Their trials run in random order, in parts, and with a bandwidth that "
    "an earlier part has chosen. Each trial has the scores that it has alone.",
}
COUNTS = ("rounds", "tried", "lost")


@cache
def version(kind: str) -> str:
    """A hash of the code that makes the faults of a kind. Only campaigns with the same one are added up."""
    files = dict.fromkeys([*MADE_BY, Path(inspect.getfile(KINDS[kind])).name])
    sources = b"".join((ROOT / "tests" / "helpers" / each).read_bytes() for each in files)
    return hashlib.sha256(sources).hexdigest()[:12]


def campaign(kinds: list[str], minutes: float, seed: int, patience: float = 1.0) -> dict[str, Any]:
    """Inject faults of these kinds for this time; return the tally."""
    tally: dict[str, Any] = {
        kind: {"faults": version(kind), "rounds": 0, "tried": 0, "lost": 0, "seconds": 0.0} for kind in kinds
    }
    losses: list[dict[str, Any]] = []
    with workshop(patience) as work:
        started = time.monotonic()
        while kinds:
            kind = min(kinds, key=lambda each: tally[each]["seconds"])
            if tally[kind]["rounds"] and time.monotonic() - started > 60 * minutes:
                break
            count = tally[kind]
            count["rounds"] += 1
            at = time.monotonic()
            place = Place(work / f"{kind}-{count['rounds']}")
            tried: list[str] = []
            try:
                for fault in KINDS[kind](place, random.Random(f"{seed} {kind} {count['rounds']}")):
                    tried.append(fault)
            except Skipped as why:
                count["skipped"] = str(why)
                kinds.remove(kind)
            except Exception as error:
                what = str(error) if isinstance(error, Lost) else f"{type(error).__name__}: {error}"
                count["lost"] += 1
                losses.append({"kind": kind, "round": count["rounds"], "faults": tried, "lost": without_folders(what)})
                kept = Path(tempfile.mkdtemp(prefix="torture-")) / "as-left"
                shutil.copytree(place.folder, kept, symlinks=True, ignore=_special)
                print(
                    f"{kind}, round {count['rounds']}, {', '.join(tried)}: {what}\n  as left: {kept}", file=sys.stderr
                )
            count["tried"] += len(tried)
            shutil.rmtree(place.folder, ignore_errors=True)
            count["seconds"] += time.monotonic() - at
    for count in tally.values():
        count["seconds"] = round(count["seconds"], 1)
    return {
        "commit": git_commit(), "rffbench": rffbench.__version__,
        "python": platform.python_version(), "os": platform.platform(),
        "processors": os.cpu_count(), "date": datetime.now(UTC).date().isoformat(), "seed": seed,
        "minutes": round((time.monotonic() - started) / 60, 1), "kinds": tally, "losses": losses,
    }  # fmt: skip


def _special(folder: str, names: list[str]) -> list[str]:
    """Sockets and pipes, which cannot be copied."""
    paths = {name: Path(folder, name) for name in names}
    return [name for name, path in paths.items() if not (path.is_file() or path.is_dir() or path.is_symlink())]


def known(campaigns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each campaign once, by date, with the kinds whose faults are made by the current code."""
    mine = {}
    for each in campaigns:
        kinds = {
            kind: count for kind, count in each["kinds"].items() if kind in KINDS and count["faults"] == version(kind)
        }
        losses = [loss for loss in each["losses"] if loss["kind"] in kinds]
        if kinds:
            mine[each["commit"], each["seed"]] = {**each, "kinds": kinds, "losses": losses}
    return sorted(mine.values(), key=lambda each: each["date"])


def page(campaigns: list[dict[str, Any]]) -> str:
    """docs/reliability.md."""
    minutes = sum(each["minutes"] for each in campaigns)
    kinds = [kind for kind in KINDS if any(kind in each["kinds"] for each in campaigns)]
    sums = {kind: _summed([each["kinds"][kind] for each in campaigns if kind in each["kinds"]]) for kind in kinds}
    together = _summed(list(sums.values()))
    but = f" but {together['lost']:,}" if together["lost"] else ""
    lines = [
        "# Reliability\n",
        f"**Of {together['tried']:,} faults on purpose, rffbench survived all{but}.** Each kind of fault has a",
        "[promise](#faults-and-promises) that it must keep.\n",
        f"{len(campaigns)} campaign{'s' if len(campaigns) != 1 else ''} with the same kinds of faults ran for",
        f"{minutes:.0f} minutes in total. Each campaign has its own seed, and so its own faults.",
        "`python scripts/torture.py --write` makes them and this page; the numbers are in `reliability.json`.\n",
        "| kind | faults tried | survived | lost |",
        "|---|--:|--:|--:|",
        *(_row(kind, count) for kind, count in sums.items()),
        _row("**total**", together),
        "\n## Campaigns\n",
        "| day | commit | seed | minutes | faults tried | lost | machine |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for each in campaigns:
        count = _summed(list(each["kinds"].values()))
        machine = f"Python {each['python']}, {each['os']}, {each['processors']} processors"
        commit = f"`{each['commit'][:10]}`" if each["commit"] else "–"
        counted = f"{each['minutes']:g} | {count['tried']} | {count['lost']}"
        lines.append(f"| {each['date']} | {commit} | {each['seed']} | {counted} | {machine} |")
    lines.append("\n## Faults and promises\n")
    for kind in kinds:
        lines.append(f"**{kind}.** {PROMISES[kind]}")
        skipped = {each["kinds"].get(kind, {}).get("skipped") for each in campaigns} - {None}
        lines += [f"Not tried everywhere: {why}." for why in sorted(skipped)]
        lines.append("")
    if together["lost"]:
        lines.append("## What was lost\n")
        for each in campaigns:
            for loss in each["losses"]:
                first, *_ = loss["lost"].splitlines()
                mended = f" Fixed: {loss['mended']}." if "mended" in loss else ""
                lines.append(
                    f"- seed {each['seed']}, {loss['kind']}, round {loss['round']}, {', '.join(loss['faults'])}: "
                    f"{first[:300]}.{mended}"
                )
    return "\n".join(lines).rstrip() + "\n"


def _summed(counts: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(count[name] for count in counts) for name in COUNTS}


def _row(kind: str, count: dict[str, int]) -> str:
    return f"| {kind} | {count['tried']} | {count['tried'] - count['lost']} | {count['lost']} |"


def write(campaigns: list[dict[str, Any]]) -> None:
    """Add these campaigns to docs/reliability.json, and make docs/reliability.md from it."""
    earlier = json.loads(TALLY.read_text(encoding="utf-8"))["campaigns"] if TALLY.exists() else []
    every = known([*earlier, *campaigns])
    TALLY.write_text(json.dumps({"campaigns": every}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(every), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=180)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="[default: another each time]")
    parser.add_argument("--only", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--patience", type=float, default=1, help="times the limits of trials, on a busy machine")
    parser.add_argument("--write", action="store_true", help="docs/reliability.json and docs/reliability.md")
    parser.add_argument("--add", nargs="+", type=Path, metavar="TALLY", help="write the tallies that were printed")
    asked = parser.parse_args()
    if asked.add:
        write([json.loads(path.read_text(encoding="utf-8")) for path in asked.add])
        return 0
    tally = campaign([asked.only] if asked.only else list(KINDS), asked.minutes, asked.seed, asked.patience)
    print(json.dumps(tally, indent=2, ensure_ascii=False))
    if asked.write:
        write([tally])
    return int(bool(tally["losses"]))


if __name__ == "__main__":
    sys.exit(main())
