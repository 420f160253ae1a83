"""Repeated rows are counted, and what a split gives away by them is the share of test rows seen in training."""

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.data.cards import card_names, load_card
from rffbench.data.repeats import in_words, repeats

# Two rows occur twice, one of these with another target; one row occurs three times.
X = np.array([[1, 2], [1, 2], [-0.0, 3], [0.0, 3], [5, 5], [5, 5], [5, 5], [7, 8]], dtype=float)
Y = np.array([0, 1, 1, 1, 0, 0, 0, 1], dtype=float)


def test_equal_rows_are_counted_with_and_without_their_target():
    found = repeats([(X[:3], Y[:3]), (X[3:], Y[3:])])
    assert found.distinct_inputs == 4
    assert found.distinct_rows == 5


def test_the_leak_is_the_share_of_test_rows_that_training_has_seen():
    found, digits = repeats([(X, Y)]), load_card("synthetic-regression")
    card = digits.model_copy(update={"rows": 8})
    shares = []
    for trial in range(2000):
        rng = np.random.default_rng(trial)
        order = rng.permutation(8)
        shares.append(np.mean([any((X[i] == X[j]).all() for j in order[:4]) for i in order[4:]]))
    # Five splits of eight rows scatter by some .1 about the mean over all splits.
    assert found.leaked(card) == pytest.approx(np.mean(shares), abs=0.25)
    given = card.model_copy(update={"split": card.split.model_copy(update={"rule": "given", "train": 3, "test": 5})})
    assert found.leaked(given) == 1 / 5  # row 3 alone is in the first three


def test_a_dataset_without_repeats_says_so():
    assert in_words(repeats([(X[[0, 2, 4]], Y[:3])]), load_card("digits")) == [("repeated", "no rows")]


def test_describe_counts_the_repeats_of_a_file_and_of_a_dataset(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("a,b,y\n1,2,x\n1,2,x\n0,3,y\n0,3,x\n4,4,y\n")
    shown = CliRunner().invoke(cli, ["datasets", "describe", str(file)])
    assert shown.exit_code == 0
    assert "1 of 5 rows; 3 distinct inputs" in shown.output
    assert "of the test rows have the inputs of a training row" in shown.output
    shown = CliRunner().invoke(cli, ["datasets", "describe", "breast-cancer"])
    assert shown.exit_code == 0
    assert "repeated      no rows" in shown.output


def test_a_named_dataset_takes_no_options_of_a_file():
    shown = CliRunner().invoke(cli, ["datasets", "describe", "digits", "--target", "0"], standalone_mode=False)
    assert "is a dataset with a card" in str(shown.exception)


@pytest.mark.data
@pytest.mark.skipif("RFFBENCH_MIRROR" not in os.environ, reason="RFFBENCH_MIRROR is not set")
def test_every_folder_of_the_mirror_has_a_card():
    folders = {path.name for path in Path(os.environ["RFFBENCH_MIRROR"]).iterdir() if path.is_dir()}
    assert folders - {load_card(name).folder for name in card_names()} == set()
