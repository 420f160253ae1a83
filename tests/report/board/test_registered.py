"""What docs/board/questions.md says of the grid is what the configs say."""

import re
from pathlib import Path

import pytest

from rffbench.config.loading import load_experiment
from rffbench.report.board.registered import CONFIRMATORY, SEEDS, grid_hash

PAGE = Path(__file__).parents[3] / "docs" / "board" / "questions.md"
ROW = re.compile(r"^\| `([\w-]+)` \| (\d+) \| `(\w+)` \|$", re.MULTILINE)


@pytest.mark.parametrize("name", ["board-reference", pytest.param("board", marks=pytest.mark.slow)])
def test_the_page_has_the_hash_of_the_grid(name):
    experiment = load_experiment(name)
    written = {config: (int(trials), hashed) for config, trials, hashed in ROW.findall(PAGE.read_text())}
    assert written[name] == (len(experiment.grid()), grid_hash(experiment)), "the grid is another: say so in the commit"


def test_a_hash_is_of_every_trial_and_of_no_title():
    reference = load_experiment("board-reference")
    same = reference.model_copy(update={"title": "another"})
    other = reference.model_copy(update={"seed": 5})
    assert grid_hash(same) == grid_hash(reference) != grid_hash(other)


@pytest.mark.slow
def test_board_and_small_have_the_registered_seeds_and_one_protocol():
    board, small, reference = (load_experiment(name) for name in ("board", "board-small", "board-reference"))
    assert {each.name: each.seed for each in (board, small, reference)} == SEEDS
    assert board.kernel == small.kernel == reference.kernel
    assert board.solver.spec() == small.solver.spec() == reference.solver.spec()
    assert set(small.datasets) < set(board.datasets) == set(reference.datasets)
    for dataset in small.datasets:
        steps = [each.preprocess.get(dataset, each.preprocess["default"]) for each in (board, small, reference)]
        assert steps[0] == steps[1] == steps[2]
    common = {label: method for label, method in small.methods.items() if label in board.methods}
    maps = {label: each for label, each in common.items() if each.features != "none"}
    assert {label: each.spec() for label, each in maps.items()} == {
        label: board.methods[label].spec() for label in maps
    }


def test_the_page_names_six_confirmatory_maps():
    text = PAGE.read_text()
    assert len(CONFIRMATORY) == 6
    for words in ("SORF", "orthogonal", "Halton QMC", "quadrature", "surrogate leverage", "RPCholesky"):
        assert words in text
