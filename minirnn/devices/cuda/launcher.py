"""Launcher: the part of `device.Cuda` that launching code uses. `device.Cuda` itself imports all of that code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Driver, Kernel
from minirnn.devices.cuda.missed import MissedMessages
from minirnn.devices.cuda.recordings import Recordings
from minirnn.devices.cuda.uncompiled import Uncompiled


class Launcher(Protocol):
    """A device that makes arrays and finds kernels. Primitives that some launches use are at the end."""

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
        plan: Plan | None = None,
    ) -> Kernel: ...

    def loop(self, work: Callable[[], None]) -> None: ...

    def empty(self, shape: Sequence[int], dtype: Any) -> CudaArray: ...

    def ones(self, n: int, dtype: np.dtype) -> CudaArray: ...

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> CudaArray: ...

    def asarray(self, host: Any) -> CudaArray: ...

    def contiguous(self, a: CudaArray, always: bool = False) -> CudaArray: ...

    def transpose(self, a: CudaArray, axes: tuple[int, ...]) -> CudaArray: ...

    def reshape(self, a: CudaArray, shape: Sequence[int]) -> CudaArray: ...

    def broadcast_to(self, a: CudaArray, shape: Sequence[int]) -> CudaArray: ...

    def concatenate(self, arrays: Sequence[CudaArray], axis: int) -> CudaArray: ...

    def getitem(self, a: CudaArray, index: tuple[Any, ...]) -> CudaArray: ...

    def sum(self, a: CudaArray, axis: tuple[int, ...] | None, keepdims: bool) -> CudaArray: ...

    def add(self, a: Any, b: Any) -> CudaArray: ...

    def where(self, condition: Any, a: Any, b: Any) -> CudaArray: ...
