"""What several test files need: a cache of the data that needs no network, and commands as subprocesses."""

import fcntl
import gc
import multiprocessing
import os
import signal
import tempfile
from collections import Counter
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401  loads scipy's own BLAS, so that it is limited too
import sklearn  # noqa: F401  and its OpenMP
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from threadpoolctl import ThreadpoolController, threadpool_limits

from rffbench.execution.local import PRELOAD
from tests.helpers.command_server import CommandServer

ROOT = Path(__file__).parents[1]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: tests of Ctrl-C would wait for ever
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Whichever test is the first to start a process: else each process of the others would load the libraries for itself.
multiprocessing.get_context("forkserver").set_forkserver_preload(list(PRELOAD))

if "PYTEST_XDIST_WORKER" in os.environ:  # a worker for each processor: more threads would wait for each other
    threadpool_limits(1)
    compile_anew = Dispatcher.compile

    def compile_once(self, signature):
        """As numba does; but what one worker compiles the others wait for, and load: a fifth of a first run."""
        module, name = self.py_func.__module__, self.py_func.__qualname__
        if not module.startswith("rffbench."):  # is in no cache
            return compile_anew(self, signature)
        lock = Path(tempfile.gettempdir()) / f"{module}.{name}-{os.getuid()}.lock"
        with global_compiler_lock, lock.open("w") as opened:  # in this order, which is that of functions called
            fcntl.flock(opened, fcntl.LOCK_EX)
            return compile_anew(self, signature)

    Dispatcher.compile = compile_once


LONGEST = (
    "studies/board/test_committed.py", "test_docs.py", "test_regression.py", "test_measured_again.py",
    "studies/test_fit.py", "execution/test_slurm_cluster.py", "execution/test_dask_cluster.py", "test_package.py",
    "report/page/test_browser.py", "report/board/test_entry.py",
)  # fmt: skip
"""Files of few tests that take minutes: begun last, they would keep one worker busy while the others have nothing."""


TOGETHER = {"tests/report/page/test_browser.py": "tests/studies/board/test_committed.py"}
"""Files whose tests run in the process of another file's: here, what both say of the board is computed once."""


def pytest_xdist_make_scheduler(config, log):
    """A file's tests stay in one process, as with --dist loadfile, beside those of a file with which it belongs."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return TOGETHER.get(file, file)

    return Scheduling(config, log)


def place(of_tests):
    """Where a file of that many tests comes in the order in which pytest-xdist hands files out: the longest files
    first, then those of most tests, as it would by itself."""
    number = {ROOT / "tests" / name: at for at, name in enumerate(LONGEST)}
    return lambda item: (number.get(item.path, len(number)), -of_tests[item.path])


@pytest.hookimpl(trylast=True)  # what -m and -k leave
def pytest_collection_modifyitems(items):
    """The longest files first. Without a mirror no test waits for a server, or fails for want of one."""
    items.sort(key=place(Counter(item.path for item in items)))
    if "RFFBENCH_MIRROR" not in os.environ:
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(pytest.mark.skip(reason="RFFBENCH_MIRROR is not set"))


def pytest_collection_finish():
    """Garbage collections, of which each trial makes one, leave out the libraries and tests that are here by now."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def libraries():
    """BLAS and OpenMP, as imported by the test files: to look them up takes longer than many a test."""
    return ThreadpoolController()


@pytest.fixture
def one_thread(libraries):
    """For many small matrices: threads would only wait for each other."""
    with libraries.limit(limits=1):
        yield


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """A cache folder, filled once a session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def embedded(cache, monkeypatch):
    """This process reads its data from the cache folder."""
    monkeypatch.setenv("RFFBENCH_CACHE", str(cache))


@pytest.fixture(scope="session")
def environment(cache):
    """No network and no mirror; one thread a library."""
    nowhere = "http://127.0.0.1:9"
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("RFFBENCH_")},
        "PYTHONPATH": str(ROOT),
        "RFFBENCH_CACHE": str(cache),
        "OMP_NUM_THREADS": "1",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), nowhere),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), ""),
    }


@pytest.fixture(scope="session")
def command_server(environment, tmp_path_factory):
    server = CommandServer(tmp_path_factory.mktemp("commands"), environment)
    yield server
    server.close()


@pytest.fixture(scope="session")
def rffbench_in(command_server, environment):
    """Run ``rffbench ARGUMENTS`` in a folder, for ``limit`` seconds at most; its exit status, stdout and stderr."""

    def run(folder, *arguments, limit=120, **extra):
        return command_server.run(folder, [str(argument) for argument in arguments], {**environment, **extra}, limit)

    return run


@pytest.fixture
def rffbench(tmp_path, rffbench_in):
    """Run ``rffbench ARGUMENTS`` in an empty folder."""

    def run(*arguments, **extra):
        return rffbench_in(tmp_path, *arguments, **extra)

    return run
