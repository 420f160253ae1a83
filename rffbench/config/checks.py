"""Checks that involve more than one value of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rffbench.config.grid import Grid
from rffbench.config.places import located
from rffbench.config.values import DEFAULT, repeated
from rffbench.errors import unknown
from rffbench.io.yamlfile import Misplaced


def check_mapping(field: str, mapping: dict[str, Any], keys: Sequence[str], what: str) -> None:
    """Every key of a per-dataset or per-size mapping exists, and every key has a value or the default."""
    for key in mapping:
        if key != DEFAULT and key not in keys:
            raise Misplaced(unknown(what, key, [*dict.fromkeys(keys), DEFAULT]), field, key)
    if missing := [key for key in keys if key not in mapping and DEFAULT not in mapping]:
        raise Misplaced(f"has no value for {missing[0]}; add it, or {DEFAULT}", field)


def check_grid(grid: Grid) -> None:
    """Check that sizes, methods and datasets fit together, and that every trial's map and solver can be made."""
    from rffbench.config.method_checks import check_method

    sizes = [str(size) for dataset in grid.datasets for label in grid.methods for size in grid.sizes(dataset, label)]
    if isinstance(trials := grid.config["trials"], dict):
        check_mapping("trials", trials, sizes, "size of this experiment")
    for dataset in grid.datasets:
        written = grid.setting("n_features", dataset)
        if count := repeated(grid.n_features(dataset, size) for size in written):
            raise Misplaced(f"gives {count} features for {dataset} twice", "n_features", dataset)
    for label in grid.methods:
        check_method(grid, label)


def check_inputs(grid: Grid) -> None:
    """Check that preprocess does what each dataset needs: fills missing values, makes numbers of words."""
    from rffbench.data.cards import load_card
    from rffbench.data.preprocess import check_fits

    for dataset in grid.datasets:
        with located("preprocess"):
            check_fits(load_card(dataset), grid.setting("preprocess", dataset) or ())


def check_fitted(grid: Grid) -> None:
    """Check that the table of fitted parameters has every dataset and fold of the experiment."""
    from rffbench.data.cards import load_card
    from rffbench.papers.hyperparameters import fitted

    if not (table := grid.setting("parameters_from")):
        return
    for dataset in grid.datasets:
        card = load_card(dataset)
        if card.split.rule != "folds":
            raise Misplaced(f"gives parameters by fold; the split of {dataset} is {card.split.rule}", "parameters_from")
        asked = [
            grid.planned_trials(dataset, label, size)
            for label in grid.methods_on(dataset)
            for size in grid.sizes(dataset, label)
        ]
        folds = round(card.rows / card.n_test)
        for fold in range(min(folds, max(asked))):
            with located("parameters_from"):
                fitted(table, dataset, fold, card.columns_after(grid.setting("preprocess", dataset) or ()))
