"""A kernel in a file of the user's own, and ``rffbench check-kernel``."""

import json

import pytest
import yaml

from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError
from rffbench.kernels.checks import check_kernel

MINE = """\
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from rffbench.plugin import IsotropicKernel


@dataclass(frozen=True)
class MyKernel(IsotropicKernel):
    \"\"\"exp(-gamma*|x - x'|^2/stretch).

    Parameters
    ----------
    stretch : what the exponent is divided by
    \"\"\"

    stretch: float = 2.0

    def matrix(self, X, Y):
        return np.exp(-self.gamma / self.stretch * cdist(X, X if Y is None else Y, "sqeuclidean"))

    def radius(self, rng, d):
        return np.sqrt(rng.chisquare(d))

    @property
    def spectral_scale(self):
        return np.sqrt(2 * self.gamma / self.stretch)

    @property
    def spectral_variance(self):
        return 2 * self.gamma / self.stretch
"""
CONFIG = {
    "name": "own", "datasets": ["breast-cancer"], "preprocess": "standard", "n_features": [16], "trials": 1,
    "kernel": {"name": "./mine.py:MyKernel", "gamma": 0.1, "stretch": 3.0},
    "methods": {"RFF": {"features": "fourier"}, "exact": {"features": "none", "solver": {"name": "kernel-ridge"}}},
}  # fmt: skip


def write(folder, source=MINE, **changes):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.py").write_text(source)
    (folder / "own.yaml").write_text(yaml.safe_dump({**CONFIG, **changes}))
    return folder / "own.yaml"


@pytest.mark.slow
def test_a_run_measures_with_a_kernel_in_a_file(rffbench, tmp_path):
    write(tmp_path / "deep")
    done = rffbench("run", "deep/own.yaml")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "2 trials ok")
    folder = tmp_path / "results/own"
    assert (folder / "mine.py").read_text() == MINE
    rows = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    for row in rows:
        assert row["kernel"] == {"name": "./mine.py:MyKernel", "gamma": 0.1, "stretch": 3.0}
        assert len(row["kernel_source"]) == 64
        assert row["metrics"]["accuracy"] > 85
    assert str(tmp_path) not in (folder / "config.yaml").read_text() + (folder / "trials.jsonl").read_text()
    rffbench("run", "results/own/config.yaml")  # the folder has all that it takes
    assert len((folder / "trials.jsonl").read_text().splitlines()) == 2


def test_a_key_depends_on_the_source_and_not_on_where_the_file_lies(tmp_path):
    def keys(path):
        return [spec.key for spec in load_experiment(path).grid()]

    assert keys(write(tmp_path / "a")) == keys(write(tmp_path / "b"))
    assert keys(write(tmp_path / "c", MINE + "# edited\n")) != keys(write(tmp_path / "b"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("2 * self.gamma / self.stretch)", "4 * self.gamma / self.stretch)"), "draws do not give the exact form"),
        (("self.gamma / self.stretch * cdist", "-self.gamma / self.stretch * cdist"), "positive"),
        (("sqeuclidean", "euclidean"), "bandwidth: γ must be one over a squared length"),
        (("np.exp(-self.gamma", "X[:, :1] + np.exp(-self.gamma"), "not symmetric"),
        (("X if Y is None else Y", "X"), "form: the matrix of 5 and 35 rows must be float64"),
        (("rng.chisquare(d)", "np.random.default_rng(3).chisquare(d)"), "draws do not give the exact form"),
        (("return np.exp", "return 1 // 0 * np.exp"), "ZeroDivisionError"),
    ],
)
def test_a_kernel_whose_draws_or_form_are_wrong_is_refused_before_anything_runs(tmp_path, change, message):
    source = MINE.replace(*change)
    assert source != MINE
    path = write(tmp_path, source)
    with pytest.raises(ConfigError, match=rf"own\.yaml, line \d+: kernel.*{message}.*check-kernel \./mine.py:MyKernel"):
        load_experiment(path)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ({"name": "./mine.py:MyKernel", "strech": 1.0}, "did you mean 'stretch'"),
        ({"name": "./mine.py:YourKernel"}, "unknown class 'YourKernel'; did you mean 'MyKernel'"),
        ({"name": "./mine.py:cdist"}, "that is not a class"),
        ({"name": "./mine.py:ClassVar"}, "that is not a class|must derive from"),
        ({"name": "matern", "mu": 1}, "unknown parameter of kernel 'matern': 'mu'"),
        ({"name": "matern", "nu": -1}, "nu must be a positive number"),
        ({"name": "arc-cosine", "sigma": 2.0}, "sigma is not for the arc-cosine kernel, which has no bandwidth"),
        ({"name": "arc-cosine", "gamma": "median"}, "must be 1: the arc-cosine kernel has no bandwidth"),
        ({"name": "laplacian-l2", "nu": 1.5}, "is set by the name laplacian-l2"),
        ({"name": "gaussian", "lengths": [1.0, 2.0]}, "of breast-cancer: lengths must have one length for each of the "
         "30 inputs, got 2"),
        ({"name": "gaussian", "lengths": "lengths.csv"}, "lengths.csv: cannot be read: No such file"),
        ({"name": "gaussian", "lengths": "bad.csv"}, "bad.csv, line 2: must be positive numbers, not '-3'"),
    ],
)  # fmt: skip
def test_a_wrong_kernel_is_refused_with_its_line_and_what_would_do(tmp_path, kernel, message):
    path = write(tmp_path, kernel=kernel)
    (tmp_path / "bad.csv").write_text("1,2\n-3,4\n")
    with pytest.raises(ConfigError, match=rf"own\.yaml, line \d+: .*{message}"):
        load_experiment(path)


def test_lengths_in_a_file_are_the_numbers_in_it_also_in_a_sweep(tmp_path):
    numbers = [1.0 + j for j in range(30)]
    kernel = {"name": "gaussian", "gamma": 0.5, "lengths": "lengths.csv"}
    path = write(tmp_path, kernel=kernel, sweep={"ard": {"yes": {}, "no": {"kernel": {"lengths": "ones.csv"}}}})
    (tmp_path / "lengths.csv").write_text("\n".join(map(str, numbers)))
    (tmp_path / "ones.csv").write_text(",".join(["1"] * 30))
    found = {json.dumps(spec.kernel["lengths"]) for spec in load_experiment(path).grid()}
    assert found == {json.dumps(numbers), json.dumps([1.0] * 30)}
    assert "csv" not in load_experiment(path).to_yaml()


def test_a_trial_has_its_kernel_s_own_parameters_and_no_others(tmp_path):
    path = write(tmp_path, kernel={"name": "laplacian", "sigma": 2.0})
    spec = load_experiment(path).grid()[0]
    assert spec.kernel == {"name": "laplacian", "gamma": 0.5}
    assert spec.kernel_source is None
    assert load_experiment(write(tmp_path, kernel={"name": "laplacian-l2", "sigma": 2.0})).grid()[0].kernel == {
        "name": "matern", "gamma": 0.5, "nu": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["gaussian", "matern", "polynomial", "arc-cosine", "perceptron"])
def test_built_in_kernels_keep_to_what_is_checked(name):
    assert [check for check in check_kernel(name) if check.ok is not True] == []


def test_the_command_tells_what_each_check_found(rffbench, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    done = rffbench("check-kernel", "./mine.py:MyKernel")
    assert done.returncode == 0
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["ok", each] for each in ("form", "positive", "bandwidth", "parameters", "frequencies", "radii")
    ]
    (tmp_path / "mine.py").write_text(MINE.replace("2 * self.gamma", "1 * self.gamma"))
    done = rffbench("check-kernel", "./mine.py:MyKernel")
    assert done.returncode == 1
    assert "FAILED  frequencies   draws do not give the exact form" in done.stdout
    assert rffbench("check-kernel", "gausian").returncode == 2
