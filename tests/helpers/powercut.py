"""What a disk may hold after a power cut: a recorder of writes, and the two worst states before each of them.

What counts as being on the disk is what was synced: a file's content at its last ``fsync``, and nothing of a file that
never was. Names (files made, renamed, removed) may be there at once, as journals write them, or only as they were when
their folder was last synced. Both are tried.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

CHANGES = ("open", "write", "fsync", "replace", "rename", "unlink", "remove", "rmdir", "mkdir", "ftruncate")
END = "the end"
State = dict[str, bytes | None]  # by path: a file's content, None of a folder


class Disk:
    """The states that power cuts could leave of a folder while the block of `recorded` ran, in their order."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.states: list[tuple[str, State]] = []
        self.synced: dict[int, bytes] = {}
        self.names: dict[int, dict[str, int]] = {}
        self.held: list[int] = []  # so that no number of a file is given to another
        for folder, _, names in os.walk(root):
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                file = os.open(path, os.O_RDONLY)
                self.sync(file)
                os.close(file)

    def sync(self, file: int) -> None:
        self.held.append(os.dup(file))
        path, number = f"/proc/self/fd/{file}", os.fstat(file).st_ino
        if os.path.isdir(path):
            self.names[number] = {name: os.lstat(os.path.join(path, name)).st_ino for name in os.listdir(path)}
        else:
            self.synced[number] = Path(path).read_bytes()

    def look(self, before: str) -> None:
        """Note what a power cut now could leave."""
        at_once: State = {}
        for folder, folders, names in os.walk(self.root):
            at = os.path.relpath(folder, self.root)
            at_once |= {os.path.normpath(os.path.join(at, name)): None for name in folders}
            for name in names:
                number = os.lstat(os.path.join(folder, name)).st_ino
                at_once[os.path.normpath(os.path.join(at, name))] = self.synced.get(number, b"")
        late: State = {}
        self._walk(os.stat(self.root).st_ino, "", late)
        newest = [known for _, known in self.states[-2:]] if before != END else []
        self.states += [(before, state) for state in (at_once, late) if state not in newest]

    def _walk(self, number: int, at: str, state: State) -> None:
        for name, inner in self.names.get(number, {}).items():
            path = os.path.join(at, name)
            if inner in self.synced:
                state[path] = self.synced[inner]
            elif inner in self.names or os.path.isdir(self.root / path):
                state[path] = None
                self._walk(inner, path, state)
            else:
                state[path] = b""

    def close(self) -> None:
        for file in self.held:
            os.close(file)


@contextmanager
def recorded(root: Path) -> Iterator[Disk]:
    """Record what the block does below ``root``; its last state is that after its end."""
    disk = Disk(root)

    def watched(name, change):
        def changed(*given, **named):
            disk.look(name)
            result = change(*given, **named)
            if name == "fsync":
                disk.sync(given[0])
            return result

        return changed

    with ExitStack() as patched:
        for name in CHANGES:
            patched.enter_context(mock.patch.object(os, name, watched(name, getattr(os, name))))
        yield disk
    disk.look(END)
    disk.close()


def restore(state: State, folder: Path) -> Path:
    """Make the folder what a power cut has left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path, content in sorted(state.items()):
        if content is None:
            (folder / path).mkdir(parents=True, exist_ok=True)
        else:
            (folder / path).write_bytes(content)
    return folder
