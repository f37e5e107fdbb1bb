"""Matrix products under all checks of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cuda.device import Cuda
from tests.devices.cuda.checked import assert_equal_on_both, checked, primitive

__all__ = ["checked"]  # a fixture


def test_products_of_integers_and_floats(checked: Cuda, rng: np.random.Generator) -> None:
    a, b = rng.integers(-9, 10, (2, 19, 7)), rng.integers(-9, 10, (2, 7, 23))

    def products(device: Device, *arrays: Any) -> list[Any]:
        one, other = arrays
        turned = device.transpose(device.transpose(other, (0, 2, 1)), (0, 2, 1))
        return [device.matmul(one, other), device.matmul(one, turned)]

    for dtype in ("i4", "f4"):
        assert_equal_on_both(checked, primitive(products, a.astype(dtype), b.astype(dtype)), 1e-5)
