"""A parameter that came after published results leaves their keys as they are; another value of it has another key."""

from dataclasses import replace

import pytest

from rffbench.features import MAPS
from rffbench.plugins.later import LEFT_OUT, in_rows, of_row
from rffbench.solvers import SOLVERS
from rffbench.trials.spec import TrialSpec, key_of
from tests.helpers.report_log import spec


@pytest.mark.parametrize("name", LEFT_OUT)
def test_rows_leave_out_the_value_of_before_and_trials_state_it(name):
    registry = MAPS if name in MAPS.built_in else SOLVERS
    before = LEFT_OUT[name]
    assert before.keys() <= registry.parameters(name).keys()
    whole = {"name": name, **before}
    assert in_rows(whole) == {"name": name}
    assert of_row({"name": name}) == whole
    other = {"name": name, **dict.fromkeys(before, "another")}
    assert in_rows(other) == of_row(other) == other


def test_the_key_is_that_of_a_row_without_the_parameter_and_another_for_another_value():
    earlier = replace(spec(), features={"name": "orthogonal", "block": "square", "signs": "haar"})
    stated = replace(earlier, features={**earlier.features, "lengths": "own"})
    coupled = replace(earlier, features={**earlier.features, "lengths": "coupled"})
    assert stated.key == earlier.key != coupled.key
    row = stated.to_dict()
    assert row["features"] == earlier.features
    assert key_of(row) == stated.key
    assert TrialSpec.from_row(row) == stated
    assert TrialSpec.from_row(coupled.to_dict()) == coupled
