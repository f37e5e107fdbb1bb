"""The files that an answer can read and write on systems with Landlock: Python and NumPy, but nothing of the course.

Tests `minirnn/learn/sandbox/locks/landlock.py`, `minirnn/learn/sandbox/locks/privileges.py`,
`minirnn/learn/sandbox/locks/hook.py` and `minirnn/learn/sandbox/system_locks.py`.
"""

import os

import pytest

from minirnn.learn import sandbox
from minirnn.learn.sandbox.locks import landlock
from minirnn.learn.sandbox.system_locks import Locks, decisive, in_force, locks
from tests.learn.answers import COURSE, RIGHT, body, checked


def has_landlock():
    return locks().landlock > 0


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
    for name in ("lib/packages/numpy", "lib/packages/minirnn/learn", "lib/os"):
        (tmp_path / name).mkdir(parents=True)
    lib, secret = str(tmp_path / "lib"), [str(tmp_path / "lib/packages/minirnn")]
    assert sorted(landlock.around(lib, secret)) == [f"{lib}/os", f"{lib}/packages/numpy"]  # no folder above is listed
    assert list(landlock.around(f"{lib}/os", secret)) == [f"{lib}/os"]
    assert list(landlock.around(secret[0], secret)) == list(landlock.around(f"{secret[0]}/learn", secret)) == []


def test_what_a_platform_cannot_give_is_said():
    assert sandbox.protection(Locks(True, True, 6, True)) == []
    without = {
        "can empty any": Locks(True, True, 2, False),
        "Landlock is missing": Locks(True, True, 0, True),
        "version 4 and nothing else": Locks(False, False, 4, False),
        "system calls cannot be filtered": Locks(True, True, 6, False),
        "namespaces are not allowed": Locks(False, False, 6, True),
        "memory cannot be mounted": Locks(True, False, 6, True),
        "no locks for processes": Locks(),
    }
    for said, found in without.items():
        assert any(said in sentence for sentence in sandbox.protection(found)), said


def test_the_locks_that_matter_are_named():
    assert sandbox.protection(Locks(True, True, 2, True)) == []  # the filter prevents emptying files
    assert decisive(Locks(False, False, 1, True)) == []
    assert decisive(Locks(True, True, 0, True)) == ["Landlock (Linux 5.13 or newer)"]
    assert len(decisive(Locks(True, True))) == len(decisive(Locks())) == 2
    assert in_force(Locks(True, False, 6, True)) == "namespaces, a filter of system calls, Landlock 6"
    assert in_force(Locks()) == "none"


def test_this_system_is_tried_once():
    found = locks()
    assert found is locks() and isinstance(found.landlock, int)
    assert sandbox.protection() == sandbox.protection(found)
