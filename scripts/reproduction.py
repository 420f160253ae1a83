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
VERDICTS = ("reproduced", "close", "differs")
TITLES = {"accuracy": "accuracy in %", "rmse": "RMSE", "relative_rmse": "relative RMSE", "kernel_error": "kernel error",
          "model_size": "size", "train_s": "training time", "predict_s": "test time", "own_memory_bytes": "memory"}

INTRODUCTION = """\
# What came out

Written by `make reproduction` from [results/](../results); no number here is typed by hand. A cell is *reproduced*
where its difference from the paper is within the tolerance and Welch's 95 % interval of the difference covers 0 (or the
paper gives no spread), *close* where it is within the tolerance and the interval excludes 0, and *differs* beyond it.
A ratio of costs is reproduced within a factor of two of the paper's, and differs where the other method is the cheaper.
What differs is in **bold**. Every cell, claim and interval is in the `compare.md` beside each experiment's table.
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
    compared, searched = (folder / "compare.csv").exists(), (folder / "search.md").exists()
    compare = f"rffbench compare results/{name}"
    commands = [f"rffbench run {name}", *[compare] * compared, *[f"{compare} --search"] * searched]
    lines = [f"### {element['element']}", "", ", ".join(f"`{each}`" for each in commands) + ".", "", "Assumed:", ""]
    lines += [*(f"- {each}" for each in element["assumed"]), ""]
    if not (folder / "trials.jsonl").exists():
        return "\n".join([*lines, "Not run yet.\n"])
    lines += [run_of(folder), ""]
    if compared:
        comparison = pd.read_csv(folder / "compare.csv")
        for kind, written in (("cell", cells), ("ratio", ratios), ("claim", claims)):
            lines += written(comparison[comparison["kind"] == kind])
    if searched:
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
    """Every cell beside the paper's, how many come out, and those that differ most."""
    both = compared[compared["difference"].notna()]
    if both.empty:
        return []
    lines: list[str] = []
    for metric, part in both.groupby("metric", sort=False):
        lines += ["", f"Measured (reported), {TITLES.get(metric, metric)}:", "", *grid(part), ""]
    verdicts = Counter(both["verdict"])
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS if verdicts[verdict])
    different = both[both["verdict"] == "differs"]
    worst = different.reindex(different["difference"].abs().sort_values(ascending=False).index)[:MOST_DIFFERENT]
    named = "; ".join(
        f"{row['dataset']} {size(row['multiple'])} {row['method']} {row['measured']:.4g} against {row['reported']:.4g}"
        for row in worst.to_dict("records")
    )
    missing = len(compared) - len(both)
    return [
        *lines[1:], f"Of {len(both)} cells {counts}.",
        *([f"Furthest from the paper: {named}."] if named else []),
        *([f"{missing} cells of the paper are not measured."] if missing else []), "",
    ]  # fmt: skip


def grid(cells: pd.DataFrame) -> list[str]:
    """Datasets and methods down, sizes across."""
    sizes = sorted(cells["multiple"].fillna(0).unique())
    lines = [
        f"| dataset | method | {' | '.join(map(size, sizes))} |", f"|---|---|{'--:|' * len(sizes)}",
    ]  # fmt: skip
    for (dataset, method), part in cells.groupby(["dataset", "method"], sort=False):
        by_size = {row["multiple"] if row["multiple"] > 0 else 0: row for row in part.to_dict("records")}
        row = " | ".join(cell(by_size.get(each)) for each in sizes)
        lines.append(f"| {dataset} | {method} | {row} |")
    return lines


def cell(row: dict[str, Any] | None, digits: int = 4) -> str:
    """Measured and, in brackets, reported; bold where they differ."""
    if row is None:
        return ""
    measured, reported = (f"{row[which]:.{digits}g}" for which in ("measured", "reported"))
    return f"**{measured}** ({reported})" if row["verdict"] == "differs" else f"{measured} ({reported})"


def size(multiple: float) -> str:
    return f"{int(multiple)}d" if multiple > 0 else ""


def ratios(compared: pd.DataFrame) -> list[str]:
    """Costs of one method over another's, beside the same ratio in the paper."""
    both = compared[compared["reported"].notna() & compared["measured"].notna()]
    if both.empty:
        return []
    metrics = list(dict.fromkeys(both["metric"]))
    lines = [
        "Costs, one method's over another's, measured (reported):", "",
        f"| dataset | methods | {' | '.join(TITLES.get(metric, metric) for metric in metrics)} |",
        f"|---|---|{'--:|' * len(metrics)}",
    ]  # fmt: skip
    for (dataset, method, baseline), part in both.groupby(["dataset", "method", "baseline"], sort=False):
        by_metric = {row["metric"]: row for row in part.to_dict("records")}
        row = " | ".join(cell(by_metric.get(metric), digits=3) for metric in metrics)
        lines.append(f"| {dataset} | {method} : {baseline} | {row} |")
    return [*lines, ""]


def claims(compared: pd.DataFrame) -> list[str]:
    """The paper's claims, on what they were measured, and their verdicts."""
    judged = compared[compared["verdict"] != "not measured"]
    if judged.empty:
        return []
    lines = ["| claim | dataset | measured | verdict |", "|---|---|---|---|"]
    for row in judged.to_dict("records"):
        methods = " : ".join(str(row[which]) for which in ("method", "baseline") if pd.notna(row[which]))
        lines.append(f"| {row['claim']} | {row['dataset']} | {methods} | {row['verdict']} |")
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
