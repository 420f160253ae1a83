"""What was importable before the maps got a folder a family still is."""

import pickle
import subprocess
import sys
from importlib import import_module

import pytest

import rffbench

OLD = {
    "fourier": ["RandomFourierFeatures"],
    "qmc": ["QuasiMonteCarloFeatures", "low_discrepancy_points"],
    "leverage": [
        "LeverageScoreFeatures", "SurrogateLeverageFeatures", "PooledFeatures", "ridge_leverage_scores",
        "alignment_scores", "frequency_scores", "resample", "whole_pool", "Selection",
    ],
    "structured": [
        "OrthogonalRandomFeatures", "StructuredOrthogonalFeatures", "FastfoodFeatures", "SRHTFeatures",
    ],
    "countsketch": ["CountSketchGaussianFeatures"],
    "compact": ["CompactFeatures", "ProjectedFeatures"],
    "tefm": ["TrainingEfficientFeatureMap"],
    "nystroem": ["NystroemFeatures"],
    "perceptron": ["PerceptronFeatures", "draw_perceptrons"],
}  # fmt: skip


@pytest.mark.parametrize("module", OLD)
def test_an_old_import_path_gives_the_same_class(module):
    found = import_module(f"rffbench.features.{module}")
    for name in OLD[module]:
        assert getattr(found, name) is getattr(import_module(getattr(found, name).__module__), name)
        if hasattr(rffbench, name):
            assert getattr(found, name) is getattr(rffbench, name)
    with pytest.raises(AttributeError, match="NoSuchMap"):
        _ = found.NoSuchMap


def test_a_pickle_made_before_the_move_is_read():
    for module, names in OLD.items():
        old = f"crffbench.features.{module}\n{names[0]}\n.".encode()  # a class by its module and name, protocol 0
        assert pickle.loads(old) is getattr(rffbench, names[0])


def test_the_families_tables_import_no_map():
    program = "import sys, rffbench.features; print([each for each in sys.modules if each.endswith(('.qmc', '.pool'))])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "rffbench.features.quadrature.qmc" not in done.stdout
    assert "rffbench.features.weighted.pool" not in done.stdout
