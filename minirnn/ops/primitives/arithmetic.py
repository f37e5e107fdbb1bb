"""Arithmetic: + - * / ** // % with NumPy's broadcasting and dtype rules, and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.engine.operands import is_number, narrowed, numeric, pair, python_number, same_device, shape_error
from minirnn.engine.tape import record
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.declare import OTHERS, Arithmetic, Primitive, binary, named, op, synonym, unary
from minirnn.ops.primitives.elementwise import choose, log

__all__ = ["add", "subtract", "multiply", "divide", "negative", "power", "sub", "mul", "div", "neg", "pow", "square"]
__all__ += ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "eq", "ne", "lt", "le", "gt", "ge"]
__all__ += ["floor_divide", "remainder"]


class Add(Arithmetic, uses="add", reads="", broadcasts=True):
    """y = a + b        da = dy,  db = dy"""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return dy, dy


class Subtract(Arithmetic, uses="subtract", reads="", broadcasts=True):
    """y = a - b        da = dy,  db = -dy"""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return dy, -dy

    def of_first(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, None]:
        return dy, None


class Multiply(Arithmetic, uses="multiply", reads="others", broadcasts=True):
    """y = a * b        da = dy * b,  db = dy * a"""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return dy * b, dy * a

    def of_first(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, None]:
        return dy * b, None


class Divide(Arithmetic, uses="divide", reads="xy", broadcasts=True):
    """y = a / b        da = dy / b,  db = -dy * y / b"""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        da = dy / b
        return da, -da * y

    def of_first(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, None]:
        return dy / b, None


class Negative(Arithmetic, uses="negative", reads=""):
    """y = -x           dx = -dy"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (-dy,)


add = binary(Add, "``a + b``, broadcasting.", operator="+")
subtract = binary(Subtract, "``a - b``, broadcasting.", method="sub", operator="-")
multiply = binary(Multiply, "``a * b``, broadcasting.", method="mul", operator="*")
divide = binary(Divide, "``a / b``, broadcasting.", method="div", operator="/")
negative = unary(Negative, "``-x``.", takes=numeric, method="neg", operator="-x")
sub, mul, div = synonym(subtract, "sub"), synonym(multiply, "mul"), synonym(divide, "div")
neg = synonym(negative, "neg")


class PowerConstant(Arithmetic, uses="power", reads="x"):
    """y = a ** p       da = dy * p * a ** (p - 1)        p a Python number"""

    def __init__(self, p: float) -> None:
        self.p = p

    def backward(self, dy: Any, y: Any, a: Any) -> tuple[Any]:
        if self.p == 0:  # the formula would give 0 * inf at a = 0
            return (dy * 0,)
        return (dy * (self.p * a ** (self.p - 1)),)


class Power(Primitive, uses="power", reads="xy", broadcasts=True):
    """y = a ** b       da = dy * b * a ** (b - 1),  db = dy * y * log(a)

    Where the formulas give 0 * inf, the gradient is the limit 0: da at a = b = 0, and db at a = 0 with b >= 0.
    """

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor | None, Tensor | None]:
        da = db = None
        if a.requires_grad:
            da = dy * (b * a ** choose((a == 0) * (b == 0), 1.0, b - 1))
        if b.requires_grad:
            limit = (a == 0) * (b >= 0)
            db = dy * choose(limit, 0.0, y * log(choose(limit, 1.0, a)))
        return da, db


POWER = Power()


@op(Power, PowerConstant, method="pow", operator="**", torch={"exponent": "b"})
def power(a: Any, b: Any) -> Tensor:
    """``a ** b``, broadcasting. Gradients: see `Power` and, for a Python number `b`, `PowerConstant`."""
    p = python_number(b)
    constant_exponent = is_number(p) and isinstance(a, Tensor) and a.dtype.kind == "f"
    a, b = pair(a, b)
    device = same_device("power", a, b)
    if a.dtype.kind in "iu" and b.dtype.kind == "i" and b.size:
        least = p if is_number(p) else device.to_numpy(b.array).min()
        if least < 0:
            raise ValueError(f"power: dtype {a.dtype} to the power {least}\n  expected floats; use x.astype('float32')")
    try:
        y = device.power(*narrowed(a.array, b.array))
    except (ValueError, TypeError) as error:
        raise shape_error("power", a, b, error) from None
    return record(PowerConstant(p), device, y, (a,)) if constant_exponent else record(POWER, device, y, (a, b))


pow = synonym(power, "pow")


@op(power)
def square(x: Any) -> Tensor:
    """``x * x``; integers stay integers."""
    return power(as_tensor(x), 2)


def _comparison(name: str, operator: str) -> Callable[[Any, Any], Tensor]:
    label = name  # `called` replaces it

    def function(a: Any, b: Any) -> Tensor:
        a, b = pair(a, b)
        device = same_device(label, a, b)
        try:
            return leaf(device, device.primitive(a.array, b.array))
        except (ValueError, TypeError) as error:
            raise shape_error(label, a, b, error) from None

    def unless_none(a: Any, b: Any) -> Tensor:
        return NotImplemented if b is None else function(a, b)

    doc = f"``a {operator} b`` elementwise, bool; no gradient."
    made = op(name, operator=operator, method=OTHERS[operator])(named(function, name, doc, name, __name__))
    if operator in ("==", "!="):  # x == None is False
        setattr(Tensor, f"__{OTHERS[operator]}__", unless_none)
    return made


equal, not_equal = _comparison("equal", "=="), _comparison("not_equal", "!=")
less, less_equal = _comparison("less", "<"), _comparison("less_equal", "<=")
greater, greater_equal = _comparison("greater", ">"), _comparison("greater_equal", ">=")
eq, ne = synonym(equal, "eq"), synonym(not_equal, "ne")
lt, le = synonym(less, "lt"), synonym(less_equal, "le")
gt, ge = synonym(greater, "gt"), synonym(greater_equal, "ge")

# ---- division with a remainder, and shifts: devices have no primitives for these, so NumPy computes them on the host


class FloorDivide(Primitive, reads="", broadcasts=True):
    """y = floor(a / b)     da = 0,  db = 0"""

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        zero = leaf(y.device, y.device.full(y.shape, 0, y.dtype))
        return zero, zero


class Remainder(Primitive, reads="x", broadcasts=True):
    """y = a - q * b, q = floor(a / b)      da = dy,  db = -dy * q"""

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor | None]:
        return dy, -dy * floor_divide(a, b) if b.requires_grad else None


def on_host(op: str, a: Tensor, b: Tensor, function: Any) -> Any:
    """An array of the device with what a function of NumPy returns for two operands."""
    device = same_device(op, a, b)
    try:
        with np.errstate(all="ignore"):  # a division by 0 gives inf or NaN, as in torch
            return device.asarray(function(*narrowed(device.to_numpy(a.array), device.to_numpy(b.array))))
    except (ValueError, TypeError) as error:
        raise shape_error(op, a, b, error) from None


def _divided(op: str, kind: type[Primitive], a: Any, b: Any, function: Any) -> Tensor:
    a, b = pair(a, b)
    if a.dtype.kind == b.dtype.kind == "b":
        raise TypeError(f"{op}: operands have dtype bool\n  expected numbers; use x.astype('float32')")
    if "f" not in (a.dtype.kind, b.dtype.kind) and b.size and not b.numpy().all():
        raise ValueError(f"{op}: integers are divided by 0\n  expected a divisor without zeros; floats give inf or NaN")
    return record(kind(), a.device, on_host(op, a, b, function), (a, b))


@op(FloorDivide, "to_numpy", "asarray", operator="//")
def floor_divide(a: Any, b: Any) -> Tensor:
    """``a // b``: the quotient rounded down, broadcasting. It is piecewise constant, so the gradient is 0.

    Raises ValueError if integers are divided by 0, the shapes do not broadcast, or the devices differ, and TypeError
    for two bools.
    """
    return _divided("floor_divide", FloorDivide, a, b, np.floor_divide)


@op(Remainder, "to_numpy", "asarray", operator="%")
def remainder(a: Any, b: Any) -> Tensor:
    """``a % b``: the remainder ``a - a // b * b``, with the sign of `b`, broadcasting.

    The gradient with respect to `a` is 1, with respect to `b` it is ``-(a // b)``. The errors are those of
    `floor_divide`.
    """
    return _divided("remainder", Remainder, a, b, np.remainder)
