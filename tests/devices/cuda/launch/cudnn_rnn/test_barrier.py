"""The plain rung of one launch in the simulator: against stored values, the CPU, and the fast rung that it judges.

Tests `minirnn/devices/cuda/launch/cudnn_rnn/barrier.py`, `minirnn/devices/cuda/launch/cudnn_rnn/barrier_plan.py`,
`minirnn/devices/cuda/kernels/cudnn_rnn/barrier.cu` and `minirnn/devices/cuda/kernels/grid_barrier.cuh`. What happens if
one of its lines is missing: `docs/puzzles.md`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.launch.cudnn_rnn import barrier
from minirnn.devices.cuda.launch.cudnn_rnn.barrier_plan import barrier_plan
from minirnn.devices.cuda.launch.cudnn_rnn.sizes import Sizes
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import (
    CHECKS,
    FILES,
    MODES,
    assert_close,
    assert_stored,
    device_on,
    random_case,
    shared_device_on,
    tiny_layouts,
    with_multiprocessors,
)
from tests.devices.cuda.launch.cudnn_rnn.test_persistent import OneBlockLess
from tests.slow import slow_unless

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)
BOTH = {"barrier forward": 1, "barrier backward": 1}


@pytest.mark.parametrize(
    ("path", "options"),
    [  # each network with one order of the threads; a plain run has every sixth
        pytest.param(path, options, id=f"{path.stem}-seed{options.seed}", marks=[pytest.mark.slow] * (k % 6 != n))
        for k, path in enumerate(FILES)
        for n, options in enumerate(CHECKS)
        if k % 3 == n
    ],
)
def test_stored_values_of_torch_in_check_mode(path: Path, options: SimOptions) -> None:
    name = shared_device_on("barrier", options)
    device = mr.devices.get(name)
    device.rungs.clear()
    assert_stored(path, name, "float64" if options.seed else "float32")
    assert {key.split()[0] for key in device.rungs} == {"steps" if "proj" in path.stem else "barrier"}


@pytest.mark.parametrize(
    "T, B, H, D, multiprocessors",
    [
        (1, 3, 7, 2, 132),  # no barrier at all on the way forward
        (6, 5, 11, 2, 132),  # a unit a block
        (3, 35, 19, 1, 2),  # more cells than threads; the second block has fewer units
        pytest.param(2, 1, 1, 1, 132, marks=pytest.mark.slow),
        pytest.param(7, 4, 33, 2, 7, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_odd_sizes(
    mode: str,
    T: int,
    B: int,
    H: int,
    D: int,
    multiprocessors: int,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_multiprocessors(monkeypatch, multiprocessors)
    for dtype, tolerance in (("f8", 1e-12), ("f4", 1e-4)):
        case = random_case(rng, mode, T, B, 3, H, D, dtype)
        device = device_on("barrier", SimOptions(check=dtype == "f8"))
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), tolerance)
        assert device.rungs == BOTH


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_threads_changes_no_bit(
    mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_multiprocessors(monkeypatch, 6)
    case = random_case(rng, mode, T=5, B=3, I=2, H=11, dtype="f4")
    results = [case.run(device_on("barrier", options)) for options in (SimOptions(), *CHECKS)]
    for other in results[1:]:
        for name, value in results[0].items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("mode", slow_unless(["lstm", "gru"], MODES))
def test_it_judges_the_fast_rung(mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the CPU: the same cells, compiled by the same compiler, differ by the order of the sums alone."""
    tiny_layouts(monkeypatch)
    case = random_case(rng, mode, T=6, B=5, I=3, H=13)
    plain, fast = (case.run(device_on(rung)) for rung in ("barrier", "persistent"))
    assert_close(fast, plain, 1e-13)


# ---- when it cannot be


@pytest.mark.parametrize("backward", [False, True])
def test_a_missing_block_is_an_error_and_no_hang(
    backward: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_of, wanted = barrier.kernel_of, "gru_barrier_grad" if backward else "gru_barrier"
    monkeypatch.setattr(
        barrier,
        "kernel_of",
        lambda device, file, name, *more: (OneBlockLess if name == wanted else lambda k: k)(
            kernel_of(device, file, name, *more)
        ),
    )
    case = random_case(rng, "gru", T=4, B=2, I=3, H=8)
    with pytest.raises(LaunchError, match=r"gave up waiting for the messages of step 1 "):
        case.run(device_on("barrier"))


def test_blocks_that_do_not_fit_at_once_take_the_lowest_rung(rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", T=3, B=2, I=3, H=6)
    device = device_on("barrier", SimOptions(check=True, resident=11))  # of 2 * 6 blocks
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
    assert device.rungs == {"steps forward": 1, "steps backward": 1}


def test_a_plan_covers_all_units_fits_the_device_or_says_why_not() -> None:
    limits = device_on("steps", SimOptions(shared_limit=227 << 10)).driver.limits
    for H, D in ((1, 1), (131, 1), (132, 1), (133, 2), (512, 2), (1024, 1)):
        for backward in (False, True):
            sizes = Sizes("lstm", 9, 5, H, H, D, 4)
            plan = barrier_plan(sizes, limits, backward)
            assert not isinstance(plan, str)
            assert (plan.blocks - 1) * plan.units < H <= plan.blocks * plan.units
            assert plan.blocks * D <= limits.multiprocessors
            assert plan.shared == plan.units * 4 * H * 4 <= limits.shared_bytes_per_block
            assert 5 * plan.units <= 32 * plan.warps <= 256
    refused = barrier_plan(Sizes("lstm", 9, 5, 2048, 2048, 1, 4), limits, False)
    assert isinstance(refused, str) and refused.startswith("its weights do not fit on the chip: 524,288 bytes")
