"""Write docs/reproduction.md from results/ and docs/reproduction.yaml: python scripts/reproduction.py [--check]

What each table and figure of a paper came to: the paper's numbers against ours in sums, what had to be assumed,
what does not come out, and where the cells are. It reads the compare.csv, search.md and statistics.md that
`rffbench compare` writes. With --check nothing is written; exit status 1 says that the page is out of date.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reproduction.md"
MOST_DIFFERENT = 5  # cells named of those that differ

INTRODUCTION = """\
# What came out

Written by `make reproduction` from [results/](../results); no number here is typed by hand. A cell is *reproduced*
where its difference from the paper is within the tolerance and Welch's 95 % interval of the difference covers 0 (or the
paper gives no spread), *close* where it is within the tolerance and the interval excludes 0, and *differs* beyond it.
Every cell, claim and interval is in the `compare.md` beside each experiment's table.
"""


def main() -> int:
    papers = yaml.safe_load((ROOT / "docs" / "reproduction.yaml").read_text(encoding="utf-8"))
    parts = [INTRODUCTION]
    for paper in papers:
        parts.append(f"## {paper['paper']}\n")
        parts += [section(element) for element in paper["elements"]]
    text = "\n".join(parts)
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


def section(element: dict[str, Any]) -> str:
    """One table or figure of a paper: what was run, assumed, and what came of it."""
    name, folder = element["results"], ROOT / "results" / element["results"]
    commands = f"`rffbench run {name}`, `rffbench compare results/{name}`."
    lines = [f"### {element['element']}", "", commands, "", "Assumed:", ""]
    lines += [*(f"- {each}" for each in element["assumed"]), ""]
    if not (folder / "trials.jsonl").exists():
        return "\n".join([*lines, "Not run yet.\n"])
    lines += [run_of(folder), ""]
    if (folder / "compare.csv").exists():
        compared = pd.read_csv(folder / "compare.csv")
        lines += [*cells(compared[compared["kind"] == "cell"]), *claims(compared[compared["kind"] == "claim"])]
    if (folder / "search.md").exists():
        lines += [(folder / "search.md").read_text(encoding="utf-8").strip(), ""]
    return "\n".join([*lines, files(folder)])


def run_of(folder: Path) -> str:
    """How many trials came to what, and on which machine."""
    rows = [json.loads(line) for line in (folder / "trials.jsonl").read_text(encoding="utf-8").splitlines()]
    latest = {row["key"]: row["status"] for row in rows}
    statuses = Counter(latest.values())
    done = ", ".join(f"{count:,} {status}" for status, count in statuses.most_common())
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return f"{len(latest):,} trials: {done}; on {manifest['cpu']}, rffbench {manifest['rffbench']}."


def cells(compared: pd.DataFrame) -> list[str]:
    """Verdicts by dataset and method, and the cells that differ most."""
    both = compared[compared["difference"].notna()]
    if both.empty:
        return []
    verdicts = ["reproduced", "close", "differs"]
    lines = [
        "| dataset | method | cells | mean difference | largest | reproduced | close | differs |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for (dataset, method), part in both.groupby(["dataset", "method"], sort=False):
        sizes = part["difference"].abs()
        counts = " | ".join(str(int((part["verdict"] == verdict).sum())) for verdict in verdicts)
        lines.append(
            f"| {dataset} | {method} | {len(part)} | {part['difference'].mean():+.3g} | {sizes.max():.3g} | {counts} |"
        )
    lines.append("")
    different = both[both["verdict"] == "differs"]
    if len(different):
        worst = different.reindex(different["difference"].abs().sort_values(ascending=False).index)[:MOST_DIFFERENT]
        named = "; ".join(
            f"{row['dataset']} {'' if pd.isna(row['multiple']) else format(int(row['multiple'])) + 'd '}{row['method']}"
            f" {row['measured']:.4g} against {row['reported']:.4g}"
            for row in worst.to_dict("records")
        )
        lines += [f"{len(different)} of {len(both)} cells do not come out, furthest: {named}.", ""]
    else:
        lines += [f"All {len(both)} cells come out within the tolerance.", ""]
    return lines


def claims(compared: pd.DataFrame) -> list[str]:
    """The paper's claims with their verdicts."""
    judged = compared[compared["verdict"] != "not measured"]
    if judged.empty:
        return []
    lines = ["| claim | dataset | verdict |", "|---|---|---|"]
    lines += [f"| {row['claim']} | {row['dataset']} | {row['verdict']} |" for row in judged.to_dict("records")]
    return [*lines, ""]


def files(folder: Path) -> str:
    """Links to what there is to read and to look at."""
    shown = [name for name in ("table.md", "compare.md", "search.md", "statistics.md") if (folder / name).exists()]
    links = ", ".join(f"[{name}](../results/{folder.name}/{name})" for name in shown)
    pictures = sorted(path.name for path in (folder / "figures").glob("*.png")) if (folder / "figures").is_dir() else []
    drawn = ", ".join(f"[{name}](../results/{folder.name}/figures/{name})" for name in pictures)
    return f"Files: {links}." + (f" Figures: {drawn}." if drawn else "") + "\n"


if __name__ == "__main__":
    sys.exit(main())
