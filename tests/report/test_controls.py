"""Promises of the negative controls: how many cells would come out with other methods' columns."""

import pandas as pd

from rffbench.report.controls import controls, in_words


def cells(rows, **more):
    columns = ["dataset", "size", "multiple", "method", "measured", "reported"]
    table = pd.DataFrame(rows, columns=columns).assign(tolerance=1.0, percent=False)
    return table.assign(difference=table["measured"] - table["reported"], **more)


TABLE = cells(
    [
        ("eeg", "1d", 1, "RFF", 70.0, 70.5),
        ("eeg", "1d", 1, "QMC", 71.2, 71.0),
        ("eeg", "1d", 1, "Ours", 80.0, 80.0),
        ("eeg", "2d", 2, "RFF", 75.0, 75.0),
        ("eeg", "2d", 2, "QMC", 75.5, 75.5),
        ("eeg", "2d", 2, "Ours", 90.0, 75.0),
    ]
)


def test_a_control_counts_the_cells_that_other_methods_numbers_would_bring_within_the_tolerance():
    found = {(control.kind, control.methods): (control.within, control.count) for control in controls(TABLE)}
    assert found["in every column", "RFF"] == (5, 6)  # 70 is within a point of 71, 75 of all three
    assert found["in every column", "Ours"] == (1, 6)
    assert found["exchanged", "RFF and QMC"] == (5, 6)  # 71.2 is within a point of 70.5, 70 of 71
    assert found["exchanged", "RFF and Ours"] == (3, 6)


def test_a_cell_counts_only_where_the_other_method_was_measured():
    found = {(control.kind, control.methods): (control.within, control.count) for control in controls(TABLE[:-1])}
    assert found["in every column", "Ours"] == (1, 3)  # it has no number at 2d
    assert found["in every column", "RFF"] == (4, 5)


def test_the_highest_count_of_a_kind_is_named_first():
    text = in_words(controls(TABLE))
    assert text.startswith("The same for other methods' columns: in every column: RFF (5 of 6), QMC (")
    assert "; exchanged: RFF and QMC (5 of 6), " in text


def test_of_many_controls_the_sentence_has_the_two_extremes_and_a_few_pairs():
    rows = [("eeg", "1d", 1, f"map {number}", 70.0 + number / 4, 70.0) for number in range(12)]
    text = in_words(controls(cells(rows)))
    assert "in every column: from map 0 (12 of 12) to map 11 (0 of 12), of 12; exchanged: from " in text
    assert text.endswith(" and map 7 and 2 more pairs (5 of 12).")
    assert len(text) < 400


def test_where_the_tolerance_is_in_percent_it_is_of_the_reported_number():
    rows = [("cpu", "", float("nan"), "RF", 0.100, 0.100), ("cpu", "", float("nan"), "Kernel", 0.102, 0.103)]
    found = controls(cells(rows).assign(tolerance=4.0, percent=True))
    assert [(control.methods, control.within) for control in found[:2]] == [("RF", 2), ("Kernel", 2)]
    found = controls(cells(rows).assign(tolerance=2.5, percent=True))
    assert [(control.methods, control.within) for control in found[:2]] == [("Kernel", 2), ("RF", 1)]


def test_a_single_method_has_no_controls():
    assert controls(TABLE[TABLE["method"] == "RFF"]) == []
