"""What README.md and docs/choose-a-map.md say of the board; docs/board/results.md is written from results/ by
scripts/board_page.py."""

import functools

from rffbench.report.board.registered import COLUMNS
from rffbench.report.board.standing import load_board
from rffbench.report.board.summary import Summary
from tests.helpers.findings import ROOT, finding

PAGES = ("README.md", "docs/choose-a-map.md")
SAME = ("SORF", "orthogonal", "QMC", "quadrature")


@functools.cache
def at_512_columns() -> dict[str, Summary]:
    board = load_board(ROOT / "results")
    found = {each.method: each for each in board.at_each_size[COLUMNS]}
    assert all(found[name].datasets == 28 for name in found)
    assert not any(board.withheld(name, COLUMNS) for name in (*SAME, "Nyström", "Nyström RPCholesky"))
    return found


def percent(value: float) -> str:
    return f"{100 * abs(value):.1f}"


@finding(*PAGES)
def fourier_maps_are_the_same_at_512_columns() -> str:
    found = at_512_columns()
    assert {found[name].posterior.verdict for name in SAME} == {"same"}
    return (
        "At 512 columns on 28 datasets, SORF, orthogonal, QMC and quadrature features are as good as random Fourier "
        "features: the median difference is below 1 % of the gap between a constant and random Fourier features with 4,096 columns."
    )


@finding(*PAGES)
def nystroem_is_better_at_512_columns() -> str:
    chosen, uniform = (at_512_columns()[name] for name in ("Nyström RPCholesky", "Nyström"))
    assert chosen.posterior.verdict == uniform.posterior.verdict == "better"
    return (
        f"Nyström features with RPCholesky landmarks gain {percent(chosen.median)} % ({percent(chosen.low)} to "
        f"{percent(chosen.high)}) at equal columns. Exploratory: uniform landmarks gain {percent(uniform.median)} % "
        f"({percent(uniform.low)} to {percent(uniform.high)})."
    )


@finding(*PAGES)
def drawing_by_scores_is_worse_at_512_columns() -> str:
    leverage, surrogate = (at_512_columns()[name] for name in ("leverage", "surrogate"))
    assert leverage.posterior.verdict == surrogate.posterior.verdict == "worse"
    return (
        f"Exploratory: frequencies drawn by leverage scores lose {percent(leverage.median)} %, by surrogate scores "
        f"{percent(surrogate.median)} %."
    )
