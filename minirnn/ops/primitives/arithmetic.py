"""Arithmetic: + - * / ** with NumPy's broadcasting and dtype rules, and comparisons."""

from __future__ import annotations

from typing import Any

from minirnn.engine.operands import is_number, mixed_devices, no_bools, pair, python_number, same_device, shape_error
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor, as_tensor, leaf


class _Binary(Op):
    arithmetic = True
    broadcasts = True


class Add(_Binary):
    """y = a + b        da = dy,  db = dy"""

    reads_inputs = False

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return dy, dy


class Subtract(_Binary):
    """y = a - b        da = dy,  db = -dy"""

    reads_inputs = False

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return dy, -dy


class Multiply(_Binary):
    """y = a * b        da = dy * b,  db = dy * a"""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return dy * b, dy * a


class Divide(_Binary):
    """y = a / b        da = dy / b,  db = -dy * y / b"""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        da = dy / b
        return da, -da * y


class Negative(Op):
    """y = -a           da = -dy"""

    arithmetic = True
    reads_inputs = False

    def backward(self, dy: Any, y: Any, a: Any) -> tuple[Any]:
        return (-dy,)


class PowerConstant(Op):
    """y = a ** p       da = dy * p * a ** (p - 1)        p a Python number"""

    arithmetic = True

    def __init__(self, p: float) -> None:
        self.p = p

    def backward(self, dy: Any, y: Any, a: Any) -> tuple[Any]:
        if self.p == 0:  # the formula would give 0 * inf at a = 0
            return (dy * 0,)
        return (dy * (self.p * a ** (self.p - 1)),)


class Power(Op):
    """y = a ** b       da = dy * b * a ** (b - 1),  db = dy * y * log(a)

    The limits 0 are taken where the formulas give 0 * inf: da at a = b = 0, and db at a = 0 with b >= 0.
    """

    broadcasts = True

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor | None, Tensor | None]:
        from minirnn.ops.primitives.elementwise import log, where

        da = db = None
        if a.requires_grad:
            da = dy * (b * a ** where((a == 0) * (b == 0), 1.0, b - 1))
        if b.requires_grad:
            limit = (a == 0) * (b >= 0)
            db = dy * where(limit, 0.0, y * log(where(limit, 1.0, a)))
        return da, db


ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, POWER = Add(), Subtract(), Multiply(), Divide(), Negative(), Power()

# The functions below are the hottest of the tape, so each spells out its few steps instead of sharing a helper.


def add(a: Any, b: Any) -> Tensor:
    """``a + b``, broadcasting."""
    if a.__class__ is not Tensor or b.__class__ is not Tensor:
        a, b = pair(a, b)
    device = a.device
    if b.device is not device:
        raise mixed_devices("add", a, b)
    try:
        y = device.add(a.array, b.array)
    except (ValueError, TypeError) as error:
        raise shape_error("add", a, b, error) from None
    return record(ADD, device, y, (a, b))


def subtract(a: Any, b: Any) -> Tensor:
    """``a - b``, broadcasting."""
    if a.__class__ is not Tensor or b.__class__ is not Tensor:
        a, b = pair(a, b)
    device = a.device
    if b.device is not device:
        raise mixed_devices("subtract", a, b)
    try:
        y = device.subtract(a.array, b.array)
    except (ValueError, TypeError) as error:
        raise shape_error("subtract", a, b, error) from None
    return record(SUBTRACT, device, y, (a, b))


def multiply(a: Any, b: Any) -> Tensor:
    """``a * b``, broadcasting."""
    if a.__class__ is not Tensor or b.__class__ is not Tensor:
        a, b = pair(a, b)
    device = a.device
    if b.device is not device:
        raise mixed_devices("multiply", a, b)
    try:
        y = device.multiply(a.array, b.array)
    except (ValueError, TypeError) as error:
        raise shape_error("multiply", a, b, error) from None
    return record(MULTIPLY, device, y, (a, b))


def divide(a: Any, b: Any) -> Tensor:
    """``a / b``, broadcasting."""
    a, b = pair(a, b)
    device = same_device("divide", a, b)
    try:
        y = device.divide(a.array, b.array)
    except (ValueError, TypeError) as error:
        raise shape_error("divide", a, b, error) from None
    return record(DIVIDE, device, y, (a, b))


def negative(a: Any) -> Tensor:
    """``-a``."""
    a = as_tensor(a)
    no_bools("negative", a)
    return record(NEGATIVE, a.device, a.device.negative(a.array), (a,))


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
        y = device.power(a.array, b.array)
    except (ValueError, TypeError) as error:
        raise shape_error("power", a, b, error) from None
    if constant_exponent:
        return record(PowerConstant(p), device, y, (a,))
    return record(POWER, device, y, (a, b))


def _compare(name: str, a: Any, b: Any) -> Tensor:
    a, b = pair(a, b)
    device = same_device(name, a, b)
    try:
        return leaf(device, getattr(device, name)(a.array, b.array))
    except (ValueError, TypeError) as error:
        raise shape_error(name, a, b, error) from None


def equal(a: Any, b: Any) -> Tensor:
    """``a == b`` elementwise, bool; no gradient."""
    return _compare("equal", a, b)


def not_equal(a: Any, b: Any) -> Tensor:
    """``a != b`` elementwise, bool; no gradient."""
    return _compare("not_equal", a, b)


def less(a: Any, b: Any) -> Tensor:
    """``a < b`` elementwise, bool; no gradient."""
    return _compare("less", a, b)


def less_equal(a: Any, b: Any) -> Tensor:
    """``a <= b`` elementwise, bool; no gradient."""
    return _compare("less_equal", a, b)


def greater(a: Any, b: Any) -> Tensor:
    """``a > b`` elementwise, bool; no gradient."""
    return _compare("greater", a, b)


def greater_equal(a: Any, b: Any) -> Tensor:
    """``a >= b`` elementwise, bool; no gradient."""
    return _compare("greater_equal", a, b)
