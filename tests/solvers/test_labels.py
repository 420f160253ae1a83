"""Labels of any kind are classes, and one Gram matrix serves them all."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from rffbench import (
    RandomFourierFeatures,
    StreamedRidgeClassifier,
    StreamedRidgeClassifierCV,
    SurrogateLeverageFeatures,
)
from rffbench.features.weighted.surrogate import alignment_scores
from tests.helpers.every_solver import ALL, FEATURES, X, made

DIGITS, LABELS = load_digits(return_X_y=True)
NAMES = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
ALPHAS = [1e-5, 1e-4, 1e-3]


def kinds(labels):
    """The same labels as integers, floats, text, and objects."""
    return {
        "integers": labels, "floats": labels.astype(np.float64), "text": NAMES[labels],
        "objects": NAMES[labels].astype(object),
    }  # fmt: skip


@pytest.mark.parametrize("form", ["eq14", "eq12"])
@pytest.mark.parametrize("variant", ["as-written", "reweighted"])
def test_labels_of_every_kind_choose_the_same_features(form, variant):
    features = SurrogateLeverageFeatures(32, variant=variant, form=form, gamma="scale", random_state=0)
    found = {kind: features.fit(DIGITS, labels).frequencies_ for kind, labels in kinds(LABELS).items()}
    for frequencies in found.values():
        np.testing.assert_array_equal(frequencies, found["text"])


@pytest.mark.parametrize("form", ["eq14", "eq12"])
def test_several_classes_are_scored_each_against_the_rest(form):
    features = SurrogateLeverageFeatures(32, form=form, gamma="scale", random_state=0)
    one_by_one = np.zeros(32)
    seen = []
    features.choose = lambda scores, s, sequence: (
        seen.append(scores) or SurrogateLeverageFeatures.choose(features, scores, s, sequence)
    )
    for digit in range(10):
        features.fit(DIGITS, np.where(digit == LABELS, 1.0, -1.0))
        one_by_one += seen.pop()
    features.fit(DIGITS, LABELS)
    np.testing.assert_allclose(seen.pop(), one_by_one, rtol=1e-4)  # one target is scored in single precision


def test_two_classes_of_any_kind_are_minus_and_plus_one():
    odd = LABELS % 2
    features = SurrogateLeverageFeatures(32, gamma="scale", random_state=0)
    expected = features.fit(DIGITS, np.where(odd, 1.0, -1.0)).frequencies_
    for labels in (odd, odd.astype(bool), odd.astype(float), np.where(odd, "odd", "even"), np.where(odd, 7, 3)):
        np.testing.assert_array_equal(features.fit(DIGITS, labels).frequencies_, expected)


def test_values_are_not_taken_for_classes():
    features = SurrogateLeverageFeatures(32, gamma="scale", random_state=0)
    values = DIGITS.sum(axis=1)
    np.testing.assert_allclose(
        features.fit(DIGITS, values).frequencies_, features.fit(DIGITS, values[:, None]).frequencies_
    )
    few = np.round(values / 40)  # from an estimator, which knows better, they come as (n, t)
    assert len(np.unique(few)) <= 20
    codes, nearly = np.where(few[:, None] == np.unique(few), 1.0, -1.0), few + 1e-9 * np.arange(len(few))
    for given, same in ((few[:, None], nearly), (few, codes)):
        expected = features.fit(DIGITS, same).frequencies_
        np.testing.assert_array_equal(features.fit(DIGITS, given).frequencies_, expected)


@pytest.mark.parametrize("kind", ["integers", "floats", "text"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_pipeline_knows_the_digits_by_any_name(kind, inside):
    labels = kinds(LABELS)[kind]
    features = SurrogateLeverageFeatures(512, gamma="scale", random_state=0)
    if inside:
        model = StreamedRidgeClassifierCV(ALPHAS, features=features)
    else:
        model = make_pipeline(features, StreamedRidgeClassifierCV(ALPHAS))
    score = model.fit(DIGITS[::2], labels[::2]).score(DIGITS[1::2], labels[1::2])
    assert score > 0.95
    assert model.predict(DIGITS[:3]).dtype == labels.dtype


@pytest.mark.parametrize("center", [True, "both"])
def test_one_gram_matrix_gives_what_one_against_the_rest_gives_class_by_class(center):
    features = RandomFourierFeatures(40, gamma=1e-3, random_state=0)
    together = StreamedRidgeClassifier(1e-3, features=features, center=center).fit(DIGITS, NAMES[LABELS])
    outputs = together.decision_function(DIGITS)
    for index, name in enumerate(together.classes_):
        alone = StreamedRidgeClassifier(1e-3, features=features, center=center).fit(DIGITS, NAMES[LABELS] == name)
        np.testing.assert_allclose(outputs[:, index], alone.decision_function(DIGITS), atol=1e-9)


def test_scores_of_several_targets_are_the_sum():
    right = np.random.default_rng(0).normal(size=(8, 3))
    norms = np.arange(8.0)
    expected = sum(alignment_scores(column, norms, 5) for column in right.T)
    np.testing.assert_allclose(alignment_scores(right, norms, 5), expected)


CLASSIFIERS = [each for each in ALL if each.values[2] == "classification"]
MISSING = {
    "None": (np.array(["a", None] * 100, dtype=object), r"y\[1\] is None"),
    "NaN": (np.array([0, np.nan] * 100), r"y\[1\] is nan"),
    "NaN in objects": (np.array(["a", np.nan] * 100, dtype=object), r"y\[1\] is nan"),
    "NA": (pd.Series(["a", "b", pd.NA, "a"] * 50, dtype="string"), r"y\[2\] is <NA>"),
    "NaT": (np.array(["2020-01-01", "NaT"] * 100, dtype="M8[D]"), r"y\[1\] is NaT"),
    "in a list": (["a", None] * 100, r"y\[1\] is None"),
    "number and text": (np.array([1, "b"] * 100, dtype=object), r"y\[0\] is 1 \(number\), y\[1\] is 'b' \(text\)"),
    "number and text in a list": ([1, "b"] * 100, r"y\[0\] is 1 \(number\), y\[1\] is 'b' \(text\)"),
    "truth and number": (
        np.array([True, 2] * 100, dtype=object),
        r"y\[0\] is True \(boolean\), y\[1\] is 2 \(number\)",
    ),
}


class Lazy:
    """Rows on demand."""

    shape, dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        return X[rows]


@pytest.mark.parametrize(("name", "promise", "task"), CLASSIFIERS)
def test_missing_labels_and_labels_of_several_types_are_refused_by_their_row(name, promise, task):
    for labels, message in MISSING.values():
        with pytest.raises(ValueError, match=message):
            made(name, promise, task, FEATURES).fit(X, labels)


@pytest.mark.parametrize("kind", MISSING)
def test_a_map_rows_on_demand_and_parts_refuse_them_too(kind):
    labels, message = MISSING[kind]
    for fit, rows in (
        (SurrogateLeverageFeatures(8).fit, X),
        (StreamedRidgeClassifier().fit, Lazy()),
        (StreamedRidgeClassifier().partial_fit, X),
    ):
        with pytest.raises(ValueError, match=message):
            fit(rows, labels)
    with pytest.raises(ValueError, match=message.replace(r"y\[", r"classes\[")):
        StreamedRidgeClassifier().partial_fit(X[:1], ["a"], classes=labels)


@pytest.mark.parametrize("plain", [np.arange(200) % 3, np.arange(200) % 2 == 0, np.arange(200) % 3.0])
def test_numbers_and_truths_in_a_column_of_objects_are_labels_as_without_it(plain):
    expected = StreamedRidgeClassifier().fit(X, plain)
    found = StreamedRidgeClassifier().fit(X, plain.astype(object))
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
