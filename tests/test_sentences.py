"""Every page begins with what a reader should take away, and no sentence of a page has more than two numbers."""

from pathlib import Path

import pytest

from rffbench.report.board.own_tables import first_tables
from rffbench.report.frame import load_results
from rffbench.report.table import make_table
from tests.helpers.places import results_of
from tests.helpers.sentences import INTERVAL, blocks, numbers, prose_of, sentences

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted(page for kind in ("md", "ipynb") for page in (ROOT / "docs").rglob(f"*.{kind}"))]
PAGES = {page.relative_to(ROOT).as_posix(): page for page in PAGES if "_build" not in page.parts}
EVIDENCE = (
    "docs/board/", "docs/reproduction/", "docs/reproduction.md", "docs/performance.md", "docs/reliability.md",
    "docs/landmarks.md", "docs/gp.md",
)  # fmt: skip
# Registered before a run: these sentences must not change.
REGISTERED = {
    "docs/board/questions.md": "the first edition of the board",
    "docs/board/questions-2.md": "the second edition",
    "docs/board/learners.md": "studies that have not run yet",
    "docs/board/deviations.md": "what differs from the registered plan, as it was said when it was seen",
}
# Of these pages all between two lines was registered: how they begin.
REGISTERED_PART = {
    "docs/board/columns.md": ("This page says how", "## What came out"),
    "docs/gp.md": ("What was registered", "The hash of the grid"),
}
ONLY_INCLUDES = ("docs/index.md", "docs/changelog.md", "docs/contributing.md")  # of another file
ADVICE = [name for name in PAGES if name in ("README.md", "docs/questions.md") or name.startswith("docs/questions/")]
MOST_NUMBERS, MOST_WORDS = 2, 40


def registered_lines(name, text):
    """The numbers of the lines of a page that must not change."""
    first, last = REGISTERED_PART.get(name, ("", ""))
    begins = [number for number, line in enumerate(text.splitlines(), 1) if first and line.startswith(first)]
    ends = [number for number, line in enumerate(text.splitlines(), 1) if last and line.startswith(last)]
    return range(begins[0], ends[0]) if first else range(0)


@pytest.mark.parametrize("name", [name for name in PAGES if name not in REGISTERED])
def test_no_sentence_has_more_than_two_numbers(name):
    text = prose_of(PAGES[name])
    exempt = registered_lines(name, text)
    crowded = []
    for line, sentence in sentences(text):
        found = numbers(sentence, evidence=name.startswith(EVIDENCE))
        if len(found) > MOST_NUMBERS and line not in exempt:
            crowded.append(f"{name}:{line}: {', '.join(found)}: {sentence}")
    assert crowded == []


@pytest.mark.parametrize("name", [name for name in PAGES if name not in {*REGISTERED, *ONLY_INCLUDES}])
def test_a_page_begins_with_words_to_take_away(name):
    """Not with a table, code or what the page is about; in at most 40 words."""
    first = [block for block in blocks(prose_of(PAGES[name])) if block.kind != "image"][:2]
    assert [block.kind for block in first] == ["heading", "paragraph"]
    said = first[1].text
    assert len(said.split()) <= MOST_WORDS, said
    assert len(numbers(said)) <= MOST_NUMBERS, said
    assert not said.startswith(("This page", "This section", "Written by")), said
    assert said.rstrip()[-1] in ".:", said


@pytest.mark.parametrize("experiment", ["table3", "regression", "letter", "wu2016-cv", "scaling"])
def test_no_sentence_below_a_table_has_more_than_two_numbers(experiment):
    said = [text for note in make_table(load_results(results_of(experiment))).notes for _, text in sentences(note)]
    assert said
    assert [text for text in said if len(numbers(text)) > MOST_NUMBERS] == []


def test_no_sentence_below_the_shipped_tables_of_the_board_has_more_than_two_numbers():
    said = [text for table in first_tables() for note in table.notes for _, text in sentences(note)]
    assert said
    assert [text for text in said if len(numbers(text, evidence=True)) > MOST_NUMBERS] == []


@pytest.mark.parametrize("name", ADVICE)
def test_advice_has_no_interval(name):
    assert [text for _, text in sentences(prose_of(PAGES[name])) if INTERVAL.search(text)] == []


# ---- How numbers are counted -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("It gains 1.4 % at 512 columns, and 0.6 at 2,048.", ["1.4", "512", "0.6", "2,048"]),
        ("9 of 10 cells agree, between 0.7 and 1.3.", ["9", "10", "0.7", "1.3"]),
        ("Their seconds are 0.7 to 1.0 times ours, or 0.7–1.0.", ["0.7", "1.0", "0.7", "1.0"]),
        ("With σ = 1, d=14 and λ of 1e-6 it takes 10⁷ rows.", ["1", "14", "1e-6", "10⁷"]),
        ("It is −0.9 (±3), +2 or ≥5, at .05.", ["0.9", "3", "2", "5", ".05"]),
        ("A 512-column map, 3.77× as fast, 200 × 16.", ["512-column", "3.77", "200", "16"]),
        ("A thousand columns, twelve maps, two sets.", ["thousand", "twelve"]),
        ("It has 3 million rows.", ["3"]),
    ],
)
def test_numbers_to_take_in_are_found(sentence, found):
    assert numbers(sentence) == found


@pytest.mark.parametrize(
    "sentence",
    [
        "Liu et al. (2020), NeurIPS 2023 and arXiv:2001.04567 say so on 29 November 2026.",
        "Python 3.11 to 3.13, numpy 2.4 and 1.17.1 of another run it.",
        "Tables 1 and 2, Algorithm 1, the kernel of degree 3, the 25th, #12.",
        "k is exp(−‖Δ‖²/2), D = 2s, 16d, 1/(2σ²), W = 2p + 2, in float32 and Matérn-3/2 with R².",
        "Inputs go to [0, 1], and labels to (−1, 1), with 95 % intervals.",
        "Two maps on three datasets, each one for itself.",
    ],
)
def test_what_no_reader_weighs_does_not_count(sentence):
    assert numbers(sentence) == []


def test_an_interval_in_parentheses_belongs_to_its_number_on_a_page_of_evidence():
    sentence = "It gains 1.4 % (0.7 to 3.1), and loses −0.6 % (−4.2 to −0.1 %) in time (3 runs)."
    assert numbers(sentence, evidence=True) == ["1.4", "0.6", "3"]
    assert len(numbers(sentence)) == 7


MARKDOWN = """\
<!-- 1 2 3 -->
# 4 titles

It has **5 parts.** See [page 6 of it](seven-7.md), and `8 + 8`
over two lines, by Yang et al. 2016. Then 9
more!

![10 figures](11.png)

- 12 items, e.g. this
- another. 13 more

| 14 | columns |
|---|---|
| 15 | cells |

    rffbench run 16

```python
17
```

<details><summary>18 processors</summary>19 GB</details>
"""


def test_sentences_are_those_of_prose_with_their_lines():
    assert list(sentences(MARKDOWN)) == [
        (4, "It has 5 parts."),
        (4, "See page 6 of it, and `…` over two lines, by Yang et al. 2016."),
        (5, "Then 9 more!"),
        (10, "12 items, e.g. this"),
        (11, "another."),
        (11, "13 more"),
    ]


def test_blocks_are_in_their_order():
    kinds = [block.kind for block in blocks(MARKDOWN)]
    assert kinds == ["heading", "paragraph", "image", "paragraph", "paragraph", "table", "code", "code"]
