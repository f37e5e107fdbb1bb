"""minirnn works without POSIX features, as on Windows, and says so where it can't.

Tests `minirnn/__init__.py`, `minirnn/train/`, `minirnn/io/atomic.py`, `minirnn/learn/sandbox/unlocked.py` and
`minirnn/learn/sandbox/unlocked_child.py`. `tests/windows/sitecustomize.py` hides what is missing there.
"""

import os
import re
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from minirnn.learn.course import load
from tests.learn.answers import body, solution

ROOT = Path(__file__).parents[1]
COURSE = load()
STRICT = ("-W", "error", "-W", "ignore::EncodingWarning")
"""Warnings of other packages; `sitecustomize` makes it an error if minirnn opens a text without an encoding."""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="one system is enough to hide what others lack")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that looks like one on Windows, also to processes that ignore environment variables."""
    folder = tmp_path_factory.mktemp("windows")
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    places = [str(ROOT / "tests" / "windows"), str(ROOT), *(place for place in sys.path if "site-packages" in place)]
    (site / "places.pth").write_text("\n".join(places), encoding="utf-8")
    return folder / "bin" / "python"


def run(python: Path, folder: Path, *arguments: str, status: int = 0) -> str:
    """The output of a program."""
    done = subprocess.run(
        [python, *STRICT, *arguments], cwd=folder, capture_output=True, encoding="utf-8",
        env=os.environ | {"PYTHONWARNDEFAULTENCODING": "1", "MPLBACKEND": "agg"},
    )  # fmt: skip
    assert done.returncode == status and "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout + done.stderr


def minirnn(python: Path, folder: Path, *arguments: str, status: int = 0) -> str:
    return run(python, folder, "-m", "minirnn", *arguments, status=status)


def test_it_looks_like_windows_indeed(python: Path, tmp_path: Path) -> None:
    code = """
import os, signal, socket, sys
assert (os.name, sys.platform) == ("nt", "win32")
assert not [m for m, names in {os: "fork getuid", signal: "SIGKILL SIGALRM", socket: "send_fds"}.items()
            for name in names.split() if hasattr(m, name)]
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    try:
        __import__(name, globals())
    except ImportError:
        continue
    raise SystemExit(name)
"""
    run(python, tmp_path, "-c", code)


def test_every_room_of_the_library_is_imported(python: Path, tmp_path: Path) -> None:
    rooms = "commands, train, proof, explain, learn, bench"
    run(python, tmp_path, "-c", f"from minirnn import *; from minirnn import {rooms}")


@pytest.mark.slow
def test_all_tests_are_collected(python: Path) -> None:
    """A test file that needs missing features is skipped with the reason, or each of its tests is."""
    options = ["--collect-only", "-qq", "-n", "0", "-W", "ignore::EncodingWarning", "-p", "no:cacheprovider"]
    assert "tests/learn/test_check.py: " in run(python, ROOT, "-m", "pytest", *options, "-m", "slow or not slow")


@pytest.mark.slow
def test_train_resume_sample_and_the_other_commands_work(python: Path, tmp_path: Path) -> None:
    # few characters, which are drawn quickly
    (tmp_path / "few.txt").write_text("the cat sees the hen.\n" * 100, encoding="utf-8")
    tiny = ["--hidden", "5", "--batch", "2", "--length", "8", "--text", "few.txt"]
    assert "validation loss" in minirnn(python, tmp_path, "train", *tiny, "--steps", "2")
    assert len(list((tmp_path / "minirnn-out").iterdir())) == 8
    assert "validation loss" in minirnn(python, tmp_path, "train", "--resume", "--steps", "3")
    assert len(minirnn(python, tmp_path, "sample", "--length", "20")) == 21
    assert "cudnn_rnn" in minirnn(python, tmp_path, "explain", "CudnnRNN")
    said = minirnn(python, tmp_path, "doctor")
    assert re.search(r"cuda-sim +.*not on Windows itself", said) and "start processes that stay; grade on Linux" in said


@pytest.mark.slow
@pytest.mark.parametrize("number", ["01", "18", "19"])
def test_a_tutorial_runs_or_says_in_a_line_what_it_needs(python: Path, tmp_path: Path, number: str) -> None:
    (tutorial,) = (ROOT / "tutorials").glob(f"{number}_*.py")
    simulates = "cuda.sim" in tutorial.read_text(encoding="utf-8")
    said = run(python, tmp_path, str(tutorial), status=int(simulates))
    if simulates:
        assert said.count("\n") == 1 and "needs the simulator: cuda-sim runs on Linux and macOS" in said
    else:
        assert list((tmp_path / "minirnn-pictures").iterdir())


@pytest.fixture
def course(python: Path, tmp_path: Path) -> Path:
    assert "is ready" in minirnn(python, tmp_path, "learn", "init", "learn")
    return tmp_path / "learn"


def check(python: Path, course: Path, id: str, text: str) -> str:
    """The output of `minirnn check` for an answer."""
    (course / COURSE.entry(id).file).write_text(text, encoding="utf-8")
    right = text == solution(id)
    return minirnn(python, course, "check", id, status=0 if right else 1)


@pytest.mark.slow
def test_a_right_answer_passes_and_it_is_said_that_nothing_is_locked(python: Path, course: Path) -> None:
    said = check(python, course, "ex05", solution("ex05"))
    assert "5 / 5 points" in said and "Note: this system cannot lock an answer in" in said


@pytest.mark.slow
def test_a_wrong_answer_is_explained_as_on_every_system(python: Path, course: Path) -> None:
    said = check(python, course, "ex05", solution("ex05", (" * (1 - h * h)", "")))
    assert "0 / 5 points" in said and "the factor (1 - h * h) is missing" in said
    said = check(python, course, "ex05", "print('∂x')\n" + body("ex05", "raise ValueError('mine')"))
    assert "it printed:\n    ∂x" in said and "mine" in said and ", line " in said
    said = check(python, course, "ex05", body("ex05", "import os\nos._exit(7)"))
    assert "does it call os._exit" in said
    said = check(python, course, "ex05", body("ex05", "open('mine.txt', 'w')"))
    assert "writes to the file mine.txt, which no exercise may do" in said
    assert "CUDA exercises run in the simulator" in check(python, course, "ex17", solution("ex17", ("dh[k]", "dh[k] ")))


@pytest.mark.slow
def test_an_answer_that_never_ends_is_stopped_where_it_is(python: Path, course: Path) -> None:
    code = """
from dataclasses import replace
from pathlib import Path
from minirnn.learn.check import check
from minirnn.learn.course import load
from minirnn.learn.sandbox.parent import Limits
course = load()
print(check(course, replace(course.entry("ex05"), limits=Limits(0.5)), Path("answer.py")).message)
"""
    (course / "answer.py").write_text(body("ex05", "while True:\n    pass"), encoding="utf-8")
    assert re.search(r"stopped after 0.5 s in rnn_cell_backward, line \d+", run(python, course, "-c", code))


@pytest.mark.slow
def test_learn_checks_what_is_saved(python: Path, course: Path) -> None:
    pytest.importorskip("watchfiles")
    command = [python, *STRICT, "-u", "-m", "minirnn", "learn"]
    with subprocess.Popen(
        command, cwd=course, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as watch:
        assert watch.stdout is not None
        said: list[str] = []

        def expect(text: str) -> None:
            while text not in "".join(said):
                said.append(watch.stdout.readline())  # type: ignore[union-attr]
                assert said[-1], "".join(said)
            said.clear()

        expect("0 of 45 passed")
        time.sleep(1)  # the watch of files begins
        (course / COURSE.entry("ex01").file).write_text(solution("ex01"), encoding="utf-8")
        expect("1 of 45 passed")
        watch.send_signal(signal.SIGINT)
    assert watch.returncode in (0, 130)


@pytest.mark.slow
def test_what_needs_locks_is_refused_in_a_sentence(python: Path, course: Path) -> None:
    assert "minirnn grade needs Linux or macOS" in minirnn(python, course, "grade", ".", status=2)
