"""What is wrong in a command, a config, a card or a data file is said in one message: what, where, what would do."""

import hashlib
import io
import os
import shutil
import signal
import sys

import numpy as np
import pytest

from rffbench import api, cli, data, papers
from rffbench.cli import main
from rffbench.data.cards import add_card, load_card, read_card
from rffbench.data.fetch import raw_path
from rffbench.errors import ConfigError, DataError
from rffbench.papers import hyperparameters
from tests.helpers.cases import slow
from tests.helpers.tiny_config import TINY as CONFIG

# Words of the validation library, of Python or of YAML's reader, which say nothing to who writes a config.
JARGON = (
    "Input should", "input should", "Value error", "after validation", "valid string", "valid dictionary",
    "match pattern", "Traceback", "This is a defect", "NoneType", "discriminator", "<block end>", "allow_pickle",
    "Extra inputs", "not None",
)  # fmt: skip


@pytest.fixture
def told(tmp_path, monkeypatch, capsys, embedded):
    """Run a command in an empty folder with these files in it; its exit status, and what it says on stderr."""

    def run(*arguments, files=None, **environment):
        for name, text in (files or {}).items():
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["rffbench", *arguments])
        monkeypatch.setattr(cli, "adapt_standard_streams", lambda: None)  # standard output is pytest's here
        interrupt = signal.getsignal(signal.SIGINT)
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            signal.signal(signal.SIGINT, interrupt)
        return ended.value.code, capsys.readouterr().err

    return run


def refused(result, *words, status=2):
    code, message = result
    assert code == status, message
    for each in words:
        assert each in message
    for each in JARGON:
        assert each not in message


# ---- Configs -----------------------------------------------------------------------------------------------

LINES = {line.partition(":")[0]: number for number, line in enumerate(CONFIG.splitlines(), start=1)}
# What takes the place of a line of the config, by its key, or is a line more; and what is said of that line.
WRONG = [
    ("name:", "must be text, not nothing"),
    ("name: ''", "must be letters, digits"),
    ("name: 5", "must be text, not 5; in quotes it is: '5'"),
    ("name: true", "must be text, not true"),
    (f"name: {'x' * 300}", "must be 100 long at most"),
    ('name: "\\ud800"', "must be text that can be written as UTF-8"),
    ("title: [a]", "title: must be text, not ['a']"),
    ("datasets:", "must be a list, such as [a, b], not nothing"),
    ("datasets: []", "datasets: must not be empty"),
    ("kernel: {sigma: {times_median: [1.0], columns: 64, rows: 100}}", "times_median: must have 2 or more, not [1.0]"),
    ("datasets: digits", "must be a list, such as [a, b], not 'digits'"),
    (f"datasets: [{'d' * 300}]", "datasets.1: unknown dataset 'ddd"),  # which could be the name of no file
    ("datasets: [digits, digits]", "'digits' is given twice"),
    ("datasets: [./]", "holds no shards"),
    ("datasets: ['https://x.org/a.csv']", "is a URL; download it and give the file"),
    ("datasets: ['file://x.csv']", "file://x.csv: must be a whole path, file:///…; from the config's folder it is ./"),
    ("datasets: [{path: 5}]", "datasets.1.path: must be text, not 5"),
    ("datasets: [{path: x.csv, name: 'a,b'}]", "datasets.1.name: must be letters, digits"),
    ("datasets: [{path: x.csv, task: clasification}]", "not 'clasification'; did you mean 'classification'?"),
    ("datasets: [{path: x.csv, header: 1}]", "must be true or false, not 1"),
    ("preprocess: []", "preprocess: must not be empty"),
    ("preprocess: 5", "must be text, not 5"),
    ("preprocess: [minmax, minmax]", "'minmax' is given twice"),
    ("preprocess_fit: both", "must be train, all or parts, not 'both'"),
    ("train_rows: 0", "must be greater than 0, not 0"),
    ("train_rows: half", "must be a whole number, not 'half'"),
    ("train_rows: 100000", "train_rows: 100000 are more than the 898 training rows of digits"),
    ("train_rows: {digits: 899}", "train_rows.digits: 899 are more than the 898"),
    ("held_out: half", "must be a number, not 'half'"),
    ("held_out: .nan", "must be a finite number"),
    ("held_out: 0.99999", "leaves none of the 898 training rows of digits"),
    ("kernel:", "must be a mapping (key: value), not nothing"),
    ("kernel: gaussian", "kernel: must be a mapping (key: value), not 'gaussian'; give {name: gaussian}"),
    ("kernel: {sigma: [1, 1]}", "1 is given twice"),
    ("n_features: [1000000000]", "must be 1,000,000 at most, not 1000000000"),
    ("n_features: 1000000000", "must be 1,000,000 at most"),
    ("n_features: [100000000000d]", "must be 1,000,000 at most"),
    ("n_features: {default: []}", "must not be empty"),
    ("count: rows", "must be frequencies or columns, not 'rows'"),
    ("solver:", "must be a mapping (key: value), not nothing"),
    ("solver: ridge", "solver: must be a mapping (key: value), not 'ridge'; give {name: ridge}"),
    ("solver: {name: ridge, folds: 1000}", "solver.folds: 1000 are more than the 898 training rows of digits"),
    ("solver: {lambda: [0.1, 0.1]}", "solver.lambda: solver 'ridge': lambda gives 0.1 twice"),
    ("solver: {lambda: ['0.1', 0.1]}", "gives 0.1 twice"),
    ("trials: [2]", "must be a whole number, not [2]"),
    ("trials: 0", "must be greater than 0, not 0"),
    ("seed: -1", "must be 0 or more, not -1"),
    ("significance: {level: 2}", "must be less than 1, not 2"),
    ("significance: {correction: bonferroni}", "must be none or holm, not 'bonferroni'"),
    ("significance: {baselines: RFF}", "must be a list, such as [a, b], not 'RFF'"),
    ("significance: {baselines: [RFF, RFF]}", "'RFF' is given twice"),
    ("kernel_error_points: {digits: -1}", "must be 0 or more, not -1"),
    ("timing: alone", "must be shared, exclusive or features, not 'alone'"),
    ("timing: exclusiv", "did you mean 'exclusive'?"),
    ("time_limit: [1]", "must be a number, not [1]"),
    ("memory: 0.5", "must be a whole number, not 0.5"),
    ("dtype: float16", "must be float64 or float32, not 'float16'; did you mean"),
    ("device: gpu", "must be cpu or cuda, not 'gpu'; did you mean 'cuda'?"),
    ("measures: kernel_error", "must be a list"),
    ("measures: [kernel_error, kernel_error]", "'kernel_error' is given twice"),
    ("executor: local", "must be a mapping (key: value), not 'local'; give {name: local}"),
    ("executor: {nam: local}", "the key 'name' is missing under executor; is 'nam' meant for it?"),
    ("sweep: {n: {}}", "sweep.n: must not be empty"),
    ("sweep: {kernel.sigma: 1}", "sweep.kernel.sigma: must be labels and what each changes, such as {narrow: "),
    ("sweep: {kernel.sigma: [1, 2, 1]}", "sweep.kernel.sigma.3: gives 1 twice"),
    ("sweep: {kernel.sigma: []}", "sweep.kernel.sigma: must not be empty"),
    ("sweep: {kernel.sgima: [1, 2]}", "1 is not a valid config: kernel.sgima: "),
    ("sweep: {sigma: {small: 1}}", "sweep.sigma: must be labels and what each changes, such as {narrow: "),
    ("sweep: {n: {a: {name: x}, b: {name: y}}}", "no trial depends on the name, so that it cannot be swept"),
    ("sweep: {n: {a: {title: x}}}", "no trial depends on the title"),
    ("sweep: {n: {a: {sweep: {x: {y: {seed: 1}}}}}}", "no trial depends on the sweep"),
    ("sweep: {n: {a: {executor: {name: serial}}}}", "no trial depends on the executor"),
    ("sweep: {'': {b: {seed: 1}}}", "must be text that is not blank"),
    ("sweep: {a: {b: {sed: 1}}}", "a: b is not a valid config: sed: unknown key 'sed'; did you mean 'seed'?"),
    ("sweep: {a: {b: {trials: 0}}}", "a: b is not a valid config: trials.default: must be greater than 0"),
    ("sweep: {a: {x: {seed: 1}, y: {seed: 1}}}", "sweep.a.y: says the same as x"),
    ("sweep: {a: {x: {seed: 1}}, b: {y: {seed: 2}}}", "sweep.b: sets seed, as a does, which then has no effect"),
    ("sweep: {a: {x: {datasets: [nope]}}}", "a: x is not a valid config: datasets.1: unknown dataset 'nope'"),
    ("preprocess: [none, minmax]", "none means no step at all, and cannot be combined with others"),
    ("kernel: {name: gaussian, sigma: true}", "or a list of them, or median, not true"),
    ("n_features: [true]", "such as 16d, not true"),
    ("n_features: [0d]", "such as 16d, not '0d'"),
    ("n_features: [1:30]", "such as 16d, not '1:30'"),
    ("datasets: [null]", "{path: …, target: …}, not nothing"),
    ("datasets: [{path: ./x.csv, target: 1.0}]", "datasets.1.target: must be a column's name or its number"),
    ("datasets: ['openml:-1']", "an OpenML dataset is given by its number, as in openml:1471"),
    ("title: !!python/object/apply:os.system [ls]", "has a tag (!…), for which nothing is read here"),
    ("title: !!binary aGVsbG8=", "title: must be text, not binary data"),
    ("5: 6", "5: a key must be text, not 5; in quotes it is: '5'"),
    ("? [a, b]", "a key must be plain text"),
    ("sweep: {a: {b: {preprocess: minmx}}}", "unknown preprocess step 'minmx'; did you mean 'minmax'?"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line[:60] for line, _ in WRONG])
def test_what_is_wrong_in_a_config_is_said_in_its_words_with_the_line(told, line, message):
    key = line.partition(":")[0]
    lines = CONFIG.splitlines()
    number = LINES.get(key, len(lines) + 1)
    lines[number - 1 : number] = [line]
    result = told("validate", "c.yaml", files={"c.yaml": "\n".join(lines), "x.csv": "1,2,a\n2,3,b\n"})
    refused(result, f"c.yaml, line {number}: ", message)


@pytest.mark.parametrize("solver", ["", "solver: {name: ridge}\n"])
def test_folds_that_nobody_has_written_are_told_on_the_line_of_the_rows(told, solver):
    text = CONFIG[: CONFIG.index("solver:")] + solver + "train_rows: 1\n"
    message = "train_rows: solver.folds, 5 by default, are more than the 1 training row of digits"
    refused(told("validate", "c.yaml", files={"c.yaml": text}), f"c.yaml, line {text.count(chr(10))}: {message}")


OF_A_METHOD = [
    ("methods: {}", "methods: must not be empty"),
    (
        "methods: {RFF: {feature: fourier}}",
        "the key 'features' is missing under methods.RFF; is 'feature' meant for it?",
    ),
    ("methods: {RFF: {features: 5}}", "methods.RFF.features: must be text, not 5"),
    ("methods: {RFF: {features: none}}", "the solver ridge needs a feature map, not none"),
    ("methods: {RFF: {features: fourier, datasets: []}}", "methods.RFF.datasets: must not be empty"),
    ("methods: {RFF: {features: fourier, n_features: []}}", "methods.RFF.n_features: must not be empty"),
    (
        "methods: {T: {features: tefm, expansion: 1000000000}}",
        "methods.T: makes 8,000,000,000 columns to choose 8 from; 1,000,000 at most",
    ),
    ("methods: {RFF: fourier}", "methods.RFF: must be a mapping (key: value), not 'fourier'; give {features: fourier}"),
    ("methods: {RFF: {features: fourier, kernel: gaussian}}", "methods.RFF.kernel: must be a mapping"),
    ("methods: {RFF: {features: fourier, solver: ridge}}", "not 'ridge'; give {name: ridge}"),
    ("methods: {RFF: {features: './c.yaml:X'}}", "your own class must be in a .py file: ./mine.py:MyFeatures"),
    ("methods: {T: null}", "methods.T: must be a mapping (key: value), not nothing"),
    ("methods: {5: {features: fourier}}", "must be text, not 5; in quotes it is: '5'"),
    ("methods: {'': {features: fourier}}", "must be text in one line, without commas"),
    ("methods: {' RFF': {features: fourier}}", "that begins and ends with no blank"),
    ('methods: {"a\\nb": {features: fourier}}', r"methods.'a\nb': must be text in one line"),
]


@pytest.mark.parametrize(("methods", "message"), OF_A_METHOD, ids=[methods for methods, _ in OF_A_METHOD])
def test_what_is_wrong_with_a_method_is_said_in_the_config_s_words(told, methods, message):
    head, _, tail = CONFIG.partition("methods:")
    text = head + methods + "\n" + tail[tail.index("solver:") :]
    refused(told("validate", "c.yaml", files={"c.yaml": text}), "c.yaml, line 6: ", message)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("datasets:", "\tdatasets:", "is indented by a tab; YAML takes spaces alone"),
        ("name: tiny", "name: tiny: x", "has a ': ' too many"),
        ("  Ours", "   Ours", "does not fit the lines above"),
        ("trials: 2", "trials:2", "has no ': ' behind it"),
        ("[8, 16]", "[8, 16", "a bracket opened above is not closed"),
        ("points: 100\n", "points: 100\n---\na: 1\n", "a second document begins"),
        ("name: tiny", 'name: "tiny', "quotes that are not closed"),
    ],
)
def test_what_is_no_yaml_is_said_without_the_words_of_its_reader(told, before, after, message):
    refused(told("validate", "c.yaml", files={"c.yaml": CONFIG.replace(before, after)}), "c.yaml, line ", message)


def test_a_date_is_text_and_a_config_of_megabytes_is_not_read(told):
    code, message = told("validate", "c.yaml", files={"c.yaml": CONFIG + "title: 2020-01-01\n"})
    assert code == 0, message
    refused(told("validate", "c.yaml", files={"c.yaml": "# more\n" * 10**6 + CONFIG}), "a YAML file is read up to 4 MB")


def test_a_grid_of_a_hundred_million_trials_is_counted_and_asked_about_at_once(told):
    text = CONFIG.replace("trials: 2", "trials: 100000000")
    code, _ = told("validate", "c.yaml", files={"c.yaml": text})
    assert code == 0
    refused(told("run", "c.yaml"), "has 400,000,000 trials; --yes runs them")


# ---- Cards -------------------------------------------------------------------------------------------------

DATA = "1,2,a\n2,3,b\n3,4,a\n4,5,b\n5,6,a\n6,7,b\n"
CARD = f"""\
name: mine
title: Mine
task: classification
rows: 6
columns: 2
classes: {{a: 3, b: 3}}
labels: {{positive: [b]}}
split: {{rule: half}}
format: {{kind: csv}}
files:
- name: mine.csv
  checksum: sha256:{hashlib.sha256(DATA.encode()).hexdigest()}
  urls: ["file:mine.csv"]
licence: none
citation: none
"""
WRONG_CARDS = [
    ("name: mine\n", "name:\n", "line 1: name: must be text, not nothing"),
    ("title: Mine", "title: 5", "line 2: title: must be text, not 5"),
    ("classification", "class", "must be classification or regression, not 'class'"),
    ("rows: 6", "rows: six", "line 4: rows: must be a whole number, not 'six'"),
    ("rows: 6", "rows: '6'", "line 4: rows: must be a whole number, not '6'"),
    ("rows: 6", "rows: true", "line 4: rows: must be a whole number, not true"),
    ("rows: 6", "rows: 7", "line 6: classes: the class counts add up to 6, not to rows: 7"),
    ("{a: 3, b: 3}", "{a: -3, b: 9}", "line 6: classes.a: must be greater than 0, not -3"),
    ("{a: 3, b: 3}", "{a: 6}", "line 6: classes: there is one class; a classification needs a second one"),
    ("classes: {a: 3, b: 3}\n", "", "line 1: classes: (label: count) goes with classification, and only with it"),
    ("{a: 3, b: 3}", "{}", "line 6: classes: (label: count) goes with classification, and only with it"),
    ("[b]}", "[c]}", "line 7: labels.positive: names ['c'], not among ['a', 'b']"),
    ("[b]}", "[a, b]}", "line 7: labels.positive: names every class"),
    ("[b]}", "[]}", "line 7: labels.positive: must not be empty"),
    ("{rule: half}", "half", "line 8: split: must be a mapping (key: value), not 'half'"),
    (
        "{rule: half}",
        "{rule: haf}",
        "must be half, random, given, given-sampled, folds or permuted, not 'haf'; did you mean 'half'?",
    ),
    ("{rule: half}", "{rule: half, train: 3}", "the rule half takes no 'train' and 'test'"),
    ("{rule: half}", "{rule: random}", "line 8: split: the rule random needs 'train' and 'test'"),
    ("{rule: half}", "{rule: random, train: 5, test: 5}", "line 8: split: 5 + 5 rows are more than rows: 6"),
    ("{kind: csv}", "csv", "line 9: format: must be a mapping (key: value), not 'csv'"),
    ("{kind: csv}", "{}", "line 9: format: the key 'kind' is missing"),
    ("{kind: csv}", "{kind: exel}", "line 9: format: 'kind': must be libsvm, arff, csv"),
    ("{kind: csv}", "{kind: csv, target: t}", "line 9: format.target: must be a whole number, not 't'"),
    ("{kind: csv}", "{kind: csv, target: 9}", "line 9: format.target: 9: there are 3 columns, counted from 0"),
    ("{kind: csv}", "{kind: csv, ignore: [-1]}", "line 9: format.ignore: a column is named twice, or is the target"),
    ("{kind: csv}", "{kind: csv, ignore: 1}", "line 9: format.ignore: must be a list"),
    ("{kind: csv}", "{kind: csv, delimiter: ''}", "line 9: format.delimiter: must be a single character"),
    ("{kind: csv}", "{kind: csv, delimiter: ab}", "line 9: format.delimiter: must be a single character"),
    ("{kind: csv}", "{kind: csv, quote: ''}", "line 9: format.quote: must be a single character"),
    ("{kind: csv}", "{kind: csv, header: maybe}", "line 9: format.header: must be true or false, not 'maybe'"),
    ("{kind: csv}", "{kind: csv, headr: true}", "line 9: unknown key 'headr'; did you mean 'header'?"),
    ("sha256:", "sha1:", "line 12: files.1.checksum: must be sha256: and 64 digits"),
    ("file:mine.csv", "mine.csv", "line 13: files.1.urls.1: must be a URL: https://…, file:… or openml:NUMBER"),
    ("file:mine.csv", "ftp://x/y", "line 13: files.1.urls.1: must be a URL"),
    ('["file:mine.csv"]', "[5]", "line 13: files.1.urls.1: must be text, not 5"),
    ("licence: none", "licence: none\ntarget_scale: 2", "line 15: target_scale: goes with regression"),
]


@pytest.mark.parametrize(("before", "after", "message"), WRONG_CARDS, ids=[after for _, after, _ in WRONG_CARDS])
def test_what_is_wrong_in_a_card_is_said_with_its_line(told, before, after, message):
    assert before in CARD
    config = CONFIG.replace("[digits]", "[./mine.yaml]")
    files = {"c.yaml": config, "mine.yaml": CARD.replace(before, after), "mine.csv": DATA}
    refused(told("validate", "c.yaml", files=files), "c.yaml, line 2: datasets.1: mine.yaml", message)


def test_the_card_that_the_others_are_made_of_is_right(told):
    config = CONFIG.replace("[digits]", "[./mine.yaml]").replace("folds: 3", "folds: 2")
    code, message = told("validate", "c.yaml", files={"c.yaml": config, "mine.yaml": CARD, "mine.csv": DATA})
    assert code == 0, message


# ---- Data files --------------------------------------------------------------------------------------------


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


ROWS = "".join(f"{i},{i * i % 7},{'ab'[i % 2]}\n" for i in range(20))
WRONG_DATA = [
    ("x.csv", ROWS + '"1,2,a\n' + ROWS, "", "line 21 begins a quote that is not closed"),
    ("x.csv", "".join(f"0,{i};1.5;{'ab'[i % 2]}\n" for i in range(20)), "", "write decimals with a point"),
    (
        "x.csv",
        "".join(f"1,{i + 200};2;{'ab'[i % 2]}\n" for i in range(20)),
        "",
        "can be read as 1.200 (decimal: ',') or",
    ),
    ("x.csv", "".join(f"{i + 5},1,l{i}\n" for i in range(30)), "", "is another one in each of the 30 rows"),
    ("x.csv", "a,True,y\n" + ROWS + "1,x,a\n", "", "ignore: ['True']}"),
    ("x.npz", npz(X=np.ones((9, 0)), y=np.arange(9) % 2), "", "X has no columns"),
    ("x.svm", "1 1:3\n-1 99999999999999:4\n", "", "line 2, '-1 99999999999999:4': the index 99999999999999 is larger"),
    ("x.svm", "1 1:3\n-1 3:4 2:1\n", "", "line 2, '-1 3:4 2:1': the index 2 comes after 3; a line must be"),
    ("x.svm", "1 1:3\n-1 3:4 3:1\n", "", "line 2, '-1 3:4 3:1': the index 3 is there twice; a line must be"),
    ("x.svm", "1 1:3\ncat 3:4\n", "", "line 2, 'cat 3:4': the label 'cat' is not a number; a line must be"),
    ("x.svm", "1 1:3\n1 3:x\n", "", "line 2, '1 3:x': the value of index 3, 'x', is not a number; a line must be"),
    ("x.svm", "1 1:3\n1 3=2\n", "", "line 2, '1 3=2': '3=2' is not index:value; a line must be"),
    ("x.csv", ("1,2,Käse\n" + ROWS).encode() + b"1,2,K\xe4se\n", "", "line 22, '1,2,K�se', is not UTF-8 text"),
    ("x.svm", "1 1:3\n-1 100000000:4\n", "", "the largest index is 100,000,000; at most 1,000,000 columns are read"),
    ("x.svm", "1\n-1\n", "", "no line has an input, index:value"),
    ("x.parquet", "PAR1", "", "cannot be read as parquet: it is not a Parquet file, or a damaged one"),
    ("x.csv.gz", "no gz", "", "it cannot be unpacked, as if damaged or packed otherwise"),
    ("x.csv", ROWS + "\0\0\0\n", "", "data by path is text (CSV, LIBSVM, ARFF), .npz, .parquet or .xlsx"),
    ("x.npz", npz(X=np.ones((9, 2), complex), y=np.arange(9)), "", "X must be rows and columns of numbers"),
    (
        "x.npz",
        npz(X=np.full((9, 2), np.nan), y=np.arange(9) % 2),
        "",
        "row 1, column 1 of X: the column has no value at all",
    ),
    ("x.csv", ROWS.replace(",b", ",a"), "", "is 'a' in all 20 rows: a second class is needed"),
    ("x.csv", ROWS.replace(",b", ",a"), ", task: classification", "a second class is needed"),
    ("x.csv", ROWS, ", ignore: [2]", "ignore: names the target, 2"),
    ("x.csv", ROWS, ", split: {rule: random, train: 0}", "split.train: must be greater than 0, not 0"),
    (
        "x.csv",
        ROWS,
        ", split: {rule: random, train: 1.0}",
        "must be a number of rows, or a share of them, such as 0.8",
    ),
    (
        "x.csv",
        ROWS,
        ", split: {rule: random, train: 80%}",
        "must be a number of rows, or a share of them, such as 0.8",
    ),
    ("x.csv", ROWS, ", split: {train: 0.5}", "split: has no rule; it is one of half, random"),
    ("x.csv", ROWS, ", split: given", "the rule given needs 'train' and 'test'"),
    ("x.npz", "not an archive", "", "it is not an archive that numpy.savez wrote"),
    ("x.npz", npz(X=np.ones((5, 2)), y=np.ones(4)), "", "must be one value per row"),
]


@pytest.mark.parametrize(("name", "content", "given", "message"), WRONG_DATA, ids=[each[3][:40] for each in WRONG_DATA])
def test_what_is_wrong_with_own_data_is_said(told, name, content, given, message):
    config = CONFIG.replace("[digits]", f"[{{path: ./{name}{given}}}]")
    refused(
        told("validate", "c.yaml", files={"c.yaml": config, name: content}), f"line 2: datasets.1: {name}: ", message
    )


def test_fetching_heals_a_file_that_verifying_rejects(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RFFBENCH_MIRROR", raising=False)
    (tmp_path / "mine.yaml").write_text(CARD)
    (tmp_path / "mine.csv").write_text(DATA)
    name = add_card(read_card(tmp_path / "mine.yaml"))
    data.mend(name)
    copy = raw_path(load_card(name), load_card(name).files[0])
    copy.write_text(DATA.replace("1,2", "1,3"))
    with pytest.raises(DataError, match="checksum is"):
        data.verify(name)
    data.mend(name)
    data.verify(name)
    copy.unlink()
    data.mend(name)
    data.verify(name)
    (tmp_path / "mine.csv").unlink()
    copy.unlink()
    data.mend(name)  # what a run needs is there
    copy.write_text("spoilt")
    with pytest.raises(DataError, match=r"no source has a right copy of 'mine\.csv'"):
        data.mend(name)


# ---- References --------------------------------------------------------------------------------------------


@pytest.fixture
def papers_with(tmp_path, monkeypatch):
    """Put a change, of each place that reads so, into a file of a copy of the papers' numbers."""

    def change(file, right, wrong):
        text = (copy / file).read_text()
        assert right in text
        (copy / file).write_text(text.replace(right, wrong))

    copy = shutil.copytree(papers.FOLDER, tmp_path / "papers", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for module in (papers, hyperparameters):
        monkeypatch.setattr(module, "FOLDER", copy)
    for cached in (caches := (papers.references, hyperparameters.load)):
        cached.cache_clear()
    yield change
    for cached in caches:
        cached.cache_clear()


LIN, LIU, LI, MUNKHOEVA = "lin2023-rmse", "liu2020-table3", "li2019-distributed", "munkhoeva2018-errors"
CLAIMED = "    where: Abstract"


@pytest.mark.parametrize(
    ("reference", "file", "right", "wrong", "message"),
    [
        (LIN, "lin2023_rmse.csv", "pol,cg,0,", "pol,cg,17,", "line 7: is of fold 17; pol-gp has the folds 0 to 9"),
        (LIN, "lin2023_rmse.csv", "pol,cg,1,", "pol,cg,0,", "line 8: a second row of pol, cg, 0; the first is line 7"),
        (LIN, "lin2023_rmse.csv", "pol,cg,1,", "poll,cg,1,", "line 8, column 'dataset': unknown dataset 'poll'; did"),
        (LIU, "references.yaml", "eeg: EEG", "egg: EEG", "line 8: unknown dataset 'egg'; did you mean 'eeg'?"),
        (MUNKHOEVA, "munkhoeva2018_errors.csv", "Powerplant,arccos0,G,1,", "Powerplant,arccos0,GG,1,",
         "line 2, column 'method': unknown method 'GG arccos0'; did you mean 'G arccos0'?"),
        (LIU, "liu2020_claims.yaml", "datasets: [EEG]", "datasets: [EGG]", "line 7: unknown dataset 'EGG'; did you"),
        *slow(
            (LIN, "lin2023_rmse.csv", "pol,cg,0,", "pol,cg,0.5,", "line 7, column 'split': must be a whole number, 0"),
            (LIN, "lin2023_rmse.csv", "pol,cg,0,", "pol,cg,-1,", "line 7, column 'split': must be a whole number, 0"),
            (LIN, "lin2023_rmse.csv", "pol,cg,0,", "pol,cg,inf,", "line 7, column 'split': must be a finite number"),
            (LIN, "lin2023_rmse.csv", "pol,sgd,0,", "poll,sgd,0,", "line 2, column 'dataset': unknown dataset 'poll'"),
            (LIN, "lin2023_datasets.csv", "pol,26", "pol,27", "line 2, column 'n_features': pol has 27 columns; the"),
            (LIN, "lin2023_datasets.csv", "pol,26", "pol,26.5", "line 2, column 'n_features': must be a whole number"),
            (LI, "li2019_datasets.csv", "250000,", "250001,", "line 2, column 'n_train': covtype has 250,001 training"),
            (MUNKHOEVA, "munkhoeva2018_errors.csv", "G,1,10,500,0.468264", "G,1,10,0,0.468264",
             "line 2, column 'runs': must be a whole number, 1 or more, not 0"),
            (MUNKHOEVA, "munkhoeva2018_errors.csv", "G,1,10,500,0.468264", "G,1,10,1,0.468264",
             "line 2, column 'error_std': one run has no spread; leave it empty, or correct the number of runs"),
            (LIN, "lin2023_claims.yaml", CLAIMED, f"    datasets: [poll]\n{CLAIMED}", "line 4: unknown dataset 'poll'"),
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_paper_is_said_before_anything_runs(
    told, papers_with, tmp_path, reference, file, right, wrong, message
):
    papers_with(file, right, wrong)
    for command in (["validate", "c.yaml"], ["run", "c.yaml", "--dry-run"], ["run", "c.yaml"]):
        said = told(*command, files={"c.yaml": f"{CONFIG}reference: {reference}\n"})
        refused(said, f"error: {tmp_path}/papers/{file}, {message}")
    with pytest.raises(ConfigError, match=file):
        api.run("c.yaml", progress=False)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("file", "right", "wrong", "message"),
    [
        ("lin2023_hyperparameters.csv", "\npol,3,", "\npol,9,",
         "6: up to here, there are scales of the folds 0, 1, 2, 9, 4 of pol; pol-gp needs a row of pol, fold 3"),
        ("lin2023_hyperparameters.csv", "\npol,", "\npoll,",
         "46: up to here, there are scales of no fold of pol; pol-gp needs a row of pol, fold 0"),
        ("lin2023_hyperparameters.csv", "\npol,3,", "\npol,2.5,", "5, column 'split': must be a whole number, 0 or"),
        ("references.yaml", "{pol-gp:", "{pol-gpx:", ": unknown dataset 'pol-gp'; did you mean 'pol-gpx'?"),
    ],
)  # fmt: skip
def test_released_parameters_that_are_missing_are_said_with_the_line(
    told, papers_with, tmp_path, file, right, wrong, message
):
    papers_with(file, right, wrong)
    refused(told("validate", "lin2023"), f"parameters_from: {tmp_path}/papers/{file}, line ", message)


# ---- Commands ----------------------------------------------------------------------------------------------

COMMANDS = [
    (["run", "c.yaml", "--results", ""], "Invalid value for '--results': must name a file or folder, and is empty"),
    (["run", "c.yaml", "--workers", "5000"], "--workers 5000: this machine has"),
    (["run", "c.yaml", "--workers", "x"], "'x' is not a valid whole number"),
    (["run", "c.yaml", "--executor", ""], "must name an executor, and is empty"),
    (["run", "c.yaml", "--executor", "dask://"], "executor dask://: an address is missing behind ://"),
    (["run", "c.yaml", "--executor", "serial://x"], "executor serial://x: takes no address"),
    (["validate", ""], "must name a file or folder, and is empty"),
    (["table", ""], "must name a file or folder, and is empty"),
    (["history", ""], "must name a file or folder, and is empty"),
    (["table", "c.yaml"], "c.yaml: is a file; results are a folder"),
    (["merge", "c.yaml", "--into", ""], "must name a file or folder, and is empty"),
    (["compare", "r", "--tolerance", "nan"], "must be a number, not nan"),
    (["compare", "r", "--tolerance", "inf"], "must be a number, not inf"),
    (["diff", "r", "r", "--tolerance", "x"], "'x' is not a valid number"),
    (["datasets", "describe", "."], ".: is a folder; give a file"),
    (["datasets", "describe", "https://x.org/a.csv"], "https://x.org/a.csv: is a URL; download it and give the file"),
    (["datasets", "fetch", "./x.csv"], "is a path, not the name of a dataset; `rffbench datasets describe ./x.csv`"),
    (["datasets", "info", "./x.csv"], "is a path, not the name of a dataset"),
    (["check-method", "none"], "means no feature map"),
    (["new", "method", "../x"], "../x: must be letters, digits"),
    (["new", "experiment", "c"], "c.yaml: is there already"),
    (["run", "c.yaml", "--executor", "serial", "--workers", "3"], "the executor serial has one worker, this process"),
    (["run", "c.yaml", "--only", "dataset=digits,"], "--only dataset=digits,: unknown dataset ''; valid: digits"),
    (["run", "c.yaml", "--only", "method=rff"], "--only method=rff: unknown method 'rff'; did you mean 'RFF'?"),
    (["run", "c.yaml", "--only", "trial=-1"], "unknown trial '-1'; did you mean '1'?"),
    (["run", "c.yaml", "--results", "c.yaml"], "c.yaml/tiny: cannot be a results folder: Not a directory"),
    (["run", "c.yaml", "--executor-option", "foo=1"], "executor local: unknown option 'foo'"),
    (["run", "c.yaml", "--scheduler-file", "x.json"], "executor local: unknown option 'scheduler_file'"),
    (["table", "r", "--caption", "x"], "--caption goes with --format tex, typst alone"),
    (["table", "r", "--format", "csv", "--columns", "1"], "--columns goes with --format tex, typst alone"),
    (["table", "r", "--best", "bold"], "--best goes with --format tex, typst, md alone"),
    (["merge", "r", "./r", "--into", "m"], "/r: is given twice; shards are several folders"),
    (["merge", "r", "--into", "r/m"], "which is to be merged; merge into a folder elsewhere"),
    (["check-method", "./nine.py:X"], "nine.py: cannot be read: No such file"),
    (["check-method", "./c.yaml:X"], "your own class must be in a .py file: ./mine.py:MyFeatures"),
    (["check-method", "fourir"], "unknown feature map 'fourir'; did you mean 'fourier'?"),
    (["diff", "r@HEAD", "r"], "so that it has no revisions"),
    (["plot", "r", "--format", "PNG"], "'PNG' is not one of png, pdf, svg"),
    (["serve", "r", "--port", "70000"], "70000 is not in the range 0<=x<=65535"),
]


@pytest.mark.parametrize(("arguments", "message"), COMMANDS, ids=[" ".join(arguments) for arguments, _ in COMMANDS])
def test_what_is_wrong_in_a_command_is_said(told, tmp_path, arguments, message):
    refused(told(*arguments, files={"c.yaml": CONFIG}), message)
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"]


@pytest.mark.parametrize("arguments", [["datasets", "describe", "p.csv"], ["validate", "p.csv"], ["table", "."]])
def test_a_pipe_is_no_file_and_nobody_waits_for_it(told, tmp_path, arguments):
    os.mkfifo(tmp_path / "p.csv")
    os.mkfifo(tmp_path / "trials.jsonl")
    refused(told(*arguments, files={"config.yaml": CONFIG}), "is not a regular file")


def test_a_map_s_file_in_another_encoding_is_said_without_the_words_of_python(told):
    source = "class MyFeatures:\n    'Käse'\n".encode("latin-1")
    refused(
        told("check-method", "./mine.py:MyFeatures", files={"mine.py": source}), "is not UTF-8 text; save it as UTF-8"
    )


def test_data_of_two_files_of_one_name_is_told_apart_by_the_files(told):
    text = CONFIG.replace("datasets: [digits]", "datasets:\n- ./own.csv\n- ./own.tsv")
    said = told("validate", "c.yaml", files={"c.yaml": text, "own.csv": ROWS, "own.tsv": ROWS.replace(",", "\t")})
    cure = "name one otherwise: {path: ./own.tsv, name: …}"
    refused(said, f"c.yaml, line 4: datasets.2: ./own.csv and ./own.tsv are both called 'own'; {cure}")


def test_a_card_is_written_into_a_folder_that_is_made(told, tmp_path):
    code, message = told("datasets", "describe", "x.csv", "--write-card", "cards/x.yaml", files={"x.csv": ROWS})
    assert (code, message) == (0, "")
    assert read_card(tmp_path / "cards" / "x.yaml").rows == 20
    refused(told("datasets", "describe", "x.csv", "--write-card", "x.csv/x.yaml"), "x.csv: is there already")


def test_validate_says_that_a_device_is_not_there(told, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, message = told("validate", "c.yaml", files={"c.yaml": CONFIG + "device: cuda\n"})
    assert (code, message.startswith("it cannot run here: device: cuda: ")) == (0, True)


def test_a_cache_that_cannot_be_made_is_told_by_the_variable_when_a_run_keeps_own_data_there(told):
    text = CONFIG.replace("digits", "./x.csv")
    said = told("run", "c.yaml", files={"c.yaml": text, "x.csv": ROWS, "a-file": ""}, RFFBENCH_CACHE="a-file/cache")
    refused(said, "a-file/cache cannot be used (Not a directory); RFFBENCH_CACHE chooses another", status=3)


def test_a_cache_that_is_a_file_is_said_in_words(told):
    said = told("datasets", "fetch", "digits", files={"a-file": ""}, RFFBENCH_CACHE="a-file")
    refused(said, "cannot be used (Not a directory); RFFBENCH_CACHE chooses another", status=3)
    assert "Errno" not in said[1]


def test_an_executor_that_there_is_not_is_refused_by_validate_too(told):
    text = CONFIG + "executor: {name: locl}\n"
    refused(told("validate", "c.yaml", files={"c.yaml": text}), "unknown executor 'locl'; did you mean 'local'?")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("time: 2h, partiton: long", "executor slurm: unknown option 'partiton'; did you mean 'partition'?"),
        ("time: soon", "executor slurm: option time: must be such as 90s or 30m (units: s, m, h, d), not 'soon'"),
        ("time: 2h, partition: [a, b]", "executor slurm: option partition: must be text, not ['a', 'b']"),
        ("time: 2h, account: {a: b}", "executor slurm: option account: must be text or a number, not {'a': 'b'}"),
        ("time: 2h, additional_parameters: x=y", "must be a mapping (key: value), not 'x=y'"),
        ("time: 2h, cpus: -1", "executor slurm: option cpus: must be greater than 0, not -1"),
    ],
)
def test_options_of_slurm_are_checked_by_validate(told, options, message):
    pytest.importorskip("submitit", reason="needs the extra slurm")
    text = CONFIG + f"executor: {{name: slurm, {options}}}\n"
    refused(told("validate", "c.yaml", files={"c.yaml": text}), message)


@pytest.mark.parametrize(
    ("mirror", "message"),
    [
        ("a-file", "a-file: is a file; it must be a folder"),
        ("ftp://x/y", "must be a folder, or an http:// or https:// URL"),
    ],
)
def test_a_mirror_that_can_be_none_is_said_and_not_passed_over(told, mirror, message):
    refused(told("datasets", "fetch", "eeg", files={"a-file": ""}, RFFBENCH_MIRROR=mirror), message, status=3)


@pytest.mark.parametrize(
    "config", ["datasets: 5\nmethods: {a: 1}\n", "datasets: [digits]\nmethods: [a]\n", "- a\n", "5\n"]
)
def test_a_results_folder_whose_config_is_none_is_refused(told, tmp_path, config):
    (tmp_path / "config.yaml").write_text(config)
    refused(told("table", ".", files={"trials.jsonl": "{}\n"}), "config.yaml: not an experiment")
