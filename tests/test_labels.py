"""What methods are called where people read, and that keys and rows keep the labels they have."""

from pathlib import Path

import pytest

from rffbench.config.experiment import Experiment
from rffbench.config.loading import filter_specs, load_experiment
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.labels import shown_label, shown_labels
from rffbench.report.compare import compare
from rffbench.report.frame import load_results
from rffbench.report.record import record
from rffbench.report.table import make_table
from tests.helpers import report_log as log

CONFIG = {
    "name": "small",
    "datasets": ["eeg"],
    "n_features": ["1d"],
    "methods": {
        "RFF": {"features": "fourier"},
        "leverage-RFF (released)": {"features": "leverage", "variant": "as-released"},
        "Ours (written)": {"features": "surrogate-leverage"},
        "Ours (released)": {"features": "surrogate-leverage", "variant": "as-released", "form": "eq12"},
    },
    "solver": {"name": "ridge", "lambda": [0.1]},
    "trials": 2,
}


def with_variant(name):
    methods = {label: own | {"variant": name} if "variant" in own else own for label, own in CONFIG["methods"].items()}
    return Experiment.model_validate({**CONFIG, "methods": methods})


def test_both_names_of_the_variant_have_the_same_keys_and_the_rows_keep_the_older():
    older, newer = (with_variant(name).grid() for name in ("as-released", "reweighted"))
    assert [spec.key for spec in newer] == [spec.key for spec in older]
    variants = {spec.features["variant"] for spec in newer if "variant" in spec.features}
    assert variants == {"as-released"}


@pytest.mark.parametrize("name", ["leverage", "surrogate-leverage"])
def test_both_names_of_the_variant_are_the_same_map(name):
    import numpy as np

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.choice([-1.0, 1.0], 50)

    def mapped(variant):
        config = {"name": name, "variant": variant}
        return make_features(config, kernel="gaussian", gamma=0.5, n_features=8, random_state=0).fit(X, y).transform(X)

    np.testing.assert_array_equal(mapped("reweighted"), mapped("as-released"))
    assert not np.array_equal(mapped("reweighted"), mapped("as-written"))


def test_a_method_is_renamed_by_its_map_and_variant_not_by_its_label_alone():
    released = {"name": "surrogate-leverage", "variant": "as-released"}
    assert shown_label("Ours (released)", released) == "surrogate-RFF (reweighted)"
    assert shown_label("Ours", {"name": "surrogate-leverage"}) == "surrogate-RFF"
    assert shown_label("Ours-2", {"name": "surrogate-leverage"}) == "Ours-2"
    assert shown_label("Ours", {"name": "./mine.py:Mine"}) == "Ours"  # somebody's own method
    assert shown_label("leverage (released)", {"name": "leverage", "variant": "as-written"}) == "leverage (released)"
    both = {"Ours": {"name": "surrogate-leverage"}, "surrogate-RFF": {"name": "surrogate-leverage", "form": "eq12"}}
    assert shown_labels(both) == {"Ours": "Ours", "surrogate-RFF": "surrogate-RFF"}


@pytest.mark.parametrize("label", ["Ours (released)", "surrogate-RFF (reweighted)"])
def test_only_takes_the_stored_and_the_shown_label(label):
    chosen = filter_specs(with_variant("as-released").grid(), [f"method={label}"])
    assert {spec.method for spec in chosen} == {"Ours (released)"}
    with pytest.raises(ConfigError, match=r"unknown method 'surrogate-RFF .rewieghted.'; did you mean 'surrogate-RFF"):
        filter_specs(chosen, ["method=surrogate-RFF (rewieghted)"])


@pytest.fixture
def folder(tmp_path):
    """A folder whose config and rows have the paper's label."""
    methods = {"RFF": log.METHODS["RFF"], "Ours": log.METHODS["surrogate-RFF"]}
    rows = [
        {**log.ok(log.spec(method=method, trial=trial), 68.5 + gain + trial), "method": label}
        for label, method, gain in (("RFF", "RFF", 0), ("Ours", "surrogate-RFF", 0.1))
        for trial in range(3)
    ]
    significance = {"baselines": ["Ours"], "level": 0.05}
    config = log.config(methods=methods, reference="liu2020-table3", significance=significance)
    return log.write(tmp_path / "run", config, rows)


def test_reports_show_the_label_and_find_the_papers_numbers_and_claims_by_it(folder):
    results = load_results(folder)
    assert results.methods == ["RFF", "surrogate-RFF"]
    assert results.config["significance"]["baselines"] == ["surrogate-RFF"]
    assert "surrogate-RFF" in make_table(results).header
    compared = compare(results)
    cells = compared.cells.set_index(["method", "multiple"])
    assert cells.loc[("surrogate-RFF", 1), "reported"] == 68.62
    assert "Ours" not in {*compared.cells["method"], *(finding.method for finding in compared.findings)}


def test_a_recorded_reference_has_the_configs_labels_and_may_have_the_shown_ones(folder, tmp_path):
    path, _, _ = record(folder, tmp_path / "mine.csv")
    text = path.read_text()
    assert ",Ours," in text
    (folder / "config.yaml").write_text(
        (folder / "config.yaml").read_text().replace("liu2020-table3", "../mine.csv"), encoding="utf-8"
    )
    for label in ("Ours", "surrogate-RFF"):
        path.write_text(text.replace(",Ours,", f",{label},"))
        load_experiment(Path(folder) / "config.yaml")
        cells = compare(load_results(folder)).cells
        assert set(cells["verdict"]) == {"reproduced"}
        assert set(cells["method"]) == {"RFF", "surrogate-RFF"}
