"""JUnit XML, which most CI systems show: one suite per student, one case per exercise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree import ElementTree

from minirnn.learn.cleaned import cleaned, several
from minirnn.learn.reports.sheet import Sheet
from minirnn.learn.reports.stamp import Stamp

MANY = True


def render(sheets: Iterable[Sheet], stamp: Stamp | None = None) -> str:
    return "".join(pieces(sheets, stamp))


def pieces(sheets: Iterable[Sheet], stamp: Stamp | None = None) -> Iterator[str]:
    """The file, suite by suite."""
    yield "<?xml version='1.0' encoding='utf-8'?>\n<testsuites>"
    for sheet in sheets:
        yield ElementTree.tostring(suite_of(sheet, stamp), encoding="unicode")
    yield "</testsuites>\n"


def suite_of(sheet: Sheet, stamp: Stamp | None) -> ElementTree.Element:
    """The results of a student."""
    skipped = sum(row.not_started for row in sheet.rows)
    failures = sum(not row.passed and not row.not_started and not row.busy for row in sheet.rows)
    suite = ElementTree.Element(
        "testsuite", name=cleaned(sheet.student), tests=str(len(sheet.rows)), failures=str(failures),
        errors=str(sum(row.busy for row in sheet.rows)), skipped=str(skipped), time=f"{sheet.seconds:.3f}",
    )  # fmt: skip
    if about := [*([("graded by", stamp.line())] if stamp else []), *told(sheet)]:
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in about:
            ElementTree.SubElement(properties, "property", name=name, value=cleaned(value))
    for row in sheet.rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=row.file or row.id, name=row.name, time=f"{row.seconds:.3f}"
        )
        tag, message = "failure", row.message or "not right"
        if row.busy:
            tag, message = "error", "not judged: grade again"
        elif row.not_started or row.passed:
            tag = "skipped" if row.not_started else "system-out"
        element = ElementTree.SubElement(case, tag, {} if tag == "system-out" else {"message": cleaned(message)})
        element.text = cleaned(f"{row.score} of {several(row.most, 'point')}\n{row.output}")
    return suite


def told(sheet: Sheet) -> list[tuple[str, str]]:
    """The remarks about a submission as a whole."""
    problem = [("not graded", sheet.problem)] if sheet.problem else []
    changes = [("change", f"{change.points:+d} {change.reason}") for change in sheet.changes]
    return [*problem, *changes, *(("note", note) for note in sheet.notes)]
