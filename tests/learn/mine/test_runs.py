"""The runs of the milestones use the learner's answers, repeat the historical result, and save a picture.

It tests `minirnn/learn/mine/runs.py` and `minirnn/learn/milestones.py`.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from minirnn import devices
from minirnn.commands.cli import main
from minirnn.learn.course import CourseError, load
from minirnn.learn.course_map import map_text
from minirnn.learn.milestones import MILESTONES, milestone_lines
from minirnn.learn.mine.runs import RUNS, reach
from tests.learn.mine.folders import tree_with

COURSE = load()


def test_each_milestone_has_a_run_and_needs_exercises_of_the_course():
    assert list(RUNS) == [one.year for one in MILESTONES]
    assert all(set(one.needs) <= set(COURSE.entries) for one in MILESTONES)
    assert [one.year for one in MILESTONES] == sorted(one.year for one in MILESTONES)


def test_an_elman_network_of_the_learners_learns_a_short_lag_and_fails_at_a_long_one(tmp_path, monkeypatch, capsys):
    tree = tree_with(tmp_path / "course", "ex06")
    assert "[ ] 1990  an Elman network, by your ex06" in map_text(COURSE, tree)
    monkeypatch.chdir(tree.root)
    assert main(["learn", "milestone", "1990"]) == 0
    told = capsys.readouterr().out
    assert "after 5 steps it knows 100% of the bits, after 60 steps" in told
    assert (tree.root / "milestones" / "milestone_1990.png").stat().st_size > 5000 and "milestone_1990.png" in told
    assert "[x] 1990  an Elman network, by your ex06" in map_text(COURSE, tree)


def test_all_steps_of_a_sequence_are_one_launch_of_the_learners_kernel(tmp_path):
    if reason := devices.available()["cuda-sim"]:
        pytest.skip(reason)
    tree = tree_with(tmp_path / "course", "ex40")
    found, path = reach(tree, MILESTONES[3])
    assert found.well and "42 steps of 70 units are one launch" in found.words and path.is_file()


def test_a_milestone_whose_exercises_are_open_says_which(tmp_path, monkeypatch, capsys):
    tree = tree_with(tmp_path / "course", "ex16")
    with pytest.raises(CourseError, match="milestone 1997 needs ex09, ex15, ex16; not passed yet: ex09, ex15\n"):
        reach(tree, MILESTONES[1])
    monkeypatch.chdir(tree.root)
    for given, said in (
        (["1997"], "not passed yet: ex09, ex15"),
        (["2"], "minirnn learn: milestone: got 2; expected a year: 1990, 1997, 2013, 2016"),
        ([], "got no year"),
    ):
        assert main(["learn", "milestone", *given]) == 2
        assert said in capsys.readouterr().err
    assert " .  1997  an LSTM, by" in map_text(COURSE, tree) and "    1997  an LSTM, by" in map_text(COURSE)


def test_a_wrong_answer_reaches_no_milestone(tmp_path):
    wrong = COURSE.solution(COURSE.entry("ex06")).replace("1 - h[t] * h[t]", "1 - h[t]")
    tree = tree_with(tmp_path / "course", ex06=wrong)
    with pytest.raises(CourseError, match="milestone 1990 needs your ex06, which is not used: it differs"):
        reach(tree, MILESTONES[0])
    assert not MILESTONES[0].reached(tree)


def test_a_run_that_does_not_succeed_keeps_no_picture(tmp_path):
    tree = tree_with(tmp_path / "course", *MILESTONES[1].needs)
    with pytest.raises(CourseError, match="after 60 steps its mean squared error is .*\n  this is not the historical"):
        reach(tree, MILESTONES[1], scale=0.015)
    assert not MILESTONES[1].reached(tree)


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_the_longer_runs_succeed(tmp_path, number):
    one = MILESTONES[number]
    tree = tree_with(tmp_path / "course", *one.needs)
    found, path = reach(tree, one)
    assert found.well and path.is_file()
    assert one.reached(tree)


def test_a_course_without_these_exercises_has_no_milestones():
    other: Any = SimpleNamespace(entries={"ex01": None})
    assert milestone_lines(other, None) == []
