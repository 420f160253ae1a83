"""Splits are random, seeded and disjoint; Rows is an array that is never whole; scaling is scikit-learn's."""

import os
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from sklearn import preprocessing as reference
from sklearn.impute import SimpleImputer

from rffbench import data
from rffbench.data.cards import Card, load_card
from rffbench.data.parse import read_blocks
from rffbench.data.preprocess import STEPS, Preprocessor
from rffbench.data.rows import Rows
from rffbench.data.split import split_rows
from rffbench.data.userfile import look
from rffbench.errors import ConfigError
from tests.helpers.cases import slow


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", ["eeg", "cod-rna-yen", "ijcnn1", "digits", *slow("cod-rna", "covtype")])
def test_a_split_is_disjoint_of_the_cards_sizes_and_in_random_training_order(name):
    card = load_card(name)
    train, test = split_rows(card, seed=0, trial=0)
    assert (len(train), len(test)) == (card.n_train, card.n_test)
    assert len(np.union1d(train, test)) == len(train) + len(test) <= card.rows
    assert train.min() >= 0
    assert max(train.max(), test.max()) < card.rows
    # Of a random order about half the steps go up; sorted or file order would give all.
    assert np.mean(np.diff(train) > 0) == pytest.approx(0.5, abs=4 / np.sqrt(len(train)))
    if card.split.rule == "given":
        assert set(train) == set(range(card.n_train))
        assert test[0] == card.n_train


def test_a_sampled_test_part_is_drawn_afresh_from_the_given_one():
    card = load_card("cod-rna-yen")
    given = card.rows - card.n_train
    trials = [split_rows(card, 0, trial) for trial in range(2)]
    for train, test in trials:
        np.testing.assert_array_equal(np.sort(train), np.arange(card.n_train))
        assert test.min() >= card.n_train
        assert len(np.unique(test)) == card.n_test
        assert test.mean() - card.n_train == pytest.approx(given / 2, rel=4 / np.sqrt(3 * card.n_test))
    shared = len(np.intersect1d(trials[0][1], trials[1][1]))
    assert shared == pytest.approx(card.n_test**2 / given, rel=0.3)


def test_a_split_depends_on_seed_dataset_and_trial_alone():
    card = load_card("eeg")
    first, again = split_rows(card, 3, 1), split_rows(card, 3, 1)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    twin = Card.model_validate({**card.model_dump(exclude={"folder"}), "name": "eeg-twin"})
    for other in (split_rows(card, 4, 1), split_rows(card, 3, 2), split_rows(twin, 3, 1)):
        shared = len(np.intersect1d(first[0], other[0])) / len(first[0])
        assert shared == pytest.approx(0.5, abs=0.03)


def test_both_classes_are_split_evenly_on_average(cache):
    y = data.load("digits").y
    share = [(y[split_rows(load_card("digits"), 0, trial)[0]] == 1).mean() for trial in range(40)]
    assert np.mean(share) == pytest.approx((y == 1).mean(), abs=0.006)


def test_train_test_gives_the_rows_of_the_split(cache):
    dataset = data.load("breast-cancer")
    train, test = split_rows(dataset.card, 0, 2)
    split = data.train_test("breast-cancer", seed=0, trial=2, dtype="float32")
    assert (split.task, split.card.name) == ("classification", "breast-cancer")
    np.testing.assert_array_equal(np.asarray(split.X_train), dataset.X[train].astype(np.float32))
    np.testing.assert_array_equal(np.asarray(split.X_test), dataset.X[test].astype(np.float32))
    np.testing.assert_array_equal(split.y_train, dataset.y[train])
    np.testing.assert_array_equal(split.y_test, dataset.y[test])
    assert split.y_train.dtype == np.float64


@pytest.mark.parametrize("fit", ["train", "all"])
def test_columns_are_fitted_on_the_rows_asked_for(fit, cache):
    dataset = data.load("breast-cancer")
    train, test = split_rows(dataset.card, 0, 0)
    split = data.train_test("breast-cancer", seed=0, trial=0, preprocess=["minmax"], preprocess_fit=fit)
    scaler = reference.MinMaxScaler().fit(dataset.X[train] if fit == "train" else dataset.X)
    np.testing.assert_allclose(np.asarray(split.X_train), scaler.transform(dataset.X[train]), atol=1e-13)
    np.testing.assert_allclose(np.asarray(split.X_test), scaler.transform(dataset.X[test]), atol=1e-13)
    both = np.vstack([split.X_train, split.X_test])
    assert (both.min() < 0 or both.max() > 1) == (fit == "train")


def rows_like(rng):
    X = rng.standard_normal((1000, 7)) * [1, 1e-3, 1e6, 1, 1, 1, 1] + [0, 5, 1e9, 0, 0, 0, -3]
    X[:, 3] = 0.1  # constant, and not exact in binary
    return X


REFERENCES = {
    "minmax": reference.MinMaxScaler().fit_transform,
    "standard": reference.StandardScaler().fit_transform,
    # A constant column, which scikit-learn sets to −1, is left out by svm-scale, and so 0.
    "minmax-symmetric": lambda X: reference.MinMaxScaler((-1, 1)).fit_transform(X) + (X.min(axis=0) == X.max(axis=0)),
    "max-abs": reference.MaxAbsScaler().fit_transform,
    "from-zero": lambda X: X - X.min(axis=0),
    "largest": lambda X: X / X.max(),
    "standard-all": lambda X: (X - X.mean()) / X.std(),
    "clip": lambda X: np.clip(X, *np.quantile(X, [0.001, 0.999], axis=0)),
    "sample-minmax01": lambda X: reference.MinMaxScaler((0, 1)).fit_transform(X.T).T,
    "sample-minmax": lambda X: reference.MinMaxScaler((-1, 1)).fit_transform(X.T).T,
    "sample-standard": lambda X: reference.scale(X, axis=1),
    "sample-mapstd": lambda X: reference.scale(X, axis=1) * np.sqrt(1 - 1 / X.shape[1]),
    "sample-l2": reference.normalize,
}


@pytest.mark.filterwarnings("ignore:Numerical issues:UserWarning:sklearn")
@pytest.mark.parametrize("block", [1, 7, 1000])
@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_a_step_agrees_with_scikit_learn_whatever_the_blocks(name, block):
    X = rows_like(np.random.default_rng(0))
    if name == "standard":
        X[:, 2] -= 1e9 - 1e6  # where scikit-learn's own figure is good to seven digits only
    step = Preprocessor([name]).fit(lambda: (X[i : i + block].copy() for i in range(0, len(X), block)))
    scaled = X.copy()
    step.apply(scaled)
    expected = REFERENCES[name](X)
    np.testing.assert_allclose(scaled, expected, atol=1e-9)
    if name in ("minmax", "standard"):
        assert (scaled[:, 3] == 0).all()


@pytest.mark.parametrize("block", [100, 3000])
def test_places_among_quantiles_are_scikit_learn_s(block):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_cauchy(3000), rng.integers(4, size=3000), rng.normal(1e9, 1, 3000)]).astype(float)
    new = np.vstack([X[:50], [[-1e9, -1, 0.0], [1e9, 9, 2e9], [0.3, 1.5, 1e9]]])
    step = Preprocessor(["quantile"]).fit(lambda: (X[i : i + block].copy() for i in range(0, 3000, block)))
    theirs = reference.QuantileTransformer(n_quantiles=1001, subsample=None).fit(X)
    found = new.copy()
    step.apply(found)
    np.testing.assert_allclose(found, theirs.transform(new), atol=1e-9)
    assert 0 <= found.min() < found.max() <= 1


def test_a_constant_column_is_zero_on_rows_it_was_not_fitted_on():
    train, test = np.full((5, 1), 0.1), np.array([[0.1], [7.0]])
    for name in ("minmax", "standard", "quantile"):
        scaled = test.copy()
        Preprocessor([name]).fit(lambda: iter([train.copy()])).apply(scaled)
        assert (scaled == 0).all()


def test_rows_without_spread_or_norm_stay_finite():
    X = np.array([[3.0, 3.0, 3.0], [0.0, 0.0, 0.0]])
    expected = dict.fromkeys(("sample-minmax", "sample-minmax01"), X)
    expected |= dict.fromkeys(("sample-standard", "sample-mapstd"), np.zeros_like(X))
    expected["sample-l2"] = X / [[27**0.5], [1]]
    for name, wanted in expected.items():
        scaled = X.copy()
        Preprocessor([name]).apply(scaled)
        np.testing.assert_allclose(scaled, wanted)


def test_a_row_of_one_value_has_no_spread():
    scaled = np.array([[3.0], [0.0]])
    Preprocessor(["sample-mapstd"]).apply(scaled)
    assert (scaled == 0).all()


@pytest.mark.parametrize(
    "name",
    [
        "standard",
        "standard-all",
        "minmax",
        "minmax-symmetric",
        "sample-standard",
        "sample-mapstd",
        "sample-minmax",
        "sample-minmax01",
    ],
)
@pytest.mark.parametrize(("shift", "scale"), [(2.0**40, 1.0), (-1e12, 1.0), (0.0, 2.0**-40), (3.0, 1e12), (1e12, 1.5)])
def test_a_shift_and_a_scale_that_a_step_takes_away_leave_no_trace(name, shift, scale):
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((500, 4)) * [1, 3, 9, 1] * 2**8) / 2**8  # of which no shift loses a digit
    moved = X * scale + shift
    found = []
    for rows in (X, moved):
        step = Preprocessor([name]).fit(lambda rows=rows: (rows[at : at + 200].copy() for at in range(0, 500, 200)))
        found.append(step.apply(rows.copy()))
    np.testing.assert_allclose(found[1], found[0], atol=1e-12)


def test_the_standard_deviation_far_from_zero_is_that_of_exact_sums():
    X = np.round(np.random.default_rng(6).standard_normal((300, 2)) * 2**8) / 2**8 + [1e12, -(2.0**43)]
    step = Preprocessor(["standard"]).fit(lambda: (X[at : at + 64].copy() for at in range(0, 300, 64)))
    for column, scaled in zip(X.T, step.apply(X.copy()).T, strict=True):
        values = [Fraction(value) for value in column]
        mean = sum(values) / len(values)
        spread = float(sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
        np.testing.assert_allclose(scaled, [float(value - mean) / spread for value in values], atol=1e-13)


@pytest.mark.filterwarnings("ignore:Numerical issues:UserWarning:sklearn")
def test_steps_compose_each_fitted_on_what_comes_before():
    X = rows_like(np.random.default_rng(1))
    both = Preprocessor(["standard", "none", "sample-l2", "minmax"])
    both.fit(lambda: iter([X[:400].copy(), X[400:].copy()]))
    scaled = X.copy()
    both.apply(scaled)
    expected = reference.minmax_scale(reference.normalize(reference.scale(X)))
    np.testing.assert_allclose(scaled, expected, atol=1e-6)


def test_an_unknown_step_is_told_the_nearest():
    with pytest.raises(ConfigError, match="unknown preprocess step 'min-max'; did you mean 'minmax'"):
        Preprocessor(["min-max"])
    assert set(STEPS) == {"none", "impute-median", "impute-most-frequent", "onehot", "quantile", *REFERENCES}


def test_rows_is_an_array_of_the_rows_asked_for():
    base = np.arange(60.0).reshape(20, 3)
    index = np.array([5, 0, 19, 7, 7, 2])
    rows = Rows(base, index, dtype=np.float32)
    whole = base[index].astype(np.float32)
    assert (rows.shape, rows.ndim, len(rows), rows.dtype) == ((6, 3), 2, 6, np.float32)
    arrays = (np.array([3, 0, -1]), np.array([], int))
    for part in (slice(None), slice(1, 4), slice(4, 99), slice(-2, None), *arrays):
        np.testing.assert_array_equal(rows[part], whole[part])
        assert rows[part].dtype == np.float32
        assert rows[part].flags.c_contiguous
    np.testing.assert_array_equal(np.asarray(rows), whole)
    assert np.asarray(rows, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal(np.concatenate(list(rows.blocks(4))), whole)
    for unknown in (slice(0, 6, 2), np.ones(6, bool), np.zeros((2, 2), int), 3):
        with pytest.raises(IndexError, match="Rows"):
            rows[unknown]


def test_rows_leaves_its_base_as_it_is_and_counts_its_seconds():
    base = np.random.default_rng(0).random((50, 4))
    before = base.copy()
    scaling = Preprocessor(["minmax"]).fit(lambda: iter([base.copy()]))
    rows = Rows(base, np.arange(50), scaling)
    assert rows.seconds == 0
    first = rows[0:50]
    spent = rows.seconds
    assert spent > 0
    first[:] = 7
    np.testing.assert_array_equal(rows[0:50], Rows(base, np.arange(50), scaling)[0:50])
    np.testing.assert_array_equal(base, before)
    assert rows.seconds > spent


def test_nothing_of_the_size_of_the_data_is_copied(tmp_path):
    """A view of 64 MB, fitted and read through in blocks, takes less than a quarter of that."""
    base = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", shape=(400_000, 20))
    base[:, 0] = np.arange(400_000)
    tracemalloc.start()
    order = np.random.default_rng(0).permutation(400_000)
    scaling = Preprocessor(["minmax", "sample-standard"]).fit(Rows(base, order).blocks)
    rows = Rows(base, order, scaling)
    total = sum(block[:, 0].sum() for block in rows.blocks())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(total)
    assert peak < 16e6


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif("RFFBENCH_MIRROR" not in os.environ, reason="RFFBENCH_MIRROR is not set")
def test_cod_rna_trains_and_tests_on_the_given_files(cache):
    split = data.train_test("cod-rna", seed=0, trial=0, preprocess=["sample-minmax"])
    assert (len(split.X_train), len(split.X_test)) == (59535, 271617)
    assert (split.y_train == 1).sum() == 19845
    assert (split.y_test == 1).sum() == 90539
    block = split.X_test[1000:1100]
    assert block.min() == -1
    assert block.max() == 1


def test_filling_and_one_hot_columns_agree_with_scikit_learn_and_take_only_fills_from_the_fitted_rows(tmp_path):
    (tmp_path / "a.csv").write_text("u,v,w,x,y\n1,a,,7,0\n,b,2,7,1\n3,,2,7,0\n9,c,5,7,1\n4,a,2,7,0\n")
    card = look(tmp_path / "a.csv", keep=("x",)).card()
    X = np.concatenate([block.X for block in read_blocks(card, [tmp_path / "a.csv"])])
    steps = ["impute-median", "impute-most-frequent", "onehot"]
    fitted, fresh = X[[0, 1, 4]], X[[2, 3]]  # in which no u is 9 and no v is c
    made = Preprocessor(steps, card).fit(lambda: iter([fitted[:2].copy(), fitted[2:].copy()]))
    median = SimpleImputer(strategy="median").fit(fitted[:, [0, 2]])
    frequent = SimpleImputer(strategy="most_frequent").fit(fitted[:, [1]])
    one_hot = reference.OneHotEncoder(categories=[[0.0, 1.0, 2.0]], sparse_output=False).fit([[0.0]])
    for rows in (fitted, fresh):
        u, w = median.transform(rows[:, [0, 2]]).T
        missing = np.isnan(rows[:, [0, 2, 1]])
        words = one_hot.transform(frequent.transform(rows[:, [1]]))
        np.testing.assert_array_equal(made.apply(rows.copy()), np.column_stack([u, w, rows[:, 3], missing, words]))
    assert made.columns(4) == card.columns_after(steps) == 9


def test_a_column_that_no_fitted_row_has_a_value_of_is_filled_with_0(tmp_path):
    (tmp_path / "a.csv").write_text("u,v,y\n,1,0\n,2,1\n3,4,0\n")
    card = look(tmp_path / "a.csv").card()
    made = Preprocessor(["impute-median"], card).fit(lambda: iter([np.array([[np.nan, 1.0], [np.nan, 2.0]])]))
    np.testing.assert_array_equal(made.apply(np.array([[np.nan, 4.0]])), [[0, 4, 1]])
