"""Teachers' decisions after grading, and changes when they grade again.

Tests `minirnn/learn/grading/overrides.py` and `minirnn/learn/grading/regrade.py`.
"""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from minirnn.learn.course import CourseError
from minirnn.learn.grading.late import read_policy
from minirnn.learn.grading.overrides import Decisions, read_overrides
from minirnn.learn.grading.regrade import Difference, as_csv, differences, in_words, merged
from minirnn.learn.grading.students import Student
from minirnn.learn.reports.sheet import NOT_STARTED, Row, Sheet

ANN = Student("ann", Path("ann"))
ROWS = [
    Row("ex01", "ex01 A", "1.1", 1, 3, False, "wrong", "a term", busy=True),
    Row("ex01", "ex01 A: hidden checks", "1.1h", 0, 1, False, "0 of 3", hidden=True),
    Row("ex05", "ex05 B", "2.1", 5, 5, True, "right"),
]
SHEET = Sheet("ann", "c", ROWS)


def decided(tmp_path, course, text: str, late=None, student=ANN) -> Sheet:
    (tmp_path / "o.csv").write_text(f"id,exercise,points,comment,private\n{text}\n")
    return Decisions(read_overrides(tmp_path / "o.csv", course, [student]), late).applied(SHEET, student)


def test_points_of_an_exercise_count_instead(tmp_path, course):
    sheet = decided(tmp_path, course, "Ann,ex1,4,Well argued,asked the tutor")
    assert [row.score for row in sheet.rows] == [3, 1, 5] and [row.passed for row in sheet.rows] == [True, True, True]
    assert sheet.rows[0].output == "wrong\n\n  Your teacher gives 4 points.\n\n  Your teacher says: Well argued"
    assert sheet.rows[0].private == "asked the tutor" and sheet.busy == [] and sheet.score == 9
    assert [row.score for row in decided(tmp_path, course, "ann,ex01,2,,").rows] == [2, 0, 5]


def test_a_comment_alone_changes_no_points(tmp_path, course):
    sheet = decided(tmp_path, course, 'ann,ex05,,"Nice, but see me",\nann,,,On the whole good,copied?')
    assert sheet.score == 6 and sheet.rows[2].output.endswith("Your teacher says: Nice, but see me")
    assert sheet.notes == ("On the whole good",) and sheet.remarks == ("copied?",)


@pytest.mark.parametrize(("text", "begun"), [("ann,ex05,,Where is it?", False), ("ann,ex05,2,On paper", True)])
def test_an_exercise_that_was_not_begun_is_decided_too(tmp_path, course, text, begun):
    row = replace(ROWS[2], score=0, passed=False, output="nothing", message=NOT_STARTED)
    (tmp_path / "o.csv").write_text(f"id,exercise,points,comment\n{text}\n")
    decisions = Decisions(read_overrides(tmp_path / "o.csv", course, [ANN]))
    sheet = decisions.applied(replace(SHEET, rows=[ROWS[0], row]), replace(ANN, name="Ann A."))
    assert [(r.decided, r.not_started) for r in sheet.rows] == [(False, False), (True, not begun)]
    assert sheet.rows[1].output.endswith(text.rpartition(",")[2]) and sheet.who == "Ann A. (ann)"


def test_points_for_all_count_whatever_else_is_said(tmp_path, course):
    student = Student("ann", Path("ann"), submitted=datetime.datetime(2027, 1, 3, tzinfo=datetime.UTC))
    late = read_policy("1", "2027-01-01T00:00+00:00")
    assert decided(tmp_path, course, "", late, student).score == 4
    assert decided(tmp_path, course, "ann,ex05,0,,", late, student).score == 0
    sheet = decided(tmp_path, course, "ann,,7,,", late, student)
    assert sheet.score == 7 and [change.points for change in sheet.changes] == [-2, 3]


def test_who_is_not_on_the_roster_is_told_to_the_teacher():
    assert Decisions().applied(SHEET, Student("ann", listed=False)).remarks == ("not on the roster",)
    assert Decisions().applied(SHEET, ANN) == SHEET


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("eve,ex01,1,,", "line 2: there is no student 'eve'"),
        ("ann,ex99,1,,", "no exercise 'ex99'"),
        ("ann,ex01,5,,", "line 2: points are '5'\n  expected a whole number, 0 .. 4"),
        ("ann,ex01,-1,,", "points are '-1'"),
        ("ann,ex01,1.5,,", "points are '1.5'"),
        ("ann,,16,,", "expected a whole number, 0 .. 15"),
        (",ex01,1,,", "line 2: id is empty"),
        ("ann,ex05,2,a, b, c", "line 2 has more cells than the header\n  expected one cell per column; put quotes"),
        ("ann,ex01,1,,\nann,,,x,\nAnn,ex1,2,,", "lines 2 and 4 are both about ex01 of 'Ann'\n  expected one line"),
        ("ann,,1,,\nann,,2,,", "lines 2 and 3 are both about the whole submission of 'ann'"),
    ],
)
def test_lines_that_make_no_sense_are_refused_before_grading(tmp_path, course, line, said):
    with pytest.raises(CourseError) as caught:
        decided(tmp_path, course, line)
    assert said in str(caught.value)


def test_an_unknown_column_is_refused(tmp_path, course):
    (tmp_path / "o.csv").write_text("id,exercise,score\nann,ex01,1\n")
    with pytest.raises(CourseError, match="has a column 'score'\n  expected the columns id, exercise, points"):
        read_overrides(tmp_path / "o.csv", course, [ANN])


# ---- grading again


def test_some_exercises_are_graded_again_and_the_others_stay():
    again = [Row("ex01", "ex01 A", "1.1", 3, 3, True, "right"), Row("ex30", "new", "9", 1, 1, True, "")]
    old = Sheet("ann", "c", ROWS, 9.0, remarks=("ex01 imports minirnn", "ex05 imports minirnn"))
    sheet = merged(old, Sheet("ann", "c", again, 1.0, notes=("n",), remarks=("x",)))
    assert [(row.id, row.score) for row in sheet.rows] == [("ex01", 3), ("ex05", 5), ("ex30", 1)]
    assert sheet.remarks == ("ex05 imports minirnn", "x") and sheet.notes == ("n",)


def test_differences_are_named_by_student_and_exercise():
    new = Sheet("ann", "c", [Row("ex01", "A", "1", 4, 4, True, ""), ROWS[2]])
    found = list(differences([(SHEET, new), (SHEET, SHEET), (None, Sheet("bob", "c", ROWS[2:])), (SHEET, None)]))
    assert found == [
        Difference("ann", "ex01", 1, 4), Difference("ann", "total", 6, 9), Difference("bob", "ex05", None, 5),
        Difference("bob", "total", None, 5), Difference("ann", "ex01", 1, None), Difference("ann", "ex05", 5, None),
        Difference("ann", "total", 6, None),
    ]  # fmt: skip
    assert in_words(found[:3]) == ["ann: ex01 1 -> 4, total 6 -> 9", "bob: ex05 none -> 5"]
    assert "".join(as_csv(found[:1])) == "id,exercise,before,after\nann,ex01,1,4\n"
