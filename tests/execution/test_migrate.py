"""`rffbench migrate`: a folder of format 1 becomes one of format 2 with the same trials, or stays as it is."""

import hashlib
import json
import lzma
import shutil
from pathlib import Path

import pytest
import yaml

from rffbench.config.experiment import Experiment
from rffbench.config.loading import load_experiment
from rffbench.errors import ResultsError
from rffbench.execution import migrate as module
from rffbench.execution.log import read_rows
from rffbench.execution.manifest import check_format, format_of
from rffbench.execution.migrate import migrate
from rffbench.io import files
from rffbench.io.text import canonical_json
from rffbench.report.frame import load_protocols

CONFIG = {
    "name": "mine",
    "datasets": ["eeg"],
    "preprocess": ["minmax"],
    "preprocess_fit": "train",
    "kernel": {"name": "gaussian", "gamma": 0.5},
    "n_features": [8, 16],
    "count": "frequencies",
    "methods": {
        "RFF": {"features": "fourier"},
        "Ours": {"features": "surrogate-leverage", "variant": "as-released"},
        "QMC": {"features": "qmc", "variant": "as-released"},
        "SORF": {"features": "sorf"},
        "TEFM": {"features": "tefm"},
        "Landmarks": {"features": "nystroem", "landmarks": "rls"},
    },
    "solver": {"name": "ridge", "lambda": [0.05, 0.5], "folds": 5, "lambda_scale": "n", "center": True},
    "trials": {"default": 2},
    "seed": 0,
    "reference": None,
    "significance": {"baselines": ["RFF", "QMC"], "level": 0.05, "correction": "none"},
    "kernel_error_points": 1000,
    "timing": "features",
    "dtype": "float64",
    "device": "cpu",
    "scores": ["auc"],
}
LATER = {"scores": ["auc"]}


def old_row(method, n_features=8, trial=0, **changes):
    """A row as the first releases wrote it."""
    own = dict(CONFIG["methods"][method])
    fields = {
        "dataset": "eeg", "data_hash": "0" * 64, "method": method, "n_features": n_features, "trial": trial, "seed": 0,
        "features": {"name": own.pop("features"), **own}, "solver": CONFIG["solver"], "kernel": CONFIG["kernel"],
        "preprocess": ["minmax"], "preprocess_fit": "train", "multiple": None, "count": "frequencies",
        "dtype": "float64", "device": "cpu", "kernel_error_points": 1000, "exclusive": "features", **LATER,
    } | changes  # fmt: skip
    key = hashlib.sha256(canonical_json(fields).encode()).hexdigest()
    measured = {
        "metrics": {"accuracy": 80.0 + trial, "auc": 0.5}, "timing": {"feature_s": 0.5, "fit_s": 0.25},
        "peak_memory_bytes": 1000, "lambda": 0.05, "error": None, "made_by": {"features": 1, "solver": 1},
    }  # fmt: skip
    return {"key": key, "status": "ok", **fields, **measured}


def every_row():
    return [old_row(method, n, trial) for method in CONFIG["methods"] for n in (8, 16) for trial in (0, 1)]


def old_folder(path, rows=None, packed=(), config=CONFIG):
    path.mkdir(parents=True)
    lines = [
        "".join(json.dumps(row) + "\n" for row in each) for each in (packed, every_row() if rows is None else rows)
    ]
    if packed:
        (path / "trials.jsonl.xz").write_bytes(lzma.compress(lines[0].encode()))
    (path / "trials.jsonl").write_text(lines[1])
    (path / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    (path / "manifest.json").write_text(json.dumps({"format": 1, "experiment": "mine", "earlier_runs": []}))
    (path / "table.md").write_text("a table")
    return path


def content(folder):
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_row_keeps_what_was_measured_and_states_what_was_implied(tmp_path):
    before = every_row()
    folder = old_folder(tmp_path / "mine", rows=before[5:], packed=before[:5])
    made = migrate(folder)
    rows = read_rows(folder / "trials.jsonl")  # which recomputes every key
    assert made.rows == len(rows) == len(before)
    for old, new in zip(before, rows, strict=True):
        same = old.keys() - {"key", "features", "solver", "exclusive"}
        assert {name: new[name] for name in same} == {name: old[name] for name in same}
        assert old["features"].items() - {("variant", "as-released")} <= new["features"].items()
        assert old["solver"].items() <= new["solver"].items()
        assert (new["timing_mode"], new["measures"], new["held_out"]) == ("features", ["kernel_error"], None)
    features = {row["method"]: row["features"] for row in rows}
    assert features["RFF"] == {"name": "fourier", "form": "paired", "truncate": None}
    assert (features["Ours"]["variant"], features["QMC"]["variant"]) == ("reweighted", "as-released")
    assert features["SORF"]["lengths"] == "fixed"  # its default is another now
    assert features["TEFM"]["sketch"] == "gaussian"
    assert features["Landmarks"]["landmarks"] == "rls"


def test_the_config_asks_for_the_rows_of_the_migrated_folder(tmp_path):
    folder = old_folder(tmp_path / "mine")
    migrate(folder)
    ((_, results),) = load_protocols(folder)
    assert len(results.trials) == len(every_row())
    assert results.methods == list(CONFIG["methods"])  # labels are as given
    config = yaml.safe_load((folder / "config.yaml").read_text())
    own = Experiment.model_validate(config)
    asked = {(spec.method, spec.n_features, spec.trial): spec.to_dict() for spec in own.grid()}
    for row in read_rows(folder / "trials.jsonl"):
        spec = asked[row["method"], row["n_features"], row["trial"]]
        assert all(row[name] == value for name, value in spec.items() if name != "data_hash")


def test_a_folder_of_a_shipped_config_gets_its_labels(tmp_path):
    shipped = load_experiment("quickstart").to_dict()
    methods = {"RFF": {"features": "fourier"}, "Ours": {"features": "surrogate-leverage"}}
    config = {**CONFIG, "name": shipped["name"], "methods": methods}
    row = {**old_row("Ours", features={"name": "surrogate-leverage"})}
    folder = old_folder(tmp_path / "quickstart", rows=[row], config=config)
    migrate(folder)
    (row,) = read_rows(folder / "trials.jsonl")
    assert row["method"] == "surrogate-RFF"
    assert row["method"] in shipped["methods"]
    assert list(yaml.safe_load((folder / "config.yaml").read_text())["methods"]) == ["RFF", "surrogate-RFF"]


def test_a_sweep_keeps_its_protocols(tmp_path):
    sweep = {"variant": {"plain": {"methods": {"Ours": {"variant": "as-written"}}}, "other": {}}}
    plain = {"name": "surrogate-leverage", "variant": "as-written"}
    rows = [old_row("Ours"), old_row("Ours", features=plain), old_row("QMC")]
    methods = {label: CONFIG["methods"][label] for label in ("Ours", "QMC")}
    config = {**CONFIG, "methods": methods, "sweep": sweep, "significance": {"baselines": ["QMC"]}}
    folder = old_folder(tmp_path / "mine", rows=rows, config=config)
    migrate(folder)
    found = {labels["variant"]: len(results.trials) for labels, results in load_protocols(folder)}
    assert found == {"plain": 2, "other": 2}


@pytest.mark.parametrize("name", ["config.yaml", "trials.jsonl"])
def test_the_former_folder_is_kept_and_other_files_are_copied(tmp_path, name):
    folder = old_folder(tmp_path / "mine")
    before = content(folder)
    made = migrate(folder)
    assert content(made.former) == before
    assert ".old-" in made.former.name  # which commands over a folder of folders skip
    assert (folder / "table.md").read_text() == "a table"
    assert (folder / name).read_bytes() != before[Path(name)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([folder.name, made.former.name])


def test_a_folder_of_format_2_is_left_alone(tmp_path):
    folder = old_folder(tmp_path / "mine")
    migrate(folder)
    before = content(folder)
    assert migrate(folder) is None
    assert content(folder) == before


def test_only_migrate_reads_format_1_and_the_error_says_so(tmp_path):
    folder = old_folder(tmp_path / "mine")
    with pytest.raises(ResultsError, match=rf"format 1; .*rffbench migrate {folder}"):
        check_format(folder)
    (folder / "manifest.json").unlink()
    assert format_of(folder) == 1
    with pytest.raises(ResultsError, match=r"line 1: a row of format 1; rffbench migrate"):
        read_rows(folder / "trials.jsonl")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"seed": 7}, "its key is not that of its fields"),  # edited after the run
        ({"features": {"name": "fourier", "lengths": 3}}, "lengths"),
        ({"solver": {"name": "sparse-rf", "lambda": [1.0]}}, "sparse-rf has no lambda_scale"),
        ({"kernel": {"name": "gaussian", "gamma": {"times_median": [1], "features": "sorf"}}}, "by sorf"),
        ({"exclusive": "sometimes"}, "exclusive"),
    ],
)
def test_a_row_that_cannot_be_mapped_is_named_and_nothing_is_changed(tmp_path, change, why):
    rows = every_row()
    rows[3] = {**rows[3], **change} if "seed" in change else old_row("RFF", 16, 1, **change)
    folder = old_folder(tmp_path / "mine", rows=rows)
    before = content(folder)
    with pytest.raises(ResultsError, match=rf"trials.jsonl, line 4: eeg RFF at 16, trial 1: .*{why}"):
        migrate(folder)
    assert content(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_torn_last_line_is_dropped_and_one_before_is_named(tmp_path):
    folder = old_folder(tmp_path / "mine")
    whole = (folder / "trials.jsonl").read_text()
    (folder / "trials.jsonl").write_text(whole + '{"key": "0')
    assert migrate(folder).rows == len(every_row())
    other = old_folder(tmp_path / "other")
    (other / "trials.jsonl").write_text('{"key": "0\n' + whole)
    with pytest.raises(ResultsError, match=r"trials.jsonl, line 1: not JSON"):
        migrate(other)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("place", ["line_of", "write_whole"])
def test_interrupted_at_any_moment_before_the_swap_the_folder_is_as_it_was(tmp_path, monkeypatch, place):
    folder = old_folder(tmp_path / "mine")
    before = content(folder)

    def killed(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, place, killed)
        with pytest.raises(Killed):
            migrate(folder)
    assert content(folder) == before
    (tmp_path / ".mine.migrating").mkdir(exist_ok=True)  # as a kill leaves it
    (tmp_path / ".mine.migrating" / "trials.jsonl").write_text("half")
    assert migrate(folder).rows == len(every_row())


@pytest.mark.parametrize("can_exchange", [True, False])
def test_the_copy_takes_the_folders_place(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(files, "exchange", lambda one, other: False)
    for name in ("new", "folder"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which").write_text(name)
    files.put_in_place(tmp_path / "new", tmp_path / "folder", tmp_path / "former")
    assert (tmp_path / "folder" / "which").read_text() == "new"
    assert (tmp_path / "former" / "which").read_text() == "folder"
    assert not (tmp_path / "new").exists()


def test_rows_that_were_kept_aside_are_migrated_too(tmp_path):
    folder = old_folder(tmp_path / "mine")
    shutil.copyfile(folder / "trials.jsonl", folder / "trials.aside.jsonl")
    migrate(folder)
    assert read_rows(folder / "trials.aside.jsonl") == read_rows(folder / "trials.jsonl")


def test_the_parameters_of_a_foreign_map_stay_as_they_were_given(tmp_path):
    """Its code has the defaults, and the key the hash of the code."""
    own = {"name": "./mine.py:Mine", "depth": 3}
    folder = old_folder(tmp_path / "mine", rows=[old_row("RFF", features=own, source="1" * 64)])
    migrate(folder)
    (row,) = read_rows(folder / "trials.jsonl")
    assert (row["features"], row["source"]) == (own, "1" * 64)
