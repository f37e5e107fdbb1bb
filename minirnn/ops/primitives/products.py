"""Matrix products, batched as in NumPy."""

from __future__ import annotations

from math import prod
from typing import Any

from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives.operands import pair, same_device, shape_error
from minirnn.ops.primitives.shapes import reshape, swap_last


class Matmul(Op):
    """y = a @ b        da = dy @ b^T,  db = a^T @ dy        (^T exchanges the last two axes)"""

    broadcasts = True  # along the batch axes

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor | None, Tensor | None]:
        da = matmul(dy, swap_last(b)) if a.requires_grad else None
        if not b.requires_grad:
            return da, None
        if b.ndim == 2 and a.ndim > 2:  # one product over all rows instead of one for each batch entry and a sum
            rows = prod(a.shape[:-1])
            a = reshape(a, (rows, a.shape[-1]))
            dy = reshape(dy, (rows, dy.shape[-1]))
        return da, matmul(swap_last(a), dy)


MATMUL = Matmul()


def matmul(a: Any, b: Any) -> Tensor:
    """``a @ b``: (..., n, k) @ (..., k, m) -> (..., n, m); a vector counts as a row (left) or a column (right).

    Raises
    ------
    ValueError
        If the inner sizes differ, the batch axes do not broadcast, or an operand has shape ().
    """
    a, b = pair(a, b)
    device = same_device("matmul", a, b)
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
        return record(MATMUL, device, device.matmul(a.array, b.array), (a, b))
    except ValueError:
        raise ValueError(
            f"matmul: operands have shapes {a.shape} and {b.shape}\n"
            f"  expected batch axes that broadcast, got {a.shape[:-2]} and {b.shape[:-2]}"
        ) from None
    except TypeError as error:
        raise shape_error("matmul", a, b, error) from None
