"""The tape: recording what was computed. The backward pass over it is in `backward`.

Every op is an `Op` with a ``backward``: given the gradient of what it made, it returns the gradients of what went in.
The formula is written once and read in two ways: on Tensors, so that gradients can be differentiated again
(``create_graph=True``), or, for ops marked ``arithmetic``, on the bare arrays, which is several times faster.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from minirnn.devices.base import Array, Device
from minirnn.engine.tensor import Tensor, next_seq


class Op:
    """What a node of the tape means. One instance may serve many nodes; attributes (an axis, say) live on the instance.

    Class attributes
    ----------------
    arithmetic : bool
        ``backward`` uses nothing but ``+ - * / **`` and unary ``-``, so it may be given bare arrays.
    broadcasts : bool
        Inputs were broadcast against each other: their gradients are summed back to their shapes (and cast to their
        dtypes) after ``backward``.
    reads_inputs : bool
        ``backward`` uses the values of the inputs: changing one of them before the backward pass is an error.
    precision : str or None
        How the forward pass multiplied float32 matrices (`use_precision`): the backward pass does so, too. None: the op
        multiplies none.
    """

    arithmetic = False
    broadcasts = False
    reads_inputs = True
    precision: str | None = None

    @property
    def name(self) -> str:
        return type(self).__name__

    backward: Callable[..., Sequence[Any]]
    """``backward(dy, y, *inputs)``: gradients of the inputs, in their order, None where there is none.

    `dy` is the gradient of the output `y`. For an op with several outputs `dy` and `y` are lists, and entries of `dy`
    are None where nothing arrived.
    """


class Freed(Op):
    """Takes the place of an op whose part of the tape was given back."""


FREED = Freed()


# ---- recording


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
    y.grad = None
    y.hooks = None
    y.seq = next_seq()
    if mode.enabled:
        for p in parents:
            if p.requires_grad:
                y.op = op
                y.parents = parents
                y.requires_grad = True
                return y
    y.op = None
    y.parents = ()
    y.requires_grad = False
    return y
