"""docs/maps.md: what maps that see the targets gain. Its formulas and errors are held by tests/features/."""

import json
import lzma

import pandas as pd

from rffbench.stats.intervals import mean_interval
from tests.helpers.findings import ROOT, finding, protocols, signed

NAME, PAGE_OF_MAPS = "learnt-frequencies", "docs/maps.md"
DATASETS = ("magic04", "eeg", "spambase", "phoneme")


def _gains(method: str, sigma: str) -> list[tuple[float, float, float]]:
    """The method less RFF on each dataset, in points, with its 95 % interval."""
    rows = next(each for labels, each in protocols(NAME) if labels["σ"] == sigma).trials
    found = []
    for dataset in DATASETS:
        table = rows[rows["dataset"] == dataset].pivot(index="trial", columns="method", values="accuracy")
        differences = table[method] - table["RFF"]
        found.append((float(differences.mean()), *mean_interval(differences)))
    return found


def _said(method: str) -> str:
    one = [f"{signed(mean)} ({signed(low)} to {signed(high)})" for mean, low, high in _gains(method, "1")]
    assert all(low < 0 < high for _, low, high in _gains(method, "median"))
    return (
        f"{one[0]} points on magic04, {one[1]} on EEG, {one[2]} on spambase and {one[3]} on phoneme at σ = 1, "
        "and at the median distance no interval excludes 0"
    )


@finding(PAGE_OF_MAPS)
def energy_based_features() -> str:
    return f"its accuracy less that of random Fourier features is {_said('EERF')}"


@finding(PAGE_OF_MAPS)
def kernel_alignment_features() -> str:
    return f"it has {_said('kernel-alignment')}"


def _left_out(results: str, method: str, baseline: str, datasets: tuple[str, ...]) -> list[str]:
    """The method less the baseline on each dataset, in points, with the standard error over paired trials."""
    rows = protocols(results)[0][1].trials
    found = []
    for dataset in datasets:
        table = rows[rows["dataset"] == dataset].pivot(index="trial", columns="method", values="accuracy")
        differences = table[method] - table[baseline]
        assert len(differences.dropna()) == 5
        found.append(f"{signed(differences.mean())} ± {differences.sem():.2f}")
    return found


@finding(PAGE_OF_MAPS)
def modified_leverage() -> str:
    datasets = ("phoneme", "magic04", "eeg", "spambase")
    ten, three = (_left_out("left-out-gaussian", f"box of {width}", "RFF", datasets) for width in (10, 3))
    return (
        f"beside random Fourier features: {ten[0]} on phoneme (5 inputs), {ten[1]} on magic04 (10), {ten[2]} on EEG (14), "
        f"{ten[3]} on spambase (57). With three standard deviations: {', '.join(three)}."
    )


@finding(PAGE_OF_MAPS)
def mondrian() -> str:
    datasets = ("letter", "magic04", "phoneme", "eeg")
    gains = _left_out("left-out-laplacian", "Mondrian", "random binning", datasets)
    with lzma.open(ROOT / "results/left-out-laplacian/trials.jsonl.xz", "rt", encoding="utf-8") as lines:
        rows = pd.DataFrame([json.loads(line) for line in lines])
    columns = rows.groupby(["method", "dataset"])["columns"].mean()
    ratios = columns["Mondrian"] / columns["random binning"]
    return (
        f"beside random binning: {gains[0]} on letter (16 inputs), {gains[1]} on magic04 (10), {gains[2]} on phoneme (5), "
        f"{gains[3]} on EEG (14). With equally many numbers in a row, the trees have {ratios.min():.1f} to "
        f"{ratios.max():.1f} times as many columns."
    )
