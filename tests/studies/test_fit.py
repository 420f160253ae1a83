"""The study of `rffbench fit`: what it measures can be interrupted, and what its rows come to is what its page says."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from threadpoolctl import threadpool_limits

pytest.importorskip("skrub", reason="pip install 'rffbench[fit]'")
pytest.importorskip("skops", reason="pip install 'rffbench[fit]'")

from rffbench.cli import cli
from studies.fit import facts, measuring, rivals
from studies.fit.facts import Found
from studies.fit.measuring import PARTS, Split, Study, scored
from studies.fit.rivals import TREES, Axis
from studies.fit.tables import Table

ROWS = 240


def waves():
    """Values that depend on a number and a word, with gaps."""
    rng = np.random.default_rng(0)
    x, kind = rng.uniform(-3, 3, ROWS), rng.choice(["slow", "fast"], ROWS)
    y = np.sin(np.where(kind == "fast", 3 * x, x)) + 0.1 * rng.normal(size=ROWS)
    return pd.DataFrame({"x": np.where(rng.random(ROWS) < 0.05, np.nan, x).round(3), "kind": kind, "y": y.round(3)})


def rings():
    """A rare class in a ring."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS * 2, 2)).round(3)
    return pd.DataFrame(X, columns=["a", "b"]).assign(far=np.where(np.square(X).sum(axis=1) > 5.2, "yes", "no"))


WAVES, RINGS = Table("waves", ("y",), waves), Table("rings", ("far",), rings)


def row(table, trial, part, score, **more):
    return {
        "table": table, "trial": trial, "part": part, "status": "ok", "score": score, "constant": 0.5, "seconds": 60.0,
        "metric": "accuracy", "rows": 100, "columns": 3, "advice": "a map", "alone": True, "commit": "abc",
        "machine": {"cpu": "a cpu"}, **more,
    }  # fmt: skip


def log(folder, rows):
    folder.mkdir(exist_ok=True)
    (folder / "trials.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return Study(folder, (WAVES, RINGS), trials=2)


def each_once_in_a_process(start):
    """In place of ``start``, which gives what a command prints: only the first call of each command has a process of
    its own, and all later ones are in this one, where everything is imported."""
    started = set()

    def run(name, *arguments):
        if name not in started:
            started.add(name)
            return start(name, *arguments)
        done = CliRunner().invoke(cli, [name, *arguments], standalone_mode=False)
        assert done.exception is None, done.output
        return done.stdout

    return run


@pytest.mark.slow
def test_all_parts_of_a_small_table_are_measured_and_a_second_run_has_nothing_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "command", each_once_in_a_process(measuring.command))
    monkeypatch.setattr(rivals, "COLUMNS", 64)
    monkeypatch.setattr(rivals, "MOST_GROWN", 0)
    monkeypatch.setattr(rivals, "FOLDS", 2)
    monkeypatch.setattr(rivals, "TREES", {name: Axis(axis.values[:2], axis.factor) for name, axis in TREES.items()})
    study = Study(tmp_path, (RINGS,), trials=1, minutes={"fit": 0.02, "hour": 0.02})
    said = []
    with threadpool_limits(1):
        assert study.run(None, None, said.append) == 0, said
    rows = study.rows()
    assert [each["part"] for each in rows] == list(PARTS)
    for each in rows:
        assert each["metric"] == "auc"
        assert each["score"] > each["constant"], each
        assert each["load_at_start"] is not None
        assert each["machine"]["processors"] > 0
    assert study.run(None, None, said.append) == 0
    assert study.rows() == rows
    assert "of one table" in Found(study).finding()


def test_what_is_missing_is_measured_again_after_a_torn_line_and_a_failure(tmp_path):
    study = log(tmp_path, [row("waves", 0, "fit", 0.9), row("waves", 0, "rff", 0.9, status="error")])
    with open(tmp_path / "trials.jsonl", "a", encoding="utf-8") as file:
        file.write('{"table": "waves", "tri')
    missing = [(each.name, trial, part) for each, trial, part in study.missing()]
    assert len(missing) == 2 * 2 * 4 - 1
    assert missing[0] == ("waves", 0, "rff")
    assert {part for _, _, part in missing[-4:]} == {"hour"}
    study.append(row("waves", 0, "rff", 0.9))
    assert [each["part"] for each in study.rows()] == ["fit", "rff", "rff"]
    assert [part for _, _, part in study.missing("waves", "rff")] == ["rff"]


def test_a_part_that_fails_or_cannot_be_begun_does_not_stop_the_others(tmp_path, monkeypatch):
    def broken(split, minutes, *, best):
        raise RuntimeError("rffbench fit ended with 2")

    monkeypatch.setattr(measuring, "by_command", broken)
    monkeypatch.setattr(
        measuring, "by_rival", lambda split, part, metric: {"metric": metric, "score": 0.9, "seconds": 1.0}
    )
    monkeypatch.setattr(measuring, "environment", dict)
    said = []
    study = log(tmp_path, [row("rings", 0, "fit", 0.9)])
    assert study.run(None, "rff", said.append) == 2
    assert "waves: its metric is the one that fit chose; run --table waves --part fit" in " ".join(said)
    assert [(each["table"], each["trial"]) for each in study.rows()[1:]] == [("rings", 0), ("rings", 1)]
    assert study.run("waves", "fit", said.append) == 2
    assert study.rows()[-1]["error"] == "RuntimeError: rffbench fit ended with 2"
    assert len([*study.missing("waves", "fit")]) == 2


def test_within_one_percent_and_behind_are_counted_by_trials(tmp_path):
    scores = {
        ("waves", "fit"): (0.9, 0.92), ("waves", "rff"): (0.8, 0.81), ("waves", "trees"): (0.93, 0.95),
        ("waves", "hour"): (0.903, 0.923),
        ("rings", "fit"): (0.7, 0.7), ("rings", "rff"): (0.75, 0.76), ("rings", "trees"): (0.6, 0.7),
        ("rings", "hour"): (0.8, 0.8),
    }  # fmt: skip
    rows = [row(name, trial, part, each) for (name, part), both in scores.items() for trial, each in enumerate(both)]
    found = Found(log(tmp_path, rows))
    waves, rings = found.tables
    assert waves.share == pytest.approx(0.41 / 0.413)
    assert rings.share == pytest.approx(0.2 / 0.3)
    assert waves.ahead("trees")[0] == pytest.approx(-3.0)
    assert rings.ahead("rff") == (pytest.approx(-5.5), pytest.approx(np.sqrt((1 / 2 + 1 / 4) * 0.5)))
    assert found.finding() == (
        "**On one of two tables `rffbench fit` came within 1 % of the best of an hour, and on rings it was below "
        "random Fourier features tuned with scikit-learn by more than the standard error.** Below boosted trees tuned "
        "alike it was on waves."
    )
    assert found.table().splitlines()[2].startswith("| waves | 100 | 3 | accuracy, % | 1.0 | 91 | 80.5 (+10.50 ± 0.61)")
    assert (
        Found(log(tmp_path, rows[:-1]))
        .finding()
        .startswith("**Not measured in full: 15 of 16 runs are done.** So far: ")
    )


def test_a_run_beside_other_work_does_not_count_for_minutes(tmp_path):
    rows = [row("waves", 0, part, 0.9, alone=part != "fit") for part in PARTS]
    found = Found(log(tmp_path, rows))
    assert found.table().splitlines()[2].split(" | ")[4] == "–"
    assert "Beside 1 of 4 runs the machine had other work" in found.notes()


@pytest.mark.parametrize(
    ("value", "further"), [(0.1, 0.01), (10.0, 100.0), (1.0, None)]
)  # fmt: skip
def test_a_grid_grows_beyond_the_end_that_was_chosen(value, further):
    assert rivals.Axis((0.1, 1.0, 10.0), 10).beyond(value) == (further and pytest.approx(further))


def test_whole_numbers_stay_whole_and_do_not_go_below_the_least():
    leaves = rivals.Axis((2, 4, 8), 2, least=2)
    assert (leaves.beyond(2), leaves.beyond(8)) == (None, 16)


def test_a_choice_is_not_left_at_an_end_where_the_score_grows(monkeypatch):
    monkeypatch.setattr(rivals, "COLUMNS", 64)
    split = Split.of(WAVES, 0)
    X, y = split.inputs(split.train), split.answers(split.train)
    tuned = rivals.fourier(X, y, "rmse", 0)
    found = pd.DataFrame({"y": tuned.model.predict(split.inputs(split.test))})
    assert tuned.at_end == []
    assert scored(split, "rmse", found) < 0.5 * y["y"].std()


def test_the_committed_rows_have_a_sentence():
    assert facts.study().finding().startswith("**")
