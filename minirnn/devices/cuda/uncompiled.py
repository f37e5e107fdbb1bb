"""Kernels that the compiler rejects. The lowest rung, `steps`, is used instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable

from minirnn.devices.cuda.driver import CompileError, Kernel

WARNING = "the rung {} of CudnnRNN does not compile here; the rung steps is used instead"


class Uncompiled:
    """The rejected kernels of a device. Each is tried once, and there is one warning per rung."""

    def __init__(self) -> None:
        self._refused: set[Hashable] = set()
        self._told: set[str] = set()

    def unless_refused(self, key: Hashable, rung: str, compiled: Callable[[], Kernel]) -> Kernel | None:
        """The result of ``compiled()``, or None if it raised `CompileError`, now or before.

        `key` identifies the kernel, `rung` is the rung of the CudnnRNN ladder that needs it.
        """
        if key in self._refused:
            return None
        try:
            return compiled()
        except CompileError as error:
            self._refused.add(key)
            if rung not in self._told:
                self._told.add(rung)
                warnings.warn(f"{WARNING.format(rung)}\n  {first_error(str(error))}", RuntimeWarning, stacklevel=2)
            return None


def first_error(said: str) -> str:
    """The most informative line of a compiler's error message."""
    lines = [line for line in said.splitlines() if line.strip()]
    return next((line.strip() for line in lines if "error" in line or "fatal" in line), lines[0] if lines else "")
