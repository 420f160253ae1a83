"""Nothing is lost by faults made on purpose (scripts/torture.py), and the campaign notices what is."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.execution_workers import measured, spec
from tests.helpers.faults import Lost, same

ROOT = Path(__file__).parents[1]
of_script = importlib.util.spec_from_file_location("torture", ROOT / "scripts" / "torture.py")
torture = importlib.util.module_from_spec(of_script)
of_script.loader.exec_module(torture)


@pytest.mark.long
def test_nothing_is_lost_by_faults_of_any_kind():
    command = [sys.executable, "scripts/torture.py", "--minutes", "0.3", "--seed", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tally = json.loads(done.stdout)["kinds"]
    assert {kind for kind, count in tally.items() if count["tried"] or "skipped" in count} == set(torture.KINDS)


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


def campaign(seed, tried, lost=0, faults=None):
    counts = {"faults": faults or torture.version("torn"), "rounds": tried, "tried": tried, "lost": lost}
    losses = [{"kind": "torn", "round": 1, "faults": ["cut"], "lost": "a row is lost"}] * lost
    return {
        "commit": "c" * 40, "rffbench": "0.1.0", "python": "3.11.7", "os": "Linux",
        "processors": 2, "date": "2026-01-02", "seed": seed, "minutes": 4.0, "losses": losses,
        "kinds": {"torn": {**counts, "seconds": 9.0}},
    }  # fmt: skip


def test_campaigns_are_added_up_and_those_of_other_faults_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(torture, "TALLY", tmp_path / "reliability.json")
    monkeypatch.setattr(torture, "PAGE", tmp_path / "reliability.md")
    torture.write([campaign(1, 10)])
    torture.write([campaign(2, 5, lost=1), campaign(3, 7, faults="of long ago")])
    torture.write([campaign(1, 10)])  # the same again
    page = (tmp_path / "reliability.md").read_text()
    assert "**Of 15 faults on purpose, rffbench survived all but 1.**" in page
    assert "\n2 campaigns with the same kinds of faults ran for\n8 minutes in total." in page
    assert "| torn | 15 | 14 | 1 |" in page
    assert "| 2026-01-02 | `cccccccccc` | 2 | 4 | 5 | 1 |" in page
    assert "seed 2, torn, round 1, cut: a row is lost." in page


def test_the_page_is_that_of_its_campaigns_and_a_campaign_draws_a_seed_of_its_own():
    campaigns = json.loads(torture.TALLY.read_text())["campaigns"]
    assert torture.PAGE.read_text() == torture.page(campaigns)
    assert len({(each["commit"], each["seed"]) for each in campaigns}) == len(campaigns)
