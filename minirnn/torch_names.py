"""torch's other names at the top of minirnn: dtypes, `device`, `from_numpy`, `Generator`, `add`, ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minirnn import backends, check, devices, random
from minirnn.engine.creation import zeros
from minirnn.engine.operands import float_tensor, forget_constants, pair
from minirnn.engine.tensor import Tensor, tensor
from minirnn.engine.tensor import as_tensor as _as_tensor
from minirnn.host_array import default, float_dtype, integers
from minirnn.messages import shown
from minirnn.ops.primitives.arithmetic import add as plus
from minirnn.ops.primitives.arithmetic import divide, multiply, subtract
from minirnn.ops.primitives.declare import accepts, method
from minirnn.ops.primitives.gathering import index_select, scatter_add
from minirnn.ops.primitives.indexing import getitem
from minirnn.ops.primitives.products import mm
from minirnn.ops.primitives.rounding import trunc
from minirnn.ops.primitives.shapes import stack
from minirnn.ops.primitives.statistics import logsumexp
from minirnn.ops.primitives.views import movedim

__all__ = ["Generator", "add", "allclose", "as_tensor", "asarray", "backends", "device", "div", "equal", "from_numpy"]
__all__ += ["masked_select"]
__all__ += ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor"]
__all__ += ["LongTensor", "ShortTensor", "get_default_device", "get_default_dtype", "set_default_device"]
__all__ += ["set_default_dtype", "mul", "multinomial", "repeat_interleave", "sub"]
__all__ += ["addmm", "bernoulli", "diagonal", "index_add", "isclose", "lerp", "logaddexp"]
__all__ += ["Size", "finfo", "iinfo", "inf", "is_tensor", "nan", "nonzero", "numel", "pi"]

mul = multiply

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


Tensor.__init__ = _init  # type: ignore[method-assign, assignment]


@accepts(obj="data")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` itself if it is a Tensor of that dtype on that device, else a Tensor with a copy of its values."""
    if not isinstance(data, Tensor):
        return tensor(data, device=device, dtype=dtype)
    return data if dtype is None and device is None else data.to(device=device, dtype=dtype)


asarray = as_tensor


class Generator(np.random.Generator):
    """A random number generator for ``generator=``: a NumPy generator that can be reseeded."""

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(np.random.Philox(0))

    def manual_seed(self, seed: int) -> Generator:
        """Reseed with `seed`. Returns itself."""
        self.bit_generator.state = np.random.Philox(check.integer("manual_seed", "seed", seed, 0)).state
        return self


# ---- arithmetic with torch's options


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
    """``start + weight * (end - start)``, broadcasting."""
    start, end = pair(start, end)
    return plus(start, multiply(weight, subtract(end, start)))


@method
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    return add(multiply(input, beta), mm(mat1, mat2), alpha=alpha)


def _shift(name: str, a: Any, b: Any, function: Any) -> Tensor:
    a, b = pair(a, b)
    for t in (a, b):
        if t.dtype.kind not in "iu":
            raise TypeError(f"{name}: got dtype {t.dtype}\n  expected integers; a * 2 ** b for others")
    return tensor(function(a.numpy(), b.numpy()), device=a.device)


@method
def __lshift__(a: Any, b: Any) -> Tensor:
    """``a << b`` of integers: ``a * 2 ** b``."""
    return _shift("a << b", a, b, np.left_shift)


@method
def __rshift__(a: Any, b: Any) -> Tensor:
    """``a >> b`` of integers: ``a / 2 ** b``, rounded down."""
    return _shift("a >> b", a, b, np.right_shift)


# ---- properties and device


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def numel(t: Any) -> int:
    """The number of elements of a Tensor."""
    return int(as_tensor(t).size)


@method
@accepts()
def nonzero(t: Any, as_tuple: bool = False) -> Any:
    """The indices of nonzero elements, (N, axes) of int64; with `as_tuple`, a Tensor (N,) for each axis. No
    gradient.
    """
    x = as_tensor(t)
    a = x.detach().numpy()
    if check.flag("nonzero", "as_tuple", as_tuple):
        return tuple(tensor(places, device=x.device) for places in np.atleast_1d(a).nonzero())
    return tensor(np.argwhere(a), device=x.device)


# ---- comparisons of whole Tensors


@method
@accepts()
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether ``|a - b| <= atol + rtol * |b|`` holds everywhere; the shapes broadcast."""
    a, b = _as_tensor(a), _as_tensor(b)
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
    a, b = _as_tensor(a), _as_tensor(b)
    return bool(np.array_equal(a.numpy(), b.numpy()))


# ---- choosing elements


@method
@accepts()
def masked_select(x: Any, mask: Any) -> Tensor:
    """The elements of `x` where `mask` is true, in one axis. Both broadcast. Gradients go back to the places of the
    elements.
    """
    x = _as_tensor(x)
    mask = np.asarray(mask.numpy() if isinstance(mask, Tensor) else mask)
    if mask.dtype != np.bool_:
        raise TypeError(f"masked_select: mask has dtype {mask.dtype}\n  expected bool, such as x > 0")
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return getitem(x.broadcast_to(shape), (np.broadcast_to(mask, shape),))


@method
@accepts()
def repeat_interleave(x: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element of `x` repeated along `dim` the given number of times. Without `dim`, `x` is flattened first.

    `output_size`, which torch uses to avoid a synchronization, must be the size of the result.
    """
    x = _as_tensor(x)
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    times = integers("repeat_interleave: repeats", repeats)
    n = x.shape[dim]
    if times.size not in (1, n) or times.ndim > 1 or (times < 0).any():
        raise ValueError(
            f"repeat_interleave: repeats is {shown(times.tolist())}\n  expected one number of 0 or more, or {n}"
        )
    places = np.repeat(np.arange(n), times)
    if output_size is not None and output_size != len(places):
        raise ValueError(f"repeat_interleave: output_size is {shown(output_size)}\n  expected {len(places)}")
    return index_select(x, dim, places)


@method
@accepts()
def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements ``x[.., i, i + offset]`` of the axes `dim1` and `dim2`, which become the last axis of the result."""
    x = _as_tensor(x)
    axes = [check.axis("diagonal", dim, x.ndim) for dim in (dim1, dim2)]
    if axes[0] == axes[1]:
        raise ValueError(f"diagonal: dim1 and dim2 are {shown(dim1)} and {shown(dim2)}\n  expected two axes")
    offset = check.integer("diagonal", "offset", offset)
    rows, columns = (x.shape[k] for k in axes)
    i = np.arange(max(0, min(rows + min(offset, 0), columns - max(offset, 0))))
    moved = movedim(x, tuple(axes), (-2, -1))
    return getitem(moved, (Ellipsis, i - min(offset, 0), i + max(offset, 0)))


@method
@accepts()
def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Tensor:
    """`x` with ``alpha * source[k]`` added at ``index[k]`` along `dim`. Repeated indices add up.

    Raises what `scatter_add` raises.
    """
    x, source = _as_tensor(x), _as_tensor(source)
    k = check.axis("index_add", dim, x.ndim, scalar=True)
    places = integers("index_add: index", index).reshape(-1)
    if source.ndim != x.ndim or source.ndim and source.shape[k] != len(places):
        raise ValueError(
            f"index_add: source has shape {source.shape}, index {places.shape}\n"
            f"  expected the axes of {x.shape}, and as many along axis {k} as there are indices"
        )
    shape = [1] * x.ndim
    shape[k : k + 1] = [len(places)] if x.ndim else []
    return scatter_add(x, k, np.broadcast_to(places.reshape(shape), source.shape), multiply(source, alpha))


@method
@accepts(input="p")
def bernoulli(p: Any, *, generator: Any = None) -> Tensor:
    """1 with probability `p`, else 0, for each element of `p`, in its dtype. No gradient.

    Raises ValueError if a probability is not in 0 .. 1.
    """
    t = float_tensor("bernoulli", p)
    probabilities = t.detach().numpy()
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ValueError("bernoulli: p has values outside of 0 .. 1\n  expected probabilities")
    drawn = (generator or random.generator()).random(t.shape) < probabilities
    return tensor(drawn, device=t.device, dtype=t.dtype)


@method
@accepts(input="probs")
def multinomial(probs: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with probabilities proportional to `probs`, (K,) or (B, K). The result is int64, (num_samples,) or
    (B, ..).

    Raises
    ------
    ValueError
        If a weight is negative or not finite, all are 0, or too few are above 0 to draw without `replacement`.
    """
    t = _as_tensor(probs)
    num_samples = check.integer("multinomial", "num_samples", num_samples, 1)
    p = np.atleast_2d(t.numpy().astype(np.float64))
    if t.ndim not in (1, 2) or not np.isfinite(p).all() or (p < 0).any() or not (p.sum(-1) > 0).all():
        raise ValueError(
            f"multinomial: probs has shape {t.shape}, values {shown(p.tolist())}\n"
            "  expected weights (K,) or (B, K) of 0 or more, not all 0"
        )
    if not replacement and ((p > 0).sum(-1) < num_samples).any():
        raise ValueError(
            f"multinomial: num_samples is {num_samples}\n  expected no more than there are weights above 0"
        )
    stream = generator or random.generator()
    rows = [stream.choice(p.shape[1], num_samples, replacement, row / row.sum()) for row in p]
    return tensor(np.array(rows, np.int64).reshape(*t.shape[:-1], num_samples), device=t.device)
