"""Pages of docs/ that speak of results: python -m studies.pages [--check]

A page's source is Markdown that a person writes, ``studies/<study>/<page>.md``, with Jinja's expressions for numbers:
``{{ gain("Nyström", 512).said }}``. Its names are those that the study's ``facts.py`` lists in ``FACTS``. A sentence
whose truth depends on a verdict stands in ``{% if … %}``; where no branch fits, ``{{ fail("…") }}`` stops, and a person
writes another sentence. With --check nothing is written: pages that are out of date are named, and the exit status
is 1.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import NoReturn

import jinja2

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = "<!-- Written from {source} by `make reproduction`: change that file. -->\n"


def included(path: str) -> str:
    """A table that a script wrote."""
    return (ROOT / path).read_text(encoding="utf-8").strip()


class NoSentenceFits(Exception):
    """The results say what no branch of a page's source has a sentence for."""


def fail(what: str) -> NoReturn:
    raise NoSentenceFits(what)


def sources() -> dict[Path, Path]:
    """The page that each source makes."""
    found = sorted(path for path in (ROOT / "studies").rglob("*.md") if path.name != "README.md")
    return {source: ROOT / "docs" / source.name for source in found}


def rendered(source: Path) -> str:
    """The page of a source."""
    name = ".".join(source.relative_to(ROOT).with_name("facts").parts)
    facts = importlib.import_module(name).FACTS
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    try:
        text = environment.from_string(source.read_text(encoding="utf-8")).render(**facts, fail=fail, included=included)
    except (NoSentenceFits, jinja2.UndefinedError) as error:
        raise SystemExit(f"{source.relative_to(ROOT)}: {error}") from error
    return WRITTEN.format(source=source.relative_to(ROOT).as_posix()) + text


def main(check: bool) -> int:
    stale = []
    for source, page in sources().items():
        text = rendered(source)
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            stale.append(page.relative_to(ROOT).as_posix())
            if not check:
                page.write_text(text, encoding="utf-8")
    for page in stale:
        print(f"{page}: {'out of date; `make reproduction` writes it' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    sys.exit(main(parser.parse_args().check))
