"""A config that asks for other measures of the maps keeps the scores, and measures what is new alone."""

import json

import pytest

from rffbench import RandomFourierFeatures
from rffbench.config.loading import load_experiment
from rffbench.execution.log import latest, read_rows
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from rffbench.trials.tasks import run_group
from tests.helpers.tiny_config import TINY


@pytest.fixture
def run(tmp_path, embedded):
    """Run the tiny config with these measures; the rows that count, and what was asked of each trial that ran."""

    def once(measures, folder="results"):
        (tmp_path / "tiny.yaml").write_text(f"{TINY.replace('[8, 16]', '[8]')}measures: [{', '.join(measures)}]\n")
        asked = []

        def work(task, channel):
            asked.extend(task)
            run_group(task, channel)

        experiment = load_experiment(tmp_path / "tiny.yaml")
        summary = run_experiment(experiment, tmp_path / folder, executor=SerialExecutor(work=work))
        assert (summary.ok, summary.failed) == (4, 0)
        return {row["key"]: row for row in latest(read_rows(tmp_path / folder / "trials.jsonl"))}, asked

    return once


def test_scores_and_earlier_measures_stay_and_new_ones_are_those_of_a_whole_trial(run, tmp_path):
    before, _ = run(["kernel_error"])
    log = (tmp_path / "results" / "trials.jsonl").read_bytes()
    after, asked = run(["kernel_error", "sup_error"])
    assert (tmp_path / "results" / "trials.jsonl").read_bytes().startswith(log)
    assert {spec.solver["name"] for spec in asked} == {"none"}
    assert {tuple(spec.measures) for spec in asked} == {("sup_error",)}
    whole, _ = run(["kernel_error", "sup_error"], "whole")
    assert after.keys() == whole.keys()
    assert not after.keys() & before.keys()
    for key, row in after.items():
        assert row["metrics"].keys() == whole[key]["metrics"].keys()
        for name in ("accuracy", "kernel_error", "sup_error"):
            assert row["metrics"][name] == pytest.approx(whole[key]["metrics"][name], rel=1e-6)
    again, asked = run(["kernel_error", "sup_error"])
    assert again == after
    assert asked == []


def test_fewer_measures_need_no_trial(run):
    run(["kernel_error", "sup_error"])
    after, asked = run(["sup_error"])
    assert asked == []
    assert all("kernel_error" not in json.dumps(row["metrics"]) for row in after.values())
    assert all({"accuracy", "sup_error"} <= row["metrics"].keys() for row in after.values())


def test_scores_that_other_code_made_are_not_kept(run, monkeypatch):
    """The new version's measures beside the old version's scores would be a row of no code."""
    before, _ = run(["kernel_error"])
    monkeypatch.setattr(RandomFourierFeatures, "version", 2, raising=False)
    after, asked = run(["kernel_error", "sup_error"])
    whole = {spec.method for spec in asked if spec.solver["name"] != "none"}
    maps = {row["method"]: row["features"]["name"] for row in before.values()}
    assert whole == {method for method, name in maps.items() if name == "fourier"} != set()
    assert {row["made_by"]["features"] for row in after.values() if row["features"]["name"] == "fourier"} == {2}
