"""The node of a layer of a user's own cell, computed by the device's kernel or by the composition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Array, Device
from minirnn.engine.tensor import Tensor
from minirnn.ops.cudnn_rnn.layers import RecurrentLayer, RecurrentLayerGrad, keep_for
from minirnn.ops.own_cell.compose import Weights, compose_layer


class CellSequence(RecurrentLayer):
    """Inputs: x (T, B, I), h0 (D, B, P), c0 (D, states-1, B, H) if there are other states, weights of each direction.

    Outputs y (T, B, D*P), h_n and, if there are other states, c_n.

    Parameters
    ----------
    plan : Plan
        The cell. Its composition is that of the step it was made from.
    lengths : (B,) integers, each 1 .. T, or None
    masks : sequence of Tensor, (D, T, B, H)
        One for each mask of the cell.
    keep : bool
        Whether to save what the backward pass needs.
    D : int
    """

    kernel = "cell_sequence"

    def __init__(self, plan: Plan, lengths: np.ndarray | None, masks: Sequence[Tensor], keep: bool, D: int) -> None:
        one = [plan.reads_x, plan.reads_h, plan.projected, True, *[True] * (plan.products + plan.vectors)]
        self.own_plan, self.masks = plan, masks
        super().__init__("", lengths, None, keep, tuple(one * D), half=False)
        self.states = 1 if plan.states == 1 else 2

    def plan_of(self) -> Plan:
        return self.own_plan

    def is_known_to(self, device: Device) -> bool:
        return self.kernel not in device.kernels or device.runs_plan(self.plan)

    def parted(self, inputs: Sequence[Any]) -> tuple[Any, Any, Any, list[Any]]:
        """x, h0, c0 or None, and W, R, Wp, b, U, vectors of each direction."""
        given, plan = iter(inputs), self.plan
        x, h0, c0 = next(given), next(given), next(given) if self.states == 2 else None
        each = [next(given) if there else None for there in self.present]
        n = 4 + plan.products + plan.vectors
        parts = [each[k : k + n] for k in range(0, len(each), n)]
        return x, h0, c0, [(*p[:4], tuple(p[4 : 4 + plan.products]), tuple(p[4 + plan.products :])) for p in parts]

    def arguments(self, device: Device, arrays: Sequence[Array]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        x, h0, c0, weights = self.parted(arrays)
        given = x, h0, c0, [(W, R, Wp, b, None, U, vectors) for W, R, Wp, b, U, vectors in weights]
        attributes: dict[str, Any] = {"plan": self.plan, "lengths": self.lengths}
        if self.masks:
            attributes["masks"] = tuple(device.cast(m.array, x.dtype) for m in self.masks)
        return given, attributes

    def listed(self, dweights: Any) -> list[Array]:
        flat = [a for *plain, U, vectors in dweights for a in (*plain, *U, *vectors)]
        return [a for a in flat if a is not None]

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        masks = [m.astype(inputs[0].dtype) for m in self.masks]
        return compose_layer(self.plan.derivation.step, *self.parted(inputs), self.lengths, masks)

    def gradient(self, count: int, need_dx: bool) -> RecurrentLayerGrad:
        return CellSequenceGrad(self, count, need_dx)


class CellSequenceGrad(RecurrentLayerGrad):
    """The gradient of a `CellSequence` as a node, which is differentiated through the composition."""

    kernel = "cell_sequence_grad"


def run_cell(
    plan: Plan,
    x: Tensor,
    h0: Tensor,
    c0: Tensor | None,
    weights: Sequence[Weights],
    *,
    lengths: np.ndarray | None = None,
    masks: Sequence[Tensor] = (),
) -> list[Tensor]:
    """y, h_n and, if the cell has other states, c_n of a layer. The arguments must have been checked."""
    inputs = [x, h0, *([] if c0 is None else [c0])]
    for *parts, U, vectors in weights:
        inputs += [a for a in (*parts, *U, *vectors) if a is not None]
    return CellSequence(plan, lengths, masks, keep_for(inputs), len(weights))(*inputs)
