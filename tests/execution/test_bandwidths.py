"""A bandwidth that trials of one size have chosen is not chosen again for another size."""

import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.config import dryrun
from rffbench.config.dryrun import estimate
from rffbench.config.loading import load_experiment
from rffbench.execution.log import read_rows
from rffbench.execution.row import line_of
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from rffbench.trials.tasks import run_group

CONFIG = """
name: tuned
datasets: [breast-cancer]
n_features: [8, 20]
count: columns
trials: 2
kernel: {name: gaussian, sigma: {times_median: [0.05, 1, 20], columns: 40, rows: 150MORE}}
methods: {RFF: {features: fourier}, ORF: {features: orthogonal}}
solver: {name: ridge, lambda: [1.0e-4, 1.0e-2]}
"""


@pytest.fixture
def run(tmp_path, embedded):
    """Run trials of these sizes into a folder; its rows by cell, and the γ that each trial that ran was given."""

    def once(sizes, folder="results", more="", config=CONFIG):
        (tmp_path / "tuned.yaml").write_text(config.replace("MORE", more))
        given = []

        def work(task, channel):
            given.extend(spec.kernel["gamma"] for spec in task)
            run_group(task, channel)

        only = [f"n_features={','.join(sizes)}"]
        run_experiment(
            load_experiment(tmp_path / "tuned.yaml"), tmp_path / folder, executor=SerialExecutor(work=work), only=only
        )
        rows = read_rows(tmp_path / folder / "trials.jsonl")
        return {(row["method"], row["n_features"], row["trial"]): row for row in rows}, given

    return once


def test_another_size_is_run_with_it_and_its_rows_are_those_of_a_run_that_chooses(run):
    first, _ = run(["8"])
    second, given = run(["8", "20"])
    assert sorted(given) == sorted(row["metrics"]["gamma"] for row in first.values())
    whole, asked = run(["20"], "whole")
    assert all(isinstance(gamma, dict) for gamma in asked)
    for cell, row in whole.items():
        assert second[cell]["key"] == row["key"]
        assert second[cell]["metrics"] == pytest.approx(row["metrics"], rel=1e-6)
        assert second[cell]["lambda"] == row["lambda"]
        assert second[cell].get("edges", {}).keys() == row.get("edges", {}).keys()
        assert second[cell]["timing"]["bandwidth_s"] == first[cell[0], 8, cell[2]]["timing"]["bandwidth_s"]
    assert run(["8", "20"]) == (second, [])


def test_it_is_chosen_again_where_the_choice_takes_lambda_too(run):
    run(["8"], more=", and_lambda: true")
    _, given = run(["20"], more=", and_lambda: true")
    assert given
    assert all(isinstance(gamma, dict) for gamma in given)


def test_what_other_code_chose_is_chosen_again(run, tmp_path):
    """The config no longer asks for the rows of 8 columns, which therefore stay in the log."""
    log = tmp_path / "results" / "trials.jsonl"
    rows = run(["8"])[0].values()
    theirs = [row | {"made_by": row["made_by"] | {"features": "0" * 64}} for row in rows if row["method"] == "ORF"]
    log.write_bytes(b"".join(map(line_of, [*theirs, *(row for row in rows if row["method"] == "RFF")])))
    _, given = run(["20"], config=CONFIG.replace("[8, 20]", "[20]"))
    assert sorted(type(gamma).__name__ for gamma in given) == ["dict", "dict", "float", "float"]


def test_a_dry_run_does_not_count_it_again(run, tmp_path, monkeypatch):
    run(["8"], "tuned")
    counted = []

    def counting(specs, *rest):
        counted.extend(spec.kernel["gamma"] for spec in specs)
        return estimate(specs, *rest)

    monkeypatch.setattr(dryrun, "estimate", counting)
    asked = ["run", str(tmp_path / "tuned.yaml"), "--results", str(tmp_path), "--only", "n_features=20", "--dry-run"]
    assert CliRunner().invoke(cli, asked).exit_code == 0
    assert len(counted) == 4
    assert all(isinstance(gamma, float) for gamma in counted)
    assert CliRunner().invoke(cli, [*asked, "--fresh"]).exit_code == 0
    assert all(isinstance(gamma, dict) for gamma in counted[4:])
