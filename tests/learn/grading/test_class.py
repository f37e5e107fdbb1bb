"""Reports on a whole class: numbers that NumPy confirms, and pairs that can be counted by hand.

Tests `minirnn/learn/grading/statistics.py`, `minirnn/learn/grading/statistics_picture.py`,
`minirnn/learn/grading/similarity.py`, `minirnn/learn/grading/tokens.py` and `minirnn/learn/grading/whole_class.py`.
"""

import csv
import io
import re

import numpy as np
import pytest

from minirnn.learn.course import CourseError, load
from minirnn.learn.grading import similarity
from minirnn.learn.grading.similarity import HINT, pairs
from minirnn.learn.grading.statistics import as_csv, as_markdown, statistics
from minirnn.learn.grading.statistics_picture import draw
from minirnn.learn.grading.tokens import tokens
from minirnn.learn.grading.whole_class import ClassReports
from minirnn.learn.reports.sheet import NOT_STARTED, Row, Sheet
from tests.learn.answers import solution

POINTS = np.array([[4, 1, 3, 0], [2, 1, 2, 0], [0, 1, 1, 0], [3, 1, 3, 0], [1, 1, 0, 0]])
"""Students by exercises. The third exercise has 3 points in two rows, and nobody started the fourth."""


def sheet_of(k: int) -> Sheet:
    a, b, c, _ = (int(p) for p in POINTS[k])
    rows = [
        Row("ex01", "ex01 A", "1", a, 4, a == 4, "", "" if a == 4 else "a | term" if k % 2 else "sign"),
        Row("ex02", "ex02 B", "2", b, 1, True, ""),
        Row("ex03", "ex03 C", "3", min(c, 2), 2, c > 1, "", "" if c > 1 else "=1+1"),
        Row("ex03", "ex03 C: hidden checks", "3h", max(0, c - 2), 1, c > 2, "", "", hidden=True),
        Row("ex04", "ex04 D", "4", 0, 2, False, "", NOT_STARTED),
    ]
    return Sheet(f"s{k}", "c", rows)


SHEETS = [*map(sheet_of, range(5)), Sheet("gone", "c", problem="damaged"), Sheet("late", "c", finished=False)]


def test_difficulty_and_discrimination_are_those_of_the_textbook():
    students, (a, b, c, d) = statistics(iter(SHEETS))
    assert students == 5 and [i.began for i in (a, b, c, d)] == [5, 5, 5, 0]
    assert a.mean == POINTS[:, 0].mean() / 4 and c.mean == POINTS[:, 2].mean() / 3 and (a.full, c.full) == (1, 2)
    rest = POINTS.sum(1) - POINTS[:, 2]
    assert c.discrimination == pytest.approx(np.corrcoef(POINTS[:, 2], rest)[0, 1])
    assert np.isnan(b.discrimination) and np.isnan(d.discrimination) and np.isnan(d.mean)
    assert a.diagnoses == [("a | term", 2), ("sign", 2)] and c.diagnoses == [("=1+1", 2)]


def test_what_the_machine_had_no_time_for_counts_for_nothing():
    busy = Sheet("s9", "c", [Row("ex01", "ex01 A", "1", 0, 4, False, "", "busy", busy=True)])
    assert statistics([*SHEETS, busy])[1][0].began == 5


def test_the_table_can_be_read_and_holds_no_formula():
    students, items = statistics(SHEETS)
    rows = list(csv.DictReader(io.StringIO("".join(as_csv(items)))))
    assert rows[0]["mean"] == "0.50" and rows[3]["mean"] == "" and rows[2]["diagnosis 1"] == "'=1+1"
    assert next(as_markdown(students, items, 1)) == "5 students; left out: 1 submission without grades\n\n"
    text = "".join(as_markdown(students, items))
    assert "| ex01 A | 4 | 5 | 1 | 50 % | 0." in text and "- ex01, 2 of 5: a \\| term\n" in text


def test_the_picture_shows_all_exercises():
    students, items = statistics(SHEETS)
    left, middle, right = draw(students, items).axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["ex01 A", "ex02 B", "ex03 C", "ex04 D"]
    widths = [patch.get_width() for patch in left.patches]
    assert widths == pytest.approx([1, 1, 1, 0, 0.2, 1, 0.4, 0])
    assert len(middle.collections[-1].get_offsets()) == 2 and len(right.texts) == 2
    draw(0, [])


# ---- similarity


def test_names_numbers_comments_and_layout_do_not_count():
    one = tokens("def f(a, b):\n    # the sum\n    return (a + b) * 2\n", True)
    assert one == tokens("def  total(x,y):\n  return ( x+y )*3.5  # mine\n", True)
    assert one != tokens("def f(a, b):\n    return (a - b) * 2\n", True)
    assert tokens("int k = 3; // x\n y[k] += /* z */ 2.0f;", False) == tokens("int j=4;\nx[ j ]+=1.f;", False)
    assert tokens("def f(:\n  '''", True) and tokens("\0(\n\x0c", True) is not None


LONG = """
def own(values):
    found = []
    for k in range(len(values)):
        if values[k] > {limit}:
            found.append(values[k] * {factor} - (k + 1) / (values[k] + 2))
        else:
            found.append({other})
    return sorted(found)
"""


def answer(limit: str, factor: str, other: str, extra: str = "") -> bytes:
    return (solution("ex05") + LONG.format(limit=limit, factor=factor, other=other) + extra).encode()


def test_a_copy_with_other_names_stands_out():
    pytest.importorskip("rapidfuzz")
    course = load()
    shapes = ["k * k", "max(k, 3)", "abs(k) if k else 0", "[k for k in values][0]", "sum(values) / len(values)", "-k"]
    answers = {
        f"s{n}": {"ex05": answer("0", "2", shape, "\n".join(f"x{j} = {'not ' * n} [j, {n}] " for j in range(2 * n)))}
        for n, shape in enumerate(shapes)
    }
    copied = answers["s3"]["ex05"].decode()
    for old, new in (("found", "result"), ("values", "v"), ("k", "i")):
        copied = re.sub(rf"\b{old}\b", new, copied)
    answers["copy"] = {"ex05": copied.encode()}
    first, *rest = pairs(course, answers)
    assert (first.one, first.other) == ("copy", "s3") and first.exercises[0][0] == "ex05"
    assert first.exercises[0][1] == pytest.approx(1) and all(pair.excess < first.excess for pair in rest)
    assert HINT in "".join(similarity.as_csv([first]))


def test_the_same_mistake_stands_out_among_right_answers():
    pytest.importorskip("rapidfuzz")
    course = load()
    wrong = solution("ex05", ("da @ W.T", "(da[:, ::-1] * (2 - h + 0)).sum() + W.T - da.T @ x"))
    answers = {f"s{n}": {"ex05": solution("ex05").encode()} for n in range(6)}
    answers |= {"a": {"ex05": wrong.encode()}, "b": {"ex05": wrong.replace("da", "g").encode()}}
    assert [(pair.one, pair.other) for pair in pairs(course, answers)] == [("a", "b")]


def test_the_right_answer_alone_says_nothing():
    pytest.importorskip("rapidfuzz")
    course = load()
    answers = {f"s{n}": {id: solution(id).encode() for id in ("ex05", "ex07")} for n in range(6)}
    assert pairs(course, answers) == [] and pairs(course, {}) == []


# ---- files


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("statistics:s.txt", "expected statistics:FILE that ends in .csv, .md, .png, .svg"),
        ("similarity:", "expected similarity:FILE"),
        ("diff:d.csv", "shows what --regrade changes\n  expected --regrade OLD as well"),
        ("statistics:/dev/null/s.csv", "/dev/null/s.csv: its folder cannot be made"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_at_once(wanted, said):
    with pytest.raises(CourseError) as caught:
        ClassReports([wanted], False)
    assert said in str(caught.value)


def test_similarity_without_its_library_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(similarity, "find_spec", lambda name: None)
    with pytest.raises(
        CourseError, match=r'similarity needs rapidfuzz\n  install it: pip install "minirnn\[similarity'
    ):
        ClassReports(["similarity:s.csv"], False)


def test_all_forms_are_written(tmp_path, course):
    names = [tmp_path / f"s.{ending}" for ending in ("csv", "md", "png", "svg")]
    reports = ClassReports([f"statistics:{name}" for name in names], False)
    reports.write(SHEETS, [], course, [])
    assert [name.read_bytes()[:4] for name in names] == [b"id,n", b"5 st", b"\x89PNG", b"<?xm"]
