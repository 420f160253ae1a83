"""Faults on purpose, and what becomes of a run:

    python scripts/torture.py [--minutes N] [--seed N] [--only KIND] [--write]
    python scripts/torture.py --add TALLY...

Fault after fault, the kind that has had the least time next, for three hours unless told otherwise, and each kind once
at least. What is done of each kind, and what is asked of rffbench then, stands in faults.py, stops.py and changes.py
of tests/helpers. Each fault that something was lost by is printed, with the folder as it was left, and in the end the
tally as JSON; exit status 1 says that something was lost. Every campaign has a seed of its own unless one is given, and
so other faults.

With --write the tally joins those of earlier campaigns in docs/reliability.json, and docs/reliability.md is made from
all of them; so do tallies that were printed, with --add. Kinds whose faults were made by other code are left out.
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
from tests.helpers import changes, faults  # noqa: E402
from tests.helpers.faults import Lost, Place, Skipped, workshop  # noqa: E402
from tests.helpers.stops import stops  # noqa: E402

PAGE = ROOT / "docs" / "reliability.md"
TALLY = PAGE.with_suffix(".json")
MADE_BY = ("faults.py", "misbehaving.py", "web_server.py")  # in tests/helpers: what makes faults, and asks what is kept
KINDS = {**faults.KINDS, "stops": stops, **changes.KINDS}
COUNTS = ("rounds", "tried", "lost")


@cache
def version(kind: str) -> str:
    """What makes the faults of a kind: equal for campaigns of which it can be summed."""
    files = dict.fromkeys([*MADE_BY, Path(inspect.getfile(KINDS[kind])).name])
    sources = b"".join((ROOT / "tests" / "helpers" / each).read_bytes() for each in files)
    return hashlib.sha256(sources).hexdigest()[:12]


def campaign(kinds: list[str], minutes: float, seed: int) -> dict[str, Any]:
    """Faults of these kinds for so long; the tally."""
    tally: dict[str, Any] = {
        kind: {"faults": version(kind), "rounds": 0, "tried": 0, "lost": 0, "seconds": 0.0} for kind in kinds
    }
    losses: list[dict[str, Any]] = []
    with workshop() as work:
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
    """Each once, in the order of their days, with the kinds whose faults are made as they are now."""
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
    lines = [
        "# Reliability\n",
        "Written by `python scripts/torture.py --write`; the numbers are in `reliability.json`. The script does to",
        "rffbench what happens to programs, fault after fault, and holds it to what is promised.\n",
        f"**{len(campaigns)} campaign{'s' if len(campaigns) != 1 else ''}** of the same faults ran for",
        f"**{minutes:.0f} minutes** together, each with a seed and so with faults of its own.\n",
        "| kind | faults tried | survived | lost |",
        "|---|--:|--:|--:|",
        *(_row(kind, count) for kind, count in sums.items()),
        _row("**together**", together := _summed(list(sums.values()))),
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
    lines.append("\n## What is done, and what is promised\n")
    for kind in kinds:
        lines.append(f"**{kind}.** {' '.join((KINDS[kind].__doc__ or '').split())}")
        skipped = {each["kinds"].get(kind, {}).get("skipped") for each in campaigns} - {None}
        lines += [f"Not tried everywhere: {why}." for why in sorted(skipped)]
        lines.append("")
    if together["lost"]:
        lines.append("## What was lost\n")
        for each in campaigns:
            for loss in each["losses"]:
                first, *_ = loss["lost"].splitlines()
                mended = f" Mended: {loss['mended']}." if "mended" in loss else ""
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
    """These campaigns, behind those of earlier: docs/reliability.json and docs/reliability.md."""
    earlier = json.loads(TALLY.read_text(encoding="utf-8"))["campaigns"] if TALLY.exists() else []
    every = known([*earlier, *campaigns])
    TALLY.write_text(json.dumps({"campaigns": every}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(every), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=180)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="[default: another each time]")
    parser.add_argument("--only", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--write", action="store_true", help="docs/reliability.json and docs/reliability.md")
    parser.add_argument("--add", nargs="+", type=Path, metavar="TALLY", help="write the tallies that were printed")
    asked = parser.parse_args()
    if asked.add:
        write([json.loads(path.read_text(encoding="utf-8")) for path in asked.add])
        return 0
    tally = campaign([asked.only] if asked.only else list(KINDS), asked.minutes, asked.seed)
    print(json.dumps(tally, indent=2, ensure_ascii=False))
    if asked.write:
        write([tally])
    return int(bool(tally["losses"]))


if __name__ == "__main__":
    sys.exit(main())
