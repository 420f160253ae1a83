"""What a command finds around it (streams, limits, links, pipes) costs no trial, and is told in words."""

import json
import os
import platform
import subprocess
import sys
from textwrap import indent

import pytest

from tests.helpers.misdeeds import source
from tests.helpers.tiny_config import TINY


@pytest.fixture
def shell(tmp_path, environment):
    """Run a line of the shell, in which R is rffbench, in a folder with a config."""
    (tmp_path / "tiny.yaml").write_text(TINY.replace("[8, 16]", "[8]").replace("trials: 2", "trials: 1"))

    def run(line):
        command = ["sh", "-c", line.replace("R ", f"{sys.executable} -m rffbench ")]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)

    return run


@pytest.mark.slow
def test_a_run_whose_standard_streams_are_all_closed_measures_its_trials(shell, tmp_path):
    assert shell("R run tiny.yaml --workers 1 <&- >&- 2>&-").returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "results/tiny/trials.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["ok", "ok"]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_named(shell):
    told = shell("R methods > /dev/full")
    assert told.returncode == 2
    assert told.stderr == "error: standard output: No space left on device\n"


@pytest.mark.slow
def test_a_limit_of_few_open_files_is_told_before_a_worker_starts(shell):
    told = shell("ulimit -n 20; R run tiny.yaml")
    assert told.returncode == 1
    assert "may have 20 files open at a time (ulimit -n); 64 are needed" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("what", ["pipe", "/dev/zero"])
@pytest.mark.parametrize("place", ["reference", "manifest", "config"])
def test_a_pipe_or_an_endless_device_is_refused_and_not_waited_for(tmp_path, rffbench, what, place):
    (tmp_path / "tiny.yaml").write_text(TINY + ("reference: ./expected.csv\n" if place == "reference" else ""))
    folder = tmp_path / "results" / "tiny"
    folder.mkdir(parents=True)
    path = {"reference": tmp_path / "expected.csv", "manifest": folder / "manifest.json", "config": tmp_path / "c.yaml"}
    if what == "pipe":
        os.mkfifo(path[place])
    else:
        path[place].symlink_to(what)
    told = rffbench("run", "c.yaml" if place == "config" else "tiny.yaml", limit=60)
    assert told.returncode == 2
    assert f"{path[place].name}: " in told.stderr
    assert "not a regular file" in told.stderr


@pytest.mark.slow
def test_a_map_whose_constructor_never_ends_is_refused_by_name(tmp_path, rffbench, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import signal\n\nclass Slow:\n    def __init__(self, n_components=2):\n        signal.pause()\n"
    )
    (tmp_path / "tiny.yaml").write_text(TINY.replace("features: fourier", "features: ./mine.py:Slow"))
    told = rffbench("validate", "tiny.yaml", limit=120)
    assert told.returncode == 2
    assert "./mine.py:Slow" in told.stderr
    assert "it is not done after" in told.stderr


@pytest.mark.slow  # the ten seconds that it may take
def test_a_map_that_is_never_put_away_is_refused_by_name_and_line(tmp_path, rffbench):
    (tmp_path / "mine.py").write_text(
        "import signal\nfrom sklearn.base import BaseEstimator, TransformerMixin\n\n"
        "class Slow(TransformerMixin, BaseEstimator):\n    def __init__(self, n_components=2):\n"
        "        self.n_components = n_components\n    def fit(self, X, y=None):\n        return self\n"
        "    def transform(self, X):\n        return X\n    def __del__(self):\n        signal.pause()\n"
    )
    (tmp_path / "tiny.yaml").write_text(TINY.replace("features: fourier", "features: ./mine.py:Slow"))
    for command in ("validate", "run"):
        told = rffbench(command, "tiny.yaml", limit=120)
        assert told.returncode == 2
        assert "'./mine.py:Slow': in __del__: " in told.stderr
        assert "mine.py, line 12: it is not done after 10 s" in told.stderr


FAULTS = """
import resource
import numpy as np
from rffbench.io.process import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.zeros(150_000)[:] = 1.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(), print(faults())
keep_freed_memory()
faults(), print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_memory_of_freed_arrays_is_used_again_where_dask_has_it_given_back(environment):
    environment = environment | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run([sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, check=True)
    given_back, kept = map(int, done.stdout.split())
    assert given_back > 20 * 150
    assert kept < 150


CALLED = """\
import os, sys
def run(name):
    import rffbench
    config = {"name": name, "datasets": ["breast-cancer"], "n_features": [8], "trials": 1,
              "methods": {"RFF": {"features": "fourier"}, "Own": {"features": "./own.py:Own"}}}
    return repr(rffbench.run(config, results="r", workers=1))
"""


@pytest.fixture
def script(tmp_path, environment):
    """What a Python script with the function ``run`` prints, each line of it once."""
    (tmp_path / "own.py").write_text(source("cosine", "nowhere").replace("pass", "print('from the map')"))

    def run(lines, redirection=""):
        (tmp_path / "called.py").write_text(CALLED + f"if __name__ == '__main__':\n{indent(lines, '    ')}\n")
        command = ["sh", "-c", f"exec {sys.executable} called.py {redirection}"]
        told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)
        assert told.returncode == 0, told.stderr
        return told.stdout.splitlines()

    return run


OK = "<Results n: 2 of 2 trials ok, in r/n>"


@pytest.mark.slow
def test_a_run_needs_no_standard_error(script):
    streams = {"n": "None", "object": "object()", "closed": "open(os.devnull, 'w'); sys.stderr.close()"}
    runs = [f"sys.stderr = {made}\nprint(run('{name}'))\nsys.stderr = sys.__stderr__" for name, made in streams.items()]
    assert script("\n".join(runs)) == [
        OK.replace("Results n", f"Results {name}").replace("/n", f"/{name}") for name in streams
    ]


@pytest.mark.slow
def test_closed_standard_streams_get_nothing_of_a_workers_output(script, tmp_path):
    script("open('said', 'w').write(run('n'))", "<&- >&- 2>&-")
    assert (tmp_path / "said").read_text() == OK
    for path in (tmp_path / "r" / "n").rglob("*"):
        assert path.name == "own.py" or not path.is_file() or b"from the map" not in path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "before"),
    [
        pytest.param(method, before, id=f"{method}, {when}")
        for method in ("spawn", "fork", "forkserver")
        for when, before in {"first": "", "after a run of the parent": "run('n')\n"}.items()
        if (method, when) != ("spawn", "after a run of the parent")  # of which nothing reaches it
    ],
)
def test_a_daemonic_process_may_run_trials(script, method, before):
    ends = f"import multiprocessing\nwith multiprocessing.get_context('{method}').Pool(1) as pool: "
    assert script(f"{before}{ends}print(pool.apply(run, ('n',)))") == [OK]


@pytest.mark.slow
def test_workers_of_joblib_may_run_trials(script):
    lines = (
        "from joblib import Parallel, delayed\nprint(*Parallel(n_jobs=2)(delayed(run)(name) for name in ['n', 'm']))"
    )
    assert script(lines) == [f"{OK} <Results m: 2 of 2 trials ok, in r/m>"]
