"""Mistakes are located in the student's own names.

Tests `minirnn/learn/wrong_line.py`.
"""

import ast

import numpy as np
import pytest

from minirnn.learn.sandbox.child import first_lines
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.sandbox.replies import reply_of
from tests.learn.answers import COURSE, body, checked, solution

OTHER_NAMES = """
slope = 1 - h * h
back = dh * {}
return back @ W.T, back @ R.T, x.T @ back, h_prev.T @ back, back.sum(0)
"""


def test_the_variable_that_is_wrong_is_named_as_the_student_calls_it(tmp_path):
    result = checked(tmp_path, "ex05", body("ex05", OTHER_NAMES.format("np.ones_like(h)")))
    assert "line 6 (where you assign back)" in result.message and "(your" not in result.message
    assert "back = dh * (1 - h * h)\n                  ^^^^^^^^^^^ the factor" in result.message
    result = checked(tmp_path, "ex05", body("ex05", OTHER_NAMES.format("slope").replace("back.sum(0)", "dh.sum(0)")))
    assert result.diagnosis == "dh is used where back belongs" and "(your" not in result.message  # it has no name


LOOP = """
gx, gW, gR, gb = np.zeros_like(x), np.zeros_like(W), np.zeros_like(R), np.zeros(len(R))
carry = np.zeros_like(h0)
for t in range(len(x) - 1, -1, -1):
    g = dh[t]
    pre = g * (1 - h[t] ** 2)
    gx[t] = pre @ W.T
    carry = pre @ R.T
    gW += x[t].T @ pre
    gR += (h[t - 1] if t else h0).T @ pre
    gb += pre.sum(0)
return gx, carry, gW, gR, gb
"""


def test_the_whole_formula_is_in_the_names_of_the_file(tmp_path):
    result = checked(tmp_path, "ex06", body("ex06", LOOP))
    assert result.diagnosis == "g: the term carry is missing"
    assert "g = dh[t] + carry\n                  ^^^^^ the term carry is missing" in result.message
    assert "dh_next" not in result.message


def test_the_lines_of_two_mistakes_are_both_named(tmp_path):
    wrong = ("dzo = dh * co * o * (1 - o)", "dzo = dh * o * (1 - o)"), ("* i * (1 - ci * ci)", "* i * ci * ci")
    result = checked(tmp_path, "ex07", solution("ex07", *wrong))
    lines = [k for k, row in enumerate(result.text.splitlines(), 1) if row.strip().startswith(("dzo =", "dzc ="))]
    assert len(lines) == 2 and all(f"line {line}" in result.message for line in lines), result.message
    assert [line for line, _ in result.comments] == lines


@pytest.mark.parametrize("hidden", [False, True])
def test_nothing_of_the_formula_enters_the_process_of_an_answer(tmp_path, monkeypatch, hidden):
    sent, call = [], Child.call
    monkeypatch.setattr(Child, "call", lambda self, message, *more: sent.append(message) or call(self, message, *more))
    result = checked(tmp_path, "ex06", body("ex06", LOOP.replace("(1 - h[t] ** 2)", "(1 - h[t])")), hidden=hidden)
    assert not result.passed and len(sent) > 5
    exercise = COURSE.entry("ex06").exercise
    for message in sent:
        assert {*message} <= {"arguments", "callbacks", "given", "order", "locals", "trials", "far", "noted"}
        assert [*message["arguments"]] == message["order"] == [*exercise.case([0])] and not message["given"]
        assert all(type(number) is int for trial in message.get("trials", ()) for number in trial)
        assert all(type(value) is np.ndarray for value in message["arguments"].values())


def test_the_line_of_an_assignment_is_found_in_tuples_and_elements():
    text = "def f():\n    a, b = 1, 2\n    c[0] = 3\n    b += 1\n"
    assert first_lines(text) == {"a": 2, "b": 2, "c": 3}


def test_many_variables_cost_the_judge_nothing(tmp_path, monkeypatch):
    """The judge never parses the student's text, and looks at only some variables. (It does parse formulas of the
    course.)
    """
    parse, texts = ast.parse, []
    monkeypatch.setattr("ast.parse", lambda text, *args, **options: texts.append(text) or parse(text, *args, **options))
    many = "".join(f"v{k} = dh * {k}.5\n" for k in range(3000))
    text = body("ex05", many + OTHER_NAMES.format("h * slope"))
    result = checked(tmp_path, "ex05", text)
    assert result.score == 0 and "da" in result.diagnosis
    assert not [text for text in texts if "v17 =" in str(text)]


@pytest.mark.parametrize("line", [True, -1, 10**9, "3", None, [3]])
def test_a_forged_line_is_none(line):
    assert reply_of({"lines": {"da": line, "db": 3}}, 9).lines == {"db": 3}
