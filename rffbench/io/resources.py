"""Where the files that ship with the package are: the configs, in folders, and the dataset cards; and the list of the
configs, to choose from."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Literal

from rffbench.errors import ConfigError

CARD = "README.md"  # of a folder: a heading, and a sentence that says what its configs are
INDEX = "index.csv"
COLUMNS = ("name", "title", "trials", "minutes")
_PACKAGE = Path(__file__).resolve().parents[1]


def resource_folder(kind: Literal["configs", "datasets"]) -> Path:
    """The folder of shipped ``kind``: inside an installed package, else at the root of the checkout."""
    candidates = (_PACKAGE / kind, _PACKAGE.parent / kind)
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise ConfigError(f"the folder of {kind} is missing: looked for {' and '.join(map(str, candidates))}")


def shipped_configs() -> dict[str, Path]:
    """The files of the configs that ship, by name, in order of their folders: those at the top come first. A config is
    found by its name alone, whatever its folder."""
    top = resource_folder("configs")
    found = sorted(top.rglob("*.yaml"), key=lambda path: (path.parent != top, path))
    return {path.stem: path for path in found}


def listed_configs() -> list[dict[str, Any]]:
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
        {"folder": "" if folder == top else folder.relative_to(top).as_posix(), **card_of(folder), "configs": rows}
        for folder, rows in found.items()
    ]


def card_of(folder: Path) -> dict[str, str]:
    """The ``heading`` of a folder's card, and what it says ``about`` the configs in a sentence."""
    heading, _, sentence, *_ = (folder / CARD).read_text(encoding="utf-8").splitlines()
    return {"heading": heading.removeprefix("# "), "about": sentence}
