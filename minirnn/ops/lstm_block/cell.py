"""LSTMBlockCell: one LSTM step and its gradient.

One step, ``x (B, I)``, ``cs_prev, h_prev (B, H)``, ``w (I+H, 4H)``, peepholes ``wci, wcf, wco (H,)``, ``b (4H,)``::

    [z_i | z_ci | z_f | z_o] = [x | h_prev] @ w + b                 # gate order of the columns: i, ci, f, o
    i, cs, f, o, ci, co, h = lstm_block of the gates, or lstm_block_peephole

`cells` has both steps, and below each its backward pass. The gradient of h, ``h_grad``, is called dh there::

    dicfo = [dz_i | dz_ci | dz_f | dz_o]
    cs_prev_grad = dcs_prev         wci_grad, wcf_grad, wco_grad = dwci, dwcf, dwco     # 0 without peepholes
    [x_grad | h_prev_grad] = dicfo @ w^T
    w_grad = [x | h_prev]^T @ dicfo         b_grad = sum of dicfo over B

A ``cell_clip`` of 0 or below means that cs is not clipped.

The gradient passes straight through the clip, as in TensorFlow. Where the clip is active, the result is not the
derivative of the forward pass. A whole sequence is in `sequence`.

Source: TensorFlow's LSTMBlockCell and its Grad op; Hochreiter & Schmidhuber 1997; peepholes: Gers & Schmidhuber 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.devices.base import Array, Device, Weights
from minirnn.devices.precision import chosen
from minirnn.engine import html
from minirnn.engine.tensor import Tensor
from minirnn.ops.fused import TRANSPOSED, FusedOp, or_zeros, weight_grads, zeros
from minirnn.ops.lstm_block.cells import plan_of
from minirnn.ops.lstm_block.check import LSTMBlockInputs, attributes, check_cell
from minirnn.ops.primitives import chunk, concat
from minirnn.ops.primitives.indexing import GetItem
from minirnn.ops.primitives.products import MATMUL
from minirnn.ops.sequence.compose import evaluate, gradients


@html.shows_outputs
class LSTMBlockCellOutput(NamedTuple):
    """Outputs of `lstm_block_cell`, each (B, H)."""

    i: Tensor
    cs: Tensor
    f: Tensor
    o: Tensor
    ci: Tensor
    co: Tensor
    h: Tensor


@html.shows_outputs
class LSTMBlockCellGradOutput(NamedTuple):
    """Outputs of `lstm_block_cell_grad`: (B, H), (B, 4H) and three times (H,)."""

    cs_prev_grad: Tensor
    dicfo: Tensor
    wci_grad: Tensor
    wcf_grad: Tensor
    wco_grad: Tensor


GATE_VALUES = ("i", "f", "o", "ci", "co")
"""What a step saves for its gradient, by the names of `cells`."""


# ---- the definition: the lines of `cells`, in primitives


def step(*inputs: Tensor, forget_bias: float, cell_clip: float, use_peephole: bool) -> tuple[Tensor, ...]:
    """i, cs, f, o, ci, co, h from the arrays of `LSTMBlockInputs`."""
    x, cs_prev, h_prev, w, *peepholes, b = inputs
    own = plan_of(use_peephole, cell_clip < np.inf).derivation.step
    values = dict(zip(own.gates.values(), chunk(concat([x, h_prev], 1) @ w + b, 4, 1), strict=True))
    values |= dict(zip(own.states.values(), (cs_prev, h_prev), strict=True))
    values |= dict(zip(own.vectors.values(), peepholes, strict=False))
    found = evaluate(own, values, (), {"forget_bias": forget_bias, "cell_clip": cell_clip})
    named = {name: found[e] for e, name in own.names.items() if e in found}
    return tuple([named[n] for n in LSTMBlockCellOutput._fields])


def step_grad(*arrays: Tensor, use_peephole: bool) -> tuple[Tensor, ...]:
    """cs_prev_grad, dicfo, wci_grad, wcf_grad, wco_grad from the inputs, the saved values, cs_grad and h_grad."""
    _, cs_prev, _, _, wci, wcf, wco, _, i, cs, f, o, ci, co, cs_grad, h_grad = arrays
    d = plan_of(use_peephole, False).derivation
    given = {"cs_prev": cs_prev, "cs": cs, "i": i, "f": f, "o": o, "ci": ci, "co": co}
    given |= {"wci": wci, "wcf": wcf, "wco": wco}
    values = {e: given[n] for e, n in d.names.items() if n in given}
    found = gradients(d, values | dict(zip(d.incoming, (cs_grad, h_grad), strict=True)))
    dz, peepholes = ([found[e] for e in owners.values()] for owners in (d.step.gates, d.step.vectors))
    sums = [g.sum(0) for g in peepholes] or [zeros(p.shape, p) for p in (wci, wcf, wco)]
    return found[d.step.states["cs"]], concat(dz, 1), *sums


# ---- the nodes


class LSTMBlockCell(FusedOp):
    """The node. Its backward is the Grad kernel, plus the gradients of i, f, o, ci, co, which TensorFlow drops."""

    kernel = "cell_step"

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        x, cs_prev, h_prev, w, wci, wcf, wco, b = arrays
        use_peephole, clip = self.attributes["use_peephole"], self.attributes["cell_clip"]
        gates = device.matmul(device.concatenate([x, h_prev], 1), w) + b
        weights = Weights(None, None, vectors=(wci, wcf, wco) if use_peephole else ())
        (cs, h), values = device.cell_step(
            gates, (cs_prev, h_prev), weights, plan=plan_of(use_peephole, clip < np.inf),
            constants=(self.attributes["forget_bias"], clip),
        )  # fmt: skip
        i, f, o, ci, co = map(values.__getitem__, GATE_VALUES)
        return i, cs, f, o, ci, co, h

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        return step(*inputs, **self.attributes)

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        x, _, h_prev, w, _, _, _, b = inputs
        i, cs, f, o, ci, co, h = y
        i_grad, cs_grad, f_grad, o_grad, ci_grad, co_grad, h_grad = dy
        grad_op = LSTMBlockCellGrad(use_peephole=self.attributes["use_peephole"])
        found = grad_op(*inputs, i, cs, f, o, ci, co, or_zeros(cs_grad, cs), or_zeros(h_grad, h))
        cs_prev_grad, dicfo, *peephole_grads = found
        x_grad = h_prev_grad = None
        if x.requires_grad or h_prev.requires_grad:
            xh_grad, I = MATMUL[chosen.precision](dicfo, TRANSPOSED(w)), x.shape[1]
            x_grad = GetItem((slice(None), slice(0, I)))(xh_grad)
            h_prev_grad = GetItem((slice(None), slice(I, None)))(xh_grad)
        w_grad, b_grad = weight_grads([x, h_prev], w, b, dicfo)
        every = [x_grad, cs_prev_grad, h_prev_grad, w_grad, *peephole_grads, b_grad]
        if i_grad is f_grad is o_grad is ci_grad is co_grad is None:
            return every
        return self.with_others(every, (i_grad, None, f_grad, o_grad, ci_grad, co_grad, None), inputs)


class LSTMBlockCellGrad(FusedOp):
    """The Grad op as a node. It is a function of the saved values, and is differentiated through its composition."""

    kernel = "cell_step_grad"

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        _, cs_prev, _, _, wci, wcf, wco, _, i, cs, f, o, ci, co, cs_grad, h_grad = arrays
        use_peephole = self.attributes["use_peephole"]
        weights = Weights(None, None, vectors=(wci, wcf, wco) if use_peephole else ())
        values = dict(zip(GATE_VALUES, (i, f, o, ci, co), strict=True))
        dicfo, (cs_prev_grad, _), d_vectors = device.cell_step_grad(
            (cs_prev, None), (cs, None), values, (cs_grad, h_grad), weights, plan=plan_of(use_peephole, False)
        )
        return cs_prev_grad, dicfo, *(d_vectors or [device.full(wci.shape, 0, wci.dtype)] * 3)

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        return step_grad(*inputs, **self.attributes)


def lstm_block_cell(
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    *,
    forget_bias: float = 1.0,
    cell_clip: float = 3.0,
    use_peephole: bool = False,
    name: str | None = None,
) -> LSTMBlockCellOutput:
    """One step of an LSTM with optional peepholes and cell clip. Formulas: this module and `cells`.

    Raises TypeError if dtypes differ or are not floating, or an attribute is of the wrong type, and ValueError if a
    shape does not fit, H is 0, or an attribute is NaN.

    Parameters
    ----------
    x : (B, I)
        Input.
    cs_prev, h_prev : (B, H)
        Cell state and output before the step.
    w : (I+H, 4H)
        Weights; rows [x rows; h_prev rows], columns the gates i, ci, f, o.
    wci, wcf, wco : (H,)
        Peephole weights. They are read only with `use_peephole`, and may otherwise be None.
    b : (4H,)
        Bias in the order i, ci, f, o.
    forget_bias : float
        Added to the pre-activation of f.
    cell_clip : float
        Clips cs to ``[-cell_clip, cell_clip]`` if above 0. Its gradient is passed straight through.
    use_peephole : bool

    All arrays of one dtype: float16 (computed in float32), float32 or float64 (TensorFlow: not float64).

    Returns
    -------
    LSTMBlockCellOutput
        ``i, cs, f, o, ci, co, h``, each (B, H). Gradients flow into all inputs from all seven (TensorFlow: cs and h).
    """
    op = "lstm_block_cell"
    ts = check_cell(op, use_peephole, LSTMBlockInputs(x, cs_prev, h_prev, w, wci, wcf, wco, b))
    settled = attributes(op, forget_bias, cell_clip, use_peephole, ts[0].array.dtype)
    return LSTMBlockCellOutput(*LSTMBlockCell(**settled)(*ts))


def lstm_block_cell_grad(
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    i: Any,
    cs: Any,
    f: Any,
    o: Any,
    ci: Any,
    co: Any,
    cs_grad: Any,
    h_grad: Any,
    *,
    use_peephole: bool,
    name: str | None = None,
) -> LSTMBlockCellGradOutput:
    """The gradients of `lstm_block_cell`, exactly as TensorFlow's LSTMBlockCellGrad computes them.

    The result depends only on the arguments. The forward pass is not computed again, so the saved values may be any. It
    has no gradients of x, h_prev, w and b. The node of `lstm_block_cell` computes them (see the module docstring).
    Raises the errors of `lstm_block_cell`.

    Parameters
    ----------
    x, cs_prev, h_prev, w, wci, wcf, wco, b, use_peephole
        The same as for `lstm_block_cell`. The values of x, h_prev, w and b are not used.
    i, cs, f, o, ci, co : (B, H)
        Saved outputs.
    cs_grad, h_grad : (B, H)
        Gradients of cs and h.

    Returns
    -------
    LSTMBlockCellGradOutput
        ``cs_prev_grad (B, H)``; ``dicfo (B, 4H)``, the gradient of the pre-activations in the order i, ci, f, o;
        ``wci_grad, wcf_grad, wco_grad (H,)``, zeros without peepholes. All can be differentiated again.
    """
    op = "lstm_block_cell_grad"
    use_peephole = check.flag(op, "use_peephole", use_peephole)
    inputs = LSTMBlockInputs(x, cs_prev, h_prev, w, wci, wcf, wco, b)
    ts = check_cell(op, use_peephole, inputs, i=i, cs=cs, f=f, o=o, ci=ci, co=co, cs_grad=cs_grad, h_grad=h_grad)
    return LSTMBlockCellGradOutput(*LSTMBlockCellGrad(use_peephole=use_peephole)(*ts))
