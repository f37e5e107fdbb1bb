"""Ops with several outputs: they share one node of the tape, and their gradients meet there again.

The node's array is the tuple of all outputs. Each output is a Tensor of its own, made from the node by an `Output`,
whose backward sends its gradient to the node under its number. There the gradients wait side by side, as `Cotangents`,
until all have arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.devices.base import Array, Device
from minirnn.devices.precision import chosen, use_precision
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor, leaf


class Cotangents:
    """Gradients of the outputs of one op, by output number. They add up like single gradients do.

    A sum is collected in the left operand: every `Output` makes a `Cotangents` of its own, which only the backward pass
    sees, and a new dictionary for each of T outputs would take a time quadratic in T.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: dict[int, Any]) -> None:
        self.parts = parts

    def __add__(self, other: Cotangents) -> Cotangents:
        parts = self.parts
        for k, g in other.parts.items():
            parts[k] = parts[k] + g if k in parts else g
        return self


class Output(Op):
    """Output number `index` of the op that made its only parent."""

    arithmetic = True  # it only hands on what it is given
    reads_inputs = False

    def __init__(self, index: int) -> None:
        self.index = index

    def backward(self, dy: Any, y: Any, node: Any) -> tuple[Cotangents]:
        return (Cotangents({self.index: dy}),)


_OUTPUTS = tuple(Output(k) for k in range(16))


def record_many(op: Op, device: Device, arrays: Sequence[Array], parents: tuple[Tensor, ...]) -> list[Tensor]:
    """The Tensors of an op with several outputs. They share one node, whose array is the tuple of all of them."""
    node = record(op, device, tuple(arrays), parents)
    return outputs_of(node)


def outputs_of(node: Tensor) -> list[Tensor]:
    """Outputs of integer or bool dtype carry no gradient."""
    outs = []
    for k, array in enumerate(node.array):
        if array.dtype.kind == "f":
            op = _OUTPUTS[k] if k < len(_OUTPUTS) else Output(k)
            outs.append(record(op, node.device, array, (node,)))
        else:
            outs.append(leaf(node.device, array))
    return outs


# ---- the backward of an op that is written with ops on Tensors, several outputs or one


def backward_on_tensors(op: Any, node: Tensor, dy: Any) -> Sequence[Tensor | None]:
    """The gradients of the inputs from `dy`, on Tensors still tied to the tape: they can be differentiated again."""
    if op.precision is not None and op.precision != chosen.precision:
        with use_precision(op.precision):
            return backward_on_tensors(op, node, dy)
    if dy.__class__ is not Cotangents:
        return op.backward(dy, node, *node.parents)
    outs = outputs_of(node)
    return op.backward([dy.parts.get(k) for k in range(len(outs))], outs, *node.parents)


def backward_on_arrays(op: Any, node: Tensor, dy: Any) -> list[Array | None]:
    """The same for bare arrays, which become Tensors on the way in and are bare again on the way out."""
    device = node.device
    if dy.__class__ is Cotangents:
        dy = Cotangents({k: leaf(device, g) for k, g in dy.parts.items()})
    else:
        dy = leaf(device, dy)
    return [g if g is None else g.array for g in backward_on_tensors(op, node, dy)]
