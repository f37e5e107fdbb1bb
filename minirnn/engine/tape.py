"""The tape: recording what was computed, or not. What a node means is in `op`, the pass over the tape in `backward`."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from minirnn.devices.base import Array, Device
from minirnn.engine.op import Op as Op  # for whoever writes an op and records it
from minirnn.engine.tensor import Tensor, next_seq


class _Mode(threading.local):
    enabled = True


mode = _Mode()
"""Whether ops are recorded, in this thread."""


class _set_grad:
    """Context manager and decorator that switches recording on or off."""

    value: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(mode.enabled)
        mode.enabled = self.value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        mode.enabled = self._before.pop()

    def __call__(self, function: Any) -> Any:
        from functools import wraps

        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return wrapped


class no_grad(_set_grad):
    """``with mr.no_grad():`` or ``@mr.no_grad()``: nothing is recorded inside."""

    value = False


class enable_grad(_set_grad):
    """``with mr.enable_grad():`` records again inside a `no_grad` block."""

    value = True


_new = object.__new__


def record(op: Op, device: Device, array: Array, parents: tuple[Tensor, ...]) -> Tensor:
    """The Tensor that `op` made: a node of the tape if gradients may flow into one of `parents`."""
    y = _new(Tensor)
    y.array = array
    y.device = device
    y._grad = y.hooks = None
    y.seq = next_seq()
    if mode.enabled:
        for p in parents:
            if p._requires_grad:
                y.op, y.parents, y._requires_grad = op, parents, True
                return y
    y.op, y.parents, y._requires_grad = None, (), False
    return y
