"""Files that reach every branch of the parsers: python scripts/fuzz.py [PARSER...] [--minutes N]

atheris (`pip install '.[fuzz]'`) changes a valid file again and again, goes on with those changes that run lines which
none before has run, and asks of each what `tests/test_fuzz.py` asks: a value, or an error of this package with a
message, in time. Each parser has a process of its own, for N minutes (10). Printed is, of each, how many files it was
given. What broke a promise is kept and named, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

LIMITS = ["-rss_limit_mb=4096", "-max_len=4096", "-print_final_stats=1"]  # libFuzzer's
PARSERS = ("config", "card", "claims", "reference", "data", "packed", "log", "results", "manifest", "units")


def ask(parser: str, folder: Path) -> tuple[Callable[[bytes], None], list[bytes]]:
    """What holds a file's content to the parser's promise, and contents to begin with."""
    from tests import test_fuzz as promises

    def on(test: Callable, **more: object) -> Callable[[bytes], None]:
        return lambda content: test.hypothesis.inner_test(folder, content=content, **more)

    def data(content: bytes) -> None:  # whose first byte says how the file is called
        if content:
            name = promises.NAMES[content[0] % len(promises.NAMES)]
            on(promises.test_data_of_one_s_own, name=name, target=None, dates="parts")(content[1:])

    def packed(content: bytes) -> None:  # likewise
        if content:
            ending = sorted(promises.PACKINGS)[content[0] % len(promises.PACKINGS)]
            on(promises.test_a_packed_file, ending=ending)(content[1:])

    def units(content: bytes) -> None:
        promises.test_times_and_amounts.hypothesis.inner_test(content.decode("utf-8", "surrogateescape"))

    zipped = gzip.compress(promises.TABLE, mtime=0)
    small = promises.TABLE
    files = {
        "d.csv": promises.TABLE, "d.csv.gz": zipped, "d.libsvm": promises.LIBSVM, "d.npz": promises.ARRAYS,
        "d.tsv": promises.SEPARATED, "d.txt": promises.TYPED, "d.arff": promises.ARFF, "d.xlsx": promises.RANKED,
    }  # fmt: skip
    return {
        "config": (on(promises.test_a_config), [promises.CONFIG.encode()]),
        "card": (on(promises.test_a_card), [promises.CARD]),
        "claims": (on(promises.test_claims), [promises.CLAIMS]),
        "reference": (on(promises.test_a_reference_of_one_s_own), [promises.REFERENCE]),
        "data": (data, [bytes([promises.NAMES.index(name)]) + content for name, content in files.items()]),
        "packed": (
            packed,
            [
                bytes([number]) + pack(small[:20]) + bytes(4) * zeros + pack(small[20:])
                for number, (_, pack) in enumerate(sorted(promises.PACKINGS.items()))
                for zeros in (0, 2)
            ],
        ),
        "log": (on(promises.test_a_log), [promises.LOG]),
        "results": (on(promises.test_the_results_of_a_folder, config=promises.RESOLVED), [promises.LOG]),
        "manifest": (on(promises.test_a_manifest), [promises.MANIFEST]),
        "units": (units, [b"16GB", b"1h 30m", b"0.5 s"]),
    }[parser]


def fuzz(parser: str, folder: str, *options: str) -> None:
    """Until the time is over, or a promise is broken: this process then ends."""
    import atheris

    with atheris.instrument_imports(include=["rffbench", "yaml"]):
        check, begin = ask(parser, Path(folder) / "given")
    words = sys.modules["tests.test_fuzz"].TOKENS
    (Path(folder) / "words").write_text("".join(f'"{_escaped(word)}"\n' for word in words if 0 < len(word) < 64))
    for number, content in enumerate(begin):
        (Path(folder) / "corpus" / str(number)).write_bytes(content)
    atheris.Setup([sys.argv[0], *options, f"-dict={folder}/words", f"{folder}/corpus"], check)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def in_a_process(parser: str, minutes: float) -> tuple[int, Path | None]:
    """How many files the parser was given, and where the one is that broke its promise."""
    kept = Path(tempfile.mkdtemp(prefix=f"fuzz-{parser}-"))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("corpus", "given"):
            (Path(folder) / name).mkdir()
        options = [*LIMITS, f"-max_total_time={round(60 * minutes)}", f"-artifact_prefix={kept}/"]
        environment = {**os.environ, "RFFBENCH_CACHE": f"{folder}/cache"}
        command = [sys.executable, __file__, "--in", folder, parser, *options]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace")
    given = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    if not given:
        sys.exit(f"{parser}: {done.stderr}")
    if done.returncode:
        (kept / "said.txt").write_text(done.stdout + done.stderr)
        return int(given[1]), kept
    kept.rmdir()
    return int(given[1]), None


def main() -> int:
    if sys.argv[1:2] == ["--in"]:
        fuzz(sys.argv[3], sys.argv[2], *sys.argv[4:])
    asked = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    asked.add_argument("parser", nargs="*", choices=[[], *PARSERS], metavar="PARSER", help=", ".join(PARSERS))
    asked.add_argument("--minutes", type=float, default=10, help="for each parser")
    given = asked.parse_args()
    if not importlib.util.find_spec("atheris"):
        print("this needs atheris: pip install '.[fuzz]'", file=sys.stderr)
        return 2
    broken = 0
    for parser in given.parser or PARSERS:
        files, where = in_a_process(parser, given.minutes)
        broke = f", and one that broke its promise: {where}" if where else ""
        print(f"{parser:10} {files:8,} files{broke}", flush=True)
        broken += bool(where)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
