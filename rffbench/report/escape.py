"""Escapes text for CSV, Markdown, LaTeX and Typst, so that none of it is read as markup or as a formula."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from rffbench.io.text import printable

# ---- CSV ---------------------------------------------------------------------------------------------------

# A number, perhaps with its deviation, perhaps followed by a cell's seconds, signs and counts.
_NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?(±\d[\d.]*)?( [(•\[][^|!]*)?")


def csv_cell(text: str) -> str:
    """The text, after an apostrophe if a spreadsheet would take it for a formula. Numbers stay as they are."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") and not _NUMBER.fullmatch(text) else text


def csv_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame for a CSV file that people open: text and the names of columns are made printable and escaped by
    `csv_cell`. (Files that rffbench reads again are not escaped.)"""
    guarded = frame.rename(columns=lambda name: csv_cell(printable(str(name))))
    for at, dtype in enumerate(guarded.dtypes):
        if not is_numeric_dtype(dtype):
            text = [csv_cell(printable(each)) if isinstance(each, str) else each for each in guarded.iloc[:, at]]
            guarded.isetitem(at, np.array(text, dtype=object))
    return guarded


# ---- Markdown ----------------------------------------------------------------------------------------------


def markdown(text: str) -> str:
    """The text with tags, entities, links and pictures escaped; bare URLs too, because GitHub makes links of them."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    text = re.sub(r"(?i)(?<=www)(?=\.)|(?<=[a-z])(?=://)", r"\\", text)
    return text.replace("](", r"]\(").replace("][", r"]\[")


def markdown_cell(text: str) -> str:
    """The text escaped for a cell of a Markdown table."""
    return markdown(text).replace("|", r"\|")


# ---- Typst -------------------------------------------------------------------------------------------------


def typst(text: str) -> str:
    """The text as a string literal of Typst's code, in which no markup is read."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# ---- LaTeX -------------------------------------------------------------------------------------------------

_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", "±": r"$\pm$",
    "•": r"$\bullet$", "–": "--", "—": "---", "†": r"$\dagger$", "‡": r"$\ddagger$", "§": r"\S{}", "¶": r"\P{}",
    "‖": r"$\|$", "−": "$-$", "×": r"$\times$", "÷": r"$\div$", "·": r"$\cdot$", "²": "²", "°": r"$^\circ$",
    "µ": r"$\mu$", "…": r"\ldots{}", "→": r"$\to$", "←": r"$\leftarrow$", "≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$",
    "≈": r"$\approx$", "∞": r"$\infty$", "√": r"$\surd$", "∑": r"$\sum$", "∏": r"$\prod$", "∂": r"$\partial$",
    "∈": r"$\in$", "′": r"$'$", "‘": "`", "’": "'", "“": "``", "”": "''", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}",
    "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
    "ℓ": r"$\ell$", "⁄": "/", "ς": r"$\varsigma$", "ϵ": r"$\epsilon$", "ϕ": r"$\phi$",
}  # fmt: skip
_GREEK = re.compile(  # letters with a command of their name
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|phi|chi|psi|omega|"
    "Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega"
)
_LATIN_LOOKING = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEZHIKMNOPTYXo", strict=True))  # Greek letters without a command
_ACCENTS = {  # combining marks: the command in text, and over mathematics
    "\u0300": ("`", "grave"),
    "\u0301": ("'", "acute"),
    "\u0302": ("^", "hat"),
    "\u0303": ("~", "tilde"),
    "\u0304": ("=", "bar"),
    "\u0306": ("u ", "breve"),
    "\u0307": (".", "dot"),
    "\u0308": ('"', "ddot"),
    "\u030a": ("r ", "mathring"),
    "\u030b": ("H ", "ddot"),
    "\u030c": ("v ", "check"),
    "\u0327": ("c ", "underline"),
}


_MINUS = re.compile(r"(?<![\w-])-(?=\d)")  # not that of 2026-11-29, nor of 1e-3


def tex(text: str) -> str:
    """The text in LaTeX for every engine without a package: Greek letters and signs in mathematics, accents as
    commands, the hyphen before a number as a minus. A letter of another script, which LaTeX's fonts lack, becomes its
    code, ``[U+4E2D]``."""
    found: list[str] = []
    for character in _MINUS.sub("−", text):
        if character in _ACCENTS and found:
            found.append(_accented(found.pop(), character))
        else:
            found.append(_tex_character(character))
    return "".join(found)


def _tex_character(character: str) -> str:
    if (known := _TEX.get(character)) is not None:
        return known
    if character.isascii() or _is_accented_latin(character):
        return character
    if letter := _LATIN_LOOKING.get(character):
        return f"${letter}$"
    if greek := re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER ([A-Z]+)", unicodedata.name(character, "")):
        name = greek[2].lower().replace("lamda", "lambda")
        name = name if greek[1] == "SMALL" else name.capitalize()
        if _GREEK.fullmatch(name):
            return rf"$\{name}$"
    simpler = unicodedata.normalize("NFKD", character)  # an accented letter, a raised or lowered digit, a ligature
    if simpler == character:
        return f"[U+{ord(character):04X}]"
    inside = tex(simpler)
    kind = unicodedata.decomposition(character).partition(" ")[0]
    script = {"<super>": "^", "<sub>": "_"}.get(kind)
    return f"${script}{{{inside}}}$" if script else inside


def _is_accented_latin(character: str) -> bool:
    """Whether it is a letter such as é or ă, which LaTeX reads as it is (since 2018, from UTF-8)."""
    return "À" <= character <= "ſ" and unicodedata.normalize("NFD", character)[1:] in _ACCENTS


def _accented(letter: str, accent: str) -> str:
    in_text, in_mathematics = _ACCENTS[accent]
    if letter.startswith("$") and letter.endswith("$"):
        return f"$\\{in_mathematics}{{{letter[1:-1]}}}$"
    return f"\\{in_text}{{{letter}}}"
