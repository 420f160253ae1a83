"""A config's `figures` and `table` say what is drawn; no trial depends on them."""

import pytest
import yaml

from rffbench import report
from rffbench.config.experiment import Experiment
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError
from tests.helpers import report_log as log
from tests.helpers.tiny_config import TINY

CONFIG = yaml.safe_load(TINY)


def test_keys_of_trials_do_not_depend_on_figures_and_table():
    plain = Experiment.model_validate(CONFIG)
    asked = Experiment.model_validate({**CONFIG, "figures": ["scores", "cost"], "table": "models"})
    assert [spec.key for spec in plain.grid()] == [spec.key for spec in asked.grid()]
    assert [asked.to_dict()[name] for name in ("figures", "table")] == [["scores", "cost"], "models"]


def test_a_figure_without_such_a_name_is_refused_with_its_line(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump({**CONFIG, "figures": ["scores", "costs"]}))
    with pytest.raises(ConfigError, match=r"line 5: figures\.2: .*not 'costs'; did you mean 'cost'"):
        load_experiment(path)


@pytest.mark.slow
def test_what_the_config_does_not_name_is_not_drawn(tmp_path):
    rows = [log.ok(log.spec(multiple=size, trial=trial), 80.0) for size in (1, 2) for trial in range(3)]
    drawn = {}
    for figures in (["scores"], ["cost"], None):
        config = log.config(n_features=["1d", "2d"], **({"figures": figures} if figures else {}))
        folder = log.write(tmp_path / str(figures), config, rows)
        drawn[str(figures)] = {path.name for path in report.redraw(folder) if path.suffix == ".png"}
    assert (drawn["['scores']"], drawn["['cost']"]) == ({"eeg.png"}, {"eeg-cost.png"})
    assert drawn["None"] >= {"eeg.png", "eeg-cost.png"}
