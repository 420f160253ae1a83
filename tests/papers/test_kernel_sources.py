"""Promises of the numbers that others released: every row is a cell of the shipped config, or says why it is not."""

import pandas as pd
import pytest

from rffbench.config.grid import Grid
from rffbench.config.loading import load_experiment
from rffbench.papers import hyperparameters, load_reference
from rffbench.report.claims import paper_name

SOURCES = {"lin2023": "lin2023-rmse", "munkhoeva2018": "munkhoeva2018-errors", "buchel2024": "buchel2024-ridge"}


@pytest.mark.parametrize(("config", "reference"), SOURCES.items())
def test_every_released_row_is_a_cell_of_the_config_or_says_why_it_is_not(config, reference):
    grid = Grid(load_experiment(config).to_dict())
    released = load_reference(reference)
    here = {released.datasets[dataset]: dataset for dataset in grid.datasets}
    for row in released.numbers().query("absent == ''").to_dict("records"):
        if (dataset := here.get(row["paper_dataset"])) is None:
            continue  # beyond the config's budget: not measured
        (label,) = (each for each in grid.methods_on(dataset) if paper_name(each) == row["method"])
        if not pd.isna(row["n_features"]):
            assert row["n_features"] in grid.sizes_by_number(dataset, label), row


def test_the_scales_of_a_table_are_lengths_and_lambda():
    found = hyperparameters.fitted("lin2023-hyperparameters", "pol-gp", 0, 26)
    assert found.lengths[:2] == (0.52524596, 0.6186301)
    assert found.lambda_ == pytest.approx((0.03674088791012764 / 0.40082889795303345) ** 2)
