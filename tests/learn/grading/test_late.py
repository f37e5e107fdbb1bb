"""A late submission loses points for each day according to the policy, and never more than it has."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from minirnn.learn.course import CourseError
from minirnn.learn.grading.late import check_times, read_policy
from minirnn.learn.grading.students import Student, read_roster

DUE = datetime.datetime(2027, 2, 1, 12, tzinfo=datetime.UTC)


def student(late: datetime.timedelta, **more) -> Student:
    return Student("ann", Path("ann"), submitted=DUE + late, **more)


def hours(number: float) -> datetime.timedelta:
    return datetime.timedelta(hours=number)


@pytest.mark.parametrize(
    ("off", "late", "points"),
    [
        ("2", -1, None), ("2", 0, None), ("2", 0.25, None), ("2", 0.5, -2), ("2", 24, -2), ("2", 24.01, -4),
        ("10%", 1, -3), ("10%", 25, -7), ("5%", 1, -1), ("100%", 1, -37), ("1.5", 30, -3), ("50", 1, -37),
        ("1", 24 * 7, -7), ("1", 24 * 7 + 0.01, -37),
    ],
)  # fmt: skip
def test_each_day_that_has_begun_costs(off, late, points):
    """37 points, 15 minutes of grace, nothing after a week; rounded in the student's favor: 3.7 points off are 3."""
    change = read_policy(off, DUE.isoformat(), "15m", "7d").change(student(hours(late)), 37)
    assert (change and change.points) == points
    if points == -37 and late > 24 * 7:
        assert change.reason == "handed in 8 days late, after the cut-off"


def test_a_due_time_of_ones_own_counts_more():
    policy = read_policy("1", DUE.isoformat())
    assert policy.change(student(hours(30), due=DUE + hours(40)), 9) is None
    assert policy.change(student(hours(30), due=DUE + hours(20)), 9).points == -1
    assert policy.change(Student("bob", None), 0) is None


@pytest.mark.parametrize("where", ["--due", "roster"])
@pytest.mark.parametrize("date", ["2027-02-01", "20270201", "2027-W05-1"])
def test_a_deadline_without_a_time_is_the_end_of_the_day_in_the_zone_of_this_machine(tmp_path, where, date):
    (tmp_path / "r.csv").write_text(f"id,submitted,due\nann,2027-02-01,{date if where == 'roster' else ''}\n")
    (ann,) = read_roster(tmp_path / "r.csv")
    assert ann.submitted == datetime.datetime(2027, 2, 1).astimezone()
    policy = read_policy("1", date if where == "--due" else "")
    last = datetime.datetime(2027, 2, 1, 23, 59, 59).astimezone()
    for more, points in ((0, None), (1, -1)):
        late = replace(ann, submission=Path("ann"), submitted=last + datetime.timedelta(seconds=more))
        change = policy.change(late, 9)
        assert (change and change.points) == points
    assert read_policy("1", "2027-02-01T00:00").due == ann.submitted, "a time that is written counts"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("much",), "--late is 'much'\n  expected points or percent"),
        (("-1",), "--late is '-1'"),
        (("1", "soon"), "--due: 'soon' is not a time"),
        (("1", "soon"), "without an offset it is in this machine's zone"),
        (("1", "", "15"), "--grace is '15'\n  expected minutes, hours or days"),
        (("1", "", "", "1w"), "--cut-off is '1w'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, said):
    with pytest.raises(CourseError) as caught:
        read_policy(*arguments)
    assert said in str(caught.value)


def test_unknown_times_are_told_before_grading():
    known, unknown = student(hours(1)), Student("bob", Path("bob"))
    check_times(read_policy("1", DUE.isoformat()), [known, Student("cid", None)])
    with pytest.raises(CourseError, match="it is not known when the work of bob was submitted"):
        check_times(read_policy("1", DUE.isoformat()), [known, unknown])
    policy = read_policy("1", DUE.isoformat())
    check_times(policy, [known, replace(unknown, listed=False)])  # it is marked in the reports, and nothing is deducted
    assert policy.change(replace(unknown, listed=False), 9) is None
    with pytest.raises(CourseError, match="work of ann was due"):
        check_times(read_policy("1"), [known])
