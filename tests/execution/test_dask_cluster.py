"""The executor dask with the real thing: a scheduler and two workers on loopback, killed and paused in mid-run."""

import json
import os
import shutil
import signal
import subprocess
import threading
from collections import Counter

import pytest

from rffbench.errors import ConfigError, EnvironmentFault
from rffbench.execution.environment import processors
from rffbench.execution.log import read_rows
from rffbench.execution.run import run_experiment
from tests.helpers import execution_workers as workers
from tests.helpers.execution_workers import FakeExperiment, spec
from tests.helpers.processes import content, gone, wait_for

pytest.importorskip("distributed", reason="needs the extra dask")
from distributed import Client

from rffbench.execution import dask_cluster
from rffbench.solvers.ridge.dask_blocks import cluster_here
from tests.helpers.command_server import OF_DASK, CommandServer
from tests.helpers.dask_cluster import Cluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory, environment):
    """Forks schedulers and workers: of their commands, each imports and loads compiled code for seconds."""
    server = CommandServer(tmp_path_factory.mktemp("dask"), environment)
    server.preload(*OF_DASK)
    yield server
    server.close()


@pytest.fixture
def cluster(tmp_path, server):
    """A cluster whose processes may be killed."""
    cluster = Cluster(tmp_path, server=server)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory, cache):
    """A cluster of two workers, as commands start them, for tests that leave it as it is."""
    cluster = Cluster(tmp_path_factory.mktemp("pair"))
    for _ in range(2):
        cluster.worker(RFFBENCH_CACHE=str(cache))
    yield cluster
    cluster.close()


def executor(cluster, experiment, work="do_all", timeout=60.0, patience=60.0, ensure="ensure"):
    def connect():
        client = Client(f"tcp://{cluster.address}", timeout=timeout, set_as_default=False)
        if there := sum(each.poll() is None for each in cluster.processes) - 1:
            client.wait_for_workers(there, timeout=60)
        return client, None

    made = dask_cluster.DaskExecutor(
        experiment, connect, timeout=timeout, work=f"{workers.__name__}:{work}", ensure=f"{workers.__name__}:{ensure}"
    )
    made.open()
    made.timeout = patience
    return made


def run(cluster, specs, folder, after=None, **settings):
    """The rows of a run; ``after(result number)`` is called in its thread after each row."""
    experiment = FakeExperiment(specs, time_limit=settings.pop("time_limit", None))
    made = executor(cluster, experiment, **settings)
    try:
        run_experiment(experiment, folder, executor=made, progress=after and (lambda done, *_: after(done)))
    finally:
        made.close()
    return read_rows(folder / "trials.jsonl")


def counting(tmp_path, trials):
    """Trials that leave a line in a file each time they are done."""
    features = {"name": "fourier", "do": "count", "path": str(tmp_path / "counted")}
    return [spec(trial=trial, features=features) for trial in range(trials)]


def counted(tmp_path):
    return Counter((tmp_path / "counted").read_text().split())


def test_rows_come_from_both_workers_once_each_and_the_manifest_lists_their_node(pair, tmp_path):
    rows = run(pair, counting(tmp_path, 6), tmp_path / "results")
    assert sorted(row["trial"] for row in rows) == list(range(6))
    assert {row["status"] for row in rows} == {"ok"}
    assert set(counted(tmp_path).values()) == {1}
    assert {row["timing"]["contended"] for row in rows} == {True}  # two workers on one machine
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text())
    assert (manifest["executor"], manifest["workers"], len(manifest["nodes"])) == ("dask", 2, 1)
    assert manifest["nodes"][0]["processors"] >= 1


def test_a_group_is_one_unit_so_that_its_shared_work_is_done_once(pair, tmp_path):
    specs = [spec(trial=trial, n_features=n) for trial in range(2) for n in (1, 2, 3)]
    rows = run(pair, specs, tmp_path / "results", work="shared_work_takes")
    assert [row["metrics"]["together"] for row in rows] == [3] * 6


def test_a_worker_killed_in_mid_run_costs_one_more_start_of_its_trial_and_no_row(cluster, tmp_path):
    victim, _ = cluster.worker(), cluster.worker()
    rows = run(cluster, counting(tmp_path, 8), tmp_path / "results", lambda done: done == 2 and victim.kill())
    assert sorted(row["trial"] for row in rows) == list(range(8))
    assert {row["status"] for row in rows} == {"ok"}
    assert counted(tmp_path).total() <= 9  # the one that the victim was at


def test_a_paused_worker_is_given_up_and_its_trials_are_done_elsewhere(tmp_path, server):
    cluster = Cluster(tmp_path, server=server, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="5s")
    victim, _ = cluster.worker(), cluster.worker()
    try:
        rows = run(
            cluster, counting(tmp_path, 8), tmp_path / "results",
            lambda done: done == 2 and victim.send_signal(signal.SIGSTOP),
        )  # fmt: skip
    finally:
        cluster.close()
    assert sorted(row["trial"] for row in rows) == list(range(8))
    assert {row["status"] for row in rows} == {"ok"}


def test_a_scheduler_gone_ends_the_run_with_its_message_and_the_same_call_carries_on(cluster, server, tmp_path):
    cluster.worker()
    specs = counting(tmp_path, 6)
    with pytest.raises(EnvironmentFault, match=r"connection to the scheduler is lost.*the same command carries on"):
        run(cluster, specs, tmp_path / "results", lambda done: done == 2 and cluster.scheduler.kill())
    before = len(read_rows(tmp_path / "results" / "trials.jsonl"))
    assert 2 <= before < 6
    (tmp_path / "next").mkdir()
    following = Cluster(tmp_path / "next", server=server)
    try:
        following.worker()
        rows = run(following, specs, tmp_path / "results")
    finally:
        following.close()
    assert sorted(row["trial"] for row in rows) == list(range(6))


def test_a_trial_that_takes_its_worker_with_it_three_times_is_lost(cluster, tmp_path):
    for _ in range(4):
        cluster.worker()
    rows = run(cluster, [spec("kill_its_node", 0), *[spec(trial=trial) for trial in (1, 2, 3)]], tmp_path / "results")
    assert {row["trial"]: row["status"] for row in rows} == {0: "lost", 1: "ok", 2: "ok", 3: "ok"}
    assert "lost with its worker 3 times" in next(row for row in rows if row["status"] == "lost")["error"]["message"]


def test_the_only_worker_lost_while_it_makes_the_data_ready_costs_no_trial(cluster, tmp_path):
    died = tmp_path / "died"
    cluster.worker(NODE_DIES_ONCE=str(died))
    with pytest.raises(EnvironmentFault, match="no worker has been left for 3 s"):
        run(cluster, counting(tmp_path, 4), tmp_path / "results", ensure="ensure_kills_its_node_once", patience=3)
    assert died.exists()
    assert read_rows(tmp_path / "results" / "trials.jsonl") == []
    cluster.worker()
    rows = run(cluster, counting(tmp_path, 4), tmp_path / "results", ensure="ensure_kills_its_node_once")
    assert [row["status"] for row in rows] == ["ok"] * 4


def test_without_any_worker_left_the_run_ends_and_says_so(cluster, tmp_path):
    victim = cluster.worker()
    with pytest.raises(EnvironmentFault, match="no worker has been left for 2 s"):
        run(cluster, counting(tmp_path, 5), tmp_path / "results", lambda done: done == 1 and victim.kill(), patience=2)


def test_limits_kill_on_the_worker_which_goes_on(pair, tmp_path):
    specs = [spec("sleep_forever", 0), spec("kill_itself", 1), spec("measure", 2)]
    rows = run(pair, specs, tmp_path / "results", time_limit=1.0)
    assert {row["trial"]: row["status"] for row in rows} == {0: "timeout", 1: "killed", 2: "ok"}
    assert [each.poll() for each in pair.processes] == [None] * 3


def test_a_worker_without_the_data_leaves_its_trials_to_the_others(cluster, tmp_path):
    cluster.worker(LACKS="digits")
    cluster.worker()
    specs = [*counting(tmp_path, 4), spec(dataset="eeg", trial=9)]
    rows = run(cluster, specs, tmp_path / "results", ensure="ensure_but_for")
    assert {row["status"] for row in rows} == {"ok"}
    for process in cluster.processes[1:]:
        process.kill()
        process.wait()
    cluster.worker(LACKS="digits")
    rows = run(cluster, [spec(trial=7)], tmp_path / "other", ensure="ensure_but_for")
    assert [(row["status"], row["error"]["message"]) for row in rows] == [
        ("unavailable", "digits: this node has no mirror of it")
    ]


def test_a_worker_that_comes_later_takes_part_and_one_that_lacks_the_data_then_says_so(cluster, tmp_path):
    cluster.worker()
    rows = run(
        cluster, counting(tmp_path, 12), tmp_path / "results",
        lambda done: done == 1 and cluster.worker(LACKS="digits"), ensure="ensure_but_for",
    )  # fmt: skip
    assert {row["status"] for row in rows} == {"ok"}
    assert len(rows) == 12


def test_exclusive_trials_are_all_on_one_worker_one_at_a_time_with_every_processor_s_thread(pair, tmp_path):
    specs = [spec("tell_node", trial, timing="exclusive") for trial in range(4)]
    rows = run(pair, specs, tmp_path / "results")
    assert len({row["metrics"]["node"] for row in rows}) == 1
    assert {row["metrics"]["threads"] for row in rows} == {processors()}
    assert {row["timing"]["contended"] for row in rows} == {None}


def test_a_worker_without_this_rffbench_is_refused_before_anything_runs(cluster, tmp_path):
    (tmp_path / "old" / "rffbench").mkdir(parents=True)
    (tmp_path / "old" / "rffbench" / "__init__.py").touch()
    cluster.worker(PYTHONPATH=str(tmp_path / "old"))
    with pytest.raises(ConfigError, match=r"executor dask: tcp://.* cannot run rffbench trials: .*rffbench"):
        run(cluster, [spec()], tmp_path / "results")


def test_other_versions_on_a_worker_are_refused_before_anything_runs(pair, tmp_path, monkeypatch):
    monkeypatch.setattr(
        dask_cluster, "own_software", lambda: {**dask_cluster.software(), "numpy": "0.1", "distributed": "0"}
    )
    with pytest.raises(ConfigError, match=r"the software on .* differs: .*numpy .* \(here 0.1\)"):
        run(pair, [spec()], tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_ctrl_c_ends_what_was_started_on_the_workers(pair, tmp_path):
    one = spec(features={"name": "fourier", "do": "start_child", "path": str(tmp_path / "child")})

    def interrupt():
        wait_for(lambda: content(tmp_path / "child"), 120)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run(pair, [one], tmp_path / "results")
    assert gone(int((tmp_path / "child").read_text()))
    assert [each.poll() for each in pair.processes] == [None] * 3


# ---- By the command ----------------------------------------------------------------------------------------

TINY = (
    "name: tiny\ndatasets: [digits]\nn_features: [8, 16]\nmethods: {RFF: {features: fourier}, QMC: {features: qmc}}\n"
    "trials: 2\n"
)


def scores(folder):
    return {row["key"]: row["metrics"] for row in read_rows(folder / "tiny" / "trials.jsonl")}


def test_a_cluster_made_for_the_run_gives_the_local_scores_to_the_last_digit(rffbench, tmp_path):
    (tmp_path / "tiny.yaml").write_text(TINY)
    for name in ("local", "dask"):
        done = rffbench("run", "tiny.yaml", "--workers", 2, "--executor", name, "--results", name)
        assert done.returncode == 0, done.stderr
    assert len(scores(tmp_path / "local")) == 8
    assert scores(tmp_path / "local") == scores(tmp_path / "dask")
    assert done.stderr == "8 trials ok\n"  # nothing of what dask has to say


def test_a_scheduler_killed_in_mid_run_is_told_in_a_line_without_what_dask_logs(rffbench, cluster, tmp_path, cache):
    cluster.worker(RFFBENCH_CACHE=str(cache))
    (tmp_path / "tiny.yaml").write_text(TINY.replace("trials: 2", "trials: 200"))
    rows = tmp_path / "results" / "tiny" / "trials.jsonl"

    def kill():
        wait_for(lambda: content(rows), 300)
        cluster.scheduler.kill()

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    done = rffbench("run", "tiny.yaml", "--executor", f"dask://{cluster.address}", limit=300)
    killing.join()
    assert done.returncode == 1, done.stderr
    *progress, told = done.stderr.splitlines()
    assert told.startswith("error: executor dask: the connection to the scheduler is lost")
    assert all(line.startswith("tiny: ") for line in progress)


@pytest.mark.parametrize("how", ["address", "file", "config"])
def test_a_cluster_that_is_there_is_found(rffbench, pair, tmp_path, how):
    (tmp_path / "tiny.yaml").write_text(TINY)
    options = {
        "address": ["--executor", f"dask://{pair.address}"],
        "file": ["--executor", "dask", "--scheduler-file", pair.file],
        "config": [],
    }[how]
    if how == "config":
        (tmp_path / "tiny.yaml").write_text(TINY + f"executor: {{name: dask, scheduler_file: {pair.file}}}\n")
    done = rffbench("run", "tiny.yaml", *options, limit=400)
    assert done.returncode == 0, done.stderr
    assert len(scores(tmp_path / "results")) == 8


def test_a_scheduler_that_hangs_is_not_waited_for_for_ever(cluster, tmp_path):
    cluster.worker()
    with pytest.raises(EnvironmentFault, match="connection to the scheduler is lost"):
        run(
            cluster, counting(tmp_path, 6), tmp_path / "results",
            lambda done: done == 2 and cluster.scheduler.send_signal(signal.SIGSTOP), patience=2,
        )  # fmt: skip


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl to make a certificate")
def test_with_dask_s_own_configuration_the_connection_is_tls(rffbench, tmp_path, cache):
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=127.0.0.1"
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    tls = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true"}
    tls["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"] = str(tmp_path / "cert.pem")
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        for part in ("CERT", "KEY"):
            tls[f"DASK_DISTRIBUTED__COMM__TLS__{role}__{part}"] = str(tmp_path / f"{part.lower()}.pem")
    (tmp_path / "tiny.yaml").write_text(TINY)
    cluster = Cluster(tmp_path, protocol="tls", **tls)
    try:
        cluster.worker(RFFBENCH_CACHE=str(cache))
        address = f"dask://{cluster.address}"
        done = rffbench("run", "tiny.yaml", "--executor", address, **tls)
        assert done.returncode == 0, done.stderr
        refused = rffbench(
            "run", "tiny.yaml", "--executor", f"dask://{cluster.address}", "--executor-option", "timeout=1"
        )
        assert "no scheduler of dask answers at tcp://" in refused.stderr
    finally:
        cluster.close()


def test_a_cluster_made_for_the_run_listens_on_loopback_alone():
    psutil = pytest.importorskip("psutil")
    cluster = cluster_here(1)
    try:
        here = psutil.Process()
        listening = {
            connection.laddr.ip
            for process in [here, *here.children(recursive=True)]
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        }
    finally:
        cluster.close()
    assert listening == {"127.0.0.1"}
