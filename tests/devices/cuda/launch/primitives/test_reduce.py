"""Sums, maxima and softmaxes under all checks of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minirnn.devices.base import Device
from minirnn.devices.cuda.device import Cuda
from tests.devices.cuda.checked import assert_equal_on_both, checked, primitive

__all__ = ["checked"]  # a fixture


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
