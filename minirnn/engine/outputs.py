"""Ops with several outputs. The outputs share one node of the tape, which collects their gradients.

The node's array is the tuple of all outputs. Each output is a separate Tensor, which an `Output` makes from the node.
The backward of an `Output` sends its gradient to the node under its number. The node keeps the gradients as
`Cotangents` until all have arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.devices.base import Array, Device
from minirnn.devices.precision import chosen, use_precision
from minirnn.engine.tape import Op, mode, record
from minirnn.engine.tensor import Tensor, leaf, next_seq


class Cotangents(dict[int, Any]):
    """Gradients of the outputs of one op, by output number."""

    def join(self, others: Cotangents) -> None:
        """Add the gradients of `others` in place. New dictionaries for T outputs would take time quadratic in T."""
        for k, g in others.items():
            self[k] = self[k] + g if k in self else g


class Output(Op):
    """Returns output number `index` of the op that made its only parent."""

    arithmetic = True  # it only passes its gradient on
    reads_inputs = saves = False

    def __init__(self, index: int) -> None:
        self.index = index

    def backward(self, dy: Any, y: Any, node: Any) -> tuple[Cotangents]:
        return (Cotangents({self.index: dy}),)


_OUTPUTS = tuple(Output(k) for k in range(16))
_new = object.__new__


def record_many(op: Op, device: Device, arrays: Sequence[Array], parents: tuple[Tensor, ...]) -> list[Tensor]:
    """The output Tensors of an op with several outputs, which share one node. Its array is the tuple of all outputs."""
    return outputs_of(record(op, device, tuple(arrays), parents))


def outputs_of(node: Tensor) -> list[Tensor]:
    """A Tensor for each output of a node. Outputs of an integer or bool dtype have no gradient.

    It has its own code instead of a call of `record` for each output, because calls take time.
    """
    recorded, device, parents = mode.enabled and node._requires_grad, node.device, (node,)
    outs = []
    for k, array in enumerate(node.array):
        y = _new(Tensor)
        y.array = array
        y.device = device
        y._grad = y.hooks = None
        y.seq = next_seq()
        if recorded and array.dtype.kind == "f":
            op = _OUTPUTS[k] if k < len(_OUTPUTS) else Output(k)
            y.op, y.parents, y._requires_grad = op, parents, True
        else:
            y.op, y.parents, y._requires_grad = None, (), False
        outs.append(y)
    return outs


def hold(y: Tensor, array: Array) -> None:
    """Replace the array of `y` and its node with `array`, which has the same values, so that the old one is freed."""
    if isinstance(y.op, Output):
        (node,) = y.parents
        node.array = tuple([array if k == y.op.index else a for k, a in enumerate(node.array)])
    y.array = array


def backward_of(op: Any, node: Tensor, dy: Any, bare: bool) -> Sequence[Any]:
    """The gradients of a node's inputs, for an op with any number of outputs whose backward uses ops on Tensors.

    `dy` and the results are Tensors on the tape, so that they can be differentiated again. With `bare` they are arrays.
    """
    if op.precision is not None and op.precision != chosen.precision:
        with use_precision(op.precision):
            return backward_of(op, node, dy, bare)
    device = node.device
    y: Any = node
    if dy.__class__ is Cotangents:
        y = outputs_of(node)
        dy = [None if (g := dy.get(k)) is None else leaf(device, g) if bare else g for k in range(len(y))]
    elif bare:
        dy = leaf(device, dy)
    gs = op.backward(dy, y, *node.parents)
    return [g if g is None else g.array for g in gs] if bare else gs
