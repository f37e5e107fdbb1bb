"""Copying arrays to and from any driver."""

from typing import Any

import numpy as np


def put(driver: Any, array: Any) -> Any:
    """A copy of `array` in device memory."""
    host = np.ascontiguousarray(array)
    buffer = driver.alloc(host.nbytes)
    driver.h2d(buffer.ptr, host)
    return buffer


def take(driver: Any, ptr: Any, shape: Any, dtype: Any) -> np.ndarray:
    """The contents at an address, or of a buffer."""
    host = np.empty(shape, dtype)
    driver.d2h(host, getattr(ptr, "ptr", ptr))
    return host
