"""Tensor: an array on a device that stores how it was computed.

A Tensor is its own node of the tape. It holds the op that made it and the inputs of that op (its parents). Each new
Tensor gets a larger number ``seq``, so sorting Tensors by it gives a topological order without a graph search.

This module only stores data. Recording is in `tape`, and the backward pass in `backward`. The ops attach arithmetic,
indexing and the methods that compute (``t + u``, ``t.sum()``, ...) when `minirnn` is imported.
"""

from __future__ import annotations

from itertools import count
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from minirnn import devices
from minirnn.arguments.host_array import host_array
from minirnn.devices.base import FLOATS, Array, Device
from minirnn.engine import html
from minirnn.engine.hooks import RemovableHandle, Retain

if TYPE_CHECKING:
    from collections.abc import Callable

    from minirnn.engine.methods import Methods
    from minirnn.engine.op import Op
else:
    Methods = object

next_seq: Callable[[], int] = count(1).__next__
"""Returns the next `seq`, which orders all tapes. It is a single call, so two threads cannot get the same number."""


class Size(int):
    """The number of elements, which can also be called as in torch: ``t.size()`` and ``t.size(0)``."""

    axes: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the size along the axis `dim`. Raises IndexError if there is no such axis."""
        if dim is not None and not -len(self.axes) <= dim < len(self.axes):
            raise IndexError(f"size: axis {dim} of a Tensor of shape {self.axes}\n  expected one of its axes")
        return self.axes if dim is None else self.axes[dim]


class Tensor(Methods):
    """An array on a device, and a node of the tape. `minirnn.engine.tensor` and ops create it.

    Attributes
    ----------
    array : Array
        The device's array. It is never written into; `assign` and in-place operations replace it.
    device : Device
        Where the array is; equals its name, ``t.device == "cpu"``.
    requires_grad : bool
        Whether gradients flow into this Tensor.
    grad : Tensor or None
        Where `backward` adds up the gradient of a leaf (or after `retain_grad`).
    op, parents : Op or None, tuple of Tensor
        The op that made this Tensor, and its inputs; None and () for a leaf.
    """

    __slots__ = (
        "__weakref__",
        "_grad",
        "_requires_grad",
        "array",
        "device",
        "hooks",
        "op",
        "parents",
        "seq",
        "older",
        "viewed",
    )

    array: Array
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    device: Device
    grad: Tensor | None
    _grad: Tensor | None
    hooks: list[Callable[[Tensor], Tensor | None]] | None
    op: Op | None
    parents: tuple[Tensor, ...]
    requires_grad: bool
    _requires_grad: bool
    seq: int
    older: tuple[Tensor, str]
    viewed: tuple[Any, Op | None, int] | None

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if hasattr(type(self), name)]  # not those of `pointers`

    # ---- properties

    # `attrgetter` takes half the time of a Python property, and every op reads these attributes.
    if not TYPE_CHECKING:
        shape = property(attrgetter("array.shape"))
        dtype = property(attrgetter("array.dtype"))
        ndim = property(attrgetter("array.ndim"))

        # The engine reads and writes the slots directly. These properties check the values that users set.
        requires_grad = property(attrgetter("_requires_grad"), lambda self, value: self.requires_grad_(value))
        grad = property(attrgetter("_grad"), lambda self, value: _set_grad(self, value))

    @property
    def size(self) -> Size:
        """The number of elements, as in NumPy. ``size()`` is the shape and ``size(0)`` a single size, as in torch."""
        found = Size(prod(self.array.shape))
        found.axes = self.array.shape
        return found

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this Tensor. Parameters and data are leaves."""
        return self.op is None

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a Tensor of shape ()\n  expected at least one axis")
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth value of a Tensor of shape {self.shape} is ambiguous\n"
                "  expected one element; use (a == b).numpy().all()"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        value = self.item()
        if not isinstance(value, int):
            raise TypeError(f"a Tensor of dtype {self.dtype} cannot be an index\n  expected an integer dtype")
        return value

    def __format__(self, spec: str) -> str:
        """Formats a Tensor of one element like its Python number: ``f"{loss:.3f}"``."""
        if self.shape == () or (spec and self.size == 1):
            return format(self.item(), spec)
        if not spec:
            return str(self)
        raise TypeError(
            f"the format {spec!r} of a Tensor of shape {self.shape}\n"
            "  expected one element; take one out by an index, or write t.numpy()"
        )

    def __round__(self, digits: int | None = None) -> float | int:
        """The Python number of a Tensor of one element, rounded: ``round(loss, 2)``."""
        return round(self.item(), digits)

    def __repr__(self) -> str:
        text = np.array2string(self.numpy(), separator=", ", prefix="tensor(", threshold=200)
        tail = "" if 0 < self.size <= 200 else f", shape={self.shape}"
        tail += "" if self.dtype in (np.float32, np.int64, np.bool_) else f", dtype={self.dtype}"
        tail += "" if self.device.name == "cpu" else f", device={self.device.name}"
        if self.op is not None:
            tail += f", op={self.op.name}"
        elif self.requires_grad:
            tail += ", requires_grad=True"
        return f"tensor({text}{tail})"

    def _repr_html_(self) -> str:
        about = [f"on {self.device.name}"]
        if self.op is not None:
            about.append(f"made by {self.op.name}")
        elif self.requires_grad:
            about.append("requires grad" + (", has one" if self.grad is not None else ""))
        return html.of_array("Tensor", self.numpy(), ", ".join(about))

    # ---- out of the Tensor

    def numpy(self) -> np.ndarray:
        """The values as a read-only NumPy array. On the cpu device it shares memory. Call ``.copy()`` to change it."""
        view = self.device.to_numpy(self.array).view()
        view.flags.writeable = False
        return view

    def item(self) -> float | int | bool:
        """The only element as a Python number. Raises ValueError if there are more."""
        if self.size != 1:
            raise ValueError(f"item(): the Tensor has shape {self.shape}\n  expected exactly one element")
        return self.numpy().item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        return self.numpy().tolist()

    # ---- tape

    def detach(self) -> Tensor:
        """A new leaf with the same values, through which no gradient flows. Writing into it writes into this Tensor."""
        twin = leaf(self.device, self.array)
        twin.viewed = ref(self), None, self.seq
        return twin

    @property
    def data(self) -> Tensor:
        """The same as `detach()`. Assigning to it replaces the values, even while ops are recorded."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        new = as_tensor(value, device=self.device)
        check_can_require_grad(new.dtype, self._requires_grad)
        self.array = new.array
        self.seq = next_seq()

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Switch gradients into this leaf on or off; returns itself. The same as setting `requires_grad`.

        Raises TypeError if the dtype is not a floating one, and ValueError if you switch gradients off but an op made
        this Tensor (use `detach`).
        """
        if self.op is not None and not requires_grad:
            raise ValueError(
                f"requires_grad_: this Tensor was made by {self.op.name}\n  expected a leaf; detach() it first"
            )
        check_can_require_grad(self.array.dtype, requires_grad)
        self._requires_grad = bool(requires_grad)
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(gradient)`` when this Tensor's gradient is complete. A result that is not None replaces it.

        Returns a handle. ``handle.remove()`` or ``handle()`` removes the hook. Raises ValueError if no gradient can
        reach this Tensor, and TypeError if the hook cannot be called.
        """
        if not self.requires_grad:
            raise ValueError("register_hook: no gradient reaches this Tensor\n  expected requires_grad=True")
        if not callable(hook):
            raise TypeError(f"register_hook: the hook is a {type(hook).__name__}\n  expected a callable")
        if self.hooks is None:
            self.hooks = []
        return RemovableHandle.of(self.hooks, hook)

    def retain_grad(self) -> Tensor:
        """Keep the gradient of this intermediate Tensor in `grad`, as leaves do; returns itself."""
        if self.op is not None and not any(isinstance(h, Retain) for h in self.hooks or ()):
            self.register_hook(Retain(self))
        return self

    def assign(self, value: Any) -> Tensor:
        """Replace the values of this leaf, keeping shape, dtype and device; returns itself.

        A backward pass that still needs the old values fails with a clear error instead of giving a wrong gradient.
        Raises ValueError if the shape differs or an op made this Tensor.
        """
        if self.op is not None:
            raise ValueError(f"assign: this Tensor was made by {self.op.name}\n  expected a leaf (a parameter or data)")
        new = as_tensor(value, device=self.device, dtype=self.dtype)
        if new.shape != self.shape:
            hint = "\n  likely transposed" if new.shape == self.shape[::-1] else ""
            raise ValueError(f"assign: got values of shape {new.shape}\n  expected {self.shape}{hint}")
        self.array = new.array
        self.seq = next_seq()  # later than every op that read the old values, so the tape detects the change
        return self


def leaf(device: Device, array: Array, requires_grad: bool = False) -> Tensor:
    """An array of `device` as a leaf, without a copy or a check."""
    t = Tensor.__new__(Tensor)
    t.array = array
    t.device = device
    t._grad = t.hooks = None
    t.op, t.parents, t._requires_grad = None, (), requires_grad
    t.seq = next_seq()
    return t


def _set_grad(t: Tensor, value: Any) -> None:
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"grad: got a {type(value).__name__}\n  expected a Tensor, or None")
    if value is not None and value.shape != t.shape:
        raise ValueError(f"grad: got shape {value.shape}\n  expected that of the Tensor: {t.shape}")
    t._grad = value


def check_can_require_grad(dtype: np.dtype[Any], requires_grad: bool) -> None:
    if requires_grad and dtype not in FLOATS:
        raise TypeError(f"a Tensor of dtype {dtype} cannot require gradients\n  expected float16, float32 or float64")


def tensor(data: Any, requires_grad: bool = False, device: str | Device | None = None, dtype: Any = None) -> Tensor:
    """A new Tensor from numbers, nested lists, an array or another Tensor. The values are copied.

    Raises TypeError for a dtype that is not a number or bool, or if `requires_grad` is set for an integer dtype, and
    ValueError for an unknown device or a ragged list.

    Parameters
    ----------
    data : array_like
        Arrays keep their dtype; Python floats become float32, Python ints int64.
    requires_grad : bool
        Whether to compute gradients for the Tensor.
    device : str or Device, optional
        Default: the default device (`use_device`, ``MINIRNN_DEVICE``), or the device of `data` if that is a Tensor.
    dtype : dtype, optional
        Convert to this dtype.
    """
    if device is None and isinstance(data, Tensor):
        device = data.device
    place = devices.get(device)
    if isinstance(data, Tensor):
        data = data.numpy()
    elif isinstance(data, (list, tuple)):
        dtypes: list[np.dtype[Any]] = []
        data = _numbers_of(data, dtypes)
        floats = [d for d in dtypes if d in FLOATS]
        dtype = np.result_type(*floats) if dtype is None and floats else dtype
    array = host_array(data, dtype)
    check_can_require_grad(array.dtype, requires_grad)
    return leaf(place, place.asarray(array), requires_grad)


def _numbers_of(data: Any, dtypes: list[np.dtype[Any]]) -> Any:
    """The nested list with each Tensor of one element replaced by its number. Its dtype is added to `dtypes`."""
    kinds = set(map(type, data))  # fast for a long list of numbers, which is returned unchanged
    if not any(issubclass(kind, (list, tuple, Tensor)) for kind in kinds):
        return data
    found = []
    for v in data:
        if isinstance(v, Tensor):
            if v.size != 1:
                raise ValueError(
                    f"tensor: the list holds a Tensor of shape {v.shape}\n"
                    "  expected numbers, or Tensors of one element\n"
                    "  likely mr.stack(tensors) or mr.concat(tensors) is meant: they pass gradients on"
                )
            dtypes.append(v.dtype)
            v = v.item()
        found.append(_numbers_of(v, dtypes) if isinstance(v, (list, tuple)) else v)
    return found


def as_tensor(data: Any, device: Device | None = None, dtype: Any = None) -> Tensor:
    """`data` itself if it is a Tensor of this device and dtype, else a constant Tensor with its values.

    Raises TypeError if `data` is a list with Tensors that require gradients, because their gradients would be lost.
    """
    if (
        isinstance(data, Tensor)
        and (device is None or data.device is device)
        and (dtype is None or data.dtype == dtype)
    ):
        return data
    if isinstance(data, (list, tuple)) and _holds_gradients(data):
        if isinstance(data, tuple):  # of a layer
            likely = "the output without the states is meant: output, states = layer(x)"
        else:
            likely = "mr.stack(list) is meant, which passes gradients on"
        raise TypeError(
            f"operand: got a {type(data).__name__} of Tensors that require gradients\n"
            f"  expected a Tensor\n  likely {likely}"
        )
    return tensor(data, device=device, dtype=dtype)


def _holds_gradients(data: Any) -> bool:
    kinds = set(map(type, data))  # fast for a long list of numbers
    if not any(issubclass(kind, (list, tuple, Tensor)) for kind in kinds):
        return False
    held = [v for v in data if isinstance(v, (list, tuple, Tensor))]
    return any(v._requires_grad if isinstance(v, Tensor) else _holds_gradients(v) for v in held)
