"""Promises of the figures of what trials kept: the score at every λ, and how a solver went on."""

import json

import numpy as np
import pytest

from rffbench.report import frame
from rffbench.report.figures.curves import path_figure, progress_figure
from tests.helpers import lambda_paths
from tests.helpers import report_log as log


def results(path, curves, more=()):
    """Three trials of RFF, each with its curves, and rows without any."""
    rows = [log.ok(log.spec(trial=trial), 80.0) | {"curves": each} for trial, each in enumerate(curves)]
    return frame.load_results(log.write(path / "run", log.config(), [*rows, *more]))


def test_a_curve_of_lambda_is_the_mean_over_trials_in_a_band_of_one_standard_deviation(tmp_path):
    scores = np.array([[75.0, 90.0], [77.0, 93.0], [79.0, 90.0]])
    kept = [
        {"lambda": [0.01, 0.5], "effective_lambda": [0.01 * 2**trial, 0.5 * 2**trial], "accuracy": list(each)}
        for trial, each in enumerate(scores)
    ]
    (panel,) = path_figure(results(tmp_path, kept), "eeg").axes
    (curve,) = (line for line in panel.get_lines() if len(line.get_xdata()) == 2)
    assert curve.get_xdata() == pytest.approx([0.02, 1.0])  # the geometric means
    assert curve.get_ydata() == pytest.approx(scores.mean(axis=0))
    (band,) = panel.collections
    ends = {round(float(y), 6) for y in band.get_paths()[0].vertices[:, 1]}
    mean, std = scores.mean(axis=0), scores.std(axis=0, ddof=1)
    assert ends == {round(float(each), 6) for each in (*(mean - std), *(mean + std))}


def test_the_test_error_of_a_run_and_of_a_method_without_a_curve_are_in_percent(tmp_path):
    kept = [{"time": [0.1, 0.2], "objective": [2.0, 1.0], "test_error": [0.3, 0.2]}] * 3
    others = [log.ok(log.spec(method="QMC", trial=trial), score) for trial, score in enumerate((70.0, 74.0))]
    figure = progress_figure(results(tmp_path, kept, others), "eeg")
    (panel,) = (panel for panel in figure.axes if panel.get_title() == "test error (%)")
    heights = [np.unique(line.get_ydata()).tolist() for line in panel.get_lines()]
    assert heights.count([20.0, 30.0]) == 3
    assert heights.count([28.0]) == 1  # 100 less the mean accuracy


def test_a_solver_s_residual_and_test_error_are_drawn_against_its_time_and_its_passes_a_style_for_each_size(tmp_path):
    def kept(last):
        return {"passes": [3.0, 4.0], "time": [0.1, 0.2], "residual": [0.1, last], "test_error": [0.3, 0.2]}

    rows = [
        log.ok(log.spec(multiple=multiple, trial=trial), 80.0) | {"curves": kept(10.0**-multiple)}
        for multiple in (1, 2) for trial in (0, 1)
    ]  # fmt: skip
    run = frame.load_results(log.write(tmp_path / "run", log.config(n_features=["1d", "2d"]), rows))
    figure = progress_figure(run, "eeg")
    axes = {(panel.get_title(), panel.get_xlabel()): panel for panel in figure.axes}
    residual, error = "relative residual", "test error (%)"
    time, passes = "training time (s)", "passes over the rows"
    assert set(axes) == {(title, label) for title in (residual, error) for label in (time, passes)}
    panel = axes[residual, passes]
    assert [line.get_xdata().tolist() for line in panel.get_lines()] == [[3.0, 4.0]] * 4
    assert panel.get_yscale() == "log"
    assert panel.get_legend_handles_labels()[1] == ["RFF, s = 1d", "RFF, s = 2d"]
    assert {round(line.get_ydata()[-1], 3) for line in panel.get_lines()} == {0.1, 0.01}


def test_a_path_with_its_dimensions_gets_a_second_row_of_panels_and_a_table(tmp_path):
    results = frame.load_results(lambda_paths.folder(tmp_path))
    figure = path_figure(results, "eeg")
    assert [axis.get_xlabel() for axis in figure.axes] == ["effective λ", "effective dimension"]
    [line, *_] = [line for line in figure.axes[1].lines if line.get_label() == "surrogate-RFF"]
    assert sorted(line.get_xdata()) == pytest.approx(
        sorted(lambda_paths.path(lambda_paths.LENGTH)["effective_dimension"])
    )


def test_a_figure_of_paths_says_which_of_them_lie_on_one_another_by_lambda(tmp_path):
    run = lambda_paths.folder(tmp_path)
    assert "by λ" not in path_figure(frame.load_results(run), "eeg").get_suptitle()
    rows = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    for row in rows:
        row["curves"] = lambda_paths.path(1.0)
    (run / "trials.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    title = path_figure(frame.load_results(run), "eeg").get_suptitle()
    assert " ".join(title.split()).endswith("at s = 1d, by λ, RFF = surrogate-RFF")


def test_no_point_of_a_path_is_cut_off_and_methods_beside_each_other_mark_other_points(tmp_path):
    figure = path_figure(frame.load_results(lambda_paths.folder(tmp_path)), "eeg")
    for panel in figure.axes:
        last = max(line.get_xdata().max() for line in panel.lines)
        left, right = np.log(panel.get_xlim())
        assert right - np.log(last) > 0.01 * (right - left)
    marked = [line.get_markevery() for line in figure.axes[0].lines if line.get_label() in ("RFF", "surrogate-RFF")]
    assert len(set(marked)) == 2


def test_a_path_of_an_older_log_is_drawn_against_the_effective_lambda_alone(tmp_path):
    results = frame.load_results(lambda_paths.folder(tmp_path, dimension=False))
    assert [axis.get_xlabel() for axis in path_figure(results, "eeg").axes] == ["effective λ"]
