"""The configs that ship with the package, as a list to choose from."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from rffbench.io.resources import resource_folder, shipped_configs

CARD = "README.md"  # of a folder: a heading, and a sentence that says what its configs are
INDEX = "index.csv"
COLUMNS = ("name", "title", "trials", "minutes")


def configs() -> list[dict[str, Any]]:
    """The folders of configs, those at the top first: the ``folder`` ('' at the top), its ``heading``, ``about`` in a
    sentence, and ``configs``: of each the ``name``, the ``title``, the ``trials`` and the ``minutes``.

    The minutes are those of the index, which ``scripts/index_configs.py`` writes: a dry run's on two processors.
    """
    top = resource_folder("configs")
    with open(top / INDEX, encoding="utf-8", newline="") as file:
        index = {row["name"]: row for row in csv.DictReader(file)}
    found: dict[Path, list[dict[str, Any]]] = {}
    for name, path in shipped_configs().items():
        row = index[name]
        numbers = {"trials": int(row["trials"]), "minutes": float(row["minutes"])}
        found.setdefault(path.parent, []).append({"name": name, "title": row["title"], **numbers})
    return [
        {"folder": "" if folder == top else folder.relative_to(top).as_posix(), **_card(folder), "configs": rows}
        for folder, rows in found.items()
    ]


def _card(folder: Path) -> dict[str, str]:
    heading, _, sentence, *_ = (folder / CARD).read_text(encoding="utf-8").splitlines()
    return {"heading": heading.removeprefix("# "), "about": sentence}
