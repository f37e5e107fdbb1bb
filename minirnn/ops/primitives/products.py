"""Matrix products, batched as in NumPy."""

from __future__ import annotations

from math import prod
from typing import Any

from minirnn.cells.axes import dot as dot_over_keys
from minirnn.cells.expr import Expr
from minirnn.devices.precision import PRECISIONS, chosen
from minirnn.engine.operands import mixed_devices, pair, shape_error
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives.arithmetic import multiply
from minirnn.ops.primitives.declare import Primitive, op
from minirnn.ops.primitives.shapes import Reshape, reshape, swap_last

__all__ = ["matmul", "dot", "mv", "mm", "bmm", "outer"]


class Matmul(Primitive, uses="matmul", reads="others", broadcasts=True):  # the batch axes are broadcast
    """y = a @ b        da = dy @ b^T,  db = a^T @ dy        (^T exchanges the last two axes)"""

    def __init__(self, precision: str) -> None:
        self.precision = precision

    def forward(self, device: Any, a: Any, b: Any) -> Any:
        return device.matmul(a, b)

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor | None, Tensor | None]:
        da = self(dy, swap_last(b)) if a.requires_grad else None
        if not b.requires_grad:
            return da, None
        if b.ndim == 2 and a.ndim > 2:  # one product over all rows is faster than one per batch entry and a sum
            rows = prod(a.shape[:-1])
            a = Reshape((rows, a.shape[-1]))(a)
            dy = Reshape((rows, dy.shape[-1]))(dy)
        return da, self(swap_last(a), dy)


MATMUL = {name: Matmul(name) for name in PRECISIONS}
"""Precision of float32 products -> the op."""


@op(Matmul, operator="@")
def matmul(a: Any, b: Any) -> Tensor:
    """``a @ b``: (..., n, k) @ (..., k, m) -> (..., n, m); a vector counts as a row (left) or a column (right)."""
    a, b = pair(a, b)
    if a.device is not b.device:
        raise mixed_devices("matmul", a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"matmul: operands have shapes {a.shape} and {b.shape}\n  expected at least one axis each")
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise ValueError(
            f"matmul: operands have shapes {a.shape} and {b.shape}\n"
            f"  expected equal inner sizes, got {a.shape[-1]} and {b.shape[max(b.ndim - 2, 0)]}"
            + ("\n  likely the second operand is transposed" if b.ndim > 1 and a.shape[-1] == b.shape[-1] else "")
        )
    if a.ndim == 1 and b.ndim == 1:
        return reshape(matmul(reshape(a, (1, -1)), reshape(b, (-1, 1))), ())
    if a.ndim == 1:
        y = matmul(reshape(a, (1, -1)), b)
        return reshape(y, y.shape[:-2] + y.shape[-1:])
    if b.ndim == 1:
        y = matmul(a, reshape(b, (-1, 1)))
        return reshape(y, y.shape[:-1])
    try:
        return MATMUL[chosen.precision](a, b)
    except ValueError:
        raise ValueError(
            f"matmul: operands have shapes {a.shape} and {b.shape}\n"
            f"  expected batch axes that broadcast, got {a.shape[:-2]} and {b.shape[:-2]}"
        ) from None
    except TypeError as error:
        raise shape_error("matmul", a, b, error) from None


def _with_axes(op: str, a: Any, b: Any, axes_of_a: int, axes_of_b: int, expected: str) -> Tensor:
    """``a @ b``. Raises ValueError if the operands do not have the number of axes that `op` needs."""
    a, b = pair(a, b)
    if (a.ndim, b.ndim) != (axes_of_a, axes_of_b):
        raise ValueError(f"{op}: operands have shapes {a.shape} and {b.shape}\n  expected {expected}")
    return matmul(a, b)


@op(matmul, torch={"tensor": "b"})
def dot(a: Any, b: Any) -> Tensor:
    """The product of two vectors: (n,) and (n,) -> (). In the step of a cell with keys, the sum over keys of a * b."""
    if isinstance(a, Expr) or isinstance(b, Expr):
        found: Any = dot_over_keys(a, b)
        return found
    return _with_axes("dot", a, b, 1, 1, "two vectors (n,) and (n,)")


@op(matmul, torch={"vec": "b"})
def mv(a: Any, b: Any) -> Tensor:
    """A matrix times a vector: (n, k) @ (k,) -> (n,)."""
    return _with_axes("mv", a, b, 2, 1, "a matrix (n, k) and a vector (k,)")


@op(matmul, torch={"mat2": "b"})
def mm(a: Any, b: Any) -> Tensor:
    """A matrix times a matrix: (n, k) @ (k, m) -> (n, m)."""
    return _with_axes("mm", a, b, 2, 2, "two matrices (n, k) and (k, m)")


@op(matmul, torch={"mat2": "b"})
def bmm(a: Any, b: Any) -> Tensor:
    """A batch of matrix products: (B, n, k) @ (B, k, m) -> (B, n, m).

    Raises ValueError if the shapes differ from these. As in torch, batches of different sizes do not broadcast here.
    """
    a, b = pair(a, b)
    if a.ndim == 3 and b.ndim == 3 and a.shape[0] != b.shape[0]:
        raise ValueError(f"bmm: operands have shapes {a.shape} and {b.shape}\n  expected batches of one size")
    return _with_axes("bmm", a, b, 3, 3, "two batches of matrices (B, n, k) and (B, k, m)")


@op(reshape, multiply, torch={"vec2": "b"})
def outer(a: Any, b: Any) -> Tensor:
    """All products of the elements of two vectors: (n,) and (m,) -> (n, m)."""
    a, b = pair(a, b)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer: operands have shapes {a.shape} and {b.shape}\n  expected two vectors (n,) and (m,)")
    return reshape(a, (a.shape[0], 1)) * reshape(b, (1, b.shape[0]))
