"""blocks: dask with the real thing: a scheduler and workers on loopback, as commands start them."""

import os
import pickle
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")
import psutil
from dask.sizeof import sizeof

from rffbench import RandomFourierFeatures, data
from rffbench.errors import EnvironmentFault
from rffbench.plugins import ownfile
from rffbench.solvers.ridge import dask_blocks
from rffbench.solvers.ridge.blocks import BlockedRidgeCV, Gathered
from rffbench.solvers.ridge.dask_blocks import software
from rffbench.solvers.ridge.fold_statistics import Moments
from tests.helpers import blocks_at_work
from tests.helpers.dask_cluster import Cluster
from tests.helpers.processes import wait_for

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
LONG = (
    "name: long\ndatasets: [generated]\ncount: columns\nn_features: [1024]\nmethods: {RFF: {features: fourier}}\n"
    "solver: {name: ridge, lambda: [1.0e-6], blocks: dask}\ntrials: 1\n"
)


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="5 minutes")
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A cluster of one worker, for tests that leave it as it is."""
    cluster = Cluster(tmp_path_factory.mktemp("one"))
    cluster.worker()
    yield cluster
    cluster.close()


@contextmanager
def engine_of(cluster):
    """The engine of this process, on that cluster."""
    dask_blocks._engine.cache_clear()
    with dask_blocks.dask.config.set({"scheduler-address": f"tcp://{cluster.address}"}), dask_blocks.engine() as engine:
        yield engine
        engine.client.close()
    dask_blocks._engine.cache_clear()


def fit():
    """The coefficients and predictions of a fit to rows that workers make, and the error."""
    split = data.train_test("generated", seed=0, trial=0, train_rows=70_000)
    model = BlockedRidgeCV([1e-7, 1e-5], features=RandomFourierFeatures(64, gamma=0.2, random_state=0), folds=2)
    predicted = model.fit(split.X_train, split.y_train).predict(split.X_test)
    return np.concatenate([model.coef_, predicted]), np.sqrt(np.mean((predicted - split.y_test) ** 2))


def test_one_worker_and_two_with_other_threads_give_the_same_digits(cluster):
    cluster.worker()
    with engine_of(cluster) as engine:
        digits, error = fit()
        assert error < 0.6  # the target's own spread is 0.76
        cluster.worker(OMP_NUM_THREADS="2")
        engine.client.wait_for_workers(2, timeout=120)
        np.testing.assert_array_equal(fit()[0], digits)


def loaded():
    return set(sys.modules)


def test_workers_have_loaded_what_a_fit_needs_before_its_seconds_count(cluster):
    cluster.worker()
    with engine_of(cluster) as engine:
        (before,) = engine.client.run(loaded).values()
        fit()
        (after,) = engine.client.run(loaded).values()
    assert {"sklearn", "rffbench.data.streams"} <= before
    assert not [name for name in after - before if name.startswith(("numba", "rffbench.data", "scipy", "sklearn"))]


def test_dask_knows_the_bytes_of_what_it_may_move():
    rows = np.zeros((1000, 16))
    arrived = pickle.loads(pickle.dumps(dask_blocks.Sent([(rows, 0)])))
    gathered = Gathered(rows.ravel(), Moments(1.0, rows, rows, rows, rows), (0.0, 0.0))
    for value in (arrived, gathered):
        assert rows.nbytes < sizeof(value) < 1.1 * rows.nbytes


def test_a_worker_that_dies_is_made_up_for_by_another(cluster, tmp_path):
    for _ in range(2):
        cluster.worker()
    with engine_of(cluster) as engine:
        engine.client.wait_for_workers(2, timeout=120)
        groups = [[(number, str(tmp_path / "died")) for number in range(9)], [(100, ""), (200, "")]]
        found = list(engine.sums(blocks_at_work.plus, blocks_at_work.add, 1000, groups))
        assert list(engine.each(blocks_at_work.plus, 5, groups[1])) == [105, 205]
    assert found == [9 * 1000 + sum(range(9)), 2300]
    assert (tmp_path / "died").exists()
    assert [process.poll() for process in cluster.processes].count(None) == 2  # the scheduler and one worker


def test_no_scheduler_is_told_with_its_address(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_blocks, "TIMEOUT_S", 1.0)
    with (
        dask_blocks.dask.config.set({"scheduler-address": "tcp://127.0.0.1:9"}),
        pytest.raises(EnvironmentFault, match=r"no scheduler with a worker answers at tcp://127\.0\.0\.1:9 within 1 s"),
        dask_blocks.engine(),
    ):
        pass


def test_workers_of_another_version_are_refused(one, monkeypatch):
    monkeypatch.setattr(dask_blocks, "software", lambda: software() | {"numpy": "1.0"})
    with (
        dask_blocks.dask.config.set({"scheduler-address": f"tcp://{one.address}"}),
        pytest.raises(EnvironmentFault, match=rf"the software on tcp.* differs: numpy {np.__version__} \(here 1\.0\)"),
        dask_blocks.engine(),
    ):
        pass


def test_a_worker_of_another_version_that_has_come_later_is_refused(one, monkeypatch):
    with engine_of(one) as engine:
        monkeypatch.setattr(dask_blocks, "software", lambda: software() | {"numpy": "1.0"})
        with pytest.raises(EnvironmentFault, match=rf"software on tcp.* differs: numpy {np.__version__} \(here 1\.0\)"):
            list(engine.each(blocks_at_work.plus, 5, [(100, "")]))


def test_ctrl_c_ends_a_long_fit_with_all_that_it_started(tmp_path):
    (tmp_path / "long.yaml").write_text(LONG)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RFFBENCH_CACHE": str(tmp_path / "cache")}
    environment.pop("DASK_SCHEDULER_ADDRESS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "rffbench", "run", "long.yaml"], cwd=tmp_path, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        below = psutil.Process(process.pid).children
        wait_for(lambda: process.poll() is not None or any(map(is_worker, below(recursive=True))), 120)
        started = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert started
    _, left = psutil.wait_procs(started, timeout=60)
    assert not left


def is_worker(process):
    """Whether dask has started this process: it spawns its workers, rffbench forks its own."""
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:  # it has ended
        return False


# ---- A user's own map --------------------------------------------------------------------------------------

OWN = """
import os
from rffbench import RandomFourierFeatures

if "NOT_HERE" in os.environ:
    raise ImportError("this machine lacks a library")

class MyFeatures(RandomFourierFeatures):
    pass
"""
ELSEWHERE = """
import pickle, sys

shared = pickle.loads(pickle.dumps(pickle.load(sys.stdin.buffer)))  # as one worker passes it on to another
print(getattr(shared.value, "n_components", shared.value))
"""


@pytest.mark.parametrize(
    ("there", "arrives"),
    [({}, "8"), ({"NOT_HERE": "1"}, "cannot load the map: ImportError: this machine lacks a library")],
)
def test_what_workers_are_sent_takes_the_user_s_file_along(tmp_path, environment, there, arrives):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    sent = pickle.dumps(dask_blocks.Sent(ownfile.load(f"{file}:MyFeatures")(8)))
    file.unlink()
    found = subprocess.run([sys.executable, "-c", ELSEWHERE], input=sent, env=environment | there, capture_output=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.decode().strip().endswith(arrives)
