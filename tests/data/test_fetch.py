"""A file comes from the mirror, else from the first URL that has it whole; what cannot be had is said so."""

import contextlib
import hashlib
import io
import itertools
import multiprocessing
import os
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.config.loading import load_experiment
from rffbench.data import fetch, store
from rffbench.data.cards import Card
from rffbench.data.formats import File
from rffbench.errors import DataError, DataUnavailable
from rffbench.execution import make_executor
from rffbench.execution.run import run_experiment
from tests.helpers.processes import hang, wait_for
from tests.helpers.web_server import CONTENT, Server, card

OTHER = CONTENT.replace(b"3", b"5")


@pytest.fixture
def server():
    server = Server()
    yield server
    server.httpd.shutdown()
    server.httpd.server_close()


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RFFBENCH_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(fetch, "PAUSE", 0.01)


def fetched(card, progress=None) -> bytes:
    path = fetch.fetch_file(card, card.files[0], progress)
    assert path == fetch.raw_path(card, card.files[0])
    leftovers = [p.name for p in path.parent.iterdir() if p.name not in (path.name, ".lock")]
    assert leftovers == []
    return path.read_bytes()


def in_mirror(tmp_path, content) -> Path:
    folder = tmp_path / "mirror" / "some folder"
    folder.mkdir(parents=True)
    (folder / "a file.csv").write_bytes(content)
    return folder.parent


def test_a_mirror_folder_comes_before_any_url(tmp_path, monkeypatch, server):
    monkeypatch.setenv("RFFBENCH_MIRROR", str(in_mirror(tmp_path, CONTENT)))
    assert fetched(card(f"{server.url}/a")) == CONTENT
    assert server.asked == []


def test_a_mirror_may_be_a_url(monkeypatch, server):
    monkeypatch.setenv("RFFBENCH_MIRROR", f"{server.url}/data/")
    server.content["/data/some%20folder/a%20file.csv"] = CONTENT
    assert fetched(card("http://127.0.0.1:9/never")) == CONTENT
    assert server.asked == ["/data/some%20folder/a%20file.csv"]


@pytest.mark.parametrize("state", ["lacks it", "has another", "is not there"])
def test_a_mirror_without_the_right_file_is_passed_over(state, tmp_path, monkeypatch, server):
    mirror = in_mirror(tmp_path, OTHER)
    if state == "lacks it":
        (mirror / "some folder" / "a file.csv").unlink()
    monkeypatch.setenv("RFFBENCH_MIRROR", str(mirror if state != "is not there" else mirror / "gone"))
    server.content["/a"] = CONTENT
    assert fetched(card(f"{server.url}/a")) == CONTENT


def test_a_cached_file_is_not_fetched_again_but_a_damaged_one_is(server):
    server.content["/a"] = CONTENT
    subject = card(f"{server.url}/a")
    fetched(subject)
    fetched(subject)
    assert server.asked == ["/a"]
    fetch.raw_path(subject, subject.files[0]).write_bytes(CONTENT[:-1])
    assert fetched(subject) == CONTENT
    assert server.asked == ["/a", "/a"]


def test_the_next_url_is_tried_after_a_dead_host_a_missing_page_and_a_wrong_file(server):
    server.content |= {"/wrong": OTHER, "/right": CONTENT}
    urls = ["http://127.0.0.1:9/dead", f"{server.url}/missing", f"{server.url}/wrong", f"{server.url}/right"]
    assert fetched(card(*urls)) == CONTENT
    assert server.asked == ["/missing", "/wrong", "/right"]  # nothing hopeless is asked for twice


def test_a_server_in_trouble_is_asked_again_a_bounded_number_of_times(server):
    server.content |= {"/a": CONTENT}
    server.status["/a"] = [502, 503]
    assert fetched(card(f"{server.url}/a")) == CONTENT
    assert len(server.asked) == 3
    server.status["/b"] = [502] * 99
    with pytest.raises(DataUnavailable, match="/b: answered 502 Bad Gateway"):
        fetched(card(f"{server.url}/b", name="other.csv"))
    assert server.asked.count("/b") == fetch.ATTEMPTS


def test_a_download_that_breaks_off_is_never_taken_for_the_file(server):
    server.content |= {"/cut": CONTENT, "/whole": CONTENT}
    server.cut.add("/cut")
    with pytest.raises(DataUnavailable, match="/cut: broke off before the end"):
        fetched(card(f"{server.url}/cut"))
    subject = card(f"{server.url}/cut")
    assert not fetch.raw_path(subject, subject.files[0]).exists()
    assert fetched(card(f"{server.url}/cut", f"{server.url}/whole")) == CONTENT


def test_a_wrong_checksum_is_a_data_error_with_both_checksums(server):
    server.content["/a"] = OTHER
    with pytest.raises(DataError) as refusal:
        fetched(card(f"{server.url}/a"))
    assert not isinstance(refusal.value, DataUnavailable)
    for content in (CONTENT, OTHER):
        assert hashlib.sha256(content).hexdigest() in str(refusal.value)


def test_data_that_cannot_be_had_is_unavailable_and_every_source_is_named(tmp_path, monkeypatch, server):
    monkeypatch.setenv("RFFBENCH_MIRROR", str(tmp_path / "no mirror"))
    with pytest.raises(DataUnavailable) as refusal:
        store.prepare(card("http://127.0.0.1:9/dead", f"{server.url}/missing"))
    message = str(refusal.value)
    assert "small: no source has a right copy of 'a file.csv'" in message
    assert f"mirror {tmp_path}/no mirror/some folder/a file.csv: no such file" in message
    assert "http://127.0.0.1:9/dead: cannot be reached" in message
    assert f"{server.url}/missing: answered 404 Not Found" in message
    monkeypatch.delenv("RFFBENCH_MIRROR")
    with pytest.raises(DataUnavailable, match=r"'a file\.csv' \(RFFBENCH_MIRROR is not set"):
        store.prepare(card())


def test_a_file_inside_a_downloaded_archive(server):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("names.txt", "x")
        archive.writestr("a file.csv", CONTENT)
    server.content["/all.zip"] = buffer.getvalue()
    url = f"{server.url}/all.zip"
    assert fetched(card({"url": url, "member": "a file.csv"})) == CONTENT
    with pytest.raises(DataUnavailable, match=r"what it sent holds no 'b\.csv'"):
        fetched(card({"url": url, "member": "b.csv"}, name="b.csv"))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n" + CONTENT, "not valid HTTP"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\xff\xfe\r\nContent-Length: 0\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", "not valid HTTP"),
        (b"no HTTP at all\r\n\r\n", "cannot be reached|broke off"),
    ],
    ids=["length", "redirect to no address", "redirect in no UTF-8", "redirect to a file", "no HTTP"],
)
def test_a_malformed_answer_is_asked_for_again_and_then_the_next_url(answer, reason, server):
    server.raw["/bad"] = [answer] * 99
    with pytest.raises(DataUnavailable, match=reason):
        fetched(card(f"{server.url}/bad", name="other.csv"))
    assert server.asked == ["/bad"] * fetch.ATTEMPTS
    server.content["/good"] = CONTENT
    assert fetched(card(f"{server.url}/bad", f"{server.url}/good")) == CONTENT
    fetch.raw_path(subject := card(f"{server.url}/once"), subject.files[0]).unlink()
    server.raw["/once"], server.content["/once"] = [answer], CONTENT
    assert fetched(subject) == CONTENT


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n"


@pytest.mark.parametrize("start", [HEAD + b"\r\n", HEAD + b"X-Slow: "], ids=["in the body", "in a header"])
def test_a_server_that_sends_a_byte_now_and_then_is_given_up(start, server, monkeypatch):
    monkeypatch.setattr(fetch, "STALL_S", 0.1)
    server.pieces["/slow"] = itertools.chain([start], itertools.repeat(b"1", 500))
    server.content["/good"] = CONTENT
    assert fetched(card(f"{server.url}/slow", f"{server.url}/good")) == CONTENT
    server.pieces["/slow"] = itertools.chain([start], itertools.repeat(b"1", 500))
    with pytest.raises(DataUnavailable, match="/slow: sent less than 66 kB in"):
        fetched(card(f"{server.url}/slow", name="other.csv"))


def test_a_download_without_end_is_given_up_when_its_time_is_over(server, monkeypatch):
    monkeypatch.setattr(fetch, "LIMIT_S", 0.3)
    piece = b"1" * fetch.PIECE
    server.pieces["/long"] = itertools.chain([b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(piece, 200))
    with pytest.raises(DataUnavailable, match="/long: was not done after"):
        fetched(card(f"{server.url}/long"))
    assert server.asked == ["/long"]


def test_a_download_that_is_larger_than_the_data_can_be_is_given_up(server, monkeypatch):
    monkeypatch.setattr(Card, "most_bytes", 200_000)
    server.content["/large"] = CONTENT
    with pytest.raises(DataUnavailable, match="/large: sent more than 200 kB"):
        fetched(card(f"{server.url}/large"))


def zipped(content=CONTENT, *, name="a file.csv", flags=0, method=None) -> bytes:
    """A zip archive of one member, whose header may claim that it is encrypted or packed by some other method."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    made = bytearray(buffer.getvalue())
    for header, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = made.index(header) + at
        made[start] |= flags
        if method is not None:
            made[start + 2 : start + 4] = method.to_bytes(2, "little")
    return bytes(made)


def tarred(*links: tuple[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, target in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


HOSTILE = {
    "encrypted.zip": (zipped(flags=1), "is encrypted"),
    "other.zip": (zipped(method=99), "method that is not read here"),
    "cut.zip": (zipped()[:-30], "cannot be unpacked"),
    "loop.tar.gz": (tarred(("a file.csv", "b"), ("b", "a file.csv")), "a link that leads back to itself"),
    "dangling.tar.gz": (tarred(("a file.csv", "nowhere")), "cannot be unpacked"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_that_cannot_be_unpacked_is_unavailable_and_the_next_url_is_tried(name, server):
    sent, reason = HOSTILE[name]
    server.content |= {f"/{name}": sent, "/good": CONTENT}
    source = {"url": f"{server.url}/{name}", "member": "a file.csv"}
    with pytest.raises(DataUnavailable, match=f"{name}: what it sent .*{reason}"):
        store.prepare(card(source))
    assert fetched(card(source, f"{server.url}/good")) == CONTENT


@pytest.mark.parametrize("name", HOSTILE)
def test_a_card_of_an_archive_that_cannot_be_unpacked_says_why(name, tmp_path, monkeypatch):
    sent, reason = HOSTILE[name]
    monkeypatch.setenv("RFFBENCH_MIRROR", str(tmp_path / "mirror"))
    (tmp_path / "mirror" / "some folder").mkdir(parents=True)
    (tmp_path / "mirror" / "some folder" / name).write_bytes(sent)
    for file in ({"checksum": f"sha256:{hashlib.sha256(sent).hexdigest()}"}, {"content": "md5:" + "0" * 32}):
        for member in ("a file.csv", "a*.csv"):
            if "*" not in member or "checksum" in file:
                made = card().model_copy(update={"files": [File(name=name, member=member, **file)]})
                with pytest.raises(DataError, match=reason):
                    store.prepare(made)


def test_a_bomb_is_unpacked_no_further_than_the_card_allows(server, tmp_path):
    subject = card({"url": f"{server.url}/bomb.zip", "member": "a file.csv"})
    server.content["/bomb.zip"] = zipped(bytes(4 * subject.most_bytes))
    largest = 0

    def watch():
        nonlocal largest
        while not over.wait(0.001):
            sizes = [each.stat().st_size for each in tmp_path.rglob(".fetch-*/file") if each.exists()]
            largest = max([largest, *sizes])

    over = threading.Event()
    watching = threading.Thread(target=watch)
    watching.start()
    with contextlib.suppress(FileNotFoundError), pytest.raises(DataUnavailable, match="holds more than"):
        store.prepare(subject)
    over.set()
    watching.join()
    assert largest <= subject.most_bytes


@pytest.mark.parametrize("kind", ["a file", "a pipe", "a loop", "a loop inside", "a pipe inside", "a folder inside"])
def test_what_is_no_mirror_is_its_fault_and_not_the_caches(kind, tmp_path, monkeypatch, server):
    mirror = tmp_path / "mirror"
    place = mirror
    if kind.endswith("inside"):
        place = mirror / "some folder" / "a file.csv"
        place.parent.mkdir(parents=True)
    if "file" in kind:
        place.write_bytes(CONTENT)
    elif "pipe" in kind:
        os.mkfifo(place)
    elif "loop" in kind:
        place.symlink_to(place)
    else:
        place.mkdir()
    monkeypatch.setenv("RFFBENCH_MIRROR", str(mirror))
    reasons = "not a directory|too many levels of symbolic links|is a pipe|is a folder"
    said = f"mirror {mirror}/some folder/a file.csv: ({reasons})"
    if kind == "a file":
        said = f"RFFBENCH_MIRROR: {mirror}: is a file; it must be a folder"
    with pytest.raises(DataUnavailable, match=said):
        store.prepare(card())
    server.content["/a"] = CONTENT
    assert fetched(card(f"{server.url}/a")) == CONTENT


def test_a_gz_file_arrives_as_it_is(server):
    server.content["/a.gz"] = CONTENT
    assert fetched(card(f"{server.url}/a.gz")) == CONTENT


def test_progress_reaches_the_size_of_the_file(server):
    server.content["/a"] = CONTENT
    seen = []
    fetched(card(f"{server.url}/a"), lambda *state: seen.append(state))
    assert seen[-1] == ("a file.csv", len(CONTENT), len(CONTENT))
    assert all(a[1] <= b[1] for a, b in itertools.pairwise(seen))


def test_a_cache_that_cannot_be_used_is_said_so(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match="RFFBENCH_CACHE chooses another"):
        store.prepare(card())


def test_what_a_killed_process_left_is_cleared(tmp_path, server):
    server.content["/a"] = CONTENT
    left = [tmp_path / "cache" / "some folder" / name for name in (".fetch-1", "parsed/.parse-1")]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"half")
    store.prepare(card(f"{server.url}/a"))
    assert not any(folder.exists() for folder in left)


def _prepare(url, cache, start):
    os.environ["RFFBENCH_CACHE"] = cache
    start.wait(60)
    store.prepare(card(url))


@pytest.mark.slow
def test_two_processes_fetch_once(tmp_path, server):
    server.content["/a"] = CONTENT
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    args = (f"{server.url}/a", str(tmp_path / "cache"), start)
    both = [context.Process(target=_prepare, args=args) for _ in range(2)]
    for process in both:
        process.start()
    start.set()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    assert server.asked == ["/a"]


@pytest.mark.slow
def test_who_waits_for_the_lock_is_told_and_it_ends_with_its_holder(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(fetch, "PATIENCE_S", 0.1)
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path, held))
    holder.start()
    assert held.wait(60)
    got = threading.Event()

    def take():
        with fetch.locked(tmp_path):
            got.set()

    waiting = threading.Thread(target=take, daemon=True)
    waiting.start()
    assert not got.wait(0.3)
    wait_for(lambda: f"waiting for process {holder.pid}, which is filling {tmp_path}" in caplog.text)
    holder.kill()
    assert got.wait(60)
    waiting.join(10)
    holder.join(10)


def _hold(folder, held):
    with contextlib.suppress(KeyboardInterrupt), fetch.locked(folder):
        held.set()
        hang()


def test_one_dataset_whose_data_cannot_be_had_does_not_stop_the_others(tmp_path, monkeypatch):
    """Whatever its files do: here the mirror's copy of one is a pipe, that of another is no zip archive."""
    mirror = tmp_path / "mirror"
    for folder in ("blogfeedback", "cpu"):
        (mirror / folder).mkdir(parents=True)
    (mirror / "blogfeedback" / "BlogFeedback.zip").write_bytes(b"PK" * 100)
    os.mkfifo(mirror / "cpu" / "cpu.mat")
    for name, value in {"RFFBENCH_MIRROR": mirror, "https_proxy": "http://127.0.0.1:9", "NO_PROXY": ""}.items():
        monkeypatch.setenv(name, str(value))
    result = CliRunner().invoke(cli, ["datasets", "fetch", "cpu", "blogfeedback", "digits"], standalone_mode=False)
    assert result.return_value == 1
    assert result.stdout == "digits: ready\n"
    assert "error: cpu: no source has a right copy of 'cpu.mat'" in result.stderr
    assert "error: blogfeedback: no source has a right copy" in result.stderr
    (tmp_path / "some.yaml").write_text(
        "{name: some, datasets: [cpu, blogfeedback, digits], n_features: [8], trials: 1,"
        " methods: {RFF: {features: fourier}}, solver: {name: ridge, lambda: [0.1]}}"
    )
    experiment = load_experiment(tmp_path / "some.yaml")
    summary = run_experiment(experiment, tmp_path / "results", executor=make_executor("serial", experiment))
    assert summary.statuses == {"ok": 1, "unavailable": 2}
