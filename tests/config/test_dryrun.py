"""What a dry run promises: its estimates of time and memory, and that it says what it cannot estimate."""

import re
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from rffbench import RandomBinningFeatures
from rffbench.cli import cli
from rffbench.config.columns import warnings_of_columns
from rffbench.config.costs import EFFICIENCY, bytes_needed, group_operations, in_order, operations, shares, train_rows
from rffbench.config.dryrun import Pace, describe, estimate
from rffbench.config.experiment import Experiment
from rffbench.config.loading import load_experiment
from rffbench.execution.log import read_rows
from rffbench.features import feature_class
from rffbench.linalg.bins import table_bytes
from rffbench.linalg.threads import thread_count
from rffbench.trials.spec import TrialResult, TrialSpec
from tests.helpers.budgets import RATE
from tests.helpers.places import results_of
from tests.helpers.tiny_config import TINY

CONFIG = {
    "name": "small",
    "datasets": ["eeg", "magic04"],
    "n_features": ["1d", "16d"],
    "methods": {
        "RFF": {"features": "fourier"},
        "QMC": {"features": "qmc"},
        "Ours": {"features": "surrogate-leverage", "variant": "reweighted"},
    },
    "trials": 3,
    "timing": "exclusive",
}


def experiment(**changes):
    return Experiment.model_validate({**CONFIG, **changes})


def rows_of(specs, seconds, **metrics):
    timing = {"feature_s": seconds / 2, "fit_s": seconds / 2, "predict_s": 0.0, "contended": False}
    return [TrialResult(spec, "ok", metrics, timing, 5 * 10**9, 0.1).to_row() for spec in specs]


def test_the_estimate_takes_measured_cells_and_counts_the_others_at_their_pace():
    grid = experiment().grid()
    small, large = ([s for s in grid if s.multiple == size and s.dataset == "eeg"] for size in (1, 16))
    measured = rows_of(small[:3], 2.0)
    assert estimate(small, measured).seconds == pytest.approx(2.0 * len(small))
    assert estimate(small, measured).peak_bytes == 5 * 10**9
    assert estimate(small, rows_of(small[:3], 2.0, own_memory_bytes=1e9)).peak_bytes == 10**9
    of_all = 3 * 2.0 / sum(map(operations, small[:3]))
    own = {spec.method: 2.0 / operations(spec) for spec in small[:3]}
    at_own = sum(own.get(spec.method, of_all) * operations(spec) for spec in large)
    usual = sum(map(operations, large)) / (EFFICIENCY * 1e9)
    low, high = sorted([at_own, usual])
    assert low < estimate(large, measured, rate=lambda: 1e9).seconds < high
    assert estimate(large, [], rate=lambda: 1e9).seconds == pytest.approx(
        sum(map(operations, large)) / (EFFICIENCY * 1e9)
    )


def test_seconds_of_fewer_threads_are_those_of_all_processors():
    grid = experiment().grid()
    rows = rows_of(grid, 2.0)
    for row in rows:
        row["timing"]["threads"] = 1
    assert estimate(grid, rows).seconds == pytest.approx(2.0 * len(grid) / thread_count())


def test_work_that_trials_share_is_counted_once():
    ridge = {"name": "ridge", "lambda": [0.05, 0.1, 0.5, 1.0]}
    one = {"datasets": ["eeg"], "trials": 1, "kernel_error_points": 0, "solver": ridge}
    alone, shared = (experiment(timing=timing, **one).grid() for timing in ("exclusive", "shared"))
    assert group_operations(alone) == pytest.approx(sum(map(operations, alone)))
    assert max(map(operations, shared)) < group_operations(shared) < 0.8 * sum(map(operations, shared))
    measured = estimate(shared, rows_of(shared, 2.0)).seconds
    assert measured == pytest.approx(2.0 * len(shared) * group_operations(shared) / sum(map(operations, shared)))


def test_a_choice_from_a_large_pool_is_counted_without_the_pools_gram_matrix():
    def grid(*features, pool):
        methods = {name: {"features": name, "pool": pool} for name in features}
        one = {"datasets": ["magic04"], "n_features": ["16d"], "trials": 1, "kernel_error_points": 0}
        return experiment(timing="shared", methods={"RFF": {"features": "fourier"}, **methods}, **one).grid()

    fourier, surrogate = grid("surrogate-leverage", pool=32)
    assert group_operations([fourier, surrogate]) == pytest.approx(operations(fourier) + operations(surrogate))
    assert operations(surrogate) < 4.1 * operations(fourier)
    leverage = grid("leverage", pool=32)[1]
    columns = 2 * 32 * 160
    assert operations(leverage) > 9510 * columns**2 / 2 + columns**3 / 3  # Gram matrix, Cholesky factor and its inverse
    both = grid("leverage", "surrogate-leverage", pool=32)[1:]
    assert group_operations(both) < operations(leverage) + operations(surrogate)


def test_of_more_than_two_classes_no_work_is_shared():
    shared = experiment(datasets=["letter"], trials=1, timing="shared").grid()
    assert group_operations(shared) == pytest.approx(sum(map(operations, shared)))


def test_the_estimated_memory_of_large_trials_is_within_a_factor_of_two_of_what_was_measured():
    checked = set()
    for name in ("regression", "sparse-rf-table1", "sparse-rf-table2", "sparse-rf-figure1", "svm-rff", "tefm-figure2"):
        memory = yaml.safe_load((results_of(name) / "config.yaml").read_text(encoding="utf-8"))["memory"]
        cells = {}
        for row in read_rows(results_of(name) / "trials.jsonl"):
            if "own_memory_bytes" in row["metrics"]:
                cells.setdefault((row["dataset"], row["method"], row["n_features"]), []).append(row)
        for rows in cells.values():
            spec, own = TrialSpec.from_row(rows[0]), median(row["metrics"]["own_memory_bytes"] for row in rows)
            if own > 150e6 and (needed := bytes_needed(spec, memory)) is not None:
                assert own / 2 < needed < 2 * own, spec.label
                checked.add((spec.solver["name"], spec.features["name"]))
    assert checked == {
        ("kernel-ridge", "none"), ("kernel-svm", "none"), ("linear-svm", "fourier"), ("linear-svm", "perceptron"),
        ("ridge", "fourier"), ("ridge", "perceptron"), ("ridge", "tefm"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("features", "columns"),
    [({"features": "fourier"}, 2), ({"features": "fourier", "form": "offset"}, 1), ({"features": "compact"}, 1),
     ({"features": "nystroem"}, 1)],
)  # fmt: skip
def test_a_map_is_asked_how_many_columns_a_frequency_makes(features, columns):
    methods, solver = {"map": features}, {"lambda": 0.1}
    made = experiment(datasets=["magic04"], methods=methods, solver=solver, n_features=[1000], kernel_error_points=0)
    paired = experiment(
        datasets=["magic04"], methods={"RFF": {"features": "fourier"}}, solver=solver, n_features=[500 * columns],
        kernel_error_points=0,
    )  # fmt: skip
    mapping = getattr(feature_class(features["features"])(1000), "bytes_to_map", 0)
    assert bytes_needed(made.grid()[0]) - mapping == pytest.approx(bytes_needed(paired.grid()[0]), rel=0.2)


def test_the_tables_of_random_binning_are_counted(monkeypatch):
    given = {"kernel": {"name": "laplacian", "gamma": 50.0}, "datasets": ["breast-cancer"], "timing": "shared"}
    methods = {"RB": {"features": "random-binning"}}
    spec = experiment(**given, solver={"name": "none"}, n_features=[64], methods=methods).grid()[0]
    rows = np.random.default_rng(0).uniform(size=(455, 30))
    features = RandomBinningFeatures(64, gamma=1e6, random_state=0).fit(rows)
    assert features.n_columns_ == 64 * 455
    tables = features.grids_.nbytes - 2 * 8 * 30 * 64
    assert tables == features.bytes_kept(455) == 64 * table_bytes(455)
    assert 24 <= tables / features.n_columns_ <= 48
    needed, counted = bytes_needed(spec), features.bytes_kept(train_rows(spec))
    monkeypatch.setattr(RandomBinningFeatures, "bytes_kept", None)
    assert needed - bytes_needed(spec) == counted


def test_a_sparse_map_that_says_nothing_of_its_letters_has_n_components_numbers_in_a_row(monkeypatch):
    given = {"kernel": {"name": "laplacian", "gamma": 1.0}, "datasets": ["breast-cancer"], "n_features": [64]}
    spec = experiment(**given, methods={"RB": {"features": "random-binning"}}).grid()[0]
    expected = operations(spec)
    monkeypatch.setattr(RandomBinningFeatures, "letters", None)
    assert operations(spec) == expected


def test_what_cannot_be_estimated_is_said_so():
    methods = {
        "RFF": {"features": "fourier"},
        "Sparse-RF": {"features": "none", "solver": {"name": "sparse-rf"}},
        "exact": {"features": "none", "solver": {"name": "kernel-svm"}},
    }
    one = experiment(datasets=["magic04"], methods=methods, n_features=[100], trials=2)
    text = describe(one, one.grid(), [], Path("results/small"), workers=1)
    assert "(trials: 4 counted)" in text
    assert "time not estimated: 2 trials of sparse-rf\n" in text
    assert "the data decides: 2 trials of kernel-svm\n" in text
    assert "memory not estimated: 2 trials of sparse-rf\n" in text
    assert "MB for the largest trial (magic04 s=100 exact trial" in text
    alone = [spec for spec in one.grid() if spec.method == "Sparse-RF"]
    text = describe(one, alone, [], Path("results/small"), workers=1)
    assert "about" not in text


def test_of_a_solver_that_takes_as_many_steps_as_the_data_makes_it_the_usual_ones_are_counted():
    methods = {
        "SVM": {"features": "fourier"},
        "LIBLINEAR": {"features": "fourier", "solver": {"method": "liblinear"}},
        "logistic": {"features": "fourier", "solver": {"name": "logistic", "lambda": 0.1}},
        "five folds": {"features": "fourier", "solver": {"name": "logistic", "lambda": [0.1, 0.2], "folds": 5}},
    }
    one = experiment(datasets=["magic04"], methods=methods, n_features=[100], trials=1, solver={"name": "linear-svm"})
    svm, liblinear, logistic, folds = map(operations, one.grid())
    assert svm < liblinear < 3 * svm
    assert 8 * logistic < folds < 11 * logistic
    of_classes = {"logistic": methods["logistic"], "exact": {"features": "none", "solver": {"name": "kernel-svm"}}}
    letter = experiment(datasets=["letter"], methods=of_classes, n_features=[100], trials=1)
    assert operations(letter.grid()[0]) > 10 * logistic
    few, many = (experiment(datasets=["letter"], methods=of_classes, train_rows=n).grid()[-1] for n in (100, 400))
    assert operations(many) == pytest.approx(8 * operations(few))
    text = describe(one, one.grid(), [], Path("results/small"), workers=1)
    assert "(trials: 4 counted)" in text
    assert "half or twice that, for the data decides: 2 trials of linear-svm, 2 trials of logistic" in text


def test_small_trials_are_no_pace_for_much_larger_ones():
    start, usual = 5.0, 1e-9
    points = [(count, start + 2e-9 * count) for count in (1e6, 1e7, 1e8)]
    pace = Pace.of(points, usual)
    assert pace.seconds(5e7) == pytest.approx(5.1)  # between them
    assert pace.seconds(1.1e8) >= pace.seconds(1e8)  # no larger trial takes less
    assert 1000 <= pace.seconds(1e12) < 1100  # and of much larger ones the machine's own pace is right
    assert Pace.of(points[:1], usual).seconds(5e5) == pytest.approx(points[0][1] / 2)  # of one size nothing can be told
    assert Pace.of([], usual).seconds(1e12) == pytest.approx(1000.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["letter", "regression", "zhang2019", "svm-rff", "table3"])
def test_what_was_measured_makes_no_estimate_worse_than_a_factor_of_two(name):
    """Replays committed rows, the smallest trials first: what is left is foreseen from what is done."""
    rows = [row for row in read_rows(results_of(name) / "trials.jsonl") if row["status"] == "ok"]
    rows = sorted((row for row in rows if row["trial"] < 2), key=lambda row: operations(TrialSpec.from_row(row)) or 0)
    specs = [TrialSpec.from_row(row) for row in rows]
    took = [sum(row["timing"].get(part) or 0.0 for part in ("feature_s", "fit_s", "predict_s")) for row in rows]
    rate = estimate(specs, [], rate=lambda: 1.0).seconds / sum(took)  # with it the estimate before all trials is right
    for share in (0.02, 0.06, 0.2, 0.5):
        done = round(share * len(rows))
        ratio = estimate(specs[done:], rows[:done], rate=lambda: rate).seconds / sum(took[done:])
        assert 0.5 <= ratio <= 2, share


@pytest.mark.parametrize("solver", ["pcg", "eigenpro", "askotch", "falkon"])
def test_of_an_iterative_solver_no_more_passes_are_counted_than_the_budget_has(solver):
    def passes(limit):
        kernel = {"features": "none", "solver": {"name": solver, "lambda": 0.1, "budget": {"passes": limit}}}
        methods = {"RFF": {"features": "fourier"}, solver: kernel}
        one = experiment(datasets=["magic04"], methods=methods, n_features=[10], train_rows=4000, trials=1)
        return operations(one.grid()[-1])

    assert passes(1000) == passes(500) > 3 * passes(5) > 0


def test_a_trial_that_cannot_fit_the_budget_is_told_with_what_it_would_need():
    tight = experiment(datasets=["eeg"], memory="1MB", n_features=[1000], trials=1)
    text = describe(tight, tight.grid(), [], Path("results/small"), workers=1)
    assert "more than the budget of 1 MB" in text


def test_a_dry_run_says_what_is_done_already():
    one = experiment()
    grid = one.grid()
    text = describe(one, grid, rows_of(grid[:5], 1.0), Path("results/small"), workers=2)
    assert "36 trials, 5 already done" in text
    assert "with 2 workers" in text
    everything = describe(one, grid, rows_of(grid, 1.0), Path("results/small"), workers=2)
    assert "36 trials, 36 already done" in everything
    assert "time:" not in everything


def test_long_trials_come_last_and_a_dry_run_says_so():
    one = experiment(datasets=["covtype", "eeg"], n_features=["1d", "64d"], timing="features")
    brief, long = in_order(one.grid())
    assert {(spec.dataset, spec.size) for task in long for spec in task} == {("covtype", "64d")}
    assert (len(brief), len(long)) == (6, 3), "a task for each trial of a dataset"
    assert sorted(spec.key for task in brief + long for spec in task) == sorted(spec.key for spec in one.grid())
    text = describe(one, one.grid(), [], Path("results/small"), workers=2)
    assert "the long trials come last (covtype 64d); all others: about" in text
    done = rows_of([spec for task in brief for spec in task], 1.0)
    assert "come last" not in describe(one, one.grid(), done, Path("results/small"), workers=2)


def test_what_no_row_s_seconds_have_is_estimated_too():
    """Starting and measuring the map, which workers share, as far as there are processors; and timing features, where
    one has the machine."""
    one = {"datasets": ["eeg"], "trials": 2}
    plain, measured, timed = (
        estimate(experiment(**one, **more).grid(), [], rate=lambda: 1e10)
        for more in ({"kernel_error_points": 0}, {"kernel_error_points": 1000}, {"timing": "features"})
    )
    assert plain.seconds == measured.seconds
    assert measured.aside > 1.5 * plain.aside > 0
    assert timed.timing > 0 == measured.timing
    for timing, told in (("features", True), ("shared", False)):
        each = experiment(**one, timing=timing)
        text = describe(each, each.grid(), [], Path("results/small"), workers=2)
        line = r"\nof that, about \d+ (s|min) to time features, while all other trials pause\n"
        assert bool(re.search(line, text)) is told
    logged = rows_of(experiment(**one).grid(), 2.0)
    assert estimate(experiment(**one).grid(), logged, rate=lambda: 1e10).aside == measured.aside


def test_a_trial_s_share_of_a_run_grows_with_its_work_also_where_that_depends_on_the_data():
    small, large = (spec for spec in experiment(datasets=["eeg"], trials=1).grid() if spec.method == "RFF")
    costs = shares([small, large])
    assert costs[large.key] > costs[small.key] > 0
    methods = {"SVM": {"features": "fourier", "solver": {"name": "linear-svm"}}}
    small, large = experiment(datasets=["eeg"], trials=1, methods=methods).grid()
    costs = shares([small, large])
    assert costs[large.key] > costs[small.key] > 0


def test_of_sparse_features_the_rows_decide_how_many_columns_there_are_and_that_is_said(tmp_path):
    text = TINY.replace("{name: gaussian, sigma: 2.0}", "{name: laplacian, sigma: 8.0}")
    config = tmp_path / "tiny.yaml"
    config.write_text(text.replace("surrogate-leverage}", "random-binning}"))
    said = CliRunner().invoke(cli, ["run", str(config), "--dry-run", "--results", str(tmp_path / "r")]).output
    assert "warning: of Ours the training rows decide how many columns there are, with `count: columns` too" in said
    assert "unequal" not in said
    assert "for the data decides: 4 trials of ridge" in said
    alone = text.replace("surrogate-leverage}", "random-binning}").replace("  RFF: {features: fourier}\n", "")
    config.write_text(alone)
    assert "columns" not in CliRunner().invoke(cli, ["validate", str(config)]).output


SWEPT = {"methods": {"SVM": {"features": "fourier", "solver": {"name": "linear-svm"}}},
         "sweep": {"train_rows": [100, 5000]}, "datasets": ["eeg"], "timing": "shared"}  # fmt: skip


def test_the_variants_of_a_sweep_have_shares_and_estimates_of_their_own():
    both = experiment(**SWEPT)
    for rows in (100, 5000):
        alone = experiment(**{**SWEPT, "sweep": {}, "train_rows": rows})
        found = {key: share for key, share in shares(both.grid()).items() if key in shares(alone.grid())}
        assert found == shares(alone.grid())
        of_other = rows_of([spec for spec in both.grid() if spec.train_rows != rows], 1000.0)
        assert estimate(alone.grid(), of_other, rate=lambda: 1e10).measured == 0
        of_these = rows_of(alone.grid()[:1], 1000.0)
        assert estimate(alone.grid(), of_these, rate=lambda: 1e10).measured == 3


def test_columns_are_compared_within_a_protocol_of_a_sweep():
    """Each protocol has as many columns for both methods, other ones than the other protocol."""
    methods = {"RFF": {"features": "fourier", "form": "offset"}, "Nystroem": {"features": "nystroem"}}
    protocols = {"few": {"n_features": [8]}, "many": {"n_features": [16]}}
    swept = experiment(methods=methods, datasets=["eeg"], sweep={"size": protocols}, count="columns")
    assert warnings_of_columns(swept) == []
    one_each = {"paired": {"methods": {"RFF": {"form": "paired"}}}, "offset": {"methods": {"RFF": {"form": "offset"}}}}
    unequal = experiment(methods=methods, datasets=["eeg"], n_features=[8], sweep={"form": one_each})
    assert len(found := warnings_of_columns(unequal)) == 1
    assert "On eeg Nystroem has 8 and RFF 16;" in found[0]


OF_SOURCES = ["lin2023", "munkhoeva2018", "buchel2024", "wacker2022-gaussian", "wacker2022-polynomial",
              "wacker2022-polynomial-positive", "wacker2022-polynomial-7", "wacker2022-polynomial-7-positive",
              "wacker2022-polynomial-20", "wacker2022-polynomial-20-cod-rna",
              "wacker2022-complex-to-real", "wacker2022-complex-to-real-7", "wu2016", "wu2016-covtype",
              "wu2016-cv", "wu2016-sigma", "li2019-distributed", "zhang2019", "parkinson2023",
              "ma2017-eigenpro", "diaz2023", "potapczynski2021"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "hours"), [*((name, 3) for name in OF_SOURCES), ("board", 24)])
def test_a_config_is_within_its_budget_of_hours(name, hours):
    grid = load_experiment(name).grid()
    trials = Counter((spec.dataset, spec.method, spec.n_features) for spec in grid)
    firsts = defaultdict(list)  # the first trials, by how many there are of each: the others cost as much
    for spec in grid:
        if spec.trial == 0:
            firsts[trials[spec.dataset, spec.method, spec.n_features]].append(spec)
    found = {count: estimate(mine, [], rate=lambda: RATE) for count, mine in firsts.items()}
    assert sum(count * each.counted for count, each in found.items()) == len(grid)
    assert not any(each.untimed for each in found.values())
    assert sum(count * (each.seconds + each.aside / 2) for count, each in found.items()) < hours * 3600
