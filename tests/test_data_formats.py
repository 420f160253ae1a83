"""Each format is read right from small files written here; a file that is not its card's is refused."""

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from rffbench.data import parse, store
from rffbench.data.cards import Card
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
    return arrays


def zipped(name, content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("read.me", "about")
        archive.writestr(name, content)
    return buffer.getvalue()


def tarred(name, content):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


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


@pytest.mark.parametrize(("name", "content"), [("a.csv", CSV), ("a.csv.gz", gzip.compress(CSV))])
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
    (file,) = put(tmp_path, {name: pack("in/data.csv", CSV)})
    content = "md5:" + hashlib.md5(CSV).hexdigest()
    file = {"name": name, "member": "in/data.csv", "content": content}
    found, _ = prepared(card([file], {"kind": "csv"}))
    np.testing.assert_array_equal(found, X)
    with pytest.raises(DataError, match="checksum of the content is md5:"):
        store.prepare(card([{**file, "content": "md5:" + "0" * 32}], {"kind": "csv"}))
    with pytest.raises(DataError, match=r"cannot be unpacked .*in/none\.csv"):
        store.prepare(card([{**file, "member": "in/none.csv"}], {"kind": "csv"}))


def test_a_repacked_file_passes_by_its_content(tmp_path):
    (file,) = put(tmp_path, {"a.gz": gzip.compress(CSV, compresslevel=1)})
    file = {"name": "a.gz", "content": "sha256:" + hashlib.sha256(CSV).hexdigest()}
    np.testing.assert_array_equal(prepared(card([file], {"kind": "csv"}))[0], X)


def test_many_blocks_give_the_same_arrays_as_one(tmp_path, monkeypatch):
    files = put(tmp_path, {"a.arff": ARFF, "a.svm": LIBSVM.replace(b"-1", b"0")})
    arff = card(files[:1], {"kind": "arff"})
    libsvm = card(files[1:], {"kind": "libsvm"}, classes={"0": 2, "1": 2}, labels={"positive": ["1"]})
    monkeypatch.setattr(parse, "BLOCK_ROWS", 3)
    for each in (arff, libsvm):
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
        ("csv", CSV.replace(b",5,6", b",6"), "number of columns changed from 4 to 3"),
        ("csv", b"1,2,no\n" * 4, "the data has 2 columns, the card says 3"),
        ("csv", CSV.replace(b"3.25", b""), "not readable as csv: could not convert string ''"),
        ("csv", CSV.replace(b"3.25", b"inf"), "value in row 2, column 2 is missing or not finite"),
        ("csv", CSV.replace(b"3.25", b"x"), "not readable as csv"),
        ("csv", CSV.replace(b"no", b"yes", 1), "the classes {'no': 1, 'yes': 3}, the card says"),
        ("csv", CSV.replace(b",yes", b",", 1), "the data has the classes {'': 1, 'no': 2, 'yes': 1}"),
        ("csv", CSV.replace(b"yes", b"\xff", 1), "not readable as csv: .*utf-8"),
        ("csv", b"", "the data has 0 rows"),
        ("arff", ARFF.replace(b"3.25", b"?"), r"could not convert string ' \?'"),
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
    regression = {"task": "regression", "classes": {}, "labels": None}
    with pytest.raises(DataError, match="could not convert string 'yes'"):
        store.prepare(card(put(tmp_path, {"a": CSV}), {"kind": "csv"}, **regression))


def test_damaged_arrays_are_made_anew(tmp_path):
    small = card(put(tmp_path, {"a": CSV}), {"kind": "csv"})
    prepared(small)
    path = store.arrays_folder(small) / "X.npy"
    path.write_bytes(path.read_bytes()[:-8])
    assert store.open_arrays(small) is None
    np.testing.assert_array_equal(prepared(small)[0], X)
