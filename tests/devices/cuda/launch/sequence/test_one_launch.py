"""The two rungs of one launch in the simulator: stored values of torch, orders of the threads, and when it cannot be.

Tests `minirnn/devices/cuda/launch/sequence/one_launch.py`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import LaunchError, RefusedLaunch
from minirnn.devices.cuda.launch.sequence import one_launch
from minirnn.devices.cuda.launch.sequence.choice import RUNGS
from minirnn.devices.cuda.sim.launch import SimKernel
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence.ladder_cases import (
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
from tests.slow import slow_unless

pytestmark = [
    pytest.mark.skipif(
        mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
    ),
    pytest.mark.parametrize("rung", RUNGS[1:]),
]


@pytest.mark.parametrize(
    ("path", "options"),
    [  # a plain run has every second network, with one order of the threads
        pytest.param(path, options, id=f"{path.stem}-seed{options.seed}", marks=[pytest.mark.slow] * (k % 6 != 2 * n))
        for k, path in enumerate(FILES)
        for n, options in enumerate(CHECKS)
    ],
)
def test_stored_values_of_torch_in_check_mode(
    path: Path, options: SimOptions, rung: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    name = shared_device_on(rung, options)
    device = mr.devices.get(name)
    device.rungs.clear()
    assert_stored(path, name, "float64" if options.seed else "float32")
    assert {key.split()[0] for key in device.rungs} == {"steps" if "proj" in path.stem else rung}


@pytest.mark.parametrize("mode", slow_unless(["lstm", "gru"], MODES))
def test_the_order_of_threads_changes_no_bit(
    mode: str, rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    with_multiprocessors(monkeypatch, 6)
    case = random_case(rng, mode, T=5, B=5, I=3, H=11, dtype="f4")
    results = [case.run(device_on(rung, options)) for options in (SimOptions(), *CHECKS)]
    for other in results[1:]:
        for name, value in results[0].items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)


# ---- when one launch is not possible


def test_blocks_that_do_not_fit_at_once_take_the_lowest_rung(
    rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)  # persistent: 2 * 4 blocks, barrier: 2 * 7
    case = random_case(rng, "lstm", T=3, B=2, I=3, H=7)
    device = device_on(rung, SimOptions(check=True, resident=5))
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
    assert device.rungs == {"steps forward": 1, "steps backward": 1}


@pytest.mark.parametrize("recorded", [False, True])
def test_a_launch_that_the_driver_refuses_takes_the_lowest_rung_and_says_so_once(
    recorded: bool, rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under MPS and in a green context `max_resident_blocks` knows nothing of the program's share of the GPU."""
    device, start = device_on(rung), SimKernel.__call__
    device.recordings.enabled = recorded
    case = random_case(rng, "lstm", T=3, B=2, I=3, H=7)
    expected = case.run(device)

    def refusing(self: SimKernel, *args: Any, cooperative: bool = False, **more: Any) -> None:
        if cooperative:
            raise RefusedLaunch("cuLaunchKernelEx failed: too many blocks in cooperative launch (error 720)")
        start(self, *args, **more)

    monkeypatch.setattr(SimKernel, "__call__", refusing)
    with pytest.warns(RuntimeWarning, match=rf"rung {rung} .* MPS .*; the rung steps is used instead\n.*720") as told:
        runs = [case.run(device) for _ in range(4)]
    assert len(told) == 1
    for found in runs:
        assert_close(found, expected, 1e-12)
    assert device.rungs["steps forward"] == device.rungs["steps backward"] == 4


class OneBlockLess:
    """A kernel that is launched without its last block."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.name, self.max_resident_blocks = kernel, kernel.name, kernel.max_resident_blocks

    def __call__(self, *args: Any, grid: Any, **more: Any) -> None:
        self.kernel(*args, grid=(grid[0] - 1, *grid[1:]), **more)


def leave_out_a_block(
    monkeypatch: pytest.MonkeyPatch, of: Callable[[str], bool] = lambda name: True, polls: int | None = None
) -> None:
    """From now on, omit the last block of these kernels. On a GPU, the others wait for it for a limited number of
    looks.
    """
    kernel_of = Cuda.kernel_of

    def made(device: Any, file: str, name: str, *more: Any) -> Any:
        kernel = kernel_of(device, file, name, *more)
        waits = "persistent" in name or "barrier" in name
        return OneBlockLess(kernel) if waits and of(name) else kernel

    monkeypatch.setattr(Cuda, "kernel_of", made)
    if polls:
        monkeypatch.setattr(one_launch, "PATIENCE", polls)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("options", CHECKS, ids=lambda o: f"seed{o.seed}")
def test_a_missing_block_is_an_error_and_no_hang(
    backward: bool, options: SimOptions, rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    leave_out_a_block(monkeypatch, lambda name: name.endswith("_grad") == backward)
    case = random_case(rng, "gru", T=4, B=2, I=3, H=8)
    with pytest.raises(
        LaunchError, match=r"gave up waiting for the messages of step [12] .*\n.*\n.*MINIRNN_CUDNN_RNN=steps"
    ):
        case.run(device_on(rung, options))
