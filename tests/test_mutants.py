"""scripts/mutants.yaml, the changes that the tests must notice, is of the code as it is."""

import importlib.util
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
of_script = importlib.util.spec_from_file_location("mutate", ROOT / "scripts" / "mutate.py")
mutate = importlib.util.module_from_spec(of_script)
of_script.loader.exec_module(mutate)
GROUPS = yaml.safe_load((ROOT / "scripts" / "mutants.yaml").read_text())


@pytest.mark.parametrize("group", GROUPS, ids=[group["module"] for group in GROUPS])
def test_each_change_has_one_place_in_its_module_and_its_tests_are_there(group):
    source = (ROOT / mutate.path_of(group["module"])).read_text()
    assert {old: source.count(old) for old in group["changes"]} == dict.fromkeys(group["changes"], 1)
    for test in group["tests"]:
        path, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / "tests" / path).read_text() if name else (ROOT / "tests" / path).exists(), test


@pytest.mark.parametrize("module", mutate.TESTS)
def test_a_module_that_mutmut_changes_and_its_tests_are_there(module):
    for path in (mutate.path_of(module), *(f"tests/{test}" for test in mutate.TESTS[module])):
        assert (ROOT / path).exists(), path
