"""The config: what it expands to, what it refuses and how it says so, what stays the same trial."""

from pathlib import Path

import pytest
import yaml

from rffbench.data.cards import load_card
from rffbench.dryrun import describe, estimate, operations
from rffbench.errors import ConfigError
from rffbench.experiment import Experiment, filter_specs, load_experiment
from rffbench.spec import TrialResult

CONFIG = """\
name: small
title: "A small experiment"
datasets: [eeg, magic04]
preprocess: minmax
kernel: {name: gaussian, sigma: 2.0}
n_features: [1d, 16d, 100]
methods:
  RFF: {features: fourier}
  QMC: {features: qmc, sequence: halton}
  Ours: {features: surrogate-leverage, variant: as-written}
solver: {name: ridge, lambda: [0.05, 0.1], folds: 5, lambda_scale: n, center: true}
trials: 3
seed: 7
reference: liu2020-table3
"""
SHIPPED = [
    "quickstart", "table3", "table3-as-released", "figure1", "covtype-full", "free-lambda", "protocol-search",
    "error-bounds", "fake-gaussian", "svm-rff", "tefm-figure1", "tefm-figure2", "tefm-figure3",
]


@pytest.fixture
def read(tmp_path):
    """Load CONFIG after replacing pieces of its text."""

    def load(*changes: tuple[str, str]) -> Experiment:
        text = CONFIG
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "experiment.yaml"
        path.write_text(text, encoding="utf-8")
        return load_experiment(path)

    return load


def keys(experiment):
    return [spec.key for spec in experiment.grid()]


def test_the_grid_is_ordered_by_dataset_trial_size_method(read):
    grid = read().grid()
    assert len(grid) == len({spec.key for spec in grid}) == 2 * 3 * 3 * 3
    order = [(s.dataset, s.trial, s.n_features, s.method) for s in grid]
    assert order[:4] == [
        ("eeg", 0, 14, "RFF"), ("eeg", 0, 14, "QMC"), ("eeg", 0, 14, "Ours"), ("eeg", 0, 16 * 14, "RFF")
    ]
    assert order[9][:2] == ("eeg", 1)
    assert order[27][:2] == ("magic04", 0)


def test_a_spec_holds_all_that_its_result_depends_on(read):
    spec = next(s for s in read().grid() if s.method == "Ours" and s.multiple == 16)
    assert spec.n_features == 16 * load_card("eeg").columns
    assert spec.kernel == {"name": "gaussian", "gamma": 1 / (2 * 2.0**2)}
    assert spec.features == {"name": "surrogate-leverage", "variant": "as-written"}
    solver = {"name": "ridge", "lambda": [0.05, 0.1], "folds": 5, "lambda_scale": "n", "center": True}
    assert spec.solver == solver
    assert spec.preprocess == ["minmax"]
    assert spec.data_hash == load_card("eeg").content_hash
    assert spec.seed == 7


def test_a_plain_size_has_no_multiple(read):
    assert {spec.multiple for spec in read().grid() if spec.n_features == 100} == {None}


def test_sizes_preprocessing_and_trials_can_differ(read):
    experiment = read(
        ("preprocess: minmax", "preprocess: {default: none, magic04: [sample-l2, minmax]}"),
        ("n_features: [1d, 16d, 100]", "n_features: {default: [1d, 16d, 100], magic04: [2d]}"),
        ("trials: 3", "trials: {default: 3, 16d: 1, 100: 2}"),
    )
    counts = {}
    for spec in experiment.grid():
        size = (spec.dataset, spec.n_features)
        counts[size] = counts.get(size, 0) + 1
        assert spec.preprocess == (["none"] if spec.dataset == "eeg" else ["sample-l2", "minmax"])
    assert counts == {("eeg", 14): 9, ("eeg", 224): 3, ("eeg", 100): 6, ("magic04", 20): 9}


def test_a_method_may_have_its_own_solver_kernel_and_sizes(read):
    experiment = read((
        "  Ours: {features: surrogate-leverage, variant: as-written}",
        "  Ours:\n    features: surrogate-leverage\n    solver: {lambda: 1.0}\n"
        "  Exact: {features: none, n_features: 1, solver: {name: kernel-ridge, lambda: 2.0},"
        " kernel: {name: laplacian, gamma: 3.0}, datasets: [magic04]}",
    ))
    by_method = {}
    for spec in experiment.grid():
        by_method.setdefault(spec.method, []).append(spec)
    ours, exact, plain = (by_method[label][0] for label in ("Ours", "Exact", "RFF"))
    assert ours.solver == {**plain.solver, "lambda": [1.0]}
    assert (exact.solver["name"], exact.solver["lambda"], exact.solver["folds"]) == ("kernel-ridge", [2.0], 5)
    assert exact.kernel == {"name": "laplacian", "gamma": 3.0}
    assert {spec.n_features for spec in by_method["Exact"]} == {1}
    assert {spec.dataset for spec in by_method["Exact"]} == {"magic04"}
    assert (len(by_method["RFF"]), len(by_method["Exact"])) == (2 * 3 * 3, 3)
    again = yaml.safe_load(experiment.to_yaml())
    assert [spec.key for spec in Experiment.model_validate(again).grid()] == keys(experiment)


SWEEP = """
sweep:
  scaling: {columns: {}, rows: {preprocess: sample-l2}}
  bandwidth: {wide: {}, narrow: {kernel: {sigma: 0.5}}}
  variant: {written: {}, released: {methods: {Ours: {variant: as-released}}}}
"""


def test_a_sweep_is_every_combination_and_measures_what_two_have_in_common_once(read):
    plain, swept = read(), read(("seed: 7", "seed: 7" + SWEEP))
    protocols = swept.protocols()
    assert [labels for labels, _ in protocols][:3] == [
        {"scaling": "columns", "bandwidth": "wide", "variant": "written"},
        {"scaling": "columns", "bandwidth": "wide", "variant": "released"},
        {"scaling": "columns", "bandwidth": "narrow", "variant": "written"},
    ]
    assert keys(protocols[0][1]) == keys(plain)
    grid = swept.grid()
    # RFF and QMC have no variant: their trials are those of both.
    assert len(grid) == len({spec.key for spec in grid}) == 4 * len(plain.grid()) * 4 // 3
    narrow = protocols[2][1].grid()[0]
    assert narrow.kernel == {"name": "gaussian", "gamma": 2.0}
    again = Experiment.model_validate(yaml.safe_load(swept.to_yaml()))
    assert keys(again) == keys(swept)


@pytest.mark.parametrize(
    "change",
    [
        ("name: small", "name: other"),
        ('title: "A small experiment"\n', ""),
        ("kernel: {name: gaussian, sigma: 2.0}", "kernel: {gamma: 0.125}"),
        ("lambda: [0.05, 0.1], folds: 5, lambda_scale: n, center: true", "lambda: [5.0e-2, 0.1]"),
        ("seed: 7", "seed: 7\ntime_limit: 30m\nmemory: 6GB"),
        ("reference: liu2020-table3\n", ""),
        ("preprocess: minmax", "preprocess: [minmax]"),
    ],
)
def test_what_no_result_depends_on_leaves_the_keys_alone(read, change):
    assert keys(read(change)) == keys(read())


@pytest.mark.parametrize(
    "change",
    [("sigma: 2.0", "sigma: 2.5"), ("seed: 7", "seed: 8"), ("lambda: [0.05, 0.1]", "lambda: [0.05]"),
     ("preprocess: minmax", "preprocess: standard"), ("reference:", "dtype: float32\nreference:")],
)  # fmt: skip
def test_what_results_depend_on_changes_every_key(read, change):
    assert not set(keys(read(change))) & set(keys(read()))


def test_the_resolved_config_is_plain_and_reads_back_the_same(read, tmp_path):
    experiment = read(
        ("preprocess: minmax", "preprocess: {default: none, magic04: [sample-l2, minmax]}"),
        ("trials: 3", "trials: {default: 3, 16d: 1}"),
        ("seed: 7", "seed: 7\ntime_limit: 1.5h\nmemory: 6GB"),
    )
    path = tmp_path / "config.yaml"
    path.write_text(experiment.to_yaml(), encoding="utf-8")
    resolved = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert (resolved["time_limit"], resolved["memory"]) == (5400.0, 6 * 10**9)
    assert resolved["n_features"] == ["1d", "16d", 100]
    assert resolved["significance"] == {"baselines": ["RFF", "QMC"], "level": 0.05, "correction": "none"}
    assert load_experiment(path).to_yaml() == experiment.to_yaml()
    assert keys(load_experiment(path)) == keys(experiment)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_configs_are_found_by_name_and_valid(name):
    experiment = load_experiment(name)
    assert experiment.name == name
    assert experiment.grid()


def test_table3_is_the_papers_grid():
    experiment = load_experiment("table3")
    cells = {(spec.dataset, spec.multiple, spec.method) for spec in experiment.grid()}
    assert len(cells) == (3 * 8 + 3) * 4
    assert {spec.trial for spec in experiment.grid()} == set(range(10))
    assert {spec.kernel["gamma"] for spec in experiment.grid()} == {0.5}


ERRORS = {
    "unknown key": (("trials: 3", "trails: 3"), 12, "unknown key 'trails'; did you mean 'trials'?"),
    "unknown key inside": (("sigma: 2.0", "sigm: 2.0"), 5, "unknown key 'sigm'; did you mean 'sigma'?"),
    "missing key": (("n_features: [1d, 16d, 100]\n", ""), 1, "the key 'n_features' is missing"),
    "misspelt dataset": (("magic04]", "magic4]"), 3, "unknown dataset 'magic4'; did you mean 'magic04'?"),
    "misspelt map": (("features: qmc", "features: qcm"), 9, "did you mean 'qmc'?"),
    "misspelt parameter": (("sequence:", "sequenze:"), 9, "did you mean 'sequence'?"),
    "wrong parameter": (("sequence: halton", "sequence: haltn"), 9, "'haltn'"),
    "misspelt kernel": (("gaussian", "gausian"), 5, "unknown kernel 'gausian'; did you mean 'gaussian'?"),
    "misspelt step": (("minmax", "minmx"), 4, "did you mean 'minmax'?"),
    "misspelt solver": (("ridge", "rigde"), 11, "did you mean 'ridge'?"),
    "misspelt solver parameter": (("folds", "fold"), 11, "did you mean 'folds'?"),
    "misspelt reference": (("liu2020-table3", "liu2020-tabel3"), 14, "did you mean 'liu2020-table3'?"),
    "negative size": (("100]", "-100]"), 6, "must be a positive integer or a multiple"),
    "size of nothing": (("16d", "0d"), 6, "must be a positive integer or a multiple"),
    "a size twice": (("100]", "14]"), 6, "gives 14 features for eeg twice"),
    "negative lambda": (("0.05", "-0.05"), 11, "greater than 0"),
    "wrong type": (("trials: 3", "trials: many"), 12, "valid integer, not 'many'"),
    "truth for a count": (("trials: 3", "trials: true"), 12, "valid integer, not True"),
    "bandwidths without a choice": (
        ("{features: fourier}", "{features: fourier, solver: {lambda: 1.0}, kernel: {sigma: [1, 2]}}"), 8,
        "bandwidths are chosen by the cross-validation",
    ),
    "a wrong sweep": (
        ("seed: 7", "seed: 7\nsweep: {scaling: {a: {}, b: {preprocess: minmaks}}}"), 14,
        "the combination scaling: b is no valid config: preprocess",
    ),
    "neither map nor solver": (
        ("{features: fourier}", "{features: none, solver: {name: none}}"), 8, "neither a feature map nor a solver"
    ),
    "a wrong setting of a method's solver": (
        ("{features: fourier}", "{features: fourier, solver: {lamda: 1}}"), 8,
        "methods.RFF.solver.lamda: unknown parameter of ridge 'lamda'; did you mean 'lambda'",
    ),
    "a method on a dataset there is not": (
        ("{features: fourier}", "{features: fourier, datasets: [cod-rna]}"), 8, "unknown dataset of this experiment"
    ),
    "an unknown measure": (
        ("seed: 7", "seed: 7\nmeasures: [kernel_eror]"), 14, "unknown measure 'kernel_eror'; did you mean"
    ),
    "truth for a bandwidth": (("sigma: 2.0", "sigma: true"), 5, "must be a positive number, or a list"),
    "no trials": (("trials: 3", "trials: 0"), 12, "greater than 0"),
    "tiny bandwidth": (("sigma: 2.0", "sigma: 1.0e-200"), 5, "kernel.sigma: sigma must lie between"),
    "huge bandwidth": (("sigma: 2.0", "sigma: 1.0e+200"), 5, "kernel.sigma: sigma must lie between"),
    "a name for a mapping": (("{name: gaussian, sigma: 2.0}", "gaussian"), 5, "kernel: must be a mapping"),
    "control character": (("seed: 7", "seed: 7  # "), 13, "holds a control character (#x07)"),
    "more folds than rows": (("folds: 5", "folds: 8000"), 11, "more than the 7490 training rows of eeg"),
    "both bandwidths": (("sigma: 2.0", "sigma: 2.0, gamma: 1.0"), 5, "give sigma or gamma, not both"),
    "key twice": (("seed: 7", "seed: 7\nname: again"), 14, "'name' is given twice (first on line 1)"),
    "bad time": (("seed: 7", "seed: 7\ntime_limit: 3 weeks"), 14, "90s or 30m"),
    "name with a path": (("name: small", "name: ../small"), 1, "name:"),
    "comma in a label": (("RFF:", "'R,FF':"), 8, "pattern"),
    "trials of no size": (("trials: 3", "trials: {default: 3, 8d: 1}"), 12, "unknown size"),
    "nothing for a dataset": (("preprocess: minmax", "preprocess: {eeg: minmax}"), 4, "magic04"),
    "no such baseline": (("seed: 7", "significance: {baselines: [RF]}"), 13, "did you mean 'RFF'?"),
    "not YAML": (("[eeg", "[eeg: {"), 3, ""),
    "not safe": (("seed: 7", "seed: !!python/object/apply:os.getpid []"), 13, "could not determine"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_wrong_config_is_refused_with_its_line_and_what_would_be_right(read, case):
    change, line, message = ERRORS[case]
    with pytest.raises(ConfigError) as error:
        read(change)
    assert f"experiment.yaml, line {line}: " in str(error.value)
    assert message in str(error.value)


def test_all_errors_are_told_at_once_in_order(read):
    with pytest.raises(ConfigError, match=r"2 errors\n  line 3: .*eeeg.*\n  line 12: .*trails"):
        read(("trials", "trails"), ("eeg", "eeeg"))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "must hold a mapping"), (b"- a\n- b\n", "must hold a mapping"), (b"name: \xff\xfe", "not UTF-8")],
)
def test_a_file_that_is_no_config_is_refused(tmp_path, content, message):
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load_experiment(path)


def test_a_missing_config_names_the_nearest_shipped_one(tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'table3'"):
        load_experiment("tabel3")
    with pytest.raises(ConfigError, match=r"configs/table3.yaml: no such file; the config .* is 'table3'"):
        load_experiment("elsewhere/configs/table3.yaml")
    with pytest.raises(ConfigError, match="no such file"):
        load_experiment(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="is a folder"):
        load_experiment(tmp_path)


def test_only_chooses_by_dataset_method_size_and_trial(read):
    grid = read().grid()
    chosen = filter_specs(grid, ["dataset=eeg", "n_features=16d,100", "method=RFF, Ours", "trial=0,2"])
    assert {(s.dataset, s.n_features, s.method, s.trial) for s in chosen} == {
        ("eeg", n, method, trial) for n in (224, 100) for method in ("RFF", "Ours") for trial in (0, 2)
    }
    assert filter_specs(grid, ["n_features=14"]) == filter_specs(grid, ["n_features=1d", "dataset=eeg"])
    assert filter_specs(grid, []) == grid


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("dataset=magic4", "unknown dataset 'magic4'; did you mean 'magic04'"),
        ("datasets=eeg", "unknown key 'datasets'; did you mean 'dataset'"),
        ("n_features=3d", "unknown n_features '3d'"),
        ("eeg", "must be KEY=VALUE"),
        ("trial=", "must be KEY=VALUE"),
    ],
)
def test_only_refuses_what_names_nothing(read, only, message):
    with pytest.raises(ConfigError, match=message):
        filter_specs(read().grid(), [only])


def test_only_refuses_conditions_that_leave_nothing(read):
    with pytest.raises(ConfigError, match="no trial meets it"):
        filter_specs(read().grid(), ["dataset=magic04", "n_features=14"])


def test_the_schema_describes_every_key_and_takes_the_short_forms():
    schema = Experiment.model_json_schema()
    assert all("description" in each for each in schema["properties"].values())
    assert schema["additionalProperties"] is False
    assert {"type": "integer"} in schema["properties"]["trials"]["anyOf"]
    size = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert {"type": "array", "items": size} in schema["properties"]["n_features"]["anyOf"]


def rows_of(specs, seconds):
    timing = {"feature_s": seconds / 2, "fit_s": seconds / 2, "predict_s": 0.0, "contended": False}
    return [TrialResult(spec, "ok", {}, timing, 5 * 10**9, 0.1).to_row() for spec in specs]


def test_the_estimate_takes_measured_cells_and_counts_the_others_at_their_pace(read):
    grid = read().grid()
    small, large = [[s for s in grid if s.n_features == n and s.dataset == "eeg"] for n in (14, 224)]
    measured = rows_of(small[:3], 2.0)
    assert estimate(small, measured).seconds == pytest.approx(2.0 * len(small))
    assert estimate(small, measured).peak_bytes == 5 * 10**9
    pace = 2.0 / operations(small[0])
    assert estimate(large, measured).seconds == pytest.approx(pace * sum(map(operations, large)))
    assert estimate(large, [], rate=lambda: 1e9).seconds == pytest.approx(sum(map(operations, large)) / 1e9)


def test_a_dry_run_says_what_is_done_already(read):
    experiment = read()
    grid = experiment.grid()
    text = describe(experiment, grid, rows_of(grid[:5], 1.0), Path("results/small"), workers=2)
    assert "54 trials, 5 already done" in text
    assert "with 2 workers" in text
    everything = describe(experiment, grid, rows_of(grid, 1.0), Path("results/small"), workers=2)
    assert "54 trials, 54 already done" in everything
    assert "time:" not in everything
