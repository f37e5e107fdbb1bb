"""torch's names at the top of minirnn: dtypes, `device`, `from_numpy`, `Generator`, `add`, ..."""

# ruff: noqa: F403
from __future__ import annotations

import math
from typing import Any

import numpy as np

from minirnn import devices
from minirnn.arguments import check
from minirnn.arguments.host_array import default, float_dtype
from minirnn.arguments.names import accepts, called
from minirnn.engine.creation import zeros
from minirnn.engine.operands import forget_constants
from minirnn.engine.tensor import Tensor, tensor
from minirnn.lookup import backends
from minirnn.ops.primitives import combined, selection
from minirnn.ops.primitives.combined import *
from minirnn.ops.primitives.selection import *

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor"]
__all__ += ["LongTensor", "ShortTensor", "get_default_device", "get_default_dtype", "set_default_device"]
__all__ += ["set_default_dtype", "as_tensor", "asarray", "backends", "device", "from_numpy", "is_tensor", "numel"]
__all__ += ["Generator", "Size", "finfo", "iinfo", "inf", "nan", "pi"]
__all__ += combined.__all__
__all__ += selection.__all__

pi, inf, nan = math.pi, math.inf, math.nan
Size, finfo, iinfo = tuple, np.finfo, np.iinfo


def device(name: Any = "cpu", index: int | None = None) -> devices.Device:
    """The device with that name, such as "cpu" or "cuda"; "cuda:0" is "cuda". Raises what `use_device` raises."""
    return _device_named(name)


def _device_named(name: Any) -> devices.Device:
    return devices.get(name.partition(":")[0] if isinstance(name, str) else name)


@accepts(ndarray="array")
def from_numpy(array: np.ndarray) -> Tensor:
    """A Tensor with a copy of the array, in its dtype. They share no memory. Raises TypeError for anything but an
    array.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy: got a {type(array).__name__}\n  expected a NumPy array; mr.tensor takes others")
    return tensor(array)


# ---- defaults, and constructors with a dtype in their names


def set_default_dtype(d: Any) -> None:
    """Make this the dtype of Python floats, `zeros`, `rand`, parameters, ... Raises TypeError if it is not floating."""
    default.dtype = float_dtype("set_default_dtype", d)
    forget_constants()


def get_default_dtype() -> np.dtype[Any]:
    """The dtype of floats without one, initially float32."""
    return default.dtype


def set_default_device(device: Any) -> None:
    """The same as ``mr.use_device(device)``. None means the cpu."""
    devices.use_device(_device_named("cpu" if device is None else device))


def get_default_device() -> devices.Device:
    """The device on which Tensors are created by default."""
    return devices.get(None)


def _sized_or_filled(name: str, args: tuple[Any, ...], dtype: Any, device: Any) -> Tensor:
    """What ``FloatTensor(2, 3)`` and ``FloatTensor([1, 2])`` create: zeros of these sizes, or the data."""
    if len(args) == 1 and not hasattr(args[0], "__index__") or len(args) == 1 and np.ndim(args[0]):
        if isinstance(args[0], (float, np.floating)):
            raise TypeError(f"{name}: got the number {args[0]}\n  expected sizes or data; mr.tensor takes numbers")
        return tensor(args[0], dtype=dtype, device=device)
    return zeros(args or (0,), dtype=dtype, device=device)


def _typed(name: str, dtype: str) -> Any:
    def constructor(*args: Any, device: Any = None) -> Tensor:
        return _sized_or_filled(name, args, dtype, device)

    constructor.__name__ = constructor.__qualname__ = name
    constructor.dtype = np.dtype(dtype)  # type: ignore[attr-defined]  # for t.type(FloatTensor)
    constructor.__doc__ = (
        f"A Tensor of {dtype}: zeros of these sizes, ``{name}(2, 3)``, or the data, ``{name}([1, 2])``."
    )
    return constructor


FloatTensor = _typed("FloatTensor", "float32")
DoubleTensor = _typed("DoubleTensor", "float64")
HalfTensor = _typed("HalfTensor", "float16")
LongTensor = _typed("LongTensor", "int64")
IntTensor = _typed("IntTensor", "int32")
ShortTensor = _typed("ShortTensor", "int16")
CharTensor = _typed("CharTensor", "int8")
ByteTensor = _typed("ByteTensor", "uint8")
BoolTensor = _typed("BoolTensor", "bool")


def _init(t: Tensor, *args: Any, device: Any = None) -> None:
    """``Tensor(2, 3)`` or ``Tensor([1, 2])``: zeros of these sizes, or the data, in the default dtype."""
    made = _sized_or_filled("Tensor", args, default.dtype, device)
    for slot in ("array", "device", "_grad", "hooks", "op", "parents", "_requires_grad", "seq"):
        setattr(t, slot, getattr(made, slot))


Tensor.__init__ = called(_init, "Tensor")  # type: ignore[method-assign]


@accepts(obj="data")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` itself if it is a Tensor of that dtype on that device, else a Tensor with a copy of its values."""
    if not isinstance(data, Tensor):
        return tensor(data, device=device, dtype=dtype)
    return data if dtype is None and device is None else data.to(device=device, dtype=dtype)


asarray = called(as_tensor, "asarray")


class Generator(np.random.Generator):
    """A random number generator for ``generator=``: a NumPy generator that can be reseeded."""

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(np.random.Philox(0))

    def manual_seed(self, seed: int) -> Generator:
        """Reseed with `seed`. Returns itself."""
        self.bit_generator.state = np.random.Philox(check.integer("manual_seed", "seed", seed, 0)).state
        return self


# ---- questions


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def numel(t: Any) -> int:
    """The number of elements of a Tensor."""
    return int(as_tensor(t).size)
