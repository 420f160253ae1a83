"""What runs below a process, and waiting for what will be."""

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


def wait_for(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)
    return value


def gone(pid):
    """Whether a process ends within half a minute (a zombie has ended)."""
    for _ in range(1500):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False
