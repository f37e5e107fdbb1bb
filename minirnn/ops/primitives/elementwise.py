"""Functions of single elements: exp, log, tanh, sigmoid, sin and others, maximum, minimum, where."""

from __future__ import annotations

from math import pi
from math import sqrt as root
from typing import Any

import numpy as np

from minirnn import devices
from minirnn.arguments.host_array import dtype_of
from minirnn.cells.expr import Expr, apply
from minirnn.engine.operands import any_tensor, made_float, narrowed, pair, same_device, shape_error
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.declare import Arithmetic, Primitive, binary, op, synonym, unary
from minirnn.ops.primitives.rounding import sign

__all__ = ["exp", "log", "sqrt", "tanh", "sigmoid", "relu", "absolute", "maximum", "minimum"]
__all__ += ["sin", "cos", "tan", "erf", "log1p", "expm1", "reciprocal", "rsqrt"]
__all__ += ["where", "astype", "identity", "abs", "clone"]

# ---- of one Tensor


class Exp(Arithmetic, uses="exp", reads="y"):
    """y = exp(x)       dx = dy * y"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * y,)


exp = unary(Exp, "``e ** x``.")


class Log(Arithmetic, uses="log", reads="x"):
    """y = log(x)       dx = dy / x"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy / x,)


log = unary(Log, "Natural logarithm.")


class Sqrt(Arithmetic, uses="sqrt", reads="y"):
    """y = sqrt(x)      dx = dy / (2 * y)"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy / (2 * y),)


sqrt = unary(Sqrt, "Square root.")


class Tanh(Arithmetic, uses="tanh", reads="y"):
    """y = tanh(x)      dx = dy * (1 - y * y)"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * (1 - y * y),)


tanh = unary(Tanh, "Hyperbolic tangent.", activation=True)


class Sigmoid(Arithmetic, uses="sigmoid", reads="y"):
    """y = 1 / (1 + exp(-x))        dx = dy * y * (1 - y)"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * (y * (1 - y)),)


sigmoid = unary(Sigmoid, "``1 / (1 + exp(-x))``, without overflow.", activation=True)


class Relu(Primitive, uses="relu", reads="y"):
    """y = max(x, 0)    dx = dy where x > 0, else 0        (derivative 0 at 0)"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (choose(y > 0, dy, 0.0),)


relu = unary(Relu, "``max(x, 0)``; the derivative at 0 is 0.")


class Absolute(Primitive, uses="absolute", reads="x"):
    """y = |x|          dx = dy * sign(x)        (0 at 0)"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy * sign(x),)


absolute = unary(Absolute, "``|x|``; the derivative at 0 is 0.", takes=any_tensor, method="abs absolute __abs__")
abs = synonym(absolute, "abs")


class Sin(Primitive, uses="sin", reads="x"):
    """y = sin(x)       dx = dy * cos(x)"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy * cos(x),)


sin = unary(Sin, "Sine of an angle in radians. Integers and bools become float32, as in torch.", takes=made_float)


class Cos(Primitive, uses="cos", reads="x"):
    """y = cos(x)       dx = -dy * sin(x)"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (-dy * sin(x),)


cos = unary(Cos, "Cosine of an angle in radians. Integers and bools become float32.", takes=made_float)


class Tan(Arithmetic, uses="tan", reads="y"):
    """y = tan(x)       dx = dy * (1 + y * y)"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * (1 + y * y),)


tan = unary(Tan, "Tangent of an angle in radians. Integers and bools become float32.", takes=made_float)


class Erf(Primitive, uses="erf", reads="x"):
    """y = 2 / sqrt(pi) * integral of exp(-t * t) from 0 to x       dx = dy * 2 / sqrt(pi) * exp(-x * x)"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy * (2 / root(pi) * exp(-x * x)),)


erf = unary(Erf, "The error function ``2 / sqrt(pi) * integral of exp(-t * t) from 0 to x``.", takes=made_float)


class Log1p(Arithmetic, uses="log1p", reads="x"):
    """y = log(1 + x)       dx = dy / (1 + x)"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy / (1 + x),)


log1p = unary(Log1p, "``log(1 + x)``, exact for small `x`.", takes=made_float)


class Expm1(Arithmetic, uses="expm1", reads="y"):
    """y = exp(x) - 1       dx = dy * (y + 1)"""

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * (y + 1),)


expm1 = unary(Expm1, "``exp(x) - 1``, exact for small `x`.", takes=made_float)


class Reciprocal(Arithmetic, uses="divide", reads="y"):
    """y = 1 / x            dx = -dy * y * y"""

    def forward(self, device: Any, x: Any) -> Any:
        return device.divide(1, x)

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (-dy * (y * y),)


reciprocal = unary(Reciprocal, "``1 / x``.", takes=made_float)


class Rsqrt(Arithmetic, uses="divide sqrt", reads="y"):
    """y = 1 / sqrt(x)      dx = -dy * y * y * y / 2"""

    def forward(self, device: Any, x: Any) -> Any:
        return device.divide(1, device.sqrt(x))

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy * (-0.5 * (y * y * y)),)


rsqrt = unary(Rsqrt, "``1 / sqrt(x)``.", takes=made_float)


# ---- of two Tensors


class Maximum(Primitive, uses="maximum", reads="x", broadcasts=True):
    """y = max(a, b)    da = dy where a > b, dy/2 where equal, else 0; db likewise"""

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        share = choose(a == b, dy * 0.5, dy)  # NaN is equal to nothing: both get all of dy, as in torch
        return choose(a < b, 0.0, share), choose(a > b, 0.0, share)


class Minimum(Primitive, uses="minimum", reads="x", broadcasts=True):
    """y = min(a, b)    da = dy where a < b, dy/2 where equal, else 0; db likewise"""

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        share = choose(a == b, dy * 0.5, dy)
        return choose(a > b, 0.0, share), choose(a < b, 0.0, share)


maximum = binary(Maximum, "The larger of two, broadcasting. Where they are equal each gets half of the gradient.")
minimum = binary(Minimum, "The smaller of two, broadcasting. Where they are equal each gets half of the gradient.")


class Where(Primitive, uses="where", reads="", broadcasts=True):
    """y = a where condition, else b        da = dy where condition, else 0; db the rest"""

    def __init__(self, condition: Tensor) -> None:
        self.condition = condition

    def forward(self, device: Any, a: Any, b: Any) -> Any:
        return device.where(self.condition.array, *narrowed(a, b))

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return choose(self.condition, dy, 0.0), choose(self.condition, 0.0, dy)


def choose(condition: Tensor, a: Any, b: Any) -> Tensor:
    """`where` for derivatives. `condition` has dtype bool, is on the device of `a` and `b`, and never changes."""
    return Where(condition)(*pair(a, b))


@op(Where, method="")
def where(condition: Any, a: Any, b: Any) -> Tensor:
    """`a` where `condition` is true, else `b`; all three broadcast against each other."""
    if not isinstance(condition, Tensor):
        if any(v.__class__ is Expr for v in (condition, a, b)):
            return apply("where", condition, a, b)
        place = next((t.device for t in (a, b) if isinstance(t, Tensor)), devices.get())
        condition = as_tensor(condition, device=place)
    if condition.dtype != np.bool_:
        raise TypeError(f"where: condition has dtype {condition.dtype}\n  expected bool, such as x > 0")
    a, b = pair(a, b)
    same_device("where", condition, a, b, names=("condition", "a", "b"))
    try:  # detached, because users may assign to the condition before the backward pass, which needs the old values
        return Where(condition.detach())(a, b)
    except (ValueError, TypeError) as error:
        raise shape_error(f"where (condition {condition.shape})", a, b, error) from None


# ---- the same values


class Cast(Primitive, uses="cast", reads=""):
    """y = x as another dtype       dx = dy as the dtype of x"""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    def forward(self, device: Any, x: Any) -> Any:
        return device.cast(x, self.dtype)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (Cast(x.dtype)(dy),)


@op(Cast)
def astype(x: Any, dtype: Any) -> Tensor:
    """`x` in another dtype; `x` itself if it already has this dtype."""
    x = as_tensor(x)
    dtype = dtype_of("astype", dtype)
    if x.dtype == dtype:
        return x
    return Cast(dtype)(x) if dtype.kind == "f" else leaf(x.device, x.device.cast(x.array, dtype))


class Identity(Arithmetic, reads=""):
    """y = x            dx = dy"""

    def forward(self, device: Any, x: Any) -> Any:
        return x

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy,)


@op(Identity, method="clone")
def identity(x: Any) -> Tensor:
    """`x` as a new node. Gradients with respect to this node stop here."""
    return Identity()(as_tensor(x))


clone = synonym(identity, "clone")
