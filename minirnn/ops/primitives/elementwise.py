"""Functions applied to every element: exp, log, tanh, sigmoid, relu, clip, where and relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import devices
from minirnn.engine.operands import no_bools, pair, same_device, shape_error
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.host_array import dtype_of
from minirnn.messages import shown


class _Unary(Op):
    arithmetic = True


class Exp(_Unary):
    """y = exp(x)       dx = dy * y"""

    reads_inputs = False

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * y,)


class Log(_Unary):
    """y = log(x)       dx = dy / x"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy / x,)


class Sqrt(_Unary):
    """y = sqrt(x)      dx = dy / (2 * y)"""

    reads_inputs = False

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy / (2 * y),)


class Tanh(_Unary):
    """y = tanh(x)      dx = dy * (1 - y * y)"""

    reads_inputs = False

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * (1 - y * y),)


class Sigmoid(_Unary):
    """y = 1 / (1 + exp(-x))        dx = dy * y * (1 - y)"""

    reads_inputs = False

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * (y * (1 - y)),)


class Relu(Op):
    """y = max(x, 0)    dx = dy where x > 0, else 0        (derivative 0 at 0)"""

    reads_inputs = False

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (where(y > 0, dy, 0.0),)


class Absolute(Op):
    """y = |x|          dx = dy * sign(x)        (0 at 0)"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy * sign(x),)


class Maximum(Op):
    """y = max(a, b)    da = dy where a > b, dy/2 where equal, else 0; db likewise"""

    broadcasts = True

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        share = where(a == b, dy * 0.5, dy)  # NaN is equal to nothing: both get all of dy, as in torch
        return where(a < b, 0.0, share), where(a > b, 0.0, share)


class Minimum(Op):
    """y = min(a, b)    da = dy where a < b, dy/2 where equal, else 0; db likewise"""

    broadcasts = True

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        share = where(a == b, dy * 0.5, dy)
        return where(a > b, 0.0, share), where(a < b, 0.0, share)


class Clip(Op):
    """y = min(max(x, low), high)       dx = dy where low <= x <= high, else 0

    With `straight_through` dx = dy everywhere: what TensorFlow's LSTM ops do with their cell clip.
    """

    def __init__(self, low: float | None, high: float | None, straight_through: bool) -> None:
        self.low = low
        self.high = high
        self.straight_through = straight_through
        self.reads_inputs = not straight_through

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        if self.straight_through:
            return (dy,)
        if self.low is not None:
            dy = where(x >= self.low, dy, 0.0)
        if self.high is not None:
            dy = where(x <= self.high, dy, 0.0)
        return (dy,)


class Where(Op):
    """y = a where condition, else b        da = dy where condition, else 0; db the rest"""

    broadcasts = True
    reads_inputs = False  # the condition is kept here

    def __init__(self, condition: Tensor) -> None:
        self.condition = condition

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return where(self.condition, dy, 0.0), where(self.condition, 0.0, dy)


class Cast(Op):
    """y = x as another dtype       dx = dy as the dtype of x"""

    reads_inputs = False

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (astype(dy, x.dtype),)


class Identity(Op):
    """y = x            dx = dy"""

    arithmetic = True
    reads_inputs = False

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy,)


EXP, LOG, SQRT, TANH, SIGMOID, RELU, ABSOLUTE = Exp(), Log(), Sqrt(), Tanh(), Sigmoid(), Relu(), Absolute()
MAXIMUM, MINIMUM, CAST, IDENTITY = Maximum(), Minimum(), Cast(), Identity()


def float_tensor(op: str, x: Any) -> Tensor:
    if x.__class__ is not Tensor:  # most are, and a call saved is 0.1 us
        x = as_tensor(x)
    if x.array.dtype.kind != "f":
        raise TypeError(f"{op}: got dtype {x.dtype}\n  expected float16, float32 or float64; use x.astype('float32')")
    return x


def exp(x: Any) -> Tensor:
    """``e ** x``."""
    x = float_tensor("exp", x)
    return record(EXP, x.device, x.device.exp(x.array), (x,))


def log(x: Any) -> Tensor:
    """Natural logarithm."""
    x = float_tensor("log", x)
    return record(LOG, x.device, x.device.log(x.array), (x,))


def sqrt(x: Any) -> Tensor:
    """Square root."""
    x = float_tensor("sqrt", x)
    return record(SQRT, x.device, x.device.sqrt(x.array), (x,))


def tanh(x: Any) -> Tensor:
    """Hyperbolic tangent."""
    x = float_tensor("tanh", x)
    return record(TANH, x.device, x.device.tanh(x.array), (x,))


def sigmoid(x: Any) -> Tensor:
    """``1 / (1 + exp(-x))``, without overflow."""
    x = float_tensor("sigmoid", x)
    return record(SIGMOID, x.device, x.device.sigmoid(x.array), (x,))


def relu(x: Any) -> Tensor:
    """``max(x, 0)``; the derivative at 0 is 0."""
    x = float_tensor("relu", x)
    return record(RELU, x.device, x.device.relu(x.array), (x,))


def absolute(x: Any) -> Tensor:
    """``|x|``; the derivative at 0 is 0."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    return record(ABSOLUTE, x.device, x.device.absolute(x.array), (x,))


def sign(x: Any) -> Tensor:
    """-1, 0 or 1; no gradient."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    no_bools("sign", x)
    return leaf(x.device, x.device.sign(x.array))


def maximum(a: Any, b: Any) -> Tensor:
    """The larger of two, broadcasting. Where they are equal each gets half of the gradient."""
    a, b = pair(a, b)
    device = same_device("maximum", a, b)
    try:
        return record(MAXIMUM, device, device.maximum(a.array, b.array), (a, b))
    except (ValueError, TypeError) as error:
        raise shape_error("maximum", a, b, error) from None


def minimum(a: Any, b: Any) -> Tensor:
    """The smaller of two, broadcasting. Where they are equal each gets half of the gradient."""
    a, b = pair(a, b)
    device = same_device("minimum", a, b)
    try:
        return record(MINIMUM, device, device.minimum(a.array, b.array), (a, b))
    except (ValueError, TypeError) as error:
        raise shape_error("minimum", a, b, error) from None


def clip(x: Any, low: float | None = None, high: float | None = None, *, straight_through: bool = False) -> Tensor:
    """``min(max(x, low), high)``, NaN stays NaN. Bounds are Python numbers; None leaves that side open.

    Gradients pass where ``low <= x <= high``; with `straight_through` they pass everywhere.

    Raises
    ------
    TypeError
        If a bound is no number.
    ValueError
        If ``low > high`` or a bound is NaN.
    """
    x = float_tensor("clip", x)
    for bound in (low, high):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, (int, float, np.number))):
            raise TypeError(f"clip: a bound is {shown(bound)}\n  expected a number or None")
        if bound is not None and bound != bound:
            raise ValueError("clip: a bound is NaN\n  expected a number or None")
        if isinstance(bound, int) and bound.bit_length() > 1023:
            raise ValueError(f"clip: a bound is {shown(bound)}\n  expected a number that a float can hold")
    if low is not None and high is not None and low > high:
        raise ValueError(f"clip: low {low} is above high {high}\n  expected low <= high\n  likely exchanged")
    if low is None and high is None:
        return x
    low, high = (None if k is None else float(k) for k in (low, high))
    return record(Clip(low, high, straight_through), x.device, x.device.clip(x.array, low, high), (x,))


def where(condition: Any, a: Any, b: Any) -> Tensor:
    """`a` where `condition` is true, else `b`; all three broadcast against each other.

    Raises
    ------
    TypeError
        If `condition` is not of dtype bool.
    """
    if not isinstance(condition, Tensor):
        place = next((t.device for t in (a, b) if isinstance(t, Tensor)), devices.get())
        condition = as_tensor(condition, device=place)
    if condition.dtype != np.bool_:
        raise TypeError(f"where: condition has dtype {condition.dtype}\n  expected bool, such as x > 0")
    a, b = pair(a, b)
    device = same_device("where", condition, a, b, names=("condition", "a", "b"))
    try:
        y = device.where(condition.array, a.array, b.array)
    except (ValueError, TypeError) as error:
        raise shape_error(f"where (condition {condition.shape})", a, b, error) from None
    # detached: the condition may be assigned to before the backward pass, and what was computed stays what it was
    return record(Where(condition.detach()), device, y, (a, b))


def astype(x: Any, dtype: Any) -> Tensor:
    """`x` in another dtype; `x` itself if it has it already."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    dtype = dtype_of("astype", dtype)
    if x.dtype == dtype:
        return x
    y = x.device.cast(x.array, dtype)
    return record(CAST, x.device, y, (x,)) if dtype.kind == "f" else leaf(x.device, y)


def identity(x: Any) -> Tensor:
    """`x` as a new node: gradients taken with respect to it stop here."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    return record(IDENTITY, x.device, x.array, (x,))
