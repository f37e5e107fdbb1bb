"""The rungs of CudnnRNN on a GPU, where there is one: stored values, the CPU in float64, many runs, a missing block.

Tests `minirnn/devices/cuda/launch/sequence/` and `minirnn/devices/cuda/kernels/sequence/`.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.launch.sequence.choice import RUNGS
from tests.devices.cuda.launch.sequence.ladder_cases import FILES, MODES, assert_close, assert_stored, random_case
from tests.slow import slow_unless

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(mr.devices.available()["cuda"] is not None, reason=mr.devices.available()["cuda"] or ""),
]

FOLDER = Path(__file__).parents[5]
RECORDED = "steps as a graph"
"""The lowest rung with its loop as a CUDA graph."""


@pytest.fixture(params=[*RUNGS, RECORDED])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The GPU, on one rung after the other; before the first, a run in a process that can be ended."""
    rung: str = request.param
    if rung not in _tried:
        code = (
            "import numpy as np, minirnn as mr;"
            "from tests.devices.cuda.launch.sequence.ladder_cases import random_case;"
            f"device = mr.devices.get('cuda'); device.cudnn_rnn_rung = '{rung.split()[0]}';"
            f"device.recordings.enabled = {rung == RECORDED};"
            "case = random_case(np.random.default_rng(0), 'lstm', 4, 3, 5, 64, 2, 'f4');"
            "[case.run(device) for _ in range(4)]"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, capture_output=True, text=True, timeout=120)
        _tried[rung] = done.stderr if done.returncode else ""
    assert not _tried[rung], _tried[rung]
    device = mr.devices.get("cuda")
    monkeypatch.setattr(device, "cudnn_rnn_rung", rung.split()[0])
    monkeypatch.setattr(device.recordings, "enabled", rung == RECORDED)
    device.rungs.clear()
    yield device


_tried: dict[str, str] = {}


@pytest.mark.parametrize("path", slow_unless(4, FILES), ids=lambda path: path.stem)
def test_stored_values_of_torch(path: Path, gpu: Any) -> None:
    assert_stored(path, "cuda", "float64")


SIZES = [
    (5, 1, 256, 1),
    (9, 20, 192, 2),
    (6, 3, 333, 2),
    (8, 16, 512, 1),
    (5, 64, 1024, 1),
    (5, 3, 1250, 1),
    (4, 8, 2048, 1),
]


@pytest.mark.parametrize("T, B, H, D", slow_unless(SIZES[:2], SIZES), ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_the_cpu_in_float64(mode: str, T: int, B: int, H: int, D: int, gpu: Any, rng: np.random.Generator) -> None:
    case = random_case(rng, mode, T, B, 7, H, D)
    expected = case.run(mr.devices.get("cpu"))
    assert_close(case.run(gpu), expected, 1e-11)
    narrow = random_case(np.random.default_rng(1), mode, T, B, 7, H, D, "f4")
    # sums of H products of size 1 / sqrt(H), through T steps and back
    assert_close(narrow.run(gpu), narrow.run(mr.devices.get("cpu")), 5e-4)


def test_a_hundred_runs_are_one(gpu: Any, rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", 50, 17, 7, 256, 2, "f4")
    first = case.run(gpu)
    for _ in range(100):
        for name, value in case.run(gpu).items():
            np.testing.assert_array_equal(value, first[name], err_msg=name)
    if gpu.recordings.enabled:
        assert gpu.recordings.counts["replayed"] > 100, gpu.recordings.counts


def test_a_recorded_loop_gives_the_bits_of_a_launched_one(monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = mr.devices.get("cuda")
    monkeypatch.setattr(device, "cudnn_rnn_rung", "steps")
    case = random_case(np.random.default_rng(3), "gru", 20, 5, 7, 96, 2, "f4")
    expected = case.run(device)
    monkeypatch.setattr(device.recordings, "enabled", True)
    for _ in range(5):
        for name, value in case.run(device).items():
            np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_a_missing_block_is_an_error_and_no_hang() -> None:
    """In a separate process, which is ended if it hangs."""
    code = (
        "import numpy as np, minirnn as mr; from tests.devices.cuda.launch.sequence.ladder_cases import random_case;"
        "from tests.devices.cuda.launch.sequence.test_one_launch import leave_out_a_block;"
        "import pytest; leave_out_a_block(pytest.MonkeyPatch(), polls=1 << 15);"
        "device = mr.devices.get('cuda'); device.cudnn_rnn_rung = 'persistent';"
        "random_case(np.random.default_rng(0), 'lstm', 4, 3, 5, 64, 2, 'f4').run(device)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "gave up waiting for the messages of step" in done.stderr
