"""What docs/board/questions.md and columns.md say of the grid is what the configs say."""

import hashlib
import re
from pathlib import Path

import pytest

from rffbench import load_card
from rffbench.config.loading import load_experiment
from studies.board.registered import CONFIRMATORY, FAMILIES, OF_GAUSSIAN, OF_KERNEL, SECOND

FOLDER = Path(__file__).parents[3] / "docs" / "board"
PAGES = [FOLDER / f"{name}.md" for name in ("questions", "questions-2", "columns", "learners")]
ROW = re.compile(r"^\| `([\w-]+)` \| (\d+) \| `(\w+)` \| .+ \|$", re.MULTILINE)
SEEDS = {
    "board": 31, "board-kernels": 31, "board-one-sigma": 31, "board-seconds": 31, "board-tuning": 31,
    "board-solvers": 31, "board-reference": 4096, "board-small": 0,
}  # fmt: skip
LARGE = ("board", "board-kernels", "board-one-sigma", "board-seconds", "board-tuning")


def grid_hash(experiment):
    """SHA-256 (hex) of the keys of an experiment's trials, in ascending order, one a line: of every map with its
    parameters, dataset with its content, size, seed, and of the protocol."""
    return hashlib.sha256("\n".join(sorted(spec.key for spec in experiment.grid())).encode()).hexdigest()


@pytest.mark.parametrize(
    "name",
    [
        "board-reference",
        "board-solvers",
        "board-learners",
        "board-rare",
        "board-landmarks",
        "columns-confirm",
        "columns-confirm-large",
        "learners",
        "crossing",
        "scaling",
        "board-coupled",
        "board-adaptive",
        "board-askotch",
        "gp",
        *(pytest.param(name, marks=pytest.mark.slow) for name in (*LARGE, "board-choice")),
    ],
)
def test_the_page_has_the_hash_of_the_grid(name):
    experiment = load_experiment(name)
    found = [row for page in PAGES for row in ROW.findall(page.read_text())]
    written = {config: (int(trials), hashed) for config, trials, hashed in found}
    assert written[name] == (len(experiment.grid()), grid_hash(experiment)), "the grid is another: say so in the commit"


def test_the_analyses_of_the_second_edition_wait_for_as_many_trials_as_are_registered():
    rows = ROW.findall((FOLDER / "questions-2.md").read_text())
    assert {config: int(trials) for config, trials, _ in rows} == SECOND


def test_a_hash_is_of_every_trial_and_of_no_title():
    reference = load_experiment("board-reference")
    same = reference.model_copy(update={"title": "another"})
    other = reference.model_copy(update={"seed": 5})
    assert grid_hash(same) == grid_hash(reference) != grid_hash(other)


@pytest.mark.slow
def test_every_part_of_the_board_has_the_registered_seed_and_one_protocol():
    parts = {name: load_experiment(name) for name in SEEDS}
    assert {name: each.seed for name, each in parts.items()} == SEEDS
    board = parts["board"]
    large = [parts[name] for name in ("board-reference", *LARGE)]
    assert all(each.datasets == board.datasets and each.preprocess == board.preprocess for each in large)
    protocol = [parts[name] for name in ("board", "board-small", "board-reference", "board-kernels", "board-tuning")]
    assert all(each.kernel == board.kernel and each.solver.spec() == board.solver.spec() for each in protocol)
    one_sigma = parts["board-one-sigma"]
    assert one_sigma.kernel.spec()["gamma"] == {**board.kernel.spec()["gamma"], "features": "fourier"}
    assert one_sigma.solver.spec() == board.solver.spec()
    small = parts["board-small"]
    assert set(small.datasets) < set(board.datasets)
    for dataset in small.datasets:
        steps = [each.preprocess.get(dataset, each.preprocess["default"]) for each in (board, small)]
        assert steps[0] == steps[1]


@pytest.mark.slow
def test_every_part_of_the_board_has_the_same_maps():
    board = {label: each.spec() for label, each in load_experiment("board").methods.items() if each.features != "none"}
    assert len(board) == 22
    for name in ("board-one-sigma", "board-seconds", "board-tuning"):
        assert {label: each.spec() for label, each in load_experiment(name).methods.items()} == board
    small = {label: each for label, each in load_experiment("board-small").methods.items() if label in board}
    assert {label: each.spec() for label, each in small.items()} == {label: board[label] for label in small}
    assert set(CONFIRMATORY) | set(OF_GAUSSIAN) <= set(board)
    assert sorted(name for names in FAMILIES.values() for name in names) == sorted(board)
    kernels = load_experiment("board-kernels").methods
    assert {name for names in OF_KERNEL.values() for name in names} < set(kernels)
    assert len(OF_KERNEL) == len(OF_GAUSSIAN)


def test_the_page_names_six_confirmatory_maps():
    text = PAGES[0].read_text()
    assert len(CONFIRMATORY) == 6
    for words in ("SORF", "orthogonal", "Halton QMC", "quadrature", "surrogate leverage", "RPCholesky", "reweighted"):
        assert words in text


def test_the_second_edition_has_one_seed_and_the_protocol_of_the_board():
    board, *parts = (load_experiment(name) for name in ("board", *SECOND))
    assert {each.seed for each in parts} == {47}
    choice, learners, rare, landmarks = parts
    assert choice.datasets == learners.datasets == board.datasets
    assert choice.preprocess == learners.preprocess == board.preprocess
    assert choice.kernel == board.kernel
    assert choice.solver.spec() == board.solver.spec()
    assert {**rare.solver.spec(), "class_weight": None, "center": True} == board.solver.spec()
    assert {name for names in OF_KERNEL.values() for name in names} | {*OF_GAUSSIAN} == {*choice.methods}
    assert {*landmarks.datasets} < {*board.datasets}
    assert landmarks.solver.spec() == board.solver.spec()


@pytest.mark.parametrize("dataset", ["w8a", "ijcnn1", "covtype-rare", "satimage-rare", "letter-rare"])
def test_a_rare_class_has_less_than_a_tenth_of_the_rows(dataset):
    card = load_card(dataset)
    positive = card.labels.positive if card.labels else [max(card.classes, key=float)]
    share = sum(card.classes[name] for name in positive) / card.rows
    assert dataset in load_experiment("board-rare").datasets
    assert share < 0.1
