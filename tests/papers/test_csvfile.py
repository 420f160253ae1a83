"""Promises of a paper's CSV files: what is wrong in one is refused with its line and column."""

import pytest

from rffbench import papers
from rffbench.errors import ConfigError
from rffbench.papers import csvfile

GOOD = "dataset,method,score,extra\nEEG,RFF,1.5,a\n\nEEG,QMC,2,b\n"


def load(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return csvfile.load(path, text=["dataset", "method"], numbers=["score"], optional=["tolerance"])


def test_numbers_are_numbers_and_the_rest_is_as_printed(tmp_path):
    table = load(tmp_path, GOOD)
    assert table["score"].tolist() == [1.5, 2.0]
    assert table["extra"].tolist() == ["a", "b"]


def test_a_mark_before_the_text_as_spreadsheets_write_it_is_no_part_of_a_column_s_name(tmp_path):
    assert load(tmp_path, b"\xef\xbb\xbf" + GOOD.encode())["score"].tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; its first line must name the columns"),
        (GOOD.replace("score", "scores"), "line 1: no column 'score'; is it 'scores'\\?"),
        (GOOD.replace("score", "x"), "line 1: no column 'score'; the columns are dataset, method, x, extra"),
        (GOOD.replace("extra", "score"), "line 1: the column 'score' is there twice"),
        (GOOD.replace("2,b", "2"), "line 4: 3 cells, but the first line names 4 columns"),
        (GOOD.replace("2,b", "two,b"), "line 4, column 'score': must be a number, not 'two'"),
        (GOOD.replace("2,b", ",b"), "line 4, column 'score': must be a number, not ''"),
        (GOOD.replace("2,b", "-inf,b"), "line 4, column 'score': must be a finite number, not '-inf'"),
        (GOOD.replace("2,b", "1e999,b"), "line 4, column 'score': must be a finite number, not '1e999'"),
        (GOOD.replace("extra", "tolerance"), "line 2, column 'tolerance': must be a number, not 'a'"),
        (GOOD.replace("EEG,QMC", ",QMC"), "line 4, column 'dataset': is empty"),
        (GOOD + 'EEG,"Ours,1,c\n', "line 5: is not CSV"),
        (b"dataset\n\xff\n", "line 2: is not UTF-8 text; save it as UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line_and_column(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as refused:
        load(tmp_path, text)
    assert str(refused.value).startswith(str(tmp_path / "table.csv"))


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A folder of papers with one, which a test spoils."""
    (tmp_path / "references.yaml").write_text(
        "papers:\n  lu1999:\n    datasets: {eeg: EEG}\n    tables:\n      table1:\n        title: Table 1\n"
        "        columns: {reported: score}\n        tolerance: 1\n"
    )
    (tmp_path / "lu1999.json").write_text(
        '[\n  {"title": "T",\n   "genre": "Notes",\n   "author": [{"family": "Lu"}]}\n]\n'
    )
    (tmp_path / "lu1999_table1.csv").write_text(GOOD)
    (tmp_path / "lu1999_datasets.csv").write_text("dataset,n_features\nEEG,14\n")
    monkeypatch.setattr(papers, "FOLDER", tmp_path)
    papers.references.cache_clear()
    yield tmp_path
    papers.references.cache_clear()


def all_of_it():
    reference = papers.load_reference("lu1999-table1")
    return reference.citation, len(reference.numbers()), len(reference.dataset_statistics())


def test_a_paper_that_is_right_is_read(paper):
    assert all_of_it() == ("Lu, T, Notes, Table 1", 2, 1)


@pytest.mark.parametrize(
    ("file", "right", "wrong", "message"),
    [
        (
            "lu1999_table1.csv",
            "EEG,QMC",
            "EGG,QMC",
            "line 4, column 'dataset': unknown dataset 'EGG'; did you mean 'EEG'",
        ),
        ("lu1999_table1.csv", "QMC", "RFF", "line 4: a second row of EEG, RFF"),
        ("lu1999_datasets.csv", "14", "many", "line 2, column 'n_features': must be a number, not 'many'"),
        ("lu1999_datasets.csv", "EEG", "EGG", "line 2, column 'dataset': unknown dataset 'EGG'"),
        ("lu1999.json", '"family"', '"name"', "line 4: the key 'family' is missing"),
        ("lu1999.json", '"T",', '"T"', "line 3: "),
        ("references.yaml", "{reported:", "{reportd:", "line 7: .*unknown column 'reportd'; did you mean 'reported'"),
        ("references.yaml", "{reported:", "{multiple:", "line 7: .*must name the column for reported"),
    ],
)
def test_a_paper_that_is_wrong_is_refused_with_file_and_line(paper, file, right, wrong, message):
    path = paper / file
    path.write_text(path.read_text().replace(right, wrong, 1))
    with pytest.raises(ConfigError, match=message) as refused:
        all_of_it()
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (["0.250", "12.125", "3.000"], [0.0005] * 3),  # a number of decimals
        (["76.3774", "0.487972", "78.31"], [0.00005, 0.0000005, 0.00005]),  # six digits, without zeros at the end
        (["2.5e-3", "1.5e-1"], [0.00005, 0.005]),
        (["0.00", "0.25", "12"], [0.005, 0.005, 0.5]),
    ],
)
def test_a_number_is_known_to_half_a_unit_of_its_last_place(tmp_path, printed, expected):
    table = load(tmp_path, "dataset,method,score\n" + "".join(f"EEG,RFF,{each}\n" for each in printed))
    assert csvfile.half_a_unit(table, "score") == pytest.approx(expected)
