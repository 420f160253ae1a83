"""The list of configs that ship."""

import json
import re

import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.config.loading import load_experiment
from rffbench.execution.log import cell, read_rows
from rffbench.io.resources import listed_configs, resource_folder, shipped_configs
from tests.helpers.places import results_of

LISTED = {row["name"]: (each["folder"], row) for each in listed_configs() for row in each["configs"]}
MANY = 1_000  # trials, of which it takes a second or more to read the rows
TOP = resource_folder("configs")


def test_every_config_is_in_the_list():
    files = list(TOP.rglob("*.yaml"))
    assert set(LISTED) == {path.stem for path in files}
    assert len(LISTED) == len(files)  # no name twice, in whatever folder


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if row["trials"] > MANY or "search" in name else [])
        for name, (_, row) in LISTED.items()
    ],
)
def test_a_config_is_valid_and_as_it_is_listed_and_its_results_are_those_of_its_grid(name):
    """Who changes a protocol measures it anew. A table may grow over days: not every trial need be there."""
    folder, row = LISTED[name]
    assert shipped_configs()[name] == TOP / folder / f"{name}.yaml"
    experiment = load_experiment(name)
    specs = experiment.grid()
    assert (experiment.name, experiment.title, len(specs)) == (name, row["title"], row["trials"])
    assert experiment.size() == len(specs)
    assert row["minutes"] > 0
    if (results := results_of(name)).is_dir():
        assert load_experiment(results / "config.yaml").name == name  # it can be run again from the folder
        asked: dict = {}
        for spec in specs:
            asked.setdefault(cell(spec.to_dict()), set()).add(spec.key)
        log = [each for each in read_rows(results / "trials.jsonl") if each["status"] == "ok"]
        measured = {(cell(each), each["key"]) for each in log if cell(each) in asked}
        assert measured
        counted = {where for where, key in measured if key in asked[where]}
        assert counted == {where for where, _ in measured}


def test_the_groups_of_results_say_what_those_of_configs_say():
    from scripts.index_configs import result_cards

    cards = result_cards()
    assert {path.parent.name for path in cards} >= {"results", "board", "papers", "wu2016", "studies"}
    for path, text in cards.items():
        assert path.read_text() == text, "python scripts/index_configs.py"
        assert (path.parent / re.search(r"\]\((.*)\)", text)[1]).is_dir()


@pytest.mark.slow
def test_the_list_begins_with_what_people_type_first_and_fits_a_terminal(rffbench):
    result = rffbench("configs", COLUMNS="80")
    assert result.returncode == 0
    first, _, _ = result.stdout.partition("(configs/")
    for name in ("quickstart", "table3", "figure1", "regression"):
        assert f"  {name} " in first
    assert json.loads(rffbench("configs", "--json").stdout) == listed_configs()


def test_on_a_terminal_no_line_of_the_list_is_wider_and_every_title_is_whole(monkeypatch):
    monkeypatch.setattr("rffbench.cli.configs.room", lambda: 80)
    listed = CliRunner().invoke(cli, ["configs"], catch_exceptions=False).output
    assert max(map(len, listed.splitlines())) <= 80
    said = " ".join(listed.split())
    assert [name for name, (_, row) in LISTED.items() if row["title"] not in said] == []
