"""The gate: a small fixed part of everything measured again on real data, and what it must not let through.

`rffbench run configs/regression.yaml && rffbench compare results/regression` holds the scores against the papers where
they come out and against our own recorded means, each with a tolerance from a measured spread. Deliberate mistakes must
turn it red.
"""

import itertools
import json
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from rffbench.config.loading import load_experiment
from tests.helpers.recomputed import measured

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "configs" / "regression.yaml"
LIMIT_S = 300  # of the run
EEG = {"RFF": "RFF", "Ours released": "surrogate-RFF reweighted", "Ours written": "surrogate-RFF written"}  # as shown


def on_real_data(test):
    """Marks of a test that measures again."""
    unset = pytest.mark.skipif(not os.environ.get("RFFBENCH_MIRROR"), reason="RFFBENCH_MIRROR is not set")
    return pytest.mark.regression(pytest.mark.data(unset(test)))


@on_real_data
def test_the_gate_is_green(tmp_path, rffbench_in):
    def command(*arguments):
        return rffbench_in(tmp_path, *arguments, limit=LIMIT_S, RFFBENCH_MIRROR=os.environ["RFFBENCH_MIRROR"])

    run = command("run", CONFIG)
    if run.returncode:
        pytest.fail(f"could not be measured: status {run.returncode}: {run.stdout}{run.stderr}", pytrace=False)
    compared = command("compare", "results/regression")
    if compared.returncode:
        pytest.fail(f"regressed:\n{compared.stdout}{compared.stderr}", pytrace=False)
    rows = [json.loads(line) for line in (tmp_path / "results/regression/trials.jsonl").read_text().splitlines()]
    assert len(rows) == len(load_experiment(CONFIG).grid())


def eeg(tmp_path, **changes):
    """EEG's part of the gate measured in this process, and what compare says of it."""
    from rffbench.report.compare import compare
    from rffbench.report.frame import load_results
    from rffbench.trials import tasks as plan
    from rffbench.trials.spec import TrialResult

    class Rows:
        memory_limit = None
        alone = nullcontext

        def __init__(self):
            self.rows = []

        def begin(self, spec):
            pass

        def result(self, result):
            result.seconds["contended"] = True
            self.rows.append(result.to_row())

        def fail(self, spec, error):
            self.result(TrialResult.failed(spec, "error", type(error).__name__, str(error)))

    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    config |= {"datasets": ["eeg"], "n_features": ["1d", "4d", "16d"], "preprocess": config["preprocess"]["eeg"]}
    config |= {"trials": 3}
    config["methods"] = {label: config["methods"][label] | {"datasets": ["eeg"]} for label in EEG}
    config |= {key: value for key, value in changes.items() if key != "written"}
    for label in EEG:
        if "written" in label and "written" in changes:
            config["methods"][label]["solver"] = config["methods"][label]["solver"] | changes["written"]
    from rffbench.config.experiment import Experiment
    from rffbench.data import ensure

    ensure("eeg")
    experiment = Experiment.model_validate(config)
    channel = Rows()
    for task in plan.tasks([replace(spec, timing="shared") for spec in experiment.grid()]):
        plan.run_group(task, channel)
    (tmp_path / "config.yaml").write_text(experiment.to_yaml(), encoding="utf-8")
    (tmp_path / "trials.jsonl").write_text("".join(json.dumps(row) + "\n" for row in channel.rows), encoding="utf-8")
    cells = compare(load_results(tmp_path)).cells
    return cells[cells["verdict"].isin(["reproduced", "close", "differs"])]


def red(cells, methods):
    """The methods of which some cell differs, in the order of ``methods``."""
    differ = set(cells.loc[cells["verdict"] == "differs", "method"])
    return [method for method in methods if EEG[method] in differ]


@on_real_data
def test_unchanged_it_is_green_on_eeg(tmp_path):
    cells = eeg(tmp_path)
    assert len(cells) == 3 * len(EEG)
    assert red(cells, EEG) == []


@on_real_data
def test_a_bandwidth_wrong_by_root_two_turns_it_red(tmp_path):
    assert red(eeg(tmp_path, kernel={"name": "gaussian", "sigma": 2**0.5}), EEG) == list(EEG)


@on_real_data
def test_importance_weights_left_out_turn_it_red(tmp_path, monkeypatch):
    from rffbench.features.weighted import pool

    def unweighted(scores, s, rng):
        chosen = weighted(scores, s, rng)
        return replace(chosen, amplitude=chosen.amplitude * 0 + s**-0.5, weights=chosen.weights * 0 + 1)

    weighted = pool.resample
    monkeypatch.setattr(pool, "resample", unweighted)
    assert red(eeg(tmp_path), EEG) == ["Ours written"]


@on_real_data
def test_a_penalty_of_lambda_for_n_lambda_turns_it_red(tmp_path):
    assert red(eeg(tmp_path, written={"lambda_scale": 1}), EEG) == ["Ours written"]


@on_real_data
def test_a_test_part_that_leaks_into_the_scaling_turns_it_red(tmp_path):
    assert red(eeg(tmp_path, preprocess_fit="all"), EEG) == list(EEG)


# Of each experiment that is held to released numbers: some cheap cells, and a metric of them.
AGAIN = [
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
    ("ma2017-eigenpro", {"method": ["eigenpro2 1"]}, "accuracy"),
]  # fmt: skip


@on_real_data
@pytest.mark.parametrize(("experiment", "cells", "metric"), AGAIN, ids=[each[0] for each in AGAIN])
def test_trials_that_are_held_to_released_numbers_come_out_again(experiment, cells, metric, tmp_path, rffbench_in):
    """Their first trials equal those in results/, but for what rounding changes."""
    only = [f"--only={key}={','.join(map(str, values))}" for key, values in {**cells, "trial": [0]}.items()]
    mirror = os.environ["RFFBENCH_MIRROR"]
    run = rffbench_in(
        tmp_path, "run", ROOT / f"configs/{experiment}.yaml", *only, limit=2 * LIMIT_S, RFFBENCH_MIRROR=mirror
    )
    assert run.returncode == 0, run.stdout + run.stderr
    for values in itertools.product(*cells.values()):
        cell = dict(zip(cells, values, strict=True)) | {"trial": 0}
        (again,) = measured(experiment, root=tmp_path, **cell)[metric]
        (before,) = measured(experiment, **cell)[metric]
        assert again == pytest.approx(before, rel=1e-3), cell
