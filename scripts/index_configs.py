"""Write the list that `rffbench configs` shows, and the cards of results/: python scripts/index_configs.py

results/ has the groups of configs/, and a group's card there says what the card of its configs says. In the list are of
each shipped config the title, the number of trials, and the minutes of a dry run without earlier results, with two
workers on two processors of the speed for which the budgets of experiments are given.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rffbench.config.dryrun import run_seconds  # noqa: E402
from rffbench.config.loading import load_experiment  # noqa: E402
from rffbench.io.resources import CARD, COLUMNS, INDEX, card_of, resource_folder, shipped_configs  # noqa: E402
from tests.helpers.budgets import RATE  # noqa: E402


def rows() -> Iterator[tuple[str, str, int, float]]:
    for name, path in shipped_configs().items():
        experiment = load_experiment(path)
        seconds = run_seconds(experiment.grid(), workers=2, rate=lambda: RATE)
        yield name, experiment.title, experiment.size(), round(seconds / 60, 1)


def result_cards() -> dict[Path, str]:
    """The text of the card of every group of results/."""
    cards = {}
    for path in sorted(resource_folder("configs").rglob(CARD)):
        group = path.parent.relative_to(resource_folder("configs"))
        card, up = card_of(path.parent), "../" * (len(group.parts) + 1)
        measured = f"Results of [these configs]({up}{(Path('configs') / group).as_posix()}), a folder for each."
        cards[ROOT / "results" / group / CARD] = f"# {card['heading']}\n\n{card['about']} {measured}\n"
    return cards


if __name__ == "__main__":
    for path, text in result_cards().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with open(resource_folder("configs") / INDEX, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows())
