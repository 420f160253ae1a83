"""Where the repository is, and the results in it."""

from pathlib import Path

from rffbench.execution.places import folder_of

ROOT = Path(__file__).resolve().parents[2]


def results_of(experiment: str) -> Path:
    """The folder of what is shipped of an experiment."""
    return folder_of(ROOT / "results", experiment)
