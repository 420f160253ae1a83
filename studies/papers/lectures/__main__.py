"""Tables and figures of the lecture notes' experiments, from results/: python -m studies.papers.lectures"""

from pathlib import Path

import rffbench
from rffbench.figures import SCREEN, drawn_in, saved
from studies.papers import RESULTS
from studies.papers.lectures.bounds_figure import bound_figures
from studies.papers.lectures.crossover import write_crossover
from studies.papers.lectures.crossover_figure import dimension_figure
from studies.papers.lectures.error_slopes import write_slopes


def write(bounds: Path = RESULTS / "error-bounds", dimensions: Path = RESULTS / "fake-gaussian") -> None:
    """Write slopes.csv and the figures with bounds, ``<dataset>-<protocol>-bounds.png``, into ``bounds``; crossover.csv
    and dimension.png into ``dimensions``."""
    measured, synthetic = rffbench.load(bounds), rffbench.load(dimensions)
    write_slopes(measured)
    write_crossover(synthetic)
    with drawn_in(SCREEN):
        for dataset, labels, figure in bound_figures(measured):
            saved(figure, bounds, "-".join([dataset, *labels.values(), "bounds"]))
        for labels, results in synthetic.protocols:
            if (figure := dimension_figure(results)) is not None:
                saved(figure, dimensions, "-".join([*labels.values(), "dimension"]))


if __name__ == "__main__":
    write()
