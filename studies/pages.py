"""Pages of docs/ that speak of results: python -m studies.pages [--check] [SOURCE...]

A page's source is Markdown that a person writes, ``studies/<study>/<page>.md``, with Jinja's expressions for numbers:
``{{ gain("Nyström", 512).said }}``. Its names are those of `studies.evidence` and of the study's own ``facts.py``. A
paper's page, ``studies/papers/<paper>/page.md``, has its cells in a CSV file beside it. A sentence whose truth depends
on a verdict stands in ``{% if … %}``; where no branch fits, ``{{ fail("…") }}`` stops, and a person writes another
sentence. A page that is only a reference holds tables in place, between ``<!-- {{ maps(page) }} -->`` and
``<!-- end -->``. With --check nothing is written: pages that are out of date are named, and the exit status is 1. With
names of sources, such as studies/board/learners.md, only their pages are made.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import jinja2

from studies import evidence, figures

ROOT = Path(__file__).resolve().parent.parent
ADVICE = "choose-a-map.md"  # of the board, but not among its pages
WRITTEN = "<!-- Written from {source} by `make reproduction`: change that file. -->\n"


def included(experiment: str, file: str) -> str:
    """A table that a script wrote into the folder of results of this name, in whatever group."""
    (path,) = (ROOT / "results").rglob(f"{experiment}/{file}")
    return path.read_text(encoding="utf-8").strip()


class NoSentenceFits(Exception):
    """The results say what no branch of a page's source has a sentence for."""


def fail(what: str) -> NoReturn:
    raise NoSentenceFits(what)


def sources(asked: Collection[Path] = ()) -> dict[Path, Path]:
    """The page that each source makes, of those ``asked`` for or of all."""
    found = sorted(path for path in (ROOT / "studies").rglob("*.md") if path.name != "README.md")
    if unknown := [path for path in asked if path not in found]:
        raise SystemExit(f"{unknown[0]} is no page's source: sources are studies/**/*.md, but for README.md")
    return {source: page_of(source) for source in asked or found}


def page_of(source: Path) -> Path:
    """docs/reproduction/<paper>.md for a paper's page.md, docs/board/ for the board's; else docs/<name>.md."""
    if is_of_paper(source):
        return ROOT / "docs" / "reproduction" / f"{source.parent.name}.md"
    folder = "board" if source.parent.name == "board" and source.name != ADVICE else ""
    return ROOT / "docs" / folder / source.name


def is_of_paper(source: Path) -> bool:
    return source.name == "page.md" and source.parent.parent.name == "papers"


ENVIRONMENT = jinja2.Environment(
    undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
)


@cache
def rendered(source: Path) -> str:
    """The page of a source."""
    text = filled(source, source.read_text(encoding="utf-8"), facts_of(source))
    return WRITTEN.format(source=source.relative_to(ROOT).as_posix()) + text


def filled(source: Path, text: str, names: dict[str, object]) -> str:
    """The text with its expressions' values; ``source`` is named where one can't be."""
    try:
        return ENVIRONMENT.from_string(text).render({**public(evidence), **names, "fail": fail, "included": included})
    except (NoSentenceFits, jinja2.TemplateError) as error:
        line = f":{error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
        raise SystemExit(f"{source.relative_to(ROOT)}{line}: {error}") from error


IN_PLACE = re.compile(r"(<!-- (\{\{ .*? \}\}) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: Path) -> str:
    """The text of a page that has tables between ``<!-- {{ … }} -->`` and ``<!-- end -->``."""
    from studies.reference import facts, package

    text = page.read_text(encoding="utf-8")
    names = {**public(package), **public(facts), "page": text}
    return IN_PLACE.sub(lambda found: f"{found[1]}{filled(page, found[2], names).strip()}\n{found[3]}", text)


def facts_of(source: Path) -> dict[str, object]:
    """The names that a study has of its own."""
    name = ".".join(source.relative_to(ROOT).with_name("facts").parts)
    return public(importlib.import_module(name)) if importlib.util.find_spec(name) else {}


def public(module: ModuleType) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


def written(asked: Collection[Path] = ()) -> dict[Path, str]:
    """The text of every page, and of the CSV file of every paper's cells; of the sources ``asked`` for, if any."""
    texts = {}
    for source, page in sources(asked).items():
        texts[page] = rendered(source)
        if is_of_paper(source) and (cells := evidence.every_cell(source.parent.name)):
            texts[page.with_suffix(".csv")] = cells
    if asked:
        return texts
    others = [page for place in ("README.md", "docs/*.md") for page in ROOT.glob(place)]
    with_marks = [page for page in others if page not in texts and IN_PLACE.search(page.read_text(encoding="utf-8"))]
    return texts | {page: with_tables(page) for page in with_marks}


def draw(asked: Collection[Path] = ()) -> None:
    """The figure of every paper whose page shows one of its own, ``<paper>.png`` beside it."""
    for source, page in sources(asked).items():
        figure = page.with_suffix(".png")
        if is_of_paper(source) and f"({figure.name})" in source.read_text(encoding="utf-8"):
            of_paper = evidence.of_paper(source.parent.name, "reproductions")
            figures.reported_and_measured(evidence.cells(*of_paper), figure)


def main(check: bool, asked: Collection[Path] = ()) -> int:
    stale = []
    for page, text in written(asked).items():
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            stale.append(page.relative_to(ROOT).as_posix())
            if not check:
                page.write_text(text, encoding="utf-8")
    for page in stale:
        print(f"{page}: {'out of date; `make reproduction` writes it' if check else 'written'}")
    if not check:
        draw(asked)
    return 1 if check and stale else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("sources", nargs="*", type=lambda name: Path(name).resolve(), metavar="SOURCE")
    # by its name, for facts that import this module
    sys.exit(importlib.import_module("studies.pages").main(*vars(parser.parse_args()).values()))
