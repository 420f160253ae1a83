"""Promises of the figures."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import report_log as log
from matplotlib import image
from matplotlib.colors import to_rgb

from rffbench import report
from rffbench.errors import ConfigError
from rffbench.report import figures, frame, style, summary

SIZES = [1, 2, 4, 8]


@pytest.fixture(autouse=True)
def no_cards(monkeypatch):
    monkeypatch.setattr("rffbench.data.cards.load_card", lambda name: SimpleNamespace(mark="", task="classification"))


def folder(tmp_path, score=80.0, metric="accuracy", datasets=("eeg",), **config):
    """Three trials a cell, one of QMC's lost; every metric moves with size, method and trial."""
    rows = []
    for dataset in datasets:
        for multiple in SIZES:
            for rank, method in enumerate(log.METHODS):
                for trial in range(3):
                    spec = log.spec(dataset, method, multiple, trial)
                    if (method, trial) == ("QMC", 2):
                        rows.append(log.lost(spec, "timeout"))
                        continue
                    error = (1 + rank + trial / 10) / multiple
                    rows.append(log.ok(spec, score + rank + trial / 10, metric=metric, kernel_error=error,
                                       feature_s=0.01 * multiple))
    return log.write(tmp_path / "run", log.config(
        datasets=list(datasets), n_features=[f"{size}d" for size in SIZES], **config), rows)


def drawn(path, dataset="eeg"):
    results = frame.load_results(path)
    rows = summary.summarise(results)
    return figures.dataset_figure(results, rows[rows["dataset"] == dataset], dataset)


def test_redraw_writes_every_derived_file_and_names_it(tmp_path):
    path = folder(tmp_path, datasets=("eeg", "cpu"))
    written = report.redraw(path, ["png", "svg"])
    assert [str(file.relative_to(path)) for file in written] == [
        "summary.csv", "table.csv", "table.md", "table.tex",
        "figures/eeg.png", "figures/eeg.svg", "figures/cpu.png", "figures/cpu.svg"]
    assert all(file.stat().st_size > 0 for file in written)


def test_redrawing_gives_the_same_bytes(tmp_path):
    path = folder(tmp_path)
    first = {file: file.read_bytes() for file in report.redraw(path, figures.FORMATS)}
    assert {file: file.read_bytes() for file in report.redraw(path, figures.FORMATS)} == first


def test_a_png_opens_and_is_not_blank(tmp_path):
    *_, png = report.redraw(folder(tmp_path))
    pixels = image.imread(png)
    assert pixels.shape[0] > 400
    assert pixels.shape[1] > 1200
    assert pixels[..., :3].std() > 0.05


def test_the_panels_are_error_score_and_time_against_s_on_the_axes_of_the_paper(tmp_path):
    panels = drawn(folder(tmp_path)).axes
    assert [panel.get_title() for panel in panels] == [
        "(a) relative kernel error", "(b) test accuracy (%)", "(c) feature time (s)"]
    assert [panel.get_xscale() for panel in panels] == ["log"] * 3
    assert [panel.get_yscale() for panel in panels] == ["log", "linear", "log"]
    for panel in panels:
        assert panel.get_xlabel() == "frequencies s (d = 14)"
        assert list(panel.get_xticks()) == [14 * size for size in SIZES]
        assert [label.get_text() for label in panel.get_xticklabels()] == [f"{size}d" for size in SIZES]


def test_a_line_is_the_mean_and_its_bar_one_standard_deviation(tmp_path):
    accuracy = drawn(folder(tmp_path)).axes[1]
    line, caps, (bars,) = accuracy.containers[0]
    assert np.allclose(line.get_ydata(), 80.1)
    assert np.allclose([segment[:, 1] for segment in bars.get_segments()], [80.0, 80.2])
    assert np.allclose(line.get_xdata(), [14 * size for size in SIZES], rtol=0.06)
    assert len(caps) == 2


def test_the_labels_of_close_sizes_do_not_run_into_each_other(tmp_path):
    counts = [20, 50, 100, 150, 200, 250, 300, 350, 400]
    rows = [log.ok(log.spec(multiple=None, n_features=count, trial=trial, count="columns"), 80.0)
            for count in counts for trial in range(3)]
    panel = drawn(log.write(tmp_path / "run", log.config(n_features=counts, count="columns"), rows)).axes[0]
    assert list(panel.get_xticks()) == counts
    assert [label.get_text() for label in panel.get_xticklabels() if label.get_text()] == [
        "20", "50", "100", "150", "250", "350"]
    assert panel.get_xlabel() == "columns"


def test_a_regression_is_judged_by_its_rmse_on_a_log_axis(tmp_path):
    panel = drawn(folder(tmp_path, score=0.1, metric="rmse")).axes[1]
    assert panel.get_title() == "(b) test RMSE"
    assert panel.get_yscale() == "log"


def test_a_bar_that_would_reach_zero_stays_on_the_log_axis(tmp_path):
    path = folder(tmp_path)
    rows = [log.ok(log.spec(trial=trial), 80.0, feature_s=s) for trial, s in enumerate([0.01, 0.01, 1.0])]
    log.write(path, log.config(), rows)
    (bar,) = drawn(path).axes[2].containers[0][2][0].get_segments()
    assert bar[0, 1] == pytest.approx(0.034)
    assert bar[1, 1] > 0.9


def test_panels_and_datasets_without_a_measurement_are_left_out(tmp_path):
    path = folder(tmp_path)
    rows = [
        log.ok(log.spec(method=method, trial=trial), 80.0, kernel_error=None)
        for method in ("RFF", "QMC") for trial in range(3)
    ]  # fmt: skip
    rows += [log.lost(log.spec("cpu", trial=trial), "unavailable") for trial in range(3)]
    log.write(path, log.config(datasets=["eeg", "cpu"]), rows)
    titles = [panel.get_title() for panel in drawn(path).axes]
    assert titles == ["(a) test accuracy (%)", "(b) feature time (s)"]
    assert [file.name for file in report.redraw(path) if file.suffix == ".png"] == ["eeg.png"]


def test_one_method_at_one_size_makes_no_figure(tmp_path):
    path = folder(tmp_path)
    log.write(path, log.config(), [log.ok(log.spec(trial=trial), 80.0) for trial in range(3)])
    assert [file.name for file in report.redraw(path) if file.suffix == ".png"] == []


def test_there_is_no_panel_of_feature_times_where_no_method_has_features(tmp_path):
    path = folder(tmp_path)
    rows = [log.ok(log.spec(trial=trial), 80.0, kernel_error=None, feature_s=0.0) for trial in range(3)]
    log.write(path, log.config(), rows)
    assert [panel.get_title() for panel in drawn(path).axes] == ["(a) test accuracy (%)"]


def test_methods_differ_in_marker_line_and_colour_for_grey_print_and_the_colour_blind():
    styles = style.STYLES
    for name in ("marker", "linestyle", "color"):
        first_four = [str(style[name]) for style in styles[:4]]
        assert len(set(first_four)) == 4
    assert len({(style["marker"], str(style["linestyle"])) for style in styles}) == len(styles)
    grey = [float(np.dot(to_rgb(style["color"]), [0.299, 0.587, 0.114])) for style in styles[:4]]
    assert min(abs(a - b) for a, b in pairwise(grey)) > 0.08


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"'gif'.*png, pdf, svg"):
        report.redraw(folder(tmp_path), ["gif"])
