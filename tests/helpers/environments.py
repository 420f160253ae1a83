"""Faults on purpose in what surrounds a run: files that unpack without end, folders that are not locked, variables and
settings that other programs have left."""

import lzma
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rffbench.execution.log import read_rows
from tests.helpers.changes import READERS
from tests.helpers.faults import ENDS, LIMIT_S, Place, promise, same

QUICKLY_S = 120  # for a command that reads, on a busy machine
PIECES = (b" " * 999_999, b"\n" * 1_000_000, bytes(1_000_000), b" " * 999_998 + b"\n", b'{"a": ' + b"1" * 1_000_000)


def bombs(place: Place, dice: random.Random) -> Iterator[str]:
    """A log or a data file of a few kB unpacks to a line of hundreds of MB, to blank lines, zeros or nothing but
    streams, before or after what it holds. Commands that read it end soon, with a message or with what it holds."""
    shutil.copytree(place.reference, place.results)
    shutil.copytree(place.reference, place.results.with_name("other"))
    packing = lzma.LZMACompressor(preset=0)
    before = place.log.read_bytes() if dice.random() < 0.5 else b""
    piece, times = dice.choice(PIECES), dice.choice([70, 200, 400])
    yield f"{times} MB of {piece[:8]!r} after {len(before)} bytes"
    parts = [packing.compress(before), *(packing.compress(piece) for _ in range(times)), packing.flush()]
    packed = b"".join(parts) + bytes(4) * dice.randrange(3) + lzma.compress(b"", preset=0) * dice.choice([0, 5000])
    place.log.unlink()
    place.log.with_name("trials.jsonl.xz").write_bytes(packed)
    (place.folder / "d.csv.xz").write_bytes(packed)
    for command in [*dice.sample(READERS, 3), ["datasets", "describe", "d.csv.xz"]]:
        started = time.monotonic()
        told = place.commands.run(place.folder, command, place.environment, LIMIT_S)
        quickly = time.monotonic() - started < QUICKLY_S * place.patience
        promise(quickly, f"{' '.join(command)} takes {time.monotonic() - started:.0f} s")
        promise(told.returncode in ENDS, f"{' '.join(command)} ends with {told.returncode}: {told.stderr[-2000:]}")
        promise("Traceback" not in told.stderr, told.stderr[-2000:])


def unlocked(place: Place, dice: random.Random) -> Iterator[str]:
    """Two runs write into one folder at the same time, on a file system without locks. Each ends well or says that
    there is another; no trial is in the log twice, no row is lost, and the same command carries on."""
    patched = place.folder / "patched"
    patched.mkdir()
    answer = dice.choice(["return", "raise OSError(37, 'No locks available')"])
    (patched / "sitecustomize.py").write_text(f"import fcntl\ndef flock(*_):\n    {answer}\nfcntl.flock = flock\n")
    place.environment["PYTHONPATH"] += f"{os.pathsep}{patched}"
    yield f"two runs where flock says: {answer}"
    first = place.start()
    time.sleep(dice.uniform(0, place.seconds / 2))
    second = place.start()
    for process in (first, second):
        promise(place.end(process) in (0, 1), f"exit status {process.returncode}")
    counts = Counter(row["key"] for row in read_rows(place.log))
    promise(set(counts.values()) == {1}, f"{counts.total() - len(counts)} rows are there twice")
    place.carry_on()


LEFT = {
    "MPLBACKEND": ("module://matplotlib_inline.backend_inline", "nonsense", "tkagg", ""),
    "MATPLOTLIBRC": ("{settings}", "/proc/nowhere"),
    "MPLCONFIGDIR": ("/proc/nowhere", "{settings}"),
    "HOME": ("/proc/nowhere", "{settings}", ""),
    "XDG_CACHE_HOME": ("/proc/nowhere",),
    "NUMBA_CACHE_DIR": ("/proc/nowhere", "{settings}"),
    "NUMBA_NUM_THREADS": ("1", "64"),
    "COLUMNS": ("1", "-3", "x"),
    "TERM": ("dumb", "nonsense"),
    "LC_ALL": ("C", "POSIX", "xx_XX.nonsense"),
    "PYTHONIOENCODING": ("ascii", "latin-1"),
    "TZ": ("nonsense",),
}


def surroundings(place: Place, dice: random.Random) -> Iterator[str]:
    """Variables that Jupyter, a container or another program has left: a backend that is not installed, damaged
    settings, a home that cannot be written to, odd terminals and languages. The run ends well, with equal scores, its
    tables and its figures."""
    settings = place.folder / "settings"
    settings.write_bytes(dice.choice([b"font.size: \xff\xfe\n", b"backend: nonsense\ntext.usetex: True\n", b""]))
    for name in dice.sample(sorted(LEFT), dice.randint(2, 5)):
        value = dice.choice(LEFT[name]).format(settings=settings)
        yield f"{name}={value}"
        place.environment[name] = value
    if dice.random() < 0.3:
        shutil.copy(settings, place.folder / "matplotlibrc")
    process = place.start()
    for said in (process.stdout, process.stderr):  # it may be in another encoding
        said.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    promise(place.end(process) == 0, "the run does not end well")
    same(place.log, place.reference / "trials.jsonl")
    written = {path.relative_to(place.results) for path in place.results.rglob("*") if path.is_file()}
    wanted = {path.relative_to(place.reference) for path in Path(place.reference).rglob("*") if path.is_file()}
    promise(wanted <= written, f"not written: {sorted(map(str, wanted - written))}")


KINDS = {kind.__name__: kind for kind in (bombs, unlocked, surroundings)}
