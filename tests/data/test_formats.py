"""Each format is read right from small files written here; a file that is not its card's is refused."""

import bz2
import gzip
import hashlib
import io
import lzma
import struct
import tarfile
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from pydantic import ValidationError

from rffbench import data
from rffbench.data import parse, store, unpack
from rffbench.data.cards import Card, load_card
from rffbench.data.split import split_rows
from rffbench.errors import DataError

X = np.array([[1.5, 0.0, -2.0], [0.0, 3.25, 1e-3], [4.0, 5.0, 6.0], [0.1, 0.2, 0.30000000000000004]])
LIBSVM = b"+1 1:1.5 3:-2\n-1 2:3.25 3:1e-3\n1 1:4 2:5 3:6\n-1 1:0.1 2:0.2 3:0.30000000000000004\n"
CSV = b"1.5,0,-2,yes\n0,3.25,1e-3,no\n4,5,6,yes\n0.1,0.2,0.30000000000000004,no\n"
ARFF = (
    b"% comment\n@RELATION 'a b'\n\n@attribute 'first one' numeric\n@ATTRIBUTE b real\n@attribute c integer\n"
    b"@attribute class {yes,no}\n\n@DATA\n% another\n" + CSV.replace(b",", b", ")
)


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RFFBENCH_MIRROR", str(tmp_path / "mirror"))


def put(tmp_path, files: dict[str, bytes]) -> list[dict]:
    """Write files into the mirror; their entries for a card."""
    folder = tmp_path / "mirror" / "small"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [{"name": n, "checksum": "sha256:" + hashlib.sha256(c).hexdigest()} for n, c in files.items()]


def card(files, format_, **changes) -> Card:
    fields = {
        "name": "small", "title": "Small", "task": "classification", "rows": 4, "columns": 3,
        "classes": {"no": 2, "yes": 2}, "labels": {"positive": ["yes"]}, "split": {"rule": "half"},
        "format": format_, "files": files, "licence": "none", "citation": "none",
    }  # fmt: skip
    return Card.model_validate({**fields, **changes})


def prepared(card):
    store.prepare(card)
    arrays = store.open_arrays(card)
    assert arrays is not None
    return arrays[:2]


def zipped(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("read.me", "about")
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a", LIBSVM), ("a.gz", gzip.compress(LIBSVM)),
        ("a.bz2", bz2.compress(LIBSVM)), ("a.xz", lzma.compress(LIBSVM)),
    ],
    ids=["plain", "gz", "bz2", "xz"],
)  # fmt: skip
def test_libsvm(name, content, tmp_path):
    labels = {"classes": {"-1": 2, "1": 2}, "labels": {"positive": ["1"]}}
    found, y = prepared(card(put(tmp_path, {name: content}), {"kind": "libsvm"}, **labels))
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, [1, -1, 1, -1])


@pytest.mark.parametrize(("name", "content"), [("a.csv", CSV), ("a.csv.gz", gzip.compress(CSV))], ids=["plain", "gz"])
def test_csv(name, content, tmp_path):
    found, y = prepared(card(put(tmp_path, {name: content}), {"kind": "csv"}))
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, [1, -1, 1, -1])


def test_csv_with_header_delimiter_and_target_first(tmp_path):
    rows = [b"t;a;b;c"] + [b";".join([line.split(b",")[3], *line.split(b",")[:3]]) for line in CSV.split()]
    layout = {"kind": "csv", "target": 0, "delimiter": ";", "header": True}
    found, y = prepared(card(put(tmp_path, {"a.csv": b"\n".join(rows)}), layout))
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, [1, -1, 1, -1])


PAIR = {"task": "regression", "classes": {}, "labels": None, "rows": 2, "columns": 1}


def test_a_regression_may_have_targets_in_several_columns(tmp_path):
    files = put(tmp_path, {"a.csv": b"1,0.5,2\n3,1.5,4\n"})
    both = card(files, {"kind": "csv", "targets": [0, -1]}, **PAIR)
    X, y = prepared(both)
    assert X.tolist() == [[0.5], [1.5]]
    assert y.tolist() == [[1, 2], [3, 4]]
    assert both.targets == 2
    one = card(files, {"kind": "csv", "target": 0, "ignore": [2]}, **PAIR)
    assert prepared(one)[1].tolist() == [1, 3]
    assert one.arrays_hash != both.arrays_hash


def test_targets_are_standardised_each_by_itself(tmp_path, monkeypatch):
    files = put(tmp_path, {"a.csv": b"1,0.5,10\n3,1.5,30\n5,2.5,80\n7,3.5,80\n"})
    both = card(files, {"kind": "csv", "targets": [0, 2]}, **{**PAIR, "rows": 4})
    monkeypatch.setattr("rffbench.data.userfile.find", lambda name, data_hash="": both)
    split = data.train_test("small", seed=0, trial=0, target="standard")
    assert split.y_train.shape == split.y_test.shape == (2, 2)
    np.testing.assert_allclose(split.y_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(split.y_train.std(axis=0), 1)


@pytest.mark.parametrize(
    ("format_", "changes", "said"),
    [
        ({"targets": [0, 2]}, {"task": "classification", "classes": {"1": 1, "3": 1}, "labels": {"positive": ["1"]}},
         "several targets are for a regression"),
        ({"targets": [0, 2], "target": 1}, {}, "takes the place of 'target'; leave one of them out"),
        ({"targets": [0, -3]}, {}, "a column is named twice"),
        ({"targets": [0, 2], "ignore": [2]}, {}, "a column is named twice, or is the target"),
        ({"targets": [0, 3]}, {}, "3: there are 3 columns, counted from 0"),
        ({"targets": [0]}, {}, "at least 2 items"),
    ],
)  # fmt: skip
def test_wrong_targets_are_refused(tmp_path, format_, changes, said):
    files = put(tmp_path, {"a.csv": b"1,0.5,2\n3,1.5,4\n"})
    with pytest.raises(ValidationError) as refused:
        card(files, {"kind": "csv", **format_}, **{**PAIR, **changes})
    assert said in str(refused.value)


def test_a_second_target_that_is_no_number_is_refused_with_its_place(tmp_path):
    files = put(tmp_path, {"a.csv": b"1,0.5,2\n3,1.5,x\n"})
    with pytest.raises(DataError, match="line 2, column 3: 'x' is not a number"):
        prepared(card(files, {"kind": "csv", "targets": [0, 2]}, **PAIR))


@pytest.mark.parametrize(("kind", "content"), [("csv", CSV), ("arff", ARFF), ("libsvm", LIBSVM)])
def test_a_line_too_long_for_a_row_is_refused(kind, content, tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "LONGEST_LINE", 5000)
    files = put(tmp_path, {"a.txt": content + b"%" * 6000})
    with pytest.raises(DataError, match=rf"a\.txt is not readable as {kind}: it has more than 5 kB in line "):
        prepared(card(files, {"kind": kind}))


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (b"1 1:4 2:nan 3:6", "line 5, index 2: the value"),
        (b"1 3:-inf", "line 5, index 3"),
        (b"nan 1:4", "line 5: the target"),
    ],
)
def test_a_libsvm_value_that_is_not_finite_is_refused_with_file_line_and_column(line, place, tmp_path):
    rows = [b"# of a laboratory", *LIBSVM.splitlines()[:2], b"", line, *LIBSVM.splitlines()[3:]]
    files = put(tmp_path, {"a.svm": b"\n".join(rows)})
    with pytest.raises(DataError, match=rf"a\.svm is not readable as libsvm: {place}.* not finite"):
        prepared(card(files, {"kind": "libsvm"}))


def test_a_libsvm_card_may_have_missing_values(tmp_path):
    files = put(tmp_path, {"a.svm": LIBSVM.replace(b"2:5", b"2:nan")})
    found, _ = prepared(
        card(files, {"kind": "libsvm"}, missing={1: 1}, classes={"-1": 2, "1": 2}, labels={"positive": ["1"]})
    )
    assert np.argwhere(np.isnan(found)).tolist() == [[2, 1]]


def test_arff(tmp_path):
    found, y = prepared(card(put(tmp_path, {"a.arff": ARFF}), {"kind": "arff"}))
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, [1, -1, 1, -1])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("samples", ["rows", "columns"])
def test_mat_with_given_parts(samples, sparse, tmp_path):
    train, test = (X[:3], X[3:]) if samples == "rows" else (X[:3].T, X[3:].T)
    train = scipy.sparse.csc_matrix(train) if sparse else train
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"A": train, "a": np.arange(3, dtype=np.uint8), "B": test, "b": [[9.5]]})
    layout = {"kind": "mat", "train": ["A", "a"], "test": ["B", "b"], "samples": samples}
    given = {
        "task": "regression", "classes": {}, "labels": None,
        "split": {"rule": "given", "train": 3, "test": 1},
    }  # fmt: skip
    found, y = prepared(card(put(tmp_path, {"a.mat": buffer.getvalue()}), layout, **given))
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, [0, 1, 2, 9.5])


@pytest.mark.parametrize(
    ("name", "pack"), [("a.zip", zipped), ("a.tar.gz", tarred), ("a.tgz", tarred)], ids=["zip", "tar", "tgz"]
)
def test_a_member_of_an_archive_is_read_and_its_own_checksum_held(name, pack, tmp_path):
    (file,) = put(tmp_path, {name: pack({"in/data.csv": CSV})})
    content = "md5:" + hashlib.md5(CSV).hexdigest()
    file = {"name": name, "member": "in/data.csv", "content": content}
    found, _ = prepared(card([file], {"kind": "csv"}))
    np.testing.assert_array_equal(found, X)
    with pytest.raises(DataError, match="checksum of the content is md5:"):
        store.prepare(card([{**file, "content": "md5:" + "0" * 32}], {"kind": "csv"}))
    with pytest.raises(DataError, match=r"holds no .in/none\.csv"):
        store.prepare(card([{**file, "member": "in/none.csv"}], {"kind": "csv"}))


REGRESSION = {"task": "regression", "classes": {}, "labels": None}


@pytest.mark.parametrize(("name", "pack"), [("a.zip", zipped), ("a.tgz", tarred)], ids=["zip", "tgz"])
def test_an_archive_gives_the_training_part_by_one_member_and_the_test_part_by_many(name, pack, tmp_path):
    train, *tests = CSV.splitlines(keepends=True)
    days = {f"in/test-{day}.csv": b"a,b,c,class\n" + line for day, line in enumerate(tests)}
    packed = {"in/train.csv": b"a,b,c,class\n" + train, **dict(reversed(days.items()))}  # read by name
    (archive,) = put(tmp_path, {name: pack(packed)})
    files = [
        {**archive, "member": "in/train.csv", "part": "train"},
        {**archive, "member": "in/test-*.csv", "part": "test"},
    ]
    layout, split = {"kind": "csv", "header": True}, {"rule": "given", "train": 1, "test": 3}
    found, y = prepared(card(files, layout, split=split))
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, [1, -1, 1, -1])
    store.check(card(files, layout, split=split))
    none = [files[0], {**files[1], "member": "in/none-*.csv"}]
    with pytest.raises(DataError, match=r"holds nothing that matches 'in/none-\*\.csv'"):
        store.prepare(card(none, layout, split=split))


def test_csv_columns_that_are_neither_input_nor_target_are_left_out(tmp_path):
    """As of the slice localization data, whose first column numbers the patients; and of more than one."""
    text = b"patientId,value0,value1,reference\n0,0.5,-0.25,21.803851\n0,0.0,1.0,21.745726\n7,1e-3,0.75,90\n"
    layout = {"kind": "csv", "header": True, "ignore": [0]}
    files = put(tmp_path, {"slices.zip": zipped({"slices.csv": text})})
    found, y = prepared(card([{**files[0], "member": "slices.csv"}], layout, rows=3, columns=2, **REGRESSION))
    np.testing.assert_array_equal(found, [[0.5, -0.25], [0, 1], [1e-3, 0.75]])
    np.testing.assert_array_equal(y, [21.803851, 21.745726, 90])
    several = {"kind": "csv", "header": True, "target": 1, "ignore": [0, -1]}
    found, y = prepared(card([{**files[0], "member": "slices.csv"}], several, rows=3, columns=1, **REGRESSION))
    np.testing.assert_array_equal(found, [[-0.25], [1], [0.75]])
    np.testing.assert_array_equal(y, [0.5, 0, 1e-3])
    beyond = {"kind": "csv", "header": True, "target": 0, "ignore": [4]}
    with pytest.raises(DataError, match="its rows have 4 values, so there is no column 4"):
        store.prepare(card([{**files[0], "member": "slices.csv"}], beyond, rows=3, columns=3, **REGRESSION))


def test_a_scaled_target_is_divided_by_the_cards_scale(tmp_path):
    files = put(tmp_path, {"a.csv": b"1,50\n2,7\n3,100\n4,1\n"})
    _, y = prepared(card(files, {"kind": "csv"}, columns=1, target_scale=100, **REGRESSION))
    np.testing.assert_array_equal(y, [0.5, 0.07, 1, 0.01])


def test_a_file_of_logarithms_has_its_targets_back_before_they_are_scaled(tmp_path):
    files = put(tmp_path, {"a.csv": b"1,0\n2,1.5\n3,-2\n4,0.25\n"})
    _, y = prepared(card(files, {"kind": "csv"}, columns=1, target_exp=True, target_scale=0.5, **REGRESSION))
    np.testing.assert_allclose(y, 2 * np.exp([0, 1.5, -2, 0.25]))


IMAGES = np.arange(4 * 2 * 3).reshape(4, 2, 3) * 11
DIGITS = np.array([3, 1, 4, 1])
IDX = {
    "columns": 6, "labels": None, "classes": {"1": 2, "3": 1, "4": 1},
    "split": {"rule": "given", "train": 3, "test": 1},
}  # fmt: skip


def idx_card(tmp_path, **changes) -> Card:
    train = {"images": idx(IMAGES[:3]), "labels": idx(DIGITS[:3]), **changes}
    test = {"xt.gz": idx(IMAGES[3:]), "yt.gz": idx(DIGITS[3:])}
    contents = {"x.gz": train["images"], "y.gz": train["labels"], **test}
    files = put(tmp_path, {name: gzip.compress(content) for name, content in contents.items()})
    parts = ("train", "train", "test", "test")
    files = [{**file, "part": part} for file, part in zip(files, parts, strict=True)]
    return card(files, {"kind": "idx"}, **IDX)


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_idx_pairs_inputs_with_labels_whatever_the_blocks(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(parse, "BLOCK_BYTES", rows * 8 * 6)
    found, y = prepared(idx_card(tmp_path))
    np.testing.assert_array_equal(found, IMAGES.reshape(4, 6))
    np.testing.assert_array_equal(y, [1, 0, 2, 0])  # places among the card's classes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": idx(DIGITS[:2])}, "x.gz is not readable as idx: it has 3 rows, y.gz 2 labels"),
        ({"images": idx(IMAGES[:3])[:-1]}, "x.gz is not readable as idx: it breaks off: 18 bytes are due, 17"),
        ({"images": b"<html>"}, "x.gz is not readable as idx: it does not begin as an idx file"),
        ({"images": idx(IMAGES[:3]).replace(b"\x08", b"\x0d", 1)}, "does not begin as an idx file of unsigned"),
        ({"labels": b""}, "y.gz is not readable as idx: it breaks off: 4 bytes are due, 0"),
        ({"images": idx(IMAGES[:3, :1])}, "the data has 3 columns, the card says 6"),
    ],
)
def test_idx_files_that_do_not_fit_are_refused(change, message, tmp_path):
    with pytest.raises(DataError, match=message):
        store.prepare(idx_card(tmp_path, **change))


def test_a_lone_file_holds_the_training_rows_first(tmp_path):
    subject = card(put(tmp_path, {"a": CSV}), {"kind": "csv"}, split={"rule": "given", "train": 3, "test": 1})
    np.testing.assert_array_equal(prepared(subject)[0], X)


def test_shared_arrays_are_still_held_against_each_cards_parts(tmp_path):
    files = put(tmp_path, {"a": CSV[: CSV.index(b"4,")], "b": CSV[CSV.index(b"4,") :]})
    files = [{**files[0], "part": "train"}, {**files[1], "part": "test"}]
    halves = card(files, {"kind": "csv"}, split={"rule": "half"})
    found, _ = prepared(halves)
    sampled = card(files, {"kind": "csv"}, split={"rule": "given-sampled", "train": 2, "test": 1})
    assert store.arrays_folder(sampled) == store.arrays_folder(halves)
    np.testing.assert_array_equal(store.open_arrays(sampled)[0], found)
    wrong = card(files, {"kind": "csv"}, split={"rule": "given-sampled", "train": 3, "test": 1})
    assert store.open_arrays(wrong) is None
    with pytest.raises(DataError, match="2 training and 2 test rows, the card says 3 and 1"):
        store.prepare(wrong)
    assert store.open_arrays(halves) is not None


def test_a_repacked_file_passes_by_its_content(tmp_path):
    (file,) = put(tmp_path, {"a.gz": gzip.compress(CSV, compresslevel=1)})
    file = {"name": "a.gz", "content": "sha256:" + hashlib.sha256(CSV).hexdigest()}
    np.testing.assert_array_equal(prepared(card([file], {"kind": "csv"}))[0], X)


def test_many_blocks_give_the_same_arrays_as_one(tmp_path, monkeypatch):
    contents = {"a.arff": ARFF, "a.svm": LIBSVM.replace(b"-1", b"0"), "a.csv": b"a,b,c,class\n" + CSV}
    files = put(tmp_path, contents)
    arff = card(files[:1], {"kind": "arff"})
    libsvm = card(files[1:2], {"kind": "libsvm"}, classes={"0": 2, "1": 2}, labels={"positive": ["1"]})
    csv = card(files[2:], {"kind": "csv", "header": True})
    monkeypatch.setattr(parse, "BLOCK_BYTES", 3 * 8 * 3)
    for each in (arff, libsvm, csv):
        found, y = prepared(each)
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(y, [1, -1, 1, -1])


def test_training_files_come_first_and_both_parts_are_counted(tmp_path):
    files = put(tmp_path, {"a": CSV[: CSV.index(b"4,")], "b": CSV[CSV.index(b"4,") :]})
    files = [{**files[0], "part": "train"}, {**files[1], "part": "test"}]
    split = {"rule": "given", "train": 2, "test": 2}
    np.testing.assert_array_equal(prepared(card(files, {"kind": "csv"}, split=split))[0], X)
    wrong = {"rule": "given", "train": 3, "test": 1}
    with pytest.raises(DataError, match="2 training and 2 test rows, the card says 3 and 1"):
        store.prepare(card(files, {"kind": "csv"}, split=wrong))
    with pytest.raises(ValueError, match="training files come before test files"):
        card(files[::-1], {"kind": "csv"}, split=split)


def test_more_than_two_classes_are_numbered_in_the_order_of_the_card(tmp_path):
    text = b"1,b\n2,c\n3,a\n4,b\n"
    several = {"columns": 1, "labels": None, "classes": {"c": 1, "b": 2, "a": 1}}
    _, y = prepared(card(put(tmp_path, {"a": text}), {"kind": "csv"}, **several))
    np.testing.assert_array_equal(y, [1, 0, 2, 1])


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("csv", CSV + b"1,2,3,no\n", "the data has 5 rows, the card says 4"),
        ("csv", CSV[: CSV.index(b"0.1")], "the data has 3 rows, the card says 4"),
        ("csv", CSV.replace(b",5,6", b",6"), "line 3 has 3 values, the lines before it 4"),
        ("csv", b"1,2,no\n" * 4, "the data has 2 columns, the card says 3"),
        ("csv", CSV.replace(b"3.25", b""), "not readable as csv: line 2, column 2: '' is not a number"),
        ("csv", CSV.replace(b"3.25", b"inf"), "not readable as csv: line 2, column 2: inf is not a finite number"),
        ("csv", CSV.replace(b"3.25", b"x"), "not readable as csv"),
        ("csv", CSV.replace(b"no", b"yes", 1), "the classes {'no': 1, 'yes': 3}, the card says"),
        ("csv", CSV.replace(b",yes", b",", 1), "the data has the classes {'': 1, 'no': 2, 'yes': 1}"),
        ("csv", CSV.replace(b"yes", b"\xff", 1), "line 1, '1.5,0,-2,.', is not UTF-8 text"),
        ("csv", b"", "the data has 0 rows"),
        ("arff", ARFF.replace(b"3.25", b"?"), r"line 12, column 2: '\?' is not a number"),
        ("arff", ARFF.replace(b"@DATA\n", b""), "no @data line"),
        ("arff", ARFF.replace(b"@ATTRIBUTE b real\n", b""), "4 values, its header 3 attributes"),
        ("arff", b"", "no @data line"),
        ("libsvm", LIBSVM.replace(b"3:6", b"4:6"), "not readable as libsvm"),
        ("libsvm", b"<html>maintenance</html>", "not readable as libsvm"),
        ("mat", b"not a mat file at all, but long enough to have a header" * 9, "not readable as mat"),
    ],
)
def test_data_that_is_not_the_cards_is_refused_saying_what_differs(kind, content, message, tmp_path):
    layout = {"kind": kind}
    if kind == "mat":
        layout |= {"train": ["A", "a"], "test": ["B", "b"]}
    wrong = card(put(tmp_path, {"a": content}), layout)
    with pytest.raises(DataError, match=message):
        store.prepare(wrong)
    assert store.open_arrays(wrong) is None
    assert not list(store.arrays_folder(wrong).parent.glob("*"))  # nothing half made is left


def test_a_truncated_archive_is_refused(tmp_path):
    (file,) = put(tmp_path, {"a.gz": gzip.compress(CSV)[:-12]})
    with pytest.raises(DataError, match="not readable as csv"):
        store.prepare(card([file], {"kind": "csv"}))


def test_a_target_of_a_regression_must_be_a_number(tmp_path):
    with pytest.raises(DataError, match="line 1, column 4: 'yes' is not a number"):
        store.prepare(card(put(tmp_path, {"a": CSV}), {"kind": "csv"}, **REGRESSION))


def test_damaged_arrays_are_made_anew(tmp_path):
    small = card(put(tmp_path, {"a": CSV}), {"kind": "csv"})
    prepared(small)
    path = store.arrays_folder(small) / "X.npy"
    path.write_bytes(path.read_bytes()[:-8])
    assert store.open_arrays(small) is None
    np.testing.assert_array_equal(prepared(small)[0], X)


FOLDS = b"1,0\n0,1\n0,1\n1,0\n"


def with_folds(tmp_path, mask, **changes):
    data, folds = put(tmp_path, {"data.csv": CSV, "folds.csv": mask})
    split = {"rule": "folds", "train": 2, "test": 2}
    return card([data, {**folds, "part": "folds"}], {"kind": "csv"}, **{"split": split, **changes})


def test_a_trial_is_tested_on_the_rows_of_its_fold_and_trained_on_all_others(tmp_path):
    small = with_folds(tmp_path, FOLDS)
    np.testing.assert_array_equal(prepared(small)[0], X)  # the folds' file has no rows
    folds = store.open_arrays(small).folds
    for trial, tested in enumerate([[0, 3], [1, 2], [0, 3]]):
        train, test = split_rows(small, 7, trial, folds)
        assert test.tolist() == tested
        assert sorted([*train, *test]) == [0, 1, 2, 3]
    store.check(small)


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (b"1,0\n0,1\n1,1\n1,0\n", "line 3 must have a single 1"),
        (b"1,0\n0,0\n0,1\n1,0\n", "line 2 must have a single 1"),
        (b"1,0\n0,1\n0,1\n1,2\n", "line 4 must have a single 1"),
        (b"1,0\n0,1\n0,1\n", "it has 3 lines, the data 4 rows"),
        (b"1,0\n1,0\n1,0\n1,0\n", "fold 0 has 4 rows, the card says 2 test rows"),
    ],
)
def test_folds_that_do_not_hold_each_row_once_are_refused_with_the_line(tmp_path, mask, said):
    with pytest.raises(DataError, match=said):
        store.prepare(with_folds(tmp_path, mask))


def test_changed_folds_are_found(tmp_path):
    small = with_folds(tmp_path, FOLDS)
    prepared(small)
    np.save(store.arrays_folder(small) / "folds.npy", np.array([1, 0, 0, 1], dtype=np.uint8))
    assert not store.is_ready(small, checked=True)
    with pytest.raises(DataError, match=r"the folds in .* differ"):
        store.check(small)


def test_permuted_rows_are_those_of_a_papers_own_seed_in_all_trials():
    card = load_card("kin40k-xgpr")
    order = np.random.default_rng(123).choice(40_000, 40_000, replace=False)  # as the released script has it
    for seed, trial in ((0, 0), (0, 1), (7, 0)):
        train, test = split_rows(card, seed, trial)
        np.testing.assert_array_equal(np.sort(train), np.sort(order[:32_000]))
        np.testing.assert_array_equal(test, np.sort(order[32_000:]))
    assert not np.array_equal(train, split_rows(card, 7, 1)[0])  # folds of the cross-validation are others


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ({"rule": "permuted", "train": 3, "test": 1}, "the rule permuted needs a 'seed'"),
        ({"rule": "random", "train": 3, "test": 1, "seed": 1}, "the rule random takes no 'seed'"),
    ],
)
def test_permuted_rows_and_a_seed_need_each_other(tmp_path, split, said):
    files = [put(tmp_path, {"data.csv": CSV})[0]]
    with pytest.raises(ValueError, match=said):
        card(files, {"kind": "csv"}, split=split)


@pytest.mark.parametrize("split", [{"rule": "folds", "train": 2, "test": 2}, {"rule": "half"}])
def test_the_rule_folds_and_a_file_of_folds_need_each_other(tmp_path, split):
    data, folds = put(tmp_path, {"data.csv": CSV, "folds.csv": FOLDS})
    files = [data] if split["rule"] == "folds" else [data, {**folds, "part": "folds"}]
    with pytest.raises(ValueError, match="the rule folds needs one file with part: folds"):
        card(files, {"kind": "csv"}, split=split)


def test_a_matlab_file_may_hold_all_rows_in_one_pair_of_variables(tmp_path):
    content = io.BytesIO()
    scipy.io.savemat(content, {"A": scipy.sparse.csc_matrix(X), "b": np.array([[1.0], [-1.0], [1.0], [-1.0]])})
    files = put(tmp_path, {"small.mat": content.getvalue()})
    classes = {"classes": {"-1": 2, "1": 2}, "labels": {"positive": ["1"]}}
    found, y = prepared(card(files, {"kind": "mat", "all": ["A", "b"]}, **classes))
    np.testing.assert_array_equal(found, X)
    assert y.tolist() == [1, -1, 1, -1]
    with pytest.raises(ValueError, match="needs 'train' and 'test', or 'all'"):
        card(files, {"kind": "mat", "train": ["A", "b"], "all": ["A", "b"]}, **classes)


@pytest.mark.parametrize("packed", [True, False])
def test_what_a_source_has_unpacked_is_packed_as_the_name_says(tmp_path, packed):
    original = tmp_path / "original"
    original.write_bytes(gzip.compress(CSV) if packed else CSV)
    content = "sha256:" + hashlib.sha256(CSV).hexdigest()
    small = card([{"name": "data.csv.gz", "content": content, "urls": [original.as_uri()]}], {"kind": "csv"})
    np.testing.assert_array_equal(prepared(small)[0], X)
    store.check(small)


def test_labels_that_are_numbers_on_the_card_are_one_class_however_they_are_written(tmp_path):
    rows = b"1,2,3,1\n1,2,4,1.0\n1,2,5,2.000\n1,2,6,02\n"
    classes = {"classes": {"1": 2, "2": 2}, "labels": {"positive": ["2"]}}
    _, y = prepared(card(put(tmp_path, {"data.csv": rows}), {"kind": "csv"}, **classes))
    assert y.tolist() == [-1, -1, 1, 1]


def test_lines_that_begin_with_the_comment_are_passed_over_and_counted(tmp_path):
    rows = b"|1x3 Cross validator\n" + CSV.replace(b"4,5", b"| and more\n4,5")
    found, _ = prepared(card(put(tmp_path, {"data.csv": rows}), {"kind": "csv", "comment": "|"}))
    np.testing.assert_array_equal(found, X)
    wrong = card(put(tmp_path, {"wrong.csv": rows.replace(b"6,yes", b"six,yes")}), {"kind": "csv", "comment": "|"})
    with pytest.raises(DataError, match="line 5, column 3: 'six' is not a number"):
        store.prepare(wrong)
