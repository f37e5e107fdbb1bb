"""minirnn's own kernels under all checks, in several thread orders: no report, and the results of the cpu device.

Sizes leave blocks and warps partly filled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import devices, ops
from minirnn.devices.base import Device
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.ops.block_cases import gru_inputs, lstm_inputs

ORDERS = {0: SimOptions(check=True), 1: SimOptions(check=True, seed=1), 2: SimOptions(check=True, seed=2, preempt=16)}
CPU = devices.get("cpu")
B, I, H, T = 7, 5, 45, 3  # B * H = 315: a block of 256 threads and one of 59


@pytest.fixture(scope="module", params=ORDERS)
def checked(request: pytest.FixtureRequest) -> Cuda:
    return Cuda(SimDriver(ORDERS[request.param]))


def assert_equal_on_both(checked: Cuda, work: Callable[[Device], list[np.ndarray]], tolerance: float) -> None:
    """`work(device)` gives the same arrays on cpu and in the simulator, which has looked at every access."""
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


def block_op(op: str, attributes: dict[str, Any], dtype: str, rng: np.random.Generator) -> Callable[[Device], Any]:
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
        inputs = [mr.tensor(v, True, device) for v in values.values()]
        outputs = getattr(ops, op)(*lengths, *inputs, **attributes)
        gradients = mr.grad(list(outputs), inputs, [mr.tensor(g, device=device) for g in upstream])
        return [t.numpy() for t in (*outputs, *gradients) if t is not None]

    return work


@pytest.mark.parametrize("case", BLOCK_OPS)
def test_block_ops_forward_and_backward(checked: Cuda, rng: np.random.Generator, case: str) -> None:
    assert_equal_on_both(checked, block_op(*BLOCK_OPS[case], "f4", rng), 1e-4)


@pytest.mark.parametrize("case", ["block_lstm, peepholes, short", "gru_block_cell"])
def test_block_ops_in_half_precision(checked: Cuda, rng: np.random.Generator, case: str) -> None:
    assert_equal_on_both(checked, block_op(*BLOCK_OPS[case], "f2", rng), 0.03)


def primitive(call: Callable[..., Any], *hosts: Any) -> Callable[[Device], list[np.ndarray]]:
    """``call(device, *arrays)``, which may give one array or several."""

    def work(device: Device) -> list[np.ndarray]:
        found = call(device, *[device.asarray(host) for host in hosts])
        return [device.to_numpy(a) for a in (found if isinstance(found, list) else [found])]

    return work


FUNCTIONS = ["negative", "absolute", "sign", "exp", "log", "sqrt", "tanh", "sigmoid", "relu"]
BINARY = ["add", "subtract", "multiply", "divide", "power", "maximum", "minimum"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


def test_elementwise_in_c_order_transposed_and_broadcast(checked: Cuda, rng: np.random.Generator) -> None:
    x, y = rng.uniform(0.1, 2, (2, 19, 23)).astype("f4")
    row = rng.uniform(0.1, 2, 19).astype("f4")

    def functions(device: Device, a: Any, b: Any, c: Any) -> list[Any]:
        turned = device.transpose(a, (1, 0))
        found = [getattr(device, name)(v) for name in FUNCTIONS for v in (a, turned)]
        found += [getattr(device, name)(turned, c) for name in BINARY]
        found += [getattr(device, name)(a, b) for name in COMPARISONS]
        found.append(device.where(device.less(a, b), a, b))
        found.append(device.clip(turned, 0.5, 1.5))
        return found

    assert_equal_on_both(checked, primitive(functions, x, y, row), 1e-5)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4"])
def test_reductions_by_a_thread_and_by_a_block_for_each_result(
    checked: Cuda, rng: np.random.Generator, dtype: str
) -> None:
    few, many = rng.integers(-3, 4, (37, 11)).astype(dtype), rng.integers(-3, 4, (3, 5, 301)).astype(dtype)

    def reductions(device: Device, a: Any, b: Any) -> list[Any]:
        found = [device.sum(v, axis, keepdims) for v in (a, b) for axis, keepdims in ((None, True), ((0,), False))]
        found += [device.sum(b, (1, 2), False), device.sum(device.transpose(b, (2, 1, 0)), (0, 2), True)]
        found += [device.max(a, (1,), False), device.max(b, (2,), True), device.max(b, None, False)]
        return [*found, device.argmax(a, 0), device.argmax(b, 2)]

    assert_equal_on_both(checked, primitive(reductions, few, many), 1e-5)


def test_softmax_of_short_and_long_rows(checked: Cuda, rng: np.random.Generator) -> None:
    short, long = rng.standard_normal((5, 3)).astype("f4"), rng.standard_normal((3, 1001)).astype("f4")

    def rows(device: Device, a: Any, b: Any) -> list[Any]:
        return [
            getattr(device, name)(v, axis) for name in ("softmax", "log_softmax") for v in (a, b) for axis in (0, 1)
        ]

    assert_equal_on_both(checked, primitive(rows, short, long), 1e-5)


def test_gather_and_scatter(checked: Cuda, rng: np.random.Generator) -> None:
    table = rng.standard_normal((13, 27)).astype("f4")
    rows = rng.integers(-13, 13, (11, 3))
    columns = rng.integers(0, 27, (11, 3))
    added = rng.standard_normal((11, 3, 27)).astype("f4")

    def index(device: Device, a: Any, b: Any) -> list[Any]:
        points = device.getitem(a, (rows, columns))
        return [
            device.getitem(a, (rows,)),
            points,
            device.getitem(a, (slice(None, None, -2), slice(1, None, 3))),
            device.scatter_add((13, 27), (rows,), b),
            device.scatter_add((13, 27), (rows, columns), points),
            device.concatenate([a, device.transpose(device.transpose(a, (1, 0)), (1, 0)), a], 1),
        ]

    assert_equal_on_both(checked, primitive(index, table, added), 1e-5)


def test_products_of_integers_and_floats(checked: Cuda, rng: np.random.Generator) -> None:
    a, b = rng.integers(-9, 10, (2, 19, 7)), rng.integers(-9, 10, (2, 7, 23))

    def products(device: Device, *arrays: Any) -> list[Any]:
        one, other = arrays
        turned = device.transpose(device.transpose(other, (0, 2, 1)), (0, 2, 1))
        return [device.matmul(one, other), device.matmul(one, turned)]

    for dtype in ("i4", "f4"):
        assert_equal_on_both(checked, primitive(products, a.astype(dtype), b.astype(dtype)), 1e-5)


@pytest.mark.parametrize("dtype", ["f8", "?"])
def test_casts_fills_and_copies(checked: Cuda, rng: np.random.Generator, dtype: str) -> None:
    x = rng.integers(0, 5, (17, 19)).astype("f4")

    def copies(device: Device, a: Any) -> list[Any]:
        turned = device.transpose(a, (1, 0))
        other = device.cast(turned, dtype)
        return [other, device.cast(other, "f4"), device.full((301,), 1, dtype), device.reshape(turned, (17 * 19,))]

    assert_equal_on_both(checked, primitive(copies, x), 0)
