"""Hostile answers cost only their own exercise, get a reason, and leave nothing behind."""

import re
from pathlib import Path

import pytest

from tests.learn.answers import COURSE, RIGHT, body, checked
from tests.slow import slow_unless

# name -> (code before the right answer, message)
HOSTILE = {
    "endless loop": ("while True: pass", "stopped after 0.3 s in rnn_cell_backward, line 5"),
    "endless sleep": ("import time\ntime.sleep(1000)", "stopped after 0.3 s in rnn_cell_backward, line 6"),
    "endless C call": ("sum(iter(int, 1))", "stopped after 0.3 s in rnn_cell_backward, line 5"),
    "slow memory bomb": ("a = []\nwhile True:\n    a.append(bytes(1 << 24))", "too much memory"),
    "memory bomb": ("np.ones(1 << 31)", "too much memory"),
    "os._exit": ("import os\nos._exit(0)", "ended before it returned anything"),
    "os.abort": ("import os\nos.abort()", "SIGABRT"),
    "crash": ("import ctypes\nctypes.string_at(0)", "calls native code"),
    "segmentation fault": ("import faulthandler\nfaulthandler._sigsegv()", "SIGSEGV"),
    "fork": ("import os\nos.fork()", "starts another process"),
    "fork in a loop": (
        "import os\nwhile True:\n    try: os.fork()\n    except BaseException: pass",
        "starts another process"),
    "subprocess": ("import subprocess\nsubprocess.run(['touch', '/tmp/x'])", "starts another process"),
    "the call below subprocess": (
        "import _posixsubprocess as p\np.fork_exec([b'/bin/true'], [b'/bin/true'], True, (), None, None, -1, -1, "
        "-1, -1, -1, -1, -1, -1, True, False, -1, None, None, None, -1, None, True)",
        "starts another process",
    ),
    "shell": ("import os\nos.system('true')", "starts another process"),
    "multiprocessing": (
        "import multiprocessing as m\nm.get_context('spawn').Process(target=print).start()",
        "starts another process"),
    "write a file": ("open('OUTSIDE', 'w').write('x')", "writes to the file"),
    "write with os": ("import os\nos.open('OUTSIDE', os.O_CREAT | os.O_WRONLY)", "writes to the file"),
    "write with pathlib": ("import pathlib\npathlib.Path('OUTSIDE').write_text('x')", "writes to the file"),
    "append": ("open('VICTIM', 'a')", "writes to the file"),
    "remove": ("import os\nos.remove('VICTIM')", "changes files"),
    "rename": ("import os\nos.rename('VICTIM', 'OUTSIDE')", "changes files"),
    "rmtree": ("import shutil\nshutil.rmtree('FOLDER')", "changes files"),
    "chmod": ("import os\nos.chmod('VICTIM', 0)", "changes files"),
    "network": ("import socket\nsocket.create_connection(('127.0.0.1', 9))", "uses the network"),
    "kill the parent": ("import os\nos.kill(os.getppid(), 9)", "sends a signal"),
    "native code": ("import ctypes\nctypes.CDLL(None).unlink(b'VICTIM')", "calls native code"),
    "catching it": ("try:\n    open('OUTSIDE', 'w')\nexcept BaseException:\n    pass", "writes to the file"),
    "closed pipes": ("import os\nos.closerange(3, 64)", "ended before"),
    "garbage on the pipes": (
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\x08\\0\\0\\0garbage!')\n"
        "    except OSError: pass",
        "could not be read"),
    "a huge message": (
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff\\xff\\xff\\xff')\n    except OSError: pass",
        "could not be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", slow_unless(2, HOSTILE))
def test_a_hostile_answer_gets_nothing_and_a_sentence(tmp_path, name):
    code, said = HOSTILE[name]
    victim, outside, folder = tmp_path / "victim", tmp_path / "outside", tmp_path / "folder"
    victim.write_text("here")
    folder.mkdir()
    for word, path in (("VICTIM", victim), ("OUTSIDE", outside), ("FOLDER", folder)):
        code = code.replace(word, str(path))
    result = checked(
        tmp_path / "tree",
        "ex05",
        body("ex05", f"{code}\n{RIGHT}"),
        seconds=0.3 if name.startswith("endless") else 20.0,
        megabytes=512,
    )
    assert result.status == "failed" and result.score == 0
    assert said in result.message, result.message
    assert victim.read_text() == "here" and folder.is_dir() and not outside.exists()


@pytest.mark.parametrize(
    "code",
    slow_unless(
        3,
        [
            "np.allclose = lambda *a, **k: True",
            "np.testing = None",
            "import json; json.dumps = lambda *a, **k: '{}'",
            "import sys; sys.modules['pytest'] = None",
            'print(\'{"score": 100, "tests": []}\')',
            "import sys; print('{\"score\": 1}', file=sys.stderr)",
            "import faulthandler; faulthandler.cancel_dump_traceback_later()",
            "import gc; gc.disable()",
            "np.asarray = lambda a: a",
            "np.savez = None",
        ],
    ),
)
def test_patches_and_forged_output_change_no_grade(tmp_path, code):
    """A right answer gets all points and a wrong one those of its right gradients, as without the patch."""
    right = checked(tmp_path, "ex05", body("ex05", f"{code}\n{RIGHT}"))
    assert right.passed, right.message
    wrong = checked(
        tmp_path, "ex05", body("ex05", f"{code}\n{RIGHT}".replace("return da @ W.T", "return 2 * da @ W.T"))
    )
    assert wrong.score == 4


def test_a_flood_of_prints_neither_blocks_nor_fills_memory(tmp_path):
    result = checked(tmp_path, "ex05", body("ex05", f"print('x' * 50_000_000)\n{RIGHT}"))
    assert result.passed and len(result.prints) <= 20_000


def test_reading_the_expected_values_is_of_no_use(tmp_path):
    """They are nowhere in the process: neither among its Python objects nor in its arguments."""
    code = """
    import gc, sys
    names = {n for o in gc.get_objects() if isinstance(o, dict) for n in o if isinstance(n, str)}
    secret = [m for m in sys.modules if "catalog" in m or "judge" in m]
    print(sorted(names & {"expected", "hidden_seed", "solution"}), secret)
    """
    result = checked(tmp_path, "ex05", body("ex05", code + RIGHT.replace("\n", "\n    ")))
    assert result.prints.splitlines()[0] == "[] []"


def test_an_endless_kernel_is_stopped(tmp_path):
    endless = COURSE.solution(COURSE.entry("ex17")).replace(
        "if (k >= N) return;", "while (true) dh_prev[0] = *(volatile int *)&N;"
    )
    result = checked(tmp_path, "ex17", endless, seconds=0.5)
    assert result.status == "failed" and re.search("stopped|progress|deadlock: all .* spin", result.message)


def test_no_scratch_folder_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tree").mkdir()
    checked(tmp_path / "tree", "ex05", body("ex05", RIGHT))
    assert [p.name for p in Path(tmp_path).iterdir()] == ["tree"]


def test_saying_ready_again_wins_no_time(tmp_path):
    code = """
    import sys
    frame = sys._getframe()
    while "answer" not in frame.f_locals:
        frame = frame.f_back
    while True:
        frame.f_locals["answer"].reply(ready=True)
    """
    result = checked(tmp_path, "ex05", body("ex05", code), seconds=1.0)
    assert result.score == 0 and "could not be read" in result.message, result.message
