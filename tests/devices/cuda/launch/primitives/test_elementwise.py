"""Element by element, under all checks of the simulator: functions, operators, casts, copies."""

from __future__ import annotations

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
        found.append(device.where(device.less(a, b), a, b))
        found.append(device.clip(turned, 0.5, 1.5))
        return found

    assert_equal_on_both(checked, primitive(functions, x, y, row), 1e-5)


@pytest.mark.parametrize("dtype", ["f8", "?"])
def test_casts_fills_and_copies(checked: Cuda, rng: np.random.Generator, dtype: str) -> None:
    x = rng.integers(0, 5, (17, 19)).astype("f4")

    def copies(device: Device, a: Any) -> list[Any]:
        turned = device.transpose(a, (1, 0))
        other = device.cast(turned, dtype)
        return [other, device.cast(other, "f4"), device.full((301,), 1, dtype), device.reshape(turned, (17 * 19,))]

    assert_equal_on_both(checked, primitive(copies, x), 0)
