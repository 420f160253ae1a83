"""The package of ``tests/helpers/plug_in``, which adds a feature map and a solver by entry points, as if installed."""

import sys
from contextlib import contextmanager
from pathlib import Path

FOLDER = str(Path(__file__).parent / "plug_in")


@contextmanager
def installed():
    """The package can be imported, and its entry points are found."""
    sys.path.insert(0, FOLDER)
    try:
        yield
    finally:
        sys.path.remove(FOLDER)
