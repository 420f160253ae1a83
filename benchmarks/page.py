"""The page of what `make bench` measured: a sentence, a figure and a table of jobs; then maps, misses, and the rest."""

from __future__ import annotations

import re
from importlib import import_module
from math import isnan
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.pyplot as plt

Measured = dict[str, dict[str, Any]]
"""By benchmark: its ``environment``, ``seconds`` and ``results``; the last ``release``, and what is ``slower`` now."""
NOTHING: dict[str, Any] = {"results": []}
FIGURE = "performance.png"
TITLES = {
    "binning": "Ridge on random binning",
    "blocks": "One fit by row blocks on a dask cluster",
    "cluster": "Trials on a dask cluster",
    "falkon": "Falkon on covtype",
    "features": "Feature maps",
    "gp": "Gaussian processes",
    "gpu": "On a GPU",
    "landmarks": "Landmarks of the Nyström map",
    "leverage": "Leverage scores and their surrogate",
    "iterative": "Iterative solvers",
    "load": "Long logs and small tasks",
    "maps": "Every map against its bound and its peers",
    "logistic": "Logistic regression of several classes",
    "pipeline": "Against a pipeline of scikit-learn's",
    "ridge": "Ridge regression with cross-validation",
    "scale": "Many rows",
    "start": "From typing to the first row",
    "sparse": "Sparse random features",
    "structured": "Structured and training-efficient maps",
    "svm": "Support vector machines",
    "table": "The table as a whole",
    "text": "Sparse rows",
    "timing": "Seconds that can be compared",
    "workers": "Workers",
}
JOBS = {
    "features": {"2s columns of (float..), d=54, s=864, [2-9]": "Fourier features, {}"},
    "landmarks": {"Features of": "Nyström features", "Ridge on": "Nyström features and ridge, one λ"},
    "pipeline": {
        "ridge, (.*) features, n=50,000, 512 ": "{} features and ridge, 50,000 rows",
        "ridge, (.*) features, n=10,000, 512 .*32": "{} features and ridge, 10,000 rows, float32",
        "logistic regression, (.*) classes.*n=10,000": "logistic regression of {} classes",
    },
    "ridge": {"5 folds, 4 λ, .*2,048": "ridge on given features, 2,048 columns"},
    "logistic": {"26 classes": "logistic regression of 26 classes"},
    "maps": {"nystroem, .*float32, [2-9]": "Nyström features of new rows, float32"},
    "gp": {"RFF.*given": "Gaussian process, 2,000 rows"},
    "binning": {"ijcnn1": "random binning and ridge"},
    "sparse": {"train and predict: ijcnn1": "sparse random features"},
    "svm": {"squared hinge, n=30": "kernel SVM", "squared hinge in the primal, held": "linear SVM on features"},
    "text": {"mapping": "Fourier features of sparse rows"},
    "table": {".*trials, .* workers": "a table of accuracies"},
    "iterative": {"one λ, .* 8,192": "conjugate gradients, 8,192 columns"},
    "blocks": {"ridge by row blocks on 2": "ridge by two dask workers"},
    "workers": {"2 workers, .* trials": "small trials by two workers"},
}
"""What a user calls some comparisons: by benchmark, a pattern of how their names begin. The first that fits counts."""
BUSY = " ¹"
MET = {True: "yes", False: "no", None: "–"}
HOW = """## How it is measured

Ours and the peer run in turn in one process, with the same data, precision and threads. A first run of each does not
count where there are several. A ratio is the median over the repeats, with the smallest and the largest in brackets.
Where a goal says ≥, it is how many times faster (or smaller) ours is. Where it says ≤, it is how many times as long as
the peer ours takes.
"""


def page(measured: Measured) -> str:
    """docs/performance.md; the figure that it names is `figure`'s."""
    parts = [part(measured) for part in (_opening, _jobs, _slower, _maps, _missed, _rest)]
    return "\n".join([*(part for part in parts if part), HOW, _machines(measured)])


def listing(name: str, results: list[dict[str, Any]]) -> str:
    """All comparisons of a benchmark, for the terminal."""
    return "\n".join([f"{TITLES.get(name, name)}\n", *_HEADER, *map(_line, results), ""])


def jobs(measured: Measured) -> list[dict[str, Any]]:
    """The comparisons that are a job of a user's, with its name as ``job``, the largest ratio first."""
    found = []
    for name, expected in JOBS.items():
        rows = [row for row in measured.get(name, NOTHING)["results"] if not row["peer"].startswith("bound")]
        for beginning, job in expected.items():
            fits = ((re.match(beginning, row["name"]), row) for row in rows)
            named = {job.format(*fit.groups()): row for fit, row in reversed([*fits]) if fit}
            found += [row | {"job": label} for label, row in named.items()]
    return sorted(map(_times_as_fast, found), key=lambda row: -row["ratio"])


def _times_as_fast(row: dict[str, Any]) -> dict[str, Any]:
    """The comparison with the peer's seconds over ours, where its goal is said of ours over the peer's."""
    if row["bound"] == "at least":
        return row
    turned = {"ratio": 1 / row["ratio"], "ratios": [1 / ratio for ratio in row["ratios"]], "bound": "at least"}
    return row | turned | {"goal": row["goal"] and 1 / row["goal"]}


def _opening(measured: Measured) -> str:
    goals = [row["met"] for section in measured.values() for row in section["results"] if row["met"] is not None]
    said, rows = f"{sum(goals)} of {len(goals)} goals are met.", jobs(measured)
    if not rows:
        return f"# Performance\n\n**{said}**\n"
    ahead, times = sum(row["ratio"] > 1 for row in rows), median(row["ratio"] for row in rows)
    return (
        f"# Performance\n\n**Of {len(rows)} jobs {ahead} take less time here than with the library that would else do "
        f"them.**\n\nThe median job is {times:.2g} times as fast. {said}\n\n"
        f"![How many times as fast each job is done here; a line is a goal.]({FIGURE})\n"
    )


def _jobs(measured: Measured) -> str:
    lines = [_line(row | {"name": row["job"]}) for row in jobs(measured)]
    if any(BUSY in line for line in lines):
        lines += ["", f"{BUSY.strip()} Something else used the processors meanwhile."]
    return "\n".join([*_HEADER, *lines, ""]) if lines else ""


_HEADER = ["| what | against | ours | peer | ratio | goal | met |", "|---|---|--:|--:|--:|--:|:-:|"]


def _line(row: dict[str, Any]) -> str:
    """A comparison's row of a table."""
    unit = row["unit"]
    ours, peer = (_amount(row[f"{side}_{unit}"], unit) for side in ("ours", "peer"))
    cells = [row["name"], row["peer"], ours, peer, _ratio(row), _goal(row), MET[row["met"]]]
    return f"| {' | '.join(cells)} |"


def _ratio(row: dict[str, Any]) -> str:
    if isnan(row["ratio"]):
        return "–"
    spread = f" ({min(row['ratios']):.2f}–{max(row['ratios']):.2f})" if len(row["ratios"]) > 1 else ""
    return f"**{row['ratio']:.2f}**{spread}{BUSY if row.get('contended') else ''}"


def _goal(row: dict[str, Any]) -> str:
    return "–" if row["goal"] is None else f"{'≥' if row['bound'] == 'at least' else '≤'} {row['goal']:g}"


def _amount(values: list[float], unit: str) -> str:
    if not values:
        return "–"
    if len(values) > 1 and unit == "MB":
        return " → ".join(f"{value:.0f}" for value in (values[0], values[-1])) + " MB"
    middle = median(values)
    return f"{middle * 1e3:.1f} ms" if unit == "s" and middle < 1 else f"{middle:.4g} {unit}"


def _slower(measured: Measured) -> str:
    """What the last release did faster, by more than the noise of both."""
    known = {name: section for name, section in measured.items() if section.get("release")}
    if not known:
        return "## Slower than before\n\nNot known: no release has numbers of this page.\n"
    release = next(iter(known.values()))["release"]
    lines = [f"- {row}" for section in known.values() for row in section["slower"]]
    return "\n".join([f"## Slower than in {release}\n", *(lines or ["Nothing, by more than the noise."]), ""])


def slower(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[str]:
    """The comparisons whose ratios are all on the worse side of all ratios that the same ones had before."""
    old, found = {row["name"]: row for row in before}, []
    for row in now:
        then = old.get(row["name"])
        if then is None or min(len(row["ratios"]), len(then["ratios"])) < 2:
            continue
        up = row["bound"] == "at least"
        if max(row["ratios"]) < min(then["ratios"]) if up else min(row["ratios"]) > max(then["ratios"]):
            found.append(f"{row['name']}: {row['ratio']:.2f}, and {then['ratio']:.2f} before")
    return found


def _maps(measured: Measured) -> str:
    """Of each map its largest and smallest ratio to its bound and to its peers."""
    rows = [row for row in measured.get("maps", NOTHING)["results"] if row["met"] is not None and "map" in row]
    rows = [row for row in rows if "parts" not in row]
    if not rows:
        return ""
    lines = ["## Every map\n", "The bound is the part of a map's work that no code can leave out, done by itself.\n",
             "| map | times its bound | faster than peers |", "|---|--:|---|"]  # fmt: skip
    for name in dict.fromkeys(row["map"] for row in rows):
        mine = [row for row in rows if row["map"] == name]
        bound = [row["ratio"] for row in mine if row["bound"] == "at most"]
        against: dict[str, list[float]] = {}
        for row in mine:
            if row["bound"] == "at least":
                against.setdefault(row["peer"], []).append(row["ratio"])
        peers = ", ".join(f"{peer} {_range(ratios)}" for peer, ratios in against.items())
        lines.append(f"| `{name}` | {_range(bound) if bound else '–'} | {peers or '–'} |")
    return "\n".join([*lines, ""])


def _range(values: list[float]) -> str:
    low, high = (f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _missed(measured: Measured) -> str:
    """The goals that were missed: of maps those with the same reason in one row."""
    lines: list[str] = []
    for name, section in measured.items():
        reasons: dict[str, str] = getattr(import_module(f"benchmarks.bench_{name}"), "MISSES", {})
        missed = [row for row in section["results"] if row["met"] is False]
        alike: dict[str, list[dict[str, Any]]] = {}
        explained = [row for row in missed if row.get("map") in reasons and "parts" not in row]
        for row in explained:
            alike.setdefault(reasons[row["map"]], []).append(row)
        for reason, rows in alike.items():
            maps = {row["map"]: [each["ratio"] for each in rows if each["map"] == row["map"]] for row in rows}
            ratios = ", ".join(f"`{each}` {_range(found)}" for each, found in maps.items())
            parts = [row for row in section["results"] if row.get("parts") and row["map"] in maps]
            whole = ""
            if parts:
                ratios_of_parts = _range([row["ratio"] for row in parts])
                whole = f" Of these parts, each done by itself, they take {ratios_of_parts} times the sum."
            if traffic := [100 * row["traffic"] for row in parts if "traffic" in row]:
                whole += f" Moving X and Z at the speed of a STREAM triad would take {_range(traffic)} % of the time."
            lines.append(f"| {ratios} | {', '.join(dict.fromkeys(map(_goal, rows)))} | {reason}{whole} |")
        others = [row for row in missed if row not in explained]
        lines += [f"| {row['name']}: {row['ratio']:.2f} | {_goal(row)} | |" for row in others]
    head = ["## Goals that are missed\n", "| ratio | goal | why |", "|---|---|---|"]
    return "\n".join([*head, *lines, ""]) if lines else ""


def _rest(measured: Measured) -> str:
    lines = ["## All comparisons\n", "The numbers of every repeat are in [a file](performance.json).\n",
             "| section | comparisons | goals | met | seconds it took |", "|---|--:|--:|--:|--:|"]  # fmt: skip
    for name, section in measured.items():
        met = [row["met"] for row in section["results"] if row["met"] is not None]
        seconds = f"{section['seconds']:.0f}" if "seconds" in section else "–"
        lines.append(f"| {TITLES[name]} | {len(section['results'])} | {len(met)} | {sum(met)} | {seconds} |")
    return "\n".join([*lines, ""])


def _machines(measured: Measured) -> str:
    """What was measured, and in how many minutes; of several runs those of each commit."""
    runs: dict[str, list[str]] = {}
    for name, section in measured.items():
        record = section["environment"]
        about = [record["cpu"], record["time"][:10], f"commit {(record.get('git_commit') or 'unknown')[:7]}"]
        runs.setdefault(", ".join(about), []).append(TITLES[name].lower())
    if len(runs) == 1:
        minutes = sum(section.get("seconds", 0.0) for section in measured.values()) / 60
        return f"`make bench` took {minutes:.0f} minutes. {machine(next(iter(measured.values()))['environment'])}\n"
    lines = [f"- {run}: {', '.join(names)}" for run, names in runs.items()]
    return "\n".join([f"Not measured in one run, but in {len(runs)}:\n", *lines, ""])


def machine(record: dict[str, Any]) -> str:
    """The environment in a sentence, without the minute."""
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
        record["time"][:10],
        f"commit {record['git_commit'][:7]}" if record.get("git_commit") else "",
    ]
    return "; ".join(part for part in parts if part) + "."


def figure(measured: Measured, path: Path) -> None:
    """A bar for each job: how many times as fast it is done here, on a logarithmic axis, with its goal as a line."""
    rows = jobs(measured)[::-1]
    if not rows:
        return
    drawn, axes = plt.subplots(figsize=(9, 0.8 + 0.3 * len(rows)), layout="constrained")
    ratios = [row["ratio"] for row in rows]
    axes.barh(range(len(rows)), [ratio - 1 for ratio in ratios], left=1, color="#4477aa")
    for place, row in enumerate(rows):
        if row["goal"] is not None:
            axes.plot([row["goal"]] * 2, [place - 0.45, place + 0.45], color="#ee6677", linewidth=2)
        axes.annotate(f" {row['ratio']:.2g}", (max(row["ratio"], 1), place), va="center", fontsize=8)
    axes.set(xscale="log", yticks=range(len(rows)), yticklabels=[row["job"] for row in rows])
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("times as fast as the peer (red line: the goal)")
    axes.tick_params(axis="y", labelsize=8)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.margins(x=0.1, y=0.01)
    drawn.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(drawn)
