"""Where the files that ship with the package are: the configs, in folders, and the dataset cards."""

from pathlib import Path
from typing import Literal

from rffbench.errors import ConfigError

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
