"""What ``rffbench new`` writes works as it is."""

import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.config.loading import load_experiment
from rffbench.data.cards import read_card
from rffbench.data.userfile import look
from rffbench.errors import ConfigError
from rffbench.plugins.skeletons import KINDS, class_name, write_skeleton

CONFIG = """\
name: try
datasets: [./my-data.yaml]
n_features: [8]
methods: {Mine: {features: ./my-map.py:MyMap, scale: 2.0}}
solver: {lambda: 0.01}
trials: 1
kernel_error_points: 20
"""


@pytest.mark.parametrize(
    ("name", "called"), [("mine", "Mine"), ("my-map", "MyMap"), ("my_map_2", "MyMap2"), ("RFFs", "RFFs")]
)
def test_a_class_is_called_as_classes_are(name, called):
    assert class_name(name) == called


def test_a_skeleton_takes_no_file_s_place_and_no_name_that_is_a_path(tmp_path):
    for kind in KINDS:
        written = write_skeleton(kind, "mine-too", tmp_path)
        assert all(path.parent == tmp_path for path in written)
        before = [path.read_bytes() for path in written]
        with pytest.raises(ConfigError, match="is there already"):
            write_skeleton(kind, "mine-too", tmp_path)
        assert [path.read_bytes() for path in written] == before
        for path in written:
            path.unlink()
    for name in ("", "../x", "a/b", "a.py", "5", "a b"):
        with pytest.raises(ConfigError, match="must be letters, digits"):
            write_skeleton("method", name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_new_dataset_is_what_its_card_says_and_a_new_experiment_is_valid(tmp_path):
    data, card = write_skeleton("dataset", "my-data", tmp_path)
    seen = look(data)
    assert not seen.faults
    stated = read_card(card)
    assert (stated.rows, stated.columns, stated.classes) == (len(seen.content.target), 2, seen.classes)
    (config,) = write_skeleton("experiment", "first", tmp_path)
    assert load_experiment(config).name == "first"


@pytest.mark.slow
def test_all_three_pass_their_checks_and_can_be_run(tmp_path, monkeypatch, embedded, one_thread):
    monkeypatch.chdir(tmp_path)

    def done(*arguments):
        result = CliRunner().invoke(cli, arguments, standalone_mode=False)
        assert (result.return_value, result.exception) == (0, None), result.output
        return result.output

    for arguments in (["method", "my-map"], ["dataset", "my-data"], ["experiment", "first"]):
        done("new", *arguments)
    assert "FAILED" not in done("check-method", "./my-map.py:MyMap")
    done("datasets", "describe", "my-data.csv")
    (tmp_path / "try.yaml").write_text(CONFIG)
    for config, trials in (("try", 1), ("first", 18)):
        done("validate", f"{config}.yaml")
        done("run", f"{config}.yaml", "--executor", "serial")
        log = (tmp_path / "results" / config / "trials.jsonl").read_text()
        assert log.count('"status": "ok"') == trials
