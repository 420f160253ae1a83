"""Trials as jobs of SLURM, by submitit: each task is an element of a job array, of which ``workers`` run at a time.

Each job writes its messages into a file of its own, which the client reads. So the folder must be on a file system that
the nodes share with the client. ``cluster=local`` runs the jobs as processes of this machine, to try a config out.
"""

from __future__ import annotations

import base64
import os
import pickle
import shutil
import socket
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from rffbench.config.values import Memory, Seconds
from rffbench.errors import ConfigError, EnvironmentFault, unknown
from rffbench.execution import Experiment, option
from rffbench.execution.cluster import AGAIN, ClusterExecutor, News
from rffbench.execution.environment import processors
from rffbench.execution.node import Job, carry_out
from rffbench.io.process import SAFE_PATH, environment, safe_path
from rffbench.io.yamlfile import shown

try:
    import submitit
except ImportError:  # most of a config can be checked without it
    submitit = None  # type: ignore[assignment]

FOLDER = "slurm-jobs"
LOOK_S = 0.5  # how often the files of the jobs are read
RUNNING = 256  # jobs of an array that run at a time, unless --workers says how many
ARRAY = 1000  # elements of one array: what SLURM allows unless its administrator has changed MaxArraySize
LONG_S = 86_400.0  # the limit of a job on this machine; SLURM needs one

Count = Annotated[int, Field(gt=0)]
OWN = {
    "cluster": Literal["slurm", "local"], "folder": str, "time": Seconds, "memory": Memory, "cpus": Count,
    "partition": str, "array": Count,
}  # fmt: skip
"""The executor's own options."""
OF_SUBMITIT = {
    "setup": list[str], "teardown": list[str], "srun_args": list[str], "signal_delay_s": Count,
    "stderr_to_stdout": bool, "use_srun": bool, "additional_parameters": dict[str, Any],
}  # fmt: skip
"""Parameters of submitit that are not options of sbatch."""
TAKEN = {"array_parallelism", "job_name", "time"}  # parameters of submitit that this executor sets


@dataclass
class _Submitted:
    """A job, its message file, and the position read so far."""

    handle: Any
    path: Path
    read: int = 0


class SlurmExecutor(ClusterExecutor):
    """Runs tasks as jobs, ``workers`` at a time.

    Parameters
    ----------
    folder : for the jobs' files, shared with the nodes; removed after a run that lost no job
    cluster : ``slurm``, or ``local`` for processes of this machine
    parameters : of submitit's ``update_parameters``
    array : the size of a job array; the next one is submitted when all elements have ended
    """

    name = "slurm"

    def __init__(
        self,
        experiment: Experiment,
        *,
        folder: Path,
        workers: int,
        cluster: str = "slurm",
        parameters: dict[str, Any] | None = None,
        array: int = ARRAY,
        **settings: Any,
    ) -> None:
        super().__init__(experiment, **settings)
        self.workers = workers
        self.cluster = cluster
        self.folder = folder.absolute() / f"{experiment.name}-{uuid.uuid4().hex[:8]}"
        self._parameters = {"name": f"rffbench-{experiment.name}", **(parameters or {})}
        self._array = array
        self._submitted: dict[str, _Submitted] = {}
        self._outbox: dict[str, Job] = {}  # jobs of the next array
        self._any_began = self._any_lost = self._has_folder = False

    def close(self) -> None:
        """See `rffbench.execution.Executor`."""
        if self.folder.exists() and not self._any_lost:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _most(self) -> int:
        if self.cluster == "local":
            return self.workers
        return 0 if self._submitted else self._array

    def _elsewhere(self, avoid: Iterable[str]) -> bool:
        avoided = len(set(avoid))
        return avoided <= AGAIN if self.cluster == "slurm" else not avoided

    def _send(self, job: Job) -> str:
        name = uuid.uuid4().hex
        self._outbox[name] = job
        return name

    def _submit(self) -> None:
        """Submit the outbox as job arrays: one for each set of excluded nodes."""
        groups: dict[tuple[str, bool], list[str]] = {}
        for name, job in self._outbox.items():
            lacking = ",".join(sorted(self.lacking[job.specs[0].dataset]))
            groups.setdefault((lacking, job.alone), []).append(name)
        for (lacking, alone), names in groups.items():
            special = {"slurm_exclude": lacking} if lacking else {}
            paths = [self.folder / f"{name}.messages" for name in names]
            try:
                if not self._has_folder:
                    self.folder.mkdir(parents=True, exist_ok=True)
                    self._has_folder = True
                for path in paths:
                    path.touch()
                executor = submitit.AutoExecutor(folder=self.folder, cluster=self.cluster)
                executor.update_parameters(
                    **self._parameters,
                    slurm_array_parallelism=self.workers,
                    **special,
                    **({"slurm_exclusive": True} if alone else {}),
                )
                share = self.workers if self.cluster == "local" else 0
                jobs = [self._outbox[name] for name in names]
                with environment({SAFE_PATH: safe_path()}):  # a job begins with -m
                    handles = executor.map_array(do_job, jobs, paths, [share] * len(names))
            except OSError as error:
                if self._has_folder:
                    raise _no_longer(Path(error.filename or self.folder), "written", error) from error
                raise ConfigError(f"executor slurm: {self.folder}: {error.strerror}; folder=… names another") from error
            except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
                last = _complaint(str(error))
                if not self._any_began:
                    raise ConfigError(f"executor slurm: the jobs are refused: {last}") from None
                raise EnvironmentFault(
                    f"executor slurm: more jobs are refused: {last}; what was measured is kept, and the same command "
                    "carries on"
                ) from None
            for name, handle, path in zip(names, handles, paths, strict=True):
                self._submitted[name] = _Submitted(handle, path)
        self._outbox.clear()

    def _news(self) -> Iterator[News]:
        self._submit()
        received = False
        for name, each in list(self._submitted.items()):
            over = each.handle.done()  # asked before its last messages are read
            for kind, value in self._messages(each):
                received = True
                if kind == "began":
                    self._any_began = True
                elif kind == "result":
                    yield News(name, "result", value)
                elif kind == "report":
                    self._submitted.pop(name, None)
                    yield News(name, "end", value)
                elif kind == "raised":
                    raise EnvironmentFault(f"executor slurm: {value}; the same command carries on")
            if over and name in self._submitted:
                received = True
                yield News(name, "end", self._loss(self._submitted.pop(name)))
        if not received:
            time.sleep(LOOK_S)

    def _messages(self, each: _Submitted) -> Iterator[tuple[str, Any]]:
        """The messages that a job has written since the last look; unfinished lines of a killed job are skipped."""
        try:
            with each.path.open("rb") as file:
                file.seek(each.read)
                lines = file.read().splitlines(keepends=True)
        except OSError as error:
            raise _no_longer(each.path, "read", error) from error
        for line in lines:
            if not line.endswith(b"\n"):
                return
            each.read += len(line)
            try:
                yield pickle.loads(base64.b64decode(line, validate=False))
            except (ValueError, EOFError, pickle.UnpicklingError):
                continue

    def _loss(self, each: _Submitted) -> str:
        """The end of a job without a report. EnvironmentFault if no job has begun."""
        self._any_lost = True
        on_slurm = self.cluster == "slurm"
        ended_as = each.handle.state if on_slurm else each.handle.get_info()["jobState"]
        state = f"job {each.handle.job_id} ended as {ended_as}"
        if not self._any_began:
            said = (each.handle.stderr() or "").strip().splitlines()
            raise EnvironmentFault(
                f"executor slurm: {state} before it began ({said[-1] if said else 'it has written nothing'}); do the "
                f"nodes see {self.folder}, and this Python? folder=… names another folder; the same command carries on"
            )
        return state

    def _cancel(self, jobs: list[str]) -> None:
        self._outbox.clear()
        for name in jobs:
            if each := self._submitted.pop(name, None):
                each.handle.cancel(check=False)


def _no_longer(path: Path, what: str, error: OSError) -> EnvironmentFault:
    """The error about a file of the jobs' folder, which was there when the first job was sent."""
    return EnvironmentFault(
        f"executor slurm: {path}: cannot be {what}: {error.strerror}; the jobs' results come through this folder. "
        "The same command carries on"
    )


def _complaint(said: str) -> str:
    """The last line of sbatch's error that begins with ``sbatch:``; a hint at its help follows it."""
    lines = said.strip().splitlines() or ["no reason given"]
    return ([line for line in lines if line.startswith("sbatch:")] or lines)[-1]


def do_job(job: Job, path: Path, here: int) -> None:
    """Run a job, and append its messages to ``path``, one per line. ``here`` is the number of jobs that share this
    machine, or 0 if SLURM has assigned processors to this one."""

    def tell(kind: str, value: Any = None) -> None:
        line = base64.b64encode(pickle.dumps((kind, value))) + b"\n"
        with path.open("ab") as file:  # closed each time: a shared file system then shows it
            file.write(line)

    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    own = min(processors(), int(os.environ.get("SLURM_CPUS_PER_TASK") or processors()))
    try:
        with path.open("ab") as file:
            file.write(b"\n")  # ends what a killed job before this one has left
        tell("began")
        report = carry_out(
            job,
            lambda result: tell("result", result),
            node=node,
            threads=max(1, processors() // here) if here else own,
            beside=here - 1 if here else int(own < (os.cpu_count() or 1)),  # other people's jobs may be on the node
        )
    except Exception as error:
        tell("raised", f"{node}: {error} ({type(error).__name__})")
    else:
        tell("report", report)


def slurm_executor(
    experiment: Experiment,
    *,
    workers: int | None = None,
    cluster: str = "slurm",
    folder: str = FOLDER,
    time: float | str | None = None,
    memory: int | str | None = None,
    cpus: int | str | None = None,
    partition: str | None = None,
    array: int | str = ARRAY,
    address: None = None,
    **others: Any,
) -> SlurmExecutor:
    """The executor ``slurm``, with at most ``workers`` jobs at a time.

    ``time``, ``memory``, ``cpus`` and ``partition`` are a job's; ``others`` are submitit's parameters, which are passed
    to sbatch unchanged except for `OF_SUBMITIT`.
    """
    if submitit is None:
        raise ConfigError("executor slurm: needs the library submitit; pip install 'rffbench[slurm]'")
    given = {
        "address": address,
        "cluster": cluster,
        "time": time,
        "memory": memory,
        "cpus": cpus,
        "array": array,
        **others,
    }
    check_options({key: value for key, value in given.items() if value is not None})
    if cluster == "slurm" and not shutil.which("sbatch"):
        raise ConfigError(
            "executor slurm: there is no sbatch on this machine; run this where jobs are sent from. "
            "--executor-option cluster=local tries it out on this machine"
        )
    if cluster == "slurm" and time is None:
        raise ConfigError("executor slurm: needs how long a job may take, for example --executor-option time=2h")
    seconds = LONG_S if time is None else option("slurm", "time", time, Seconds)
    parameters: dict[str, Any] = {"timeout_min": max(1, -(-int(seconds) // 60))}
    if memory is not None:
        parameters["mem_gb"] = option("slurm", "memory", memory, Memory) / 2**30
    if cpus is not None:
        parameters["cpus_per_task"] = option("slurm", "cpus", cpus, Count)
    if partition is not None:
        parameters["slurm_partition"] = str(partition)
    to_sbatch = dict(others.pop("additional_parameters", {}))
    for key, value in others.items():
        if key in OF_SUBMITIT:
            parameters[f"slurm_{key}"] = option("slurm", key, value, OF_SUBMITIT[key])
        else:
            to_sbatch[key] = value
    if to_sbatch:
        parameters["slurm_additional_parameters"] = to_sbatch
    at_a_time = workers or (processors() if cluster == "local" else RUNNING)
    return SlurmExecutor(
        experiment,
        folder=Path(folder),
        workers=at_a_time,
        cluster=cluster,
        parameters=parameters,
        array=option("slurm", "array", array, Count),
    )


def check_options(options: Mapping[str, Any]) -> str:
    """ConfigError, with the nearest name, for an option that neither this executor nor submitit has, or for a wrong
    value. Returns what cannot be checked without submitit."""
    unchecked: list[str] = []
    if options.get("address"):
        raise ConfigError("executor slurm: takes no address")
    for key, value in options.items():
        if key in OWN or (submitit is not None and key in OF_SUBMITIT):
            plain = OWN.get(key) is str and isinstance(value, int | float)
            option("slurm", key, str(value) if plain else value, (OWN | OF_SUBMITIT)[key])
        elif submitit is None:
            unchecked.append(key)
        elif key not in (known := submitit.SlurmExecutor._valid_parameters() - TAKEN):
            raise ConfigError(
                f"executor slurm: {unknown('option', key, sorted({*OWN, *known}))} (what sbatch takes and submitit "
                f"does not know goes into the config's executor as additional_parameters: {{{key}: {value}}})"
            )
        elif isinstance(value, list | dict):
            raise ConfigError(f"executor slurm: option {key}: must be text or a number, not {shown(value)}")
    if not unchecked:
        return ""
    return f"whether sbatch has {', '.join(unchecked)} cannot be checked here: that takes the library submitit"


slurm_executor.check_options = check_options  # type: ignore[attr-defined]
