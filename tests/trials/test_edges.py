"""A trial's row says how ridge was solved, and what is gained where a tuned value is the end of its grid."""

import numpy as np
import pytest
from scipy.stats import sem

from rffbench.execution.row import check_row
from rffbench.trials.edges import gain_at_edge
from rffbench.trials.single import run_trial
from tests.helpers.small_trials import RIDGE, spec


def test_the_row_says_by_which_method_ridge_was_solved_and_the_smallest_lambda_that_counts():
    plain = run_trial(spec("RFF")).to_row()
    assert plain["solved"]["method"] == "cholesky"
    assert 1e-16 < plain["solved"]["smallest_lambda"] < 1e-15  # ε times the mean of ‖z‖², which is 1
    by_svd = run_trial(spec("RFF", solver={**RIDGE, "lambda": [0.0, 1e-3, 1e-2]})).to_row()
    assert by_svd["solved"]["method"] == "svd"
    assert 0 < by_svd["solved"]["smallest_lambda"] < 1e-25
    for row in (plain, by_svd):
        check_row(row)


def test_a_lambda_on_the_edge_of_its_grid_has_its_gain_in_the_row():
    row = run_trial(spec("RFF", solver={**RIDGE, "lambda": [0.1, 1.0, 10.0]})).to_row()
    assert row["lambda"] == 0.1
    assert row["edges"]["lambda"]["gain"] > row["edges"]["lambda"]["standard_error"] > 0
    check_row(row)
    assert "edges" not in run_trial(spec("RFF", solver={**RIDGE, "lambda": [1e-6, 1e-3, 10.0]})).to_row()


@pytest.mark.parametrize(("grid", "chosen", "pair"), [
    ([0.1, 1.0, 10.0], 0.1, (1, 0)), ([0.1, 1.0, 10.0], 10.0, (1, 2)), ([10.0, 0.1, 1.0], 0.1, (2, 1)),
    ([10.0, 0.1, 1.0], 10.0, (2, 0)),
])  # fmt: skip
def test_the_gain_is_the_mean_over_the_folds_with_its_standard_error(grid, chosen, pair):
    errors = np.array([[4.0, 7.0, 1.0], [6.0, 8.0, 9.0], [2.0, 3.0, 10.0]])
    gains = errors[pair[0]] - errors[pair[1]]
    found = gain_at_edge(grid, errors, chosen)
    assert found == pytest.approx({"gain": gains.mean(), "standard_error": sem(gains)})


def test_the_standard_error_of_two_folds_is_half_their_difference():
    """By hand: gains 1 and 4 have the mean 2.5 and the standard deviation 3/√2, which is 1.5 over √2."""
    assert gain_at_edge([1.0, 2.0], [[3.0, 2.0], [4.0, 6.0]], 1.0) == pytest.approx(
        {"gain": 2.5, "standard_error": 1.5}
    )


def test_relative_to_the_trace_lambda_is_the_effective_lambda():
    row = run_trial(spec("Ours released", solver={**RIDGE, "lambda_scale": "trace"})).to_row()
    assert row["metrics"]["effective_lambda"] == pytest.approx(row["lambda"], rel=0.1)


@pytest.mark.parametrize(("part", "value", "message"), [
    ("solved", {"method": "svd"}, "solved must have the number smallest_lambda"),
    ("solved", ["svd"], "solved must be dict"),
    ("edges", {"lambda": {"gain": None, "standard_error": 1.0}}, "edges: 'lambda' must have the numbers gain and"),
])  # fmt: skip
def test_what_no_report_can_read_is_refused(part, value, message):
    row = run_trial(spec("RFF")).to_row()
    with pytest.raises(ValueError, match=message):
        check_row(row | {part: value})
