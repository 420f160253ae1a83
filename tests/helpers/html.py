"""An HTML page as a test reads it: its elements with their attributes and the text in them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

EMPTY = {"meta", "link", "input", "img", "br", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict
    children: list = field(default_factory=list)  # elements and texts

    @property
    def text(self):
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, tag=None, **wanted):
        """The elements inside, in order, of this tag with these attributes (class_ for class, a_b for a-b)."""
        names = {name.rstrip("_").replace("_", "-"): value for name, value in wanted.items()}
        for child in self.children:
            if isinstance(child, Element):
                has = all(child.attributes.get(name) == value for name, value in names.items())
                if tag in (None, child.tag) and has:
                    yield child
                yield from child.all(tag, **wanted)

    def one(self, tag=None, **wanted):
        (found,) = self.all(tag, **wanted)
        return found


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = [Element("page", {})]

    def handle_starttag(self, tag, attributes):
        element = Element(tag, dict(attributes))
        self.open[-1].children.append(element)
        if tag not in EMPTY:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, text):
        self.open[-1].children.append(text)


def read(text):
    """The page; AssertionError where an element is not ended, or in the wrong place."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> is not ended"
    return reader.open[0]


def table(sheet):
    """The rows of a table in an element, each a dictionary of cells' elements by the column's name."""
    head = [cell.text for cell in sheet.one("thead").all("th")]
    return [dict(zip(head, row.all("td"), strict=True)) for row in sheet.one("tbody").all("tr")]
