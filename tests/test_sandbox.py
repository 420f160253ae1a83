"""What a process in a sandbox can do: read, and write to its scratch folder."""

import socket
import subprocess
import sys

import pytest

from rffbench.cli.sandbox import Sandbox, run_command, run_in, sandbox


@pytest.fixture(scope="module")
def whole():
    if sandbox() is not Sandbox.WHOLE:
        pytest.skip("this system does not let a process mount in a namespace of its own")


def in_sandbox(words: str) -> int:
    return run_command(Sandbox.WHOLE, ["sh", "-c", words], {}, quiet=True)


def test_files_can_be_read_and_not_changed(whole, tmp_path):
    mine = tmp_path / "a folder" / "mine"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert in_sandbox(f"grep -q mine '{mine}'") == 0
    assert in_sandbox(f"echo yours > '{mine}'") != 0
    assert in_sandbox(f"rm '{mine}'") != 0
    assert mine.read_text() == "mine"


def test_what_is_read_only_stays_so(whole, tmp_path):
    assert in_sandbox(f"mount -o remount,bind,rw / ; touch {tmp_path}/yours") != 0
    assert (
        in_sandbox(f"unshare --user --map-root-user --mount mount -o remount,bind,rw / ; touch {tmp_path}/yours") != 0
    )
    assert not (tmp_path / "yours").exists()


def test_the_scratch_folder_can_be_written_to_and_is_gone_afterwards(whole, tmp_path):
    assert in_sandbox("touch $TMPDIR/mine && test -f $TMPDIR/mine") == 0
    assert in_sandbox('test -z "$(ls $TMPDIR)"') == 0


def test_there_is_no_network(whole):
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), timeout=5)"
        assert subprocess.run([sys.executable, "-c", connect]).returncode == 0
        assert in_sandbox(f'{sys.executable} -c "{connect}"') != 0


def test_there_is_no_other_process(whole):
    with subprocess.Popen(["sleep", "60"]) as other:
        assert in_sandbox(f"test -d /proc/{other.pid}/task && kill {other.pid}") != 0
        assert other.poll() is None
        other.kill()


def test_rffbench_runs_there_with_its_exit_status(whole):
    assert run_in(Sandbox.WHOLE, ["--version"]) == 0
    assert run_in(Sandbox.WHOLE, ["no-such-command"]) == 2
