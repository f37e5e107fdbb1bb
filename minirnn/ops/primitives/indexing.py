"""Indexing, its adjoint, and embedding lookup."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import integers
from minirnn.arguments.messages import shown
from minirnn.engine.operands import same_device
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.engine.writing import version, write
from minirnn.ops.primitives.declare import Primitive, View, method, op

Index = tuple[Any, ...]


__all__ = ["getitem", "put_add", "embedding"]


class GetItem(View, uses="getitem", reads=""):
    """y = x[index]     dx = 0 everywhere, plus dy at index (what is read twice gets both)"""

    def __init__(self, index: Index) -> None:
        self.index = index

    def forward(self, device: Any, x: Any) -> Any:
        return device.getitem(x, self.index)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (PutAdd(x.shape, self.index)(dy),)

    @property
    def view(self) -> bool:  # type: ignore[override]
        """Whether torch returns a view. Indexing with arrays, or in reverse order, returns a copy."""
        return not any(isinstance(k, np.ndarray) or (isinstance(k, slice) and (k.step or 1) < 0) for k in self.index)

    def whole(self, x: Tensor, y: Tensor) -> Tensor:
        return put(x, self.index, y)


class PutAdd(Primitive, uses="scatter_add", reads="", broadcasts=True):  # v is broadcast to the shape of y[index]
    """y = 0; y[index] += v     dv = dy[index]"""

    def __init__(self, shape: tuple[int, ...], index: Index) -> None:
        self.shape = shape
        self.index = index

    def forward(self, device: Any, v: Any) -> Any:
        return device.scatter_add(self.shape, self.index, v)

    def backward(self, dy: Tensor, y: Tensor, v: Tensor) -> tuple[Tensor]:
        return (GetItem(self.index)(dy),)


class Put(Primitive, uses="put", reads="", broadcasts=True):
    """y = x; y[index] = v      dx = dy, and 0 at index,  dv = dy[index]"""

    def __init__(self, index: Index) -> None:
        self.index = index

    def forward(self, device: Any, x: Any, v: Any) -> Any:
        return device.put(x, self.index, v)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        blank = leaf(dy.device, dy.device.full((), 0, dy.dtype))
        return Put(self.index)(dy, blank), GetItem(self.index)(dy)


def put(x: Tensor, index: Index, v: Tensor) -> Tensor:
    """`x` with `v` written at `index`. `x` must have no other references; T writes keep only one array alive."""
    y = Put(index)(x, v)
    if y.op is not None and (x.op is None or not x.op.saves):
        x.array = x.device.broadcast_to(x.device.full((), 0, x.dtype), x.shape)
    return y


def _normal(index: Any) -> Index:
    """A tuple of slices, ints, None, Ellipsis and NumPy integer or bool arrays."""
    parts: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, Tensor):
            part = part.numpy()
        if isinstance(part, (list, tuple, np.ndarray, bool, np.bool_)):
            try:
                array = np.array(part, dtype=np.int64 if isinstance(part, (list, tuple)) and not part else None)
            except ValueError:
                raise ValueError(f"indexing: got the ragged list {shown(part)}\n  expected integers or bool") from None
            if array.dtype.kind not in "iub":
                raise TypeError(f"indexing: an index array has dtype {array.dtype}\n  expected integers or bool")
            part = array if array.ndim or array.dtype.kind == "b" else array[()]
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


def _integers_first(index: Index) -> tuple[Index, Index] | None:
    """The index in two steps, if NumPy's rule differs from torch's, which applies integers first: ``x[0, :, [1, 2]]``.

    NumPy broadcasts integers with index arrays, and moves the axes of the result to the front if other axes are in
    between.
    """
    advanced = [k for k, part in enumerate(index) if isinstance(part, (int, np.ndarray))]
    if len(advanced) < 2 or advanced[-1] - advanced[0] < len(advanced):
        return None
    if len({isinstance(index[k], int) for k in advanced}) < 2:
        return None
    first: list[Any] = []
    for part in index:
        if isinstance(part, int) or part is Ellipsis:
            first.append(part)
        elif part is not None:
            masked = isinstance(part, np.ndarray) and part.dtype.kind == "b"
            first.extend([slice(None)] * (part.ndim if masked else 1))
    return tuple(first), tuple(part for part in index if not isinstance(part, int))


@op(GetItem, method="", operator="[]")
def getitem(x: Any, index: Any) -> Tensor:
    """``x[index]`` with integers, slices, None, ``...`` and arrays of integers or bools.

    As in torch, integers are applied first: ``x[0, :, [1, 2]]`` is ``x[0][:, [1, 2]]``.
    """
    x = as_tensor(x)
    index = _normal(index)
    try:
        if (steps := _integers_first(index)) is not None:
            return GetItem(steps[1])(GetItem(steps[0])(x))
        return GetItem(index)(x)
    except IndexError as error:
        raise _no_place("indexing", x, error) from None


def _no_place(op: str, x: Tensor, error: IndexError) -> IndexError:
    return IndexError(
        f"{op} a Tensor of shape {x.shape}: {error}\n"
        f"  expected at most {x.ndim} indices, each inside its axis, masks of the sizes they choose from"
    )


@method
def __setitem__(x: Tensor, index: Any, value: Any) -> None:
    """Write a number, or values that broadcast, into `x` in its dtype: ``x[index] = value``. This is recorded.

    Raises RuntimeError if `x` is a leaf that requires gradients and something is recorded, and IndexError or ValueError
    if the index or the values do not fit.
    """
    index = _normal(index)
    if (steps := _integers_first(index)) is not None:
        __setitem__(getitem(x, steps[0]), steps[1], value)
        return
    v = (value if isinstance(value, Tensor) else as_tensor(value, device=x.device)).astype(x.dtype)
    same_device("t[i] = v", x, v, names="tv")
    old = version(x)
    try:
        new = put(old, index, v)
    except IndexError as error:
        raise _no_place("writing into", x, error) from None
    except ValueError as error:
        raise ValueError(
            f"t[i] = v: v has shape {v.shape}\n  expected one that broadcasts to what the index chooses ({error})"
        ) from None
    write("t[i] = v", x, old, new)


@op(PutAdd, method="")
def put_add(shape: tuple[int, ...], index: Any, values: Any) -> Tensor:
    """Zeros of `shape` with `values` added at `index`. Repeated indices add up. The adjoint of `getitem`."""
    values = values if isinstance(values, Tensor) else as_tensor(values)
    index = _normal(index)
    shape = check.sizes("put_add", shape)
    try:
        if (steps := _integers_first(index)) is not None:
            inner = np.broadcast_to(np.empty(()), shape)[steps[0]].shape
            return PutAdd(shape, steps[0])(PutAdd(inner, steps[1])(values))
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
