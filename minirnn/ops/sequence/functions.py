"""Functions of the cell language that are not ops of Tensors. They accept symbols and Tensors."""

from __future__ import annotations

from functools import reduce
from typing import Any

from minirnn.arguments.messages import shown
from minirnn.cells import units
from minirnn.cells.expr import CellError, Expr, apply
from minirnn.engine.operands import float_tensor, pair, same_device
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import add, amax, mean, softmax, sqrt
from minirnn.ops.primitives.declare import Primitive


def product(v: Any, matrix: str | None = None) -> Expr:
    """``v @ U.T`` with a learned matrix U (H, H), for one more recurrent product in the middle of a step.

    GRUBlockCell's candidate is ``tanh(x_c + product(r * h))``. Each call in a cell's function has its own matrix
    ``product_1``, ``product_2``, .. in the layer, unless `matrix` names one: ``product(v, "U")``. Calls with the same
    name share a matrix. The product needs all units of `v`, so the step is split there into two stages. Raises
    CellError if it is called outside a cell's function, where no layer has the matrix.
    """
    if not (matrix is None or isinstance(matrix, str) and matrix.isidentifier()):
        raise CellError(f"product: the matrix is {shown(matrix)}\n  expected a name such as 'U', or None")
    if isinstance(v, Expr):
        return apply("product", v) if matrix is None else apply("product", v, matrix=matrix)
    raise CellError(
        f"product: got a {type(v).__name__}\n  expected a value of a cell's step; for a Tensor write v @ U.T"
    )


def unit_mean(v: Any) -> Any:
    """The mean over all units of each sample, which is the same for every unit: (.., H) -> (.., 1).

    `unit_norm` also divides by the standard deviation.
    """
    return apply("unit_mean", v) if isinstance(v, Expr) else mean(float_tensor("unit_mean", v), -1, True)


def unit_sum(v: Any) -> Any:
    """The sum over all units of each sample, which is the same for every unit: (.., H) -> (.., 1)."""
    return apply("unit_sum", v) if isinstance(v, Expr) else float_tensor("unit_sum", v).sum(-1, True)


def unit_max(v: Any) -> Any:
    """The largest of all units of each sample: (.., H) -> (.., 1). Units that share it share its gradient equally."""
    return units.largest(v) if isinstance(v, Expr) else amax(float_tensor("unit_max", v), -1, True)


def unit_softmax(v: Any) -> Any:
    """The softmax over all units of each sample: ``exp(v) / unit_sum(exp(v))``, without overflow."""
    return units.softmax(v) if isinstance(v, Expr) else softmax(float_tensor("unit_softmax", v), -1)


def unit_norm(v: Any, *more: Any, eps: float = 1e-5) -> Any:
    """``(v - mean) / sqrt(variance + eps)``, with the mean and the variance over all units of each sample.

    Several values are normalized together, by the mean and variance of all of them, and the result is a tuple:
    ``i, f = unit_norm(x_i, x_f)``. This is layer normalization without gain and bias (Ba et al. 2016), for which a cell
    has learned vectors.
    """
    if any(isinstance(a, Expr) for a in (v, *more)):
        return units.normalized((v, *more), eps)
    every = [float_tensor("unit_norm", a) for a in (v, *more)]
    m = reduce(add, [mean(a, -1, True) for a in every]) / len(every)
    variance = reduce(add, [mean((a - m) * (a - m), -1, True) for a in every]) / len(every)
    found = tuple((a - m) / sqrt(variance + eps) for a in every)
    return found if more else found[0]


class StraightThrough(Primitive, uses="", reads=""):
    """y = value        dx = dy"""

    def forward(self, device: Any, value: Any, x: Any) -> Any:
        return value

    def backward(self, dy: Tensor, y: Tensor, value: Tensor, x: Tensor) -> tuple[None, Tensor]:
        return None, dy


def straight_through(value: Any, x: Any) -> Any:
    """`value` in the forward pass. Its gradient goes straight to `x`, as if it were `x` (Bengio et al. 2013).

    ``straight_through(where(x > 0, 1, 0), x)`` is a step function that lets gradients pass. ``clip(x, low, high,
    straight_through=True)`` is ``straight_through(clip(x, low, high), x)``, as in TensorFlow's cell clip. Raises
    TypeError if an argument does not have a float dtype, and ValueError if shapes or devices differ.
    """
    if isinstance(value, Expr) or isinstance(x, Expr):
        return apply("straight_through", value, x)
    value, x = (float_tensor("straight_through", t) for t in pair(value, x))
    same_device("straight_through", value, x, names=("value", "x"))
    if value.shape != x.shape:
        raise ValueError(f"straight_through: value has shape {value.shape}, x has {x.shape}\n  expected one shape")
    return StraightThrough()(value, x)
