"""A study of one's own, as an example: python -m studies.example [RESULTS]

The question: is QMC with 64 columns as accurate as random Fourier features with 128, to within a point? The two configs
are run, or carried on with, in RESULTS (default: results), where the page is written, too: half-the-columns.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pandas as pd

import rffbench
from rffbench import figures
from rffbench.stats import Estimate, Range

HERE = Path(__file__).parent
WITHIN = 1.0  # points of accuracy


def study(folder: Path) -> Path:
    """Run both configs, and write the page; its path."""
    many, half = (_accuracies(rffbench.run(HERE / f"{name}.yaml", results=folder)) for name in ("many", "half"))
    found = {name: _judged(half[name] - many[name]) for name in many}
    panel = _panel({name: (half[name] - many[name]).tolist() for name in many}, found)
    with figures.drawn_in(figures.SCREEN):
        drawn = figures.strips_figure([panel], "A dot for each trial; diamond and bar: the mean and its 95 % interval")
        figures.saved(drawn, folder, "half-the-columns")
    verdicts = {name: verdict for name, (_, verdict) in found.items()}
    text = jinja2.Template((HERE / "page.md.jinja").read_text(encoding="utf-8"), trim_blocks=True).render(
        verdicts=sorted(set(verdicts.values())), table=_table(found), within=f"{WITHIN:g} point",
        named=lambda verdict: ", ".join(name for name, each in verdicts.items() if each == verdict),
    )  # fmt: skip
    path = folder / "half-the-columns.md"
    path.write_text(text, encoding="utf-8")
    return path


def _accuracies(results: rffbench.Results) -> dict[str, pd.Series]:
    """By dataset, the accuracy of each trial, in %."""
    return {str(name): of.set_index("trial")["accuracy"] for name, of in results.trials.groupby("dataset")}


def _judged(differences: pd.Series) -> tuple[Estimate, str]:
    """The mean difference over trials, which have the same splits, and whether it is within the region."""
    estimate = Estimate.of(differences)
    return estimate, estimate.judge(Range(-WITHIN, WITHIN)).verdict


def _table(found: dict[str, tuple[Estimate, str]]) -> rffbench.Table:
    table = rffbench.Table("QMC with 64 columns less RFF with 128: points of accuracy",
                           ["dataset", "difference", "95 %", f"within {WITHIN:g}"], stub=1)  # fmt: skip
    for name, (estimate, verdict) in found.items():
        low, high = estimate.interval()
        table.rows.append([name, f"{estimate.mean:+.2f}", f"{low:+.2f} to {high:+.2f}", verdict])
    return table


def _panel(differences: dict[str, list[float]], found: dict[str, tuple[Estimate, str]]) -> figures.Strips:
    strips = [
        figures.Strip(name, tuple(differences[name]), estimate.mean, *estimate.interval())
        for name, (estimate, _) in found.items()
    ]
    return figures.Strips("QMC with half the columns", tuple(strips), "points of accuracy", (-WITHIN, WITHIN))


if __name__ == "__main__":
    print(study(Path(*sys.argv[1:] or ["results"])))
