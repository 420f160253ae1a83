"""A YAML file is read as YAML 1.2 says, within bounds, and what is wrong with it has a line."""

import os
import time

import pytest
import yaml

from rffbench.errors import ConfigError
from rffbench.io import yamlfile


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "some.yaml").write_text(text)
        return yamlfile.read(tmp_path / "some.yaml")

    return read


NUMBERS = {
    "010": 10, "-08": -8, "0o17": 15, "0x1F": 31, "1e-3": 1e-3, "1E5": 1e5, "-2.5e+3": -2500.0, ".5": 0.5, "7.": 7.0,
    "+3": 3, ".inf": float("inf"), "-.inf": float("-inf"), "1:30": "1:30", "1_000": "1_000", "0b11": "0b11",
    "16d": "16d", "1e": "1e", "1.2.3": "1.2.3", "true": True, "~": None,
}  # fmt: skip


@pytest.mark.parametrize(("written", "value"), NUMBERS.items())
def test_numbers_are_those_of_yaml_1_2(written, value, read):
    found = read(f"a: [{written}]")["a"][0]
    assert found == value
    assert type(found) is type(value)


def test_a_key_that_is_a_number_with_a_point_is_the_text_that_is_written(read):
    assert read("{1e-3: a, 0.50: b, 7: c}") == {"1e-3": "a", "0.50": "b", 7: "c"}


@pytest.mark.parametrize("text", [*NUMBERS, "no", "2020-01-01"])
def test_text_is_written_so_that_both_versions_of_yaml_read_it_back(text, read):
    written = yamlfile.dump({"a": text, text: 1})
    for found in (read(written), yaml.safe_load(written)):
        assert found == {"a": text, text: 1}


@pytest.mark.parametrize("value", [1e-05, 1e22, -0.5, 10, float("inf"), 2**70])
def test_numbers_are_read_back(value, read):
    assert read(yamlfile.dump({"a": value})) == {"a": value}


def test_anchors_still_stand_for_what_they_name(read):
    text = "base: &b {x: 1, y: 2}\nother: {<<: *b, y: 3}\nlist: [*b, *b]\n"
    assert read(text) == {"base": {"x": 1, "y": 2}, "other": {"x": 1, "y": 3}, "list": [{"x": 1, "y": 2}] * 2}


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)
MERGES = "a0: &a0 {k: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 9))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "line 5: up to here it stands for more than 50,000 values"),
        (MERGES, "line 6: up to here it stands for more than 50,000 values"),
        ("name: x\nlist: &a [1, *a]\n", r"line 2: \*a stands inside what &a names"),
        ("name: x\nmap: &a\n  b: {c: *a}\n", r"line 3: \*a stands inside what &a names"),
        ("name: x\nb: " + "[" * 500, "line 2: is nested deeper than 40 levels"),
        ("name: x\nb: " + "{a: " * 5000, "line 2: is nested deeper than 40 levels"),
        ("".join(f"{' ' * i}a:\n" for i in range(1000)), "line 40: is nested deeper than 40 levels"),
        ("a: 1\nb: " + "9" * 5000, "line 2: a number of 5000 digits"),
    ],
    ids=["aliases", "merges", "list in itself", "mapping in itself", "brackets", "braces", "indents", "digits"],
)
def test_what_grows_without_measure_is_refused_at_once_with_its_line(text, message, read):
    started = time.process_time()
    with pytest.raises(ConfigError, match=message):
        read(text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "value", ["!!bool maybe", "!!int 1:30", "!!int ''", "!!float x", "!!float [1.5]", "!!timestamp soon"]
)
def test_a_tag_before_what_it_is_not_is_refused_with_its_line(value, read):
    kind = value.split()[0]
    with pytest.raises(
        ConfigError, match=f"line 2: the value behind the tag {kind} is not of that kind; leave the tag out"
    ):
        read(f"a: 1\nb: {value}\n")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "c.yaml")
    with pytest.raises(ConfigError, match=r"c.yaml: is not a regular file"):
        yamlfile.read(tmp_path / "c.yaml")
