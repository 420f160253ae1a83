"""python -m studies.fit prints what was measured; python -m studies.fit run [--table NAME] [--part PART] goes on.

`run` measures what is missing, and can be interrupted and carried on: a part that was not finished is begun anew, and
one that failed is tried again. An hour's part takes an hour; on a machine with other work the minutes of a part do not
count, and the row says so. `python -m studies.pages` writes docs/fit.md from the rows in results/studies/fit.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from studies.fit import facts, measuring
from studies.fit.tables import TABLES

QUICK = {"fit": 0.05, "hour": 0.1}  # minutes


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m studies.fit", description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument("--table", choices=[each.name for each in TABLES])
    parser.add_argument("--part", choices=measuring.PARTS)
    parser.add_argument("--results", type=Path, default=measuring.FOLDER, help="where the rows are")
    parser.add_argument("--quick", action="store_true", help="seconds in place of minutes, to see that it works")
    given = parser.parse_args(arguments)
    if given.quick and given.results.resolve() == measuring.FOLDER:
        parser.error("--quick: gives no scores that count; give another folder with --results")
    study = measuring.Study(given.results, minutes=dict(QUICK if given.quick else measuring.MINUTES))
    if given.command == "show":
        found = facts.Found(study)
        print(found.finding(), found.table(), found.notes(), sep="\n\n")
        return 0
    try:
        return 1 if study.run(given.table, given.part, lambda line: print(line, file=sys.stderr, flush=True)) else 0
    except KeyboardInterrupt:
        print("interrupted; the same command carries on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
