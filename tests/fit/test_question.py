"""What a table asks is found out and said; what cannot be answered is refused by the column's name."""

import numpy as np
import pandas as pd
import pytest

from rffbench.errors import ConfigError, TableError
from rffbench.fit.question import ask
from rffbench.fit.table import as_options

rng = np.random.default_rng(0)


@pytest.fixture
def asked_of(tmp_path):
    """What is asked of a table that is written as CSV."""

    def asked_of(frame, target=None, metric=None):
        frame.to_csv(tmp_path / "people.csv", index=False)
        return ask(tmp_path / "people.csv", target, metric)

    return asked_of


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
        (np.arange(100) % 2 == 0, ["False", "True"], "accuracy", None),
        (np.tile([9, 10], 50), ["10", "9"], "accuracy", None),
    ],
)
def test_the_task_and_the_metric_are_by_the_data(target, classes, metric, weight, asked_of):
    asked = asked_of(table(len(target), target=target))
    assert (None if asked.classes is None else asked.classes.tolist()) == classes
    assert (asked.metric.name, asked.class_weight) == (metric, weight)
    assert any("rare" in line for line in asked.said) == (weight == "balanced")


def test_the_metric_says_whether_whole_numbers_are_classes(asked_of):
    stars = table(stars=np.arange(100) % 5)
    assert asked_of(stars).classes.tolist() == ["0", "1", "2", "3", "4"]
    assert "--metric rmse" in " ".join(asked_of(stars).said)
    assert asked_of(stars, metric="mae").classes is None


def test_class_weights_are_as_asked_for_and_of_classes_alone(tmp_path):
    path = tmp_path / "people.csv"
    table(100, target=words(100, yes=40)).to_csv(path, index=False)
    assert ask(path, class_weight="balanced").class_weight == "balanced"
    table(200, target=words(200, yes=14)).to_csv(path, index=False)
    assert ask(path, class_weight="none").class_weight is None
    table(100, target=rng.normal(size=100)).to_csv(path, index=False)
    with pytest.raises(ConfigError, match="--class-weight: is for classes, and target is a number"):
        ask(path, class_weight="balanced")


def test_how_the_file_is_read_can_be_said_as_for_describe(tmp_path):
    frame = table(code=np.arange(100) % 7, day=pd.date_range("2024", periods=100), y=rng.normal(size=100).round(3))
    path = tmp_path / "people.csv"
    path.write_text("made by a tool\n" + frame.to_csv(index=False, sep="|", decimal=","), encoding="cp1252")
    said = {"skip": 1, "delimiter": "|", "decimal": ",", "encoding": "cp1252"}
    asked = ask(path, **said, categories=["code"], ignore=["pay"], dates="ignore")
    assert asked.inputs == ["age", "code"]
    assert [str(value) for value in asked.frame["code"][:3]] == ["0", "1", "2"]
    np.testing.assert_array_equal(asked.y[:, 0], frame["y"])
    assert ask(path, 1, **said).targets == ["pay"]
    with pytest.raises(ConfigError, match="--metric auc is of a classification, --task says regression"):
        ask(path, metric="auc", task="regression", **said)


def test_messages_speak_of_the_options_of_the_command_line():
    said = (
        "say which: {path: …, decimal: ','} or {path: …, missing: []}, {path: …, ignore: [a b, c]}, {path: …, skip: 3}"
    )
    assert as_options(said) == "say which: --decimal , or --missing '', --ignore 'a b,c', --skip 3"
    assert as_options("{path: …, header: true} or {path: …, header: false}") == "--header or --no-header"
    assert as_options("{path: …, target: …}; {path: …, dates: '%d/%m/%Y'}") == "--target NAME; --dates %d/%m/%Y"


def test_several_targets_are_values_and_scored_by_r2(asked_of):
    asked = asked_of(table(a=rng.normal(size=100), b=rng.normal(size=100)), "a,b")
    assert (asked.targets, asked.inputs, asked.y.shape, asked.metric.name) == (
        ["a", "b"],
        ["age", "pay"],
        (100, 2),
        "r2",
    )


def test_columns_without_use_are_left_out_and_named(asked_of):
    asked = asked_of(
        table(
            customer=[f"C{i:03}" for i in range(100)], land="DE", nothing=np.nan,
            day=pd.date_range("2020-01-01", periods=100).strftime("%Y-%m-%d"), city=["Rome", "Oslo"] * 50,
            y=rng.normal(size=100),
        )
    )  # fmt: skip
    assert asked.inputs == ["age", "pay", "day", "city"]
    said = " ".join(asked.said)
    assert all(repr(name) in said for name in ("customer", "land", "nothing"))


@pytest.mark.parametrize(
    ("frame", "target", "metric", "error", "message"),
    [
        (table(y="same"), None, None, TableError, "'?y'?,? is 'same' in all 100 rows"),
        (table(10, y=np.arange(10) / 3), None, None, TableError, "has 10 rows; at least 30 are needed"),
        (table(y=np.nan), None, None, TableError, "y"),
        (table(120, price=[*map(str, range(119)), "n/a!"]), None, None, TableError, "line 121.*'n/a!'.* number"),
        (table(y=words(100, rare=2)), None, None, TableError, "row 1, column 'y': the class 'rare' has 2 rows"),
        (table(y=[f"{i % 50} €" for i in range(100)]), None, None, TableError, "'0 €' in row 1 is a number with"),
        (table(y=[*(str(i % 14) for i in range(98)), "-", "n.a."]), None, None, TableError, "but not '-' in row 99"),
        (table(y=[f"{i},{i:03}" for i in range(100, 200)]), None, None, TableError, "--decimal , or --thousands ,"),
        (pd.DataFrame({"a": [None] * 99, "y": ["u", "v", "w"] * 33}), None, None, TableError, "same: --keep NAME"),
        (table(price=1.5 * np.arange(100)), "prise", None, ConfigError, "prise"),
        (table(y=np.arange(100)), "age,pay,y", None, (ConfigError, TableError), "input|left"),
        (table(a=np.arange(100) / 3, b=["x", "y"] * 50), "a,b", None, (ConfigError, TableError), "'x'|number"),
        (table(a=np.arange(100) / 3, b=np.arange(100) / 3), "a,b", "auc", ConfigError, "are for a regression"),
        (table(300, y=np.arange(300) // 2 / 3), None, "accuracy", TableError, "all are numbers: --metric rmse"),
        (table(300, y=[*(str(i // 2) for i in range(299)), "n/a!"]), None, "auc", TableError, "not 'n/a!' in row 300"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_by_name(frame, target, metric, error, message, asked_of):
    with pytest.raises(error, match=message):
        asked_of(frame, target, metric)
