"""`minirnn grade` as a teacher uses it: whole classes, interrupted runs, corrected courses, other machines.

Tests `minirnn/learn/grading/session.py`, `minirnn/learn/grading/run.py` and `minirnn/learn/grading/publish.py`.
"""

import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import minirnn as mr
from minirnn.commands import cli
from minirnn.learn.course import load
from minirnn.learn.grading.journal import Records
from minirnn.learn.grading.publish import INTERVAL, SHARE, Publisher
from minirnn.learn.grading.students import Student
from minirnn.learn.reports import file_name
from minirnn.learn.reports.sheet import Sheet
from minirnn.learn.sandbox import system_locks
from minirnn.learn.sandbox.system_locks import Locks
from tests.learn.answers import solution
from tests.learn.grading.classes import hand_in, small_course, zipped
from tests.slow import slow_unless

ROOT = Path(cli.__file__).parents[1]
KILLS = int(os.environ.get("MINIRNN_KILLS", "3"))
"""The number of times that the grader is killed; twenty with `MINIRNN_KILLS=20 pytest -k killed`."""
WRONG = solution("ex05", ("da @ W.T", "2 * da @ W.T"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a course of two exercises in Python, and four submissions, as the current one."""
    monkeypatch.chdir(tmp_path)
    Path("course").mkdir()
    course = small_course(Path("course"), ("ex01", "ex05"))
    hand_in(Path("subs/ann"), course)
    zipped(hand_in(Path("subs/bob"), course, ex05=WRONG))
    hand_in(Path("subs/cid"), course, ex01=course.stub(course.entry("ex01")))
    Path("subs/eve.zip").write_bytes(b"PK\x03\x04 damaged")
    return tmp_path


@pytest.fixture
def run(capsys):
    """Runs ``minirnn grade`` on all submissions. Returns its status and output."""

    def run(*arguments, subs=None):
        subs = sorted(Path("subs").iterdir()) if subs is None else subs
        status = cli.main(["grade", "--trusted", *map(str, subs), "--course", "course", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out + err

    return run


def table(path="g.csv") -> dict[str, dict[str, str]]:
    with open(path) as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def totals(path="g.csv") -> dict[str, str]:
    return {id: row["total"] for id, row in table(path).items()}


ALL = {"ann": "11", "bob": "8", "cid": "7", "eve": "0"}


def test_nothing_unknown_is_graded_without_the_locks_that_matter(place, run, monkeypatch, capsys):
    monkeypatch.setattr(system_locks, "locks", lambda: Locks(True, True, 0, True))
    status = cli.main(["grade", "subs/ann", "--course", "course", "--out", "csv:g.csv"])
    assert status != 0 and not Path("g.csv").exists()
    said = capsys.readouterr().err
    assert "this system lacks Landlock" in said and "locks: namespaces, bounded scratch" in said and "--trusted" in said
    status, text = run("--trusted", "--out", "csv:g.csv", "--out", "feedback:{id}.md")
    assert totals() == ALL and "not locked as it should be: Landlock is missing" in text
    there = "locks: namespaces, bounded scratch, a filter of system calls"
    assert there in table()["ann"]["graded by"] and there in Path("ann.md").read_text()


@pytest.mark.parametrize("where", slow_unless([""], ["", "--jobs 2", "--executor threads:2", "--executor processes:2"]))
def test_one_damaged_submission_costs_only_itself_wherever_it_is_graded(place, run, where):
    status, text = run("--out", "csv:g.csv", *where.split())
    assert status == 1 and totals() == ALL
    for line in ("ann: 11 of 11 points", "bob: 8 of 11 points", "cid: 7 of 11 points"):
        assert re.search(rf"^{line}, \d+ s$", text, re.MULTILINE)
    assert re.search("^eve: 0 of 11 points, 0 s; not graded: it is not a zip file", text, re.MULTILINE)
    assert table()["eve"]["notes"].startswith("not graded: it is not a zip file")
    if where:
        first = Path("g.csv").read_bytes()
        run("--out", "csv:g.csv")
        assert Path("g.csv").read_bytes() == first


@pytest.mark.slow
def test_a_course_may_be_named_by_a_relative_path(place, run):
    """A kernel is compiled with locks that protect the course's folder."""
    course = small_course(Path("course"), ("ex17",))
    hand_in(Path("subs/ann"), course)
    assert run(subs=["subs/ann"])[1].startswith("ann: 4 of 4 points")


def test_every_report_says_what_graded(place, run):
    run("--out", "csv:g.csv", "--out", "junit:g.xml", "--out", "feedback:{id}.md", "--out", "gradescope:{id}.json")
    seed = re.search(r"seed ([0-9a-f]{12})", table()["ann"]["graded by"])
    assert seed and table()["ann"]["graded by"].startswith("minirnn ")
    for name in ("g.xml", "ann.md", "eve.md", "bob.json"):
        assert "NumPy 2" in Path(name).read_text() and f"minirnn {mr.__version__}" in Path(name).read_text()
    for name in ("g.xml", "ann.md"):  # students may see these
        assert seed[1] not in Path(name).read_text()
    load("course")
    text = Path("course/course.toml").read_text()
    Path("course/course.toml").write_text(text.replace("hidden_seed = 20261", "hidden_seed = 20262"))
    before = table()["ann"]["graded by"]
    run("--out", "csv:g.csv")
    after = table()["ann"]["graded by"]
    assert before.partition("seed")[0] == after.partition("seed")[0] and before != after


def test_equal_names_are_an_error_before_anything_is_graded(place, run):
    shutil.copytree("subs/ann", "more/ann")
    status, text = run("--out", "csv:g.csv", subs=["subs/ann", "subs/bob.zip", "more/ann"])
    assert status == 2 and "two submissions are from 'ann'" in text and not Path("g.csv").exists()
    status, text = run("--out", "csv:g.csv", "--id", "{id}/ann", subs=["subs/ann", "more/ann"])
    assert status == 0 and totals() == {"subs": "11", "more": "11"}


def test_two_students_never_share_a_file(place, run):
    """Ids that differ in signs only, also from a file's name that was made from another id, do not stop a class."""
    names = ["a b", "a_B", "...", "?", file_name("a b")]
    assert len({file_name(name).casefold() for name in names}) == 5
    assert not any(file_name(name).startswith(".") for name in names)
    for name in names[:2]:
        hand_in(Path("more") / name, load("course"))
    status, text = run("--out", "feedback:{id}.md", subs=["more/a b", "more/a_B"])
    assert status == 0 and Path("a_B.md").is_file() and Path(f"{file_name('a b')}.md").is_file()


def test_a_link_to_the_answers_of_others_earns_nothing(place, run):
    Path("more/eve").mkdir(parents=True)
    Path("more/eve/work").symlink_to(Path("subs/ann").absolute())
    Path("more/dan").mkdir()
    shutil.copytree("subs/ann", "more/dan/work")
    status, text = run("--id", "{id}/work", "--out", "csv:g.csv", subs=["more/eve/work", "more/dan/work"])
    assert status == 1 and totals() == {"eve": "0", "dan": "11"}
    assert re.search("^eve: 0 of 11 points, 0 s; not graded: work is a link", text, re.MULTILINE)


def test_what_may_be_a_class_or_one_student_is_refused_with_the_command_to_write(place, run):
    hand_in(Path("subs/zoe"), load("course"))
    status, text = run("--only", "ex01", "--out", "csv:g.csv", subs=["subs"])
    assert status == 2 and not Path("g.csv").exists()
    assert "subs may be a class or one student" in text and "for a class: minirnn grade subs/*; for one" in text
    assert run("--only", "ex01", "--one", subs=["subs"])[1].startswith("subs: 4 of 4 points")
    path = zipped(Path("subs"))
    status, text = run("--only", "ex01", subs=[path])
    assert status == 2 and "for a class: unpack it to DIR, and minirnn grade DIR/*; for one" in text


@pytest.mark.parametrize("packed", [False, True])
def test_the_download_of_a_platform_is_a_class_whatever_is_in_its_folders(place, run, packed):
    """Moodle's folders: two contain a zip file, one a file, and one something else."""
    for number, name in enumerate(("Ann A", "Bob B", "Cid C", "Dan D"), 101):
        folder = Path("dl") / f"{name}_{number}_assignsubmission_file_"
        if number < 103:
            zipped(hand_in(folder / "rnn-course", load("course")))
        elif number == 103:
            folder.mkdir()
            (folder / "ex01_mul_add.py").write_text(solution("ex01"))
        else:
            folder.mkdir()
            (folder / "notes.txt").write_text("")
    path = zipped(Path("dl")) if packed else Path("dl")
    status, text = run("--id", "{id}_*_assignsubmission_file_", "--only", "ex01", "--out", "csv:g.csv", subs=[path])
    assert totals() == {"Ann A": "4", "Bob B": "4", "Cid C": "4", "Dan D": "0"} and status == 1
    assert f"{path} is a class: it has the submissions of 4 students" in text
    assert "Dan D: 0 of 4 points, 0 s; not graded: no file of an exercise was found" in text


@pytest.mark.parametrize("packed", [False, True])
def test_a_flat_download_of_zip_files_is_a_class(place, run, packed):
    Path("dl").mkdir()
    for name in ("ann_7_hw.zip", "zoe_8_hw.zip"):
        shutil.copy("subs/bob.zip", Path("dl") / name)
    Path("dl/max_9_hw.rar").write_bytes(b"Rar!\x1a" + b"x" * 99)
    path = zipped(Path("dl")) if packed else Path("dl")
    status, text = run("--id", "{id}_*_hw.*", "--only", "ex01", "--out", "csv:g.csv", subs=[path])
    assert totals() == {"ann": "4", "max": "0", "zoe": "4"} and status == 1
    assert "it is a RAR file: make an ordinary zip file" in text


def test_one_zip_file_with_a_folder_for_each_student_is_a_class(place, run):
    for name in ("ann", "zoe"):
        hand_in(Path("all/hw1") / name, load("course"))
    Path("all/hw1/zoe/exercises/01_tape/ex01_mul_add.py").write_text("")
    Path("all/hw1/max").mkdir()
    Path("all/hw1/max/report.docx").write_text("")
    path = zipped(Path("all"))
    status, text = run("--out", "csv:g.csv", subs=[str(path)])
    assert totals() == {"ann": "11", "max": "0", "zoe": "7"}
    assert "is a class: it has the submissions of 3 students" in text
    assert status == 1 and "max: 0 of 11 points, 0 s; not graded: no file of an exercise was found" in text


@pytest.mark.slow
def test_who_handed_in_nothing_is_listed_with_zero_points(place, run):
    Path("r.csv").write_text("id,name\nann,A\nbob,B\ncid,C\nzoe,Z\n")
    status, text = run("--roster", "r.csv", "--out", "csv:g.csv", "--out", "junit:g.xml")
    assert totals() == {**ALL, "zoe": "0"} and "zoe: handed in nothing" in text
    assert table()["zoe"]["notes"] == "nothing was handed in" and table()["zoe"]["finished"] == "yes"
    assert "eve is not on the roster" in text and "not on the roster" in table()["eve"]["for the teacher"]
    assert 'name="zoe" tests="4" failures="0" errors="0" skipped="4"' in Path("g.xml").read_text()


def test_ignored_files_are_said_where_scores_are(place, run):
    Path("subs/ann/exercises/01_tape/ex01_mul_add.py").rename("subs/ann/ex01.py.txt")
    status, text = run("--out", "csv:g.csv", subs=["subs/ann"])
    said = "ignored: ex01.py.txt, did you mean ex01_mul_add.py?"
    assert f"ann: 7 of 11 points, 0 s\n  {said}" in re.sub(r"\d+ s$", "0 s", text, flags=re.MULTILINE)
    assert table()["ann"]["notes"] == said and status == 0


def test_late_work_and_overrides_change_the_reports_and_not_the_journal(place, run):
    Path("r.csv").write_text(
        "id,submitted,due\nann,2027-01-01T12:00Z,\nbob,2027-01-03T11:00Z,\ncid,2027-01-03T11:00Z,2027-02-01\neve,2027-01-01,\n"
    )
    Path("o.csv").write_text("id,exercise,points,comment\nann,ex05,0,copied\n")
    late = ("--late", "2", "--due", "2027-01-01T12:00Z", "--roster", "r.csv")
    run(*late, "--overrides", "o.csv", "--out", "csv:g.csv")
    assert totals() == {**ALL, "ann": "4", "bob": "4"} and table()["bob"]["changes"] == "handed in 2 days late: -4"
    status, text = run(*late, "--resume", "--out", "csv:g.csv")  # nothing is graded, but the reports are written
    assert totals() == {**ALL, "bob": "4"} and "points," not in text and status == 1
    assert Records(Path("g.csv.journal")).read("ann").score == 11


def test_corrections_that_a_run_leaves_out_are_named(place, run, seen):
    Path("d.csv").write_text("id,exercise,points,comment\nann,ex05,0,copied\nbob,ex05,1,\n")
    subs = ["subs/ann", "subs/bob.zip"]
    run("--overrides", "d.csv", "--out", "csv:g.csv", subs=subs)
    run("--overrides", "d.csv", "--out", "csv:g.csv", "--resume", subs=["subs/cid"])  # the journal knows ann and bob
    assert totals() == {"ann": "4", "bob": "5", "cid": "11"}
    said = "the last reports used --overrides d.csv; this run does not\n"
    assert said in run("--out", "csv:g.csv", "--resume", subs=subs)[1] and totals()["ann"] == "11"
    assert said not in run("--out", "csv:g.csv", "--resume", subs=subs)[1]
    run("--overrides", "d.csv", "--out", "csv:g.csv", "--resume", subs=subs)
    assert said in run("--out", "csv:g.csv", "--regrade", "g.csv.journal", subs=subs)[1]
    assert run("--overrides", "d.csv", "--out", "csv:h.csv", "--student", "ann", subs=subs)[0] == 0
    status, text = run("--overrides", "d.csv", "--out", "csv:i.csv", subs=["subs/ann"])
    assert status == 2 and "line 3: there is no student 'bob'" in text


# ---- stopped runs


@pytest.fixture
def begin(to_be_killed):
    """Starts ``minirnn grade`` in its own process."""

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "minirnn", "grade", "--trusted", *arguments]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=to_be_killed,
        )

    return begin


@pytest.mark.slow
@pytest.mark.parametrize("where", ["", "--jobs 2"])
def test_a_killed_grader_goes_on_and_the_report_is_the_same(place, run, begin, where):
    """It is killed at random moments, again and again, and each time continues with the existing journal."""
    arguments = [*map(str, sorted(Path("subs").iterdir())), "--course", "course", *where.split()]
    started = time.monotonic()
    begin(*arguments, "--out", "csv:whole.csv").communicate()
    span, kills, chance = time.monotonic() - started, 0, random.Random(KILLS)
    while kills < KILLS:
        process = begin(*arguments, "--out", "csv:g.csv", "--resume")
        time.sleep(chance.uniform(0, span))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        else:  # it ran to the end: start again and kill earlier
            Path("g.csv.journal").unlink()
            span *= 0.9
        process.communicate()
    process = begin(*arguments, "--out", "csv:g.csv", "--resume")
    text = process.communicate()[0]
    assert process.returncode == 1, text
    assert Path("g.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert not [name for name in os.listdir() if name.endswith(".tmp")]


def test_after_ctrl_c_the_reports_have_what_is_graded(place, run, monkeypatch):
    from minirnn.learn.grading import publish, task

    check = task.check

    def stopped(course, entry, file, **kwargs):
        if "ex05" in Path("g.csv.journal").read_text():  # ann's grades are there
            raise KeyboardInterrupt
        return check(course, entry, file, **kwargs)

    monkeypatch.setattr(task, "check", stopped)
    monkeypatch.setattr(publish, "INTERVAL", 1000.0)
    status, text = run("--out", "csv:new/folder/g.csv", "--journal", "g.csv.journal")
    assert status == 130 and "and --resume continues" in text
    assert totals("new/folder/g.csv") == {**dict.fromkeys(ALL, "0"), "ann": "11"}


def test_what_is_graded_is_not_graded_again(place, run):
    run("--out", "csv:g.csv", subs=["subs/ann", "subs/bob.zip"])
    status, text = run("--out", "csv:g.csv", "--resume")
    assert "ann:" not in text and "bob:" not in text and "cid: 7 of 11" in text and totals() == ALL
    hand_in(Path("subs/cid"), load("course"))  # submitted again
    status, text = run("--out", "csv:g.csv", "--resume")
    assert text.startswith("cid: 11 of 11") and "ann:" not in text and totals() == {**ALL, "cid": "11"}


@pytest.fixture
def seen(monkeypatch):
    """The exercises that are checked, by a stand-in that starts no process: an answer is right unless it says wrong."""
    from minirnn.learn.grading import reading, task

    def quick(course, entry, file, **kwargs):
        seen.append(entry.id)
        right = "wrong" not in Path(file).read_text()
        return task.Result(entry, "passed", [], entry.points, entry.hidden) if right else task.Result(entry, "failed")

    seen: list[str] = []
    monkeypatch.setattr(reading, "FORKS", False)
    monkeypatch.setattr(task, "check", quick)
    return seen


@pytest.mark.parametrize("again", [["--resume"], ["--student", "zoe"], ["--regrade", "g.csv.journal"]])
@pytest.mark.parametrize("listed", [True, False])
def test_grades_of_students_who_are_not_given_again_are_kept(place, run, seen, again, listed):
    """A submission that comes late is graded alone. The deduction for another late one stays."""
    Path("r.csv").write_text(
        "id,name,submitted,due\nANN,A,2027-01-01,\nbob,B,2027-01-03,\ncid,C,2027-01-01,\neve,E,2027-01-01,\n"
        "max,M,,\nzoe,Z,2027-01-01,\n"
    )
    more = ["--roster", "r.csv", "--late", "2", "--due", "2027-01-01T12:00"] if listed else []
    more += ["--out", "csv:g.csv", "--out", "feedback:{id}.md", "--out", "statistics:s.md"]
    run(*more)
    before = table()
    hand_in(Path("late/zoe"), load("course"))
    status, text = run(*more, *again, subs=["late/zoe"])
    after = table()
    assert "zoe: 11 of 11" in text and "kept the grades of 4 students not graded this time\n" in text
    assert ("max: handed in nothing" in text) == listed and text.count("handed in nothing") == listed
    assert after.pop("zoe")["total"] == "11" and after == {k: v for k, v in before.items() if k != "zoe"}
    assert ("handed in 2 days late: -4" in after["bob"]["changes"]) == listed
    assert "3 / 3" in Path("ANN.md" if listed else "ann.md").read_text()
    assert Path("s.md").read_text().startswith("5 students" if listed else "4 students")


def points(path="g.csv") -> dict[str, list[str]]:
    return {id: [row.get("ex01", ""), row.get("ex05", ""), row["total"], row["max"]] for id, row in table(path).items()}


WEEKS = {"ann": ["4", "0", "4", "11"], "dan": ["0", "7", "7", "11"]}


def hand_in_weekly() -> None:
    """Two weeks' work, each with the exercise of the week alone; dan comes in the second week."""
    for name in ("1/ann", "2/ann", "2/dan"):
        entry = load("course").entry("ex01" if name[0] == "1" else "ex05")
        Path(name, entry.file).parent.mkdir(parents=True)
        Path(name, entry.file).write_text("wrong" if name == "2/ann" else "right")


@pytest.mark.parametrize("again", [["--resume"], ["--regrade", "g.csv.journal"]])
def test_week_by_week_only_the_exercises_of_the_week_are_graded(place, run, seen, again):
    hand_in_weekly()
    run("--only", "ex01", "--out", "csv:g.csv", subs=["1/ann"])
    assert points() == {"ann": ["4", "", "4", "4"]}
    text = run("--only", "ex05", "--out", "csv:g.csv", *again, subs=["2/ann", "2/dan"])[1]
    assert seen == ["ex01", "ex05", "ex05"] and points() == WEEKS and table()["dan"]["finished"] == "yes"
    assert again == ["--resume"] or "ann: ex05 none -> 0\n" in text
    Path("1/ann", load("course").entry("ex01").file).write_text("wrong")  # the first week's, handed in again
    run("--only", "ex01", "--out", "csv:g.csv", "--resume", subs=["1/ann"])
    assert seen[3:] == ["ex01"] and points() == {**WEEKS, "ann": ["0", "0", "0", "11"]}


def test_grading_again_can_be_resumed_and_loses_no_other_exercise(place, run, seen, monkeypatch):
    """It grades ex05 of changed submissions, is stopped after the first, and goes on without --regrade."""
    from minirnn.learn.grading import run as grading

    subs = ["subs/ann", "subs/cid"]
    run("--out", "csv:g.csv", subs=subs)
    for name in subs:
        hand_in(Path(name), load("course"), ex01="wrong", ex05="wrong")
    tasks_of = grading.tasks_of

    def stopped(*plan):
        yield next(tasks_of(*plan))
        raise KeyboardInterrupt

    del seen[:]
    monkeypatch.setattr(grading, "tasks_of", stopped)
    assert run("--only", "ex05", "--regrade", "g.csv.journal", "--out", "csv:g.csv", subs=subs)[0] == 130
    assert points() == {"ann": ["4", "0", "4", "11"], "cid": ["4", "7", "11", "11"]}
    monkeypatch.setattr(grading, "tasks_of", tasks_of)
    run("--only", "ex05", "--resume", "--out", "csv:g.csv", subs=subs)
    assert seen == ["ex05", "ex05"] and points() == dict.fromkeys(("ann", "cid"), ["4", "0", "4", "11"])
    run("--student", "ann", "--out", "csv:g.csv", subs=subs)
    assert points()["ann"] == ["0", "0", "0", "11"] and points()["cid"][2] == "4"
    run("--resume", "--out", "csv:g.csv", subs=subs)
    assert seen[4:] == ["ex01"] and points()["cid"][2] == "0"


def test_going_on_with_another_course_or_other_settings_is_refused(place, run, seen):
    run("--out", "csv:g.csv")
    before = Path("g.csv").read_bytes()
    status, text = run("--out", "csv:g.csv", "--resume", "--notebooks")
    assert status == 2 and "was graded with other notebooks: False; expected True" in text
    with open("course/course.toml", "a") as file:
        file.write("\n# changed\n")
    status, text = run("--out", "csv:g.csv", "--resume")
    assert status == 2 and "was graded with another course" in text and "--regrade g.csv.journal" in text
    assert Path("g.csv").read_bytes() == before
    status, text = run("--resume")
    assert status == 2 and "there is no journal to continue" in text


def test_exercises_that_the_machine_had_no_time_for_are_tried_when_it_goes_on(place, run, monkeypatch):
    from minirnn.learn.grading import task

    check, seen = task.check, []

    def busy(course, entry, file, **kwargs):
        seen.append(entry.id)
        if entry.id == "ex05":
            return task.Result(entry, "failed", message="the machine is busy", busy=True)
        return check(course, entry, file, **kwargs)

    monkeypatch.setattr(task, "check", busy)
    status, text = run("--out", "csv:g.csv", subs=["subs/ann"])
    assert status == 1 and "; not judged, grade again: ex05" in text and table()["ann"]["finished"] == "no"
    assert table()["ann"]["for the teacher"] == "ex05: not judged, grade again"
    monkeypatch.setattr(
        task, "check", lambda course, entry, *a, **k: (seen.append(entry.id), check(course, entry, *a, **k))[1]
    )
    del seen[:]
    status, text = run("--out", "csv:g.csv", "--resume", subs=["subs/ann"])
    assert status == 0 and seen == ["ex05"] and totals() == {"ann": "11"} and table()["ann"]["finished"] == "yes"


# ---- parts of a class, and grading again


def test_one_exercise_alone(place, run):
    run("--only", "1", "--out", "csv:g.csv")
    assert list(table()["ann"])[:4] == ["id", "ex01", "total", "max"] and table()["ann"]["max"] == "4"
    assert totals() == {"ann": "4", "bob": "4", "cid": "0", "eve": "0"}


def test_one_student_is_graded_into_the_grades_of_all(place, run):
    assert run("--student", "BOB", "--out", "csv:b.csv")[0] == 0 and totals("b.csv") == {"bob": "8"}
    run("--out", "csv:g.csv")
    status, text = run("--student", "bob", "--out", "csv:g.csv")
    assert text.startswith("bob: 8 of 11") and "ann" not in text and totals() == ALL
    assert status == 1  # of all students graded there, one could not be graded
    status, text = run("--student", "nobody", "--out", "csv:g.csv")
    assert status == 2 and "there is no student 'nobody'; there are: ann, bob" in text


@pytest.mark.parametrize("only", slow_unless([True], [False, True]))
def test_after_a_mended_course_changed_grades_are_named(place, run, only):
    """By mistake, the course required another gradient in ex05. Correcting this makes wrong answers right, and the
    reverse.
    """
    run("--out", "csv:g.csv")
    Path("course/course.toml").write_text(
        re.sub(r'(id = "ex05".*?points = )5', r"\g<1>10", Path("course/course.toml").read_text(), flags=re.DOTALL)
    )
    more = ("--only", "ex05") if only else ()
    status, text = run("--regrade", "g.csv.journal", *more, "--out", "csv:g.csv", "--out", "diff:d.csv")
    assert "3 of 4 students have different points than before:\n  ann: ex05 7 -> 12, total 11 -> 16\n" in text
    assert totals() == {"ann": "16", "bob": "12", "cid": "12", "eve": "0"}
    assert Path("d.csv").read_text().splitlines()[:3] == [
        "id,exercise,before,after",
        "ann,ex05,7,12",
        "ann,total,11,16",
    ]
    status, text = run("--regrade", "g.csv.journal~", *more, "--resume", "--out", "csv:g.csv")
    assert "ann:" in text and "points," not in text.replace("points than", "")


def test_an_earlier_run_must_be_one(place, run):
    assert "no such file" in run("--regrade", "none", "--out", "csv:g.csv")[1]
    Path("old.csv").write_text("id,total\n")
    status, text = run("--regrade", "old.csv", "--out", "csv:g.csv")
    assert status == 2 and "old.csv is not a journal of grades" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "2", "--executor", "threads:2"], "both say where to grade"),
        (["--jail", "no-such-command --x"], "there is no command 'no-such-command'"),
        (["--executor", "rockets:9"], "expected threads"),
        (["--executor", "mpi"], "--executor: mpi "),  # no workers, or no mpi4py
        (["--grace", "1d"], "--grace without --late"),
        (["--late", "1", "--due", "2027-01-01"], "it is not known when the work of ann, bob, cid, eve was submitted"),
        (["--roster", "none.csv"], "none.csv: No such file"),
        (["--only", "ex99"], "no exercise 'ex99'"),
        (["--out", "diff:d.csv"], "expected --regrade OLD as well"),
        (["--out", "gradescope:r.json"], "use csv or junit, or one file per student, with {id} in its name"),
        (["--journal", "none/j"], "the journal cannot be written"),
    ],
)
def test_wrong_options_are_told_before_anything_is_graded(place, run, arguments, said):
    status, text = run(*arguments)
    assert status == 2 and said in text and not re.search(r"of \d+ points", text)


# ---- the cost of reports


def test_reports_are_written_seldom_enough_to_cost_next_to_nothing(python_course):
    """A clock that advances only while reports are written and answers are graded."""
    now, written = [0.0], []

    class Slow:
        def write(self, sheets):
            now[0] += 0.4
            written.append(now[0])

    class Empty:
        def read(self, student):
            return Sheet(student, "c")

    students = [Student(f"s{k}") for k in range(3)]
    publisher = Publisher(python_course, students, Empty(), Slow(), clock=lambda: now[0])  # type: ignore[arg-type]
    for _ in range(100_000):
        now[0] += 0.1
        publisher.now_and_then()
    publisher.now()
    assert publisher.spent == pytest.approx(0.4 * len(written)) and publisher.spent <= now[0] / SHARE + 0.9
    assert min(b - a for a, b in zip(written, written[1:-1], strict=False)) >= INTERVAL
    assert [sheet.student for sheet in publisher] == ["s0", "s1", "s2"]
