"""A feature map of somebody else, for trials of our own: its code runs in a sandbox, and only arrays come back.

`SandboxedMap` stands in its place. It sends the rows of each fit and of each block to a process in the sandbox, which
can read the map's file. What comes back is a number of columns, and the bytes of as many numbers as a block must have;
nothing is unpickled. So the solver, the scores and the verdict are those of this process, whatever the map does to its
own.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.rowsource import row_blocks
from rffbench.errors import ConfigError
from rffbench.execution.sandbox import Sandbox, start_command
from rffbench.features import feature_class, make_features
from rffbench.features.base import FeatureMap, fitted, mapped
from rffbench.features.hooks import columns_of, hook, makes_sparse

LONGEST_HEADER = 1 << 16  # bytes of a message without its arrays
MOST_SAID = 500  # characters of an error's message
DESCRIBED_S = 120.0  # to start and to import the map's file
PLACE = "/map"  # of the map's file in the sandbox
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
KERNELS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # a person's choice of BLAS's code, which decides the last bit
KINDS = {"<f8", "<f4"}  # of the numbers of features


class Lost(ValueError):
    """The map's process has ended, or sent something else than was asked for."""


# ---- Here ------------------------------------------------------------------------------------------------------------


def command_of(file: Path, name: str, kind: Sandbox | None, root: Path) -> tuple[str, ...]:
    """The command of a process that serves the map ``name``, a class in ``file``, in a sandbox of that kind; of a plain
    process where it is None. ``root`` is an empty folder."""
    serve = [sys.executable, "-I", "-m", __name__]
    variables = dict.fromkeys(THREADS, "1") | {"PYTHONDONTWRITEBYTECODE": "1"}
    variables |= {name: os.environ[name] for name in KERNELS if name in os.environ}
    if kind is None:
        return ("env", "-i", *(f"{key}={value}" for key, value in variables.items()), *serve, f"{file}:{name}")
    there = f"{PLACE}/{file.name}"
    return tuple(start_command(kind, [*serve, f"{there}:{name}"], {there: file}, variables, root))


def described(command: Sequence[str]) -> dict[str, bool]:
    """Of the map that a command serves: whether it ``takes_targets`` and ``fills`` (`rffbench.features.hooks`), and
    whether its features are ``sparse``. ConfigError where it cannot be loaded."""
    host = _Host(command)
    alarm = threading.Timer(DESCRIBED_S, host.end)
    alarm.start()
    try:
        found, _ = host.ask({"do": "describe"})
        return {key: found.get(key) is True for key in ("takes_targets", "fills", "sparse")}
    except (ValueError, MemoryError) as error:
        raise ConfigError(f"the map cannot be loaded: {error}") from None
    finally:
        alarm.cancel()
        host.end()


def stand_in(command: Sequence[str], name: str, about: Mapping[str, bool]) -> str:
    """The source of a file with the class ``name``, which stands for the map that a command serves, of which that is
    `described`."""
    return (
        f"from {__name__} import SandboxedMap\n\n\nclass {name}(SandboxedMap):\n"
        f"    takes_targets = {about['takes_targets']}\n    command = {tuple(command)!r}\n"
        + ("" if about["fills"] else "    fill = None\n")
    )


class SandboxedMap(FeatureMap):
    """A map that another process computes: see `command_of`."""

    command: ClassVar[tuple[str, ...]] = ()

    def fit(self, X: Any, y: Any = None) -> SandboxedMap:
        self.check_parameters()
        X = self._validated(X, reset=True)
        asked = {
            "do": "fit", "kernel": self.kernel, "gamma": float(self.gamma), "n_components": int(self.n_components),
            "random_state": _sent(self.random_state),
        }  # fmt: skip
        self.host_ = _host(self.command)
        found, _ = self.host_.ask(asked, [X] if y is None else [X, _numbers_or_text(y)])
        columns, number = found.get("columns"), found.get("number")
        if type(columns) is not int or not 1 <= columns <= self.n_components or type(number) is not int:
            raise self.host_.lost(f"sent {str(found)[:MOST_SAID]!r} for a fit")
        self.n_columns_, self.number_ = columns, number
        weakref.finalize(self, self.host_.forget, number)
        return self

    def transform(self, X: Any) -> FloatArray:
        X = self._validated(X, reset=False)
        shape = (X.shape[0], self.n_columns_)
        found, features = self.host_.ask({"do": "transform", "number": self.number_}, [X], shape)
        if features is None:
            raise self.host_.lost(f"sent {str(found)[:MOST_SAID]!r} for features")
        return features

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        out[:] = self.transform(X)


class _Host:
    """A process in which a map runs."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/"
        )
        self._lock = threading.Lock()
        self._unwanted: list[int] = []
        atexit.register(self.end)

    def ask(
        self, asked: dict[str, Any], arrays: Sequence[Any] = (), shape: tuple[int, int] | None = None
    ) -> tuple[dict[str, Any], NDArray | None]:
        """The answer to a question, and the features of this ``shape`` where they come with it. Lost where there is
        none; ValueError or MemoryError for what the map raised."""
        to, back = cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)
        with self._lock:
            forget = [self._unwanted.pop() for _ in range(len(self._unwanted))]
            try:
                _send(to, {**asked, "forget": forget}, arrays)
                answer = _header(back)
                if isinstance(error := answer.get("error"), dict):
                    raise _raised(error)
                if shape is None or answer.get("dtype") not in KINDS:
                    return answer, None
                return answer, _array(back, np.dtype(answer["dtype"]), shape)
            except (EOFError, OSError, RecursionError, UnicodeError, json.JSONDecodeError) as error:
                raise self.lost("has ended, or sent what is no answer") from error

    def lost(self, what: str) -> Lost:
        """The error that the process did ``what``; it is asked nothing more."""
        self.end()
        return Lost(f"the process of the map {what}")

    def forget(self, number: int) -> None:
        """Let the process free a fitted map."""
        self._unwanted.append(number)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None


_hosts: dict[tuple[int, tuple[str, ...]], _Host] = {}  # by this process's id, as a fork has none


def _host(command: tuple[str, ...]) -> _Host:
    found = _hosts.get((os.getpid(), command))
    if found is None or not found.is_alive:
        found = _hosts[os.getpid(), command] = _Host(command)
    return found


def _raised(error: dict[str, Any]) -> Exception:
    kind, message = (str(error.get(each))[:MOST_SAID] for each in ("type", "message"))
    return MemoryError(message) if kind in ("MemoryError", "MemoryBudgetError") else ValueError(f"{kind}: {message}")


def _numbers_or_text(y: Any) -> NDArray:
    """Targets as an array whose bytes are the targets."""
    found = np.asarray(y)
    return found.astype(str) if found.dtype.hasobject else found


def _sent(random_state: Any) -> Any:
    """A random state as JSON."""
    if isinstance(random_state, SeedSequence):
        return {
            "entropy": random_state.entropy,
            "spawn_key": random_state.spawn_key,
            "pool_size": random_state.pool_size,
        }
    return None if random_state is None else int(random_state)


# ---- Messages --------------------------------------------------------------------------------------------------------


def _send(pipe: BinaryIO, header: dict[str, Any], arrays: Sequence[Any]) -> None:
    about = [{"dtype": np.dtype(each.dtype).str, "shape": each.shape} for each in arrays]
    text = json.dumps({**header, "arrays": about}).encode()
    pipe.write(struct.pack(">Q", len(text)) + text)
    for each in arrays:
        whole = isinstance(each, np.ndarray)
        for rows in [slice(None)] if whole else row_blocks(each.shape[0]):
            pipe.write(np.ascontiguousarray(each[rows]).tobytes())
    pipe.flush()


def _header(pipe: BinaryIO) -> dict[str, Any]:
    (length,) = struct.unpack(">Q", _bytes(pipe, 8))
    if length > LONGEST_HEADER:
        raise EOFError
    found = json.loads(_bytes(pipe, length).decode())
    if not isinstance(found, dict):
        raise EOFError
    return found


def _array(pipe: BinaryIO, dtype: np.dtype, shape: tuple[int, ...]) -> NDArray:
    found = np.empty(shape, dtype)
    view = memoryview(found.reshape(-1).view(np.uint8).data)
    while view.nbytes:
        count = pipe.readinto(view)  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        view = view[count:]
    return found


def _bytes(pipe: BinaryIO, count: int) -> bytes:
    if len(found := pipe.read(count)) < count:
        raise EOFError
    return found


# ---- There -----------------------------------------------------------------------------------------------------------


def serve(name: str) -> None:
    """Answer questions on the map ``name`` until there are no more. What it prints is shown to nobody."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for each in range(3):
        os.dup2(nowhere, each)
    maps: dict[int, Any] = {}
    while True:
        try:
            asked = _header(questions)
        except EOFError:
            return
        arrays = [_array(questions, np.dtype(each["dtype"]), tuple(each["shape"])) for each in asked["arrays"]]
        for number in asked["forget"]:
            maps.pop(number, None)
        do: Callable[..., tuple[dict[str, Any], NDArray | None]] = {"describe": _describe, "fit": _fit}.get(
            asked["do"], _transform
        )
        try:
            answer, features = do(name, maps, asked, arrays)
        except BaseException as error:
            answer, features = {"error": {"type": type(error).__name__, "message": str(error)[:MOST_SAID]}}, None
        text = json.dumps(answer).encode()
        answers.write(struct.pack(">Q", len(text)) + text)
        if features is not None:
            answers.write(features.tobytes())
        answers.flush()


def _describe(name: str, maps: dict[int, Any], asked: Any, arrays: Any) -> tuple[dict[str, Any], None]:
    made = feature_class(name)
    takes, fills = bool(hook(made, "takes_targets")), hook(made, "fill") is not None
    return {"takes_targets": takes, "fills": fills, "sparse": makes_sparse(made)}, None


def _fit(name: str, maps: dict[int, Any], asked: Any, arrays: list[NDArray]) -> tuple[dict[str, Any], None]:
    state = asked["random_state"]
    if isinstance(state, dict):
        state = SeedSequence(state["entropy"], spawn_key=state["spawn_key"], pool_size=state["pool_size"])
    features = make_features(
        {"name": name}, kernel=asked["kernel"], gamma=asked["gamma"], n_features=asked["n_components"], count="columns",
        random_state=state,
    )  # fmt: skip
    X, y = arrays[0], cast(Any, arrays[1] if len(arrays) > 1 else None)
    for each in arrays:
        each.flags.writeable = False  # as the rows of a trial
    number = max(maps, default=0) + 1
    maps[number] = fitted(features, X, y)
    return {"columns": columns_of(maps[number]), "number": number}, None


def _transform(name: str, maps: dict[int, Any], asked: Any, arrays: list[NDArray]) -> tuple[dict[str, Any], NDArray]:
    features = maps[asked["number"]]
    Z = mapped(features, arrays[0], columns_of(features))
    Z = np.ascontiguousarray(Z, dtype="<f4" if Z.dtype == np.float32 else "<f8")
    return {"dtype": Z.dtype.str}, Z


if __name__ == "__main__":
    serve(sys.argv[1])
