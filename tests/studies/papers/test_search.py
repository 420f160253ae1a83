"""Promises of the protocol search: the distance, the ranking, the interval, what cannot be ranked."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rffbench
from rffbench import report
from rffbench.config.experiment import Experiment
from rffbench.errors import ConfigError, ResultsError
from rffbench.papers import load_reference
from studies.papers import search as searching
from studies.papers.search import ALL, NoSweep, Search, write
from tests.helpers import report_log as log

REPORTED = load_reference("liu2020-table3").numbers().set_index(["paper_dataset", "multiple", "method"])["reported"]
PAPER = {"eeg": "EEG", "magic04": "magic04"}
STATED = {
    "preprocess": ["minmax"],
    "solver": {"lambda": [0.05, 0.1, 0.5, 1.0], "folds": 5, "lambda_scale": "n"},
    "methods": {"RFF": {"features": "fourier"}, "surrogate-RFF": {"variant": "as-written"}},
}


def protocol(offsets, dataset="eeg", sizes=(1, 2), methods=("RFF", "surrogate-RFF"), **config):
    """Results whose trials are the reported means plus ``offsets``, one a trial, at every size and method."""
    rows = [
        (dataset, 14 * size, method, trial, {"accuracy": REPORTED[PAPER[dataset], size, method] + offset})
        for size in sizes
        for method in methods
        for trial, offset in enumerate(offsets)
    ]
    results = log.results(rows, {**log.config(datasets=[dataset], reference="liu2020-table3"), **config})
    results.trials["multiple"] = results.trials["n_features"] // 14
    return results


def joined(*parts):
    return replace(parts[0], trials=pd.concat([part.trials for part in parts], ignore_index=True))


def search(protocols) -> Search:
    return searching.search(rffbench.Results(Path("run"), protocols))


def ranked(protocols, dataset="eeg"):
    ranking = search(protocols).ranking
    return ranking[ranking["dataset"] == dataset].set_index("scaling")


def test_the_distance_is_the_root_mean_square_of_mean_differences_over_sizes_and_methods():
    near = protocol([1.0, -1.0, 0.3])  # every cell's mean is 0.1 off, though trials are further
    mixed = joined(protocol([3.0], methods=["RFF"]), protocol([-1.0], methods=["surrogate-RFF"]))
    rows = ranked([({"scaling": "a"}, near), ({"scaling": "b"}, mixed)])
    assert rows.loc["a", "distance"] == pytest.approx(0.1)
    assert rows.loc["b", "distance"] == pytest.approx(math.sqrt((9 + 1) / 2))
    assert rows["rank"].to_dict() == {"a": 1, "b": 2}
    assert set(rows["cells"]) == {4}


def test_the_interval_covers_what_resampled_trials_give_and_is_a_point_without_noise():
    noisy, exact = protocol([0.5, 1.5] * 5), protocol([2.0] * 10)
    rows = ranked([({"scaling": "noisy"}, noisy), ({"scaling": "exact"}, exact)])
    assert rows.loc["exact", ["low", "high"]].tolist() == pytest.approx([2.0, 2.0])
    half = 1.96 * 0.5 / math.sqrt(10)  # all cells move together: the distance is the mean of the offsets
    assert rows.loc["noisy", ["low", "high"]].tolist() == pytest.approx([1 - half, 1 + half], abs=0.06)
    assert rows["first"].to_dict() == {"noisy": 1.0, "exact": 0.0}


def test_protocols_are_resampled_alike():
    noise = np.array([3.0, -2.0, 1.0, -1.5, 0.5])
    rows = ranked([({"scaling": "a"}, protocol(5 + noise)), ({"scaling": "b"}, protocol(5.1 + noise))])
    assert rows["first"].to_dict() == {"a": 1.0, "b": 0.0}  # though their intervals overlap
    assert rows.loc["a", "high"] > rows.loc["b", "low"]


def test_equally_near_protocols_share_rank_and_firsts():
    rows = ranked([({"scaling": name}, protocol([1.0, 2.0])) for name in "ab"])
    assert rows["rank"].tolist() == [1, 1]
    assert rows["first"].tolist() == [0.5, 0.5]


def test_all_are_judged_by_the_cells_that_all_have():
    full = joined(protocol([1.0]), protocol([9.0], sizes=[4]))
    rows = ranked([({"scaling": "full"}, full), ({"scaling": "part"}, protocol([2.0]))])
    assert rows.loc["full", "distance"] == pytest.approx(1.0)  # without 4d, which the other lacks
    assert set(rows["cells"]) == {4}


def test_a_protocol_that_has_hardly_begun_is_left_out_and_told():
    full = protocol([1.0], sizes=[1, 2, 4])
    found = search(
        [
            ({"scaling": "full"}, full),
            ({"scaling": "other"}, full),
            ({"scaling": "begun"}, protocol([0.0], sizes=[1], methods=["RFF"])),
        ]
    )
    assert set(found.ranking["scaling"]) == {"full", "other"}
    assert set(found.ranking["cells"]) == {6}
    assert found.left_out == ["eeg: 1 of 3 protocols have too few finished cells to be ranked."]


def test_over_all_datasets_it_is_the_root_mean_square_of_the_datasets_distances():
    def both(eeg, magic):
        return joined(protocol([eeg]), protocol([magic], "magic04"))

    rows = ranked([({"scaling": "a"}, both(3.0, 4.0)), ({"scaling": "b"}, both(1.0, 4.5))], ALL)
    assert rows.loc["a", "distance"] == pytest.approx(math.sqrt((9 + 16) / 2))
    assert rows["rank"].to_dict() == {"b": 1, "a": 2}


def test_the_protocol_as_stated_is_marked_and_shown_wherever_it_stands():
    protocols = [({"scaling": f"other {i}"}, protocol([0.1 * i])) for i in range(15)]
    protocols.append(({"scaling": "stated"}, protocol([20.0], **STATED)))
    silent = {**STATED, "solver": {"lambda": [0.05, 0.1, 0.5, 1.0], "folds": 5}}  # says nothing of n·λ or λ
    protocols.append(({"scaling": "silent"}, protocol([30.0], **silent)))
    found = search(protocols)
    assert found.ranking.loc[found.ranking["stated"] == 1, "scaling"].tolist() == ["stated"]
    rows = found.table().rows
    assert len(rows) == 11  # the ten nearest, and it
    assert rows[-1][1:3] == ["16 ‡", "stated"]
    assert any("not among them" in note for note in search(protocols[:2]).table().notes)


def test_a_search_needs_a_sweep_and_a_reference_with_numbers():
    with pytest.raises(NoSweep, match="sweeps nothing"):
        search([({}, protocol([1.0]))])
    for reference in (None, "musco"):
        with pytest.raises(ConfigError, match=r"no reference with numbers.*liu2020-table3"):
            search([({"scaling": "a"}, protocol([1.0], reference=reference))])
    with pytest.raises(ResultsError, match="no cell of yen2014-table2 is measured"):
        search([({"scaling": "a"}, protocol([1.0], reference="yen2014-table2"))])


def test_a_folder_of_a_sweep_is_ranked_and_written(tmp_path):
    sweep = {"scaling": {"columns": {}, "none": {"preprocess": ["none"]}}}
    experiment = Experiment.model_validate(log.config(reference="liu2020-table3", sweep=sweep, trials=2))
    offsets = {"minmax": 4.0, "none": 0.5}
    rows = [log.ok(spec, REPORTED["EEG", 1, spec.method] + offsets[spec.preprocess[0]]) for spec in experiment.grid()]
    folder = log.write(tmp_path / "run", experiment.to_dict(), rows)
    [found] = write([folder])
    assert found.ranking["scaling"].tolist() == ["none", "columns"]
    assert found.ranking["distance"].tolist() == pytest.approx([0.5, 4.0])
    assert (folder / "search.md").read_text() == found.table().to_markdown()
    written = pd.read_csv(folder / "search.csv")
    assert list(written.columns[:3]) == ["dataset", "rank", "scaling"]
    comparison, _ = report.compare_folder(folder)
    assert comparison.missing[-1] == (
        "Of the sweep, the numbers of its first protocol are compared (scaling: columns); claims are judged under each."
    )
