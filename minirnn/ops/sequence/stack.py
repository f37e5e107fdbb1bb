"""A recurrent network with one node of the tape for each layer, and ops of Tensors between the layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Array, Weights
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import concat
from minirnn.ops.sequence.layer import RecurrentLayer, flat, keep_for

Cell = tuple[Plan, Sequence[Any], Any]
"""The cell of a layer: its plan, its masks, and the zoneout of a projected output, as for `RecurrentLayer`."""


class Recalled(NamedTuple):
    """The values of each layer that a forward pass saves for a Backprop op, which does not use its tape."""

    saved: list[Array | None]
    outputs: list[Sequence[Array]]
    """y, h_n(, c_n)."""


def run_layers(
    cells: Sequence[Cell],
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Weights],
    *,
    lengths: np.ndarray | None = None,
    masks: Sequence[Tensor] | None = None,
    keep: bool | None = None,
    known: Recalled | None = None,
) -> tuple[list[Tensor], list[tuple[RecurrentLayer, list[Tensor]]]]:
    """y (T, B, D*P), h_n (L*D, B, P) (and c_n) of a network, and each layer with its outputs.

    Parameters
    ----------
    cells : for each layer its cell
    x : (T, B, I)
    states : h0 (L*D, B, P) and, if there are other states, c0 (L*D, ..)
    weights : for each direction of each layer
    lengths : (B,) or None
    masks : L-1 Tensors (T, B, D*P), or (1, B, D*P) for all steps alike, optional
        Dropout masks, already scaled.
    keep : bool, optional
        Whether layers save the values for a backward pass. None: only layers through which gradients may flow.
    known : Recalled, optional
        The results of an earlier run of this network. They are recorded without computing them again.
    """
    ends: list[list[Tensor]] = []
    layers: list[tuple[RecurrentLayer, list[Tensor]]] = []
    y, L, D = x, len(cells), len(weights) // len(cells)
    for k, (plan, cell_masks, zoneout) in enumerate(cells):
        part = slice(k * D, (k + 1) * D)
        own, before = weights[part], states if L == 1 else [state[part] for state in states]
        inputs = [y, *before, *flat(own)]
        layer = RecurrentLayer(plan, own, lengths, cell_masks, zoneout, keep_for(inputs) if keep is None else keep)
        outputs = layer(*inputs) if known is None else layer.recalled(known.saved[k], known.outputs[k], *inputs)
        layers.append((layer, outputs))
        y, *end = outputs
        ends.append(end)
        if masks is not None and k < L - 1:
            y = y * masks[k]
    return [y, *(ends[0] if len(ends) == 1 else [concat(list(parts), 0) for parts in zip(*ends, strict=True)])], layers
