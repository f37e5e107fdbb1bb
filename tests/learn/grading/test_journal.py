"""A journal never loses a complete record, however the grader ended."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from minirnn.learn.course import CourseError
from minirnn.learn.grading.journal import Journal, Records
from minirnn.learn.reports.sheet import Change, Row, Sheet

ROWS = [
    Row("ex01", "ex01 A", "1.1", 3, 3, True, "all\nright", "", 0.5, "e/ex01.py", private="p"),
    Row(
        "ex02",
        "ex02 B",
        "1.2",
        1,
        2,
        False,
        "x",
        "a term",
        busy=True,
        parts=(("dx", 1, 1), ("dw", 0, 1)),
        answer="dx = dy\n",
        comments=((1, "a factor"),),
        hints=2,
    ),  # fmt: skip
]
SHEET = Sheet("änn", "c", ROWS, 1.5, True, ("note",), ("remark",), "", (Change("late", -1),), "abc")
HEADER = {"course": "1234", "exercises": ["ex01", "ex02"]}


def write(path, *sheets):
    with Journal(path, HEADER) as journal:
        for sheet in sheets:
            journal.add(sheet)
    return path.read_bytes()


def test_a_sheet_comes_back_as_it_was(tmp_path):
    write(tmp_path / "j", SHEET, Sheet("bob", "c"))
    records = Records(tmp_path / "j")
    assert records.students == ["änn", "bob"] and records.read("änn") == SHEET and records.read("eve") is None


def test_texts_that_an_older_minirnn_wrote_are_cleaned(tmp_path):
    row = replace(ROWS[0], output="all\nright\ud800\0")
    write(tmp_path / "j", replace(SHEET, rows=[row]))
    found = Records(tmp_path / "j").read("änn")
    assert found.rows[0].output == "all\nright\ufffd\ufffd" and found.rows[0] == replace(
        row, output=found.rows[0].output
    )


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_torn_end_is_cut_off_wherever_it_is_torn(tmp_path, kept):
    """The possible lengths of a file with this content after its writer is killed."""
    sheets = [Sheet(name, "c", ROWS[1:]) for name in ("ann", "bob", "cid")]
    whole = write(tmp_path / "j", *sheets)
    ends = [k + 1 for k, byte in enumerate(whole) if byte == 10]
    for length in [*range(ends[kept], ends[kept + 1], 17), ends[kept + 1] - 1]:
        (tmp_path / "j").write_bytes(whole[:length])
        with Journal(tmp_path / "j", HEADER, resume=True) as journal:
            assert journal.students == ["ann", "bob", "cid"][:kept]
            for sheet in sheets[kept:]:
                journal.add(sheet)
        assert (tmp_path / "j").read_bytes() == whole


@pytest.mark.parametrize("length", [0, 1, 10])
def test_a_journal_torn_in_its_first_line_begins_anew(tmp_path, length):
    whole = write(tmp_path / "j", SHEET)
    (tmp_path / "j").write_bytes(whole[:length])
    with Journal(tmp_path / "j", HEADER, resume=True) as journal:
        journal.add(SHEET)
    assert (tmp_path / "j").read_bytes() == whole


def test_a_line_that_is_damaged_in_the_middle_is_told(tmp_path):
    whole = write(tmp_path / "j", SHEET, SHEET, SHEET)
    (tmp_path / "j").write_bytes(whole.replace(b'"student"', b'"studeny"', 1))
    with pytest.raises(CourseError, match="a record that is not a sheet"):
        Records(tmp_path / "j")


def test_a_line_that_is_no_json_in_the_middle_is_told(tmp_path):
    whole = write(tmp_path / "j", SHEET, SHEET, SHEET)
    (tmp_path / "j").write_bytes(whole.replace(b'"student"', b'"student', 1))
    with pytest.raises(CourseError, match="line 2: the journal is damaged"):
        Records(tmp_path / "j")


def test_the_later_record_of_a_student_counts(tmp_path):
    write(tmp_path / "j", Sheet("ann", "c", ROWS[:1]), Sheet("bob", "c"), Sheet("ann", "c", ROWS[1:]))
    assert Records(tmp_path / "j").read("ann") == Sheet("ann", "c", ROWS[1:])
    assert Records(tmp_path / "j").students == ["ann", "bob"]


def test_the_options_of_the_latest_reports_are_recorded(tmp_path):
    with Journal(tmp_path / "j", HEADER) as journal:
        for options in ({"late": "2"}, {"late": "2"}, {}, {"overrides": "d.csv"}):
            journal.report(options)
        journal.add(SHEET)
    records = Records(tmp_path / "j")
    assert records.reported == {"overrides": "d.csv"} and records.students == ["änn"]
    assert (tmp_path / "j").read_bytes().count(b"\n") == 5


def test_another_course_or_other_settings_are_refused(tmp_path):
    write(tmp_path / "j", SHEET)
    before = (tmp_path / "j").read_bytes()
    for header, said in (
        ({**HEADER, "course": "5"}, "another course: 1234\n  expected 5"),
        ({**HEADER, "exercises": []}, "other exercises: ex01, ex02\n  expected all"),
    ):
        with pytest.raises(CourseError, match=f"was graded with {said}"):
            Journal(tmp_path / "j", header, resume=True)
    assert (tmp_path / "j").read_bytes() == before


def test_without_resume_the_older_one_is_kept_beside(tmp_path):
    before = write(tmp_path / "j", SHEET)
    write(tmp_path / "j")
    assert (tmp_path / "j~").read_bytes() == before and Records(tmp_path / "j").students == []


def test_two_graders_at_a_time_are_refused(tmp_path):
    with Journal(tmp_path / "j", HEADER) as journal:
        journal.add(SHEET)
        for resume in (False, True):
            with pytest.raises(CourseError, match="another grader is using this journal"):
                Journal(tmp_path / "j", HEADER, resume=resume)
    assert Records(tmp_path / "j").students == ["änn"] and not (tmp_path / "j~").exists()


@pytest.mark.parametrize("text", ["", "hello\n", "{}\n", "[]\n", '{"format": 99}\n'])
def test_what_is_no_journal_is_told(tmp_path, text):
    (tmp_path / "j").write_text(text)
    if text:
        with pytest.raises(CourseError, match="is not a journal of grades"):
            Records(tmp_path / "j")
    else:
        assert Records(tmp_path / "j").end == 0
    if text:
        with pytest.raises(CourseError, match="is not a journal of grades"):
            Journal(tmp_path / "j", HEADER, resume=True)
        assert (tmp_path / "j").read_text() == text  # nothing is truncated
    with pytest.raises(CourseError, match="cannot be"):
        Journal(tmp_path / "none" / "j", HEADER)


WRITER = """
import sys
from minirnn.learn.grading.journal import Journal
from minirnn.learn.reports.sheet import Row, Sheet
row = Row("ex01", "n", "1", 1, 1, True, "x" * 5000)
with Journal(__import__("pathlib").Path(sys.argv[1]), {"a": 1}) as journal:
    k = 0
    while True:
        journal.add(Sheet(f"s{k}", "c", [row] * 20))
        print(k, flush=True)
        k += 1
"""


@pytest.mark.slow
def test_what_was_added_is_there_after_a_kill(tmp_path):
    """The writer reports what it has added, and is then killed during a write."""
    path = tmp_path / "j"
    for rounds in (2, 9):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(rounds):
            said = process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        students = Records(path).students
        assert students[: int(said) + 1] == [f"s{k}" for k in range(int(said) + 1)]
