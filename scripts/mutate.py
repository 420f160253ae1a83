"""How many small changes of the package the tests notice: python scripts/mutate.py [MODULE...] [--show] [--chosen]

mutmut (`pip install '.[mutate]'`) changes a module's functions one operator, number, name or argument at a time, in a
copy of the project, and runs that module's tests on each. Printed is, of every module, how many changes were killed and
how many survived, with their names; `--show` prints the survivors' differences too. MODULE is one of the paths below.
It takes a few minutes a module: for a quiet evening, not for every change.

With `--chosen` the changes are those of scripts/mutants.yaml, which mutmut would not make: another statistic, a call or
a condition left out. MODULE is then one of that file's.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    "rffbench", "studies", "tests", "configs", "datasets", "benchmarks", "docs", "scripts", "README.md",
    "pyproject.toml",
)  # fmt: skip

# What a module promises is tested in these files.
TESTS = {
    "arguments/seeds.py": ["arguments/test_seeds.py"],
    "kernels/shift_invariant.py": ["kernels/test_every_kernel.py"],
    "studies/papers/lectures/error_bounds.py": ["studies/papers/lectures/test_error_bounds.py"],
    "stats/intervals.py": ["report/test_tables.py", "report/test_statistics.py", "report/test_compare.py"],
    "stats/verdicts.py": ["report/test_claims.py"],
    "report/judge.py": ["report/test_claims.py"],
    "report/claims.py": ["report/test_claims.py"],
    "trials/spec.py": ["trials/test_spec.py"],
    "features/fourier/random_fourier.py": ["features/test_every_map.py", "features/weighted/test_leverage.py"],
    "solvers/ridge/fold_statistics.py": ["solvers/ridge/test_streamed.py"],
}
MOST_S = 600  # the tests of a module take much less
KILLED, SURVIVED = {1, 3, 24, 36, -24, 152}, {0, 33}  # mutmut's: tests fail or never end; they pass, or none runs it


def mutate(module: str, folder: Path) -> dict[str, int]:
    """mutmut's exit code of each change of the module, made in a copy of the project in ``folder``."""
    copy_project(folder)
    tests = [f"tests/{name}" for name in TESTS[module] if (ROOT / "tests" / name).exists()]
    names = "not contract and not rate and not committed_results"  # of the module itself, and in seconds
    selection = [*tests, "-m", "not slow and not regression", "-k", names, "-p", "no:cacheprovider"]
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as settings:
        settings.write(
            "\n[tool.mutmut]\n"
            f'source_paths = ["{path_of(module)}"]\n'
            f"pytest_add_cli_args_test_selection = {json.dumps(selection)}\n"
            f"also_copy = {json.dumps(COPIED)}\n"
        )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RFFBENCH_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    found = folder / "mutants" / f"{path_of(module)}.meta"
    codes = json.loads(found.read_text())["exit_code_by_key"] if found.exists() else {}
    if not codes or None in codes.values():
        sys.exit(f"mutmut did not come to an end on {module}:\n{(done.stdout + done.stderr)[-2000:]}")
    return codes


def path_of(module: str) -> str:
    """A module's path in the project."""
    return module if module.startswith("studies/") else f"rffbench/{module}"


def copy_project(folder: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)


def difference(name: str, folder: Path) -> str:
    """What a change is, as mutmut shows it."""
    command = [sys.executable, "-m", "mutmut", "show", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


# ---- Changes by hand ---------------------------------------------------------------------------------------


def try_chosen(modules: list[str]) -> None:
    """Make each change of scripts/mutants.yaml by itself, in a copy of the project, and run its module's tests."""
    groups: list[dict[str, Any]] = yaml.safe_load((ROOT / "scripts" / "mutants.yaml").read_text(encoding="utf-8"))
    if unknown := set(modules) - {group["module"] for group in groups}:
        sys.exit(f"not in scripts/mutants.yaml: {', '.join(sorted(unknown))}")
    groups = [group for group in groups if not modules or group["module"] in modules]
    total = killed_in_all = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_project(folder)
        if not passes({test for group in groups for test in group["tests"]}, folder):
            sys.exit("a test fails without a change")
        for group in groups:
            survivors = [change for change in group["changes"].items() if passes_with(change, group, folder)]
            count = len(group["changes"])
            total, killed_in_all = total + count, killed_in_all + count - len(survivors)
            print(f"{group['module']}: {count - len(survivors)} of {count} killed", flush=True)
            for old, new in survivors:
                print(f"  survived: {old!r} → {new!r}", flush=True)
    print(f"score: {killed_in_all} of {total} killed")


def passes_with(change: tuple[str, str], group: dict[str, Any], folder: Path) -> bool:
    """Whether all tests of the group pass, with another text in a place of its module."""
    path, (old, new) = folder / path_of(group["module"]), change
    source = path.read_text(encoding="utf-8")
    if source.count(old) != 1:
        sys.exit(f"{group['module']}: {old!r} is there {source.count(old)} times: renew scripts/mutants.yaml")
    path.write_text(source.replace(old, new), encoding="utf-8")
    try:
        return passes(group["tests"], folder)
    finally:
        path.write_text(source, encoding="utf-8")


def passes(tests: Iterable[str], folder: Path) -> bool:
    paths = [f"tests/{name}" for name in sorted(tests)]
    command = [sys.executable, "-m", "pytest", "-xq", "-m", "not slow and not regression", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *paths], cwd=folder, env=environment, capture_output=True, text=True, timeout=MOST_S
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1, 2):  # all pass, one fails, the module cannot be imported
        sys.exit(f"no tests were run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


def main(arguments: list[str]) -> None:
    if "--chosen" in arguments:
        try_chosen([argument for argument in arguments if argument != "--chosen"])
        return
    show = "--show" in arguments
    modules = [argument for argument in arguments if argument != "--show"] or list(TESTS)
    if unknown := [module for module in modules if module not in TESTS]:
        sys.exit(f"no such module: {', '.join(unknown)}; there are {', '.join(TESTS)}")
    if find_spec("mutmut") is None:
        sys.exit("mutmut is not installed: pip install '.[mutate]'")
    total = killed_in_all = 0
    for module in modules:
        with tempfile.TemporaryDirectory() as folder:
            codes = mutate(module, Path(folder))
            survivors = [name for name, code in codes.items() if code in SURVIVED]
            killed = sum(code in KILLED for code in codes.values())
            print(f"{module}: {killed} of {killed + len(survivors)} killed", flush=True)
            for name in survivors:
                print(f"  survived: {name}", flush=True)
                if show:
                    print(difference(name, Path(folder)), flush=True)
        total, killed_in_all = total + killed + len(survivors), killed_in_all + killed
    print(f"score: {killed_in_all} of {total} killed, {100 * killed_in_all / total:.1f} %")


if __name__ == "__main__":
    main(sys.argv[1:])
