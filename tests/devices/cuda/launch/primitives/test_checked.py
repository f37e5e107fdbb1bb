"""Primitives under all checks of the simulator, in several thread orders: no report, the cpu device's results.

Tests `minirnn/devices/cuda/launch/primitives/elementwise.py`, `minirnn/devices/cuda/launch/primitives/reduce.py`,
`minirnn/devices/cuda/launch/primitives/index.py` and `minirnn/devices/cuda/launch/primitives/products.py`.
"""

from typing import Any

import numpy as np
import pytest

from minirnn.devices.base import Device
from minirnn.devices.cuda.device import Cuda
from tests.devices.cuda.checked import assert_equal_on_both, checked, primitive

__all__ = ["checked"]  # a fixture

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
        return [*found, device.where(device.less(a, b), a, b), device.clip(turned, 0.5, 1.5)]

    assert_equal_on_both(checked, primitive(functions, x, y, row), 1e-5)


@pytest.mark.parametrize("dtype", ["f8", "?"])
def test_casts_fills_and_copies(checked: Cuda, rng: np.random.Generator, dtype: str) -> None:
    def copies(device: Device, a: Any) -> list[Any]:
        turned = device.transpose(a, (1, 0))
        other = device.cast(turned, dtype)
        return [other, device.cast(other, "f4"), device.full((301,), 1, dtype), device.reshape(turned, (17 * 19,))]

    assert_equal_on_both(checked, primitive(copies, rng.integers(0, 5, (17, 19)).astype("f4")), 0)


def test_gather_and_scatter(checked: Cuda, rng: np.random.Generator) -> None:
    table, added = rng.standard_normal((13, 27)).astype("f4"), rng.standard_normal((11, 3, 27)).astype("f4")
    rows, columns = rng.integers(-13, 13, (11, 3)), rng.integers(0, 27, (11, 3))

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

    def products(device: Device, one: Any, other: Any) -> list[Any]:
        turned = device.transpose(device.transpose(other, (0, 2, 1)), (0, 2, 1))
        return [device.matmul(one, other), device.matmul(one, turned)]

    for dtype in ("i4", "f4"):
        assert_equal_on_both(checked, primitive(products, a.astype(dtype), b.astype(dtype)), 1e-5)


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

    def rows(device: Device, *arrays: Any) -> list[Any]:
        return [
            getattr(device, name)(v, axis) for name in ("softmax", "log_softmax") for v in arrays for axis in (0, 1)
        ]

    assert_equal_on_both(checked, primitive(rows, short, long), 1e-5)
