"""The page in the browser: one self-contained HTML file, and a page that follows a running experiment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from rffbench import __version__
from rffbench.errors import ConfigError, ResultsError, RffbenchError
from rffbench.execution.places import experiment_folders, found
from rffbench.papers import Role, references
from rffbench.papers.table import NOT_MEASURED
from rffbench.report.history import History, history
from rffbench.report.page.sheet import Cell, Line, Sheet
from rffbench.report.revision import results_at
from rffbench.stats.verdicts import HOLDS, OPEN, REFUTED
from rffbench.trials.metrics import METRICS

try:
    from rffbench.report.page.charts import curves_chart, plane_chart
    from rffbench.report.page.render import own_file, packed, render, vega
    from rffbench.report.page.section import ExperimentSection, make_section
except ImportError as error:
    raise ConfigError(
        f"the page needs altair, jinja2 and vl-convert-python ({error}); pip install 'rffbench[report]'"
    ) from error

__all__ = ["Page", "write_page"]


@dataclass(frozen=True)
class Page:
    """A page that was written to ``path``, its number of experiments, and messages on experiments that were left out
    (``passed_over``) because they could not be read."""

    path: Path
    experiments: int
    passed_over: list[str]


def write_page(places: Sequence[str], output: Path | None = None) -> Page:
    """Write one page of all experiments at ``places``: results folders, folders of such folders, or FOLDER@REVISION.

    Runs of one experiment (folders with one name at several places) are shown over time, the newest in full. The
    default ``output`` is report.html in the folder, if there is only one, else in the current folder. Experiments that
    cannot be read are left out. ResultsError if none can be read, or if the file cannot be written.
    """
    only = found(Path(places[0]))
    path = output or (only if len(places) == 1 and only.is_dir() else Path()) / "report.html"
    if not path.parent.is_dir():
        raise ResultsError(f"{path}: cannot be written: there is no folder {path.parent}")
    by_name: dict[str, list[str]] = {}
    for folder, name in (each for place in places for each in _experiments(place)):
        by_name.setdefault(folder.name, []).append(name)
    sections: list[ExperimentSection] = []
    histories: list[History] = []
    passed_over: list[str] = []
    for runs in by_name.values():
        newest = runs[-1]
        try:
            if len(runs) > 1:
                histories.append(history(runs))
                newest = str(histories[-1].runs["place"].iloc[-1])
            with results_at(newest) as folder:
                sections.append(make_section(folder, newest))
        except Exception as error:
            if len(by_name) == 1:
                raise
            known = isinstance(error, RffbenchError | OSError)
            passed_over.append(str(error) if known else f"{newest}: {type(error).__name__}: {error}")
    sections.sort(key=lambda section: _ROLES.index(section.role))  # stable: by name within a role
    if not sections:
        raise ResultsError(f"none of {', '.join(places)} can be read: {passed_over[0]}")
    verdicts = _verdicts(sections)
    text = render(
        "page.html",
        [vega(), own_file("tables.js") + own_file("page.js")],
        version=__version__,
        title=sections[0].title if len(sections) == 1 else "Experiments on random features",
        places=", ".join(places),
        said="" if len(sections) > 1 or any(tone for _, tone, *_ in verdicts) else sections[0].said or sections[0].best,
        verdicts=verdicts,
        tiles=_tiles(sections),
        overview=_overview(sections),
        unreadable=passed_over,
        sections=sections,
        histories=[_history_sheets(each) for each in histories],
        data=packed({
            "charts": {"curves": curves_chart(), "plane": plane_chart()},
            "sections": {section.anchor: section.charts for section in sections},
        }),
    )  # fmt: skip
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror}") from error
    return Page(path, len(sections), passed_over)


def _experiments(place: str) -> list[tuple[Path, str]]:
    """(folder, name for messages) of each experiment at a place."""
    with ExitStack() as open_copy:
        folder = open_copy.enter_context(results_at(place))
        folders = experiment_folders(folder)
        if folders == [folder]:
            return [(folder, place)]
        if folder == Path(place):
            return [(each, str(each)) for each in folders]
        inside, _, revision = place.partition("@")
        return [(each, f"{inside}/{each.relative_to(folder)}@{revision}") for each in folders]


# ---- The overview ------------------------------------------------------------------------------------------


_ROLES = [*get_args(Role), None]
_APART = {"control": "controls", "study": "studies", "search": "searches"}  # roles that count in no sum; their plurals
_MOSTLY, _PARTLY = 0.9, 0.5  # shares of cells within tolerance, or of claims that hold


def _verdicts(sections: Sequence[ExperimentSection]) -> list[tuple[str, str, str, str]]:
    """(authors, tone, verdict, evidence in sentences) for every paper, from the experiments that reproduce it.
    Controls, studies and searches count in no sum; the evidence mentions them at its end."""
    found = []
    for paper in [*dict.fromkeys(each.short for each in references().values()), ""]:
        mine = [section for section in sections if section.paper == paper]
        judged, apart = ([each for each in mine if (each.role in _APART) == is_apart] for is_apart in (False, True))
        within, counted, claims = _sums(judged)
        left_out: Counter[str] = sum((section.left_out for section in judged), Counter())
        verdicts = sum(claims[each] for each in (HOLDS, REFUTED, OPEN))
        if not mine or not (paper or counted):
            continue
        said = [f"{within:,} of {counted:,} cells within tolerance" if counted else "no cell compared"]
        said = [*said, *_in_no_sum(left_out)] if counted or left_out else []
        if verdicts:
            said.append(f"Of its claims {claims[HOLDS]:,} hold, and {claims[REFUTED]:,} do not")
            said += [f"{claims[OPEN]:,} are open"] if claims[OPEN] else []
        tone, verdict = _in_words(within, counted, claims)
        if left_out[NOT_MEASURED] > counted > 0:
            verdict += ", as far as measured"
            tone = "open" if tone == "good" else tone
        kinds = Counter(section.role for section in apart if section.role)
        near, others, _ = _sums(apart)
        if apart:
            listed = ", ".join(f"{count} {_APART[kind]}" if count > 1 else f"a {kind}" for kind, count in kinds.items())
            said.append(f"Apart, in no sum: {listed}" + (f" ({near:,} of {others:,} cells)" if others else ""))
        found.append((paper or "The recorded baseline", tone, verdict, ". ".join(said)))
    return found


def _in_no_sum(left_out: Counter[str]) -> list[str]:
    """How many cells are in no sum, by why: ``108 not measured``."""
    return [f"{count:,} {why}" for why, count in left_out.items()]


def _in_words(within: int, counted: int, claims: Counter[str]) -> tuple[str, str]:
    """(tone, verdict) on a paper's numbers, or, if it has none, on its claims."""
    what, verb = ("numbers", "come out") if counted else ("claims", "hold")
    judged = claims[HOLDS] + claims[REFUTED]
    if not counted and not judged:
        return "", "not judged"
    share = within / counted if counted else claims[HOLDS] / judged
    if share >= _MOSTLY:
        return "good", f"its {what} {verb}"
    return ("open", f"its {what} {verb} in part") if share >= _PARTLY else ("bad", f"its {what} do not {verb}")


def _reproductions(sections: Sequence[ExperimentSection]) -> list[ExperimentSection]:
    """The experiments that should reproduce a paper's numbers, or a recorded baseline."""
    return [section for section in sections if section.role in ("reproduction", None)]


def _sums(sections: Sequence[ExperimentSection]) -> tuple[int, int, Counter[str]]:
    """(cells within tolerance, all compared cells, verdicts on claims) of the sections together."""
    claims: Counter[str] = sum((section.claims for section in sections), Counter())
    return sum(each.within for each in sections), sum(each.counted for each in sections), claims


def _tiles(sections: Sequence[ExperimentSection]) -> list[tuple[str, str, str]]:
    """(name, number, text below it) of each tile; cells and claims are those of `_reproductions`."""
    statuses: Counter[str] = sum((section.statuses for section in sections), Counter())
    within, counted, claims = _sums(_reproductions(sections))
    datasets = dict.fromkeys(name for section in sections for name in section.datasets)
    lost = ", ".join(f"{count:,} {status}" for status, count in statuses.items() if status != "ok")
    tiles = [
        ("experiments", str(len(sections)), f"on {len(datasets)} dataset{'s' if len(datasets) > 1 else ''}"),
        ("trials", f"{statuses['ok']:,}", f"ok{f'; {lost}' if lost else ''}"),
    ]
    if counted:
        judged = [section for section in _reproductions(sections) if section.counted]
        given = " or ".join(dict.fromkeys(section.given for section in judged))
        tiles.append(("cells within tolerance", f"{within:,}", f"of {counted:,} {given}"))
    if sum(claims[verdict] for verdict in (HOLDS, REFUTED, OPEN)):
        tiles.append(("claims held", f"{claims[HOLDS]:,}", f"{claims[REFUTED]:,} refuted, {claims[OPEN]:,} open"))
    return tiles


def _overview(sections: Sequence[ExperimentSection]) -> Sheet:
    """A sheet with one line per experiment, which links to its section."""
    sheet = Sheet(
        "Experiments",
        ["experiment", "within tolerance", "in no sum", "claims held", "refuted", "open", "paper", "kind", "trials ok",
         "not ok", "measured on", "about", "datasets"],
        chosen_by=("paper", "kind"),
        notes=["Kind: a reproduction is to give the paper's numbers; a control shows that another protocol does not, a "
               "study asks something else of its methods, a search looks for its protocol, and a gate is to give "
               "what was recorded here. The sums above are of reproductions alone.",
               "A claim is open where its interval has a bound of what is claimed inside: more trials would tell."],
    )  # fmt: skip
    for section in sections:
        claims = section.claims
        judged = any(claims[verdict] for verdict in (HOLDS, REFUTED, OPEN))
        within = f"{section.within} of {section.counted}" if section.counted else ""
        share = section.within / section.counted if section.counted else math.nan
        line = [
            Cell(section.name),
            Cell(within, share, f"tolerance: {section.tolerance}" if within else ""),
            Cell(", ".join(_in_no_sum(section.left_out)), section.left_out.total()),
            *(Cell(str(claims[verdict]) if judged else "", claims[verdict] if judged else math.nan)
              for verdict in (HOLDS, REFUTED, OPEN)),
            Cell(section.paper), Cell(section.role or ""),
            Cell(f"{section.ok:,}", section.ok),
            Cell(f"{section.lost:,}", section.lost, tone="bad" if section.lost else ""),
            Cell(section.when), Cell(section.title), Cell(", ".join(section.datasets)),
        ]  # fmt: skip
        sheet.lines.append(Line(line, link=section.anchor))
    return sheet


# ---- Over time ---------------------------------------------------------------------------------------------


_SHIFT = {"shift": "+.3g", "begins": ".0f", "p": ".2g"}  # columns and their formats


@dataclass(frozen=True)
class _Course:
    title: str
    runs: Sheet
    cells: Sheet


def _history_sheets(found: History) -> _Course:
    """Sheets of the runs, and of every cell's scores with the largest shift, the run at which it begins, and its p."""
    runs = Sheet("Runs", ["run", "finished", "commit", "rffbench", "folder"])
    for number, run in enumerate(found.runs.to_dict("records"), 1):
        texts = (run["date"], run["commit"][:12], run["version"], run["place"])
        runs.lines.append(Line([Cell(str(number), number), *map(Cell, map(str, texts))]))
    numbers = [f"run {number}" for number in range(1, len(found.runs) + 1)]
    protocol = ["protocol"] if (found.cells["protocol"] != "").any() else []
    cells = Sheet(
        "Scores over runs",
        [*protocol, "dataset", "s", "method", "metric", *numbers, "shift", "from run", "p"],
        chosen_by=("protocol", "dataset", "method"),
        stub=3 + len(protocol),
        notes=["shift: the largest standardised shift of the mean; p by permuting the runs, for one cell alone."],
    )
    for cell in found.cells.to_dict("records"):
        named = {**cell, "metric": METRICS[cell["metric"]].label if cell["metric"] in METRICS else cell["metric"]}
        where = [Cell(str(named[name])) for name in (*protocol, "dataset", "size", "method", "metric")]
        scores = [_number(value, f".{cell['decimals']}f") for value in cell["values"]]
        shift = [_number(cell[name], form) for name, form in _SHIFT.items()]
        cells.lines.append(Line([*where, *scores, *shift]))
    return _Course(found.title, runs, cells)


def _number(value: float | None, form: str) -> Cell:
    return Cell("–") if value is None or math.isnan(value) else Cell(f"{value:{form}}", value)
