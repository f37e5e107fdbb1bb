"""Grading: whatever a submission does, every exercise is graded, and the report is there from the beginning."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from minirnn.learn import grade as grading
from minirnn.learn.course import HERE, CourseError, load
from minirnn.learn.grade import grade, grade_all
from minirnn.learn.reports import Reports
from tests.learn.answers import body, solution

SMALL = ("ex01", "ex05", "ex17")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Three exercises with small limits."""
    folder = tmp_path_factory.mktemp("course")
    head, *rows = (HERE / "course.toml").read_text().split("[[exercise]]")
    kept = [row for row in rows if any(f'id = "{id}"' in row for id in SMALL)]
    text = "[[exercise]]".join([head.replace("seconds = 20 ", "seconds = 2 "), *kept])
    (folder / "course.toml").write_text(text)
    return load(folder)


def hand_in(folder: Path, course, **texts: str) -> Path:
    """A submission: all solutions, but for those given."""
    for entry in course.entries.values():
        file = folder / entry.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(texts.get(entry.id, solution(entry.id)))
    return folder


def scores(grades):
    return {id: (r.status, r.score, r.hidden) for id, r in grades.results.items()}


FULL = {"ex01": ("passed", 3, 1), "ex05": ("passed", 5, 2), "ex17": ("passed", 3, 1)}


def test_the_full_points_are_those_of_the_course(course):
    assert {e.id: (e.points, e.hidden) for e in course.entries.values()} == {k: v[1:] for k, v in FULL.items()}


@pytest.mark.parametrize("layout", ["tree", "zip", "zip in a folder", "flat files", "without exercises/"])
def test_solutions_have_all_points_wherever_they_lie(tmp_path, course, layout):
    submission = hand_in(tmp_path / "alice", course)
    if layout == "zip":
        shutil.make_archive(str(submission), "zip", submission)
    elif layout == "zip in a folder":
        shutil.make_archive(str(submission), "zip", tmp_path, "alice")
    elif layout == "flat files":
        for path in list(submission.rglob("ex*.*")):
            path.rename(submission / path.name)
    elif layout == "without exercises/":
        for path in list((submission / "exercises").iterdir()):
            path.rename(submission / path.name)
    target = tmp_path / "alice.zip" if layout.startswith("zip") else submission
    grades = grade(course, target)
    assert scores(grades) == FULL and grades.student == "alice" and grades.score == course.points


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("while True: pass", "stopped after 2 s in rnn_cell_backward, line 5"),
        ("import os\nos._exit(0)", "ended before it returned"),
        ("import sys\nsys.exit(0)", "calls exit"),
        ("np.ones(1 << 34)", "too much memory"),
        ("import os\nos.kill(os.getppid(), 9)", "sends a signal"),
        ("print('{\"score\": 100}')\nreturn None", "returned None"),
    ],
)
def test_a_hostile_answer_costs_its_own_exercise_only(tmp_path, course, code, said):
    grades = grade(course, hand_in(tmp_path / "mallory", course, ex05=body("ex05", code)))
    assert scores(grades) == {**FULL, "ex05": ("failed", 0, 0)}
    assert said in grades.results["ex05"].message


def test_a_wrong_gradient_costs_its_points_and_the_hidden_ones(tmp_path, course):
    wrong = solution("ex05", ("da @ W.T", "2 * da @ W.T"))
    assert scores(grade(course, hand_in(tmp_path / "bob", course, ex05=wrong)))["ex05"] == ("failed", 4, 0)


def test_an_answer_for_the_public_sizes_only_fails_the_hidden_checks(tmp_path, course):
    """B, I and H of the two public cases are learned by heart."""
    signature = "def rnn_cell_backward(x, h_prev, W, R, h, dh):\n"
    heart = "    if len(x) not in (2, 3):\n        return [0 * a for a in (x, h_prev, W, R, h[0])]\n"
    text = solution("ex05", (signature, signature + heart))
    status, score, hidden = scores(grade(course, hand_in(tmp_path / "eve", course, ex05=text)))["ex05"]
    assert (status, score, hidden) == ("passed", 5, 0)


def test_what_is_not_handed_in_or_untouched_is_not_started(tmp_path, course):
    submission = hand_in(tmp_path / "carol", course, ex01=course.stub(course.entry("ex01")))
    (submission / course.entry("ex05").file).unlink()
    grades = grade(course, submission)
    assert scores(grades) == {**FULL, "ex01": ("not started", 0, 0), "ex05": ("not started", 0, 0)}
    assert "was not handed in" in grades.results["ex05"].message
    assert {r.id for r in grades.sheet().rows if r.not_started} == {"ex01", "ex05"}


def test_other_files_of_a_submission_are_never_run(tmp_path, course):
    submission = hand_in(tmp_path / "dave", course)
    trap = f"open({str(tmp_path / 'trap')!r}, 'w')\n"
    for name in ("conftest.py", "sitecustomize.py", "exercises/03_rnn/numpy.py", "minirnn.py", "exercises/conftest.py"):
        (submission / name).write_text(trap)
    (submission / "pytest.ini").write_text("[pytest]\naddopts = -p conftest\n")
    assert scores(grade(course, submission)) == FULL and not (tmp_path / "trap").exists()


def test_links_out_of_a_submission_are_not_followed(tmp_path, course):
    secret = tmp_path / "secret.py"
    secret.write_text(solution("ex05"))
    submission = hand_in(tmp_path / "frank", course)
    path = submission / course.entry("ex05").file
    path.unlink()
    path.symlink_to(secret)
    assert scores(grade(course, submission))["ex05"] == ("not started", 0, 0)


def test_a_huge_file_is_left_alone(tmp_path, course):
    submission = hand_in(tmp_path / "grace", course)
    with open(submission / course.entry("ex05").file, "ab") as file:
        file.truncate(1 << 30)
    assert scores(grade(course, submission))["ex05"][0] == "not started"


def test_a_zip_that_climbs_out_of_its_folder_writes_nothing_outside(tmp_path, course):
    path = tmp_path / "zip" / "heidi.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../ex05_rnn_cell_backward.py", solution("ex05"))
        archive.writestr("/ex01_mul_add.py", solution("ex01"))
    before = sorted(tmp_path.rglob("*"))
    grades = grade(course, path)
    assert sorted(tmp_path.rglob("*")) == before
    assert grades.results["ex05"].passed  # it counts by its name


@pytest.mark.parametrize("damage", ["cut", "empty", "encrypted flag", "no zip"])
def test_a_damaged_zip_is_told(tmp_path, course, damage):
    path = tmp_path / "ivan.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("exercises/03_rnn/ex05_rnn_cell_backward.py", solution("ex05"))
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "empty":
        data = bytearray()
    elif damage == "encrypted flag":
        data[6] |= 1
        data[data.rindex(b"PK\x01\x02") + 8] |= 1
    else:
        data = bytearray(b"PK not really")
    path.write_bytes(data)
    with pytest.raises(CourseError, match=r"ivan\.zip"):
        grade(course, path)


def test_the_report_is_written_after_every_exercise(tmp_path, course):
    seen = []
    target = tmp_path / "results.json"
    reports = Reports([f"gradescope:{target}"])

    def after_each(grades):
        reports.write(grades.sheet())
        seen.append(json.loads(target.read_text()))

    grade(course, hand_in(tmp_path / "judy", course, ex05="while True: pass\n"), after_each)
    assert [report["score"] for report in seen] == [0, 4, 4, 8]
    assert [report["extra_data"]["finished"] for report in seen] == [False, False, False, True]
    assert all(len(report["tests"]) == 6 for report in seen)
    assert "did not come so far" in seen[1]["tests"][2]["output"] and "not come to the end" in seen[2]["output"]


def test_a_mistake_of_the_grader_costs_one_exercise_and_is_told(tmp_path, course, monkeypatch):
    check = grading.check

    def broken(course, entry, *args, **kwargs):
        if entry.id == "ex05":
            raise ZeroDivisionError("ours")
        return check(course, entry, *args, **kwargs)

    monkeypatch.setattr(grading, "check", broken)
    grades = grade(course, hand_in(tmp_path / "ken", course))
    assert scores(grades) == {**FULL, "ex05": ("failed", 0, 0)}
    assert grades.results["ex05"].message == "the grader failed: ZeroDivisionError: ours"


def test_several_submissions_at_a_time_keep_their_order_and_their_points(tmp_path, course):
    names = [f"student{k}" for k in range(6)]
    wrong = {"student1": "while True: pass\n", "student4": "x ="}
    folders = [hand_in(tmp_path / n, course, **({"ex05": wrong[n]} if n in wrong else {})) for n in names]
    reports = Reports([f"csv:{tmp_path / 'grades.csv'}"], len(folders))
    graded = grade_all(course, folders, 3, lambda g: reports.write(g.sheet()))
    assert [g.student for g in graded] == names
    assert [g.score for g in graded] == [8 if n in wrong else 15 for n in names]
    rows = (tmp_path / "grades.csv").read_text().splitlines()
    assert rows[0] == "id,ex01,ex05,ex17,total,max,finished"
    assert rows[2] == "student1,4,0,4,8,15,yes" and rows[6] == "student5,4,7,4,15,15,yes"


def test_grading_leaves_no_process_and_no_file_behind(tmp_path, course, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    grade(course, hand_in(tmp_path / "leo", course, ex05="while True: pass\n"))
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not files or len(os.listdir("/proc/self/fd")) <= files
