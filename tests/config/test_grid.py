"""What a config means, at its one owner: the trials it asks for, and which rows of a log are its own."""

import hashlib
from collections import Counter
from dataclasses import MISSING, fields

import pytest
import yaml

from rffbench.config.experiment import Experiment
from rffbench.config.grid import OF_METHOD, SETTINGS, Grid, Sweep
from rffbench.config.loading import load_experiment, load_resolved
from rffbench.config.sections import Method
from rffbench.data.cards import load_card
from rffbench.errors import ResultsError
from rffbench.io.text import canonical_json
from rffbench.trials.spec import TrialResult, TrialSpec
from tests.helpers import report_log as log

CONFIG = {
    "name": "small",
    "datasets": ["eeg", "magic04"],
    "preprocess": {"eeg": "minmax", "magic04": ["clip", "minmax"]},
    "train_rows": {"default": None, "magic04": 500},
    "n_features": {"default": ["1d", "4d"], "magic04": ["2d"]},
    "methods": {
        "RFF": {"features": "fourier"},
        "Ours": {"features": "surrogate-leverage", "variant": "reweighted", "datasets": ["eeg"]},
        "Wide": {"features": "fourier", "kernel": {"sigma": 3.0}, "solver": {"lambda": 0.5}, "n_features": [28, "16d"]},
    },
    "trials": {"default": 2, "16d": 1},
}


def grid_of(config):
    return Grid(yaml.safe_load(Experiment.model_validate(config).to_yaml()))


def row_of(spec):
    return TrialResult(spec, "ok", {"accuracy": 80.0}, {"feature_s": 1.0}).to_row()


def other(value):
    """Another value of a setting, of whatever kind it is."""
    if isinstance(value, dict):
        return {**value, "name": "another"}
    return "another" if isinstance(value, str) else ["another"] if isinstance(value, list) else (value or 0) + 1


@pytest.mark.parametrize("setting", [*SETTINGS, "features"])
def test_every_setting_of_a_trial_is_compared_and_read_back(setting):
    grid = grid_of(CONFIG)
    for spec in grid.specs():
        row = row_of(spec)
        assert grid.wants(row)
        assert not grid.wants({**row, setting: other(getattr(spec, setting))})


def test_a_trial_beyond_those_that_a_size_has_is_not_wanted():
    grid = grid_of(CONFIG)
    for spec in grid.specs():
        assert not grid.wants({**row_of(spec), "trial": grid.planned_trials(spec.dataset, spec.method, spec.size)})


def test_a_method_may_have_its_own_number_of_trials_on_each_dataset():
    methods = {"RFF": {"features": "fourier"}, "QMC": {"features": "qmc", "trials": {"eeg": 1, "default": 2}}}
    grid = grid_of({**CONFIG, "datasets": ["eeg", "magic04"], "methods": methods, "trials": 3, "train_rows": None,
                    "preprocess": "none"})  # fmt: skip
    counts = Counter((spec.dataset, spec.method) for spec in grid.specs())
    sizes = {name: len(grid.sizes(name, "RFF")) for name in grid.datasets}
    trials = {("eeg", "RFF"): 3, ("magic04", "RFF"): 3, ("eeg", "QMC"): 1, ("magic04", "QMC"): 2}
    assert counts == {cell: count * sizes[cell[0]] for cell, count in trials.items()}
    with pytest.raises(ValueError, match="eegg"):
        grid_of({**CONFIG, "methods": {"QMC": {"features": "qmc", "trials": {"eegg": 1, "default": 2}}}})


def test_a_multiple_is_of_the_columns_that_preprocessing_makes():
    steps = ["impute-most-frequent", "onehot", "minmax"]
    few = {"datasets": ["adult"], "methods": {"RFF": {"features": "fourier"}}, "n_features": ["4d"], "train_rows": None}
    adult, grid = load_card("adult"), grid_of({**CONFIG, **few, "preprocess": steps, "trials": 1})
    assert adult.columns_after(steps) > adult.columns
    assert grid.n_features("adult", "4d") == 4 * adult.columns_after(steps)


def test_every_setting_is_a_key_of_the_config_of_that_name_and_default():
    assert set(SETTINGS) <= set(Experiment.model_fields)
    plain = Experiment.model_validate({**CONFIG, "preprocess": "none", "train_rows": None})
    resolved = plain.model_dump(mode="json")
    for each in fields(TrialSpec):
        of_spec = each.default if each.default_factory is MISSING else each.default_factory()
        if each.name in SETTINGS and of_spec is not MISSING:
            default = resolved[each.name]
            assert (default["default"] if isinstance(default, dict) else default) == of_spec
            assert plain.to_dict()[each.name] == of_spec


def test_the_entries_of_a_method_that_are_no_parameters_of_its_map_are_known():
    assert set(OF_METHOD) == set(Method.model_fields)


@pytest.mark.parametrize("name", ["table3", "regression", "svm-rff", "sparse-rf-table2", "tefm-figure2"])
def test_a_run_writes_rows_that_its_own_config_asks_for(name, tmp_path):
    experiment = load_experiment(name)
    (tmp_path / "config.yaml").write_text(experiment.to_yaml(), encoding="utf-8")
    ((_, config),) = load_resolved(tmp_path / "config.yaml")
    specs = experiment.grid()
    assert [spec.key for spec in Grid(config).specs()] == [spec.key for spec in specs]
    assert all(Grid(config).wants(row_of(spec)) for spec in specs)


def test_a_size_is_read_as_each_method_writes_it():
    config = {
        **CONFIG,
        "n_features": ["2d"],
        "datasets": ["eeg"],
        "preprocess": "none",
        "trials": {"default": 2, 28: 1},
    }
    config["train_rows"] = None
    config["methods"] = {"RFF": {"features": "fourier"}, "Wide": {"features": "fourier", "n_features": [28]}}
    grid = grid_of(config)
    specs = list(grid.specs())
    assert [(spec.method, spec.n_features, spec.multiple, spec.trial) for spec in specs] == [
        ("RFF", 28, 2, 0), ("Wide", 28, None, 0), ("RFF", 28, 2, 1),
    ]  # fmt: skip
    assert all(grid.wants(row_of(spec)) for spec in specs)


def test_a_parameter_that_a_config_sets_to_null_is_still_set_in_what_is_read_back():
    config = {**CONFIG, "methods": {"leverage-RFF": {"features": "leverage", "pool": None}}, "trials": 1}
    specs = Experiment.model_validate(config).grid()
    assert specs[0].features == {"name": "leverage", "variant": "as-written", "score_lambda": 0.05, "pool": None}
    assert all(map(grid_of(config).wants, map(row_of, specs)))


def test_the_grids_of_a_sweep_asked_together_want_what_each_wants():
    sweep = {
        "scaling": {"to 1": {"preprocess": "minmax"}, "none": {"preprocess": "none"}, "other data": {
            "preprocess": "minmax", "datasets": ["eeg", "cod-rna"], "train_rows": None, "n_features": [14, "2d"]}},
        "penalty": {"fixed": {"solver": {"lambda": 0.5}}, "chosen": {"solver": {"lambda": [0.1, 0.5]}}},
    }  # fmt: skip
    experiment = Experiment.model_validate({**CONFIG, "sweep": sweep})
    grids = [Grid(each.to_dict()) for _, each in experiment.protocols()]
    together = Sweep(grids)
    wanted = set()
    for row in [row_of(spec) for spec in experiment.grid()]:
        later = {**row, "trial": row["trial"] + 1}
        for each in (row, later, {**row, "method": "lost"}, {**row, "seed": 7}):
            wanting = [place for place, grid in enumerate(grids) if grid.wants(each)]
            assert together.wanting(each) == wanting
            wanted.add(tuple(wanting))
    assert len(wanted) > len(grids)


def test_a_change_of_an_experiment_is_one_of_its_protocols_too():
    experiment = Experiment.model_validate(
        {**CONFIG, "sweep": {"penalty": {"one": {"trials": 1}, "two": {"trials": 2}}}}
    )
    before = [each.reference for _, each in experiment.protocols()]
    experiment.reference = "liu2020-table3"
    assert before == [None, None]
    assert [each.reference for _, each in experiment.protocols()] == ["liu2020-table3"] * 2


def test_a_setting_that_the_config_does_not_state_is_not_compared():
    row = log.ok(log.spec(dtype="float32"), 80.0)
    assert Grid(log.config()).wants(row)
    assert not Grid(log.config(dtype="float64")).wants(row)


@pytest.mark.parametrize(
    ("features", "same"),
    [
        ({"features": "nystroem"}, {"landmarks": "uniform"}),
        ({"features": "sorf"}, {"lengths": "chi"}),
        ({"features": "fourier"}, {"form": "paired", "truncate": None}),
    ],
)
def test_a_default_that_is_given_is_the_same_trial_as_one_that_is_not(features, same):
    def keys(method):
        config = {**CONFIG, "methods": {"Map": method}, "solver": {"name": "ridge"}, "trials": 1}
        given = {**config, "solver": {"name": "ridge", "folds": 5, "scoring": None}}
        return [[spec.key for spec in grid_of(each).specs()] for each in (config, given)]

    assert keys(features) == keys({**features, **same})
    assert len({*map(tuple, keys(features))}) == 1


def test_the_key_says_which_rotation_was_drawn_and_rows_of_before_are_found():
    """Four inputs are dense, eight are products. A row of products has the key of before there was a choice."""
    methods = {"auto": {"features": "sorf"}, "old": {"features": "sorf", "rotation": "structured"}}
    config = {"name": "few", "datasets": ["powerplant", "kin8nm"], "n_features": [16], "methods": methods, "trials": 1}
    grid = grid_of(config)
    specs = {(spec.dataset, spec.method): spec for spec in grid.specs()}
    drawn = {cell: spec.features["rotation"] for cell, spec in specs.items()}
    assert drawn.pop(("powerplant", "auto")) == "dense"
    assert set(drawn.values()) == {"structured"}
    for spec in specs.values():
        row = row_of(spec)
        assert grid.wants(row)
        again = TrialSpec.from_row(row)
        assert (again, again.key) == (spec, spec.key)
        assert again.map.given["rotation"] == spec.features["rotation"]
    of_before = {"name": "sorf", "lengths": "chi", "transposed": False}
    row = row_of(specs["powerplant", "old"])
    assert row["features"] == of_before
    fields = {name: row[name] for name in specs["powerplant", "old"].to_dict()}
    assert hashlib.sha256(canonical_json({**fields, "features": of_before}).encode()).hexdigest() == row["key"]
    written = yaml.safe_load(Experiment.model_validate(config).to_yaml())
    for method in written["methods"].values():
        del method["rotation"]  # as config.yaml was
    assert Grid(written).wants(row)
    assert not Grid(written).wants(row_of(specs["powerplant", "auto"]) | {"method": "old"})


def test_a_dataset_that_is_not_installed_does_not_hide_rows_of_either_rotation():
    methods = {"SORF": {"features": "sorf"}}
    grid = grid_of({"name": "few", "datasets": ["kin8nm"], "n_features": [16], "methods": methods, "trials": 1})
    [row] = [row_of(spec) for spec in grid.specs()]
    elsewhere = Grid({**grid.config, "datasets": ["unheard-of"]})
    row["dataset"] = "unheard-of"
    for rotation in ({}, {"rotation": "dense"}):
        assert elsewhere.wants({**row, "features": row["features"] | rotation})


def test_a_sweep_may_change_the_map_of_a_method_and_read_it_back():
    sweep = {"map": {"RFF": {}, "QMC": {"methods": {"RFF": {"features": "qmc", "skip": 3}}}}}
    experiment = Experiment.model_validate({**CONFIG, "sweep": sweep})
    again = Experiment.model_validate(yaml.safe_load(experiment.to_yaml()))
    assert [spec.key for spec in again.grid()] == [spec.key for spec in experiment.grid()]


def test_a_sweep_may_change_a_split_and_read_it_back():
    sweep = {"split": {"own": {}, "half": {"split": {"rule": "random", "train": 0.5, "test": 0.5}}}}
    experiment = Experiment.model_validate({**CONFIG, "sweep": sweep})
    again = Experiment.model_validate(yaml.safe_load(experiment.to_yaml()))
    assert [spec.key for spec in again.grid()] == [spec.key for spec in experiment.grid()]


def test_rows_of_a_dataset_without_a_card_and_of_an_older_card_are_read():
    grid = Grid(log.config(datasets=["lost-to-time"]))
    row = log.ok(log.spec(dataset="lost-to-time", data_hash="1" * 64), 80.0)
    assert grid.wants(row)
    assert grid.asks_for("lost-to-time", "RFF", "1d")
    assert not grid.asks_for("eeg", "RFF")
    assert not grid.wants({**row, "dataset": "eeg"})


def test_each_protocol_of_a_sweep_reads_its_own_rows(tmp_path):
    sweep = {"scaling": {"rows": {"preprocess": "sample-l2"}, "columns": {}}, "count": {"few": {"trials": 1}}}
    experiment = Experiment.model_validate({**CONFIG, "sweep": sweep})
    path = tmp_path / "config.yaml"
    path.write_text(experiment.to_yaml(), encoding="utf-8")
    protocols = [(labels, Grid(config)) for labels, config in load_resolved(path)]
    assert [labels for labels, _ in protocols] == [{"scaling": name, "count": "few"} for name in ("rows", "columns")]
    for spec in experiment.grid():
        by_rows = spec.preprocess == ["sample-l2"]
        assert [grid.wants(row_of(spec)) for _, grid in protocols] == [by_rows, not by_rows]
    path.write_text(experiment.to_yaml().replace("sample-l2", "sample-l3"), encoding="utf-8")
    with pytest.raises(ResultsError, match=r"config.yaml: not an experiment of this version"):
        load_resolved(path)


@pytest.mark.parametrize("methods", ["RFF", ["RFF"], {"RFF": None}, {"RFF": {"features": "fourier"}, "Ours": 3}])
def test_a_results_folder_whose_methods_are_none_is_refused(tmp_path, methods):
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"datasets": ["eeg"], "methods": methods}))
    with pytest.raises(ResultsError, match=r"not an experiment: .*methods"):
        load_resolved(path)
