"""Tables and figures of the lecture notes' experiments, from results/: python -m studies.papers.lectures"""

from rffbench.figures import SCREEN, drawn_in, saved
from studies.evidence import results
from studies.papers.lectures.bounds_figure import bound_figures
from studies.papers.lectures.crossover import write_crossover
from studies.papers.lectures.crossover_figure import dimension_figure
from studies.papers.lectures.error_slopes import write_slopes


def write() -> None:
    """Write slopes.csv and the figures with bounds, ``<dataset>-<protocol>-bounds.png``, into the folder of
    error-bounds; crossover.csv and dimension.png into that of fake-gaussian."""
    measured, synthetic = results("error-bounds"), results("fake-gaussian")
    write_slopes(measured)
    write_crossover(synthetic)
    with drawn_in(SCREEN):
        for dataset, labels, figure in bound_figures(measured):
            saved(figure, measured.folder, "-".join([dataset, *labels.values(), "bounds"]))
        for labels, each in synthetic.protocols:
            if (figure := dimension_figure(each)) is not None:
                saved(figure, synthetic.folder, "-".join([*labels.values(), "dimension"]))


if __name__ == "__main__":
    write()
