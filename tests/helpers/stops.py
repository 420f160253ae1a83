"""Faults on purpose that tests/helpers/faults.py does not have: what runs stands still for moments."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

from rffbench.execution.log import cell, read_rows
from tests.helpers.faults import CONFIG, Place, find, promise, same
from tests.helpers.processes import descendants


def stops(place: Place, dice: random.Random) -> Iterator[str]:
    """The run, one of its workers, the process that forks them, or several of these stand still for moments, as on a
    machine that has too much to do, while `timing: features` has workers stand still for each other. The run comes to
    its end by itself, and every score is equal."""
    (place.folder / "whole.yaml").write_text(f"{CONFIG}timing: features\n")
    process = place.start()
    for _ in range(dice.randint(10, 60)):
        time.sleep(dice.uniform(0, 0.3))
        target, seconds = dice.choice(["run", "run", "group", "worker", "forkserver"]), dice.uniform(0.01, 0.5)
        if process.poll() is not None:
            break
        if pid := find(process.pid, descendants(process.pid), target):
            yield f"a stop of the {target} for {seconds:.2f} s"
            strike = os.killpg if target == "group" else os.kill
            with suppress(ProcessLookupError):
                strike(pid, signal.SIGSTOP)
                time.sleep(seconds)
                strike(pid, signal.SIGCONT)
    promise(place.end(process) == 0, "the run does not end well")
    reference = place.reference / "trials.jsonl"
    named = ("timing_mode", "key")  # how a trial is timed is in its key
    timed = {cell(row): {name: row[name] for name in named} for row in read_rows(reference)}
    shared = place.folder / "shared.jsonl"
    shared.write_text("".join(json.dumps({**row, **timed[cell(row)]}) + "\n" for row in read_rows(place.log)))
    same(shared, reference)
