"""Whole answers as people write them: wrong ones get the right diagnosis, and right but unusual ones pass.

Tests `minirnn/learn/diagnose.py`, `minirnn/learn/by_output.py`, `minirnn/learn/diagnose_cuda.py` and
`minirnn/learn/check.py` on the answers of `tests/learn/mistakes/whole`.
"""

import pytest

from tests.learn.answers import COURSE, checked
from tests.learn.mistakes.whole import answers

CAPSTONE = "replace: "
"""The text before the one change of the capstone's solution, which is long."""


def text_of(answer):
    if not answer.text.startswith(CAPSTONE):
        return answer.text
    old, new = answer.text.removeprefix(CAPSTONE).strip().split(" -> ")
    solution = COURSE.solution(COURSE.entry(answer.exercise))
    assert old in solution
    return solution.replace(old, new.replace("\\n", "\n"))


LONG = {
    ("ex07", "per_gate"),
    ("ex07", "two"),
    ("ex08", "late"),
    ("ex09", "after"),
    ("ex09", "fnext"),
    ("ex27", "var"),
    ("ex41", "noweights"),
}
"""Many other hypotheses are tried before these."""


def each(file):
    cases = [pytest.param(one, marks=[pytest.mark.slow] * (one[:2] in LONG)) for one in answers(file)]
    return pytest.mark.parametrize("answer", cases, ids=lambda a: f"{a.exercise}-{a.name}")


def assert_told(answer, tmp_path):
    """A check explains all numbers, in these words."""
    result = checked(tmp_path, answer.exercise, text_of(answer))
    assert result.exact, result.message
    assert answer.says in f"{result.diagnosis}\n{result.message}"


@each("telling.txt")
def test_what_is_wrong_is_told(answer, tmp_path):
    assert_told(answer, tmp_path)


@pytest.mark.slow
@each("wrong.txt")
def test_what_is_wrong_is_told_of_many_more(answer, tmp_path):
    assert_told(answer, tmp_path)


@pytest.mark.slow
@each("kernels.txt")
def test_what_is_wrong_is_told_by_a_check(answer, tmp_path):
    result = checked(tmp_path, answer.exercise, text_of(answer))
    assert not result.passed
    assert answer.says in result.diagnosis + "\n" + result.message


@each("right.txt")
def test_what_is_right_but_unusual_passes(answer, tmp_path):
    result = checked(tmp_path, answer.exercise, text_of(answer))
    assert result.passed, result.diagnosis + "\n" + result.message
