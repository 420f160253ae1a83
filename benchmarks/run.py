"""Run the benchmarks and write docs/performance.md, and all numbers to docs/performance.json."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from subprocess import CalledProcessError
from time import perf_counter
from typing import Any

from benchmarks.page import FIGURE, Measured, figure, listing, page, slower
from rffbench.errors import RffbenchError
from rffbench.execution import environment

HERE = Path(__file__).parent


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(names())}")
    parser.add_argument("--quick", action="store_true", help="small sizes: a check that everything runs")
    parser.add_argument("--output", type=Path, help="folder to write to; default docs, with --quick none")
    given = parser.parse_args(arguments)
    unknown = set(given.names) - set(names())
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    output = given.output or (None if given.quick else HERE.parent / "docs")
    measured: Measured = {}
    if output is not None and (output / "performance.json").exists():
        measured = json.loads((output / "performance.json").read_text())
    release, before = last_release()
    missing = []
    for name in given.names or names():
        try:
            began = perf_counter()
            results = _watched(name, import_module(f"benchmarks.bench_{name}").run(quick=given.quick))
        except (RffbenchError, CalledProcessError) as error:  # data that cannot be had here
            said = error.stderr if isinstance(error, CalledProcessError) else error
            missing.append(name)
            print(f"{name}: not measured: {said or error}", file=sys.stderr)
            continue
        measured[name] = {
            "environment": environment.record(), "seconds": perf_counter() - began, "results": results,
        }  # fmt: skip
        print(listing(name, results), flush=True)
        if name in before:
            measured[name] |= {"release": release, "slower": slower(results, before[name]["results"])}
        if output is not None:  # after each, so that an interruption loses little
            output.mkdir(parents=True, exist_ok=True)
            (output / "performance.json").write_text(written(measured), encoding="utf-8")
            (output / "performance.md").write_text(page(measured), encoding="utf-8")
            figure(measured, output / FIGURE)
    if missing:
        parser.exit(1, f"not measured: {', '.join(missing)}\n")


def _watched(name: str, results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All results of a benchmark; each ratio is printed as soon as it is there, where the benchmark yields them."""
    found = []
    for result in results:
        found.append(result)
        print(f"{name}: {result['name']}: {result['ratio']:.2f} of {result['peer']}", file=sys.stderr, flush=True)
    return found


def names() -> list[str]:
    """Every bench_*.py of this folder."""
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def last_release() -> tuple[str, Measured]:
    """The newest tag, and what its page had measured; nothing without a tag or numbers."""
    git = partial(subprocess.run, cwd=HERE, capture_output=True, text=True, check=False)
    tag = git(["git", "describe", "--tags", "--abbrev=0"]).stdout.strip()
    numbers = git(["git", "show", f"{tag}:docs/performance.json"]).stdout if tag else ""
    return tag, json.loads(numbers) if numbers else {}


def written(measured: Measured) -> str:
    """As JSON with a line for each comparison, and numbers of five digits."""
    rounded = json.loads(json.dumps(measured), parse_float=lambda text: float(f"{float(text):.5g}"))
    sections = []
    for name, section in rounded.items():
        about = json.dumps({key: value for key, value in section.items() if key != "results"}, ensure_ascii=False)
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in section["results"])
        sections.append(f'{json.dumps(name)}: {about[:-1]}, "results": [\n{rows}\n]}}')
    return "{\n" + ",\n".join(sections) + "\n}\n"
