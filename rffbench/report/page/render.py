"""Renders the page from its template, with scripts and style inside, and a policy that lets nothing else run or
load."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from rffbench.io.text import printable

_HERE = Path(__file__).parent


def render(template: str, script: Sequence[str], *, may_ask: str = "'none'", **content: Any) -> str:
    """The HTML of a template of this folder, with the page's style and the ``script`` texts.

    All text is escaped, and misleading characters (controls, directions) are written out. The page's policy allows only
    these scripts and this style, by their hashes, and loads nothing. ``may_ask`` is the source from which scripts may
    request data.
    """
    style, scripts = own_file("page.css"), [_for_page(text) for text in script]
    policy = "; ".join([
        "default-src 'none'", f"script-src {' '.join(map(_hash, scripts))}", f"style-src {_hash(style)}",
        "img-src data:", f"connect-src {may_ask}", "base-uri 'none'", "form-action 'none'",
    ])  # fmt: skip
    safe = {"policy": policy, "style": Markup(style), "scripts": [Markup(text) for text in scripts]}
    return templates(_HERE).get_template(template).render(**safe, **content)


@functools.cache
def templates(folder: Path) -> Environment:
    """The templates of a folder, which build on document.html of this one. All text is escaped, and misleading
    characters are written out."""
    return Environment(
        loader=FileSystemLoader([folder, _HERE]), autoescape=select_autoescape(default=True), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=lambda value: printable(value) if type(value) is str else value,
    )  # fmt: skip


def own_file(name: str) -> str:
    """The text of a file of this folder."""
    return (_HERE / name).read_text(encoding="utf-8")


@functools.cache
def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def packed(data: Any) -> str:
    """Data for the page's script: deflated JSON in base64. It has a fifth of JSON's size, and needs no escaping."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _for_page(script: str) -> str:
    """A script's text for an HTML page, without sequences that would end the script element."""
    text = script.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
