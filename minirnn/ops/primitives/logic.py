"""Masks: & | ^ ~, logical_and and similar functions, masked_fill, tril, triu. Only the last three have gradients.

Devices have no primitives for bits. For bools, other primitives are enough: "and" is a product, "or" a maximum, "not" a
comparison with False. Recurrent networks hardly need the bits of integers, so these are computed on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.operands import pair, same_device, shape_error
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.arithmetic import equal, on_host
from minirnn.ops.primitives.declare import op
from minirnn.ops.primitives.elementwise import where

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"]
__all__ += ["logical_and", "logical_or", "logical_xor", "logical_not", "masked_fill", "tril", "triu"]


def _bits(op: str, a: Any, b: Any, of_bools: str, of_integers: Any) -> Tensor:
    a, b = pair(a, b)
    device = same_device(op, a, b)
    kinds = {a.dtype.kind, b.dtype.kind}
    if "f" in kinds:
        raise TypeError(
            f"{op}: operands have dtypes {a.dtype} and {b.dtype}\n  expected bools or integers, such as masks x > 0"
        )
    if kinds != {"b"}:
        return leaf(device, on_host(op, a, b, of_integers))
    try:
        return leaf(device, getattr(device, of_bools)(a.array, b.array))
    except (ValueError, TypeError) as error:
        raise shape_error(op, a, b, error) from None


@op("multiply", operator="&")
def bitwise_and(a: Any, b: Any) -> Tensor:
    """``a & b`` of bools or of the bits of integers, broadcasting; no gradient."""
    return _bits("bitwise_and", a, b, "multiply", np.bitwise_and)


@op("maximum", operator="|")
def bitwise_or(a: Any, b: Any) -> Tensor:
    """``a | b`` of bools or of the bits of integers, broadcasting; no gradient. Raises what `bitwise_and` raises."""
    return _bits("bitwise_or", a, b, "maximum", np.bitwise_or)


@op("not_equal", operator="^")
def bitwise_xor(a: Any, b: Any) -> Tensor:
    """``a ^ b`` of bools or of the bits of integers, broadcasting; no gradient. Raises what `bitwise_and` raises."""
    return _bits("bitwise_xor", a, b, "not_equal", np.bitwise_xor)


@op(equal, operator="~x")
def bitwise_not(x: Any) -> Tensor:
    """``~x`` of bools or of the bits of integers; no gradient. Raises TypeError for floats."""
    x = as_tensor(x)
    if x.dtype.kind == "f":
        raise TypeError(f"bitwise_not: got dtype {x.dtype}\n  expected bools or integers, such as a mask x > 0")
    if x.dtype.kind == "b":
        return logical_not(x)
    return leaf(x.device, x.device.asarray(np.invert(x.device.to_numpy(x.array))))


def _truth(x: Any) -> Any:
    """Bools unchanged; for numbers, whether they differ from 0."""
    return x if not isinstance(x, Tensor) or x.dtype.kind == "b" else x != 0


def _logical(op: str, a: Any, b: Any, of_bools: str) -> Tensor:
    a, b = pair(a, b)
    same_device(op, a, b)
    return _bits(op, _truth(a), _truth(b), of_bools, None)


@op("multiply", "not_equal")
def logical_and(a: Any, b: Any) -> Tensor:
    """Whether both differ from 0, elementwise, broadcasting; bool, no gradient. NaN counts as true."""
    return _logical("logical_and", a, b, "multiply")


@op("maximum", "not_equal")
def logical_or(a: Any, b: Any) -> Tensor:
    """Whether one of two differs from 0, elementwise, broadcasting; bool, no gradient."""
    return _logical("logical_or", a, b, "maximum")


@op("not_equal")
def logical_xor(a: Any, b: Any) -> Tensor:
    """Whether exactly one of two differs from 0, elementwise, broadcasting; bool, no gradient."""
    return _logical("logical_xor", a, b, "not_equal")


@op(equal)
def logical_not(x: Any) -> Tensor:
    """Whether `x` is 0, elementwise; bool, no gradient."""
    x = as_tensor(x)
    return x == (False if x.dtype.kind == "b" else 0)


@op(where)
def masked_fill(x: Any, mask: Any, value: Any) -> Tensor:
    """`x` with `value` wherever `mask` is true; the mask broadcasts, and the dtype of `x` stays.

    `value` is a number or a Tensor of shape (). The gradient of such a Tensor is the sum of the gradients where `mask`
    is true.
    """
    x = as_tensor(x)
    if not isinstance(mask, Tensor):
        mask = as_tensor(mask, device=x.device)
    if mask.dtype.kind != "b":
        raise TypeError(f"masked_fill: mask has dtype {mask.dtype}\n  expected bool, such as x > 0")
    filling = value if isinstance(value, Tensor) else as_tensor(value, device=x.device)
    if filling.shape != ():
        raise ValueError(f"masked_fill: value has shape {filling.shape}\n  expected a number, or a Tensor of shape ()")
    same_device("masked_fill", x, mask, filling, names=("x", "mask", "value"))
    try:
        np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(
            f"masked_fill: mask has shape {mask.shape}, x {x.shape}\n  expected shapes that broadcast"
        ) from None
    return where(mask, filling.astype(x.dtype), x)


# ---- triangles of matrices: attention masks later positions with them


def _triangle(op: str, x: Any, diagonal: int, lower: bool) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(
            f"{op}: the Tensor has shape {x.shape}\n  expected a matrix, or a batch of them: two axes or more"
        )
    rows, columns = x.shape[-2:]
    k = min(max(check.integer(op, "diagonal", diagonal), -rows - 1), columns)  # beyond these nothing changes
    inside = np.tri(rows, columns, k, dtype=np.bool_) if lower else ~np.tri(rows, columns, k - 1, dtype=np.bool_)
    return where(leaf(x.device, x.device.asarray(inside)), x, leaf(x.device, x.device.full((), 0, x.dtype)))


@op(where)
def tril(x: Any, diagonal: int = 0) -> Tensor:
    """`x` with zeros above a diagonal of its last two axes: the main one, or the one `diagonal` places to the right."""
    return _triangle("tril", x, diagonal, lower=True)


@op(where)
def triu(x: Any, diagonal: int = 0) -> Tensor:
    """`x` with zeros below a diagonal of its last two axes. The arguments and errors are those of `tril`."""
    return _triangle("triu", x, diagonal, lower=False)
