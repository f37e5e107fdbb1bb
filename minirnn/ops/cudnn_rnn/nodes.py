"""The nodes of CudnnRNN: a whole network forward, and its gradient. The formulas are those of the package.

Everything in here is time-major, and checked: `versions` and `minirnn.nn` call `run_network`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.devices.base import Array, Device
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.cudnn_rnn.check import steps_of
from minirnn.ops.cudnn_rnn.compose import compose_network
from minirnn.ops.cudnn_rnn.dropout import dropout_mask
from minirnn.ops.cudnn_rnn.network import (
    Call,
    backward_network,
    forward_network,
    has_kernels,
    reserve_of_composition,
)
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.cudnn_rnn.zoneout import Zoneout
from minirnn.ops.fused import FusedOp, gradients_through_composition, or_zeros


def run_network(
    op: str,
    net: Network,
    inputs: Sequence[Tensor],
    lengths: Any = None,
    *,
    masks: Sequence[Array] | None = None,
    dropout: float = 0.0,
    seeds: tuple[int, int] = (0, 0),
    variational: bool = False,
    zoneout: Zoneout | None = None,
    keep: bool = True,
) -> tuple[list[Tensor], Array | None]:
    """Output, h_n (and c_n) of a network as one node of the tape, and the reserve space.

    Parameters
    ----------
    op : str
        Who asks: the first word of error messages.
    net : Network
    inputs : sequence of Tensor
        x (T, B, I), h0 (L*D, B, P), for lstm c0 (L*D, B, H), params (n,): checked, and all of one device.
    lengths : (B,) integers, each 1 .. T, optional
        They are checked here.
    masks : L-1 arrays (T, B, D*P), or (1, B, D*P) for all steps alike, optional
        Dropout masks, already scaled. Without them they are made from `dropout` and `seeds`.
    variational : bool
        Whether the masks that are made serve all steps alike.
    zoneout : for each layer (zh, zc), optional
        How much of the old state stays at each step (`zoneout`).
    keep : bool
        Whether to keep the reserve space for the backward pass. Without it a backward pass repeats the forward pass.
    """
    x = inputs[0]
    T, B, _ = x.array.shape
    if masks is None and dropout > 0 and net.L > 1:
        shape, device, dtype = (1 if variational else T, B, net.D * net.P), x.device, x.dtype
        made = (dropout_mask(shape, dropout, layer, *seeds) for layer in range(net.L - 1))
        masks = [device.asarray(mask.astype(dtype)) for mask in made]
    mask_steps = masks[0].shape[0] if masks else 0
    node = CudnnRNN(Call(net, T, B, steps_of(op, lengths, T, B), mask_steps, zoneout), masks, keep)
    return node(*inputs), node.reserve


def lacks_zoneout(op: CudnnRNN | CudnnRNNBackprop, device: Device) -> bool:
    """Whether the device's kernels know no zoneout; that is counted like a missing kernel."""
    if has_kernels(device, op.call):
        return False
    device.fallbacks[op.kernel] += 1
    return True


class CudnnRNN(FusedOp):
    """The node: inputs x, h0, (c0,) params; outputs y, h_n(, c_n)."""

    kernel = "rnn_sequence"

    def __init__(self, call: Call, masks: Sequence[Array] | None, keep: bool) -> None:
        super().__init__()
        self.call = call
        self.masks = masks
        self.keep = keep
        self.reserve: Array | None = None

    def __call__(self, *inputs: Tensor) -> list[Tensor]:
        lacking = self.call.zoneout is not None and lacks_zoneout(self, inputs[0].device)
        outputs = self.composed(*inputs) if lacking else super().__call__(*inputs)
        if self.keep and self.reserve is None:  # the device has no kernel for it
            self.reserve = reserve_of_composition(inputs[0].device, self.call, outputs[0].array, self.masks)
        return outputs

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        outputs, self.reserve = forward_network(device, self.call, arrays, self.masks, self.keep)
        return outputs

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        x = inputs[0]
        masks = None if self.masks is None else [leaf(x.device, x.device.cast(m, x.dtype)) for m in self.masks]
        return compose_network(self.call.net, inputs, self.call.lengths, masks, self.call.zoneout)

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        if self.reserve is None:  # a forward pass that kept nothing (is_training=False): repeat it
            again = CudnnRNN(self.call, self.masks, keep=True)
            with no_grad():
                again(*inputs)
            self.reserve = again.reserve
        gradients = [or_zeros(g, out) for g, out in zip(dy, y, strict=True)]
        return CudnnRNNBackprop(self, inputs[0].requires_grad)(*inputs, y[0].detach(), *gradients)


class CudnnRNNBackprop(FusedOp):
    """The gradient as a node, differentiated through the composition of the whole network.

    Inputs x, h0, (c0,) params, output, then the gradients of y, h_n(, c_n); outputs dx, dh0, (dc0,) dparams.
    """

    kernel = "rnn_sequence_grad"

    def __init__(self, forward: CudnnRNN, need_dx: bool = True) -> None:
        super().__init__()
        self.forward = forward
        self.call = forward.call
        self.need_dx = need_dx

    def __call__(self, *inputs: Tensor) -> list[Tensor]:
        lacking = self.call.zoneout is not None and lacks_zoneout(self, inputs[0].device)
        return self.composed(*inputs) if lacking else super().__call__(*inputs)

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        return backward_network(device, self.call, arrays, self.forward.reserve, self.need_dx)

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        n = self.call.net.inputs
        found: Any = gradients_through_composition(self.forward.compose, inputs[:n], inputs[n + 1 :], [True] * n)
        return found
