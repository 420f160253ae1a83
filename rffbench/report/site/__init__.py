"""The board as a static site: pages to browse, and the rows as CSV. It needs no server and asks for nothing outside."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rffbench import __version__
from rffbench.errors import ConfigError, amount
from rffbench.execution.environment import git_commit
from rffbench.io import files
from rffbench.report.board.entries import read_entries
from rffbench.report.site.claims import papers
from rffbench.report.site.export import tables
from rffbench.report.site.parts import own_parts, shipped_parts

try:
    from itables import options

    from rffbench.report.page.render import own_file, templates
    from rffbench.report.site import board_page, dataset_page, map_page, paper_page
    from rffbench.report.site.content import RFF, Content
except ImportError as error:
    raise ConfigError(
        f"the site needs altair, itables, jinja2 and vl-convert-python ({error}); pip install 'rffbench[report]'"
    ) from error

__all__ = ["Site", "write_site"]

HERE = Path(__file__).parent
ABOUT, VERSIONS = "site.json", "versions"
"""In the site's folder: the file that says what wrote it, and the folder of the copies that stay."""
MADE_BY = "rffbench site"
POLICY = (
    "default-src 'none'; script-src 'self' file: blob:; style-src 'self' file: 'unsafe-inline'; "
    "img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)
"""What a page may load: what lies in the site's folder, from disk, too."""


@dataclass(frozen=True)
class Site:
    """A site that was written to ``folder``: how many pages it has, and the copy of this version if one was kept."""

    folder: Path
    pages: int
    kept: Path | None = None


def write_site(folder: Path, own: Sequence[Path] = (), *, keep: bool = False) -> Site:
    """Write the site to ``folder``, with the user's ``own`` results beside the rows that ship.

    With ``keep`` a copy stays at versions/<version of rffbench>, which no later call changes. ConfigError if the folder
    has files that are not of such a site; ResultsError if own results can't be shown.
    """
    _check(folder)
    shipped = shipped_parts()
    content = Content([*shipped, *own_parts(own, [part.name for part in shipped])], papers(), read_entries())
    about = {"made_by": MADE_BY, "version": __version__, "commit": git_commit() or "unknown"}
    made = dict(_files(content, about))
    _clear(folder)
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    kept = _keep(folder, made, about) if keep else None
    pages = {"versions.html": _versions(folder, about)}
    (folder / "versions.html").write_text(pages["versions.html"], encoding="utf-8")
    files.replace(folder / ABOUT, json.dumps({**about, "files": sorted([*made, *pages])}, indent=1) + "\n")
    return Site(folder, sum(name.endswith(".html") for name in [*made, *pages]), kept)


# ---- The folder ------------------------------------------------------------------------------------------------------


def _check(folder: Path) -> None:
    """ConfigError unless the site may be written there."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: is a file; the site is a folder")
    if folder.is_dir() and any(folder.iterdir()) and _read_about(folder) is None:
        raise ConfigError(f"{folder}: is not empty, and no site that rffbench wrote; give a new folder")


def _read_about(folder: Path) -> dict[str, Any] | None:
    """What a site's folder says of itself; None of another folder."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and about.get("made_by") == MADE_BY else None


def _clear(folder: Path) -> None:
    """Remove the files of the site that is there; versions and what is not the site's stay."""
    for name in (_read_about(folder) or {}).get("files", ()):
        place = folder / str(name)
        if ".." not in place.parts and not str(name).startswith(f"{VERSIONS}/"):
            place.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)


def _keep(folder: Path, made: dict[str, str], about: dict[str, str]) -> Path:
    """Copy the site to versions/<version>; ConfigError if that is there already and has another commit."""
    kept = folder / VERSIONS / about["version"]
    there = _read_about(kept)
    if there is not None and there.get("commit") != about["commit"]:
        raise ConfigError(
            f"{kept}: is kept already, of commit {there.get('commit')}; a kept version does not change. Remove it to "
            "write it again"
        )
    if kept.exists():
        shutil.rmtree(kept)
    for name in made:
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, kept / name)
    (kept / "versions.html").write_text(_render("versions.html", about, kept=[], title="Versions"), encoding="utf-8")
    files.replace(kept / ABOUT, json.dumps({**about, "files": sorted([*made, "versions.html"])}, indent=1) + "\n")
    return kept


def _versions(folder: Path, about: dict[str, str]) -> str:
    """The page that lists the versions that are kept."""
    found = [(path.name, _read_about(path)) for path in sorted((folder / VERSIONS).glob("*"))]
    kept = [(name, each.get("commit", "")) for name, each in found if each is not None]
    return _render("versions.html", about, kept=kept, title="Versions")


# ---- Its files -------------------------------------------------------------------------------------------------------


def _files(content: Content, about: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Every file's name from the folder, and its text."""
    bundle = Path(options.dt_bundle)
    source = json.dumps(bundle.read_text(encoding="utf-8"), ensure_ascii=False)
    yield "assets/tables.js", f"window.tableLibrary = {source};\n"
    yield "assets/site.js", (HERE / "site.js").read_text(encoding="utf-8")
    style = bundle.with_suffix(".css").read_text(encoding="utf-8")
    style = re.sub(r"url\((?![\"']?data:)[^)]*\)", "none", style)  # nothing is loaded
    yield "assets/site.css", "\n".join([style, own_file("page.css"), (HERE / "site.css").read_text(encoding="utf-8")])
    numbers = tables(content.parts)
    for name, text in numbers.items():
        yield f"data/{name}", text
    yield "index.html", _render("board.html", about, **board_page.context(content))
    first = {page: (part, label) for part in reversed(content.parts) for label in reversed(part.methods)
             if (page := content.addresses[part.name, label])}  # fmt: skip
    for page, (part, label) in first.items():
        yield f"maps/{page}.html", _render("map.html", about, **map_page.context(content, part, label))
    for dataset, page in content.datasets.items():
        yield f"datasets/{page}.html", _render("dataset.html", about, **dataset_page.context(content, dataset))
    for paper in content.papers:
        yield f"papers/{paper.name}.html", _render("paper.html", about, **paper_page.context(content, paper))
    listed = {
        "maps": [(label, page, part.title) for page, (part, label) in reversed(first.items())],
        "datasets": list(content.datasets.items()),
        "papers": [(paper.short, paper.name, paper.said) for paper in content.papers],
    }
    yield "lists.html", _render("lists.html", about, title="All pages", **listed)
    sizes = [(name, amount(len(text.encode()))) for name, text in numbers.items()]
    yield "data.html", _render("data.html", about, title="Data", sizes=sizes, baseline=RFF)


def _render(template: str, about: dict[str, str], **context: Any) -> str:
    """A page; its links to others start from ``root``."""
    inside = template in ("map.html", "dataset.html", "paper.html")
    page = templates(HERE / "templates").get_template(template)
    head = {"policy": POLICY, "version": about["version"], "scripts": ()}
    return page.render(**head, root="../" if inside else "", about=about, **context)
