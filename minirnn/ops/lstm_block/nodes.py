"""The nodes of BlockLSTM and its Grad op. Formulas: `sequence`."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from minirnn.devices.base import Array, Device, Weights
from minirnn.engine.tensor import Tensor
from minirnn.ops.fused import FusedOp, or_zeros, zeros
from minirnn.ops.lstm_block.cell import GATE_VALUES, step, step_grad
from minirnn.ops.lstm_block.cells import plan_of
from minirnn.ops.primitives import concat, expand_dims, stack


class BlockLSTM(FusedOp):
    """The node. Its backward is the Grad kernel, plus the gradients of i, f, o, ci, co, which TensorFlow drops."""

    kernel = "cell_sequence"

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        x, cs_prev, h_prev, w, wci, wcf, wco, b = arrays
        L, forget_bias, cell_clip, use_peephole = (
            self.attributes[n] for n in ("seq_len_max", "forget_bias", "cell_clip", "use_peephole")
        )
        T, (B, H) = x.shape[0], h_prev.shape
        if 0 in (L, B):
            return [device.full((T, B, H), 0, x.dtype) for _ in range(7)]
        y, _, _, saved = device.cell_sequence(
            first_steps(device, x, L), with_axis(device, h_prev), with_axis(device, cs_prev),
            [weights_of(device, x, w, b, (wci, wcf, wco) if use_peephole else ())],
            plan=plan_of(use_peephole, cell_clip < inf), lengths=None, training=True, named=True,
            constants=(forget_bias, cell_clip),
        )  # fmt: skip
        i, f, o, ci, co, cs = (device.getitem(saved[n], (0,)) for n in (*GATE_VALUES, "cs"))
        return [all_steps(device, a, T) for a in (i, cs, f, o, ci, co, y)]

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        x, cs, h, *weights = inputs
        settled = dict(self.attributes)
        L = settled.pop("seq_len_max")
        T, B, H = x.shape[0], *cs.shape
        steps: list[Sequence[Tensor]] = []
        for t in range(L):
            values = step(x[t], cs, h, *weights, **settled)
            cs, h = values[1], values[6]
            steps.append(values)
        if L == 0:
            none = expand_dims(h, 0)[:0]  # an output without steps must still be on the tape
            return [concat([none, zeros((T, B, H), x)]) for _ in range(7)]
        past = zeros((T - L, B, H), x)
        return [concat([stack(values), past]) for values in zip(*steps, strict=True)]

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        i_grad, cs_grad, f_grad, o_grad, ci_grad, co_grad, h_grad = dy
        attributes = {name: self.attributes[name] for name in ("seq_len_max", "use_peephole")}
        grad_op = BlockLSTMGrad(**attributes, only_h=cs_grad is None)
        found = grad_op(*inputs, *y, or_zeros(cs_grad, y[1]), or_zeros(h_grad, y[6]))
        if i_grad is f_grad is o_grad is ci_grad is co_grad is None:
            return found
        return self.with_others(found, (i_grad, None, f_grad, o_grad, ci_grad, co_grad, None), inputs)


class BlockLSTMGrad(FusedOp):
    """The Grad op as a node. It is a function of the saved values, and is differentiated through its composition.

    `only_h` says that cs_grad is zero.
    """

    kernel = "cell_sequence_grad"

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad = arrays
        L, use_peephole = self.attributes["seq_len_max"], self.attributes["use_peephole"]
        T, (B, H) = x.shape[0], h_prev.shape
        if 0 in (L, B):
            return [device.full(a.shape, 0, a.dtype) for a in arrays[:8]]
        values = dict(zip((*GATE_VALUES, "cs"), (i, f, o, ci, co, cs), strict=True))
        none = device.full((1, B, H), 0, x.dtype)
        x_grad, h_prev_grad, cs_prev_grad, (weights,) = device.cell_sequence_grad(
            first_steps(device, x, L), with_axis(device, h_prev), with_axis(device, cs_prev),
            [weights_of(device, x, w, b, (wci, wcf, wco) if use_peephole else ())],
            {n: with_axis(device, first_steps(device, a, L)) for n, a in values.items()},
            *(first_steps(device, a, L) for a in (h, h_grad)), none, none,
            plan=plan_of(use_peephole, False), lengths=None, need_dx=True,
            dc_each=None if self.attributes.get("only_h") else with_axis(device, first_steps(device, cs_grad, L)),
        )  # fmt: skip
        w_grad = device.concatenate([device.transpose(a, (1, 0)) for a in (weights.W, weights.R)], 0)
        peepholes = weights.vectors or [device.full(p.shape, 0, p.dtype) for p in (wci, wcf, wco)]
        cs_prev_grad, h_prev_grad = (device.getitem(a, (0,)) for a in (cs_prev_grad, h_prev_grad))
        return [all_steps(device, x_grad, T), cs_prev_grad, h_prev_grad, w_grad, *peepholes, weights.bW]

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad = inputs
        L, use_peephole = self.attributes["seq_len_max"], self.attributes["use_peephole"]
        T, I = x.shape[0], x.shape[2]
        dc, dh = zeros(cs_prev.shape, cs_prev), zeros(h_prev.shape, h_prev)
        w_grad, b_grad = zeros(w.shape, w), zeros(b.shape, b)
        peephole_grads = [zeros(p.shape, p) for p in (wci, wcf, wco)]
        x_grads = [zeros((T - L, *x.shape[1:]), x)]
        for t in reversed(range(L)):
            cp, hp = (cs[t - 1], h[t - 1]) if t > 0 else (cs_prev, h_prev)
            saved = i[t], cs[t], f[t], o[t], ci[t], co[t]
            step_inputs = x, cp, hp, w, wci, wcf, wco, b  # the gradient of a step reads no values of x and w
            upstream = cs_grad[t] + dc, h_grad[t] + dh
            dc, d, *peephole = step_grad(*step_inputs, *saved, *upstream, use_peephole=use_peephole)
            xh_grad = d @ w.T
            x_grads.insert(0, expand_dims(xh_grad[:, :I], 0))
            dh = xh_grad[:, I:]
            w_grad = w_grad + concat([x[t], hp], 1).T @ d
            b_grad = b_grad + d.sum(0)
            peephole_grads = [total + p for total, p in zip(peephole_grads, peephole, strict=True)]
        return concat(x_grads), dc, dh, w_grad, *peephole_grads, b_grad


# ---- what the kernels get: gates as rows, one direction, only the steps to compute


def weights_of(device: Device, x: Array, w: Array, b: Array, vectors: tuple[Array, ...]) -> Weights:
    I = x.shape[2]
    W, R = (device.transpose(device.getitem(w, (rows,)), (1, 0)) for rows in (slice(0, I), slice(I, None)))
    return Weights(W, R, None, b, None, (), vectors)


def with_axis(device: Device, a: Array) -> Array:
    return device.reshape(a, (1, *a.shape))


def first_steps(device: Device, a: Array, L: int) -> Array:
    return a if a.shape[0] == L else device.getitem(a, (slice(0, L),))


def all_steps(device: Device, a: Array, T: int) -> Array:
    """`a` with zeros for the steps that were not computed."""
    L, *rest = a.shape
    return a if L == T else device.concatenate([a, device.full((T - L, *rest), 0, a.dtype)], 0)
