"""The gate: a small fixed part of everything measured again on real data, and what it must not let through.

`rffbench run configs/regression.yaml && rffbench compare results/regression` holds the scores against the papers where
they come out and against our own recorded means, each with a tolerance from a measured spread. Deliberate mistakes must
turn it red.
"""

import json
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from rffbench.config.loading import load_experiment
from tests.helpers.recomputed import ON_REAL_DATA

pytestmark = ON_REAL_DATA
ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "configs" / "regression.yaml"
LIMIT_S = 300  # of the run
EEG = ["RFF", "surrogate-RFF reweighted", "surrogate-RFF written"]


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
    return [method for method in methods if method in differ]


def test_unchanged_it_is_green_on_eeg(tmp_path):
    cells = eeg(tmp_path)
    assert len(cells) == 3 * len(EEG)
    assert red(cells, EEG) == []


def test_a_bandwidth_wrong_by_root_two_turns_it_red(tmp_path):
    assert red(eeg(tmp_path, kernel={"name": "gaussian", "sigma": 2**0.5}), EEG) == EEG


def test_importance_weights_left_out_turn_it_red(tmp_path, monkeypatch):
    from rffbench.features.weighted import pool

    def unweighted(scores, s, rng):
        chosen = weighted(scores, s, rng)
        return replace(chosen, amplitude=chosen.amplitude * 0 + s**-0.5, weights=chosen.weights * 0 + 1)

    weighted = pool.resample
    monkeypatch.setattr(pool, "resample", unweighted)
    assert red(eeg(tmp_path), EEG) == ["surrogate-RFF written"]


def test_a_penalty_of_lambda_for_n_lambda_turns_it_red(tmp_path):
    assert red(eeg(tmp_path, written={"lambda_scale": 1}), EEG) == ["surrogate-RFF written"]


def test_a_test_part_that_leaks_into_the_scaling_turns_it_red(tmp_path):
    assert red(eeg(tmp_path, preprocess_fit="all"), EEG) == EEG
