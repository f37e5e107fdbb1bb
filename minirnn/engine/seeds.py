"""The gradients at which `Tensor.backward` and `grad` start: those that the user gave, checked, or 1 for a loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.engine.operands import tensor_list
from minirnn.engine.tensor import Tensor, as_tensor, leaf


def tensors_of(what: str, given: Any) -> tuple[Tensor, ...]:
    """The outputs or inputs of `grad`."""
    return tuple(tensor_list("grad", what, given, "a Tensor or a sequence of Tensors", one=True))


def one_name_of(grad: Any, gradient: Any) -> Any:
    """The gradient given to `Tensor.backward`, either as `grad` or under torch's name `gradient`."""
    if grad is not None:
        raise TypeError("backward: got grad and gradient\n  expected one: gradient is torch's name for grad")
    return gradient


def seeds_of(name: str, outputs: Sequence[Tensor], grads: Sequence[Any]) -> list[Tensor]:
    """The gradient of each output at which the backward pass starts: the given one, or 1 for shape ()."""
    if len(grads) != len(outputs):
        raise ValueError(f"{name}: got {len(grads)} gradients for {len(outputs)} outputs\n  expected one for each")
    for y in outputs:  # a constant is allowed among other outputs, because its gradient is 0
        if y.requires_grad:
            break
    else:
        if not outputs:
            raise ValueError(f"{name}: got 0 outputs\n  expected at least one Tensor")
        raise ValueError(
            f"{name}: the output was not recorded (shape {', '.join(str(y.shape) for y in outputs)})\n"
            "  expected a Tensor computed from one with requires_grad=True, outside no_grad()"
        )
    given = zip(outputs, grads, strict=True)
    return [_one(name, k, y) if g is None else _cotangent(name, k, y, g) for k, (y, g) in enumerate(given)]


def _one(name: str, k: int, y: Tensor) -> Tensor:
    """The gradient of a number with respect to itself."""
    if y.size != 1:
        raise ValueError(
            f"{name}: output {k} has shape {y.shape} and no gradient was given for it\n"
            "  expected a loss of one element, or a gradient of the output's shape\n"
            "  likely a sum() or mean() is missing"
        )
    return leaf(y.device, y.device.full(y.shape, 1, y.dtype))


def _cotangent(name: str, k: int, y: Tensor, g: Any) -> Tensor:
    """The gradient that the user gave for output `k`."""
    if not isinstance(g, Tensor):
        g = as_tensor(g, y.device, y.dtype)
    if g.device is not y.device:  # a copy on this device would be a constant, and its gradient would be lost
        raise ValueError(
            f"{name}: the gradient of output {k} lives on {g.device}, the output on {y.device}\n"
            f"  expected one device; move it with g.to({str(y.device)!r})"
        )
    if g.shape != y.shape or g.dtype != y.dtype:
        raise ValueError(
            f"{name}: the gradient of output {k} has shape {g.shape}, dtype {g.dtype}\n"
            f"  expected those of the output: {y.shape}, {y.dtype}"
        )
    return g


def gradients_of(outputs: Any, ys: Sequence[Tensor], grad_outputs: Any) -> Sequence[Any]:
    """One gradient, or None, for each output that `grad` was given."""
    if grad_outputs is None:
        return [None] * len(ys)
    if not isinstance(grad_outputs, (list, tuple)):
        return [grad_outputs]
    if isinstance(outputs, Tensor):
        one = len(grad_outputs) == 1 and (grad_outputs[0] is None or np.shape(grad_outputs[0]) == outputs.shape)
        return grad_outputs if one else [grad_outputs]  # a list with the gradient, or the gradient itself as a list
    return grad_outputs
