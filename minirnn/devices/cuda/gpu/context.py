"""The context and the stream in which the calling thread gives work to a GPU."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from minirnn.devices.cuda.driver import LaunchError

LATE = (
    "a kernel's error may appear in a later call; MINIRNN_DEBUG=1 waits for every launch and runs the failing one "
    "again in the simulator. If memory was at fault, this GPU context is lost: restart Python"
)


class Current:
    """Inside ``with`` the GPU's context is current in this thread, and PyCUDA's errors become `LaunchError`."""

    def __init__(self, drv: Any, context: Any) -> None:
        self.error, self.context = drv.Error, context
        self.push, self.pop = context.push, context.pop
        self.alive = True

    def __enter__(self) -> None:
        try:
            self.push()
        except self.error as error:
            raise LaunchError(f"{error}\n  {LATE}") from error

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            self.pop()
        except self.error as lost:
            error = error or lost
        if isinstance(error, self.error):
            raise LaunchError(f"{error}\n  {LATE}") from error

    def end(self) -> None:
        """Release the context. PyCUDA's remaining objects in it are then dropped silently."""
        self.alive = False
        with suppress(self.error):
            self.context.detach()


class Here(threading.local):
    """The stream for this thread's work: the common stream, or the one from which a graph is recorded."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.recording = stream, False
