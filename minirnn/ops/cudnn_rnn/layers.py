"""A recurrent network with one node of the tape for each layer, and ops of Tensors between the layers.

The inputs of a layer include its weights W, R, Wp, bW, bR of each direction. The gradients of the last layer therefore
arrive, and its hooks run, before the backward pass of the layers below. `unpack` splits the flat buffer of the CudnnRNN
ops first.

The formulas are in the docstrings of the package and of `zoneout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Array, Device
from minirnn.devices.precision import use_precision
from minirnn.engine.operands import mixed_devices
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import mode, no_grad
from minirnn.engine.tensor import Tensor
from minirnn.ops.cudnn_rnn.cells import plan_of
from minirnn.ops.cudnn_rnn.compose import Weights, compose_layer, step
from minirnn.ops.cudnn_rnn.zoneout import Zoneout
from minirnn.ops.fused import HALF, FusedOp, all_or_zeros, gradients_through_composition
from minirnn.ops.primitives import concat

REQUIRES_GRAD = attrgetter("requires_grad")


class RecurrentLayer(FusedOp):
    """The node. Inputs: x (T, B, in), h0 (D, B, P), for lstm c0 (D, B, H), the weights. Outputs: y, h_n(, c_n).

    Parameters
    ----------
    rnn_mode : {"lstm", "gru", "rnn_tanh", "rnn_relu"}
    lengths : (B,) integers, each 1 .. T, or None
    zoneout : (zh, zc) or None
        The share of the old state that is kept at each step.
    keep : bool
        Whether to save the values for the backward pass. Otherwise a backward pass repeats the forward pass.
    present : tuple of bool
        Which of W, R, Wp, bW, bR of each direction are among the inputs. An absent bias is zero.
    half : bool
        Whether the data are float16. They are computed in float32, and saved values are rounded to float16.
    """

    kernel = "cell_sequence"

    def __init__(
        self,
        rnn_mode: str,
        lengths: np.ndarray | None,
        zoneout: Any,
        keep: bool,
        present: tuple[bool, ...],
        half: bool,
    ) -> None:
        super().__init__()
        self.rnn_mode = rnn_mode
        self.lengths = lengths
        self.zoneout = zoneout
        self.keep = keep
        self.present = present
        self.states = 2 if rnn_mode == "lstm" else 1
        self.half = half
        self.saved: Array | None = None
        self.plan = self.plan_of()

    def __call__(self, *inputs: Tensor) -> list[Tensor]:
        device, n = inputs[0].device, 1 + self.states
        for t in inputs:
            if t.device is not device:
                names = ["input", "h_0", "c_0"][:n] + ["a weight"] * (len(inputs) - n)
                raise mixed_devices("recurrent layer", *inputs, names=names)
        if self.is_known_to(device):
            return super().__call__(*inputs)
        device.fallbacks[self.kernel] += 1
        return self.composed(*inputs)

    def is_known_to(self, device: Device) -> bool:
        """Whether the device's kernels support the layer, including its zoneout."""
        if self.zoneout is not None and self.present[2]:  # a projection: the h that is kept is not the cell's
            return False
        return self.kernel not in device.kernels or device.runs_plan(self.plan)

    def plan_of(self) -> Plan:
        """The cell, with zoneout or a projection if the layer has one."""
        return plan_of(self.rnn_mode, self.zoneout is not None, self.present[2])

    def recalled(self, saved: Array | None, outputs: Sequence[Array], *inputs: Tensor) -> list[Tensor]:
        """The outputs of an earlier forward pass as a new node, made from its results and saved values."""
        device = inputs[0].device
        if self.kernel not in device.kernels or not self.is_known_to(device):
            return self(*inputs)
        self.keep, self.saved = True, saved
        return record_many(self, device, outputs, inputs)

    def parted(self, inputs: Sequence[Any]) -> tuple[Any, Any, Any, list[Any]]:
        """x, h0, c0 or None, and W, R, Wp, bW, bR of each direction, None where there is none."""
        given = iter(inputs)
        x, h0, c0 = next(given), next(given), next(given) if self.states == 2 else None
        each = []
        for there in self.present:
            each.append(next(given) if there else None)
        return x, h0, c0, list(zip(*[iter(each)] * 5, strict=True))

    def arguments(self, device: Device, arrays: Sequence[Array]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arrays and the attributes that both kernels take."""
        x, h0, c0, weights = self.parted(arrays)
        attributes: dict[str, Any] = {"plan": self.plan, "lengths": self.lengths}
        if self.zoneout is not None:
            shape = (len(weights), *x.shape[:2], weights[0][1].shape[1])
            attributes["masks"] = tuple(
                device.full(shape, z, x.dtype) if isinstance(z, float) else device.cast(z, x.dtype)
                for z in self.zoneout
                if z is not None
            )
        return (x, h0, c0, [(*own, (), ()) for own in weights]), attributes

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        x, *states = arrays[: 1 + self.states]
        if 0 in x.shape:  # a batch of 0
            (T, B, _), (D, _, P) = x.shape, states[0].shape
            return [device.full(shape, 0, x.dtype) for shape in ((T, B, D * P), *(s.shape for s in states))]
        given, attributes = self.arguments(device, arrays)
        y, h_n, c_n, saved = getattr(device, self.kernel)(*given, training=self.keep, **attributes)
        self.saved = device.cast_floats([saved], HALF)[0] if self.half and saved is not None else saved
        return [y, h_n] if c_n is None else [y, h_n, c_n]

    def run_half(self, device: Device, *arrays: Array) -> Sequence[Array]:
        with use_precision("tf32"):  # TF32 has as many digits as float16
            return super().run_half(device, *arrays)

    def run_back(self, device: Device, inputs: Sequence[Array], y: Array, dy: Sequence[Array], need_dx: bool) -> Any:
        """The gradients of `inputs` from those of the outputs, as arrays."""
        if 0 in inputs[0].shape:  # no sequence used the weights
            return [device.full(a.shape, 0, a.dtype) for a in inputs]
        given, attributes = self.arguments(device, inputs)
        of_y, dh_n, *dc_n = dy
        saved = self.saved
        if self.half and saved is not None:
            saved = device.cast(saved, y.dtype)
        dx, dh0, dc0, dweights = getattr(device, f"{self.kernel}_grad")(
            *given, saved, y, of_y, dh_n, dc_n[0] if dc_n else None, need_dx=need_dx, **attributes
        )
        found = [device.full((0,), 0, y.dtype) if dx is None else dx, dh0]
        if dc0 is not None:
            found.append(dc0)
        found += self.listed(dweights)
        return found

    def listed(self, dweights: Any) -> list[Array]:
        """The gradients of the weights among the inputs, in their order."""
        return list(compress([a for own in dweights for a in own[:5]], self.present))

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        return compose_layer(self.rnn_mode, *self.parted(inputs), self.lengths, self.zoneout)

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        if not self.keep:
            self.keep = True
            with no_grad():
                self(*inputs)
        gradients = all_or_zeros(dy, y)
        return self.gradient(len(inputs), inputs[0].requires_grad)(*inputs, y[0].detach(), *gradients)

    def gradient(self, count: int, need_dx: bool) -> RecurrentLayerGrad:
        return RecurrentLayerGrad(self, count, need_dx)


class RecurrentStep(RecurrentLayer):
    """The node of a single step. Inputs: x (B, I), h (B, H), for lstm c (B, H), the weights. Outputs: h(, c)."""

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        _, *found = super().run(device, *self.as_sequence(device, arrays))
        return [device.reshape(a, a.shape[1:]) for a in found]

    def run_back(self, device: Device, inputs: Sequence[Array], y: Array, dy: Sequence[Array], need_dx: bool) -> Any:
        h, *dstates = (device.reshape(a, (1, *a.shape)) for a in (y, *dy))
        of_y = device.full(h.shape, 0, h.dtype)  # h is only returned as the last state
        found = super().run_back(device, self.as_sequence(device, inputs), h, (of_y, *dstates), need_dx)
        n = 1 + self.states
        return [*[device.reshape(a, a.shape[1:]) if a.ndim == 3 else a for a in found[:n]], *found[n:]]

    def as_sequence(self, device: Device, arrays: Sequence[Array]) -> list[Array]:
        """x with a first axis for the single step, and the states with a first axis for the single direction."""
        n = 1 + self.states
        return [*[device.reshape(a, (1, *a.shape)) for a in arrays[:n]], *arrays[n:]]

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        x, h, c, (weights,) = self.parted(inputs)
        h, c, _ = step(self.rnn_mode, x, h, c, weights)
        return [h] if c is None else [h, c]


class RecurrentLayerGrad(FusedOp):
    """The gradient as a node, which is differentiated through the composition of the layer.

    Inputs: the `count` inputs of the layer, y, and the gradients of its outputs. Outputs: the gradients of its inputs.
    """

    kernel = "cell_sequence_grad"

    def __init__(self, layer: RecurrentLayer, count: int, need_dx: bool) -> None:
        super().__init__()
        self.layer = layer
        self.count = count
        self.need_dx = need_dx

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        inputs, (y, *dy) = arrays[: self.count], arrays[self.count :]
        found: Sequence[Array] = self.layer.run_back(device, inputs, y, dy, self.need_dx)
        return found

    def run_half(self, device: Device, *arrays: Array) -> Sequence[Array]:
        with use_precision("tf32"):
            return super().run_half(device, *arrays)

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        n = self.count
        found: Any = gradients_through_composition(self.layer.compose, inputs[:n], inputs[n + 1 :], [True] * n)
        return found


class Kept(NamedTuple):
    """The values of each layer that a forward pass saves for a Backprop op, which does not use its tape."""

    saved: list[Array | None]
    outputs: list[Sequence[Array]]
    """y, h_n(, c_n)."""


def run_layers(
    rnn_mode: str,
    x: Tensor,
    states: Sequence[Sequence[Tensor]],
    weights: Sequence[Sequence[Weights]],
    *,
    lengths: np.ndarray | None = None,
    masks: Sequence[Tensor] | None = None,
    zoneout: Zoneout | None = None,
    keep: bool | None = None,
    kept: Kept | None = None,
) -> tuple[list[Tensor], list[tuple[RecurrentLayer, list[Tensor]]]]:
    """y (T, B, D*P), h_n (L*D, B, P) (and c_n) of a network, and each layer with its outputs.

    Parameters
    ----------
    rnn_mode, lengths
        The same as for `RecurrentLayer`.
    x : (T, B, I)
    states : for each layer h0 (D, B, P) and, for lstm, c0 (D, B, H)
    weights : for each layer W, R, Wp, bW, bR of each direction, None where there is none
    masks : L-1 Tensors (T, B, D*P), or (1, B, D*P) for all steps alike, optional
        Dropout masks, already scaled.
    zoneout : for each layer (zh, zc), optional
    keep : bool, optional
        Whether layers save the values for a backward pass. None: only layers through which gradients may flow.
    kept : Kept, optional
        The results of an earlier run of this network. They are recorded without computing them again.
    """
    ends: list[list[Tensor]] = []
    layers: list[tuple[RecurrentLayer, list[Tensor]]] = []
    y = x
    for k, own in enumerate(weights):
        inputs, present = with_weights([y, *states[k]], own)
        saves = keep_for(inputs) if keep is None else keep
        zoned = None if zoneout is None else zoneout[k]
        layer = RecurrentLayer(rnn_mode, lengths, zoned, saves, present, x.dtype == HALF)
        outputs = layer(*inputs) if kept is None else layer.recalled(kept.saved[k], kept.outputs[k], *inputs)
        layers.append((layer, outputs))
        y, *end = outputs
        ends.append(end)
        if masks is not None and k < len(weights) - 1:
            y = y * masks[k]
    return [y, *(ends[0] if len(ends) == 1 else [concat(list(parts), 0) for parts in zip(*ends, strict=True)])], layers


def with_weights(inputs: list[Tensor], weights: Sequence[Weights]) -> tuple[list[Tensor], tuple[bool, ...]]:
    """The inputs of a layer, with its weights last, and for each weight whether it exists."""
    present = []
    for parts in weights:
        for w in parts:
            present.append(w is not None)
            if w is not None:
                inputs.append(w)
    return inputs, tuple(present)


def keep_for(inputs: Sequence[Tensor]) -> bool:
    """Whether a backward pass may reach a layer with these inputs."""
    return mode.enabled and any(map(REQUIRES_GRAD, inputs))


def by_layer(L: int, *states: Tensor) -> list[list[Tensor]]:
    """States (L*D, B, ..) cut into those of each layer, (D, B, ..)."""
    if L == 1:
        return [list(states)]
    D = states[0].shape[0] // L
    return [[state[k * D : (k + 1) * D] for state in states] for k in range(L)]


def run_step(rnn_mode: str, x: Tensor, states: Sequence[Tensor], weights: Weights) -> list[Tensor]:
    """h (and c) after one step, as one node. The arguments must have been checked."""
    inputs, present = with_weights([x, *states], [weights])
    return RecurrentStep(rnn_mode, None, None, keep_for(inputs), present, x.dtype == HALF)(*inputs)
