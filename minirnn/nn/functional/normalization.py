"""Normalization by mean and variance."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.operands import device_of
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op
from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.arguments import of_one_dtype, widened
from minirnn.ops.primitives.reductions import summed
from minirnn.ops.primitives.statistics import squarable


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last axes: ``torch.nn.functional.layer_norm``.

    The variance is the mean squared distance from the mean (biased). Ba et al. 2016.

    Parameters
    ----------
    input : ``(..., *normalized_shape)``
    normalized_shape : int or tuple of int
        The sizes of the last axes, over which mean and variance are computed.
    weight, bias : of shape normalized_shape, optional
    eps : float
        Keeps the divisor above 0.
    """
    sizes = shape_of("layer_norm", normalized_shape)
    x, dtype = widened("layer_norm", input, device_of(input, weight, bias))
    first = x.ndim - len(sizes)
    if x.shape[max(first, 0) :] != sizes:
        raise ValueError(f"layer_norm: input has shape {x.shape}\n  expected (..., {str(sizes)[1:-1].rstrip(',')})")
    axes = tuple(range(first, x.ndim))
    eps = check.number("layer_norm", "eps", eps)
    x = squarable(x, axes)
    y = Normalized(axes, eps)(x)
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None:
            t = of_one_dtype("layer_norm", name, value, x, dtype)
            if t.shape != sizes:
                raise ValueError(
                    f"layer_norm: {name} has shape {t.shape}\n  expected {sizes}, that of normalized_shape"
                )
            y = y * t if name == "weight" else y + t
    return y.astype(dtype)


class Normalized(Op):
    """y = (x - mean) * r,  r = 1 / sqrt(var + eps)     dx = r * (dy - mean(dy) - y * (mean(dy * y) + r * dr / n))

    Means are over n elements. r is also an output, so that the derivative can be differentiated again.
    """

    reads_inputs = False

    def __init__(self, axes: tuple[int, ...], eps: float) -> None:
        self.axes, self.eps = axes, eps

    def __call__(self, x: Tensor) -> Tensor:
        device, a = x.device, x.array
        n = prod([x.shape[k] for k in self.axes])
        centered = device.subtract(a, device.divide(device.sum(a, self.axes, True), n))
        squares = device.divide(device.sum(device.multiply(centered, centered), self.axes, True), n)
        r = device.divide(1, device.sqrt(device.add(squares, self.eps)))
        return record_many(self, device, [device.multiply(centered, r), r], (x,))[0]

    def backward(self, gradients: Sequence[Tensor | None], results: Sequence[Tensor], x: Tensor) -> tuple[Tensor]:
        (y, r), (dy, dr) = results, gradients
        n = prod([x.shape[k] for k in self.axes])
        along: Any = 0.0 if dr is None else r * dr
        if dy is None:
            return (-r * y * (along / n),)
        along = along + summed(dy * y, *self.axes)
        return (r * (dy - summed(dy, *self.axes) / n - y * (along / n)),)


def shape_of(op: str, normalized_shape: Any) -> tuple[int, ...]:
    """`normalized_shape` as a tuple. Raises TypeError if they are not integers, ValueError if they are not sizes."""
    many = isinstance(normalized_shape, (tuple, list))
    sizes = tuple(normalized_shape) if many else (normalized_shape,)
    if not all(map(check.is_integer, sizes)):
        raise TypeError(f"{op}: normalized_shape is {shown(normalized_shape)}\n  expected an integer or several")
    if not sizes or any(n < 1 for n in sizes):
        raise ValueError(f"{op}: normalized_shape is {shown(normalized_shape)}\n  expected sizes of 1 or more")
    return tuple(int(n) for n in sizes)
