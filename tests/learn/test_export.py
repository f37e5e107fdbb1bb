"""Exported graders run only their own files, whatever is in a student's checkout."""

import json
import os
import shlex
import subprocess
import sys
import zipfile

import pytest

from minirnn.learn.course import CourseError, load
from minirnn.learn.export import copy_course, export
from tests.learn.answers import solution
from tests.slow import slow_unless

EVIL = "raise SystemExit('the checkout is run')\n"
RUNNER = {"CLASSROOM": "c", "ASSIGNMENT": "a", "OWNER": "o", "SUBMISSION_TAG": "t", "COMMIT_URL": "https://host/c",
          "RELEASE_URL": "https://host/r"}  # fmt: skip


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A teacher's course of one exercise, worth 7 points."""
    folder = tmp_path_factory.mktemp("teacher") / "course"
    copy_course(folder)
    text = (folder / "course.toml").read_text()
    head, *rows = text.split("[[exercise]]")
    row = next(row for row in rows if 'id = "ex01"' in row)
    changed = "\n".join("points = 7" if line.startswith("points") else line for line in row.splitlines())
    (folder / "course.toml").write_text(f"{head}[[exercise]]{changed}\n")
    return load(folder)


def test_a_copy_of_the_course_is_named_after_its_folder_and_has_its_own_hidden_seed(tmp_path):
    made = []
    for name in ("rnn-2027", 'a "name"'):
        copy_course(tmp_path / name)
        made.append(load(tmp_path / name))
    assert [course.name for course in made] == ["rnn-2027", 'a "name"']
    seeds = {course.hidden_seed for course in (load(), *made)}
    assert len(seeds) == 3 and all(len(course.hidden_seed) == 48 for course in made)
    assert made[0].entries.keys() == load().entries.keys()


@pytest.mark.parametrize(("version", "used"), [("3.10", "python3.11"), ("3.12", "python3")])
def test_setup_of_gradescope_takes_python_3_11_or_later(course, tmp_path, version, used):
    """Stand-ins for apt-get and the two Pythons record how they were called."""
    grader, commands = unpacked(course, "gradescope", tmp_path), tmp_path / "bin"
    commands.mkdir()
    old = version == "3.10"
    for name in ("apt-get", "python3", "python3.11"):
        answer = 'if [ "$2" = -c ]; then exit ' + str(int(old)) + "; fi\n" if name == "python3" else ""
        stand_in = commands / name
        stand_in.write_text(f'#!/bin/bash\necho {name} "$@" >> {shlex.quote(str(tmp_path / "calls"))}\n{answer}')
        stand_in.chmod(0o755)
    text = (grader / "setup.sh").read_text()
    (tmp_path / "setup.sh").write_text(text.partition("/autograder/venv/bin/python")[0])
    subprocess.run(["bash", str(tmp_path / "setup.sh")], check=True, env={"PATH": f"{commands}:/usr/bin:/bin"})
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[-1] == f"{used} -I -m venv /autograder/venv"
    assert ("apt-get install -y -qq python3.11 python3.11-venv" in calls) == old


@pytest.fixture
def checkout(tmp_path):
    """A student's checkout with a right answer, and with traps for a grader that imports from it."""
    folder = tmp_path / "checkout"
    answer = folder / "exercises/01_tape/ex01_mul_add.py"
    answer.parent.mkdir(parents=True)
    answer.write_text(solution("ex01"))
    for name in ("minirnn/__main__.py", "minirnn/__init__.py", "pip/__init__.py", "pip/__main__.py", "numpy.py",
                 "json.py", "sitecustomize.py", "usercustomize.py", "venv.py", "hashlib.py"):  # fmt: skip
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(EVIL)
    return folder


def unpacked(course, platform, folder):
    export(course, platform, folder / "out.zip")
    with zipfile.ZipFile(folder / "out.zip") as archive:
        archive.extractall(folder / "grader")
    return folder / "grader"


def run(grader, checkout, *outs):
    environment = {**os.environ, **RUNNER, "MINIRNN_GRADER_PYTHON": sys.executable, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-I", str(grader / "autograder.py"), *outs]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_classroom50_grades_with_the_teachers_course_and_runs_nothing_of_the_checkout(course, checkout, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("here")
    (checkout / "result.json").symlink_to(victim)
    grader = unpacked(course, "classroom50", tmp_path)
    done = run(grader, checkout)
    assert done.returncode == 0, done.stderr
    report = json.loads((checkout / "result.json").read_text())
    assert report["tests"][0]["max-score"] == report["tests"][0]["score"] == 7
    assert victim.read_text() == "here" and not (checkout / "result.json").is_symlink()


@pytest.mark.slow
def test_the_workflow_writes_its_reports_outside_of_the_checkout(course, checkout, tmp_path):
    grader = unpacked(course, "classroom50", tmp_path)
    text = (grader / "grade.yml").read_text()
    assert "python -I ../grader/autograder.py junit:../grades.xml csv:../grades.csv" in text
    done = run(grader, checkout, "csv:../grades.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "grades.csv").read_text().splitlines()[1].startswith("checkout,8,8,8")


@pytest.mark.parametrize(
    "name", slow_unless(["new"], ["minirnn/learn/judge.py", "run.py", "manifest.json", "new", "course/course.toml"])
)
def test_a_grader_whose_files_were_changed_does_not_run(course, checkout, tmp_path, name):
    grader = unpacked(course, "classroom50", tmp_path)
    path = grader / ("minirnn/new.py" if name == "new" else name)
    path.write_text((path.read_text() if path.exists() else "") + " ")
    done = run(grader, checkout)
    assert done.returncode != 0 and path.name in done.stderr and "exported" in done.stderr
    assert not (checkout / "result.json").exists()


@pytest.mark.parametrize(
    "what", slow_unless(["no Python"], ["all is well", "a changed file", "a disk that is full", "no Python"])
)
def test_gradescope_always_has_results(course, tmp_path, what):
    """A failing grader gives its reason to the teacher. Students are told that it is not their fault."""
    home = tmp_path / "autograder"
    (home / "results").mkdir(parents=True)
    (home / "venv/bin").mkdir(parents=True)
    answer = home / "submission/ex01_mul_add.py"
    answer.parent.mkdir()
    answer.write_text(solution("ex01"))
    unpacked(course, "gradescope", tmp_path).rename(home / "source")
    python = home / "venv/bin/python"
    fails = "echo 'no \"space\" left\\on\ndevice \u00e4' >&2; exit 3"
    body = fails if what == "a disk that is full" else f'exec {shlex.quote(sys.executable)} "$@"'
    if what != "no Python":
        python.write_text(f"#!/bin/sh\n{body}\n")
        python.chmod(0o755)
    if what == "a changed file":
        (home / "source/course/course.toml").write_text("")
    (home / "results/results.json").write_text("of an earlier run")
    script = home / "source/run_autograder"
    script.write_text(script.read_text().replace("/autograder/", f"{home}/"))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, cwd="/", env=environment)
    assert done.returncode == 0, done.stderr
    assert not os.listdir(temporary)
    report = json.loads((home / "results/results.json").read_text())
    if what == "all is well":
        assert report["score"] == 8
        return
    assert report["score"] == 0 and "Not graded: the grader itself failed" in report["output"]
    (test,) = report["tests"]
    reason = {"no Python": "No such file", "a changed file": "not the files that were exported: course/course.toml",
              "a disk that is full": "no space lefton device "}[what]  # fmt: skip
    assert test["visibility"] == "hidden" and reason in test["output"] and reason.split()[-1] in done.stderr


@pytest.mark.slow
def test_gradescope_starts_isolated_from_its_own_folder(course, tmp_path):
    grader = unpacked(course, "gradescope", tmp_path)
    text = (grader / "run_autograder").read_text()
    assert "cd /autograder/source\n" in text and "python -I run.py grade /autograder/submission --course" in text
    for name in ("run_autograder", "setup.sh"):
        subprocess.run(["bash", "-n", str(grader / name)], check=True)
    done = subprocess.run([sys.executable, "-I", str(grader / "run.py"), "--version"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([sys.executable, str(grader / "run.py"), "--version"], capture_output=True, text=True)
    assert done.returncode != 0 and "not isolated" in done.stderr


@pytest.mark.parametrize(
    ("only", "kept"),
    [(["ex01", "5"], ["ex01", "ex05"]), (["ex41"], ["ex09", "ex15", "ex16", "ex24", "ex25", "ex35", "ex41"])],
)
def test_a_copy_has_only_the_exercises_that_are_named_and_those_of_the_capstone(tmp_path, only, kept):
    copy_course(tmp_path / "small", only)
    course = load(tmp_path / "small")
    assert sorted(course.entries) == kept
    assert all(set(entry.needs) <= set(kept) for entry in course.entries.values())
    files = [path.name for path in (tmp_path / "small" / "exercises").rglob("ex*.*")]
    assert sorted(name[:4] for name in files) == kept
    text = (tmp_path / "small" / "course.toml").read_text()
    assert text.count("# ----") == len(course.chapters) and text.count("[[exercise]]") == len(kept)


def test_a_copy_with_an_exercise_that_is_not_there_writes_nothing(tmp_path):
    with pytest.raises(CourseError, match="no exercise 'ex99'"):
        copy_course(tmp_path / "small", ["ex99"])
    assert not list(tmp_path.iterdir())
