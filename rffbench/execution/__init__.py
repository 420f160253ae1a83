"""Running trials: the interface of executors, and the executors by name.

An executor runs tasks, which are lists of trials that share work, and returns one result for every trial, also if it
failed or was lost. ``local`` keeps worker processes on this machine, ``serial`` does everything in this process,
``dask`` and ``slurm`` send tasks to other machines. A package adds one through the entry-point group
``rffbench.executors``: a factory that takes an experiment and, by keyword, ``workers`` and its options, and returns an
`Executor`. ADDRESS in ``--executor NAME://ADDRESS`` becomes the option ``address``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from rffbench.errors import ConfigError, unknown
from rffbench.execution.failure import Failure
from rffbench.io.yamlfile import problem
from rffbench.plugins.guarded import load_added
from rffbench.trials.spec import Timing, TrialResult, TrialSpec

Task: TypeAlias = list[TrialSpec]
Done: TypeAlias = Callable[[TrialResult], None]
Announce: TypeAlias = Callable[[str], None]

EXECUTORS = {
    "local": "rffbench.execution.local:local_executor",
    "serial": "rffbench.execution.serial:serial_executor",
    "dask": "rffbench.execution.dask_cluster:dask_executor",
    "slurm": "rffbench.execution.slurm_cluster:slurm_executor",
}
"""The built-in executors: name to dotted path, loaded when used."""

ENTRY_POINT_GROUP = "rffbench.executors"
BUILT_IN = {name: EntryPoint(name, value, ENTRY_POINT_GROUP) for name, value in EXECUTORS.items()}


class Experiment(Protocol):
    """The part of an experiment that executors need."""

    name: str
    time_limit: float | None  # seconds a trial
    memory: int | None  # bytes a worker

    def grid(self) -> list[TrialSpec]: ...

    def to_yaml(self, folder: Path | None = None) -> str: ...

    def files(self) -> list[Path]: ...  # of the user's own, which hold feature maps


class Executor(Protocol):
    """Runs trials.

    Attributes
    ----------
    name : its name for ``--executor`` and in the manifest
    workers : how many tasks it runs at the same time

    An executor that runs trials on other machines may also have ``nodes``, a list of facts about each machine, for the
    manifest. If it holds connections or processes, it has a method ``close()``, which is called at the end of the run.
    """

    name: str
    workers: int

    def prepare(self, dataset: str, announce: Announce | None = None) -> Failure | None:
        """Prepare a dataset where tasks will run. Returns the failure, or None.

        Calls ``announce(message)`` before anything slow.
        """

    def run(self, tasks: Iterable[Task], done: Done, *, timing: Timing = "shared") -> None:
        """Run every task, and call ``done`` once for each trial when it finishes, in the caller's thread.

        The trials of one call have different keys, and the same ``timing``: with ``'exclusive'`` one task runs at a
        time, with a thread for every processor, so that seconds are comparable; with ``'features'`` only the blocks
        of `Channel.alone` need this. Ctrl-C, or an exception of ``done``, ends the work and all processes started for
        it, and is raised to the caller.
        """


def executor_names() -> list[str]:
    """The names that ``--executor`` takes, built-in ones first."""
    return [*EXECUTORS, *sorted(_added().keys() - EXECUTORS.keys())]


def make_executor(
    name: str, experiment: Experiment, *, workers: int | None = None, options: Mapping[str, Any] | None = None
) -> Executor:
    """The executor called ``name``, or ``name://address``, for the trials of an experiment, with ``workers`` workers
    (None: its own choice) and the executor's ``options``.

    ConfigError, with the nearest name, if it or an option is unknown.
    """
    factory, given = _factory(name, options or {})
    return factory(experiment, workers=workers, **given)


def check_executor(name: str, options: Mapping[str, Any] | None = None) -> str:
    """Check a name and its options, and start nothing. Returns, in words, what this machine cannot check.

    ConfigError as of `make_executor`. If the factory has an attribute ``check_options(options)``, it does the check;
    otherwise only the options' names are checked.
    """
    factory, given = _factory(name, options or {})
    check = getattr(factory, "check_options", None)
    return check(given) if check else ""


def _factory(name: str, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The factory of the executor, and its options, including the address."""
    scheme, addressed, address = name.partition("://")
    if addressed and not address:
        raise ConfigError(f"executor {name}: an address is missing behind ://")
    point = BUILT_IN.get(scheme) or _added().get(scheme)
    if point is None:
        raise ConfigError(f"executor {name}: {unknown('executor', scheme, executor_names())}")
    if scheme in BUILT_IN:
        factory = point.load()
    else:
        try:
            factory = load_added(point)
        except ConfigError as error:
            raise ConfigError(f"executor {name}: {error}") from error
    if not callable(factory):
        raise ConfigError(f"executor {name}: {point.value} is neither a class nor a function: {factory!r}")
    given = {**options, **({"address": address} if address else {})}
    _check_options(name, factory, given)
    return factory, given


def option(executor: str, name: str, value: Any, kind: Any) -> Any:
    """An executor's option as the type ``kind``; ConfigError if it is not of that type."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigError(f"executor {executor}: option {name}: {problem(error.errors()[0])}") from None


def _check_options(executor: str, factory: Callable[..., Executor], given: Iterable[str]) -> None:
    parameters = signature(factory).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    names = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.name != "workers"]
    for each in given:
        if each == "address" and each not in names:
            raise ConfigError(f"executor {executor}: takes no address")
        if each not in names:
            raise ConfigError(f"executor {executor}: {unknown('option', each, set(names) - {'address'})}")


def _added() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
