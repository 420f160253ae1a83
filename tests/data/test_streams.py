"""Rows that are made, or read from shards, where they are needed: the same however they are asked for."""

import pickle

import numpy as np
import pytest

from rffbench import data
from rffbench.config.loading import load_experiment
from rffbench.data import shards, streams, userfile
from rffbench.data.cards import Card, add_card, load_card
from rffbench.data.rows import Rows
from rffbench.data.streams import CHUNK_ROWS, Targets, stream
from rffbench.errors import ConfigError, DataError, DataUnavailable
from rffbench.kernels import make_kernel
from rffbench.trials.guards import guarded
from rffbench.trials.single import run_trial
from rffbench.trials.spec import TrialSpec

N, D = 900, 4
KERNEL = make_kernel("gaussian", 0.5)


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.random((N, D))
    return np.column_stack([X, X @ np.arange(1.0, D + 1)])


def save_npy(folder, table, parts=3):
    folder.mkdir()
    for number, some in enumerate(np.array_split(table, parts)):
        np.save(folder / f"part-{number}.npy", some)
    return folder


def save_parquet(folder, table, parts=3):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder.mkdir()
    for number, some in enumerate(np.array_split(table, parts)):
        columns = {name: some[:, at] for at, name in enumerate("abcdy")}
        parquet.write_table(arrow.table(columns), folder / f"part-{number}.parquet", row_group_size=70)
    return folder


# ---- Made rows ---------------------------------------------------------------------------------------------


def test_made_rows_are_the_same_however_they_are_asked_for():
    rows = stream(load_card("generated"))
    start = 2 * CHUNK_ROWS - 7
    block, target = rows[start : start + 20], rows.target(slice(start, start + 20))
    for at in range(0, 20, 3):
        fresh = pickle.loads(pickle.dumps(rows))
        np.testing.assert_array_equal(fresh.target(np.array([start + at])), target[at : at + 1])
        np.testing.assert_array_equal(fresh[start + at : start + at + 1], block[at : at + 1])
    mixed = np.array([start + 11, 5, start, 9_999_999])
    np.testing.assert_array_equal(rows[mixed][[0, 2]], block[[11, 0]])
    np.testing.assert_array_equal(rows[mixed][3:], rows[9_999_999:10_000_000])
    assert rows[0:1][0, 0] == pytest.approx(0.8007886414760379, abs=1e-15)  # the same everywhere
    assert len(pickle.dumps(rows)) < 2000


def test_their_target_is_a_function_of_the_rows_with_noise():
    rows = stream(load_card("generated"))
    X, y = rows[:50_000], rows.target(slice(50_000))
    assert (X.min(), X.max()) == (pytest.approx(0, abs=1e-3), pytest.approx(1, abs=1e-3))
    assert X.mean() == pytest.approx(0.5, abs=0.01)
    assert 0.3 < y.std() < 2
    assert np.corrcoef(y, rows.target(slice(50_000, 100_000)))[0, 1] == pytest.approx(0, abs=0.03)


def test_a_split_of_made_rows_holds_no_index_and_no_target_and_is_in_order():
    split = guarded(data.train_test("generated", seed=0, trial=3, train_rows=5000, held_out=0.001), KERNEL)
    assert isinstance(split.y_train, Targets)
    assert len(pickle.dumps((split.X_train, split.y_train))) < 3000
    rows = stream(load_card("generated"))
    np.testing.assert_array_equal(split.X_train[4990:5000], rows[4990:5000])
    np.testing.assert_array_equal(np.asarray(split.y_train.part(slice(100, 130))), rows.target(slice(100, 130)))
    np.testing.assert_array_equal(split.X_train.part(slice(100, 130))[5:7], rows[105:107])
    assert len(split.y_test) == 10_000
    last = load_card("generated").n_train - 10_000
    np.testing.assert_array_equal(split.X_test[:20], rows[last : last + 20])  # held out are the last training rows
    np.testing.assert_array_equal(split.y_test[:20], rows.target(slice(last, last + 20)))


def test_what_is_streamed_is_always_ready_and_never_cached(tmp_path):
    assert data.is_cached("generated")
    data.ensure("generated")
    data.verify("generated")
    assert data.data_hash("generated") is None
    assert data.describe("generated")["path"] == ""
    assert not (tmp_path / "cache").exists()


def test_a_made_dataset_is_for_regression_and_read_in_order():
    fields = load_card("generated").model_dump()
    with pytest.raises(ValueError, match="its rows are read in order"):
        Card.model_validate({**fields, "split": {"rule": "half"}})
    with pytest.raises(ValueError, match="is for regression"):
        Card.model_validate({**fields, "task": "classification", "classes": {"a": 5, "b": 5, "c": 10_099_990}})


# ---- Shards ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("save", [save_npy, save_parquet])
def test_shards_are_one_table(save, tmp_path, table, monkeypatch):
    monkeypatch.setattr(shards, "BLOCK_BYTES", 8 * (D + 1) * 40)
    card = shards.look(str(save(tmp_path / "rows", table)))
    assert (card.name, card.rows, card.columns, card.task, card.n_train) == ("rows", N, D, "regression", N // 2)
    rows = pickle.loads(pickle.dumps(stream(card)))
    for start, stop in [(0, N), (290, 310), (299, 300), (5, 5)]:
        np.testing.assert_array_equal(rows[start:stop], table[start:stop, :D])
        np.testing.assert_array_equal(rows.target(slice(start, stop)), table[start:stop, D])
    chosen = np.array([899, 3, 301])
    np.testing.assert_array_equal(rows[chosen], table[chosen, :D])


@pytest.mark.parametrize("save", [save_npy, save_parquet])
def test_shards_at_a_url_are_read_as_those_of_a_folder(save, tmp_path, table):
    fsspec = pytest.importorskip("fsspec")
    folder = save(tmp_path / "rows", table)
    there = fsspec.filesystem("memory")
    there.put(str(folder), "/bucket/rows", recursive=True)
    try:
        card, local = shards.look("memory://bucket/rows"), shards.look(str(folder))
        assert card.content_hash == local.content_hash  # wherever they are
        np.testing.assert_array_equal(stream(card)[250:650], table[250:650, :D])
    finally:
        there.rm("/bucket", recursive=True)


@pytest.mark.parametrize("scheme", ["file", "memory"])
@pytest.mark.parametrize("save", [save_npy, save_parquet])
def test_a_config_takes_a_folder_of_shards_by_its_url(save, scheme, tmp_path, table):
    folder = save(tmp_path / "rows of mine", table)
    url = folder.as_uri()
    if scheme == "memory":
        there, url = pytest.importorskip("fsspec").filesystem("memory"), "memory://bucket/rows-of-mine"
        there.put(str(folder), "/bucket/rows-of-mine", recursive=True)
    config = tmp_path / "shards.yaml"
    config.write_text(SHARDS.format(url=url))
    try:
        experiment = load_experiment(config)
        (tmp_path / "again.yaml").write_text(experiment.to_yaml(tmp_path))
        for each in (experiment, load_experiment(tmp_path / "again.yaml")):
            (card,) = (load_card(name) for name in each.datasets)
            assert (card.name, card.rows, card.task, card.n_train) == ("rows-of-mine", N, "regression", 600)
            np.testing.assert_array_equal(stream(card)[250:650], table[250:650, :D])
        assert [run_trial(spec).status for spec in experiment.grid()] == ["ok"]
    finally:
        if scheme == "memory":
            there.rm("/bucket", recursive=True)


SHARDS = """
name: shards
datasets: [{{path: "{url}", task: regression, split: {{rule: given, train: 600}}}}]
kernel: {{name: gaussian, sigma: 1.0}}
n_features: [16]
methods: {{RFF: {{features: fourier}}}}
solver: {{name: ridge, lambda: [1.0e-6], folds: 2}}
trials: 1
"""


@pytest.mark.parametrize("save", [save_npy, save_parquet])
def test_what_is_sent_of_a_part_is_the_shards_it_lies_in_which_are_read_once(save, tmp_path, table, monkeypatch):
    whole = stream(shards.look(str(save(tmp_path / "rows", table))))
    X, y = Rows(whole, range(N), card=whole.card), Targets(whole, range(N))
    for start, stop in [(0, N), (250, 310), (299, 300), (300, 600), (310, 590), (600, 600), (N - 1, N), (N, N)]:
        message = pickle.dumps((X.part(slice(start, stop)), y.part(slice(start, stop))))
        inputs, target = pickle.loads(message)
        np.testing.assert_array_equal(inputs[:], table[start:stop, :D])
        np.testing.assert_array_equal(target[:], table[start:stop, D])
        deeper = inputs.part(slice(1, 3)).part(slice(1, 2))
        np.testing.assert_array_equal(deeper[:], table[start:stop, :D][2:3])
        lies_in = {name for name, first in zip(("part-0", "part-1", "part-2"), (0, 300, 600), strict=True)
                   if first < stop and start < first + 300}  # fmt: skip
        assert {name for name in ("part-0", "part-1", "part-2") if name.encode() in message} == lies_in
    reads = []
    monkeypatch.setattr(streams, "read_shard", lambda *given: reads.append(given) or shards.read_shard(*given))
    inputs, target = pickle.loads(pickle.dumps((X.part(slice(310, 590)), y.part(slice(310, 590)))))
    for rows in (slice(0, 100), slice(100, 280)):
        inputs[rows], target[rows]
    assert len(reads) == 2


def test_the_target_may_be_another_column_and_classes(tmp_path, table):
    labels = np.where(table[:, D] > 5, 2.0, 1.0)
    card = shards.look(str(save_npy(tmp_path / "npy", np.column_stack([labels, table]))), target=0)
    counts = {"1": int((labels == 1).sum()), "2": int((labels == 2).sum())}
    assert (card.task, card.classes, card.labels.positive) == ("classification", counts, ["2"])
    rows = stream(card)
    np.testing.assert_array_equal(rows.labels, [-1.0, 1.0])
    np.testing.assert_array_equal(rows.target(slice(N)), np.where(labels == 2, 1.0, -1.0))
    np.testing.assert_array_equal(rows[:N], table)
    named = shards.look(str(save_parquet(tmp_path / "parquet", table)), target="b", task="regression")
    np.testing.assert_array_equal(stream(named).target(slice(N)), table[:, 1])


def test_a_trial_on_shards_is_that_on_the_same_rows_in_memory(tmp_path, table):
    add_card(shards.look(str(save_npy(tmp_path / "rows", table)), split={"rule": "given", "train": 0.8}))
    spec = TrialSpec(
        "rows", load_card("rows").content_hash, "RFF", 16, 0, 0, {"name": "fourier"},
        {"name": "ridge", "lambda": [1e-6, 1e-4], "folds": 3, "lambda_scale": "n", "center": True},
        {"name": "gaussian", "gamma": 0.5}, ["minmax"], kernel_error_points=50,
    )  # fmt: skip
    result = run_trial(spec)
    assert result.status == "ok"
    assert result.metrics["relative_rmse"] < 0.05
    assert 0 < result.metrics["kernel_error"] < 1


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (
            lambda folder: (folder / "part-1.npy").unlink(),
            DataUnavailable,
            r"part-1\.npy: cannot be read here: No such",
        ),
        (
            lambda folder: np.save(folder / "part-1.npy", np.zeros((9, 5))),
            DataError,
            r"has \d+ bytes, and had \d+ when",
        ),
        (
            lambda folder: set_nan(folder / "part-1.npy"),
            DataError,
            r"rows: part-1\.npy: row 8 has a value that is missing",
        ),
    ],
)
def test_a_shard_that_is_another_is_told_by_its_name(spoil, error, message, tmp_path, table):
    folder = save_npy(tmp_path / "rows", table)
    card = shards.look(str(folder))
    spoil(folder)
    with pytest.raises(error, match=message):
        stream(card)[:N]


def set_nan(path):
    rows = np.load(path)
    rows[7, 2] = np.nan
    np.save(path, rows)


def test_folders_that_hold_no_table_are_refused_with_what_would_do(tmp_path, table):
    def refused(message, error=ConfigError, **settings):
        with pytest.raises(error, match=message):
            shards.look(str(folder), **settings)

    folder = tmp_path / "rows"
    folder.mkdir()
    refused(r"holds no shards; they are files whose names end in \.npy or \.parquet")
    np.save(folder / "a.npy", table)
    refused("target: 5: there are 5 columns, counted from 0", target=5)
    refused("target: unknown column 'y'", target="y")
    refused("split: shards are read in order", split={"rule": "half"})
    refused("must leave some of the 900 rows to test on, got 900", split={"rule": "given", "train": 900})
    np.save(folder / "b.npy", table[:, 1:])
    refused("b.npy: has the columns 0, 1, 2, 3; a.npy has 0, 1, 2, 3, 4", DataError)
    np.save(folder / "b.npy", np.asfortranarray(table))
    refused("stored by columns; rows of numbers are needed", DataError)
    np.save(folder / "b.npy", table.astype(object), allow_pickle=True)
    refused("b.npy: is not readable as a shard: it holds object", DataError)
    (folder / "b.npy").write_bytes(b"nonsense")
    refused("b.npy: is not readable as a shard", DataError)
    (folder / "c.parquet").touch()
    refused(r"holds \.npy files and \.parquet files")
    folder = tmp_path / "nowhere"
    refused("nowhere: cannot be read here: No such file or directory", DataUnavailable)


def test_what_is_shown_of_shards_names_no_folder_of_this_machine(tmp_path, table):
    card = shards.look(str(save_npy(tmp_path / "rows", table)))
    shown = userfile.without_folders(card)
    assert str(tmp_path) not in shown.model_dump_json()
    assert shown.content_hash == card.content_hash


# ---- Rows of the cache, elsewhere --------------------------------------------------------------------------


def test_rows_are_sent_as_their_places_and_opened_from_the_cache_of_who_gets_them(tmp_path, monkeypatch):
    split = guarded(data.train_test("digits", seed=0, trial=0, preprocess=["minmax"]), KERNEL)
    part = split.X_train.part(slice(100, 120))
    message = pickle.dumps(part)
    assert len(message) < 8 * 64 * 20 + 6000
    np.testing.assert_array_equal(pickle.loads(message)[:], split.X_train[100:120])
    card = load_card("digits")
    sent = pickle.dumps(Rows(data.load("digits").X, np.arange(3), card=card.model_copy(update={"unavailable": "gone"})))
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "other"))
    assert pickle.loads(message)[0:1].shape == (1, 64)  # parsed there
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "third"))
    with pytest.raises(DataUnavailable, match="digits: gone"):
        pickle.loads(sent)[:]
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = part.nonsense
