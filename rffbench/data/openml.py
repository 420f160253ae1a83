"""Datasets of OpenML by number, through scikit-learn's own fetcher, as CSV files with a header and the target last."""

from __future__ import annotations

import re
import socket
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rffbench.errors import ConfigError, DataUnavailable

SCHEME = "openml:"
SILENCE_S = 30.0  # seconds without an answer


@dataclass(frozen=True)
class About:
    """OpenML's facts on a dataset."""

    title: str
    task: Literal["classification", "regression"]
    licence: str
    citation: str


def number_of(text: str) -> int:
    """The number in ``openml:1471``; ConfigError if it is not a number."""
    number = text.removeprefix(SCHEME)
    if not re.fullmatch(r"[1-9][0-9]*", number):
        raise ConfigError(f"{text}: an OpenML dataset is given by its number, as in openml:1471")
    return int(number)


def download(number: int, path: Path) -> About:
    """Write dataset ``number`` to ``path``. DataUnavailable if OpenML cannot be reached or has no such dataset."""
    from sklearn.datasets import fetch_openml

    silence = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SILENCE_S)  # the fetcher has no limit of its own
    try:
        with tempfile.TemporaryDirectory(prefix="rffbench-") as folder, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A network error", UserWarning)  # the message below has the last error
            found = fetch_openml(data_id=number, as_frame=True, parser="auto", cache=False, data_home=folder)
    except Exception as error:  # from the network, or from the parser
        why = getattr(error, "reason", error)  # the cause, without urllib's words around it
        raise DataUnavailable(
            f"{SCHEME}{number} cannot be had from OpenML ({why}), and is not in the cache: the first time it needs the "
            "network; without one, leave it out"
        ) from error
    finally:
        socket.setdefaulttimeout(silence)
    if found.target is None or getattr(found.target, "ndim", 1) != 1:
        raise DataUnavailable(f"{SCHEME}{number} has no single target on OpenML; give the data as a file")
    found.data.assign(**{found.target.name: found.target}).to_csv(path, index=False, lineterminator="\n")
    numeric = getattr(found.target.dtype, "kind", "O") in "fiu"
    details = found.details
    return About(
        title=f"{details.get('name', number)} (OpenML {number})",
        task="regression" if numeric else "classification",
        licence=str(details.get("licence", "not stated")),
        citation=f"OpenML, https://www.openml.org/d/{number}",
    )
