"""One experiment on the page: measured and reported numbers, claims, figures, failures, machine and command."""

from __future__ import annotations

import base64
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rffbench.errors import RffbenchError
from rffbench.execution.leftovers import temporary_folder
from rffbench.execution.manifest import runs_of
from rffbench.io.text import plural
from rffbench.papers import Role, references, role_of
from rffbench.papers.table import NOT_MEASURED
from rffbench.report import writeup
from rffbench.report.compare import Comparison, NoReference, compare
from rffbench.report.figures import MOST_PROTOCOLS
from rffbench.report.figures.critical_difference import draw_critical_difference
from rffbench.report.frame import Protocols, as_written, load_protocols
from rffbench.report.page.charts import card, chart_data
from rffbench.report.page.origin import command_of, facts_of, failures_sheet, newer_version, runs_sheet, written_by
from rffbench.report.page.results import TONES, results_sheets
from rffbench.report.page.sheet import Sheet, anchor, sheet_of
from rffbench.report.statistics import Statistics, compute_statistics
from rffbench.report.summary import summarise

_Record = dict[str, Any]


@dataclass(frozen=True)
class ExperimentSection:
    """An experiment on the page.

    ``paper`` is the paper that it is about (empty if none) and ``role`` its purpose. ``statuses`` counts its trials.
    ``within`` of ``counted`` cells are within ``tolerance`` of the numbers of ``citation``, and ``given`` is the word
    for those; ``left_out`` counts the other cells by why they are in no sum. ``said`` is the comparison's summary, and
    ``claims`` counts verdicts. ``facts`` and ``runs`` describe the machine and the runs, ``command`` repeats them.
    ``best`` says which method is best, and ``card`` is a small figure as an image's URL. ``charts`` is `chart_data`,
    with the lines of the other protocols. ``ranks`` is the critical-difference diagram as an image's URL, and in words.
    """

    anchor: str
    name: str
    title: str
    folder: str
    datasets: list[str]
    methods: list[str]
    statuses: Counter[str]
    paper: str = ""
    role: Role | None = None
    within: int = 0
    counted: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    tolerance: str = ""
    said: str = ""
    citation: str = ""
    given: str = ""
    claims: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    best: str = ""
    card: str = ""
    sheets: list[Sheet] = field(default_factory=list)
    unmeasured: Sheet | None = None
    charts: dict[str, Any] = field(default_factory=dict)
    ranks: tuple[str, str] | None = None
    failures: Sheet | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)
    runs: Sheet | None = None
    command: str = ""
    config: str = ""

    @property
    def ok(self) -> int:
        return self.statuses["ok"]

    @property
    def lost(self) -> int:
        return self.statuses.total() - self.ok

    @property
    def when(self) -> str:
        return dict(self.facts).get("finished", "")[:10]


def make_section(folder: Path, place: str) -> ExperimentSection:
    """The section of one experiment's folder; ``place`` is the user's name of the folder.

    Raises as `load_protocols`; if a newer version of rffbench wrote the folder, the message says so.
    """
    runs = runs_of(folder)
    newer = newer_version(runs)
    try:
        protocols = load_protocols(folder)
        return _section(protocols, runs, newer, place)
    except RffbenchError as error:
        if newer:
            raise type(error)(f"{error} ({written_by(newer)})") from error
        raise


def _section(protocols: Protocols, runs: list[_Record], newer: str, place: str) -> ExperimentSection:
    results = protocols[0][1]
    name = str(results.config.get("name") or results.folder.name)
    here = anchor("results", results.folder.name)
    judged = protocols if len(protocols) <= MOST_PROTOCOLS else protocols[:1]
    summaries = [summarise(each) for _, each in protocols]
    comparison: Comparison | None = None
    with suppress(NoReference):
        comparison = compare(results, protocols=judged, summary=summaries[0])
    statistics = compute_statistics(results)
    notes = [f"{written_by(newer)}: what this version does not know is not shown."] if newer else []
    notes += _sweep_notes(protocols)
    paper, role = role_of(name, results.config.get("reference"))
    sheets, unmeasured = results_sheets(here, protocols, summaries, comparison)
    reported: dict[str, Any] = {}
    if comparison is not None:
        notes += comparison.missing
        sheets += _comparison_sheets(comparison)
        reported = {
            "within": len(comparison.counted) - comparison.outside,
            "counted": len(comparison.counted),
            "left_out": comparison.left_out,
            "tolerance": writeup.tolerance_text(comparison) if len(comparison.counted) else "",
            "said": writeup.summary_line(comparison),
            "citation": comparison.reference.citation,
            "given": comparison.reference.given,
            "claims": Counter(finding.verdict for finding in comparison.findings),
        }
    if statistics is not None:
        sheets.append(sheet_of(statistics.table(), "Methods against each other"))
    return ExperimentSection(
        anchor=here,
        name=name,
        title=results.title,
        folder=place,
        datasets=list(dict.fromkeys(dataset for _, each in protocols for dataset in each.datasets)),
        methods=results.methods,
        statuses=sum((Counter(each.trials["status"]) for _, each in protocols), Counter()),
        paper=references()[paper].short if paper else "",
        role=role,
        notes=notes,
        best=_best(statistics) if statistics is not None else "",
        card=card(results, summaries[0]),
        sheets=sheets,
        unmeasured=unmeasured,
        charts={**chart_data(protocols, summaries), "others": sheets[0].others()},
        ranks=_ranks(statistics) if statistics is not None else None,
        failures=failures_sheet(protocols),
        facts=facts_of(runs),
        runs=runs_sheet(runs),
        command=command_of(place, name, runs),
        config=(results.folder / "config.yaml").read_text(encoding="utf-8", errors="replace"),
        **reported,
    )


def _best(statistics: Statistics) -> str:
    """Which method is best over all cells, and how many others differ from it, in a sentence."""
    others = len(statistics.ranks) - 1
    if not others:
        return ""
    apart = len(statistics.shown_with_first)
    first = f"{as_written(statistics.first)} has the best mean rank by {statistics.measured}"
    if apart == others:
        return f"{first}, and differs from {'the other' if others == 1 else 'every other'} method by more than chance."
    alike = others - apart
    verb = "is" if alike == 1 else "are"
    return f"{first}; {alike} of {plural(others, 'other method')} {verb} not shown to differ from it."


def _sweep_notes(protocols: Protocols) -> list[str]:
    labels = ", ".join(f"{axis}: {value}" for axis, value in protocols[0][0].items())
    if len(protocols) > MOST_PROTOCOLS:
        return [
            f"Of the {len(protocols)} protocols of this sweep, one is shown at a time. Sums and claims are of the "
            f"first ({labels}); rffbench compare judges the claims under each."
        ]
    if labels:
        return [f"Sums of cells within tolerance are of the first protocol of this sweep ({labels})."]
    return []


# ---- Comparisons and ranks ---------------------------------------------------------------------------------


def _comparison_sheets(comparison: Comparison) -> list[Sheet]:
    sheets = []
    if comparison.findings:
        table = writeup.claims_table(comparison)
        table.rows = [row for row in table.rows if row[0] != NOT_MEASURED]
        why = Counter(finding.evidence for finding in comparison.findings if finding.verdict == NOT_MEASURED)
        table.notes += [f"{NOT_MEASURED}: {count} × {reason}" for reason, count in why.items()]
        sheets.append(sheet_of(table, "Claims", ("verdict", "dataset"), TONES))
    if len(comparison.costs):
        sheets.append(sheet_of(writeup.costs_table(comparison), chosen_by=("dataset",)))
    return sheets


def _ranks(statistics: Statistics) -> tuple[str, str] | None:
    """The critical-difference diagram as an image's URL, and in words; None if there is no diagram."""
    with temporary_folder() as temporary:
        drawn = draw_critical_difference(statistics, temporary, ("svg",))
        if not drawn:
            return None
        content = base64.b64encode(drawn[0].read_bytes()).decode()
    ranks = ", ".join(f"{method} {rank:.2f}" for method, rank in statistics.ranks.items())
    return f"data:image/svg+xml;base64,{content}", f"Critical-difference diagram. Mean ranks, 1 is best: {ranks}."
