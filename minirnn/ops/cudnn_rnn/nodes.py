"""CudnnRNN, V2 and V3: a whole network of recurrent layers as one node, and its gradient.

``x`` is a layer's input at step t, ``h', c'`` the state before the step, W' means W transposed; s = sigmoid::

    rnn_tanh, rnn_relu   h = f(x W' + bW + h' R' + bR)                            f = tanh or max(., 0)

    lstm                 a_g = x W_g' + bW_g + h' R_g' + bR_g                     for the gates g = i, f, n, o
                         i = s(a_i)   f = s(a_f)   n = tanh(a_n)   o = s(a_o)
                         c = f * c' + i * n
                         m = o * tanh(c)
                         h = m Wp' with a projection, else m

    gru                  r = s(x W_r' + bW_r + h' R_r' + bR_r)
                         z = s(x W_z' + bW_z + h' R_z' + bR_z)
                         q = h' R_n' + bR_n                                       # reset acts *after* this product
                         n = tanh(x W_n' + bW_n + r * q)
                         h = (1 - z) * n + z * h'                                 # z = 1 keeps the old state

Backward through one step, for the gradient d of h (from the output at t and from the step that used h) and dc of c;
dA and dA2 are the gradients of the pre-activations on the input and on the recurrent side::

    rnn_tanh             dA = dA2 = d * (1 - h^2)                                 rnn_relu: d * [h > 0]
    lstm                 dm = d Wp, dWp += d' m with a projection, else dm = d
                         dC = dc + dm * o * (1 - tanh(c)^2)
                         dA_i = dC * n * i (1 - i)         dA_f = dC * c' * f (1 - f)
                         dA_n = dC * i * (1 - n^2)         dA_o = dm * tanh(c) * o (1 - o)
                         dA2 = dA                          dc' = dC * f
    gru                  dA_n = d * (1 - z) * (1 - n^2)
                         dA_z = d * (h' - n) * z (1 - z)
                         dA_r = dA_n * q * r (1 - r)
                         dA2 = [dA_r, dA_z, dA_n * r]
    all                  dh' = dA2 R  (gru: + d * z)
                         dx = dA W,  dW = dA' x,  dR = dA2' h',  dbW = dA,  dbR = dA2      # summed over T and B

A layer's output puts the two directions side by side; it is multiplied by the dropout mask and feeds both directions
of the next layer. Past the length of a sequence its state stays, its output is 0, and no gradient arises.

The arithmetic of one layer is in `devices/cpu/cudnn_rnn/layer.py`, the layout of the parameter buffer in `params`,
the composition from primitives in `compose`, the three public versions of the op in `versions`.
Source: TensorFlow's CudnnRNN ops and cuDNN's documentation; LSTM with projection: Sak et al. 2014; GRU: Cho et al.
2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.devices.base import Array
from minirnn.engine.backward import grad
from minirnn.engine.tape import enable_grad, mode, no_grad, record_many
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.cudnn_rnn.compose import compose_network
from minirnn.ops.cudnn_rnn.network import (
    Call,
    backward_network,
    forward_network,
    reserve_of_composition,
    uses_kernels,
)
from minirnn.ops.fused import FusedOp, or_zeros
from minirnn.ops.primitives.elementwise import identity
from minirnn.ops.primitives.operands import same_device

# ---- nodes; everything in here is time-major


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
        device = same_device("cudnn_rnn", *inputs)
        if not uses_kernels(device):
            outputs = self.composed(*inputs)
            if self.keep:
                self.reserve = reserve_of_composition(device, self.call, outputs[0].array, self.masks)
            return outputs
        x, h0, c0, params = _split_inputs(self.call, [t.array for t in inputs])
        y, h_n, c_n, self.reserve = forward_network(device, self.call, x, h0, c0, params, self.masks, self.keep)
        return record_many(self, device, (y, h_n) if c_n is None else (y, h_n, c_n), inputs)

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        x, h0, c0, params = _split_inputs(self.call, inputs)
        masks = None if self.masks is None else [leaf(x.device, x.device.cast(m, x.dtype)) for m in self.masks]
        y, h_n, c_n = compose_network(self.call.net, x, h0, c0, params, self.call.lengths, masks)
        return (y, h_n) if c_n is None else (y, h_n, c_n)

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        if self.reserve is None:  # a forward pass that kept nothing (is_training=False): repeat it
            again = CudnnRNN(self.call, self.masks, keep=True)
            with no_grad():
                again(*inputs)
            self.reserve = again.reserve
        gradients = [or_zeros(g, out) for g, out in zip(dy, y, strict=True)]
        need_dx = inputs[0].requires_grad
        return CudnnRNNBackprop(self, need_dx)(*inputs, y[0].detach(), *gradients)


class CudnnRNNBackprop(FusedOp):
    """The gradient as a node, differentiated through the composition of the whole network.

    Inputs x, h0, (c0,) params, output, then the gradients of y, h_n(, c_n); outputs dx, dh0, (dc0,) dparams.
    """

    kernel = "rnn_sequence_grad"

    def __init__(self, forward: CudnnRNN, need_dx: bool = True) -> None:
        super().__init__()
        self.forward = forward
        self.need_dx = need_dx

    def __call__(self, *inputs: Tensor) -> list[Tensor]:
        device = same_device("cudnn_rnn_backprop", *inputs)
        if not uses_kernels(device):
            return self.composed(*inputs)
        n = _count(self.forward.call)
        x, h0, c0, params = _split_inputs(self.forward.call, [t.array for t in inputs[:n]])
        output, dy, dh_n, *rest = [t.array for t in inputs[n:]]
        dc_n = rest[0] if rest else None
        dx, dh0, dc0, dparams = backward_network(
            device,
            self.forward.call,
            x,
            h0,
            c0,
            params,
            self.forward.reserve,
            output,
            dy,
            dh_n,
            dc_n,
            self.need_dx,
        )
        if dx is None:  # nobody asked for it
            dx = device.full((0,), 0, dparams.dtype)
        return record_many(self, device, (dx, dh0, dparams) if dc0 is None else (dx, dh0, dc0, dparams), inputs)

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        n = _count(self.forward.call)
        again = mode.enabled and any(t.requires_grad for t in inputs)
        with enable_grad():
            # New nodes or leaves: an input that was computed from another one is an input all the same.
            ends = [identity(t) if again and t.requires_grad else t.detach().requires_grad_() for t in inputs[:n]]
            outputs = self.forward.compose(*ends)
            return list(grad(list(outputs), ends, list(inputs[n + 1 :]), create_graph=again))


def _count(call: Call) -> int:
    """How many inputs the network has: x, h0, (c0,) params."""
    return 4 if call.net.rnn_mode == "lstm" else 3


def _split_inputs(call: Call, inputs: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """x, h0, c0 or None, params."""
    x, h0, *rest = inputs
    return (x, h0, rest[0], rest[1]) if _count(call) == 4 else (x, h0, None, rest[0])
