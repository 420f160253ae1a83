"""Starts a program among namespaces of its own, where there is no bubblewrap to do it: run as a script by `sandbox`.

It imports nothing but the standard library, so that it has one thread: the kernel gives a user namespace to no other
process. Its one argument is JSON, as `sandbox.start_command` writes it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import stat
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

NEW_NS, NEW_CGROUP, NEW_UTS, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000  # CLONE_…, unshare(2)
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC, REMOUNT, BIND, RECURSIVE, PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)  # MS_…
DETACH = 2  # MNT_DETACH, umount2(2)
MOUNT_SETATTR, AT_RECURSIVE, HERE = 442, 0x8000, -100  # mount_setattr(2), AT_FDCWD
DEATH_SIGNAL, NO_NEW_PRIVILEGES = 1, 38  # PR_SET_…, prctl(2)
DEVICES = ("null", "zero", "full", "random", "urandom")
NOBODY = 65534

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> None:
    """Call a function of the C library; OSError, which names it, where it fails."""
    given = [each.encode() if isinstance(each, str) else each for each in arguments]
    whole = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in given]
    if getattr(libc, name)(*whole) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}({', '.join(map(str, arguments[:3]))}): {os.strerror(number)}")


def become(user: int, process: int, outside: tuple[int, int]) -> None:
    """Be ``user`` in the user namespace that this process has entered, which is ``outside``, a user and a group, in the
    one around it. ``process`` is a folder opened on a /proc that can be written to."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {outside[0]} 1"),
        ("gid_map", f"{user} {outside[1]} 1"),
    ):
        file = os.open(f"self/{name}", os.O_WRONLY, dir_fd=process)
        os.write(file, text.encode())
        os.close(file)


def show(source: str, target: Path, devices: bool = False) -> None:
    """Make ``source``, a file or a folder with all that is mounted in it, appear at ``target``, to be read only."""
    if stat.S_ISDIR(os.stat(source).st_mode):
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    call("mount", source, str(target), None, BIND | RECURSIVE, None)
    flags = READ_ONLY | NO_SUID | (0 if devices else NO_DEVICES)
    attributes = ctypes.create_string_buffer(struct.pack("=4Q", flags, 0, 0, 0))
    call("syscall", MOUNT_SETATTR, HERE, str(target), AT_RECURSIVE, attributes, 32)


def fill(root: Path, shown: dict[str, str], scratch_bytes: int) -> None:
    """Make ``root`` an empty file system with the files of ``shown`` (its path there, its path here), /proc, the
    `DEVICES`, and a /tmp to write to."""
    call("mount", "none", "/", None, RECURSIVE | PRIVATE, None)
    call("mount", "tmpfs", str(root), "tmpfs", NO_SUID | NO_DEVICES, "mode=755,size=4m")
    for target, source in shown.items():
        show(source, root / target.lstrip("/"))
    for name in DEVICES:
        show(f"/dev/{name}", root / "dev" / name, devices=True)
    (root / "dev/shm").symlink_to("/tmp")
    for name in ("proc", "tmp"):
        (root / name).mkdir(exist_ok=True)
    call("mount", "proc", str(root / "proc"), "proc", READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC, None)
    call("mount", "tmpfs", str(root / "tmp"), "tmpfs", NO_SUID | NO_DEVICES, f"mode=1777,size={scratch_bytes}")


def enter(root: Path) -> None:
    """Leave every file but those below ``root``, which becomes /."""
    os.chdir(root)
    call("pivot_root", ".", ".")
    call("umount2", ".", DETACH)
    os.chdir("/")
    call("mount", None, "/", None, REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEVICES, None)


def run(asked: dict[str, Any]) -> NoReturn:
    """Run the command in the sandbox: this process has entered the namespaces."""
    process = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    fill(Path(asked["root"]), asked["shown"], asked["scratch_bytes"])
    enter(Path(asked["root"]))
    limit = os.open("sys/user/max_user_namespaces", os.O_WRONLY, dir_fd=process)
    os.write(limit, b"1")  # the next one is the last: in another it would have the rights of root again
    os.close(limit)
    call("unshare", NEW_USER)
    become(NOBODY, process, (0, 0))
    os.close(process)
    call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    os.chdir("/tmp")
    os.execve(asked["command"][0], asked["command"], asked["environment"])


def main(asked: dict[str, Any]) -> int:
    outside, parent = (os.getuid(), os.getgid()), os.getppid()
    call("unshare", NEW_USER | NEW_NS | NEW_PID | NEW_NET | NEW_IPC | NEW_UTS | NEW_CGROUP)
    process = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    become(0, process, outside)
    os.close(process)
    call("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended before
        return 1
    child = os.fork()
    if child == 0:
        try:
            run(asked)
        except BaseException as error:
            print(f"no sandbox: {error}", file=sys.stderr)
            os._exit(126)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    try:
        status = main(json.loads(sys.argv[1]))
    except OSError as error:
        sys.exit(f"no sandbox: {error}")
    sys.exit(status if status >= 0 else 128 - status)
