"""Text from configs, cards, logs and other packages, made safe to print."""

import re

# Controls but the tab and the end of a line; what turns the direction of writing; halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with what a terminal would act on written out, ESC as ``\x1b``; lines and tabs stay."""
    return _UNPRINTABLE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def in_one_line(text: str) -> str:
    """The same, and lines and tabs are spaces."""
    return printable(re.sub(r"[\t\r\n]+", " ", text))
