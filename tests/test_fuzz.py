"""Any bytes give every parser a value, or an error of this package with a message; none hangs.

``RFFBENCH_FUZZ=5000 pytest tests/test_fuzz.py`` tries so many inputs of each kind.
"""

import bz2
import gzip
import importlib.util
import io
import json
import lzma
import os
import signal
import tarfile
import warnings
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rffbench import papers
from rffbench.config.loading import load_experiment
from rffbench.data.cards import read_card
from rffbench.data.tables import read_table
from rffbench.data.unpack import Unpackable, open_content
from rffbench.data.userfile import look
from rffbench.errors import ConfigError, ResultsError, RffbenchError
from rffbench.execution.log import each_row, read_rows
from rffbench.execution.manifest import runs_of
from rffbench.io.resources import resource_folder
from rffbench.io.text import BYTES, SECONDS, quantity
from rffbench.papers.recorded import load_own
from rffbench.report.claims import load_claims
from rffbench.report.frame import load_protocols
from rffbench.report.summary import summarise
from rffbench.report.table import make_table
from rffbench.report.typeset import to_latex
from tests.helpers.faults import CONFIG, HOSTILE
from tests.helpers.small_trials import spec

ROOT = Path(__file__).parents[1]
of_script = importlib.util.spec_from_file_location("fuzz", ROOT / "scripts" / "fuzz.py")
fuzz = importlib.util.module_from_spec(of_script)
of_script.loader.exec_module(fuzz)

TRIED = int(os.environ.get("RFFBENCH_FUZZ", "15"))
LIMIT_S = 20  # of this process's own time, for one input: a loaded machine changes nothing

fuzzed = settings(
    max_examples=TRIED, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


@contextmanager
def in_time():
    """AssertionError where what is inside hangs."""

    def hangs(*_):
        raise AssertionError(f"it takes more than {LIMIT_S} s")

    before = signal.signal(signal.SIGVTALRM, hangs)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


ALPHABET = "0159.-+ _eEkKMGiBsmhd\u0663\n"
TOKENS = [token.encode("utf-8", "surrogatepass") for token in HOSTILE] + [
    b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n\r\n", b'"', b"'", b",", b";", b"\t", b":", b"#", b"-", b"- ", b"?",
    b"{", b"]", b"1e400", b"-0.0", b"NaN", b"Infinity", b"-inf", b"1_0", b"0b1",
    "\u0661\u0662".encode(), "\u2028".encode(),
    b"1:1 1:1", b"0:3", b"99999999999999999999:1", b"\x1b[2J", b"e", b".", b"%", b"&x", b"*x", b"!!int x", b"<<: *x",
]  # fmt: skip


@st.composite
def changed(draw, *whole):
    """One of the files ``whole``, with parts cut out, doubled, overwritten or between which something stands; or any
    bytes."""
    content = bytearray(draw(st.sampled_from([*whole, b""])))
    if not content:
        return draw(st.binary(max_size=200))
    for _ in range(draw(st.integers(0, 4))):
        here = draw(st.integers(0, len(content)))
        there = min(len(content), here + draw(st.integers(0, 40)))
        put = draw(st.sampled_from([b"", bytes(content[here:there]) * 2, *TOKENS]) | st.binary(max_size=6))
        content[here:there] = put
    return bytes(content)


def refused(read, error=RffbenchError):
    """What ``read`` gives; None where it raises ``error``, whose message must say something in one piece."""
    with in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read()
        except error as problem:
            said = str(problem)
    assert said.strip()
    said.encode()
    return None


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


CARD = (resource_folder("datasets") / "eeg.yaml").read_bytes()
CLAIMS = (Path(papers.__file__).parent / "chen2015_claims.yaml").read_bytes()
REFERENCE = (
    b"dataset,size,method,metric,expected,tolerance,std,trials\n"
    b"eeg,16d,RFF,accuracy,80.1,0.5,0.2,10\neeg,100,\"O, urs\",accuracy,81,1,0.1,10\n"
)  # fmt: skip
TABLE = b'id;"a b";c;label\n1;2.5;-1e3;yes\n2;?;4;no\n3;2;5;yes\n4;1;0;no\n'
LIBSVM = b"1 1:0.5 3:-2\n-1 2:1 # said\n1 1:3 2:4 3:5\n-1 3:1\n"
NAMES = [  # of data
    "d.csv",
    "d.tsv",
    "d.csv.gz",
    "d.libsvm",
    "d.svm.bz2",
    "d.npz",
    "d.csv.xz",
    "d.txt",
    "d.arff",
    "d.xlsx",
    "d.parquet",
]
SEPARATED = (
    b"sep=;\n# said\nid;when;a;b;\"c d\";y\n" + b"".join(
        b"%d;2024-01-%02d;%d,5;1.%03d,25;\"x y\";NA\n" % (i, i, i, 100 + i) for i in range(1, 9)
    )
)  # fmt: skip
TYPED = b'"a" "b" "y"\n"1" 1.5 "x" 0\n"2" 2.5 "z" 1\n"3" 3 "x" 0\n'
ARFF = b"% said\n@relation 'a b'\n@attribute \"a b\" numeric\n@attribute y {'u v',w}\n@data\n1,'u v'\n2, w\n?,w\n"
RANKED = b"\xef\xbb\xbf1 qid:1 1:0.5 2:3\n0 qid:1 2:1\n1 qid:2 1:3\n"
ARRAYS = npz(X=np.arange(12.0).reshape(6, 2), y=np.array([0, 1, 0, 1, 0, 1]))
RESULT = {
    **spec().to_dict(), "key": spec().key, "status": "ok", "metrics": {"accuracy": 93.1, "own": 1},
    "curves": {"time": [0.1, 0.2], "objective": [1, None]}, "own_metrics": {"own": {"title": "mine", "better": "less"}},
    "timing": {"feature_s": 0.1, "fit_s": 0.2, "contended": None, "repeats": {"feature_s": 3}},
    "peak_memory_bytes": 10**8, "lambda": 0.1, "error": None, "warnings": ["passed over"],
}  # fmt: skip
FAILED = {
    **RESULT,
    "trial": 1,
    "status": "error",
    "metrics": {},
    "error": {"type": "E", "message": "m", "traceback": ""},
    "key": spec(trial=1).key,
}
LOG = b"".join(json.dumps(row).encode() + b"\n" for row in (RESULT, FAILED, RESULT))
RESOLVED = yaml.safe_dump({
    "name": "x", "datasets": ["breast-cancer"], "n_features": [20], "methods": {"RFF": {"features": "fourier"}},
    "trials": 2,
}).encode()  # fmt: skip
MANIFEST = json.dumps({"experiment": "x", "finished": None, "earlier_runs": [{"workers": 1}]}).encode()


@fuzzed
@given(content=changed(CONFIG.encode()))
@example(content=b"memory: " + b"9" * 400 + b"GB\n" + CONFIG.encode())
@example(content=CONFIG.replace("trials: 3", "trials: 1e9").encode())
def test_a_config(tmp_path, content):
    path = tmp_path / "fuzzed.yaml"
    path.write_bytes(content)
    experiment = refused(lambda: load_experiment(path))
    if experiment is not None:
        assert refused(experiment.size) is None or experiment.size() >= 0


@fuzzed
@given(content=changed(CARD))
def test_a_card(tmp_path, content):
    path = tmp_path / "eeg.yaml"
    path.write_bytes(content)
    card = refused(lambda: read_card(path), ConfigError)
    assert card is None or card.content_hash


@fuzzed
@given(content=changed(CLAIMS))
def test_claims(tmp_path, content):
    path = tmp_path / "claims.yaml"
    path.write_bytes(content)
    claims = refused(lambda: load_claims(path), ConfigError)
    for claim in claims or []:
        assert list(claim.expanded())


@fuzzed
@given(content=changed(REFERENCE))
def test_a_reference_of_one_s_own(tmp_path, content):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    reference = refused(lambda: load_own(path), ConfigError)
    assert reference is None or len(reference.numbers())


@fuzzed
@given(
    content=changed(
        TABLE,
        LIBSVM,
        ARRAYS,
        gzip.compress(TABLE, mtime=0),
        SEPARATED,
        SEPARATED.decode().encode("utf-16-le"),
        TYPED,
        ARFF,
        RANKED,
    ),
    name=st.sampled_from(NAMES),
    target=st.sampled_from([None, -1, 0, "label", "y", 99]),
    dates=st.sampled_from(["ignore", "parts"]),
)
def test_data_of_one_s_own(tmp_path, content, name, target, dates):
    path = tmp_path / name
    path.write_bytes(content)
    card = refused(lambda: look(path, target=target, dates=dates).card())
    assert card is None or card.rows >= 1
    table = refused(lambda: read_table(path, target=target, dates=dates))
    assert table is None or len(table.frame) == len(table.target)


PACKINGS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
LARGE = b"".join(b"%d,%d,%s\n" % (i, i * 7919 % 1000, b"ab"[i % 2 : i % 2 + 1]) for i in range(3000))


def archive(ending):
    """A .zip or .tar with one file."""
    file = io.BytesIO()
    if ending == ".zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("d.csv", LARGE)
    else:
        with tarfile.open(fileobj=file, mode="w:" + ending.removeprefix(".tar").removeprefix(".")) as packed:
            entry = tarfile.TarInfo("d.csv")
            entry.size = len(LARGE)
            packed.addfile(entry, io.BytesIO(LARGE))
    return file.getvalue()


ARCHIVES = {ending: archive(ending) for ending in (".zip", ".tar.gz", ".tar.bz2", ".tar.xz")}


@st.composite
def streams(draw, ending):
    """`LARGE` in streams one behind the other, as pigz, pixz and ``cat`` make them, with zeros behind them."""
    cuts = sorted(draw(st.lists(st.integers(0, len(LARGE)), max_size=3)))
    parts = [LARGE[here:there] for here, there in zip([0, *cuts], [*cuts, len(LARGE)], strict=True)]
    zeros = st.sampled_from([0, 0, 4, 512, 70_000] + [3] * (ending != ".xz"))
    return b"".join(PACKINGS[ending](part) + bytes(draw(zeros)) for part in parts)


def content_of(ending, packed):
    """What the streams of a whole file hold, by the decompressors alone; None if it is damaged."""
    new = {".gz": lambda: zlib.decompressobj(31), ".bz2": bz2.BZ2Decompressor,
           ".xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)}[ending]  # fmt: skip
    found = b""
    while packed:
        stream = new()
        try:
            found += stream.decompress(packed)
        except (zlib.error, OSError, lzma.LZMAError):
            return None
        if not stream.eof:
            return None
        packed = stream.unused_data.lstrip(b"\0")
        if ending == ".xz" and (len(stream.unused_data) - len(packed)) % 4:
            return None
    return found


def unpacked(path):
    """The content of a file; None if it is refused."""

    def read():
        with open_content(path, path.name) as content:
            return content.read()

    return refused(read, Unpackable)


@pytest.mark.parametrize("ending", PACKINGS)
def test_streams_one_behind_the_other_are_read_whole(tmp_path, ending):
    @fuzzed
    @given(packed=streams(ending))
    def check(packed):
        path = tmp_path / f"d.csv{ending}"
        path.write_bytes(packed)
        assert unpacked(path) == LARGE

    check()


@fuzzed
@given(
    content=st.one_of([streams(ending).flatmap(lambda whole: changed(whole, LARGE[:50])) for ending in PACKINGS]),
    ending=st.sampled_from(sorted(PACKINGS)),
)
@example(content=lzma.compress(LARGE) + b"\xfd8zXZ\0" + lzma.compress(LARGE)[6:], ending=".xz")
@example(content=bz2.compress(LARGE) + b"BZi" + bz2.compress(LARGE)[3:], ending=".bz2")
@example(content=gzip.compress(LARGE) + b"\x1f\x8c" + gzip.compress(LARGE)[2:], ending=".gz")
def test_a_packed_file(tmp_path, content, ending):
    """Damaged, cut off, or packed otherwise than its name says: it is read whole or refused, never in part."""
    path = tmp_path / f"d.csv{ending}"
    path.write_bytes(content)
    expected = content_of(ending, content) if content else None
    if expected is not None or ending != ".gz":  # gzip passes over what zlib refuses in a header
        assert unpacked(path) == expected
    refused(lambda: look(path).card())


@fuzzed
@given(content=changed(*ARCHIVES.values()), ending=st.sampled_from(sorted(ARCHIVES)))
def test_an_archive(tmp_path, content, ending):
    path = tmp_path / f"d{ending}"
    path.write_bytes(content)
    assert unpacked(path) in (None, LARGE)


@fuzzed
@given(content=changed(lzma.compress(LOG), lzma.compress(LOG) + lzma.compress(LOG)))
def test_a_packed_log(tmp_path, content):
    (tmp_path / "trials.jsonl.xz").write_bytes(content)
    expected = content_of(".xz", content) if content else None
    rows = refused(lambda: read_rows(tmp_path / "trials.jsonl"), ResultsError)
    assert (rows is None) if expected is None else (len(rows) == expected.count(b"\n"))


@fuzzed
@given(content=changed(LOG))
def test_a_log(tmp_path, content):
    path = tmp_path / "trials.jsonl"
    path.write_bytes(content)
    rows = refused(lambda: read_rows(path), ResultsError)
    said = []
    kept = refused(lambda: list(each_row(path, said.append)), ())
    assert rows == kept if rows is not None else said


@fuzzed
@given(content=changed(LOG), config=changed(RESOLVED))
def test_the_results_of_a_folder(tmp_path, content, config):
    (tmp_path / "trials.jsonl").write_bytes(content)
    (tmp_path / "config.yaml").write_bytes(config)
    for _, results in refused(lambda: load_protocols(tmp_path)) or []:
        refused(lambda results=results: (summarise(results), to_latex(make_table(results))))


@fuzzed
@given(content=changed(MANIFEST))
def test_a_manifest(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    runs = refused(lambda: runs_of(tmp_path), ResultsError)
    assert runs is None or isinstance(runs, list)


@fuzzed
@given(text=st.sampled_from([each for each in HOSTILE if len(each) < 100]) | st.text(ALPHABET, max_size=9))
def test_times_and_amounts(text):
    for units in (BYTES, SECONDS):
        value = refused(lambda units=units: quantity(units, "1")(text), ValueError)
        assert value is None or value >= 0


def test_what_hangs_is_told_of(monkeypatch):
    monkeypatch.setattr("tests.test_fuzz.LIMIT_S", 0.05)

    def hang():
        while True:
            pass

    with pytest.raises(AssertionError, match="it takes more than"):
        refused(hang)


@pytest.mark.parametrize("parser", fuzz.PARSERS)
def test_the_script_holds_a_parser_to_the_same_promise(tmp_path, parser):
    check, begin = fuzz.ask(parser, tmp_path)
    assert begin
    for content in begin:
        check(content)
