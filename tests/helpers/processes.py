"""What runs below a process, waiting for what will be, and what never ends."""

import os
import signal
import time
from pathlib import Path


def descendants(pid):
    """The processes started by a process and theirs, that still run."""
    children = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, todo = [], [pid]
    while todo:
        offspring = children.get(todo.pop(), [])
        found += offspring
        todo += offspring
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processor_s(pid):
    """The seconds of a processor that a process has used; 0 where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def comes(condition, seconds=60.0):
    """The condition's value as soon as it is true; its last value where it does not come true within that time."""
    until = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < until:
        time.sleep(0.02)
    return value


def wait_for(condition, seconds=60.0):
    value = comes(condition, seconds)
    assert value, "waited in vain"
    return value


def content(path):
    """The text of a file; empty while the file does not exist."""
    return path.read_text() if path.exists() else ""


def gone(pid):
    """Whether a process ends within half a minute (a zombie has ended)."""
    return comes(lambda: not alive(pid), 30)


def hang():
    """Never return, whatever signals come."""
    while True:
        signal.pause()
