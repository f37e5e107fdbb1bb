"""The host versions of the optional primitives, and a device that has no others."""

import numpy as np

from minirnn.devices import host_math
from minirnn.devices.base import PRIMITIVES, Device
from minirnn.devices.cpu.primitives import Primitives
from tests.compare import assert_same

Required = type("Required", (), {name: staticmethod(getattr(Primitives, name)) for name in PRIMITIVES})


class Bare(Required, Device):  # type: ignore[misc, valid-type]
    """NumPy with only the required primitives."""

    name = "bare"


def test_a_device_without_optional_primitives_computes_them_in_host_memory() -> None:
    device = Bare()
    a = np.array([[3.0, 1.0, 2.0], [0.0, 0.0, -1.0]])
    assert Bare.argsort.__name__ == "argsort" and Bare.argsort is Device.argsort
    assert_same(device.argsort(device.asarray(a), 1, True), np.array([[0, 2, 1], [0, 1, 2]]))
    assert_same(device.cumprod(device.asarray(a), 1), np.array([[3.0, 3, 6], [0, 0, 0]]))
    assert_same(device.min(device.asarray(a), (0,), True), np.array([[0.0, 0, -1]]))


def test_a_recurrence_by_hand() -> None:
    a, b = np.array([[5.0, 2, 3]]), np.array([[1.0, 1, 1]])
    assert_same(host_math.recurrence(a, b, 1), np.array([[1.0, 3, 10]]))
    assert_same(host_math.recurrence(a, b, 0), np.array([[1.0, 1, 1]]))


def test_descending_order_keeps_equal_ones_as_they_were() -> None:
    assert_same(host_math.argsort(np.array([1.0, 2, 1, 2, np.nan]), 0, True), np.array([4, 1, 3, 0, 2]))
    assert_same(host_math.argsort(np.array([1.0, np.nan, 1, 0]), 0, False), np.array([3, 0, 2, 1]))


def test_float16_is_summed_in_float32() -> None:
    ones = np.ones(5000, np.float16)
    assert host_math.cumsum(ones, 0)[-1] == 5000 and host_math.cumsum(ones, 0).dtype == np.float16
    assert host_math.prod(np.full(24, 2.0, np.float16) / 2, (0,), False).dtype == np.float16
