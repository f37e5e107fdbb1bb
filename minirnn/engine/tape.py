"""The tape: recording ops, and switching recording on and off. Ops are in `op`, the backward pass in `backward`."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from minirnn.arguments.check import flag
from minirnn.arguments.names import own_init
from minirnn.devices.base import Array, Device
from minirnn.engine.op import Op as Op  # for modules that define an op and record it
from minirnn.engine.tensor import Tensor, next_seq


class _Mode(threading.local):
    enabled = True


mode = _Mode()
"""Whether ops are recorded, in this thread."""


class _set_grad:
    """Context manager and decorator that switches recording on or off, also without parentheses: ``@mr.no_grad``."""

    _value: bool
    _before: list[bool]

    def __new__(cls, function: Any = None) -> Any:
        self = object.__new__(cls)
        self._before = []
        if function is not None and not callable(function):
            raise TypeError(f"{cls.__name__}: got a {type(function).__name__}\n  expected nothing, or a function")
        return self if function is None else self(function)

    def __enter__(self) -> None:
        self._before.append(mode.enabled)
        mode.enabled = self._value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        mode.enabled = self._before.pop()

    def __call__(self, function: Any) -> Any:
        from functools import wraps
        from inspect import isgeneratorfunction

        value = self._value

        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with _switched(value):
                return function(*args, **kwargs)

        @wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            """The generator runs with the switch, and the caller's code between two ``yield`` runs without it."""
            pieces = function(*args, **kwargs)
            resume, given = pieces.send, None
            while True:
                try:
                    with _switched(value):
                        found = resume(given)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, given = pieces.send, (yield found)
                except GeneratorExit:
                    with _switched(value):
                        pieces.close()
                    raise
                except BaseException as error:
                    resume, given = pieces.throw, error

        return generator if isgeneratorfunction(function) else wrapped


@own_init
class no_grad(_set_grad):
    """Switch recording off: ``with mr.no_grad():`` or ``@mr.no_grad()``."""

    _value = False


@own_init
class enable_grad(_set_grad):
    """Switch recording on again inside a `no_grad` block: ``with mr.enable_grad():``."""

    _value = True


class inference_mode(_set_grad):
    """Another name for `no_grad`: ``with mr.inference_mode():``. You may use its results anywhere afterwards."""

    _value = False

    def __new__(cls, mode: Any = True) -> Any:
        if not isinstance(mode, bool):
            return super().__new__(cls, mode)
        self = super().__new__(cls)
        self._value = not mode
        return self


class set_grad_enabled(_set_grad):
    """Switch recording on or off, from now on or for a block: ``with mr.set_grad_enabled(training):``."""

    def __new__(cls, mode: bool) -> Any:
        self = super().__new__(cls)
        self._value = flag("set_grad_enabled", "mode", mode)
        return self

    def __init__(self, mode: bool) -> None:
        super().__enter__()

    def __enter__(self) -> None:
        """Enter the block. Recording is already switched."""

    def __call__(self, function: Any) -> Any:
        super().__exit__(None, None, None)
        return super().__call__(function)


class _switched(set_grad_enabled):
    """The same, but recording is switched only inside the block."""

    def __init__(self, mode: bool) -> None:
        pass

    __enter__ = _set_grad.__enter__


def is_grad_enabled() -> bool:
    """Whether ops are recorded."""
    return mode.enabled


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
