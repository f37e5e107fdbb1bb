"""Printed text of an answer reaches every report as plain text, and no student's text stops the grading of others.

Tests `minirnn/learn/cleaned.py`, with `minirnn/learn/grading/run.py` and `minirnn/learn/reports/`.
"""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minirnn.commands import cli
from minirnn.learn.cleaned import cleaned, cleaned_all
from minirnn.learn.grading import run as running
from minirnn.learn.grading import task
from minirnn.learn.grading.journal import Records
from minirnn.learn.reports import feedback
from minirnn.learn.reports.csv import line
from tests.learn.answers import body, solution
from tests.learn.grading.classes import hand_in, small_course

EVIL = "\ud800 \x1b[2J \x1b]52;c;aGk=\x07 \0 \x9b31m \u202e \ufffe \u2066"
"""A lone surrogate, terminal escape codes, a NUL, a C1 control character, and marks that change the writing
direction.
"""
ALL = ["feedback:{id}.md", "gradescope:{id}.json", "csv:g.csv", "junit:g.xml", "statistics:s.svg", "statistics:s.md"]


def is_plain(text):
    return all(c.isprintable() or c in "\n\t" for c in text)


def test_a_cleaned_text_can_be_written_anywhere():
    assert cleaned("a\r\nb\rc\td") == "a\nb\nc\td"
    assert cleaned("Zoë \N{SNOWMAN} \N{NO-BREAK SPACE}|") == "Zoë \N{SNOWMAN}  |"
    assert is_plain(cleaned(EVIL)) and "\ufffd" in cleaned(EVIL)
    assert len(cleaned("x" * 100_000)) < 20_010
    nested = cleaned_all({EVIL: [EVIL, (EVIL, 3)], "kept": None})
    assert is_plain("".join([*nested, nested[cleaned(EVIL)][0], nested[cleaned(EVIL)][1][0]]))
    assert nested["kept"] is None and nested[cleaned(EVIL)][1][1] == 3


@pytest.fixture
def course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("course").mkdir()
    return small_course(Path("course"), ("ex05",))


@pytest.fixture
def grade(capsys):
    def grade(*arguments):
        status = cli.main(
            ["grade", "--trusted", *map(str, sorted(Path("subs").iterdir())), "--course", "course", *arguments]
        )
        return status, "".join(capsys.readouterr())

    return grade


def test_no_report_holds_what_moves_a_cursor_and_no_text_stops_the_class(course, grade):
    says = f"print({EVIL[1:]!r})\nraise ValueError({EVIL!r})"
    hand_in(Path("subs/ann"), course, ex05=body("ex05", says))
    hand_in(Path("subs/bob"), course)
    hand_in(Path("subs/cid"), course, ex05=body("ex05", f"return {{{EVIL!r}: 1}}"))
    status, text = grade(*(part for one in ALL for part in ("--out", one)))
    assert status == 0 and "Traceback" not in text and is_plain(text)
    with open("g.csv", encoding="utf-8") as file:
        assert {row["id"]: row["total"] for row in csv.DictReader(file)} == {"ann": "0", "bob": "7", "cid": "0"}
    for path in (*Path().glob("*.md"), Path("g.csv"), Path("g.xml"), Path("s.svg")):
        assert is_plain(path.read_text(encoding="utf-8")), path
    ElementTree.parse("g.xml"), ElementTree.parse("s.svg")
    report = json.loads(Path("ann.json").read_text())
    assert "ValueError" in report["tests"][0]["output"] and is_plain(report["tests"][0]["output"])


def test_a_failure_of_the_grader_costs_one_student_and_resume_goes_on(course, grade, monkeypatch):
    for name in ("ann", "bob", "cid"):
        hand_in(Path("subs") / name, course)
    render = feedback.render

    def fails_for_bob(sheets, stamp=None):
        if sheets[0].student == "bob" and sheets[0].finished:
            raise RuntimeError(f"a mistake of the grader {EVIL}")
        return render(sheets, stamp)

    with monkeypatch.context() as patch:
        patch.setattr(feedback, "render", fails_for_bob)
        status, text = grade("--out", "csv:g.csv", "--out", "feedback:{id}.md")
    assert (
        status == 1 and "bob: 0 of 7 points" in text and "tell the maintainers (RuntimeError" in text and is_plain(text)
    )
    assert Records(Path("g.csv.journal")).students == ["ann", "cid"]
    assert "tell the maintainers" in Path("bob.md").read_text()
    status, text = grade("--out", "csv:g.csv", "--out", "feedback:{id}.md", "--resume")
    assert status == 0 and "bob: 7 of 7" in text and "ann: 7" not in text


@pytest.mark.parametrize("jobs", [[], pytest.param(["--executor", "threads:2"], marks=pytest.mark.slow)])
def test_a_mistake_in_one_exercise_costs_nothing_else_and_is_made_good(course, grade, monkeypatch, jobs):
    for name in ("ann", "bob", "cid"):
        hand_in(Path("subs") / name, course, **({"ex05": solution("ex05") + "# bob"} if name == "bob" else {}))
    check = task.check

    def fails_for_bob(course, entry, file, **named):
        if file.read_bytes().endswith(b"# bob"):
            raise RuntimeError("a mistake of the grader")
        return check(course, entry, file, **named)

    with monkeypatch.context() as patch:
        patch.setattr(task, "check", fails_for_bob)
        status, text = grade("--out", "csv:g.csv", "--out", "feedback:{id}.md", *jobs)
    assert status == 1 and "bob: 0 of 7 points" in text and "not judged, grade again: ex05" in text
    assert "ann: 7 of 7" in text and "cid: 7 of 7" in text
    page = Path("bob.md").read_text()
    assert "the grader failed: tell the maintainers (RuntimeError: a mistake of the grader)" in page
    status, text = grade("--out", "csv:g.csv", "--out", "feedback:{id}.md", "--resume", *jobs)
    assert status == 0 and "bob: 7 of 7" in text and "ann" not in text and "failed" not in Path("bob.md").read_text()


def test_a_mistake_before_the_sheet_is_there_costs_one_student(course, grade, monkeypatch):
    for name in ("ann", "bob"):
        hand_in(Path("subs") / name, course)
    here = running.graded_here
    fail = lambda course, task, publisher: 1 / 0 if task.student == "ann" else here(course, task, publisher)  # noqa: E731
    monkeypatch.setattr(running, "graded_here", fail)
    status, text = grade("--out", "csv:g.csv")
    assert status == 1 and "ann: 0 of 7 points" in text and "bob: 7 of 7 points" in text


def test_no_cell_is_a_formula_in_any_spreadsheet():
    for sign in "=+-@\t\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}":
        for text in (f"{sign}1+1", f"  {sign}1+1"):
            (cells,) = csv.reader(io.StringIO(line([text, 3]), newline=""))
            assert cells[0].startswith("'") and cells[1] == "3", repr(sign)
    assert line(["a\rb"]) == "a b\n"
