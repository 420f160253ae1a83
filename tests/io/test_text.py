"""Times and amounts of memory as they are read, refused and printed; the text that keys are hashes of."""

import pytest

from rffbench.errors import amount
from rffbench.io.text import BYTES, SECONDS, canonical_json, duration, number, quantity


def seconds(text):
    return quantity(SECONDS, "30m")(text)


def size(text):
    return quantity(BYTES, "6GB")(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("40", 40), ("40s", 40), (" 1.5 h ", 5400), ("30m", 1800), ("2d", 172_800), ("7.", 7), (12.5, 12.5), (0, 0)],
)
def test_a_time_is_in_seconds_unless_it_says_otherwise(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("300", 300), ("5B", 5), ("35kB", 35e3), ("200MB", 2e8), ("6 GB", 6e9), ("2KiB", 2048), ("1MiB", 2**20),
     ("1.5GiB", 1.5 * 2**30)],
)  # fmt: skip
def test_memory_is_in_bytes_unless_it_says_otherwise(text, value):
    assert size(text) == value


@pytest.mark.parametrize("text", ["lots", "6 gb", "-3s", "1.2.3h", "5 m s", ""])
def test_what_is_no_time_is_refused_with_an_example_and_the_units(text):
    with pytest.raises(ValueError, match=r"^must be such as 30m \(units: s, m, h, d\), not " + repr(text)):
        seconds(text)


def test_true_is_no_number():
    with pytest.raises(ValueError, match=r"^must be a number, not true$"):
        number(True)
    with pytest.raises(ValueError, match="must be a number, not false"):
        seconds(False)
    assert seconds(12) == 12
    assert number(3) == 3
    assert number(None) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.2, "1 s"), (40, "40 s"), (89.4, "89 s"), (90, "2 min"), (720, "12 min"), (5399, "90 min"), (5400, "1.5 h"),
     (12_600, "3.5 h"), (3.6e9, "1000000.0 h")],
)  # fmt: skip
def test_a_time_is_printed_in_the_unit_that_fits(value, text):
    assert duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (510, "1 kB"),
        (510_000, "510 kB"),
        (10**6, "1 MB"),
        (35_400_000, "35 MB"),
        (999_499_999, "999 MB"),
        (10**9, "1.00 GB"),
        (6_200_000_000, "6.20 GB"),
        (9e18, "9000000000.00 GB"),
    ],
)
def test_memory_is_printed_in_the_unit_that_fits(value, text):
    assert amount(value) == text


def test_equal_values_have_the_same_text_on_every_machine():
    assert canonical_json({"b": [1, 2.5, None, True], "a": "σ"}) == '{"a":"σ","b":[1,2.5,null,true]}'
    assert canonical_json({"x": 1, "y": 2}) == canonical_json({"y": 2, "x": 1})


def test_what_json_does_not_know_is_refused():
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical_json(value)
