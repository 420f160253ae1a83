"""Does the quickstart give the same λ and accuracies elsewhere?

    python scripts/versions.py [--python 3.12] [--newest]
    python scripts/versions.py --others

The package is built and installed by uv (pip install uv) into a virtual environment of its own: with the lowest
versions of its dependencies that pyproject.toml allows and that there are wheels of, or with --newest the newest, those
of the extras that need no compiler among them. There the quickstart is run, outside of the checkout, here and on dask's
workers, and each trial is held against that in results/quickstart; its page is made, and a Parquet file read. Exit
status 1 says that a trial failed, took another λ, or differs by more than a row of its test part, or that one of these
commands failed. It needs a package index.

With --others the same is done, with the newest versions, under every other Python that pyproject.toml names. One that
is not here, for which the dependencies cannot be had (as without a network), or for which no time is left after three
minutes, is passed over with the reason.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from rffbench.data.cards import load_card
from rffbench.execution.log import cell, latest, read_rows

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "results" / "quickstart" / "trials.jsonl"
CURRENT = f"{sys.version_info.major}.{sys.version_info.minor}"
EXTRAS = ("report", "shards", "dask", "slurm")  # those that need no compiler
PARQUET = "import pandas as pd; pd.DataFrame({'a': [1.0, 2.0] * 9, 'b': ['x', 'y'] * 9}).to_parquet('own.parquet')"
LIMIT_S = 300  # for one step, on a machine that is busy
OTHERS_S = 180  # for all other Pythons together: CI has other things to do


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--python", default=CURRENT, metavar="VERSION")
    arguments.add_argument("--newest", action="store_true", help="the newest versions, not the lowest")
    arguments.add_argument("--others", action="store_true", help="every other Python, as far as it can be had")
    asked = arguments.parse_args()
    if asked.others:
        until = monotonic() + OTHERS_S
        return max((elsewhere(version, until) for version in supported() if version != CURRENT), default=0)
    with tempfile.TemporaryDirectory(prefix="rffbench-") as folder:
        resolution = "highest" if asked.newest else "lowest-direct"
        python = installed(Path(folder), asked.python, resolution, extras=EXTRAS)
        recorded = latest(read_rows(RECORDED))
        status = report(quickstart(Path(folder), python), recorded)
        print("on dask's workers: ", end="", flush=True)
        status = max(status, report(quickstart(Path(folder), python, executor="dask"), recorded))
        done([python, "-c", PARQUET], cwd=folder)
        for command in (["datasets", "describe", "own.parquet"], ["report", "results/local"]):
            done([python.with_name("rffbench"), *command], cwd=folder, env=plain_environment())
    print("a Parquet file and a page: ok")
    return status


def supported() -> list[str]:
    """The versions of Python that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = (line.rpartition(" :: ")[2] for line in project["classifiers"] if " Python :: 3." in line)
    return list(named)


def elsewhere(version: str, until: float = math.inf) -> int:
    """The same under another Python, and the exit status; 0 where that cannot be had by the time ``until``, with the
    reason printed."""
    print(f"Python {version}: ", end="", flush=True)
    python = found(version)
    if python is None:
        print("passed over, it is not here")
        return 0
    with tempfile.TemporaryDirectory(prefix="rffbench-") as folder:
        try:
            python = installed(Path(folder), str(python), "highest", until, listed=False)
        except (subprocess.SubprocessError, SystemExit) as error:
            print(f"passed over, the package cannot be installed there: {reason(error)}")
            return 0
        try:
            measured = quickstart(Path(folder), python, until)
        except subprocess.CalledProcessError as error:
            print(f"the quickstart fails: {reason(error)}")
            return 1
        except subprocess.TimeoutExpired:
            print("passed over, no time was left for the quickstart")
            return 0
    return report(measured, latest(read_rows(RECORDED)))


def found(version: str) -> Path | None:
    """A Python of that version that runs: on the path, or of pyenv."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(name)
    for each in ([Path(on_path)] if on_path else []) + sorted(pyenv.glob(f"{version}.*/bin/{name}")):
        try:
            told = subprocess.run([each, "--version"], capture_output=True, text=True, check=True, timeout=LIMIT_S)
        except (OSError, subprocess.SubprocessError):
            continue  # as pyenv's stand-in for a version that is not chosen
        if told.stdout.startswith(f"Python {version}."):
            return each
    return None


def reason(error: subprocess.SubprocessError | SystemExit) -> str:
    """What an error says at its end, in a line."""
    said = (getattr(error, "stderr", None) or str(error)).strip()
    return " ".join(said.splitlines()[-1:])


def installed(
    folder: Path,
    version: str,
    resolution: str,
    until: float = math.inf,
    *,
    extras: Sequence[str] = (),
    listed: bool = True,
) -> Path:
    """The Python of a new virtual environment in ``folder`` that has the package with its ``extras``; its dependencies
    are printed."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        raise SystemExit("scripts/versions.py needs uv: pip install uv")
    done([uv, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], until)
    (wheel,) = folder.glob("*.whl")
    python = folder / "env" / "bin" / "python"
    done([uv, "venv", "--quiet", "--python", version, folder / "env"], until)
    install = [uv, "pip", "install", "--quiet", "--python", python]
    dependencies = ["--resolution", resolution, "--only-binary", ":all:", "--requirements", ROOT / "pyproject.toml"]
    dependencies += [part for extra in extras for part in ("--extra", extra)]
    done([*install, *dependencies], until)  # direct ones, as uv sees it: those of a wheel are not
    done([*install, "--no-deps", wheel], until)
    if listed:
        print(done([uv, "pip", "list", "--quiet", "--python", python]), end="")
    return python


def done(command: list[str | Path], until: float = math.inf, **options: Any) -> str:
    """What a command prints, once it is done; within LIMIT_S, and by the time ``until``."""
    limit = max(0.0, min(LIMIT_S, until - monotonic()))
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit, **options).stdout


def quickstart(folder: Path, python: Path, until: float = math.inf, executor: str = "local") -> list[dict[str, Any]]:
    """The rows of the quickstart as that Python measures it."""
    results = folder / "results" / executor
    command = [python.with_name("rffbench"), "run", "quickstart", "--executor", executor, "--results", results]
    done(command, until, cwd=folder, env=plain_environment())
    return latest(read_rows(results / "quickstart" / "trials.jsonl"))


def plain_environment() -> dict[str, str]:
    """This process's environment without what points to its own packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def report(measured: list[dict[str, Any]], recorded: list[dict[str, Any]]) -> int:
    """Print how the trials compare with those recorded, and the exit status."""
    expected = {cell(row): row for row in recorded if row["status"] == "ok"}
    found = {cell(row): row for row in measured if row["status"] == "ok"}
    missing = expected.keys() - found.keys()
    both = expected.keys() & found.keys()
    other = {each for each in both if found[each]["lambda"] != expected[each]["lambda"]}
    apart = {each: test_rows_apart(found[each], expected[each]) for each in both}
    most = max(apart.values(), default=0)
    moved = sum(rows > 0 for rows in apart.values())
    print(f"{len(both)} of {len(expected)} trials ok; another λ in {len(other)}; ", end="")
    print(f"another accuracy in {moved}, by {most} test rows at most")
    for each in sorted({*missing, *other, *(each for each in both if apart[each] > 1)}):
        print("differs:", *each)
    return int(bool(missing or other) or most > 1)


def test_rows_apart(one: dict[str, Any], other: dict[str, Any]) -> int:
    """By how many rows of the test part two accuracies differ."""
    difference = abs(one["metrics"]["accuracy"] - other["metrics"]["accuracy"])
    return round(difference / 100 * load_card(one["dataset"]).n_test)


if __name__ == "__main__":
    sys.exit(main())
