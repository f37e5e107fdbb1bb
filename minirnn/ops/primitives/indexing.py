"""Indexing, its adjoint, and embedding lookup."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import check
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.host_array import integers
from minirnn.messages import shown
from minirnn.ops.primitives.declare import Primitive, op

Index = tuple[Any, ...]


__all__ = ["getitem", "put_add", "embedding"]


class GetItem(Primitive, uses="getitem", reads=""):
    """y = x[index]     dx = 0 everywhere, plus dy at index (what is read twice gets both)"""

    def __init__(self, index: Index) -> None:
        self.index = index

    def forward(self, device: Any, x: Any) -> Any:
        return device.getitem(x, self.index)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (PutAdd(x.shape, self.index)(dy),)


class PutAdd(Primitive, uses="scatter_add", reads="", broadcasts=True):  # v is broadcast to the shape of y[index]
    """y = 0; y[index] += v     dv = dy[index]"""

    def __init__(self, shape: tuple[int, ...], index: Index) -> None:
        self.shape = shape
        self.index = index

    def forward(self, device: Any, v: Any) -> Any:
        return device.scatter_add(self.shape, self.index, v)

    def backward(self, dy: Tensor, y: Tensor, v: Tensor) -> tuple[Tensor]:
        return (GetItem(self.index)(dy),)


def _normal(index: Any) -> Index:
    """A tuple of slices, ints, None, Ellipsis and NumPy integer or bool arrays."""
    parts: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, Tensor):
            part = part.numpy()
        if isinstance(part, (list, np.ndarray)):
            try:
                array = np.array(part, dtype=np.int64 if isinstance(part, list) and not part else None)
            except ValueError:
                raise ValueError(f"indexing: got the ragged list {shown(part)}\n  expected integers or bool") from None
            if array.dtype.kind not in "iub":
                raise TypeError(f"indexing: an index array has dtype {array.dtype}\n  expected integers or bool")
            part = array if array.ndim else array[()]
        if isinstance(part, slice):
            _check_slice(part)
        if isinstance(part, slice) or part is None or part is Ellipsis or isinstance(part, np.ndarray):
            parts.append(part)
        elif check.is_integer(part):
            parts.append(int(part))
        else:
            raise TypeError(
                f"indexing: got {shown(part)}\n  expected integers, slices, None, ... or integer or bool arrays"
            )
    return tuple(parts)


def _check_slice(part: slice) -> None:
    for bound in (part.start, part.stop, part.step):
        if part.step == 0 or not (bound is None or hasattr(bound, "__index__")):
            raise (ValueError if part.step == 0 else TypeError)(
                f"indexing: got {shown(part)}\n  expected integers or None, and a step other than 0"
            )


@op(GetItem, method="", operator="[]")
def getitem(x: Any, index: Any) -> Tensor:
    """``x[index]`` with NumPy's basic and integer- or bool-array indexing.

    Raises
    ------
    IndexError
        If an index is out of range or there are too many.
    TypeError
        If an index is of another kind.
    """
    x = as_tensor(x)
    index = _normal(index)
    try:
        return GetItem(index)(x)
    except IndexError as error:
        raise IndexError(
            f"indexing a Tensor of shape {x.shape}: {error}\n"
            f"  expected at most {x.ndim} indices, each inside its axis, masks of the sizes they choose from"
        ) from None


@op(PutAdd, method="")
def put_add(shape: tuple[int, ...], index: Any, values: Any) -> Tensor:
    """Zeros of `shape` with `values` added at `index`; what is named twice gets both. The adjoint of `getitem`."""
    values = values if isinstance(values, Tensor) else as_tensor(values)
    index = _normal(index)
    shape = check.sizes("put_add", shape)
    try:
        return PutAdd(shape, index)(values)
    except (IndexError, ValueError) as error:
        raise type(error)(
            f"put_add: values of shape {values.shape} into shape {shape}: {error}\n"
            "  expected indices inside that shape, and values that broadcast to what they choose"
        ) from None


@op(getitem, method="")
def embedding(weight: Any, ids: Any) -> Tensor:
    """Rows of a table: ``weight[ids]``.

    Parameters
    ----------
    weight : (V, I)
    ids : integers of any shape, 0 <= id < V

    Returns
    -------
    Tensor of shape ids.shape + (I,)

    Raises
    ------
    TypeError
        If `ids` are not integers.
    ValueError
        If `weight` is no matrix or an id has no row.
    """
    weight = as_tensor(weight)
    if weight.ndim != 2:
        raise ValueError(f"embedding: weight has shape {weight.shape}\n  expected (V, I)")
    ids = integers("embedding: ids", ids)
    if ids.size and (ids.min() < 0 or ids.max() >= weight.shape[0]):
        raise ValueError(
            f"embedding: ids run from {ids.min()} to {ids.max()}\n"
            f"  expected 0 .. {weight.shape[0] - 1}, the rows of weight {weight.shape}"
        )
    return getitem(weight, (np.array(ids),))
