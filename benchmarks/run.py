"""Run the benchmarks and write docs/performance.md, and all numbers to docs/performance.json."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from importlib import import_module
from math import isnan
from pathlib import Path
from statistics import median
from subprocess import CalledProcessError
from typing import Any

from rffbench.errors import RffbenchError
from rffbench.execution import environment

HERE = Path(__file__).parent
HEAD = """# Performance

Written by `make bench`; the numbers of every repeat are in `performance.json`. Ours and the peer run in turn
in one process, with the same data, precision and threads; a first run of each does not count. The ratio is
the median over the repeats, with the smallest and the largest in brackets. Where the goal says ≥, it is how many
times faster (or smaller) ours is; where it says ≤, how many times as long as the peer ours takes.

Each section names the commit that was measured. Later commits are not measured until the section is made anew.
"""
MET = {True: "yes", False: "no", None: "–"}
TITLES = {
    "binning": "Ridge on random binning",
    "blocks": "One fit by row blocks on a dask cluster",
    "cluster": "Trials on a dask cluster",
    "falkon": "Falkon on covtype",
    "features": "Feature maps",
    "gp": "Gaussian processes",
    "landmarks": "Landmarks of the Nyström map",
    "leverage": "Leverage scores and their surrogate",
    "iterative": "Iterative solvers",
    "load": "Long logs and small tasks",
    "maps": "Every map against its bound and its peers",
    "logistic": "Logistic regression of several classes",
    "ridge": "Ridge regression with cross-validation",
    "scale": "Many rows",
    "sparse": "Sparse random features",
    "structured": "Structured and training-efficient maps",
    "svm": "Support vector machines",
    "table": "The table as a whole",
    "text": "Sparse rows",
    "timing": "Seconds that can be compared",
    "workers": "Workers and start-up",
}


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
    measured: dict[str, Any] = {}
    if output is not None and (output / "performance.json").exists():
        measured = json.loads((output / "performance.json").read_text())
    missing = []
    for name in given.names or names():
        try:
            results = _watched(name, import_module(f"benchmarks.bench_{name}").run(quick=given.quick))
        except (RffbenchError, CalledProcessError) as error:  # data that cannot be had here
            said = error.stderr if isinstance(error, CalledProcessError) else error
            missing.append(name)
            print(f"{name}: not measured: {said or error}", file=sys.stderr)
            continue
        measured[name] = {"environment": environment.record(), "results": results}
        print(section(name, measured[name]), flush=True)
        if output is not None:  # after each, so that an interruption loses little
            output.mkdir(parents=True, exist_ok=True)
            (output / "performance.json").write_text(json.dumps(measured, indent=1) + "\n")
            (output / "performance.md").write_text(page(measured))
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


def page(measured: dict[str, Any]) -> str:
    """docs/performance.md."""
    return "\n".join([HEAD, *(section(name, measured[name]) for name in names() if name in measured)])


def section(name: str, measured: dict[str, Any]) -> str:
    """One benchmark's table, with the machine it was measured on."""
    lines = [
        f"## {TITLES.get(name, name)}", "", machine(measured["environment"]), "",
        "| what | against | ours | peer | ratio | goal | met |", "|---|---|--:|--:|--:|--:|:-:|",
    ]  # fmt: skip
    for result in measured["results"]:
        unit = result["unit"]
        ours, peer = (_amount(result[f"{side}_{unit}"], unit) for side in ("ours", "peer"))
        ratios = result["ratios"]
        spread = f" ({min(ratios):.2f}–{max(ratios):.2f})" if len(ratios) > 1 else ""
        sign = "≥" if result["bound"] == "at least" else "≤"
        busy = " ¹" if result.get("contended") else ""
        cells = [
            result["name"], result["peer"], ours, peer,
            "–" if isnan(result["ratio"]) else f"**{result['ratio']:.2f}**{spread}{busy}",
            "–" if result["goal"] is None else f"{sign} {result['goal']:g}", MET[result["met"]],
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    if any(result.get("contended") for result in measured["results"]):
        lines += ["", "¹ Something else used the processors meanwhile."]
    reasons = getattr(import_module(f"benchmarks.bench_{name}"), "MISSES", {})
    missed = {result.get("map") for result in measured["results"] if result["met"] is False}
    if told := [f"- {each}: {reason}" for each, reason in reasons.items() if each in missed]:
        lines += ["", "Why maps miss a goal:", "", *told]
    return "\n".join([*lines, ""])


def machine(record: dict[str, Any]) -> str:
    """The environment in a sentence."""
    libraries = [library for library in record["blas"] or [] if library["internal_api"] != "openmp"]
    blas = ", ".join(sorted({f"{library['internal_api']} {library['version']}" for library in libraries}))
    packages = ", ".join(f"{name} {record['packages'][name]}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    settings = ", ".join(f"{name}={value}" for name, value in record["environment"].items())
    parts = [
        f"{record['cpu']}, {record['processors']} processors, {record['memory_bytes'] / 1e9:.0f} GB",
        record["os"],
        f"Python {record['python']}, {packages}",
        f"BLAS {blas}",
        settings,
        record["time"],
        f"commit {record['git_commit'][:7]}" if record.get("git_commit") else "",
    ]
    return "; ".join(part for part in parts if part) + "."


def _amount(values: list[float], unit: str) -> str:
    if not values:
        return "–"
    if len(values) > 1 and unit == "MB":
        return " → ".join(f"{value:.0f}" for value in (values[0], values[-1])) + " MB"
    middle = median(values)
    return f"{middle * 1e3:.1f} ms" if unit == "s" and middle < 1 else f"{middle:.4g} {unit}"
