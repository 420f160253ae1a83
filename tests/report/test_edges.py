"""Cells whose tuned value lies on the edge of its grid are marked where the score moves there, or may."""

import numpy as np
import pytest

from rffbench.report import edges
from rffbench.report.compare import compare
from rffbench.report.frame import load_results
from rffbench.report.table import make_table
from rffbench.report.writeup import summary_line, to_markdown
from rffbench.trials.edges import edge_of, gain_at_edge
from tests.helpers.report_log import SOLVER, config, ok, spec, write

GRID = [0.001, 0.01, 0.1, 1.0]


def row(score, chosen, trial, *, gain=None, method="RFF", grid=GRID, **changes):
    found = ok(spec(method=method, trial=trial, solver={**SOLVER, "lambda": grid}, **changes), score)
    found["lambda"] = chosen
    if gain is not None:
        found["edges"] = {"lambda": {"gain": gain, "standard_error": 0.001}}
    return found


def loaded(tmp_path, rows, grid=GRID, **changes):
    trials = 1 + max(each["trial"] for each in rows)
    return load_results(
        write(tmp_path / "run", config(solver={**SOLVER, "lambda": grid}, trials=trials, **changes), rows)
    )


def cell(chosen, gains):
    return [row(80.0, value, trial, gain=gain) for trial, (value, gain) in enumerate(zip(chosen, gains, strict=True))]


@pytest.mark.parametrize(("chosen", "gains", "mark"), [
    ([0.001, 0.001, 0.01], [0.02, 0.022, None], "[edge]"),
    ([0.001, 0.001, 0.01], [0.02, -0.03, None], None),  # by less than its standard error
    ([0.001, 0.001, 0.01], [0.03, -0.02, None], None),
    ([0.001, 0.001, 0.01], [-0.02, -0.022, None], "[edge]"),
    ([0.001, 0.001, 0.01], [0.0, 0.0, None], None),
    ([0.001, 0.001, 0.01], [None, None, None], "[edge?]"),
    ([1.0, 1.0, 1.0], [0.01, 0.012, 0.011], "[edge]"),  # the other end
    ([0.01, 0.1, 0.01], [None, None, None], None),
    ([0.001, 0.01, 0.1, 0.1, 0.01], [0.02, None, None, None, None], None),  # a fifth of the trials, and no more
    ([0.001, 0.01, 0.1, 0.1], [0.02, None, None, None], "[edge]"),  # of one trial, the error over its folds
])  # fmt: skip
def test_a_cell_is_marked_where_more_than_a_fifth_of_its_trials_are_at_an_edge_and_the_score_moves(
    tmp_path, chosen, gains, mark
):
    results = loaded(tmp_path, cell(chosen, gains))
    assert edges.marks(results) == ({("eeg", 14, "RFF"): mark} if mark else {})
    table = make_table(results)
    assert ("[edge" in table.records()[0]["RFF"]) == (mark is not None)
    assert any("[edge" in note for note in table.notes) == (mark is not None)
    if mark:
        assert table.records()[0]["RFF"].endswith(mark)
        note = next(note for note in table.notes if note.startswith(mark))
        assert note.endswith(f"λ = {chosen[0]:g} for RFF on eeg.")


def test_lambda_0_is_no_edge(tmp_path):
    rows = [row(80.0, 0.0, trial, grid=[0.0, *GRID]) for trial in range(3)]
    assert edges.marks(loaded(tmp_path, rows, [0.0, *GRID])) == {}
    assert edge_of([0.0, 1.0], 0.0) is None
    assert (edge_of([0.5, 1.0], 0.5), edge_of([0.0, 1.0], 1.0), edge_of([1.0], 1.0)) == ("smallest", "largest", None)


def test_of_a_path_the_scores_of_the_test_rows_say_whether_they_move(tmp_path):
    rows = [row(80.0 + trial / 10, 0.001, trial) for trial in range(3)]
    for moves, end in ((True, 80.0), (False, 79.0)):
        for trial, each in enumerate(rows):
            each["curves"] = {"lambda": GRID, "accuracy": [end + trial / 10, 79.0 + trial / 10, 78.0, 70.0]}
        results = loaded(tmp_path / str(moves), rows)
        assert bool(edges.marks(results)) == moves
        assert [edge.moves for edge in edges.all_edges(results)] == [moves]


def test_a_bandwidth_at_the_edge_is_told_of_too(tmp_path):
    kernel = {"name": "gaussian", "gamma": [0.1, 1.0, 10.0]}
    rows = [row(80.0, 0.01, trial, kernel=kernel) for trial in range(3)]
    for each in rows:
        each["metrics"]["gamma"] = 10.0
        each["edges"] = {"gamma": {"gain": 0.02 + each["trial"] / 1000, "standard_error": 0.1}}
    (edge,) = edges.edges(loaded(tmp_path, rows, kernel=kernel))
    assert (edge.tuned, edge.end, edge.at, edge.moves) == ("γ", "largest", 10.0, True)
    assert edges.listed([edge])[0].startswith("σ = 0.2236 (γ = 10) for RFF on ")  # 1/(2σ²) = γ


def test_a_grid_that_the_paper_prescribes_has_one_note_and_no_marks(tmp_path):
    stated = [0.05, 0.1, 0.5, 1.0]
    rows = [row(80.0, 0.05, trial, grid=stated, gain=0.02 + trial / 1000) for trial in range(3)]
    results = loaded(tmp_path, rows, stated, reference="liu2020-table3")
    table = make_table(results)
    assert "[edge" not in table.to_text()
    assert [note for note in table.notes if "grid" in note] == [
        "λ is chosen from the grid that the paper prescribes, 0.05 to 1. It is an end of that grid in 1 cell."
    ]


def test_a_claim_that_holds_on_such_cells_says_so(tmp_path):
    rows = [
        row(score + trial / 10, 0.001, trial, gain=0.02 + trial / 1000, method=method, multiple=16)
        for method, score in (("RFF", 80.0), ("surrogate-RFF", 90.0), ("QMC", 80.0), ("leverage-RFF", 80.0))
        for trial in range(3)
    ]
    comparison = compare(loaded(tmp_path, rows, n_features=["16d"], reference="liu2020-table3"))
    found = [each for each in comparison.findings if each.verdict == "holds" and each.metric == "accuracy"]
    assert found
    for each in found:
        assert each.at_edge
        assert each.evidence.startswith("on the edge of the grid, where the score still moves: λ = 0.001 for ")
    assert f" {len(found)} of those that hold rest on a value at the edge of its grid." in summary_line(comparison)
    assert "[edge]" in to_markdown(comparison)
    times = [each for each in comparison.findings if each.metric == "feature_s"]
    assert not any(each.at_edge for each in times)


def test_the_gain_is_the_mean_over_folds_of_the_neighbour_s_error_less_the_edge_s():
    errors = np.array([[0.3, 0.5], [0.1, 0.2], [0.2, 0.2]])
    found = gain_at_edge([1.0, 0.01, 0.1], errors, 0.01)
    assert found["gain"] == pytest.approx(0.05)
    assert found["standard_error"] == pytest.approx(0.05)
    assert gain_at_edge([1.0, 0.01, 0.1], errors, 0.1) is None
    errors[2] = np.inf
    assert gain_at_edge([1.0, 0.01, 0.1], errors, 0.01) is None
