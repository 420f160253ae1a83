"""How many columns are enough: on made-up curves whose answer is known, and on the board's rows."""

import numpy as np
import pandas as pd
import pytest

from rffbench.stats import columns_needed
from rffbench.stats.columns import FALLING, calibrations, enough, limit, why_not
from studies.board import columns as calibrate_columns
from studies.board import confirm_columns
from studies.board.columns import quantiles

SIZES = np.array([128.0, 256.0, 512.0, 1024.0])
A, C = 0.1, 0.6
SHARE = 0.01 * (C - A)


def curve(number, sizes=SIZES):
    """Losses A + B/D of which exactly so many columns are within 1 % of the gain."""
    return A + SHARE * number / sizes


def of(largest, within=0.01):
    return next(each for each in calibrations() if (each.largest, each.within) == (largest, within))


# ---- The rule ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [150, 300, 700, 1024, 1100, 3000, 8000])
def test_where_the_loss_is_a_plus_b_over_d_the_rule_finds_the_number(number):
    assert limit(SIZES, curve(number)) == pytest.approx(A)
    assert enough(SIZES, curve(number), C, 0.01) == pytest.approx(number)
    assert enough(SIZES, curve(number), C, 0.02) == pytest.approx(max(number / 2, 128))


def test_the_limit_does_not_need_sizes_that_double():
    sizes = np.array([100.0, 300.0, 1000.0])
    assert limit(sizes, curve(700, sizes)) == pytest.approx(A)
    assert enough(sizes, curve(700, sizes), C, 0.01) == pytest.approx(700)


def test_the_answer_is_the_rule_s_number_with_the_calibrated_middle_and_factor():
    found, row = columns_needed(SIZES, curve(3000), C), of(1024)
    assert found.is_known
    middle = 3000 * row.middle
    expected = [middle, middle / row.factor, middle * row.factor]
    assert [found.estimate, found.low, found.high] == pytest.approx(expected, rel=0.05)
    assert str(found) == (
        f"about {found.estimate:,} columns ({found.low:,} to {found.high:,}) are "
        "within 1 % of what more columns can give"
    )


def test_a_loss_in_another_unit_or_with_noise_that_no_map_can_learn_has_the_same_answer():
    losses = curve(2000) + np.array([0.002, -0.001, 0.001, 0.0])
    expected = columns_needed(SIZES, losses, C)
    assert columns_needed(SIZES, 1e6 * losses, 1e6 * C) == expected
    assert columns_needed(SIZES, losses + 7, C + 7) == expected
    assert enough(SIZES, losses + 7, C + 7, 0.01) == pytest.approx(enough(SIZES, losses, C, 0.01))
    assert columns_needed(list(SIZES), list(losses), C) == expected


def test_sizes_before_the_last_three_only_matter_where_the_number_is_among_them():
    assert columns_needed(SIZES[1:], curve(3000)[1:], C) == columns_needed(SIZES, curve(3000), C)
    assert enough(SIZES, curve(200), C, 0.01) < enough(SIZES[1:], curve(200)[1:], C, 0.01) == 256


def test_a_slower_fall_needs_more_columns_and_a_larger_share_fewer():
    numbers = [columns_needed(SIZES, curve(each), C).estimate for each in (200, 600, 1500, 4000, 8000)]
    assert numbers == sorted(set(numbers))
    shares = [columns_needed(SIZES, curve(4000), C, within).estimate for within in (0.01, 0.02, 0.05)]
    assert shares == sorted(set(shares), reverse=True)


def test_where_the_loss_rises_at_the_end_the_limit_is_its_last_value():
    losses = np.array([0.3, 0.2, 0.1, 0.101])
    assert limit(SIZES, losses) == 0.101
    assert 256 < enough(SIZES, losses, C, 0.01) < 512


def test_a_flat_curve_has_the_smallest_size():
    assert columns_needed(SIZES, [0.1, 0.1, 0.1, 0.1], C).low == 128


def test_noise_that_is_small_against_the_last_drop_leaves_the_number_in_the_interval():
    """B/D² is the drop to the limit at the last size, and a tenth of it the noise."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        number = rng.uniform(300, 6000)
        found = columns_needed(SIZES, curve(number) + rng.normal(0, 0.1 * SHARE * number / 1024, 4), C)
        inside.append(found.low <= number <= found.high)
    assert np.mean(inside) > 0.95


# ---- The guard ---------------------------------------------------------------------------------------------


def test_where_the_number_is_far_beyond_the_sizes_there_is_no_answer():
    assert columns_needed(SIZES, curve(8 * 1024 * 0.99), C).is_known
    found = columns_needed(SIZES, curve(8 * 1024 * 1.01), C)
    assert (found.estimate, found.low, found.high) == (None, None, None)
    assert str(found) == f"not known: {FALLING}" == "not known: the loss still falls too fast to say"


def test_where_the_loss_begins_to_fall_late_there_is_no_answer():
    """As on w8a, whose share of the gain at 128, 256 and 512 columns is 2, 15 and 92 %; and with all drops a tenth."""
    assert str(columns_needed(SIZES[:3], C - 0.5 * np.array([0.02, 0.15, 0.92]), C)) == f"not known: {FALLING}"
    late = np.array([0.130, 0.128, 0.122])  # 0.4, then 1.2 % of the gain
    assert str(columns_needed(SIZES[:3], late, C)) == f"not known: {FALLING}"
    assert columns_needed(SIZES[:3], np.array([0.130, 0.128, 0.1245]), C).is_known  # a drop below 1 % hides nothing


def test_a_gain_that_is_small_beside_the_constant_s_loss_has_no_answer():
    assert "gains less than 5 % over a constant" in str(columns_needed(SIZES, curve(2000) + 20, C + 20))


def test_losses_on_few_test_rows_have_no_answer():
    assert columns_needed(SIZES, curve(2000), C, test_rows=800) == columns_needed(SIZES, curve(2000), C)
    found = columns_needed(SIZES, curve(2000), C, test_rows=799)
    assert str(found) == "not known: fewer than 800 test rows (799)"


def test_no_map_that_is_worse_than_a_constant_has_an_answer():
    assert "no better than a constant" in str(columns_needed(SIZES, [0.7, 0.65, 0.62, 0.61], C))


@pytest.mark.parametrize(
    "sizes", [[512], [512, 1024], [64, 128, 256], [128, 512, 2048], [500, 512, 1024], [256, 500, 512]]
)
def test_sizes_that_the_interval_was_not_measured_for_have_no_answer(sizes):
    found = str(columns_needed(sizes, curve(600, np.array(sizes, dtype=float)), C))
    assert "three sizes, each twice the one before, the largest with 512 columns or more" in found


def test_more_columns_than_were_calibrated_take_the_largest_calibration():
    sizes = np.array([1024.0, 2048.0, 4096.0])
    row, found = of(1024), columns_needed(sizes, curve(9000, sizes), C)
    assert found.high / found.estimate == pytest.approx(row.factor, rel=0.06)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (([128, 256, 512], [0.3, 0.2], C), "two lists of one length"),
        (([128, 256, 512], [0.3, 0.2, float("nan")], C), "finite"),
        (([128, 256, 512], [0.3, 0.2, 0.1], float("inf")), "finite"),
        (([512, 256, 128], [0.3, 0.2, 0.1], C), "growing"),
        (([128, 256, 512], [0.3, 0.2, 0.1], C, 0.03), "within must be one of 0.01, 0.02, 0.05"),
        (([], [], C, 1), "within must be one of"),
    ],
)
def test_wrong_numbers_are_refused_with_what_would_be_right(arguments, problem):
    with pytest.raises(ValueError, match=problem):
        columns_needed(*arguments)


# ---- The calibration ---------------------------------------------------------------------------------------


def test_the_factor_is_the_conformal_quantile_of_the_distances_from_the_median():
    """Ten datasets with logarithms 0 to 9: the median is 4.5, and rank ⌈0.9·1.1·10⌉ = 10 is the largest distance. Of
    100 datasets it is rank ⌈0.9·1.01·100⌉ = 91 of the distances 0.5, 0.5, 1.5, 1.5, …: 45.5."""
    for datasets, middle, factor in ((10, 4.5, 4.5), (100, 49.5, 45.5)):
        answers = pd.DataFrame({"dataset": range(datasets), "ratio": np.arange(datasets, dtype=float)})
        assert np.log2(quantiles(answers)) == pytest.approx([middle, factor])


def test_every_share_and_size_has_a_calibration_and_more_sizes_have_a_narrower_interval():
    assert {(each.largest, each.within) for each in calibrations()} == {
        (largest, within) for largest in (512, 1024) for within in (0.01, 0.02, 0.05)
    }
    for within in (0.01, 0.02, 0.05):
        assert of(512, within).factor > of(1024, within).factor > 1


@pytest.mark.slow
def test_the_calibration_is_what_the_rows_of_the_board_say_and_the_interval_holds_nine_of_ten():
    assert calibrate_columns.stale() == []
    assert all(path.read_text(encoding="utf-8") == text for path, text in confirm_columns.made().items())
    table = pd.read_csv(calibrate_columns.CALIBRATION)
    assert (table["covered"] >= 0.9).all()
    assert (table.loc[table["within"] == 0.01, "covered by dataset"] >= 0.9).all()


@pytest.mark.slow
def test_a_trial_is_refused_by_the_guard_alone():
    """An independent count on the board's rows: trials of random Fourier features that the guard stops at 512."""
    of = calibrate_columns.curves("board", ("RFF",))
    known = calibrate_columns.references()
    stopped = 0
    for (dataset, _, _), losses in of.iterrows():
        first, second, third = (losses[size] for size in (128, 256, 512))
        drop, gain = second - third, known[dataset].constant - (2 * third - second if third < second else third)
        stopped += drop > 0.08 * gain or drop > max(2 * (first - second), 0.01 * gain)
        assert (drop > 0.08 * gain or drop > max(2 * (first - second), 0.01 * gain)) == bool(
            why_not(SIZES[:3], losses.to_numpy()[:3], known[dataset].constant, 0.01)
        )
    assert len(of) - stopped == 104
