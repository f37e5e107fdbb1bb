"""The plain rung of one launch in the simulator: its layouts against the CPU, and the fast rung against it.

Tests `minirnn/devices/cuda/launch/sequence/layout.py`,
`minirnn/devices/cuda/kernels/sequence/barrier.cu` and `minirnn/devices/cuda/kernels/grid_barrier.cuh`. What happens if
one of its lines is missing: `docs/appendix/puzzles.md`. The common part of both rungs of one launch:
`tests/devices/cuda/launch/sequence/test_one_launch.py`.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.launch.sequence.layout import barrier_layout
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.ops.cudnn_rnn.cells import plan_of
from tests.devices.cuda.launch.sequence.ladder_cases import (
    MODES,
    assert_close,
    device_on,
    random_case,
    with_multiprocessors,
)

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)
BOTH = {"barrier forward": 1, "barrier backward": 1}


@pytest.mark.parametrize(
    "T, B, H, D, multiprocessors",
    [
        (1, 3, 7, 2, 132),  # no barrier at all in the forward pass
        (6, 5, 11, 2, 132),  # one unit per block
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


def test_a_layout_covers_all_units_fits_the_device_or_says_why_not() -> None:
    limits = device_on("steps", SimOptions(shared_limit=227 << 10)).driver.limits
    for H, D in ((1, 1), (131, 1), (132, 1), (133, 2), (512, 2), (1024, 1)):
        for backward in (False, True):
            sizes = Sizes(plan_of("lstm"), 9, 5, H, H, D, 4)
            layout = barrier_layout(sizes, limits, backward)
            assert not isinstance(layout, str)
            assert (layout.blocks - 1) * layout.units < H <= layout.blocks * layout.units
            assert layout.blocks * D <= limits.multiprocessors
            assert layout.shared == layout.units * 4 * H * 4 <= limits.shared_bytes_per_block
            assert 5 * layout.units <= 32 * layout.warps <= 256
    refused = barrier_layout(Sizes(plan_of("lstm"), 9, 5, 2048, 2048, 1, 4), limits, False)
    assert isinstance(refused, str) and refused.startswith("its weights do not fit on the chip: 524,288 bytes")
