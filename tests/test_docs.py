"""The pages show what is under results/, link to what is there, and all that is shown to be typed works."""

import doctest
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import rffbench
from rffbench.cli import cli
from rffbench.config.loading import load_experiment
from rffbench.features import FEATURES
from rffbench.report import compare_folder
from rffbench.report.board.own_verdict import verdict_of
from rffbench.report.frame import load_results
from rffbench.report.writeup import summary_line
from tests.helpers.places import results_of

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("README.md", "CONTRIBUTING.md", "docs", "docs/board", "docs/questions", "docs/reproduction")
PAGES = [ROOT / name for name in PLACES]
PAGES = [page for place in PAGES for page in ([place] if place.is_file() else sorted(place.glob("*.md")))]


def links(page):
    """The files of the repository that a page links to or shows."""
    found = re.findall(r"\]\(([^)#]+)", page.read_text())
    return [(page.parent / link).resolve() for link in found if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_links_to_is_there(page):
    assert [link for link in links(page) if not link.exists()] == []


def test_the_repository_keeps_the_figures_that_pages_show_and_no_others():
    shown = {str(link.relative_to(ROOT)) for page in PAGES for link in links(page) if link.suffix == ".png"}
    shown = {each for each in shown if each.startswith("results/")}
    kept = {line[1:] for line in (ROOT / ".gitignore").read_text().splitlines() if line.endswith(".png")}
    assert kept == shown


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_what_was_measured_and_what_pages_link_to_is_kept_and_what_is_derived_is_not():
    folder = results_of("table3-as-written")
    names = ("trials.jsonl", "trials.jsonl.xz", "config.yaml", "manifest.json")
    kept = {*(folder / name for name in names), *(link for page in PAGES for link in links(page))}
    names = (
        "summary.csv",
        "table.csv",
        "table.md",
        "table.tex",
        "compare.csv",
        "statistics.csv",
        "statistics.md",
        "compare.md",
        "figures/eeg.png",
        "figures/eeg.svg",
        ".lock",
    )
    derived = {folder / name for name in names}
    listed = "\n".join(str(path.relative_to(ROOT)) for path in sorted(kept | derived))
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"], cwd=ROOT, input=listed, capture_output=True, text=True
    )
    assert {ROOT / line for line in ignored.stdout.splitlines()} == derived


def unfenced(page):
    """The page's text without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)


def anchors(page):
    """The places in a page that a link can lead to, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)", unfenced(page), re.M)
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in shown}


def included(page):
    """The page whose text this one shows."""
    found = re.match(r"```{include} (\S+)", page.read_text())
    return (page.parent / found[1]).resolve() if found else page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_place_that_a_page_links_to_is_there(page):
    for link, anchor in re.findall(r"\]\(([^)#:]*\.md)?#([^)]+)\)", page.read_text()):
        assert anchor in anchors(included((page.parent / link).resolve() if link else page)), f"{link}#{anchor}"


def test_the_sidebar_has_at_most_twenty_entries():
    trees = re.findall(r"^```{toctree}\n(.*?)^```", (ROOT / "docs" / "index.md").read_text(), re.M | re.S)
    entries = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    assert 10 < len(entries) <= 20


@pytest.mark.slow
def test_the_site_builds_without_a_warning_has_every_page_and_asks_nothing_of_the_network(tmp_path):
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "docs", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for page in PAGES[2:]:
        assert (tmp_path / page.relative_to(ROOT / "docs").with_suffix(".html")).exists()
    for page, shown in (("cli", "rffbench run CONFIG"), ("cli", "--dry-run"), ("config", "lambda_scale")):
        text = (tmp_path / f"{page}.html").read_text()
        assert shown in re.sub("<[^>]*>", "", text).replace("[OPTIONS] ", ""), f"{page} says nothing of {shown}"
        assert ".. " not in re.sub("<[^>]*>", "", text), f"{page} shows its markup"
    for page, sections in (("board/results", ["Which map?"]), ("choose-a-map", ["How many columns?"])):
        text = (tmp_path / f"{page}.html").read_text()
        parts = re.findall(r"<section [^>]*>\s*(<details><summary>\s*)?<h2>([^<]*)", text)
        assert [name for folded, name in parts if not folded][:1] == sections
        assert sum(bool(folded) for folded, _ in parts) == (len(parts) - 1 if page == "board/results" else 0), page
        assert text.count("<details>") == text.count("</details>")
    for page in tmp_path.rglob("*.html"):
        assert "mailto:" not in page.read_text(), page.name
        loaded = re.findall(r'<(?:script|img|iframe|source|link)\b[^>]* (?:src|href)="([^"]*)', page.read_text())
        assert [each for each in loaded if "//" in each] == [], page.name
    for page in tmp_path.rglob("*.css"):
        assert not re.findall(r"url\([\"']?(?:https?:)?//|@import", page.read_text()), page.name


# ---- What stands in code blocks ----------------------------------------------------------------------------


def blocks(page, *kinds):
    return re.findall(rf"^```(?:{'|'.join(kinds)})\n(.*?)^```", page.read_text(), re.M | re.S)


def commands(page):
    """The rffbench commands of a page, in blocks of a shell or indented; those with placeholders left out."""
    indented = re.findall(r"(?:^|\n\n)((?: {4}\S.*\n)+)", unfenced(page))
    text = "\n".join([*blocks(page, "sh"), *indented]).replace("\\\n", " ")
    lines = [part for line in text.splitlines() for part in re.split("&&|;", line.partition("  #")[0])]
    found = [shlex.split(line)[1:] for line in lines if line.strip().startswith("rffbench ")]
    placeholder = re.compile(r"[|[]|\b(NAME|RESULTS|CONFIG|OLD|FILE)\b")
    return [arguments for arguments in found if not placeholder.search(" ".join(arguments))]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_the_command_line_understands_every_command_of_a_page(page):
    for arguments in commands(page):
        command, left = cli, arguments
        while isinstance(command, click.Group):
            command, left = command.commands[left[0]], left[1:]
        command.make_context("rffbench", list(left)).close()


CONFIGS = [(page, text) for page in PAGES for text in blocks(page, "yaml") if "\nmethods:" in text]
OWN_MAP = next(text for text in blocks(ROOT / "docs" / "tutorial.md", "python") if text.startswith("# mymap.py"))


@pytest.mark.parametrize(("page", "text"), CONFIGS, ids=lambda each: getattr(each, "name", ""))
def test_every_config_of_a_page_is_valid(page, text, tmp_path):
    (tmp_path / "mymap.py").write_text(OWN_MAP)
    for name in re.findall(r"\./(\w+\.csv)", text):
        (tmp_path / name).write_text("".join(f"{i},{i % 7},{i % 2}\n" for i in range(100)))
    (tmp_path / "a.yaml").write_text(text)
    assert list(load_experiment(tmp_path / "a.yaml").grid())


def test_there_are_configs_and_commands_to_check():
    assert len(CONFIGS) >= 4
    assert sum(len(commands(page)) for page in PAGES) >= 30


QUESTIONS = sorted((ROOT / "docs" / "questions").glob("*.md"))
COMPLETE = [
    "README.md", "docs/choose-a-map.md", "docs/stats.md",
    *(pytest.param(f"docs/{page}.md", marks=pytest.mark.slow) for page in ("estimators", "maps")),
    *(pytest.param(f"docs/questions/{page.name}", marks=pytest.mark.slow) for page in QUESTIONS),
]  # fmt: skip


@pytest.mark.parametrize("page", COMPLETE)
def test_the_examples_in_python_run(page, capsys):
    names = {"__name__": "example"}  # an example may use what those above it have made
    for example in blocks(ROOT / page, "python"):
        exec(compile(example, page, "exec"), names)


@pytest.mark.slow
def test_the_recipes_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "recipes"}
    for recipe in blocks(ROOT / "docs" / "recipes.md", "python"):
        if "import torch" not in recipe or find_spec("torch"):
            exec(compile(recipe, "recipes.md", "exec"), names)


@pytest.mark.parametrize("page", QUESTIONS, ids=lambda page: page.name)
def test_a_question_is_answered_first_and_in_150_words(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    assert len(prose.split()) <= 150
    title, _, answer = prose.strip().partition("\n\n")
    assert title.startswith("# ")
    assert answer.startswith("**")
    assert "\nEvidence: " in prose


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_what_is_shown_as_python_is_python(page):
    for text in blocks(page, "python"):
        compile(text, page.name, "exec")


def test_the_page_of_feature_maps_has_all_of_them_and_says_of_each_what_it_is_what_it_costs_and_where_it_is_from():
    sections = re.split("^## ", (ROOT / "docs" / "maps.md").read_text(), flags=re.M)[1:]
    by_name = {found[1]: text for text in sections if (found := re.search(r"^`([a-z-]+)`, `(\w+)`$", text, re.M))}
    assert list(by_name) == list(FEATURES)
    for name, text in by_name.items():
        assert f"`{FEATURES[name].partition(':')[2]}`" in text
        assert re.findall(r"^- \*\*(\w+):\*\* \S", text, re.M) == ["Formula", "Cost", "Variance", "When", "Source"]


def test_the_pages_of_estimators_and_of_results_have_every_public_name():
    text = "".join((ROOT / "docs" / name).read_text() for name in ("estimators.md", "python.md"))
    shown = re.findall(r"auto(?:class|function):: rffbench\.(?:api\.)?(\w+)", text)
    shown = [name for name in shown if name not in ("Comparison", "Difference", "Reported")]
    assert sorted(shown) == sorted(set(rffbench.__all__) - {"__version__"})


# ---- The tutorial ------------------------------------------------------------------------------------------

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.mark.slow
def test_the_tutorial_s_commands_run_in_its_order(rffbench, tmp_path):
    for kind, text in re.findall(r"^```(\w+)\n(.*?)^```", TUTORIAL.read_text(), re.M | re.S):
        if kind in ("yaml", "python"):
            (tmp_path / re.match("# (.*)", text)[1]).write_text(text)
        for line in text.splitlines() if kind == "sh" else []:
            program, *arguments = shlex.split(line)
            if program == "python":
                subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True)
            else:
                assert program == "rffbench"
                done = rffbench(*arguments, limit=1800)
                assert done.returncode == 0, (line, done.stdout, done.stderr)
    assert (tmp_path / "results" / "mine" / "mymap.py").exists()


# ---- The examples in docstrings ----------------------------------------------------------------------------

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


def test_the_readme_s_pipeline_scores_what_it_says():
    code = (ROOT / "README.md").read_text().split("## In Python")[1].split("```python\n")[1].split("```")[0]
    fitting, scoring = code.rstrip().rsplit("\n", 1)
    expression, said = scoring.split("  # ")
    names: dict = {}
    exec(fitting, names)
    assert eval(expression, names) == pytest.approx(float(said.split(",")[0]), abs=0.005)


@pytest.mark.slow
def test_the_readme_s_verdicts_are_those_of_the_results():
    said = " ".join((ROOT / "README.md").read_text().split())
    scores, timed = load_results(results_of("board-small")), load_results(results_of("board-seconds"))
    timed = replace(timed, trials=timed.trials[timed.trials["dataset"].isin(scores.datasets)])
    assert f" {verdict_of(scores, 'SORF', timed)} Here the map was SORF." in said
    comparison, _ = compare_folder(results_of("table3"))
    assert f" {summary_line(comparison)} Sixteen" in said
