"""Nothing is lost by faults made on purpose (scripts/torture.py), and the campaign notices what is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.execution_workers import measured, spec
from tests.helpers.faults import KINDS, Lost, same

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_nothing_is_lost_by_faults_of_any_kind():
    command = [sys.executable, "scripts/torture.py", "--minutes", "0.3", "--seed", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tally = json.loads(done.stdout)["kinds"]
    assert {kind for kind, count in tally.items() if count["tried"] or "skipped" in count} == set(KINDS)


def log(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("change", ["lost", "doubled", "other score"])
def test_a_campaign_notices_rows_that_are_lost_doubled_or_differ(change, tmp_path):
    rows = [measured(spec(trial=trial)).to_row() for trial in range(2)]
    whole = log(tmp_path / "whole.jsonl", *rows)
    same(log(tmp_path / "log.jsonl", *rows[::-1]), whole)
    other = {**rows[1], "metrics": {"accuracy": rows[1]["metrics"]["accuracy"] + 1e-9}}
    changed = {"lost": rows[:1], "doubled": [*rows, rows[1]], "other score": [rows[0], other]}[change]
    with pytest.raises(Lost):
        same(log(tmp_path / "log.jsonl", *changed), whole)
