"""The sentences of a page in Markdown, and the numbers in them that a reader must take in.

Prose is paragraphs and items of lists: no table, heading, code, comment, figure or block of HTML. A link is its words,
without its target.

A number counts: one that was measured, a size, a part of a share ("9 of 10" is two) or an end of a range ("0.7 to 1.3"
is two). So does a word from "eleven" on; "two maps" does not. These do not count, as no reader weighs them:

- a year or a date, a version ("Python 3.11"), an arXiv number, an ordinal, and a label ("Table 3", "degree 7");
- a number that belongs to a formula or a name, as letters, a power or a root say: 1/(2σ²), 16d, float32, Matérn-3/2;
- a range that inputs are scaled to, "[0, 1]", and the level in the name "95 % interval";
- on a page of evidence, an interval in parentheses: "1.4 % (0.7 to 3.1)" is one number.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark").enable("table")
_READ = {"softbreak": "\n", "hardbreak": "\n", "code_inline": "`…`"}  # and the text


class Sentence(NamedTuple):
    line: int
    text: str


class Block(NamedTuple):
    line: int
    kind: str  # heading, paragraph, image, table or code
    text: str  # of a paragraph


def blocks(markdown: str) -> Iterator[Block]:
    """The blocks of a page in their order; a paragraph of a list or of a quotation is one of its own."""
    within: list[str] = []
    for token in _PARSER.parse(markdown):
        kind, _, way = token.type.rpartition("_")
        line = token.map[0] + 1 if token.map else 0
        if token.type == "inline" and within[-1] == "paragraph":
            said = _read(token)
            yield Block(line, "paragraph" if said.strip() else "image", said)
        elif way == "open" and kind in ("paragraph", "heading", "table"):
            if kind != "paragraph":
                yield Block(line, kind, "")
            within.append(kind)
        elif way == "close" and within and within[-1] == kind:
            within.pop()
        elif token.type in ("fence", "code_block"):
            yield Block(line, "code", "")


def _read(paragraph: Token) -> str:
    parts = paragraph.children or []
    return "".join(each.content if each.type == "text" else _READ.get(each.type, "") for each in parts)


# A full stop that ends no sentence: "Nadeau et al. (2003)", "J. Chen".
_END = re.compile(r"(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<!\b[A-Z])[.!?][\"”’)\]]*\s+")


def sentences(markdown: str) -> Iterator[Sentence]:
    """Each sentence of a page, with the line that it begins in."""
    for block in blocks(markdown):
        ends = [found.end() for found in _END.finditer(block.text)]
        for start, end in zip([0, *ends], [*ends, len(block.text)], strict=True):
            if words := " ".join(block.text[start:end].split()):
                yield Sentence(block.line + block.text[:start].count("\n"), words)


_NUMBER = r"(?:[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|\.[0-9]+)"
_MORE = r"(?:(?:, | and | or | to |–)[0-9.]+)*"  # of "Tables 1 and 2"
_LABELS = (
    "Tables?|Figures?|Sections?|Equations?|Theorem|Proposition|Lemma|Algorithm|Appendix|Chapter|EigenPro|JMLR|Review"
    "|Statistics|questions?|claims?|steps?|lines?|seeds?|format|version|orders?|degrees?|class|classes|exit status"
)
_SOFTWARE = "Python|numpy|scipy|scikit-learn|numba|pandas|PyTorch|torch|dask|CUDA|YAML|rffbench"
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_NOT_WEIGHED = re.compile(
    "|".join(
        (
            r"\b(?:arXiv|doi)[: ]\S+",
            rf"\b[0-9]{{1,2}} (?:{_MONTHS})\b",
            r"\b(?:19|20)[0-9]{2}(?:-[0-9]{2}-[0-9]{2}|[a-z])?(?![,.]?[0-9])",  # a count is written 2,000
            r"\b[0-9]+(?:\.[0-9]+){2,}",
            r"#[0-9]+",
            rf"\b(?:{_LABELS}) [A-Z]?[0-9.]+{_MORE}",
            rf"\b(?:{_SOFTWARE}) [0-9.]+{_MORE}",
            r"[\[(][−-]?[0-9.]+, [0-9.]+[\])]",
            r"(?<=[^\W0-9]|[)²]) [+−] [0-9.]+",  # of 2p + 2
            r"\b9[059] % intervals?",
        )
    ),
    re.IGNORECASE,
)
INTERVAL = re.compile(rf"\([-+−±]?{_NUMBER}(?: %)? to [-+−±]?{_NUMBER}(?: %)?\)")
_VALUE = re.compile(rf"^{_NUMBER}(?:e[-+]?[0-9]{{1,3}})?(?:[⁻⁰¹²³⁴-⁹]+|/{_NUMBER}|%|-[a-z]+)?$")
_WORD = re.compile(
    r"^(?:eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|hundreds?|thousands?|(?:m|b)illions?)(?![a-z])",
    re.IGNORECASE,
)


def numbers(sentence: str, *, evidence: bool = False) -> list[str]:
    """The numbers of a sentence that count, as they are written; ``evidence``: of a page of evidence."""
    left = _NOT_WEIGHED.sub("…", sentence)
    if evidence:
        left = INTERVAL.sub(" ", left)
    left = re.sub(rf"({_NUMBER}) (?:hundred|thousand|[mb]illion)\b", r"\1", left)  # "3 million" is one
    words = [word.rpartition("=")[2] for word in re.sub("[×±–→]", " ", left).split()]
    bare = [re.sub(r"^[^\w.√‖]+|[^\w%‖⁰¹²³⁴-⁹]+$", "", word) for word in words]
    return [word for word in bare if _VALUE.match(word) or _WORD.match(word)]


def prose_of(page: Path) -> str:
    """A page's Markdown; of a notebook, that of its cells, one below the other."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
