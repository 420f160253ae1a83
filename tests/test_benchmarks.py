"""The benchmarks' arithmetic and report; their timings are no tests."""

import json

import pytest

from benchmarks import bench_maps, bench_structured, bench_table, bench_text, page, peers, plain_table, run
from benchmarks.measure import compare, extra_memory, result, single, threads, triad_seconds
from rffbench import data
from rffbench.errors import DataUnavailable
from rffbench.execution import environment
from rffbench.trials.single import run_trial
from rffbench.trials.spec import TrialSpec
from tests.helpers import small_trials as trials

MEASURED = {"goal": 2.0, "peer_name": "the peer", "unit": "s"}


def test_ratios_say_how_many_times_faster_or_what_multiple_of_the_peer():
    faster = result("a", [1.0, 2.0, 4.0], [5.0, 6.0, 4.0], bound="at least", **MEASURED)
    assert (faster["ratio"], faster["met"]) == (3.0, True)
    multiple = result("b", [5.0, 6.0, 4.0], [1.0, 2.0, 4.0], bound="at most", **MEASURED)
    assert (multiple["ratio"], multiple["met"]) == (3.0, False)


@pytest.mark.slow
def test_peers_take_turns_and_a_first_round_does_not_count():
    calls = []
    timed = compare(
        "a", lambda: calls.append("ours"), lambda: calls.append("peer"), goal=1.0, repeats=3, peer_name="peer"
    )
    assert calls == ["ours", "peer"] * 4
    assert len(timed["ours_s"]) == len(timed["peer_s"]) == 3


def test_threads_are_set_and_given_back():
    import numba
    from threadpoolctl import threadpool_info

    before = numba.get_num_threads()
    with threads(1):
        assert numba.get_num_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}
    assert numba.get_num_threads() == before


def grow(megabytes):
    import numpy as np

    held = np.ones(megabytes << 17)
    return lambda: held + 1


@pytest.mark.slow
def test_extra_memory_counts_what_the_work_takes_and_not_its_data():
    assert 35 << 20 < extra_memory(grow, 40) < 60 << 20


def test_a_triad_of_more_bytes_takes_longer():
    assert 0 < triad_seconds(1e6) < triad_seconds(1e9)


def test_the_page_and_its_numbers_are_written_one_benchmark_at_a_time(tmp_path, monkeypatch, capsys):
    class Module:
        def run(quick):
            return [result("what was timed", [1.0], [3.0], bound="at least", **MEASURED)]

    monkeypatch.setattr(run, "import_module", lambda name: Module)
    run.main(["ridge", "--output", str(tmp_path)])
    run.main(["features", "--quick", "--output", str(tmp_path)])
    written = (tmp_path / "performance.md").read_text()
    assert "| Feature maps | 1 | 1 | 1 |" in written
    assert "| Ridge regression with cross-validation | 1 | 1 | 1 |" in written
    assert "**2 of 2 goals are met.**" in written
    assert set(json.loads((tmp_path / "performance.json").read_text())) == {"features", "ridge"}
    assert "| what was timed | the peer | 1 s | 3 s | **3.00** | ≥ 2 | yes |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run.main(["rigde"])


def paged(name, *results):
    return page.page({name: {"environment": environment.record(), "results": [*results]}})


def test_a_map_that_misses_a_goal_has_the_reason_on_the_page():
    assert set(bench_maps.MISSES) <= {case.name for case in bench_maps.CASES}
    figures = [
        single(f"{name}, timed", [1.0], ratio, goal=2.0, peer="–", unit="s", map=name)
        for name, ratio in (("srht", 2.5), ("sorf", 2.25), ("compact", 1.5))
    ]
    assert bench_maps.MISSES["srht"] == bench_maps.MISSES["sorf"]
    written = paged("maps", *figures)
    assert f"| `srht` 2.5, `sorf` 2.2 | ≤ 2 | {bench_maps.MISSES['srht']} |\n" in written
    assert "| `compact` | 1.5 | – |" in written
    parts = [
        single("srht: its parts", [1.0], ratio, goal=1.3, peer="–", unit="s", map="srht", parts=True)
        for ratio in (1.1, 1.25)
    ]
    written = paged("maps", *figures, *parts)
    assert "they take 1.1 to 1.2 times the sum. |\n" in written
    assert "| `srht` | 2.5 | – |" in written  # its bound alone
    moving = [row | {"traffic": share} for row, share in zip(parts, (0.03, 0.12), strict=True)]
    written = paged("maps", *figures, *moving)
    assert "at the speed of a STREAM triad would take 3 to 12 % of the time. |\n" in written
    assert "its parts: 1.40" in paged("maps", *figures, {**parts[0], "ratio": 1.4, "met": False})


def job(ratios, name="mapping CSR", bound="at least", goal=2.0):
    ours = [1.0] * len(ratios)
    peer = ratios if bound == "at least" else [1 / ratio for ratio in ratios]
    return result(name, ours, peer, bound=bound, **(MEASURED | {"goal": goal}))


def test_a_job_is_a_line_of_the_page_and_a_bar_also_where_its_goal_is_said_the_other_way_round(tmp_path):
    slow, kernel = job([0.5, 0.25, 0.5]), job([0.2, 0.25, 0.5], "squared hinge, n=30,000", "at most", 0.5)
    measured = {
        "text": {"environment": environment.record(), "results": [slow]},
        "svm": {"environment": environment.record(), "results": [kernel]},
    }
    found = page.jobs(measured)
    assert [(row["job"], row["ratio"], row["goal"]) for row in found] == [
        ("kernel SVM", 4.0, 2.0), ("Fourier features of sparse rows", 0.5, 2.0),
    ]  # fmt: skip
    written = page.page(measured)
    assert "**Of 2 jobs 1 take less time here" in written
    assert "| kernel SVM | the peer | 1 s | 4 s | **4.00** (2.00–5.00) | ≥ 2 | yes |" in written
    page.figure(measured, tmp_path / "bars.png")
    assert (tmp_path / "bars.png").stat().st_size > 5_000


def test_what_the_last_release_did_faster_by_more_than_the_noise_is_named():
    before = [job([4.0, 5.0, 6.0], "a"), job([4.0, 5.0, 6.0], "b"), job([0.4, 0.5], "c", "at most"), job([9.0], "d")]
    now = [job([3.0, 3.5, 3.9], "a"), job([3.0, 3.5, 4.1], "b"), job([0.6, 0.7], "c", "at most"), job([1.0], "d")]
    assert page.slower(now, before) == ["a: 3.50, and 5.00 before", "c: 0.65, and 0.45 before"]
    assert page.slower(before, now) == []


def test_numbers_are_written_a_comparison_a_line_and_read_back_to_five_digits():
    measured = {"text": {"environment": environment.record(), "seconds": 1.25, "results": [job([1 / 3, 2.0])] * 3}}
    text = run.written(measured)
    back = json.loads(text)
    assert text.count("\n{") == 3
    assert back["text"]["results"][0]["ratios"] == [0.33333, 2.0]
    assert back["text"]["environment"] == json.loads(json.dumps(measured["text"]["environment"]))


def test_what_could_not_be_compared_is_said_to_be():
    shown = single("no comparison (not installed)", [], float("nan"), goal=None, peer="a package", unit="s")
    assert "| no comparison (not installed) | a package | – | – | – | – | – |" in page.listing("structured", [shown])


def test_a_figure_without_a_goal_is_neither_met_nor_missed():
    shown = single("what", [1.0, 2.0], 2.0, goal=None, peer="–", unit="MB")
    assert shown["met"] is None
    assert single("what", [1.0], 1.2, goal=1.1, peer="–", unit="MB")["met"] is False
    assert "**0 of 0 goals are met.**" in paged("scale", shown)
    assert "| what | – | 1 → 2 MB | – | **2.00** | – | – |" in page.listing("scale", [shown])


def test_a_map_is_ahead_from_the_dimension_after_the_last_where_it_is_behind():
    assert bench_structured.crossing({16: 0.5, 32: 1.2, 64: 0.9, 128: 1.1, 256: 4.0}) == 128
    assert bench_structured.crossing({16: 2.0, 32: 3.0}) == 16
    assert bench_structured.crossing({16: 2.0, 32: 0.9}) == float("inf")


@pytest.mark.parametrize("method", ["fourier", "qmc", "leverage", "surrogate-leverage"])
def test_the_plain_table_script_does_the_same_trial(method, tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))
    data.ensure("breast-cancer")
    spec = TrialSpec(
        "breast-cancer", "", method, 40, 1, 0, {"name": method},
        {"name": "ridge", "lambda": [1e-4, 1e-3, 1e-2], "folds": 5, "lambda_scale": "n", "center": True},
        {"name": "gaussian", "gamma": 0.3}, ["minmax"], "all", kernel_error_points=0,
    )  # fmt: skip
    ours = run_trial(spec).metrics["accuracy"]
    for fused in (False, True):
        key, accuracy = plain_table.one_trial(spec, fused)
        assert key == spec.key
        assert 100 * accuracy == pytest.approx(ours, abs=0.4)  # one of 284 test rows


def test_the_way_that_shares_nothing_gives_every_trial_its_result(embedded):
    heard = trials.Heard()
    asked = [trials.spec("RFF", n_features=4), trials.spec("Ours", n_features=4)]
    bench_table.one_by_one(asked, heard)
    assert [heard.results[spec.key].status for spec in asked] == ["ok", "ok"]


def test_benchmarks_without_their_data_are_named_and_end_in_no_traceback(monkeypatch, capsys):
    def without_data(quick: bool) -> None:
        raise DataUnavailable("eeg: no source has it")

    monkeypatch.setattr(bench_text, "run", without_data)
    with pytest.raises(SystemExit) as ended:
        run.main(["text", "--quick"])
    assert ended.value.code == 1
    assert "text: not measured: eeg: no source has it" in capsys.readouterr().err


@pytest.mark.slow
def test_a_peer_that_is_not_installed_leaves_a_row_that_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "FOLDER", peers.HERE.parent / "build" / "nothing-here")
    case = bench_maps.Case("fourier", peers={"rfflearn": 1.0}, inputs=4, columns=8)
    bound, missing = bench_maps.measured(case, 64, "float64", 1, 1)
    assert bound["peer"] == "bound: the product X·W"
    assert (
        "no comparison (no build/nothing-here/rfflearn/bin/python; python -m benchmarks.peers makes it"
        in missing["name"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", bench_maps.CASES, ids=str)
def test_every_map_has_a_bound_that_runs(case):
    from dataclasses import replace

    results = list(bench_maps.measured(replace(case, peers={}, columns=32, inputs=8), 64, "float64", 1, 1))
    assert all(each["ratio"] > 0 for each in results)


def test_every_built_in_map_is_measured_against_its_bound():
    from rffbench.features import FEATURES

    assert {case.name for case in bench_maps.CASES} == FEATURES.keys()


@pytest.mark.slow
def test_the_messages_of_a_pass_are_counted_apart_from_those_of_the_first():
    """On two workers the tasks of a pass are its vectors, a sum for each worker, and the sum of these."""
    pytest.importorskip("distributed", reason="needs the extra dask")
    from benchmarks import messages

    columns, problems = 512, 6
    found = messages.measured(2, 30_000, columns, 1)
    a_pass = found[found["per"] == "pass"].set_index("link")
    assert a_pass["messages"]["tasks"] == 4
    vectors = 8 * columns * problems
    assert vectors <= a_pass["bytes"]["results to client"] < 1.2 * vectors + 200
    first = found[found["per"] == "first pass"].set_index("link")
    assert first["bytes"]["client to scheduler"] > 8 * 30_000


def test_without_a_gpu_a_line_says_so(monkeypatch):
    from benchmarks import bench_gpu

    monkeypatch.setattr(bench_gpu, "missing", lambda: "PyTorch finds none")
    found = list(bench_gpu.run())
    assert "| no GPU (PyTorch finds none) | a product of large matrices |" in page.listing("gpu", found)
    assert "| On a GPU | 1 | 0 | 0 |" in page.page({"gpu": {"environment": environment.record(), "results": found}})


def test_a_device_s_shares_count_the_operations_of_both_sides():
    pytest.importorskip("torch", reason="needs PyTorch")
    from benchmarks import bench_gpu

    found = list(bench_gpu.shares("cpu", 1_024, 32, 128, 256))
    assert [row["name"].partition(": ")[2] for row in found] == [
        "features, float64", "Gram matrix, float64", "features, float32",
    ]  # fmt: skip
    assert all(0 < row["ratio"] < 5 for row in found)


@pytest.mark.long
@pytest.mark.parametrize("name", run.names())
def test_every_benchmark_runs(name, tmp_path):
    """At small sizes, with the data that it needs: `make bench` takes an hour, and ends with the first that fails."""
    run.main([name, "--quick", "--output", str(tmp_path)])
    assert json.loads((tmp_path / "performance.json").read_text())[name]["results"]
