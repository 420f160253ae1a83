"""Cards say what is true of the data, and a wrong card or name is refused with what would be right."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import types
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from rffbench import data
from rffbench.cli import cli
from rffbench.data import cards, store
from rffbench.data.cards import Card, card_names, load_card, read_card
from rffbench.data.fetch import raw_path
from rffbench.errors import ConfigError, DataError, DataUnavailable
from rffbench.io.resources import resource_folder
from rffbench.plugins import guarded

ROOT = Path(__file__).parents[2]
DIMENSIONS = {f"synthetic-{d}" for d in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)}
EMBEDDED = {"digits", "breast-cancer", "synthetic", "synthetic-regression"} | DIMENSIONS
IN_NO_MIRROR = {"cod-rna-paper", "census", "year-prediction", "slice-localization"}
needs_mirror = pytest.mark.skipif("RFFBENCH_MIRROR" not in os.environ, reason="RFFBENCH_MIRROR is not set")
LARGE = 1.5e7  # bytes: files that take seconds to read


def read_as(card):
    """What the rows of a card are read from, and how: cards that differ in the target's meaning have this in common."""
    return str((card.files, card.format, card.task, card.rows, card.columns, card.categories, card.missing))


@pytest.fixture(scope="module")
def parsed(tmp_path_factory):
    """One cache for this file's tests, so that each dataset is parsed once; cards in a row share large files' rows."""
    read, kept = store.read_blocks, {}

    def read_once(card, paths):
        if card.rows * card.columns * 8 < LARGE:
            return read(card, paths)
        if (what := read_as(card)) not in kept:
            kept.clear()
            kept[what] = list(read(card, paths))
        return kept[what]

    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("RFFBENCH_CACHE", str(folder))
        patch.setattr(store, "read_blocks", read_once)
        yield folder
        shutil.rmtree(folder)  # more than a gigabyte


def load_or_skip(name):
    if name not in EMBEDDED and "RFFBENCH_MIRROR" not in os.environ:
        pytest.skip("RFFBENCH_MIRROR is not set")
    return data.load(name)


def test_the_promised_datasets_have_cards():
    liu = {"eeg", "magic04", "cod-rna", "covtype", "covtype-scaled"}
    yen = {"cpu-yen", "census", "year-prediction", "cod-rna-yen", "ijcnn1", "covtype-yen"}
    chen = {"cpu", "a9a", "blogfeedback", "slice-localization", "ujiindoorloc", "mnist"}
    assert liu | yen | chen | EMBEDDED <= set(card_names())


# The real files: half a minute to parse all of them.
@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in EMBEDDED - {"synthetic-4096"} else [pytest.mark.slow])
     for name in sorted(set(card_names()) - IN_NO_MIRROR, key=lambda name: (read_as(load_card(name)), name))
     if not load_card(name).is_streamed],
)  # fmt: skip
def test_a_card_is_true_of_the_real_files(name, parsed):
    dataset = load_or_skip(name)
    card = dataset.card
    assert dataset.X.shape == (card.rows, card.columns)
    assert dataset.X.dtype == dataset.y.dtype == np.float64
    assert dataset.X.flags.c_contiguous
    assert isinstance(dataset.X, np.memmap)
    assert not dataset.X.flags.writeable
    assert np.isfinite(dataset.X).all() != bool(card.missing)
    if card.labels:
        positive = sum(card.classes[label] for label in card.labels.positive)
        assert set(np.unique(dataset.y)) == {-1.0, 1.0}
        assert (dataset.y == 1).sum() == positive
    if dataset.X.nbytes < LARGE:  # of most formats; the others' files would be read a second time
        data.verify(name)
    assert data.describe(name)["cached"]


@needs_mirror
@pytest.mark.data
@pytest.mark.slow
def test_both_copies_of_covtype_carry_the_same_labels_and_the_same_rows(parsed):
    """LIBSVM's binary file is class 2 against the rest, its columns UCI's scaled to [0, 1]."""
    plain, scaled = data.load("covtype"), data.load("covtype-scaled")
    np.testing.assert_array_equal(plain.y, scaled.y)
    some = np.arange(0, 581012, 97)
    low, high = plain.X.min(axis=0), plain.X.max(axis=0)
    np.testing.assert_allclose((plain.X[some] - low) / (high - low), scaled.X[some], atol=1e-5)


@needs_mirror
@pytest.mark.data
@pytest.mark.slow
def test_first_rows_are_those_of_the_files(parsed):
    np.testing.assert_array_equal(
        data.load("magic04").X[0],
        [28.7967, 16.0021, 2.6449, 0.3918, 0.1982, 27.7004, 22.011, -8.2027, 40.092, 81.8828],
    )
    eeg = data.load("eeg")
    assert eeg.X[0, 0] == 4329.23
    assert eeg.X[-1, -1] == 4350.77
    assert (eeg.y[0], eeg.y[-1]) == (-1, 1)
    codrna = data.load("cod-rna")
    np.testing.assert_array_equal(codrna.X[0, :4], [-766, 128, 0.140625, 0.304688])
    np.testing.assert_array_equal(codrna.X[59535, :4], [-500, 128, 0.140625, 0.304688])  # cod-rna.t's first
    ijcnn1 = data.load("ijcnn1")
    np.testing.assert_array_equal(ijcnn1.X[0, [5, 6, 10, 21]], [1, 0, -0.731854, -0.00081])
    cpu, act = data.load("cpu"), data.load("cpu-act")
    np.testing.assert_array_equal(cpu.y[6554:], act.y[9::10] + 1)  # the same records, by another road
    np.testing.assert_allclose(cpu.X[6554:], act.X[9::10])
    np.testing.assert_array_equal(data.load("cpu-yen").y, cpu.y / 100)
    a9a = data.load("a9a")
    np.testing.assert_array_equal(np.flatnonzero(a9a.X[0])[:4], [2, 10, 13, 18])
    np.testing.assert_array_equal(np.flatnonzero(a9a.X[32561])[:4], [0, 5, 16, 20])  # a9a.t's first
    blog = data.load("blogfeedback")
    np.testing.assert_array_equal(blog.X[0, :2], [40.30467, 53.845657])
    assert (blog.y[0], blog.y[-1]) == (1, 0)
    indoor = data.load("ujiindoorloc")
    assert indoor.y[0] == -7541.2642999999225
    assert indoor.X.min() == -104
    assert indoor.X.max() == 100
    mnist = data.load("mnist")
    np.testing.assert_array_equal(mnist.y[[0, 1, 2, 60000, 60001, 60002]], [5, 0, 4, 7, 2, 1])
    np.testing.assert_array_equal(mnist.X[0].reshape(28, 28)[5, 12:20], [3, 18, 18, 18, 126, 136, 175, 26])


@pytest.mark.slow
@needs_mirror
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "twin"), [("cod-rna", "cod-rna-yen"), pytest.param("covtype", "covtype-yen", marks=pytest.mark.slow)]
)
def test_another_split_of_the_same_rows_is_not_parsed_again(name, twin, parsed):
    data.ensure(name)
    assert data.is_cached(twin)
    assert data.describe(name)["path"] == data.describe(twin)["path"]
    assert data.describe(name)["content_hash"] != data.describe(twin)["content_hash"]


def test_digits_are_odd_against_even(parsed):
    from sklearn.datasets import load_digits

    np.testing.assert_array_equal(data.load("digits").y == 1, load_digits().target % 2 == 1)


def test_the_synthetic_draw_is_the_same_everywhere(parsed):
    dataset = data.load("synthetic-regression")
    assert dataset.X[0, 0] == pytest.approx(0.6369616873214543, abs=1e-15)
    assert dataset.y.std() == pytest.approx(np.sqrt(1 + 0.2**2), rel=0.02)
    classes = data.load("synthetic")
    np.testing.assert_array_equal(classes.X, dataset.X)
    np.testing.assert_array_equal(classes.y == 1, dataset.y > np.median(dataset.y))


def test_paper_splits_have_the_paper_sizes():
    sizes = {name: (load_card(name).n_train, load_card(name).n_test) for name in card_names()}
    assert sizes["eeg"] == (7490, 7490)
    assert sizes["magic04"] == (9510, 9510)
    assert sizes["covtype"] == (290506, 290506)
    assert sizes["cod-rna"] == (59535, 271617)
    assert sizes["cod-rna-paper"] == (59535, 157413)
    assert sizes["ijcnn1"] == (127591, 14100)
    assert sizes["cpu"] == sizes["cpu-yen"] == (6554, 819)
    assert sizes["census"] == (18186, 2273)
    assert sizes["year-prediction"] == (463715, 51630)
    assert sizes["cod-rna-yen"] == (59535, 10000)
    assert sizes["covtype-yen"] == (464810, 116202)
    rows = {name: load_card(name).rows for name in card_names()}
    assert rows["a9a"] == 48842
    assert rows["blogfeedback"] == 60021
    assert rows["slice-localization"] == 53500
    assert rows["ujiindoorloc"] == 21048
    assert rows["mnist"] == 70000


def test_the_results_in_this_repository_are_of_the_data_that_the_cards_describe():
    manifests = list((ROOT / "results").rglob("manifest.json"))
    assert manifests
    for manifest in manifests:
        for name, measured_on in json.loads(manifest.read_text())["datasets"].items():
            assert load_card(name).content_hash == measured_on, (manifest, name)


def test_what_can_be_had_nowhere_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))
    for act in (data.ensure, data.load, data.verify):
        with pytest.raises(DataUnavailable, match=r"census: no address of Rahimi and Recht's census\.mat"):
            act("census")
    assert not data.is_cached("census")


@pytest.mark.slow
def test_a_run_goes_on_past_data_that_cannot_be_had(rffbench, tmp_path):
    (tmp_path / "some.yaml").write_text(
        "{name: some, datasets: [census, synthetic-regression], n_features: [8], trials: 1, seed: 0,"
        " methods: {RFF: {features: fourier}}, solver: {name: ridge, lambda: [0.1]}}"
    )
    done = rffbench("run", "some.yaml")
    assert done.returncode == 1, done.stderr
    lines = (tmp_path / "results" / "some" / "trials.jsonl").read_text().splitlines()
    rows = {row["dataset"]: row for row in map(json.loads, lines)}
    assert rows["synthetic-regression"]["status"] == "ok"
    assert rows["census"]["status"] == "unavailable"
    assert "no checksum of it is known" in rows["census"]["error"]["message"]


def test_a_table_is_told_that_cod_rna_has_another_test_part():
    assert "cod-rna.t" in load_card("cod-rna").mark
    assert load_card("eeg").mark == ""


def test_a_misspelt_dataset_is_told_the_nearest():
    with pytest.raises(ConfigError, match="unknown dataset 'covtpye'; did you mean 'covtype'"):
        load_card("covtpye")
    with pytest.raises(ConfigError, match="unknown dataset 'zzz'; valid: a8a, a9a, adult, "):
        load_card("zzz")


def test_verify_finds_a_damaged_file_and_a_damaged_array(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))
    with pytest.raises(DataUnavailable, match="not in the cache"):
        data.verify("breast-cancer")
    data.ensure("breast-cancer")
    data.verify("breast-cancer")
    X = np.load(Path(data.describe("breast-cancer")["path"]) / "X.npy", mmap_mode="r+")
    X[7, 3] += 1e-9
    X.flush()
    with pytest.raises(DataError, match="near row 0; `rffbench datasets fetch breast-cancer` makes them anew"):
        data.verify("breast-cancer")


@pytest.fixture
def damaged(tmp_path, monkeypatch):
    """A dataset in a cache where a page of its array became zeros, by a write or with no sign of one; its checksum."""
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))
    data.ensure("breast-cancer")
    path = Path(data.describe("breast-cancer")["path"]) / "X.npy"

    def damage(*, unseen: bool) -> None:
        before = path.stat()
        with path.open("r+b") as file:
            file.seek(8192)
            file.write(bytes(4096))
        stamp = before.st_mtime_ns if unseen else before.st_mtime_ns + 1
        os.utime(path, ns=(before.st_atime_ns, stamp))

    return damage


def test_an_array_damaged_on_disk_is_made_anew_when_a_run_makes_its_data_ready(damaged, caplog):
    whole, checksum = data.load("breast-cancer").X.copy(), data.data_hash("breast-cancer")
    damaged(unseen=True)
    data.ensure("breast-cancer")
    np.testing.assert_array_equal(data.load("breast-cancer").X, whole)
    assert data.data_hash("breast-cancer") == checksum
    assert "are damaged" in caplog.text


def test_an_array_that_was_written_to_is_made_anew_when_it_is_opened(damaged):
    whole = data.load("breast-cancer").X.copy()
    damaged(unseen=False)
    assert not data.is_cached("breast-cancer")
    np.testing.assert_array_equal(data.load("breast-cancer").X, whole)


def test_opening_arrays_reads_them_through_only_where_a_run_begins_or_a_file_looks_other(damaged, monkeypatch):
    reads = []
    checksum = store.data_checksum
    monkeypatch.setattr(store, "data_checksum", lambda *arrays: reads.append(1) or checksum(*arrays))
    data.load("breast-cancer")
    assert data.is_cached("breast-cancer")
    assert not reads
    data.ensure("breast-cancer")
    assert len(reads) == 1
    folder = Path(data.describe("breast-cancer")["path"])
    os.utime(folder / "y.npy", ns=(1, 1))  # as a copy of the cache has it
    data.load("breast-cancer")
    assert len(reads) == 2
    data.load("breast-cancer")
    assert len(reads) == 2


def test_a_cache_with_no_checksum_or_a_torn_record_is_made_anew(damaged):
    record = Path(data.describe("breast-cancer")["path"]) / "meta.json"
    for content in ("", "[]", '{"parts": {}}', record.read_text().replace('"checksum"', '"other"')):
        record.write_text(content)
        assert not data.is_cached("breast-cancer")
        assert data.load("breast-cancer").X.shape == (569, 30)


def test_the_datas_hash_is_that_of_its_numbers(damaged):
    arrays = data.load("breast-cancer")
    digest = hashlib.sha256(arrays.X.tobytes() + arrays.y.tobytes()).hexdigest()
    assert data.data_hash("breast-cancer") == f"sha256:{digest}"
    assert data.data_hash("eeg") is None


@pytest.mark.slow
@needs_mirror
@pytest.mark.data
def test_verify_finds_a_changed_raw_file(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))
    data.ensure("magic04")
    card = load_card("magic04")
    path = raw_path(card, card.files[0])
    path.write_bytes(path.read_bytes().replace(b"28.7967", b"28.7968", 1))
    with pytest.raises(DataError, match="checksum is sha256:"):
        data.verify("magic04")


def shipped(name: str) -> dict:
    return yaml.safe_load((resource_folder("datasets") / f"{name}.yaml").read_text())


def test_the_content_hash_follows_what_defines_the_content_and_nothing_else():
    card = shipped("covtype")
    original = Card.model_validate(card).content_hash
    for change in (
        {"labels": {"positive": ["1"]}},
        {"split": {"rule": "random", "train": 10, "test": 10}},
        {"format": {"kind": "csv", "target": 0}},
        {"format": {"kind": "csv", "ignore": [0]}},
        {"files": [{**card["files"][0], "content": "md5:" + "0" * 32}]},
        {"classes": dict(reversed(card["classes"].items()))},
    ):
        assert Card.model_validate({**card, **change}).content_hash != original, change
    moved = {**card["files"][0], "urls": ["https://example.org/covtype.data.gz"]}
    for change in ({"title": "x"}, {"notes": "x"}, {"folder": "x"}, {"files": [moved]}, {"licence": "x"}):
        assert Card.model_validate({**card, **change}).content_hash == original, change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"row": 3}, "unknown key 'row'; did you mean 'rows'"),
        ({"rows": 14981}, "class counts add up to 14980, not to rows: 14981"),
        ({"labels": {"positive": ["2"]}}, r"names \['2'\], not among \['0', '1'\]"),
        ({"split": {"rule": "given", "train": 10, "test": 20}}, r"given 10 \+ 20 rows must be all 14980"),
        ({"split": {"rule": "half", "train": 10, "test": 20}}, "the rule half takes no 'train' and 'test'"),
        ({"split": {"rule": "random", "train": 10000, "test": 5000}}, "are more than rows"),
        ({"format": {"kind": "excel"}}, "format: .*'excel'"),
        ({"files": [{"name": "a"}]}, "'a' needs a checksum"),
        ({"files": [{"name": "a", "checksum": "md5:12"}]}, r"line \d+: files\.1\.checksum: must be sha256: and 64"),
        ({"files": []}, "format: arff needs files"),
        ({"files": [{"name": "a.zip", "member": "*", "content": "md5:" + "0" * 32}]}, "have no one content"),
        ({"files": [], "format": {"kind": "idx"}}, "format: idx needs files"),
        ({"format": {"kind": "idx"}}, "format: idx needs files in pairs"),
        ({"unavailable": "gone"}, "unavailable: takes the place of files"),
        ({"target_scale": 100}, "target_scale: goes with regression, and only with it"),
        ({"target_exp": True}, "target_exp: goes with regression, and only with it"),
        (
            {
                "split": {"rule": "given", "train": 14000, "test": 980},
                "files": [{"name": name, "checksum": "md5:" + "0" * 32} for name in "ab"],
            },
            "given needs the part, train or test, of each of the files",
        ),
        ({"labels": None}, "two classes need labels.positive"),
        ({"task": "regression"}, "goes with classification, and only with it"),
        ({"folder": "../eeg"}, r"line \d+: folder: must be a path inside its folder"),
        ({"folder": "/tmp/eeg"}, r"line \d+: folder: must be a path inside its folder"),
        ({"folder": "a/../../b"}, r"line \d+: folder: must be a path inside its folder"),
        ({"files": [{"name": "../a", "checksum": "md5:" + "0" * 32}]}, r"files\.1\.name: must be a path inside"),
        ({"format": {"kind": "csv", "heder": True}}, "unknown key 'heder'; did you mean 'header'"),
        ({"name": "other"}, "the card's name is 'other'; it must be the file's, 'eeg'"),
    ],
)
def test_a_wrong_card_is_refused_with_the_file_and_the_mistake(change, message, tmp_path):
    path = tmp_path / "eeg.yaml"
    path.write_text(yaml.safe_dump({**shipped("eeg"), **change}))
    with pytest.raises(ConfigError, match=message) as refusal:
        read_card(path)
    assert str(path) in str(refusal.value)


def test_a_card_that_is_not_yaml_is_refused(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text("name: [")
    with pytest.raises(ConfigError, match=r"broken\.yaml, line 1: "):
        read_card(path)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Entry points of packages with cards: one whose folder is ``tmp_path``, and those that a test adds by value."""
    package = types.ModuleType("theirs")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "theirs", package)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [EntryPoint("theirs", "theirs", "rffbench.datasets")]
    monkeypatch.setattr(cards, "entry_points", lambda group: found if group == "rffbench.datasets" else [])

    def forget():
        cards._found.cache_clear()
        cards._load_card.cache_clear()

    forget()
    yield lambda *values: (found.extend(EntryPoint(value, value, "rffbench.datasets") for value in values), forget())
    monkeypatch.undo()
    forget()


def test_another_package_brings_cards_by_an_entry_point(tmp_path, packages):
    (tmp_path / "theirs.yaml").write_text(yaml.safe_dump({**shipped("eeg"), "name": "theirs"}))
    assert "theirs" in card_names()
    assert load_card("theirs").rows == 14980
    assert cards.card_faults() == []


def test_a_card_by_a_name_that_is_taken_is_passed_over_and_named(tmp_path, packages):
    (tmp_path / "eeg.yaml").write_text("no card")
    assert load_card("eeg").rows == 14980
    (fault,) = cards.card_faults()
    assert fault.startswith(f"{tmp_path / 'eeg.yaml'} is passed over")


def test_packages_whose_cards_cannot_be_had_are_passed_over_and_named(tmp_path, packages, monkeypatch):
    monkeypatch.setattr(guarded, "IMPORT_S", 0.2)
    breaks = {"raises": "1 / 0", "leaves": "import sys; sys.exit(3)", "waits": "while True: pass"}
    for name, code in breaks.items():
        (tmp_path / f"{name}.py").write_text(code)
    packages(*breaks, "is_not_there")
    assert load_card("eeg").rows == 14980
    faults = "\n".join(cards.card_faults())
    for expected in (
        "'raises' are passed over: .*ZeroDivisionError",
        "'leaves' .* ends the process when it is imported",
        "'waits' .* is not imported after",
        "'is_not_there' .* No module named",
    ):
        assert re.search(expected, faults), expected
    with pytest.raises(ConfigError, match=r"unknown dataset 'its-own'.*the datasets of 'raises' are passed over"):
        load_card("its-own")


def test_a_broken_card_is_passed_over_in_listings_and_refused_where_it_is_used(tmp_path, packages):
    (tmp_path / "broken.yaml").write_text("name: broken\n")
    packages()
    listed = CliRunner().invoke(cli, ["datasets", "list"], standalone_mode=False)
    assert listed.return_value == 0
    assert "eeg" in listed.stdout
    assert f"warning: passed over: {tmp_path / 'broken.yaml'}" in listed.stderr
    with pytest.raises(ConfigError, match="key 'title' is missing"):
        load_card("broken")


def test_reading_cards_is_light():
    """A grid is expanded, and a dataset described, without the libraries that parse or download."""
    code = (
        "import sys; from rffbench import data; data.describe('eeg');"
        "print([m for m in ('pandas', 'sklearn', 'scipy', 'requests') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_describe_reads_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "none"))
    facts = data.describe("magic04")
    assert (facts["rows"], facts["columns"], facts["cached"]) == (19020, 10, False)
    assert facts["balance"]["g"] == pytest.approx(12332 / 19020)
    assert facts["path"].startswith(str(tmp_path))
    assert not (tmp_path / "none").exists()
