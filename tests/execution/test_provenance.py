"""A resume takes no rows for its own that other code made: they are told, kept aside and measured anew."""

import json
import lzma

import pytest

from rffbench import RandomFourierFeatures
from rffbench.config.loading import load_experiment
from rffbench.execution.log import ASIDE, read_rows
from rffbench.execution.provenance import OtherCode, made_by
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from rffbench.features import MAPS
from rffbench.solvers import SOLVERS
from tests.helpers import plug_ins
from tests.helpers.own_file import MINE, write


@pytest.fixture
def run(tmp_path, embedded, one_thread):
    """Run the config into a folder; how many trials were done, and what was told."""

    def do(config, **options):
        said = []
        options |= {"executor": SerialExecutor(), "tell": said.append}
        summary = run_experiment(load_experiment(config), tmp_path / "out", **options)
        assert summary.ok == summary.total
        return summary.run, said

    return do


def rows(tmp_path, name="trials.jsonl"):
    return [json.loads(line) for line in (tmp_path / "out" / name).read_text().splitlines()]


def rewrite(tmp_path, change):
    """The log with every row changed."""
    lines = [json.dumps(change(row)) + "\n" for row in rows(tmp_path)]
    (tmp_path / "out/trials.jsonl").write_text("".join(lines))


def test_a_row_says_what_made_it_and_the_same_code_takes_it_as_done(tmp_path, run):
    config = write(tmp_path)
    assert run(config) == (2, [])
    mine, builtin = sorted(rows(tmp_path), key=lambda row: row["method"])
    assert builtin["made_by"] == {"features": 1, "solver": 1}
    assert mine["made_by"] == {"features": mine["source"], "solver": 1}
    assert run(config) == (0, [])


def test_a_changed_data_file_is_measured_anew_and_the_old_rows_are_kept_aside(tmp_path, run):
    data = tmp_path / "points.csv"
    data.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(40)))
    config = write(tmp_path, datasets=["./points.csv"])
    assert run(config) == (2, [])
    data.write_text(data.read_text().replace("0,0,0", "9,0,0"))
    count, said = run(config)
    assert (count, len(said)) == (2, 1)
    assert said[0].startswith("2 rows were made of other data: points has changed; they are kept in")
    assert len(rows(tmp_path, ASIDE)) == 2
    assert run(config) == (0, [])


def test_an_edited_map_is_measured_anew_and_its_old_rows_are_kept_aside(tmp_path, run):
    run(write(tmp_path))
    config = write(tmp_path, MINE.replace("np.cos", "np.sin"))
    count, said = run(config, only=["method=RFF"])
    assert (count, len(said)) == (0, 1)
    assert said[0].startswith("1 row was made by other code: ./mine.py:MyFeatures has been edited; they are kept in")
    assert [row["method"] for row in rows(tmp_path)] == ["RFF"]  # a table would mix old and new
    assert [row["method"] for row in rows(tmp_path, ASIDE)] == ["Mine"]
    assert run(config) == (1, [])
    assert run(config) == (0, [])


def test_another_version_of_a_built_in_map_is_measured_anew(tmp_path, run, monkeypatch):
    config = write(tmp_path)
    run(config)
    monkeypatch.setattr(RandomFourierFeatures, "version", 2, raising=False)
    count, (said,) = run(config)
    assert count == 1
    assert said.startswith("1 row was made by other code: fourier was 1 and is 2; they are kept in")
    assert rows(tmp_path)[-1]["made_by"] == {"features": 2, "solver": 1}


def test_a_version_may_be_that_of_one_value_of_a_parameter():
    of = {rule: MAPS.made_by("nystroem", {"landmarks": rule}) for rule in ("uniform", "greedy", "rpcholesky")}
    assert of == {"uniform": 1, "greedy": 1, "rpcholesky": 2}
    assert MAPS.made_by("nystroem") == 1
    assert SOLVERS.made_by("falkon", {"landmarks": "rpcholesky"}) == 2
    assert SOLVERS.made_by("pcg", {"preconditioner": "rpcholesky"}) == 2
    assert SOLVERS.made_by("pcg", {"preconditioner": "nystroem"}) == 1


def test_rows_that_do_not_say_what_made_them_stay_valid(tmp_path, run):
    config = write(tmp_path)
    run(config)
    rewrite(tmp_path, lambda row: {key: value for key, value in row.items() if key != "made_by"})
    assert run(config) == (0, [])


def test_a_row_whose_field_was_edited_is_named_and_its_trial_measured_anew(tmp_path, run):
    config = write(tmp_path)
    run(config)
    before = rows(tmp_path)
    exchanged = {"RFF": "Mine", "Mine": "RFF"}
    rewrite(tmp_path, lambda row: {**row, "method": exchanged[row["method"]]})
    count, (said,) = run(config)
    assert count == 2
    assert said.startswith("2 rows were made under keys that are not those of their fields, so the log was edited;")
    assert [row["metrics"] for row in rows(tmp_path)] == [row["metrics"] for row in before]
    assert len(rows(tmp_path, ASIDE)) == 2
    assert run(config) == (0, [])


def test_rows_are_kept_aside_from_a_compressed_log_too(tmp_path, run):
    run(write(tmp_path))
    log = tmp_path / "out/trials.jsonl"
    (tmp_path / "out/trials.jsonl.xz").write_bytes(lzma.compress(log.read_bytes()))
    log.unlink()
    assert run(write(tmp_path, MINE + "# edited\n"))[0] == 1
    with lzma.open(tmp_path / "out/trials.jsonl.xz", "rt") as packed:
        assert [json.loads(line)["method"] for line in packed] == ["RFF"]
    assert [row["method"] for row in read_rows(log)] == ["RFF", "Mine"]
    assert [row["method"] for row in rows(tmp_path, ASIDE)] == ["Mine"]


@pytest.mark.slow
def test_a_dry_run_does_not_count_rows_of_other_code_as_done(tmp_path, rffbench):
    write(tmp_path)
    rffbench("run", "own.yaml")
    assert "2 trials, 2 already done" in rffbench("run", "own.yaml", "--dry-run").stdout
    write(tmp_path, MINE + "# edited\n")
    told = rffbench("run", "own.yaml", "--dry-run").stdout
    assert "2 trials, 1 already done" in told
    assert "1 row was made by other code: ./mine.py:MyFeatures has been edited; a run would keep" in told
    assert "1 row was made by other code" in rffbench("run", "own.yaml").stderr


def test_a_plug_in_is_told_apart_by_its_package_and_its_source(tmp_path, monkeypatch):
    with plug_ins.installed():
        made = MAPS.made_by("plug-in")
        config = write(tmp_path, methods={"P": {"features": "plug-in"}})
        (spec,) = load_experiment(config).grid()
        assert made_by(spec)["features"] == made
        row = {"key": spec.key, **spec.to_dict(), "made_by": {"features": made.replace("1.0", "0.9"), "solver": 1}}
        assert OtherCode([spec]).reason(row).startswith("by other code: plug-in was rffbench-plug-in 0.9, source ")
    assert made.startswith("rffbench-plug-in 1.0, source ")
