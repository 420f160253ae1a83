"""A process that runs code of somebody else: without a network, and with all files but a scratch folder read-only.

Linux namespaces do it, by `unshare`, `mount` and `setpriv` of util-linux: no other program and no rights of an
administrator are needed. Where a system does not allow all of it, it may still allow to cut off the network alone.
"""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_CUT_OFF = ("unshare", "--user", "--map-root-user", "--net")
_ALONE = (*_CUT_OFF, "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c")
_READ_ONLY = r"""
set -e
scratch=$1; shift
mount --make-rprivate /
mount --bind "$scratch" "$scratch"
while read -r _ where _ options _; do
  where=$(printf '%b' "$where")
  case $where in "$scratch"|/proc|/proc/*|/sys|/sys/*|/dev|/dev/*) continue ;; esac
  kept=remount,bind,ro
  for each in nosuid nodev noexec noatime nodiratime relatime; do
    case ,$options, in *,$each,*) kept=$kept,$each ;; esac
  done
  mount -o "$kept" "$where"
done < /proc/self/mounts
cd "$PWD"
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""
"""Makes every mounted folder read-only but $1 and the kernel's own, with the flags that it has; then runs the rest
without the rights to mount, so that it cannot undo this. The process enters its folder anew, to be in the mount that is
read-only."""


class Sandbox(enum.Enum):
    """What code in it can do."""

    WHOLE = "has no network and cannot change your files; it can read them"
    NETWORK = "has no network, but can read and change your files"


def sandbox() -> Sandbox | None:
    """The strictest one that this system allows; None if it allows none."""
    return next((kind for kind in Sandbox if run_command(kind, ["true"], {}, quiet=True) == 0), None)


def run_in(kind: Sandbox, words: Sequence[str], **variables: str) -> int:
    """The exit status of rffbench with these words, run in such a sandbox with these environment variables."""
    return run_command(kind, [sys.executable, "-m", "rffbench", *words], variables)


def run_command(kind: Sandbox, command: Sequence[str], variables: Mapping[str, str], quiet: bool = False) -> int:
    """The exit status of a command in such a sandbox, 127 where it cannot be started; its environment has these
    ``variables``, too. ``quiet``: what it prints is not shown."""
    with tempfile.TemporaryDirectory(prefix="rffbench-sandbox-") as place:
        start, scratch = [*_CUT_OFF], {}
        if kind is Sandbox.WHOLE:
            folder = str(Path(place).resolve())
            start = [*_ALONE, _READ_ONLY, "rffbench", folder]
            scratch = dict.fromkeys(("TMPDIR", "NUMBA_CACHE_DIR", "MPLCONFIGDIR"), folder)
        try:
            environment = {**os.environ, **variables, **scratch}
            return subprocess.run([*start, *command], env=environment, capture_output=quiet).returncode
        except OSError:  # there is no such command
            return 127
