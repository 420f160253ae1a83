"""A dask cluster on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.helpers.processes import content, wait_for

ROOT = Path(__file__).parents[2]
TTL_S = 30  # how long a worker may be silent before the scheduler drops it: a loaded machine may keep it so long


class Cluster:
    """A scheduler and workers as commands start them, on loopback."""

    def __init__(self, folder, protocol="tcp", **extra):
        self.protocol = protocol
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
        command = [sys.executable, "-P", "-m", "dask", *map(str, arguments), "--dashboard-address", "127.0.0.1:0"]
        log = self.file.with_name(f"{len(self.processes)}.log").open("w")
        process = subprocess.Popen(command, env={**self.environment, **extra}, stdout=log, stderr=log)
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
