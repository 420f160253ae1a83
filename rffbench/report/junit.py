"""Writes checks as JUnit XML, which GitLab, Jenkins and GitHub's report actions show test by test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

NO_XML = [*range(32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF]
CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in NO_XML if chr(code) not in "\t\n\r"}


@dataclass(frozen=True)
class Case:
    """One check. ``group`` is JUnit's class name, ``failure`` the message of a failed check, ``skipped`` the reason for
    a skipped one, ``said`` its output."""

    group: str
    name: str
    failure: str = ""
    skipped: str = ""
    said: str = ""


def to_junit(suites: Sequence[tuple[str, Sequence[Case]]]) -> str:
    """The XML of the suites, each with its name and cases."""
    root = ElementTree.Element("testsuites")
    for name, cases in suites:
        counts = {
            "tests": len(cases),
            "failures": sum(bool(case.failure) for case in cases),
            "errors": 0,
            "skipped": sum(bool(case.skipped) for case in cases),
        }
        attributes = {"name": _clean(name), **{key: str(count) for key, count in counts.items()}}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for case in cases:
            element = ElementTree.SubElement(suite, "testcase", classname=_clean(case.group), name=_clean(case.name))
            for tag in ("failure", "skipped"):
                if message := getattr(case, tag):
                    ElementTree.SubElement(element, tag, message=_clean(message)).text = _clean(case.said)
            if case.said and not case.failure and not case.skipped:
                ElementTree.SubElement(element, "system-out").text = _clean(case.said)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _clean(text: str) -> str:
    return text.translate(CONTROL)
