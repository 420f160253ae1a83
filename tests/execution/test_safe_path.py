"""A file of the current folder that is called as one of Python's modules is not taken for that by a run's processes."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
import yaml

from rffbench.io import process
from rffbench.io.process import OURS, SAFE_PATH, forget_safe_path, safe_path
from tests.conftest import ROOT
from tests.helpers.own_file import CONFIG

LIMIT_S = 300
SHADOWS = ("random", "types", "copy", "tempfile")
MAP = f"""
import os, random, sys
from rffbench import RandomFourierFeatures

assert random.random() < 1 and "{SAFE_PATH}" not in os.environ

class MyFeatures(RandomFourierFeatures):
    def fit(self, X, y=None):
        assert "{SAFE_PATH}" not in os.environ  # what the map's code starts is as it would be elsewhere
        return super().fit(X, y)
"""

SCRIPT = """from rffbench.cli import main

if __name__ == "__main__":
    main()
"""  # as pip installs it


@pytest.fixture
def folder(tmp_path):
    """A map and its config, and beside them files of such names."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('this is not the {name} of Python')\n")
    (tmp_path / "mine.py").write_text(MAP)
    methods = {"Mine": {"features": "./mine.py:MyFeatures"}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({**CONFIG, "methods": methods}))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rffbench").write_text(SCRIPT)
    return tmp_path


def runs(folder, given, command, *options):
    given = {name: value for name, value in given.items() if name != SAFE_PATH}
    done = subprocess.run(
        [sys.executable, *command.split(), "run", "own.yaml", *options], cwd=folder, env=given, text=True,
        capture_output=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (0, ["1 trial ok"]), done.stderr


@pytest.mark.slow
def test_a_run_and_its_workers_take_python_s_own(folder, environment):
    runs(folder, environment, "bin/rffbench")


@pytest.mark.slow
def test_so_does_python_m(folder, environment):
    for name in ("types", "copy"):  # Python itself needs these before it comes to this package
        (folder / f"{name}.py").unlink()
    runs(folder, environment, "-m rffbench")


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("distributed"), reason="needs the library distributed")
@pytest.mark.parametrize(
    ("solver", "options"),
    [({"name": "ridge"}, ["--executor", "dask"]), ({"name": "ridge", "blocks": "dask"}, [])],
    ids=["trials", "blocks"],
)
def test_so_do_dask_s_processes(folder, environment, solver, options):
    config = yaml.safe_load((folder / "own.yaml").read_text())
    (folder / "own.yaml").write_text(yaml.safe_dump({**config, "solver": solver}))
    runs(folder, environment, "bin/rffbench", *options)


def test_beside_the_package_itself_nothing_changes_and_what_a_user_says_stays(monkeypatch, tmp_path):
    monkeypatch.delenv(SAFE_PATH, raising=False)
    monkeypatch.chdir(ROOT)  # where the workers' Python may have to find it
    assert safe_path() == ""
    monkeypatch.chdir(tmp_path)
    assert safe_path() == OURS
    with process.environment({SAFE_PATH: safe_path()}):
        forget_safe_path()
        assert safe_path() == OURS
    monkeypatch.setenv(SAFE_PATH, "1")
    forget_safe_path()
    assert safe_path() == "1"
