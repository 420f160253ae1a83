"""Promises of the figure of the score against its cost."""

from types import SimpleNamespace

import numpy as np
import pytest

from rffbench.report import frame
from rffbench.report.figures.costs import cost_figure, score_time_figure
from tests.helpers import report_log as log

POINTS = {  # seconds to generate the features, accuracy
    "RFF": [(1.0, 80.0), (2.0, 85.0), (4.0, 86.0)],
    "surrogate-RFF": [(1.5, 79.0), (2.0, 90.0), (8.0, 92.0)],
}


def results(timing="exclusive", contended=False):
    rows = [
        ("eeg", n, method, trial, {"accuracy": score + trial, "feature_s": seconds, "train_s": 10 * seconds,
                                   "own_memory_bytes": 1e6 * n})
        for method, points in POINTS.items()
        for n, (seconds, score) in zip((10, 20, 40), points, strict=True)
        for trial in (0, 2)
    ]  # fmt: skip
    made = log.results(rows, log.config(methods={name: log.METHODS[name] for name in POINTS}, timing=timing))
    made.trials["contended"] = contended
    return made


def test_every_cost_has_a_panel_with_a_curve_per_method():
    panels = cost_figure(results(), "eeg").axes
    assert [panel.get_xlabel() for panel in panels] == ["feature time (s)", "training time (s)", "memory (bytes)"]
    for panel, factor in zip(panels[:2], (1, 10), strict=True):
        for container, points in zip(panel.containers, POINTS.values(), strict=True):
            cost, score = zip(*points, strict=True)
            assert np.allclose(container.lines[0].get_xdata(), np.multiply(cost, factor))
            assert np.allclose(container.lines[0].get_ydata(), np.add(score, 1))


def test_the_front_has_the_points_that_no_other_beats_in_both():
    front = cost_figure(results(), "eeg").axes[0].lines[0]
    assert list(zip(front.get_xdata(), front.get_ydata(), strict=True)) == [(1.0, 81.0), (2.0, 91.0), (8.0, 93.0)]


def test_trials_whose_memory_is_0_as_none_was_seen_have_no_part_in_its_mean():
    made = results()
    made.trials.loc[made.trials["trial"] == 0, "own_memory_bytes"] = 0.0
    (memory,) = (panel for panel in cost_figure(made, "eeg").axes if panel.get_xlabel().startswith("memory"))
    assert np.allclose(memory.containers[0].lines[0].get_xdata(), [1e7, 2e7, 4e7])


def test_of_errors_the_front_has_the_small_ones():
    rows = [
        ("eeg", n, "RFF", trial, {"rmse": error, "feature_s": seconds})
        for n, seconds, error in ((10, 1.0, 0.5), (20, 2.0, 0.6), (40, 4.0, 0.3))
        for trial in range(2)
    ]
    made = log.results(rows, log.config(methods={"RFF": log.METHODS["RFF"]}, timing="exclusive"))
    front = cost_figure(made, "eeg").axes[0].lines[0]
    assert list(zip(front.get_xdata(), front.get_ydata(), strict=True)) == [(1.0, 0.5), (4.0, 0.3)]


def test_of_seconds_taken_of_the_features_alone_no_others_are_shown():
    panels = cost_figure(results("features"), "eeg").axes
    assert [panel.get_xlabel() for panel in panels] == ["feature time (s)", "memory (bytes)"]


@pytest.mark.parametrize("contended", [True, False])
def test_seconds_that_cannot_be_compared_are_hollow_and_memory_is_not(contended):
    figure = cost_figure(results(contended=contended), "eeg")
    hollow = [sum(line.get_markerfacecolor() == "white" for line in panel.lines) for panel in figure.axes]
    shown = [sum(len(line.get_xdata()) > 0 for line in panel.lines if line.get_markerfacecolor() == "white")
             for panel in figure.axes]  # fmt: skip
    assert hollow[-1] == 0
    assert shown == ([2, 2, 0] if contended else [0, 0, 0])
    assert ("hollow" in figure.get_suptitle()) == contended


def test_no_seconds_are_shown_of_trials_that_shared_the_machine():
    panels = cost_figure(results("shared"), "eeg").axes
    assert [panel.get_xlabel() for panel in panels] == ["memory (bytes)"]


def test_the_score_stands_against_training_time_where_seconds_are_comparable(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "rffbench.data.cards.load_card", lambda name: SimpleNamespace(mark="", short="", task="regression")
    )
    lines = [log.ok(log.spec(multiple=size, trial=trial), 0.5 / size, metric="relative_rmse", feature_s=0.1 * size)
             for size in (1, 2, 4) for trial in range(3)]  # fmt: skip
    settings = {"n_features": ["1d", "2d", "4d"]}
    exclusive = frame.load_results(log.write(tmp_path / "a", log.config(timing="exclusive", **settings), lines))
    panel = score_time_figure(exclusive, "eeg").axes[0]
    np.testing.assert_allclose(panel.containers[0][0].get_xdata(orig=False), [0.3, 0.4, 0.6])  # fit_s 0.2 in each
    np.testing.assert_allclose(panel.containers[0][0].get_ydata(orig=False), [0.5, 0.25, 0.125])
    assert panel.get_ylabel() == "relative test RMSE"
    shared = frame.load_results(log.write(tmp_path / "b", log.config(timing="shared", **settings), lines))
    assert score_time_figure(shared, "eeg") is None
