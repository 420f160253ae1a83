"""Without LIBSVM and LIBLINEAR, an extra, all but the solvers that are theirs works; those say what to install."""

import sys

import numpy as np
import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError
from rffbench.execution import make_executor
from rffbench.execution.run import run_experiment
from rffbench.solvers import SOLVERS, make_solver

THEIRS = [
    ("LIBSVM", {"name": "kernel-svm", "loss": "hinge"}),
    ("LIBLINEAR", {"name": "linear-svm", "method": "liblinear"}),
    ("LIBLINEAR", {"name": "linear-svm", "method": "liblinear-dual", "loss": "hinge"}),
]
CONFIG = """\
name: machines
datasets: [breast-cancer]
n_features: [100]
methods: {{one: {{features: {features}}}}}
solver: {solver}
trials: 1
"""


@pytest.fixture
def neither(monkeypatch):
    for module in ("libsvm", "libsvm.svm", "liblinear", "liblinear.liblinear"):
        monkeypatch.setitem(sys.modules, module, None)


def experiment(tmp_path, solver):
    config = tmp_path / "machines.yaml"
    features = "none" if solver["name"] == "kernel-svm" else "fourier"
    config.write_text(CONFIG.format(features=features, solver=solver))
    return load_experiment(str(config))


@pytest.mark.parametrize(("library", "solver"), THEIRS)
def test_their_solvers_are_refused_before_anything_runs(library, solver, tmp_path, embedded, neither):
    valid = experiment(tmp_path, solver)  # checking a config needs no library
    with pytest.raises(ConfigError, match=rf"{library} cannot be loaded .*: pip install 'rffbench\[svm\]'"):
        run_experiment(valid, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("library", "solver"), THEIRS)
def test_validate_says_that_the_config_is_right_and_what_it_lacks_here(library, solver, tmp_path, neither):
    experiment(tmp_path, solver)
    said = CliRunner().invoke(cli, ["validate", str(tmp_path / "machines.yaml")], standalone_mode=False)
    assert said.return_value == 0
    assert said.stdout.endswith("machines.yaml: OK; 1 trial\n")
    assert f"it cannot run here: {library} cannot be loaded" in said.stderr


@pytest.mark.parametrize(("library", "solver"), THEIRS)
def test_in_python_they_say_the_same(library, solver, neither):
    X = np.random.default_rng(0).normal(size=(20, 2))
    machine = make_solver(solver, task="classification")
    with pytest.raises(ConfigError, match=rf"{library} cannot be loaded .*pip install 'rffbench\[svm\]'"):
        machine.fit(X, np.where(X[:, 0] > 0, 1.0, -1.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SOLVERS.names() if name != "none"])
def test_every_solver_runs_without_them_by_default(name, tmp_path, embedded, neither):
    own = {"lambda": [0.1]} if "lambda" in SOLVERS.parameters(name) else {}
    features = "fourier" if SOLVERS.needs(name, "features") is not False else "none"
    config = tmp_path / "machines.yaml"
    config.write_text(CONFIG.format(features=features, solver={"name": name, **own}))
    loaded = load_experiment(str(config))
    summary = run_experiment(loaded, tmp_path / "out", executor=make_executor("serial", loaded))
    assert (summary.ok, summary.total) == (1, 1)
