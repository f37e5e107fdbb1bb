"""The same wrong numbers are diagnosed once, and others are diagnosed anew."""

from dataclasses import replace

import numpy as np

from minirnn.learn import known_mistakes, wrong_answer
from minirnn.learn.known_mistakes import KnownMistakes, fingerprint
from tests.learn.answers import COURSE, checked, solution


def test_the_same_mistake_is_diagnosed_once_and_told_to_each(tmp_path, monkeypatch):
    calls = []
    searched = wrong_answer.searched
    monkeypatch.setattr(wrong_answer, "KNOWN", KnownMistakes())
    monkeypatch.setattr(wrong_answer, "searched", lambda *a: calls.append(a[0].id) or searched(*a))
    mistake = ("da = dh * (1 - h * h)", "da = dh")  # the text alone does not explain it
    results = [checked(tmp_path, "ex05", solution("ex05", mistake) + f"\n# student {k}\n") for k in range(3)]
    assert calls == ["ex05"]
    assert {result.diagnosis for result in results} == {"da: the factor (1 - h * h) is missing"}
    lower = checked(tmp_path, "ex05", "\n\n" + solution("ex05", mistake))
    assert calls == ["ex05"] and ", line 5" in results[0].message and ", line 7" in lower.message
    other = checked(tmp_path, "ex05", solution("ex05", ("da = dh * (1 - h * h)", "da = 3 * dh")))
    assert other.diagnosis != results[0].diagnosis
    assert calls == ["ex05"] * 2


def test_what_differs_has_another_fingerprint(tmp_path):
    case = checked(tmp_path, "ex05", solution("ex05", ("da @ R.T", "da @ R"))).cases[0]
    others = [
        replace(case, got={**case.got, "dx": case.got["dx"] + 1e-15}),
        replace(case, got={**case.got, "dx": case.got["dx"].astype(np.float32)}),
        replace(case, got={**case.got, "dx": case.got["dx"][None]}),
        replace(case, got={**case.got, "dx": [case.got["dx"]]}),
        replace(case, got={**case.got, "dx": {"odd": "None"}}),
    ]
    assert len({fingerprint([one]) for one in (case, *others)} | {fingerprint([case, case])}) == 7
    assert fingerprint([replace(case, got=dict(case.got))]) == fingerprint([case])


def test_an_exercise_of_another_course_is_another():
    exercise = COURSE.entry("ex05").exercise
    known = KnownMistakes()
    assert known.diagnosis(exercise, [], lambda: None) is None
    assert known.diagnosis(replace(exercise), [], lambda: "found anew") == "found anew"
    assert known.diagnosis(exercise, [], lambda: "never asked") is None


def test_only_so_many_are_kept(monkeypatch):
    monkeypatch.setattr(known_mistakes, "MOST", 2)
    known, exercises, asked = KnownMistakes(), [replace(COURSE.entry("ex05").exercise) for _ in range(3)], []
    for k in (0, 1, 0, 2, 0, 1):  # 1 has been unused for longest when 2 comes
        known.diagnosis(exercises[k], [], lambda k=k: asked.append(k))
    assert asked == [0, 1, 2, 1]
