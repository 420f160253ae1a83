"""Promises of the claims: three verdicts by an interval over trials, on all sizes together; what was not measured."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rffbench.errors import ConfigError
from rffbench.papers.table import NOT_MEASURED
from rffbench.report.claims import Claim, load_claims
from rffbench.report.judge import judge
from rffbench.stats.verdicts import HOLDS, OPEN, REFUTED, Estimate, Range, adjusted, judge_every
from tests.helpers import report_log as log

CONFIG = log.config(methods={"RFF": {}, "Ours": {}}, datasets=["eeg"])


def claim(**kind):
    return Claim(**{"claim": "a sentence", "where": "Table 1", "because": "its words", **kind})


def measured(values, metric="accuracy", methods=None, dataset="eeg", config=None, **more):
    """Results of values[method][size][trial]."""
    rows = [
        (dataset, size, method, trial, {metric: value, **more})
        for method, sizes in values.items()
        for size, trials in sizes.items()
        for trial, value in enumerate(trials)
    ]
    return log.results(rows, {**CONFIG, "methods": methods or {label: {} for label in values}, **(config or {})})


def findings_of(given, results, names=None):
    return judge([given], [({}, results)], names or {})


def verdict(given, results, names=None):
    (finding,) = findings_of(given, results, names)
    return finding.verdict, finding.evidence


BASE = np.array([70.0, 71.0, 72.0, 70.5])


def difference(low=0.0, high=None, **more):
    test = {"metric": "accuracy", "method": "Ours", "baseline": "RFF", "within": [low, high]}
    return claim(difference=test, **more)


def ratio(within, **more):
    test = {"metric": "feature_s", "method": "Ours", "baseline": "RFF", "within": within}
    return claim(ratio=test | {key: more.pop(key) for key in ("metric", "baseline_size") if key in more}, **more)


# ---- Three verdicts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.1, 1.9, HOLDS),
        (0.1, 0.9, REFUTED),
        (0.9, 1.5, OPEN),
        (1.0, 1.0, REFUTED),  # the same in every trial, and at the bound: not above it
    ],
)
def test_a_verdict_is_where_the_whole_interval_lies(low, high, expected):
    estimate = Estimate.from_interval((low + high) / 2, low, high, 5)
    assert estimate.interval() == pytest.approx((low, high))
    assert estimate.judge(Range(1.0, np.inf)).verdict == expected
    mirrored = Estimate.from_interval(-(low + high) / 2, -high, -low, 5)
    assert mirrored.judge(Range(-np.inf, -1.0)).verdict == expected


def test_the_p_value_of_a_verdict_is_that_of_students_test():
    sample = pd.Series([0.3, 1.4, 0.5, 0.9, 1.1])
    estimate = Estimate.of(sample)
    for bound in (0.0, 0.2, 1.5, 3.0):
        expected = stats.ttest_1samp(sample, bound).pvalue
        judged = estimate.judge(Range(bound, np.inf))
        assert judged.p == pytest.approx(expected)
        assert (judged.verdict == OPEN) == (expected > 0.05)
        assert judged.verdict == OPEN or (judged.verdict == HOLDS) == (sample.mean() > bound)


def test_equivalence_needs_two_one_sided_tests_and_no_more():
    sample = pd.Series([0.21, -0.19, 0.25, -0.02, 0.4, 0.1])
    for margin in (0.25, 0.3, 0.35, 0.5):
        below = stats.ttest_1samp(sample, margin, alternative="less").pvalue
        above = stats.ttest_1samp(sample, -margin, alternative="greater").pvalue
        judged = Estimate.of(sample).judge(Range(-margin, margin))
        assert judged.p_holds == pytest.approx(max(below, above))
        assert judged.verdict == (HOLDS if max(below, above) < 0.05 else OPEN)
    wide, narrow = (Estimate.of(sample).interval(level)[1] for level in (0.05, 0.1))
    between = (wide + narrow) / 2  # the 95 % interval passes it, the 90 % interval does not
    assert Estimate.of(sample).judge(Range(-between, between)).verdict == HOLDS
    assert Estimate.of(sample + 2).judge(Range(-0.5, 0.5)).verdict == REFUTED


def test_new_rows_have_the_variance_of_nadeau_and_bengio():
    sample = pd.Series([0.3, 1.4, 0.5, 0.9, 1.1])
    estimate = Estimate.of(sample).of_new_rows(1.0)
    assert estimate.mean == pytest.approx(sample.mean())
    assert estimate.error == pytest.approx(np.sqrt((1 / 5 + 1.0) * sample.var(ddof=1)))


def test_the_corrected_interval_covers_what_other_rows_give_where_students_does_not():
    rng = np.random.default_rng(0)
    claimed, plain, anew = 0.0, 0, 0
    for _ in range(300):  # the mean of a dataset's rows, estimated by random halves of it
        rows = rng.normal(claimed, 1.0, 40)
        halves = pd.Series([rng.permutation(rows)[:20].mean() for _ in range(10)])
        low, high = Estimate.of(halves).interval()
        plain += low < claimed < high
        low, high = Estimate.of(halves).of_new_rows(1.0).interval()
        anew += low < claimed < high
    assert plain / 300 < 0.8
    assert anew / 300 > 0.9


def test_a_claim_for_every_size_holds_where_the_largest_p_does_and_fails_where_holms_smallest_does():
    above, level, below = (Estimate(mean, 0.1, 10) for mean in (1.0, 0.0, -0.4))
    claimed = Range(0.0, np.inf)
    judged, wrong = judge_every({"1d": above, "2d": Estimate(2.0, 0.1, 10)}, claimed)
    assert (judged.verdict, judged.p, wrong) == (HOLDS, above.judge(claimed).p_holds, [])
    judged, wrong = judge_every({"1d": level, "2d": above}, claimed)
    assert (judged.verdict, wrong) == (OPEN, [])
    judged, wrong = judge_every({"1d": below, "2d": above, "4d": above}, claimed)
    assert (judged.verdict, wrong) == (REFUTED, ["1d"])
    assert judged.p == pytest.approx(3 * below.judge(claimed).p_fails)
    nearly = Estimate(-0.24, 0.1, 10)  # p below 0.05 by itself, and not among three
    assert nearly.judge(claimed).verdict == REFUTED
    assert judge_every({"1d": nearly, "2d": above, "4d": above}, claimed)[0].verdict == OPEN


def test_verdicts_taken_together_are_benjamini_and_yekutielis():
    p_values = [0.001, 0.04, 0.2, 0.01]
    harmonic, order = sum(1 / i for i in range(1, 5)), np.argsort(p_values)
    expected, least = np.empty(4), 1.0
    for rank in range(4, 0, -1):
        least = min(least, p_values[order[rank - 1]] * 4 * harmonic / rank)
        expected[order[rank - 1]] = least
    assert adjusted(p_values) == pytest.approx(expected.tolist())
    assert adjusted([]) == []


def test_the_trials_said_to_settle_a_claim_are_the_fewest_whose_interval_would():
    sample = pd.Series([0.2, 1.4, -0.5, 0.9])
    estimate, claimed = Estimate.of(sample), Range(0.0, np.inf)
    assert estimate.judge(claimed).verdict == OPEN
    needed = estimate.trials_to_settle(claimed)

    def half(n, level=0.05):
        return stats.t.ppf(1 - level / 2, n - 1) * sample.std(ddof=1) / np.sqrt(n)

    assert half(needed) < sample.mean() <= half(needed - 1)
    for near in (Range(sample.mean() - 0.1, 100.0), Range(-100.0, sample.mean() + 0.1)):
        needed = estimate.trials_to_settle(near)
        assert half(needed, 0.1) < 0.1 <= half(needed - 1, 0.1)


def test_no_number_of_trials_is_named_where_it_would_be_nonsense():
    values = {"RFF": {16: BASE}, "Ours": {16: BASE + np.array([3.0, -3.0, 3.0, -2.999])}}
    judged, evidence = verdict(difference(), measured(values))
    assert judged == OPEN
    assert "more than 1,000 trials with this mean and spread would settle it" in evidence


def test_a_difference_is_of_the_same_trials_which_may_differ_widely_among_themselves():
    gain = BASE + np.array([0.5, 0.6, 0.4, 0.5])
    assert verdict(difference(), measured({"RFF": {16: BASE}, "Ours": {16: gain}}))[0] == HOLDS
    assert verdict(difference(), measured({"RFF": {16: BASE}, "Ours": {16: gain[::-1]}}))[0] == OPEN
    assert verdict(difference(), measured({"RFF": {16: gain}, "Ours": {16: BASE}}))[0] == REFUTED


def test_a_margin_is_in_the_range_that_has_to_hold():
    results = measured({"RFF": {16: BASE}, "Ours": {16: BASE + np.array([5.1, 5.2, 5.3, 5.2])}})
    assert verdict(difference(5.0), results)[0] == HOLDS
    assert verdict(difference(5.2), results)[0] == OPEN
    assert verdict(difference(6.0), results)[0] == REFUTED
    assert verdict(difference(5.0, 5.1), results)[0] == OPEN


def test_no_difference_in_any_trial_is_not_more_than_none():
    assert verdict(difference(), measured({"RFF": {16: BASE}, "Ours": {16: BASE}}))[0] == REFUTED


def test_what_is_similar_needs_an_interval_within_the_margin_and_not_a_lack_of_difference():
    def similar(spread, shift=0.0):
        values = {"RFF": {16: BASE}, "Ours": {16: BASE + shift + spread * np.array([1, -1, 0.9, -0.9])}}
        return verdict(difference(-0.5, 0.5), measured(values))[0]

    assert similar(0.1) == HOLDS
    assert similar(3.0) == OPEN
    assert similar(0.1, shift=1.0) == similar(0.1, shift=-1.0) == REFUTED


def test_errors_are_compared_as_logarithms_so_that_a_heavy_tail_hides_nothing():
    ours = {16: [1e4, 1e9, 3e5, 2e4, 8e6]}  # smaller in every trial by 10⁴ and more, and a t-test on these sees nothing
    results = measured({"RFF": {16: [0.2, 0.1, 0.3, 0.2, 0.1]}, "Ours": ours}, "kernel_error")
    assert stats.ttest_1samp(np.array(ours[16]) - 0.2, 0).pvalue > 0.05
    smaller = claim(ratio={"metric": "kernel_error", "method": "RFF", "baseline": "Ours", "within": [None, 1]})
    assert verdict(smaller, results)[0] == HOLDS


def test_the_evidence_has_the_mean_its_interval_the_sizes_and_the_trials():
    values = {
        "RFF": {16: BASE, 32: BASE},
        "Ours": {16: BASE + np.array([1, 2, 3, 2]), 32: BASE + np.array([2, 3, 4, 3])},
    }
    (finding,) = findings_of(difference(), measured(values))
    assert finding.evidence == (
        "+2.50 points over 16 to 32 (2 sizes) (+1.20 to +3.80; 95 %, this dataset, 4 trials); "
        "by size 16 +2.00, 32 +3.00; new rows: not enough evidence (-0.41 to +5.41)"
    )
    assert (finding.asked, finding.because, finding.sizes) == ("more than 0", "its words", "16 to 32 (2 sizes)")
    assert (finding.measured, finding.trials) == (2.5, 4)
    assert (finding.low, finding.high) == pytest.approx((1.20, 3.80), abs=0.005)


# ---- Ratios and slopes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("within", "expected"), [([None, 2.1], HOLDS), ([None, 1.9], REFUTED), ([1.9, None], HOLDS), ([1.0, 2.0], OPEN)]
)
def test_a_ratio_is_a_geometric_mean_over_trials_within_bounds_of_which_one_may_be_open(within, expected):
    results = measured({"RFF": {16: [1.0, 1.0, 1.0]}, "Ours": {16: [1.99, 2.0, 2.01]}}, "feature_s")
    assert verdict(ratio(within), results)[0] == expected
    (finding,) = findings_of(ratio(within), results)
    assert finding.measured == pytest.approx(2.0, abs=1e-4)


def test_a_ratio_can_be_taken_to_a_baseline_several_times_larger():
    results = measured({"RFF": {16: [9.0, 9.0], 64: [1.0, 1.0]}, "Ours": {16: [1.0, 1.0]}}, "feature_s")
    assert verdict(ratio([0.9, 1.1], baseline_size=4), results)[0] == HOLDS
    assert verdict(ratio([0.9, 1.1]), results)[0] == REFUTED


def test_a_ratio_can_be_taken_to_a_baseline_of_half_the_size():
    results = measured(
        {"RFF": {16: [2.0, 2.0], 24: [9.0, 9.0], 32: [1.0, 1.0]}, "Ours": {32: [2.0, 2.0], 64: [1.0, 1.0]}}, "feature_s"
    )
    assert verdict(ratio([0.9, 1.1], baseline_size=0.5, every_size=True), results)[0] == HOLDS
    assert verdict(ratio([0.9, 1.1]), results)[0] == REFUTED


def test_methods_with_sizes_of_their_own_are_compared_at_their_largest():
    results = measured({"RFF": {100: [8.0, 8.0], 1000: [4.0, 4.0]}, "Ours": {7: [2.0, 2.0]}}, "model_size")
    assert verdict(ratio([0.4, 0.6], metric="model_size"), results)[0] == HOLDS


def test_keeping_an_accuracy_is_judged_on_the_error_rate():
    values = {"RFF": {16: [98.0, 98.0, 98.1]}, "Ours": {16: [97.0, 97.1, 97.0]}}  # 0.99 of the accuracy, but half as
    results = measured(values)  # many errors again
    assert verdict(ratio([None, 1.2], metric="error_rate"), results)[0] == REFUTED
    assert verdict(ratio([None, 1.7], metric="error_rate"), results)[0] == HOLDS


def test_an_error_of_0_has_no_ratio():
    results = measured({"RFF": {16: [100.0, 100.0]}, "Ours": {16: [99.0, 99.0]}})
    judged, evidence = verdict(ratio([None, 1.2], metric="error_rate"), results)
    assert (judged, evidence) == (NOT_MEASURED, "a test error (%) of 0 has no ratio")


@pytest.mark.parametrize(("power", "expected"), [(-0.5, HOLDS), (-1.0, REFUTED), (-0.3, REFUTED)])
def test_a_slope_is_the_power_of_the_size(power, expected):
    slope = claim(slope={"metric": "sup_error", "method": "RFF", "within": [-0.6, -0.4]})
    scales = [1.0, 3.0, 0.5]  # trials on different levels: the slope is within a trial
    results = measured({"RFF": {m: [c * m**power for c in scales] for m in (16, 64, 256, 1024)}}, "sup_error")
    judged, evidence = verdict(slope, results)
    assert judged == expected
    assert evidence.startswith(
        f"exponent {power:+.3f} over 16 to 1024 (4 sizes) ({power:+.3f} to {power:+.3f}; 95 %, this dataset, 3"
    )


def test_a_slope_whose_interval_crosses_a_bound_is_open():
    slope = claim(slope={"metric": "sup_error", "method": "RFF", "within": [-0.6, -0.4]})
    powers = [-0.35, -0.55, -0.5]
    results = measured({"RFF": {m: [float(m) ** power for power in powers] for m in (16, 64, 256)}}, "sup_error")
    assert verdict(slope, results)[0] == OPEN


def test_the_model_of_a_map_has_its_columns_but_a_learner_without_a_map_has_a_size_only_where_it_says_one():
    results = measured(
        {"RFF": {100: BASE}, "Ours": {100: BASE}}, methods={"RFF": {"features": "fourier"}, "Ours": {}},
        config={"count": "columns"},
    )  # fmt: skip
    assert verdict(ratio([0.5, 1.5], metric="model_size"), results) == (NOT_MEASURED, "no trial of Ours has model size")


def test_errors_to_kernels_of_different_bandwidths_are_not_compared():
    rows = [
        ("eeg", 16, label, trial, {"kernel_error": error + trial / 100, "accuracy": 80.0 + trial, "gamma": gamma})
        for label, error, gammas in (("RFF", 0.4, (1.0, 2.0, 2.0)), ("Ours", 0.1, (1.0, 2.0, 0.5)))
        for trial, gamma in enumerate(gammas)
    ]
    smaller = claim(ratio={"metric": "kernel_error", "method": "Ours", "baseline": "RFF", "within": [None, 1]})
    judged, evidence = verdict(smaller, log.results(rows, CONFIG))
    assert (judged, evidence) == (
        NOT_MEASURED,
        "each method has chosen its own bandwidth, another one in 1 of 3 trials: "
        "the relative kernel error is to different kernels",
    )
    assert verdict(difference(), log.results(rows, CONFIG))[0] != NOT_MEASURED
    same = [row for row in rows if row[3] < 2]
    assert verdict(smaller, log.results(same, CONFIG))[0] != NOT_MEASURED


def test_what_is_measured_of_a_map_counts_once_however_many_solvers_follow_it():
    slope = claim(slope={"metric": "sup_error", "method": "RFF", "within": [-0.6, -0.4]})
    values = {m: [m**-0.5, 2 * m**-0.5] for m in (16, 64, 256)}
    fourier = {"features": "fourier"}
    methods = {"RFF (a)": {**fourier, "solver": {"C": 1}}, "RFF (b)": {**fourier, "solver": {"C": 2}}}
    assert len(findings_of(slope, measured(dict.fromkeys(methods, values), "sup_error", methods))) == 1
    methods["RFF (b)"]["form"] = "offset"
    assert len(findings_of(slope, measured(dict.fromkeys(methods, values), "sup_error", methods))) == 2


# ---- Sizes and trials --------------------------------------------------------------------------------------


def test_a_claim_is_judged_on_its_sizes_together():
    gain = np.array([1, 1.1, 1, 1.2])
    values = {"RFF": {16: BASE, 32: BASE, 64: BASE}, "Ours": {16: BASE - gain / 4, 32: BASE + gain, 64: BASE + gain}}
    assert verdict(difference(), measured(values))[0] == HOLDS
    assert verdict(difference(sizes=[16]), measured(values))[0] == REFUTED
    assert "over 32 to 64 (2 sizes)" in verdict(difference(sizes_from=32), measured(values))[1]


def test_the_number_of_a_trial_is_the_mean_over_its_sizes():
    gain = np.array([1, 1.1, 1, 1.2])
    values = {"RFF": dict.fromkeys((16, 32, 64), BASE), "Ours": {16: BASE + gain, 32: BASE + gain, 64: BASE + gain + 6}}
    (finding,) = findings_of(difference(), measured(values))
    assert finding.measured == pytest.approx(gain.mean() + 2)


def test_sizes_from_a_multiple_of_the_dimension_begin_with_it():
    results = measured({"RFF": dict.fromkeys((28, 56, 112), BASE), "Ours": dict.fromkeys((28, 56, 112), BASE + 1)})
    results.trials["multiple"] = (results.trials["n_features"] // 14).astype("Int64")
    (finding,) = findings_of(difference(sizes_from="4d"), results)
    assert finding.sizes == "4d to 8d (2 sizes)"


def test_the_interval_is_over_trials_and_not_over_their_sizes():
    noise = np.array([2.0, -1.0, 1.5, -1.2])  # a trial's own, the same at every size: more sizes tell no more
    one = {"RFF": {16: BASE}, "Ours": {16: BASE + noise}}
    many = {"RFF": dict.fromkeys(range(16, 26), BASE), "Ours": dict.fromkeys(range(16, 26), BASE + noise)}
    alone, together = (findings_of(difference(), measured(values))[0] for values in (one, many))
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high))


def test_sizes_with_fewer_trials_are_left_out_where_that_keeps_more():
    gain = np.array([1, 1.1, 1, 1.2])
    values = {"RFF": {16: BASE, 32: BASE, 64: BASE[:1]}, "Ours": {16: BASE + gain, 32: BASE + gain, 64: BASE[:1] + 1}}
    judged, evidence = verdict(difference(), measured(values))
    assert judged == HOLDS
    assert "over 16 to 32 (2 sizes)" in evidence
    assert evidence.endswith("; 64 left out, with fewer trials")


def test_a_claim_that_names_its_sizes_is_not_judged_without_one_of_them():
    values = {"RFF": {16: BASE, 32: BASE[:1]}, "Ours": {16: BASE + 1, 32: BASE[:1] + 1}}
    assert verdict(difference(sizes=[16, 64]), measured(values)) == (NOT_MEASURED, "64 of its sizes not measured")
    judged, evidence = verdict(difference(sizes=[16, 32]), measured(values))
    assert (judged, evidence) == (NOT_MEASURED, "a single trial of both methods at 32 (+1.00 points) has no interval")


def test_one_trial_is_not_judged_and_says_what_it_came_to():
    judged, evidence = verdict(difference(), measured({"RFF": {16: [70.0]}, "Ours": {16: [75.0]}}))
    assert (judged, evidence) == (NOT_MEASURED, "a single trial of both methods (+5.00 points) has no interval")


def test_where_nothing_is_trained_there_is_no_training_time():
    results = measured({"RFF": {16: [1, 1]}, "Ours": {16: [0.1, 0.1]}}, "train_s", config={"solver": {"name": "none"}})
    given = ratio([None, 0.5], metric="train_s")
    assert verdict(given, results) == (NOT_MEASURED, "nothing is trained, so there is no training time")


def test_seconds_taken_while_others_used_the_processors_are_no_evidence():
    results = measured({"RFF": {16: [1.0, 1.0]}, "Ours": {16: [1.0, 1.0]}}, "feature_s", contended=True)
    assert verdict(ratio([None, 2]), results) == (
        NOT_MEASURED,
        "all seconds were taken while other work used the processors",
    )
    rows = [
        ("eeg", 16, method, trial, {"feature_s": 1.0, "contended": trial > 0})
        for method in ("RFF", "Ours")
        for trial in range(2)
    ]
    assert verdict(ratio([None, 2]), log.results(rows, CONFIG))[1].startswith("a single undisturbed trial of both")
    memory = measured({"RFF": {16: [1.0, 1.0]}, "Ours": {16: [1.0, 1.0]}}, "peak_memory_bytes", contended=True)
    assert verdict(ratio([None, 2], metric="peak_memory_bytes"), memory)[0] == HOLDS


# ---- What an interval covers, and every size ---------------------------------------------------------------


def test_trials_on_a_given_split_differ_in_their_draws_only():
    values = {"RFF": {16: BASE}, "Ours": {16: BASE + np.array([1, 2, 3, 2])}}
    (finding,) = findings_of(difference(), measured(values, dataset="cod-rna", config={"datasets": ["cod-rna"]}))
    assert (finding.covers, finding.verdict_new_rows) == ("draws only", "")
    assert "95 %, draws only, 4 trials" in finding.evidence
    given = measured(values, dataset="cod-rna", config={"datasets": ["cod-rna"]})
    judged, evidence = verdict(difference(covers="new rows"), given)
    assert (judged, evidence) == (
        NOT_MEASURED, "its split is given: trials differ in their draws alone, and say nothing of new rows",
    )  # fmt: skip


def test_a_claim_on_new_rows_is_judged_by_their_interval_and_no_number_of_trials_settles_it():
    results = measured({"RFF": {16: BASE}, "Ours": {16: BASE + np.array([1, 2, 3, 2])}})
    (here,), (anew,) = (findings_of(difference(covers=what), results) for what in ("this dataset", "new rows"))
    assert (here.verdict, here.verdict_new_rows) == (HOLDS, OPEN)
    assert (anew.verdict, anew.covers) == (OPEN, "new rows")
    assert "settle" not in anew.evidence
    assert anew.high - anew.low == pytest.approx((here.high - here.low) * np.sqrt(1 + 4 * 1.0))  # halves of EEG


def test_new_rows_are_for_the_training_rows_that_a_config_asks_for():
    values = {"RFF": {16: BASE}, "Ours": {16: BASE + np.array([1, 2, 3, 2])}}
    (all_rows,), (few,) = (
        findings_of(difference(covers="new rows"), measured(values, config={"train_rows": rows}))
        for rows in (None, 749)  # of EEG's 7,490: ten times as many test rows as training rows
    )
    assert few.high - few.low == pytest.approx((all_rows.high - all_rows.low) * np.sqrt((1 + 4 * 10) / (1 + 4)))


def test_seconds_say_nothing_of_new_rows():
    results = measured({"RFF": {16: [1.0, 1.1]}, "Ours": {16: [2.0, 2.1]}}, "feature_s")
    (finding,) = findings_of(ratio([1, None]), results)
    assert finding.verdict_new_rows == ""


def test_a_claim_for_every_size_says_where_it_is_wrong_and_what_the_mean_would_give():
    values = {
        "RFF": {16: BASE, 32: BASE},
        "Ours": {16: BASE - np.array([1, 1.1, 0.9, 1]), 32: BASE + np.array([4, 4.1, 3.9, 4])},
    }
    (mean,) = findings_of(difference(), measured(values))
    (every,) = findings_of(difference(every_size=True), measured(values))
    assert (mean.verdict, mean.verdict_in_mean) == (HOLDS, "")
    assert (every.verdict, every.verdict_in_mean) == (REFUTED, HOLDS)
    assert "wrong at 16; in the mean: holds" in every.evidence


def test_a_claim_for_every_size_is_judged_at_every_size_on_new_rows_too():
    noise = np.array([0.5, 1.8, 1.2, 0.7])
    values = {"RFF": {16: BASE, 32: BASE}, "Ours": {16: BASE + noise, 32: BASE + 40 - noise}}
    (mean,), (every,) = (findings_of(difference(every_size=each), measured(values)) for each in (False, True))
    assert (mean.verdict, mean.verdict_new_rows) == (HOLDS, HOLDS)
    assert (every.verdict, every.verdict_new_rows) == (HOLDS, OPEN)  # at 16


def test_as_many_trials_are_said_to_settle_a_claim_for_every_size_as_the_size_that_needs_most():
    shifts = {16: np.array([0.1, 1.9, 1.2, 0.4]), 32: np.array([-0.3, 1.1, 0.9, -0.2])}
    values = {"RFF": dict.fromkeys(shifts, BASE), "Ours": {size: BASE + shift for size, shift in shifts.items()}}
    few, many = (Estimate.of(pd.Series(each)).trials_to_settle(Range(0.0, np.inf)) for each in shifts.values())
    assert few < many
    judged, evidence = verdict(difference(every_size=True), measured(values))
    assert judged == OPEN
    assert f"about {many} trials with this mean and spread would settle it" in evidence


def test_a_fixed_sequence_is_said_to_be_the_same_in_all_trials():
    values = {"RFF": {16: BASE}, "Ours": {16: BASE + np.array([1, 2, 3, 2])}}
    fixed = {"RFF": {"features": "qmc", "variant": "as-released"}, "Ours": {"features": "qmc"}}
    (finding,) = findings_of(difference(), measured(values, methods=fixed))
    assert finding.evidence.endswith("the frequencies of RFF are the same in all trials")


def test_verdicts_of_one_table_are_also_taken_together():
    weak = {"RFF": {16: BASE}, "Ours": {16: BASE + np.array([0.1, 1.9, 1.2, 0.4])}}
    claims = [difference(claim=f"claim {i}") for i in range(3)]
    alone = judge(claims[:1], [({}, measured(weak))], {})
    together = judge(claims, [({}, measured(weak))], {})
    assert [finding.verdict for finding in together] == [alone[0].verdict] * 3
    assert together[0].p_adjusted == pytest.approx(alone[0].p * (1 + 1 / 2 + 1 / 3))


def test_a_verdict_that_many_tests_would_give_by_chance_is_none_where_they_are_taken_together():
    values = {"RFF": {16: BASE}, "Ours": {16: BASE + np.array([0.5, 1.8, 1.2, 0.7])}}
    claims = [difference(claim=f"claim {i}") for i in range(3)]
    (alone,) = judge(claims[:1], [({}, measured(values))], {})
    together = judge(claims, [({}, measured(values))], {})
    assert (alone.verdict, alone.verdict_adjusted) == (HOLDS, HOLDS)
    assert {(each.verdict, each.verdict_adjusted) for each in together} == {(HOLDS, OPEN)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"covers": "new rows", "ratio": {"metric": "feature_s", "method": "a", "baseline": "b", "within": [1, None]}},
         "feature_s is not measured on test rows"),
        ({"every_size": True, "slope": {"metric": "sup_error", "method": "a", "within": [None, 1]}},
         "a slope is over sizes"),
        ({"covers": "all", "difference": {"metric": "accuracy", "method": "a", "baseline": "b", "within": [0, None]}},
         "this dataset"),
    ],
)  # fmt: skip
def test_a_claim_that_cannot_be_judged_so_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        claim(**wrong)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (difference(datasets=["mars"]), "no trial on mars"),
        (
            claim(slope={"metric": "sup_error", "method": "QMC", "within": [None, 0]}),
            "no method QMC in this experiment",
        ),
        (difference(sizes=["16d"]), "16d of its sizes not measured"),
        (difference(sizes_from=100), "no size from 100 on measured"),
        (ratio([None, 1]), "no trial has feature time (s)"),
        (claim(slope={"metric": "accuracy", "method": "RFF", "within": [None, 0]}), "a slope needs 3 sizes"),
    ],
)
def test_what_was_not_measured_says_what_is_missing(given, reason):
    judged, evidence = verdict(given, measured({"RFF": {16: BASE}, "Ours": {16: BASE}}))
    assert judged == NOT_MEASURED
    assert evidence.startswith(reason)


def test_where_no_trial_came_to_an_end_it_says_how_they_ended_and_on_which_dataset():
    rows = [("eeg", 16, method, trial, {"status": "unavailable"}) for method in ("RFF", "Ours") for trial in range(2)]
    assert verdict(difference(), log.results(rows, CONFIG)) == (
        NOT_MEASURED,
        "no trial on eeg came to an end (unavailable)",
    )
    rows[:2] = [("eeg", 16, "RFF", trial, {"accuracy": 70.0}) for trial in range(2)]
    assert verdict(difference(), log.results(rows, CONFIG))[1] == "no trial of Ours on eeg came to an end (unavailable)"
    results = log.results(rows[:2], CONFIG)
    assert verdict(difference(), results)[1] == "no trial of Ours on eeg"


# ---- Datasets, variants, protocols -------------------------------------------------------------------------


def test_only_what_runs_on_a_dataset_counts_there():
    rows = [
        (dataset, 16, method, trial, {"accuracy": value})
        for dataset, base, ours in (("eeg", "RFF", "Ours (a=1)"), ("magic04", "RFF (b=2)", "Ours (b=2; a=1)"))
        for method, shift in ((base, 0.0), (ours, 1.0))
        for trial, value in enumerate(BASE + shift)
    ]
    methods = {
        "RFF": {"datasets": ["eeg"]},
        "Ours (a=1)": {"datasets": ["eeg"]},
        "RFF (b=2)": {"datasets": ["magic04"]},
        "Ours (b=2; a=1)": {"datasets": ["magic04"]},
    }
    results = log.results(rows, log.config(methods=methods, datasets=["eeg", "magic04"]))
    findings = {finding.dataset: finding for finding in findings_of(difference(), results)}
    assert (findings["eeg"].method, findings["eeg"].baseline) == ("Ours (a=1)", "RFF")
    assert (findings["magic04"].method, findings["magic04"].baseline) == ("Ours (b=2; a=1)", "RFF (b=2)")


def test_a_claim_covers_every_variant_each_against_its_own_baseline():
    gain = np.array([1, 1.1, 1, 1.2])
    values = {"RFF": {16: BASE}, "Ours (released)": {16: BASE + gain}, "Ours (written)": {16: BASE - gain}}
    assert [(each.method, each.baseline, each.verdict) for each in findings_of(difference(), measured(values))] == [
        ("Ours (released)", "RFF", HOLDS),
        ("Ours (written)", "RFF", REFUTED),
    ]
    both = measured({**values, "RFF (written)": {16: BASE - 5}})
    assert findings_of(difference(), both)[1].baseline == "RFF (written)"
    worse = claim(difference={"metric": "accuracy", "method": "RFF", "baseline": "Ours", "within": [None, 0]})
    against = [(each.baseline, each.verdict) for each in findings_of(worse, measured(values))]
    assert against == [("Ours (released)", HOLDS), ("Ours (written)", REFUTED)]


def test_a_claim_can_stand_for_one_of_each_kernel():
    given = Claim(
        claim="smaller with the {kernel} kernel",
        where="Table 1",
        because="'smaller'",
        each={"kernel": ["gaussian", "laplacian"]},
        ratio={
            "metric": "model_size",
            "method": "Sparse-RF {kernel}",
            "baseline": "RF {kernel}",
            "within": [None, 0.5],
        },
    )
    values = {
        f"{method} {kernel}": {10: [size, size]}
        for kernel, sizes in (("gaussian", (1, 9)), ("laplacian", (8, 9)))
        for method, size in zip(("Sparse-RF", "RF"), sizes, strict=True)
    }
    assert [(each.claim, each.verdict) for each in findings_of(given, measured(values, "model_size"))] == [
        ("smaller with the gaussian kernel", HOLDS),
        ("smaller with the laplacian kernel", REFUTED),
    ]


def test_datasets_go_by_the_papers_names_whichever_card_measured_them():
    results = measured({"RFF": {16: BASE}, "Ours": {16: BASE + np.array([1, 2, 3, 2])}}, dataset="cod-rna-paper")
    names = {"cod-rna": "cod-RNA", "cod-rna-paper": "cod-RNA"}
    findings = findings_of(difference(datasets=["cod-RNA", "EEG"]), results, names)
    assert [(each.dataset, each.verdict) for each in findings] == [("cod-rna-paper", HOLDS), ("EEG", NOT_MEASURED)]


def test_a_stand_in_is_judged_and_said_to_be_one():
    results = measured({"RFF": {16: BASE}, "Ours": {16: BASE + np.array([1, 2, 3, 2])}}, dataset="cpu")
    findings = findings_of(difference(datasets=["Slice"], stand_ins=["Cpu"]), results, {"cpu": "Cpu"})
    assert [(each.dataset, each.verdict) for each in findings] == [("Slice", NOT_MEASURED), ("cpu", HOLDS)]
    assert findings[1].evidence.endswith("; stands in for Slice")


def test_every_protocol_of_a_sweep_is_judged_but_of_those_that_differ_in_sizes_only_the_largest():
    gain = np.array([1, 1.1, 1, 1.2])

    def protocol(sizes, shift, **config):
        values = {"RFF": dict.fromkeys(sizes, BASE), "Ours": dict.fromkeys(sizes, BASE + shift)}
        return measured(values, config={"n_features": list(sizes), **config})

    protocols = [
        ({"σ": "1", "m": "many"}, protocol((16, 32), gain)),
        ({"σ": "1", "m": "one"}, protocol((64,), -gain)),
        ({"σ": "2", "m": "many"}, protocol((16, 32), -gain, preprocess="none")),
    ]
    findings = judge([difference(), difference(datasets=["mars"])], protocols, {})
    assert [(each.protocol, each.verdict) for each in findings] == [
        ("σ: 1, m: many", HOLDS),
        ("", NOT_MEASURED),  # once, for the reason is the same
        ("σ: 2, m: many", REFUTED),
    ]


# ---- Files -------------------------------------------------------------------------------------------------

QUOTED = '"{method}"'
GOOD = "difference: {metric: accuracy, method: Ours, baseline: RFF, within: [0, null]}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("because: c", "line 4: .*one of difference, ratio and slope"),
        (f"{GOOD}", "line 4: the key 'because' is missing"),
        (
            f"because: c\n  {GOOD.replace('accuracy', 'acuracy')}",
            "line 7: .*unknown metric 'acuracy'; did you mean",
        ),
        (f"because: c\n  {GOOD.replace('accuracy', 'rmse')}", "line 7: .*rmse is not a score"),
        (f"because: c\n  {GOOD.replace('0, null', 'null, null')}", "line 7: .*one bound at least"),
        (
            f"because: c\n  {GOOD.replace('0, null', '3, 1')}",
            "line 7: .*lower bound, 3, must be below the upper, 1",
        ),
        (f"because: c\n  {GOOD.replace('0, null', '.nan, 1')}", "line 7: .*must be a finite number"),
        (f"because: c\n  {GOOD.replace('0, null', '0, .inf')}", "line 7: .*must be a finite number"),
        (f"because: c\n  {GOOD.replace('0, null', 'true, null')}", "line 7: .*must be a number, not true"),
        (f"because: c\n  {GOOD.replace('0, null', '0')}", "line 7: .*must be two bounds, .low, high., not .0"),
        (f"because: '  '\n  {GOOD}", "line 6: .*because: must not be empty"),
        (f"because: c\n  {GOOD}\n  each: {{method: []}}", "line 8: .*method: must not be empty"),
        (f"because: c\n  {GOOD}\n  each: {{method: [A, B]}}", "line 8: .*method. occurs in no method"),
        (f"because: c\n  {GOOD.replace('RFF', 'Ours')}", "line 7: .*Ours is compared with itself"),
        (f"because: c\n  {GOOD}\n  stand_ins: [EEG]", "line 8: .*nothing to stand in for"),
        (f"because: c\n  {GOOD}\n  datasets: [EEG]\n  stand_ins: [EEG]", "line 9: .*EEG cannot stand in for itself"),
        (f"because: c\n  {GOOD.replace('0, null', '0, lots')}", "line 7: .*must be a number, not 'lots'"),
        (f"because: c\n  {GOOD.replace('Ours', QUOTED)}", "line 7: .*unknown placeholder 'method'"),
        (
            "because: c\n  ratio: {metric: rmse, method: Ours, baseline: RFF, within: [-1, 2]}",
            "line 7: .*the bounds of a ratio must be positive",
        ),
        (f"because: c\n  {GOOD}\n  sizes: [1d]\n  sizes_from: 2d", "line 9: .*sizes, or sizes_from"),
        ("because: c\n  slop: {}", "line 7: unknown key 'slop'; did you mean 'slope'"),
        (f"because: c\n  {GOOD}\n  datasets: [EEG, EGG]", "line 8: unknown dataset 'EGG'; did you mean 'EEG'"),
    ],
)
def test_a_wrong_claim_is_refused_with_its_line(tmp_path, line, message):
    path = tmp_path / "claims.yaml"
    path.write_text(f"# a comment\n\nclaims:\n- claim: a\n  where: b\n  {line}\n")
    with pytest.raises(ConfigError, match=message) as refused:
        load_claims(path, ["EEG", "magic04"])
    assert str(path) in str(refused.value)


def test_of_a_paper_without_datasets_a_claim_can_name_none(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(f"claims:\n- claim: a\n  where: b\n  because: c\n  datasets: [EEG]\n  {GOOD}\n")
    assert load_claims(path)[0].datasets == ["EEG"]
    with pytest.raises(ConfigError, match="line 5: unknown dataset 'EEG'; valid: none"):
        load_claims(path, [])
