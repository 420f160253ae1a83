"""The house keeps its order: pyproject.toml says who imports whom, CONTRIBUTING.md has the map of it."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_nothing_imports_upward_and_there_is_no_circle():
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "3 kept, 0 broken" in done.stdout


def test_what_test_modules_share_is_a_helper_s():
    shared = re.compile(r"^(from|import) tests\.(\w+\.)*test_\w+", re.MULTILINE)  # in a script that a test runs, too
    modules = sorted((ROOT / "tests").rglob("*.py"))
    assert len(modules) > 100
    assert {str(each.relative_to(ROOT)): found for each in modules if (found := shared.findall(each.read_text()))} == {}


# ---- private names -----------------------------------------------------------------------------------------


DEFINED = re.compile(r"(?:\bdef |\bclass |\bself\.|^)(_\w*[^\W_])\b", re.MULTILINE)


def used(tree):
    """The private names that a test imports, reads or replaces, but for caches that it empties."""
    emptied = {
        id(node.value) for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("cache_clear", "clear")
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.Attribute) and id(node) not in emptied:
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            yield "" if own else node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("setattr", "delattr", "object"):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            yield from (text.rpartition(".")[2] for text in texts)


@pytest.mark.slow
def test_tests_use_no_private_name_of_the_package():
    """What they need of it is public; caches may be emptied."""
    package = [path for top in ("rffbench", "studies", "benchmarks", "scripts") for path in (ROOT / top).rglob("*.py")]
    private = {name for path in package for name in DEFINED.findall(path.read_text())}
    assert {"_STARTING", "_replaced"} <= private
    for path in (ROOT / "tests").rglob("*.py"):
        assert not private & set(used(ast.parse(path.read_text()))), path


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from rffbench.data.store import _build", {"_build"}),
        ("store._build(card)", {"_build"}),
        ("monkeypatch.setattr(store, '_build', spy)", {"_build"}),
        ("monkeypatch.setattr('rffbench.data.store._build', spy)", {"_build"}),
        ("cards._found.cache_clear()", set()),
        ("self._build()", set()),
        ("log.spec(method='_own')", set()),
    ],
)
def test_the_use_of_a_private_name_is_found(source, names):
    assert {name for name in used(ast.parse(source)) if name.startswith("_")} == names


# ---- code that nothing uses --------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_function_and_class_is_used_outside_the_tests():
    """By name, in another place than its definition: in the package, studies, scripts, pages, …"""
    suffixes = (".py", ".md", ".toml", ".yaml", ".html")
    tops = ("rffbench", "studies", "scripts", "benchmarks", "docs", "pyproject.toml", "README.md")
    files = [path for top in tops for path in [ROOT / top, *(ROOT / top).rglob("*")] if path.suffix in suffixes]
    files = [path for path in files if "_build" not in path.parts]
    words = Counter(word for path in files for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))
    defined = Counter(
        node.name
        for path in (ROOT / "rffbench").rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list
    )
    assert len(defined) > 1000
    assert [name for name, count in defined.items() if words[name] <= count and not name.startswith("__")] == []


# ---- the map in CONTRIBUTING.md ----------------------------------------------------------------------------


def table(heading):
    """The cells of the table in CONTRIBUTING.md whose first column has this heading."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = text[text.index(f"| {heading} |") :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def names(cell):
    return set(re.findall(r"`([^`]+)`", cell))


def test_the_map_s_rows_are_the_layers_from_top_to_bottom():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rows = [{name.removesuffix(".py").rstrip("/") for name in names(row[0])} for row in table("in `rffbench/`")]
    assert rows == [set(layer.split(" | ")) for layer in layers]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_the_map_names_the_folders_there_are():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    folders = {str(folder) for path in listed for folder in Path(path).parents if not path.startswith(".")}
    top = {folder for folder in folders if "/" not in folder} - {".", "rffbench"}
    assert {name.rstrip("/") for row in table("folder") for name in names(row[0])} == top
    inside = {folder.removeprefix("rffbench/") for folder in folders if folder.startswith("rffbench/")}
    named = {name for row in table("in `rffbench/`") for cell in row for name in names(cell) if name.endswith("/")}
    assert {name.rstrip("/") for name in named} == inside
