"""What numba compiles is kept where that is possible; where it is not, it is compiled anew, and nothing fails."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

from rffbench.linalg.compiled import compiled, temporary_cache

ROOT = Path(__file__).parents[2]
MODULE = """\
from rffbench.linalg.compiled import compiled
@compiled()
def twice(x):
    return 2 * x
print(twice(21))
"""


@pytest.fixture
def unwritable(tmp_path):
    """Runs a module from a folder that keeps nothing compiled, without a home, with a temporary folder."""
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "twice.py").write_text(MODULE)
    (tmp_path / "module" / "__pycache__").touch()  # root may write to any folder; nobody to one that is a file
    (tmp_path / "temporary").mkdir()

    def run():
        nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME"), "/proc/nowhere")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
        done = subprocess.run(
            [sys.executable, "-B", tmp_path / "module" / "twice.py"], capture_output=True, text=True, check=False,
            env={**kept, **nowhere, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "temporary")},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr

    return run


@pytest.mark.slow
def test_without_a_home_and_beside_a_package_that_cannot_be_written_to_a_temporary_folder_is_the_cache(
    unwritable, tmp_path
):
    unwritable()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert len(kept) == 1
    unwritable()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == kept  # not compiled again
    (folder,) = (tmp_path / "temporary").glob("rffbench-numba-*")
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
@pytest.mark.parametrize("trap", ["file", "link", "open to all"])
def test_a_temporary_folder_that_others_could_write_to_is_no_cache(unwritable, tmp_path, trap):
    place = tmp_path / "temporary" / f"rffbench-numba-{os.getuid()}"
    (tmp_path / "theirs").mkdir()
    if trap == "file":
        place.touch()
    elif trap == "link":
        place.symlink_to(tmp_path / "theirs")
    else:
        place.mkdir()
        place.chmod(0o777)
    unwritable()
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.slow
def test_a_damaged_cache_is_compiled_anew(unwritable, tmp_path):
    unwritable()
    for kept in (*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")):
        kept.write_bytes(kept.read_bytes()[:10] + b"\xff" * 40)
    unwritable()


def test_a_full_disk_is_no_error(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)

    @compiled()
    def thrice(x):
        return 3 * x

    assert thrice(14) == 42


def test_the_temporary_cache_is_one_folder_of_this_user_s(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert temporary_cache() == temporary_cache() == tmp_path / f"rffbench-numba-{os.getuid()}"


def test_every_compiled_function_has_this_cache():
    others = [path for path in (ROOT / "rffbench").rglob("*.py") if "cache=True" in path.read_text()]
    assert [path.name for path in others] == ["compiled.py"]
