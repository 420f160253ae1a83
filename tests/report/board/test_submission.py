"""A folder with one's own map: what a check draws, and what it refuses."""

import contextlib
import hashlib
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.data.cards import load_card
from rffbench.errors import ConfigError, ResultsError
from rffbench.io import yamlfile
from rffbench.report.board import submission
from rffbench.report.board.entries import Checked, read_entries, write_entry
from rffbench.report.board.entry import cost_of, own_map
from rffbench.report.board.own_tables import map_tables
from rffbench.report.board.submission import (
    Submission,
    check_table,
    checked_entry,
    differences,
    drawn,
    other_gains,
    read_submission,
    repeated,
)
from rffbench.report.frame import load_results
from rffbench.trials.spec import TrialResult
from tests.helpers import report_log as log
from tests.helpers.own_map import MINE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What `rffbench board ./mine.py:Mine --datasets phoneme,kin8nm,w8a --save` writes, with made-up scores."""
    place = tmp_path_factory.mktemp("written")
    with contextlib.chdir(place):
        return saved_entry(place, ["phoneme", "kin8nm", "w8a"])


@pytest.fixture
def folder(tmp_path, written):
    return Path(shutil.copytree(written, tmp_path / "saved"))


def saved_entry(tmp_path, datasets=(), source=MINE):
    (tmp_path / "mine.py").write_text(source)
    saved, experiment = tmp_path / "saved", own_map("./mine.py:Mine", datasets)
    ran = [made_up(tmp_path / each.name, each) for each in (experiment, cost_of(experiment))]
    results = [load_results(each) for each in ran]
    submission.save_entry(*ran, "./mine.py:Mine", map_tables(results[0], "Mine", results[1]), saved)
    return saved


def made_up(folder, experiment):
    """A folder with a row for each trial of an experiment, with equal scores."""
    folder.mkdir()
    rows = []
    for spec in experiment.grid():
        metric = (
            {"rmse": 0.1} if spec.dataset in ("kin8nm", "powerplant") else {"accuracy": 80.0, "balanced_accuracy": 79.0}
        )
        metric["own_memory_bytes"] = 1000.0 * spec.n_features
        rows.append(TrialResult(spec, "ok", metric, {"feature_s": 1.0}, 10**9, 0.05).to_row())
    (folder / "config.yaml").write_text(experiment.to_yaml(folder))
    (folder / "manifest.json").write_text('{"format": 2}')
    (folder / "trials.jsonl").write_text("".join(log.json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_tenth_is_drawn_by_the_nonce_and_some_of_it_is_of_the_map(folder):
    found = read_submission(folder)
    assert (len(found.rows), found.missing) == (24, 0)
    drawn_ = [drawn(found, nonce) for nonce in ("a", "b", "c", "d", "e")]
    assert {len(keys) for keys in drawn_} == {3}
    assert len({tuple(keys) for keys in drawn_}) > 2
    assert drawn(found, "a") == drawn_[0]
    assert all(any(found.rows[key]["method"] == "Mine" for key in keys) for keys in drawn_)


def test_without_datasets_it_is_of_the_small_board(tmp_path, monkeypatch):
    """As the README's first command writes it: the small board has a seed of its own."""
    monkeypatch.chdir(tmp_path)
    saved = saved_entry(tmp_path)
    found = read_submission(saved)
    assert (len(found.rows), found.missing) == (48, 0)
    config = saved / "config.yaml"
    config.write_text(config.read_text().replace("datasets: [phoneme, ", "datasets: [covtype, "))
    with pytest.raises(ConfigError, match=r"config.yaml: datasets: unknown dataset of the small board 'covtype'"):
        read_submission(saved)


@pytest.mark.parametrize(
    ("metric", "change", "off"),
    [
        ("accuracy", 100 * 2 / 2702, ""),  # phoneme has 2,702 test rows
        ("accuracy", 100 * 3 / 2702, "3 test rows"),
        ("balanced_accuracy", 100 * 2 / (2 * 739), ""),  # w8a has 739 test rows of the rare class
        ("balanced_accuracy", 100 * 3 / (2 * 739), "3 test rows of balanced"),
        ("balanced_accuracy", -39.0, "577 test rows of balanced"),
        ("rmse", 0.9e-7, ""),
        ("rmse", 1.1e-6, "1.1e-05"),
    ],
)
def test_two_test_rows_or_a_millionth_are_let_through_and_more_is_not(folder, metric, change, off):
    found = read_submission(folder)
    dataset = {"accuracy": "phoneme", "balanced_accuracy": "w8a", "rmse": "kin8nm"}[metric]
    row = next(row for row in found.rows.values() if row["dataset"] == dataset)
    again = {**row, "metrics": {**row["metrics"], metric: row["metrics"][metric] + change}}
    told = differences(found, [again])
    assert [each.off[: len(off)] for each in told] == ([off] if off else [])
    table = check_table(found, [again], told)
    assert bool(told) == (row["dataset"] in [cells[0] for cells in table.rows])


def test_another_status_is_a_difference(folder):
    found = read_submission(folder)
    row = next(iter(found.rows.values()))
    assert differences(found, [{**row, "status": "error", "metrics": {}}])[0].off == "error, not ok"


def test_a_folder_that_is_none_or_was_changed_is_refused(folder):
    with pytest.raises(ConfigError, match=r"card.yaml: there is no such file; .rffbench board"):
        read_submission(folder / "nowhere")
    source = (folder / "mine.py").read_text()
    (folder / "mine.py").write_text(source + "# another\n")
    again = r"or run `rffbench board ./mine.py:Mine --save .*` again"
    with pytest.raises(
        ConfigError, match=r"mine.py: its SHA-256 is .*, and card.yaml says .*: put the file back.*" + again
    ):
        read_submission(folder)
    (folder / "mine.py").write_text(source)
    card = yamlfile.read(folder / "card.yaml")
    (folder / "card.yaml").write_text(yamlfile.dump({**card, "rffbench": "0.0.9"}))
    with pytest.raises(
        ConfigError, match=r"card.yaml: made by rffbench 0.0.9, this is .*: run `rffbench board ./mine.py:M"
    ):
        read_submission(folder)
    (folder / "card.yaml").write_text(yamlfile.dump({**card, "map": "../mine.py"}))
    with pytest.raises(ConfigError, match=r"must be the name of a \.py file in this folder"):
        read_submission(folder)


def test_trials_of_another_protocol_or_map_are_refused_by_their_place(folder):
    lines = (folder / "trials.jsonl").read_text().splitlines()
    row = log.json.loads(lines[3])
    lines[3] = log.json.dumps(log.keyed({**row, "seed": row["seed"] + 1}))
    (folder / "trials.jsonl").write_text("\n".join(lines) + "\n")
    place = f"{row['dataset']} {row['method']} at {row['n_features']} columns, trial .*; run `rffbench board .* again"
    with pytest.raises(ResultsError, match=place):
        read_submission(folder)


def test_trials_that_are_left_out_are_counted(folder):
    lines = (folder / "trials.jsonl").read_text().splitlines()
    (folder / "trials.jsonl").write_text("\n".join(lines[:-3]) + "\n")
    found = read_submission(folder)
    assert isinstance(found, Submission)
    assert found.missing == 3
    assert "3 trials of its config are not in the folder." in check_table(found, [], []).notes


def test_a_row_without_the_metric_that_the_board_scores_by_is_refused_by_its_place(folder):
    lines = [log.json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    row = next(row for row in lines if row["dataset"] == "w8a")
    del row["metrics"]["balanced_accuracy"]
    (folder / "trials.jsonl").write_text("".join(log.json.dumps(each) + "\n" for each in lines))
    place = rf"trials.jsonl: w8a RFF at {row['n_features']} columns, trial 0: its metrics lack balanced_accuracy, by"
    with pytest.raises(ResultsError, match=place + r".*; run `rffbench board .* again"):
        read_submission(folder)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no such file"),
        (b"", "holds no trials: is empty"),
        (b"no trial\n", "holds no trials: no line of it is a trial"),
        (b"no trial\nand no other\n", "line 1: not JSON"),
    ],
    ids=["missing", "empty", "one line", "two lines"],
)
def test_a_log_that_cannot_be_read_is_told_as_such(folder, content, why):
    path = folder / "trials.jsonl"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ResultsError, match=rf"trials.jsonl.*{why}"):
        read_submission(folder)


def test_a_check_that_passed_is_written_and_the_site_knows_that_file_of_the_map_alone(folder, tmp_path):
    pytest.importorskip("itables", reason="needs the extra report")
    from rffbench.report.site.content import Content
    from rffbench.report.site.parts import own_parts, shipped_parts

    file = tmp_path / "entries.yaml"
    file.write_text("# Who has looked.\n{}\n")
    found = read_submission(folder)
    write_entry(file, *checked_entry(found, 4, "abc", "a letter of theirs"))
    write_entry(file, *checked_entry(found, 5, "def"))
    assert file.read_text().startswith("# Who has looked.\nMine:")
    entry = read_entries(file)["Mine"]
    assert entry.authors == "a letter of theirs"
    assert re.fullmatch(rf"5 of {len(found.rows)} trials on \d{{4}}-\d\d-\d\d, drawn by --nonce def", entry.repeated)
    (part,) = own_parts([folder])
    content = Content([part], [], read_entries(file))
    assert content.who_checked("Mine", part) == entry
    assert content.who_checked("RFF", part) == Checked()
    assert content.who_checked("Mine", replace(part, sources={"Mine": "0" * 64})) == Checked()
    (shipped, *_) = shipped_parts()  # a map of the package that has the same label is another one
    assert Content([shipped], [], {"QMC": entry}).who_checked("QMC", shipped) == Checked()


def test_options_of_a_check_need_one(folder):
    alone = CliRunner().invoke(cli, ["board", "--entries", "entries.yaml"], standalone_mode=False)
    assert "--entries goes with --check" in str(alone.exception)
    nowhere = CliRunner().invoke(cli, ["board", "--check", str(folder), "--authors", "a"], standalone_mode=False)
    assert "--authors goes with --entries FILE" in str(nowhere.exception)


def test_the_card_has_the_gains_of_the_own_map_and_a_check_recomputes_them(folder):
    card = yamlfile.read(folder / "card.yaml")
    titles = list(card["gains"])
    assert ["at equal columns" in titles[0], "seconds" in titles[1], "memory" in titles[2]] == [True] * 3
    assert {row["map"] for rows in card["gains"].values() for row in rows} == {"Mine *"}
    assert other_gains(read_submission(folder)) == []
    card["gains"][titles[0]][0]["gain, %"] = "+99.0"
    del card["gains"][titles[2]][0]
    (folder / "card.yaml").write_text(yamlfile.dump(card))
    found = read_submission(folder)
    first, *others = other_gains(found)
    assert "gain, %: +99.0" in first
    assert "on the card; the trials come to columns: 128, map: Mine *, gain, %: 0.0" in first
    assert all(titles[2] in each for each in others)
    assert f"{first}." in check_table(found, [], [], [first]).notes


# ---- What somebody else's folder may try ----------------------------------------------------------------------------


def rows_of(folder, name="trials.jsonl"):
    return [log.json.loads(line) for line in (folder / name).read_text().splitlines()]


def rewrite(folder, rows, name="trials.jsonl"):
    (folder / name).write_text("".join(log.json.dumps(row) + "\n" for row in rows))


def exchanged(field, one, other):
    def change(rows):
        return [{**row, field: {one: other, other: one}.get(row[field], row[field])} for row in rows]

    return change


def added(rows):
    return [*rows, log.keyed({**rows[0], "trial": 7})]


def doubled(rows):
    return [*rows, {**rows[0], "metrics": {**rows[0]["metrics"], "accuracy": 99.0}}]


def too_good(rows):
    return [{**row, "metrics": {**row["metrics"], "accuracy": 100.5}} for row in rows]


TAMPERED = {
    "exchanged sizes": (exchanged("n_features", 128, 512), "its key is not that of its fields"),
    "exchanged methods": (exchanged("method", "RFF", "Mine"), "its key is not that of its fields"),
    "exchanged datasets": (exchanged("dataset", "phoneme", "w8a"), "its key is not that of its fields"),
    "exchanged trials": (exchanged("trial", 0, 1), "its key is not that of its fields"),
    "another data hash": (
        lambda rows: [{**row, "data_hash": "1" * 64} for row in rows], "its key is not that of its fields"
    ),
    "another data hash, with its key": (
        lambda rows: [log.keyed({**row, "data_hash": "1" * 64}) for row in rows], "is no trial of the board"
    ),
    "another seed, with its key": (
        lambda rows: [log.keyed({**row, "seed": 5}) for row in rows], "is no trial of the board"
    ),
    "another bandwidth, with its key": (
        lambda rows: [log.keyed({**row, "kernel": {"name": "gaussian", "gamma": 1.0}}) for row in rows],
        "is no trial of the board",
    ),
    "a row more": (added, "is no trial of the board"),
    "a row twice": (doubled, "has two rows"),
    "an accuracy beyond 100 %": (too_good, "100.5 is no"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "where"), [*((kind, ".") for kind in TAMPERED), ("exchanged sizes", "seconds"), ("a row more", "seconds")]
)
def test_rows_that_were_tampered_with_are_refused(folder, kind, where):
    change, said = TAMPERED[kind]
    rewrite(folder / where, change(rows_of(folder / where)))
    with pytest.raises(ResultsError, match=said):
        read_submission(folder)


def test_a_changed_score_is_found_where_its_trial_is_repeated_and_the_check_says_which_are_not(folder):
    """Only a tenth is repeated: a score that was changed elsewhere passes this nonce, and not all of them."""
    before = read_submission(folder)
    (first, *_) = (key for key in before.rows if before.rows[key]["method"] == "Mine")
    changed = [
        {**row, "metrics": {**row["metrics"], "accuracy": 95.0}} if row["key"] == first else row
        for row in rows_of(folder)
    ]
    rewrite(folder, changed)
    found = read_submission(folder)
    caught = 0
    for nonce in map(str, range(24)):
        keys = drawn(found, nonce)
        told = differences(found, [before.rows[key] for key in keys])
        assert bool(told) == (first in keys)
        caught += bool(told)
        notes = " ".join(check_table(found, [before.rows[key] for key in keys], told).notes)
        assert f"The scores of the other {24 - len(keys)} trials are as the folder has them" in notes
        assert "Seconds and memory are as the folder has them: they are not measured again." in notes
    assert 0 < caught < 24
    assert any("at equal columns" in each for each in other_gains(found))  # its card has the gains of before


def test_one_trial_of_the_map_and_one_of_rff_is_always_repeated(folder):
    found = read_submission(folder)
    for nonce in map(str, range(20)):
        methods = [found.rows[key]["method"] for key in drawn(found, nonce)]
        assert {"RFF", "Mine"} == set(methods)
        assert methods[0] == "Mine"


def of_another_map(saved, source):
    """Make the folder one of a map with this source, which was not run."""
    (saved / "mine.py").write_text(source)
    sha = hashlib.sha256(source.encode()).hexdigest()
    card = yamlfile.read(saved / "card.yaml")
    (saved / "card.yaml").write_text(yamlfile.dump({**card, "sha256": sha}))
    for where in (saved, saved / "seconds"):
        own = [log.keyed({**row, "source": sha}) if row["method"] == "Mine" else row for row in rows_of(where)]
        rewrite(where, own)


def test_the_map_is_not_imported_by_what_judges_it(tmp_path, monkeypatch):
    """Not even by what computes the gains: it would be in the process that gives the verdict."""
    monkeypatch.chdir(tmp_path)
    saved = saved_entry(tmp_path, ["phoneme"])
    of_another_map(saved, f"open({str(tmp_path / 'imported')!r}, 'w')\nraise ValueError('imported')\n")
    found = read_submission(saved)
    assert (len(found.rows), found.missing, other_gains(found)) == (8, 0, [])
    assert not (tmp_path / "imported").exists()


def test_the_trials_are_those_that_the_map_itself_would_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    saved = saved_entry(tmp_path, ["phoneme", "kin8nm"])
    found = read_submission(saved)
    for ref in ("./mine.py:Mine", str(saved / "mine.py:Mine")):
        assert {spec.key for spec in repeated(found, ref).grid()} == found.specs.keys()


def test_cards_of_the_folder_s_config_do_not_count(folder):
    """A card could say that a dataset has so many test rows that any score is near enough."""
    config = yamlfile.read(folder / "config.yaml")
    n_test = load_card("phoneme").n_test
    config["cards"] = {"phoneme": {"name": "phoneme", "rows": 10**9}}
    (folder / "config.yaml").write_text(yamlfile.dump(config))
    other_gains(read_submission(folder))
    assert load_card("phoneme").n_test == n_test


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n_features", [128, 10**6]),
        ("n_features", [64]),
        ("n_features", []),
        ("n_features", {"phoneme": [[128]], "default": [7]}),
        ("trials", 10**9),
        ("trials", 0),
        ("trials", "all"),
        ("trials", {"default": 2, "128": 50}),
    ],
)
def test_sizes_and_trials_beyond_the_board_s_are_refused(folder, key, value):
    config = yamlfile.read(folder / "config.yaml")
    (folder / "config.yaml").write_text(yamlfile.dump({**config, key: value}))
    with pytest.raises(ConfigError, match=f"config.yaml: {key}: must be of the board's"):
        read_submission(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("map", "../mine.py"),
        ("map", "/etc/passwd"),
        ("map", "mine.txt"),
        ("map", "a/../mine.py"),
        ("map", "mine.py\nmine.py"),
        ("class", "Mine(object):\n    import os\n    os.abort()\n\n\nclass Other"),
        ("class", "Mine:"),
        ("class", "None"),
        ("class", ""),
        ("class", "a.b"),
    ],
)
def test_a_card_names_a_file_of_the_folder_and_a_class_and_nothing_else(folder, key, value):
    card = yamlfile.read(folder / "card.yaml")
    (folder / "card.yaml").write_text(yamlfile.dump({**card, key: value}))
    with pytest.raises(ConfigError, match=rf"card.yaml: {key}: must be the name of a"):
        read_submission(folder)


@pytest.mark.parametrize("name", ["mine.py", "trials.jsonl", "card.yaml", "config.yaml", "seconds/trials.jsonl"])
def test_links_are_refused(folder, tmp_path, name):
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is a link or no regular file"):
        read_submission(folder)


def test_a_link_to_a_folder_and_a_pipe_are_refused(folder, tmp_path):
    (folder / "seconds").rename(tmp_path / "elsewhere")
    (folder / "seconds").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="seconds: is a link"):
        read_submission(folder)
    (folder / "seconds").unlink()
    (folder / "trials.jsonl").unlink()
    os.mkfifo(folder / "trials.jsonl")  # a reader would wait for ever
    with pytest.raises(ConfigError, match=r"trials.jsonl: is a link or no regular file"):
        read_submission(folder)


@pytest.mark.parametrize(
    "name", ["answers.pkl", "mine.cpython-311.pyc", "seconds/weights.npy", "sitecustomize.py", "more/mine.py"]
)
def test_files_beside_the_map_s_are_refused(folder, name):
    """The map would read its answers from them."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"")
    with pytest.raises(ConfigError, match=r"`--save` writes"):
        read_submission(folder)


def test_where_no_sandbox_can_be_made_the_check_says_so_and_runs_nothing(folder, monkeypatch):
    monkeypatch.setattr("rffbench.execution.sandbox.sandbox", lambda: None)
    monkeypatch.setattr("rffbench.data.ensure", lambda name, progress: pytest.fail("data was fetched"))
    done = CliRunner().invoke(cli, ["board", "--check", str(folder)], standalone_mode=False)
    assert isinstance(done.exception, ConfigError)
    assert "no sandbox can be made here" in str(done.exception)
    assert "--without-sandbox" in str(done.exception)
    alone = CliRunner().invoke(cli, ["board", "--without-sandbox"], standalone_mode=False)
    assert "--without-sandbox goes with --check" in str(alone.exception)


DATA = {"RFFBENCH_MIRROR": os.environ.get("RFFBENCH_MIRROR", "")}
FORGED = """
import rffbench.trials.metrics, rffbench.trials.scores, rffbench.execution.row, rffbench.trials.spec


was = rffbench.trials.spec.TrialResult.to_row


def claimed(self):
    return was(self) | {"metrics": {"accuracy": 80.0, "balanced_accuracy": 79.0}}


rffbench.trials.spec.TrialResult.to_row = claimed
rffbench.execution.row.has_own_key = rffbench.trials.spec.key_of = lambda row: True
print("passed: the repeated trials have the folder's scores, and the card their gains")
"""


@pytest.mark.skipif("RFFBENCH_MIRROR" not in os.environ, reason="needs the data of phoneme: RFFBENCH_MIRROR")
def test_a_map_that_patches_the_judge_is_refused_as_one_is_that_has_other_scores(tmp_path, rffbench, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved = saved_entry(tmp_path, ["phoneme"])
    for source in (FORGED + MINE, MINE):
        of_another_map(saved, source)
        checked = rffbench("board", "--check", saved, "--nonce", "a", "--workers", "1", **DATA)
        assert checked.returncode == 1
        assert "refused: 2 of its repeated trials have another score" in checked.stdout
        assert "passed" not in checked.stdout + checked.stderr


@pytest.mark.long
@pytest.mark.skipif("RFFBENCH_MIRROR" not in os.environ, reason="needs the data of phoneme: RFFBENCH_MIRROR")
@pytest.mark.parametrize("without", [False, True])
def test_the_scores_that_a_map_has_pass(tmp_path, rffbench, without):
    (tmp_path / "mine.py").write_text(MINE)
    rffbench(
        "board",
        "./mine.py:Mine",
        "--datasets",
        "phoneme",
        "--save",
        "saved",
        "--workers",
        "1",
        "--anyway",
        limit=500,
        **DATA,
    )
    words = ["board", "--check", "saved", *(["--without-sandbox"] if without else [])]
    checked = rffbench(*words, "--entries", "entries.yaml", limit=500, **DATA)
    assert (checked.returncode, checked.stdout.splitlines()[-1][:7]) == (0, "passed:")
    assert " trials on " in read_entries(tmp_path / "entries.yaml")["Mine"].repeated
