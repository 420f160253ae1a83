"""The same table, however it is written, is read as the same; what can be read in two ways is refused."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from rffbench.data.parse import read_blocks
from rffbench.data.tables import read_new_rows, read_table
from rffbench.data.userfile import described, look
from rffbench.errors import ConfigError, DataError, RffbenchError
from tests.helpers.written_tables import writings

WRITTEN = 300


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))


def file(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def same(read, values) -> bool:
    if isinstance(values, np.ndarray):
        return read.dtype.kind == "f" and np.array_equal(read.to_numpy(), values, equal_nan=True)
    return [str(each) for each in read] == [str(each) for each in values]


def without_unit(values):
    """Numbers, where every text is a number of centimetres."""
    if all(str(each).endswith(" cm") for each in values):
        return np.array([float(each.removesuffix(" cm")) for each in values])
    return values


def differences(writing, read) -> list[str]:
    table = writing.table
    if writing.ambiguous:
        return ["can be read in two ways, and was read"]
    if (read.task, len(read.frame), len(read.frame.columns)) != (table.task, table.rows, len(table.inputs)):
        return [f"{read.task}, {len(read.frame)} rows, {[*read.frame.columns]} for {[*table.inputs]}; {read.decisions}"]
    found = [
        f"{name}: {read.frame[column].head(3).tolist()} for {values[:3]}"
        for column, (name, values) in zip(read.frame.columns, table.inputs.items(), strict=True)
        if not same(read.frame[column], without_unit(values))
    ]
    return found if same(read.target, table.target) else [*found, f"y: {read.target.head(3)} for {table.target[:3]}"]


def check(folder, all_of_them):
    """At most one in a hundred files is refused that could be read, and none is read otherwise than it was written."""
    wrong, refused = [], []
    for i, writing in enumerate(all_of_them):
        (folder / str(i)).mkdir()
        try:
            read = read_table(file(folder / str(i), writing.name, writing.content), **writing.given)
        except RffbenchError as error:
            refused += [] if writing.ambiguous else [f"{writing.name}, {writing.how}: {error}"]
        else:
            wrong += [f"{i} {writing.name}, {writing.how}: {each}" for each in differences(writing, read)]
    assert wrong == []
    assert len(refused) <= len(all_of_them) / 100, refused


def test_the_same_table_is_read_the_same_however_it_is_written(tmp_path):
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyarrow")
    check(tmp_path, writings(20))


@pytest.mark.slow
def test_the_same_table_is_read_the_same_in_three_hundred_files(tmp_path):
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyarrow")
    check(tmp_path, writings(WRITTEN, seed=1))


# ---- Layouts ---------------------------------------------------------------------------------------------------

ROWS = "".join(f"{i}.5;{i * 7 % 10};{'uv'[i % 2]}\n" for i in range(20))


@pytest.mark.parametrize(
    "content",
    [
        "a;b;y\n" + ROWS,
        "sep=;\na;b;y\n" + ROWS,
        "# made by a tool\n\n# twice\na;b;y\n" + ROWS,
        "#a;b;y\n" + ROWS,
        ("a;b;y\n" + ROWS).encode("utf-16-le"),
        ("a;b;y\n" + ROWS).encode("utf-16"),
        "a;b;y\n" + ROWS.replace("\n", ";\n"),
        "a;b;y;\n" + ROWS.replace("\n", ";\n"),
        '"a" "b" "y"\n' + "".join(f'"{i}" {line}\n' for i, line in enumerate(ROWS.replace(";", " ").splitlines(), 1)),
        "a;b;y\r\n" + ROWS.replace("\n", "\r\n"),
        "a,b,y\n" + ROWS.replace(".", "p").replace(";", ",").replace("p", "."),
    ],
)
def test_what_programs_put_around_a_table_is_no_part_of_it(tmp_path, content):
    table = read_table(file(tmp_path, "a.csv", content))
    assert [*table.frame.columns] == ["a", "b"]
    np.testing.assert_array_equal(table.frame["a"], np.arange(20) + 0.5)
    np.testing.assert_array_equal(table.frame["b"], np.arange(20) * 7 % 10)
    assert table.classes == {"u": 10, "v": 10}


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12345\n", "is a Git LFS pointer"),
        (b"<!DOCTYPE html>\n<html>\n", "is a page of HTML"),
        (b"\x89HDF\r\n\x1a\n", "is HDF5"),
        (b"\x1f\x8b\x08\0", r"is packed by gzip, and its name does not end in \.gz"),
        (b"SQLite format 3\0", "is a database of SQLite"),
        (b"1,3 1:0.5 2:1\n2 1:1 3:2\n1,2 2:1\n", "a multilabel file in LIBSVM's format"),
        (b'{"a": [\n 1, 2]}\n', "looks like JSON"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.data"])
def test_a_file_that_is_no_table_is_refused_by_what_it_is(tmp_path, name, content, what):
    with pytest.raises(RffbenchError, match=what):
        look(file(tmp_path, name, content))


def test_two_readings_that_are_nearly_as_good_are_both_shown(tmp_path):
    rows = "".join(f"{'ab'[i % 2]}c|de,{'fg'[i % 3 % 2]}h\n" for i in range(30))
    with pytest.raises(DataError, match=r"2 cells .* with the delimiter .* and 2 cells .*; say which: {path: …, delim"):
        look(file(tmp_path, "a.csv", rows))
    assert look(tmp_path / "a.csv", delimiter="|").content.format["delimiter"] == "|"
    counted = "0,1\n" + "".join(f"{i % 3},{i % 2}\n" for i in range(20))
    with pytest.raises(DataError, match=r"the first line, 0, 1, may be a header or a row"):
        look(file(tmp_path, "b.csv", counted))
    assert [len(look(tmp_path / "b.csv", header=given).content.target) for given in (True, False)] == [20, 21]
    with pytest.raises(DataError, match=r"'1,200' can be read as 1\.200 \(decimal: ','\) or as 1200 \(thousands"):
        look(file(tmp_path, "c.csv", "".join(f"1,{i + 200};{'ab'[i % 2]}\n" for i in range(20)))).card()
    decimal = read_table(tmp_path / "c.csv", decimal=",").frame["x1"]
    thousands = read_table(tmp_path / "c.csv", thousands=",", keep=(0,)).frame["x1"]
    np.testing.assert_allclose(decimal, 1 + (np.arange(20) + 200) / 1000, rtol=1e-15)
    np.testing.assert_array_equal(thousands, np.arange(20) + 1200)


@pytest.mark.parametrize("decimal", [",", "."])
def test_a_decimal_mark_is_the_same_for_inputs_and_target_and_two_are_refused(tmp_path, decimal):
    rows = [f"{i % 7}.25;{i % 4}.5" for i in range(40)]
    table = read_table(file(tmp_path, "a.csv", "a;y\n" + "\n".join(rows).replace(".", decimal)))
    assert table.task == "regression"
    np.testing.assert_array_equal(table.target, [i % 4 + 0.5 for i in range(40)])
    assert any("with a comma" in each for each in table.decisions) == (decimal == ",")
    halves = [row.split(";") for row in rows]
    at = 0 if decimal == "," else 1
    mixed = "\n".join(
        ";".join(each.replace(".", ",") if i == at else each for i, each in enumerate(row)) for row in halves
    )
    with pytest.raises(
        DataError, match=r"has a decimal comma, and .* a decimal point: .*; write decimals with a point"
    ):
        look(file(tmp_path, "b.csv", "a;y\n" + mixed)).card()


def test_a_decimal_comma_that_comes_late_is_seen(tmp_path):
    rows = [f"{i};{i % 3}" for i in range(2000)] + ["0,5;1"]
    table = read_table(file(tmp_path, "a.csv", "a;y\n" + "\n".join(rows) + "\n"))
    assert table.frame["a"].iloc[-1] == 0.5


def test_na_is_a_class_if_it_is_said_to_be(tmp_path):
    content = "a,y\n" + "".join(f"{i % 7},{['NA', 'EU'][i % 2]}\n" for i in range(20))
    with pytest.raises(DataError, match=r"line 2, .*: the value is missing \('NA'\).* {path: …, missing: \[\]}"):
        look(file(tmp_path, "a.csv", content)).card()
    assert look(tmp_path / "a.csv", missing=[]).card().classes == {"EU": 10, "NA": 10}


# ---- Columns ---------------------------------------------------------------------------------------------------


def table_of_all_kinds(rows=40):
    draw = np.random.default_rng(0)
    return pd.DataFrame({
        "id": np.arange(rows) + 1000, "code": [f"c{i}" for i in range(rows)],
        "when": pd.date_range("2024-01-30", periods=rows), "same": "x", "none": np.nan,
        "size": draw.normal(size=rows), "colour": draw.choice(["red", "blue"], rows),
        "y": draw.normal(size=rows), "z": draw.normal(size=rows),
    })  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_columns_that_say_nothing_are_ignored_with_a_line_alike_in_every_container(tmp_path, kind):
    table = table_of_all_kinds()
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        table.to_csv(path, index=False)
    else:
        pytest.importorskip({"parquet": "pyarrow", "xlsx": "openpyxl"}[kind])
        getattr(table, {"parquet": "to_parquet", "xlsx": "to_excel"}[kind])(path, index=False)
    read = read_table(path, target=("y", "z"))
    assert [*read.frame.columns] == ["size", "colour"]
    assert [*read.target.columns] == ["y", "z"]
    np.testing.assert_allclose(read.target, table[["y", "z"]], rtol=1e-14)  # a workbook has 16 digits
    said = "\n".join(read.decisions)
    for name in ("id", "code", "when", "same", "none"):
        assert f"'{name}'" in said
    kept = read_table(path, target="y", keep=("id", "same"), dates="parts", ignore=("z",))
    assert [*kept.frame.columns] == ["id", "when", "same", "size", "colour"]
    assert kept.frame["when"].dt.day.head(3).tolist() == [30, 31, 1]


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_the_parts_of_dates_are_inputs_of_a_trial(tmp_path, kind):
    from rffbench.data.parse import read_blocks

    days = pd.to_datetime(["2024-02-29 12:30", "2023-12-31 00:15"] * 6)
    table = pd.DataFrame({"a": np.arange(12) % 5, "when": days, "y": np.arange(12) % 3})
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        table.to_csv(path, index=False)
    else:
        pytest.importorskip({"parquet": "pyarrow", "xlsx": "openpyxl"}[kind])
        getattr(table, {"parquet": "to_parquet", "xlsx": "to_excel"}[kind])(path, index=False)
    card = look(path, dates="parts").card()
    X = np.concatenate([block.X for block in read_blocks(card, [path])])
    np.testing.assert_array_equal(X[:2], [[0, 2024, 2, 29, 3, 12.5], [1, 2023, 12, 31, 6, 0.25]])


def test_a_date_whose_day_may_be_the_month_needs_its_format(tmp_path):
    content = "a,when,y\n" + "".join(f"{i % 4},0{i % 9 + 1}/0{i % 7 + 1}/2024,{i % 3}\n" for i in range(20))
    path = file(tmp_path, "a.csv", content)
    assert "dates" in look(path).decisions[0]
    with pytest.raises(
        DataError, match=r"the dates can be %d/%m/%Y or %m/%d/%Y; say which: {path: …, dates: '%d/%m/%Y'}"
    ):
        look(path, dates="parts").card()
    assert read_table(path, dates="%m/%d/%Y").frame["when"].dt.month.head(3).tolist() == [1, 2, 3]


def test_a_description_says_what_is_done_with_each_column_and_why(tmp_path):
    table_of_all_kinds().to_csv(tmp_path / "a.csv", index=False)
    said = [value for what, value in described(look(tmp_path / "a.csv", target="y")) if what == "column"]
    assert said[0] == "'id': ignored, a different whole number in every row, as an ID"
    assert said[2].startswith("'when': ignored, dates (%Y-%m-%d); with dates: parts they are year, month, day")
    assert said[5:8] == ["'size': numbers", "'colour': 2 different words", "'y': the target"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delimiter": ";;"}, "delimiter: must be a single character"),
        ({"decimal": ";"}, "decimal: must be one of"),
        ({"decimal": ",", "thousands": ","}, "are the same"),
        ({"keep": ("nme",)}, "keep: unknown column 'nme'"),
        ({"ignore": ("id",), "keep": ("id",)}, "keep: 'id' is ignored, too"),
        ({"targets": "y"}, "unknown option 'targets'; did you mean 'target'"),
        ({"target": ("y", "y")}, "a column is named twice"),
        ({"target": ("y", "z"), "task": "classification"}, "several targets are for a regression"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(tmp_path, given, message):
    table_of_all_kinds().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ConfigError, match=message):
        look(tmp_path / "a.csv", **given)


# ---- New rows --------------------------------------------------------------------------------------------------


def test_new_rows_have_the_columns_that_were_learnt_from_in_any_order_and_container(tmp_path):
    pytest.importorskip("pyarrow")
    table = table_of_all_kinds()
    table.to_csv(tmp_path / "a.csv", index=False)
    learnt = read_table(tmp_path / "a.csv", target="y")
    new = table.drop(columns=["y", "when"])[::-1][["colour", "z", "size", "id"]]
    new.to_csv(tmp_path / "b.csv", index=False, sep=";", decimal=",")
    new.to_parquet(tmp_path / "b.parquet", index=False)
    for name in ("b.csv", "b.parquet"):
        frame, notes = read_new_rows(tmp_path / name, learnt.reading)
        assert [*frame.columns] == [*learnt.frame.columns]
        pd.testing.assert_frame_equal(frame, learnt.frame[::-1].reset_index(drop=True))
        assert notes[0] == "columns that the model does not use: 'id'"
        assert ["decimals" in line for line in notes[1:]] == [True] * (name == "b.csv")
    new[["size"]].to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(DataError, match=r"c\.csv: has no column 'colour', 'z'; it has size"):
        read_new_rows(tmp_path / "c.csv", learnt.reading)


def test_new_rows_are_read_with_what_was_said_of_the_table(tmp_path):
    table = pd.DataFrame({"größe": np.arange(40) / 8, "b": np.arange(40) % 7, "y": np.arange(40) / 4})
    lines = "made by a tool\n1,2,3,4\n" + table.to_csv(index=False, sep="|", decimal=",")
    given = {"skip": 2, "delimiter": "|", "encoding": "utf-16-le"}
    learnt = read_table(file(tmp_path, "a.csv", lines.encode("utf-16-le")), **given)
    np.testing.assert_array_equal(learnt.frame, table[["größe", "b"]])
    reading = json.loads(json.dumps(learnt.reading))
    pd.testing.assert_frame_equal(read_new_rows(tmp_path / "a.csv", reading)[0], learnt.frame)
    table.to_csv(tmp_path / "b.csv", index=False)  # of another layout: said again
    frame, _ = read_new_rows(tmp_path / "b.csv", reading, skip=0, delimiter=",", encoding="utf-8")
    np.testing.assert_array_equal(frame, learnt.frame)


@pytest.mark.parametrize(
    ("text", "values", "note"),
    [
        ("a;b\n1.234;1\n", [1234, 1], ""),  # alone it would be 1.234
        ("a;b\n1,5;2\n", [1.5, 2], ""),
        ("a;b\n5;1,234\n", [5, 1.234], ""),
        ("a\n1,5\n", [1.5], ""),  # alone two cells
        ("a;b\n1.5;2\n", [1.5, 2], "decimals are written with '.', and in the model's table with ','"),
        ("a,b\n1.5,2\n", [1.5, 2], "decimals are written with '.', and in the model's table with ','"),
    ],
)
def test_new_rows_are_read_with_the_marks_of_the_table_where_they_can_be(text, values, note, tmp_path):
    rows = "".join(f"{i}.{i:03},{i % 10};{i % 7},5;{'uv'[i % 2]}\n" for i in range(1, 40))
    learnt = read_table(file(tmp_path, "a.csv", "a;b;y\n" + rows))
    assert learnt.frame["a"][0] == 1001.1
    reading = {**learnt.reading, "columns": learnt.reading["columns"][: len(values)]}
    frame, notes = read_new_rows(file(tmp_path, "b.csv", text), reading)
    assert frame.iloc[0].tolist() == values
    assert notes == [note] * bool(note)
    marks = {"decimal": ".", "delimiter": ";"}
    frame, _ = read_new_rows(file(tmp_path, "b.csv", "a;b\n1.234;1\n"), learnt.reading, **marks)
    assert frame.iloc[0].tolist() == [1.234, 1]


@pytest.mark.parametrize("first", ["", "plan,paid\n"])
def test_new_rows_of_a_table_without_a_header_may_have_one_and_lose_no_row(first, tmp_path):
    rows = "".join(f"{'rst'[i % 3]},{i % 7 / 2},{'uv'[i % 2]}\n" for i in range(40))
    learnt = read_table(file(tmp_path, "a.csv", rows), header=False)
    frame, _ = read_new_rows(file(tmp_path, "b.csv", first + "r,0.5\n"), learnt.reading)
    assert frame.to_numpy().tolist() == [["r", 0.5]]
    words = read_table(file(tmp_path, "a.csv", "".join(f"{'rst'[i % 3]},{i % 2}\n" for i in range(40))), header=False)
    assert read_new_rows(file(tmp_path, "b.csv", "t\nr\n"), words.reading)[0].to_numpy().tolist() == [["t"], ["r"]]


def test_new_rows_of_one_column_and_one_row_are_read(tmp_path):
    learnt = read_table(file(tmp_path, "a.csv", "a,y\n" + "".join(f"{i / 8},{i % 2}\n" for i in range(20))))
    frame, _ = read_new_rows(file(tmp_path, "b.csv", "a\n0.5\n"), learnt.reading)
    assert frame["a"].tolist() == [0.5]
    with pytest.raises(DataError, match=r"b\.csv: line 2, column 1 \('a'\): 'x' is not a number"):
        read_new_rows(file(tmp_path, "b.csv", "a\nx\n"), learnt.reading)


@pytest.mark.parametrize("marks", [{}, {"decimal": ","}])
def test_a_number_that_is_said_to_be_a_missing_value_is_one_in_a_column_of_numbers(tmp_path, marks):
    cells = ["-999" if i % 5 == 0 else f"{i}.5" if not marks else f"{i},5" for i in range(40)]
    text = "a;y\n" + "".join(f"{cell};{'uv'[i % 2]}\n" for i, cell in enumerate(cells))
    seen = look(file(tmp_path, "a.csv", text), missing=["-999"], **marks)
    assert seen.content.inputs.missing == {0: 8}
    found = read_table(tmp_path / "a.csv", missing=["-999"], **marks).frame["a"]
    np.testing.assert_array_equal(found, [np.nan if i % 5 == 0 else i + 0.5 for i in range(40)])


def test_a_date_of_new_rows_that_is_none_is_named_with_its_line(tmp_path):
    rows = "".join(f"2024-01-{i % 28 + 1:02},{i / 8},{'uv'[i % 2]}\n" for i in range(40))
    learnt = read_table(file(tmp_path, "a.csv", "when,b,y\n" + rows), dates="parts")
    new = file(tmp_path, "b.csv", "when,b\n2024-01-03,1\n,2\n2024-13-01,3\n")
    with pytest.raises(DataError, match=r"line 4, column 1 \('when'\): '2024-13-01' is no date of the format %Y-%m-%d"):
        read_new_rows(new, learnt.reading)
    frame, _ = read_new_rows(file(tmp_path, "b.csv", "when,b\n2024-01-03,1\n,2\n"), learnt.reading)
    assert frame["when"].isna().tolist() == [False, True]


def test_archives_and_libsvm_files_are_tables_of_numbers(tmp_path):
    X = np.round(np.random.default_rng(0).normal(size=(20, 3)), 3)
    content = io.BytesIO()
    np.savez(content, X=X, y=np.arange(20) % 2)
    learnt = read_table(file(tmp_path, "a.npz", content.getvalue()))
    np.testing.assert_array_equal(learnt.frame, X)
    assert learnt.classes == {"0": 10, "1": 10}
    rows = (" ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1)) for row in X.tolist())
    lines = "".join(f"{i % 2} {row}\n" for i, row in enumerate(rows))
    frame, _ = read_new_rows(file(tmp_path, "b.txt", lines), learnt.reading)
    np.testing.assert_array_equal(frame, X)


def test_a_line_that_may_be_a_comment_or_a_row_is_shown(tmp_path):
    rows = "".join(f"{'#' * (i < 2)}t{i % 4},{i % 5},{'uv'[i % 2]}\n" for i in range(20))
    with pytest.raises(
        DataError, match=r"'#t0,0,u' may be a comment or a row: it has 3 cells; say which: .*comment: ''"
    ):
        look(file(tmp_path, "a.csv", rows))
    assert [len(look(tmp_path / "a.csv", comment=mark).content.target) for mark in ("#", "")] == [18, 20]
    names = file(tmp_path, "b.csv", "# made by a tool\n# a, b, y\n" + rows.replace("#", ""))
    assert look(names, target="a").content.names == ["b", "y"]


def test_numbers_with_signs_are_refused_and_never_ignored_as_ids(tmp_path):
    content = "a,b,y\n" + "".join(f"${i}.{i % 9}0,{i % 7},{i % 2}\n" for i in range(40))
    with pytest.raises(
        DataError, match=r"column 'a': '\$0\.00' and its other texts are numbers with signs or units; .*ignore"
    ):
        look(file(tmp_path, "a.csv", content)).card()
    assert [*read_table(tmp_path / "a.csv", ignore=("a",)).frame.columns] == ["b"]


@pytest.mark.parametrize("unit", [" cm", "%", "°C", " €"])
def test_numbers_with_one_unit_are_numbers_in_every_reading(tmp_path, unit):
    values = np.arange(40) / 4
    cells = [f"{value}{unit}" for value in values]
    rows = [f"{cell};{i % 7};{'ab'[i % 2]}\n" for i, cell in enumerate(cells)]
    path = file(tmp_path, "a.csv", "length;n;y\n" + "".join(rows))
    table = read_table(path)
    np.testing.assert_array_equal(table.frame["length"], values)
    (block,) = read_blocks(look(path).card(), [path])
    np.testing.assert_array_equal(block.X[:, 0], values)
    new = file(tmp_path, "new.csv", f"length;n\n3.5{unit};1\n7;2\n")
    frame, _ = read_new_rows(new, table.reading)
    assert [*frame["length"]] == [3.5, 7.0]
    assert read_table(path, categories=("length",)).frame["length"][1] == cells[1]


def test_numbers_with_several_units_or_words_among_them_stay_words(tmp_path):
    for other in ("1 m", "tall", "cm"):
        content = "length,n,y\n" + "".join(f"{i % 5} cm,{i % 7},{i % 2}\n" for i in range(40)) + f"{other},1,1\n"
        assert other in {*read_table(file(tmp_path, "a.csv", content)).frame["length"]}


def test_years_in_order_are_an_input_and_numbers_of_rows_are_not(tmp_path):
    for begins, columns in ((1990, ["n", "b"]), (1, ["b"])):
        content = "n,b,y\n" + "".join(f"{begins + i},{i % 7},{i % 2}\n" for i in range(40))
        assert [*read_table(file(tmp_path, "a.csv", content)).frame.columns] == columns
