"""How λ is chosen over folds, and what another choice would give."""

import pandas as pd

import rffbench
from studies.papers.liu2020 import fold_choices
from tests.helpers.places import results_of


def test_the_distances_of_fold_choices_are_those_of_its_trials():
    folder = results_of(fold_choices.NAME)
    assert fold_choices.page(pd.read_csv(folder / "folds.csv")) == (folder / "folds.md").read_text()


def test_fold_choices_finds_the_accuracy_of_the_solver_and_what_another_choice_would_give(tmp_path, one_thread):
    solver = {"name": "ridge", "lambda": [1e-3, 1.0, 1e3], "folds": 5, "scoring": "accuracy", "lambda_scale": 1}
    config = {"name": "tiny", "datasets": ["breast-cancer"], "preprocess": "minmax", "n_features": [4], "trials": 1,
              "methods": {"RFF": {"features": "fourier"}}, "solver": solver}  # fmt: skip
    results = rffbench.run(config, results=tmp_path, executor="serial", progress=False)
    found = fold_choices.measure(results, "breast-cancer", "RFF", 4, 0)
    assert len(found) == len(fold_choices.CHOICES) == 24
    assert found[fold_choices.CHOICES[0]] == results.trials["accuracy"].item()
    assert len(set(found.values())) > 1
