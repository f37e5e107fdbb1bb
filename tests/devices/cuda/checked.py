"""minirnn's own kernels under all checks, in several thread orders: no report, and the results of the cpu device.

The fixture and the comparison are shared by the tests of `launch/`. Sizes leave blocks and warps partly filled.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import devices, ops
from minirnn.devices.base import Device
from minirnn.devices.cuda.array import c_strides
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.ops.block_cases import gru_inputs, lstm_inputs
from tests.slow import slow_unless

ORDERS = {0: SimOptions(check=True), 1: SimOptions(check=True, seed=1), 2: SimOptions(check=True, seed=2, preempt=16)}


CPU = devices.get("cpu")


B, I, H, T = 7, 5, 45, 3  # B * H = 315: a block of 256 threads and one of 59


@pytest.fixture(scope="module", params=slow_unless([1], ORDERS))
def checked(request: pytest.FixtureRequest) -> Cuda:
    return Cuda(SimDriver(ORDERS[request.param]))


def assert_equal_on_both(checked: Cuda, work: Callable[[Device], list[np.ndarray]], tolerance: float) -> None:
    """Check that `work(device)` gives the same arrays on cpu and in the simulator, which checks every access."""
    expected, got = work(CPU), work(checked)
    checked.synchronize()
    assert checked.driver.stats.accesses > 0  # type: ignore[attr-defined]
    for k, (a, b) in enumerate(zip(got, expected, strict=True)):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"result {k}")


BLOCK_OPS: dict[str, tuple[str, dict[str, Any]]] = {
    "lstm_block_cell": ("lstm_block_cell", {"use_peephole": False}),
    "lstm_block_cell, peepholes, clip": ("lstm_block_cell", {"use_peephole": True, "cell_clip": 0.5}),
    "block_lstm": ("block_lstm", {"use_peephole": False}),
    "block_lstm, peepholes, short": ("block_lstm", {"use_peephole": True, "L": 2}),
    "block_lstm_v2, peepholes": ("block_lstm_v2", {"use_peephole": True}),
    "gru_block_cell": ("gru_block_cell", {}),
}


def block_op(
    op: str, attributes: dict[str, Any], dtype: str, rng: np.random.Generator, H: int = H, I: int = I, odd: bool = False
) -> Callable[[Device], Any]:
    """The op and its gradients. `odd`: each array begins one element behind the beginning of its memory."""
    attributes = dict(attributes)
    lengths: tuple[int, ...] = ()
    if op == "gru_block_cell":
        values = gru_inputs(rng, B, I, H, dtype)
    elif op == "lstm_block_cell":
        values = lstm_inputs(rng, (B,), I, H, dtype)
    else:
        values, lengths = lstm_inputs(rng, (T, B), I, H, dtype), (attributes.pop("L", T),)
    outputs = getattr(ops, op)(*lengths, *values.values(), **attributes)
    upstream = [rng.standard_normal(y.shape).astype(dtype) for y in outputs]

    def work(device: Device) -> list[np.ndarray]:
        inputs = [placed(v, device, odd) for v in values.values()]
        outputs = getattr(ops, op)(*lengths, *inputs, **attributes)
        gradients = mr.grad(list(outputs), inputs, [placed(g, device, odd) for g in upstream])
        return [t.numpy() for t in (*outputs, *gradients) if t is not None]

    return work


def placed(host: np.ndarray, device: Device, odd: bool) -> mr.Tensor:
    """A tensor, or one that begins at the second element of its memory."""
    if not odd or not isinstance(device, Cuda):
        return mr.tensor(host, True, device)
    memory = device.asarray(np.concatenate([np.zeros(1, host.dtype), host.ravel()]))
    tensor = mr.tensor(host, True, device)
    tensor.array = memory.seen_as(host.shape, c_strides(host.shape), 1)
    return tensor


def primitive(call: Callable[..., Any], *hosts: Any) -> Callable[[Device], list[np.ndarray]]:
    """``call(device, *arrays)``, which may give one array or several."""

    def work(device: Device) -> list[np.ndarray]:
        found = call(device, *[device.asarray(host) for host in hosts])
        return [device.to_numpy(a) for a in (found if isinstance(found, list) else [found])]

    return work
