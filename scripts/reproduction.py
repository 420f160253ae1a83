"""Write what came out from results/ and docs/reproduction.yaml: python scripts/reproduction.py [--check]

docs/reproduction.md has the verdicts, a table of all experiments. Each paper has a page in docs/reproduction/: whether
it reproduces, what was assumed, what is off, and then each of its tables and figures in full. It reads the compare.csv,
search.md and statistics.md that `rffbench compare` writes. With --check nothing is written; exit status 1 says that a
page is out of date.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from rffbench.execution.log import log_files, read_rows
from rffbench.report.escape import from_csv_cell

ROOT = Path(__file__).resolve().parent.parent
VERDICT_PAGE = ROOT / "docs" / "reproduction.md"
FOLDER = ROOT / "docs" / "reproduction"  # of the papers' pages
MOST_DIFFERENT = 5  # cells named of those that differ
VERDICTS = {"reproduced": "reproduced", "close": "close", "differs": "different", "other rows": "on other rows"}
HOLDS, REFUTED, OPEN, NOT_MEASURED = "holds", "does not hold", "not enough evidence", "not measured"
TITLES = {
    "accuracy": "accuracy in %",
    "rmse": "RMSE",
    "relative_rmse": "relative RMSE",
    "kernel_error": "kernel error",
    "model_size": "size",
    "train_s": "training time",
    "predict_s": "test time",
    "own_memory_bytes": "memory",
}

INTRODUCTION = """\
# What came out

Does it reproduce? One row for each experiment; the name leads to its details. Each paper has a page of its own, with
what had to be assumed, what is off, and every cell and claim. `make reproduction` writes all of them from `results/`;
no number here is typed by hand, and `tests/test_findings.py` computes those in sentences.
"""

EXPLANATION = """\
## What the words mean

**Cells** are the paper's numbers next to ours. A cell is *reproduced* where the difference is within the tolerance and
Welch's 95 % interval of the difference covers 0 (or the paper gives no spread), *close* where it is within the
tolerance and the interval excludes 0, and *differs* beyond it; what differs is in **bold**. A ratio of costs is
reproduced within a factor of two of the paper's, and differs where the other method is the cheaper.

Where the table has it, a line says how many cells would come out with **other methods' columns**: one method's numbers
everywhere, or two methods exchanged. A count that is hardly higher than these says little.

**Claims** are the paper's sentences, each with the range that its words ask for. A trial's number is the mean over
sizes of its differences (accuracy, in points) or of the logarithms of its ratios (errors, times, sizes), and the 95 %
interval of its mean over trials is Student's. A claim *holds* where the whole interval lies in the range and *does not
hold* where none of it does; else there is *not enough evidence*, and the page says how many trials with the same mean
and spread would settle it. A range with two bounds asks for equivalence, by two one-sided tests (Schuirmann 1987): the
90 % interval has to lie within. A claim that means every size is judged at each: it holds where it holds at all of
them, and fails where it fails at any, after Holm's correction; the page also says what the mean over sizes would give.
What was not measured, or in a single trial, is not judged.

**What an interval covers** stands beside it. *This dataset*: other random splits of the same rows, and other draws of
the features. *Draws only*: the split is given, so all trials have the same rows. *New rows*: other rows of this kind.
Random halves of one dataset overlap, so the spread over trials understates what other rows would change; Nadeau and
Bengio (Machine Learning 52, 2003) multiply the variance of the mean over J trials by 1 + J·n_test/n_train. Claims are
judged for this dataset; where new rows would change the verdict on a score, the page says so. No number of trials
settles a claim about new rows.

**In brackets** stand the claims that hold, or don't, when all claims of an experiment are taken together: of these
verdicts no more than 5 % are expected to be wrong (Benjamini and Yekutieli, Annals of Statistics 29, 2001), however
the claims depend on one another.

**Minutes** are the wall-clock time of an experiment's runs, repeated ones too. `rffbench plot results/NAME` makes the
figures that are not shown here, and the tables as CSV and TeX.
"""


def main() -> int:
    papers = yaml.safe_load((ROOT / "docs" / "reproduction.yaml").read_text(encoding="utf-8"))
    pages, verdicts = {}, [INTRODUCTION]
    for paper in papers:
        experiments = [Experiment(element) for element in paper["elements"]]
        page = FOLDER / f"{paper['page']}.md"
        pages[page] = "\n".join([f"# {paper['paper']}\n", answers(experiments), *map(details, experiments)])
        verdicts += [f"## [{paper['paper']}]({page.relative_to(VERDICT_PAGE.parent)})\n", overview(experiments, page)]
        verdicts += [f"{note}\n" for note in paper.get("notes", [])]
    pages[VERDICT_PAGE] = "\n".join([*verdicts, EXPLANATION])
    stale = [page for page, text in pages.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    for page in stale:
        if "--check" not in sys.argv[1:]:
            page.parent.mkdir(exist_ok=True)
            page.write_text(pages[page], encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {'out of date' if '--check' in sys.argv[1:] else 'written'}")
    return int(bool(stale) and "--check" in sys.argv[1:])


_READ = [
    "kind",
    "dataset",
    "method",
    "metric",
    "reported",
    "measured",
    "difference",
    "verdict",
    "claim",
    "asked",
    "evidence",
    "p",
    "verdict_adjusted",
    "stands_in_for",
]


class Experiment:
    """One table or figure of a paper, and the results folder that stands for it."""

    def __init__(self, element: dict[str, Any]) -> None:
        self.title, self.name, self.assumed = element["element"], element["results"], element["assumed"]
        self.folder = ROOT / "results" / self.name
        self.figures = element.get("figures", [])
        self.run = bool(log_files(self.folder))
        self.compared = (self.folder / "compare.csv").exists()
        self.searched = (self.folder / "search.md").exists()
        comparison = read(self.folder / "compare.csv") if self.compared else pd.DataFrame(columns=_READ)
        self.cells, self.ratios, self.claims = (
            comparison[comparison["kind"] == kind] for kind in ("cell", "ratio", "claim")
        )

    @property
    def heading(self) -> str:
        return f"{self.title}: {self.name}"

    def link(self, page: str = "") -> str:
        """To the heading, as GitHub names its place, on ``page`` or on the same one."""
        kept = re.sub(r"[^\w\- ]", "", self.heading.lower())
        return f"[{self.title}]({page}#{kept.replace(' ', '-')})"

    @property
    def both(self) -> pd.DataFrame:
        """The cells both measured and reported, on the same rows."""
        return self.cells[self.cells["difference"].notna() & (self.cells["verdict"] != "other rows")]

    @property
    def verdicts(self) -> Counter[str]:
        return Counter(self.claims["verdict"])

    @property
    def within(self) -> str:
        if self.both.empty:
            return ""
        missing = f", {self.missing} not measured" if self.missing else ""
        return f"{int((self.both['verdict'] != 'differs').sum())} of {len(self.both)}{missing}"

    @property
    def missing(self) -> int:
        """How many of the paper's cells are not measured."""
        return int((self.cells["reported"].notna() & self.cells["measured"].isna()).sum())

    def held(self, verdict: str) -> str:
        """How many claims have the verdict, and in brackets how many when all are taken together."""
        count, together = self.verdicts[verdict], int((self.claims["verdict_adjusted"] == verdict).sum())
        return f"{count} ({together})" if count != together else str(count or "")

    @property
    def stood_in(self) -> int:
        """How many claims were judged on other data than they name."""
        return int(self.claims.loc[self.claims["verdict"] != NOT_MEASURED, "stands_in_for"].notna().sum())

    @property
    def minutes(self) -> float:
        """Of its runs, by the manifest."""
        manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        runs = [run for run in (manifest, *manifest["earlier_runs"]) if run.get("finished")]
        return sum((_time(run["finished"]) - _time(run["started"])).total_seconds() for run in runs) / 60


def read(path: Path) -> pd.DataFrame:
    """A CSV file that `rffbench compare` wrote, its text as it was."""
    return pd.read_csv(path).map(lambda cell: from_csv_cell(cell) if isinstance(cell, str) else cell)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


# ---- The answers -------------------------------------------------------------------------------------------


def overview(experiments: list[Experiment], page: Path) -> str:
    """The experiments of a paper, one row each, which leads to its ``page``."""
    lines = [
        "| experiment | cells within tolerance | claims held | refuted | open | not measured | minutes | results |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for each in experiments:
        link = each.link(f"{FOLDER.name}/{page.name}")
        if not each.run:
            lines.append(f"| {link} | not run yet | | | | | | |")
            continue
        link += " (claims on stand-in data)" if each.stood_in else ""
        plain = (str(each.verdicts[verdict] or "") for verdict in (OPEN, NOT_MEASURED))
        counts = " | ".join([each.held(HOLDS), each.held(REFUTED), *plain])
        where = f"[{each.name}](../results/{each.name})"
        lines.append(f"| {link} | {each.within} | {counts} | {each.minutes:.0f} | {where} |")
    return "\n".join([*lines, ""])


def answers(experiments: list[Experiment]) -> str:
    """What a reader asks of a paper, one line for each experiment."""
    lines = ["**Does it reproduce?**", ""]
    lines += [f"- {each.link()}: {outcome(each)}" for each in experiments]
    lines += ["", "**What was assumed?**", ""]
    for each in experiments:
        lines += [f"- {each.link()}:", *(f"  - {assumption}" for assumption in each.assumed)]
    off = [(each, said) for each in experiments if (said := deviations(each))]
    if off:
        lines += ["", "**What is off?**", ""]
        for each, said in off:
            lines += [f"- {each.link()}:", *(f"  - {one}" for one in said)]
    return "\n".join([*lines, ""])


def outcome(each: Experiment) -> str:
    if not each.run:
        return "not run yet."
    said = [f"{each.within} cells within the tolerance"] if each.within else []
    if judged := sum(each.verdicts[verdict] for verdict in (HOLDS, REFUTED, OPEN)):
        said.append(f"of {judged} claims {each.verdicts[HOLDS]} hold, {each.verdicts[REFUTED]} do not")
        said[-1] += f", {each.verdicts[OPEN]} are open" if each.verdicts[OPEN] else ""
        together = Counter(each.claims["verdict_adjusted"])
        if (together[HOLDS], together[REFUTED]) != (each.verdicts[HOLDS], each.verdicts[REFUTED]):
            said[-1] += f" (all together, {together[HOLDS]} hold and {together[REFUTED]} do not)"
        said += [f"{each.stood_in} of them were judged on stand-in data"] * bool(each.stood_in)
    if each.verdicts[NOT_MEASURED]:
        said.append(f"{each.verdicts[NOT_MEASURED]} claims were not measured")
    if not said:
        said = ["protocols are ranked by their distance to the paper"] if each.searched else ["nothing to compare with"]
    return "; ".join(said) + "."


def deviations(each: Experiment) -> list[str]:
    """The cells furthest from the paper, the costs that another method wins, the claims that do not hold."""
    said = []
    different = each.both[each.both["verdict"] == "differs"]
    if len(different):
        order = different["difference"].abs().sort_values(ascending=False).index
        named = "; ".join(
            f"{row['dataset']} {size(row['multiple'])} {row['method']} {row['measured']:.4g} against "
            f"{row['reported']:.4g}".replace("  ", " ")
            for row in different.reindex(order)[:MOST_DIFFERENT].to_dict("records")
        )
        said.append(f"{len(different)} cells differ, furthest {named}")
    wrong = each.ratios[each.ratios["verdict"] == "differs"]
    if len(wrong):
        kinds = Counter(f"{TITLES[row['metric']]} on {row['dataset']}" for row in wrong.to_dict("records"))
        named = ", ".join(f"{kind} ({count})" for kind, count in kinds.items())
        said.append(f"in {len(wrong)} ratios of costs the other method is the cheaper: {named}")
    refuted = each.claims[each.claims["verdict"] == REFUTED]
    for (claim, asked), rows in refuted.groupby(["claim", "asked"], sort=False):
        found = rows["dataset"] + " (" + rows["evidence"].str.partition(" over ")[0] + ")"
        said.append(f"does not hold on {', '.join(dict.fromkeys(found))}: {claim}; asked for {asked}")
    if each.missing:
        said.append(f"{each.missing} cells of the paper are not measured")
    return said


# ---- The details -------------------------------------------------------------------------------------------


def details(each: Experiment) -> str:
    """One table or figure of a paper: what was run, and all that came of it."""
    compare = f"rffbench compare results/{each.name}"
    commands = [f"rffbench run {each.name}", *[compare] * each.compared, *[f"{compare} --search"] * each.searched]
    lines = [f"## {each.heading}", "", ", ".join(f"`{command}`" for command in commands) + ".", ""]
    if not each.run:
        return "\n".join([*lines, "Not run yet.\n"])
    lines += [run_of(each.folder), ""]
    lines += [*cells(each.cells), *other_columns(each), *ratios(each.ratios), *claims(each.claims)]
    if each.searched:
        lines += [(each.folder / "search.md").read_text(encoding="utf-8").strip(), ""]
    return "\n".join([*lines, *files(each.folder, each.figures)])


def run_of(folder: Path) -> str:
    """How many trials came to what, and on which machine."""
    latest = {row["key"]: row["status"] for row in read_rows(folder / "trials.jsonl")}
    statuses = Counter(latest.values())
    done = ", ".join(f"{count:,} {status}" for status, count in statuses.most_common())
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return f"{len(latest):,} trials: {done}; on {manifest['cpu']}, rffbench {manifest['rffbench']}."


def cells(compared: pd.DataFrame) -> list[str]:
    """Every cell with the paper's number, and how many come out."""
    both = compared[compared["difference"].notna()]
    if both.empty:
        return []
    lines: list[str] = []
    for metric, part in both.groupby("metric", sort=False):
        lines += ["", f"Measured (reported), {TITLES.get(metric, metric)}:", "", *grid(part), ""]
    verdicts = Counter(both["verdict"])
    counts = ", ".join(f"{verdicts[verdict]} {word}" for verdict, word in VERDICTS.items() if verdicts[verdict])
    return [*lines[1:], f"{len(both)} cells: {counts}.", ""]


def other_columns(each: Experiment) -> list[str]:
    """What compare.md says of the count with other methods' columns."""
    if not each.compared:
        return []
    text = (each.folder / "compare.md").read_text(encoding="utf-8")
    found = re.findall(r"^The same for other methods' columns: .*$", text, re.M)
    return [line for sentence in found for line in (sentence, "")]


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
    """Ratios of one method's costs to another's, with the same ratio in the paper."""
    both = compared[compared["reported"].notna() & compared["measured"].notna()]
    if both.empty:
        return []
    metrics = list(dict.fromkeys(both["metric"]))
    lines = [
        "Ratios of one method's costs to another's, measured (reported):", "",
        f"| dataset | methods | {' | '.join(TITLES.get(metric, metric) for metric in metrics)} |",
        f"|---|---|{'--:|' * len(metrics)}",
    ]  # fmt: skip
    for (dataset, method, baseline), part in both.groupby(["dataset", "method", "baseline"], sort=False):
        by_metric = {row["metric"]: row for row in part.to_dict("records")}
        row = " | ".join(cell(by_metric.get(metric), digits=3) for metric in metrics)
        lines.append(f"| {dataset} | {method} : {baseline} | {row} |")
    return [*lines, ""]


def claims(compared: pd.DataFrame) -> list[str]:
    """The paper's claims: the range each asks for and why, what was measured, the verdict; then what was not judged."""
    lines: list[str] = []
    judged = compared[compared["verdict"] != NOT_MEASURED]
    if len(judged):
        lines += [
            "| claim | asked for | dataset | methods | measured | p | verdict | all together |",
            "|---|---|---|---|---|--:|---|---|",
        ]
        for row in judged.to_dict("records"):
            methods = " : ".join(str(row[which]) for which in ("method", "baseline") if pd.notna(row[which]))
            dataset = f"{row['dataset']} ({row['protocol']})" if pd.notna(row["protocol"]) else row["dataset"]
            asked, told = f"{row['asked']}: {row['because']}", [row["claim"], row["where"]]
            verdict = f"**{row['verdict']}**" if row["verdict"] == REFUTED else row["verdict"]
            shown = [f"{told[0]} ({told[1]})", asked, dataset, methods, row["evidence"], f"{row['p']:.2g}", verdict]
            shown.append(row["verdict_adjusted"] if row["verdict_adjusted"] != row["verdict"] else "same")
            lines.append(f"| {' | '.join(str(each).replace('|', chr(92) + '|') for each in shown)} |")
        lines.append("")
    unjudged = compared[compared["verdict"] == NOT_MEASURED]
    if len(unjudged):
        lines += ["Claims not judged, and why:", ""]
        for reason, rows in unjudged.groupby("evidence", sort=False):
            first, count = rows["claim"].iloc[0], len(rows)
            more = f" and {count - 1} more" if count > 1 else ""
            lines.append(f"- {reason}: *{first}*{more}")
        lines.append("")
    return lines


def files(folder: Path, figures: list[str]) -> list[str]:
    """Links to what there is to read, and the figures that the page shows."""
    there = f"../../results/{folder.name}"
    shown = [name for name in ("table.md", "compare.md", "search.md", "statistics.md") if (folder / name).exists()]
    links = ", ".join(f"[{name}]({there}/{name})" for name in shown)
    return [
        f"Files: {links}.",
        "",
        *(line for name in figures for line in (f"![{name}]({there}/figures/{name}.png)", "")),
    ]


if __name__ == "__main__":
    sys.exit(main())
