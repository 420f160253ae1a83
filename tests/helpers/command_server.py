"""rffbench commands in processes of their own, forked from one that has imported everything: importing takes 2 s each.
So is the process that forks a command's workers, which would import, and load compiled code, for 2 s more.

Run as a script it reads a line of JSON for each command, ``{arguments, folder, environment, out, limit}``, and answers
with the exit status as a shell has it; the command's output goes to the files ``out``.stdout and ``out``.stderr. A
command of dask goes on: the answer is its process's number. A list in place of a command names modules that the next
commands find imported.
"""

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from multiprocessing import forkserver, util
from pathlib import Path

PRELOADED = "rffbench.execution.preloaded"
PRELOAD = (
    "rffbench.cli", "rffbench.config.loading", "rffbench.config.dryrun", "rffbench.execution.run", "rffbench.report",
    "rffbench.report.figures.dataset", "rffbench.data.parse", "rffbench.features.fourier.random_fourier", PRELOADED,
)  # fmt: skip
OF_DASK = (
    "dask.cli",
    "distributed.cli.dask_scheduler",
    "distributed.cli.dask_worker",
    "rffbench.execution.dask_cluster",
)


class CommandServer:
    """Hands commands to the process that forks them."""

    def __init__(self, folder, environment):
        self.folder, self.count = Path(folder), 0
        alone = [sys.executable, "-P", __file__]  # the modules beside it hide none of the library's, such as html
        self.process = subprocess.Popen(
            alone, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, folder, arguments, environment, limit):
        """``rffbench ARGUMENTS`` in ``folder``, ended after ``limit`` seconds; as subprocess.run has it."""
        self.count += 1
        out = self.folder / str(self.count)
        status = self.ask(arguments=arguments, folder=folder, environment=environment, out=out, limit=limit)
        shown = [out.with_suffix(f".{name}").read_text() for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(arguments, status, *shown)

    def start_dask(self, folder, arguments, environment, out):
        """``dask ARGUMENTS`` in ``folder``: the number of its process."""
        return self.ask(arguments=arguments, folder=folder, environment=environment, out=out, limit=0, program="dask")

    def ask(self, *, folder, out, **asked):
        """The answer to a command."""
        self.say({**asked, "folder": str(folder), "out": str(out)})
        return int(self.process.stdout.readline())

    def preload(self, *modules):
        """Import what many of the next commands import: it takes longer than what they do."""
        self.say(modules)

    def say(self, what):
        print(json.dumps(what), file=self.process.stdin, flush=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve():
    load(PRELOAD)
    gc.collect()
    gc.freeze()  # no command's collection looks at the libraries again, or copies the pages that they share
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, list):
            load(asked)
            continue
        child = os.fork()
        if child == 0:
            become(**asked)
        goes_on = "program" in asked
        print(child if goes_on else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def load(modules):
    for module in modules:
        __import__(module)


def become(arguments, folder, environment, out, limit, program="rffbench"):
    """Be the command from here on, in this forked process."""
    for number, path in ((0, os.devnull), (1, f"{out}.stdout"), (2, f"{out}.stderr")):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    util.spawnv_passfds = start_forkserver_or(util.spawnv_passfds)
    sys.argv = [program, *arguments]
    signal.alarm(limit)
    status = 1
    try:
        PROGRAMS[program]()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        end_process(status)


def dask():
    """With this environment's settings; what forks its trials is started while this process has one thread."""
    from rffbench.execution import child, local

    sys.modules["dask"].config.refresh()
    if "worker" in sys.argv:
        child.have_preloaded((*local.PRELOAD, "dask.cli"))
    sys.modules["dask.cli"].run_cli()


PROGRAMS = {"rffbench": lambda: sys.modules["rffbench.cli"].main(), "dask": dask}


def start_forkserver_or(start):
    """In place of ``multiprocessing.util.spawnv_passfds``, which starts an interpreter: a forkserver is forked."""

    def fork(path, args, passfds):
        if "multiprocessing.forkserver" not in args[-1]:
            return start(path, args, passfds)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            become_forkserver(args, passfds)
        return child

    return fork


def become_forkserver(args, passfds):
    """Be what ``args`` would start: without this process's open files and signal handlers."""
    try:
        for file in map(int, os.listdir("/proc/self/fd")):
            if file > sys.stderr.fileno() and file not in passfds:
                with contextlib.suppress(OSError):  # that of the listing
                    os.close(file)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        forkserver._forkserver.__init__()  # its lock is held
        sys.orig_argv = [os.fsdecode(each) for each in args]
        del sys.modules[PRELOADED]  # which sees to it that the server ends with the command
        exec(args[-1], {})
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(0)


def end_process(status):
    """As the interpreter ends: exit functions, which stop helper processes, then what is still to be written."""
    import atexit

    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    serve()
