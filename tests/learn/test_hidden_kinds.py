"""The messages about failing hidden cases describe their kind, and nothing about their numbers."""

import re

import pytest

from minirnn.learn.check import check
from minirnn.learn.course import load
from minirnn.learn.exercise import HIDDEN
from minirnn.learn.hidden_kinds import about_hidden, kind
from tests.learn.answers import solution

COURSE = load()


@pytest.mark.parametrize(
    ("id", "kinds"),
    [
        ("ex06", ["with more steps and more inputs", "with more samples, fewer inputs and more units",
                  "with more steps and one sample"]),
        ("ex05", ["with more inputs", "with more samples, fewer inputs and more units", "with one sample"]),
        ("ex16", ["with more steps and more inputs", "with fewer inputs and more units", "with more steps"]),
        ("ex18", ["with a larger K", "with a larger M, a smaller K and a larger N", "with a smaller M"]),
        ("ex41", ["with more steps, more inputs and another text to train on",
                  "with more samples, fewer inputs and more units", "with more steps and one sample"]),
    ],
)  # fmt: skip
def test_a_kind_names_the_axes_that_an_exercise_has(id, kinds):
    """The sizes that students see are T 3 and 4, B 2 and 3, I 3 and 4, H 2 and 5."""
    assert [kind(COURSE.entry(id).exercise, sizes) for sizes in HIDDEN] == kinds


def test_every_exercise_has_kinds_without_numbers():
    for entry in COURSE.entries.values():
        for sizes in entry.exercise.hidden_sizes:
            assert not re.search(r"\d", kind(entry.exercise, sizes)), entry.id


def test_an_answer_that_fails_for_one_sample_reads_so(tmp_path):
    entry = COURSE.entry("ex05")
    file = tmp_path / "ex05_rnn_cell_backward.py"
    file.write_text(solution("ex05", ("dh * (1 - h * h)", "dh * (1 - h * h) * (len(h) > 1)")))
    result = check(COURSE, entry, file, hidden=True)
    assert result.passed and result.hidden == 0
    assert result.hidden_message == "2 of 3 hidden checks are right; your answer is wrong with one sample"


def test_all_wrong_is_told_without_a_list():
    exercise = COURSE.entry("ex05").exercise
    assert about_hidden(exercise, [], True) == "3 of 3 hidden checks are right"
    assert about_hidden(exercise, HIDDEN, False) == "0 of 3 hidden checks are right"
    assert about_hidden(exercise, HIDDEN, True).endswith("; your answer is right only for the cases that you see")
    tester = COURSE.entry("ex21").exercise
    assert about_hidden(tester, tester.hidden_sizes, True) == "0 of 1 hidden checks are right"
