"""Launcher: the device as launching code sees it. `device.Cuda` itself imports all of that code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from minirnn.cells.keyed import KeyedPlan
from minirnn.cells.plan import Plan
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Driver, Kernel
from minirnn.devices.cuda.missed import MissedMessages
from minirnn.devices.cuda.recordings import Recordings
from minirnn.devices.cuda.uncompiled import Uncompiled


class Launcher(Protocol):
    """A device that finds kernels and makes arrays, and that has all primitives of `minirnn.devices.base`."""

    driver: Driver
    recordings: Recordings
    missed: MissedMessages
    uncompiled: Uncompiled
    cudnn_rnn_rung: str | None
    rungs: Counter[str]

    def kernel_of(
        self,
        file: str,
        kernel: str,
        dtype: np.dtype,
        constants: tuple[str, ...] = (),
        plan: Plan | KeyedPlan | None = None,
    ) -> Kernel: ...

    def loop(self, work: Callable[[], None]) -> None: ...

    def empty(self, shape: Sequence[int], dtype: Any) -> CudaArray: ...

    def __getattr__(self, name: str) -> Any: ...
