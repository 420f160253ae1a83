"""Every number by which a page speaks of results is in a sentence that is computed from ``results/``."""

import difflib
import importlib
from pathlib import Path

import pytest

from tests.helpers.findings import FINDINGS, page_text, plain, unaccounted

MODULES = [
    importlib.import_module(f"tests.findings.{path.stem}")
    for path in sorted((Path(__file__).parent / "findings").glob("*.py"))
]

LONG = {f"tests.findings.{name}" for name in ("landmarks",)}  # intervals over many trials


def marked(finding):
    slow = finding.compute.__module__ in LONG
    return pytest.param(finding, marks=[pytest.mark.slow] if slow else [], id=str(finding))


@pytest.mark.parametrize("finding", [marked(finding) for finding in FINDINGS])
def test_a_page_says_what_its_results_say(finding):
    computed, text = plain(finding.compute()), page_text(finding.page)
    if computed not in text:
        sentences = text.replace(". ", ".\n").split("\n")
        nearest = difflib.get_close_matches(computed, sentences, n=1, cutoff=0)
        pytest.fail(f"{finding.page} must have:\n  {computed}\nnearest to it is:\n  {''.join(nearest)}")


@pytest.mark.slow
@pytest.mark.parametrize("module", [each for each in MODULES if hasattr(each, "PAGE")], ids=lambda module: module.PAGE)
def test_a_page_has_no_number_that_no_finding_computes(module):
    texts = [finding.compute() for finding in FINDINGS if finding.page == module.PAGE]
    found = unaccounted(module.PAGE, texts, module.DESCRIBED)
    assert not found, "\n".join([f"{module.PAGE} has numbers that no finding computes:", *found])


def test_a_number_of_a_result_that_no_finding_has_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.helpers.findings.ROOT", tmp_path)
    (tmp_path / "page.md").write_text("At 16d, λ = 0.05, **82 of\n84** cells are near (Table 3), and 71 nearer.\n")
    assert unaccounted("page.md", ["82 of 84 cells"], []) == ["At  … ,  …   …  are near ( … ), and 71 nearer."]
    assert unaccounted("page.md", ["82 of 84 cells", "71 nearer"], []) == []
