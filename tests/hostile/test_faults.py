"""What goes wrong around a program: the disk is full, the folder is read-only, others write, too.

`tests/io/test_atomic_killed.py` kills writers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from minirnn import viz
from minirnn.io import load, save, write_arrays
from minirnn.train.folder import CHECKPOINT, opened
from minirnn.train.options import Options
from minirnn.train.run import Training
from minirnn.user_error import UserError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEXT = "".join(f"{k} times {k} is {k * k}, " for k in range(60))
posix = pytest.mark.skipif(os.name != "posix", reason="signals, fork and limits are those of POSIX")


def run(*arguments: str, timeout: float = 280) -> str:
    """The output of a Python process that can import minirnn and these tests."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.fspath(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=timeout, env=environment, cwd=HERE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- a full disk


@contextmanager
def disk_with_room_for(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: a write fails in the middle, as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "save": lambda path, n: save(path, {"w": np.full(9000, n)}, {"n": n}),
    "write_arrays": lambda path, n: write_arrays(path, {"w": np.full(9000, n)}, {"n": str(n)}),
    "viz.save": lambda path, n: viz.save(viz.gradient_flow(np.ones((2, 3))), path.with_suffix(".png")),
}


@posix
@pytest.mark.parametrize(("writer", "room"), [("save", 0), ("save", 512), ("write_arrays", 4096), ("viz.save", 512)])
def test_on_a_full_disk_the_older_file_stays_and_nothing_else(writer: str, room: int, tmp_path: Path) -> None:
    WRITERS[writer](tmp_path / "c.safetensors", 1)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    assert len(before) > room
    with disk_with_room_for(room), pytest.raises(OSError, match="File too large"):
        WRITERS[writer](tmp_path / "c.safetensors", 2)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before
    WRITERS[writer](tmp_path / "c.safetensors", 3)


@posix
def test_training_on_a_full_disk_says_so_and_keeps_its_last_checkpoint(tmp_path: Path) -> None:
    training = Training(Options(hidden=4, batch=2, length=5), TEXT)
    training.advance()
    training.save(tmp_path / CHECKPOINT)
    before = (tmp_path / CHECKPOINT).read_bytes()
    training.advance()
    with disk_with_room_for(1000), pytest.raises(UserError, match="File too large"):
        training.save(tmp_path / CHECKPOINT)
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [CHECKPOINT]


# ---- a folder that may not be written to

READ_ONLY = """
import os, sys
from pathlib import Path
import numpy as np
from minirnn.user_error import UserError
from minirnn.train.run import Training
from minirnn.train.options import Options
from minirnn.io import load, save, write_arrays
import safetensors.numpy
training = Training(Options(hidden=4, batch=2, length=5), {text!r})
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)  # root may write everywhere
folder = Path(sys.argv[1])
path = folder / "c.safetensors"
for error, write in [
    (ValueError, lambda: save(path, dict(w=np.ones(2)), dict())),
    (ValueError, lambda: write_arrays(path, dict(w=np.ones(2)), dict())),
    (UserError, lambda: training.save(path)),
]:
    try:
        write()
    except error as refusal:
        assert "Permission denied" in str(refusal) and "c.safetensors" in str(refusal), refusal
    else:
        print("written")
print(load(path)[1].get("n"), *os.listdir(folder))
"""


@posix
@pytest.mark.parametrize(("permissions", "expected"), [(0o555, "7 c.safetensors\n"), (0o777, "written\n" * 3)])
def test_in_a_read_only_folder_nothing_is_written(permissions: int, expected: str) -> None:
    with tempfile.TemporaryDirectory() as name:  # the folders of pytest are closed to other users
        os.chmod(name, 0o755)
        folder = Path(name, "folder")
        folder.mkdir()
        save(folder / "c.safetensors", {}, {"n": 7})
        os.chmod(folder / "c.safetensors", 0o666)
        os.chmod(folder, permissions)
        try:
            out = run("-c", READ_ONLY.format(text=TEXT), os.fspath(folder))
        finally:
            os.chmod(folder, 0o755)
    assert out.startswith(expected)


# ---- others write, too

RACER = """
import sys
import numpy as np
from minirnn.io import load, save
me, path = int(sys.argv[1]), sys.argv[2]
for k in range(60):
    save(path, {"w": np.full(20_000, me)}, {"writer": me, "k": k})
    arrays, metadata = load(path)
    assert (arrays["w"] == metadata["writer"]).all()
print("done")
"""


@posix
@pytest.mark.slow
def test_processes_that_write_one_file_at_the_same_time_always_leave_the_file_of_one(tmp_path: Path) -> None:
    path = os.fspath(tmp_path / "c.safetensors")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.fspath(ROOT)}
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(k), path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        for k in range(3)
    ]
    for racer in racers:
        out, errors = racer.communicate(timeout=280)
        assert (racer.returncode, out) == (0, b"done\n"), errors.decode()
    assert load(path)[1]["k"] == 59
    assert os.listdir(tmp_path) == ["c.safetensors"]


@posix
def test_two_runs_of_training_do_not_share_a_folder(tmp_path: Path) -> None:
    refused = pytest.raises(UserError, match="another minirnn train is writing there")
    with opened(tmp_path), refused, opened(tmp_path):
        pass
    with opened(tmp_path):
        pass
