"""A device whose arrays have one more axis, that of a batch, which the ops do not see: what `vmap` computes on.

An op asks its device for primitives; these do what the device below does, with the axes moved by one. Formulas of
derivatives are made of ops, so they work as they are, to any order. Two nodes lead in and out: `Lift` and `Lower`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.arguments.host_array import common_dtype
from minirnn.devices.base import OPTIONAL, PRIMITIVES, Device
from minirnn.devices.operators import Operators
from minirnn.engine.tape import Op, mode, record
from minirnn.engine.tensor import Tensor, leaf


class NotBatched(Exception):
    """Raised if a function cannot be computed for all samples at once, because it needs the values of a single one."""


class Batch(Operators):
    """One array per sample, all of the same shape: `rows` is (B, *shape). If `each` is False, one array serves all
    samples.
    """

    __slots__ = ("__weakref__", "_rows", "device", "dtype", "each", "factors", "shape")

    def __init__(self, device: Any, rows: Any, each: bool) -> None:
        self.device, self._rows, self.each = device, rows, each
        self.shape = tuple(rows.shape[1:]) if each else tuple(rows.shape)
        self.dtype = rows.dtype
        self.factors: tuple[Any, Any] | None = None

    @classmethod
    def product(cls, device: Any, a: Any, b: Any) -> Batch:
        """``a @ b`` for (B, n, k) and (B, k, m), multiplied only when its values are needed."""
        found = cls.__new__(cls)
        found.device, found._rows, found.each, found.factors = device, None, True, (a, b)
        found.shape, found.dtype = (a.shape[1], b.shape[2]), np.result_type(a.dtype, b.dtype)
        return found

    @property
    def rows(self) -> Any:
        if self._rows is None and self.factors:
            self._rows = self.device.below.matmul(*self.factors)
        return self._rows

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def total(self) -> Any:
        """The sum over the samples; of products it is one product."""
        below = self.device.below
        if not self.factors:
            return below.sum(self.rows, (0,), False)
        a, b = self.factors
        B, n, k = a.shape
        a = below.reshape(below.transpose(a, (1, 0, 2)), (n, B * k))
        return below.matmul(a, below.reshape(b, (B * k, b.shape[2])))


def _elementwise(name: str) -> Any:
    def primitive(self: Any, *args: Any) -> Batch:
        ndim = max(a.ndim for a in args if isinstance(a, Batch))
        each = any(isinstance(a, Batch) and a.each for a in args)
        rows = [self._rows_of(a, ndim) for a in args]
        first = int(name == "where")  # whose condition is of another dtype than the values
        values = [a for a in args[first:] if isinstance(a, Batch)]
        if len(values) > 1 and (name == "divide" or len({a.dtype for a in values}) > 1):
            dtype = common_dtype(*values, divides=name == "divide")
            rows[first:] = [self.below.cast(a, dtype) for a in rows[first:]]
        return Batch(self, getattr(self.below, name)(*rows), each)

    return primitive


def _along(name: str) -> Any:
    """A primitive whose first argument is an array, and the second an axis, or axes."""

    def primitive(self: Any, a: Batch, axis: Any, *rest: Any) -> Batch:
        if a.each:
            axis = tuple(range(a.ndim)) if axis is None else axis
            axis = axis + 1 if isinstance(axis, int) else tuple(k + 1 for k in axis)
        return Batch(self, getattr(self.below, name)(a.rows, axis, *rest), a.each)

    return primitive


_ALONG = ("sum", "max", "min", "prod", "argmax", "argmin", "softmax", "log_softmax", "cumsum", "cumprod", "argsort")
_OTHERS: tuple[str, ...] = (
    "asarray",
    "to_numpy",
    "cast",
    "full",
    "clip",
    "matmul",
    "reshape",
    "transpose",
    "broadcast_to",
)
_OTHERS += ("concatenate", "getitem", "scatter_add", "recurrence")


class _Primitives:
    """The primitives that are regular."""


for _name in (*PRIMITIVES, *OPTIONAL, "normal_cdf"):
    if _name not in _OTHERS:
        setattr(_Primitives, _name, (_along if _name in _ALONG else _elementwise)(_name))


class BatchDevice(_Primitives, Device):
    """The device above `below`, with the same name."""

    name = "batch"

    def __init__(self, below: Device) -> None:
        super().__init__()
        self.below = below
        self.name = below.name  # type: ignore[misc]
        self.open: list[Call] = []

    def _rows_of(self, a: Any, ndim: int) -> Any:
        """The rows, with axes of size 1 after the axis of the batch, so that they broadcast as the samples do."""
        if not isinstance(a, Batch):
            return a
        if a.each and a.ndim < ndim:
            rows = a.rows
            return self.below.reshape(rows, (rows.shape[0], *[1] * (ndim - a.ndim), *a.shape))
        return a.rows

    def lift(self, t: Tensor) -> Tensor:
        """A Tensor of the device below, the same for all samples."""
        if t.device is self:
            return t
        if t.device is not self.below:
            if not isinstance(self.below, BatchDevice):
                raise NotBatched
            t = self.below.lift(t)
        return lifted(self, t, False, self.open[-1] if self.open else Call())

    def asarray(self, host: Any) -> Batch:
        return Batch(self, self.below.asarray(host), False)

    def to_numpy(self, a: Batch) -> np.ndarray:
        raise NotBatched

    def cast(self, a: Batch, dtype: Any) -> Batch:
        return a if a.dtype == dtype else Batch(self, self.below.cast(a.rows, dtype), a.each)

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> Batch:
        return Batch(self, self.below.full(shape, value, dtype), False)

    def clip(self, a: Batch, low: Any, high: Any) -> Batch:
        return Batch(self, self.below.clip(a.rows, low, high), a.each)

    def matmul(self, a: Batch, b: Batch) -> Batch:
        if a.each and not b.each and b.ndim == 2 and a.ndim > 1:  # one product for all rows of all samples
            rows = self.below.reshape(a.rows, (-1, a.shape[-1]))
            y = self.below.matmul(rows, b.rows)
            return Batch(self, self.below.reshape(y, (*a.rows.shape[:-1], b.shape[-1])), True)
        if a.each and b.each and a.ndim == b.ndim == 2:
            return Batch.product(self, a.rows, b.rows)
        if a.ndim < 2 or b.ndim < 2:  # the op makes matrices of vectors
            raise NotBatched
        ndim = max(a.ndim, b.ndim)
        return Batch(self, self.below.matmul(self._rows_of(a, ndim), self._rows_of(b, ndim)), a.each or b.each)

    def reshape(self, a: Batch, shape: Sequence[int]) -> Batch:
        if not a.each:
            return Batch(self, self.below.reshape(a.rows, shape), False)
        rows = a.rows
        return Batch(self, self.below.reshape(rows, (rows.shape[0], *shape)), True)

    def transpose(self, a: Batch, axes: tuple[int, ...]) -> Batch:
        return Batch(self, self.below.transpose(a.rows, (0, *[k + 1 for k in axes]) if a.each else axes), a.each)

    def broadcast_to(self, a: Batch, shape: Sequence[int]) -> Batch:
        rows = self._rows_of(a, len(shape))
        return Batch(self, self.below.broadcast_to(rows, (rows.shape[0], *shape) if a.each else tuple(shape)), a.each)

    def concatenate(self, arrays: Sequence[Batch], axis: int) -> Batch:
        B = next((a.rows.shape[0] for a in arrays if a.each), None)
        if B is None:
            return Batch(self, self.below.concatenate([a.rows for a in arrays], axis), False)
        rows = [a.rows if a.each else self.below.broadcast_to(a.rows, (B, *a.shape)) for a in arrays]
        return Batch(self, self.below.concatenate(rows, axis + 1), True)

    def recurrence(self, a: Batch, b: Batch, axis: int) -> Batch:
        if a.each != b.each:
            raise NotBatched
        return Batch(self, self.below.recurrence(a.rows, b.rows, axis + a.each), a.each)

    def getitem(self, a: Batch, index: tuple[Any, ...]) -> Batch:
        return Batch(self, self.below.getitem(a.rows, _behind(index) if a.each else index), a.each)

    def scatter_add(self, shape: Sequence[int], index: tuple[Any, ...], values: Batch) -> Batch:
        if not values.each:
            return Batch(self, self.below.scatter_add(shape, index, values.rows), False)
        index = _behind(index)
        return Batch(self, self.below.scatter_add((values.rows.shape[0], *shape), index, values.rows), True)


def _behind(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index of a sample, for all samples. NumPy moves axes if an array is next to an integer or an array."""
    arrays = sum(isinstance(k, np.ndarray) for k in index)
    if arrays > 1 or (arrays and any(isinstance(k, int) for k in index)):
        raise NotBatched
    return (slice(None), *index)


# ---- in and out


class Call:
    """A call of a function for all samples. Gradients do not leave it, because they would be those of all samples."""

    lasts = False


class Lift(Op):
    """y = x on a device above, each sample its row of x or all of them the same x       dx = dy, or its sum"""

    reads_inputs = False

    def __init__(self, each: bool, call: Call) -> None:
        self.each, self.call = each, call

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        if self.call.lasts:
            raise NotBatched
        if self.each:
            return (lowered(dy, x.shape[0]),)
        a = dy.array
        if not a.each:
            raise NotBatched  # the number of samples is unknown here
        if not mode.enabled:
            return (leaf(x.device, a.total()),)
        return (lowered(dy, a.rows.shape[0]).sum(0),)


class Lower(Op):
    """y = x of all samples (B, ...)        dx = dy, each sample its row"""

    reads_inputs = False

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        device: Any = x.device
        return (lifted(device, dy, True, Call()),)


LOWER = Lower()


def lifted(device: BatchDevice, x: Tensor, each: bool, call: Call) -> Tensor:
    """`x` on the device above its own. If `each`, `x` is (B, ...) with one row per sample; otherwise all samples share
    it.
    """
    return record(Lift(each, call), device, Batch(device, x.array, each), (x,))


def lowered(x: Tensor, B: int) -> Tensor:
    """The rows of all samples, on the device below."""
    device: Any = x.device
    a = x.array
    rows = a.rows if a.each else device.below.broadcast_to(a.rows, (B, *a.shape))
    return record(LOWER, device.below, rows, (x,))


_above: dict[Device, BatchDevice] = {}


def above(device: Device) -> BatchDevice:
    """The batch device above `device`. There is only one for each device, so that constants are made once."""
    if device not in _above:
        _above[device] = BatchDevice(device)
    return _above[device]
