"""A recurrent layer as one node of the tape, for any cell, computed by the device's kernel or by the composition.

The inputs of a layer include the weights of each direction. The gradients of the last layer therefore arrive, and its
hooks run, before the backward pass of the layers below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Array, Device, Weights
from minirnn.devices.precision import use_precision
from minirnn.engine.operands import mixed_devices
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import mode, no_grad
from minirnn.engine.tensor import Tensor
from minirnn.ops.fused import HALF, FusedOp, all_or_zeros, gradients_through_composition
from minirnn.ops.primitives import expand_dims
from minirnn.ops.sequence.compose import compose_layer, width_of

REQUIRES_GRAD = attrgetter("requires_grad")


class RecurrentLayer(FusedOp):
    """The node. Inputs: x (T, B, I), h0 (D, B, P), c0 if there are other states, the weights. Outputs: y, h_n(, c_n).

    c0 is (D, STATES-1, B, H), or (D, B, H) if that is one state.

    Parameters
    ----------
    plan : Plan
        The cell. The composition is that of the step it was made from.
    weights : sequence of Weights
        Of each direction. Those that are not None are the last inputs, in their order.
    lengths : (B,) integers, each 1 .. T, or None
    masks : sequence of arrays (D, T, B, H) or numbers
        One for each mask of the cell.
    zoneout : array (D, T, B, P), number or None
        The share of the old h that stays after a projection. Without one, it is a mask of the cell.
    keep : bool
        Whether to save the values for the backward pass. Otherwise a backward pass repeats the forward pass.
    """

    kernel = "cell_sequence"

    def __init__(
        self,
        plan: Plan,
        weights: Sequence[Weights],
        lengths: np.ndarray | None = None,
        masks: Sequence[Any] = (),
        zoneout: Any = None,
        keep: bool = True,
    ) -> None:
        super().__init__()
        self.plan, self.masks, self.zoneout, self.keep = plan, masks, zoneout, keep
        self.states = 1 if plan.states == 1 else 2
        """The number of inputs that are states."""
        self.options: dict[str, Any] = {"plan": plan, "lengths": lengths}
        self.weights_in = places(weights, 1 + self.states)
        self.half = False
        """Whether the data are float16. They are computed in float32, and saved values are rounded to float16."""
        self.saved: Array | None = None

    def __call__(self, *inputs: Tensor) -> list[Tensor]:
        device, n = inputs[0].device, 1 + self.states
        self.half = inputs[0].dtype == HALF
        for t in inputs:
            if t.device is not device:
                names = ["input", "h_0", "c_0"][:n] + ["a weight"] * (len(inputs) - n)
                raise mixed_devices("recurrent layer", *inputs, names=names)
        if self.kernel not in device.kernels or device.runs_plan(self.plan):
            return super().__call__(*inputs)
        device.fallbacks[self.kernel] += 1
        return self.composed(*inputs)

    def recalled(self, saved: Array | None, outputs: Sequence[Array], *inputs: Tensor) -> list[Tensor]:
        """The outputs of an earlier forward pass as a new node, made from its results and saved values."""
        device = inputs[0].device
        if self.kernel not in device.kernels or not device.runs_plan(self.plan):
            return self(*inputs)
        self.keep, self.saved, self.half = True, saved, inputs[0].dtype == HALF
        return record_many(self, device, outputs, inputs)

    def parted(self, inputs: Sequence[Any]) -> tuple[Any, Any, Any, list[Weights]]:
        """x, h0, c0 or None, and the weights of each direction."""
        given = (*inputs, None)
        c0 = given[2] if self.states == 2 else None
        return given[0], given[1], c0, [Weights._make(of_direction(given)) for of_direction in self.weights_in]

    def with_masks(self, device: Device, x: Array, h0: Array, weights: Sequence[Weights]) -> dict[str, Any]:
        """The attributes that both kernels take, with masks of the full size."""
        (T, B, _), (D, _, P), H = x.shape, h0.shape, width_of(self.plan, weights[0])

        def wide(mask: Any, width: int) -> Array:
            if isinstance(mask, float):
                return device.full((D, T, B, width), mask, x.dtype)
            return device.cast(mask, x.dtype)

        masks = tuple([wide(mask, H) for mask in self.masks])
        more = {} if self.zoneout is None else {"zoneout": wide(self.zoneout, P)}
        return self.options | {"masks": masks} | more

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        x, h0, c0, weights = self.parted(arrays)
        T, B, _ = x.shape
        D, _, P = h0.shape
        if 0 in x.shape:  # a batch of 0
            y = device.full((T, B, D * P), 0, x.dtype)
            return [y, *[device.full(s.shape, 0, x.dtype) for s in arrays[1 : 1 + self.states]]]
        options = self.with_masks(device, x, h0, weights) if self.masks else self.options
        y, h_n, c_n, saved = device.cell_sequence(x, h0, c0, weights, training=self.keep, **options)
        self.saved = device.cast_floats([saved], HALF)[0] if self.half and saved is not None else saved
        return [y, h_n] if c_n is None else [y, h_n, c_n]

    def run_half(self, device: Device, *arrays: Array) -> Sequence[Array]:
        with use_precision("tf32"):  # TF32 has as many digits as float16
            return super().run_half(device, *arrays)

    def run_back(self, device: Device, inputs: Sequence[Array], y: Array, dy: Sequence[Array], need_dx: bool) -> Any:
        """The gradients of `inputs` from those of the outputs, as arrays."""
        if 0 in inputs[0].shape:  # no sequence used the weights
            return [device.full(a.shape, 0, a.dtype) for a in inputs]
        x, h0, c0, weights = self.parted(inputs)
        saved, (of_y, dh_n, *dc_n) = self.saved, dy
        if self.half and saved is not None:
            saved = device.cast(saved, y.dtype)
        options = self.with_masks(device, x, h0, weights) if self.masks else self.options
        dx, dh0, dc0, dweights = device.cell_sequence_grad(
            x, h0, c0, weights, saved, y, of_y, dh_n, dc_n[0] if dc_n else None, need_dx=need_dx, **options
        )
        found = [device.full((0,), 0, y.dtype) if dx is None else dx, dh0]
        if dc0 is not None:
            found.append(dc0)
        return found + flat(dweights)

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        return compose_layer(self.plan, *self.parted(inputs), self.options["lengths"], self.masks, self.zoneout)

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        if not self.keep:
            self.keep = True
            with no_grad():
                self(*inputs)
        gradients = all_or_zeros(dy, y)
        return RecurrentLayerGrad(self, len(inputs), inputs[0].requires_grad)(*inputs, y[0].detach(), *gradients)


class RecurrentStep(RecurrentLayer):
    """The node of a single step. Inputs: x (B, I), h (B, H), perhaps c (B, H), the weights. Outputs: h(, c)."""

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
        n = 1 + self.states
        _, *found = super().compose(*[expand_dims(t, 0) for t in inputs[:n]], *inputs[n:])
        return [state[0] for state in found]


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


def places(weights: Sequence[Weights], first: int) -> list[Callable[[Sequence[Any]], tuple[Any, ...]]]:
    """For each direction, what takes its weights from the inputs of a node, which begin at `first` and end with a
    None."""
    found: list[Callable[[Sequence[Any]], tuple[Any, ...]]] = []
    for own in weights:
        place: list[int | slice] = []
        for w in own[:5]:
            place.append(-1 if w is None else first)
            first += w is not None
        for several in own[5:]:
            place.append(slice(first, first + len(several)))
            first += len(several)
        found.append(itemgetter(*place))
    return found


def template(plan: Plan) -> Weights:
    """Which weights a direction of this cell has, with a bias of all gates: True for each."""
    there = (True,) * plan.matrices, (True,) * plan.vectors
    return Weights(plan.reads_x or None, plan.reads_h or None, plan.projected or None, True, None, *there)


def flat(weights: Sequence[Weights]) -> list[Any]:
    """The weights of all directions that are not None, in their order."""
    return [w for own in weights for w in chain(own[:5], own.U, own.vectors) if w is not None]


def keep_for(inputs: Sequence[Tensor]) -> bool:
    """Whether a backward pass may reach a layer with these inputs."""
    return mode.enabled and any(map(REQUIRES_GRAD, inputs))


def run_step(plan: Plan, inputs: Sequence[Tensor], weights: Weights) -> list[Tensor]:
    """h (and c) after one step, as one node, from x, h(, c). The arguments were checked."""
    found = [*inputs, *flat([weights])]
    return RecurrentStep(plan, [weights], keep=keep_for(found))(*found)
