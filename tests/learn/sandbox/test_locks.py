"""What an answer can read and write, where the system has Landlock: Python and NumPy, nothing of the course."""

from __future__ import annotations

import os

import pytest

from tests.learn.answers import COURSE, RIGHT, body, checked


def test_a_kernels_host_code_cannot_write_outside(tmp_path):
    """Code that runs while the compiled kernel is loaded: only the system itself can stop it."""
    outside = tmp_path / "outside"
    code = (
        '#include <stdio.h>\nstruct Spy { Spy() { FILE *f = fopen("%s", "w"); if (f) fclose(f); } };\nstatic Spy spy;\n'
    )
    text = code % outside + COURSE.solution(COURSE.entry("ex17"))
    result = checked(tmp_path / "tree", "ex17", text)
    if not has_landlock():
        pytest.skip("this system has no Landlock")
    assert not outside.exists(), result.message


def has_landlock():
    """Tried in a process of its own."""
    from minirnn.learn.sandbox import locks

    pid = os.fork()
    if pid == 0:
        os._exit(0 if locks.landlock("/tmp", "/nowhere") else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize(
    "what", ["course", "formulas", "a file beside the tree", "another way to it", "the grader's memory"]
)
def test_nothing_of_the_course_can_be_read(tmp_path, what):
    if not has_landlock():
        pytest.skip("this system has no Landlock")
    beside = tmp_path / "bob.py"
    beside.write_text("another's work")
    path = {
        "course": COURSE.folder / "course.toml",
        "formulas": COURSE.folder.parent / "formulas" / "rnn.py",
        "a file beside the tree": beside,
        "another way to it": COURSE.folder.parent / ".." / "learn" / "verify.py",
        "the grader's memory": f"/proc/{os.getpid()}/mem",
    }[what]
    for code in (f"print(open({str(path)!r}, 'rb').read(9))", f"import os\nprint(os.open({str(path)!r}, os.O_RDONLY))"):
        result = checked(tmp_path / "tree", "ex05", body("ex05", f"{code}\n{RIGHT}"))
        assert result.score == 0 and "PermissionError" in result.message, result.message
        assert result.prints == ""


def test_minirnn_can_be_imported_and_its_solutions_cannot(tmp_path):
    assert checked(tmp_path, "ex05", body("ex05", f"import minirnn as mr\nmr.tensor(h)\n{RIGHT}")).passed
    if has_landlock():
        result = checked(tmp_path, "ex05", body("ex05", f"import minirnn.learn.formulas.rnn\n{RIGHT}"))
        assert result.score == 0 and "PermissionError" in result.message


def test_what_python_needs_can_be_read(tmp_path):
    code = "import json, decimal, numpy.polynomial, unittest, zoneinfo, importlib.metadata\nnp.random.default_rng()"
    assert checked(tmp_path, "ex05", body("ex05", f"{code}\n{RIGHT}")).passed


def test_around_a_secret_all_else_is_allowed(tmp_path):
    from minirnn.learn.sandbox.locks import around

    for name in ("lib/packages/numpy", "lib/packages/minirnn/learn", "lib/os"):
        (tmp_path / name).mkdir(parents=True)
    lib, secret = str(tmp_path / "lib"), str(tmp_path / "lib/packages/minirnn")
    assert sorted(around(lib, secret)) == [f"{lib}/os", f"{lib}/packages/numpy"]
    assert list(around(f"{lib}/os", secret)) == [f"{lib}/os"]
    assert list(around(secret, secret)) == list(around(f"{secret}/learn", secret)) == []
