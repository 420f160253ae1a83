"""rffbench commands in processes of their own, forked from one that has imported everything: importing takes 2 s each.

Run as a script it reads a line of JSON for each command, ``{arguments, folder, environment, out, limit}``, and answers
with the exit status as a shell has it; the command's output goes to the files ``out``.stdout and ``out``.stderr.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

PRELOAD = (
    "rffbench.cli", "rffbench.config.loading", "rffbench.config.dryrun", "rffbench.execution.run", "rffbench.report",
    "rffbench.report.figures.dataset", "rffbench.data.parse", "rffbench.features.fourier.random_fourier",
)  # fmt: skip


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
        asked = {"arguments": arguments, "folder": str(folder), "environment": environment, "limit": limit}
        print(json.dumps({**asked, "out": str(out)}), file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        shown = [out.with_suffix(f".{name}").read_text() for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(arguments, status, *shown)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve():
    for module in PRELOAD:
        __import__(module)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            become(**asked)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(arguments, folder, environment, out, limit):
    """Be the command from here on, in this forked process."""
    for number, path in ((0, os.devnull), (1, f"{out}.stdout"), (2, f"{out}.stderr")):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["rffbench", *arguments]
    signal.alarm(limit)
    status = 1
    try:
        sys.modules["rffbench.cli"].main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        end_process(status)


def end_process(status):
    """As the interpreter ends: exit functions, which stop helper processes, then what is still to be written."""
    import atexit

    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    serve()
