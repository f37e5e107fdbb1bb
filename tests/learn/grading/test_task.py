"""Whatever one submission does, all of its exercises are graded, and no other submission is affected."""

import io
import os
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest

from minirnn.learn.course import CourseError
from minirnn.learn.grading import task as grading
from minirnn.learn.grading.courses import pack_course
from minirnn.learn.grading.handed import Handed
from minirnn.learn.grading.reading import collect
from minirnn.learn.grading.task import grade_submission
from minirnn.learn.sandbox import templates
from tests.learn.answers import body, solution
from tests.learn.grading.classes import FULL, hand_in
from tests.learn.sandbox.attacks.attack import forks_of
from tests.slow import slow_unless


def grade(course, submission: Path, after_each=lambda grades: None):
    return grading.grade(course, submission.stem, collect(submission, course), after_each=after_each)


def scores(grades):
    return {id: (r.status, r.score, r.hidden) for id, r in grades.results.items()}


def test_the_full_points_are_those_of_the_course(course):
    assert {e.id: (e.points, e.hidden) for e in course.entries.values()} == {k: v[1:] for k, v in FULL.items()}


@pytest.mark.parametrize(
    "layout", slow_unless(2, ["zip", "tree", "flat files", "zip in a folder", "without exercises/"])
)
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
    assert grades.sheet().notes == ()


@pytest.mark.parametrize(
    ("code", "said"),
    slow_unless(
        3,
        [
            ("while True: pass", "stopped after 1 s in rnn_cell_backward, line 5"),
            ("import os\nos._exit(0)", "ended before it returned"),
            ("import sys\nsys.exit(0)", "calls exit"),
            ("np.ones(1 << 34)", "too much memory"),
            ("import os\nos.kill(os.getppid(), 9)", "sends a signal"),
            ("print('{\"score\": 100}')\nreturn None", "returned None"),
        ],
    ),
)
def test_a_hostile_answer_costs_its_own_exercise_only(tmp_path, course, code, said):
    grades = grade(course, hand_in(tmp_path / "mallory", course, ex05=body("ex05", code)))
    assert scores(grades) == {**FULL, "ex05": ("failed", 0, 0)}
    assert said in grades.results["ex05"].message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    __import__('os').kill(1, 9)\n", "ex05 sends a signal to a process, which no exercise may do"),
        (
            "    if len(x) not in (2, 3):\n        open('/tmp/a', 'w')\n",
            "ex05 writes to the file /tmp/a, which no exercise may do",
        ),
        ("    open('/etc/passwd')\n", "ex05 was refused by a lock: [Errno 13] Permission denied: '/etc/passwd'"),
    ],
)
def test_what_no_exercise_may_do_is_told_to_the_teacher(tmp_path, course, line, said):
    begin = "def rnn_cell_backward(x, h_prev, W, R, h, dh):\n"
    submission = hand_in(tmp_path / "eve", course, ex05=solution("ex05", (begin, begin + line)))
    assert grading.grade(course, "eve", collect(submission, course), ["ex05"]).sheet().remarks == (said,)


def test_a_graded_answer_is_not_told_of_hidden_checks_to_come(tmp_path, course):
    handed = collect(hand_in(tmp_path / "ann", course), course)
    first, second = grading.grade(course, "ann", handed, ["ex05"]).sheet().rows
    assert first.output.endswith("all right") and second.output == "3 of 3 hidden checks are right"
    assert first.number == second.number == "2.1"


def test_a_wrong_gradient_costs_its_points_and_the_hidden_ones(tmp_path, course):
    wrong = solution("ex05", ("da @ W.T", "2 * da @ W.T"))
    assert scores(grade(course, hand_in(tmp_path / "bob", course, ex05=wrong)))["ex05"] == ("failed", 4, 0)


def test_an_answer_for_the_public_sizes_only_fails_the_hidden_checks(tmp_path, course):
    """The answer has memorized B, I and H of the two public cases."""
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


@pytest.mark.parametrize("damage", ["cut", "empty", "no zip"])
def test_a_damaged_zip_is_zero_points_and_a_reason(tmp_path, course, damage):
    path = tmp_path / "ivan.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("exercises/03_rnn/ex05_rnn_cell_backward.py", solution("ex05"))
    data = path.read_bytes()
    path.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "no zip": b"PK not really"}[damage])
    sheet = grade(course, path).sheet()
    assert "it is not a zip file, or its end is missing" in sheet.problem and sheet.score == 0 and sheet.finished
    assert sheet.most == course.points and all(f"not graded: {sheet.problem}" == row.output for row in sheet.rows)


def test_after_each_exercise_the_grades_so_far_are_known(tmp_path, course):
    seen = []
    grade(course, hand_in(tmp_path / "judy", course, ex05="x = (\n"), lambda grades: seen.append(grades.sheet()))
    assert [sheet.score for sheet in seen] == [0, 4, 4, 8]
    assert [sheet.finished for sheet in seen] == [False, False, False, True]
    assert all(len(sheet.rows) == 6 for sheet in seen) and "stopped before this exercise" in seen[1].rows[2].output


def test_a_mistake_of_the_grader_costs_one_exercise_and_is_told(tmp_path, course, monkeypatch):
    check = grading.check

    def broken(course, entry, *args, **kwargs):
        if entry.id == "ex05":
            raise ZeroDivisionError("ours")
        return check(course, entry, *args, **kwargs)

    monkeypatch.setattr(grading, "check", broken)
    grades = grade(course, hand_in(tmp_path / "ken", course))
    assert scores(grades) == {**FULL, "ex05": ("failed", 0, 0)}
    assert grades.results["ex05"].message == "the grader failed: tell the maintainers (ZeroDivisionError: ours)"


def zip_of(course, **texts: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for entry in course.entries.values():
            archive.writestr(entry.file, texts.get(entry.id, solution(entry.id)))
    return data.getvalue()


def without_times(sheet):
    rows = [grading.Row(**{**vars(row), "seconds": 0}) for row in sheet.rows]
    return grading.Sheet(**{**vars(sheet), "rows": rows, "seconds": 0})


def test_a_task_can_be_sent_and_depends_on_its_arguments_alone(course):
    data = zip_of(course, ex05=solution("ex05", ("da @ W.T", "2 * da @ W.T")))
    sent = pickle.loads(pickle.dumps((grade_submission, pack_course(course), "ann", data)))
    packed, by_folder = sent[0](*sent[1:]), grade_submission(course.folder, "ann", data)
    assert packed.score == 12 and packed.student == "ann" and packed.finished
    assert without_times(packed) == without_times(by_folder)
    assert pickle.loads(pickle.dumps(packed)) == packed


def test_a_task_may_be_some_exercises_only(course):
    sheet = grade_submission(course.folder, "ann", zip_of(course), only=["1"])
    assert [row.id for row in sheet.rows] == ["ex01", "ex01"] and sheet.score == sheet.most == 4 and sheet.finished


@pytest.mark.parametrize("data", [b"", b"PK", b"\0" * 1000, os.urandom(5000), b"PK\x05\x06" + b"\xff" * 18])
def test_any_bytes_are_a_sheet(python_course, data):
    sheet = grade_submission(python_course.folder, "ann", data)
    assert sheet.problem and sheet.score == 0 and sheet.finished and len(sheet.rows) == 2


def test_a_task_with_wrong_arguments_is_refused(course):
    with pytest.raises(TypeError, match="data is str\n  expected the bytes"):
        grade_submission(course.folder, "ann", "nothing")  # type: ignore[arg-type]
    with pytest.raises(CourseError, match="no exercise 'ex99'"):
        grade_submission(course.folder, "ann", b"", only=["ex99"])


def test_another_minirnn_grades_nothing(course):
    packed = pack_course(course)
    with pytest.raises(CourseError, match=r"this machine has minirnn .*\n  expected 0\.0\.0"):
        grade_submission(grading.PackedCourse(packed.digest, "0.0.0", packed.data), "ann", b"")
    with pytest.raises(CourseError, match="differs from the grader's"):
        grade_submission(grading.PackedCourse("0" * 64, packed.version, packed.data), "ann", b"")


def test_remarks_of_a_result_are_for_the_teacher(python_course):
    text = "import minirnn\n" + solution("ex01")
    sheet = grade_submission(python_course.folder, "ann", Handed({"ex01": text.encode()}))
    assert sheet.remarks == ("ex01 imports minirnn, whose tape can compute any gradient",)
    assert not any("tape" in row.output for row in sheet.rows)


def test_an_answer_for_which_the_machine_had_no_time_is_marked(python_course, monkeypatch):
    """It gets no points, but is not reported as wrong, because it should be graded again."""
    said = "not judged: the machine is busy, grade again"
    busy = lambda course, entry, file, **kwargs: grading.Result(entry, "failed", message=said, busy=True)  # noqa: E731
    monkeypatch.setattr(grading, "check", busy)
    sheet = grade_submission(python_course.folder, "ann", Handed({"ex01": solution("ex01").encode()}))
    assert sheet.busy == ["ex01"] and sheet.score == 0 and all(row.busy for row in sheet.rows)


def test_what_is_printed_in_hidden_cases_is_for_the_teacher(python_course):
    signature = python_course.entry("ex01").exercise.function
    text = solution("ex01").replace(f"def {signature}(", f"print('loaded')\n\n\ndef {signature}(")
    text = text.replace("    return ", "    print('x has', x.shape)\n    return ")
    visible, hidden = grade_submission(python_course.folder, "ann", Handed({"ex01": text.encode()})).rows
    assert "x has" in visible.output and visible.private == "" and "x has" not in hidden.output
    assert hidden.private.count("x has") == 3


def test_a_wrong_answer_comes_with_its_text_and_a_comment_on_its_line(python_course):
    text = solution("ex01", ("dy.sum(0)", "dy.sum(1)"))
    row = grade_submission(python_course.folder, "ann", Handed({"ex01": text.encode()}, hints={"ex01": 99})).rows[0]
    ((line, said),) = row.comments
    assert row.answer == text and "sum(1)" in text.splitlines()[line - 1] and "axis" in said and row.hints == 3
    assert row.parts == (("dx", 1, 1), ("dw", 1, 1), ("db", 0, 1))
    broken = grade_submission(python_course.folder, "ann", Handed({"ex01": b"x = (\n"})).rows[0]
    assert [line for line, _ in broken.comments] == [1] and broken.answer == "x = (\n"
    right = grade_submission(python_course.folder, "ann", Handed({"ex01": solution("ex01").encode()})).rows[0]
    assert right.answer == "" and right.comments == ()


@pytest.mark.parametrize("text", [b"\0\0\0", b"\xff\xfe x", b"x = '\xe9'", b"(" * 100_000, b"", b"\r" * 1000])
def test_a_file_of_any_bytes_costs_its_exercise(python_course, text):
    sheet = grade_submission(python_course.folder, "ann", Handed({"ex01": text}))
    assert sheet.score == 0 and sheet.finished and not sheet.problem and "the grader failed" not in sheet.rows[0].output


@pytest.mark.slow
def test_grading_leaves_no_process_and_no_file_behind(tmp_path, course, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    templates.close_all()  # the templates are kept for the next submission, with two files each
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    grade(course, hand_in(tmp_path / "leo", course, ex05="while True: pass\n"))
    templates.close_all()
    assert list((tmp_path / "tmp").iterdir()) == []
    assert forks_of(os.getpid()) == []
    assert not files or len(os.listdir("/proc/self/fd")) <= files
