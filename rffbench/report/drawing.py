"""Loads matplotlib, whatever the environment says of its backend and its settings. Import this before matplotlib.

Figures here are only written to files, in the style of `rffbench.report.figures.style`, so neither matters. Jupyter
sets MPLBACKEND to a module that another environment may not have, and a matplotlibrc may be damaged: matplotlib is then
not loaded at all. Where it can be loaded as it is, it is, because a notebook's own plots may depend on these settings.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from rffbench.errors import EnvironmentFault
from rffbench.io.process import environment

SETTINGS = "matplotlibrc"


def load() -> None:
    """EnvironmentFault if matplotlib cannot be loaded."""
    if _can_be_read():
        with contextlib.suppress(Exception), _without_advice():
            import_module("matplotlib.font_manager")
            return
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        del sys.modules[name]
    spec = find_spec("matplotlib")
    own = Path(spec.origin or "").parent / "mpl-data" / SETTINGS if spec else Path(SETTINGS)
    try:
        with environment({"MPLBACKEND": None, "MATPLOTLIBRC": str(own)}), _elsewhere(), _without_advice():
            import_module("matplotlib.font_manager")
    except Exception as error:
        raise EnvironmentFault(
            f"no figure can be drawn, because matplotlib cannot be loaded ({type(error).__name__}: {error}); tables "
            "are written without it. `rffbench plot` draws the figures later"
        ) from error


def _can_be_read() -> bool:
    """Whether the settings that would be read are files: a pipe would be waited for."""
    named = Path(os.environ.get("MATPLOTLIBRC") or SETTINGS)
    return all(each.is_file() or each.is_dir() or not each.exists() for each in (named, Path(SETTINGS)))


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """In another folder, if this one has settings: they would be read before all others."""
    if not os.path.lexists(SETTINGS):
        yield
        return
    here = os.open(".", os.O_RDONLY)
    os.chdir("/")
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


@contextlib.contextmanager
def _without_advice() -> Iterator[None]:
    """Without matplotlib's advice on its cache, which may be in a temporary folder."""
    log = logging.getLogger("matplotlib")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


load()
