"""The syllabus names chapters, exercises, points and messages that exist, and its hours and points add up.

Tests `docs/syllabus.md` and `docs/exam.md`.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from minirnn.learn.course import load
from tests.book.test_equations import ROOT, TUTORIALS

PAGE = (ROOT / "docs" / "syllabus.md").read_text(encoding="utf-8")
EXAM = (ROOT / "docs" / "exam.md").read_text(encoding="utf-8")
ENTRIES = load().entries
SEEN = (ROOT / "tests" / "learn" / "mistakes" / "numpy.txt").read_text(encoding="utf-8")
UNITS = dict(re.findall(r"^### Unit (\d): .+\n((?:(?!^##).*\n)+)", PAGE, flags=re.M))


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without the head."""
    rows = re.findall(r"^\|(.+)\|$", PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0], flags=re.M)
    return [[cell.strip(" *") for cell in row.split("|")] for row in rows[2:]]


def exercises(unit: str) -> list[tuple[str, int, int]]:
    return [(id, int(p), int(h)) for id, p, h in re.findall(r"(ex\d\d) \((\d+) \+ (\d+)\)", UNITS[unit])]


def chapters(unit: str) -> list[int]:
    return [int(number) for number in re.findall(r"\[(\d+)\]\(tutorials/\w+\)", UNITS[unit])]


@pytest.mark.parametrize("heading", ["Six weeks", "One day"])
def test_the_hours_and_points_of_a_table_add_up(heading: str) -> None:
    *rows, last = table(heading)
    first = 3 if heading == "Six weeks" else 4
    assert last[1] == "all" and len(rows) == {"Six weeks": 6, "One day": 5}[heading]
    for column in range(first, len(last)):
        assert sum(float(row[column]) for row in rows) == float(last[column]), (heading, column)


def test_the_hours_of_a_unit_are_those_of_lecture_lab_and_home() -> None:
    for unit, _, listed, lecture, lab, home, hours, points in table("Six weeks")[:-1]:
        assert int(lecture) + int(lab) + int(home) == int(hours) == 8
        assert sum(p + h for _, p, h in exercises(unit)) == int(points), unit
        assert [int(n) for n in listed.split(", ")] == chapters(unit)


def test_chapters_are_those_of_the_core_in_their_order_and_links_lead_to_them() -> None:
    assert [number for unit in UNITS for number in chapters(unit)] == list(range(1, 14))
    links = re.findall(r"\[(\d+)\]\(tutorials/(\w+)\)", PAGE)
    assert all(name in TUTORIALS and int(name[:2]) == int(number) for number, name in links)


def test_exercises_have_their_points_and_come_after_what_they_need() -> None:
    done: set[str] = set()
    read: set[int] = set()
    for unit in UNITS:
        read |= set(chapters(unit))
        assert exercises(unit)
        for id, points, hidden in exercises(unit):
            entry: Any = ENTRIES[id]
            assert (points, hidden) == (entry.points, entry.hidden), id
            assert entry.tutorial in read and set(entry.needs) <= done, id
            done.add(id)


def test_a_day_needs_nothing_that_it_leaves_out() -> None:
    done: set[str] = set()
    read: set[int] = set()
    for _, _, listed, ids, _ in table("One day")[:-1]:
        read |= {int(number) for number in listed.split(", ")}
        for id in re.findall(r"ex\d\d", ids):
            assert ENTRIES[id].tutorial in read and set(ENTRIES[id].needs) <= done, id
            done.add(id)


def test_a_misconception_is_what_the_check_says() -> None:
    for text in UNITS.values():
        quotes = re.findall(r'^- "(.+)".* \((ex\d\d)\)$', text, flags=re.M)
        assert len(quotes) >= 3
        for quote, id in quotes:
            catalog = [wrong.sentence for wrong in ENTRIES[id].exercise.wrong]
            # a sentence begins with the student's name
            tested = re.findall(rf"^=== {id} .*? \| (?:\w+: )?(.+)$", SEEN, flags=re.M)
            rest = re.sub(r"^\w+: ", "", quote)
            assert quote in catalog or any(said.startswith(rest) for said in tested), quote


def test_each_unit_says_what_to_know_to_read_to_do_and_has_a_question() -> None:
    for text in UNITS.values():
        for part in ("**Afterwards** a student can ", "\n- Reading: ", "\n- Exercises: ", "\n- Lab: "):
            assert part in text
    asked = dict(re.findall(r"^## Question (\d): (.+)$", EXAM, flags=re.M))
    assert dict(table("The exam")) == asked and list(asked) == list(UNITS)
    assert EXAM.count("{dropdown} Answer") == len(UNITS)


def test_numbers_of_the_exam_are_right() -> None:
    """One answer of each kind, computed anew."""
    h, r = [2.0, 0.6], 0.8
    assert "the inputs 2, -1, 1" in EXAM and f"is {h[0] * (1 + r) + h[1]:.4g}. The term of step t" in " ".join(
        EXAM.split()
    )
    c = 0.8 * 2 + 0.4 * 0.5
    assert f"c_t = {c:.4g}." in EXAM


def test_the_lab_of_unit_5_shows_that_an_open_gate_keeps_the_gradient(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    exec(code, {})
    shares = [float(a) / float(b) for a, b in re.findall(r": (\S+) at .+?, (\S+) at", capsys.readouterr().out)]
    assert len(shares) == 2 and shares[0] < 1e-6 and shares[1] > 0.5
    assert {path.name for path in tmp_path.iterdir()} == {"forget_bias_0.png", "forget_bias_3.png"}
