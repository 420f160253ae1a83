"""The door from Python gives what the command line gives, as objects."""

import json
import re
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import rffbench
import rffbench.figures
import rffbench.stats
from rffbench import plugin
from rffbench.cli import cli
from rffbench.errors import ConfigError, ResultsError
from rffbench.report import compare_folder
from rffbench.report.writeup import to_text

DOCS = Path(__file__).parents[1] / "docs"
TINY = {
    "name": "tiny",
    "datasets": ["breast-cancer"],
    "preprocess": "minmax",
    "n_features": [4, 8],
    "methods": {"RFF": {"features": "fourier"}, "QMC": {"features": "qmc"}},
    "solver": {"name": "ridge", "lambda": [0.001, 0.1], "folds": 2},
    "trials": 3,
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return rffbench.run(TINY, results=tmp_path_factory.mktemp("results"), executor="serial", progress=False)


def test_a_dictionary_runs_and_its_trials_are_a_frame(tiny):
    assert len(tiny.trials) == 12
    assert set(tiny.trials["status"]) == {"ok"}
    assert tiny.trials["accuracy"].between(80, 100).all()
    assert tiny.name == "tiny"
    assert tiny.config["trials"] == 3
    assert len(tiny.failures) == 0
    assert "12 of 12 trials ok" in repr(tiny)


def test_the_summary_is_that_of_the_command_line(tiny):
    written = CliRunner().invoke(cli, ["table", str(tiny.folder)])
    assert written.exit_code == 0
    pd.testing.assert_frame_equal(
        tiny.summary[["dataset", "method", "metric", "mean", "n_ok"]],
        pd.read_csv(tiny.folder / "summary.csv")[["dataset", "method", "metric", "mean", "n_ok"]],
    )
    assert str(tiny.table()).splitlines()[0] in written.output
    assert tiny.table(seconds=False).frame.shape == (2, 4)
    assert "<table>" in tiny._repr_html_()
    assert "toprule" in tiny.table().to_latex()


def test_what_a_study_asks_of_results(tiny):
    assert (tiny.methods, tiny.datasets) == (["RFF", "QMC"], ["breast-cancer"])
    assert tiny.planned["trials"].tolist() == [3] * 4
    assert set(tiny.planned["n_features"]) == {4, 8}
    assert tiny.setting("preprocess", "breast-cancer") == ["minmax"]
    assert tiny.setting("solver", method="QMC")["folds"] == 2
    assert tiny.features("QMC")["name"] == "qmc"
    assert tiny.tuned("RFF") == {"lambda": [0.001, 0.1]}
    assert set(tiny.edges["end"]) <= {"smallest", "largest"}
    assert tiny.runs[0]["rffbench"] == rffbench.__version__
    assert pd.to_datetime(tiny.trials["finished"]).notna().all()
    assert tiny.baselines == ["RFF", "QMC"]
    assert tiny.metrics["accuracy"].better == tiny.score("breast-cancer").better == "greater"
    assert tiny.called("breast-cancer") == "Breast Cancer"
    assert set(tiny.trials["multiple"].isna()) == {True}  # the sizes are counts
    ((labels, alone),) = tiny.protocols
    assert labels == {}
    pd.testing.assert_frame_equal(alone.trials, tiny.trials)
    table = rffbench.run_table({"tiny": tiny.runs})
    assert table.rows[0][:2] == ["tiny", str(len(tiny.runs))]


def test_a_trial_s_features_are_made_again_from_the_same_numbers(tmp_path):
    """Ridge by its formula on them has the trial's accuracy, with the γ that the trial chose."""
    chosen = {"name": "gaussian", "gamma": [0.05, 0.2, 0.8]}
    config = TINY | {"kernel": chosen, "trials": 2, "n_features": [8]}
    results = rffbench.run(config, results=tmp_path, executor="serial", progress=False)
    assert results.trials["gamma"].nunique() > 1
    for row in results.trials.to_dict("records"):
        split, features = results.refit("breast-cancer", row["method"], 8, row["trial"])
        Z, Z_test = features.transform(split.X_train[:]), features.transform(split.X_test[:])
        mean = split.y_train.mean()
        gram = Z.T @ Z + len(Z) * row["lambda"] * np.eye(Z.shape[1])
        outputs = mean + Z_test @ np.linalg.solve(gram, Z.T @ (split.y_train - mean))
        assert 100 * np.mean(np.where(outputs > 0, 1, -1) == split.y_test) == pytest.approx(row["accuracy"])
    with pytest.raises(KeyError):
        results.refit("breast-cancer", "RFF", 9, 0)


def test_a_dataset_is_whole():
    found = rffbench.load_dataset("breast-cancer")
    assert found.X.shape == (found.card.rows, found.card.columns) == (569, 30)
    assert set(np.asarray(found.y)) == {-1, 1}


def test_results_that_may_be_compared_have_one_protocol(tiny, tmp_path):
    def protocol(**other):
        run = rffbench.run({**TINY, **other}, results=tmp_path, executor="serial", progress=False)
        return run.protocol

    assert protocol(name="shorter", n_features=[4], trials=1) == tiny.protocol
    other = {"name": "ridge", "lambda": [0.01], "folds": 2}
    assert protocol(name="other", n_features=[4], trials=1, solver=other) != tiny.protocol


@pytest.mark.parametrize("module", [rffbench.stats, rffbench.figures], ids=["stats", "figures"])
def test_every_name_of_a_public_module_is_there(module):
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


def test_loading_gives_the_same_and_a_run_carries_on(tiny):
    again = rffbench.load(tiny.folder)
    pd.testing.assert_frame_equal(again.trials, tiny.trials)
    calls = []
    rffbench.run(TINY, results=tiny.folder.parent, executor="serial", progress=lambda *told: calls.append(told))
    assert calls[0][:2] == (12, 12)


def test_a_part_of_the_grid_is_asked_for_by_a_dictionary(tmp_path):
    part = rffbench.run(
        TINY, results=tmp_path, executor="serial", progress=False, only={"method": "RFF", "trial": [0, 2]}
    )
    assert set(part.trials["method"]) == {"RFF"}
    assert set(part.trials["trial"]) == {0, 2}


def test_results_are_held_against_a_reference_and_against_others(tiny, tmp_path):
    reference = tmp_path / "tiny_reference.csv"
    assert CliRunner().invoke(cli, ["record", str(tiny.folder), "--output", str(reference)]).exit_code == 0
    compared = rffbench.run(
        {**TINY, "reference": str(reference)}, results=tmp_path, executor="serial", progress=False
    ).compare()
    assert compared.outside == 0
    assert len(compared.cells) == 4
    assert "RFF" in str(compared)
    assert compared._repr_html_().startswith("<pre>")
    unchanged = tiny.diff(rffbench.load(tmp_path / "tiny"))
    assert unchanged.outside == 0
    assert set(unchanged.cells["verdict"]) == {"unchanged"}
    alone = tiny.compare()  # without a reference
    assert alone.cells.empty
    assert {"method", "baseline", "difference", "p_holm"} <= set(alone.methods)
    assert "methods against each other" in str(alone)
    with pytest.raises(ConfigError, match="reference"):
        tiny.compare(tolerance=1.0)


def test_a_recorded_baseline_has_no_marks_to_agree_with(tiny, tmp_path):
    reference = tmp_path / "tiny_reference.csv"
    assert CliRunner().invoke(cli, ["record", str(tiny.folder), "--output", str(reference)]).exit_code == 0
    config = {**TINY, "reference": str(reference)}
    folder = rffbench.run(config, results=tmp_path, executor="serial", progress=False).folder
    comparison, _ = compare_folder(folder, None)
    comparison.cells["measured_significant"] = 1.0
    assert "significantly better than the baselines" in (text := to_text(comparison))
    assert "agrees in" not in text
    comparison.cells["reported_significant"] = 1.0
    assert "baselines; agrees in 4 of 4 cells." in to_text(comparison)


def test_figures_are_files_that_a_notebook_shows(tiny):
    figures = tiny.plot()
    assert figures
    assert all(path.is_file() for path in figures)
    assert "data:image/png;base64," in figures._repr_html_()
    with pytest.raises(ValueError, match=r"unknown format 'gif'"):
        tiny.plot("gif")
    with pytest.raises(ValueError, match=r"columns must be 1 or 2, with style='paper', got 2 with style='screen'"):
        tiny.plot(columns=2)
    assert len(tiny.plot("pdf", style="paper", columns=1, panels=["accuracy"])) >= 1


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({**TINY, "trails": 3}, "trails"),
        ({**TINY, "methods": {"RFF": {"features": "furier"}}}, r"methods.RFF.*fourier"),
        ({**TINY, "n_features": [0]}, "n_features"),
        ("nope", "no such file"),
    ],
)
def test_a_wrong_config_is_refused_by_name(config, said, tmp_path):
    with pytest.raises(ConfigError, match=said):
        rffbench.run(config, results=tmp_path)
    assert not list(tmp_path.iterdir())


def test_no_folder_of_one_experiment_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="no such results folder"):
        rffbench.load(tmp_path / "none")


@pytest.mark.slow
def test_a_script_without_a_guard_runs_once_with_worker_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import rffbench
        print("started")
        results = rffbench.run({TINY!r}, results={str(tmp_path)!r}, workers=1)
        print(len(results.trials))
    """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["started", "12"], done.stderr


def test_what_own_parts_derive_from_is_in_one_place():
    parts = {"FeatureMap", "FourierFeatures", "Kernel", "SpectralKernel", "Regressor", "Classifier", "Metric", "Score"}
    assert parts | {"Predictions", "Executor", "ClusterExecutor"} <= set(plugin.__all__)
    for name in plugin.__all__:
        assert getattr(plugin, name).__name__ == name
        assert name in (plugin.__doc__ or "")
    with pytest.raises(AttributeError, match="no attribute 'Nope'"):
        plugin.Nope  # noqa: B018


SHOWN = {"print(results.table())": "results", "print(means)": "means", "figures = first.plot()": "first.plot()"}


def cells_of_the_notebook():
    cells = json.loads((DOCS / "python.ipynb").read_text())["cells"]
    return ["".join(each["source"]).rstrip() for each in cells if each["cell_type"] == "code"]


def test_the_notebook_has_the_code_of_the_page():
    text = (DOCS / "python.md").read_text()
    for printed, shown in SHOWN.items():
        text = text.replace(printed, shown)
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    plain = [re.sub(r"print\((\w+)\) +#", r"\1 #", re.sub(r" +#", " #", block)).rstrip() for block in blocks]
    assert [re.sub(r" +#", " #", cell) for cell in cells_of_the_notebook()] == plain


@pytest.mark.slow
def test_the_notebook_runs_as_it_is(tmp_path):
    checks = "assert first.plot() and len(second.trials) == 20 and not len(results.failures)"
    code = "\n".join([*cells_of_the_notebook(), checks])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_pages_name_no_other_place_to_derive_from():
    root = DOCS.parent
    for page in [
        *root.glob("docs/*.md"),
        root / "README.md",
        root / "CONTRIBUTING.md",
        root / "rffbench/plugins/skeletons.py",
    ]:
        if page.name in ("changelog.md",):
            continue
        lines = [line for line in page.read_text().splitlines() if line.lstrip().startswith("from rffbench.")]
        built_in = ("rffbench.plugin", "rffbench.kernels", "rffbench.stats")  # is called, and not derived from
        outside = [line for line in lines if not any(each in line for each in built_in) and page.suffix == ".md"]
        assert not outside, f"{page.name}: {outside}"


def test_numbers_of_numpy_choose_the_part_of_the_grid_and_the_number_of_trials(tmp_path):
    results = rffbench.run(
        {**TINY, "n_features": np.array([4, 8])}, results=tmp_path, workers=np.int64(1), trials=np.int64(2),
        only={"trial": np.int64(0), "n_features": np.array([4])}, progress=False,
    )  # fmt: skip
    assert results.trials[["trial", "n_features"]].drop_duplicates().to_numpy().tolist() == [[0, 4]]
    with pytest.raises(ConfigError, match=r"only\.trial: is of the type decimal.Decimal"):
        rffbench.run(TINY, results=tmp_path, only={"trial": Decimal(0)})
