"""What the tests of the simulator share: arrays in and out of a driver, and a short way to run a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.memory import SimBuffer


def put(driver: SimDriver, array: Any) -> SimBuffer:
    """A copy of `array` in device memory."""
    host = np.ascontiguousarray(array)
    buffer = driver.alloc(host.nbytes)
    driver.h2d(buffer.ptr, host)
    return buffer


def take(driver: SimDriver, ptr: Any, shape: Any, dtype: Any) -> np.ndarray:
    """What lies at an address, or in a buffer."""
    host = np.empty(shape, dtype)
    driver.d2h(host, getattr(ptr, "ptr", ptr))
    return host
