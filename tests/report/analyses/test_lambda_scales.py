"""By which measure of λ curves are compared, and the λ figure that shows two of them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rffbench import report
from rffbench.report import frame
from rffbench.report.analyses.lambda_scales import LAMBDA_SCALES, distances
from rffbench.report.figures.curves import path_figure
from tests.helpers import report_log as log

LAMBDAS = np.logspace(-6, 2, 17)
LENGTH = 1e3  # Ours' features are √LENGTH times as long as RFF's


def path(scale, dimension=True):
    """A path of λ of features that are √scale times as long: the score depends on the effective dimension alone."""
    d = 20 / (1 + (LAMBDAS / scale) ** 0.2)
    curves = {"lambda": LAMBDAS, "effective_lambda": LAMBDAS / scale, "accuracy": 90 - np.square(np.log(d))}
    if dimension:
        curves |= {"median_lambda": LAMBDAS / scale**2, "effective_dimension": d}
    return {name: values.tolist() for name, values in curves.items()}


def folder(tmp_path, **changes):
    rows = []
    for trial in range(3):
        for method, scale in (("RFF", 1.0), ("surrogate-RFF", LENGTH)):
            row = log.ok(log.spec(method=method, trial=trial), 80.0)
            row["metrics"]["effective_lambda"] = 1e-3 / scale
            rows.append(row | {"curves": path(scale, **changes), "lambda": float(LAMBDAS[6])})
    methods = {name: log.METHODS[name] for name in ("RFF", "surrogate-RFF")}
    return log.write(tmp_path / "run", log.config(methods=methods, figures=["lambda", "lambda-scales"]), rows)


def test_curves_that_depend_on_one_scale_alone_are_no_distance_apart_by_it_and_some_by_the_others(tmp_path):
    found = distances(frame.load_results(folder(tmp_path)))
    assert list(found["method"]) == ["surrogate-RFF"]
    [row] = found.to_dict("records")
    assert (row["against"], row["trials"]) == ("RFF", 3)
    assert row["effective_lambda"] == pytest.approx(0, abs=0.02)  # linear between two λ
    assert row["effective_dimension"] == pytest.approx(0, abs=0.02)
    assert row["lambda"] > 1
    assert row["median_lambda"] > 1


def test_only_what_every_scale_can_compare_is_compared(tmp_path):
    [row] = distances(frame.load_results(folder(tmp_path))).to_dict("records")
    within = (LAMBDAS[0] <= LAMBDAS / LENGTH**2 * (1 + 1e-9)) & (LAMBDAS[0] <= LAMBDAS / LENGTH * (1 + 1e-9))
    assert row["compared"] == within.sum()


def test_a_lambda_of_0_has_no_part_in_a_distance(tmp_path):
    results = frame.load_results(folder(tmp_path))
    first = results.curves.groupby(["method", "trial"]).head(1)
    at_zero = first.assign(
        **dict.fromkeys(("lambda", "effective_lambda", "median_lambda"), 0.0), effective_dimension=20
    )
    at_zero["accuracy"] = np.where(at_zero["method"] == "RFF", 10.0, 80.0)
    with_zero = replace(results, curves=pd.concat([at_zero, results.curves], ignore_index=True))
    pd.testing.assert_frame_equal(distances(with_zero), distances(results))


def test_a_path_with_its_dimensions_gets_a_second_row_of_panels_and_a_table(tmp_path):
    results = frame.load_results(folder(tmp_path))
    figure = path_figure(results, "eeg")
    assert [axis.get_xlabel() for axis in figure.axes] == ["effective λ", "effective dimension"]
    [line, *_] = [line for line in figure.axes[1].lines if line.get_label() == "surrogate-RFF"]
    assert sorted(line.get_xdata()) == pytest.approx(sorted(path(LENGTH)["effective_dimension"]))
    written = {file.name for file in report.redraw(results.folder)}
    assert {"lambda-scales.csv", "lambda-scales.md", "eeg-lambda.png"} <= written
    table = pd.read_csv(results.folder / "lambda-scales.csv")
    assert set(LAMBDA_SCALES) <= set(table.columns)


def test_a_figure_of_paths_says_which_of_them_lie_on_one_another_by_lambda(tmp_path):
    run = folder(tmp_path)
    assert "by λ" not in path_figure(frame.load_results(run), "eeg").get_suptitle()
    rows = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    for row in rows:
        row["curves"] = path(1.0)
    (run / "trials.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    title = path_figure(frame.load_results(run), "eeg").get_suptitle()
    assert " ".join(title.split()).endswith("at s = 1d, by λ, RFF = surrogate-RFF")


def test_no_point_of_a_path_is_cut_off_and_methods_beside_each_other_mark_other_points(tmp_path):
    figure = path_figure(frame.load_results(folder(tmp_path)), "eeg")
    for panel in figure.axes:
        last = max(line.get_xdata().max() for line in panel.lines)
        left, right = np.log(panel.get_xlim())
        assert right - np.log(last) > 0.01 * (right - left)
    marked = [line.get_markevery() for line in figure.axes[0].lines if line.get_label() in ("RFF", "surrogate-RFF")]
    assert len(set(marked)) == 2


def test_a_path_of_an_older_log_is_drawn_against_the_effective_lambda_alone(tmp_path):
    results = frame.load_results(folder(tmp_path, dimension=False))
    assert [axis.get_xlabel() for axis in path_figure(results, "eeg").axes] == ["effective λ"]
    assert not {"lambda-scales.csv", "lambda-scales.md"} & {file.name for file in report.redraw(results.folder)}
