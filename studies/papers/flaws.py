"""Measure what flaws of released protocols are worth: python -m studies.papers.flaws [WORDS]

Each protocol is run with its flaw and without, all else the same. The flaws are those of ``<paper>/flaws.py``, and the
differences become results/papers/protocol-flaws.csv: a row for each flaw and dataset, with the mean of the paired runs
and its 95 % interval. WORDS runs only the flaws whose name has these words, and keeps the rows of all others.
Accuracies differ in points, errors in percent of the error without the flaw. docs/reproduction.md shows them.
"""

from __future__ import annotations

import csv
import sys
from typing import Any

from studies.evidence import FLAWS as FILE
from studies.papers.buchel2024 import flaws as buchel2024
from studies.papers.flaw import measured
from studies.papers.wacker2022 import flaws as wacker2022
from studies.papers.wu2016 import flaws as wu2016

FLAWS = [
    (source, flaw)
    for source, of in (("wacker2022", wacker2022), ("wu2016", wu2016), ("buchel2024", buchel2024))
    for flaw in of.FLAWS
]


def main(words: str = "") -> int:
    if not any(words in flaw.flaw for _, flaw in FLAWS):
        print(f"no flaw has {words!r} in its name", file=sys.stderr)
        return 2
    before: dict[tuple[str, str], dict[str, Any]] = {}
    if words:
        with FILE.open(encoding="utf-8", newline="") as lines:
            before = {(row["flaw"], row["dataset"]): row for row in csv.DictReader(lines)}
    rows: list[dict[str, Any]] = []
    for source, flaw in FLAWS:
        if words in flaw.flaw:
            rows.append(measured(flaw, source))
            print(rows[-1], flush=True)
        elif (flaw.flaw, flaw.dataset) in before:
            rows.append(before[flaw.flaw, flaw.dataset])
    with FILE.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
