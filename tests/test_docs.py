"""The pages show what is under results/, and the examples in docstrings run."""

import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("script", ["include_tables.py", "reproduction.py"])
def test_what_the_pages_show_are_the_results(script):
    done = subprocess.run([sys.executable, f"scripts/{script}", "--check"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/datasets.md", "docs/reproduction.md"])
def test_every_file_that_a_page_links_to_is_there(page):
    text = (ROOT / page).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    missing = [link for link in links if not ((ROOT / page).parent / link).exists()]
    assert not missing


@pytest.mark.parametrize(
    "module",
    ["features.fourier", "features.qmc", "features.leverage", "solvers.ridge", "solvers.kernel_ridge", "kernels",
     "execution.measure"],
)  # fmt: skip
def test_the_examples_in_docstrings_run(module):
    assert doctest.testmod(import_module(f"rffbench.{module}")).failed == 0
