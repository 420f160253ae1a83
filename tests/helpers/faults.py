"""Faults on purpose: each kind is a generator that yields what it is about to do, does it, and raises `Lost` where
rffbench does not keep what it promises. scripts/torture.py runs them, and shows their docstrings."""

import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rffbench.config.loading import load_experiment
from rffbench.data import fetch
from rffbench.errors import DataError
from rffbench.execution.log import read_rows
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from tests.helpers import misbehaving
from tests.helpers.command_server import CommandServer
from tests.helpers.processes import alive, comes, descendants
from tests.helpers.web_server import CONTENT, Server, card

ROOT = Path(__file__).resolve().parents[2]
CONFIG = """\
name: whole
datasets: [digits, breast-cancer]
preprocess: minmax
kernel: {name: gaussian, sigma: 2.0}
n_features: [8, 32]
methods:
  RFF: {features: fourier}
  QMC: {features: qmc}
  Ours: {features: surrogate-leverage}
solver: {name: ridge, lambda: [0.001, 0.01], folds: 3}
trials: 3
"""
LIMIT_S = 300  # for any command: one that takes longer hangs
ORPHAN_S = 30.0  # how long what a run has started may outlive it
QUICKLY = 0.8  # how often a run whose fault is over is carried on so
ENDS = {0, 1, 2, 3, 130}  # of the command line: done, failed in part, refused, no data, interrupted
HOSTILE = (
    "", "null", "~", "[]", "{}", "[[]]", "nan", ".inf", "-1", "0", "1e999", "1e-400", "10000000000", "1_000", "0x10",
    "010", "true", "'1'", "16dd", "-4d", "1.5d", "[1d, 1d]", "../../etc/passwd", "/dev/zero", "~/x", "!!binary aGk=",
    "!!python/object/apply:os.abort []", "&a [*a]", "*nobody", "{<<: 3}", "? x", "|", "\"\\ud800\"", "'\u202e'", "\x00",
    "\t", "[" * 500, "{a: " * 300, "σ" * 10_000, "9" * 5_000, "2001-01-01", "<script>", "=1+1", "$\\frac{", "%s{0}",
    "&a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]",
)  # fmt: skip


STATUSES = (200, 200, 206, 204, 301, 302, 304, 401, 404, 429, 500, 503, 999, "x")
HEADERS = (
    f"Content-Length: {len(CONTENT)}\r\n", "Content-Length: -1\r\n", "", "Transfer-Encoding: chunked\r\n",
    "Content-Encoding: gzip\r\n", "Location: /a\r\n",
)  # fmt: skip


class Lost(Exception):
    """A promise that was not kept."""


class Skipped(Exception):
    """A kind of fault that cannot be made here, and why."""


def promise(kept: object, otherwise: str) -> None:
    if not kept:
        raise Lost(otherwise)


class Place:
    """Where one fault happens: a folder of its own with the config, a temporary folder and an environment."""

    reference: Path  # the results of a run that nothing disturbs
    seconds: float  # what that took
    cache: Path
    commands: CommandServer
    patience = 1.0  # times the limits of trials and servers: on a busy machine nothing is to be late by itself

    def __init__(self, folder: Path) -> None:
        self.folder, self.temporary = folder, folder / "tmp"
        self.results = folder / "results" / "whole"
        self.log = self.results / "trials.jsonl"
        self.temporary.mkdir(parents=True)
        (folder / "whole.yaml").write_text(CONFIG)
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary)}

    def start(self, *options: str) -> subprocess.Popen[str]:
        """``rffbench run`` in a session of its own."""
        command = [sys.executable, "-m", "rffbench", "run", "whole.yaml", "--workers", "2", *options]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, start_new_session=True, text=True,
                                **pipes)  # type: ignore[call-overload]  # fmt: skip

    def wait(self, dice: random.Random) -> None:
        """Until any moment of a run."""
        time.sleep(dice.uniform(0.1, self.seconds))

    def end(self, process: subprocess.Popen[str], struck: bool = False) -> int:
        """Its exit status, one of those it may have: a signal's only where the run itself was ``struck`` by one."""
        try:
            _, errors = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise Lost(f"the run hangs for more than {LIMIT_S} s") from None
        status = process.returncode
        promise(status in ENDS or (struck and status < 0), f"exit status {status}: {errors[-2000:]}")
        promise("Traceback" not in errors, errors[-2000:])
        return status

    def again(self, *options: str) -> int:
        """The exit status of the same command where libraries are loaded already, its trials one after another: it
        takes a tenth of the time."""
        command = ["run", "whole.yaml", "--executor", "serial", *options]
        told = self.commands.run(self.folder, command, self.environment, LIMIT_S)
        promise(told.returncode in ENDS and "Traceback" not in told.stderr, f"{told.returncode}: {told.stderr[-2000:]}")
        return told.returncode

    def carry_on(self, *options: str, quickly: bool = False) -> None:
        """The same command, undisturbed, comes to the end that the undisturbed run has come to: no row that was there
        is lost, no trial is measured twice, and every score is equal. ``quickly``: see `again`."""
        before = whole_lines(self.log)
        if quickly:
            status = self.again(*options)
        else:
            status = self.end(process := self.start(*options))
            promise(not descendants(process.pid), "a process is left over")
        promise(status == 0, f"the run carried on ends with {status}: {failures(self.log)}")
        promise(self.log.read_bytes().startswith(before), "a row is lost")
        same(self.log, self.reference / "trials.jsonl")


def whole_lines(log: Path) -> bytes:
    """What of a log is there for good: all but a torn last line."""
    content = log.read_bytes() if log.exists() else b""
    return content[: content.rfind(b"\n") + 1]


def failures(log: Path) -> Counter[str]:
    return Counter(f"{row['status']}: {row['error']['message'][:200]}" for row in read_rows(log) if row["error"])


def same(log: Path, reference: Path, methods: tuple[str, ...] = ("RFF", "QMC", "Ours")) -> None:
    """Every trial of ``methods`` is measured once in both logs, with equal scores."""
    one, other = (Counter(), {}), (Counter(), {})
    for (counts, measured), path in ((one, log), (other, reference)):
        for row in read_rows(path):
            if row["status"] == "ok" and row["method"] in methods:
                counts[row["key"]] += 1
                measured[row["key"]] = row
    promise(one[0] == other[0], f"of {len(other[0])} trials {len(one[0])} are measured, {one[0].total()} times in all")
    for key, row in one[1].items():
        scores = {name: value for name, value in row["metrics"].items() if not name.endswith("_bytes")}
        for name, value in scores.items():
            there = other[1][key]["metrics"][name]
            exact = name == "accuracy"  # others to single precision: shared work rounds otherwise
            equal = value == there if exact else math.isclose(value, there, rel_tol=1e-5)
            promise(equal, f"{row['method']}: {name} is {value}, not {there}")
        promise(row["lambda"] == other[1][key]["lambda"], f"{row['method']}: another λ")


# ---- The kinds of faults: each yields what it is about to do ----------------------------------------------


def signals(place: Place, dice: random.Random) -> Iterator[str]:
    """Signals (KILL, TERM, INT) to the run, one of its workers, the process that forks them, or the one that tracks
    their locks, at any moment, several times in a row; a second run beside the first. All that the run has started ends
    with it, and the same command carries on (with `--retry-failed` where a worker was struck)."""
    options: tuple[str, ...] = ()
    for _ in range(dice.randint(1, 4)):
        before, process = whole_lines(place.log), place.start(*options)
        place.wait(dice)
        below = descendants(process.pid)
        target = dice.choice(["run", "group", "worker", "worker", "forkserver", "tracker", "rival"])
        number = dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        yield f"{number.name} to the {target}" if target != "rival" else "a second run"
        if target == "rival":
            promise(place.end(place.start(*options)) in (0, 2), "the second run is neither refused nor done")
        elif (pid := find(process.pid, below, target)) and process.poll() is None:
            with_group = os.killpg if target == "group" else os.kill
            with suppress(ProcessLookupError):
                with_group(pid, number)
            options = ("--retry-failed",) if target == "worker" else options
        place.end(process, struck=target in ("run", "group"))
        ended = comes(lambda below=below: not any(map(alive, below)), ORPHAN_S)
        promise(ended, "what the run has started outlives it")
        promise(not place.log.exists() or place.log.read_bytes().startswith(before), "a row is lost")
    place.carry_on(*options)


def find(parent: int, below: list[int], target: str) -> int | None:
    """The process that is meant by ``target`` among those below a run; None where there is none yet."""
    if target in ("run", "group"):
        return parent
    kinds: dict[str, int] = {}
    for pid in below:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text()
            above = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        name = next((name for name in ("tracker", "forkserver") if name in command), "")
        kinds["worker" if name == "forkserver" and above != parent else name] = pid
    return kinds.get(target)


def torn(place: Place, dice: random.Random) -> Iterator[str]:
    """A log whose last line was cut off anywhere, or is followed by what a power cut leaves: zeros, half a line, half a
    character. The run carries on, and only what was cut off is measured again."""
    place.results.mkdir(parents=True)
    lines = (place.reference / "trials.jsonl").read_bytes().splitlines(keepends=True)
    kept = lines[: dice.randint(len(lines) - 4, len(lines) - 1)]
    last = lines[len(kept)]
    cut = dice.randrange(1, len(last) - 1)
    tail = dice.choice([last[:cut], last[:cut] + b"\0" * dice.randint(1, 5000), b"\0" * 512, last[:cut] + b"\xcf"])
    yield f"{len(tail)} bytes of a torn line"
    place.log.write_bytes(b"".join(kept) + tail)
    run_experiment(load_experiment(place.folder / "whole.yaml"), place.results, executor=SerialExecutor())
    promise(place.log.read_bytes().startswith(b"".join(kept)), "a row is lost")
    same(place.log, place.reference / "trials.jsonl")


def folder(place: Place, dice: random.Random) -> Iterator[str]:
    """The temporary folder is removed in mid-run. The run goes on or stops with a message; no trial is blamed."""
    process = place.start()
    place.wait(dice)
    yield "the temporary folder is removed"
    shutil.rmtree(place.temporary, ignore_errors=True)
    place.end(process)
    place.temporary.mkdir(exist_ok=True)
    place.carry_on(quickly=dice.random() < QUICKLY)


def disk(place: Place, dice: random.Random) -> Iterator[str]:
    """The disk of the results, the cache and the temporary folder is full at some point. The run stops with a message
    or leaves rows that are done again by the same command, once there is room."""
    small = place.folder / "disk"
    small.mkdir()
    kilobytes = int(2 ** dice.uniform(4, 12))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k"]
    if subprocess.run([*mount, "none", small], capture_output=True).returncode:
        raise Skipped("no small disk can be made: mounting one takes root")
    try:
        for name in ("results", "cache", "tmp"):
            (small / name).mkdir()
        (place.folder / "results").symlink_to(small / "results")
        place.environment |= {"RFFBENCH_CACHE": str(small / "cache"), "TMPDIR": str(small / "tmp")}
        yield f"a disk of {kilobytes} kB"
        place.end(place.start())
        subprocess.run(["mount", "-o", "remount,size=100m", small], check=True)
        place.carry_on(quickly=dice.random() < QUICKLY)
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def plugins(place: Place, dice: random.Random) -> Iterator[str]:
    """Feature maps and solvers of another package that raise, exit, crash, hang, hog memory, change what they are
    given, or return nonsense. Each of their trials leaves one row, the other methods' scores are equal, and the results
    can be read."""
    misbehaving.install(place.folder / "installed")
    place.environment["PYTHONPATH"] += f"{os.pathsep}{place.folder / 'installed'}"
    maps = dice.sample(sorted(misbehaving.MAPS), 3)
    solver = dice.choice(sorted(misbehaving.SOLVERS))
    odd = [f"  odd{i}: {{features: {name}}}\n" for i, name in enumerate(maps)]
    odd.append(f"  odd3: {{features: fourier, solver: {{name: {solver}}}}}\n")
    text = CONFIG.replace("[8, 32]", "[8]").replace("trials: 3", "trials: 1\nmemory: 1GB")
    limit = f"time_limit: {5 * place.patience}s\n"
    (place.folder / "whole.yaml").write_text(limit + text.replace("methods:\n", "methods:\n" + "".join(odd)))
    yield from (f"the map {name}" for name in maps)
    yield f"the solver {solver}"
    place.end(place.start())
    rows = read_rows(place.log)
    counts = Counter((row["dataset"], row["method"]) for row in rows)
    promise(set(counts.values()) == {1} and len(counts) == 2 * 7, f"not one row for each trial: {counts}")
    for row in rows:
        if row["method"] in ("RFF", "QMC", "Ours"):
            promise(row["status"] == "ok", f"{row['method']} beside {maps}, {solver}: {row['error']}")
        elif row["status"] == "ok":
            promise(0 <= row["metrics"]["accuracy"] <= 100, f"{row['features']}: {row['metrics']}")
    keys = {row["key"] for row in rows}
    some = place.folder / "reference.jsonl"
    lines = (place.reference / "trials.jsonl").read_text().splitlines(keepends=True)
    some.write_text("".join(line for line in lines if json.loads(line)["key"] in keys))
    same(place.log, some)
    table = place.commands.run(place.folder, ["table", "results/whole"], place.environment, LIMIT_S)
    promise(table.returncode in ENDS and "Traceback" not in table.stderr, f"table: {table.stderr[-2000:]}")


def configs(place: Place, dice: random.Random) -> Iterator[str]:
    """A valid config with lines left out, doubled or moved, and hostile text in place of its values. It is valid, or
    refused with a message."""
    lines = CONFIG.splitlines()
    for _ in range(dice.randint(1, 3)):
        i, j = dice.randrange(len(lines)), dice.randrange(len(lines))
        change = dice.randrange(5)
        if change == 0:
            del lines[i]
        elif change == 1:
            lines.insert(j, lines[i])
        elif change == 2:
            lines[i] = lines[i][: dice.randrange(len(lines[i]) + 1)]
        else:
            values = list(re.finditer(r"(?<=[:\[,] )[^,\]}]+|(?<=\[)\w+", lines[i])) or [re.search("$", lines[i])]
            value = dice.choice(values)
            lines[i] = lines[i][: value.start()] + dice.choice(HOSTILE) + lines[i][value.end() :]
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    if dice.random() < 0.1:
        content = content[: dice.randrange(len(content))] + dice.randbytes(3)
    yield "a hostile config"
    (place.folder / "whole.yaml").write_bytes(content)
    told = place.commands.run(place.folder, ["validate", "whole.yaml"], place.environment, LIMIT_S)
    promise(told.returncode in (0, 2), f"validate ends with {told.returncode}: {told.stderr[-2000:]}")
    promise("Traceback" not in told.stderr, told.stderr[-2000:])
    promise(told.returncode == 0 or told.stderr.strip(), "refused without a word")


def servers(place: Place, dice: random.Random) -> Iterator[str]:
    """A server whose answers are cut off, changed in a few bytes, of another status, or no HTTP at all, before one that
    has the file. The right file comes, or an error of the data; nothing half is left in the cache."""
    server = Server()
    os.environ |= {"RFFBENCH_CACHE": str(place.folder / "cache"), "NO_PROXY": "127.0.0.1"}
    try:
        answers = []
        for _ in range(3):
            status, header = dice.choice(STATUSES), dice.choice(HEADERS)
            head = f"HTTP/1.1 {status} OK\r\n{header}\r\n"
            answer = bytearray(head.encode() + CONTENT)
            for _ in range(dice.choice([0, 0, 1, 4])):
                answer[dice.randrange(dice.choice([len(head), len(answer)]))] = dice.randrange(256)
            answers.append(bytes(answer[: dice.choice([len(answer), dice.randrange(len(answer))])]))
        server.raw["/a"] = answers
        urls = [f"{server.url}/a"]
        if sane := dice.random() < 0.5:
            server.content["/b"] = CONTENT
            urls.append(f"{server.url}/b")
        yield "a server's answers"
        subject = card(*urls)
        try:
            path = fetch.fetch_file(subject, subject.files[0])
        except DataError as error:
            promise(not sane, f"the next URL was not tried: {error}")
        else:
            promise(path.read_bytes() == CONTENT, "a wrong file was taken")
        left = [each.name for each in (place.folder / "cache").rglob("*") if each.is_file()]
        promise(set(left) <= {"a file.csv", ".lock"}, f"left in the cache: {left}")
    finally:
        os.environ["RFFBENCH_CACHE"] = str(place.cache)
        server.httpd.shutdown()
        server.httpd.server_close()


KINDS = {kind.__name__: kind for kind in (signals, torn, folder, disk, plugins, configs, servers)}


@contextmanager
def workshop(patience: float = 1.0) -> Iterator[Path]:
    """A folder for the campaign, with a filled cache, the undisturbed run and quick commands."""
    Place.patience = patience
    fetch.PAUSE, fetch.STALL_S = 0.01, 0.3 * patience
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("RFFBENCH_MIRROR", None)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        Place.cache = Path(folder) / "cache"
        os.environ["RFFBENCH_CACHE"] = str(Place.cache)
        whole = Place(Path(folder) / "undisturbed")
        for options in ((), ("--fresh",)):  # the first one fills the cache
            started = time.monotonic()
            promise(whole.end(whole.start(*options)) == 0, "the undisturbed run does not end well")
            Place.seconds = time.monotonic() - started
        Place.reference = whole.results
        (Path(folder) / "commands").mkdir()
        Place.commands = CommandServer(Path(folder) / "commands", whole.environment)
        try:
            yield Path(folder)
        finally:
            Place.commands.close()
