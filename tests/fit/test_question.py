"""What a table asks is found out and said; what cannot be answered is refused by the column's name."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rffbench.errors import ConfigError, TableError
from rffbench.fit.question import ask

PATH = Path("people.csv")
rng = np.random.default_rng(0)


def table(rows=100, **columns):
    return pd.DataFrame({"age": rng.integers(20, 60, rows), "pay": rng.normal(size=rows), **columns})


def words(rows, **counts):
    rest = rows - sum(counts.values())
    return np.array([name for name, count in counts.items() for _ in range(count)] + ["no"] * rest)


@pytest.mark.parametrize(
    ("target", "classes", "metric", "weight"),
    [
        (words(100, yes=40), ["no", "yes"], "accuracy", None),
        (words(200, yes=14), ["no", "yes"], "auc", "balanced"),
        (list("abcdefghijklmnopqrstuvwxyz" * 8), list("abcdefghijklmnopqrstuvwxyz"), "accuracy", None),  # 4 % each
        (rng.normal(size=100), None, "rmse", None),
        (rng.integers(0, 1000, 100), None, "rmse", None),
        (np.arange(100) % 2 == 0, [False, True], "accuracy", None),
    ],
)
def test_the_task_and_the_metric_are_by_the_data(target, classes, metric, weight):
    asked = ask(PATH, table(len(target), target=target), None, None)
    assert (None if asked.classes is None else asked.classes.tolist()) == classes
    assert (asked.metric.name, asked.class_weight) == (metric, weight)
    assert any("rare" in line for line in asked.said) == (weight == "balanced")


def test_the_metric_says_whether_whole_numbers_are_classes():
    stars = table(stars=np.arange(100) % 5)
    assert ask(PATH, stars, None, None).classes.tolist() == [0, 1, 2, 3, 4]
    assert "--metric rmse" in " ".join(ask(PATH, stars, None, None).said)
    assert ask(PATH, stars, None, "mae").classes is None


def test_several_targets_are_values_and_scored_by_r2():
    asked = ask(PATH, table(a=rng.normal(size=100), b=rng.normal(size=100)), "a,b", None)
    assert (asked.targets, asked.inputs, asked.y.shape, asked.metric.name) == (
        ["a", "b"],
        ["age", "pay"],
        (100, 2),
        "r2",
    )


def test_columns_without_use_are_left_out_and_named():
    asked = ask(
        PATH,
        table(
            customer=[f"C{i:03}" for i in range(100)], row=np.arange(100), land="DE", nothing=np.nan,
            day=pd.date_range("2020-01-01", periods=100).strftime("%Y-%m-%d"), city=["Rome", "Oslo"] * 50,
            y=rng.normal(size=100),
        ),
        None, None,
    )  # fmt: skip
    assert asked.inputs == ["age", "pay", "day", "city"]
    said = " ".join(asked.said)
    assert "'customer', 'row': another in each row" in said
    assert "'land': the same in all rows" in said
    assert "'nothing': empty" in said


def test_rows_without_a_target_are_left_out_and_counted():
    y = np.where(np.arange(100) < 7, np.nan, np.arange(100) % 2)
    asked = ask(PATH, table(y=y), None, None)
    assert (asked.rows, asked.classes.tolist()) == (93, [0, 1])
    assert "7 rows without y: left out." in asked.said


@pytest.mark.parametrize(
    ("frame", "target", "metric", "error", "message"),
    [
        (table(y="same"), None, None, TableError, "the column 'y' is 'same' in all 100 rows"),
        (table(10, y=np.arange(10) / 3), None, None, TableError, "has 10 rows; at least 30 are needed"),
        (table(y=np.nan), None, None, TableError, "the column 'y', which is to be predicted, is empty"),
        (
            table(price=[str(i) for i in range(99)] + ["n/a!"]), None, None, TableError,
            "line 101, column 'price': 'n/a!' is not a number",
        ),
        (table(y=words(100, rare=2)), None, None, TableError, "the class 'rare' has 2 rows"),
        (table(y=[f"word {i}" for i in range(100)]), None, "accuracy", TableError, "has 100 different values|1 row"),
        (table(price=1.5 * np.arange(100)), "prise", None, ConfigError, "unknown column 'prise'; did you mean 'price'"),
        (table(y=np.arange(100)), "age,pay,y", None, ConfigError, "all columns are targets"),
        (table(a=np.arange(100) / 3, b=["x", "y"] * 50), "a,b", None, TableError, "column 'b': 'x' is not a number"),
        (table(a=np.arange(100) / 3, b=np.arange(100) / 3), "a,b", "auc", ConfigError, "several targets must be"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_by_name(frame, target, metric, error, message):
    with pytest.raises(error, match=message):
        ask(PATH, frame, target, metric)
