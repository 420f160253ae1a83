"""Promises of `rffbench serve`: a page on this machine alone that says how a run stands, and nothing else."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from rffbench.config.costs import shares
from rffbench.config.grid import Grid
from rffbench.config.loading import load_resolved
from rffbench.errors import ConfigError, ResultsError
from rffbench.report.page import server as server_module
from rffbench.report.page.server import address, make_server
from rffbench.report.page.watch import Watch
from tests.helpers import html, pages
from tests.helpers.processes import comes


def ask(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def test_the_page_may_ask_its_own_server_and_nobody_else(tmp_path):
    with pages.served(pages.write(tmp_path / "mine")) as server:
        answer, content = ask(server, "/")
    page = html.read(content.decode())
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert "connect-src 'self'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert server.server_address[0] == "127.0.0.1"
    assert address(server) == f"http://127.0.0.1:{server.server_port}/"


@pytest.mark.parametrize("path", [
    "/config.yaml", "/trials.jsonl", "/../mine/config.yaml", "/%2e%2e/config.yaml", "//etc/passwd", "/state.json/..",
    "/favicon.ico", "/?x",
])  # fmt: skip
def test_it_serves_no_file(tmp_path, path):
    with pages.served(pages.write(tmp_path / "mine")) as server:
        answer, content = ask(server, path)
    assert answer.status == 404
    assert b"datasets" not in content


def test_it_answers_under_its_own_address_alone(tmp_path):
    with pages.served(pages.write(tmp_path / "mine")) as server:
        port = server.server_port
        statuses = {host: ask(server, "/state.json", Host=host)[0].status
                    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"elsewhere.example:{port}", "127.0.0.1",
                                 f"127.0.0.1:{port + 1}")}  # fmt: skip
    assert list(statuses.values()) == [200, 200, 403, 403, 403]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_it_takes_nothing(tmp_path, method):
    with pages.served(pages.write(tmp_path / "mine")) as server:
        assert ask(server, "/state.json", method)[0].status == 501


def work_left(folder):
    """What is left of a running experiment's folder, in what its one trial that is done cost: by the same costs as the
    run itself tells the time left."""
    costs = shares(spec for _, config in load_resolved(folder / "config.yaml") for spec in Grid(config).specs())
    done = costs[json.loads((folder / "trials.jsonl").read_text())["key"]]
    return (sum(costs.values()) - done) / done


def test_the_state_says_what_is_done_and_left(tmp_path):
    folder = pages.write_running(tmp_path / "mine")
    left = work_left(folder)
    with pages.served(folder) as server:
        (about,) = json.loads(ask(server, "/state.json")[1])["experiments"]
    assert (about["ok"], about["failed"], about["unavailable"], about["total"]) == (1, 0, 0, 4)
    assert about["running"] == "process 7 on here"
    assert about["seconds_left"] == pytest.approx(60 * left, rel=0.1)  # half of the 120 went into compiling
    assert datetime.fromisoformat(about["last"]) <= datetime.now(UTC)
    assert about["table"]["rows"] == [["digits", "16", "90.00 (0.10)"]]
    assert about["problem"] == ""


def test_what_is_left_does_not_grow_while_a_trial_takes_long(tmp_path):
    folder = pages.write_running(tmp_path / "mine")
    row = json.loads((folder / "trials.jsonl").read_text())
    started = datetime.fromisoformat(json.loads((folder / "manifest.json").read_text())["started"])
    row["finished"] = (started + timedelta(seconds=80)).isoformat()
    (folder / "trials.jsonl").write_text(json.dumps(row) + "\n")
    (about,) = Watch(folder).state()["experiments"]
    assert about["seconds_left"] == pytest.approx(20 * work_left(folder))


def test_what_the_first_trial_waited_for_compilers_is_not_expected_of_the_others(tmp_path):
    folder = pages.write_running(tmp_path / "mine")
    row = json.loads((folder / "trials.jsonl").read_text())
    started = datetime.fromisoformat(json.loads((folder / "manifest.json").read_text())["started"])
    row["finished"] = (started + timedelta(seconds=50)).isoformat()
    (folder / "trials.jsonl").write_text(json.dumps(row) + "\n")
    (about,) = Watch(folder).state()["experiments"]
    assert 0 < about["seconds_left"] < work_left(folder)  # a trial of digits takes far less than a second


def test_of_a_run_of_a_part_the_state_says_what_is_left_of_it_and_of_the_whole_config(tmp_path):
    folder = pages.write_running(tmp_path / "mine", only=["n_features=16", "trial=0,1"])
    (about,) = Watch(folder).state()["experiments"]
    part = about["part"]
    assert (part["only"], part["done"], part["total"]) == ("--only n_features=16 --only trial=0,1", 1, 2)
    assert part["seconds_left"] == pytest.approx(60, rel=0.1)  # the other trial of 16 features
    assert about["total"] == 4
    assert about["seconds_left"] / part["seconds_left"] == pytest.approx(work_left(folder), rel=0.2)
    whole = pages.write_running(tmp_path / "whole")
    assert Watch(whole).state()["experiments"][0]["part"] is None


def test_the_state_follows_the_log(tmp_path):
    folder = pages.write_running(tmp_path / "mine")
    watch = Watch(folder)
    assert watch.state()["experiments"][0]["ok"] == 1
    pages.write_running(folder, trials=4)
    (about,) = watch.state()["experiments"]
    assert (about["ok"], about["seconds_left"]) == (4, None)
    (folder / ".lock").unlink()
    assert watch.state()["experiments"][0]["running"] == ""


def test_before_the_first_trial_and_with_a_broken_config_it_says_why_there_is_no_table(tmp_path):
    folder = pages.write_running(tmp_path / "mine", trials=0)
    (about,) = Watch(folder).state()["experiments"]
    assert about["total"] == 4
    assert about["table"] is None
    assert about["problem"] == "No trial has finished yet."
    pages.write_running(folder)
    (folder / "config.yaml").write_text("datasets: [")
    assert "config.yaml" in Watch(folder).state()["experiments"][0]["problem"]


def test_a_run_that_was_killed_is_not_taken_for_one_that_runs(tmp_path):
    folder = pages.write_running(tmp_path / "mine")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for process, running in ((os.getpid(), True), (gone.pid, False)):
        (folder / ".lock").write_text(f"process {process} on {socket.gethostname()}")
        assert bool(Watch(folder).state()["experiments"][0]["running"]) == running


def test_failures_are_told_with_their_messages(tmp_path):
    folder = pages.write_hostile(tmp_path / "mine")
    (about,) = Watch(folder).state()["experiments"]
    assert about["failed"] >= 0
    assert {tuple(row[:2]) for row in about["failures"]} == {("1", "error")}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", json.dumps(about, ensure_ascii=False))


def test_several_experiments_are_followed_and_one_moved_away_is_said(tmp_path):
    for name in ("one", "two"):
        pages.write_running(tmp_path / "all" / name)
    watch = Watch(tmp_path / "all")
    assert [about["name"] for about in watch.state()["experiments"]] == ["one", "two"]
    (tmp_path / "all").rename(tmp_path / "gone")
    assert "no such results folder" in watch.state()["problem"]


def test_no_results_and_a_port_that_is_taken_are_refused(tmp_path):
    with pytest.raises(ResultsError, match="neither a results folder"):
        make_server(tmp_path)
    with pages.served(pages.write(tmp_path / "mine")) as server, pytest.raises(ConfigError, match=r"--port .*in use"):
        make_server(tmp_path / "mine", server.server_port)


@pytest.mark.slow
def test_the_command_names_its_address_and_ctrl_c_ends_it_in_order(tmp_path, environment):
    folder = pages.write(tmp_path / "mine")
    command = [sys.executable, "-m", "rffbench", "serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        named = re.fullmatch(rf"{folder} is at http://127\.0\.0\.1:(\d+)/\n", process.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", int(named[1]), timeout=60)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0


# ---- Clients that keep connections -----------------------------------------------------------------------------


def ended(connection, within):
    """Whether the server ends a connection in time, though it still gets a byte every now and then."""
    connection.settimeout(0.05)
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if connection.recv(1000) == b"":
                return True
            connection.send(b"x")
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "])
def test_a_client_that_is_slow_to_send_its_request_is_cut_off(tmp_path, monkeypatch, sent):
    monkeypatch.setattr(server_module, "TIMEOUT_S", 0.5)
    with pages.served(pages.write(tmp_path / "mine")) as server:
        with socket.create_connection(server.server_address) as slow:
            slow.sendall(sent)
            trickling = threading.Thread(target=trickle, args=(slow,), daemon=True)
            trickling.start()
            assert ended(slow, 20)
            trickling.join(20)
        assert ask(server, "/state.json")[0].status == 200


def trickle(connection):
    """A byte at a time, so that no single wait is long."""
    with contextlib.suppress(OSError):
        while True:
            connection.send(b"x")
            time.sleep(0.1)


@pytest.mark.slow
def test_connections_without_requests_take_the_page_from_nobody_and_have_few_threads(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(server_module, "MOST_UNREAD", 8)
    with pages.served(pages.write(tmp_path / "mine")) as server, contextlib.ExitStack() as stack:
        before = threading.active_count()
        for _ in range(100):
            stack.enter_context(socket.create_connection(server.server_address)).sendall(b"GET / HTTP/1.1\r\n")
        assert ask(server, "/")[0].status == 200
        assert comes(lambda: threading.active_count() - before <= 8, 20)
    assert capfd.readouterr().err == ""


def test_requests_beyond_the_most_at_a_time_are_refused_and_later_ones_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "MOST", 4)
    busy = threading.Event()
    monkeypatch.setattr(Watch, "state", lambda self: {"waited": busy.wait(60)})
    with pages.served(pages.write(tmp_path / "mine")) as server, contextlib.ExitStack() as stack:
        head = f"GET /state.json HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()
        waiting = [stack.enter_context(socket.create_connection(server.server_address)) for _ in range(4)]
        for each in waiting:
            each.sendall(head)
        assert comes(lambda: server.connections == 4, 20)
        assert ended(stack.enter_context(socket.create_connection(server.server_address)), 20)
        busy.set()
        assert all(b"200 OK" in each.recv(1000) for each in waiting)
        assert comes(lambda: server.connections == 0, 20)
        assert ask(server, "/state.json")[0].status == 200
