"""Promises of the comparison with a paper: verdicts, ratios of costs, what is missing, the files."""

import csv
import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib import image
from scipy import stats

from rffbench import report
from rffbench.errors import ConfigError
from rffbench.report import cells as cells_module
from rffbench.report import frame, writeup
from rffbench.report.compare import NoReference, NotComparable, compare
from rffbench.report.figures import comparison as compare_figures
from rffbench.report.writeup import summary_line
from rffbench.stats.intervals import welch_interval
from tests.helpers import report_log as log

# Liu et al.'s EEG: RFF 68.45±0.89 at d, 71.44±1.22 at 2d; surrogate-RFF 68.62±0.89 at d; 10 trials each.
TEN = np.array([-1.5, -1, -0.5, -0.25, 0, 0, 0.25, 0.5, 1, 1.5])


def cell(scores, method="RFF", multiple=1, **changes):
    return [
        log.ok(log.spec(method=method, multiple=multiple, trial=trial, **changes), score)
        for trial, score in enumerate(scores)
    ]


def loaded(folder, rows, **config):
    config = {"n_features": ["1d", "2d", "3d"], "trials": 10, "reference": "liu2020-table3", **config}
    return frame.load_results(log.write(folder / "run", log.config(**config), rows))


def verdicts(comparison):
    return comparison.cells.set_index(["dataset", "multiple", "method"])["verdict"]


# ---- Cells -------------------------------------------------------------------------------------------------


def test_the_welch_interval_is_that_of_the_raw_samples():
    rng = np.random.default_rng(0)
    one, other = rng.normal(70, 1, 10), rng.normal(69, 3, 6)
    interval = stats.ttest_ind(one, other, equal_var=False).confidence_interval()
    given = (one.mean(), one.std(ddof=1), 10, other.mean(), other.std(ddof=1), 6)
    assert welch_interval(*given) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("given", [(1, math.nan, 1, 2, 0.1, 10), (1, 0.1, 3, 2, math.nan, math.nan)])
def test_without_a_spread_there_is_no_interval(given):
    assert np.isnan(welch_interval(*given)).all()


def test_spreads_of_zero_leave_the_difference_itself():
    assert welch_interval(87.5, 0, 10, 87.3, 0, 10) == pytest.approx((0.2, 0.2))


@pytest.mark.parametrize(
    ("scores", "tolerance", "verdict"),
    [
        (68.85 + TEN, None, "reproduced"),  # +0.4, and the interval reaches from −0.5 to 1.3
        (69.35 + TEN / 20, None, "close"),  # +0.9 ± 0.6: within a point, but a difference
        (67.55 + TEN / 20, None, "close"),  # −0.9 ± 0.6
        (67.35 + TEN, None, "differs"),  # −1.1
        (69.55 + TEN, None, "differs"),  # +1.1
        (69.55 + TEN, 2.0, "close"),
        (68.85 + TEN, 0.3, "differs"),
        ([68.8], None, "reproduced"),  # a single trial has no interval
    ],
)
def test_a_verdict_is_by_tolerance_and_interval(tmp_path, scores, tolerance, verdict):
    comparison = compare(loaded(tmp_path, cell(scores)), tolerance)
    assert verdicts(comparison)["eeg", 1, "RFF"] == verdict
    assert comparison.outside == (verdict == "differs")


def test_a_difference_equal_to_the_tolerance_is_within_it(tmp_path):
    results = loaded(tmp_path, cell([68.0] * 3))
    assert compare(results, 0.45).outside == 0
    assert compare(results, 0.44).outside == 1


def test_cells_without_both_numbers_say_which_is_missing(tmp_path):
    rows = [
        *cell([75.0] * 3, multiple=3),
        *cell([75.0] * 3),
        *(log.lost(log.spec(method="surrogate-RFF", trial=trial), "timeout") for trial in range(3)),
    ]
    comparison = compare(loaded(tmp_path, rows))
    assert verdicts(comparison)["eeg", 1, "surrogate-RFF"] == "not measured"  # all its trials failed
    assert verdicts(comparison)["eeg", 128, "RFF"] == "not measured"  # never asked for
    assert verdicts(comparison)["eeg", 3, "RFF"] == "not reported"
    assert set(comparison.cells["dataset"]) == {"eeg"}


def test_a_variant_is_compared_with_the_method_it_is_of(tmp_path):
    methods = {"RFF": log.METHODS["RFF"], "surrogate-RFF (written)": log.METHODS["surrogate-RFF"]}
    rows = [{**row, "method": "surrogate-RFF (written)"} for row in cell(68.6 + TEN, "surrogate-RFF")]
    comparison = compare(loaded(tmp_path, rows, methods=methods))
    assert verdicts(comparison)["eeg", 1, "surrogate-RFF (written)"] == "reproduced"


@pytest.mark.parametrize("label", ["Ours", "Ours (written)"])
def test_a_method_may_be_called_as_the_paper_calls_it(tmp_path, label):
    """Its label is shown as it is, and it has the numbers and the claims that it has by its name here."""

    def comparison(called):
        methods = {"RFF": log.METHODS["RFF"], called: log.METHODS["surrogate-RFF"]}
        rows = [*cell(68.6 + TEN), *({**row, "method": called} for row in cell(68.6 + TEN, "surrogate-RFF"))]
        return compare(loaded(tmp_path / called, rows, methods=methods, datasets=["eeg"]))

    own, here = comparison(label), comparison(label.replace("Ours", "surrogate-RFF"))
    assert verdicts(own)["eeg", 1, label] == "reproduced"
    assert not own.cells["method"].str.contains("surrogate").any()
    assert [each.verdict for each in own.findings] == [each.verdict for each in here.findings]
    assert {each.method for each in own.findings} >= {label}
    assert not any("surrogate" in f"{each.claim} {each.method} {each.baseline}" for each in own.findings)


def test_percent_of_a_negative_number_keep_the_sign_of_the_difference_and_what_rounding_allows():
    """−1.9 here is above −2.0 there, by 5 %; allowed is Student's pooled interval, and half a digit as printed."""
    columns = dict.fromkeys(("absent", "because"), "") | {"metric": "own", "n_ok": 10, "reported_trials": 10}
    spreads = {"measured_std": 0.1, "reported_std": 0.2, "rounding": 0.05}
    rows = pd.DataFrame([{**columns, **spreads, "measured": -1.9, "reported": sign * 2.0} for sign in (-1, 1)])
    table, metric = SimpleNamespace(tolerance_unit="points", by_interval=True), SimpleNamespace(unit="")
    cells_module.judge(rows, SimpleNamespace(table=table), SimpleNamespace(metrics={"own": metric}), by_interval=True)
    half = 50 * stats.t.ppf(0.975, 18) * math.sqrt((0.1**2 + 0.2**2) / 2 * (1 / 10 + 1 / 10))
    assert rows["difference"].tolist() == pytest.approx([5.0, -195.0])
    assert rows["tolerance"].tolist() == pytest.approx([half + 2.5] * 2)
    assert rows["low"].tolist() == pytest.approx([5 - half, -195 - half])
    assert rows["verdict"].tolist() == ["reproduced", "differs"]


# ---- Costs, in ratios --------------------------------------------------------------------------------------

YEN = {
    "Kernel gaussian": (0.038, 100.0, 6554),
    "RF gaussian": (0.037, 600.0, 10000),
    "Sparse-RF gaussian": (0.05, 20.0, 60),
}  # RMSE, training seconds, model size


def yen(changes=None, contended=False, n_features=None):
    """CPU with the Gaussian kernel; the paper: RMSE .038, .037, .032, training 154, 875, 22 s."""
    rows = [
        (
            "cpu-yen",
            (n_features or {}).get(method, 100),
            method,
            trial,
            {"rmse": rmse, "train_s": seconds, "model_size": size, "contended": contended},
        )
        for method, (rmse, seconds, size) in {**YEN, **(changes or {})}.items()
        for trial in range(2)
    ]
    config = log.config(
        datasets=["cpu-yen"], methods={label: {} for label in YEN}, trials=2, reference="yen2014-table1"
    )
    return compare(log.results(rows, config))


def costs(comparison, metric="train_s"):
    rows = comparison.costs[comparison.costs["metric"] == metric].dropna(subset=["reported"])
    return rows.set_index(["method", "baseline"])


def test_an_error_is_compared_in_percent_of_the_reported_one():
    cells = yen().cells.set_index("method")
    assert cells.loc["Sparse-RF gaussian", "difference"] == pytest.approx(100 * (0.05 / 0.032 - 1))
    assert cells.loc["Sparse-RF gaussian", "verdict"] == "differs"
    assert cells.loc["Kernel gaussian", "verdict"] == "reproduced"
    assert cells.loc["Kernel laplacian", "verdict"] == "not measured"


def test_costs_are_ratios_of_two_methods_against_the_same_ratio_in_the_paper():
    train = costs(yen())
    assert train.loc[("RF gaussian", "Sparse-RF gaussian"), "reported"] == pytest.approx(875 / 22)
    assert train.loc[("RF gaussian", "Sparse-RF gaussian"), "measured"] == pytest.approx(30)
    assert train.loc[("RF gaussian", "Sparse-RF gaussian"), "verdict"] == "reproduced"
    slower = costs(yen({"Sparse-RF gaussian": (0.05, 300.0, 60)}))
    assert slower.loc[("RF gaussian", "Sparse-RF gaussian"), "verdict"] == "close"  # still the cheaper one
    slowest = costs(yen({"Sparse-RF gaussian": (0.05, 700.0, 60)}))
    assert slowest.loc[("RF gaussian", "Sparse-RF gaussian"), "verdict"] == "differs"


@pytest.mark.parametrize("contended", [False, True])
def test_the_costs_of_a_method_that_goes_by_a_longer_label_are_found(contended):
    label = "Sparse-RF gaussian (λN=10)"
    config = log.config(
        datasets=["cpu-yen"], methods={"RF gaussian": {}, label: {}}, trials=1, reference="yen2014-table1"
    )
    rows = [
        ("cpu-yen", 100, method, 0, {"rmse": 0.03, "train_s": seconds, "model_size": 10, "contended": contended})
        for method, seconds in (("RF gaussian", 600.0), (label, 20.0))
    ]
    comparison = compare(log.results(rows, config))
    train = costs(comparison)
    assert train.loc[("RF gaussian", label), "verdict"] == ("not measured" if contended else "reproduced")
    assert train.loc[("Kernel gaussian", "RF gaussian"), "verdict"] == "not measured"
    assert costs(comparison, "model_size").loc[("RF gaussian", label), "measured"] == 1
    assert f"RF gaussian / {label}" in writeup.to_markdown(comparison)


def test_seconds_that_others_disturbed_are_no_cost_but_sizes_are():
    comparison = yen(contended=True)
    assert set(costs(comparison)["verdict"]) == {"not measured"}
    assert costs(comparison, "model_size").loc[("RF gaussian", "Sparse-RF gaussian"), "verdict"] == "reproduced"


def test_methods_with_sizes_of_their_own_are_one_row_of_the_table():
    cells = yen(n_features={"RF gaussian": 10000}).cells
    assert cells.dropna(subset=["measured"]).set_index("method")["n_features"].to_dict() == {
        "Kernel gaussian": 100,
        "RF gaussian": 10000,
        "Sparse-RF gaussian": 100,
    }


def test_in_a_table_without_sizes_each_method_counts_at_its_largest():
    rows = [("cpu-yen", n, "RF gaussian", 0, {"rmse": rmse}) for n, rmse in ((100, 0.09), (10000, 0.04), (1000, 0.06))]
    config = log.config(datasets=["cpu-yen"], methods={"RF gaussian": {}}, trials=1, reference="yen2014-table1")
    found = compare(log.results(rows, config)).cells.set_index("method").loc["RF gaussian"]
    assert (found["n_features"], found["measured"]) == (10000, 0.04)


def test_a_cost_is_that_of_the_method_s_largest_size():
    rows = [
        ("cpu-yen", n, method, 0, {"train_s": seconds, "contended": False})
        for method, n, seconds in (
            ("RF gaussian", 100, 5.0),
            ("RF gaussian", 900, 60.0),
            ("Sparse-RF gaussian", 60, 2.0),
        )
    ]
    methods = {"RF gaussian": {}, "Sparse-RF gaussian": {}}
    config = log.config(datasets=["cpu-yen"], methods=methods, trials=1, reference="yen2014-table1")
    found = costs(compare(log.results(rows, config)))
    assert found.loc[("RF gaussian", "Sparse-RF gaussian"), "measured"] == pytest.approx(60 / 2)


def test_what_is_left_out_is_counted_by_why():
    verdicts = ["reproduced", "differs", "close", "other rows", "other rows", "data not here", "not measured",
                "not measured", "no spread", "not reported"]  # fmt: skip
    rows = pd.DataFrame({"verdict": verdicts, "reported": [1.0] * 7 + [math.nan] + [1.0, math.nan]})
    assert dict(cells_module.left_out(rows)) == {"not measured": 1, "not comparable": 3, "without a spread": 1}
    assert len(cells_module.counted(rows)) == 3


# ---- What is missing ---------------------------------------------------------------------------------------


def test_a_half_finished_run_says_what_is_missing(tmp_path):
    rows = [
        *cell(68.5 + TEN),
        *cell([71.0, 72.0], multiple=2),
        *(log.lost(log.spec(multiple=2, trial=trial), "timeout") for trial in (2, 3)),
    ]
    results = loaded(
        tmp_path, rows, datasets=["eeg", "magic04"], methods={"RFF": log.METHODS["RFF"]}, n_features=["1d", "2d", "4d"]
    )
    missing = compare(results).missing
    assert missing[0] == "Datasets without a trial yet: magic04."
    assert missing[1].startswith("Not run yet: eeg 4d RFF; magic04 1d, 2d, 4d RFF")
    assert missing[2] == "Fewer trials than planned: eeg 2d RFF (2 of 10, 2 timeout)."
    assert "eeg 8d, 16d, 32d, 64d, 128d" in missing[3]


def test_rows_that_are_not_the_papers_are_told_and_their_cells_in_no_sum(tmp_path):
    rows = [log.ok(log.spec(dataset, trial=trial), 50.0) for dataset in ("cod-rna", "eeg") for trial in range(2)]
    comparison = compare(loaded(tmp_path, rows, datasets=["cod-rna", "eeg"]))
    told = "cod-rna: 59,535 training and 271,617 test rows; the paper's are 59,535 and 157,413."
    assert comparison.missing[-1] == told
    verdicts = comparison.cells.dropna(subset=["difference"]).set_index("dataset")["verdict"]
    assert verdicts.to_dict() == {"cod-rna": "other rows", "eeg": "differs"}
    assert comparison.outside == 1
    assert summary_line(comparison).startswith("0 of 1 cells come out. The tolerance is 1 point.")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"datasets": ["digits"]}, "it reports eeg, .*; this experiment is of digits"),
        (
            {"reference": "yen2014-table2", "datasets": ["cod-rna"]},
            "reports the methods Kernel gaussian, .* has RFF, QMC",
        ),
    ],
)
def test_a_reference_that_does_not_match_is_refused_with_what_each_has(tmp_path, config, message):
    dataset = config["datasets"][0]
    rows = [log.ok(log.spec(dataset, trial=trial), 75.0) for trial in range(2)]
    with pytest.raises(NotComparable, match=message):
        compare(loaded(tmp_path, rows, **config))


def test_a_config_without_a_known_reference_cannot_be_compared(tmp_path):
    with pytest.raises(NoReference, match=r"names no reference.*liu2020-table3"):
        compare(loaded(tmp_path, cell([70.0]), reference=None))
    with pytest.raises(ConfigError, match="did you mean 'liu2020-table3'"):
        compare(loaded(tmp_path, cell([70.0]), reference="liu2020-tabel3"))


def test_where_no_trial_finished_nothing_was_measured(tmp_path):
    rows = [log.lost(log.spec(trial=trial), "unavailable") for trial in range(3)]
    assert not compare(loaded(tmp_path, rows)).measured
    assert compare(loaded(tmp_path, [*rows, *cell([70.0])])).measured


def test_a_reference_without_numbers_brings_its_claims(tmp_path):
    rows = [*cell(70 + TEN, multiple=16), *cell(75 + TEN, "surrogate-RFF", multiple=16)]
    comparison = compare(loaded(tmp_path, rows, n_features=["16d"], reference="liu2020"))
    assert comparison.cells.empty
    held = {finding.claim for finding in comparison.findings if finding.verdict == "holds"}
    assert "surrogate-RFF beats RFF at 16d" in held
    assert comparison.measured
    assert "claims hold" in writeup.to_text(comparison)
    assert "Cells" not in writeup.to_text(comparison)


# ---- Text and files ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A folder that is compared, what is found, and the files that are written of it."""
    rows = [
        *cell(68.7 + TEN),
        *cell(75 + TEN, multiple=2),
        *cell(68.6 + TEN, "surrogate-RFF"),
        *cell(76 + TEN, "surrogate-RFF", multiple=2),
    ]
    folder = loaded(tmp_path_factory.mktemp("compared"), rows).folder
    comparison, statistics = report.compare_folder(folder)
    return folder, comparison, statistics, report.write_comparison(comparison, statistics)


def test_the_text_has_cells_sums_claims_and_what_is_missing(compared):
    text = writeup.to_text(compared[1])
    lines = [line.split() for line in text.splitlines()]
    assert ["eeg", "1d", "RFF", "68.45±0.89", "68.70±0.89", "+0.25", "-0.59", "to", "+1.09", "reproduced"] in lines
    assert ["eeg", "RFF", "+1.91", "3.56", "1", "1", "6"] in lines  # reproduced, differs, not measured
    said = (
        "2 of 4 cells come out. The tolerance is 1 point. 28 are not measured. 2 of 2 claims hold. "
        "42 claims are not measured."
    )
    assert text.splitlines()[1] == said
    order = ["Cells that differ", "By dataset and method", "The other cells", "Other claims"]
    assert sorted(order, key=text.index) == order
    differing = text[text.index(order[0]) : text.index(order[1])].splitlines()
    assert sum(line.rstrip().endswith("differs") for line in differing) == compared[1].outside == 2
    assert re.search(r"\nnot measured: \d+ cells, 42 claims; compare.md names them.\n", text)
    assert "Reported, but not asked for by this experiment: eeg 4d, 8d" in writeup.to_markdown(compared[1])


def test_a_claim_stands_with_its_range_the_reason_for_it_and_what_was_measured(compared):
    folder, comparison, _, _ = compared
    (held,) = (each for each in comparison.findings if each.verdict == "holds" and each.metric == "accuracy")
    assert held.claim == "surrogate-RFF is better than RFF on EEG by around 1 point at 2d"
    text = writeup.to_text(comparison)
    assert (
        "holds               surrogate-RFF is better than RFF on EEG by around 1 point at 2d — eeg, surrogate-RFF : RFF"
        in text
    )
    row = next(line for line in (folder / "compare.md").read_text().splitlines() if held.claim in line)
    assert "'by around 1 %': half of it to twice" in row
    with (folder / "compare.csv").open() as file:
        (cells,) = (row for row in csv.DictReader(file) if row["claim"] == held.claim and row["baseline"] == "RFF")
    assert (float(cells["measured"]), cells["n_ok"], cells["asked"]) == (pytest.approx(1.0), "10", "0.5 to 2")


def test_the_files_hold_every_cell_and_every_claim(compared):
    folder, comparison, _, paths = compared
    assert [path.relative_to(folder).as_posix() for path in paths] == [
        "compare.csv",
        "compare.md",
        "statistics.csv",
        "statistics.md",
        "figures/compare.png",
    ]
    with (folder / "compare.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sum(row["kind"] == "cell" for row in rows) == len(comparison.cells) == 32
    claims = [row for row in rows if row["kind"] == "claim"]
    assert len(claims) == len(comparison.findings)
    assert all(row["claim"] and row["verdict"] and row["evidence"] for row in claims)
    markdown = (folder / "compare.md").read_text()
    assert "| reproduced " in markdown
    assert "surrogate-RFF beats RFF at 16d" in markdown


def test_the_figure_has_reported_and_measured_curves_of_every_method_with_bands(compared):
    folder, comparison, _, _ = compared
    panel, below = compare_figures.comparison_figure(comparison, ["eeg"]).axes
    lines = [(line.get_linestyle(), len(line.get_xdata())) for line in panel.get_lines()]
    assert lines.count(("--", 8)) == 4  # what the paper reports of four methods
    assert lines.count(("-", 2)) == 2  # what was measured of two
    assert len(panel.collections) == 8
    assert [bars[0].get_ydata().tolist() for bars in below.containers] == [
        cells["difference"].dropna().tolist() for _, cells in comparison.counted.groupby("method", sort=False)
    ]
    for bars, (_, cells) in zip(below.containers, comparison.counted.groupby("method", sort=False), strict=True):
        drawn = [segment[:, 1] for segment in bars.lines[2][0].get_segments()]
        assert np.allclose(drawn, cells.dropna(subset=["difference"])[["low", "high"]])
    (tolerance,) = below.patches
    assert tolerance.get_extents().transformed(below.transData.inverted()).intervaly.tolist() == pytest.approx([-1, 1])
    low, high = below.get_ylim()
    assert low <= -1 < 1 <= high  # the tolerance
    assert image.imread(folder / "figures" / "compare.png").std() > 0.05


def test_comparing_again_gives_the_same_bytes(compared):
    folder, _, _, paths = compared
    first = {path: path.read_bytes() for path in paths}
    report.write_comparison(*report.compare_folder(folder))
    assert {path: path.read_bytes() for path in paths} == first
