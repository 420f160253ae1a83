"""Stand-ins for the planner and the data layer, that do to a worker what a trial might do to it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import gc
import json
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from rffbench.arguments.rowsource import Stopwatch, clock
from rffbench.errors import DataUnavailable, OwnCodeError
from rffbench.execution.local import LocalExecutor
from rffbench.execution.serial import SerialExecutor
from rffbench.trials.spec import TrialResult, TrialSpec
from tests.helpers.processes import content, hang, wait_for


def spec(do: str = "measure", trial: int = 0, **changes: object) -> TrialSpec:
    """A trial whose worker does ``do`` to itself."""
    fields: dict = {
        "dataset": "digits", "data_hash": "0", "method": "RFF", "n_features": 16, "trial": trial, "seed": 0,
        "features": {"name": "fourier", "do": do}, "solver": {"name": "ridge"},
        "kernel": {"name": "gaussian", "gamma": 0.5},
    }  # fmt: skip
    return TrialSpec(**{**fields, **changes})


def measured(spec: TrialSpec, **metrics: float) -> TrialResult:
    accuracy = 90 + np.random.default_rng([spec.seed, spec.trial, spec.n_features]).random()
    return TrialResult(spec, "ok", {"accuracy": accuracy, **metrics}, {"fit_s": 0.5}, lambda_=0.1)


def do_all(specs, channel):
    """A task: each spec's ``do`` as a trial of its own."""
    for spec in specs:
        channel.begin(spec)
        DEEDS[spec.features["do"]](spec, channel)


def shared_work_kills(specs, channel):
    """Work shared by the task's trials dies while one certain trial is among them."""
    if any(spec.features["do"] == "poison" for spec in specs):
        os.kill(os.getpid(), signal.SIGKILL)
    do_all(specs, channel)


def shared_work_takes(specs, channel):
    """Work shared by the task's trials takes 0.4 s a trial."""
    time.sleep(0.4 * len(specs))
    for spec in specs:
        channel.begin(spec)
        channel.result(measured(spec, together=len(specs)))


def goes_on_after_errors(specs, channel):
    for spec in specs:
        channel.begin(spec)
        try:
            DEEDS[spec.features["do"]](spec, channel)
        except (ValueError, OSError) as error:
            channel.fail(spec, error)


def raises_before_its_trials(specs, channel):
    raise LookupError("nothing to plan")


def measure(spec, channel):
    channel.result(measured(spec))


def say_what_is_loaded(spec, channel):
    channel.result(measured(spec, colorsys=float("colorsys" in sys.modules)))


def say_that_it_hangs(spec):
    """By a file in the folder HANGING, where there is one."""
    if folder := os.environ.get("HANGING"):
        Path(folder, str(spec.trial)).touch()


def sleep_forever(spec, channel):
    say_that_it_hangs(spec)
    hang()


def say_which_kernels_are_ready(spec, channel):
    from rffbench.linalg import trigonometric_kernels

    ready = [kernel for kernel in vars(trigonometric_kernels).values() if getattr(kernel, "signatures", [])]
    late = len({"sklearn.metrics", "sklearn.preprocessing"} - sys.modules.keys())
    channel.result(measured(spec, ready=len(ready), frozen=gc.get_freeze_count(), late=late))


def hang_in_c(spec, channel):
    """Holds the interpreter's lock: no Python thread of this process runs any more."""
    say_that_it_hangs(spec)
    ctypes.PyDLL(None).pause()


def stop(spec, channel):
    os.kill(os.getpid(), signal.SIGSTOP)


def ignore_signals(spec, channel):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    sleep_forever(spec, channel)


def hog(spec, channel):
    blocks = []
    while True:
        blocks.append(np.ones(2**21))  # 16 MiB, touched
        time.sleep(0.01)


def hog_in_child(spec, channel):
    if os.fork() == 0:
        hog(spec, channel)
    sleep_forever(spec, channel)


def take_the_machine(spec, channel):
    with channel.alone():
        time.sleep(1)
    channel.result(measured(spec))


def be_timed(spec, channel):
    """Until it has been paused."""
    now = started = time.perf_counter()
    began, still = clock(), 0.0
    with Stopwatch() as watch:
        while now < started + 60 and now - started < clock() - began + 0.5:
            time.sleep(0.01)
            now, before = time.perf_counter(), now
            still = max(still, now - before)
    channel.result(measured(spec, still=still, left_out=now - started - watch.seconds))


kept_open = []


def open_files_without_end(spec, channel):
    while True:
        kept_open.append(open(os.devnull))  # noqa: SIM115


def leave_no_file_to_open(spec, channel):
    with contextlib.suppress(OSError):
        open_files_without_end(spec, channel)
    channel.result(measured(spec))


def map_opens_them(spec, channel):
    own_code(open_files_without_end, spec, channel)


def map_opens_one(spec, channel):
    own_code(open_a_file, spec, channel)


def own_code(do, spec, channel):
    try:
        do(spec, channel)
    except OSError as error:
        named = OwnCodeError(f"feature map 'mine': {error}")
        named.__cause__ = error
        channel.fail(spec, named)


def open_a_file(spec, channel):
    with open(os.devnull):
        channel.result(measured(spec))


def fork_with_much(spec, channel):
    """400 MB, which two children see too."""
    much = np.ones(50_000_000)
    children = []
    for _ in range(2):
        children.append(os.fork())
        if not children[-1]:
            time.sleep(0.3)
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)
    channel.result(measured(spec, total=float(much[0])))


def map_file(spec, channel):
    """As much as the hog, but a mapped file: it does not belong to this process alone."""
    mapped = np.load(spec.features["path"], mmap_mode="r")
    total = float(mapped.sum())
    time.sleep(0.3)
    channel.result(measured(spec, total=total))


def start_child(spec, channel):
    child = os.fork()
    if child == 0:
        hang()
    Path(spec.features["path"]).write_text(str(child))
    sleep_forever(spec, channel)


def start_a_daemon(spec, channel):
    """Two processes in sessions of their own, of which the second has lost its parent; their numbers go to a file."""
    pids = spec.features["pids"]
    for orphan in (False, True):
        if orphan and (middle := os.fork()):
            os.waitpid(middle, 0)
            continue
        if os.fork() == 0:
            os.setsid()
            with open(pids, "a") as file:
                print(os.getpid(), file=file)
            hang()
        elif orphan:
            os._exit(0)
    wait_for(lambda: len(content(Path(pids)).splitlines()) == 2)
    measure(spec, channel)


def start_a_daemon_and_die(spec, channel):
    start_a_daemon(spec, Silent())
    os.kill(os.getpid(), signal.SIGKILL)


def start_a_daemon_and_hang(spec, channel):
    start_a_daemon(spec, Silent())
    hang()


class Silent:
    def result(self, result):
        pass


def meet(spec, channel):
    """Waits until ``meets`` trials have begun, and says when it began and ended."""
    begun, folder = time.monotonic(), Path(spec.features["path"])
    (folder / str(spec.trial)).touch()
    wait_for(lambda: len(list(folder.iterdir())) >= spec.features["meets"])
    time.sleep(0.1)
    channel.result(measured(spec, begun=begun, ended=time.monotonic()))


def slow(spec, channel):
    time.sleep(0.3)
    measure(spec, channel)


def report_threads(spec, channel):
    started = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 1
    import numba
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    blas = max(library["num_threads"] for library in threadpool_info())
    environment = float(os.environ["OMP_NUM_THREADS"])
    channel.result(measured(spec, blas=blas, numba=numba.get_num_threads(), environment=environment, started=started))


def report_memory(spec, channel):
    np.ones(2**24).sum()  # 128 MiB for a moment
    channel.result(measured(spec))


def raise_value_error(spec, channel):
    raise ValueError("the bandwidth is purple")


def raise_memory_error(spec, channel):
    np.empty(2**60, dtype=np.uint8)


def full_disk(spec, channel):
    raise OSError(errno.ENOSPC, "No space left on device")


def raise_half_a_character(spec, channel):
    raise ValueError("half: \ud800")


def read_cut_off_map(spec, channel):
    path = Path(spec.features["path"])
    np.save(path, np.ones(10_000))
    mapped = np.load(path, mmap_mode="r")
    os.truncate(path, 4096)
    channel.result(measured(spec, total=float(mapped.sum())))


def lose_data(spec, channel):
    raise DataUnavailable("eeg: gone")


def kill_itself(spec, channel):
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt(spec, channel):
    raise KeyboardInterrupt("of its own")


def cancel(spec, channel):
    raise asyncio.CancelledError("by itself")  # no Exception, either


def exit_with_3(spec, channel):
    sys.exit(3)


def exit_with_0(spec, channel):
    sys.exit(0)


def segfault(spec, channel):
    ctypes.string_at(0)


def measure_nan(spec, channel):
    channel.result(measured(spec, rmse=float("nan")))


def forget(spec, channel):
    pass


def repeat(spec, channel):
    channel.result(measured(spec))
    channel.result(measured(spec))


def close_the_pipe(spec, channel):
    os.closerange(3, 256)
    sleep_forever(spec, channel)


def use_a_lock(spec, channel):
    """As progress bars do: a lock that the process has to give back at its end."""
    with multiprocessing.RLock():
        measure(spec, channel)


def kill_its_node(spec, channel):
    """As a machine that fails: not this process goes, but the worker or the job that has started it."""
    os.kill(multiprocessing.parent_process().pid, signal.SIGKILL)
    sleep_forever(spec, channel)


def count(spec, channel):
    """Leaves a line for each time it is done."""
    with Path(spec.features["path"]).open("a") as file:
        file.write(f"{spec.trial}\n")
    slow(spec, channel)


def tell_node(spec, channel):
    """Which worker or job has started this process, and its threads."""
    channel.result(measured(spec, node=multiprocessing.parent_process().pid, threads=channel.threads))


def print_something(spec, channel):
    print("a trial's chatter", flush=True)
    measure(spec, channel)


def tell_process(spec, channel):
    channel.result(measured(spec, process=float(os.getpid())))


traces = []


def leave_a_trace(spec, channel):
    traces.append(spec.key)
    tell_process(spec, channel)


def leave_much(spec, channel):
    traces.append(np.ones(8_000_000))  # 64 MB
    tell_process(spec, channel)


def raise_at_a_trace(spec, channel):
    if traces:
        raise_value_error(spec, channel)
    tell_process(spec, channel)


def die_of_a_trace(spec, channel):
    if traces:
        kill_itself(spec, channel)
    tell_process(spec, channel)


def find_no_file_to_open(spec, channel):
    if traces:
        channel.fail(spec, OSError(errno.EMFILE, "Too many open files"))
    else:
        tell_process(spec, channel)


def say_threads(spec, channel):
    channel.result(measured(spec, threads=channel.threads))


def work_and_time(spec, channel):
    """Works and times in turn, and leaves when it did which."""
    at_work, alone = [], []
    for _ in range(3):
        for _ in range(30):
            at_work.append(time.monotonic())
            time.sleep(0.003)
        with channel.alone():
            start = time.monotonic()
            time.sleep(0.1)
            alone.append((start, time.monotonic()))
    Path(spec.features["path"]).write_text(json.dumps({"at_work": at_work, "alone": alone}))
    channel.result(measured(spec))


def count_who_timed(spec, channel):
    with channel.alone() as timer:
        timer.counted = getattr(timer, "counted", 0) + 1
    channel.result(measured(spec, counted=float(timer.counted)))


def time_again_at_once(spec, channel):
    for _ in range(5):
        with channel.alone():
            pass
    channel.result(measured(spec))


def tell_much(spec, channel):
    """More than the pipe holds, so that its parent has to read it; once the trial's file is there."""
    while not Path(spec.features["path"]).exists():
        time.sleep(0.01)
    channel.result(TrialResult(spec, "ok", {"accuracy": 90.0}, {"fit_s": 0.5}, curves={"error": [0.5] * 200_000}))


def work_long(spec, channel):
    """Three and a half seconds of work, whatever stops it meanwhile."""
    start = time.monotonic()
    for _ in range(70):
        Path(spec.features["path"]).touch()
        time.sleep(0.05)
    channel.result(measured(spec, took_s=time.monotonic() - start))


def time_long(spec, channel):
    wait_for(Path(spec.features["path"]).with_name(str(spec.trial + 1)).exists)  # the next trial works
    with channel.alone():
        time.sleep(3.5)
    channel.result(measured(spec))


def time_forever(spec, channel):
    with channel.alone():
        sleep_forever(spec, channel)


def die_with_a_semaphore(spec, channel):
    """One with a name, as dask's processes and others have them."""
    semaphore = multiprocessing.get_context("spawn").Semaphore()
    assert semaphore
    kill_itself(spec, channel)


def die_while_timing(spec, channel):
    with channel.alone():
        kill_itself(spec, channel)


DEEDS = {
    name: deed
    for name, deed in list(globals().items())
    if callable(deed) and getattr(deed, "__module__", "") == __name__
}


def ensure(name: str) -> None:
    if name == "lost":
        raise DataUnavailable("lost: no server answers")
    if name == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)


def ensure_later(name: str) -> None:
    """One reason is mended, and another comes up."""
    if name == "lost":
        raise DataUnavailable("lost: its checksum is wrong")
    ensure(name)


def ensure_but_for(name: str) -> None:
    """A node whose variable LACKS names the dataset cannot have it."""
    if name == os.environ.get("LACKS"):
        raise DataUnavailable(f"{name}: this node has no mirror of it")


def ensure_kills_its_node_once(name: str) -> None:
    """The worker or the job that has started this process is lost while it makes the data ready; the next one is not.
    A file, which the variable NODE_DIES_ONCE names, tells them apart."""
    if (died := os.environ.get("NODE_DIES_ONCE")) and not Path(died).exists():
        Path(died).touch()
        os.kill(multiprocessing.parent_process().pid, signal.SIGKILL)


def ensure_on_a_broken_disk(name: str) -> None:
    """Data that cannot be made ready for a reason that has nothing to do with a trial."""
    raise PermissionError(13, "Permission denied", f"/cache/{name}")


class FakeExperiment:
    """What run_experiment asks of an experiment."""

    def __init__(self, specs, *, name="fake", time_limit=None, memory=None):
        self.specs, self.name, self.time_limit, self.memory = specs, name, time_limit, memory

    def grid(self):
        return list(self.specs)

    def files(self):
        return []

    def to_yaml(self, folder=None):
        return f"name: {self.name}\ntrials: {len(self.specs)}\n"


def local(experiment, *, workers=2, work="do_all", ensure=f"{__name__}:ensure", **settings):
    """A local executor whose workers do these deeds, with the experiment's limits."""
    return LocalExecutor(
        workers=workers, time_limit=experiment.time_limit, memory_limit=experiment.memory,
        work=f"{__name__}:{work}", ensure=ensure, **settings,
    )  # fmt: skip


def serial(experiment, *, work=do_all):
    """A serial executor that does these deeds."""
    return SerialExecutor(work=work, ensure=ensure, memory_limit=experiment.memory)
