"""A layer of a cell with keys as one node of the tape, computed by the device's kernel or by the composition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minirnn.cells.expr import Expr
from minirnn.cells.keyed import KeyedPlan
from minirnn.devices.base import Array, Device
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, leaf, tensor
from minirnn.ops.fused import FusedOp, all_or_zeros, gradients_through_composition
from minirnn.ops.primitives import broadcast_to, reshape, stack, unbind, where
from minirnn.ops.sequence.compose import computed


class KeyedLayer(FusedOp):
    """The node. Inputs: the gates (T, B, ..) side by side, states (B, ..), learned parameters. Outputs: y, states.

    The axes of each are those of the plan: (H, N), (H,), (N,) or (). Learned parameters have no axis B.

    Parameters
    ----------
    plan : KeyedPlan
    H : int
        Units.
    lengths : (B,) integers, each 1 .. T, or None
    keep : bool
        Whether to save values for the backward pass.
    """

    kernel = "keyed_sequence"

    def __init__(self, plan: KeyedPlan, H: int, lengths: np.ndarray | None = None, keep: bool = True) -> None:
        super().__init__()
        self.plan, self.H, self.lengths, self.keep = plan, H, lengths, keep
        self.saved: Array | None = None

    def parted(self, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        """The gates, the states and the learned parameters."""
        n = 1 + len(self.plan.states)
        return inputs[0], inputs[1:n], inputs[n:]

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        gates, states, learned = self.parted(arrays)
        if 0 in gates.shape:  # a batch of 0
            return [device.full((*gates.shape[:2], self.H), 0, gates.dtype), *states]
        learned = [*learned, *self.static(device, learned)]
        y, after, self.saved = device.keyed_sequence(
            gates, states, learned, plan=self.plan, H=self.H, lengths=self.lengths, training=self.keep
        )
        return [y, *after]

    def run_back(self, device: Device, inputs: Sequence[Array], dy: Sequence[Array]) -> list[Array]:
        """The gradients of `inputs` from those of the outputs, as arrays."""
        gates, states, learned = self.parted(inputs)
        if 0 in gates.shape:
            return [device.full(a.shape, 0, a.dtype) for a in inputs]
        learned = [*learned, *self.static(device, learned)]
        d_gates, d_states, d_learned = device.keyed_sequence_grad(
            gates, states, learned, self.saved, dy[0], dy[1:], plan=self.plan, H=self.H, lengths=self.lengths
        )
        return [d_gates, *d_states, *d_learned]

    def static(self, device: Device, learned: Sequence[Array]) -> list[Array]:
        """What a step reads and computes from learned parameters alone."""
        with no_grad():
            values = self.of_learned([leaf(device, a) for a in learned])
            return [reshape(values(e), self.plan.shape(e, self.H)).array for e in self.plan.static]

    def of_learned(self, learned: Sequence[Tensor]) -> Callable[[Expr], Tensor]:
        found = dict(zip(self.plan.learned, map(self.wide, self.plan.learned, learned), strict=True))
        return self.values(found, learned[0]) if found else lambda e: found[e]

    def values(self, found: dict[Expr, Any], real: Tensor) -> Callable[[Expr], Any]:
        """A function that computes values from those in `found`, and adds them."""
        constants = self.plan.derivation.step.constants

        def value(e: Expr) -> Any:
            if e not in found:
                found[e] = computed(e, [value(a) for a in e.args], constants, real)
            return found[e]

        return value

    def wide(self, e: Expr, t: Tensor, *batch: int) -> Tensor:
        """A value (.., H, N), with 1 for an axis that it does not have."""
        H, N = self.H if "u" in e.axes else 1, self.plan.keys if "k" in e.axes else 1
        return reshape(t, (*batch, H, N))

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        plan = self.plan
        gates, given, learned = self.parted(inputs)
        T, B, _ = gates.shape
        valid = None
        if self.lengths is not None:
            steps = np.arange(T)[:, None] < self.lengths  # (T, B)
            gates = where(tensor(steps[:, :, None], device=gates.device), gates, 0.0)
            valid = [tensor(v[:, None, None], device=gates.device) for v in steps]
        states = [self.wide(e, t, B) for e, t in zip(plan.states, given, strict=True)]
        of_all = dict(zip(plan.learned, map(self.wide, plan.learned, learned), strict=True))
        starts, y = plan.starts(plan.gates, self.H), []
        for t, of_step in enumerate(unbind(gates)):
            parts = [self.wide(e, of_step[:, a:b], B) for e, a, b in zip(plan.gates, starts, starts[1:], strict=False)]
            found = of_all | dict(zip(plan.gates, parts, strict=True)) | dict(zip(plan.states, states, strict=True))
            value = self.values(found, gates)
            new = [broadcast_to(value(e), s.shape) for e, s in zip(plan.after, states, strict=True)]
            own = broadcast_to(value(plan.output), (B, self.H, 1))
            if valid is not None:
                own = where(valid[t], own, 0.0)
                new = [where(valid[t], n, s) for n, s in zip(new, states, strict=True)]
            y.append(reshape(own, (B, self.H)))
            states = new
        return [stack(y), *[reshape(s, g.shape) for s, g in zip(states, given, strict=True)]]

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        if not self.keep:
            self.keep = True
            with no_grad():
                self(*inputs)
        return KeyedLayerGrad(self, len(inputs))(*inputs, *all_or_zeros(dy, y))


class KeyedLayerGrad(FusedOp):
    """The gradient as a node. Inputs: those of the layer, and the gradients of its outputs."""

    kernel = "keyed_sequence_grad"

    def __init__(self, layer: KeyedLayer, count: int) -> None:
        super().__init__()
        self.layer, self.count = layer, count

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        return self.layer.run_back(device, arrays[: self.count], arrays[self.count :])

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        n = self.count
        found: Any = gradients_through_composition(self.layer.compose, inputs[:n], inputs[n:], [True] * n)
        return found
