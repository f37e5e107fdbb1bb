"""The device contract: what a device must offer (primitives) and what it may offer (fused kernels).

A device takes and returns its own kind of *arrays*. It has no access to Tensors or the tape. Arrays must have
``shape``, ``dtype`` and ``ndim`` and support ``+ - * / **`` and unary ``-`` among themselves and with Python numbers,
by NumPy's rules of broadcasting and of dtypes: the tape adds gradients with them. No code writes into an array after it
has been returned.

A new device subclasses `Device`, implements every primitive and lists the fused kernels it has in ``kernels``. Ops
whose kernel is not listed are computed by their composition from primitives; `Device.fallbacks` counts how often.
Primitives of `OPTIONAL` that it lacks are computed in host memory.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from minirnn.devices import host_math

if TYPE_CHECKING:
    from minirnn.cells.plan import Plan

Array = Any
"""An array of a device: ``numpy.ndarray`` (or a NumPy scalar for shape ``()``) on ``cpu``."""


class WrongSize(ValueError):
    """The saved values for `cell_sequence_grad` do not have the size that this device saves."""


def check_saved(saved: Array | None, shape: Sequence[int]) -> None:
    """Raise WrongSize unless `saved` has the elements of this shape. None has none."""
    size = 0 if saved is None else math.prod(saved.shape)
    if size != math.prod(shape):
        raise WrongSize(
            f"cell_sequence_grad: saved has {size} elements\n  expected {math.prod(shape)}, as cell_sequence returns"
        )


PRIMITIVES: dict[str, str] = {
    # moving data
    "asarray": "(host: ndarray) -> Array, a copy on the device",
    "to_numpy": "(a) -> ndarray, may share memory; the caller must not write into it",
    "cast": "(a, dtype) -> Array",
    "full": "(shape, value, dtype) -> Array",
    # elementwise, one operand
    "negative": "-a",
    "absolute": "|a|",
    "sign": "-1, 0 or 1",
    "exp": "e ** a",
    "log": "natural logarithm",
    "sqrt": "square root",
    "tanh": "hyperbolic tangent",
    "sigmoid": "1 / (1 + exp(-a)), exact at saturation, no overflow",
    "relu": "max(a, 0); NaN stays NaN",
    # elementwise, two operands, broadcasting
    "add": "a + b",
    "subtract": "a - b",
    "multiply": "a * b",
    "divide": "a / b",
    "power": "a ** b",
    "maximum": "larger one; NaN wins",
    "minimum": "smaller one; NaN wins",
    "equal": "a == b, bool",
    "not_equal": "a != b, bool",
    "less": "a < b, bool",
    "less_equal": "a <= b, bool",
    "greater": "a > b, bool",
    "greater_equal": "a >= b, bool",
    # elementwise, three operands
    "where": "(condition, a, b): a where condition is true, else b; broadcasting",
    "clip": "(a, low, high): Python numbers or None; NaN stays NaN",
    # reductions; axis is a tuple of non-negative ints or None for all
    "sum": "(a, axis, keepdims)",
    "max": "(a, axis, keepdims)",
    "argmax": "(a, axis: int) -> int64, the first one wins",
    # products
    "matmul": "NumPy's matmul: (..., n, k) @ (..., k, m), and vectors",
    # softmax
    "softmax": "(a, axis: int): exp(a - max) / sum",
    "log_softmax": "(a, axis: int): a - max - log(sum(exp(a - max)))",
    # shapes
    "reshape": "(a, shape) C order",
    "transpose": "(a, axes: tuple)",
    "broadcast_to": "(a, shape)",
    "concatenate": "(list of arrays, axis: int)",
    # indexing; index is a tuple of slice, int, None, Ellipsis and host integer or bool arrays
    "getitem": "(a, index) -> Array",
    "scatter_add": "(shape, index, values) -> zeros of that shape, values added at index, repeats add up",
}
"""Name of every required primitive and what it computes."""

OPTIONAL: dict[str, str] = {
    # elementwise, one operand of a float dtype
    "sin": "sine",
    "cos": "cosine",
    "tan": "tangent",
    "erf": "error function",
    "log1p": "log(1 + a), exact for small a",
    "expm1": "exp(a) - 1, exact for small a",
    # elementwise, one operand
    "floor": "largest whole number that is not above a; integers are unchanged",
    "ceil": "smallest whole number that is not below a",
    "round": "nearest whole number; ties go to the even one",
    # reductions; axis is a tuple of non-negative ints or None for all
    "min": "(a, axis, keepdims); NaN wins",
    "argmin": "(a, axis: int) -> int64, the first one wins",
    "prod": "(a, axis, keepdims); 1 for an empty axis",
    # along an axis
    "cumsum": "(a, axis: int): y[t] = y[t-1] + a[t]",
    "cumprod": "(a, axis: int): y[t] = y[t-1] * a[t]",
    "recurrence": "(a, b, axis: int): y[t] = a[t] * y[t-1] + b[t], y[-1] = 0; floats of one shape and dtype",
    # indexing
    "put": "(a, index, values) -> a copy of a with the values at index; at repeated places the last value wins",
    "argsort": "(a, axis: int, descending: bool) -> int64: stable, NaN is larger than all numbers",
}
"""Name of every optional primitive and what it computes. The default goes through the host: `to_numpy`, NumPy,
`asarray`. That is correct on every device, but slow if copies to the host are slow."""

KERNELS: dict[str, str] = {
    "cell_step": "(gates, states, weights, *, plan, constants[, masks]) -> after, values: one step of any cell",
    "cell_step_grad": "(states, after, values, d_after, weights, *, plan, constants[, masks])"
    " -> d_gates, d_states, d_vectors",
    "cell_sequence": "(x, h0, c0, weights, *, plan, lengths, training[, masks, zoneout, constants, named])"
    " -> y, h_n, c_n, saved: one layer of any cell, D directions",
    "cell_sequence_grad": "(x, h0, c0, weights, saved, y, dy, dh_n, dc_n, *, plan, lengths, need_dx"
    "[, masks, zoneout, constants, dc_each]) -> dx, dh0, dc0, dweights",
    "keyed_sequence": "(gates, states, learned, *, plan, H, lengths, training) -> y, after, saved:"
    " one layer of a cell with keys, one direction",
    "keyed_sequence_grad": "(gates, states, learned, saved, dy, d_after, *, plan, H, lengths)"
    " -> d_gates, d_states, d_learned",
    "cross_entropy": "(x, *, target) -> (losses,); target: integers in host memory",
    "cross_entropy_grad": "(x, dy, *, target) -> (dx,)",
    "adam": "(p, g, m, v, *, step, lr, beta1, beta2, eps) -> p, m, v: a step of the optimizer, for one parameter",
}
"""Name of every optional fused kernel and its signature. Arrays are positional, attributes are keywords.

Every cell, minirnn's own and a user's, is a `minirnn.cells.plan.Plan`. What it computes are the lines of its page.

`cell_step` and its gradient compute these lines for one step, whose products with W and R are not part of it:

gates : (B, G*H)
    The pre-activations of all gates in the order of the plan.
states, after : tuple of (B, H)
    The states before and after the step in the order of the plan, h last.
weights : Weights
    Only U and vectors are read.
values : dict of str to (B, H)
    The values that the step saves, by their names (`Plan.value_names`).
d_after : tuple of (B, H)
    The gradients of `after`.
d_gates : (B, G*H)
d_states : tuple of (B, H)
    The gradients of `states`; that of h is the part that goes past R.
d_vectors : tuple of (H,)
constants : sequence of float
    The values of the plan's constants.

`cell_sequence` computes a layer. x is (T, B, I), h0 (D, B, P); c0 (D, STATES-1, B, H) has the states but the last, or
is (D, B, H) if that is one state, or None; `weights` has a `Weights` for each direction. y is (T, B, D*P); h_n and c_n
have the shapes of h0 and c0. `lengths` (B,) are host integers 1 .. T or None; past its length a sample keeps its states
and its y is 0. `masks` are (D, T, B, H). `zoneout` (D, T, B, P) is the share of the old h that stays after a
projection.
`saved` is what the device needs for the backward pass: a 1-D array of the dtype of x whose size grows linearly with T
and with B, which only the device itself reads; None if that is nothing, or not `training`. With `named` it is a dict
instead: the values (`Plan.value_names`) and the states but h after each step, by name, (D, T, B, H) each. The gradient
also takes such a dict, with any values. `dc_each` (D, T, B, H) is the gradient of the first state after each step.

`keyed_sequence` computes a layer of a cell with keys in one direction; its plan is a `minirnn.cells.keyed.KeyedPlan`.
The axes of each value are those of the plan: (H, N), (H,), (N,) or (). `gates` are (T, B, ..), flattened and side by
side; `states`, `after` and their gradients (B, ..); `learned` are the learned parameters and then `KeyedPlan.static`;
y is (T, B, H). `lengths` and `saved` are those of `cell_sequence`. The gradients of samples are added in `d_learned`.
"""


class Weights(NamedTuple):
    """The weights of one direction of a layer, or their gradients. Gates are rows, in the order of the plan."""

    W: Any
    """(rows, I), the gates that read x; None if x enters every gate unchanged, or if no gate reads it."""
    R: Any
    """(rows, P), the gates that read h, or None"""
    Wp: Any = None
    """(P, H), the projection of the output, or None"""
    bW: Any = None
    """The bias of W's rows; or of all gates, (G*H,), if bR is None; or None."""
    bR: Any = None
    """The bias of R's rows, or None."""
    U: Any = ()
    """(H, H), the matrices of products inside the step"""
    vectors: Any = ()
    """(H,), the learned vectors"""


class DeviceUnavailable(RuntimeError):
    """Raised for a known device that cannot work here. The message says why, and names the command that would install
    it.
    """


class Device:
    """Base class of all devices.

    Attributes
    ----------
    name : str
        The name that users write: ``"cpu"``. A device equals its name: ``t.device == "cpu"``.
    kernels : frozenset of str
        Fused kernels this device implements, each a method of that name.
    half_kernels : frozenset of str
        Kernels that accept float16 arrays. The others get float32 arrays, and their results are rounded
        (`minirnn.ops.fused`).
    fallbacks : collections.Counter
        How often an op was computed by its composition because its kernel is missing here.
    """

    name: ClassVar[str]
    kernels: ClassVar[frozenset[str]] = frozenset()
    half_kernels: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self.fallbacks: Counter[str] = Counter()

    @property
    def type(self) -> str:
        """The name, under the attribute that torch's programs read."""
        return self.name

    def __init_subclass__(cls, kernels_in: Sequence[ModuleType] = (), **kwargs: Any) -> None:
        """Take the kernels from `kernels_in`: the functions of these modules whose names are in `KERNELS`.

        A function whose first parameter is called ``device`` becomes a method, another one a static method.
        """
        super().__init_subclass__(**kwargs)
        found = {name: getattr(module, name) for module in kernels_in for name in KERNELS if hasattr(module, name)}
        for name, function in found.items():
            is_method = next(iter(inspect.signature(function).parameters), None) == "device"
            setattr(cls, name, function if is_method else staticmethod(function))
        cls.kernels = cls.kernels | found.keys()
        unknown = sorted(cls.kernels - KERNELS.keys())
        if unknown:
            raise TypeError(f"{cls.__name__}.kernels names unknown kernels: {unknown}\n  known: {sorted(KERNELS)}")
        missing = [n for n in (*PRIMITIVES, *sorted(cls.kernels)) if not callable(getattr(cls, n, None))]
        if missing:
            raise TypeError(
                f"{cls.__name__} does not implement {', '.join(missing)}\n"
                "  expected: every name in minirnn.devices.base.PRIMITIVES and in its own `kernels`"
            )

    def kernel(self, name: str) -> Callable[..., Any] | None:
        """The fused kernel `name`, or None (counted in `fallbacks`) if this device has none."""
        if name in self.kernels:
            return getattr(self, name)
        self.fallbacks[name] += 1
        return None

    def runs_plan(self, plan: Plan) -> bool:
        """Whether its kernels for custom cells, if it has any, support everything that this cell needs."""
        return True

    def cast_floats(self, arrays: Sequence[Array], dtype: Any) -> list[Array]:
        """Convert float arrays to `dtype` and leave the others; values that are too large become infinite, without a
        warning.

        A device may do it better than by one `cast` after the other.
        """
        with np.errstate(over="ignore"):
            return [self.cast(a, dtype) if a.dtype.kind == "f" else a for a in arrays]

    def normal_cdf(self, a: Array) -> Array:
        """The distribution function of the standard normal distribution. A device may do it better than by `erf`."""
        return self.multiply(self.add(self.erf(self.multiply(a, math.sqrt(0.5))), 1), 0.5)

    def sum_to_shape(self, a: Array, shape: Sequence[int]) -> Array:
        """Sum `a` over the axes along which an array of `shape` was broadcast: the adjoint of broadcasting.

        A device may do it better than by `sum` and `reshape`.
        """
        extra = a.ndim - len(shape)
        axes = tuple(k for k in range(a.ndim) if k < extra or (shape[k - extra] == 1 and a.shape[k] != 1))
        return self.reshape(self.sum(a, axes, True) if axes else a, tuple(shape))

    if TYPE_CHECKING:  # the primitives and kernels named above

        def __getattr__(self, name: str) -> Any: ...

    def synchronize(self) -> None:
        """Wait until all work handed to the device is done. Devices that compute at once do nothing."""

    def end_of_backward(self) -> None:
        """Called at the end of each backward pass over this device's arrays, for each output that it began with.

        A device that reports failures late checks now, and raises before the gradients are used.
        """

    def put_to_use(self) -> None:
        """Called when the device becomes the default one of a thread. Most devices do nothing."""

    def put_away(self) -> None:
        """Called when another device becomes the default one, or the thread ends: it undoes `put_to_use`."""

    def __eq__(self, other: object) -> bool:
        return self.name == other if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<device {self.name}>"

    def __str__(self) -> str:
        return self.name


def _through_the_host(name: str) -> Callable[..., Array]:
    """The primitive `name` of `OPTIONAL` for a device that does not have it."""
    function = getattr(host_math, name)

    def primitive(self: Device, *args: Any) -> Array:
        return self.asarray(function(*[self.to_numpy(a) if hasattr(a, "dtype") else a for a in args]))

    primitive.__name__ = name
    return primitive


for _name in OPTIONAL:
    setattr(Device, _name, _through_the_host(_name))


FLOATS = tuple(np.dtype(t) for t in (np.float16, np.float32, np.float64))
"""The dtypes that can carry gradients."""
