"""The record of where something was measured: software, processors, BLAS, memory, commit."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import rffbench

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "threadpoolctl", "torch")
MEASURING = ("rffbench", "datasets", "pyproject.toml")  # the parts of a checkout that results depend on
PREFIXES = ("OPENBLAS_", "MKL_", "OMP_", "BLIS_", "VECLIB_", "NUMBA_", "KMP_", "CUDA_VISIBLE_DEVICES")


def record() -> dict[str, Any]:
    """The facts about machine and software in manifest.json; unknown values are None.

    ``memory_bytes`` is the machine's; ``processors`` those this process may use, ``processors_total`` all;
    ``gpus`` what NVIDIA's driver lists: name, memory, driver version.
    """
    return {
        "rffbench": rffbench.__version__,
        "python": platform.python_version(),
        "packages": versions(),
        "cpu": cpu_model(),
        "processors": processors(),
        "processors_total": os.cpu_count(),
        "memory_bytes": total_memory(),
        "gpus": gpus(),
        "blas": _blas(),
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith(PREFIXES)},
        "os": platform.platform(),
        "git_commit": git_commit(),
        "time": now(),
    }


def now() -> str:
    """The time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def total_memory() -> int | None:
    """The machine's memory in bytes; None if the system does not say."""
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def cpu_model() -> str | None:
    """The processor's name; with its family and model where they are known, as a cloud gives one name to several."""
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0]
    except OSError:
        first = ""
    facts = dict(re.findall(r"^([\w ]+?)\s*: (.+)$", first, flags=re.MULTILINE))
    name = facts.get("model name") or platform.processor() or None
    known = [f"{word} {facts[key]}" for word, key in (("family", "cpu family"), ("model", "model")) if key in facts]
    return f"{name} ({', '.join(known)})" if name and known else name


def gpus() -> list[str]:
    """The NVIDIA GPUs of this machine, one text each; empty without the driver's tool."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        listed = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in listed.splitlines() if line.strip()]


def git_commit() -> str | None:
    """The commit of the checkout this package runs from, ``…-dirty`` with local changes; else None."""
    checkout = Path(rffbench.__file__).parents[1]
    if not (checkout / ".git").exists():
        return None
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(checkout), *command],
                capture_output=True, text=True, timeout=10, check=True,
            ).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", *MEASURING])
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}-dirty" if changes else commit


def versions() -> dict[str, str | None]:
    """The version of each package that results may depend on; None if it is not installed."""
    found: dict[str, str | None] = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def _blas() -> list[dict[str, Any]]:
    """The BLAS and OpenMP libraries that numpy and scipy load, with their threads, without their paths."""
    import_module("scipy.linalg")  # loads numpy's BLAS and its own
    from threadpoolctl import threadpool_info

    wanted = ("internal_api", "version", "architecture", "threading_layer", "num_threads")
    return [{name: library[name] for name in wanted if name in library} for library in threadpool_info()]
