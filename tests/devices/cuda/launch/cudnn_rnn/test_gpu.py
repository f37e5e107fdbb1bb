"""The rungs of CudnnRNN on a GPU, where there is one: stored values, the CPU in float64, many runs, a missing block.

Tests `minirnn/devices/cuda/launch/cudnn_rnn/` and `minirnn/devices/cuda/kernels/cudnn_rnn/`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.launch.cudnn_rnn.choice import RUNGS
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Sizes
from minirnn.devices.cuda.launch.cudnn_rnn.timings import Timings
from minirnn.devices.cuda.launch.cudnn_rnn.trial import CANDIDATES, RECORDED
from minirnn.devices.cuda.launch.cudnn_rnn.tuner import Tuner
from minirnn.devices.cuda.sim import build
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import MODES, assert_close, random_case, stored_outputs
from tests.ops.cudnn_rnn.cudnn_cases import FILES, load

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(mr.devices.available()["cuda"] is not None, reason=mr.devices.available()["cuda"] or ""),
]

FOLDER = Path(__file__).parents[5]


@pytest.fixture(params=[*RUNGS, RECORDED])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The GPU, on one rung after the other; before the first, a run in a process that can be ended."""
    rung: str = request.param
    if rung not in _tried:
        code = (
            "import numpy as np, minirnn as mr;"
            "from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import random_case;"
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_values_of_torch(path: Path, gpu: Any) -> None:
    attributes, case = load(path)
    for output, value in stored_outputs(attributes, case, "cuda", "f8").items():
        # float64: sums of up to T * B = 30 rows
        np.testing.assert_allclose(np.asarray(value), case[output], rtol=1e-11, atol=1e-11, err_msg=output)


SIZES = [
    (5, 1, 256, 1),
    (9, 20, 192, 2),
    (6, 3, 333, 2),
    (8, 16, 512, 1),
    (5, 64, 1024, 1),
    (5, 3, 1250, 1),
    (4, 8, 2048, 1),
]


@pytest.mark.parametrize("T, B, H, D", SIZES, ids=str)
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
    """In a process of its own, which is ended if it hangs."""
    code = (
        "import numpy as np, minirnn as mr; from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import random_case;"
        "from tests.devices.cuda.launch.cudnn_rnn.test_persistent import OneBlockLess;"
        "from minirnn.devices.cuda.launch.cudnn_rnn import one_launch as p; made = p.kernel_of;"
        "p.kernel_of = lambda *a: OneBlockLess(made(*a)); p.PATIENCE = 1 << 15;"
        "device = mr.devices.get('cuda'); device.cudnn_rnn_rung = 'persistent';"
        "random_case(np.random.default_rng(0), 'lstm', 4, 3, 5, 64, 2, 'f4').run(device)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "gave up waiting for the messages of step" in done.stderr


# ---- the choice that measures itself


@pytest.fixture
def choosing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """The GPU with a tuner that knows nothing yet."""
    device: Any = mr.devices.get("cuda")
    monkeypatch.setattr(device, "cudnn_rnn_rung", None)
    monkeypatch.setattr(device.recordings, "enabled", True)
    monkeypatch.setattr(device, "tuner", Tuner(device))
    device.tuner.enabled = True
    device.tuner.timings = Timings(device.driver.about, tmp_path)
    device.rungs.clear()
    yield device


def stand_in() -> Any:
    """The stand-in GPU if this is it, else None."""
    found = sys.modules.get("tests.stand_in_gpu.machine")
    return None if found is None else found.machine


@pytest.mark.parametrize("mode", ["lstm", "rnn_relu"])
def test_every_rung_is_right_and_is_timed_and_the_fastest_is_taken(mode: str, choosing: Any) -> None:
    case = random_case(np.random.default_rng(1), mode, 6, 3, 5, 40, 2, "f4")
    expected = case.run(mr.devices.get("cpu"))
    for _ in range(5):
        assert_close(case.run(choosing), expected, 5e-4)
    sizes = Sizes(mode, 6, 3, 40, 40, 2, 4)
    used = set()
    for way, backward in (("forward", False), ("backward", True)):
        timing = choosing.tuner.timing(sizes, backward)
        assert set(timing.seconds) == set(CANDIDATES) and timing.dropped == {}
        assert all(seconds > 0 for seconds in timing.seconds.values())
        chosen = choosing.tuner.choice(sizes, backward)
        used.add(f"{chosen.rung} {way}")
        name = RECORDED if chosen.rung == "steps" and chosen.recorded else chosen.rung
        assert timing.seconds[name] <= 1.1 * min(timing.seconds.values())
    assert set(choosing.rungs) == used
    again = Tuner(choosing)
    again.timings = choosing.tuner.timings
    assert again.choice(sizes, True, may_time=False) == choosing.tuner.choice(sizes, True)


@pytest.mark.parametrize("pieces", [1.0, -1.0])
def test_the_clock_of_the_gpu_decides(pieces: float, choosing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece of work takes a tick of the stand-in: so one launch is faster. Or the other way round."""
    machine = stand_in()
    if machine is None:
        pytest.skip("the clock of a GPU cannot be set; only that of the stand-in")
    from tests.stand_in_gpu import streams

    done, run_next = [0], machine.queues.run_next

    def counted(stream: Any) -> None:
        done[0] += 1
        run_next(stream)

    monkeypatch.setattr(machine.queues, "run_next", counted)
    # ticks that grow, or that shrink with the number of pieces since the clock was last read
    last = [0.0, 0]

    def clock() -> float:
        since = done[0] - last[1]
        last[0] += 1e-3 * (since if pieces > 0 else 1e4 / max(since, 1))
        last[1] = done[0]
        return last[0]

    monkeypatch.setattr(streams, "clock", clock)
    case = random_case(np.random.default_rng(1), "lstm", 9, 3, 5, 40, 2, "f4")
    assert_close(case.run(choosing), case.run(mr.devices.get("cpu")), 5e-4)
    rungs = {name.split()[0] for name in choosing.rungs}
    assert rungs <= {"persistent", "cluster"} if pieces > 0 else rungs == {"steps"}, choosing.rungs


FAULTY = """
import sys
import numpy as np
import minirnn as mr
from minirnn.devices.cuda.launch.cudnn_rnn import one_launch
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import random_case

class Stray:
    ptr = 64

class Faulty:
    def __init__(self, kernel):
        self.kernel, self.name, self.max_resident_blocks = kernel, kernel.name, kernel.max_resident_blocks
    def __call__(self, *args, **sizes):
        self.kernel(*[Stray() if hasattr(a, "ptr") else a for a in args], **sizes)

kernel_of = one_launch.kernel_of
if sys.argv[1] == "faulty":
    one_launch.kernel_of = lambda device, file, *more: (
        (Faulty if "cluster" in file else lambda kernel: kernel)(kernel_of(device, file, *more))
    )
device = mr.devices.get("cuda")
device.cudnn_rnn_rung, device.tuner.enabled = None, True
random_case(np.random.default_rng(0), "lstm", 4, 3, 5, 16, 1, "f4").run(device, backward=False)
"""


def test_a_rung_that_faults_is_noted_and_the_next_process_leaves_it_alone(tmp_path: Path) -> None:
    """In processes of their own: the context is lost."""
    environment = {**os.environ, "MINIRNN_CACHE": str(tmp_path)}
    (tmp_path / "cuda-sim").symlink_to(build.cache_folder())  # what the stand-in has compiled
    ways = []
    for how in ("faulty", "sound"):
        ways.append(
            subprocess.run(
                [sys.executable, "-c", FAULTY, how],
                cwd=FOLDER,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
        )
    assert ways[0].returncode != 0 and "context is lost" in ways[0].stderr and "start Python anew" in ways[0].stderr
    assert ways[1].returncode == 0, ways[1].stderr
    assert "'cluster' of CudnnRNN is not used" in ways[1].stderr and "did not survive" in ways[1].stderr


@pytest.mark.parametrize("positive", [False, True], ids=["any sign", "positive"])
@pytest.mark.parametrize("M, K, N", [(64, 64, 64), (300, 777, 133), (128, 4096, 64)], ids=str)
def test_three_products_of_tf32_for_one_have_at_most_four_times_the_error_of_float32(
    M: int, K: int, N: int, positive: bool, rng: np.random.Generator, record_property: Any
) -> None:
    device: Any = mr.devices.get("cuda")
    if not device.products.has_tensor_cores():
        pytest.skip("this GPU does not multiply TF32")
    a, b = rng.standard_normal((M, K)).astype("f4"), rng.standard_normal((K, N)).astype("f4")
    if positive:  # the sums grow, and what tensor cores drop has always the same sign
        a, b = np.abs(a), np.abs(b)
    exact, scale, errors = a.astype("f8") @ b, np.abs(a).astype("f8") @ np.abs(b), {}
    for turned in (False, True):  # b as it is, and with its columns together
        right = device.transpose(device.asarray(b.T), (1, 0)) if turned else device.asarray(b)
        left, c = device.asarray(a), device.empty((M, N), np.float32)
        device.products.three_for_one(left, right, c)
        for name, found in (("ours", c), ("plain", device.matmul(left, right))):
            errors[name] = np.abs(device.to_numpy(found) - exact) / scale * 2**24
        # In which order cuBLAS adds is not known; no order can promise less than one place
        assert errors["ours"].max() <= 4 * max(errors["plain"].max(), 1)
        assert errors["ours"].mean() <= 4 * max(errors["plain"].mean(), 0.1)
    record_property("errors", {name: (float(e.max()), float(e.mean())) for name, e in errors.items()})
