"""Pages that are written from results."""

from pathlib import Path

import pytest
import yaml

from studies import pages
from studies.board import facts

ROOT = Path(__file__).resolve().parents[2]


def source(tmp_path, monkeypatch, text):
    """A source beside the board's, with other text."""
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    path = tmp_path / "studies" / "board" / "page.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_a_page_whose_results_fit_no_sentence_is_refused(tmp_path, monkeypatch):
    path = source(
        tmp_path, monkeypatch, '{% if false %}\nyes\n{% else %}\n{{ fail("no sentence for that") }}\n{% endif %}\n'
    )
    with pytest.raises(SystemExit, match=r"page\.md: no sentence for that"):
        pages.rendered(path)


def test_a_name_that_no_study_has_is_refused(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="'gian' is undefined"):
        pages.rendered(source(tmp_path, monkeypatch, "{{ gian }}"))


def test_a_page_that_differs_is_named_and_then_written(tmp_path, monkeypatch, capsys):
    path = source(tmp_path, monkeypatch, "# A page\n")
    (tmp_path / "docs" / "board").mkdir(parents=True)
    assert (pages.main(check=True), (tmp_path / "docs" / "board" / "page.md").exists()) == (1, False)
    assert "docs/board/page.md: out of date" in capsys.readouterr().out
    assert pages.main(check=False) == 0
    assert (tmp_path / "docs" / "board" / "page.md").read_text().endswith("# A page\n")
    assert path.name in (tmp_path / "docs" / "board" / "page.md").read_text()  # says where it is changed
    assert pages.main(check=True) == 0
    (path.parent / "other.md").write_text("# Another\n")
    assert pages.main(check=True, asked=[path]) == 0
    with pytest.raises(SystemExit, match=r"none\.md is no page's source"):
        pages.main(check=True, asked=[path.with_name("none.md")])


def test_the_choice_that_the_advice_speaks_of_has_every_kernel_with_both_maps():
    config = yaml.safe_load((ROOT / "configs/board/board-kernels.yaml").read_text())
    assert {name for name in config["methods"] if "binning" not in name} == set(facts.KERNELS_AND_MAPS)


def test_a_table_in_place_is_written_between_its_marks_and_nothing_else_changes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("## RFF\n\n<!-- {{ solvers() }} -->\nold\n<!-- end -->\n\nBelow {{ nothing }}.\n")
    before, table, after = pages.with_tables(page).partition("<!-- {{ solvers() }} -->\n")
    assert (before, table) == ("## RFF\n\n", "<!-- {{ solvers() }} -->\n")
    assert after.startswith("| solver | learns on |")
    assert "| `ridge` | features |" in after
    assert after.endswith("|\n<!-- end -->\n\nBelow {{ nothing }}.\n")


def test_a_source_that_is_no_template_is_refused_with_its_line(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match=r"page\.md:2: "):
        pages.rendered(source(tmp_path, monkeypatch, "fine\n{{ 1 + }}\n"))
