"""Promises of the claims: what holds, what does not, what was not measured, and the evidence."""

import numpy as np
import pytest
import report_log as log

from rffbench.errors import ConfigError
from rffbench.report.claims import HOLDS, NOT_MEASURED, REFUTED, Claim, judge, load_claims

CONFIG = log.config(methods={"RFF": {}, "Ours": {}}, datasets=["eeg"])


def claim(**kind):
    return Claim(claim="a sentence", where="Table 1", **kind)


def measured(values, metric="accuracy", methods=None, dataset="eeg", **more):
    """Results of values[method][size][trial]."""
    rows = [(dataset, size, method, trial, {metric: value, **more})
            for method, sizes in values.items() for size, trials in sizes.items() for trial, value in enumerate(trials)]
    return log.results(rows, {**CONFIG, "methods": {label: {} for label in methods or values}})


def verdict(given, results, names=None):
    (finding,) = judge([given], results, names or {})
    return finding.verdict, finding.evidence


BASE = np.array([70.0, 71.0, 72.0, 70.5])


def greater(margin=0.0, **more):
    compare = {"metric": "accuracy", "method": "Ours", "baseline": "RFF", "relation": "greater", "margin": margin}
    return claim(compare=compare, **more)


def test_greater_is_a_paired_test_whose_trials_may_differ_widely():
    gain = BASE + np.array([0.5, 0.6, 0.4, 0.5])  # far less than trials differ among themselves
    assert verdict(greater(), measured({"RFF": {16: BASE}, "Ours": {16: gain}}))[0] == HOLDS
    assert verdict(greater(), measured({"RFF": {16: BASE}, "Ours": {16: gain[::-1]}}))[0] == REFUTED


def test_a_margin_has_to_be_exceeded_and_not_only_zero():
    results = measured({"RFF": {16: BASE}, "Ours": {16: BASE + np.array([5.1, 5.2, 5.3, 5.2])}})
    assert verdict(greater(5.0), results)[0] == HOLDS
    assert verdict(greater(5.2), results)[0] == REFUTED


def test_less_turns_the_test_and_its_margin_around():
    less = {"metric": "kernel_error", "method": "Ours", "baseline": "RFF", "relation": "less", "margin": 0.05}
    results = measured({"RFF": {16: [0.3, 0.4, 0.5]}, "Ours": {16: [0.2, 0.31, 0.4]}}, "kernel_error")
    assert verdict(claim(compare=less), results)[0] == HOLDS
    assert verdict(claim(compare=less | {"margin": 0.1}), results)[0] == REFUTED


def test_equal_needs_evidence_of_equality_and_not_a_lack_of_difference():
    def equal(spread, shift=0.0):
        test = {"metric": "accuracy", "method": "Ours", "baseline": "RFF", "relation": "equal", "margin": 0.5}
        values = {"RFF": {16: BASE}, "Ours": {16: BASE + shift + spread * np.array([1, -1, 0.9, -0.9])}}
        return verdict(claim(compare=test), measured(values))[0]

    assert equal(0.1) == HOLDS
    assert equal(3.0) == REFUTED
    assert equal(0.1, shift=1.0) == equal(0.1, shift=-1.0) == REFUTED


def test_a_claim_has_to_hold_at_every_one_of_its_sizes_that_is_measured():
    gain = np.array([1, 1.1, 1, 1.2])
    values = {"RFF": {16: BASE, 32: BASE}, "Ours": {16: BASE + gain, 32: BASE - gain}}
    assert verdict(greater(sizes=[16]), measured(values))[0] == HOLDS
    judged, evidence = verdict(greater(), measured(values))
    assert judged == REFUTED
    assert "at 1 of 2 sizes" in evidence
    judged, evidence = verdict(greater(sizes=[16, 64, 128]), measured(values))
    assert judged == HOLDS
    assert "2 of its 3 sizes not measured" in evidence


def test_the_evidence_has_difference_interval_p_and_the_number_of_trials():
    evidence = verdict(greater(), measured({"RFF": {16: BASE}, "Ours": {16: BASE + np.array([1, 2, 3, 2])}}))[1]
    assert evidence == "difference (95 %; paired t, 4 trials): 16 +2 (+0.701 to +3.3; p 0.0081)"


def ratio(within, **more):
    test = {"metric": "feature_s", "method": "Ours", "baseline": "RFF", "within": within}
    return claim(ratio=test | {key: more.pop(key) for key in ("metric", "baseline_size") if key in more}, **more)


def test_a_ratio_is_a_geometric_mean_over_trials_within_bounds_of_which_one_may_be_open():
    results = measured({"RFF": {16: [1.0, 1.0]}, "Ours": {16: [1.0, 4.0]}}, "feature_s")  # geometric mean 2
    bounds = (([None, 2.01], HOLDS), ([None, 1.99], REFUTED), ([1.99, None], HOLDS), ([1.0, 1.5], REFUTED))
    for within, expected in bounds:
        assert verdict(ratio(within), results)[0] == expected
    assert "16 2 (" in verdict(ratio([None, 2.01]), results)[1]


def test_seconds_taken_while_others_used_the_processors_are_no_evidence():
    results = measured({"RFF": {16: [1.0, 1.0]}, "Ours": {16: [1.0, 1.0]}}, "feature_s", contended=True)
    assert verdict(ratio([None, 2]), results) == (
        NOT_MEASURED, "all seconds were taken while other work used the processors")
    memory = measured({"RFF": {16: [1.0]}, "Ours": {16: [1.0]}}, "peak_memory_bytes", contended=True)
    assert verdict(ratio([None, 2], metric="peak_memory_bytes"), memory)[0] == HOLDS


def test_a_ratio_can_be_taken_to_a_baseline_several_times_larger():
    results = measured({"RFF": {16: [9.0], 64: [1.0]}, "Ours": {16: [1.0]}}, "feature_s")
    assert verdict(ratio([0.9, 1.1], baseline_size=4), results)[0] == HOLDS
    assert verdict(ratio([0.9, 1.1]), results)[0] == REFUTED


def test_methods_with_sizes_of_their_own_are_compared_at_their_largest():
    results = measured({"RFF": {100: [8.0], 1000: [4.0]}, "Ours": {7: [2.0]}}, "model_size")
    assert verdict(ratio([0.5, 0.5], metric="model_size"), results)[0] == HOLDS


@pytest.mark.parametrize(("power", "expected"), [(-0.5, HOLDS), (-1.0, REFUTED), (-0.3, REFUTED)])
def test_a_slope_is_the_power_of_the_size(power, expected):
    slope = claim(slope={"metric": "sup_error", "method": "RFF", "within": [-0.6, -0.4]})
    scales = [1.0, 3.0, 0.5]  # trials on different levels: the slope is within a trial
    results = measured({"RFF": {m: [c * m**power for c in scales] for m in (16, 64, 256, 1024)}}, "sup_error")
    judged, evidence = verdict(slope, results)
    assert judged == expected
    assert f"exponent {power:.3f} ({power:.3f} to {power:.3f}) over 4 sizes, 16 to 1024, 3 trials" in evidence


def test_a_slope_of_two_sizes_is_not_measured():
    slope = claim(slope={"metric": "sup_error", "method": "RFF", "within": [-0.6, -0.4]})
    assert verdict(slope, measured({"RFF": {16: [1.0], 64: [0.5]}}, "sup_error"))[0] == NOT_MEASURED


def test_only_what_runs_on_a_dataset_counts_there():
    rows = [(dataset, 16, method, trial, {"accuracy": value})
            for dataset, base, ours in (("eeg", "RFF", "Ours (a=1)"), ("magic04", "RFF (b=2)", "Ours (b=2; a=1)"))
            for method, shift in ((base, 0.0), (ours, 1.0)) for trial, value in enumerate(BASE + shift)]
    methods = {"RFF": {"datasets": ["eeg"]}, "Ours (a=1)": {"datasets": ["eeg"]},
               "RFF (b=2)": {"datasets": ["magic04"]}, "Ours (b=2; a=1)": {"datasets": ["magic04"]}}
    results = log.results(rows, log.config(methods=methods, datasets=["eeg", "magic04"]))
    findings = {finding.dataset: finding for finding in judge([greater()], results, {})}
    assert (findings["eeg"].method, findings["eeg"].baseline) == ("Ours (a=1)", "RFF")
    assert (findings["magic04"].method, findings["magic04"].baseline) == ("Ours (b=2; a=1)", "RFF (b=2)")


def test_a_claim_covers_every_variant_each_against_its_own_baseline():
    values = {"RFF": {16: BASE}, "Ours (released)": {16: BASE + np.array([1, 1.1, 1, 1.2])},
              "Ours (written)": {16: BASE - np.array([1, 1.1, 1, 1.2])}}
    findings = judge([greater()], measured(values), {})
    assert [(each.method, each.baseline, each.verdict) for each in findings] == [
        ("Ours (released)", "RFF", HOLDS), ("Ours (written)", "RFF", REFUTED)]
    both = measured({**values, "RFF (written)": {16: BASE - 5}})
    assert judge([greater()], both, {})[1].baseline == "RFF (written)"


def test_a_claim_can_stand_for_one_of_each_kernel():
    given = Claim(claim="smaller with the {kernel} kernel", where="Table 1", each={"kernel": ["gaussian", "laplacian"]},
                  ratio={"metric": "model_size", "method": "Sparse-RF {kernel}", "baseline": "RF {kernel}",
                         "within": [None, 0.5]})
    values = {f"{method} {kernel}": {10: [size]} for kernel, sizes in (("gaussian", (1, 9)), ("laplacian", (8, 9)))
              for method, size in zip(("Sparse-RF", "RF"), sizes, strict=True)}
    findings = judge([given], measured(values, "model_size"), {})
    assert [(each.claim, each.verdict) for each in findings] == [
        ("smaller with the gaussian kernel", HOLDS), ("smaller with the laplacian kernel", REFUTED)]


def test_datasets_go_by_the_papers_names_whichever_card_measured_them():
    results = measured({"RFF": {16: BASE}, "Ours": {16: BASE + np.array([1, 2, 3, 2])}}, dataset="cod-rna-paper")
    names = {"cod-rna": "cod-RNA", "cod-rna-paper": "cod-RNA"}
    findings = judge([greater(datasets=["cod-RNA", "EEG"])], results, names)
    assert [(each.dataset, each.verdict) for each in findings] == [("cod-rna-paper", HOLDS), ("EEG", NOT_MEASURED)]


@pytest.mark.parametrize(("given", "reason"), [
    (greater(datasets=["mars"]), "no trial on mars"),
    (claim(slope={"metric": "sup_error", "method": "QMC", "within": [None, 0]}), "no method QMC in this experiment"),
    (greater(sizes=["16d"]), "no trial of both methods at 16d"),
    (ratio([None, 1]), "no trial has feature time (s)"),
])
def test_what_was_not_measured_says_what_is_missing(given, reason):
    assert verdict(given, measured({"RFF": {16: BASE}, "Ours": {16: BASE}})) == (NOT_MEASURED, reason)


def test_one_trial_is_no_test():
    judged, evidence = verdict(greater(), measured({"RFF": {16: [70.0]}, "Ours": {16: [75.0]}}))
    assert (judged, evidence) == (NOT_MEASURED, "a paired test needs two trials of both methods")


@pytest.mark.parametrize(("text", "message"), [
    ("claims:\n- {claim: a, where: b}\n", "line 2: .*one of compare, ratio and slope"),
    ("claims:\n- {claim: a, where: b, slope: {metric: speed, method: RFF, within: [0, 1]}}\n", "'speed' is no metric"),
    ("claims:\n- {claim: a, where: b, slop: {}}\n", "line 2: unknown key 'slop'"),
])
def test_a_wrong_claim_is_refused_with_its_line(tmp_path, text, message):
    (tmp_path / "claims.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_claims(tmp_path / "claims.yaml")
