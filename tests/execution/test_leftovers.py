"""Whose a temporary folder is."""

import multiprocessing
import tempfile
from multiprocessing import util
from pathlib import Path

import pytest

from rffbench.execution import leftovers


def own_folder(pipe):
    leftovers.tidy_up()
    pipe.send(util.get_temp_dir())


def started(context):
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=own_folder, args=(sending,))
    child.start()
    folder = receiving.recv()
    child.join()
    return Path(folder)


def parent(folder, pipe):
    """A process with a folder of its own, which two children do not take for theirs."""
    tempfile.tempdir = folder
    leftovers.tidy_up()
    own = Path(util.get_temp_dir())
    before = (own / leftovers.OWNER).stat().st_ino
    context = multiprocessing.get_context("spawn")
    theirs = [started(context) for _ in range(2)]
    pipe.send((own not in theirs, (own / leftovers.OWNER).stat().st_ino == before))


@pytest.mark.slow
def test_a_process_that_another_started_leaves_that_one_its_folder(tmp_path):
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=parent, args=(str(tmp_path), sending))
    process.start()
    sending.close()
    try:
        assert receiving.recv() == (True, True)
    finally:
        process.join()
