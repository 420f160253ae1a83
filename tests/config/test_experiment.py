"""The config: what it expands to, what it refuses and how it says so, what stays the same trial."""

import time

import pytest
import yaml

from rffbench.config.experiment import Experiment
from rffbench.config.loading import filter_specs, load_experiment
from rffbench.data.cards import load_card
from rffbench.errors import ConfigError
from rffbench.features import known_defaults

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
NO_MORE = dict.fromkeys(["scoring", "blocks", "class_weight", "method", "calibrate", "partitions"]) | {"path": False}
"""The parameters of ridge that none of these protocols uses."""


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
        ("eeg", 0, 14, "RFF"),
        ("eeg", 0, 14, "QMC"),
        ("eeg", 0, 14, "Ours"),
        ("eeg", 0, 16 * 14, "RFF"),
    ]
    assert order[9][:2] == ("eeg", 1)
    assert order[27][:2] == ("magic04", 0)


def test_a_spec_holds_all_that_its_result_depends_on(read):
    spec = next(s for s in read().grid() if s.method == "Ours" and s.multiple == 16)
    assert spec.n_features == 16 * load_card("eeg").columns
    assert spec.kernel == {"name": "gaussian", "gamma": 1 / (2 * 2.0**2)}
    assert spec.features == {"name": "surrogate-leverage", "variant": "as-written", "form": "eq14", "pool": 1}
    solver = {"name": "ridge", "lambda": [0.05, 0.1], "folds": 5, "lambda_scale": "n", "center": True}
    assert spec.solver == NO_MORE | solver
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
    experiment = read(
        (
            "  Ours: {features: surrogate-leverage, variant: as-written}",
            "  Ours:\n    features: surrogate-leverage\n    solver: {lambda: 1.0}\n"
            "  Exact: {features: none, n_features: 1, solver: {name: kernel-ridge, lambda: 2.0},"
            " kernel: {name: laplacian, gamma: 3.0}, datasets: [magic04]}",
        )
    )
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
  variant: {written: {}, released: {methods: {Ours: {variant: reweighted}}}}
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


def test_an_axis_called_by_a_key_takes_its_values_as_a_plain_list(read):
    plain = "sweep: {kernel.sigma: [0.5, 2], methods.Ours.variant: [as-written, reweighted]}"
    spelled = (
        "sweep: {kernel.sigma: {'0.5': {kernel: {sigma: 0.5}}, '2': {kernel: {sigma: 2}}}, "
        "methods.Ours.variant: {as-written: {methods: {Ours: {variant: as-written}}}, "
        "reweighted: {methods: {Ours: {variant: reweighted}}}}}"
    )
    one, other = (read(("seed: 7", f"seed: 7\n{sweep}")) for sweep in (plain, spelled))
    assert one.sweep == other.sweep
    assert keys(one) == keys(other)
    assert keys(Experiment.model_validate(yaml.safe_load(one.to_yaml()))) == keys(one)


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
    ("method", "usual", "other"),
    [
        ({"features": "orthogonal"}, {"lengths": "own"}, {"lengths": "coupled"}),
        ({"features": "nystroem"}, {"solver": {"name": "gp", "learn": None, "diagonal": False}},
         {"solver": {"name": "gp", "learn": "gamma"}}),
    ],
)  # fmt: skip
def test_a_parameter_that_came_later_is_in_the_key_only_where_it_has_another_value(method, usual, other):
    """So that results which were published before stay those of their config."""

    def experiment(more):
        config = {"name": "small", "datasets": ["synthetic-regression"], "n_features": [8], "solver": {"name": "gp"}}
        return Experiment.model_validate(config | {"methods": {"one": method | more}})

    assert keys(experiment({})) == keys(experiment(usual)) != keys(experiment(other))
    for more in ({}, usual, other):
        resolved = yaml.safe_load(experiment(more).to_yaml())
        assert keys(Experiment.model_validate(resolved)) == keys(experiment(more))


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


def test_table3_is_the_papers_grid():
    experiment = load_experiment("table3")
    cells = {(spec.dataset, spec.multiple, spec.method) for spec in experiment.grid()}
    assert len(cells) == 4 * 8 * 4
    assert {spec.trial for spec in experiment.grid()} == set(range(10))
    assert {spec.kernel["gamma"] for spec in experiment.grid()} == {0.5}


def test_table3_as_written_is_the_papers_protocol():
    """Liu et al. 2020, Section 5.1; where the text is silent, what the config says that it takes."""
    for spec in load_experiment("table3-as-written").grid():
        assert spec.solver == NO_MORE | {
            "name": "ridge", "lambda": [0.05, 0.1, 0.5, 1.0], "folds": 5, "lambda_scale": "n", "center": True,
        }  # fmt: skip
        assert (
            spec.features
            == {
                "RFF": {"name": "fourier", "form": "paired", "truncate": None},
                "QMC": {
                    "name": "qmc",
                    "sequence": "halton",
                    "scramble": "rr2",
                    "skip": 1000,
                    "leap": 700,
                    "variant": "as-written",
                },
                "leverage-RFF": {"name": "leverage", "variant": "as-written", "score_lambda": 0.05, "pool": 1},
                "surrogate-RFF": {"name": "surrogate-leverage", "variant": "as-written", "form": "eq14", "pool": 1},
            }[spec.method]
        )
        assert spec.kernel == {"name": "gaussian", "gamma": 0.5}
        assert (list(spec.preprocess), spec.preprocess_fit, spec.train_rows) == (["minmax"], "all", None)
        assert (spec.count, spec.dtype, spec.device) == ("frequencies", "float64", "cpu")
        assert (spec.seed, spec.timing) == (0, "exclusive")


@pytest.mark.parametrize("name", ["table3", "figure1"])
def test_table3_is_the_protocol_that_was_found(name):
    """As docs/reproduction/liu2020.md has it; figure1 is table3 on EEG."""
    for spec in load_experiment(name).grid():
        assert spec.solver == NO_MORE | {
            "name": "ridge", "lambda": [0.05, 0.1, 0.5, 1.0], "folds": 5, "lambda_scale": 1, "center": True,
            "scoring": "accuracy",
        }  # fmt: skip
        maps = {"RFF": "fourier", "QMC": "qmc", "leverage-RFF": "leverage", "surrogate-RFF": "surrogate-leverage"}
        variants = {"QMC": "as-released", "leverage-RFF": "reweighted", "surrogate-RFF": "reweighted"}
        assert (spec.features["name"], spec.features.get("variant")) == (maps[spec.method], variants.get(spec.method))
        given = {"name": maps[spec.method], "variant": spec.features.get("variant")}
        assert spec.features | given == known_defaults(maps[spec.method]) | given
        assert spec.kernel == {"name": "gaussian", "gamma": 0.5}
        scaling = ["minmax"] if spec.dataset == "covtype" else ["sample-mapstd"]
        assert (list(spec.preprocess), spec.preprocess_fit, spec.train_rows) == (scaling, "all", None)
        assert (spec.count, spec.dtype, spec.device) == ("frequencies", "float64", "cpu")
        assert (spec.seed, spec.timing) == (0, "features")


ERRORS = {
    "unknown key": (("trials: 3", "trails: 3"), 12, "unknown key 'trails'; did you mean 'trials'?"),
    "unknown key inside": (
        ("sigma: 2.0", "sigm: 2.0"),
        5,
        "unknown parameter of kernel 'gaussian': 'sigm'; did you mean 'sigma'?",
    ),
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
    "one fold": (("folds: 5", "folds: 1"), 11, "solver.folds: solver 'ridge': folds must be a whole number, 2 or more"),
    "a wrong value of a map": (("halton", "haltn"), 9, "methods.QMC.sequence: feature map 'qmc': sequence must be one"),
    "a map that goes unused": (
        ("{features: fourier}", "{features: fourier, solver: {name: kernel-ridge}}"),
        8,
        "methods.RFF.features: the solver kernel-ridge takes no feature map, and would not use fourier",
    ),
    "no map where one is needed": (
        ("{features: fourier}", "{features: none}"),
        8,
        "methods.RFF.features: the solver ridge needs a feature map, not none",
    ),
    "negative size": (("100]", "-100]"), 6, "must be a positive integer or a multiple"),
    "size of nothing": (("16d", "0d"), 6, "must be a positive integer or a multiple"),
    "a size twice": (("100]", "14]"), 6, "gives 14 features for eeg twice"),
    "negative lambda": (("0.05", "-0.05"), 11, "solver.lambda: solver 'ridge': lambda must be a number, 0 or more"),
    "wrong type": (("trials: 3", "trials: many"), 12, "must be a whole number, not 'many'"),
    "truth for a count": (("trials: 3", "trials: true"), 12, "must be a whole number, not true"),
    "bandwidths without a choice": (
        ("{features: fourier}", "{features: fourier, solver: {name: none}, kernel: {sigma: [1, 2]}}"),
        8,
        "a bandwidth is chosen by the errors of a solver",
    ),
    "a wrong sweep": (
        ("seed: 7", "seed: 7\nsweep: {scaling: {a: {}, b: {preprocess: minmaks}}}"),
        14,
        "the combination scaling: b is not a valid config: preprocess",
    ),
    "neither map nor solver": (
        ("{features: fourier}", "{features: none, solver: {name: none}}"),
        8,
        "neither a feature map nor a solver",
    ),
    "a wrong setting of a method's solver": (
        ("{features: fourier}", "{features: fourier, solver: {lamda: 1}}"),
        8,
        "methods.RFF.solver.lamda: unknown parameter of solver 'ridge': 'lamda'; did you mean 'lambda'",
    ),
    "a method on a dataset there is not": (
        ("{features: fourier}", "{features: fourier, datasets: [cod-rna]}"),
        8,
        "unknown dataset of this experiment",
    ),
    "an unknown measure": (
        ("seed: 7", "seed: 7\nmeasures: [kernel_eror]"),
        14,
        "unknown measure 'kernel_eror'; did you mean",
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
    "comma in a label": (("RFF:", "'R,FF':"), 8, "must be text in one line, without commas"),
    "trials of no size": (("trials: 3", "trials: {default: 3, 8d: 1}"), 12, "unknown size"),
    "nothing for a dataset": (("preprocess: minmax", "preprocess: {eeg: minmax}"), 4, "magic04"),
    "no such baseline": (("seed: 7", "significance: {baselines: [RF]}"), 13, "did you mean 'RFF'?"),
    "not YAML": (("[eeg", "[eeg: {"), 3, ""),
    "not safe": (("seed: 7", "seed: !!python/object/apply:os.getpid []"), 13, "has a tag (!…)"),
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
    assert filter_specs(grid, ["trial=0-1"]) == filter_specs(grid, ["trial=0,1"]) != grid


def test_a_number_of_trials_replaces_that_of_the_experiment_and_of_its_methods(read):
    config = read()
    fewer = config.with_trials(2)
    assert {spec.trial for spec in fewer.grid()} == {0, 1}
    assert [spec.key for spec in fewer.grid()] == [spec.key for spec in config.grid() if spec.trial < 2]
    assert {
        spec.trial for spec in read(("{features: fourier}", "{features: fourier, trials: 5}")).with_trials(2).grid()
    } == {0, 1}


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("dataset=magic4", "unknown dataset 'magic4'; did you mean 'magic04'"),
        ("datasets=eeg", "unknown key 'datasets'; did you mean 'dataset'"),
        ("n_features=3d", "unknown n_features '3d'"),
        ("eeg", "must be KEY=VALUE"),
        ("trial=", "must be KEY=VALUE"),
        ("trial=2-1", "write 1-2"),
        ("trial=1-9", "unknown trial '[3-9]'"),
    ],
)
def test_only_refuses_what_names_nothing(read, only, message):
    with pytest.raises(ConfigError, match=message):
        filter_specs(read().grid(), [only])


def test_only_refuses_conditions_that_leave_nothing(read):
    with pytest.raises(ConfigError, match="no trial meets both"):
        filter_specs(read().grid(), ["dataset=magic04", "n_features=14"])


def test_the_schema_describes_every_key_and_takes_the_short_forms():
    schema = Experiment.model_json_schema()
    assert all("description" in each for each in schema["properties"].values())
    assert schema["additionalProperties"] is False
    assert {"type": "integer"} in schema["properties"]["trials"]["anyOf"]
    size = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert {"type": "array", "items": size} in schema["properties"]["n_features"]["anyOf"]


def test_a_grid_is_counted_without_being_made(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text(
        "{name: large, datasets: [digits, synthetic], n_features: [8, 16d], trials: {16d: 3, default: 1000000000},"
        " methods: {RFF: {features: fourier}, QMC: {features: qmc, n_features: [4, 8], datasets: [digits]}}}"
    )
    started = time.process_time()
    experiment = load_experiment(path)
    # On digits RFF's 8 and 16d, QMC's 4 and 8; on synthetic RFF's 8 and 16d.
    assert experiment.size() == 10**9 + 3 + 2 * 10**9 + 10**9 + 3
    assert time.process_time() - started < 2


@pytest.mark.parametrize("name", ["table3", "figure1-errors", "leverage-theory"])
def test_the_number_of_trials_is_that_of_the_grid(name):
    experiment = load_experiment(name)
    assert experiment.size() == len(experiment.grid())


def test_a_sweep_of_too_many_combinations_is_refused_before_any_is_made(tmp_path):
    path = tmp_path / "wide.yaml"
    labels = ", ".join(f"l{label}: {{seed: {label}}}" for label in range(100))
    axes = "\n".join(f"  axis{axis}: {{{labels}}}" for axis in range(4))
    path.write_text(
        "name: wide\ndatasets: [digits]\nn_features: [8]\nmethods: {RFF: {features: fourier}}\nsweep:\n" + axes
    )
    with pytest.raises(ConfigError, match=r"line 5: sweep: has 100,000,000 combinations of labels; at most 1,000"):
        load_experiment(path)


def test_numbers_and_labels_in_a_config_are_read_as_yaml_1_2_says(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(
        "{name: some, title: '1e-3', datasets: [digits], n_features: [010, 16d], trials: 08,"
        " methods: {1e-3: {features: fourier}}, solver: {lambda: [1e-3, 1E-2]}}"
    )
    experiment = load_experiment(path)
    assert [spec.n_features for spec in experiment.grid()[:2]] == [10, 1024]
    assert experiment.size() == 16
    assert experiment.to_dict()["solver"]["lambda"] == [0.001, 0.01]
    assert list(experiment.methods) == ["1e-3"]
    path.write_text(experiment.to_yaml())
    assert load_experiment(path).to_dict() == experiment.to_dict()
    path.write_text(path.read_text().replace("trials: 8", "trials: 1:30"))
    with pytest.raises(ConfigError, match="'1:30'"):
        load_experiment(path)


def on_slurm(read):
    return read(("seed: 7", "seed: 7\nexecutor: {name: slurm, partition: long}"))


def test_where_trials_run_is_no_part_of_what_they_are(read):
    plain, elsewhere = read(), on_slurm(read)
    assert [spec.key for spec in elsewhere.grid()] == [spec.key for spec in plain.grid()]
    assert "executor" not in plain.to_dict()
    assert Experiment.model_validate(elsewhere.to_dict()).executor == elsewhere.executor


@pytest.mark.parametrize(
    ("asked", "name", "options"),
    [
        (None, "slurm", {"partition": "long"}),
        ("slurm", "slurm", {"partition": "long"}),
        ("local", "local", {}),
        ("dask://node1:8786", "dask://node1:8786", {}),
    ],
)
def test_the_command_s_executor_comes_before_the_config_s_and_has_its_options_where_it_is_the_same(
    read, asked, name, options
):
    assert on_slurm(read).runs_on(asked) == (name, options)
    assert read().runs_on(asked) == (asked or "local", {})
