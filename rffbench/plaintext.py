"""Text from configs, cards, logs and other packages, made safe to print."""

import re
import unicodedata

# Controls but the tab and the end of a line; what turns the direction of writing; halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with what a terminal would act on written out, ESC as ``\x1b``; lines and tabs stay."""
    return _UNPRINTABLE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def in_one_line(text: str) -> str:
    """The same, and lines and tabs are spaces."""
    return printable(re.sub(r"[\t\r\n]+", " ", text))


_SPELT = {"±": "+-", "•": "*", "–": "-", "—": "-", "−": "-", "─": "-", "█": "#", "×": "x", "‖": "||", "→": "->",
          "≤": "<=", "≥": ">=", "≈": "~", "√": "sqrt", "†": "+", "‡": "++", "·": "."}  # fmt: skip


def spelt_out(error: UnicodeError) -> tuple[str, int]:
    """An error handler of codecs: characters that an encoding lacks as letters that stand for them, ``sigma``, ``<=``,
    or a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_spelt, error.object[error.start : error.end])), error.end


def _spelt(character: str) -> str:
    if known := _SPELT.get(character):
        return known
    if greek := re.fullmatch(r"GREEK (?:SMALL|CAPITAL) LETTER ([A-Z]+)", unicodedata.name(character, "")):
        return greek[1].lower().replace("lamda", "lambda")
    parts = unicodedata.normalize("NFKD", character)
    plain = parts.encode("ascii", "ignore").decode()
    return plain or ("" if all(map(unicodedata.combining, parts)) else "?")
