"""What the package ships of the board is what its results say."""

import pandas as pd
import pytest

from rffbench.config.loading import load_experiment
from rffbench.report.board.shipped import FIRST_TABLES, protocol, read_tables, shipped
from rffbench.report.frame import load_results
from rffbench.stats import CELL, at_cost, losses
from studies.board import ship
from studies.board.registered import COLUMNS
from studies.board.standing import load_board
from tests.helpers.places import results_of


def test_the_rows_of_the_small_board_ship():
    results = load_results(ship.FOLDER)
    there = shipped(protocol(results.config))
    assert there.protocol == protocol(load_experiment("board-small").to_dict())
    rows = there.rows.drop(columns=["fit", "memory"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, losses(results.trials).reset_index(drop=True), check_dtype=False)


@pytest.mark.slow
def test_the_rows_of_the_board_ship_too():
    results = load_results(results_of("board"))
    there = shipped(protocol(results.config))
    assert there.protocol == protocol(load_experiment("board").to_dict())
    rows = there.rows.reset_index(drop=True)
    expected = losses(results.trials).reset_index(drop=True)
    pd.testing.assert_frame_equal(rows.drop(columns=["fit", "memory"]), expected, check_dtype=False)
    of_board = load_board(results_of("board").parent)
    assert read_tables(FIRST_TABLES) == ship.first_tables(of_board), "python -m studies.board.ship"
    for of in ("fit", "memory"):
        costs = rows[[*CELL, of]].rename(columns={of: "cost"}).dropna()
        from_rows = at_cost(rows, costs, of_board.known, COLUMNS)
        pd.testing.assert_frame_equal(from_rows.gains, of_board.at_cost(of, COLUMNS).gains, atol=1e-3)
