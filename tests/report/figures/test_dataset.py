"""Promises of the figures."""

import json
import warnings
from dataclasses import replace
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib import image
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from rffbench import report
from rffbench.errors import ConfigError, ResultsError
from rffbench.report import frame, summary
from rffbench.report.figures import FORMATS, style
from rffbench.report.figures import dataset as figures
from rffbench.trials.spec import TrialResult
from tests.helpers import report_log as log
from tests.helpers.cases import slow

SIZES = [1, 2, 4, 8]


@pytest.fixture(autouse=True)
def no_cards(monkeypatch):
    monkeypatch.setattr(
        "rffbench.data.cards.load_card", lambda name: SimpleNamespace(mark="", short="", task="classification")
    )


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
                    rows.append(
                        log.ok(
                            spec,
                            score + rank + trial / 10,
                            metric=metric,
                            kernel_error=error,
                            feature_s=0.01 * multiple,
                        )
                    )
    return log.write(
        tmp_path / "run", log.config(datasets=list(datasets), n_features=[f"{size}d" for size in SIZES], **config), rows
    )


def drawn(path, dataset="eeg"):
    results = frame.load_results(path)
    rows = summary.summarise(results)
    return figures.dataset_figure(results, rows[rows["dataset"] == dataset], dataset)


def test_redraw_writes_every_derived_file_and_names_it(tmp_path):
    path = folder(tmp_path)
    written = report.redraw(path, ["png", "svg"])
    assert [str(file.relative_to(path)) for file in written] == [
        "summary.csv",
        "table.csv",
        "table.md",
        "table.tex",
        "figures/eeg.png",
        "figures/eeg.svg",
        "figures/eeg-cost.png",
        "figures/eeg-cost.svg",
    ]
    assert all(file.stat().st_size > 0 for file in written)


@pytest.mark.slow
def test_redrawing_gives_the_same_bytes(tmp_path):
    path = folder(tmp_path)
    first = {file: file.read_bytes() for file in report.redraw(path, FORMATS)}
    assert {file: file.read_bytes() for file in report.redraw(path, FORMATS)} == first


def test_the_error_of_a_regression_stands_in_one_unit(tmp_path):
    rows = [
        log.ok(log.spec(multiple=size, trial=trial), 10 / size, metric="rmse") for size in SIZES for trial in (0, 1)
    ]
    for row in rows:
        row["metrics"]["relative_rmse"] = row["metrics"]["rmse"] / 80
    config = log.config(n_features=[f"{size}d" for size in SIZES])
    panels = drawn(log.write(tmp_path, config, rows)).axes
    assert [panel.get_title()[4:] for panel in panels if "RMSE" in panel.get_title()] == ["relative test RMSE"]


@pytest.mark.slow
def test_a_png_is_written_again_only_where_what_it_shows_has_changed(tmp_path):
    path = folder(tmp_path)
    *_, png, _cost = report.redraw(path)
    before = png.stat().st_mtime_ns, png.stat().st_ino
    report.redraw(path)
    assert (png.stat().st_mtime_ns, png.stat().st_ino) == before
    lines = (path / "trials.jsonl").read_text().splitlines(True)
    (path / "trials.jsonl").write_text("".join(lines[1:]))
    report.redraw(path)
    assert (png.stat().st_mtime_ns, png.stat().st_ino) != before


@pytest.mark.parametrize("place", ["left", "center", "right"])
def test_a_panel_of_another_title_is_drawn_anew(place):
    figures_ = [Figure(), Figure()]
    for figure, title in zip(figures_, ("one", "other"), strict=True):
        figure.subplots().set_title(title, loc=place)
    assert style.fingerprint(figures_[0]) != style.fingerprint(figures_[1])


def test_a_png_opens_and_is_not_blank(tmp_path):
    *_, png, _cost = report.redraw(folder(tmp_path))
    pixels = image.imread(png)
    assert pixels.shape[0] > 400
    assert pixels.shape[1] > 1200
    assert pixels[..., :3].std() > 0.05


def test_the_panels_are_error_score_and_time_against_s_on_the_axes_of_the_paper(tmp_path):
    panels = drawn(folder(tmp_path)).axes
    assert [panel.get_title() for panel in panels] == [
        "(a) relative kernel error",
        "(b) test accuracy (%)",
        "(c) feature time (s)",
    ]
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
    rows = [
        log.ok(log.spec(multiple=None, n_features=count, trial=trial, count="columns"), 80.0)
        for count in counts
        for trial in range(3)
    ]
    panel = drawn(log.write(tmp_path / "run", log.config(n_features=counts, count="columns"), rows)).axes[0]
    assert list(panel.get_xticks()) == counts
    assert [label.get_text() for label in panel.get_xticklabels() if label.get_text()] == [
        "20",
        "50",
        "100",
        "150",
        "250",
        "350",
    ]
    assert panel.get_xlabel() == "columns"


def test_a_regression_is_judged_by_its_rmse_on_a_log_axis(tmp_path):
    panel = drawn(folder(tmp_path, score=0.1, metric="rmse")).axes[1]
    assert panel.get_title() == "(b) test RMSE"
    assert panel.get_yscale() == "log"


def test_a_bar_that_would_reach_zero_stays_on_the_log_axis(tmp_path):
    path = folder(tmp_path)
    rows = [
        log.ok(log.spec(multiple=multiple, trial=trial), 80.0, feature_s=s)
        for trial, s in enumerate([0.01, 0.01, 1.0])
        for multiple in (1, 2)
    ]
    log.write(path, log.config(n_features=["1d", "2d"]), rows)
    bar, _ = drawn(path).axes[2].containers[0][2][0].get_segments()
    assert bar[0, 1] == pytest.approx(0.034)
    assert bar[1, 1] == pytest.approx(0.34 + np.std([0.01, 0.01, 1.0], ddof=1))


def test_panels_and_datasets_without_a_measurement_are_left_out(tmp_path):
    path = folder(tmp_path)
    rows = [
        log.ok(log.spec(method=method, trial=trial, multiple=multiple), 80.0, kernel_error=None)
        for method in ("RFF", "QMC") for trial in range(3) for multiple in (1, 2)
    ]  # fmt: skip
    rows += [log.lost(log.spec("cpu", trial=trial), "unavailable") for trial in range(3)]
    log.write(path, log.config(datasets=["eeg", "cpu"], n_features=["1d", "2d"]), rows)
    titles = [panel.get_title() for panel in drawn(path).axes]
    assert titles == ["(a) test accuracy (%)", "(b) feature time (s)"]
    assert [file.name for file in report.redraw(path) if file.suffix == ".png"] == ["eeg.png", "eeg-cost.png"]


@pytest.mark.parametrize("methods", [["RFF"], ["RFF", "QMC"]])
def test_one_size_makes_no_figure_of_a_lone_tick(tmp_path, methods):
    path = folder(tmp_path)
    rows = [log.ok(log.spec(method=method, trial=trial), 80.0) for method in methods for trial in range(3)]
    log.write(path, log.config(), rows)
    assert [file.name for file in report.redraw(path) if file.suffix == ".png"] == ["eeg-cost.png"] * (len(methods) > 1)


def test_there_is_no_panel_of_feature_times_where_no_method_has_features(tmp_path):
    path = folder(tmp_path)
    specs = [log.spec(multiple=multiple, trial=trial) for multiple in (1, 2) for trial in range(3)]
    rows = [log.ok(each, 80.0, kernel_error=None, feature_s=0.0) for each in specs]
    log.write(path, log.config(n_features=["1d", "2d"]), rows)
    assert [panel.get_title() for panel in drawn(path).axes] == ["(a) test accuracy (%)"]


def test_methods_differ_in_marker_line_and_colour_for_grey_print_and_the_colour_blind():
    styles = style.STYLES
    for name in ("marker", "linestyle", "color"):
        first_four = [str(style[name]) for style in styles[:4]]
        assert len(set(first_four)) == 4
    assert len({(style["marker"], str(style["linestyle"])) for style in styles}) == len(styles)
    grey = [float(np.dot(to_rgb(style["color"]), [0.299, 0.587, 0.114])) for style in styles[:4]]
    assert min(abs(a - b) for a, b in pairwise(grey)) > 0.08


@pytest.mark.parametrize(("kind", "curves"), [
    ("lambda", {"lambda": [0.05, 0.5], "effective_lambda": [0.1, 1.0], "accuracy": [80.0, 70.0]}),
    ("progress", {"time": [0.1, 0.2], "objective": [2.0, 1.0], "test_error": [0.3, 0.2]}),
])  # fmt: skip
def test_what_trials_kept_is_drawn_of_the_datasets_that_have_it(tmp_path, kind, curves):
    kept = log.ok(log.spec("eeg"), 80.0) | {"curves": curves, "lambda": 0.05}
    rows = [kept, log.lost(log.spec("magic04"), "error")]
    run = log.write(tmp_path / "run", log.config(datasets=["eeg", "magic04"]), rows)
    written = {path.name for path in report.redraw(run) if path.suffix == ".png"}
    assert written == {f"eeg-{kind}.png"}


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"'gif'.*png, pdf, svg"):
        report.redraw(folder(tmp_path), ["gif"])


def test_a_method_without_features_is_a_line_across(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "rffbench.data.cards.load_card", lambda name: SimpleNamespace(mark="", short="", task="classification")
    )
    methods = {"RFF": {"features": "fourier"}, "exact": {"features": "none", "n_features": [1]}}
    exact = replace(log.spec(), method="exact", features={"name": "none"}, n_features=1, multiple=None)
    lines = [log.ok(log.spec(multiple=size), 80.0 + size) for size in (1, 2)]
    lines.append(TrialResult(exact, "ok", {"accuracy": 85.0}, {"feature_s": 0.0, "fit_s": 1.0}).to_row())
    panel = drawn(log.write(tmp_path / "run", log.config(methods=methods, n_features=["1d", "2d"]), lines)).axes[1]
    handles, labels = panel.get_legend_handles_labels()
    across = handles[labels.index("exact")]
    assert set(across.get_ydata(orig=False)) == {85.0}
    assert list(panel.get_xticks()) == [14, 28]


def test_a_metric_of_another_package_has_a_panel_with_its_own_words_on_an_axis_that_it_fits(tmp_path):
    path = folder(tmp_path)
    lines = [json.loads(line) for line in (path / "trials.jsonl").read_text().splitlines()]
    for row in lines:
        if row["status"] == "ok":
            row["metrics"] |= {"gap": 1.0 + row["trial"], "drift": row["trial"] - 2.0}
            row["own_metrics"] = {"gap": {"title": "duality gap", "better": "less"}}
    (path / "trials.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    panels = {panel.get_title()[4:]: panel for panel in drawn(path).axes}
    assert list(panels) == ["relative kernel error", "test accuracy (%)", "drift", "duality gap", "feature time (s)"]
    assert panels["duality gap"].get_yscale() == "log"
    assert panels["drift"].get_yscale() == "linear"  # it has numbers below zero


@pytest.mark.parametrize("label", [*slow(r"$\wrong{ $x_"), "red \x1b[31m, bell \x07, none \U0010ffff"])
def test_a_label_is_drawn_as_it_is_be_it_no_formula_and_what_cannot_be_printed_is_written_out(tmp_path, label):
    rows = [log.ok(log.spec(multiple=size), 80.0) | {"method": label} for size in (1, 2)]
    for row in rows:
        row["metrics"]["gap"] = 1.0
        row["own_metrics"] = {"gap": {"title": "$\\wrong{", "unit": "$$"}}
    made = log.write(
        tmp_path / "run", log.config(title=label, methods={label: log.METHODS["RFF"]}, n_features=["1d", "2d"]), rows
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of each letter that the font lacks, on its own line
        report.redraw(made, ["svg"])
    figure = (made / "figures" / "eeg.svg").read_text(encoding="utf-8")
    assert len(figure) > 10_000
    assert not set("\x1b\x07") & set(figure)


def test_a_label_that_begins_with_an_underscore_is_in_the_legend(tmp_path):
    methods = {"_own": log.METHODS["RFF"]}
    rows = [log.ok(log.spec(multiple=size), 80.0) | {"method": "_own"} for size in (1, 2)]
    figure = drawn(log.write(tmp_path / "run", log.config(methods=methods, n_features=["1d", "2d"]), rows))
    (legend,) = figure.legends
    assert [text.get_text().lstrip("\u200b") for text in legend.get_texts()] == ["_own"]


# ---- What a reader must be told, and can tell apart ---------------------------------------------------------


def said(figure):
    return " ".join(figure.get_suptitle().split())


def two_sizes(tmp_path, **timing):
    """Two sizes and methods; QMC as good as RFF in every trial."""
    specs = [
        log.spec(method=method, multiple=m, trial=t) for method in ("RFF", "QMC") for m in (1, 2) for t in range(3)
    ]
    rows = [
        log.ok(each, 80.0 + each.multiple + each.trial, kernel_error=0.1 / each.multiple, **timing)
        | {"timing": {"feature_s": each.n_features * (1 + (each.method == "QMC")), "contended": each.multiple == 2}}
        for each in specs
    ]
    methods = {name: log.METHODS[name] for name in ("RFF", "QMC")}
    return log.write(tmp_path / "run", log.config(n_features=["1d", "2d"], methods=methods), rows)


def test_a_figure_says_what_its_bars_are_and_which_curves_lie_on_one_another(tmp_path):
    figure = drawn(two_sizes(tmp_path))
    assert "means over 3 trials, bars: ± one standard deviation" in said(figure)
    assert "(a) RFF = QMC; (b) RFF = QMC" in said(figure)
    assert "(c)" not in said(figure)  # twice the time
    assert "means over 2 to 3 trials" in said(drawn(folder(tmp_path / "lost")))


@pytest.mark.slow
def test_times_that_cannot_be_compared_are_hollow_and_no_other_marker_is(tmp_path):
    figure = drawn(two_sizes(tmp_path))
    assert style.HOLLOW in said(figure)
    hollow = {
        panel.get_title(): [line for line in panel.lines if line.get_markerfacecolor() == "white"]
        for panel in figure.axes
    }
    assert [len(lines) for lines in hollow.values()] == [2, 2, 2]
    for title, lines in hollow.items():
        sizes = [x for line in lines for x in line.get_xdata()]
        assert [round(x / 28) for x in sizes] == ([1, 1] if "time" in title else [])
    assert all(each.get("markerfacecolor") is None for each in style.STYLES)


def test_methods_that_agree_stand_beside_each_other_and_nearer_to_their_size_than_to_the_next():
    places = np.array([style.aside([16, 32], index, 3) for index in range(3)])
    assert len(set(places[:, 0])) == 3
    assert np.abs(np.log2(places / [16, 32])).max() < 0.1


def test_a_legend_shows_markers_without_bars_across_them(tmp_path):
    figure = drawn(two_sizes(tmp_path))
    (legend,) = figure.legends
    assert {line.get_marker() for line in legend.get_lines()} == {style.STYLES[0]["marker"], style.STYLES[1]["marker"]}
    assert not legend.findobj(LineCollection)


def test_a_legend_of_long_names_is_within_the_figure_and_leaves_the_panels_their_height():
    with style.drawn_in(style.SCREEN):
        figure, (panel,) = style.panels(1, 3.0, 2.5)
        for number in range(6):
            panel.plot([1, 2], [1, number], label=f"method {number}" + number * " of a long name")
        handles, labels = panel.get_legend_handles_labels()
        style.legend_below(figure, dict(zip(labels, handles, strict=True)))
        figure.draw_without_rendering()
    box, whole = figure.legends[0].get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1
    assert panel.get_window_extent().height > 1.2 * figure.dpi


def test_curves_count_as_the_same_only_where_no_reader_could_tell_them_apart():
    first = pd.Series([1.0, 50.0, 100.0], [1, 2, 4])
    curves = {"a": first, "b": first + 0.1, "c": first + 5.0, "d": first[:2]}
    assert style.coinciding(curves, logarithmic=False) == ["a ≈ b"]
    assert style.coinciding({"a": first, "b": first * (1 + 1e-12)}, logarithmic=True) == ["a = b"]
    assert style.coinciding(curves, logarithmic=True) == []  # 1 and 1.1 are apart there


def test_curves_closer_than_a_line_is_wide_are_named():
    lower, upper = (pd.Series([0.0, 100.0], [1, 2]) + shift for shift in (0.0, 1.0))
    assert style.coinciding({"a": lower, "b": upper, "c": lower + 3}, logarithmic=False) == ["a ≈ b"]


@pytest.mark.parametrize("width", [2.6, 5.0])
def test_small_print_stays_in_its_panel_and_hides_no_curve(width):
    lines = [f"CountSketch-Gaussian (B = {number}): from d ≈ 1041" for number in range(3)]
    with style.drawn_in(style.SCREEN):
        figure, panels = style.panels(2, width, 2.8)
        for panel, where in zip(panels, ("top", "bottom"), strict=True):
            panel.loglog([1, 100], [1, 10])
            style.small_print(panel, lines, where)
        style.settle_ticks(figure)
    for panel in panels:
        text, curve = panel.texts[0].get_window_extent(), panel.lines[0].get_window_extent()
        assert panel.bbox.x0 <= text.x0 < text.x1 <= panel.bbox.x1
        assert text.y0 >= curve.y1 or text.y1 <= curve.y0


def test_the_ticks_of_an_axis_have_one_notation():
    assert style.notation([0.001, 0.5, 20.0]) == ["0.001", "0.5", "20"]
    assert style.notation([0.88, 0.9, 0.92]) == ["0.88", "0.90", "0.92"]
    assert style.notation([1e-7, 0.1, 1.0, 20.0]) == ["10⁻⁷", "10⁻¹", "10⁰", "2·10¹"]


@pytest.mark.parametrize(
    ("limits", "numbers"),
    [
        ((0.15, 0.65), ["0.2", "0.3", "0.5"]),
        ((0.36, 0.92), ["0.4", "0.5", "0.6", "0.7", "0.8", "0.9"]),
        ((0.03, 40.0), ["0.1", "1", "10"]),
        ((0.64, 1.75), ["0.75", "1.00", "1.25", "1.50", "1.75"]),
    ],
)
def test_the_numbers_of_a_log_axis_are_round(limits, numbers):
    figure, (panel,) = style.panels(1, 4.0, 4.0)
    panel.plot([1, 2], limits)
    panel.set_ylim(limits)
    style.log_axis(panel.yaxis)
    style.settle_ticks(figure)
    assert [label.get_text() for label in panel.get_yticklabels() if label.get_visible()] == numbers


@pytest.mark.parametrize("limits", [(1e-9, 1.0), (2.9, 4.1), (0.99, 1.02), (3.0, 70.0)])
def test_no_axis_has_a_lone_number_nor_numbers_that_touch(limits):
    figure, (panel,) = style.panels(1, 1.6, 1.6)
    panel.plot(limits, limits)
    for axis in (panel.xaxis, panel.yaxis):
        style.log_axis(axis)
    style.settle_ticks(figure)
    figure.draw_without_rendering()
    for axis in (panel.xaxis, panel.yaxis):
        shown = [tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_visible()]
        boxes = [label.get_window_extent() for label in shown if label.get_text()]
        assert len(boxes) >= 2
        assert not any(one.overlaps(other) for one, other in pairwise(boxes))


def test_64_methods_differ_in_what_they_are_drawn_with():
    every = [style.style_of(index) for index in range(64)]
    assert len({(each["color"], each["marker"], str(each["linestyle"])) for each in every}) == 64


@pytest.mark.parametrize(("columns", "inches"), [(1, 3.17), *slow((2, 6.5))])
def test_papers_figures_have_the_width_asked_for_and_8_points_everywhere(tmp_path, monkeypatch, columns, inches):
    drawn = []
    monkeypatch.setattr("rffbench.report.figures.saved", lambda figure, *_: drawn.append(figure) or [])
    report.redraw(folder(tmp_path), ["pdf"], "paper", columns)
    assert len(drawn) == 2
    for figure in drawn:
        style.settle_ticks(figure)
        assert figure.get_figwidth() == inches
        texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        assert {text.get_fontsize() for text in texts} == {8.0}
        boxes = [text.get_window_extent() for text in texts]
        outside = [
            text.get_text()
            for text, box in zip(texts, boxes, strict=True)
            if not (box.x0 > -1 and box.x1 < figure.bbox.width + 1)
        ]
        assert outside == []
        assert figure.get_figwidth() * 72.27 <= {1: 229.5, 2: 469.76}[columns]  # of LaTeX's article, in points


@pytest.mark.slow
def test_papers_figures_have_their_caption_in_a_file_beside_them(tmp_path):
    path = folder(tmp_path)
    paths = report.redraw(path, ["svg"], "paper")
    captions = [each for each in paths if each.suffix == ".txt"]
    assert captions
    for each in captions:
        said = each.read_text()
        assert "trials" in said
        assert said.split(".")[0] not in each.with_suffix(".svg").read_text()
    assert not [each for each in report.redraw(path, ["svg"]) if each.suffix == ".txt"]


@pytest.mark.slow
def test_five_panels_in_a_column_stand_two_in_a_row_and_fit_a_page_with_their_titles():
    with style.drawn_in(style.figure_style("paper", 1)):
        figure, axes = style.panels(5, 2.45, 2.55, above=0.35)
        for panel in axes:
            panel.plot([1, 2], [1, 2], label="a method")
            panel.set_title("(a) kernel error at the best scale")
        style.legend_below(figure, {f"method {n}": axes[0].lines[0] for n in range(8)})
        style.headline(figure, "EEG", "what a reader must know " * 5)
        style.settle_ticks(figure)
        figure.draw_without_rendering()
    assert figure.get_figheight() < 8
    boxes = [panel.get_tightbbox() for panel in axes]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    rows = [round(panel.get_window_extent().y0) for panel in axes]
    assert rows[0] == rows[1] > rows[2] == rows[3] > rows[4]
    assert min(panel.get_window_extent().height for panel in axes) > 0.7 * figure.dpi


def test_a_style_that_does_not_exist_or_has_no_columns_is_refused(tmp_path):
    path = folder(tmp_path)
    with pytest.raises(ConfigError, match=r"'poster'.*screen, paper"):
        report.redraw(path, ["svg"], "poster")
    with pytest.raises(ConfigError, match=r"columns.*'paper'"):
        report.redraw(path, ["svg"], "screen", 1)


def test_only_the_panels_asked_for_are_drawn_in_their_order_and_one_is_a_column_wide(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("rffbench.report.figures.saved", lambda figure, *_: drawn.append(figure) or [])
    path = folder(tmp_path)
    report.redraw(path, panels=["time", "accuracy"])
    assert [panel.get_title() for panel in drawn[0].axes] == ["(a) feature time (s)", "(b) test accuracy (%)"]
    drawn.clear()
    report.redraw(path, ["pdf"], "paper", panels=["accuracy"])
    assert [panel.get_title() for panel in drawn[0].axes] == ["(a) test accuracy (%)"]
    assert drawn[0].get_figwidth() == 3.17
    with pytest.raises(ConfigError, match=r"'acuracy'; did you mean 'accuracy'"):
        report.redraw(path, panels=["acuracy"])
    with pytest.raises(ResultsError, match=r"no trial has rmse; measured: accuracy"):
        report.redraw(path, panels=["rmse"])


def test_names_are_as_people_write_them(tmp_path, monkeypatch):
    monkeypatch.setattr("rffbench.data.cards.load_card",
                        lambda name: SimpleNamespace(mark="", short="EEG", task="classification"))  # fmt: skip
    results = frame.load_results(folder(tmp_path))
    assert results.called("eeg") == "EEG"
    assert said(drawn(folder(tmp_path))).startswith("EEG means over")
    both = frame.load_results(folder(tmp_path / "both", datasets=("eeg", "cpu")))
    assert [both.called(name) for name in ("eeg", "cpu")] == ["eeg", "cpu"]  # one name for both tells nothing
    assert frame.as_written("sigma=1, lambda = 2, λN=3") == "σ = 1, λ = 2, λN = 3"
    assert frame.as_written("RFF (-s 2), a==b, x <= y") == "RFF (-s 2), a==b, x <= y"
    assert frame.as_written("Kernel gaussian, laplacian(1)") == "Kernel Gaussian, Laplacian(1)"
    assert frame.protocol_names({"bandwidth": "median", "σ": "sigma=1"}) == ["bandwidth: median", "σ = 1"]


def test_errors_against_different_kernels_do_not_share_an_axis_without_a_word(tmp_path):
    assert "kernels" not in said(drawn(folder(tmp_path)))
    other = {"name": "laplacian", "gamma": 0.1}
    path = folder(tmp_path, methods={**log.METHODS, "surrogate-RFF": {**log.METHODS["surrogate-RFF"], "kernel": other}})
    lines = [json.loads(line) for line in (path / "trials.jsonl").read_text().splitlines()]
    changed = [log.keyed(row | ({"kernel": other} if row["method"] == "surrogate-RFF" else {})) for row in lines]
    (path / "trials.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    words = said(drawn(path))
    assert "(a): errors are against different kernels" in words
    assert "RFF: Laplacian, σ = 10 (γ = 0.1)" in words


@pytest.mark.slow
def test_a_figure_of_many_methods_has_room_for_its_words(tmp_path):
    """Sixty methods in twenty groups of equal curves: neither the headline nor the legend covers a panel."""
    methods = {f"RFF {number}": log.METHODS["RFF"] for number in range(60)}
    rows = []
    for number, method in enumerate(methods):
        for size in SIZES:
            row = log.ok(log.spec(multiple=size), 60 + number // 3 + np.log(size), feature_s=size * (1 + number // 3))
            rows.append(row | {"method": method, "key": f"{method} {size}"})
    config = log.config(n_features=[f"{size}d" for size in SIZES], methods=methods, trials=1)
    figure = drawn(log.write(tmp_path, config, rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        style.settle_ticks(figure)
    headline, (legend,) = figure.get_suptitle(), figure.legends
    assert "more groups of curves coincide" in headline
    boxes = [panel.get_window_extent() for panel in figure.axes]
    assert all(box.height > 0.9 * figure.dpi for box in boxes)
    assert not any(box.overlaps(legend.get_window_extent()) for box in boxes)
    assert not any(box.overlaps(figure._suptitle.get_window_extent()) for box in boxes)


@pytest.mark.slow
def test_a_map_alone_is_judged_by_its_kernel_error_in_one_panel(tmp_path):
    alone = {"solver": {"name": "none"}}
    rows = [log.ok(log.spec(multiple=size, trial=trial, **alone), None) for size in (1, 2) for trial in range(2)]
    for row in rows:
        row["metrics"] |= {"marginal_ks": 0.05, "marginal_energy": 0.02}
    path = log.write(tmp_path / "run", log.config(n_features=["1d", "2d"], **alone), rows)
    results = frame.load_results(path)
    assert results.score("eeg").name == "kernel_error"
    figure = figures.dataset_figure(results, summary.summarise(results), "eeg")
    assert [axis.get_title() for axis in figure.axes] == [
        "(a) relative kernel error",
        "(b) Kolmogorov–Smirnov distance",
        "(c) energy distance",
        "(d) feature time (s)",
    ]
    report.redraw(path)
    assert "(no score)" not in (path / "table.md").read_text()
