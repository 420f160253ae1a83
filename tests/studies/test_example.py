"""The study that users may copy: it runs, its page says what its trials say, and it is short."""

import re

import jinja2
import pytest

import rffbench
from studies.example.__main__ import HERE, study


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return study(tmp_path_factory.mktemp("results"))


def test_it_takes_at_most_120_lines():
    assert sum(len(path.read_text().splitlines()) for path in HERE.iterdir() if path.is_file()) <= 120


@pytest.mark.slow
def test_the_page_has_the_mean_differences_of_the_trials(page):
    accuracy = {}
    for name in ("many", "half"):
        trials = rffbench.load(page.parent / f"example-{name}").trials
        accuracy[name] = trials.groupby("dataset")["accuracy"].mean()
    rows = re.findall(r"^\| ([a-z-]+) +\| ([+-][\d.]+)", page.read_text(), re.MULTILINE)
    assert {name: float(shown) for name, shown in rows} == (accuracy["half"] - accuracy["many"]).round(2).to_dict()
    assert (page.parent / "figures" / "half-the-columns.png").exists()


@pytest.mark.slow
def test_the_first_sentence_is_that_of_the_verdicts(page):
    verdicts = set(re.findall(r"(holds|does not hold|not enough evidence) *\|$", page.read_text(), re.MULTILINE))
    first = page.read_text().split("\n\n")[1]
    assert first.startswith("No: ") == ("does not hold" in verdicts)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [(["holds"], "Yes: "), (["not enough evidence"], "These trials cannot say"),
     (["holds", "not enough evidence"], "On x yes"), (["does not hold", "holds"], "No: on x")],
)  # fmt: skip
def test_there_is_a_sentence_for_every_outcome(verdicts, said):
    template = jinja2.Template((HERE / "page.md.jinja").read_text(), undefined=jinja2.StrictUndefined)
    table = rffbench.Table("t", ["a"], [["b"]])
    assert said in template.render(verdicts=verdicts, named=lambda verdict: "x", within="1 point", table=table)
