"""Promises of the figures against a swept parameter."""

import numpy as np
import pytest

from rffbench import report
from rffbench.config.grid import Grid
from rffbench.config.loading import load_resolved
from rffbench.report import figures, frame, summary
from rffbench.report.figures.sweep import axis_values, sweep_figures
from tests.helpers import report_log as log

POOLS = (1.0, 2.0, 5.0)
METHODS = {"RFF": log.METHODS["RFF"], "surrogate-RFF": log.METHODS["surrogate-RFF"]}


def folder(tmp_path, label="l/s = {:g}", **axes):
    """RFF is at 80 at every pool; the accuracy of surrogate-RFF is 80 and ten times the pool's size."""
    sweep = {"pool": {label.format(pool): {"methods": {"surrogate-RFF": {"pool": pool}}} for pool in POOLS}, **axes}
    config = log.config(n_features=["1d", "2d"], methods=METHODS, sweep=sweep, trials=2)
    path = log.write(tmp_path / "run", config, [])
    rows = {}
    for _, resolved in load_resolved(path / "config.yaml"):
        for spec in Grid(resolved).specs():
            pool = spec.features.get("pool", 0.0)
            rows[spec.key] = log.ok(spec, 80.0 + 10 * pool + spec.trial, contended=pool == POOLS[-1])
    return log.write(path, config, rows.values())


def drawn(path):
    protocols = frame.load_protocols(path)
    return dict(sweep_figures(protocols, [summary.summarise(results) for _, results in protocols]))


def accuracy(figure):
    return [panel for panel in figure.axes if "accuracy" in panel.get_title()]


def test_a_curve_has_the_means_at_the_values_of_the_axis(tmp_path):
    figure = drawn(folder(tmp_path))["eeg-by-pool"]
    assert [panel.get_title() for panel in accuracy(figure)] == [
        "(c) test accuracy (%), s = 1d", "(d) test accuracy (%), s = 2d",
    ]  # fmt: skip
    for panel in accuracy(figure):
        assert panel.get_xlabel() == "l/s"
        assert panel.get_xscale() == "log"
        assert [label.get_text() for label in panel.get_xticklabels()] == ["1", "2", "5"]
        unchanged, ours = (line.lines[0] for line in panel.containers)
        assert np.allclose(unchanged.get_ydata(), 80.5)
        assert np.allclose(ours.get_ydata(), [90.5, 100.5, 130.5])
        assert np.allclose(ours.get_xdata(), POOLS, rtol=0.06)


def test_a_point_of_a_single_trial_is_drawn(tmp_path):
    path = folder(tmp_path)
    log_file = path / "trials.jsonl"
    log_file.write_text("".join(line for line in log_file.read_text().splitlines(True) if '"trial": 0' in line))
    for panel in accuracy(drawn(path)["eeg-by-pool"]):
        assert np.allclose(panel.containers[1].lines[0].get_ydata(), [90.0, 100.0, 130.0])


def test_points_whose_seconds_cannot_be_compared_are_hollow(tmp_path):
    times = [panel for panel in drawn(folder(tmp_path))["eeg-by-pool"].axes if "time" in panel.get_title()]
    hollow = [line for line in times[0].lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in hollow] == [pytest.approx([POOLS[-1]], rel=0.06)]


def test_there_is_a_figure_per_combination_of_the_other_axes(tmp_path):
    other = {"bandwidth": {"wide": {}, "narrow": {"kernel": {"gamma": 2.0}}}}
    assert list(drawn(folder(tmp_path, **other))) == ["eeg-wide-by-pool", "eeg-narrow-by-pool"]


@pytest.mark.slow
def test_a_sweep_too_large_for_figures_of_each_protocol_has_it_too(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "MOST_PROTOCOLS", 2)
    drawn = [file.name for file in report.redraw(folder(tmp_path)) if file.parent.name == "figures"]
    assert drawn == ["eeg-by-pool.png"]


def test_labels_that_are_no_numbers_have_no_such_figure(tmp_path):
    assert drawn(folder(tmp_path, label="pool {:g}")) == {}


@pytest.mark.parametrize(
    ("labels", "name", "values"),
    [
        (["1", "0.5", "1e-3"], "axis", [1, 0.5, 1e-3]),
        (["sigma=1", "sigma=0.05"], "σ", [1, 0.05]),
        (["1/2", "−3"], "axis", [0.5, -3]),
        (["median", "1"], "axis", []),
        (["a = 1", "b = 2"], "axis", []),
        (["n = m = 1", "n = 1"], "axis", []),
        (["1", "1.0"], "axis", []),
        (["nan", "1"], "axis", []),
    ],
)
def test_an_axis_is_numbers_where_every_label_is_another_one_of_the_same_thing(labels, name, values):
    found, numbers = axis_values("axis", labels)
    assert (found, list(numbers.values())) == (name, values)
