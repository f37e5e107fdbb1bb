"""Functions of torch that are a line or two over other ops: `lerp`, `addmm`, `add` with a factor, `allclose`, ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.arguments.names import accepts
from minirnn.engine.operands import pair
from minirnn.engine.tensor import Tensor, as_tensor, leaf, tensor
from minirnn.ops.primitives.arithmetic import add as plus
from minirnn.ops.primitives.arithmetic import divide, mul, multiply, on_host, subtract
from minirnn.ops.primitives.declare import method
from minirnn.ops.primitives.elementwise import absolute, where
from minirnn.ops.primitives.products import mm
from minirnn.ops.primitives.rounding import trunc
from minirnn.ops.primitives.shapes import stack
from minirnn.ops.primitives.statistics import logsumexp

__all__ = ["add", "addmm", "allclose", "div", "equal", "isclose", "lerp", "logaddexp", "mul", "sub"]


@method
@accepts()
def add(a: Any, b: Any, *, alpha: float = 1) -> Tensor:
    """``a + alpha * b``, broadcasting."""
    return plus(a, b if alpha == 1 else multiply(b, alpha))


@method
@accepts()
def sub(a: Any, b: Any, *, alpha: float = 1) -> Tensor:
    """``a - alpha * b``, broadcasting."""
    return subtract(a, b if alpha == 1 else multiply(b, alpha))


@method
@accepts()
def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``a / b``, broadcasting. The `rounding_mode` "floor" rounds down, and "trunc" rounds toward 0."""
    if rounding_mode not in (None, "floor", "trunc"):
        raise ValueError(f"div: rounding_mode is {shown(rounding_mode)}\n  expected None, 'floor' or 'trunc'")
    if rounding_mode is None:
        return divide(a, b)
    a, b = pair(a, b)
    if rounding_mode == "floor":
        return a // b
    if "f" in (a.dtype.kind, b.dtype.kind):
        return trunc(divide(a, b))
    down = a // b  # of integers, exactly
    return down + ((down * b != a) & ((a < 0) != (b < 0)))


@method
@accepts()
def logaddexp(a: Any, b: Any) -> Tensor:
    """``log(exp(a) + exp(b))``, broadcasting, without overflow or underflow."""
    a, b = pair(a, b)
    shape = np.broadcast_shapes(a.shape, b.shape)
    return logsumexp(stack([a.broadcast_to(shape), b.broadcast_to(shape)]), 0)


@method
@accepts(input="start")
def lerp(start: Any, end: Any, weight: Any) -> Tensor:
    """``start + weight * (end - start)``, broadcasting. From weight 0.5 on, it is computed from `end`, as in torch."""
    start, end = pair(start, end)
    step = subtract(end, start)

    def from_start() -> Tensor:
        return plus(start, multiply(weight, step))

    def from_end() -> Tensor:
        return subtract(end, multiply(step, 1 - weight))

    if not isinstance(weight, (Tensor, np.ndarray)):
        return from_start() if -0.5 < weight < 0.5 else from_end()
    return where(absolute(weight) < 0.5, from_start(), from_end())


@method
@accepts()
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``. If `beta` is 0, NaN and infinity in `input` have no effect."""
    product = multiply(mm(mat1, mat2), alpha)
    return plus(where(True, 0, input) if beta == 0 else multiply(input, beta), product)


def _shift(name: str, a: Any, b: Any, function: Any) -> Tensor:
    a, b = pair(a, b)
    for t in (a, b):
        if t.dtype.kind not in "iu":
            raise TypeError(f"{name}: got dtype {t.dtype}\n  expected integers; a * 2 ** b for others")
    return leaf(a.device, on_host(name, a, b, function))


@method
def __lshift__(a: Any, b: Any) -> Tensor:
    """``a << b`` of integers: ``a * 2 ** b``."""
    return _shift("a << b", a, b, np.left_shift)


@method
def __rshift__(a: Any, b: Any) -> Tensor:
    """``a >> b`` of integers: ``a / 2 ** b``, rounded down."""
    return _shift("a >> b", a, b, np.right_shift)


@method
def __rlshift__(a: Any, b: Any) -> Tensor:
    return _shift("b << a", b, a, np.left_shift)


@method
def __rrshift__(a: Any, b: Any) -> Tensor:
    return _shift("b >> a", b, a, np.right_shift)


# ---- comparisons


@method
@accepts()
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether ``|a - b| <= atol + rtol * |b|`` holds everywhere; the shapes broadcast."""
    a, b = as_tensor(a), as_tensor(b)
    return bool(np.allclose(a.numpy(), b.numpy(), rtol, atol, equal_nan))


@method
@accepts()
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether ``|a - b| <= atol + rtol * |b|`` holds, for each element; the shapes broadcast."""
    a, b = pair(a, b)
    return tensor(np.isclose(a.numpy(), b.numpy(), rtol, atol, equal_nan), device=a.device)


@method
@accepts()
def equal(a: Any, b: Any) -> bool:
    """Whether two Tensors have the same shape and the same elements: one bool. `eq` compares elements."""
    a, b = as_tensor(a), as_tensor(b)
    return bool(np.array_equal(a.numpy(), b.numpy()))
