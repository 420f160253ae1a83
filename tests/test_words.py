"""CONTRIBUTING.md's list of words is true of the code: one meaning a word, one word a meaning."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
ABOVE_SOLVERS = ("api.py", "cli", "config", "execution", "report", "trials")
MENTIONS_S = re.compile(r"(?<![\w’'])s(?![\w’'])")


class Given(NamedTuple):
    """A name that code gives to a variable, a parameter, a field or a function."""

    name: str
    part: str  # the folder or file of the package that it is in
    place: str
    documented: str  # the docstrings around it


def names_in(source: str, part: str, place: str) -> Iterator[Given]:
    nodes: list[tuple[ast.AST, str]] = [(ast.parse(source), "")]
    while nodes:
        node, documented = nodes.pop()
        name = ""
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            documented += ast.get_docstring(node, clean=False) or ""
        if isinstance(node, ast.FunctionDef):
            name = node.name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            name = node.id if isinstance(node, ast.Name) else node.attr
        if name:
            yield Given(name, part, f"{place}:{node.lineno}", documented)
        nodes += ((child, documented) for child in ast.iter_child_nodes(node))


@pytest.fixture(scope="module")
def names() -> list[Given]:
    package = ROOT / "rffbench"
    return [
        each
        for path in sorted(package.rglob("*.py"))
        for each in names_in(path.read_text(encoding="utf-8"), path.relative_to(package).parts[0], path.name)
    ]


@pytest.mark.slow
def test_only_what_migrates_rows_calls_timing_exclusive(names):
    assert {each.place.split(":")[0] for each in names if each.name == "exclusive"} == {"migrate.py"}


def test_lambda_is_alpha_in_solvers_alone(names):
    """A kernel has an α of its own."""
    called = {"alpha", "alphas", "alpha_"}
    assert not [each.place for each in names if each.name in called and each.part in ABOVE_SOLVERS]
    assert [each.place for each in names if each.name in called and each.part == "solvers"]


def test_columns_are_n_components_in_maps_and_solvers_alone(names):
    assert not [each.place for each in names if each.name == "n_components" and each.part in ABOVE_SOLVERS]


def test_s_is_what_a_docstring_s_formula_calls_so(names):
    """In `linalg` and `solvers` it is also a letter of what is computed."""
    found = [each for each in names if each.name == "s" and each.part not in ("linalg", "solvers")]
    assert found
    assert not [each.place for each in found if not MENTIONS_S.search(each.documented)]


def test_what_the_words_call_code_is_in_the_code():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    words = text.partition("\n## Words\n")[2].partition("\n## ")[0]
    quoted = set(re.findall(r"`(\w+)`", words))
    assert {"timing", "lambda_", "n_features", "n_components", "n_frequencies"} <= quoted
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "rffbench").rglob("*.py"))
    assert quoted <= set(re.findall(r"\w+", code))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(s): pass", ["f", "s"]),
        ("self.alpha = s", ["alpha"]),
        ("[s for s in x]", ["s"]),
        ("class A:\n    exclusive: bool = False", ["exclusive"]),
        ("draw(alpha=0.5)", []),
    ],
)
def test_names_that_code_gives_are_found(source, names):
    assert [each.name for each in names_in(source, "", "")] == names


# ---- Plain English -----------------------------------------------------------------------------------------

MANNERED = re.compile(
    r"\b(so many|one's own|what becomes of|what stands|(stands?|stood) still|for ever|without end|in one go"
    r"|(tells?|told) of|gone (by|through)|what of)\b"
)
REVIEWED = ("rffbench", "docs", "README.md", "CONTRIBUTING.md")
# Stricter in the mathematical parts: "if", not "where"; the subject's name, not "what".
PLAIN = re.compile(
    r"\b(stands?|is told|what (it|they) (is|are|has|takes|comes to)|comes to (hold|give)|where (there|that|one) is"
    r"|whatever (its|the|that)|as it is|as they are|of (its|their) own|what .{1,30} (says|sees|gives|takes|asks))\b"
)
MATHEMATICAL = tuple(f"rffbench/{each}" for each in ("features", "kernels", "linalg", "papers", "solvers"))


def mannered(text: str, pattern: re.Pattern[str] = MANNERED) -> list[str]:
    """Each line with a turn of phrase that a plainer one can replace."""
    return [f"{number}: {line.strip()}" for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]


def found_in(places: Iterable[str], suffixes: tuple[str, ...], pattern: re.Pattern[str]) -> dict[str, list[str]]:
    files = [ROOT / place for place in places]
    files = [each for place in files for each in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return {
        path: lines
        for each in files
        if each.suffix in suffixes
        and not (path := each.relative_to(ROOT).as_posix()).startswith("docs/_build")
        and (lines := mannered(each.read_text(encoding="utf-8"), pattern))
    }


def test_docs_docstrings_and_messages_are_in_plain_english():
    """Say "this number of columns", "your own file", "the other workers pause"."""
    assert not found_in(REVIEWED, (".py", ".md", ".html"), MANNERED)


def test_the_mathematical_parts_are_in_plain_english():
    """Say "if there is one", "the bytes that a fit needs", "each with its lengths"."""
    assert not found_in(MATHEMATICAL, (".py", ".yaml"), PLAIN)


@pytest.mark.parametrize(
    ("line", "is_mannered"),
    [("a file of one's own", True), ("within so many seconds", True), ("the others stand still", True),
     ("it would wait for ever", True), ("told of by a warning", True), ("the rows are gone through once", True),
     ("a file of your own", False), ("so that many rows fit", False), ("standstill", False), ("forever", False)],
)  # fmt: skip
def test_a_mannered_phrase_is_found(line, is_mannered):
    assert bool(mannered(line)) is is_mannered


# ---- Where to look -----------------------------------------------------------------------------------------


def test_contributing_leads_to_the_code_of_each_step():
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| what happens | where |")[2]
    pairs = re.findall(r"`([A-Za-z_.]+)` in\s`((?:rffbench|studies)/[\w/]+\.py)`", table.partition("\n\n")[0])
    assert {"run_single", "TrialLog.append", "best_solution", "make_cells", "read_blocks"} <= {
        name for name, _ in pairs
    }
    for name, path in pairs:
        *owner, defined = name.split(".")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^ *(def|class) {defined}\b", source, re.MULTILINE), (name, path)
        assert all(f"class {each}" in source for each in owner), (name, path)
