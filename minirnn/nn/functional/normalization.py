"""Normalization by mean and variance, by the root mean square, and by the norm; and cosine similarity."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.operands import device_of, same_device
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op
from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.arguments import of_one_dtype, widened
from minirnn.ops.primitives import clip, norm, sqrt
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
    x, axes, dtype = _last_axes("layer_norm", input, normalized_shape, weight, bias)
    eps = check.number("layer_norm", "eps", eps)
    return _scaled("layer_norm", Normalized(axes, eps)(x), x, dtype, axes, weight, bias).astype(dtype)


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


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last axes: ``torch.nn.functional.rms_norm``.

    The arguments and errors are those of `layer_norm`. If `eps` is None, it is the spacing of the dtype's numbers at 1.
    For float16 it is that of float32, because the result is computed in float32. Zhang & Sennrich 2019.
    """
    x, axes, dtype = _last_axes("rms_norm", input, normalized_shape, weight, None)
    spacing = float(np.finfo(np.float32 if dtype == np.float16 else dtype).eps)
    eps = spacing if eps is None else check.number("rms_norm", "eps", eps)
    y = x / sqrt((x * x).mean(axes, True) + eps)
    return _scaled("rms_norm", y, x, dtype, axes, weight, None).astype(dtype)


def shape_of(op: str, normalized_shape: Any) -> tuple[int, ...]:
    """`normalized_shape` as a tuple. Raises TypeError if they are not integers, ValueError if they are not sizes."""
    many = isinstance(normalized_shape, (tuple, list))
    sizes = tuple(normalized_shape) if many else (normalized_shape,)
    if not all(map(check.is_integer, sizes)):
        raise TypeError(f"{op}: normalized_shape is {shown(normalized_shape)}\n  expected an integer or several")
    if not sizes or any(n < 1 for n in sizes):
        raise ValueError(f"{op}: normalized_shape is {shown(normalized_shape)}\n  expected sizes of 1 or more")
    return tuple(int(n) for n in sizes)


def _last_axes(op: str, input: Any, normalized_shape: Any, weight: Any, bias: Any) -> tuple[Tensor, Any, Any]:
    sizes = shape_of(op, normalized_shape)
    x, dtype = widened(op, input, device_of(input, weight, bias))
    first = x.ndim - len(sizes)
    if x.shape[max(first, 0) :] != sizes:
        raise ValueError(f"{op}: input has shape {x.shape}\n  expected (..., {str(sizes)[1:-1].rstrip(',')})")
    axes = tuple(range(first, x.ndim))
    return squarable(x, axes), axes, dtype


def _scaled(op: str, y: Tensor, x: Tensor, dtype: Any, axes: tuple[int, ...], weight: Any, bias: Any) -> Tensor:
    sizes = tuple(x.shape[k] for k in axes)
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None:
            t = of_one_dtype(op, name, value, x, dtype)
            if t.shape != sizes:
                raise ValueError(f"{op}: {name} has shape {t.shape}\n  expected {sizes}, that of normalized_shape")
            y = y * t if name == "weight" else y + t
    return y


def normalize(
    input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None, *, axis: int | None = None
) -> Tensor:
    """``x / max(norm, eps)``, with the p-norm ``sum(|x|**p) ** (1/p)`` along `dim`: ``torch.nn.functional.normalize``.

    Parameters
    ----------
    p : float
        0 or more. 0 counts the elements that are not 0, and infinity means the largest absolute value.
    dim : int
        The axis along which norms are computed, by default 1 as in torch. `axis` is minirnn's name for it.
    eps : float
        The smallest divisor.
    out
        Must be None, because results are new Tensors.
    """
    x, dtype = widened("normalize", input)
    if out is not None:
        raise ValueError("normalize: out is given\n  expected None: the result is a new Tensor")
    along = check.axis("normalize", dim if axis is None else axis, x.ndim, scalar=True)
    p = check.number("normalize", "p", p, 0, finite=False)
    eps = check.number("normalize", "eps", eps)
    return (x / clip(norm(x, p, along, True), eps, None)).astype(dtype)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8, *, axis: int | None = None) -> Tensor:
    """``sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps))`` along `dim`: ``torch.nn.functional.cosine_similarity``.

    Parameters
    ----------
    x1, x2 : array_like
        They broadcast against each other.
    dim : int
        The axis of the vectors. `axis` is minirnn's name for it.
    eps : float
        The smallest norm.
    """
    place = device_of(x1, x2)
    (a, dtype_a), (b, dtype_b) = (widened("cosine_similarity", x, place) for x in (x1, x2))
    same_device("cosine_similarity", a, b)
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(
            f"cosine_similarity: x1 has shape {a.shape}, x2 {b.shape}\n  expected shapes that broadcast"
        ) from None
    along = check.axis("cosine_similarity", dim if axis is None else axis, len(shape), scalar=True)
    eps = check.number("cosine_similarity", "eps", eps)
    a, b = a.broadcast_to(shape), b.broadcast_to(shape)
    norms = [clip(norm(t, 2, along, True), eps, None) for t in (a, b)]
    products = (a / norms[0]) * (b / norms[1])
    return products.sum(along).astype(np.result_type(dtype_a, dtype_b))
