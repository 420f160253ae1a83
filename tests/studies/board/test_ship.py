"""What the package ships of the board is what its results say."""

import pandas as pd

from rffbench.config.loading import load_experiment
from rffbench.report.board.shipped import protocol, shipped
from rffbench.report.frame import load_results
from rffbench.stats import losses
from studies.board import ship


def test_the_rows_of_the_small_board_ship():
    results = load_results(ship.FOLDER)
    there = shipped(protocol(results.config))
    assert there.protocol == protocol(load_experiment("board-small").to_dict())
    rows = there.rows.drop(columns=["fit", "memory"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, losses(results.trials).reset_index(drop=True), check_dtype=False)
