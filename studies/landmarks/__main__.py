"""The figure of docs/landmarks.md: python -m studies.landmarks [--freeze]

With --freeze the units of the gains are measured first, from the rows of the datasets, into
results/studies/landmarks/references.csv. `python -m studies.pages` writes the page.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

import rffbench
from rffbench import Results, train_test
from rffbench.figures import (
    SCREEN,
    aside,
    drawn_in,
    headline,
    legend_below,
    panels,
    saved,
    style_of,
    tidy_panel,
)
from rffbench.stats import Reference, constant_loss, loss_name, losses, reference_of
from studies.landmarks import facts
from studies.landmarks.facts import Measured


def freeze(results: Results) -> dict[str, Reference]:
    """The unit of each dataset's gains: what uniform landmarks gain over the best constant, at the largest number."""
    found, seed = losses(results.trials), int(results.config["seed"])
    best = found[(found["method"] == facts.UNIFORM) & (found["n_features"] == facts.MOST) & ~found["failed"]]
    frozen = {}
    for name, trials in best.groupby("dataset", sort=False):
        constants = []
        for trial in trials["trial"]:
            split = train_test(str(name), seed=seed, trial=int(trial))
            constants.append(constant_loss(split.y_train, split.y_test, loss_name(str(name))))
        frozen[str(name)] = reference_of(str(name), constants, trials["loss"].tolist())
    return frozen


def draw(measured: Measured) -> None:
    """results/studies/landmarks/figures/rules.png: kernel error and gain against the number of landmarks."""
    with drawn_in(SCREEN):
        figure, (left, right) = panels(2, 3.4, 2.6, above=0.5)
        handles = {}
        for index, rule in enumerate(measured.rules, start=1):
            style = style_of(index)
            gained = [(size, *facts.gain(rule, size)) for size in measured.sizes]
            ratios = [(size, *each) for size in measured.sizes if (each := facts.kernel_ratio(measured, size, rule))]
            for panel, rows in ((left, ratios), (right, gained)):
                at, middle, low, high = np.array(rows).T
                place = aside(at, index - 1, len(measured.rules))
                bars = np.maximum([middle - low, high - middle], 0)
                handles[rule] = panel.errorbar(place, middle, yerr=bars, capsize=1.8, elinewidth=0.8, **style)
        left.set_yscale("log")
        left.axhline(1, color="#000000", linewidth=0.8)
        right.axhline(0, color="#000000", linewidth=0.8)
        left.set_title("(a) kernel error over that of uniform landmarks")
        right.set_title("(b) gain in test error over uniform landmarks, %")
        for panel in (left, right):
            panel.set_xscale("log")
            panel.set_xticks(measured.sizes, [f"{size:,}" for size in measured.sizes])
            panel.minorticks_off()
            panel.set_xlabel("landmarks")
            tidy_panel(panel)
        legend_below(figure, handles)
        count = measured.losses["dataset"].nunique()
        headline(
            figure, "Chosen landmarks against as many uniform ones", f"medians over {count} datasets, 95 % intervals"
        )
        saved(figure, facts.FOLDER, "rules")


def main() -> None:
    if "--freeze" in sys.argv[1:]:
        rows = [vars(each) for each in freeze(rffbench.load(facts.FOLDER)).values()]
        pd.DataFrame(rows).to_csv(facts.FOLDER / "references.csv", index=False, lineterminator="\n")
    draw(facts.measured())


if __name__ == "__main__":
    main()
