"""Faults on purpose, and what becomes of a run:

    python scripts/torture.py [--minutes N] [--seed N] [--only KIND] [--write]

Fault after fault, the kind that has had the least time next, for three hours unless told otherwise, and each kind once
at least. What is done of each kind, and what is asked of rffbench then, stands in tests/helpers/faults.py. Told is each
fault that something was lost by, with the folder as it was left, and in the end the tally as JSON; exit status 1 says
that something was lost. With --write the tally goes to docs/reliability.json, and docs/reliability.md is made from it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import rffbench  # noqa: E402
from tests.helpers.faults import KINDS, Lost, Place, Skipped, workshop  # noqa: E402

PAGE = ROOT / "docs" / "reliability.md"
TALLY = PAGE.with_suffix(".json")


def campaign(kinds: list[str], minutes: float, seed: int) -> dict[str, Any]:
    """Faults of these kinds for so long; the tally."""
    tally: dict[str, Any] = {kind: {"rounds": 0, "tried": 0, "lost": 0, "seconds": 0.0} for kind in kinds}
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
                losses.append({"kind": kind, "round": count["rounds"], "faults": tried, "lost": what})
                kept = Path(tempfile.mkdtemp(prefix="torture-")) / "as-left"
                shutil.copytree(place.folder, kept, symlinks=True)
                print(
                    f"{kind}, round {count['rounds']}, {', '.join(tried)}: {what}\n  as left: {kept}", file=sys.stderr
                )
            count["tried"] += len(tried)
            shutil.rmtree(place.folder, ignore_errors=True)
            count["seconds"] += time.monotonic() - at
    for count in tally.values():
        count["seconds"] = round(count["seconds"], 1)
    return {
        "rffbench": rffbench.__version__, "python": platform.python_version(), "os": platform.platform(),
        "processors": os.cpu_count(), "date": datetime.now(UTC).date().isoformat(), "seed": seed,
        "minutes": round((time.monotonic() - started) / 60, 1), "kinds": tally, "losses": losses,
    }  # fmt: skip


def page(tally: dict[str, Any]) -> str:
    """docs/reliability.md."""
    lines = [
        "# Reliability\n",
        "Written by `python scripts/torture.py --write`; the numbers are in `reliability.json`. The script does to",
        "rffbench what happens to programs, fault after fault, and holds it to what is promised.\n",
        f"The last campaign ran for **{tally['minutes']:g} minutes** (seed {tally['seed']}) on {tally['date']}:",
        f"rffbench {tally['rffbench']}, Python {tally['python']}, {tally['os']}, {tally['processors']} processors.\n",
        "| kind | faults tried | survived | lost |",
        "|---|--:|--:|--:|",
    ]
    counts = tally["kinds"]
    lines += [f"| {kind} | {n['tried']} | {n['tried'] - n['lost']} | {n['lost']} |" for kind, n in counts.items()]
    tried, lost = (sum(count[name] for count in counts.values()) for name in ("tried", "lost"))
    lines += [f"| **together** | {tried} | {tried - lost} | {lost} |\n", "## What is done, and what is promised\n"]
    for kind in counts:
        lines.append(f"**{kind}.** {' '.join((KINDS[kind].__doc__ or '').split())}")
        if why := counts[kind].get("skipped"):
            lines.append(f"Not tried: {why}.")
        lines.append("")
    if tally["losses"]:
        lines.append("## What was lost\n")
        for each in tally["losses"]:
            first, *_ = each["lost"].splitlines()
            lines.append(f"- {each['kind']}, round {each['round']}, {', '.join(each['faults'])}: {first[:300]}")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=180)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--write", action="store_true", help="docs/reliability.json and docs/reliability.md")
    asked = parser.parse_args()
    tally = campaign([asked.only] if asked.only else list(KINDS), asked.minutes, asked.seed)
    text = json.dumps(tally, indent=2, ensure_ascii=False) + "\n"
    print(text, end="")
    if asked.write:
        TALLY.write_text(text, encoding="utf-8")
        PAGE.write_text(page(tally), encoding="utf-8")
    return int(bool(tally["losses"]))


if __name__ == "__main__":
    sys.exit(main())
