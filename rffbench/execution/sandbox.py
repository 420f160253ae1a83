"""A process that runs code of somebody else: among files that it may only read, of which none is the user's; without a
network, without the other processes, their memory and their sockets; without rights.

Linux namespaces do it: bubblewrap (``bwrap``) where it is installed and works, else `sandbox_start`. No rights of an
administrator are needed. Where a system allows neither, `sandbox` returns None.
"""

from __future__ import annotations

import enum
import json
import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import rffbench
from rffbench.execution import sandbox_start

SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
          "/etc/alternatives", "/etc/localtime", "/nix/store")  # fmt: skip
SCRATCH_BYTES = 256 << 20
STARTED_S = 60.0


class Sandbox(enum.Enum):
    """By what a sandbox is made."""

    BUBBLEWRAP = "bubblewrap"
    NAMESPACES = "namespaces"


@cache
def sandbox() -> Sandbox | None:
    """The one that works on this system; None if none does."""
    return next((kind for kind in Sandbox if works(kind)), None)


def works(kind: Sandbox) -> bool:
    if sys.platform != "linux" or (kind is Sandbox.BUBBLEWRAP and not shutil.which("bwrap")):
        return False
    with tempfile.TemporaryDirectory(prefix="rffbench-sandbox-") as root:
        command = start_command(kind, [sys.executable, "-I", "-c", "import numpy"], {}, {}, Path(root))
        try:
            return subprocess.run(command, capture_output=True, timeout=STARTED_S).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


def start_command(
    kind: Sandbox, command: Sequence[str], files: Mapping[str, Path], variables: Mapping[str, str], root: Path
) -> list[str]:
    """The command that runs ``command`` in a sandbox with these environment ``variables``. It can read what Python
    needs, and ``files``, by their paths there; it can write to /tmp, which is its own. ``root`` is an empty folder."""
    shown = _python() | {name: str(path.resolve()) for name, path in files.items()}
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", **variables}
    if kind is Sandbox.NAMESPACES:
        asked = {
            "root": str(root.resolve()), "shown": shown, "scratch_bytes": SCRATCH_BYTES, "command": [*command],
            "environment": environment,
        }  # fmt: skip
        return [sys.executable, "-I", "-S", sandbox_start.__file__, json.dumps(asked)]
    nobody = str(sandbox_start.NOBODY)
    found = [
        "bwrap",
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--uid",
        nobody,
        "--gid",
        nobody,
        "--cap-drop",
        "ALL",
    ]
    found += ["--die-with-parent", "--new-session", "--clearenv", "--proc", "/proc", "--dev", "/dev"]
    found += ["--size", str(SCRATCH_BYTES), "--tmpfs", "/tmp"]
    found += [word for target, source in shown.items() for word in ("--ro-bind", source, target)]
    found += ["--remount-ro", "/proc", "--remount-ro", "/", "--chdir", "/tmp"]
    return [*found, *(word for name, value in environment.items() for word in ("--setenv", name, value)), *command]


def shows(path: Path) -> bool:
    """Whether code in a sandbox could read what is at ``path``, because Python lies around it."""
    return any(path.resolve().is_relative_to(source) for source in _python().values())


@cache
def _python() -> dict[str, str]:
    """The folders that Python, its libraries and this package need: where they are in a sandbox, and where here. Of the
    folders on Python's path only those that an installation made: the user's own may hold anything."""
    sites = [*site.getsitepackages(), site.getusersitepackages()]
    wanted = [*SYSTEM, sys.base_prefix, sys.prefix, *sites, os.path.dirname(sys.executable)]
    wanted.append(str(Path(rffbench.__file__).parent))
    for folder in filter(os.path.isdir, sites):  # packages that are links to another environment's
        wanted += sorted({str(Path(each.path).resolve().parent) for each in os.scandir(folder) if each.is_symlink()})
    places = [place for path in wanted for place in (os.path.abspath(path), os.path.realpath(path))]
    shown: dict[str, str] = {}
    for place in sorted({each for each in places if os.path.exists(each)}):
        around = [each for each in shown if Path(place).is_relative_to(each)]
        if not any(
            os.path.realpath(place) == os.path.join(shown[each], os.path.relpath(place, each)) for each in around
        ):
            shown[place] = os.path.realpath(place)
    return shown
