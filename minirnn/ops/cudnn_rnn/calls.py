"""The common code of the three versions of the CudnnRNN ops: forward call, reserve space, and Backprop call.

A forward call splits the parameter buffer and runs the layers. The layers save the values for a Backprop call in the
reserve space. A Backprop call records the layers again with these values, and runs the backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.devices.base import Array, WrongSize
from minirnn.engine.outputs import hold
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.cudnn_rnn import reserve
from minirnn.ops.cudnn_rnn.cells import layer_of
from minirnn.ops.cudnn_rnn.check import (
    Arguments,
    Attributes,
    check_backprop,
    check_forward,
    masks_between_layers,
    of_another_call,
    to_time_major,
)
from minirnn.ops.cudnn_rnn.dropout import dropout_masks as drawn_masks
from minirnn.ops.cudnn_rnn.params import unpack_weights
from minirnn.ops.fused import gradients_through_composition, or_zeros, zeros
from minirnn.ops.sequence.layer import RecurrentLayer
from minirnn.ops.sequence.stack import Recalled, run_layers


def forward_call(
    op: str,
    inputs: Sequence[Any],
    sequence_lengths: Any,
    attributes: Attributes,
    is_training: Any,
    dropout_masks: Any,
    zoneout_masks: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """output, output_h, output_c and reserve_space. `inputs` are input, input_h, input_c, params."""
    training = check.flag(op, "is_training", is_training)
    arguments = check_forward(op, inputs, sequence_lengths, attributes, zoneout_masks)
    net, x, time_major = arguments.net, arguments.inputs[0], attributes.time_major
    masks: Sequence[Tensor] | None = None
    if dropout_masks is not None:
        masks = masks_between_layers(op, dropout_masks, net, time_major, x)
    elif training and attributes.dropout:
        seeds = int(attributes.seed), int(attributes.seed2)
        masks = drawn_masks(net.L, (*x.shape[:2], net.D * net.P), attributes.dropout, seeds, x)
    masks = masks if training else None
    found, layers = _run(arguments, arguments.inputs, masks, training)
    space = _reserve_space(arguments, found[0], layers, masks) if training else zeros((0,), x)
    output, output_h, *output_c = to_time_major(found, time_major)
    return output, output_h, output_c[0] if output_c else zeros((0,), x), space


def _run(
    arguments: Arguments,
    inputs: Sequence[Tensor],
    masks: Sequence[Tensor] | None,
    keep: bool,
    recalled: Recalled | None = None,
) -> tuple[list[Tensor], list[tuple[RecurrentLayer, list[Tensor]]]]:
    """The outputs of the network for x, h0, (c0,) params, and its layers."""
    net = arguments.net
    x, *states, params = inputs
    zoneout: Sequence[Any] = arguments.zoneout or [None] * net.L
    return run_layers(
        [layer_of(net.rnn_mode, net.num_proj > 0, z) for z in zoneout],
        x,
        states,
        unpack_weights(net, params),
        lengths=arguments.lengths,
        masks=masks,
        keep=keep,
        known=recalled,
    )


def _reserve_space(
    arguments: Arguments,
    output: Tensor,
    layers: Sequence[tuple[RecurrentLayer, Sequence[Tensor]]],
    masks: Sequence[Tensor] | None,
) -> Tensor:
    """The reserve space with all values that the layers saved.

    Once it is assembled, the tape refers to it, so no value is stored twice.
    """
    net, device, zoned, last = arguments.net, output.device, arguments.zoneout is not None, output.array
    between = [*[outputs[0] for _, outputs in layers[:-1]], *(masks or ())]

    def contents() -> reserve.Contents:
        arrays = [t.array for t in between]
        return reserve.Contents([layer.saved for layer, _ in layers], arrays[: net.L - 1], arrays[net.L - 1 :] or None)

    def joined() -> Array:
        space, (saved, outputs, recalled) = reserve.joined(device, net, contents(), zoned, last)
        for (layer, _), own in zip(layers, saved, strict=True):
            layer.saved = own
        for t, array in zip(between, (*outputs, *(recalled or ())), strict=True):
            hold(t, array)
        return space

    return reserve.ReserveSpace(device, reserve.Origin(net, zoned, last, contents, joined))


def backprop_call(
    op: str,
    inputs: Sequence[Any],
    sequence_lengths: Any,
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    reserve_space: Any,
    attributes: Attributes,
    zoneout_masks: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of input, input_h, input_c, params.

    `outputs` are output, output_h, output_c, and `gradients` are their gradients. The dropout masks are in the reserve
    space.
    """
    arguments = check_forward(op, inputs, sequence_lengths, attributes, zoneout_masks)
    time_major, L, D = attributes.time_major, arguments.net.L, arguments.net.D
    ends, dy, contents = check_backprop(op, arguments, time_major, outputs, gradients, reserve_space)
    recalled: Recalled | None = None
    masks: list[Tensor] | None = None
    if contents is not None:
        (y, *states), x = ends, arguments.inputs[0]
        ends = [t.detach() for t in states]
        parts = [ends] if L == 1 else [[t[k : k + D] for t in ends] for k in range(0, L * D, D)]
        each = zip([*contents.outputs, y.array], parts, strict=True)
        recalled = Recalled(contents.saved, [(own, *[t.array for t in of_layer]) for own, of_layer in each])
        masks = None if contents.masks is None else [leaf(x.device, mask) for mask in contents.masks]
    try:
        found = gradients_through_composition(
            lambda *again: _run(arguments, again, masks, True, recalled)[0],
            arguments.inputs,
            dy,
            [True] * len(arguments.inputs),
        )
    except WrongSize:
        raise of_another_call(op, arguments.inputs[0].device, np.shape(reserve_space)) from None
    *states, dparams = [or_zeros(g, t) for g, t in zip(found, arguments.inputs, strict=True)]
    dx, dh, *dc = to_time_major(states, time_major)
    return dx, dh, dc[0] if dc else zeros((0,), dx), dparams
