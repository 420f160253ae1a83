"""The page of your own map, of your own data, or of your own run of the board: one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rffbench import __version__
from rffbench.execution.manifest import runs_of
from rffbench.io import files
from rffbench.report.board.own_tables import chosen_table, map_panels
from rffbench.report.frame import Results
from rffbench.report.strips import Strips
from rffbench.report.text_table import NOT_RUN, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure, the ``name`` of its file, and what it shows in words."""

    name: str
    shows: str
    figure: Figure


@dataclass(frozen=True)
class Section:
    """A part of a page: sentences, tables and figures under a ``title``."""

    title: str
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


def own_sections(
    tables_of: Sequence[Table], results: Results, timed: Results | None, label: str | None = None
) -> list[Section]:
    """The page of your own map, called ``label``, or of your own data: the tables of gains, what was chosen, and by
    which commit and where it ran."""
    from rffbench.report.figures.style import SCREEN, drawn_in

    with drawn_in(SCREEN):
        drawn = strips_pictures("board-gains", map_panels(results, label) if label else [])
    ran = {each.config["name"]: runs_of(each.folder) for each in (results, timed) if each}
    return [
        Section("Gains", list(tables_of), drawn),
        Section("Chosen parameters", [chosen_table(results)]),
        Section("Rows and machine", [run_table(ran)], said=["The trials are in trials.jsonl, beside this page."]),
    ]


def strips_pictures(name: str, panels: Sequence[Strips]) -> list[Picture]:
    """The picture of some panels; none without a panel."""
    from rffbench.report.figures.strips import strips_figure

    if not panels:
        return []
    shows = f"{'; '.join(each.title for each in panels)}: a dot for every dataset, and the median over them."
    return [Picture(name, shows, strips_figure(panels))]


def write_html(title: str, found: Sequence[Section], path: Path) -> Path:
    """Write the parts as one HTML file that loads nothing. ConfigError where what draws pages is not installed."""
    from rffbench.report.figures.style import SCREEN, drawn_in, rendered
    from rffbench.report.page.render import own_file, render

    def data(picture: Picture) -> str:
        (drawn,) = rendered(picture.figure, "svg")
        return f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}"

    with drawn_in(SCREEN):
        script = own_file("tables.js") + own_file("board.js")
        text = render("board.html", [script], version=__version__, title=title, sections=found, picture=data)
    files.replace(path, text.encode())
    return path


def run_table(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """The table of when the parts of a study ran, by which commits and versions, and on which machines: ``runs`` has
    the records of each part, as `rffbench.Results.runs` gives them."""
    table = Table("Runs", ["part", "runs", "from", "to", "commits", "rffbench", "machine"], stub=1)
    for name, found in runs.items():
        if found:
            commits = (str(run.get("git_commit") or "unknown")[:12] for run in found)
            machines = (f"{run.get('cpu')}, {run.get('processors')} processors" for run in found)
            days = [str(run.get(of) or NOT_RUN)[:10] for run, of in ((found[0], "started"), (found[-1], "finished"))]
            versions = (str(run.get("rffbench")) for run in found)
            table.rows.append([name, str(len(found)), *days, *map(_each_once, (commits, versions, machines))])
    return table


def _each_once(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
