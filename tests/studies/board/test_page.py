"""The board's page from results that are made up: what it says, what it withholds, and what it advises."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rffbench.report.board.page import Section, write_html
from rffbench.report.text_table import Table
from rffbench.stats import numbers
from rffbench.stats.gain import Reference
from rffbench.stats.summary import gains_of, summary_of
from studies.board import advice, front, kernels_or_maps, questions, tables
from studies.board.advice import DataClass, advise, classes
from studies.board.figures import each_map_figure
from studies.board.page import sections, to_markdown, write_rows
from studies.board.sessions import with_trials
from studies.board.standing import Board, load
from tests.helpers import report_log as log

DATASETS = ["eeg", "magic04", "phoneme", "spambase"]
KNOWN = {name: Reference(name, 0.5, 0.1, 0.001, 3) for name in DATASETS}
METHODS = {
    "RFF": {"features": "fourier"},
    "SORF": {"features": "sorf", "lengths": "chi"},
    "Nyström": {"features": "nystroem"},
}
BETTER = {"RFF": 0, "SORF": 0.05, "Nyström": 8}  # points of accuracy


def results(folder, trials=3, seconds=False):
    """Three maps on four datasets at three sizes; Nyström 8 points better, and twice as dear."""
    config = log.config(datasets=DATASETS, n_features=[256, 512, 1024], methods=METHODS, trials=3)
    rng = np.random.default_rng(0)
    rows = []
    for name in DATASETS:
        for size, more in ((256, 0), (512, 4), (1024, 7)):
            for trial in range(trials):
                noise = rng.normal(0, 0.05)
                for method, better in BETTER.items():
                    spec = log.spec(dataset=name, method="RFF", n_features=size, multiple=None, trial=trial)
                    features = {"name": METHODS[method]["features"]} | {
                        key: value for key, value in METHODS[method].items() if key != "features"
                    }
                    row = log.ok(spec, 70 + more + better + noise + rng.normal(0, 0.05), feature_s=size / 512)
                    row |= {"method": method, "features": features, "key": f"{name}{size}{trial}{method}"}
                    dear = 2 if method == "Nyström" else 1
                    row["timing"] = {"feature_s": size / 512 * dear, "fit_s": size / 512 * dear, "predict_s": 0.0,
                                     "contended": False}  # fmt: skip
                    row["metrics"] |= {"times_median": 1.0, "own_memory_bytes": 1000.0 * size * dear}
                    rows.append(row)
    return load(log.write(folder, config, rows))


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    return Board({"board": results(folder / "board"), "board-seconds": results(folder / "seconds")}, KNOWN)


@pytest.fixture(scope="module")
def shown(board):
    return sections(board)


def cells(table):
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def test_there_is_no_verdict_before_all_trials_of_a_map_are_in(tmp_path):
    whole = Board({"board": results(tmp_path / "a")}, KNOWN)
    partly = Board({"board": results(tmp_path / "b", trials=2)}, KNOWN)
    assert whole.withheld("SORF", 512) == ""
    assert partly.withheld("SORF", 512) == "8 trials to come"
    (row,) = [each for each in cells(tables.verdicts(partly)) if each["map"].startswith("SORF")]
    assert row["verdict"] == "none yet: 8 trials to come"
    (row,) = [each for each in cells(tables.verdicts(whole)) if each["map"].startswith("SORF")]
    assert row["verdict"] == "same"


def test_there_is_no_verdict_without_references_or_above_the_noise(tmp_path):
    found = results(tmp_path / "board")
    few = {name: KNOWN[name] for name in DATASETS[:2]}
    assert Board({"board": found}, few).withheld("SORF", 512) == "no reference of 2 datasets"
    small = {name: Reference(name, 0.5, 0.495, 0.00001, 3) for name in DATASETS}
    assert "regions" in Board({"board": found}, small).withheld("SORF", 512)


def test_a_size_that_has_not_run_on_all_datasets_of_a_map_has_no_median(board, tmp_path):
    found = results(tmp_path / "partly")
    late = (found.trials["method"] == "SORF") & (found.trials["n_features"] == 1024)
    missing = late & found.trials["dataset"].isin(DATASETS[1:])
    (row,) = [each for each in cells(tables.by_columns(board)) if each["map"] == "SORF †"]
    assert row["1,024"] != "–"
    partly = Board({"board": with_trials(found, found.trials[~missing])}, KNOWN)
    (row,) = [each for each in cells(tables.by_columns(partly)) if each["map"] == "SORF †"]
    assert row["512"] != "–"
    assert row["1,024"] == "–"


def test_with_as_many_columns_as_the_references_gains_are_over_these(board, tmp_path):
    assert list(cells(tables.by_columns(board))[0])[-1] == "1,024"
    found = results(tmp_path / "many")
    of_sorf = found.trials[(found.trials["method"] == "SORF") & (found.trials["n_features"] == 1024)]
    many = of_sorf.assign(n_features=4096)
    for name, each in KNOWN.items():
        here = many["dataset"] == name
        many.loc[here, "accuracy"] = 100 * (1 - each.reference + 0.05 * each.unit)
    more = Board({"board": with_trials(found, pd.concat([found.trials, many]))}, KNOWN)
    table = tables.by_columns(more)
    (row,) = [each for each in cells(table) if each["map"] == "SORF †"]
    assert row["4,096 *"].startswith("+5.0 (+5.0 to +5.0)")
    assert {each["4,096 *"] for each in cells(table) if each["map"] != "SORF †"} == {"–"}
    assert "no trial is paired" in table.notes[0]


def test_what_is_not_named_beforehand_is_exploratory(board):
    found = {row["map"]: row["verdict"] for row in cells(tables.verdicts(board))}
    assert found["Nyström"] == "exploratory"
    assert found["SORF †"] == "same"


def test_at_equal_cost_a_map_that_costs_twice_is_read_at_half_its_columns(board):
    gain = board.at_cost("fit", 512).gains["Nyström"]
    assert gain.to_numpy() == pytest.approx((70 + 8 - 74) / 100 / 0.4, abs=0.01)  # with 256 columns
    memory = board.at_cost("memory", 512).gains["Nyström"]
    assert memory.to_numpy() == pytest.approx(gain.to_numpy())
    assert board.at_cost("fit", 256).out_of_range["Nyström"] == 4
    assert board.at_cost("tuning", 512) is None
    assert board.at_cost("fit", 512).columns["Nyström"].tolist() == [256.0] * 4


def test_the_tables_and_the_rows_are_written(board, shown, tmp_path):
    text = to_markdown(shown)
    assert text.startswith("## Which map?")
    assert "## Question 5: Does the kernel matter more than the map?" in text
    assert sum(line.startswith("| --") for line in text.splitlines()) == sum(len(each.tables) for each in shown)
    rows = pd.read_csv(write_rows(board, tmp_path / "rows.csv.gz"))
    assert rows["part"].value_counts().to_dict() == {"board": 108, "board-seconds": 108}
    assert rows["loss"].notna().all()
    assert (rows["fit_s"].notna() == (rows["part"] == "board-seconds")).all()


def test_the_rows_of_your_own_map_are_marked_on_its_page(tmp_path):
    own = Section("Gains", [Table("Gains", ["columns", "map"], [["512", "Mine *"], ["512", "SORF"]])])
    text = write_html("The board", [own], tmp_path / "board.html").read_text(encoding="utf-8")
    assert text.count('<tr class="own"><td>512</td><td>Mine *</td></tr>') == text.count('class="own"') == 1


def test_an_answer_with_values_on_datasets_has_a_figure_of_them(board, shown):
    drawn = {section.title.partition(":")[0]: section.pictures for section in shown}
    assert [bool(drawn[f"Question {number}"]) for number in (1, 2, 3, 4, 5)] == [True, False, False, True, False]
    (panel, quick) = questions.equal_seconds(board).panels()
    (strip,) = panel.strips
    assert strip.name == "SORF"
    assert len(strip.values) == 4
    assert strip.low <= strip.median <= strip.high
    assert panel.band == (-1, 1)
    assert quick.title.endswith("map and prediction alone")


def test_a_figure_has_a_panel_for_each_map_but_rff(board):
    rows, axis = front.points(board)
    figure = each_map_figure(front.medians(rows), "RFF", axis)
    panels = {panel.get_title(): panel for panel in figure.axes}
    assert list(panels) == ["SORF", "Nyström"]
    assert [len(panel.lines) for panel in panels.values()] == [3, 3]


def test_the_worst_dataset_of_a_map_is_named(board):
    rows = board.at_columns(512)
    gains = rows[rows["method"] == "Nyström"].groupby("dataset")["gain"].mean()
    (row,) = [each for each in cells(tables.verdicts(board)) if each["map"] == "Nyström"]
    assert row["worst dataset"] == f"{gains.idxmin()} {100 * gains.min():+.1f}"


def test_there_is_no_gain_at_equal_cost_on_few_datasets(board):
    seconds = board.results["board-seconds"]
    trials = seconds.trials
    on_two = (trials["method"] != "Nyström") | trials["dataset"].isin(DATASETS[:2])
    few = replace(board, results={**board.results, "board-seconds": with_trials(seconds, trials[on_two])})
    found, all_there = ({row["map"]: row for row in cells(tables.by_cost(each, "fit"))} for each in (few, board))
    assert all_there["Nyström"]["RFF's with 512 columns"].startswith("+10.")
    assert found["Nyström"]["RFF's with 512 columns"] == "–"
    assert all_there["Nyström"]["RFF's with 256 columns"] == "– (4 dearer)"


def test_where_rff_is_named_the_first_lines_show_no_gain(board):
    scores = board.scores
    without = with_trials(scores, scores.trials[scores.trials["method"] != "Nyström"])
    named, no_map = (cells(tables.first_lines(each))[0] for each in (
        board, replace(board, results={**board.results, "board": without})))  # fmt: skip
    gain, worse = "gain, % (95 %)", "not on: gain, %"
    assert named["budget"] == no_map["budget"] == "512 columns"
    assert (named["map"], named[worse]) == ("Nyström", "none")
    assert named[gain].startswith("+20.")
    assert [no_map[name] for name in ("map", gain, worse)] == ["RFF", "–", "–"]


def test_what_else_is_measured_is_beside_the_gain_over_rff_where_it_is_a_cost(board):
    found = {row["map"]: row for row in cells(tables.beside(board))}
    assert [found[name]["seconds over RFF's"] for name in ("RFF", "Nyström")] == ["1.00", "2.00"]
    assert float(found["SORF †"]["test error, %"]) == pytest.approx(26, abs=0.2)


def test_a_cost_over_rff_is_that_of_the_same_session(board):
    """Nyström is measured on another day, when the machine takes three times the seconds and the memory."""
    seconds = board.results["board-seconds"]
    trials = seconds.trials
    later = trials[trials["method"] != "SORF"].copy()
    later[["feature_s", "fit_s", "own_memory_bytes"]] *= 3
    both = pd.concat([trials[trials["method"] != "Nyström"].assign(session=0), later.assign(session=1)])
    in_two = with_trials(seconds, both.reset_index(drop=True))
    found = cells(tables.beside(replace(board, results={**board.results, "board-seconds": in_two})))
    ratios = {row["map"]: (row["seconds over RFF's"], row["memory over RFF's"]) for row in found}
    assert ratios == {"RFF": ("1.00", "1.00"), "SORF †": ("1.00", "1.00"), "Nyström": ("2.00", "2.00")}


def test_datasets_fall_into_four_classes():
    found = classes({"a": (100, 3), "b": (100, 50), "c": (10_000, 20), "d": (50_000, 21), "e": (60_000, 784)})
    assert [(each.rows, each.inputs, each.datasets) for each in found] == [
        ("n < 10,000", "d ≤ 20", ("a",)), ("n < 10,000", "d > 20", ("b",)),
        ("n ≥ 10,000", "d ≤ 20", ("c",)), ("n ≥ 10,000", "d > 20", ("d", "e")),
    ]  # fmt: skip


def gain_rows(**of_maps):
    return pd.DataFrame([
        {"dataset": f"d{at}", "method": method, "trial": trial, "gain": gain}
        for method, gains in of_maps.items() for at, gain in enumerate(gains) for trial in range(3)
    ])  # fmt: skip


def test_the_map_that_gains_is_advised_with_its_own_gain_and_where_it_loses():
    """Both are 4 points ahead on most datasets, and bad on the last one; no map is the best on all but one."""
    data = DataClass("n", "d", tuple(f"d{at}" for at in range(9)))
    rows = gain_rows(good=[0.05] * 8 + [-0.03], other=[0.049] * 8 + [-0.02])
    found = advise(rows, data, 512.0, pd.DataFrame({"good": [1.0] * 9, "RFF": [0.5] * 9}, index=data.datasets))
    assert (found.best, found.method, found.times_median) == ("good", "good", 1.0)
    assert found.own.median == found.choice.median == pytest.approx(0.05)
    assert found.worse_on == {"d8": pytest.approx(-0.03)}
    in_place = advise(rows, data, 512.0, pd.DataFrame(), instead={"good": "other"})
    assert (in_place.best, in_place.method) == ("good", "other")
    assert in_place.own.median == pytest.approx(0.049)
    assert in_place.choice == found.choice
    assert in_place.worse_on == {"d8": pytest.approx(-0.02)}


def test_the_choice_is_judged_on_datasets_that_did_not_take_part():
    """Each of three maps gains much on three datasets of nine, where it is chosen last."""
    gains = {f"map {at}": [0.5 if at == number // 3 else -0.1 for number in range(9)] for at in range(3)}
    gains["none"] = [0.0] * 9
    data = DataClass("n", "d", tuple(f"d{at}" for at in range(9)))
    found = advise(gain_rows(**gains), data, 512.0, pd.DataFrame())
    assert (found.method, found.own, found.worse_on, found.choice.median) == ("RFF", None, {}, 0.0)


@pytest.mark.slow
def test_a_lucky_choice_among_maps_without_gains_is_not_advised():
    """Twenty maps that gain nothing: the best median is above 0, the gain of choosing so is not told from it."""
    rng, above, told = np.random.default_rng(1), 0, 0
    data = DataClass("n", "d", tuple(f"d{at}" for at in range(8)))
    for _ in range(30):
        rows = gain_rows(**{f"map {at}": rng.normal(0, 0.02, 8) for at in range(20)})
        found = advise(rows, data, 512.0, pd.DataFrame())
        above += summary_of(found.best, gains_of(rows, found.best)).median > 0.005
        told += found.method != "RFF"
    assert above == 30
    assert told <= 4


def test_too_few_datasets_give_no_advice():
    data = DataClass("n", "d", ("d0", "d1"))
    assert advise(gain_rows(good=[0.05, 0.05]), data, 512.0, pd.DataFrame()) is None
    assert advice.FEWEST == 3


# ---- The questions' numbers ------------------------------------------------------------------------------------------


def test_the_component_between_levels_is_what_was_planted():
    """Levels with a variance of 4, trials that shift all levels, and noise: the component is 4 on average."""
    rng, found, flat = np.random.default_rng(2), [], []
    for _ in range(400):
        levels, shift = rng.normal(0, 2, 5), rng.normal(0, 3, (6, 1))
        found.append(kernels_or_maps.between(pd.DataFrame(levels + shift + rng.normal(0, 1, (6, 5)))))
        flat.append(kernels_or_maps.between(pd.DataFrame(shift + rng.normal(0, 1, (6, 5)))))
    assert np.mean(found) == pytest.approx(4, rel=0.15)
    assert np.mean(flat) < 0.1
    assert np.isnan(kernels_or_maps.between(pd.DataFrame([[1.0, np.nan], [1.0, 2.0]])))


@pytest.mark.slow
def test_an_interval_over_datasets_covers_the_number():
    rng = np.random.default_rng(3)
    covered = 0
    for seed in range(40):
        values = {f"d{at}": value for at, value in enumerate(rng.normal(1, 1, 30))}
        found = numbers.over_datasets(values, numbers.median, "x", seed)
        covered += found.low <= 1 <= found.high
    assert covered >= 34


def test_an_interval_over_datasets_is_over_their_trials_too():
    """Thirty datasets with the trials 0 and 1. A draw's mean has the standard error √(2·0.125/30) = 0.091: the mean of
    two trials has the variance 0.125, and a dataset that is drawn twice has the same trials both times."""
    names = [f"d{at}" for at in range(30)]
    fixed, drawn = (
        numbers.over_datasets(dict.fromkeys(names, value), lambda each: float(each.mean()), "x")
        for value in (0.5, numbers.means_of([[0.0], [1.0]]))
    )
    assert (fixed.value, fixed.low, fixed.high) == (0.5, 0.5, 0.5)
    assert drawn.value == 0.5
    assert drawn.values == fixed.values
    assert (drawn.low, drawn.high) == pytest.approx(
        (0.5 - 1.96 * 0.065 * 2**0.5, 0.5 + 1.96 * 0.065 * 2**0.5), abs=0.03
    )


def test_correlations_need_two_values_of_each():
    assert numbers.correlation(np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 9.0]])) == pytest.approx(1)
    assert np.isnan(numbers.correlation(np.array([[1.0, 2.0], [1.0, 3.0]])))


def test_smaller_lambdas_are_compared_with_the_boards_on_the_same_trials(tmp_path):
    """Reweighted 2 points worse with the board's λ, as good as RFF with smaller ones, which leave RFF as it is."""
    from studies.board.tables import REWEIGHTED, by_lambdas, with_smaller_lambdas

    methods = {"RFF": METHODS["RFF"], REWEIGHTED: METHODS["Nyström"]}  # which map it is doesn't matter here

    def part(folder, worse):
        config = log.config(datasets=DATASETS, n_features=[512], methods=methods, trials=3)
        rows = []
        for name in DATASETS:
            for trial in range(3):
                for method, less in (("RFF", 0), (REWEIGHTED, worse)):
                    spec = log.spec(dataset=name, method="RFF", n_features=512, multiple=None, trial=trial)
                    features = {"name": methods[method]["features"]}
                    row = {"method": method, "features": features, "key": f"{name}{trial}{method}"}
                    rows.append(log.ok(spec, 80 - less) | row)
        return load(log.write(folder, config, rows))

    with_both = Board({"board": part(tmp_path / "a", 2), "board-reweighted": part(tmp_path / "b", 0)}, KNOWN)
    assert [each.median for each in with_smaller_lambdas(with_both)] == pytest.approx([-0.05, 0, 0])
    assert by_lambdas(with_both) is not None
    assert by_lambdas(Board({"board": with_both.scores}, KNOWN)) is None


def test_learners_without_a_map_are_compared_with_rff_on_the_same_splits(tmp_path):
    """Trees with two of RFF's three trials, 4 points better on these; the third would hide it."""
    from studies.board.tables import without_a_map

    methods = {"RFF": METHODS["RFF"], "trees": {"features": "none", "n_features": [1]}}
    config = log.config(datasets=DATASETS, n_features=[512], methods=methods, trials=3)
    rows = []
    for name in DATASETS:
        for trial, score in enumerate((70, 71, 99)):
            row = log.ok(log.spec(dataset=name, method="RFF", n_features=512, multiple=None, trial=trial), score)
            rows.append(row | {"features": {"name": "fourier"}, "key": f"{name}{trial}"})
            if trial < 2:
                row = log.ok(log.spec(dataset=name, method="RFF", n_features=1, multiple=None, trial=trial), score + 4)
                rows.append(row | {"method": "trees", "features": {"name": "none"}, "key": f"{name}{trial}trees"})
    found = Board({"board": load(log.write(tmp_path, config, rows))}, KNOWN)
    (trees,) = found.without_a_map(512)
    assert trees.median == pytest.approx(0.04 / 0.4)
    assert trees.datasets == 4
    assert without_a_map(found).rows[0][0] == "trees"
