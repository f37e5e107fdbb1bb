"""Did a block wait in vain? Kernels whose blocks wait for each other's messages write it down; here it is looked at.

Each such kernel has a word in device memory, always the same one, so that its launches can be recorded. To look at it
the host must wait for the GPU. That is done where a result leaves the device (`Cuda.to_numpy`), where one waits anyway
(`Cuda.synchronize`), and at the end of a backward pass, before an optimizer uses the gradients; not after each launch.
"""

from __future__ import annotations

import threading

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import LaunchError

WORDS = 64
"""So many kernels have their own word; all others share the last one."""


class MissedMessages:
    """The words of one device: 0, or the number of the first step whose message a block did not get."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._names: list[str] = []
        self._words: CudaArray | None = None
        self._unseen = False
        self._lock = threading.Lock()

    def word_of(self, kernel: str) -> CudaArray:
        """Where this kernel writes, (1,) of uint32. `kernel` is what an error calls it: its name, its blocks."""
        with self._lock:
            if self._words is None:
                words = self.device.empty((WORDS,), np.uint32)
                self.device.driver.memset(words.ptr, 0, words.nbytes)
                self._words = words
            if kernel not in self._names:
                self._names.append(kernel)
            index = min(self._names.index(kernel), WORDS - 1)
            return self._words.seen_as((1,), (1,), index)

    def launched(self) -> None:
        """Such a kernel was launched. To be called after the launch: then a look in between is one too many at most."""
        self._unseen = True

    def look(self) -> None:
        """Wait for the launches since the last look, and raise `LaunchError` if one of them missed a message.

        Nothing is done if there were none. Inside a recording nothing can be waited for, so the next look does it.
        """
        if not self._unseen or self._words is None or self.device.driver.recording:
            return
        self._unseen = False
        words = np.empty(WORDS, np.uint32)
        self.device.driver.d2h(words, self._words.ptr)
        if not words.any():
            return
        self.device.driver.memset(self._words.ptr, 0, self._words.nbytes)
        index = int(np.flatnonzero(words)[0])
        name = self._names[index] if index < WORDS - 1 else " or ".join(self._names[index:])
        raise LaunchError(
            f"{name}: a block gave up waiting for the messages of step {words[index]} of a sequence\n"
            "  results computed since then are invalid; not all blocks ran at the same time, or one of them failed\n"
            "  the lowest rung needs no messages: MINIRNN_CUDNN_RNN=steps"
        )
