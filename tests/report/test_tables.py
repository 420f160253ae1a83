"""Promises of the summary, the significance test and the table."""

import csv
import io
import json
import lzma
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rffbench import report
from rffbench.errors import ConfigError, LeftOut, ResultsError
from rffbench.report import frame, significance, summary, table
from rffbench.report.text_table import LEAD, Table, lead
from tests.helpers import report_log as log
from tests.helpers.tables import SCORES, grid, loaded

pytestmark = pytest.mark.usefixtures("marks")


def value(results, method, metric, column, n_features=14):
    rows = summary.summarise(results)
    rows = rows[(rows["method"] == method) & (rows["metric"] == metric) & (rows["n_features"] == n_features)]
    assert len(rows) == 1
    return rows[column].iloc[0]


# ---- reading -----------------------------------------------------------------------------------------------


def test_a_row_measured_again_replaces_the_one_before(tmp_path):
    retried = log.spec(method="RFF", trial=0)
    results = loaded(tmp_path, [log.lost(retried, "timeout"), *grid(), log.ok(retried, 60.0)])
    assert value(results, "RFF", "accuracy", "mean") == pytest.approx((60 + 71 + 72) / 3)
    assert value(results, "RFF", "accuracy", "n_failed") == 0


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"solver": {"name": "ridge", "lambda": [1.0], "folds": 5}},
        {"preprocess": "standard"},
        {"kernel": {"name": "gaussian", "gamma": 1.0}},
        {"datasets": ["magic04"]},
        {"n_features": ["2d"]},
    ],
)
def test_rows_measured_under_other_settings_are_left_out(tmp_path, change):
    with pytest.raises(ResultsError, match="holds no trial of the experiment"):
        loaded(tmp_path, grid(), **change)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"methods": {**log.METHODS, "QMC": {"features": "qmc", "sequence": "sobol"}}}, 9),
        ({"methods": {"surrogate-RFF": log.METHODS["surrogate-RFF"]}}, 3),
        ({"trials": 2}, 8),
        ({"title": "another", "significance": {"level": 0.01}}, 12),
    ],
)
def test_rows_the_config_no_longer_asks_for_are_left_out(tmp_path, change, left):
    assert len(loaded(tmp_path, grid(), **change).trials) == left


def test_rows_of_an_older_card_do_not_mix_with_those_of_the_new_one(tmp_path):
    new = {method: values[:2] for method, values in SCORES.items()}
    results = loaded(tmp_path, [*grid(), *grid(new, data_hash="1" * 64)])
    assert value(results, "RFF", "accuracy", "n_ok") == 2


def test_everything_is_in_the_order_of_the_config_and_of_size(tmp_path):
    rows = [row for multiple in (16, 2) for name in ("eeg", "cpu") for row in grid(dataset=name, multiple=multiple)]
    results = loaded(tmp_path, rows, datasets=["eeg", "cpu"], n_features=["16d", "2d"])
    assert [(row["dataset"], row["s"]) for row in table.make_table(results).records()] == [
        ("eeg", "2d"),
        ("eeg", "16d"),
        ("cpu", "2d"),
        ("cpu", "16d"),
    ]
    assert results.methods == list(log.METHODS)


def test_sizes_per_dataset_and_trials_per_size_are_understood(tmp_path):
    rows = [*grid(multiple=1), *grid(multiple=2), *grid(n_features=100, multiple=None)]
    results = loaded(
        tmp_path, rows, n_features={"default": ["4d"], "eeg": ["1d", "2d", 100]}, trials={"default": 3, "2d": 1, 100: 2}
    )
    assert [value(results, "RFF", "accuracy", "n_ok", size) for size in (14, 28, 100)] == [3, 1, 2]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "config.yaml").unlink(), "config.yaml: cannot be read"),
        (lambda folder: (folder / "config.yaml").write_text("a: [1"), "config.yaml, line 1: a bracket"),
        (lambda folder: (folder / "config.yaml").write_text("- 1"), "config.yaml: not an experiment"),
        (lambda folder: (folder / "trials.jsonl").unlink(), "trials.jsonl: holds no trial"),
        (lambda folder: (folder / "trials.jsonl").write_text("{}\n{}\n"), "trials.jsonl, line 1"),
    ],
)
def test_unreadable_results_are_refused_with_the_file_that_is_wrong(tmp_path, spoil, message):
    folder = log.write(tmp_path / "run", log.config(), grid())
    spoil(folder)
    with pytest.raises(ResultsError, match=message):
        frame.load_results(folder)


def test_what_cannot_be_read_of_a_log_is_named_and_the_rest_is_reported(tmp_path):
    rows = grid()
    rows[4]["metrics"]["accuracy"] = "high"
    rows[7]["timing"]["feature_s"] = "soon"
    rows[10]["curves"] = {"time": [1.0, 2.0], "objective": [1.0]}
    folder = log.write(tmp_path / "run", log.config(), rows)
    (folder / "trials.jsonl.xz").write_bytes(b"not xz")
    with pytest.warns(LeftOut) as warned:
        report.redraw(folder)
    told = [str(each.message).partition("trials.jsonl")[2].partition(" must")[0] for each in warned]
    assert told[:3] == [
        ".xz: damaged, it cannot be unpacked beyond line 0 (it ends too early)",
        ", line 5: QMC: metrics: 'accuracy'",
        ", line 8: leverage-RFF: timing: 'feature_s'",
    ]
    assert told[3].startswith(", line 11: surrogate-RFF: curves")
    written = pd.read_csv(folder / "summary.csv")
    assert dict(written[written["metric"] == "accuracy"].set_index("method")["n_ok"]) == {
        "RFF": 3, "QMC": 2, "leverage-RFF": 2, "surrogate-RFF": 2,
    }  # fmt: skip


def test_of_many_lines_that_cannot_be_read_a_few_are_named_and_the_rest_counted(tmp_path):
    folder = log.write(tmp_path / "run", log.config(), [{}] * 20 + grid())
    with pytest.warns(LeftOut) as warned:
        frame.load_results(folder)
    assert len(warned) == frame.MOST_NAMED + 1
    assert str(warned[-1].message) == "left out: 15 more lines of that log"


def test_a_torn_last_line_is_passed_over(tmp_path):
    folder = log.write(tmp_path / "run", log.config(), grid())
    with (folder / "trials.jsonl").open("a") as file:
        file.write(json.dumps(grid()[0])[:100])
    assert len(frame.load_results(folder).trials) == 12


def test_results_with_a_compressed_log_are_found_and_read(tmp_path):
    folder = log.write(tmp_path / "run", log.config(), grid())
    (folder / "trials.jsonl.xz").write_bytes(lzma.compress((folder / "trials.jsonl").read_bytes()))
    (folder / "trials.jsonl").unlink()
    assert report.experiment_folders(tmp_path) == [folder]
    assert report.experiment_folders(folder) == [folder]
    assert len(frame.load_results(folder).trials) == 12


def test_a_folder_or_a_folder_of_folders_is_found_and_those_moved_aside_are_not(tmp_path):
    for name in ("b", "a", "a.old-20260101T000000"):
        log.write(tmp_path / name, log.config(), grid())
    (tmp_path / "empty").mkdir()
    assert report.experiment_folders(tmp_path) == [tmp_path / "a", tmp_path / "b"]
    assert report.experiment_folders(tmp_path / "a") == [tmp_path / "a"]
    for wrong in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(ResultsError, match=str(wrong)):
            report.experiment_folders(wrong)


# ---- summary -----------------------------------------------------------------------------------------------


def test_the_training_time_is_that_to_map_the_rows_and_to_learn(tmp_path):
    results = loaded(tmp_path, [log.ok(log.spec(), 70.0, feature_s=0.5)])
    assert results.trials["train_s"].tolist() == [pytest.approx(0.5 + 0.2)]


def test_summary_csv_has_the_fixed_columns_and_the_sample_deviation(tmp_path):
    results = loaded(tmp_path, grid())
    text = summary.summary_csv([({}, results)], [summary.summarise(results)])
    written = pd.read_csv(io.StringIO(text))
    assert list(written) == [
        "dataset",
        "n_features",
        "multiple",
        "method",
        "metric",
        "mean",
        "std",
        "n_ok",
        "n_failed",
        "significant",
    ]
    row = written[(written["method"] == "surrogate-RFF") & (written["metric"] == "accuracy")].iloc[0]
    assert (row["n_features"], row["multiple"], row["n_ok"], row["n_failed"]) == (14, 1, 3, 0)
    assert row["mean"] == pytest.approx(np.mean(SCORES["surrogate-RFF"]), rel=1e-12)
    assert row["std"] == pytest.approx(np.std(SCORES["surrogate-RFF"], ddof=1), rel=1e-12)
    assert set(written["metric"]) == {
        "accuracy",
        "kernel_error",
        "train_s",
        "feature_s",
        "fit_s",
        "predict_s",
        "peak_memory_bytes",
        "lambda",
    }


def test_a_single_trial_has_a_mean_and_no_deviation_and_is_never_significant(tmp_path):
    results = loaded(tmp_path, grid({method: values[:1] for method, values in SCORES.items()}), trials=1)
    assert value(results, "surrogate-RFF", "accuracy", "mean") == 75.0
    assert math.isnan(value(results, "surrogate-RFF", "accuracy", "std"))
    assert value(results, "surrogate-RFF", "accuracy", "significant") == 0
    assert table.make_table(results).records()[0]["surrogate-RFF"] == "75.00 (0.50)"


def test_seconds_of_trials_that_shared_the_machine_are_not_beside_scores_but_can_be_asked_for(tmp_path):
    rows = [
        log.ok(log.spec(method=method, trial=trial, timing="shared"), score)
        for method, scores in SCORES.items() for trial, score in enumerate(scores)
    ]  # fmt: skip
    results = loaded(tmp_path, rows, timing="shared")
    made = table.make_table(results)
    assert not any("(" in cell for row in made.rows for cell in row)
    assert made.notes[-1] == table.NOT_TIMED
    assert "0.50" in table.make_table(results, table.Shown(metric="time")).records()[0]["RFF"]


def test_failed_trials_are_counted_and_their_numbers_are_not(tmp_path):
    failed = log.lost(log.spec(method="RFF", trial=1), "timeout")
    failed["peak_memory_bytes"] = 10**12
    results = loaded(tmp_path, [*grid(), failed])
    assert value(results, "RFF", "accuracy", "mean") == 71.0
    assert value(results, "RFF", "accuracy", "n_ok") == 2
    assert value(results, "RFF", "accuracy", "n_failed") == 1
    assert value(results, "RFF", "peak_memory_bytes", "mean") == 10**9


# ---- significance ------------------------------------------------------------------------------------------


def test_the_p_value_is_the_paired_t_tests_by_its_formula():
    rng = np.random.default_rng(0)
    candidate, baseline = pd.Series(rng.normal(1, 1, 10)), pd.Series(rng.normal(0, 1, 10))
    difference = candidate - baseline
    t = difference.mean() / (difference.std(ddof=1) / math.sqrt(10))
    assert significance.paired_p_value(candidate, baseline, "greater") == pytest.approx(stats.t.sf(t, 9))
    assert significance.paired_p_value(candidate, baseline, "less") == pytest.approx(stats.t.cdf(t, 9))


def test_trials_are_paired_by_their_index_where_one_is_missing():
    candidate = pd.Series([80.0, 71.1, 90.2, 61.0], index=[3, 1, 4, 0])
    baseline = pd.Series([60.0, 70.0, 50.0, 79.5], index=[0, 1, 2, 3])
    expected = stats.ttest_rel([61.0, 71.1, 80.0], [60.0, 70.0, 79.5], alternative="greater").pvalue
    assert significance.paired_p_value(candidate, baseline, "greater") == pytest.approx(expected)


@pytest.mark.parametrize(("gain", "p"), [(0.0, 1.0), (0.1, 0.0), (-0.1, 1.0)])
def test_constant_differences_have_a_p_value_and_no_warning(gain, p):
    baseline = pd.Series([70.1, 80.3, 90.7])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert significance.paired_p_value(baseline + gain, baseline, "greater") == p
        assert significance.paired_p_value(baseline - gain, baseline, "less") == p


def test_a_comparison_of_fewer_than_two_pairs_has_no_p_value():
    assert math.isnan(significance.paired_p_value(pd.Series([1.0]), pd.Series([0.0]), "greater"))


def test_significant_is_better_than_every_baseline_and_not_than_one(tmp_path):
    ahead_of_one = {**SCORES, "leverage-RFF": [70.9, 71.8, 72.9], "QMC": [73.0, 74.0, 75.5]}
    results = loaded(tmp_path, grid(ahead_of_one), significance={"baselines": ["RFF", "QMC"], "level": 0.05})
    assert value(results, "leverage-RFF", "accuracy", "significant") == 0
    assert value(results, "surrogate-RFF", "accuracy", "significant") == 1
    alone = loaded(tmp_path / "alone", grid(ahead_of_one), significance={"baselines": ["RFF"], "level": 0.05})
    assert value(alone, "leverage-RFF", "accuracy", "significant") == 1
    assert value(alone, "RFF", "accuracy", "significant") == 0


@pytest.mark.parametrize(("p", "expected"), [(0.049, 1), (0.051, 0), (0.09, 0)])
def test_the_level_is_5_percent_where_a_config_says_none(tmp_path, p, expected):
    spread = np.array([1.0, -1.0, 0.5, -0.5])
    scores = {"RFF": 80 * np.ones(4), "surrogate-RFF": 80 + stats.t.isf(p, 3) * spread.std(ddof=1) / 2 + spread}
    rows = [
        log.ok(log.spec(method=method, trial=trial), value)
        for method, values in scores.items() for trial, value in enumerate(values)
    ]  # fmt: skip
    methods = {label: log.METHODS[label] for label in scores}
    assert (
        value(loaded(tmp_path, rows, methods=methods, trials=4), "surrogate-RFF", "accuracy", "significant") == expected
    )


def test_a_baseline_without_trials_leaves_nothing_significant(tmp_path):
    rows = [row for row in grid() if row["method"] != "QMC"]
    rows += [log.lost(log.spec(method="QMC", trial=trial), "killed") for trial in range(3)]
    assert value(loaded(tmp_path, rows), "surrogate-RFF", "accuracy", "significant") == 0


def test_a_smaller_error_is_the_better_one(tmp_path):
    rows = [
        log.ok(log.spec(method=method, trial=trial), score / 1000, metric="rmse")
        for method, scores in SCORES.items()
        for trial, score in enumerate(scores)
    ]
    results = loaded(tmp_path, rows, significance={"baselines": ["surrogate-RFF"], "level": 0.05})
    assert value(results, "RFF", "rmse", "significant") == 1
    assert results.score("eeg").name == "rmse"


def ours_against_both():
    against = (SCORES["RFF"], SCORES["QMC"])
    p_values = [stats.ttest_rel(SCORES["surrogate-RFF"], scores, alternative="greater").pvalue for scores in against]
    return float(max(p_values))


def test_the_level_is_the_configs(tmp_path):
    p = ours_against_both()
    for level, expected in ((p * 1.01, 1), (p * 0.99, 0)):
        results = loaded(tmp_path / str(level), grid(), significance={"level": level})
        assert value(results, "surrogate-RFF", "accuracy", "significant") == expected


def test_holms_adjusted_p_values_are_the_published_procedures():
    assert significance.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert significance.holm([0.9, 0.8]) == [1.0, 1.0]
    assert significance.holm([]) == []


def test_holms_p_values_are_those_of_the_formula_and_leave_out_comparisons_that_were_not_made():
    p = np.random.default_rng(0).choice([0.001, 0.004, 0.01, 0.02, 0.04, 0.3, 0.8, np.nan], 50)
    made = ~np.isnan(p)
    ranked = sorted(p[made])
    adjusted = [min(1.0, max((len(ranked) - j) * ranked[j] for j in range(i + 1))) for i in range(len(ranked))]
    found = np.array(significance.holm(p))
    assert sorted(found[made]) == adjusted
    assert [adjusted[ranked.index(each)] for each in p[made]] == found[made].tolist()  # ties have one value
    assert np.isnan(found[~made]).all()
    assert math.isnan(*significance.holm([math.nan]))


def test_holms_family_is_all_methods_and_sizes_of_a_dataset(tmp_path):
    p = ours_against_both()
    level = 3.5 * p  # the smallest of a size's 2 p-values counts twice; of both sizes' 4, four times
    for sizes, expected in ((["1d"], 1), (["1d", "2d"], 0)):
        rows = [row for size in sizes for row in grid(multiple=int(size[0]))]
        results = loaded(
            tmp_path / str(len(sizes)), rows, n_features=sizes, significance={"level": level, "correction": "holm"}
        )
        assert value(results, "surrogate-RFF", "accuracy", "significant") == expected


# ---- table -------------------------------------------------------------------------------------------------


def small_table(tmp_path, marks):
    marks["eeg"] = "tested on a_part & no more"
    rows = grid()
    rows = [row for row in rows if row["method"] not in ("QMC", "leverage-RFF")]
    rows += [
        log.lost(log.spec(method="QMC", trial=trial), status)
        for trial, status in enumerate(["timeout", "timeout", "killed"])
    ]
    rows += [
        log.ok(log.spec(method="leverage-RFF", trial=0), 69.0, feature_s=13.26, contended=True),
        log.ok(log.spec(method="leverage-RFF", trial=1), 70.0, feature_s=13.34),
        log.lost(log.spec(method="leverage-RFF", trial=2), "out-of-memory"),
    ]
    rows += [
        log.ok(log.spec(method="surrogate-RFF", multiple=2, trial=trial), 75.0, feature_s=0.0123) for trial in range(3)
    ]
    return loaded(tmp_path, rows, n_features=["1d", "2d"], significance={"baselines": ["RFF"]})


def test_the_tables_cells_say_score_time_significance_and_what_is_missing(tmp_path, marks):
    written = table.make_table(small_table(tmp_path, marks))
    assert written.header == [*LEAD, "RFF", "QMC", "leverage-RFF", "surrogate-RFF"]
    assert [row[: len(LEAD)] for row in written.rows] == [lead("eeg †", "1d"), lead("eeg †", "2d")]
    assert [row[len(LEAD) :] for row in written.rows] == [
        [
            "71.00±1.00 (0.51±0.01)",
            "— (2 timeout, 1 killed)",
            "69.50±0.71 (~13.3±0.1) [n=2, 1 out-of-memory]",
            "75.83±1.04 (0.51±0.01) •",
        ],
        ["–", "–", "–", "75.00±0.00 (0.012±0.000)"],
    ]
    assert written.notes == [
        "Mean ± standard deviation over trials: test accuracy (%) (seconds to generate the training features).",
        "• better than RFF: one-sided paired t-test over trials, level 0.05.",
        "~ times not comparable: some were taken while other work used the processors.",
        "– not run yet.",
        "† eeg: tested on a_part & no more",
    ]


def test_a_cell_that_the_config_does_not_ask_for_is_empty_and_not_one_to_come(tmp_path):
    methods = {**log.METHODS, "QMC": {**log.METHODS["QMC"], "n_features": [7]}}
    rows = [row for row in grid() if row["method"] != "QMC"]
    rows += [log.ok(log.spec(method="QMC", n_features=7, multiple=None, trial=trial), 70.0) for trial in range(3)]
    written = table.make_table(loaded(tmp_path, rows, methods=methods))
    asked = {row["s"]: {method for method in log.METHODS if row[method]} for row in written.records()}
    assert asked == {"7": {"QMC"}, "1d": set(log.METHODS) - {"QMC"}}
    assert not any("not run yet" in note for note in written.notes)


def test_the_three_files_hold_the_same_cells_each_in_its_own_syntax(tmp_path, marks):
    results = small_table(tmp_path, marks)
    (written,), paths = report.write_tables(results.folder)
    assert [path.name for path in paths] == ["summary.csv", "table.csv", "table.md", "table.tex"]
    cells = list(csv.reader((results.folder / "table.csv").read_text().splitlines()))
    assert cells == [written.header, *written.rows]
    lines = [line for line in (results.folder / "table.md").read_text().splitlines() if line.startswith("|")]
    assert len({len(line) for line in lines}) == 1
    assert [cell.strip() for cell in lines[3].split("|")[1:-1]] == ["", *written.rows[1][1:]]
    latex = (results.folder / "table.tex").read_text()
    assert r"\textbf{75.83$\pm$1.04} (0.51$\pm$0.01) $\bullet$ \\" in latex
    assert r"tested on a\_part \& no more" in latex
    assert "±" not in latex
    assert "†" not in latex
    text = written.to_text()
    assert all(cell in text for row in written.rows for cell in row)


def test_a_dataset_that_cannot_be_had_is_in_the_table_and_says_so(tmp_path):
    rows = [
        *grid(),
        *(
            log.lost(log.spec(dataset="census", method=method, trial=trial), "unavailable")
            for method in SCORES
            for trial in range(3)
        ),
    ]
    results = loaded(tmp_path, rows, datasets=["eeg", "census"])
    row = table.make_table(results).records()[1]
    assert (row["dataset"], {row[method] for method in log.METHODS}) == ("census", {"— (3 unavailable)"})
    assert value(loaded(tmp_path / "only", rows, datasets=["census"]), "RFF", "accuracy", "n_failed") == 3


def test_a_dataset_without_a_card_is_reported_all_the_same(tmp_path, monkeypatch):
    def unknown(name):
        raise ConfigError(f"unknown dataset {name!r}")

    monkeypatch.setattr("rffbench.data.cards.load_card", unknown)
    assert table.make_table(loaded(tmp_path, grid())).records()[0]["dataset"] == "eeg"


@pytest.mark.parametrize(
    ("number", "digits", "decimals"),
    [
        (123.0, 2, 1),
        (13.3, 2, 1),
        (9.0, 2, 2),
        (0.45, 2, 2),
        (0.0123, 2, 3),
        (0.00123, 2, 4),
        (0.0377, 3, 4),
        (0.0000012, 2, 7),
        (1e-15, 2, 9),
        (0.0, 2, 2),
    ],
)
def test_small_numbers_keep_their_significant_digits(number, digits, decimals):
    assert table.significant_digits(number, digits) == decimals


def test_a_number_far_below_the_largest_of_its_dataset_is_not_shown_as_nothing(tmp_path):
    errors = {"RFF": [0.024, 0.025, 0.026], "surrogate-RFF": [479000.0, 480000.0, 481000.0]}
    rows = [
        log.ok(log.spec(method=method, trial=trial), error, metric="rmse")
        for method, found in errors.items()
        for trial, error in enumerate(found)
    ]
    (row,) = table.make_table(loaded(tmp_path, rows)).records()
    assert [row[method].partition(" ")[0] for method in errors] == ["0.0250±0.0010", "480000.0±1000.0"]


# ---- what another package's maps and solvers measure -----------------------------------------------------------


def with_gaps(describe=True):
    """Rows with a metric that this package does not know: less for surrogate-RFF in every trial."""
    rows = grid()
    for row in rows:
        row["metrics"]["gap"] = (0.5 if row["method"] == "surrogate-RFF" else 2.0) + row["trial"] / 10
        if describe:
            row["own_metrics"] = {"gap": {"title": "duality gap", "unit": "nats", "better": "less"}}
    return rows


def test_a_metric_of_another_package_is_summarised_as_its_rows_describe_it(tmp_path):
    results = loaded(tmp_path, with_gaps())
    assert results.metrics["gap"].label == "duality gap (nats)"
    assert value(results, "surrogate-RFF", "gap", "mean") == pytest.approx(0.6)
    assert value(results, "surrogate-RFF", "gap", "significant") == 1
    assert value(results, "leverage-RFF", "gap", "significant") == 0


def test_a_metric_that_nothing_describes_goes_by_its_name_and_has_no_direction(tmp_path):
    results = loaded(tmp_path, with_gaps(describe=False))
    assert results.metrics["gap"].label == "gap"
    assert value(results, "surrogate-RFF", "gap", "mean") == pytest.approx(0.6)
    assert value(results, "surrogate-RFF", "gap", "significant") == 0


def test_a_dataset_without_a_score_is_judged_by_what_another_package_measured(tmp_path):
    rows = with_gaps()
    for row in rows:
        row["metrics"] = {"gap": row["metrics"]["gap"]}
    results = loaded(tmp_path, rows)
    assert results.score("eeg").name == "gap"
    assert "duality gap (nats)" in table.make_table(results).notes[0]


def test_a_row_that_describes_a_metric_wrongly_is_named_and_left_out(tmp_path):
    rows = with_gaps()
    rows[0]["own_metrics"] = {"gap": {"better": "smaller"}}
    with pytest.warns(LeftOut, match=r"left out: .*trials\.jsonl, line 1: RFF: own_metrics: better of 'gap' must be"):
        results = loaded(tmp_path, rows)
    assert value(results, "RFF", "gap", "n_ok") == 2


@pytest.mark.parametrize("title", ["A table", "a & b", "x|y", "**b**", "", "[a](b)", "  spaces  ", "line\u2028line"])
def test_the_table_that_is_written_is_read_again_or_made_anew(title, tmp_path):
    folder = log.write(tmp_path / "run", log.config(title=title), [*grid(), *grid(multiple=2)])
    (made, *_), _ = report.write_tables(folder)
    assert report.written_tables(folder)[0].to_text(80) == made.to_text(80)
    (folder / "table.md").write_text("nothing\n")
    assert report.written_tables(folder)[0].to_text(80) == made.to_text(80)


def test_the_columns_that_name_a_row_of_models_are_known_again(tmp_path):
    rows = [log.ok(log.spec(method=method), score) for method, score in (("RFF", 1.0), ("surrogate-RFF", 2.0))]
    for row in rows:
        row["metrics"]["model_size"] = 12.0
    folder = log.write(tmp_path / "run", log.config(trials=1, table="models"), rows)
    (made, *_), _ = report.write_tables(folder)
    assert made.stub == 3
    assert report.written_tables(folder)[0].to_text(40) == made.to_text(40)


def test_a_sweep_s_axis_takes_no_column_s_place_in_the_summary(tmp_path):
    results = loaded(tmp_path, grid(SCORES))
    axes = {"method": "a", "mean": "b", "self": "c"}
    text = summary.summary_csv([(axes, results)], [summary.summarise(results)])
    frame = pd.read_csv(io.StringIO(text))
    assert set(frame["method"]) == set(results.methods)
    assert frame["mean"].dtype == float
    assert frame[["method (axis)", "mean (axis)", "self"]].iloc[0].tolist() == ["a", "b", "c"]


def test_the_leader_of_a_protocol_that_lacks_a_method_is_bold_in_its_own_column(tmp_path):
    few = {name: SCORES[name] for name in ("RFF", "surrogate-RFF")}
    both = [
        ({"σ": name}, loaded(tmp_path / name, grid(scores), methods={each: log.METHODS[each] for each in scores}))
        for name, scores in (("all", SCORES), ("few", few))
    ]
    found = table.folder_table(both, table.Shown(best=True))
    assert [(row, found.header[column]) for row, column in sorted(found.best)] == [
        (0, "surrogate-RFF"), (1, "surrogate-RFF"),
    ]  # fmt: skip


def test_numbers_near_the_largest_that_there_is_are_summed_up_in_silence(recwarn):
    rows = [("eeg", 14, "RFF", trial, {"rmse": 1e308}) for trial in range(2)]
    (found,) = summary.summarise(log.results(rows, log.config())).query("metric == 'rmse'").to_dict("records")
    assert (found["n_ok"], found["mean"]) == (2, np.inf)
    assert not recwarn


def test_at_80_columns_every_part_of_a_table_has_the_baseline_beside_the_others(tmp_path):
    made = table.make_table(loaded(tmp_path, grid()), table.FILES)
    assert max(map(len, made.to_text(80).splitlines())) <= 80
    headings = [line.split() for line in made.to_text(80).splitlines() if "RFF" in line.split()]
    assert len(headings) > 1
    assert {name for line in headings for name in line} >= {"RFF", "QMC", "leverage-RFF", "surrogate-RFF"}
    own = next(line for line in headings if "surrogate-RFF" in line)
    assert own.index("RFF") < own.index("surrogate-RFF")


def test_where_there_is_no_room_beside_the_baseline_or_none_is_needed_it_stands_in_its_place(tmp_path):
    results = loaded(tmp_path, grid())
    shown = table.make_table(results, table.FILES)
    for width in (None, 30):
        lines = shown.to_text(width).splitlines()
        assert sum(line.split()[:1] in ([name] for name in LEAD) and "RFF" in line.split() for line in lines) == 1


def test_errors_against_different_kernels_are_said_to_be_and_accuracies_need_no_word(tmp_path):
    other = {"kernel": {"name": "laplacian", "gamma": 0.1}}
    methods = {**log.METHODS, "surrogate-RFF": log.METHODS["surrogate-RFF"] | other}
    rows = [row | (other if row["method"] == "surrogate-RFF" else {}) for row in grid()]
    results = loaded(tmp_path, rows, methods=methods)
    said = "different kernels, so that they cannot be compared between them"
    kernels = "RFF, QMC, leverage-RFF: Gaussian, σ = 1 (γ = 0.5); surrogate-RFF: Laplacian, σ = 10 (γ = 0.1)"
    notes = " ".join(table.make_table(results, table.Shown(metric="kernel_error")).notes)
    assert said in notes
    assert kernels in notes
    assert said not in " ".join(table.make_table(results, table.FILES).notes)
    assert results.kernels_differ("eeg", ["RFF", "QMC"]) == ""


def test_a_blank_line_is_between_groups_of_rows_and_not_between_single_rows():
    single = Table("T", ["map", "gain"], [["RFF", "0"], ["QMC", "1"]])
    several = Table("T", ["columns", "gain"], [["128", "0"], ["128", "1"], ["512", "2"]])
    assert single.to_text().split("\n")[4:6] == ["RFF  0", "QMC  1"]
    assert several.to_text().split("\n")[4:8] == ["128      0", "         1", "", "512      2"]
