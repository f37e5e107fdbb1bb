"""kill -9 at any moment of a save never loses the older checkpoint.

Tests `minirnn/io/atomic.py` and `minirnn/io/checkpoint.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from minirnn.io import load, save
from minirnn.io.atomic import PREFIX

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")

# For each line on stdin: a process that saves step 1, 2, 3, ... and reports each number once its checkpoint is safe.
# They are forks of one that has imported everything. It says which process it is, and at last what ended it.
WRITER = """
import os, sys
import numpy as np
from minirnn.io import load, save
path = sys.argv[1]
save(path + ".warm", {}, {})
load(path + ".warm")
os.remove(path + ".warm")
while sys.stdin.readline():
    writer = os.fork()
    if writer:
        print("ended by", -os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]), flush=True)
        continue
    print(os.getpid(), flush=True)
    step = load(path)[1]["step"]
    while True:
        step += 1
        save(path, {"w": np.full(300_000, step), "b": np.full(3, step)}, {"step": step})
        os.write(1, b"%d\\n" % step)  # print may write the end of the line apart
"""


def environment():
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # the writers compute nothing, so let them start faster


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.startswith(PREFIX)]


def test_killed_at_random_moments_the_newest_reported_checkpoint_is_there_and_whole(tmp_path):
    rng = np.random.default_rng(20)
    path = tmp_path / "c.safetensors"
    save(path, {"w": np.zeros(300_000, np.int64), "b": np.zeros(3, np.int64)}, {"step": 0})
    interrupted = 0
    command, pipe = [sys.executable, "-c", WRITER, str(path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1, env=environment()) as writers:
        for _ in range(25):
            writers.stdin.write("\n")
            writer, reported = (int(writers.stdout.readline()) for _ in range(2))
            time.sleep(rng.uniform(0, 0.02))
            os.kill(writer, signal.SIGKILL)
            while (line := writers.stdout.readline()) != f"ended by {signal.SIGKILL:d}\n":
                reported = int(line)
            interrupted += len(leftovers(tmp_path)) > 0
            arrays, metadata = load(path)
            assert metadata["step"] in (reported, reported + 1)  # renamed, but killed before it could say so
            assert (arrays["w"] == metadata["step"]).all()
            assert (arrays["b"] == metadata["step"]).all()
            assert len(leftovers(tmp_path)) <= 1  # that of the writer before is gone
    assert writers.returncode == 0
    assert interrupted > 0, "no kill came in the middle of a write: this run showed nothing"
    save(path, {}, {"step": -1})
    assert os.listdir(tmp_path) == ["c.safetensors"]


@pytest.mark.parametrize(
    ("call", "count", "survivor"),
    [("open", 1, "old"), ("fsync", 1, "old"), ("replace", 1, "old"), ("fsync", 2, "new")],
)
def test_killed_at_each_step_of_a_write_the_file_is_the_old_or_the_new_one(tmp_path, call, count, survivor):
    path = tmp_path / "c.safetensors"
    save(path, {"w": np.arange(5)}, {"which": "old"})
    writer = f"""
import os, signal, sys
import numpy as np
from minirnn.io import save
original, calls = os.{call}, 0
def killing(*args, **kwargs):
    global calls
    result = None if {call!r} == "replace" else original(*args, **kwargs)
    calls += 1
    if calls == {count}:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
os.{call} = killing
save(sys.argv[1], {{"w": np.arange(7)}}, {{"which": "new"}})
"""
    done = subprocess.run([sys.executable, "-c", writer, str(path)], env=environment(), timeout=300)
    assert done.returncode == -signal.SIGKILL
    arrays, metadata = load(path)
    assert metadata["which"] == survivor
    assert arrays["w"].size == (5 if survivor == "old" else 7)
    assert len(leftovers(tmp_path)) == (1 if survivor == "old" else 0)
    save(path, {"w": np.arange(9)}, {"which": "next"})
    assert os.listdir(tmp_path) == ["c.safetensors"]
