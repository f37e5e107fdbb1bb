"""Tests written by students: weak ones miss mistakes, and overly strict ones reject right backward passes.

Tests `minirnn/learn/testers.py` and `minirnn/learn/wrong_backward.py`.
"""

import random
from dataclasses import replace

import pytest

from minirnn.learn import testers
from tests.learn.answers import COURSE, body, checked, solution
from tests.slow import slow_unless

CANDIDATES = testers.candidates


def tried(monkeypatch, choose):
    """Give tests only the wrong backward passes that `choose` selects, because each of a hundred is a process."""

    def chosen(exercise):
        rights, wrongs = CANDIDATES(exercise)
        return rights, choose(wrongs)

    monkeypatch.setattr(testers, "candidates", chosen)


@pytest.fixture
def few(monkeypatch):
    """One wrong backward pass of each kind, for tests in which the choice does not matter."""
    tried(monkeypatch, lambda wrongs: list({wrong.kind: wrong for wrong in wrongs}.values()))


@pytest.fixture
def seeded(monkeypatch):
    """Every run meets the same backward passes. Otherwise even a loose test might draw a batch that shows a mistake."""
    parts = testers.tester_parts
    monkeypatch.setattr(testers, "tester_parts", lambda exercise, child, _: parts(exercise, child, random.Random(1)))


@pytest.mark.parametrize(
    ("change", "missed", "found"),
    [
        (
            ("dcs, dh = rng.normal(size=(2, B, H))", "dcs, dh = np.zeros((B, H)), np.ones((B, H))"),
            "missing",
            "complement",
        ),
        (
            ("for k, gradient in enumerate(gradients):", "for k, gradient in enumerate(gradients[:1]):"),
            "complement",
            "step",
        ),
    ],
)
def test_weak_tests_let_mutants_live(tmp_path, monkeypatch, seeded, change, missed, found):
    """A gradient of ones into one output, or a check of only one gradient, misses whole terms."""
    tried(monkeypatch, lambda wrongs: [wrong for wrong in wrongs if wrong.kind in (missed, found)])
    result = checked(tmp_path, "ex21", solution("ex21", change))
    assert result.status == "failed" and 0 < result.score < COURSE.entry("ex21").points
    wrong = [p for p in result.parts if not p.ok]
    assert [p.name for p in wrong] == [missed]  # and the other kind is found
    assert all("accepts a wrong backward pass" in p.complaint for p in wrong)


@pytest.mark.slow
def test_a_test_that_rejects_everything_gets_nothing(tmp_path, few):
    result = checked(tmp_path, "ex21", body("ex21", "raise AssertionError('no')"))
    assert result.score == 0 and "rejects a right backward pass" in result.message and ": no" in result.message
    result = checked(tmp_path, "ex21", body("ex21", "return None"))
    assert result.score == 1 and result.parts[0].ok


@pytest.mark.slow
def test_a_test_that_compares_bits_is_told(tmp_path):
    code = """
    x, c, h = rng.normal(size=(2, 3)), rng.normal(size=(2, 5)), rng.normal(size=(2, 5))
    w, b = rng.normal(size=(8, 20)), rng.normal(size=20)
    i, cs, f, o, ci, co, _ = forward(x, c, h, w, b)
    _, dcs_prev, *_ = backward(x, c, h, w, i, cs, f, o, ci, co, h, c)
    assert (dcs_prev == (h + c * o * (1 - co * co)) * f).all()
    """
    assert "written differently" in checked(tmp_path, "ex21", body("ex21", code)).message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "missed"),
    [
        (("1e-6 * max", "0.02 * max"), ["small"]),
        (("B, I, H = 2, 3, 5", "B, I, H = 1, 3, 5"), ["batch"]),
        (("B, I, H = 2, 3, 5", "B, I, H = 1, 1, 1"), ["batch", "layout", "transposed"]),
    ],
)
def test_small_sizes_and_loose_tolerances_see_too_little(tmp_path, seeded, change, missed):
    result = checked(tmp_path, "ex21", solution("ex21", change))
    assert [p.name for p in result.parts if not p.ok] == missed
    assert not result.passed


CHEATS = {
    "counting calls": "global n\nn = globals().get('n', -1) + 1\nassert n < 2",
    "the seed": "assert rng.bit_generator.seed_seq.entropy in (0, [0, 0])",
    "outputs seen before": """
        global seen
        seen = globals().get('seen', set())
        one = np.full((1, 1), 0.5)
        key = tuple(float(v.sum()) for v in backward(*[one] * 3, np.full((2, 4), 0.5), *[one] * 8))
        known = key in seen
        seen.add(key)
        assert known
    """,
}


@pytest.mark.parametrize("cheat", slow_unless(3, CHEATS))
def test_nothing_is_won_without_looking_at_the_gradients(tmp_path, few, cheat):
    """Each call is in its own process, so a test that counts calls accepts everything and earns only that point."""
    result = checked(tmp_path, "ex21", body("ex21", CHEATS[cheat]))
    if cheat == "counting calls":
        assert result.score == 1 and [part.name for part in result.parts if part.ok] == ["right"]
    else:
        assert result.score == 0 and "rejects a right backward pass" in result.message


@pytest.mark.slow
def test_what_students_see_tells_nothing_of_the_hidden_seed(tmp_path, monkeypatch):
    """Nobody can predict what a test meets, even with the seed. Hidden cases are the same each time."""
    tried(monkeypatch, lambda wrongs: wrongs[:4])
    text = body("ex21", "print(rng.random(), rng.bit_generator.seed_seq.entropy)\nassert rng.random() < 0.9")
    grades = [checked(tmp_path, "ex21", text, hidden=True) for _ in range(2)]
    assert grades[0].prints and grades[0].prints != grades[1].prints
    assert grades[0].hidden_prints and grades[0].hidden_prints == grades[1].hidden_prints != grades[0].prints
    other = checked(tmp_path, "ex21", text, replace(COURSE, hidden_seed="another"), hidden=True)
    # The order in which right and wrong ones come depends on the seed, and trying ends at the first right one rejected.
    short, long = sorted((other.hidden_prints, grades[0].hidden_prints), key=len)
    assert short and long.startswith(short)
