"""A device that is not there is refused before anything runs, with what is missing."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from rffbench import features
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError
from rffbench.execution import environment
from rffbench.execution.devices import check_device
from rffbench.plugins import registry

ROOT = Path(__file__).parents[2]
CONFIG = """\
name: there
datasets: [digits]
n_features: [8]
methods: {RFF: {features: fourier}}
trials: 1
device: cuda
"""


def fake_torch(*, available=False, cuda=None, hip=None):
    torch = ModuleType("torch")
    torch.__version__ = "9.9"
    torch.cuda = SimpleNamespace(is_available=lambda: available)
    torch.version = SimpleNamespace(cuda=cuda, hip=hip)
    return torch


@pytest.mark.parametrize(
    ("torch", "message"),
    [
        (None, r"PyTorch, which is not installed; pip install 'rffbench\[cuda\]'"),
        (fake_torch(), "PyTorch 9.9 is built for CPUs only"),
        (fake_torch(cuda="13.0"), "PyTorch 9.9 sees no CUDA device"),
        (fake_torch(hip="7.0"), "PyTorch 9.9 sees no CUDA device"),
    ],
)
def test_what_is_missing_is_named(monkeypatch, torch, message):
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(ConfigError, match=message):
        check_device("cuda")


def test_a_device_that_is_there_is_taken_and_the_cpu_needs_no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(available=True, cuda="13.0"))
    check_device("cuda")
    monkeypatch.setitem(sys.modules, "torch", None)
    check_device("cpu")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("torch", "message"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", "pip install 'rffbench[cuda]'"),
        ("raise ImportError('libcudart.so.13: cannot open')", "cannot be loaded: libcudart.so.13"),
    ],
)
def test_a_run_is_refused_with_status_2_and_changes_nothing(tmp_path, torch, message):
    (tmp_path / "torch.py").write_text(torch)
    (tmp_path / "there.yaml").write_text(CONFIG)
    old = tmp_path / "results" / "there" / "trials.jsonl"
    old.parent.mkdir(parents=True)
    old.touch()
    variables = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "RFFBENCH_CACHE": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-m", "rffbench", "run", "there.yaml", "--fresh"],
        cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["there"]
    assert list(old.parent.iterdir()) == [old]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("trials: 1", "solver: {name: linear-svm}", 6, "cuda runs the solver ridge, not linear-svm"),
        ("trials: 1", "solver: {name: ridge, scoring: accuracy}", 5, "cuda runs ridge without scoring"),
        ("trials: 1", "solver: {name: ridge, path: true}", 5, "cuda runs ridge without path"),
        ("features: fourier", "features: other", 4, "cuda runs Fourier feature maps, not other"),
    ],
)
def test_what_does_not_run_there_is_refused_with_its_line(monkeypatch, tmp_path, old, new, line, message):
    other = EntryPoint("other", "sklearn.kernel_approximation:RBFSampler", features.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [other] if group == other.group else [])
    path = tmp_path / "there.yaml"
    path.write_text(CONFIG.replace(old, new))
    with pytest.raises(ConfigError, match=message) as refused:
        load_experiment(path)
    assert f":{line}:" in str(refused.value) or f"line {line}" in str(refused.value)
    path.write_text(path.read_text().replace("device: cuda", "device: cpu"))
    load_experiment(path)


def test_the_manifest_names_the_gpus_the_driver_lists(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.gpus() == []
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H100, 81559 MiB, 580.1'\n")
    tool.chmod(0o755)
    assert environment.gpus() == ["NVIDIA H100, 81559 MiB, 580.1"]
