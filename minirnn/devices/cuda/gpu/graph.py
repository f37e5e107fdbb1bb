"""A CUDA graph: launches that are recorded from a stream once and then started in a single call.

PyCUDA has no graphs, so this module calls the CUDA driver. The GPU's context must be current.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.gpu.libcuda import call

RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: this thread and others may continue their work


class Graph:
    """Record the work that `work()` sends to the stream. No other code may use that stream, or its work is also
    recorded.

    Raises `LaunchError` if the CUDA driver refuses.
    """

    def __init__(self, driver: Any, stream: int, work: Callable[[], None]) -> None:
        self._driver = driver
        captured, self._exec = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), ctypes.c_int(RELAXED))
        try:
            work()
        except BaseException:
            with suppress(LaunchError):  # a failed capture has ended; the first error says why
                call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(captured))
            _destroy(captured)
            raise
        call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(captured))
        try:
            call("cuGraphInstantiateWithFlags", ctypes.byref(self._exec), captured, ctypes.c_ulonglong(0))
        finally:
            _destroy(captured)

    def __call__(self) -> None:
        """Start it on the driver's common stream."""
        with self._driver.working:
            self._driver.launches += 1
            call("cuGraphLaunch", self._exec, ctypes.c_void_p(self._driver.stream_handle))

    def close(self) -> None:
        """Free the graph, after all work."""
        if self._exec:
            self._driver.synchronize()
            with self._driver.working:
                call("cuGraphExecDestroy", self._exec)
            self._exec = ctypes.c_void_p()


def _destroy(captured: ctypes.c_void_p) -> None:
    if captured:
        call("cuGraphDestroy", captured)
