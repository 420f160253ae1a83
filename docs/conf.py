"""How the pages become a site: `make docs`. Nothing is fetched, neither here nor by a browser that shows it."""

import re
import sys
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent)]

from docutils import nodes  # noqa: E402

import rffbench  # noqa: E402

project = "rffbench"
author = "The rffbench maintainers"
release = rffbench.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"rffbench {release}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["fold.js", "fold.css"]
html_js_files, html_css_files = ["fold.js"], ["fold.css"]
myst_heading_anchors = 3
default_role = "literal"  # `name` in docstrings
autodoc_typehints = "none"
napoleon_use_rtype = False

EVIDENCE = ("board/", "reproduction/", "landmarks", "learners", "performance", "reliability")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((\.\./[^)#\s]+)\)")


def lead_outside(app, docname, source):
    """Links to the repository's files: the site has copies of them; folders are only named."""

    def led(match):
        text, target = match.groups()
        path = (DOCS / docname).parent / target
        if path.resolve().is_relative_to(DOCS):
            return match[0]
        return f"[{text}](path:{target})" if path.is_file() else f"`{text}`"

    source[0] = LINK.sub(led, source[0])


def spell_out(app, what, name, thing, options, lines):
    """Docstrings write ``name : text`` of a parameter, where numpydoc has the text below; formulas have | and *."""
    found, section, example = [], "", False
    for line, below in pairwise([*lines, ""]):
        section = line if re.fullmatch("-{3,}", below) else section
        example = line.startswith(">>>") or (example and bool(line))
        head, colon, text = line.partition(" : ")
        if section in ("Parameters", "Attributes") and colon and not line.startswith(" "):
            found += [head, f"    {escaped(text)}"]
        else:
            found.append(line if example else escaped(line))
    lines[:] = found


def escaped(text):
    """What reStructuredText takes for markup, outside of what is marked as code."""
    parts = re.split("(`+[^`]*`+)", text)
    return "".join(part if i % 2 else re.sub(r"[|*]|(?<=\w)_(?!\w)", r"\\\g<0>", part) for i, part in enumerate(parts))


def fold(app, doctree, docname):
    """A page of evidence begins with an answer and the first section's table or figure; the sections after that are
    folded, and open by their headings."""
    if app.builder.format != "html" or not docname.startswith(EVIDENCE):
        return
    page = next(doctree.findall(nodes.section))
    sections = [each for each in page.children if isinstance(each, nodes.section)]
    for section in sections[1:]:
        heading, *text = section.children
        section.children = [_html("<details><summary>"), heading, _html("</summary>"), *text, _html("</details>")]


def _html(text):
    return nodes.raw("", text, format="html")


def setup(app):
    app.connect("source-read", lead_outside)
    app.connect("doctree-resolved", fold)
    app.connect("autodoc-process-docstring", spell_out, priority=100)  # before napoleon
