"""What the manifest says of a machine."""

import pytest

from rffbench.execution import environment

OLDER = "processor\t: 0\nvendor_id\t: A\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: a b\n"


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        (OLDER, "AMD EPYC (family 25, model 1)"),
        (OLDER + "\n" + OLDER.replace("25", "26"), "AMD EPYC (family 25, model 1)"),
        ("processor\t: 0\nmodel name\t: Cortex\n", "Cortex"),
    ],
)
def test_two_processors_of_one_name_are_told_apart(cpuinfo, name, monkeypatch):
    monkeypatch.setattr(environment.Path, "read_text", lambda path: cpuinfo)
    assert environment.cpu_model() == name


def test_a_system_that_says_nothing_of_its_processor_is_asked_by_python(monkeypatch):
    monkeypatch.setattr(environment.Path, "read_text", lambda path: "processor\t: 0\n")
    monkeypatch.setattr(environment.platform, "processor", lambda: "")
    assert environment.cpu_model() is None
