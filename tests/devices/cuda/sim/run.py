"""Helpers of the simulator's tests: copying arrays to and from a driver, and running a kernel."""

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
    """The contents at an address, or of a buffer."""
    host = np.empty(shape, dtype)
    driver.d2h(host, getattr(ptr, "ptr", ptr))
    return host
