"""The board's second edition as far as it has run: python -m studies.board.second [FOLDER]

Prints the tables of the questions whose configs are finished, from the results folders in FOLDER (default: where those
of the first edition are, results/board), and how far the others are. Of a config that is not finished nothing but that
is said. The page docs/board/results-2.md is written by `python -m studies.pages studies/board/results-2.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

import rffbench
from rffbench import Results, Table
from rffbench.stats import BASELINE, CELL, references
from studies.board import choosing, landmark_costs, learners, rare, units
from studies.board.choosing import ALL, LESS, MORE, SAME
from studies.board.registered import SECOND
from studies.evidence import folder_of, listed

CHOICE, LEARNERS, RARE, LANDMARKS = SECOND
NEEDED = {1: (CHOICE,), 2: (CHOICE, LEARNERS), 3: (RARE,), 4: (CHOICE,), 5: (LANDMARKS,)}
"""The configs that a question needs all trials of."""


@dataclass(frozen=True)
class Edition:
    """The ``results`` of the configs that have begun, by name, and the trials of the ``first`` edition."""

    results: Mapping[str, Results]
    first: pd.DataFrame

    def done(self, name: str) -> int:
        """How many of a config's trials are in, failed or not."""
        return len(self.results[name].trials.drop_duplicates(CELL)) if name in self.results else 0

    def is_finished(self, question: int) -> bool:
        return all(self.done(name) >= SECOND[name] for name in NEEDED[question])

    @property
    def open(self) -> list[int]:
        """The questions that are not answered yet."""
        return [number for number in NEEDED if not self.is_finished(number)]

    def waits_for(self, question: int) -> str:
        """The configs of a question that are not finished."""
        return listed(f"`{name}`" for name in NEEDED[question] if self.done(name) < SECOND[name])

    def progress(self) -> Table:
        """How many trials of each config are in, and how many of those failed."""
        table = Table("What is measured", ["config", "trials in", "of", "failed", "questions"], stub=1)
        for name, planned in SECOND.items():
            trials = self.results[name].trials if name in self.results else None
            failed = 0 if trials is None else int((trials["status"] != "ok").sum())
            asked = ", ".join(str(number) for number, needed in NEEDED.items() if name in needed)
            table.rows.append([name, f"{self.done(name):,}", f"{planned:,}", str(failed), asked])
        return table

    # ---- The questions, of finished configs --------------------------------------------------------------------------

    @cached_property
    def choice(self) -> pd.DataFrame:
        """Question 1: the rows of its config."""
        return choosing.measured(self.results[CHOICE].trials)

    @cached_property
    def beside_learners(self) -> pd.DataFrame:
        """Question 2: the rows of both of its configs."""
        return learners.rows_of(self.results[CHOICE].trials, self.results[LEARNERS].trials)

    @cached_property
    def at_ends(self) -> tuple[int, int]:
        """Question 2: how many of kernel ridge's choices are at an end of its grid, and how many there are."""
        return learners.at_ends(self.results[LEARNERS])

    @property
    def says_fits(self) -> bool:
        """Question 2: whether rows of trees say how many fits chose their settings."""
        return "choice_fits" in self.results[LEARNERS].trials

    @cached_property
    def rare(self) -> pd.DataFrame:
        """Question 3: the trials of its config."""
        return self.results[RARE].trials

    @property
    def agreement(self) -> str:
        """Question 3: whether the measures agree, disagree, or neither is decided."""
        return rare.agreement(rare.correlations(self.rare))

    @property
    def refuting(self) -> str:
        """Question 3: the datasets that refute, with the methods that do; empty if none does."""
        found = rare.refuting(self.rare)
        return "; ".join(f"{dataset} ({least} beside {other})" for dataset, (least, other) in found.items())

    @cached_property
    def units(self) -> pd.DataFrame:
        """Question 4: both units on every dataset."""
        return units.both_units(self.results[CHOICE].trials, self.first, references())

    @cached_property
    def landmarks(self) -> pd.DataFrame:
        """Question 5: the trials of its config."""
        return self.results[LANDMARKS].trials

    def tables(self, question: int) -> list[Table]:
        """All tables of a finished question, those of 2,048 columns too."""
        if question == 1:
            return [choosing.choice_table(self.choice, is_registered=True), choosing.wrong_choices(self.choice)]
        if question == 2:
            at, of = self.at_ends
            costs = learners.cost_table(self.results[CHOICE], self.results[LEARNERS])
            return [
                learners.answers(self.beside_learners, at / max(of, 1)),
                learners.table(self.beside_learners),
                costs,
            ]
        if question == 3:
            whole = [rare.measure_table(self.rare, each, size) for size in rare.SIZES for each in rare.MEASURES]
            return [rare.ratio_table(self.rare), rare.order_table(self.rare), *whole]
        if question == 4:
            return [units.unit_table(self.units)]
        tables = (landmark_costs.cost_table, landmark_costs.alike_table, landmark_costs.seconds_table)
        return [table(self.landmarks) for table in tables]


def load_edition(folder: Path, first: Path | None = None) -> Edition:
    """The second edition of the results in ``folder``, a folder a config, and the first one's, of ``first``."""
    begun = [name for name in SECOND if any((folder / name).glob("trials*.jsonl*"))]
    found = {name: rffbench.load(folder / name) for name in begun}
    return Edition(found, rffbench.load(first or folder_of("board")).trials)


# ---- In words --------------------------------------------------------------------------------------------------------


def said(answers: Mapping[str, str]) -> str:
    """The answers by task: "Confirmed in classifications, undecided in regressions."."""
    if len(set(answers.values())) == 1:
        words = f"{next(iter(answers.values()))} in {' and in '.join(f'{task}s' for task in answers)}"
    else:
        words = ", ".join(f"{answer} in {task}s" for task, answer in answers.items())
    return f"{words[0].upper()}{words[1:]}."


def said_of_landmarks(trials: pd.DataFrame) -> str:
    """The answers of question 5 by hypothesis: "(a) is confirmed, (b) is refuted, (c) is undecided."."""
    return ", ".join(f"({letter}) is {found}" for letter, found in landmark_costs.answers(trials).items()) + "."


def beside_fourier(rows: pd.DataFrame) -> str:
    """What the choice *all* has of RFF's error, by task: "6 % less test error than RFF in classifications"."""
    return " and ".join(
        f"{_beside(each.verdict, each.median)} in {each.task}s"
        for each in choosing.choices(rows) if (each.of, each.over) == (ALL, BASELINE)
    )  # fmt: skip


def _beside(verdict: str, median: float) -> str:
    share = f"{abs(100 * (median - 1)):.0f} %"
    words = {LESS: f"{share} less test error than RFF", MORE: f"{share} more test error than RFF",
             SAME: "the same test error as RFF"}  # fmt: skip
    return words.get(verdict, "a test error that is not told from that of RFF")


def main(folder: str = "") -> None:
    edition = load_edition(Path(folder) if folder else folder_of("board").parent)
    print(edition.progress().to_markdown())
    for number in NEEDED:
        if edition.is_finished(number):
            print(f"## Question {number}\n", *(table.to_markdown() for table in edition.tables(number)), sep="\n")
        else:
            print(f"Question {number}: not answered, it waits for {edition.waits_for(number)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
