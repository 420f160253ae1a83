"""Where the files that ship with the package are: the configs and the dataset cards."""

from pathlib import Path
from typing import Literal

from rffbench.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent


def resource_folder(kind: Literal["configs", "datasets"]) -> Path:
    """The folder of shipped ``kind``: inside an installed package, else at the root of the checkout."""
    candidates = (_PACKAGE / kind, _PACKAGE.parent / kind)
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise ConfigError(f"the folder of {kind} is missing: looked for {' and '.join(map(str, candidates))}")
