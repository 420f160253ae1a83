"""Tables and figures of Liu et al. 2020's λ and theory, from results/: python -m studies.papers.liu2020"""

from rffbench.figures import SCREEN, drawn_in, saved
from studies.evidence import results
from studies.papers.liu2020.lambda_scales import write_lambda_scales
from studies.papers.liu2020.leverage_figure import leverage_figures
from studies.papers.liu2020.leverage_theory import write_leverage


def write() -> None:
    """Write lambda-scales.csv and lambda-scales.md into the folder of effective-dimension; leverage.csv, leverage.md
    and the figures ``<dataset>-leverage.png`` into that of leverage-theory."""
    write_lambda_scales(results("effective-dimension"))
    measured = results("leverage-theory")
    write_leverage(measured)
    with drawn_in(SCREEN):
        for dataset, figure in leverage_figures(measured):
            saved(figure, measured.folder, f"{dataset}-leverage")


if __name__ == "__main__":
    write()
