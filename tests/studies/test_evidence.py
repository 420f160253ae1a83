"""What pages say of results: counts, means, verdicts and tables, against numbers worked out by hand."""

import csv
import json
import lzma
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
import yaml

from rffbench.execution.places import experiment_folders
from studies import evidence, pages
from studies.papers import facts
from tests.helpers.places import results_of

ROOT = pages.ROOT
LONGEST = 150  # lines of a paper's page


def cell(dataset="eeg", metric="accuracy", measured=71.0, reported=70.0, verdict="reproduced", **more):
    percent = 1 if metric == "accuracy" else 100 / reported
    return {
        "kind": "cell", "dataset": dataset, "method": "RFF", "metric": metric, "reported": reported,
        "measured": measured, "difference": (measured - reported) * percent, "tolerance": 2.0, "verdict": verdict,
        "multiple": 2.0, "n_features": 28, "trial": float("nan"), "experiment": "mine", **more,
    }  # fmt: skip


def lost(verdict):
    return cell(verdict=verdict, measured=float("nan"))


def claim(verdict, adjusted=None, **more):
    return {
        "kind": "claim", "claim": "A is better than B", "dataset": "eeg", "method": "A", "verdict": verdict,
        "verdict_adjusted": adjusted or verdict, "asked": "more than 0", "measured": 1.0, "low": 0.5,
        "high": 1.5, **more,
    }  # fmt: skip


@pytest.fixture
def compared(monkeypatch):
    """Says what an experiment's comparison came to."""
    found = {}
    monkeypatch.setattr(evidence, "compared", lambda experiment: found.get(experiment, {}))

    def write(*rows, name="mine"):
        rows = pd.DataFrame(rows)
        found[name] = {kind: rows[rows["kind"] == kind] for kind in set(rows["kind"])}

    return write


def test_only_cells_that_were_compared_are_counted(compared):
    verdicts = ["other rows", "no spread", "not measured", "data not here", "method not here"]
    compared(cell(), cell(verdict="close"), cell(verdict="differs"), *map(lost, verdicts))
    found = evidence.cells("mine")
    assert (found.said, found.agree, found.differ, found.incomparable) == ("2 of 3", 2, 1, 2)
    assert found.share == pytest.approx(100 * 2 / 3)


def test_of_an_experiment_without_a_comparison_nothing_is_counted(compared):
    found = evidence.cells("none", dataset="eeg")
    assert (found.said, found.agree, found.differ) == ("–", 0, 0)
    assert evidence.claims("none").verdict == "not measured"


def test_a_filter_takes_a_value_several_or_a_test(compared):
    compared(cell("a"), cell("b"), cell("c", method="SORF signs"))
    found = evidence.cells("mine")
    assert found.where(dataset="a").agree == 1
    assert found.where(dataset=["a", "b"]).agree == 2
    assert found.where(method=lambda name: name.endswith("signs")).agree == 1
    assert found.kind("SORF").agree == 1


def test_a_mean_difference_has_points_percent_by_logarithms_and_kernel_errors_apart(compared):
    compared(
        cell("eeg", measured=71.0), cell("eeg", measured=71.0), cell("magic04", measured=69.5),
        cell("cpu", "rmse", 2.0, 1.0), cell("cpu", "rmse", 0.5, 1.0), cell("cpu", "rmse", 0.5, 1.0),
        cell("eeg", "frobenius_error", 0.11, 0.1),
    )  # fmt: skip
    said = evidence.cells("mine").mean_differences
    assert sorted(said.split(", ")) == ["+0.25 points", "kernel +10.0 %", "−20.6 %"]  # 2^(-1/3) is 0.794


def test_a_table_has_the_paper_s_number_beside_ours_and_marks_what_differs(compared):
    compared(cell(), cell(method="QMC", measured=75.25, verdict="differs"), lost("not measured"))
    lines = evidence.table(evidence.cells("mine"), ["dataset", "size"], "method").splitlines()
    assert lines == ["| dataset | size | RFF | QMC |", "|---|---|--:|--:|", "| eeg | 2d | 71 (70) | **75.25** (70) |"]


def test_verdicts_are_counted_and_in_brackets_those_judged_together(compared):
    compared(claim("holds"), claim("holds", "not enough evidence"), claim("does not hold"), claim("not measured"))
    found = evidence.claims("mine")
    assert (found.held, found.refuted, found.open, len(found.judged)) == (2, 1, 0, 3)
    assert (found.verdict, found.where(verdict="holds").together) == ("several", "several")
    last = evidence.claims_table("mine").splitlines()[-1]
    assert last == "| A is better than B | more than 0 | 2 (1) | 1 |  |"


def test_claims_that_differ_in_a_name_are_one_row(compared):
    names = ("gaussian", "laplacian")
    compared(*(claim("holds", claim=f"A keeps B with the {name} kernel") for name in names))
    table = evidence.claims_table("mine", alike="the (gaussian|laplacian) kernel", each="each kernel")
    assert table.splitlines()[2:] == ["| A keeps B with each kernel | more than 0 | 2 |  |  |"]


def test_a_gain_is_paired_by_trial(monkeypatch):
    rows = [
        {"dataset": "eeg", "n_features": 8, "method": method, "trial": trial, "accuracy": 70.0 + 10 * trial + better}
        for trial, differences in enumerate([(1, 0), (2, 0), (3, 0)])
        for method, better in zip(("Ours", "RFF"), differences, strict=True)
    ]
    monkeypatch.setattr(evidence, "trials", lambda _: pd.DataFrame(rows))
    found = evidence.gain("mine", "Ours", "RFF", dataset="eeg", n_features=8)
    # t = 4.303 with two degrees of freedom, the differences' standard deviation 1, three trials
    assert (found.mean, found.low) == (2, pytest.approx(2 - 4.3027 / 3**0.5, abs=1e-3))
    assert found.verdict == "undecided"
    with pytest.raises(ValueError, match="not the trials of one cell"):
        evidence.mean("mine", "accuracy", dataset="eeg")


def test_where_more_cells_differ_than_chance_leaves(monkeypatch):
    many = [cell(verdict="differs" if number < 8 else "reproduced") for number in range(30)]
    few = [cell("cpu", method="QMC", verdict="differs" if number < 2 else "reproduced") for number in range(30)]
    monkeypatch.setattr(facts, "of_sources", lambda: evidence.Cells(pd.DataFrame([*many, *few])))
    assert facts.crowded() == [("mine", "eeg, accuracy (%)", 8, 30), ("mine", "RFF", 8, 30)]


# ---- The papers' pages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", evidence.papers())
def test_a_paper_s_page_begins_with_a_verdict_and_can_be_read(paper):
    lines = (ROOT / "docs" / "reproduction" / f"{paper}.md").read_text().splitlines()
    assert len(lines) <= LONGEST
    assert lines[1].startswith("# ")
    assert lines[3].startswith("**")
    assert {"## What was assumed", "## Experiments"} <= set(lines)


@pytest.mark.parametrize("paper", evidence.papers())
def test_a_paper_s_experiments_are_those_of_its_configs_and_were_run(paper):
    for name in evidence.of_paper(paper):
        assert (results_of(name) / "config.yaml").is_file(), name


def test_every_experiment_that_is_held_to_a_paper_is_on_a_page():
    told = {name for paper in evidence.papers() for name in evidence.of_paper(paper)}
    with_reference = {
        folder.name
        for folder in experiment_folders(ROOT / "results")
        if yaml.safe_load((folder / "config.yaml").read_text()).get("reference")
    }
    assert with_reference - told == {"regression"}  # of scores that were recorded here


def test_searches_are_controls_of_their_paper():
    for paper, of in evidence.papers().items():
        assert set(of.get("searches", {})) <= set(evidence.of_paper(paper, "controls"))
    assert set(evidence.searches().values()) == {"ranked alone", "ranked and compared"}
    assert evidence.compared("sparse-rf-protocol") == {}
    assert evidence.cells("sparse-rf-radius").said == "4 of 4"


def test_a_comparison_made_anew_agrees_in_as_many_cells_as_a_count_by_hand():
    """Table 3: the means of the log's rows are within a point of the paper's numbers."""
    names = {"EEG": "eeg", "covtype": "covtype", "magic04": "magic04"}  # cod-RNA has other rows here
    scores = defaultdict(list)
    with lzma.open(results_of("table3") / "trials.jsonl.xz", "rt") as rows:
        for row in map(json.loads, rows):
            scores[row["dataset"], row["multiple"], row["method"]].append(row["metrics"]["accuracy"])
    with open(ROOT / "rffbench" / "papers" / "liu2020_table3.csv", encoding="utf-8", newline="") as lines:
        reported = [row for row in csv.DictReader(lines) if row["dataset"] in names]
    methods = {"Ours": "surrogate-RFF"}
    gaps = []
    for row in reported:
        method = methods.get(row["method"], row["method"])
        measured = scores.get((names[row["dataset"]], int(row["s_over_d"]), method), [])
        gaps += [abs(float(np.mean(measured)) - float(row["accuracy_mean"]))] if measured else []
    found = evidence.cells("table3")
    assert (found.agree, len(found.compared)) == (sum(gap <= 1 for gap in gaps), len(gaps)) == (82, 84)
