"""Running trials: what every executor takes and gives, and the executors by name.

An executor does tasks, which are lists of trials that share work, and gives one result for every trial, also if that
failed or was lost. ``local`` keeps worker processes on this machine, ``serial`` does everything in this process,
``dask`` and ``slurm`` send tasks to other machines. A package adds one through the entry-point group
``rffbench.executors``: a factory that takes an experiment and, by keyword, ``workers`` and its options, and returns an
`Executor`. What stands after :// in ``--executor NAME://ADDRESS`` is its option ``address``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from rffbench.errors import ConfigError, unknown
from rffbench.execution.failure import Failure
from rffbench.plugins.guarded import load_added
from rffbench.trials.spec import Timing, TrialResult, TrialSpec
from rffbench.yamlfile import problem

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
    """What running asks of an experiment."""

    name: str
    time_limit: float | None  # seconds a trial
    memory: int | None  # bytes a worker

    def grid(self) -> list[TrialSpec]: ...

    def to_yaml(self, folder: Path | None = None) -> str: ...

    def files(self) -> list[Path]: ...  # of the user's own, which hold feature maps


class Executor(Protocol):
    """What runs trials.

    Attributes
    ----------
    name : what ``--executor`` calls it; the manifest has it
    workers : how many tasks it does at a time

    One that runs trials on other machines may also have ``nodes``, a list of what is known of each, for the manifest;
    one that holds connections or processes a method ``close()``, called when the run is over.
    """

    name: str
    workers: int

    def prepare(self, dataset: str, announce: Announce | None = None) -> Failure | None:
        """Make a dataset ready where tasks will run; what went wrong, or None.

        ``announce(message)`` is called before what may take long.
        """

    def run(self, tasks: Iterable[Task], done: Done, *, timing: Timing = "shared") -> None:
        """Do every task, and call ``done`` once for every trial in them, as they finish, in the caller's thread.

        The trials handed in at once have different keys. ``timing`` is that of them all:
        with ``'exclusive'`` one task at a time has every processor's thread, so that seconds are comparable; with
        ``'features'`` this is needed only of what is done within `Channel.alone`. Ctrl-C, or an exception of ``done``,
        ends the work and what was started for it, and goes on to the caller.
        """


def executor_names() -> list[str]:
    """The names that ``--executor`` takes, built-in ones first."""
    return [*EXECUTORS, *sorted(_added().keys() - EXECUTORS.keys())]


def make_executor(
    name: str, experiment: Experiment, *, workers: int | None = None, options: Mapping[str, Any] | None = None
) -> Executor:
    """The executor called ``name``, or ``name://address``, for the trials of an experiment, with this many workers
    (None: its own choice) and its own ``options``.

    ConfigError, with the nearest name, if it or an option is unknown.
    """
    factory, given = _factory(name, options or {})
    return factory(experiment, workers=workers, **given)


def check_executor(name: str, options: Mapping[str, Any] | None = None) -> str:
    """ConfigError as of `make_executor` for its name and its options; nothing is started. What cannot be checked on
    this machine, in words.

    A factory may have an attribute ``check_options(options)`` that does this; else it is the options' names alone.
    """
    factory, given = _factory(name, options or {})
    check = getattr(factory, "check_options", None)
    return check(given) if check else ""


def _factory(name: str, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What makes the executor, and its options, the address among them."""
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
        raise ConfigError(f"executor {name}: {point.value} is no class and no function: {factory!r}")
    given = {**options, **({"address": address} if address else {})}
    _check_options(name, factory, given)
    return factory, given


def option(executor: str, name: str, value: Any, kind: Any) -> Any:
    """An executor's option as the type ``kind``; ConfigError where it is none."""
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
