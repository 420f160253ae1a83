"""An experiment's results are found by its name, in a folder of results or in its groups."""

import pytest

import rffbench
from rffbench.errors import ResultsError
from rffbench.execution.places import experiment_folder, experiment_folders, folder_of, found
from rffbench.io.resources import CARD, resource_folder, shipped_configs
from rffbench.report.page import write_page
from rffbench.report.revision import results_at
from tests.helpers import report_log as log
from tests.helpers.places import ROOT


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of results with groups, as in the repository, in the current folder."""
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "results"
    for place in ("table3", "board/board", "board/board-small", "papers/wu2016/wu2016", "papers/wu2016/wu2016-cv"):
        rows = [log.ok(log.spec(trial=trial), 70.0 + trial) for trial in range(2)]
        log.write(here / place, log.config(n_features=["1d"]), rows)
    for group in ("board", "papers", "papers/wu2016"):
        (here / group / CARD).write_text("# A group\n\nOf a few experiments.\n")
    return here


def names(folders):
    return [folder.name for folder in folders]


def test_commands_walk_groups_and_take_an_experiment_by_its_name(results, rffbench_in):
    assert names(experiment_folders("results")) == ["table3", "board", "board-small", "wu2016", "wu2016-cv"]
    assert names(experiment_folders("results/board")) == ["board", "board-small"]
    for name in ("results/papers/wu2016/wu2016-cv", "results/wu2016-cv", "wu2016-cv"):
        assert rffbench.load(name).folder == results.relative_to(results.parent) / "papers" / "wu2016" / "wu2016-cv"
    told = rffbench_in(results.parent, "table", "wu2016-cv")
    assert told.returncode == 0, told.stderr
    assert (results / "papers" / "wu2016" / "wu2016-cv" / "table.md").is_file()
    assert write_page(["wu2016"]).path.as_posix() == "results/papers/wu2016/wu2016/report.html"
    with results_at("wu2016") as one, results_at("results/papers/wu2016/wu2016") as same:
        assert one == same
    with pytest.raises(ResultsError, match=r"wu2017: no such results folder"):
        rffbench.load("wu2017")


def test_a_group_that_is_called_like_its_experiment_is_all_of_it_or_that_one_where_one_is_asked_for(results):
    assert experiment_folder(results / "board") == results / "board" / "board"
    assert experiment_folder(results / "papers" / "wu2016") == results / "papers" / "wu2016" / "wu2016"
    with pytest.raises(ResultsError, match=r"results: holds the folders of experiments"):
        experiment_folder(results)


def test_a_run_goes_on_where_the_experiment_is_and_a_new_one_is_made_in_the_group_of_its_config(results, tmp_path):
    assert folder_of("results", "wu2016").as_posix() == "results/papers/wu2016/wu2016"
    assert folder_of("results", "board").as_posix() == "results/board/board"
    assert folder_of("results", "board-kernels").as_posix() == "results/board/board-kernels"
    assert folder_of("results", "figure1").as_posix() == "results/figure1"  # shipped, of no group
    assert folder_of("results", "landmarks").as_posix() == "results/landmarks"  # whose group is not here
    assert folder_of("results", "mine").as_posix() == "results/mine"
    log.write(results / "wu2016", log.config(), [log.ok(log.spec(), 70.0)])
    assert folder_of("results", "wu2016").as_posix() == "results/wu2016"  # the nearest
    for name in ("wu2016", "board", "table3", "mine"):  # of a user who has none
        assert folder_of(tmp_path / "own", name) == tmp_path / "own" / name
    log.write(tmp_path / "own" / "board", log.config(), [log.ok(log.spec(), 70.0)])
    assert folder_of(tmp_path / "own", "board-small") == tmp_path / "own" / "board-small"  # that is no group


def test_what_is_no_group_is_passed_over(results):
    for name in (".part", "table3.old-20260101T000000", "a/b/c/d", "table3/figures/x"):
        log.write(results / name, log.config(), [log.ok(log.spec(), 70.0)])
    (results / "again").symlink_to(results)
    (results / "a-file").write_text("")
    assert names(experiment_folders(results)) == ["table3", "board", "board-small", "wu2016", "wu2016-cv"]
    assert found(results / "none") == results / "none"


def test_the_repository_has_the_results_of_a_config_in_its_group():
    configs, folders = shipped_configs(), experiment_folders(ROOT / "results")
    assert len(set(names(folders))) == len(folders)
    for folder in folders:
        if config := configs.get(folder.name):
            group = config.parent.relative_to(resource_folder("configs"))
            assert folder == ROOT / "results" / group / folder.name
