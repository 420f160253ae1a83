"""Promises of docs/reproduction.md and the papers' pages: what is counted, how it leans, and what is named."""

import json

import pandas as pd
import pytest

from rffbench.papers import references
from rffbench.report.writeup import CSV_COLUMNS
from scripts import reproduction
from tests.helpers import report_log as log

RELEASED, PRINTED = "munkhoeva2018-errors", "liu2020-table3"


def cell(dataset="eeg", metric="accuracy", measured=71.0, reported=70.0, verdict="reproduced", **more):
    percent = 1 if metric == "accuracy" else 100 / reported
    difference = (measured - reported) * percent
    return {
        "kind": "cell", "dataset": dataset, "method": "RFF", "metric": metric, "reported": reported,
        "measured": measured, "difference": difference, "tolerance": 2.0, "verdict": verdict, **more,
    }  # fmt: skip


def lost(verdict, **more):
    """A cell that one side has no number of."""
    return cell(verdict=verdict, measured=float("nan"), **{"because": "its file is not here", **more})


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Makes an experiment of its cells."""
    monkeypatch.setattr(reproduction, "ROOT", tmp_path)

    def make(cells, name="mine", reference=RELEASED, runs=(), finished=(), **element):
        folder = tmp_path / "results" / name
        rows = [
            {**log.ok(log.spec(trial=trial), 70.0), "finished": time} for trial, time in enumerate(finished or ["2026"])
        ]
        log.write(folder, log.config(name=name, reference=reference), rows)
        *earlier, latest = runs or [{"started": "2026-01-01T10:00:00", "finished": "2026-01-01T10:30:00"}]
        manifest = {"cpu": "a processor", "rffbench": "1", **latest, "earlier_runs": earlier}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        pd.DataFrame(cells, columns=[*CSV_COLUMNS, "size"]).to_csv(folder / "compare.csv", index=False)
        (folder / "compare.md").write_text("")
        return reproduction.Experiment({"element": "Table 1", "results": name, "assumed": ["nothing"], **element})

    return make


# ---- Counts ------------------------------------------------------------------------------------------------


def test_every_reported_cell_is_counted_by_what_became_of_it(made):
    each = made(
        [
            cell(),
            cell(verdict="no spread"),
            lost("not measured"),
            lost("data not here"),
            lost("method not here", because="no such map"),
        ]
    )
    said = "1 of 1 cells agree, 1 not measured, 2 not comparable, 1 without a spread."
    assert reproduction.outcome(each) == said


def test_a_page_without_a_comparable_cell_says_so_and_why(made):
    each = made([lost("data not here"), lost("method not here", because="no such map")])
    assert reproduction.outcome(each) == "no cell compared, 2 not comparable."
    lines = reproduction.details(each).splitlines()
    assert "- 1 not comparable: its file is not here" in lines
    assert "- 1 not comparable, method not here: no such map" in lines


def test_the_row_of_all_sources_has_those_alone_that_released_their_numbers(made):
    misses = [cell(verdict="differs"), cell("magic04", verdict="differs"), cell("magic04", verdict="differs")]
    explained = [{"dataset": "magic04", "because": "other rows"}]
    one = made([cell(), *misses, cell(verdict="no spread"), lost("not measured")], "one", explained=explained)
    other = made([cell(), lost("data not here")], "other")
    printed = made([cell()] * 7, "printed", reference=PRINTED)
    row, below = reproduction.all_sources([[one], [other], [printed]])
    assert row[0] == "**All 2 sources of released numbers**"
    said = "Of 7 cells whose data and method are here, 6 were measured (86 %), and 2 agree (29 %)."
    assert below == (
        "Of the 3 cells that differ, the cause is known of 2 and open of 1, that is 16.7 % of those measured; of cells "
        "that are right, 95 % intervals let 5 % differ by chance."
    )
    assert row[2:7] == [said, "2 of 5 (40 %), 1 without a spread", "", "1", "1"]


def test_the_row_of_all_sources_names_where_more_cells_are_open_than_chance_leaves(made):
    many = [cell(verdict="differs" if number < 8 else "reproduced") for number in range(30)]
    known = [cell("magic04", verdict="differs") for _ in range(30)]
    few = [cell("cpu", verdict="differs" if number < 2 else "reproduced") for number in range(30)]
    each = made([*many, *known, *few], explained=[{"dataset": "magic04", "because": "other rows"}])
    assert reproduction.crowded([each]) == ["mine eeg accuracy in % 8 of 30", "mine RFF 10 of 60"]
    _, below = reproduction.all_sources([[each]])
    assert below.endswith(
        "than it explains: mine eeg accuracy in % 8 of 30, mine RFF 10 of 60 "
        "(by the binomial distribution, as for independent cells, with Bonferroni's correction at 5 %)."
    )


def test_a_papers_row_has_the_mean_difference_beside_the_cells_that_agree(made):
    paper = {"paper": "A 2020", "came_out": "The cells agree to 0.3 points. On MNIST none was run."}
    row = reproduction.in_a_row(paper, [made([cell(measured=70.25), lost("not measured")])])
    assert row[2:7] == ["The cells agree to 0.3 points.", "1 of 1", "+0.25 points", "1", ""]
    lines = reproduction.in_short([row], "Below.").splitlines()
    assert " cells that agree | mean difference | not measured " in lines[0]
    assert lines[-1] == "Below."
    assert reproduction.in_words_of(paper) == [f"**What came out:** {paper['came_out']}\n"]


def test_numbers_that_differ_are_shown_with_the_digits_that_tell_them_apart():
    row = {"measured": 90.5002, "reported": 90.5031, "verdict": "differs"}
    assert reproduction.cell(row) == "**90.5** (90.503)"
    assert reproduction.cell(row | {"verdict": "reproduced"}) == "90.5 (90.5)"


@pytest.mark.parametrize(
    ("baseline", "size", "times", "said"),
    [
        (float("nan"), "", 1, "Nyström"),
        ("RFF", "306", 1, "Nyström : RFF"),
        ("RFF", "306", 2, "Nyström, 306 columns : RFF, 612"),
        ("RFF", "", 0.5, "Nyström : RFF with 0.5 times the columns"),
    ],
)
def test_methods_are_compared_with_the_sizes_where_these_differ(baseline, size, times, said):
    assert reproduction.compared_methods("Nyström", baseline, size, times) == said


def test_a_paper_of_which_nothing_was_run_has_an_empty_row(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "ROOT", tmp_path)
    each = reproduction.Experiment({"element": "Table 1", "results": "mine", "assumed": []})
    assert reproduction.in_a_row({"paper": "A 2020"}, [each])[3:7] == ["", "", "", ""]
    assert "- [Table 1](#table-1-mine): not run yet." in reproduction.answers([each])


def test_every_page_says_how_many_protocols_were_tried(made):
    assert "**Protocols tried**: 5 (" in reproduction.answers([made([cell()], tried=5)])
    assert "**Protocols tried**: 1 (" in reproduction.answers([made([])])


def test_very_many_sizes_are_down_and_methods_of_a_single_size_are_apart(made):
    sizes = [cell(n_features=size, size=size, multiple=None) for size in range(100, 2200, 100)]
    parts = [cell(n_features=500, size=500, multiple=None) | {"method": f"in {parts} parts"} for parts in (2, 3)]
    lines = reproduction.details(made([*sizes, *parts])).splitlines()
    first = lines.index("| size | eeg RFF |")
    assert lines[first + 2 : first + 4] == ["| 100 | 71 (70) |", "| 200 | 71 (70) |"]
    assert lines[first + 23 : first + 28] == [
        "", "| dataset | method | 500 |", "|---|---|--:|", "| eeg | in 2 parts | 71 (70) |",
        "| eeg | in 3 parts | 71 (70) |",
    ]  # fmt: skip


# ---- Differences -------------------------------------------------------------------------------------------


def test_a_mean_difference_has_accuracies_in_points_and_errors_in_percent_and_kernel_errors_apart():
    cells = pd.DataFrame([
        cell("eeg", measured=71.0), cell("eeg", measured=71.0), cell("magic04", measured=69.5),
        cell("cpu", "rmse", 2.0, 1.0), cell("cpu", "rmse", 0.5, 1.0), cell("cpu", "rmse", 0.5, 1.0),
        cell("eeg", "frobenius_error", 0.11, 0.1), cell("eeg", "frobenius_error", 9.9, 0.1, "no spread"),
    ]).assign(reported_std=0.1, measured_std=0.1)  # fmt: skip
    assert reproduction.mean_difference(cells) == "−20.6 %, +0.25 points, kernel +10.0 %"  # +1 of eeg, −0.5 of magic04


@pytest.mark.parametrize(("above", "count", "told"), [(9, 10, True), (8, 10, False), (9, 9, False)])
def test_a_dataset_leans_if_nearly_all_of_ten_or_more_cells_are_on_one_side(made, above, count, told):
    cells = [cell(measured=69.0 if number < above else 71.0) for number in range(count)]
    found = reproduction.deviations(made([*cells, cell("magic04")]))
    line = f"    - eeg, accuracy in %: −0.80 points in the mean, {above} of {count} below"
    assert (line in "\n".join(found)) == told
    assert ("not independent" in "\n".join(found)) == told


def test_few_cells_that_differ_are_named_in_a_sentence(made):
    each = made([cell(measured=75, verdict="differs", n_features=8, size="8", multiple=float("nan"))])
    assert reproduction.deviations(each) == ["1 cell differs, open: eeg 8 RFF 75 against 70"]
    assert reproduction.differing(each) == []


@pytest.mark.parametrize(("measured", "why"), [(75.8, "explained (a lost class)"), (76.1, "open"), (64.5, "open")])
def test_a_cause_explains_no_more_than_it_can_make_beyond_what_is_allowed(made, measured, why):
    explained = [{"dataset": "eeg", "side": "above", "at_most": 3.9, "because": "a lost class"}]
    each = made([cell(measured=measured, verdict="differs")], explained=explained)
    assert list(reproduction.different(each)) == [why]


def test_more_of_them_stand_in_a_table_the_furthest_by_what_is_allowed_first(made):
    cells = [cell(measured=73.0 + number, verdict="differs") for number in range(6)]
    each = made([*cells, cell("cpu", "rmse", 1.5, 1.0, "differs", tolerance=10.0)])
    (said,) = reproduction.deviations(each)
    assert said == "7 cells differ, open; the furthest is cpu RFF 1.5 against 1; a table below has all"
    table = reproduction.differing(each)
    assert table[0] == "The 7 cells that differ, open:"
    assert table[4] == "| cpu |  | RFF | RMSE | 1.5 | 1 | +50.0 % | 5.0 |"
    assert table[5] == "| eeg |  | RFF | accuracy in % | 78 | 70 | +8.00 points | 4.0 |"


def test_very_many_are_counted_by_dataset_and_map(made):
    cells = [cell(name, method=f"{map} {number}", verdict="differs") for name, map, number in (
        *(("eeg", "RFF", number) for number in range(30)), *(("eeg", "QMC", number) for number in range(5)),
        *(("cpu", "RFF", number) for number in range(4)), *(("cpu-small", "RFF", number) for number in range(4)),
    )]  # fmt: skip
    table = reproduction.differing(made(cells))
    assert table[:8] == [
        "The 43 cells that differ, open:", "", "| dataset | QMC | RFF |", "|---|--:|--:|", "| eeg | 5 | 30 |",
        "| cpu |  | 4 |", "| cpu-small |  | 4 |", "",
    ]  # fmt: skip


def test_very_many_are_named_in_a_list_to_unfold(made):
    cells = [
        cell(name, method=method, verdict="differs", measured=60.0 + size, n_features=size, size=size)
        for name, method, sizes in (
            ("eeg", "binning 10", range(1, 36)), ("eeg", "binning 2.5", (3, 2)), ("cpu", "RFF", (1, 2)),
            ("eeg", "RFF", (8, 16)),
        )
        for size in sizes
    ]  # fmt: skip
    each = made(cells)
    (said,) = reproduction.deviations(each)
    assert said.endswith("; a list below has all")
    lines = reproduction.differing(each)
    first = lines.index("<details><summary>All 41 by name, with size, measured (reported)</summary>")
    assert lines[first + 1 : first + 3] == ["", "- cpu, RFF, accuracy in %: 1: 61 (70), 2: 62 (70)"]
    assert lines[first + 3] == "- eeg, RFF, accuracy in %: 8: 68 (70), 16: 76 (70)"
    assert lines[first + 4].startswith(
        "- eeg, binning, accuracy in %: binning 2.5 at 2: 62 (70), 3: 63 (70); binning 10 at 1"
    )
    assert lines[first + 5 :] == ["", "</details>", ""]


# ---- Claims and notes --------------------------------------------------------------------------------------

NEEDS = "0.9 times over 1d to 4d (3 sizes) (0.8 to 1.01; 95 %, this dataset, 5 trials)"


def claim(verdict="not enough evidence", evidence=NEEDS, **more):
    return {
        "kind": "claim", "dataset": "eeg", "method": "SORF", "baseline": "RFF", "metric": "frobenius_error",
        "measured": 0.9, "low": 0.8, "high": 1.01, "n_ok": 5, "verdict": verdict, "verdict_adjusted": verdict,
        "claim": "SORF is better", "where": "Table 1", "asked": "less than 1", "because": "any less",
        "evidence": evidence, **more,
    }  # fmt: skip


def told(made, **of_claim):
    """The cell of a claim, and what is said above and below it."""
    lines = reproduction.claims([made([claim(**of_claim)])])
    return lines[4].split(" | ")[1].removesuffix(" |"), lines[0], lines[-1]


@pytest.mark.parametrize(
    ("needed", "shown"), [("about 9", "5 of 9 trials"), ("more than 1,000", "5 of more than 1,000 trials")]
)
def test_an_open_claim_has_the_trials_that_would_settle_it(made, needed, shown):
    evidence = f"{NEEDS}; {needed} trials with this mean and spread would settle it"
    cell, above, below = told(made, evidence=evidence)
    assert cell == f"open 0.9 (0.8 to 1.01), {shown}"
    assert "*5 of 9 trials*" in below
    assert "at each size" not in above + below
    assert "*5 of 9 trials*" not in told(made, verdict="holds")[2]


def test_a_claim_of_several_experiments_is_told_once_and_counted_of_reproductions(made):
    found = [claim("holds"), claim("holds", dataset="usps")]
    first, second = made(found, "one"), made([claim(because="any less, too")], "two", element="Table 2")
    lines = reproduction.claims([first, second])
    assert [line for line in lines if line.startswith("**")] == [
        "**SORF is better** (Table 1). It holds for a number less than 1 (any less; any less, too). "
        "Of 3 cases 2 hold, 1 is open."
    ]
    assert lines[2:6] == [
        f"| SORF : RFF | {first.title} | {second.title} |", "|---|--:|--:|",
        "| eeg | holds 0.9 (0.8 to 1.01) | open 0.9 (0.8 to 1.01) |", "| usps | holds 0.9 (0.8 to 1.01) |  |",
    ]  # fmt: skip
    second.role = "apart"
    lines = reproduction.claims([first, second])
    assert lines[0].endswith("Of 2 cases 2 hold.")
    assert f"| {second.title} (a control) |" in lines[2]


def test_cases_that_no_experiment_judged_are_told_once_with_why(made):
    lost = [claim("not measured", dataset=name, evidence=f"no trial on {name}") for name in ("MNIST", "Powerplant")]
    first, second = made([claim("holds"), *lost], "one"), made([claim(dataset="powerplant")], "two")
    lines = reproduction.claims([first, second])
    at = lines.index("Cases of claims that were not judged, and why:")
    assert lines[at + 2 :] == ["- *SORF is better*, 1 case: no trial on MNIST", ""]
    judged = made([claim(dataset="mnist"), claim(dataset="powerplant")], "three")
    assert not any("not judged" in line for line in reproduction.claims([first, judged]))


def test_claims_of_several_methods_and_experiments_are_below_each_other(made):
    found = [claim("holds", dataset=name, method=method) for name in ("eeg", "usps") for method in ("SORF", "ORF")]
    one = [each for each in found if each["dataset"] == "eeg"]
    first, second = made(found, "one"), made(found, "two", element="Table 2")
    down = [line.split(" | ")[:2] for line in reproduction.claims([first, second])[2:8]]
    assert down[0] == ["| experiment", "methods"]
    assert down[2:] == [[f"| {first.title}", "SORF : RFF"], ["| ", "ORF : RFF"],
                        [f"| {second.title}", "SORF : RFF"], ["| ", "ORF : RFF"]]  # fmt: skip
    lines = reproduction.claims([made(one, "one"), made(one, "two", element="Table 2")])
    assert lines[2] == "| eeg | SORF : RFF | ORF : RFF |"


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (["any less"], "any less"),
        (["less in 3 of 4 cells: any", "less in 5 of 6 cells: any"], "less in 3 of 4, 5 of 6 cells: any"),
        (["less in 3 of 4 cells: any", "less in all: any"], "less in 3 of 4 cells: any; less in all: any"),
    ],
)
def test_reasons_that_differ_in_some_words_are_told_in_one(texts, one):
    assert reproduction.merged(texts) == one


def test_a_claim_at_each_size_has_the_verdict_in_the_mean_where_it_is_another(made):
    more = "; by size 1d 1.1, 4d 0.7"
    cell, above, below = told(made, evidence=NEEDS + more, verdict_in_mean="holds")
    assert cell == "open 0.9 (0.8 to 1.01), in the mean: holds"
    assert "It holds for a number less than 1 at each size (any less)." in above
    assert "its number is the mean over sizes" in below
    wrong = {"evidence": f"{NEEDS}{more}; wrong at 1d, 2d; in the mean: holds", "verdict_in_mean": "holds"}
    cell, _, _ = told(made, verdict="does not hold", **wrong)
    assert cell == "**fails** 0.9 (0.8 to 1.01), in the mean: holds, wrong at 1d, 2d"
    cell, above, _ = told(made, verdict="holds", verdict_in_mean="holds")
    assert cell == "holds 0.9 (0.8 to 1.01)"
    assert "at each size" in above


def test_what_differs_counts_the_claims_that_do_not_hold_and_leads_to_them(made):
    one, two = claim("does not hold"), claim("does not hold", dataset="usps")
    assert reproduction.deviations(made([one])) == ["1 claim does not hold: its number is in [Its claims](#its-claims)"]
    assert reproduction.deviations(made([one, two])) == [
        "2 claims do not hold: their numbers are in [Its claims](#its-claims)"
    ]
    assert reproduction.told_once([made([one])])[0] == "## Its claims"


def test_a_claim_whose_tuned_value_is_on_the_edge_of_its_grid_is_marked(made):
    edge = "on the edge of the grid, where the score still moves: λ = 1e-13 of RFF on eeg at 16d; "
    cell, _, below = told(made, verdict="does not hold", evidence=edge + NEEDS)
    assert cell == "**fails** 0.9 (0.8 to 1.01), at an edge"
    assert "*At an edge*: a tuned value is the first or last of its grid" in below
    assert "edge" not in told(made, verdict="does not hold")[2]


def test_the_answer_counts_open_claims_that_the_mean_over_sizes_decides(made):
    every = [*[claim(verdict_in_mean="holds")] * 2, claim(verdict_in_mean="does not hold"), claim(), claim("holds")]
    said = "of 5 claims 1 holds, 4 are open; of those that are open, 2 hold, 1 does not hold in the mean over sizes."
    assert reproduction.outcome(made(every)) == said
    assert "in the mean" not in reproduction.outcome(made([claim()]))


def test_new_rows_are_named_where_they_change_the_verdict(made):
    cell, _, below = told(made, verdict="holds", verdict_new_rows="not enough evidence")
    assert cell == "holds 0.9 (0.8 to 1.01), new rows: open"
    assert "*New rows*" in below
    assert told(made, verdict="holds", verdict_new_rows="holds")[0] == "holds 0.9 (0.8 to 1.01)"


def test_notes_stand_on_the_papers_page_with_links_from_there():
    paper = {"notes": ["See [it](../results/mine) and [that](liu2020.md#here).", "And [this](https://a.org)."]}
    assert reproduction.notes(paper) == [
        "## What else came out", "", "- See [it](../../results/mine) and [that](../liu2020.md#here).",
        "- And [this](https://a.org).", "",
    ]  # fmt: skip
    linked = ["[What else came out](reproduction/mine.md#what-else-came-out): 2 notes on its page.\n"]
    assert reproduction.notes_linked(paper, "reproduction/mine.md") == linked
    assert reproduction.notes({}) == reproduction.notes_linked({}, "reproduction/mine.md") == []


def test_every_metric_of_a_table_has_a_title():
    metrics = {name for each in references().values() if each.table for name, _ in each.table.parts if name}
    assert {"mse", "mae", "complex_frobenius_error", "residual_norm"} < metrics
    assert [name for name in metrics if "_" in reproduction.title_of(name) or reproduction.title_of(name) == name] == []


# ---- Minutes -----------------------------------------------------------------------------------------------

STOPPED = {"started": "2026-01-01T10:00:00", "finished": None}
DONE = {"started": "2026-01-01T12:00:00", "finished": "2026-01-01T12:07:00"}


@pytest.mark.parametrize(
    ("runs", "shown"),
    [([STOPPED, DONE], "27"), ([DONE], "7"), ([{**STOPPED, "started": "2026-01-01T13:00:00"}], "")],
)
def test_a_run_that_was_stopped_lasted_until_its_last_trial(made, tmp_path, runs, shown):
    finished = ["2026-01-01T10:20:00", "2026-01-01T10:05:00", "2026-01-01T12:06:00"]
    each = made([cell()], runs=runs, finished=finished)
    assert f" | {shown} | [mine](../results/mine) |" in reproduction.overview([each], tmp_path / "page.md")
