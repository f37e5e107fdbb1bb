"""Methods of Tensor that are not ops: variants of ops, properties, copies, and new Tensors like this one.

The methods that are ops are declared where the op is: see `declare`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.arguments.names import accepts
from minirnn.engine import creation
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import elementwise, shapes, views
from minirnn.ops.primitives.conversions import to, to_device
from minirnn.ops.primitives.declare import method
from minirnn.ops.primitives.elementwise import astype

# ---- ops whose method takes its arguments in another form


@method
@accepts(shape="*")
def reshape(x: Tensor, *shape: Any) -> Tensor:
    """``t.reshape((2, 3))`` or ``t.reshape(2, 3)``."""
    return shapes.reshape(x, views.listed(shape))


@method
def view_as(x: Tensor, other: Tensor) -> Tensor:
    """This Tensor in the shape of another one."""
    return shapes.reshape(x, other.shape)


method(view_as, "reshape_as")


@method
@accepts(axes="*")
def transpose(x: Tensor, *axes: Any, dim0: Any = None, dim1: Any = None) -> Tensor:
    """``t.transpose()``, ``t.transpose((2, 0, 1))``, ``t.transpose(2, 0, 1)``; ``t.transpose(0, 1)`` swaps two axes."""
    return shapes.transpose(x, axes) if len(axes) > 2 else shapes.transpose(x, *axes, dim0=dim0, dim1=dim1)


@method
def flip(x: Tensor, *axes: Any, **named: Any) -> Tensor:
    """``t.flip(0, 1)`` or ``t.flip((0, 1))``."""
    return shapes.flip(x, views.listed(axes), **named) if axes else shapes.flip(x, **named)


@method
def where(x: Tensor, condition: Any, other: Any) -> Tensor:
    """``x.where(condition, other)``: `x` where the condition is true, else `other`."""
    return elementwise.where(condition, x, other)


for _name, _op in (("T", shapes.transpose), ("mT", views.matrix_transpose)):
    setattr(Tensor, _name, property(_op))


# ---- properties


@method
def numel(x: Tensor) -> int:
    """The number of elements. This is torch's name for `size`."""
    return int(x.size)


method(numel, "nelement")


@method
def dim(x: Tensor) -> int:
    """The number of axes. This is torch's name for `ndim`."""
    return x.ndim


method(dim, "ndimension")


def as_type(x: Tensor, dtype: Any = None) -> Any:
    """This Tensor in another dtype. Without an argument, the name of its dtype."""
    return x.dtype.name if dtype is None else astype(x, dtype)


as_type.__name__ = as_type.__qualname__ = "type"  # in this module `type` is Python's
method(as_type)


@method
def is_floating_point(x: Tensor) -> bool:
    """Whether the dtype is float16, float32 or float64."""
    return x.dtype.kind == "f"


@method
def is_contiguous(x: Tensor) -> bool:
    """Always True, because the memory layout is not visible to users."""
    return True


@method
def __contains__(x: Tensor, value: Any) -> bool:
    """Whether an element is equal to `value`: ``value in x``."""
    if not isinstance(value, (Tensor, np.ndarray, np.generic, bool, int, float)):
        raise TypeError(
            f"a Tensor was asked whether it holds a {type(value).__name__}\n  expected a number or a Tensor"
        )
    return bool((x == value).numpy().any())


# ---- itself, or a copy of it


@method
def contiguous(x: Tensor) -> Tensor:
    """This Tensor, or a copy if it is a view whose elements are not contiguous."""
    together = not hasattr(x, "viewed") if not isinstance(x.array, np.ndarray) else x.array.flags.c_contiguous
    return x if together else elementwise.clone(x)


@method
def __pos__(x: Tensor) -> Tensor:
    """``+x`` returns the same Tensor. Raises TypeError for dtype bool."""
    if x.dtype.kind == "b":
        raise TypeError("positive: got dtype bool\n  expected numbers; use x.astype('float32')")
    return x


@method
def type_as(x: Tensor, other: Tensor) -> Tensor:
    """This Tensor with the dtype and device of another one."""
    if not isinstance(other, Tensor):
        raise TypeError(f"type_as: got a {type(other).__name__}\n  expected a Tensor")
    return to(x, other)


@method
def cpu(x: Tensor) -> Tensor:
    """This Tensor on the cpu device."""
    return to_device(x, "cpu")


@method
def cuda(x: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """This Tensor on the device `cuda`. Both arguments, torch's, are ignored."""
    return to_device(x, "cuda")


def _cast(name: str, dtype: str) -> Callable[[Tensor], Tensor]:
    def cast(x: Tensor) -> Tensor:
        return astype(x, dtype)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"Itself as {dtype}; the same as ``astype('{dtype}')``."
    return method(cast)


CASTS = {"half": "float16", "float": "float32", "double": "float64"}
CASTS |= {"byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "bool": "bool"}
"""torch's methods that convert to a dtype, and the dtypes."""

for _name, _dtype in CASTS.items():
    _cast(_name, _dtype)


# ---- a new one of its dtype and on its device


@method
def new_zeros(
    x: Tensor, *args: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`zeros` with the dtype and device of this Tensor, unless others are given."""
    dtype, device = x.dtype if dtype is None else dtype, x.device if device is None else device
    return creation.zeros(*args, size=size, dtype=dtype, device=device, requires_grad=requires_grad)
