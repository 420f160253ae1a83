"""What an addition takes: a map, kernel, solver, metric, dataset, figure, column and command are added to a
copy of the package, and the files that this touches are counted. CONTRIBUTING.md names the same ones."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MAP = '''
"""Random Fourier features whose second half repeats the first."""

from dataclasses import replace
from typing import ClassVar

from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.plugins.parts import MapServes


class AddedFeatures(RandomFourierFeatures):
    """An added map."""

    serves: ClassVar[MapServes] = replace(RandomFourierFeatures.serves, source="A test")
'''
KERNEL = '''

class AddedKernel(GaussianKernel):
    """The added kernel: the Gaussian under another name."""

    name: ClassVar[str] = "added-kernel"
'''
SOLVER = '''
"""An added solver: ridge with one λ."""

from typing import Any

from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.ridge.streamed import StreamedRidgeCV


@serves(SolverServes(tasks=("regression",), sums="n*p**2/2", cost="p**3/6"))
def make_added(*, task: str, features: Any, memory: int | None = None, strength: float = 0.1) -> StreamedRidgeCV:
    """An added solver.

    Parameters
    ----------
    strength : λ.
    """
    return StreamedRidgeCV([strength], features=features, memory=memory)
'''
METRIC = '''
def worst_error(y: NDArray, predicted: NDArray) -> float:
    """max |y − ŷ|."""
    return float(np.abs(y - predicted).max())


def accuracy('''
FIGURE = '''
"""An added figure."""

from matplotlib.figure import Figure


def added_figure(results, cells, dataset, called):
    """An empty figure with a title."""
    figure = Figure()
    figure.suptitle(called)
    return figure
'''
COMMAND = '''
"""The command added."""

import click

from rffbench.cli.output import echo


@click.command()
def added() -> int:
    """An added command."""
    echo("it is there")
    return 0
'''
CARD = """\
name: added-data
title: An added dataset
short: added
task: regression
rows: 200
columns: 3
split: {rule: half}
format: {kind: synthetic, seed: 5, sigma: 0.5, noise: 0.2}
licence: None needed; made by this test
citation: A test
"""
CONFIG = """\
name: additions
datasets: [added-data]
kernel: {name: added-kernel, sigma: 1.0}
n_features: [8]
methods:
  Added: {features: added-map}
solver: {name: added-solver, strength: 0.01}
trials: 1
figures: [added]
"""
# Of each addition, the files and what is put into them: a new file's text, or (before this, put that) of one there is.
ADDITIONS = {
    "map": {
        "rffbench/features/fourier/added.py": MAP,
        "rffbench/features/fourier/__init__.py": [
            ("FEATURES = {\n", '    "added-map": "rffbench.features.fourier.added:AddedFeatures",\n'),
        ],
    },
    "kernel": {
        "rffbench/kernels/shift_invariant.py": KERNEL,
        "rffbench/kernels/__init__.py": [
            ("from rffbench.kernels.shift_invariant import (\n", "    AddedKernel,\n"),
            ("    for each in (\n", "        AddedKernel,\n"),
        ],
    },
    "solver": {
        "rffbench/solvers/added.py": SOLVER,
        "rffbench/solvers/__init__.py": [
            ("BUILT_IN = {\n", '    "added-solver": "rffbench.solvers.added:make_added",\n'),
        ],
    },
    "metric": {
        "rffbench/trials/metrics.py": [
            ("    for metric in (\n",
             '        Metric("worst_error", "worst error", better="less", score=worst_error, task="regression"),\n'),
        ],
    },
    "dataset": {"datasets/added-data.yaml": CARD},
    "figure": {
        "rffbench/report/figures/added.py": FIGURE,
        "rffbench/report/figures/__init__.py": [
            ("from rffbench.config.values import USUAL_FIGURES\n",
             "from rffbench.report.figures.added import added_figure\n"),
            ("_DRAWN: dict[str, Callable[[Results, pd.DataFrame, str, str], Figure | None]] = {\n",
             '    "added": added_figure,\n'),
        ],
        "rffbench/config/values.py": [("FigureName = Literal[", '"added", ')],
    },
    "column": {
        "rffbench/report/text_table.py": [
            ("LEAD: dict[str, Callable[[str, str], str]] = {", '"added": lambda dataset, size: "here", '),
        ],
    },
    "command": {
        "rffbench/cli/added.py": COMMAND,
        "rffbench/cli/__init__.py": [
            ("from rffbench import __version__\n", "from rffbench.cli.added import added\n"),
            ("configs.completion),\n", "    \"Added\": (added,),\n"),
        ],
    },
}  # fmt: skip


CALLED = {"map": "feature map", "column": "column that names a table's rows"}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package with all additions."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("rffbench", "configs", "datasets"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for files in ADDITIONS.values():
        for name, change in files.items():
            path = root / name
            text = path.read_text() if path.exists() else ""
            if isinstance(change, str):
                path.write_text(f"{text.rstrip()}\n{change}" if text else change.lstrip())
                continue
            for anchor, added in change:
                assert text.count(anchor) == 1, (name, anchor)
                text = text.replace(anchor, anchor + added)
            path.write_text(text.replace("\ndef accuracy(", METRIC) if name.endswith("metrics.py") else text)
    return root


def rffbench(package, *arguments):
    command = [sys.executable, "-m", "rffbench", *arguments]
    environment = {
        **os.environ, "PYTHONPATH": str(package), "RFFBENCH_CACHE": str(package / "cache"),
        "NUMBA_DISABLE_JIT": "1",  # compiling takes longer than a few rows do without
    }  # fmt: skip
    return subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_touches_at_most_three_files_which_contributing_names(what):
    assert 1 <= len(ADDITIONS[what]) <= 3
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## What an addition touches")[2].partition("\n## ")[0]
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {CALLED.get(what, what)} |")]
    for file in ADDITIONS[what]:
        assert any(f"`{place}" in row for place in (file, f"{Path(file).parent}/", f"{Path(file).parents[1]}/<")), file


def test_what_contributing_says_is_in_a_file_is_there():
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    said = re.findall(r"`([A-Za-z_]+)` (?:of|in) `([\w/]+\.py)`", text)
    assert ("PROMISES", "tests/helpers/every_solver.py") in said
    for name, file in said:
        found = [path for path in (ROOT / file, ROOT / "rffbench" / file) if path.is_file()]
        assert found, file
        assert re.search(rf"^(class |def )?{name}\b", found[0].read_text(), re.M), (name, file)


def test_an_added_command_is_there(package):
    assert rffbench(package, "added").stdout == "it is there\n"


@pytest.mark.slow
def test_additions_are_listed_with_what_they_serve(package):
    done = rffbench(package, "methods", "--for", "kernel=added-kernel", "--json")
    assert done.returncode == 0, done.stderr
    found = {kind: {row["name"] for row in rows} for kind, rows in json.loads(done.stdout).items()}
    assert found["kernels"] == {"added-kernel"}
    assert {"added-map", "fourier", "qmc", "sorf"} <= found["maps"]
    assert "added-solver" in found["solvers"]
    assert "worst_error" in found["metrics"]


@pytest.mark.slow
def test_additions_run_together_and_are_refused_where_they_do_not_serve(package):
    (package / "additions.yaml").write_text(CONFIG)
    done = rffbench(package, "run", "additions.yaml", "--results", str(package / "r"), "--workers", "1")
    assert done.returncode == 0, done.stderr
    (log,) = (package / "r").rglob("trials.jsonl")
    (row,) = map(json.loads, log.read_text().splitlines())
    assert row["metrics"]["worst_error"] >= row["metrics"]["rmse"] > 0
    assert [path.name for path in (package / "r").rglob("*.png")] == ["added-data-added.png"]
    (table,) = (package / "r").rglob("table.md")
    assert "| added | dataset" in table.read_text()
    done = rffbench(package, "run", "additions.yaml", "--results", str(package / "r2"), "--dry-run")
    assert "1 counted" in done.stdout
    (package / "wrong.yaml").write_text(CONFIG.replace("added-data", "digits"))
    done = rffbench(package, "validate", "wrong.yaml")
    assert done.returncode == 2
    assert "solver 'added-solver' is for regression; for classification use 'ridge'" in done.stderr
