"""A dask cluster on loopback."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.helpers.processes import alive, content, wait_for

ROOT = Path(__file__).parents[2]
TTL_S = 30  # how long a worker may be silent before the scheduler drops it: a loaded machine may keep it so long


class Forked:
    """A process that another one has forked; as subprocess.Popen has it."""

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        return None if alive(self.pid) else 0

    def wait(self):
        wait_for(lambda: not alive(self.pid))

    def send_signal(self, number):
        if alive(self.pid):
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class Cluster:
    """A scheduler and workers on loopback: as commands start them, or forked by a ``server`` that has imported all."""

    def __init__(self, folder, protocol="tcp", server=None, **extra):
        self.protocol, self.server = protocol, server
        self.file = folder / "scheduler.json"
        self.environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{TTL_S}s", **extra,
        }  # fmt: skip
        self.processes = []
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", self.file,
                                    "--protocol", protocol)  # fmt: skip
        wait_for(lambda: content(self.file).endswith("}"), 120)  # it may be half written
        self.address = json.loads(self.file.read_text())["address"].partition("://")[2]

    def start(self, *arguments, **extra):
        arguments = [*map(str, arguments), "--dashboard-address", "127.0.0.1:0"]
        environment, out = {**self.environment, **extra}, self.file.with_name(f"{len(self.processes)}.log")
        if self.server is not None and "PYTHONPATH" not in extra:
            process = Forked(self.server.start_dask(self.file.parent, arguments, environment, out))
        else:
            command = [sys.executable, "-P", "-m", "dask", *arguments]
            with out.open("w") as log:
                process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def worker(self, **extra):
        return self.start(
            "worker", f"{self.protocol}://{self.address}", "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1",
            "--memory-limit", "0", "--death-timeout", "60", **extra,
        )  # fmt: skip

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
