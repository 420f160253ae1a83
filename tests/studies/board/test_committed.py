"""What is committed of the board, and every page, is what the results say; the board's rows are read once for all."""

import json
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rffbench.config.loading import load_experiment
from rffbench.figures import Section
from rffbench.report.board.shipped import FIRST_TABLES, protocol, read_tables, shipped
from rffbench.report.frame import load_results
from rffbench.report.site.claims import papers
from rffbench.stats import CELL, at_cost, losses
from scripts import ship_claims
from studies import pages
from studies.board import calibrate, facts, ship
from studies.board.page import sections, to_markdown
from studies.board.ratios import ratio_table
from studies.board.registered import COLUMNS, CONFIRMATORY
from tests.helpers.places import results_of

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.slow


def test_every_page_says_what_its_source_and_the_results_say(capsys):
    assert pages.main(check=True) == 0, capsys.readouterr().out


def test_the_shipped_claims_are_those_of_the_results():
    there = [each for paper in papers() for each in paper.experiments]
    made = ship_claims.experiments(ROOT / "results")
    in_order = [sorted(each, key=lambda experiment: experiment.name) for each in (there, made)]
    assert in_order[0] == in_order[1], "run python scripts/ship_claims.py"


def test_the_tables_of_the_board_are_those_of_its_results():
    text = (results_of("board") / "tables.md").read_text(encoding="utf-8")
    assert text == f"# The board\n\n{to_markdown(sections(facts.board()))}", "python -m studies.board"


def test_the_rows_of_the_board_ship_too():
    results = load_results(results_of("board"))
    there = shipped(protocol(results.config))
    assert there.protocol == protocol(load_experiment("board").to_dict())
    rows = there.rows.reset_index(drop=True)
    expected = losses(results.trials).reset_index(drop=True)
    pd.testing.assert_frame_equal(rows.drop(columns=["fit", "memory"]), expected, check_dtype=False)
    of_board = facts.board()
    assert read_tables(FIRST_TABLES) == ship.first_tables(of_board), "python -m studies.board.ship"
    for of in ("fit", "memory"):
        costs = rows[[*CELL, of]].rename(columns={of: "cost"}).dropna()
        from_rows = at_cost(rows, costs, of_board.known, COLUMNS)
        pd.testing.assert_frame_equal(from_rows.gains, of_board.at_cost(of, COLUMNS).gains, atol=1e-3)


def test_the_page_has_the_ratios_of_the_board_s_rows():
    board = facts.board()
    table = ratio_table(board)
    assert to_markdown([Section("Beside the gain", tables=[table])]) in (results_of("board") / "tables.md").read_text(
        encoding="utf-8"
    )
    trials = board.scores.trials.query("n_features == 512 and method in ['RFF', 'Nyström RPCholesky']")
    rmse = trials.pivot(index=["dataset", "trial"], columns="method", values="rmse").dropna()
    by_dataset = (rmse["Nyström RPCholesky"] / rmse["RFF"]).groupby("dataset").mean()
    assert len(by_dataset) == 10
    (row,) = (each for each in table.records() if each["map"].startswith("Nyström RPCholesky"))
    assert row["regression, 512"] == f"{np.median(by_dataset):.3f}"


def test_the_calibration_is_of_the_trials_that_are_committed():
    kept = pd.read_csv(results_of("board") / "calibration.csv")
    now = pd.DataFrame([row for row, _, _ in calibrate.views(facts.board(), 28, 5)])
    command = "python -m studies.board.calibrate results/board/board 28 5"
    assert kept["map"].tolist() == now["map"].tolist() == 2 * list(CONFIRMATORY), command
    assert kept["at"].tolist() == now["at"].tolist() == 6 * ["columns"] + 6 * ["seconds"], command
    for column in ("datasets", "trials", "noise", "spread"):
        assert kept[column].tolist() == pytest.approx(now[column].tolist(), abs=6e-4), command


def test_what_a_choice_gains_is_what_the_rows_say():
    """The gain and the ratio of errors of one classification and one regression, by hand from the log."""
    among = ("RFF", "Nyström", "Laplacian RFF", "Laplacian Nyström")
    rows: dict = {}
    with lzma.open(results_of("board-kernels") / "trials.jsonl.xz", "rt") as log:
        for row in map(json.loads, log):
            if row["dataset"] in ("eeg", "kin8nm") and row["n_features"] == 512 and row["status"] == "ok":
                rows[row["dataset"], row["trial"], row["method"]] = row["metrics"]
    units = pd.read_csv(ROOT / "rffbench/stats/references.csv").set_index("dataset")
    found = facts.choice(among, 512)
    for dataset, loss in (("eeg", lambda of: 1 - of["accuracy"] / 100), ("kin8nm", lambda of: of["rmse"] ** 2)):
        chosen, baseline = [], []
        for trial in range(5):
            mine = {method: rows[dataset, trial, method] for method in among}
            chosen.append(loss(mine[min(mine, key=lambda method: mine[method]["cv_error"])]))
            baseline.append(loss(mine["RFF"]))
        gain = (np.mean(baseline) - np.mean(chosen)) / (units["constant"] - units["reference"])[dataset]
        assert found.gains[dataset] == pytest.approx(gain)
        ratio = np.mean(chosen) / np.mean(baseline)
        assert found.errors[dataset] == pytest.approx(ratio if dataset == "eeg" else ratio**0.5)
