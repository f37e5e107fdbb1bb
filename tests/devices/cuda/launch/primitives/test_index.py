"""Gathering and scattering under all checks of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cuda.device import Cuda
from tests.devices.cuda.checked import assert_equal_on_both, checked, primitive

__all__ = ["checked"]  # a fixture


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
