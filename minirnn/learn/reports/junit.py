"""JUnit XML, which most CI systems show: a suite a student, a case an exercise."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from minirnn.learn.reports.sheet import Sheet

MANY = True
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(sheets: list[Sheet]) -> str:
    root = ElementTree.Element("testsuites")
    for sheet in sheets:
        skipped = sum(row.not_started for row in sheet.rows)
        failures = sum(not row.passed and not row.not_started for row in sheet.rows)
        suite = ElementTree.SubElement(
            root, "testsuite", name=clean(sheet.student), tests=str(len(sheet.rows)), failures=str(failures),
            errors="0", skipped=str(skipped), time=f"{sheet.seconds:.3f}",
        )  # fmt: skip
        for row in sheet.rows:
            name = f"{row.name} ({row.score}/{row.most})"
            case = ElementTree.SubElement(
                suite, "testcase", classname=row.file or row.id, name=name, time=f"{row.seconds:.3f}"
            )
            if row.not_started:
                ElementTree.SubElement(case, "skipped", message=row.message)
            elif not row.passed:
                failure = ElementTree.SubElement(case, "failure", message=clean(row.message or "not right"))
                failure.text = clean(row.output)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def clean(text: str) -> str:
    """The text without the characters that XML cannot hold: an answer may print anything."""
    return NOT_XML.sub("\ufffd", text)
