"""Tables in LaTeX and Typst: they fit, they lose nothing, and a real TeX sets them."""

import re
import shutil
import subprocess

import pytest

from rffbench.report.escape import typst
from rffbench.report.table import Shown, best_of, folder_table, make_table
from rffbench.report.text_table import Table, side_by_side
from rffbench.report.typeset import to_latex, to_typst
from rffbench.trials.metrics import METRICS
from tests.helpers import report_log as log
from tests.helpers.tables import grid, loaded

pytestmark = pytest.mark.usefixtures("marks")

HOSTILE = r"\input{x} & 100 % of $a_1^2 #{~}\end{table} <b> [x] ‖K−K̃‖₂ λ 中 §" + "x" * 300


def hostile():
    """Long labels, signs that mean something to TeX, cells that begin as an option would, more rows than a page has."""
    rows = [[f"{HOSTILE[:60]} {row // 7}", f"{row}d", "[1]", "*82.78±4.10 (~0.0014±0.0009) • [n=2, 1 timeout]", HOSTILE]
            for row in range(120)]  # fmt: skip
    rows += [["eeg", "1d", "", "—", "–"]] * 3
    return Table(
        HOSTILE, ["dataset", "s", "[RFF]", HOSTILE, "surrogate-RFF"], rows, [HOSTILE] * 4, best={(0, 3), (121, 4)}
    )


def plain(columns=6):
    rows = [
        [name, size, *["88.35±0.20 (0.019±0.016)"] * columns] for name in ("EEG", "a" * 30) for size in ("1d", "2d")
    ]
    return Table("Small", ["dataset", "s", *(f"method {n}" for n in range(columns))], rows)


def test_blocks_are_as_few_and_as_equal_as_the_width_allows_and_leave_out_nothing():
    assert side_by_side([10, 5, 20, 20, 20], 2, 79, 1) == [[0, 1, 2, 3, 4]]
    assert side_by_side([10, 5, 20, 20, 20], 2, 78, 1) == [[0, 1, 2, 3], [0, 1, 4]]
    assert side_by_side([10, 5, 20, 20, 20, 20], 2, 78, 1) == [[0, 1, 2, 3], [0, 1, 4, 5]]
    assert side_by_side([10, 5, 90, 20], 2, 40, 1) == [[0, 1, 2], [0, 1, 3]]
    assert side_by_side([10, 5], 2, 3, 1) == [[0, 1]]


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("setting", [to_latex, to_typst])
def test_every_cell_is_set_once_and_the_best_in_bold(columns, setting):
    table = plain()
    table.rows = [
        [*row[:2], *(f"{number + 10 * index}.25" for number in range(6))] for index, row in enumerate(table.rows)
    ]
    table.best = {(0, 3), (3, 7)}
    text = setting(table, columns)
    for row in table.rows:
        for cell in row[2:]:
            assert len(re.findall(rf"(?<![\d.]){cell}", text)) == 1
    bold = re.findall(r'\\textbf\{([\d.]+)\}|strong\("([\d.]+)"\)', text)
    assert ["".join(each) for each in bold] == ["1.25", "35.25"]


def test_caption_and_label_are_the_callers_and_escaped():
    for setting, caption in ((to_latex, r"\caption{100 \% of R\&D}"), (to_typst, 'caption: "100 % of R&D",')):
        text = setting(plain(), 1, "100 % of R&D", "tab:mine")
        assert caption in text
        assert text.count("tab:mine") == 1
    assert typst('"#a\\') == '"\\"#a\\\\"'


def test_a_table_longer_than_a_page_is_several_with_all_rows_and_one_label():
    text = to_latex(hostile(), 2, label="tab:long")
    assert text.count(r"\begin{table*}") == text.count("(continued)") + 1 > 3
    assert text.count(r"\label") == 1
    shown = [text.count(f"\n{row}d &") for row in range(2, 120)]
    assert set(shown) == {shown[0]} != {0}  # once in every block


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex")
@pytest.mark.parametrize("document", ["twocolumn", "onecolumn", "twocolumn,a4paper,11pt", "12pt"])
def test_tex_sets_what_is_written_within_the_columns_and_pages_there_are(tmp_path, document):
    body = [to_latex(table, columns) for table in (plain(2), plain(), plain(90), hostile()) for columns in (1, 2)]
    lines = [rf"\documentclass[{document}]{{article}}", r"\usepackage{booktabs,graphicx}", r"\begin{document}",
             r"\clearpage".join(body), r"\end{document}"]  # fmt: skip
    (tmp_path / "paper.tex").write_text("\n".join(lines), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300)
    log_of_it = (tmp_path / "paper.log").read_text(errors="replace")
    assert done.returncode == 0, log_of_it[-3000:]
    beyond = [float(points) for points in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", log_of_it)]
    assert [points for points in beyond if points > 1] == []
    assert "Float too large" not in log_of_it
    assert "undefined" not in log_of_it


def test_a_table_shows_the_metric_asked_for_and_its_best(tmp_path):
    results = loaded(tmp_path, grid())
    time = make_table(results, Shown("time", best=True))
    methods = [time.header.index(method) for method in log.METHODS]
    assert [time.rows[0][column] for column in methods] == ["0.51±0.01"] * 4
    assert time.best == {(0, column) for column in methods}  # all as good, to what is shown
    score, best = make_table(results, Shown(seconds=False, best=True)), time.header.index("surrogate-RFF")
    assert score.records()[0]["surrogate-RFF"] == "75.83±1.04 •"
    assert score.best == {(0, best)}
    assert "**75.83±1.04** •" in score.to_markdown()
    assert make_table(results, Shown("memory")).records()[0]["RFF"] == "1.00 GB"
    assert make_table(results, Shown("kernel_error", best=True)).records()[0]["RFF"].startswith("0.100±0.000 (")
    assert folder_table(
        [({"σ": "sigma=1"}, results), ({"σ": "sigma=2"}, results)], Shown(written=True, best=True)
    ).best == {
        (0, best),
        (1, best),
    }


def test_times_that_cannot_be_compared_have_no_best(tmp_path):
    rows = grid()
    rows[0]["timing"]["contended"] = True
    results = loaded(tmp_path, rows)
    assert make_table(results, Shown("time", best=True)).best == set()
    assert best_of({0: 1.0, 1: float("nan")}, METRICS["feature_s"]) == []
    assert best_of({0: 1.0, 1: 2.0, 2: 1.0}, METRICS["feature_s"]) == [0, 2]
    assert best_of({0: 1.0}, METRICS["accuracy"]) == []
    assert best_of({0: 1.0, 1: 2.0}, METRICS["lambda"]) == []  # neither is better


# ---- On a terminal -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [plain(2), plain(6), plain(20), hostile()])
@pytest.mark.parametrize("width", [80, 120])
def test_a_terminals_table_is_no_wider_than_the_terminal_and_leaves_out_nothing(table, width):
    text = table.to_text(width)
    assert max(map(len, text.splitlines())) <= width
    letters = re.sub(r"\s", "", text)
    for row in table.rows:
        for cell in row:
            assert len(cell) > 40 or re.sub(r"\s", "", cell) in letters


def test_a_table_that_fits_does_not_turn(tmp_path):
    table = make_table(loaded(tmp_path, grid()), Shown(seconds=False))
    assert table.to_text(80) == table.to_text()
