"""docs/maps.md: what maps that see the targets gain. Its formulas and errors are held by tests/features/."""

from rffbench.report.significance import mean_interval
from tests.helpers.findings import finding, protocols, signed

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


def _left_out(method: str) -> list[str]:
    """The method less RFF on each dataset, in points, with the standard error over paired trials."""
    rows = protocols("left-out-gaussian")[0][1].trials
    found = []
    for dataset in ("phoneme", "magic04", "eeg", "spambase"):
        table = rows[rows["dataset"] == dataset].pivot(index="trial", columns="method", values="accuracy")
        differences = table[method] - table["RFF"]
        found.append(f"{signed(differences.mean())} ± {differences.sem():.2f}")
    return found


@finding(PAGE_OF_MAPS)
def modified_leverage() -> str:
    ten, three = _left_out("box of 10"), _left_out("box of 3")
    return (
        f"beside random Fourier features: {ten[0]} on phoneme (5 inputs), {ten[1]} on magic04 (10), {ten[2]} on EEG (14), "
        f"{ten[3]} on spambase (57). With three standard deviations: {', '.join(three)}."
    )
