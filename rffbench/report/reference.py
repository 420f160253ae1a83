"""Reads all of a reference, so that faults are told before anything is measured or compared."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rffbench.data.cards import Card, load_card
from rffbench.errors import ConfigError, RffbenchError
from rffbench.papers import Reference
from rffbench.papers.recorded import OwnReference, find_reference
from rffbench.report.claims import Claim, load_claims


def read_reference(
    name: str, folder: Path, labels: Collection[str] = ()
) -> tuple[Reference, pd.DataFrame, list[Claim]]:
    """The reference that a config in ``folder`` names, its numbers and its claims, with the methods called as the
    config's ``labels`` call them.

    ConfigError, with file and line, if any of it is wrong, or if the numbers of a paper do not fit the datasets' cards.
    """
    reference = find_reference(name, folder).called_as_in(labels)
    numbers = reference.numbers()
    if not isinstance(reference, OwnReference):
        _check_cards(reference, numbers)
    return reference, numbers, load_claims(reference.claims, reference.datasets.values(), reference.renamed)


def _check_cards(reference: Reference, numbers: pd.DataFrame) -> None:
    """ConfigError if a dataset has no card, or its card has another number of columns, or not the fold of a row,
    or if no card has the paper's training and test rows."""
    above = () if reference.table and reference.table.datasets else ("..",)
    stated = reference.dataset_statistics()
    cards: dict[str, list[Card]] = {}
    for dataset, theirs in reference.datasets.items():
        try:
            card = load_card(dataset)
        except RffbenchError as error:
            raise ConfigError(f"{reference.place(*above, 'datasets', dataset)}: {error}") from None
        cards.setdefault(theirs, []).append(card)
        if theirs in stated.index:
            row = stated.loc[theirs]
            if (columns := row["n_features"] + row.get("zero_columns", 0)) != card.columns:
                raise ConfigError(
                    f"{reference.statistics_file}, line {row['line']}, column 'n_features': "
                    f"{theirs} has {columns} columns; the card of {dataset} has {card.columns}"
                )
        if "trial" not in numbers:
            continue
        folds = round(card.rows / card.n_test) if card.split.rule == "folds" else 0
        of_dataset = (numbers["paper_dataset"] == theirs) & (numbers["absent"] == "")
        if len(beyond := numbers[of_dataset & (numbers["trial"] >= folds)]):
            row = beyond.iloc[0]
            has = f"has the folds 0 to {folds - 1}" if folds else "has no fixed folds"
            raise ConfigError(f"{reference.file}, line {row['line']}: is of fold {row['trial']}; {dataset} {has}")
    parts = stated.to_dict("index")
    for name, its_cards in cards.items():
        _check_parts(reference, name, parts.get(name, {}), its_cards)


def _check_parts(reference: Reference, theirs: str, stated: Mapping[Hashable, Any], cards: Sequence[Card]) -> None:
    """ConfigError if none of a dataset's cards has the training and test rows that the paper states. One is enough:
    another may split the same data otherwise, which every comparison then says."""
    for column, rows in (("n_train", "training rows"), ("n_test", "test rows")):
        if column not in stated:
            continue
        sizes = {card.name: getattr(card, column) for card in cards}
        # Folds have the card's number of rows give or take one.
        cards = [card for card in cards if abs(sizes[card.name] - stated[column]) <= (card.split.rule == "folds")]
        if not cards:
            ours = ", ".join(f"the card of {name} has {size:,}" for name, size in sizes.items())
            raise ConfigError(
                f"{reference.statistics_file}, line {stated['line']}, column {column!r}: "
                f"{theirs} has {stated[column]:,} {rows}; {ours}"
            )
