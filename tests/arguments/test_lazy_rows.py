"""Every map and every learner takes rows of any real numbers, lazy or not, and gives what it gives of an array."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from rffbench import LogisticClassifierCV, RandomFourierFeatures, StreamedRidgeCV
from rffbench.arguments.rowsource import dense_rows, float_rows
from rffbench.solvers.iterative.pcg import PCGRidgeCV
from tests.helpers.cases import others_slow
from tests.helpers.every_solver import ALL as LEARNERS
from tests.helpers.every_solver import made as learner
from tests.helpers.every_solver import outputs
from tests.helpers.feature_maps import ALL as MAPS
from tests.helpers.feature_maps import label
from tests.helpers.feature_maps import made as feature_map

N, D = 60, 5
rng = np.random.default_rng(8)
NUMBERS = rng.integers(0, 7, (N, D))
Y = np.where(NUMBERS[:, 0] > 2, 1.0, -1.0)


class Lazy:
    """No more than what a lazy matrix must have."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self.array[rows]


class LazySlices(Lazy):
    """Slices are lazy too, as dask's and xarray's are."""

    def __getitem__(self, rows):
        return LazySlices(super().__getitem__(rows))

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


def in_a_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    return h5py.File(tmp_path / "rows.h5", "w").create_dataset("X", data=NUMBERS.astype(np.uint8), chunks=(16, D))


def mapped_to_memory(tmp_path):
    np.save(tmp_path / "rows.npy", NUMBERS.astype(np.float64))
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


def of_dask(tmp_path):
    return pytest.importorskip("dask.array").from_array(NUMBERS.astype(np.int16), chunks=(16, D))


KINDS = {
    "an array of integers": lambda _: NUMBERS,
    "an array of booleans": lambda _: NUMBERS > 3,
    "an array of float16": lambda _: NUMBERS.astype(np.float16),
    "lazy float64": lambda _: Lazy(NUMBERS.astype(np.float64)),
    "lazy float32": lambda _: Lazy((NUMBERS / 8).astype(np.float32)),
    "lazy float16": lambda _: Lazy((NUMBERS / 8).astype(np.float16)),
    "lazy uint8": lambda _: Lazy(NUMBERS.astype(np.uint8)),
    "lazy int64": lambda _: Lazy(NUMBERS.astype(np.int64)),
    "lazy booleans": lambda _: Lazy(NUMBERS > 3),
    "lazy slices": lambda _: LazySlices(NUMBERS.astype(np.int32)),
    "Fortran order": lambda _: Lazy(np.asfortranarray(NUMBERS.astype(np.float64))),
    "h5py": in_a_file,
    "memmap": mapped_to_memory,
    "dask": of_dask,
    "CSR": lambda _: csr_array(NUMBERS),
}
QUICK = ["lazy float64", "lazy float32", "lazy booleans", "dask", "CSR"]
BUILT_IN = [each for each in MAPS if each[0] != "plug-in"]


@pytest.fixture(scope="module")
def known():
    """What is given of plain arrays: most kinds hold the same numbers."""
    return {}


def plain(rows):
    """The same numbers as an array of float64, or float32 if they are."""
    array = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows[:])
    return np.ascontiguousarray(array, dtype=np.float32 if array.dtype == np.float32 else np.float64)


@pytest.mark.parametrize("kind", others_slow(KINDS, QUICK))
def test_every_map_takes_these_rows(kind, tmp_path, known):
    X = KINDS[kind](tmp_path)
    expected_of, seen = plain(X), set()
    for name, promise in BUILT_IN:
        features = feature_map(name, promise, 12, random_state=3)
        if (isinstance(X, csr_array) and not features.accepts_sparse) or type(features) in seen:
            continue
        seen.add(type(features))
        key = (name, expected_of.dtype, expected_of.tobytes())
        if key not in known:
            known[key] = dense_rows(clone(features).fit(expected_of, Y).transform(expected_of))
        expected, found = known[key], dense_rows(features.fit(X, Y).transform(X))
        assert found.dtype == expected.dtype, label(name, promise)
        if name in ("tefm", "nystroem"):  # a basis that rounding may turn
            expected, found = expected @ expected.T, found @ found.T
        tolerance = 1e-4 if expected_of.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(
            found, expected, atol=tolerance * np.abs(expected).max(), err_msg=label(name, promise)
        )
    assert len(seen) > 20


@pytest.mark.parametrize("kind", others_slow(KINDS, QUICK))
def test_every_learner_takes_these_rows(kind, tmp_path, known):
    X = KINDS[kind](tmp_path)
    expected_of, features, seen = plain(X), RandomFourierFeatures(12, gamma=0.1, random_state=0), set()
    for each in LEARNERS:
        name, promise, task = each.values
        if name == "plug-in":
            continue
        few = {"trees": 3} if name == "gradient-boosting" else {}
        model = learner(name, promise, task, features, **few)
        if (isinstance(X, csr_array) and not getattr(model, "accepts_sparse", False)) or type(model) in seen:
            continue
        seen.add(type(model))
        key = (type(model), expected_of.dtype, expected_of.tobytes())
        if key not in known:
            known[key] = outputs(clone(model).fit(expected_of, Y), expected_of)
        tolerance = 1e-3 if expected_of.dtype == np.float32 else 1e-6
        found = outputs(model.fit(X, Y), X)
        np.testing.assert_allclose(found, known[key], atol=tolerance, rtol=tolerance, err_msg=each.id)
    assert len(seen) > (3 if isinstance(X, csr_array) else 20)


def test_integers_are_learnt_as_the_numbers_that_they_are():
    X = rng.integers(0, 256, (500, 20)).astype(np.uint8)
    labels = X @ rng.normal(size=20) + 50 * rng.normal(size=500) > 0
    expected = LogisticClassifierCV([0.01]).fit(X.astype(np.float64), labels)
    assert np.mean(expected.predict(X) == labels) > 0.8
    for rows in (X, Lazy(X), LazySlices(X), Lazy(X.astype(np.int32))):
        np.testing.assert_allclose(LogisticClassifierCV([0.01]).fit(rows, labels).coef_, expected.coef_, rtol=1e-9)


def test_rows_to_be_measured_on_may_be_lazy_too():
    X = NUMBERS.astype(np.uint8)
    curves = [
        PCGRidgeCV([1e-2], record=True).fit(X, Y, eval_set=(rows, Y)).curves_["test_error"]
        for rows in (X, LazySlices(X))
    ]
    np.testing.assert_allclose(*curves)


def test_a_part_of_lazy_rows_for_another_process_is_an_array_of_the_same_numbers():
    rows = float_rows(Lazy(NUMBERS.astype(np.uint8)))
    np.testing.assert_array_equal(rows.part(slice(3, 9)), NUMBERS[3:9])
    assert rows.part(slice(3, 9)).dtype == np.float64
    assert float_rows(rows) is rows


class Wrong(Lazy):
    def __init__(self, gives, array=NUMBERS):
        super().__init__(array)
        self.gives = gives

    def __getitem__(self, rows):
        return self.gives(self.array[rows])


@pytest.mark.parametrize(("rows", "said"), [
    (Wrong(lambda part: part[:, :2]), r"X\[0:\d+\] must be .* real numbers \(\d+, 5\).*got ndarray \(\d+, 2\)"),
    (Wrong(lambda part: object()), r"or have __array__ that gives one, got object"),
    (Wrong(lambda part: part.astype(str) + "x"), "must be an array of real numbers"),
    (Lazy(NUMBERS.astype(str)), "must have real numbers"),
    (Lazy(NUMBERS.astype(complex)), "must have real numbers.*got complex128"),
    (Lazy(NUMBERS[0]), "must be 2-D"),
])  # fmt: skip
def test_rows_that_are_no_matrix_of_numbers_are_refused_by_what_they_are(rows, said):
    for estimator in (RandomFourierFeatures(4, gamma="scale"), StreamedRidgeCV([1.0]), LogisticClassifierCV([1.0])):
        with pytest.raises(ValueError, match=said):
            estimator.fit(rows, Y)


def test_rows_and_targets_of_different_numbers_are_refused():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 50\]"):
        StreamedRidgeCV([1.0]).fit(Lazy(NUMBERS), Y[:50])
