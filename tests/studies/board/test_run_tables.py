"""What the board's page says of its run: edges of grids, requirements of the simulation, commits and machines."""

import json

import pytest

from rffbench.arguments.parameters import TIMES_MEDIAN
from rffbench.stats.gain import Reference
from studies.board import run_tables
from studies.board.standing import Board
from tests.helpers import report_log as log
from tests.helpers.of_study import of_study

LAMBDAS = [1e-9, 1e-6, 1e-3]


@pytest.fixture
def board(tmp_path):
    """RFF at 512 columns: on eeg it chooses the smallest λ, on ring the largest, and the middle σ."""
    datasets = {"eeg": 1e-9, "ring": 1e-3}
    kernel = {"name": "gaussian", "sigma": {TIMES_MEDIAN: [0.5, 1.0, 2.0]}}
    solver = {**log.SOLVER, "lambda": LAMBDAS, "lambda_scale": "trace"}
    config = log.config(datasets=list(datasets), n_features=[512], methods={"RFF": {"features": "fourier"}},
                        kernel=kernel, solver=solver)  # fmt: skip
    rows = [(name, 512, "RFF", trial, {"accuracy": 80.0, "lambda": chosen, TIMES_MEDIAN: 1.0})
            for name, chosen in datasets.items() for trial in range(3)]  # fmt: skip
    known = {name: Reference(name, 0.5, 0.1, 0.001, 3) for name in datasets}
    return Board({"board": of_study(log.results(rows, config, tmp_path))}, known)


def test_an_edge_is_named_with_its_end_and_counted(board):
    table = run_tables.chosen(board)
    (row,) = table.records()
    assert row["λ at an edge"] == "smallest: eeg; largest: ring"
    assert row["σ at an edge"] == "–"
    assert "λ is the smallest in 50.0 % (most often for RFF, in 50 %)" in "\n".join(table.notes)
    assert "σ is the smallest in 0.0 % and the largest in 0.0 % of the trials" in "\n".join(table.notes)
    assert "Its grid ends at 1e-09" in table.notes[-1]


def test_synthetic_datasets_are_marked(board):
    table = run_tables.datasets(board)
    assert [row[0] for row in table.rows] == ["eeg", "ring *"]
    assert "* synthetic." in table.notes


def test_what_the_simulation_misses_is_said(board):
    header = "at,map,datasets,trials,noise,spread,false better,false worse,better at the edge,found"
    names = header.split(",")[6:]
    good, bad = ",28,5,0.4,0.7" + ",0,0,0.05,1" * 2, ",28,5,0.4,0.7" + ",0,0,0.05,1" + ",0.04,0.03,0.1,0.5"
    rows = [f"columns,SORF{good}", f"columns,QMC{bad}", f"seconds,SORF{bad}", f"seconds,QMC{good}"]
    header = ",".join([header, *(f"{name} with spread" for name in names)])
    (board.scores.folder / "calibration.csv").write_text("\n".join([header, *rows]) + "\n")
    at_columns, at_seconds = run_tables.calibrations(board)
    assert at_columns.title.startswith("Simulated boards at equal columns")
    missed = "7.0 % false where the true gain is 0, 10.0 % better where it is 1 %, 50.0 % better where it is 2 %."
    assert f"counts. Missed by QMC: {missed}" in at_columns.notes[-1]
    assert f"counts. Missed by SORF: {missed}" in at_seconds.notes[-1]
    said = "that of SORF is false in 7.0 % where the true gain is 0, and right in 50.0 % where it is 2 %."
    assert run_tables.less_sure(board, ["SORF", "QMC"]).endswith(f".95. In simulated boards {said}")
    assert run_tables.less_sure(board, ["QMC"]) == ""


def test_every_commit_and_machine_of_a_part_is_named_once(board):
    run = {"rffbench": "0.1.0", "cpu": "A", "processors": 2, "git_commit": "a" * 40, "started": "2026-11-24T13:00:00"}
    later = run | {"started": "2026-11-25T13:00:00", "finished": "2026-11-26T13:00:00", "git_commit": "b" * 40}
    earlier = [run, run | {"started": "2026-11-24T14:00:00", "cpu": "B"}]
    (board.scores.folder / "manifest.json").write_text(json.dumps({"format": 2, **later, "earlier_runs": earlier}))
    (row,) = run_tables.runs(board).records()
    assert row == {
        "part": "board", "runs": "3", "from": "2026-11-24", "to": "2026-11-26", "commits": "aaaaaaaaaaaa; bbbbbbbbbbbb",
        "rffbench": "0.1.0", "machine": "A, 2 processors; B, 2 processors",
    }  # fmt: skip
