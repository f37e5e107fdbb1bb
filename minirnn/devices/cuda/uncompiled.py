"""Kernels that the compiler or the driver refuses. The lowest rung, `steps`, is used instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable

from minirnn.devices.cuda.driver import CompileError, Kernel
from minirnn.devices.host_cpp.compiler import first_error

WARNING = "the rung {} of CudnnRNN {}; the rung steps is used instead"
NOT_COMPILED = "does not compile here"
NOT_STARTED = "is not started by the driver, as under MPS or in a green context"


class Uncompiled:
    """The refused kernels of a device. Each is tried once, and there is one warning per rung."""

    def __init__(self) -> None:
        self._refused: set[Hashable] = set()
        self._told: set[str] = set()

    def unless_refused(self, key: Hashable, rung: str, compiled: Callable[[], Kernel]) -> Kernel | None:
        """The result of ``compiled()``, or None if it raised `CompileError`, or `refuse` was called for it.

        `key` identifies the kernel, `rung` is the rung of the CudnnRNN ladder that needs it.
        """
        if key in self._refused:
            return None
        try:
            return compiled()
        except CompileError as error:
            self.refuse(key, rung, NOT_COMPILED, str(error))
            return None

    def refuse(self, key: Hashable, rung: str, what: str, said: str) -> None:
        """Do without this kernel from now on; `what` happened, and this was `said`."""
        self._refused.add(key)
        if rung not in self._told:
            self._told.add(rung)
            warnings.warn(f"{WARNING.format(rung, what)}\n  {first_error(said)}", RuntimeWarning, stacklevel=3)
