"""From a table to a model on the command line: the files, the same predictions by each of them, and refusals."""

import json
import re
import runpy
import shutil
import sys

import joblib
import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("skrub", reason="pip install 'rffbench[fit]'")
pytest.importorskip("skops", reason="pip install 'rffbench[fit]'")

FILES = ["README.md", "model.joblib", "model.json", "model.py", "model.skops"]
LINES, WIDTH = 12, 80


def churn(rows=240):
    """A mixed table: an ID, gaps, a category, a date, and labels that depend on an age."""
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, rows)
    table = pd.DataFrame({
        "customer": [f"C{i:04}" for i in rng.permutation(rows)],
        "age": age.round(1),
        "plan": rng.choice(["basic", "plus", "pro"], rows),
        "since": rng.choice(pd.date_range("2020-01-01", periods=900).strftime("%Y-%m-%d"), rows),
        "paid": rng.random(rows) < 0.5,
        "leaves": np.where(np.sin(age / 9) + 0.2 * rng.normal(size=rows) > 0, "ja", "nein"),
    })  # fmt: skip
    table.loc[::9, "age"] = np.nan
    table.loc[::13, "plan"] = None
    return table


@pytest.fixture(scope="module")
def made(command_server, rffbench_in, tmp_path_factory):
    """A folder with churn.csv, and what the command said."""
    of_ours = (f"rffbench.fit.{name}" for name in ("trying", "writing", "predicting"))
    command_server.preload("skrub", "skops.io", *of_ours)
    folder = tmp_path_factory.mktemp("fit")
    churn().to_csv(folder / "churn.csv", index=False)
    return folder, rffbench_in(folder, "fit", "churn.csv", "--minutes", "0.02", limit=400)


def test_it_ends_with_twelve_lines_at_most_that_fit_a_terminal(made):
    _, result = made
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "Task: leaves, nein (42 %) or ja, from 4 inputs and 240 rows."
    assert lines[1].startswith("Advice: ")
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH
    rows = [line for line in lines if "±" in line and "s.e." not in line]
    assert rows[0].startswith("advised: ")
    assert len(rows) <= 8
    assert rows[-1].startswith("constant")


def test_the_advised_model_is_far_better_than_the_constant(made):
    _, result = made
    scores = {
        line.split("  ")[0]: float(re.search(r"([\d.]+) ±", line)[1])
        for line in result.stdout.splitlines()
        if " ± 0" in line or re.search(r"\d ± \d", line)
    }
    advised = next(score for name, score in scores.items() if name.startswith("advised"))
    assert advised > 70 > 60 > scores["constant"]


def test_the_folder_has_the_model_and_nothing_half_written(made):
    folder, _ = made
    assert sorted(each.name for each in (folder / "churn-fit").iterdir()) == FILES
    assert sorted(each.name for each in folder.iterdir() if not each.name.startswith("new")) == [
        "churn-fit",
        "churn.csv",
    ]


def test_predict_the_joblib_file_and_the_code_say_the_same(made, rffbench_in, monkeypatch, capsys):
    folder, _ = made
    result = rffbench_in(folder, "predict", "churn-fit/model.joblib", "churn.csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "leaves,prob_ja,prob_nein"
    labels = [line.split(",")[0] for line in lines[1:]]
    probabilities = np.array([line.split(",")[1:] for line in lines[1:]], dtype=float)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    table = churn()
    model = joblib.load(folder / "churn-fit" / "model.joblib")
    assert model.predict(table).tolist() == labels
    np.testing.assert_allclose(model.predict_proba(table), probabilities, atol=1e-12)
    assert len((folder / "churn-fit" / "model.py").read_text().splitlines()) <= 40
    monkeypatch.setattr(sys, "argv", ["model.py", str(folder / "churn.csv")])
    again = runpy.run_path(str(folder / "churn-fit" / "model.py"), run_name="__main__")
    assert capsys.readouterr().out.split() == labels
    np.testing.assert_allclose(again["model"].predict_proba(table), probabilities, atol=1e-6)


def test_new_rows_may_have_other_columns_another_order_gaps_and_unseen_categories(made, rffbench_in):
    folder, _ = made
    new = churn().drop(columns=["leaves", "customer"]).head(4)[["since", "age", "paid", "plan"]].assign(note="x")
    new.loc[0, "plan"] = "never seen"
    new.loc[1, ["age", "plan", "since"]] = None
    new.to_csv(folder / "new.csv", index=False)
    result = rffbench_in(folder, "predict", "churn-fit", "new.csv", "--output", "new-scores.csv")
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[:2] == [
        "columns that the model does not use: 'note'",
        "some texts are new to the model: they count as none of those that it knows",
    ]
    found = pd.read_csv(folder / "new-scores.csv")
    assert len(found) == 4
    assert set(found["leaves"]) <= {"ja", "nein"}
    by_order = rffbench_in(folder, "predict", "churn-fit", "churn.csv").stdout.splitlines()[3:5]
    assert [",".join(map(str, row)) for row in found.iloc[2:4].to_numpy()] == by_order


def test_new_rows_that_are_written_in_another_way_are_read_by_options(made, rffbench_in):
    folder, _ = made
    new = churn().head(4).fillna({"age": 30})
    new.to_csv(folder / "new-plain.csv", index=False)
    text = "a report\n" + new.to_csv(index=False, sep="|", decimal=",").replace("basic", "BÄSIC")
    (folder / "new-other.csv").write_text(text, encoding="utf-16-le")
    wanted = rffbench_in(folder, "predict", "churn-fit", "new-plain.csv").stdout
    given = ["--skip", "1", "--delimiter", "|", "--decimal", ",", "--encoding", "utf-16-le", "--missing", "BÄSIC"]
    result = rffbench_in(folder, "predict", "churn-fit", "new-other.csv", *given)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 5
    same = new["plan"].to_numpy() != "basic"
    assert [line for line, kept in zip(result.stdout.splitlines()[1:], same, strict=True) if kept] == [
        line for line, kept in zip(wanted.splitlines()[1:], same, strict=True) if kept
    ]
    refused = rffbench_in(folder, "predict", "churn-fit", "new-plain.csv", "--delimiter", "|")
    assert (refused.returncode, "has no column 'age'" in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="age"), "has no column 'age'; it has customer, plan"),
        (lambda table: table.rename(columns={"age": "agee"}), "has no column 'age'; it has customer, agee"),
        (
            lambda table: table.assign(age=["old"] + [30] * (len(table) - 1)),
            "line 2, column 2 ('age'): 'old' is not a number",
        ),
        (lambda table: table.head(0), "has no rows"),
    ],
)
def test_rows_that_do_not_fit_the_model_are_refused_by_name(change, message, made, rffbench_in):
    folder, _ = made
    change(churn()).to_csv(folder / "new-wrong.csv", index=False)
    result = rffbench_in(folder, "predict", "churn-fit", "new-wrong.csv", "--output", "new-none.csv")
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr
    assert not (folder / "new-none.csv").exists()


def edit_card(folder, **changes):
    card = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(card | changes))


class Bomb:
    """What a pickle can do to who loads it."""

    def __reduce__(self):
        return (print, ("code in the file has run",))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "model.json").unlink(), "model.json is not beside it"),
        (lambda folder: (folder / "model.json").write_text("{}"), "is not the description of a model"),
        (lambda folder: edit_card(folder, reading={}), "is not the description of a model"),
        (lambda folder: edit_card(folder, classes=3), "is not the description of a model"),
        (lambda folder: None, "is not the file that model.json beside it describes"),
    ],
)
def test_a_model_file_that_is_not_ours_is_never_loaded(spoil, message, made, rffbench_in, tmp_path):
    shutil.copytree(made[0] / "churn-fit", tmp_path / "churn-fit")
    (tmp_path / "churn-fit" / "model.skops").unlink()
    joblib.dump(Bomb(), tmp_path / "churn-fit" / "model.joblib")
    spoil(tmp_path / "churn-fit")
    result = rffbench_in(tmp_path, "predict", "churn-fit/model.joblib", made[0] / "churn.csv")
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr
    assert "has run" not in result.stdout + result.stderr


def test_a_pickle_is_loaded_with_a_word_and_a_skops_file_before_it(made, rffbench_in, tmp_path):
    shutil.copytree(made[0] / "churn-fit", tmp_path / "churn-fit")
    quiet = rffbench_in(tmp_path, "predict", "churn-fit", made[0] / "churn.csv")
    (tmp_path / "churn-fit" / "model.skops").unlink()
    told = rffbench_in(tmp_path, "predict", "churn-fit", made[0] / "churn.csv")
    assert "a pickle" not in quiet.stderr
    assert "model.joblib, a pickle, which runs the code that it names" in told.stderr
    assert quiet.stdout == told.stdout


def test_a_model_of_another_version_is_refused_with_both(made, rffbench_in, tmp_path):
    shutil.copytree(made[0] / "churn-fit", tmp_path / "churn-fit")
    card = json.loads((tmp_path / "churn-fit" / "model.json").read_text())
    card["versions"]["scikit-learn"] = "0.24.1"
    (tmp_path / "churn-fit" / "model.json").write_text(json.dumps(card))
    result = rffbench_in(tmp_path, "predict", "churn-fit", made[0] / "churn.csv")
    assert result.returncode == 2
    assert "was made with scikit-learn 0.24.1" in result.stderr


def test_a_folder_with_other_files_is_not_replaced(rffbench, tmp_path):
    churn().to_csv(tmp_path / "churn.csv", index=False)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    result = rffbench("fit", "churn.csv", "--output", "mine")
    assert (result.returncode, "holds 'thesis.tex'" in result.stderr) == (2, True), result.stderr
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "x"
