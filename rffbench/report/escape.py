"""Text as cells of CSV, Markdown, LaTeX and Typst: whatever it says, it stays text there."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from rffbench.text import printable

# ---- CSV ---------------------------------------------------------------------------------------------------

# A number, alone or with its deviation, and behind them what our cells have: seconds, signs, counts.
_NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?(±\d[\d.]*)?( [(•\[][^|!]*)?")


def csv_cell(text: str) -> str:
    """The text, behind an apostrophe where a spreadsheet would take it for a formula; numbers stay numbers."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") and not _NUMBER.fullmatch(text) else text


def from_csv_cell(cell: str) -> str:
    """The text that `csv_cell` has put behind an apostrophe; any other as it is."""
    return cell[1:] if cell[:1] == "'" and csv_cell(cell[1:]) == cell else cell


def csv_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame for a CSV file that people open: its text, the names of columns too, printable and by `csv_cell`. A
    file that is read again by this package is written as it is."""
    guarded = frame.rename(columns=lambda name: csv_cell(printable(str(name))))
    for at, dtype in enumerate(guarded.dtypes):
        if not is_numeric_dtype(dtype):
            text = [csv_cell(printable(each)) if isinstance(each, str) else each for each in guarded.iloc[:, at]]
            guarded.isetitem(at, np.array(text, dtype=object))
    return guarded


# ---- Markdown ----------------------------------------------------------------------------------------------


def markdown(text: str) -> str:
    """The text without tags, entities, links and pictures; as it is where it has none. A URL by itself is a link too,
    where GitHub shows it."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    text = re.sub(r"(?i)(?<=www)(?=\.)|(?<=[a-z])(?=://)", r"\\", text)
    return text.replace("](", r"]\(").replace("][", r"]\[")


def markdown_cell(text: str) -> str:
    return markdown(text).replace("|", r"\|")


# ---- Typst -------------------------------------------------------------------------------------------------


def typst(text: str) -> str:
    """The text as a string of Typst's code, which no markup is read in."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# ---- LaTeX -------------------------------------------------------------------------------------------------

_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "±": r"$\pm$",
    "•": r"$\bullet$",
    "–": "--",
    "—": "---",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "§": r"\S{}",
    "¶": r"\P{}",
    "‖": r"$\|$",
    "−": "$-$",
    "×": r"$\times$",
    "÷": r"$\div$",
    "·": r"$\cdot$",
    "²": "²",
    "°": r"$^\circ$",
    "µ": r"$\mu$",
    "…": r"\ldots{}",
    "→": r"$\to$",
    "←": r"$\leftarrow$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
    "∑": r"$\sum$",
    "∏": r"$\prod$",
    "∂": r"$\partial$",
    "∈": r"$\in$",
    "′": r"$'$",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
    "ℓ": r"$\ell$",
    "⁄": "/",
    "ς": r"$\varsigma$",
    "ϵ": r"$\epsilon$",
    "ϕ": r"$\phi$",
}
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


def tex(text: str) -> str:
    """The text in LaTeX that every engine sets without a package: Greek and signs in mathematics, marks as commands;
    a letter of another script, which its fonts have not, by its code, ``[U+4E2D]``."""
    found: list[str] = []
    for character in text:
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
