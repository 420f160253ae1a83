"""What docs/board/small.md says, and a sentence of docs/board/results.md, which studies/board writes."""

import functools

from rffbench.config.dryrun import run_seconds
from rffbench.config.loading import load_experiment
from rffbench.stats.gain import BASELINE
from studies.board import tables
from studies.board.registered import COLUMNS
from studies.board.standing import Board, load_board
from tests.helpers.budgets import RATE
from tests.helpers.findings import ROOT, finding

PAGE_OF_BOARD, SMALL = "docs/board/results.md", "docs/board/small.md"


@functools.cache
def board() -> Board:
    return load_board(ROOT / "results")


@finding(PAGE_OF_BOARD)
def first_lines_name_the_advised_landmarks_and_rff() -> str:
    rows = tables.first_lines(board()).rows
    named = [row[2] for row in rows]
    assert named == [*["Nyström RPCholesky"] * 4, BASELINE]
    assert [row[-1] for row in rows] == ["none", "none", "none", "w8a -4.1", "–"]
    return "Other landmarks have the largest median by classes: Nyström k-means in 3, Nyström in 1."


@finding(SMALL)
def the_small_board_takes_minutes() -> str:
    """By the dry run, at the speed for which the budgets are given; and by the seconds that the same maps took on the same datasets and sizes, with two trials, on the
    whole board."""
    small = load_experiment("board-small")
    specs = small.grid()
    assert {spec.trial for spec in specs} == {0, 1}
    estimate = run_seconds(specs, 2, rate=lambda: RATE)
    trials = board().scores.trials
    maps = [name for name, each in small.methods.items() if each.features != "none"]
    same = trials[
        trials["method"].isin(maps) & trials["dataset"].isin(small.datasets) & (trials["trial"] < 2)
        & trials["n_features"].isin({spec.n_features for spec in specs} - {1})
    ]  # fmt: skip
    seconds = same[["bandwidth_s", "feature_s", "fit_s", "predict_s"]].sum(axis=1)
    bandwidth_once = seconds - same["bandwidth_s"].where(same["n_features"] != COLUMNS, 0)
    assert set(maps) - set(same["method"]) == {"simplex"}
    assert len(same) == 9 * 2 * 2 * 6
    measured = bandwidth_once.sum() / 2
    assert measured < 300
    assert 110 < estimate < 125
    return (
        "The dry run estimates about two minutes with two workers. On the whole board, the same maps but for simplex took "
        f"{measured:.0f} s with two workers for as many trials on these datasets, while other work ran."
    )
