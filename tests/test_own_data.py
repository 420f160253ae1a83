"""From a file of one's own to a table, as a user does it."""

import hashlib
import json
import re

import pytest

from tests.helpers.own_data import NUMBERS, YES

CONFIG = """
name: own
datasets:
  - ./mine.csv
  - {path: data/other.csv, target: b, task: regression, name: second}
n_features: [2]
methods:
  RFF: {features: fourier}
solver: {name: ridge, lambda: [0.1], folds: 2}
trials: 2
kernel_error_points: 5
"""


@pytest.fixture
def mine(tmp_path):
    """A config of one's own data, in a folder beside it."""
    (tmp_path / "data").mkdir()
    (tmp_path / "mine.csv").write_text(YES * 5)
    (tmp_path / "data" / "other.csv").write_text("a,b,c,d\n" + NUMBERS * 5)
    (tmp_path / "own.yaml").write_text(CONFIG)
    return tmp_path


@pytest.mark.slow
def test_data_by_path_is_run_and_nothing_that_is_written_tells_its_folder(rffbench_in, mine, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    result = rffbench_in(elsewhere, "run", mine / "own.yaml", "--workers", "1")
    assert result.returncode == 0, result.stderr
    folder = elsewhere / "results" / "own"
    rows = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    assert [(row["dataset"], row["status"]) for row in rows] == [("mine", "ok")] * 2 + [("second", "ok")] * 2
    assert "rmse" in rows[-1]["metrics"]
    for name in ("config.yaml", "manifest.json", "trials.jsonl", "summary.csv", "table.md"):
        assert str(mine) not in (folder / name).read_text(), name
    assert json.loads((folder / "manifest.json").read_text())["data_checksums"]["mine"].startswith("sha256:")

    # The config that is written stands for itself: its trials are those that are done.
    again = rffbench_in(elsewhere, "run", folder / "config.yaml", "--dry-run")
    assert "4 trials, 4 already done" in again.stdout
    shown = rffbench_in(elsewhere, "table", folder).stdout
    assert "test RMSE of second" in " ".join(shown.split())  # lines are wrapped


def test_a_bare_name_is_a_file_where_no_dataset_is_called_so(rffbench_in, mine):
    (mine / "mine.csv").rename(mine / "mine.data")
    (mine / "digits").write_text(YES)  # a dataset's name stays one
    (mine / "own.yaml").write_text(CONFIG.replace("./mine.csv", "mine.data").replace("{path", "digits\n  - {path"))
    result = rffbench_in(mine, "run", "own.yaml", "--dry-run")
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[:4] for line in lines if line[:1] in (["mine"], ["digits"])] == [
        ["mine", "3", "10", "10"], ["digits", "64", "898", "899"],
    ]  # fmt: skip


@pytest.mark.slow
def test_another_file_of_the_same_name_is_told_apart(rffbench_in, mine):
    def accuracy(results):
        done = rffbench_in(mine, "run", "own.yaml", "--results", results, "--only", "dataset=mine", "--workers", "1")
        assert done.returncode == 0, done.stderr
        row = json.loads((mine / results / "own" / "trials.jsonl").read_text().splitlines()[0])
        return row["data_hash"], row["metrics"]["accuracy"]

    first = accuracy("first")
    (mine / "mine.csv").write_text("".join(f"{i},0.5,{'yes' if i % 2 else 'no'}\n" for i in range(20)))
    second = accuracy("second")
    assert first[0] != second[0]
    anew = rffbench_in(mine, "run", "own.yaml", "--results", "first")
    assert anew.returncode == 0, anew.stderr
    assert "of other data: mine has changed; they are kept in" in anew.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("./mine.csv", "./mien.csv", "line 4: datasets.1: mien.csv: no such file; did you mean mine.csv?"),
        ("target: b", "target: e", "line 5: datasets.2: other.csv: target: unknown column 'e'"),
        ("target: b", "targets: b", "unknown key 'targets'; did you mean 'target'?"),
        ("name: second", "name: eeg", "there is another dataset called 'eeg' already; give this one a name of its own"),
        ("target: b", "target: [b, b]", "line 5: datasets.2: other.csv: target: a column is named twice"),
        ("data/other.csv, target: b", "card.yaml", "card.yaml is a card, which says this itself: change it there"),
        ("task: regression", "task: sorting", "must be classification or regression, not 'sorting'"),
        (
            "name: second",
            "name: mine",
            "datasets.2: ./mine.csv and data/other.csv are both called 'mine'",
        ),
    ],
)
def test_a_wrong_path_or_setting_is_refused_with_the_configs_line(rffbench_in, mine, old, new, message):
    (mine / "own.yaml").write_text(CONFIG.replace(old, new))
    result = rffbench_in(mine, "validate", "own.yaml")
    assert result.returncode == 2
    assert message in result.stderr


def test_a_sweep_takes_data_by_path(rffbench_in, mine):
    (mine / "own.yaml").write_text(
        CONFIG + "sweep: {data: {one: {datasets: [mine.csv]}, other: {datasets: [second]}}}\n"
    )
    assert rffbench_in(mine, "validate", "own.yaml").stdout == "own.yaml: OK; 4 trials\n"


def test_describe_says_what_it_sees_and_writes_a_card_that_a_config_takes(rffbench_in, mine):
    (mine / "cards").mkdir()
    result = rffbench_in(mine, "datasets", "describe", "mine.csv", "--write-card", "cards/written.yaml")
    assert (result.returncode, result.stderr) == (0, "")
    said = dict(line.split(None, 1) for line in result.stdout.splitlines() if line[0] != " ")
    assert (said["rows"], said["inputs"], said["delimiter"], said["header"]) == ("20", "3", ",", "no")
    assert (said["target"], said["task"], said["missing"]) == ("column 4 of 4", "classification", "none")
    assert "class         yes: 10, 50.0% (+1)" in result.stdout
    (mine / "own.yaml").write_text(CONFIG.replace("./mine.csv", "./cards/written.yaml"))
    done = rffbench_in(mine, "run", "own.yaml", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert '"dataset": "written"' in (mine / "results" / "own" / "trials.jsonl").read_text()


def test_describe_says_what_keeps_a_file_from_being_used_by_its_status_too(rffbench_in, mine):
    (mine / "mine.csv").write_text("a,b\n1,\n2,x\n")
    result = rffbench_in(mine, "datasets", "describe", "mine.csv")
    assert result.returncode == 3
    assert "missing       1\nfault         line 2, column 2 ('b'): the value is missing ('')" in result.stdout
    assert rffbench_in(mine, "datasets", "describe", "mien.csv").returncode == 2


@pytest.mark.slow
def test_a_folder_of_cards_is_given_by_the_environment(rffbench_in, mine):
    (mine / "cards").mkdir()
    rffbench_in(mine, "datasets", "describe", "mine.csv", "--write-card", "cards/written.yaml")
    (mine / "own.yaml").write_text(CONFIG.replace("./mine.csv", "written"))
    folders = {"RFFBENCH_DATASETS": str(mine / "cards")}
    assert "\nwritten " in rffbench_in(mine, "datasets", "list", **folders).stdout
    assert rffbench_in(mine, "run", "own.yaml", "--workers", "1", **folders).returncode == 0
    none = rffbench_in(mine, "validate", "own.yaml", RFFBENCH_DATASETS=str(mine / "none"))
    assert none.returncode == 2
    assert "unknown dataset 'written'" in none.stderr
    assert "RFFBENCH_DATASETS: there is no folder" in none.stderr


JOBS = ("cook", "nurse", "clerk")
TABLE = "age,job,happy\n" + "".join(
    f"{'' if i % 7 == 3 else 20 + i},{'' if i % 11 == 5 else JOBS[i % 3]},{'yes' if i % 4 else 'no'}\n"
    for i in range(60)
)
STEPPED = """
name: own
datasets: [./mine.csv]
preprocess: {steps}
n_features: [1d]
methods:
  RFF: {{features: fourier}}
solver: {{name: ridge, lambda: [0.1], folds: 2}}
trials: 3
kernel_error_points: 5
"""


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("minmax", r"line 5, column 1 \('age'\): the value is missing .* begin preprocess with impute-most-frequent; "
         r".*line 2, column 2 \('job'\): 'cook' is not a number; put onehot into preprocess"),
        ("[impute-median, onehot]", r"mine: has missing words: preprocess: \[impute-most-frequent, …\]"),
        ("[minmax, onehot]", r"onehot comes before the steps that scale: \[onehot, minmax\]"),
        ("[onehot, impute-median]", r"onehot comes after the steps that fill: \[impute-median, onehot\]"),
    ],
)  # fmt: skip
def test_missing_values_and_words_are_refused_with_the_steps_that_mend_them(rffbench_in, tmp_path, steps, message):
    (tmp_path / "mine.csv").write_text(TABLE)
    (tmp_path / "own.yaml").write_text(STEPPED.format(steps=steps))
    result = rffbench_in(tmp_path, "validate", "own.yaml")
    assert result.returncode == 2
    assert re.search(message, result.stderr), result.stderr


@pytest.mark.slow
def test_a_table_with_missing_values_and_words_is_run_with_as_many_columns_in_every_trial(rffbench_in, tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE)
    (tmp_path / "own.yaml").write_text(STEPPED.format(steps="[impute-median, impute-most-frequent, onehot, standard]"))
    result = rffbench_in(tmp_path, "run", "own.yaml", "--workers", "1")
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in (tmp_path / "results/own/trials.jsonl").read_text().splitlines()]
    assert [(row["status"], row["n_features"]) for row in rows] == [("ok", 1 + 2 + 3)] * 3  # age, 2 indicators, 3 jobs
    described = rffbench_in(tmp_path, "datasets", "describe", "mine.csv")
    assert described.returncode == 0
    assert "needs         line 5, column 1 ('age')" in described.stdout


UNEQUAL = """
name: own
datasets: [breast-cancer]
preprocess: minmax
n_features: [10, 20]
methods:
  RFF: {features: fourier}
  Mine: {features: ./mine.py:Mine}
solver: {name: ridge, lambda: [0.1], folds: 2}
trials: 1
kernel_error_points: 0
"""


@pytest.mark.slow
def test_methods_with_unequal_columns_are_told_with_the_numbers_before_and_after_a_run(rffbench_in, tmp_path):
    rffbench_in(tmp_path, "new", "method", "mine")
    (tmp_path / "own.yaml").write_text(UNEQUAL)
    numbers = (
        "n 2 cells the methods have unequal numbers of columns at one size. On breast-cancer Mine has 10 and RFF 20; "
    )
    assert numbers in rffbench_in(tmp_path, "validate", "own.yaml").stderr
    assert numbers in rffbench_in(tmp_path, "run", "own.yaml", "--dry-run").stdout
    ran = rffbench_in(tmp_path, "run", "own.yaml", "--workers", "1")
    assert numbers in " ".join(ran.stdout.split())
    shown = rffbench_in(tmp_path, "table", "results/own", "--metric", "columns").stdout
    assert [line.split() for line in shown.splitlines() if "20" in line and "has" not in line] == [
        ["breast-cancer", "10", "20", "10"], ["20", "40", "20"]
    ]  # fmt: skip

    (tmp_path / "own.yaml").write_text(UNEQUAL + "count: columns\n")
    validated = rffbench_in(tmp_path, "validate", "own.yaml")
    assert validated.returncode == 0
    assert "columns" not in validated.stderr
    again = rffbench_in(tmp_path, "run", "own.yaml", "--workers", "1", "--results", "equal")
    assert "unequal" not in again.stdout


def card_of(name, columns):
    """A card of mine.csv, whose first 12 rows are for training, with these targets."""
    checksum = hashlib.sha256((NUMBERS * 5).encode()).hexdigest()
    file = f"{{name: mine.csv, checksum: 'sha256:{checksum}', urls: ['file:mine.csv']}}"
    return (
        f"name: {name}\ntitle: Mine\ntask: regression\nrows: 20\ncolumns: 2\nlicence: none\ncitation: none\n"
        f"split: {{rule: given, train: 12, test: 8}}\nformat: {{kind: csv, {columns}}}\nfiles: [{file}]\n"
    )


@pytest.mark.slow
def test_the_error_of_two_targets_is_the_mean_of_both(rffbench_in, mine):
    (mine / "mine.csv").write_text(NUMBERS * 5)
    cards = {"both": "targets: [2, 3]", "one": "target: 2, ignore: [3]", "other": "target: 3, ignore: [2]"}
    for name, columns in cards.items():
        (mine / f"{name}.yaml").write_text(card_of(name, columns))
    config = (
        "name: own\ndatasets: [./both.yaml, ./one.yaml, ./other.yaml]\nn_features: [2]\nscores: [mse]\ntrials: 1\n"
        "kernel_error_points: 0\nmethods:\n  exact: {features: none, solver: {name: kernel-ridge, lambda: [0.1]}}\n"
        "  RFF: {features: fourier, solver: {name: ridge, lambda: [0.1]}}\n"
    )
    (mine / "own.yaml").write_text(config)
    done = rffbench_in(mine, "run", "own.yaml", "--workers", "1")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (mine / "results" / "own" / "trials.jsonl").read_text().splitlines()]
    assert len(rows) == 6
    mse = {row["dataset"]: row["metrics"]["mse"] for row in rows if row["method"] == "exact"}
    assert mse["both"] == pytest.approx((mse["one"] + mse["other"]) / 2)

    (mine / "own.yaml").write_text(config + "  boosted: {features: none, solver: {name: boosting}}\n")
    refused = rffbench_in(mine, "validate", "own.yaml")
    assert refused.returncode == 2
    assert "methods.boosted.solver: the solver boosting learns one target, and both has 2" in refused.stderr
