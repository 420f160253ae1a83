"""What code in a sandbox cannot do, of each kind that this system allows."""

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

from rffbench.execution import sandbox as module
from rffbench.execution.sandbox import Sandbox, sandbox, shows, start_command
from tests.helpers.processes import comes

PROBE = r"""
import ctypes, json, os, socket, sys
asked = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
found = {}

def probe(name, act):
    try:
        found[name] = act()
    except BaseException as error:
        found[name] = type(error).__name__

def connect(kind, address):
    with socket.socket(kind) as each:
        each.settimeout(5)
        each.connect(address)
    return "connected"

def write(path):
    file = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(file, b"1")
    return "written"

status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
probe("user", lambda: [os.getuid(), os.geteuid(), os.getgid()])
probe("rights", lambda: [int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")])
probe("no new privileges", lambda: status["NoNewPrivs"].strip())
probe("unix socket", lambda: connect(socket.AF_UNIX, asked["socket"]))
probe("abstract socket", lambda: connect(socket.AF_UNIX, "\0" + asked["abstract"]))
probe("network", lambda: connect(socket.AF_INET, ("127.0.0.1", asked["port"])))
probe("fifo", lambda: write(asked["fifo"]))
probe("shared memory file", lambda: os.path.exists(asked["shm"]))
probe("system v", lambda: libc.shmget(asked["key"], 16, 0))
probe("results", lambda: open(asked["results"]).read())
probe("process", lambda: os.kill(asked["pid"], 9))
probe("proc", lambda: write("/proc/sys/kernel/hostname"))
probe("swappiness", lambda: write("/proc/sys/vm/swappiness"))
probe("sys", lambda: os.listdir("/sys"))
probe("python", lambda: open(os.path.join(os.path.dirname(os.__file__), "os.py"), "a"))
probe("root", lambda: open("/mine", "w"))
probe("usr", lambda: open("/usr/mine", "w"))
probe("remount", lambda: libc.mount(None, b"/usr", None, 4096 | 32, None))
probe("another namespace", lambda: libc.unshare(0x10000000))
probe("home", lambda: sorted(os.listdir(os.environ["HOME"])))
probe("environment", lambda: os.environ.get("RFFBENCH_SECRET"))
open("/tmp/mine", "w").write("mine")
open("/dev/shm/" + asked["name"], "w").write("mine")
import numpy
probe("numpy", lambda: float(numpy.linalg.norm([3.0, 4.0])))
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=list(Sandbox), ids=lambda kind: kind.value)
def kind(request):
    if request.param is Sandbox.BUBBLEWRAP and not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed")
    if not module.works(request.param):
        pytest.skip("this system does not let a process have namespaces of its own")
    return request.param


def command(kind, words, tmp_path_factory, **variables):
    root = tmp_path_factory.mktemp("root")
    return start_command(kind, [sys.executable, "-I", *words], {}, variables, root)


@pytest.fixture(scope="module")
def probed(kind, tmp_path_factory):
    """What a process in the sandbox found, and what it tried for."""
    place = tmp_path_factory.mktemp("outside")
    (place / "trials.jsonl").write_text("claimed")
    os.mkfifo(place / "fifo")
    libc = ctypes.CDLL(None, use_errno=True)
    key, name = 0x52660000 + os.getpid() % 65536, f"rffbench-probe-{os.getpid()}"
    segment = libc.shmget(key, 16, 0o1666)
    assert segment >= 0
    reader = os.open(place / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    os.environ["RFFBENCH_SECRET"] = "secret"
    with (
        socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract,
        socket.create_server(("127.0.0.1", 0)) as server, subprocess.Popen(["sleep", "60"]) as other,
    ):  # fmt: skip
        named.bind(str(place / "socket"))
        named.listen()
        abstract.bind(f"\0{name}")
        abstract.listen()
        with open(f"/dev/shm/{name}-outside", "w") as shared:
            asked = {
                "socket": str(place / "socket"), "abstract": name, "port": server.getsockname()[1],
                "fifo": str(place / "fifo"), "shm": shared.name, "key": key, "pid": other.pid, "name": name,
                "results": str(place / "trials.jsonl"),
            }  # fmt: skip
            words = command(kind, ["-c", PROBE, json.dumps(asked)], tmp_path_factory)
            ran = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
        asked["alive"] = other.poll() is None
        asked["left"] = os.path.exists(f"/dev/shm/{name}") or os.path.exists("/tmp/mine")
        other.kill()
    os.unlink(f"/dev/shm/{name}-outside")
    with open(reader, "rb") as fifo:
        asked["fifo holds"] = fifo.read()
    libc.shmctl(segment, 0, None)
    del os.environ["RFFBENCH_SECRET"]
    return json.loads(ran.stdout), asked


def test_it_is_not_root_and_can_gain_no_rights(probed):
    found, _ = probed
    assert found["user"] == [65534, 65534, 65534]
    assert found["rights"] == [0, 0, 0, 0]
    assert found["no new privileges"] == "1"
    assert found["remount"] == found["another namespace"] == -1


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("unix socket", "FileNotFoundError"),
        ("abstract socket", "ConnectionRefusedError"),
        ("network", ("OSError", "ConnectionRefusedError")),
        ("fifo", "FileNotFoundError"),
        ("shared memory file", False),
        ("system v", -1),
        ("results", "FileNotFoundError"),
        ("process", "ProcessLookupError"),
        ("proc", "OSError"),
        ("swappiness", "OSError"),
        ("sys", "FileNotFoundError"),
        ("python", "OSError"),
        ("root", "OSError"),
        ("usr", "OSError"),
        ("environment", None),
        ("home", []),
    ],
)
def test_nothing_outside_can_be_reached(probed, what, found):
    assert probed[0][what] in (found if isinstance(found, tuple) else (found,))


def test_nothing_is_left_outside_and_python_works_inside(probed):
    found, asked = probed
    assert (asked["alive"], asked["left"], asked["fifo holds"]) == (True, False, b"")
    assert found["numpy"] == 5.0


def test_it_can_fill_its_scratch_folder_only_so_far(kind, tmp_path_factory):
    words = ["-c", "f = open('/tmp/x', 'wb')\nfor _ in range(400): f.write(bytes(1 << 20)); f.flush()"]
    ran = subprocess.run(command(kind, words, tmp_path_factory), capture_output=True, text=True, timeout=120)
    assert "No space left" in ran.stderr


def test_a_process_that_it_leaves_behind_ends_with_it(kind, tmp_path_factory):
    marker = f"4444{os.getpid()}"
    daemon = f"import os\nif os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '{marker}'])"
    ran = subprocess.run(command(kind, ["-c", daemon], tmp_path_factory), capture_output=True, timeout=120)
    assert ran.returncode == 0
    assert subprocess.run(["pgrep", "-f", f"^sleep {marker}$"], capture_output=True).stdout == b""


def test_it_ends_with_the_process_that_started_it(kind, tmp_path_factory):
    marker = f"5555{os.getpid()}"
    inner = command(kind, ["-c", f"import os; os.execvp('sleep', ['sleep', '{marker}'])"], tmp_path_factory)
    starter = f"import subprocess, time; subprocess.Popen({inner!r}); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", starter]) as process:
        look = ["pgrep", "-f", f"^sleep {marker}$"]
        assert comes(lambda: subprocess.run(look, capture_output=True).stdout != b"")
        process.kill()
    assert comes(lambda: subprocess.run(look, capture_output=True).stdout == b"")


def test_without_namespaces_there_is_none(monkeypatch):
    monkeypatch.setattr(module, "start_command", lambda *_: ["false"])
    monkeypatch.setattr(shutil, "which", lambda _: "bwrap")
    assert sandbox.__wrapped__() is None


def test_the_folders_of_a_user_are_not_among_what_python_needs(tmp_path):
    import rffbench

    package = module.Path(rffbench.__file__).parent
    assert shows(package)
    assert not shows(tmp_path)
    assert not shows(package.parent / "results")
