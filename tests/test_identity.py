"""The text that keys are hashes of."""

import pytest

from rffbench.identity import canonical_json


def test_equal_values_have_the_same_text_on_every_machine():
    assert canonical_json({"b": [1, 2.5, None, True], "a": "σ"}) == '{"a":"σ","b":[1,2.5,null,true]}'
    assert canonical_json({"x": 1, "y": 2}) == canonical_json({"y": 2, "x": 1})


def test_what_json_does_not_know_is_refused():
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical_json(value)
