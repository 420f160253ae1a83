"""Curves of loss over cost, read where a map was not measured."""

import numpy as np
import pytest

from rffbench.report.board.views import between


@pytest.mark.parametrize("power", [0.3, 0.5, 1.0])
def test_a_curve_is_read_between_its_points_with_less_bias_than_by_straight_lines(power):
    costs, at = np.log([1.0, 4.0, 16.0, 64.0]), np.log(np.geomspace(1, 64, 50))
    losses = 0.1 + np.exp(-power * costs)
    found = np.array([between(costs, losses, each) for each in at])
    bias, of_lines = found - 0.1 - np.exp(-power * at), np.interp(at, costs, losses) - 0.1 - np.exp(-power * at)
    assert abs(bias.mean()) < 0.5 * of_lines.mean()
    assert (np.diff(found) <= 0).all()


def test_a_curve_is_known_where_it_was_measured_and_nowhere_outside():
    places, values = np.array([0.0, 1.0, 1.0, 2.0]), np.array([3.0, 2.0, 1.0, 1.2])
    assert [between(places, values, at) for at in (0.0, 1.0, 2.0)] == pytest.approx([3.0, 1.5, 1.2])
    assert np.isnan([between(places, values, at) for at in (-0.1, 2.1)]).all()
    assert between(np.zeros(2), np.array([1.0, 2.0]), 0.0) == 1.5
