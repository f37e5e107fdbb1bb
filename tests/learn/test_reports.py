"""The reports have exactly the fields that the platforms publish."""

import csv
import datetime
import hashlib
import html
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from minirnn.learn.course import CourseError
from minirnn.learn.reports import FORMATS, Reports
from minirnn.learn.reports.sheet import NOT_STARTED, Change, Row, Sheet
from minirnn.learn.reports.stamp import Stamp

ROWS = [
    Row("ex01", "ex01 Product", "1.1", 3, 3, True, "all right", "", 0.1, "exercises/01_tape/ex01.py"),
    Row("ex01", "ex01 Product: hidden checks", "1.1h", 0, 2, False, "1 of 3", "", 0.0, "e/ex01.py", hidden=True),
    Row("ex02", "ex02 Tape", "1.2", 1, 4, False, "dx  0.5 x\x1b[0m\0", "a term is missing & <more>", 1.25, "e/ex02.py"),
    Row("ex03", "ex03 Differences", "2.1", 0, 2, False, "not started", NOT_STARTED, 0.0, "e/ex03.py"),
]
SHEET = Sheet("alice", "minirnn", ROWS, 12.6)
OTHER = Sheet("=cmd|' /C calc'!A0", "minirnn", ROWS[:2], 1.0, finished=False)
ENVIRONMENT = {
    "CLASSROOM": "rnn", "ASSIGNMENT": "lstm", "OWNER": "alice", "SUBMISSION_TAG": "submit/2027-02-01T14-32-05Z-a1b2c3d",
    "COMMIT_URL": "https://host/commit", "RELEASE_URL": "https://host/release",
}  # fmt: skip


@pytest.fixture
def runner(monkeypatch):
    """The environment of Classroom 50's runner."""
    for name in (*ENVIRONMENT, "ASSIGNMENT_TYPE", "REVIEW_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def render(name: str, *sheets: Sheet) -> str:
    return FORMATS[name].render(list(sheets) or [SHEET])


def test_gradescope():
    """https://gradescope-autograders.readthedocs.io/en/latest/specs/"""
    report = json.loads(render("gradescope"))
    assert set(report) <= {
        "score", "execution_time", "output", "output_format", "test_output_format", "test_name_format", "visibility",
        "stdout_visibility", "extra_data", "tests", "leaderboard",
    }  # fmt: skip
    assert report["score"] == 4.0 == sum(t["score"] for t in report["tests"])
    assert report["execution_time"] == 13 and isinstance(report["execution_time"], int)
    visibilities = {"visible", "hidden", "after_due_date", "after_published"}
    formats = {"text", "html", "simple_format", "md", "ansi"}
    assert {report["visibility"], report["stdout_visibility"]} <= visibilities and report["output_format"] in formats
    for test, row in zip(report["tests"], ROWS, strict=True):
        assert set(test) <= {
            "score", "max_score", "status", "name", "name_format", "number", "output", "output_format", "tags",
            "visibility", "extra_data",
        }  # fmt: skip
        assert test["status"] in ("passed", "failed") and isinstance(test["score"], float)
        assert test["visibility"] in visibilities and {test["name_format"], test["output_format"]} <= formats
        assert (test["score"], test["max_score"], test["number"]) == (row.score, row.most, row.number)
        assert isinstance(test["output"], str) and isinstance(test["tags"], list)
    assert [t["visibility"] for t in report["tests"]] == ["visible", "after_published", "visible", "visible"]
    assert report["tests"][2]["extra_data"] == {"diagnosis": "a term is missing & <more>"}


def test_classroom50(runner):
    """foundation50/classroom50, schemas/result-v1.schema.json: closed at the top, required keys, patterns."""
    report = json.loads(render("classroom50"))
    assert set(report) == {
        "schema", "classroom", "assignment", "assignment_type", "owner", "submission", "commit", "release", "review",
        "datetime", "score", "max-score", "tests",
    }  # fmt: skip
    assert report["schema"] == "classroom50/result/v1" and report["assignment_type"] == "individual"
    assert all(isinstance(report[k], str) and report[k] for k in set(report) - {"score", "max-score", "tests"})
    assert report["submission"].startswith("submit/") and report["review"] == report["commit"]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", report["datetime"])
    assert report["datetime"] == "2027-02-01T14:32:05Z"  # the time of submission, which is the same in every run
    assert (report["score"], report["max-score"]) == (4, 11) and type(report["score"]) is int
    for test in report["tests"]:
        assert {"test-name", "passed", "score", "max-score"} <= set(test)
        assert type(test["passed"]) is bool and type(test["score"]) is int and type(test["max-score"]) is int
        assert 0 <= test["score"] <= test["max-score"] and test["test-name"]


@pytest.mark.parametrize("tag", ["t", "submit/x", "submit/2027-02-30T14-32-05Z-a1b2c3d", "submit/2027-02-01T14-32-05"])
def test_classroom50_has_the_time_of_grading_if_the_tag_has_none(runner, tag):
    runner.setenv("SUBMISSION_TAG", tag)
    when = datetime.datetime.fromisoformat(json.loads(render("classroom50"))["datetime"])
    assert abs(datetime.datetime.now(datetime.UTC) - when) < datetime.timedelta(minutes=5)


def test_classroom50_takes_group_and_review_from_its_runner(runner):
    runner.setenv("ASSIGNMENT_TYPE", "group")
    runner.setenv("REVIEW_URL", "https://host/compare")
    report = json.loads(render("classroom50"))
    assert (report["assignment_type"], report["review"]) == ("group", "https://host/compare")


def test_classroom50_outside_of_its_runner_is_refused_before_anything_is_graded(runner, tmp_path):
    runner.delenv("OWNER")
    runner.setenv("COMMIT_URL", "")
    with pytest.raises(CourseError, match="environment variables OWNER, COMMIT_URL\n"):
        Reports([f"classroom50:{tmp_path / 'result.json'}"])


def test_csv_has_a_line_a_student_and_no_formula():
    rows = list(csv.reader(io.StringIO(render("csv", SHEET, OTHER))))
    assert rows[0] == ["id", "ex01", "ex02", "ex03", "total", "max", "finished"]
    assert rows[1] == ["'=cmd|' /C calc'!A0", "3", "0", "0", "3", "5", "no"]
    assert rows[2] == ["alice", "3", "1", "0", "4", "11", "yes"]


def test_junit_can_be_parsed_whatever_was_printed():
    root = ElementTree.fromstring(render("junit", SHEET, OTHER))
    suite = root.find("testsuite")
    assert suite is not None and suite.attrib == {
        "name": "alice", "tests": "4", "failures": "2", "errors": "0", "skipped": "1", "time": "12.600",
    }  # fmt: skip
    cases = suite.findall("testcase")
    assert cases[0].attrib["name"] == "ex01 Product", "a name that stays the same when the points change"
    assert [child.tag for child in cases[0]] == ["system-out"] and cases[0][0].text == "3 of 3 points\nall right"
    failure, skipped = cases[2].find("failure"), cases[3].find("skipped")
    assert failure is not None and failure.attrib["message"] == "a term is missing & <more>"
    assert failure.text == "1 of 4 points\ndx  0.5 x\ufffd[0m\ufffd"
    assert skipped is not None and skipped.attrib["message"] == NOT_STARTED
    assert skipped.text == "0 of 2 points\nnot started"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("gradescope", "is not a report\n  expected FORMAT:FILE with FORMAT in gradescope, classroom50, csv"),
        ("xml:grades.xml", "'xml:grades.xml' is not a report"),
        ("csv:", "'csv:' is not a report"),
        (":grades", "is not a report"),
        ("csv:/dev/null/at/all.csv", "/dev/null/at/all.csv: its folder cannot be made: Not a directory"),
        ("feedback:/dev/null/at/{id}.md", "its folder cannot be made"),
        ("gradescope:results.json", "this format holds one submission, not 2\n  use csv or junit"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_at_once(wanted, said):
    with pytest.raises(CourseError) as caught:
        Reports([wanted], 2)
    assert said in str(caught.value)


def test_a_report_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "two" / "folders" / "grades.csv"
    reports = Reports([f"csv:{target}"], 2)
    reports.write([OTHER])
    reports.write([OTHER, SHEET])
    assert len(target.read_text().splitlines()) == 3 and list(target.parent.iterdir()) == [target]


# ---- additions to the platforms' own fields

STAMP = Stamp("0.1", "3.12", "2.1", "Linux on x", "c0ffee", "5eed", ("no Landlock",))
FULL = Sheet(
    "alice", "minirnn", [*ROWS[:2], replace(ROWS[2], busy=True), replace(ROWS[3], private="it printed the seed")], 1.0,
    notes=("ignored: ex03 (1).py",), remarks=("ex01 imports minirnn",), changes=(Change("handed in 1 day late", -2),),
)  # fmt: skip
SECRET = ("5eed", "no Landlock", "it printed the seed", "ex01 imports minirnn")
"""Text that students must not read."""


@pytest.mark.parametrize("name", ["classroom50", "junit", "feedback"])
def test_students_read_notes_and_changes_and_nothing_of_the_teachers(name, runner):
    text = FORMATS[name].render([FULL], STAMP)
    assert "c0ffee" in text and not any(secret in text for secret in SECRET)
    assert "ignored: ex03 (1).py" in text and "-2" in text and "1 day late" in text


def test_gradescope_shows_the_teachers_part_to_nobody_else():
    report = json.loads(FORMATS["gradescope"].render([FULL], STAMP))
    *visible, last = report["tests"]
    assert last["visibility"] == "hidden" and "score" not in last
    assert last["output"] == "ex01 imports minirnn\nex03 Differences:\nit printed the seed"
    shown = json.dumps([visible, report["output"]])
    assert not any(secret in shown for secret in SECRET) and report["extra_data"]["graded_by"]["seed"] == "5eed"
    lines = report["output"].splitlines()
    assert lines[0] == f"graded by {STAMP.line()}" and lines[2:] == ["-2 handed in 1 day late", "ignored: ex03 (1).py"]
    assert "ex02 could not be judged and should be graded again" in lines[1] and report["score"] == 2.0


def test_the_name_of_a_student_is_in_titles_and_the_table():
    named = replace(SHEET, name="Alice A.", email="a@x")
    assert FORMATS["csv"].render([named, OTHER]).splitlines() == [
        "id,name,email,ex01,ex02,ex03,total,max,finished", "'=cmd|' /C calc'!A0,,,3,0,0,3,5,no",
        "alice,Alice A.,a@x,3,1,0,4,11,yes",
    ]  # fmt: skip
    assert "<title>minirnn: Alice A. (alice)</title>" in FORMATS["html"].render([named])
    assert FORMATS["feedback"].render([named]).startswith("# minirnn: Alice A. (alice)\n")


def test_csv_tells_the_teacher_all():
    (row,) = csv.DictReader(io.StringIO(FORMATS["csv"].render([FULL], STAMP)))
    assert row["total"] == "2" and row["finished"] == "no" and row["changes"] == "handed in 1 day late: -2"
    assert FORMATS["csv"].render([Sheet("eve", "c", problem="damaged")]).endswith("eve,0,0,no\n")
    assert "\n- handed in 1 day late: -2\n" in FORMATS["feedback"].render([FULL])
    assert row["for the teacher"] == "ex02: not judged, grade again; ex01 imports minirnn; ex03: it printed the seed"
    assert all(word in row["graded by"] for word in ("5eed", "no Landlock", "c0ffee"))


def test_junit_has_an_error_where_the_machine_was_busy():
    suite = ElementTree.fromstring(FORMATS["junit"].render([FULL], STAMP)).find("testsuite")
    assert suite is not None and suite.attrib["errors"] == "1" and suite.attrib["failures"] == "1"
    assert [child.tag for child in suite][0] == "properties" and suite.findall("testcase")[2].find("error") is not None


def test_what_an_answer_prints_ends_no_block_of_the_feedback():
    row = replace(ROWS[2], output="```\n# A heading\n````\n<script>", name="ex02 <b>*x*</b>")
    text = FORMATS["feedback"].render([Sheet("a_b|c", "c", [row], notes=("[x](y)",))])
    assert "`````text\n```\n# A heading\n````\n<script>\n`````" in text
    assert r"ex02 \<b\>\*x\*\</b\>" in text and r"a\_b\|c" in text and r"\[x\](y)" in text


def test_the_page_has_each_comment_below_its_line_and_no_markup_of_a_student():
    evil = "</td><script>alert(1)</script>&amp;"
    row = replace(ROWS[2], answer=f"import os\n{evil} < 1\nlast", comments=((2, evil), (2, "more"), (9, "nowhere")),
                  parts=(("dx", 1, 1), (evil, 0, 3)), hints=2)  # fmt: skip
    sheet = Sheet(f"ann {evil}", "c", [*ROWS[:2], row], notes=(evil,), changes=(Change(evil, -1),))
    text = FORMATS["html"].render([sheet], STAMP)
    assert "<script" not in text and text.count("&lt;script&gt;") == 7
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", text.partition('class="file"')[2])
    plain = [html.unescape(re.sub("<[^>]*>", "|", row)).replace("||", "|") for row in rows]
    assert plain == ["|1|import os|", f"|2|{evil} < 1|", f"||Line 2:| {evil}|", "||Line 2:| more|", "|3|last|"]
    assert re.search(r'1.2</td><td><a href="#at-ex02">.*1 / 4</td><td class="n">2</td>', text)
    assert all(secret not in text for secret in SECRET) and not re.search(r"(src|href)=[^#]*[:/]|url\(", text)


@pytest.mark.parametrize("decided", [False, True])
def test_the_page_has_what_the_teacher_says_about_an_exercise_that_was_not_begun(decided):
    row = replace(ROWS[3], output="not started\n\n  Your teacher says: see me", decided=decided)
    text = FORMATS["html"].render([Sheet("ann", "c", [row])])
    assert ("see me" in text) == ('href="#at-ex03"' in text) == decided and "not started</span>" in text


def test_the_page_is_whole_html():
    class Nesting(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attributes):
            self.open += [tag] if tag != "meta" else []

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    parser = Nesting()
    parser.feed(FORMATS["html"].render([FULL], STAMP))
    assert parser.open == []


def hashed(student: str) -> str:
    return hashlib.sha256(student.encode()).hexdigest()[:16]


def test_a_file_for_each_student_stays_in_its_folder_which_is_made(tmp_path):
    sheets = [Sheet(name, "c", ROWS) for name in ("ann", "../../x", ".hidden", "é b")]
    folder = tmp_path / "out"
    Reports([f"gradescope:{folder}/{{id}}.json"], 4).write(sheets)
    assert sorted(p.name for p in folder.iterdir()) == [
        f"_.._x-{hashed('../../x')}.json", "ann.json", f"hidden-{hashed('.hidden')}.json", f"é_b-{hashed('é b')}.json"
    ]  # fmt: skip


def test_a_students_name_makes_no_file_that_cannot_be_written(tmp_path):
    """A folder or a zip file may have the longest name that the system allows, and the ending is added to it."""
    names = ["é" * 127, "é" * 126 + "x", "a" * 200, "a" * 199 + "b", "\N{SNOWMAN}" * 85, "ann"]
    Reports([f"feedback:{tmp_path}/feedback-{{id}}.md"], len(names)).write([Sheet(name, "c", ROWS) for name in names])
    assert len(list(tmp_path.iterdir())) == len(names) and (tmp_path / "feedback-ann.md").exists()
