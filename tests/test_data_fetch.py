"""A file comes from the mirror, else from the first URL that has it whole; what cannot be had is said so."""

import contextlib
import hashlib
import io
import itertools
import multiprocessing
import os
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rffbench.data import fetch, store
from rffbench.data.cards import Card
from rffbench.errors import DataError, DataUnavailable

CONTENT = b"1,2,no\n3,4,yes\n" * 20_000
OTHER = CONTENT.replace(b"3", b"5")


class Server:
    """A web server on this machine: gives ``content``, 404 for the rest, and notes what was asked."""

    def __init__(self):
        self.content: dict[str, bytes] = {}
        self.status: dict[str, list[int]] = {}
        self.cut: set[str] = set()
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                statuses = outer.status.get(self.path, [])
                status = statuses.pop(0) if statuses else 200 if self.path in outer.content else 404
                self.send_response(status)
                body = outer.content.get(self.path, b"") if status == 200 else b"sorry"
                self.send_header("Content-Length", str(len(body)))
                if self.path.endswith(".gz") and "gzip" in self.headers.get("Accept-Encoding", ""):
                    self.send_header("Content-Encoding", "gzip")  # as some servers do with any .gz
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if self.path in outer.cut else body)

            def log_message(self, *_):
                pass

        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.httpd.server_port}"
        threading.Thread(target=self.httpd.serve_forever, args=(0.01,), daemon=True).start()


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


def card(*urls, name="a file.csv") -> Card:
    digest = hashlib.sha256(CONTENT).hexdigest()
    return Card.model_validate(
        {
            "name": "small", "title": "Small", "task": "classification", "rows": 40_000, "columns": 2,
            "classes": {"no": 20_000, "yes": 20_000}, "labels": {"positive": ["yes"]},
            "split": {"rule": "half"}, "format": {"kind": "csv"}, "folder": "some folder",
            "licence": "none", "citation": "none",
            "files": [{"name": name, "checksum": f"sha256:{digest}", "urls": list(urls)}],
        }
    )  # fmt: skip


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
    with pytest.raises(DataUnavailable, match="RFFBENCH_MIRROR: not set"):
        store.prepare(card())


def test_a_file_inside_a_downloaded_archive(server):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("names.txt", "x")
        archive.writestr("a file.csv", CONTENT)
    server.content["/all.zip"] = buffer.getvalue()
    url = f"{server.url}/all.zip"
    assert fetched(card({"url": url, "member": "a file.csv"})) == CONTENT
    with pytest.raises(DataUnavailable, match=r"no 'b\.csv' in what it sent"):
        fetched(card({"url": url, "member": "b.csv"}, name="b.csv"))


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
    start.wait(20)
    store.prepare(card(url))


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


def test_the_lock_is_held_against_another_and_ends_with_its_holder(tmp_path):
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path, held))
    holder.start()
    assert held.wait(20)
    got = threading.Event()

    def take():
        with fetch.locked(tmp_path):
            got.set()

    waiting = threading.Thread(target=take, daemon=True)
    waiting.start()
    assert not got.wait(0.3)
    holder.kill()
    assert got.wait(10)
    waiting.join(10)
    holder.join(10)


def _hold(folder, held):
    with contextlib.suppress(KeyboardInterrupt), fetch.locked(folder):
        held.set()
        time.sleep(60)
