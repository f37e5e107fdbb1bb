"""Checks whether a block missed a message. Kernels whose blocks wait for each other's messages record it.

Each such kernel has a word in device memory, always the same one, so that its launches can be recorded. To read it
the host must wait for the GPU. It does so when a result leaves the device (`Cuda.to_numpy`), when it waits anyway
(`Cuda.synchronize`), and at the end of a backward pass, before an optimizer uses the gradients; not after each launch.
"""

from __future__ import annotations

import threading

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import LaunchError

WORDS = 64
"""The number of kernels with their own word; all others share the last one."""


class MissedMessages:
    """The words of one device: 0, or the number of the first step whose message a block did not get."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._names: list[str] = []
        self._words: CudaArray | None = None
        self._unseen = False
        self._lock = threading.Lock()

    def word_of(self, kernel: str) -> CudaArray:
        """The word of this kernel, (1,) of uint32. `kernel` is the text for errors: its name and its blocks."""
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
        """Note that such a kernel was launched. Call it after the launch; a check in between is then unnecessary but
        harmless.
        """
        self._unseen = True

    def look(self) -> None:
        """Wait for the launches since the last check, and raise `LaunchError` if one of them missed a message.

        Does nothing if there were none.
        """
        if not self._unseen or self._words is None:
            return
        self._unseen = False
        words = np.empty(WORDS, np.uint32)
        self.device.driver.d2h(words, self._words.ptr)
        if words.tobytes() == bytes(words.nbytes):
            return
        self.device.driver.memset(self._words.ptr, 0, self._words.nbytes)
        index = int(np.flatnonzero(words)[0])
        name = self._names[index] if index < WORDS - 1 else " or ".join(self._names[index:])
        raise LaunchError(
            f"{name}: a block gave up waiting for the messages of step {words[index]} of a sequence\n"
            "  results computed since then are invalid; not all blocks ran at the same time, or one of them failed\n"
            "  the lowest rung needs no messages: MINIRNN_CUDNN_RNN=steps"
        )
