"""Does the quickstart give the same λ and accuracies elsewhere? python scripts/versions.py [--python 3.12] [--newest]

The package is built and installed by uv (pip install uv) into a virtual environment of its own: with the lowest
versions of its dependencies that pyproject.toml allows and that there are wheels of, or with --newest the newest. There
the quickstart is run, outside of the checkout, and each trial is held against that in results/quickstart. Exit status 1
says that a trial failed, took another λ, or differs by more than a row of its test part. It needs a package index.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rffbench.data.cards import load_card
from rffbench.execution.log import cell, latest, read_rows

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "results" / "quickstart" / "trials.jsonl"


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--python", default=f"{sys.version_info.major}.{sys.version_info.minor}", metavar="VERSION")
    arguments.add_argument("--newest", action="store_true", help="the newest versions, not the lowest")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="rffbench-") as folder:
        python = installed(Path(folder), asked.python, "highest" if asked.newest else "lowest-direct")
        measured = quickstart(Path(folder), python)
    return report(measured, latest(read_rows(RECORDED)))


def installed(folder: Path, version: str, resolution: str) -> Path:
    """The Python of a new virtual environment in ``folder`` that has the package; its dependencies are printed."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        raise SystemExit("scripts/versions.py needs uv: pip install uv")
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    python = folder / "env" / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", version, folder / "env"], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", python]
    dependencies = ["--resolution", resolution, "--only-binary", ":all:", "--requirements", ROOT / "pyproject.toml"]
    subprocess.run([*install, *dependencies], check=True)  # direct ones, as uv sees it: those of a wheel are not
    subprocess.run([*install, "--no-deps", wheel], check=True)
    subprocess.run([uv, "pip", "list", "--quiet", "--python", python], check=True)
    return python


def quickstart(folder: Path, python: Path) -> list[dict[str, Any]]:
    """The rows of the quickstart as that Python measures it."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [python.with_name("rffbench"), "run", "quickstart", "--results", folder / "results"]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return latest(read_rows(folder / "results" / "quickstart" / "trials.jsonl"))


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
