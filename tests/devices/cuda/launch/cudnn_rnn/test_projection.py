"""A projected lstm layer on the rungs of one launch in the simulator: against the CPU, in three orders of the threads.

The stored values of torch are in the tests of each rung.
"""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import (
    CHECKS,
    assert_close,
    device_on,
    in_float64,
    random_case,
    tiny_layouts,
)

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)

RUNGS = ("persistent", "cluster", "tensor")


def both(rung: str) -> dict[str, int]:
    return {f"{rung} forward": 1, f"{rung} backward": 1}


@pytest.mark.parametrize("T, B, H, P, D, ragged", [
    (1, 1, 2, 1, 1, False), (1, 3, 7, 5, 2, False), (5, 4, 9, 3, 2, True), (4, 3, 33, 17, 1, True),
    (4, 5, 8, 1, 2, False),
])  # fmt: skip
@pytest.mark.parametrize("rung", RUNGS)
def test_odd_sizes(rung: str, T: int, B: int, H: int, P: int, D: int, ragged: bool, rng: np.random.Generator) -> None:
    """Sums of up to T * B = 20 rows or 4 * H = 132 columns: as for the rungs without a projection."""
    dtype = "f4" if rung == "tensor" else "f8"
    case = random_case(rng, "lstm", T, B, 3, H, D, dtype, ragged, P)
    device = device_on(rung)
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), {"f4": 3e-5, "f8": 1e-12}[dtype])
    assert device.rungs == both(rung)


def test_several_blocks_in_three_orders_of_the_threads_give_the_same_bits(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    case = random_case(rng, "lstm", T=4, B=5, I=3, H=11, dtype="f4", P=6)
    first, *others = (case.run(device_on("persistent", options)) for options in (SimOptions(), *CHECKS))
    assert_close(first, case.run(mr.devices.get("cpu")), 3e-5)
    for other in others:
        for name, value in first.items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("rung", RUNGS)
def test_float16(rung: str, rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", T=4, B=5, I=3, H=10, dtype="f2", P=6)
    device = device_on(rung)
    found, expected = case.run(device), case.run(device_on("steps"))
    assert_close(found, expected, 8e-3 if rung == "tensor" else 2e-3)  # as without a projection
    assert all(value.dtype == np.float16 for value in found.values())
    assert device.rungs == both(rung)


@pytest.mark.parametrize("D", [1, 2])
def test_what_lies_in_the_padding_does_not_spread(D: int, rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", T=5, B=4, I=3, H=9, D=D, P=4)
    expected = case.run(mr.devices.get("cpu"))
    outside = np.arange(5)[:, None] >= case.lengths
    assert outside.any()
    case.x[outside] = case.dy[outside] = np.nan
    found = case.run(device_on("persistent"))
    assert_close(found, expected, 1e-12)
    assert not found["y"][outside].any() and not found["dx"][outside].any()


def test_the_last_state_is_the_last_output_bit_for_bit(rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", T=5, B=4, I=3, H=9, dtype="f4", P=4)
    found = case.run(device_on("persistent"), backward=False)
    np.testing.assert_array_equal(found["h_n"][0], found["y"][case.lengths - 1, np.arange(4), :4])
    np.testing.assert_array_equal(found["h_n"][1], found["y"][0, :, 4:])


def test_a_layer_is_as_exact_as_step_by_step(rng: np.random.Generator) -> None:
    """R Wp is rounded once more; beside the sums of 4 * 64 products that does not show."""
    case = random_case(rng, "lstm", T=8, B=8, I=3, H=64, D=1, dtype="f4", ragged=False, P=32)
    exact = in_float64(case)
    found = {rung: case.run(device_on(rung)) for rung in ("steps", "persistent", "tensor")}
    for name in ("y", "dx", "dh0", "dR[0]", "dWp[0]"):
        plain, *others = (np.abs(found[rung][name] - exact[name]).mean() for rung in found)
        print(f"{name}: {[f'{other / plain:.2f}' for other in others]} times the error of steps")
        assert all(other <= 3 * plain for other in others), name
