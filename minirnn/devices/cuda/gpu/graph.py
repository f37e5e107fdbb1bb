"""A CUDA graph: launches recorded from a stream once, then given to the GPU in a single call.

PyCUDA has no graphs; these are the driver's own functions. Call them while the GPU's context is current.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress

from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.gpu.libcuda import call

RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: this thread and others may go on with whatever they do


class Graph:
    """What `work()` sends to the stream, which must not be the one that others use: their work would be in it too.

    Raises `LaunchError` if the driver refuses.
    """

    def __init__(self, stream: int, work: Callable[[], None]) -> None:
        captured, self._exec = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), ctypes.c_int(RELAXED))
        try:
            work()
        except BaseException:
            with suppress(LaunchError):  # a capture that failed is over; the first error says why
                call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(captured))
            _destroy(captured)
            raise
        call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(captured))
        try:
            call("cuGraphInstantiateWithFlags", ctypes.byref(self._exec), captured, ctypes.c_ulonglong(0))
        finally:
            _destroy(captured)

    def launch(self, stream: int) -> None:
        call("cuGraphLaunch", self._exec, ctypes.c_void_p(stream))

    def close(self) -> None:
        """Give it back. It must not be running."""
        if self._exec:
            call("cuGraphExecDestroy", self._exec)
            self._exec = ctypes.c_void_p()


def _destroy(captured: ctypes.c_void_p) -> None:
    if captured:
        call("cuGraphDestroy", captured)
