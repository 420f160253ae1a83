"""Text of labels stays text in every file, and on a terminal."""

import csv
import io
import sys
import unicodedata

import pandas as pd
import pytest

from rffbench.io.text import in_one_line, printable
from rffbench.report.escape import csv_cell, csv_frame, markdown_cell, tex
from rffbench.report.text_table import Table
from rffbench.report.typeset import to_latex, to_typst


@pytest.mark.parametrize("formula", ["=1+1", "+A1", "-A1", "@SUM(A1)", "-1+cmd|' /C calc'!A0", "-2 | x", "--"])
def test_a_spreadsheet_takes_no_label_for_a_formula(formula):
    assert csv_cell(formula) == f"'{formula}"


@pytest.mark.parametrize(
    "number", ["-1.5", "+0.12", "1e-3", "-0.25±0.10 (0.51±0.01) •", "-1.00 [n=2, 1 timeout]", "– x"]
)
def test_numbers_stay_numbers(number):
    assert csv_cell(number) == number


def test_no_text_of_a_frame_and_no_column_s_name_is_a_formula_in_its_file():
    frame = pd.DataFrame(
        {
            "method": ["=A1", "R\x1bF"],
            "mean": [-1.5, 2.0],
            "p": pd.array([1, None], dtype="Int64"),
            "@x": [None, "-1.5"],
        },
        index=[3, 3],
    )
    assert csv_frame(frame).to_csv(index=False) == "method,mean,p,'@x\n'=A1,-1.5,1,\nR\\x1bF,2.0,,-1.5\n"
    assert frame.columns[-1] == "@x"


def test_markdown_has_no_tag_entity_link_or_cell_of_a_label():
    assert markdown_cell("<b>a</b> &lt; b|c") == r"&lt;b>a&lt;/b> &amp;lt; b\|c"
    assert markdown_cell("[a](b) ![c](d) [e][f]") == r"[a]\(b) ![c]\(d) [e]\[f]"
    assert markdown_cell("<http://b> HTTPS://c/d www.e.f") == r"&lt;http\://b> HTTPS\://c/d www\.e.f"
    plain = "p < 0.05 & 3 <4, 69.50±0.71 (~13.3±0.1) [n=2, 1 out-of-memory], R&D (a) [b]"
    assert markdown_cell(plain) == plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("λ, σ, γ, ς, Σ, Ω", r"$\lambda$, $\sigma$, $\gamma$, $\varsigma$, $\Sigma$, $\Omega$"),
        ("Α Χ ο", "$A$ $X$ $o$"),
        ("ά é ă Łódź ő ç ế", r"$\acute{\alpha}$ é ă \L{}ódź ő ç \'{\^{e}}"),
        ("K̃ x₂ z³ ½ ﬁ ‖", r"\~{K} x$_{2}$ z$^{3}$ 1/2 fi $\|$"),
        ("中 Ж 😀", "[U+4E2D] [U+0416] [U+1F600]"),
        ("m² a_b", r"m² a\_b"),
        ("s < 16 | λ>1", r"s $<$ 16 $|$ $\lambda$$>$1"),
    ],
)
def test_latex_sets_every_letter_or_has_its_code(text, expected):
    assert tex(text) == expected


def test_every_character_there_is_comes_to_latex_as_what_it_can_set():
    for code in range(0xA0, sys.maxunicode + 1):
        if unicodedata.category(character := chr(code)) not in ("Cs", "Cn", "Co"):
            assert all(each.isascii() or "À" <= each <= "ſ" or each == "²" for each in tex(character)), hex(code)


def test_no_table_holds_what_a_terminal_acts_on():
    bad = "\x1b[31mred\x9b\u202e\ud800\r\nnext\ttab"
    table = Table(bad, ["dataset", "s", bad], [[bad, "1d", "90.0"]], [bad])
    for text in (table.to_text(), table.to_markdown(), to_latex(table), to_typst(table), table.to_csv()):
        text.encode()
        assert not set(text) & set("\x1b\x9b\u202e\r\t")
    assert next(csv.reader(io.StringIO(table.to_csv())))[2] == r"\x1b[31mred\x9b\u202e\ud800 next tab"
    assert printable("a\tb\nc\x07") == "a\tb\nc\\x07"
    assert in_one_line("a\tb\nc") == "a b c"
