"""Some trials of each experiment that is held to released numbers, measured again on real data."""

import itertools
import os
from pathlib import Path

import pytest

from tests.helpers.recomputed import ON_REAL_DATA, measured

pytestmark = ON_REAL_DATA
ROOT = Path(__file__).parents[1]
LIMIT_S = 600  # of a run

OF_MINUTES = {"ma2017-eigenpro"}
# Some cheap cells, and a metric of them.
AGAIN = [
    ("ma2017-eigenpro", {"method": ["eigenpro2 1"]}, "accuracy"),
    ("li2019-distributed", {"method": ["features 500"], "n_features": [50, 150]}, "accuracy"),
    ("potapczynski2021", {"dataset": ["pol-gp"]}, "relative_rmse"),
    (
        "buchel2024",
        {"dataset": ["magic04"], "method": ["orf rbf", "sorf arccos0"], "n_features": [38]},
        "frobenius_error",
    ),
    (
        "wacker2022-gaussian",
        {"dataset": ["magic04"], "method": ["SORF", "power srht"], "n_features": [48]},
        "frobenius_error",
    ),
    (
        "wacker2022-polynomial",
        {"dataset": ["magic04"], "method": ["product srht", "product sketch"], "n_features": [48]},
        "frobenius_error",
    ),
    (
        "wacker2022-polynomial-positive",
        {"dataset": ["concrete"], "method": ["product srht", "product normals"], "n_features": [24]},
        "mse",
    ),
    (
        "wacker2022-polynomial-7",
        {"dataset": ["kin8nm"], "method": ["product signs", "product srht"], "n_features": [24]},
        "mse",
    ),
    ("wacker2022-polynomial-7", {"dataset": ["naval"], "method": ["product signs"], "n_features": [48]}, "mse"),
    (
        "wacker2022-polynomial-7-positive",
        {"dataset": ["energy"], "method": ["Maclaurin signs", "product sketch"], "n_features": [24]},
        "frobenius_error",
    ),
    (
        "wacker2022-polynomial-20",
        {"dataset": ["magic04"], "method": ["Maclaurin srht", "product signs"], "n_features": [48]},
        "frobenius_error",
    ),
    (
        "wacker2022-complex-to-real",
        {"dataset": ["letter"], "method": ["product sketch", "product signs as real"], "n_features": [256]},
        "accuracy",
    ),
    (
        "wacker2022-complex-to-real-7",
        {"dataset": ["letter"], "method": ["product signs as real"], "n_features": [512]},
        "accuracy",
    ),
    ("parkinson2023", {"dataset": ["kin40k-xgpr"], "method": ["rff-sorf 512"], "n_features": [4096]}, "mae"),
    (
        "munkhoeva2018",
        {"dataset": ["powerplant"], "method": ["ROM arccos1", "B arccos1", "QMC gaussian"], "n_features": [10]},
        "cross_error",
    ),
    ("diaz2023", {"dataset": ["protein"], "method": ["rpcholesky 50", "uniform 50"]}, "residual_norm"),
    ("zhang2019", {"method": ["LP-RFF 4", "FP-Nystrom"], "n_features": [306]}, "accuracy"),
    (
        "wu2016",
        {"dataset": ["penbased"], "method": ["binning 0.1", "RFF 1.12", "Nyström 1.12"], "n_features": [8]},
        "accuracy",
    ),
    ("wu2016-covtype", {"dataset": ["covtype"], "method": ["RFF 1.12"], "n_features": [16]}, "accuracy"),
    ("wu2016-sigma", {"dataset": ["penbased"], "method": ["RFF", "Nyström"], "n_features": [16]}, "accuracy"),
    ("wu2016-cv", {"dataset": ["penbased"], "method": ["RFF", "Nyström"], "n_features": [16]}, "accuracy"),
    ("lin2023", {"dataset": ["elevators-gp"], "method": ["RFF", "Nystroem"], "n_features": [512]}, "rmse"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("experiment", "cells", "metric"),
    [pytest.param(*each, id=each[0], marks=[pytest.mark.long] if each[0] in OF_MINUTES else []) for each in AGAIN],
)
def test_trials_that_are_held_to_released_numbers_come_out_again(experiment, cells, metric, tmp_path, rffbench_in):
    """Their first trials equal those in results/, but for what rounding changes."""
    only = [f"--only={key}={','.join(map(str, values))}" for key, values in {**cells, "trial": [0]}.items()]
    mirror = os.environ["RFFBENCH_MIRROR"]
    run = rffbench_in(tmp_path, "run", experiment, *only, limit=LIMIT_S, RFFBENCH_MIRROR=mirror)
    assert run.returncode == 0, run.stdout + run.stderr
    for values in itertools.product(*cells.values()):
        cell = dict(zip(cells, values, strict=True)) | {"trial": 0}
        (again,) = measured(experiment, root=tmp_path, **cell)[metric]
        (before,) = measured(experiment, **cell)[metric]
        assert again == pytest.approx(before, rel=1e-3), cell
