"""What workers of dask do in tests of the engine for row blocks: sums of numbers, and a death."""

import os
from pathlib import Path

DEADLY = 6


def plus(shared, number, marker):
    """``shared + number``; the first to be given DEADLY takes its process with it."""
    if number == DEADLY and not Path(marker).exists():
        Path(marker).touch()
        os._exit(1)
    return shared + number


def add(left, right):
    return left + right
