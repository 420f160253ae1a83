"""A user's own file: what it holds is recognised, what is wrong with it is said by line, column and value."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import time
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rffbench.data import store, unpack, userfile
from rffbench.data.cards import read_card
from rffbench.data.store import checked_blocks
from rffbench.data.userfile import look
from rffbench.errors import ConfigError, DataError, RffbenchError
from tests.helpers.cases import slow
from tests.helpers.own_data import NUMBERS, YES, X

LIBSVM = "+1 1:1.5 3:-2\n# a comment\n\n-1 2:3.25 3:1e-3\n1 1:4 2:5 3:6\n-1 1:0.1 2:0.2 3:0.30000000000000004\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))


def file(tmp_path, name: str, content: str | bytes):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def arrays(seen):
    """(X, y) as trials get them."""
    card = seen.card()
    store.prepare(card)
    found = store.open_arrays(card)
    assert found is not None
    return found[:2]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", YES),
        ("a.csv", "\ufeff" + YES),
        ("a.csv", YES.replace("\n", "\r\n")),
        ("a.csv", "length,width,height,class\n" + YES),
        ("a.csv", "0,1,2,class\n\n" + YES),  # pandas' names of columns, and a blank line
        ("a.csv", '"length, in m",b,c,"class"\n' + YES.replace("yes", '"yes"')),
        ("a.csv", YES.replace(",", ";")),
        ("a.tsv", YES.replace(",", "\t")),
        ("a.csv.gz", gzip.compress(YES.encode(), mtime=0)),
        ("a.csv.bz2", bz2.compress(YES.encode())),
        ("a.csv.xz", lzma.compress(YES.encode())),
    ],
)
def test_delimiter_header_mark_quotes_and_packing_are_recognised(tmp_path, name, content):
    seen = look(file(tmp_path, name, content))
    inputs, y = arrays(seen)
    assert (seen.name, seen.task, seen.classes, seen.positive) == ("a", "classification", {"no": 2, "yes": 2}, "yes")
    np.testing.assert_array_equal(inputs, X)
    assert y.tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize("ending", ["svm", "libsvm", "txt", "svm.gz"])
def test_a_libsvm_file_is_read(tmp_path, ending):
    content = LIBSVM.encode()
    inputs, y = arrays(look(file(tmp_path, f"a.{ending}", gzip.compress(content) if "gz" in ending else content)))
    np.testing.assert_array_equal(inputs, X)
    assert y.tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize("labels", [["b", "a", "b", "a"], [1, 0, 1, 0], [True, False, True, False]])
def test_an_npz_file_is_read_with_its_arrays_by_their_usual_names(tmp_path, labels):
    np.savez(tmp_path / "a.npz", X=X, y=np.array(labels))
    inputs, y = arrays(look(tmp_path / "a.npz"))
    np.testing.assert_array_equal(inputs, X)
    assert y.tolist() == [1, -1, 1, -1]
    np.savez(tmp_path / "b.npz", pictures=X, y=np.ones(4), digit=np.array(labels))
    np.savez(tmp_path / "c.npz", X=X, digit=np.array(labels))
    with pytest.raises(ConfigError, match=r"b\.npz: holds pictures, y, digit; the inputs must be X, or the only array"):
        look(tmp_path / "b.npz")
    assert arrays(look(tmp_path / "c.npz"))[1].tolist() == [1, -1, 1, -1]


def test_parquet_is_read_by_pandas_or_told_to_need_pyarrow(tmp_path, monkeypatch):
    path = file(tmp_path, "a.parquet", b"PAR1")
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        place=["here", "b", "a", "b"], label=["yes", "no", "yes", "no"]
    )
    monkeypatch.setattr(pd, "read_parquet", lambda _: table)
    inputs, y = arrays(look(path, ignore=("place",)))
    np.testing.assert_array_equal(inputs, X)
    assert y.tolist() == [1, -1, 1, -1]
    assert "row 1, column 'place': 'here' is not a number; put onehot" in look(path).content.inputs.advice[0]
    table["place"] = ["b", None, "a", "b"]
    table["c"] = [1.0, 2.0, np.nan, 3.0]
    inputs, _ = arrays(look(path))
    np.testing.assert_array_equal(inputs[:, 2:], [[1, 1], [2, np.nan], [np.nan, 0], [3, 1]])
    assert look(path).card().missing == {2: 1, 3: 1}

    def no_engine(_):
        raise ImportError("Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.")

    monkeypatch.setattr(pd, "read_parquet", no_engine)
    with pytest.raises(DataError, match=r"a\.parquet: .* pyarrow, which is missing: pip install 'rffbench\[shards\]'"):
        look(path)


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        ([0.5, 1.25, -3, 7], "regression"),
        ([0.5, 2.5] * 2, "classification"),  # two values
        ([1, 2, 3, 1], "classification"),
        ([1, 2, 3, 1.5], "regression"),
        (list(range(userfile.MOST_CLASSES + 1)), "regression"),
        (["a", "b", "1", "2"], "classification"),
    ],
)
def test_the_task_is_told_by_the_targets_values(tmp_path, targets, task):
    path = file(tmp_path, "a.csv", "".join(f"{i / 7},{target}\n" for i, target in enumerate(targets)))
    assert look(path).task == task
    assert arrays(look(path))[1].shape == (len(targets),)


def test_what_is_given_takes_the_place_of_guesses(tmp_path):
    path = file(tmp_path, "my data (2).csv", "id,a,b,class\n" + YES)
    assert look(path).name == "my-data-2"
    seen = look(path, target="a", task="regression", ignore=("class",), name="other")
    inputs, y = arrays(seen)
    assert (seen.card().name, seen.task) == ("other", "regression")
    np.testing.assert_array_equal(y, X[:, 1])
    np.testing.assert_array_equal(inputs, X[:, [0, 2]])
    assert look(path, target=-3, ignore=(3,), task="regression").card().format == seen.card().format
    assert look(path).card().split.rule == "half"
    given = look(path, split={"rule": "given", "train": 0.75}).card()
    assert (given.split.rule, given.n_train, given.n_test) == ("given", 3, 1)


def test_the_files_bytes_are_in_the_content_hash_and_its_folder_is_not(tmp_path):
    (tmp_path / "there").mkdir()
    here, there = file(tmp_path, "a.csv", NUMBERS), file(tmp_path / "there", "a.csv", NUMBERS)
    assert look(here).card().content_hash == look(there).card().content_hash
    there.write_text(NUMBERS.replace("3.25", "3.26"))
    assert look(here).card().content_hash != look(there).card().content_hash
    assert str(tmp_path) not in userfile.without_folders(look(here).card()).model_dump_json()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv: is empty"),
        ("a.csv", "\n\n", "a.csv: is empty"),
        ("a.csv", "a,b,c\n", "has a header, line 1, and no rows below it"),
        ("a.csv", "a,b\n\n3,x\n1,x\n", "the target, 'b', is 'x' in all 2 rows: a second class is needed"),
        ("a.csv", "3,x\n", "is 'x' in all 1 rows"),
        ("a.csv", "a,b\n" + "".join(f"n{i},{i % 2}\n" for i in range(30)), "no column can be an input"),
        ("a.csv", '1,2,x\n3,"4,y\n', "line 2 begins a quote that is not closed"),
        ("a.csv", "1,2,x\n3,4,\n", r"line 2, column 3: the value is missing"),
        ("a.csv", "a,b,c\n1,Rome,x\n2,3,y\n", r"line 2, column 2 \('b'\): 'Rome' is not a finite .*ignore: \[b\]"),
        ("a.csv", "1,2,x\n1,inf,y\n", "line 2, column 2: 'inf' is not a finite number"),
        ("a.csv", "a;b;c\n1,5;2.5;x\n2,5;3.5;y\n", "'1,5' has a decimal comma, .*; write decimals with a point"),
        ("a.csv", "1,2,x\n3,y\n" + "4,5,x\n" * 20, "line 2 has 2 values, line 1 has 3"),
        ("a.csv", "1,2,x\n3,4,5,y\n" + "4,5,x\n" * 20, "line 2 has 4 values, line 1 has 3"),
        ("a.csv", "1,2,é\n2,3,ö\n".encode() + b"2,3,\xff\n", "line 3, '2,3,\ufffd', is not UTF-8 text"),
        ("a.csv", "1\n2\n", "line 1 has one value, '1'; an input and the target are needed"),
        ("a.csv.gz", "1,2\n", "it cannot be unpacked"),
        ("a.svm", "", "is empty"),
        ("a.svm", "1 1:2\n\n1 x:3\n", "line 3, '1 x:3': 'x:3' is not index:value; a line must be: label index:value"),
        ("a.svm", "1 0:2\n", "line 1, '1 0:2': the index 0 .*begins with 1 if told zero_based=False"),
        ("a.svm", "# none\n1 1:2\n\n-1 1:nan\n", "line 4, index 1: the value is not finite"),
        ("a.svm", "1 1:2\n1 1:3\n", "in all 2 rows: a second value is needed"),
        ("a.npz", "none", "cannot be read as npz"),
    ],
)  # fmt: skip
def test_what_keeps_a_file_from_being_used_is_said_by_line_column_and_value(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        look(file(tmp_path, name, content)).card()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "clas"}, "target: unknown column 'clas'; did you mean 'class'"),
        ({"target": 9}, "target: 9: there are 4 columns, counted from 0"),
        ({"split": "hlaf"}, "split: unknown rule 'hlaf'; did you mean 'half'"),
        ({"split": {"rule": "random", "train": 4}}, "train: 4 leaves none of the 4 rows"),
        ({"task": "regression"}, r"line 2, column 4 \('class'\): 'yes' is not a finite number"),
        ({"ignore": ("a", "b", "c")}, "leaves no input"),
    ],
)
def test_a_column_or_a_split_that_does_not_fit_is_refused(tmp_path, given, message):
    with pytest.raises(RffbenchError, match=message):
        look(file(tmp_path, "a.csv", "a,b,c,class\n" + YES), **given).card()


def test_a_card_that_is_written_stands_for_the_file_and_is_not_written_over(tmp_path):
    (tmp_path / "cards").mkdir()
    seen = look(file(tmp_path, "my data.csv", "a,b,c,class\n" + YES))
    written = tmp_path / "cards" / "mine.yaml"
    userfile.write_card(seen, written)
    card = read_card(written)
    assert (card.name, card.content_hash) == ("mine", seen.card().content_hash)
    assert str(tmp_path) not in written.read_text()
    store.prepare(card)
    found = store.open_arrays(card)
    assert found is not None
    np.testing.assert_array_equal(found[0], X)
    with pytest.raises(ConfigError, match=r"mine\.yaml: is there already"):
        userfile.write_card(seen, written)
    with pytest.raises(ConfigError, match=r"mine\.yml: a card is a file whose name ends in \.yaml"):
        userfile.write_card(seen, tmp_path / "mine.yml")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.data", YES, "csv"),
        ("a.data.gz", gzip.compress(YES.encode(), mtime=0), "csv"),
        ("a.txt", YES.replace(",", "\t"), "csv"),
        ("a.txt", YES.replace(",", "   "), "csv"),
        ("a", LIBSVM, "libsvm"),
        ("a.bz2", bz2.compress(LIBSVM.encode()), "libsvm"),
        ("a.t", "1\n" + LIBSVM, "libsvm"),  # a row without inputs
    ],
)
def test_a_text_whose_name_does_not_tell_what_it_is_is_told_by_its_lines(tmp_path, name, content, kind):
    seen = look(file(tmp_path, name, content))
    assert (seen.name, seen.content.format["kind"]) == ("a", kind)
    np.testing.assert_array_equal(
        arrays(seen)[0][-4:], X if kind == "csv" else arrays(look(file(tmp_path, "b.svm", LIBSVM)))[0]
    )


@pytest.mark.parametrize("ends", ["", " "])
def test_any_number_of_blanks_parts_values_that_stand_below_each_other(tmp_path, ends):
    rows = [
        [*(f"{value:10.3f}" for value in row), f"  {label}{ends}"] for row, label in zip(X, [1, 2, 1, 2], strict=True)
    ]
    text = "\n\n".join(" ".join(row) for row in rows) + "\n"
    seen = look(file(tmp_path, "a.csv", 'length  width  "the height" class\n' + text))
    assert seen.content.names == ["length", "width", "the height"]
    inputs, y = arrays(seen)
    np.testing.assert_array_equal(inputs, np.round(X, 3))
    assert y.tolist() == [-1, 1, -1, 1]
    with pytest.raises(DataError, match=r"b\.csv: line 3 has 3 values, line 1 has 4"):
        look(file(tmp_path, "b.csv", "1 2  3 4\n2  3 4 5\n1 2 3\n" + "1 2 3 4\n" * 20))


def test_all_columns_of_text_are_named_at_once_and_a_first_one_may_be_the_target(tmp_path):
    seen = look(file(tmp_path, "a.csv", "n,a,b,c,y\n" + "1,u,2,v,0\n2,w,3,x,1\n" * 3))
    assert seen.content.inputs.advice == [
        "line 2, column 2 ('a'): 'u' is not a number, and one column more holds text; put onehot into preprocess, "
        "which makes a column of every word, or leave them out: {path: …, ignore: [a, c]}"
    ]
    seen = look(file(tmp_path, "b.csv", "u,1.5,2\nv,3,5\n" * 3))
    assert seen.content.inputs.advice[0].endswith("{path: …, ignore: [0]}; if it is the target: {path: …, target: 0}")
    assert look(tmp_path / "b.csv", target=0).classes == {"u": 3, "v": 3}


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_without_a_name_that_numbers_the_rows_is_no_input(tmp_path, first):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=[0, 1, 0, 1])
    table.index += first
    table.to_csv(tmp_path / "a.csv")
    seen = look(tmp_path / "a.csv")
    assert seen.decisions == ["ignored: column 1 (a different whole number in every row, as an ID)"]
    np.testing.assert_array_equal(arrays(seen)[0], X)
    np.testing.assert_array_equal(arrays(look(tmp_path / "a.csv", ignore=(0,)))[0], X)
    table.set_index(pd.Index([3, 1, 2, 4])).to_csv(tmp_path / "b.csv")
    assert look(tmp_path / "b.csv").card().columns == 4


def test_a_missing_file_is_told_the_nearest_and_one_that_is_no_text_what_is_read(tmp_path):
    file(tmp_path, "mine.csv", YES)
    with pytest.raises(ConfigError, match=r"mien\.csv: no such file; did you mean mine\.csv"):
        look(tmp_path / "mien.csv")
    with pytest.raises(ConfigError, match=r"a\.bin: data by path is text \(CSV, LIBSVM, ARFF\), \.npz, \.parquet"):
        look(file(tmp_path, "a.bin", b"\xd0\0\0\0"))
    with pytest.raises(
        DataError, match=r"a\.xls: is a workbook of Excel 97 to 2003 \(\.xls\); save it as \.xlsx or CSV"
    ):
        look(file(tmp_path, "a.xls", b"\xd0\xcf\x11\xe0\0\0"))


def test_a_description_is_not_longer_for_more_classes_and_a_label_is_one_line(tmp_path):
    labels = ["a\nb", *(f"{i} kg" for i in range(5000))]
    lines = [f'{i},"{label}"' for i, label in enumerate(labels) for _ in range(2)]
    said = userfile.described(look(file(tmp_path, "x.csv", "\n".join(lines))))
    assert ("class", "0 kg: 2, 0.0%") in said
    assert ("", "and 4961 classes more") in said
    assert len(said) < 60
    named = userfile.described(look(file(tmp_path, "z.csv", 'a,"b\nc",,t\n' + "1,2,3,4.5\n2,1,4,5\n" * 3)))
    assert ("", "a, b c, ''") in named
    pair = userfile.described(look(file(tmp_path, "y.csv", '1,"a\nb"\n2,c\n')))
    assert ("class", "a b: 1, 50.0% (−1)") in pair


def test_a_line_of_many_columns_is_read(tmp_path):
    lines = [",".join([f"{i}.{'0' * 140}"] * 1000) + f",{'ab'[i % 2]}" for i in range(4)]  # of 143 kB
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    assert look(tmp_path / "wide.csv").content.columns == 1000


@pytest.mark.parametrize("name", ["a.csv.xz", "a.svm.xz", "a.csv"])
def test_a_line_without_end_is_refused_with_its_number_and_read_no_further(tmp_path, name, monkeypatch):
    monkeypatch.setattr(unpack, "LONGEST_LINE", 3_000_000)
    content = b"1 1:1\r\n\n2 2:1\n" + b" " * 20_000_000
    if "xz" in name:
        content = lzma.compress(content, preset=0)[:-40]  # whoever reads on finds it damaged
    with pytest.raises(DataError, match=rf"{name}: .* it has more than 3 MB in line 4") as refusal:
        look(file(tmp_path, name, content))
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize("name", ["a.csv.xz", "a.svm.gz", "a.csv.bz2", "a.svm", "a.data.xz"])
@pytest.mark.parametrize("blank", [*slow(b"\n"), b"\r", b" " * 999 + b"\n"])
def test_blanks_without_end_are_refused_and_read_no_further(tmp_path, name, blank):
    pack = {".xz": partial(lzma.compress, preset=0), ".gz": gzip.compress, ".bz2": bz2.compress}
    content = b"1 1:1\n2 2:1\n" * 2000 + blank * (6_000_000 // len(blank))
    content = pack.get(name[name.rindex(".") :], bytes)(content)
    started = time.process_time()
    with pytest.raises(DataError, match=rf"{name}: .* it has [23] MB of nothing but blanks up to line \d+"):
        look(file(tmp_path, name, content))
    assert time.process_time() - started < 20


@pytest.mark.slow
def test_a_packed_file_without_a_card_holds_at_most_a_thousand_times_its_size(tmp_path, monkeypatch):
    table = "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(300_000))
    assert look(file(tmp_path, "a.csv.xz", lzma.compress(table.encode()))).content.columns == 1
    monkeypatch.setattr(unpack, "LEAST_LIMIT", 1_000_000)
    with pytest.raises(DataError, match=r"a.csv.xz: .* it holds more than 1 MB, which is more than 1,000 times its si"):
        look(file(tmp_path, "a.csv.xz", lzma.compress(table.encode())))


def test_a_wrong_line_at_the_end_of_a_long_file_is_found_at_once(tmp_path):
    content = b"1 1:1 2:3\n2 2:1\n" * 100_000 + b"1 2:1 1:1\n"
    started = time.process_time()
    with pytest.raises(DataError, match="line 200001, '1 2:1 1:1': the index 1 comes after 2"):
        look(file(tmp_path, "a.svm", content))
    assert time.process_time() - started < 8  # one by one the lines took 20 s


@pytest.mark.parametrize("name", ["a.npz.xz", "a.parquet.xz"])
def test_a_packed_file_is_unpacked_only_if_it_begins_as_it_should(tmp_path, name):
    content = lzma.compress(bytes(20_000_000), preset=0)[:-40]
    with pytest.raises(DataError, match=rf"{name}: .* it is not an? (archive|Parquet file)"):
        look(file(tmp_path, name, content))


def test_a_value_without_end_is_shown_with_its_beginning(tmp_path):
    with pytest.raises(DataError, match=r"line 1 has one value, '0{40}';"):
        look(file(tmp_path, "a.csv", "0" * 100_000))


def test_decimals_with_commas_between_semicolons_are_told_and_not_taken_apart(tmp_path):
    (tmp_path / "x.csv").write_text("".join(f"{i},5;1,5;{i},25\n" for i in range(10)))
    assert look(tmp_path / "x.csv").content.format["delimiter"] == ";"
    (tmp_path / "words.csv").write_text("".join(f"a b,c;d {i},{'xy'[i % 2]}\n" for i in range(10)))
    assert look(tmp_path / "words.csv").content.format["delimiter"] == ","


def test_with_a_decimal_comma_a_number_with_a_point_is_none(tmp_path):
    rows = "".join(f"{i}.5;{i % 7},25;{'xy'[i % 2]}\n" for i in range(30))
    with pytest.raises(DataError, match=r"'p': '0.5' and its other texts are numbers with signs or units"):
        look(file(tmp_path, "a.csv", f"p;q;y\n{rows}"), decimal=",").card()
    seen = look(file(tmp_path, "a.csv", f"p;q;y\n{rows.replace('.', ',')}"), decimal=",")
    np.testing.assert_array_equal(arrays(seen)[0], [[i + 0.5, i % 7 + 0.25] for i in range(30)])


def test_underscores_make_words_of_digits_as_other_programs_read_them(tmp_path):
    rows = "".join(f"{i % 3 + 1}_000,{i * 1.5},{'xy'[i % 2]}\n" for i in range(30))
    first, *_ = look(file(tmp_path, "a.csv", f"p,q,y\n{rows}")).content.decisions
    assert (first.kind, first.words) == ("words", ("1_000", "2_000", "3_000"))


def test_different_whole_numbers_with_gaps_are_an_input_and_those_that_count_the_rows_are_none(tmp_path):
    for step, kind in ((1, "id"), (3, "numbers")):
        order = np.random.default_rng(0).permutation(30) * step
        rows = "".join(f"{each},{i * 1.5},{'xy'[i % 2]}\n" for i, each in enumerate(order))
        first, *_ = look(file(tmp_path, f"{step}.csv", f"p,q,y\n{rows}")).content.decisions
        assert first.kind == kind


def test_blanks_between_the_words_of_a_cell_are_no_delimiter_where_tabs_are(tmp_path):
    rows = "".join(f"{['north', 'south'][i % 2]} of the old bridge here\t{'xyz'[i % 3]}\n" for i in range(30))
    seen = look(file(tmp_path, "a.tsv", rows))
    assert (seen.content.format["delimiter"], seen.content.columns) == ("\t", 1)


# ---- The same data, written differently --------------------------------------------------------------------

FORMS = ("{0!r}", "{0:.17e}", " {0!r}", "+{0!r}", "{0:.20f}", "00{0!r}")


@st.composite
def written(draw):
    """(file name, content) of the rows VALUES with the labels CLASSES, in one of the ways people write them."""
    form = st.sampled_from(FORMS)
    packing = draw(
        st.sampled_from([("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
    )
    kind = draw(st.sampled_from(["csv", "npz", "svm"]))
    if kind == "npz":
        content = io.BytesIO()
        order = draw(st.sampled_from("CF"))
        dtype = draw(st.sampled_from([np.float64, np.longdouble, object]))
        labels = np.array(CLASSES, dtype=dtype) if dtype is not object else np.array([*map(str, CLASSES)])
        np.savez(content, X=np.asarray(VALUES, dtype=np.float64, order=order), y=labels)
        return f"a.npz{packing[0]}", packing[1](content.getvalue())
    if kind == "svm":
        rows = (f"{label} " + " ".join(f"{i}:{draw(form).format(value).strip()}" for i, value in enumerate(row, 1))
                for label, row in zip(CLASSES, VALUES, strict=True))  # fmt: skip
        return f"a.svm{packing[0]}", packing[1]("\n".join(rows).encode())
    delimiter, end = draw(st.sampled_from([",", ";", "\t", "|", " "])), draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    lines = ["a,b,label".replace(",", delimiter)] if draw(st.booleans()) else []
    for row, label in zip(VALUES, CLASSES, strict=True):
        cells = [draw(form).format(value).strip() for value in row]
        cells.append(draw(st.sampled_from(["{}", "{}.0", "0{}", "{}e0", "+{}"])).format(label))
        if draw(st.booleans()):
            cells = [f'"{cell}"' for cell in cells]
        lines.append(delimiter.join(cells))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return f"a.csv{packing[0]}", packing[1]((mark + end.join(lines) + end).encode())


VALUES = [[1.5, 0.1], [2.0, 30.0], [0.25, 7.0], [1e-3, 2.5], [4.0, 5.0], [6.5, 0.75]]
CLASSES = [1, 2, 10, 2, 1, 10]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writing=written())
def test_the_same_data_written_differently_are_the_same_arrays(tmp_path_factory, writing):
    name, content = writing
    path = tmp_path_factory.mktemp("written") / name
    path.write_bytes(content)
    seen = look(path)
    assert [(float(label), count) for label, count in seen.classes.items()] == [(1, 2), (2, 2), (10, 2)]
    blocks = list(checked_blocks(seen.card(), [path], Counter()))
    np.testing.assert_array_equal(np.concatenate([X for X, _ in blocks]), VALUES)
    np.testing.assert_array_equal(np.concatenate([y for _, y in blocks]), [0, 1, 2, 1, 0, 2])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["1", "1.0", "01", "1e0", "2"], {"1": 4, "2": 1}),
        (["-0", "0.0", "1"], {"0": 2, "1": 1}),
        (["+1", "-1", "+1"], {"-1": 1, "+1": 2}),  # as written, where every label is written in one way
        (["1", "1.0", "x"], {"1": 1, "1.0": 1, "x": 1}),
        (["True", "TRUE", "false"], {"false": 1, "1": 2}),
        (["9007199254740992", "9007199254740993", "1"], {"1": 1, "9007199254740992": 1, "9007199254740993": 1}),
    ],
)
def test_labels_that_are_all_numbers_are_told_apart_by_their_values(tmp_path, labels, classes):
    rows = "".join(f"{i}.5,{label}\n" for i, label in enumerate(labels))
    seen = look(file(tmp_path, "a.csv", rows), task="classification")
    assert seen.classes == classes
    _, y = arrays(seen)
    assert len(set(y)) == len(classes)


def test_large_numbers_as_labels_stay_different_ones(tmp_path):
    labels = np.array([1234567, 1234568, 2**53, 2**53 + 1])
    np.savez(tmp_path / "a.npz", X=np.eye(4), y=labels)
    assert list(look(tmp_path / "a.npz").classes) == [*map(str, labels)]
    (tmp_path / "a.svm").write_text("1234567 1:1\n1234568 1:2\n")
    assert list(look(tmp_path / "a.svm").classes) == ["1234567", "1234568"]


def test_true_and_false_are_1_and_0(tmp_path):
    inputs, y = arrays(look(file(tmp_path, "a.csv", "a,b,y\nTrue,1,u\nfalse,2,v\nTRUE,3,u\n")))
    np.testing.assert_array_equal(inputs, [[1, 1], [0, 2], [1, 3]])
    assert y.tolist() == [-1, 1, -1]
    assert arrays(look(file(tmp_path, "b.csv", "1,True\n2,False\n"), task="regression"))[1].tolist() == [1, 0]


@pytest.mark.parametrize("header", ['"a\nb",c,y\n', "a,,y\n", '"",a,y\n', ",,y\n"])
def test_a_header_with_a_line_break_or_without_a_name_is_read_as_it_was_looked_at(tmp_path, header):
    inputs, _ = arrays(look(file(tmp_path, "a.csv", header + "5,2,u\n3,4,v\n")))
    np.testing.assert_array_equal(inputs, [[5, 2], [3, 4]])


@pytest.mark.slow
def test_an_archive_larger_than_memory_is_read_in_blocks(tmp_path):
    rows, columns = 4000, 2000  # 64 MB, of which a block is half
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((rows, columns)), y=np.arange(rows) % 2)
    code = f"""
import resource, sys
from rffbench.data.userfile import look
from rffbench.data.parse import read_blocks
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
card = look(__import__("pathlib").Path({str(tmp_path / "a.npz")!r})).card()
print(sum(len(block.X) for block in read_blocks(card, [__import__("pathlib").Path({str(tmp_path / "a.npz")!r})])))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    read, grown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert (int(read), float(grown) < 120) == (rows, True), grown


def test_a_file_that_does_not_fit_into_memory_is_refused_and_no_defect(tmp_path, monkeypatch):
    def too_large(_):
        raise MemoryError

    monkeypatch.setattr("rffbench.data.content.svmlight", too_large)
    with pytest.raises(DataError, match=r"a\.svm: it does not fit into memory; save it as a folder of \.npy shards"):
        look(file(tmp_path, "a.svm", LIBSVM))


def test_an_archive_s_end_is_sought_within_the_limit_of_a_packed_file(tmp_path, monkeypatch):
    """As of a small file that unpacks to terabytes: the list of an archive's members is at its end."""
    monkeypatch.setattr(unpack, "LEAST_LIMIT", 1_000_000)
    path = tmp_path / "d.npz.xz"
    path.write_bytes(lzma.compress(b"PK\3\4" + bytes(50_000_000), preset=0))
    with pytest.raises(RffbenchError, match=r"it holds more than .*1,000 times its size"):
        look(path)
