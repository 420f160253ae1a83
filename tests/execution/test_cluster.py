"""What every executor on other machines keeps to, with nodes that are played."""

import json
import sys
from collections import deque
from dataclasses import replace

import pytest

from rffbench import data
from rffbench.data import cards, load_card, userfile
from rffbench.errors import ConfigError, DataError, EnvironmentFault
from rffbench.execution import make_executor, node
from rffbench.execution.cluster import ClusterExecutor, News
from rffbench.execution.failure import Failure
from rffbench.execution.log import read_rows
from rffbench.execution.node import OPTIONAL, Report, differences, ready
from rffbench.execution.run import run_experiment
from tests.helpers.execution_workers import FakeExperiment, local, measured, spec

LACKING = Failure("unavailable", "DataUnavailable", "digits: no mirror")


class PlayedCluster(ClusterExecutor):
    """Nodes that do a job as ``play(job, node)`` says, which returns its messages in order."""

    name, workers = "played", 2

    def __init__(self, experiment, play, nodes=("a", "b")):
        super().__init__(experiment)
        self.play, self.names = play, nodes
        self.sent, self.heard, self.cancelled = [], deque(), []

    def _most(self):
        return 2

    def _elsewhere(self, avoid):
        return bool(set(self.names) - set(avoid))

    def _send(self, job):
        node = next(each for each in self.names if each not in self.lacking[job.specs[0].dataset])
        self.sent.append((node, [each.trial for each in job.specs]))
        name = str(len(self.sent))
        self.heard.extend(News(name, *told) for told in self.play(job, node))
        return name

    def _news(self):
        while self.heard:
            yield self.heard.popleft()

    def _cancel(self, jobs):
        self.cancelled += jobs


def does_all(job, node):
    results = [("result", measured(each)) for each in job.specs]
    return [*results, ("end", Report(node, {"host": node}, done=True))]


def played(folder, specs, play, **nodes):
    experiment = FakeExperiment(specs)
    executor = PlayedCluster(experiment, play, **nodes)
    run_experiment(experiment, folder, executor=executor)
    return executor, {row["trial"]: row for row in read_rows(folder / "trials.jsonl")}


def group(trials, **changes):
    """Trials that share work, told apart by their sizes, and named by them."""
    return [spec(n_features=n, features={"name": "fourier", "do": "measure", "n": n}, **changes) for n in trials]


def test_a_task_is_sent_whole_and_its_trials_are_logged_one_by_one(tmp_path):
    executor, _ = played(tmp_path, [*group([1, 2, 3]), *group([1, 2], trial=1)], does_all)
    assert [trials for _, trials in executor.sent] == [[0, 0, 0], [1, 1]]
    assert len(read_rows(tmp_path / "trials.jsonl")) == 5
    assert executor.cancelled == []


def test_the_manifest_lists_the_nodes(tmp_path):
    played(tmp_path, group([1]), does_all)
    assert json.loads((tmp_path / "manifest.json").read_text())["nodes"] == [{"host": "a"}]


def test_a_lost_worker_costs_no_trial_whose_result_had_come(tmp_path):
    def first_is_lost(job, node):
        if len(executor_sent) == 0:
            executor_sent.append(1)
            return [("result", measured(job.specs[0])), ("end", "a is gone")]
        executor_sent.append(len(job.specs))
        return does_all(job, node)

    executor_sent = []
    played(tmp_path, group([1, 2, 3]), first_is_lost)
    assert executor_sent == [1, 2]  # the first one's result was there
    assert [row["status"] for row in read_rows(tmp_path / "trials.jsonl")] == ["ok"] * 3


def test_the_third_worker_lost_makes_trials_lost_and_a_plain_run_does_them_again(tmp_path):
    def kills(job, node):
        return does_all(job, node) if job.specs[0].trial else [("end", "a is gone")]

    specs = [spec(trial=trial) for trial in range(5)]
    executor, rows = played(tmp_path, specs, kills)
    assert [trials for _, trials in executor.sent].count([0]) == 3
    assert [rows[trial]["status"] for trial in range(5)] == ["lost", "ok", "ok", "ok", "ok"]
    assert rows[0]["error"]["message"] == "lost with its worker 3 times, the last time: a is gone"
    executor, rows = played(tmp_path, specs, does_all)
    assert [trials for _, trials in executor.sent] == [[0]]
    assert rows[0]["status"] == "ok"


def test_many_lost_trials_do_not_stop_a_run_as_faults_of_one_machine_do(tmp_path):
    _, rows = played(tmp_path, [spec(trial=trial) for trial in range(5)], lambda job, node: [("end", "gone")])
    assert {row["status"] for row in rows.values()} == {"lost"}


def test_a_node_that_lacks_the_data_gets_none_of_its_trials_any_more(tmp_path):
    def a_lacks_it(job, node):
        return [("end", Report("a", {"host": "a"}, lacking=LACKING))] if node == "a" else does_all(job, node)

    executor, rows = played(tmp_path, [spec(trial=trial) for trial in range(6)], a_lacks_it)
    assert {row["status"] for row in rows.values()} == {"ok"}
    assert [node for node, _ in executor.sent].count("a") == 2  # as many as were away when it said so


def test_data_that_no_node_has_makes_its_trials_unavailable(tmp_path):
    def lacks_it(job, node):
        return [("end", Report(node, {"host": node}, lacking=LACKING))]

    _, rows = played(tmp_path, [spec(trial=trial) for trial in range(3)], lacks_it)
    assert {(row["status"], row["error"]["message"]) for row in rows.values()} == {("unavailable", "digits: no mirror")}


def test_a_node_with_other_software_is_refused(tmp_path):
    def refuses(job, node):
        return [("end", Report(node, {"host": node}, refused=differences(job.software, {"numpy": "0.1"})))]

    with pytest.raises(EnvironmentFault, match=r"the software on a differs: .*numpy 0.1 \(here "):
        played(tmp_path, [spec()], refuses)
    assert read_rows(tmp_path / "trials.jsonl") == []


def test_software_differs_where_a_version_does_but_not_in_what_one_side_alone_may_have():
    here = {"numpy": "2.0", "torch": None, "commit": "abc"}
    assert differences(here, here | dict.fromkeys(OPTIONAL)) == ""
    assert (
        differences(here, here | {"commit": "def", "numpy": None}) == "numpy missing (here 2.0), commit def (here abc)"
    )


def test_an_error_of_the_client_ends_what_is_away(tmp_path):
    experiment = FakeExperiment([])
    executor = PlayedCluster(experiment, does_all)

    def full(result):
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        executor.run([[spec(trial=trial)] for trial in range(3)], full)
    assert executor.cancelled == ["1", "2"]


@pytest.mark.slow
def test_a_trial_done_beside_others_on_its_machine_is_marked_so():
    alone, beside = [], []
    local(FakeExperiment([]), workers=1).run([[spec()]], alone.append)
    local(FakeExperiment([]), workers=1, beside=1).run([[spec()]], beside.append)
    assert [each[0].seconds["contended"] for each in (alone, beside)] == [None, True]


def test_what_watches_a_task_can_end_it():
    def gone():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        local(FakeExperiment([]), workers=1, watch=gone).run([[spec("sleep_forever")]], print)


def test_a_node_whose_card_is_another_says_so_and_does_nothing():
    failure = ready("digits", data_hash="0")
    assert (failure.status, failure.message) == (
        "unavailable", "digits: its card on this node is another; give every node the same",
    )  # fmt: skip
    assert ready("digitz", data_hash=load_card("digits").content_hash).status == "unavailable"


class Here:
    """What makes data ready in this process, and not in a child, which may have been forked with another cache."""

    def prepare(self, dataset):
        try:
            data.ensure(dataset)
        except DataError as error:
            return Failure.of(error)


@pytest.fixture
def a_node(tmp_path, monkeypatch):
    """With a cache of its own, where nobody knows a user's card."""
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "of the node"))
    monkeypatch.delenv("RFFBENCH_MIRROR", raising=False)
    monkeypatch.setattr(node, "in_children", lambda ensure: Here())
    monkeypatch.setattr(node, "READY", set())


def own_card(folder):
    """The card of a user's own file, which the client has looked at."""
    lines = [f"{a / 2},{a % 7},{a % 2}" for a in range(40)]
    (folder / "theirs.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    return userfile.look(folder / "theirs.csv").card()


def test_own_data_is_found_on_a_node_by_the_card_that_comes_with_it(a_node, tmp_path):
    card = own_card(tmp_path)
    assert "unknown dataset 'theirs'" in ready("theirs", data_hash=card.content_hash).message
    assert ready("theirs", data_hash=card.content_hash, card=card.model_dump_json()) is None
    assert data.load("theirs", card.content_hash).X.shape == (40, 2)


def test_a_node_without_the_file_of_own_data_says_so(a_node, tmp_path):
    card = own_card(tmp_path)
    (tmp_path / "theirs.csv").unlink()
    failure = ready("theirs", data_hash=card.content_hash, card=card.model_dump_json())
    assert failure.status == "unavailable"
    assert "theirs: no source has a right copy of 'theirs.csv'" in failure.message
    assert "file theirs.csv: no such file" in failure.message


def test_own_data_goes_out_with_its_card_and_other_data_without(tmp_path):
    cards.add_card(own_card(tmp_path))
    experiment = FakeExperiment([spec(), spec(dataset="theirs", trial=1)])
    sent = {}

    def play(job, node):
        sent[job.specs[0].dataset] = job.card
        return does_all(job, node)

    PlayedCluster(experiment, play).run([[each] for each in experiment.grid()], [].append)
    assert sent["digits"] is None
    assert cards.Card.model_validate_json(sent["theirs"]).name == "theirs"


def test_a_trial_that_shares_out_its_own_work_is_refused():
    blocks = replace(spec(), solver={"name": "ridge", "blocks": "dask"})
    with pytest.raises(ConfigError, match="executor played: a trial with blocks: dask shares out its own work"):
        PlayedCluster(FakeExperiment([spec(), blocks]), does_all)


# ---- Options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("local", {"partition": "long"}, "executor local: unknown option 'partition'; valid: none"),
        ("local://here", {}, "executor local://here: takes no address"),
        ("dask", {"timeoot": 3}, "executor dask: unknown option 'timeoot'; did you mean 'timeout'"),
        ("dask", {"timeout": "soon"}, "executor dask: option timeout: must be such as 90s or 30m"),
        ("dask://nowhere", {}, "must be dask://HOST:PORT"),
        ("dask", {"scheduler_file": "none.json"}, "--scheduler-file none.json: cannot be read: No such file"),
        ("dask://127.0.0.1:9", {"timeout": 0.2}, "no scheduler of dask answers at tcp://127.0.0.1:9 within 0.2 s"),
        ("slurm", {"time": "2h"}, "executor slurm: there is no sbatch on this machine"),
        ("slurm", {"cluster": "loocal"}, "option cluster: must be slurm or local, not 'loocal'; did you mean 'local'?"),
        (
            "slurm",
            {"cluster": "local", "cpus": "many"},
            "executor slurm: option cpus: must be a whole number, not 'many'",
        ),
        ("slurm://node1", {}, "executor slurm: takes no address"),
    ],
)
def test_a_wrong_option_or_address_is_refused(name, options, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # no sbatch
    if name.startswith("dask"):
        pytest.importorskip("distributed", reason="needs the extra dask")
    if name.startswith("slurm"):
        pytest.importorskip("submitit", reason="needs the extra slurm")
    with pytest.raises(ConfigError) as refused:
        make_executor(name, FakeExperiment([spec()]), options=options)
    assert message in str(refused.value)


@pytest.mark.parametrize(("name", "library"), [("dask", "distributed"), ("slurm", "submitit")])
def test_without_its_library_an_executor_says_what_to_install(name, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"rffbench.execution.{name}_cluster", raising=False)
    with pytest.raises(
        ConfigError, match=rf"^executor {name}: needs the library {library}.*pip install 'rffbench\[{name}\]'"
    ):
        make_executor(name, FakeExperiment([spec()]))
