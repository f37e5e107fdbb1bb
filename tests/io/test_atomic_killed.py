"""kill -9 at each step of a save never loses the older checkpoint.

Tests `minirnn/io/atomic.py` and `minirnn/io/checkpoint.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from minirnn.io import load, save
from minirnn.io.atomic import PREFIX
from tests.slow import slow_unless

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")


def environment():
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # the writers compute nothing, so let them start faster


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.startswith(PREFIX)]


@pytest.mark.parametrize(
    ("call", "count", "survivor"),
    slow_unless(3, [("fsync", 1, "old"), ("open", 1, "old"), ("replace", 1, "old"), ("fsync", 2, "new")]),
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
