"""The second edition of the board: its questions, from rows that are made up and answers that are found otherwise."""

import re
from itertools import product
from pathlib import Path
from statistics import mean, median
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from rffbench import load
from rffbench.stats import Reference
from studies import pages
from studies.board import choosing, landmark_costs, learners, rare, second, units
from studies.board.choosing import ALL, CHOICES, KERNELS, MAPS
from studies.board.registered import CONFIRMATORY
from tests.helpers.places import results_of

METHODS = list(dict.fromkeys(name for among in CHOICES.values() for name in among))
CLASSES, NUMBERS = ["eeg", "magic04", "phoneme"], ["kin8nm", "pol"]
RARE = ["RFF", "SORF", "QMC", "Nyström", "Laplacian RFF", "Laplacian Nyström"]


def row(dataset, method, trial, error, cv=np.nan, columns=512, **more):
    score = {"rmse": error} if dataset in NUMBERS else {"accuracy": 100 * (1 - error)}
    return {"dataset": dataset, "n_features": columns, "method": method, "trial": trial, "status": "ok",
            "cv_error": cv, **score, **more}  # fmt: skip


def drawn(datasets=(*CLASSES, *NUMBERS), methods=METHODS, trials=3, seed=0, columns=512):
    """Errors and cross-validation errors that know little of each other."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame([
        row(dataset, method, trial, *rng.uniform(0.1, 0.4, 2), columns, contended=bool(trial), bandwidth_s=1.0 + trial,
            train_s=0.5, times_median=float(rng.choice([0.5, 1.0])))
        for dataset, method, trial in product(datasets, methods, range(trials))
    ])  # fmt: skip


def said_of(ratios):
    return {(each.of, each.over, each.task): each for each in ratios}


# ---- 1. A choice -----------------------------------------------------------------------------------------------------


def test_a_choice_s_ratio_is_the_median_over_datasets_of_means_over_trials():
    trials = drawn()
    found = said_of(choosing.choices(choosing.measured(trials)))

    def expected(of, over, datasets):
        def error(among, dataset, trial):
            here = trials[(trials["dataset"] == dataset) & (trials["trial"] == trial)]
            best = min(
                (each for each in here.to_dict("records") if each["method"] in among), key=lambda e: e["cv_error"]
            )
            return best["rmse"] if dataset in NUMBERS else 1 - best["accuracy"] / 100

        return median(mean(error(of, name, at) / error(over, name, at) for at in range(3)) for name in datasets)

    for task, datasets in (("classification", CLASSES), ("regression", NUMBERS)):
        for of, over in ((ALL, "RFF"), (KERNELS, "RFF"), (MAPS, "RFF"), (ALL, KERNELS), (ALL, MAPS)):
            others = CHOICES.get(over, ("RFF",))
            assert found[of, over, task].median == pytest.approx(expected(CHOICES[of], others, datasets))
            assert found[of, over, task].datasets == len(datasets)


def test_the_scale_of_a_dataset_s_errors_changes_no_ratio():
    rows = choosing.measured(drawn())
    larger = rows.assign(error=rows["error"] * np.where(rows["dataset"] == "pol", 7.0, 1.0))
    for one, other in zip(choosing.choices(rows), choosing.choices(larger), strict=True):
        assert (one.median, one.low, one.high) == pytest.approx((other.median, other.low, other.high))


def test_which_of_two_equally_good_methods_has_which_name_changes_nothing():
    trials = drawn()
    tied = trials["method"].isin(["Matérn RFF", "polynomial Maclaurin"])
    trials.loc[tied, "cv_error"] = 0.01
    names = {"Matérn RFF": "polynomial Maclaurin", "polynomial Maclaurin": "Matérn RFF"}
    exchanged = trials.assign(method=trials["method"].replace(names))
    found, other = (choosing.choices(choosing.measured(each)) for each in (trials, exchanged))
    assert found == other
    both = trials[tied & (trials["dataset"] == "eeg") & (trials["trial"] == 0)]
    error = choosing.chosen(choosing.measured(trials), CHOICES[ALL])["eeg", "classification", 0]
    assert error == pytest.approx(1 - both["accuracy"].mean() / 100)


def test_a_dataset_with_one_trial_counts_as_much_as_one_with_many():
    rows = [row("eeg", "RFF", 0, 0.2), row("eeg", "SORF", 0, 0.1)]
    rows += [row("magic04", name, trial, error) for trial in range(9) for name, error in (("RFF", 0.2), ("SORF", 0.2))]
    rows += [row("phoneme", "RFF", 0, 0.2), row("phoneme", "SORF", 0, 0.14)]
    [found] = choosing.by_task(choosing.ratios(choosing.measured(pd.DataFrame(rows)), ["SORF"]), "SORF", "RFF")
    assert (found.datasets, found.median) == (3, pytest.approx(0.7))


def test_a_failed_baseline_has_the_worst_error_of_its_split_too():
    rows = [row("eeg", "RFF", 0, np.nan, status="error"), row("eeg", "SORF", 0, 0.1, 0.1)]
    rows += [row("eeg", "QMC", 0, 0.3, 0.2), row("magic04", "QMC", 0, 0.9, 0.2)]
    found = choosing.ratios(choosing.measured(pd.DataFrame(rows)), ["SORF", "QMC"])
    assert found["ratio"].tolist() == pytest.approx([1 / 3])


def test_errors_that_are_exchanged_turn_an_answer_round():
    trials = drawn(CLASSES)
    best = trials["method"] == "Laplacian Nyström"
    trials["accuracy"], trials["cv_error"] = np.where(best, 90.0, 80.0), np.where(best, 0.1, 0.5)
    exchanged = trials.assign(accuracy=np.where(best, 80.0, 90.0))
    answers = [choosing.answers(choosing.measured(each)) for each in (trials, exchanged)]
    assert answers == [{"classification": "confirmed"}, {"classification": "refuted"}]
    assert second.beside_fourier(choosing.measured(trials)) == "50 % less test error than RFF in classifications"
    assert second.beside_fourier(choosing.measured(exchanged)) == "100 % more test error than RFF in classifications"


@pytest.mark.parametrize(
    ("verdicts", "answer"),
    [
        (["less error", "less error"], "confirmed"),
        (["less error", "undecided"], "undecided"),
        (["undecided", "same"], "refuted"),
        (["less error", "more error"], "refuted"),
        (["less error", "–"], "undecided"),
    ],
)
def test_a_hypothesis_is_refuted_by_one_verdict_and_confirmed_by_all(verdicts, answer):
    assert choosing.answered([(each, "less error") for each in verdicts]) == answer


def test_a_wrong_choice_costs_its_error_over_the_least_on_the_test_rows():
    trials = drawn(["kin8nm"], trials=2)
    trials["rmse"] = 1.0
    trials.loc[trials["method"] == "arc-cosine Nyström", ["rmse", "cv_error"]] = (0.5, 0.9)  # the best, never chosen
    trials.loc[trials["method"] == "SORF", ["rmse", "cv_error"]] = (0.1, 0.01)  # is not among the ten
    assert choosing.wrong_choices(choosing.measured(trials)).rows == [["regression", "1", "2.000", "2.000 to 2.000"]]


@pytest.mark.slow
def test_rows_of_the_first_edition_give_what_the_registration_has_seen():
    board, kernels = (load(results_of(name)).trials.query("n_features == 512") for name in ("board", "board-kernels"))
    maps = board[board["method"].isin(["SORF", "QMC", "quadrature"])]
    found = said_of(choosing.choices(choosing.measured(pd.concat([kernels, maps], ignore_index=True))))
    text = (Path(__file__).parents[3] / "docs/board/questions-2.md").read_text()
    seen = [float(each) for each in re.findall(r"\.\d{3}", text[text.index("**Seen before** (seed 31)") :])][:6]
    tasks = ("classification", "regression")
    assert [round(found[of, "RFF", task].median, 3) for of in CHOICES for task in tasks] == seen


# ---- 2. Learners without a map ---------------------------------------------------------------------------------------


def test_a_learner_that_failed_has_the_worst_error_of_both_configs_on_its_split():
    choice = pd.DataFrame([row("eeg", "RFF", 0, 0.2, 0.1), row("eeg", "SORF", 0, 0.4, 0.1)])
    choice = pd.concat([choice, pd.DataFrame([row("eeg", "SORF", 0, 0.9, 0.1, columns=128)])])
    others = [row("eeg", "boosted trees", 0, np.nan, columns=1, status="oom"), row("eeg", "linear", 0, 0.6, columns=1)]
    for of_learners, worst in ((others, 0.6), (others[:1], 0.4)):
        rows = learners.rows_of(choice, pd.DataFrame(of_learners))
        assert choosing.ratios(rows, ("boosted trees",))["ratio"].tolist() == pytest.approx([worst / 0.2])


def of_learners(error_of, datasets=(*CLASSES, *NUMBERS)):
    """Rows in which every map has the error .2, and each learner its own."""
    choice = drawn(datasets)
    choice["accuracy"] = np.where(choice["dataset"].isin(NUMBERS), np.nan, 80.0)
    choice["rmse"] = np.where(choice["dataset"].isin(NUMBERS), 0.2, np.nan)
    rows = [row(*each, error_of[each[1]], columns=1) for each in product(datasets, error_of, range(3))]
    return learners.rows_of(choice, pd.DataFrame(rows))


def test_the_hypotheses_on_learners_are_judged_by_their_verdicts():
    rows = of_learners({"boosted trees": 0.1, "linear": 0.3, "kernel ridge": 0.2})
    found = {(each["hypothesis"][:3], each["task"]): each["answer"] for each in learners.answers(rows, 0).records()}
    assert found == {
        ("(a)", "regression"): "confirmed", ("(a)", "classification"): "refuted",
        ("(b)", "classification"): "confirmed", ("(b)", "regression"): "confirmed",
        ("(c)", "classification"): "refuted", ("(c)", "regression"): "refuted",
    }  # fmt: skip


def test_kernel_ridge_at_the_ends_of_its_grid_refutes_whatever_its_error():
    rows = of_learners({"boosted trees": 0.2, "linear": 0.2, "kernel ridge": 0.2})
    rows.loc[rows["method"] == "RFF", "error"] = 0.4  # less than RFF, the same as all
    rows.loc[rows["method"] == "RFF", "cv"] = 9.0
    answers = [learners.answers(rows, share).rows[-1][-1] for share in (0, 0.05, 0.051)]
    assert answers == ["confirmed", "confirmed", "refuted"]


def results_like(trials, solvers=None, grid=(0.25, 0.5, 1.0, 2.0)):
    """Results as far as the study asks for them."""
    usual = {"name": "ridge", "lambda": [0.1, 1.0, 10.0], "folds": 5, "center": True}
    return SimpleNamespace(
        trials=trials,
        setting=lambda name, method: (solvers or {}).get(method, usual),
        tuned=lambda method: (
            {} if "arc" in method or method in ("linear", "boosted trees") else {"times_median": [*grid]}
        ),
    )


TREES = {"name": "gradient-boosting", "trees": 500, "learning_rate": [0.1, 0.05], "leaves": [7, 15, 31], "folds": 4}


def test_fits_are_folds_times_all_values_or_what_rows_say():
    trials = drawn(["eeg"], ["linear", "RFF", "boosted trees"], columns=1)
    results = results_like(trials, {"boosted trees": TREES})
    fits = {name: learners.fits_of_choice(results, name) for name in ("linear", "RFF", "boosted trees")}
    assert fits == {"linear": 15, "RFF": 60, "boosted trees": 24}
    said = results_like(trials.assign(choice_fits=48.0), {"boosted trees": TREES})
    assert learners.fits_of_choice(said, "boosted trees") == 48


def test_choices_at_either_end_of_the_grid_are_counted():
    trials = drawn(["eeg", "pol"], ["kernel ridge", "RFF"], trials=5, columns=1).assign(times_median=0.5)
    trials.loc[trials["method"] == "RFF", "times_median"] = 0.25
    ends = trials[trials["method"] == "kernel ridge"].index[:3]
    trials.loc[ends, "times_median"] = [0.25, 2.0, 1.0]
    trials.loc[ends[0] + 1, "status"] = "error"
    assert learners.at_ends(results_like(trials)) == ((1, 9) if ends[0] + 1 in ends else (2, 9))


def test_seconds_that_other_work_disturbed_do_not_count():
    trials = drawn(["eeg", "pol"], METHODS[:2], trials=2)
    found = learners.seconds(trials, METHODS[:2]).set_index(["dataset", "trial"])
    assert found.loc[("eeg", 0), ["choice", "fit"]].tolist() == [2.0, 1.0]  # of both methods together
    assert found.loc[("eeg", 1), ["choice", "fit"]].isna().all()
    assert found["task"].to_dict()["pol", 0] == "regression"


# ---- 3. Rare classes -------------------------------------------------------------------------------------------------


def of_rare(errors, trials=1, columns=512):
    """Trials from {dataset: {method: (balanced error, 1 − AUC, 1 − average precision)}}."""
    return pd.DataFrame([
        {"dataset": dataset, "method": method, "trial": trial, "status": "ok", "cv_error": 0.1,
         "n_features": 1 if method in ("linear", "boosted trees") else columns,
         "balanced_accuracy": 100 * (1 - balanced), "auc": 1 - area, "average_precision": 1 - precision}
        for dataset, of_method in errors.items() for method, (balanced, area, precision) in of_method.items()
        for trial in range(trials)
    ])  # fmt: skip


def random_rare(datasets=("w8a", "ijcnn1", "satimage-rare"), seed=0):
    rng = np.random.default_rng(seed)
    return {name: {method: tuple(rng.uniform(0.1, 0.5, 3)) for method in (*RARE, "linear", "boosted trees")}
            for name in datasets}  # fmt: skip


def test_orders_are_compared_over_all_eight_methods_by_spearman_s_correlation():
    errors = random_rare()
    found = rare.correlations(of_rare(errors))
    for name, of_method in errors.items():
        balanced, area, precision = zip(*of_method.values(), strict=True)
        expected = [spearmanr(balanced, other).statistic for other in (area, precision)]
        assert found.loc[name].tolist() == pytest.approx(expected)


def test_methods_that_are_alike_share_a_rank():
    errors = random_rare(["w8a"])
    errors["w8a"]["SORF"] = errors["w8a"]["QMC"] = errors["w8a"]["RFF"]
    balanced, area, _ = zip(*errors["w8a"].values(), strict=True)
    found = rare.correlations(of_rare(errors))
    assert found.loc["w8a", "1 − AUC"] == pytest.approx(spearmanr(balanced, area).statistic)


@pytest.mark.parametrize(
    ("area", "precision", "said"),
    [
        ([0.1, 0.7, 0.9], [0.7, 0.8, 0.9], "agree"),
        ([0.9, 0.9, 0.9], [0.9, 0.29, -1], "disagree"),
        ([0.9, 0.9, 0.9], [0.9, 0.3, -1], "undecided"),
        ([0.9, 0.69, 0.1], [0.9, 0.9, 0.9], "undecided"),
    ],
)
def test_measures_agree_by_the_medians_over_datasets(area, precision, said):
    assert rare.agreement(pd.DataFrame({"1 − AUC": area, "1 − average precision": precision})) == said


def test_the_least_balanced_error_with_a_tenth_more_of_the_other_error_refutes():
    like = dict.fromkeys(RARE, (0.3, 0.2, 0.4))
    found = rare.refuting(of_rare({
        "w8a": {**like, "SORF": (0.1, 0.2, 0.45)},  # a tenth more than all others
        "ijcnn1": {**like, "SORF": (0.1, 0.2, 0.43)},
        "satimage-rare": {**like, "SORF": (0.1, 0.2, 0.4), "QMC": (0.1, 0.2, 0.5)},  # two share the least
    }))  # fmt: skip
    assert {name: least for name, (least, _) in found.items()} == {"w8a": "SORF", "satimage-rare": "QMC"}


def test_the_scale_of_a_rare_class_s_errors_changes_no_order():
    errors = random_rare()
    halved = {**errors, "w8a": {name: tuple(each / 2 for each in of) for name, of in errors["w8a"].items()}}
    one, other = (of_rare(each) for each in (errors, halved))
    pd.testing.assert_frame_equal(rare.correlations(one), rare.correlations(other))
    assert rare.refuting(one) == rare.refuting(other)


def test_a_method_that_failed_has_the_worst_error_by_every_measure():
    trials = of_rare({"w8a": {"RFF": (0.2, 0.1, 0.4), "SORF": (0.3, 0.05, 0.6), "linear": (0.4, 0.2, 0.5)}})
    failed = trials["method"] == "SORF"
    trials.loc[failed, ["balanced_accuracy", "auc", "average_precision"]] = np.nan
    trials.loc[failed, "status"] = "error"
    found = {each: rare.mean_ratios(rare.measured(trials, each)).loc["w8a", "SORF"] for each in rare.MEASURES}
    assert found == pytest.approx({"balanced error": 2.0, "1 − AUC": 2.0, "1 − average precision": 1.25})


def test_learners_without_a_map_are_compared_at_either_number_of_columns():
    errors = {"w8a": {"RFF": (0.2, 0.1, 0.4), "linear": (0.4, 0.2, 0.5)}}
    wide = of_rare({"w8a": {"RFF": (0.1, 0.1, 0.4)}}, columns=2048)
    trials = pd.concat([of_rare(errors), wide], ignore_index=True)
    found = [
        rare.mean_ratios(rare.measured(trials, "balanced error", size)).loc["w8a", "linear"] for size in rare.SIZES
    ]
    assert found == pytest.approx([2.0, 4.0])


def test_a_gain_is_said_of_a_dataset_whose_interval_is_below_the_region():
    trials = of_rare({"w8a": {"RFF": (0.2, 0.1, 0.4), "Nyström": (0.1, 0.0993, 0.4)}}, trials=3)
    trials.loc[trials["method"] == "Nyström", "cv_error"] = 0.05
    cells = [rare.measure_table(trials, measure).rows for measure in rare.MEASURES]
    for at, said in enumerate(["0.50† (0.50 to 0.50)", "0.99 (0.99 to 0.99)", "1.00 (1.00 to 1.00)"]):
        assert cells[at] == [["Nyström", said], ["all", said]]  # the choice takes Nyström
    assert rare.ratio_table(trials).rows[1] == ["all", "0.50† / 0.99 / 1.00"]


# ---- 4. Units --------------------------------------------------------------------------------------------------------

KNOWN = {name: Reference(name, 0.5, 0.1, 0.001, 3) for name in (*CLASSES, *NUMBERS)}


def test_gains_and_ratios_of_the_choice_are_those_of_its_errors():
    choice = drawn()
    rows = choosing.measured(choice)
    both = units.both_units(choice, drawn(methods=["RFF", *CONFIRMATORY]), KNOWN)
    of_all = both[both["method"] == ALL].set_index("dataset")
    for name, task in (("eeg", "classification"), ("pol", "regression")):
        square = 2 if task == "regression" else 1
        own, rff = (choosing.chosen(rows, among).loc[name, task] for among in (CHOICES[ALL], ["RFF"]))
        assert of_all.loc[name, "gain"] == pytest.approx(np.mean(rff**square - own**square) / 0.4)
        assert of_all.loc[name, "ratio"] == pytest.approx(np.mean(own / rff))
    assert set(both["method"]) == {ALL, *CONFIRMATORY}


def test_a_dataset_whose_units_have_different_signs_is_named():
    first = [row(name, method, trial, 0.2) for name, method, trial in
             product(CLASSES, ["RFF", *CONFIRMATORY], range(2))]  # fmt: skip
    first = pd.DataFrame(first)
    at = first["dataset"] == "eeg"
    first.loc[at & (first["trial"] == 1), "accuracy"] = 50.0
    first.loc[at & (first["method"] == "SORF"), "accuracy"] = [75.0, 57.0]  # +.05 of .2 and −.07 of .5
    table = units.unit_table(units.both_units(drawn(CLASSES), first, KNOWN))
    named = {each["over RFF"]: each["sign differs on"] for each in table.records()}
    assert named["SORF"] == "eeg"
    assert named["QMC"] == "none"  # the same error as RFF: 0 and 1


# ---- 5. Landmarks ----------------------------------------------------------------------------------------------------

RULES = [landmark_costs.UNIFORM, *landmark_costs.RULES]


def of_landmarks(error=lambda name, size: 0.2, draw=lambda name: 1.0, datasets=range(14), trials=3):
    """Trials of every rule: the map takes a second beyond the draw, the fit two; more columns take nothing more."""
    rows = []
    for number, method, trial in product(datasets, RULES, range(trials)):
        for size in (512, 1024, 2048, *([3072] if method == landmark_costs.UNIFORM else [])):
            seconds = 1.0 + (0 if method == landmark_costs.UNIFORM else draw(method))
            here = CLASSES[0] if number is None else f"eeg-{number}"
            rows.append({
                "dataset": here, "n_features": size, "method": method, "trial": trial, "status": "ok",
                "accuracy": 100 * (1 - error(method, size)), "cv_error": 0.5, "contended": False, "feature_s": seconds,
                "fit_s": 2.0,
            })  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(autouse=True)
def _cards(monkeypatch):
    """Datasets that are called eeg-3 are classifications."""
    known = choosing.load_card
    monkeypatch.setattr(choosing, "load_card", lambda name: known("eeg" if name.startswith("eeg-") else name))


def test_a_point_costs_the_seconds_beyond_uniform_landmarks_over_the_percent_of_error_saved():
    errors = {landmark_costs.MINIBATCH: 0.15, landmark_costs.PIVOTED: 0.2, landmark_costs.LEVERAGE: 0.19}
    draws = {landmark_costs.MINIBATCH: 5.0, landmark_costs.LEVERAGE: -0.5}
    trials = of_landmarks(lambda name, size: errors.get(name, 0.2), lambda name: draws.get(name, 1.0), [0])
    found = landmark_costs.costs(landmark_costs.means(trials))
    at = found[found["n_features"] == 512].set_index("method")["cost"].to_dict()
    assert at[landmark_costs.MINIBATCH] == pytest.approx(5 / 25)  # five seconds for a quarter of the error
    assert at[landmark_costs.PIVOTED] == at[landmark_costs.MORE_COLUMNS] == float("inf")  # nothing saved
    assert at[landmark_costs.LEVERAGE] == 0  # less error, and no second more


@pytest.mark.parametrize(("draw", "said"), [(0.5, "confirmed"), (2.0, "refuted"), (1.0, "undecided")])
def test_a_rule_is_cheaper_where_it_is_on_two_thirds_of_the_datasets(draw, said):
    draws = {landmark_costs.MINIBATCH: draw}
    trials = of_landmarks(
        lambda name, size: 0.2 if name == landmark_costs.UNIFORM else 0.1, lambda name: draws.get(name, 1.0)
    )
    assert landmark_costs.answers(trials)["a"] == said


def test_ten_of_fourteen_are_too_few_and_eleven_suffice():
    few, enough = (landmark_costs.Cheaper(512, "one", "other", count, 14 - count, 14) for count in (10, 11))
    assert (few.verdict, enough.verdict) == ("undecided", "confirmed")


def test_more_columns_are_cheaper_where_they_save_more_for_their_seconds():
    def error(name, size):
        return {2048: 0.2, 3072: 0.1}.get(size, 0.3) if name == landmark_costs.UNIFORM else 0.19

    assert landmark_costs.answers(of_landmarks(error))["b"] == "confirmed"
    assert landmark_costs.answers(of_landmarks(lambda name, size: 0.1 if name != "Nyström" else 0.2))["b"] == "refuted"


@pytest.mark.parametrize(("ratio", "draw", "said"), [
    (1.0, 0.3, "confirmed"), (1.0, 0.5, "refuted"), (1.05, 0.3, "refuted"), (0.95, 0.3, "undecided"),
])  # fmt: skip
def test_our_mini_batches_are_as_good_and_three_times_as_quick(ratio, draw, said):
    ours = landmark_costs.MINIBATCH
    trials = of_landmarks(
        lambda name, size: 0.2 * (ratio if name == ours else 1), lambda name: draw if name == ours else 1.0
    )
    assert landmark_costs.answers(trials)["c"] == said


def test_seconds_that_other_work_disturbed_are_left_out():
    trials = of_landmarks()
    trials.loc[trials["trial"] == 2, ["feature_s", "contended"]] = 1e6, True
    assert landmark_costs.means(trials)["seconds"].max() == 4.0


# ---- The page --------------------------------------------------------------------------------------------------------


@pytest.fixture
def finished(monkeypatch):
    """An edition all of whose trials are in."""
    choice = drawn()
    without_map = drawn(methods=["boosted trees", "linear", "kernel ridge"], columns=1)
    errors = random_rare(["w8a", "ijcnn1", "covtype-rare", "satimage-rare", "letter-rare"])
    wide = {name: {method: each for method, each in of.items() if method in RARE} for name, of in errors.items()}
    both = pd.concat([of_rare(errors), of_rare(wide, columns=2048)], ignore_index=True)
    parts = dict(zip(second.SECOND, (choice, without_map, both, of_landmarks()), strict=True))
    monkeypatch.setattr(second, "SECOND", {name: len(each) for name, each in parts.items()})
    monkeypatch.setattr(second, "references", lambda: KNOWN)
    results = {name: results_like(each, {"boosted trees": TREES}) for name, each in parts.items()}
    return second.Edition(results, drawn(methods=["RFF", *CONFIRMATORY]))


SOURCE = Path(second.__file__).with_name("results-2.md")


def page(edition):
    names = {**pages.facts_of(SOURCE), "edition": lambda: edition}
    return pages.filled(SOURCE, SOURCE.read_text(encoding="utf-8"), names)


@pytest.mark.slow
def test_the_page_of_a_finished_edition_has_all_questions_and_is_short(finished):
    text = page(finished)
    assert re.findall(r"^## (\d)\.", text, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    assert "trials of `" not in text
    assert "Not answered yet" not in text
    assert len(text.splitlines()) <= 200  # as that of the first edition
    assert "`choice_fits`" in text


def test_a_config_that_is_not_finished_gives_no_number_but_how_far_it_is(finished):
    trials = finished.results[second.CHOICE].trials
    partly = {**finished.results, second.CHOICE: results_like(trials[trials["trial"] < 2])}
    edition = second.Edition(
        {name: each for name, each in partly.items() if name not in (second.RARE, second.LANDMARKS)}, finished.first
    )
    text = page(edition)
    assert not re.search(r"^## \d\.", text, re.MULTILINE)
    assert "- Question 1 waits for `board-choice`." in text
    assert "- Question 3 waits for `board-rare`." in text
    assert "## Not answered yet" in text
    assert not re.search(r"\d\.\d{2,3} to|less error|more error|confirmed in|refuted in", text)


def test_answers_of_two_tasks_are_one_sentence():
    assert second.said({"classification": "confirmed", "regression": "undecided"}) == (
        "Confirmed in classifications, undecided in regressions."
    )
    assert second.said(dict.fromkeys(["classification", "regression"], "refuted")) == (
        "Refuted in classifications and in regressions."
    )
