"""The commands of the course: learn init, check, hint, show, reset, grade, course."""

import json
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from minirnn.commands import cli
from minirnn.learn.course import STATE, load
from tests.learn.answers import solution

COURSE = load()
EX05 = COURSE.entry("ex05").file


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """A course folder, and the current one."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["learn", "init", "learn"]) == 0
    assert capsys.readouterr().out == f"learn is ready. Go on with: cd learn && {sys.executable} -m minirnn learn\n"
    monkeypatch.chdir(tmp_path / "learn")
    return tmp_path / "learn"


@pytest.fixture
def run(capsys):
    """Runs a command: its status, and what it printed."""

    def run(*arguments):
        status = cli.main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out + err

    return run


def test_a_student_passes_an_exercise_with_wrong_answers_first(folder, run):
    assert run("check")[0] == 0  # an exercise that is not started is not wrong
    status, text = run("check", "ex05")
    assert status == 0 and "not started" in text and f"Open {EX05} and begin" in text
    status, text = run("hint", "ex05")
    assert status == 0 and "  1. " in text and "2 more: minirnn hint ex05" in text and "In your file" not in text

    (folder / EX05).write_text("def rnn_cell_backward(x, h_prev, W, R, h, dh)\n    pass\n")
    status, text = run("check", "ex05")
    assert status == 1 and f"{EX05}, line 1" in text and "not valid Python: expected ':'" in text

    (folder / EX05).write_text(solution("ex05", (" * (1 - h * h)", "")))
    status, text = run("check", "ex05")
    assert (
        status == 1 and "0 / 5 points" in text and "(1 - h * h)" in text and "the factor (1 - h * h) is missing" in text
    )
    assert "minirnn hint ex05   |   minirnn show ex05 --diff\n  1 of 3 hints used\n" in text
    line = 1 + solution("ex05").splitlines().index("    da = dh * (1 - h * h)")
    text = run("hint", "ex05")[1]
    found = " ".join(text.partition("In your file: ")[2].partition("\n\n")[0].split())
    assert found.startswith(f"line {line}: ") and "the factor (1 - h * h) is missing" in found
    assert text.index("In your file") < text.index("  1. ") < text.index("  2. ")

    (folder / EX05).write_text(solution("ex05"))
    status, text = run("check", "5")
    assert status == 0 and "5 / 5 points" in text
    assert text.endswith("minirnn show ex05 --solution\n  2 of 3 hints used\n")
    assert run("show", "ex05", "--solution") == (0, COURSE.solution(COURSE.entry("ex05")))


def test_all_exercises_are_listed(folder, run):
    (folder / EX05).write_text(solution("ex05"))
    (folder / COURSE.entry("ex01").file).write_text("x =")
    status, text = run("check", "--all")
    lines = text.splitlines()
    assert status == 1 and len(lines) == 47 and lines[-1] == "1 of 45 passed"
    assert lines[0].endswith("0 / 3 points") and lines[1].endswith("not started")
    assert lines[list(COURSE.entries).index("ex05")].endswith("5 / 5 points")


def test_the_solution_is_shown_only_after_passing(folder, run):
    status, text = run("show", "ex05", "--solution")
    assert status == 2 and "not passed yet" in text and "rnn_cell_backward(x" not in text
    assert run("show", "ex05") == (0, COURSE.stub(COURSE.entry("ex05")))


def test_a_picture_of_the_error_is_drawn_next_to_the_exercise(folder, run, unrendered):
    (folder / EX05).write_text(solution("ex05", ("da @ W.T", "2 * da @ W.T")))
    status, text = run("show", "ex05", "--diff")
    target = (folder / EX05).with_suffix(".png")
    assert status == 0 and text.strip() == str(target) and target.read_bytes() == b"a picture"
    (folder / EX05).write_text("x =")
    status, text = run("show", "ex05", "--diff")
    assert status == 2 and "no numbers to draw" in text


def test_reset_keeps_what_was_written(folder, run):
    for k in range(2):
        (folder / EX05).write_text(f"mine {k}\n")
        status, text = run("reset", "ex05")
        assert status == 0 and ".bak" in text
    assert (folder / EX05).read_text() == COURSE.stub(COURSE.entry("ex05"))
    assert (folder / f"{EX05}.bak").read_text() == "mine 0\n" and (folder / f"{EX05}.bak2").read_text() == "mine 1\n"
    assert run("reset", "ex05")[0] == 0 and not (folder / f"{EX05}.bak3").exists()
    (folder / EX05).unlink()
    assert run("check", "ex05")[1].count("minirnn reset ex05") == 1
    assert run("reset", "ex05")[0] == 0 and (folder / EX05).exists()


WRONG = [
    (["check", "ex99"], "no exercise 'ex99'; there are: ex01"),
    (["check", "ex01", "--all"], "both --all and ex01 are given"),
    (["check", "ex05", "--device", "cuda-sim,gpu"], "--device is 'gpu'; expected cuda-sim or cuda"),
    (["check", "ex05", "--device", ""], "--device is ''"),
    (["hint", "x"], "no exercise 'x'"),
    (["reset", "0"], "no exercise '0'"),
    (["show", "ex"], "no exercise 'ex'"),
    (["learn", "init"], "the name of the new folder is missing"),
    (["learn", "init", "."], ". is there already and not empty"),
    (["learn", "init", "new", "--course", "nowhere"], "nowhere/course.toml: no such file"),
    (["grade", "nowhere"], "nowhere: no such folder or zip file"),
    (["grade", "exercises", "--jobs", "0"], "--jobs is 0; expected at least 1"),
    (["grade", "exercises", "--out", "xml:a"], "'xml:a' is not a report"),
    (["grade", "exercises", "--course", "nowhere"], "nowhere/course.toml: no such file"),
    (["grade", "README.md"], "README.md: no such folder or zip file"),
    (["course", "init"], "the name of the new folder is missing"),
    (["course", "init", "exercises"], "exercises is there already"),
    (["course", "verify", "exercises"], "exercises/course.toml: no such file"),
    (["course", "export", "--out", "README.md/a.zip"], "README.md/a.zip: its folder cannot be made: File exists"),
    (["course", "verify", "--only", "ex99"], "no exercise 'ex99'"),
    (["course", "map", "--only", "ex01"], "minirnn course map: --only is for init and verify"),
    (["course", "map", "nowhere"], "nowhere/course.toml: no such file"),
    (["course", "verify", "a", "b"], "a and b; expected one folder"),
    (["course", "new-exercise"], "the name of the exercise is missing"),
    (["course", "new-exercise", "bend"], "course.toml: no such file"),
]


@pytest.mark.slow
def test_wrong_commands_are_told_in_a_line(folder, run):
    before = sorted(p for p in folder.rglob("*"))
    for arguments, said in WRONG:
        status, text = run(*arguments)
        assert status == 2 and said in text and text.count("\n") == 1, text
        assert sorted(p for p in folder.rglob("*")) == before


def test_a_numpy_exercise_has_no_device(folder, run):
    status, text = run("check", "ex05", "--device", "cuda")
    assert status == 2 and ("ex05 is NumPy" in text or "NVIDIA" in text or "pycuda" in text)


def test_a_kernel_on_a_gpu(folder, run, device):
    """Right and wrong kernels, and one that does not compile; points and progress come only from the simulator."""
    if device != "cuda":
        pytest.skip("the simulator is tested in tests/learn")
    path = folder / COURSE.entry("ex17").file
    path.write_text(solution("ex17"))
    status, text = run("check", "ex17", "--device", "cuda")
    assert status == 0 and "on the GPU: right" in text
    assert json.loads((folder / STATE).read_text())["passed"] == {}
    path.write_text(solution("ex17", ("dh[k] * u[k]", "dh[k]")))
    status, text = run("check", "ex17", "--device", "cuda-sim,cuda")
    assert status == 1 and "on the GPU: failed" in text and "2 / 3 points" in text
    path.write_text("nonsense")
    assert run("check", "ex17", "--device", "cuda")[0] == 1


def test_commands_outside_of_a_course_folder_say_how_to_make_one(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for command in (["check"], ["hint"], ["show"], ["reset", "ex01"], ["learn"]):
        status, text = run(*command)
        assert status == 2 and "not a course folder; make one with: minirnn learn init DIR" in text


def test_when_all_is_passed_the_commands_say_so(folder, run):
    state = json.loads((folder / STATE).read_text())
    import hashlib

    state["passed"] = {
        e.id: hashlib.sha256((folder / e.file).read_bytes()).hexdigest() for e in COURSE.entries.values()
    }
    (folder / STATE).write_text(json.dumps(state))
    assert run("check") == (0, "All exercises are passed.\n")
    assert "name the one" in run("hint")[1] and "name the one" in run("show")[1]


# ---- teachers


@pytest.fixture
def short(tmp_path):
    """A teacher's course of two exercises."""
    folder = tmp_path / "rnn-2027"
    assert cli.main(["course", "init", str(folder)]) == 0
    head, *rows = (folder / "course.toml").read_text().split("[[exercise]]")
    kept = [row for row in rows if 'id = "ex01"' in row or 'id = "ex17"' in row]
    (folder / "course.toml").write_text("[[exercise]]".join([head, *kept]))
    return folder


def test_a_course_of_ones_own_is_copied_out_verified_and_graded(tmp_path, short, run, monkeypatch):
    assert run("course", "verify", short)[1].endswith("2 exercises, 8 points: all good\n")
    assert run("course", "verify", short, "--only", "1")[1].endswith("1 exercise, 4 points: all good\n")
    monkeypatch.chdir(tmp_path)
    assert run("learn", "init", "learn", "--course", short)[0] == 0
    assert len(list(Path("learn/exercises").rglob("ex*.*"))) == 2
    Path("learn", COURSE.entry("ex01").file).write_text(solution("ex01"))
    status, text = run(
        "grade", "--trusted", "learn", "--course", short, "--out", "gradescope:results.json", "--out", "csv:grades.csv"
    )
    assert status == 0 and "learn: 4 of 8 points" in text
    report = json.loads(Path("results.json").read_text())
    assert report["score"] == 4 and report["extra_data"].pop("graded_by")["minirnn"]
    assert report["extra_data"] == {"course": "rnn-2027", "finished": True}
    head, line = Path("grades.csv").read_text().splitlines()
    assert head.startswith("id,ex01,ex17,total,max,finished,") and line.startswith("learn,4,0,4,8,yes,")


def test_a_teacher_adds_an_exercise_and_a_student_of_that_course_solves_it(
    tmp_path, short, run, monkeypatch, unrendered
):
    status, text = run("course", "new-exercise", "my-gate", short)
    assert status == 0 and f"{short}/references/my-gate.py  the inputs, and what is expected" in text
    status, text = run("course", "new-exercise", "my-gate", short)
    assert status == 2 and "has an exercise 'my-gate' already" in text
    status, text = run("course", "verify", short)
    assert status == 1 and text.endswith("3 exercises, 11 points: 4 complaints\n")
    assert all(line.split()[2:] == ["s", "ok"] and float(line.split()[1]) >= 0 for line in text.splitlines()[:2])
    assert "a hint is still the template's: A first hint" in text.splitlines()[2]
    assert "    my-gate  My gate" in run("course", "map", short)[1]

    folder = tmp_path / "student"
    assert run("learn", "init", folder, "--course", short)[0] == 0
    monkeypatch.chdir(folder)
    status, text = run("check", "my-gate")
    assert status == 0 and "Open exercises/own/my-gate.py and begin" in text
    (folder / "exercises/own/my-gate.py").write_text(
        "def my_gate_backward(x, w, y, dy):\n    da = dy * (1 - y)\n    return da * w, (da * x).sum(0)\n"
    )
    status, text = run("check", "my-gate")
    assert status == 1 and "0 / 2 points" in text and "the square is missing" in text and "my-gate.py, line 2" in text
    assert "1. A first hint: where to begin.\n\n  1 of 3 hints used; 2 more" in run("hint", "my-gate")[1]
    assert run("show", "my-gate", "--diff")[0] == 0 and (folder / "exercises/own/my-gate.png").exists()
    (folder / "exercises/own/my-gate.py").write_text((short / "solutions/own/my-gate.py").read_text())
    assert run("check", "my-gate")[0] == 0
    assert "[x] my-gate  My gate                            1 of 3 hints used" in run("course", "map")[1]
    assert run("reset", "my-gate")[0] == 0
    assert Path("exercises/own/my-gate.py").read_text() == (short / "exercises/own/my-gate.py").read_text()


@pytest.mark.slow
def test_a_course_that_does_not_hold_what_it_promises_is_told(short, run):
    path = short / "exercises" / COURSE.entry("ex01").exercise.path
    path.write_text(solution("ex01"))
    (short / "course.toml").write_text((short / "course.toml").read_text().replace("points = 3", "points = 1", 1))
    status, text = run("course", "verify", short)
    assert status == 1 and "the stub counts as passed" in text and "some outputs are worth nothing" in text
    assert "4 complaints" in text


def test_the_gradescope_bundle_holds_a_grader_that_can_be_started_and_the_course(tmp_path, short, run):
    target = tmp_path / "autograder.zip"
    assert run("course", "export", short, "--out", target) == (0, f"wrote {target}\n")
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
        assert {"setup.sh", "run_autograder", "minirnn/learn/sandbox/child.py", "course/course.toml"} <= set(names)
        assert not any("__pycache__" in name or name.startswith(("/", "..")) for name in names)
        for name in ("setup.sh", "run_autograder"):
            assert archive.getinfo(name).external_attr >> 16 & stat.S_IXUSR
        assert 'name = "rnn-2027"' in archive.read("course/course.toml").decode()


def test_the_classroom50_bundle_holds_a_grader_a_workflow_and_the_course(tmp_path, short, run):
    target = tmp_path / "bundle.zip"
    assert run("course", "export", short, "--to", "classroom50", "--out", target)[0] == 0
    with zipfile.ZipFile(target) as archive:
        names = set(archive.namelist())
        assert {"autograder.py", "grade.yml", "course/course.toml"} <= names
        code = archive.read("autograder.py").decode()
        workflow = archive.read("grade.yml").decode()
    compile(code, "autograder.py", "exec")
    assert "classroom50:result.json" in code and "numpy==" in code and {"run.py", "minirnn/commands/cli.py"} <= names
    assert "python -I ../grader/autograder.py junit:../grades.xml" in workflow and "\t" not in workflow


def test_an_export_replaces_nothing_by_half(tmp_path, short, run, monkeypatch):
    target = tmp_path / "a.zip"
    target.write_text("before")
    monkeypatch.setattr(
        zipfile.ZipFile, "writestr", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    status, text = run("course", "export", short, "--out", target)
    assert status == 2 and "No space left" in text
    assert target.read_text() == "before" and {p.name for p in tmp_path.iterdir()} == {"rnn-2027", "a.zip"}


def test_the_actions_are_listed_if_none_is_given(capsys):
    with pytest.raises(SystemExit):
        cli.main(["course"])
    assert "required: map | init | new-exercise | verify | export" in capsys.readouterr().err
