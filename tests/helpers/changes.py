"""Faults on purpose that tests/helpers/faults.py does not have: files that others change, while a run goes on or
before, power cuts, and moments in which nothing runs that are longer than the time limit."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rffbench.config.loading import load_experiment
from rffbench.execution.log import latest, read_rows
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from rffbench.report.merge import merge
from tests.helpers.faults import ENDS, LIMIT_S, QUICKLY, Place, promise, same
from tests.helpers.powercut import recorded, restore
from tests.helpers.processes import comes, descendants

TIME_LIMIT_S = 6  # times the place's patience
READERS = (
    ["table", "results/whole"], ["compare", "results/whole"], ["plot", "results/whole"],
    ["diff", "results/whole", "results/other"], ["diff", "results/other", "results/whole"],
    ["history", "results/whole"], ["report", "results/whole", "--output", "page.html"],
    ["record", "results/whole"], ["merge", "results/whole", "results/other", "--into", "merged"],
    ["run", "whole.yaml", "--dry-run"],
)  # fmt: skip


def replaced(place: Place, dice: random.Random) -> Iterator[str]:
    """While a run goes on its log is compressed by `xz -9`, rewritten by `sed -i`, saved again as it was by an editor,
    overwritten in its place, moved away or removed, several times. The run ends with all of its rows in the log that is
    there, or stops with a message; the same command carries on."""
    process, late = place.start(), False
    for _ in range(dice.randint(1, 4)):
        way = dice.choice(["xz", "sed", "editor", "in place", "moved", "removed"])
        comes(lambda: process.poll() is not None or place.log.exists(), LIMIT_S)
        # Most trials end within a second of the first; then come the tables and figures.
        with suppress(subprocess.TimeoutExpired):
            process.wait(dice.uniform(0, 0.4 if dice.random() < 0.7 else place.seconds / 2))
            break
        yield f"the log is changed: {way}"
        with suppress(FileNotFoundError):  # the run may have ended
            _change(place.log, way, dice)
        late = late or not place.log.with_name(".lock").exists()  # it has closed the log, and can't mend it any more
    status = place.end(process)
    if status == 0 and not late:
        _measured_once(place)
    status = place.again() if dice.random() < QUICKLY else place.end(place.start())
    promise(status == 0, f"the run carried on ends with {status}")
    _measured_once(place)


def _change(log: Path, way: str, dice: random.Random) -> None:
    content = log.read_bytes()
    if way in ("editor", "in place"):  # it was read a while before it is written
        time.sleep(dice.uniform(0, 1))
    if way == "xz":
        subprocess.run(["xz", "-9", "-f", log], capture_output=True)
        return
    if way == "sed":
        subprocess.run(["sed", "-i", "s/zzz/zzz/", log], capture_output=True)
    elif way == "editor":
        new = log.with_name("trials.jsonl~new")
        new.write_bytes(content)
        new.replace(log)
    elif way == "in place":
        log.write_bytes(content)
    elif way == "moved":
        log.rename(log.with_name("trials.jsonl.mine"))
    else:
        log.unlink()


def _measured_once(place: Place) -> None:
    """Every trial of this run is in the log, with equal scores. Rows may be there twice after a change, but equal."""
    rows = latest(row for row in read_rows(place.log) if row["status"] == "ok")
    wanted = {row["key"] for row in read_rows(place.reference / "trials.jsonl")}
    lacking = wanted - {row["key"] for row in rows}
    promise(not lacking, f"{len(lacking)} of {len(wanted)} rows are missing from the log")


def powercuts(place: Place, dice: random.Random) -> Iterator[str]:
    """The power goes at any write of a run or a merge: of what was not synced nothing is there, and names are those of
    now or of the folder's last sync. No row that was told of is lost, no empty file is in the way, a merged folder is
    there whole or not at all, and the same command carries on to equal scores."""
    disk_folder = place.folder / "disk"
    disk_folder.mkdir()
    experiment = load_experiment(place.folder / "whole.yaml")
    told: list[tuple[int, int]] = []
    merging = dice.random() < 0.5
    with recorded(disk_folder) as disk:
        if merging:
            merge([place.reference], disk_folder / "whole")
        else:
            run_experiment(
                experiment, disk_folder / "whole", executor=SerialExecutor(), only=["dataset=digits", "trial=0"],
                progress=lambda done, *_: told.append((len(disk.states), done)),
            )  # fmt: skip
    for number in sorted(dice.sample(range(len(disk.states)), min(4, len(disk.states)))):
        before, state = disk.states[number]
        yield f"a power cut before {before} of a {'merge' if merging else 'run'}"
        left = restore(state, place.folder / f"left-{number}") / "whole"
        if merging:
            promise(not left.exists() or len(read_rows(left / "trials.jsonl")) == 36, "a merged folder is not whole")
            continue
        due = max((done for at, done in told if at <= number), default=0)
        rows = read_rows(left / "trials.jsonl")
        promise(len(rows) >= due, f"{len(rows)} rows are left of {due} that were told of")
        summary = run_experiment(experiment, left, executor=SerialExecutor(), only=["dataset=digits", "trial=0"])
        promise(summary.failed == 0, "the run carried on has failures")
    if merging:
        same(disk_folder / "whole" / "trials.jsonl", place.reference / "trials.jsonl")


def freezes(place: Place, dice: random.Random) -> Iterator[str]:
    """All processes of a run, or the run's own alone, stand still for longer than a trial may take, as in a paused
    container or a laptop that sleeps. No trial is a timeout, and every score is equal."""
    config, limit = place.folder / "whole.yaml", TIME_LIMIT_S * place.patience
    config.write_text(f"{config.read_text()}time_limit: {limit}s\n")
    process = place.start()
    place.wait(dice)
    alone = dice.random() < 0.3
    struck = [process.pid] if alone else [process.pid, *descendants(process.pid)]
    if process.poll() is None:
        yield f"a freeze of {'the run' if alone else 'all processes'} for longer than the time limit"
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in struck:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(dice.uniform(1.1, 1.3) * limit if number == signal.SIGSTOP else 0)
    promise(place.end(process) == 0, "the run does not end well")
    same(place.log, place.reference / "trials.jsonl")


def mutated(place: Place, dice: random.Random) -> Iterator[str]:
    """The arrays in the cache are changed between two runs: a byte flipped, cut off, zeroed, exchanged, with size and
    time as before. No trial is measured on them: the run makes them anew or says that it cannot."""
    cache = place.folder / "cache"
    shutil.copytree(place.cache, cache)
    place.environment["RFFBENCH_CACHE"] = str(cache)
    for _ in range(dice.randint(1, 3)):
        path = dice.choice([path for path in sorted(cache.glob("*/parsed/*/*")) if path.is_file()])
        about, content = path.stat(), bytearray(path.read_bytes())
        way = dice.choice(["flipped", "cut off", "zeroed", "removed", "a folder", "a pipe"])
        yield f"{path.name} of {path.parent.parent.parent.name} is {way}"
        path.unlink()
        at = dice.randrange(len(content))
        if way == "flipped":
            content[at] ^= 1 << dice.randrange(8)
        elif way == "cut off":
            del content[at:]
        elif way == "zeroed":
            content[at : at + 4096] = bytes(len(content[at : at + 4096]))
        elif way == "a folder":
            path.mkdir()
        elif way == "a pipe":
            os.mkfifo(path)
        if way in ("flipped", "cut off", "zeroed"):
            path.write_bytes(content)
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    status = place.end(place.start())
    promise(status in (0, 1, 3), f"exit status {status}")
    measured = place.folder / "measured.jsonl"
    rows = [line for line in place.log.read_text().splitlines(keepends=True) if '"status": "ok"' in line]
    measured.write_text("".join(rows))
    keys = {row["key"] for row in read_rows(measured)}
    some = place.folder / "reference.jsonl"
    lines = (place.reference / "trials.jsonl").read_text().splitlines(keepends=True)
    some.write_text("".join(line for line in lines if line[9:73] in keys))
    same(measured, some)


def cousers(place: Place, dice: random.Random) -> Iterator[str]:
    """Another user of a shared folder has put symbolic links, hard links, pipes or folders in place of the files that a
    run, a table or the cache writes. No other file is written to, and no command hangs."""
    victim = place.folder / "victim"
    victim.write_text("precious")
    place.results.mkdir(parents=True)
    (place.results / "figures").mkdir()
    cache = place.folder / "cache"
    shutil.copytree(place.cache, cache)
    place.environment["RFFBENCH_CACHE"] = str(cache)
    names = [".lock", "trials.jsonl", "config.yaml", "manifest.json", "trials.damaged", "trials.aside.jsonl",
             "summary.csv", "table.csv", "table.md", "table.tex", "figures/digits.png"]  # fmt: skip
    for name in dice.sample(names, dice.randint(1, 3)):
        trap = dice.choice(["link", "link", "hard link", "pipe", "folder"])
        if trap == "hard link" and name != ".lock":
            trap = "link"
        yield f"a {trap} in place of {name}"
        _trap(place.results / name, trap, victim)
    if dice.random() < 0.3:
        shutil.rmtree(cache / "digits" / "parsed", ignore_errors=True)
        (cache / "digits" / ".lock").unlink(missing_ok=True)
        trap = dice.choice(["link", "hard link", "pipe"])
        yield f"a {trap} in place of the lock in the cache"
        _trap(cache / "digits" / ".lock", trap, victim)
    place.end(place.start("--only", "n_features=8"))
    told = place.commands.run(place.folder, ["table", "results/whole"], place.environment, LIMIT_S)
    promise(told.returncode in ENDS and "Traceback" not in told.stderr, f"table: {told.stderr[-2000:]}")
    promise(victim.read_text() == "precious", "another user's file was written to")


def _trap(path: Path, trap: str, victim: Path) -> None:
    if trap == "link":
        path.symlink_to(victim)
    elif trap == "hard link":
        os.link(victim, path)
    elif trap == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()


def commands(place: Place, dice: random.Random) -> Iterator[str]:
    """The commands that read (table, compare, plot, diff, history, report, record, merge, run --dry-run) find a results
    folder whose log, manifest or config has bytes flipped, zeroed, cut off, doubled or exchanged for a pipe. Each ends
    in time with a result or a message, and never as a defect."""
    shutil.copytree(place.reference, place.results)
    shutil.copytree(place.reference, place.results.with_name("other"))
    for _ in range(dice.randint(1, 2)):
        path = place.results / dice.choice(["trials.jsonl", "trials.jsonl", "manifest.json", "config.yaml"])
        if not path.is_file():
            continue
        way = dice.choice(["flipped", "zeroed", "cut off", "doubled", "empty", "nested", "a pipe"])
        yield f"{path.name} is {way}"
        content = bytearray(path.read_bytes())
        at = dice.randrange(len(content) or 1)
        if way == "flipped" and content:
            content[at] ^= 1 << dice.randrange(8)
        elif way == "zeroed":
            content[at : at + 4096] = bytes(len(content[at : at + 4096]))
        elif way == "cut off":
            del content[at:]
        elif way == "doubled":
            content += content[at:]
        elif way == "empty":
            content = bytearray()
        elif way == "nested":
            content[:] = b'{"a": ' + b"[" * 90_000 + b"]" * 90_000 + b"}"
        path.unlink()
        os.mkfifo(path) if way == "a pipe" else path.write_bytes(content)
    for command in dice.sample(READERS, 4):
        told = place.commands.run(place.folder, command, place.environment, LIMIT_S)
        said = told.stderr[-2000:]
        promise(told.returncode in ENDS, f"{' '.join(command)} ends with {told.returncode}: {said}")
        promise("Traceback" not in said, f"{' '.join(command)}: {said}")
        promise(told.returncode == 0 or told.stderr.strip(), f"{' '.join(command)} fails without a word")


KINDS = {kind.__name__: kind for kind in (replaced, powercuts, freezes, mutated, cousers, commands)}
