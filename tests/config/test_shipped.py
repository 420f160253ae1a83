"""The list of configs that ship."""

import json

import pytest

from rffbench.config.loading import load_experiment
from rffbench.config.shipped import configs
from rffbench.io.resources import resource_folder, shipped_configs


def test_every_config_is_in_the_list_under_its_folder_with_its_title_and_trials():
    listed = {row["name"]: (each["folder"], row) for each in configs() for row in each["configs"]}
    top = resource_folder("configs")
    assert set(listed) == {path.stem for path in top.rglob("*.yaml")}  # no name twice, in whatever folder
    assert len(listed) == len(list(top.rglob("*.yaml")))
    for name in listed:
        experiment = load_experiment(name)
        folder, row = listed[name]
        assert shipped_configs()[name] == top / folder / f"{name}.yaml"
        assert (row["title"], row["trials"]) == (experiment.title, experiment.size())
        assert row["minutes"] > 0


def test_the_list_begins_with_what_people_type_first_and_fits_a_terminal(rffbench):
    result = rffbench("configs", COLUMNS="80")
    assert result.returncode == 0
    first, _, _ = result.stdout.partition("(configs/")
    for name in ("quickstart", "table3", "figure1", "regression"):
        assert f"  {name} " in first
    assert json.loads(rffbench("configs", "--json").stdout) == configs()


@pytest.mark.parametrize("name", ["table3", "table3-fair", "wu2016", "board-small"])
def test_a_config_in_a_folder_is_found_by_its_name(name):
    assert load_experiment(name).name == name
