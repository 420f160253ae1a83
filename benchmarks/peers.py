"""Packages that map features, each in a virtual environment of its own: some need an older numpy, some bring PyTorch.

``python -m benchmarks.peers`` makes the environments in ``build/peers``. A benchmark starts ``peer_maps.py`` with the
environment's Python, says once what is to be mapped, and then sends a line for each time that it shall be mapped. The
clock is the benchmark's; a line there and back takes some 0.05 ms.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE.parent / "build" / "peers"
PACKAGES = {
    "scikit-learn": ["scikit-learn"],
    "scikit-learn-extra": ["scikit-learn-extra==0.3.0", "numpy<2", "setuptools"],
    "xGPR": ["xGPR==0.4.8.5", "scipy", "scikit-learn"],
    "rfflearn": ["rfflearn==2024.10.28"],
    "gpytorch": ["gpytorch==1.15.2"],
    "performer-pytorch": ["performer-pytorch==1.1.4", "numpy"],
}


class PeerError(Exception):
    """Why a peer does not map."""


def python_of(package: str) -> Path:
    return FOLDER / package / "bin" / "python"


@contextmanager
def peer(package: str, **case: Any) -> Iterator[Any]:
    """A function that has the peer map its rows once. ``case``: the map, n, d, columns, dtype, threads."""
    python = python_of(package)
    if not python.exists():
        raise PeerError(f"no {python.relative_to(HERE.parent)}; python -m benchmarks.peers makes it")
    command = [python, HERE / "peer_maps.py", package]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as process:  # fmt: skip
        try:
            _ask(process, package, json.dumps(case))
            yield lambda: _ask(process, package, "map")
        finally:
            process.kill()


def _ask(process: subprocess.Popen, package: str, line: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    answer = process.stdout.readline().strip()
    if answer != "done":
        raise PeerError(f"{package} answered {answer or 'nothing'}")


def main() -> None:
    """Make the environments that are not there yet."""
    for package, needed in PACKAGES.items():
        if python_of(package).exists():
            continue
        print(f"{package}: {python_of(package).parent.parent}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", FOLDER / package], check=True)
        pip = [python_of(package), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needed]
        if subprocess.run(pip).returncode:
            print(f"{package} cannot be installed here; benchmarks leave it out", file=sys.stderr)


if __name__ == "__main__":
    main()
