"""The pages show what is under results/, and the examples in docstrings run."""

import doctest
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("script", ["include_tables.py", "reproduction.py"])
def test_what_the_pages_show_are_the_results(script):
    command = [sys.executable, f"scripts/{script}", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def links(page):
    """The files of the repository that a page links to or shows."""
    found = re.findall(r"\]\(([^)#]+)", page.read_text())
    return [(page.parent / link).resolve() for link in found if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_links_to_is_there(page):
    assert [link for link in links(page) if not link.exists()] == []


def test_the_repository_keeps_the_figures_that_pages_show_and_no_others():
    shown = {str(link.relative_to(ROOT)) for page in PAGES for link in links(page) if link.suffix == ".png"}
    kept = {line[1:] for line in (ROOT / ".gitignore").read_text().splitlines() if line.endswith(".png")}
    assert kept == shown


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_what_was_measured_and_what_pages_link_to_is_kept_and_what_is_derived_is_not():
    folder = ROOT / "results" / "table3-as-written"
    names = ("trials.jsonl", "trials.jsonl.xz", "config.yaml", "manifest.json", "compare.csv", "compare.md", "table.md")
    kept = {*(folder / name for name in names), *(link for page in PAGES for link in links(page))}
    names = ("summary.csv", "table.csv", "table.tex", "statistics.csv", "figures/eeg.png", "figures/eeg.svg", ".lock")
    derived = {folder / name for name in names}
    listed = "\n".join(str(path.relative_to(ROOT)) for path in sorted(kept | derived))
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"], cwd=ROOT, input=listed, capture_output=True, text=True
    )
    assert {ROOT / line for line in ignored.stdout.splitlines()} == derived


def test_every_experiment_of_the_page_leads_to_its_details():
    text = (ROOT / "docs" / "reproduction.md").read_text()
    headings = {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in re.findall("^#+ (.*)", text, re.M)}
    links = set(re.findall(r"\]\(#([^)]+)\)", text))
    assert links
    assert links <= headings


EXAMPLES = {
    ".".join(path.with_suffix("").relative_to(ROOT).parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "rffbench").rglob("*.py")) if ">>>" in path.read_text()
}  # fmt: skip
MODULES_WITH_EXAMPLES, EXAMPLES_RUN = 5, 23  # at least: a lost example is noticed


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_in_docstrings_run(module):
    result = doctest.testmod(import_module(module))
    assert result.failed == 0
    assert result.attempted == EXAMPLES[module].read_text().count(">>> ") > 0


def test_no_example_is_lost():
    assert len(EXAMPLES) >= MODULES_WITH_EXAMPLES
    assert sum(path.read_text().count(">>> ") for path in EXAMPLES.values()) >= EXAMPLES_RUN
