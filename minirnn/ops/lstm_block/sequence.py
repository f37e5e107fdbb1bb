"""BlockLSTM and BlockLSTMV2: a whole LSTM sequence as one node, and its gradient.

The step is in `cells`, its gates and weights in `cell`. A sequence runs the step for t = 0 .. seq_len_max - 1::

    for t = 0 .. seq_len_max - 1:
        i[t], cs[t], f[t], o[t], ci[t], co[t], h[t] = one step of x[t], cs[t-1], h[t-1]
    # before the first step: cs_prev, h_prev. All outputs are 0 past seq_len_max

The backward pass goes from the last step to the first. It adds the gradients of a step's cs_prev and h_prev to
``cs_grad`` and ``h_grad`` of the previous step, and sums the gradients of the weights over the steps (backpropagation
through time, Werbos 1990)::

    for t = seq_len_max - 1 .. 0:
        dcs_prev, dicfo = the backward step of cs_grad[t] + dcs_prev, h_grad[t] + dh_prev
        [x_grad[t] | dh_prev] = dicfo @ w^T
        w_grad += [x[t] | h[t-1]]^T @ dicfo
        b_grad += sum of dicfo over B                               # the peephole gradients add up likewise
    # after the last step dcs_prev and dh_prev are 0. After the loop they are cs_prev_grad and h_prev_grad

BlockLSTMV2 has the columns of w and b in the order i, f, ci, o. It exchanges these columns first, and exchanges those
of ``w_grad`` and ``b_grad`` back at the end::

    w, b = exchange_f_and_ci(w), exchange_f_and_ci(b)
    w_grad, b_grad = exchange_f_and_ci(w_grad), exchange_f_and_ci(b_grad)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minirnn.arguments import check
from minirnn.engine import html
from minirnn.engine.tensor import Tensor
from minirnn.ops.lstm_block.check import LSTMBlockInputs, attributes, check_sequence
from minirnn.ops.lstm_block.nodes import BlockLSTM, BlockLSTMGrad
from minirnn.ops.primitives import chunk, concat


@html.shows_outputs
class BlockLSTMOutput(NamedTuple):
    """Outputs of `block_lstm` and `block_lstm_v2`, each (T, B, H)."""

    i: Tensor
    cs: Tensor
    f: Tensor
    o: Tensor
    ci: Tensor
    co: Tensor
    h: Tensor


@html.shows_outputs
class BlockLSTMGradOutput(NamedTuple):
    """Outputs of `block_lstm_grad` and `block_lstm_grad_v2`, each of the shape of its input."""

    x_grad: Tensor
    cs_prev_grad: Tensor
    h_prev_grad: Tensor
    w_grad: Tensor
    wci_grad: Tensor
    wcf_grad: Tensor
    wco_grad: Tensor
    b_grad: Tensor


def block_lstm(
    seq_len_max: Any,
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
) -> BlockLSTMOutput:
    """A whole LSTM sequence as one node: `lstm_block_cell` for t = 0 .. seq_len_max - 1.

    Raises TypeError if dtypes differ or are not floating, or an attribute is of the wrong type, and ValueError if a
    shape does not fit, seq_len_max is not in 0 .. T, H is 0, or an attribute is NaN.

    Parameters
    ----------
    seq_len_max : int
        Steps to compute, 0 .. T, one number for the batch. ``x[seq_len_max:]`` is never read; there all outputs are 0
        (TensorFlow leaves i, f, o, ci, co undefined). The final state is ``cs[seq_len_max - 1], h[seq_len_max - 1]``.
    x : (T, B, I)
        Input, time-major.
    cs_prev, h_prev : (B, H)
        State before the first step.
    w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole
        The same as for `lstm_block_cell`, with gates in the order i, ci, f, o.

    Returns
    -------
    BlockLSTMOutput
        ``i, cs, f, o, ci, co, h``, each (T, B, H). Gradients flow into all inputs from all seven (TensorFlow: cs and
        h). Memory: these seven arrays, linear in T.
    """
    inputs = LSTMBlockInputs(x, cs_prev, h_prev, w, wci, wcf, wco, b)
    return _sequence("block_lstm", "icfo", seq_len_max, inputs, forget_bias, cell_clip, use_peephole)


def block_lstm_v2(
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    *,
    cell_clip: float = 0.0,
    use_peephole: bool = False,
    name: str | None = None,
) -> BlockLSTMOutput:
    """`block_lstm` with gates in the order i, f, ci, o, no forget bias (put it into `b`) and no clip by default.

    Its gradient is that of `block_lstm_grad_v2`. (TensorFlow's tape pairs BlockLSTMV2 with the Grad op of the other
    gate order and returns wrong gradients.)

    Parameters, returns and errors: as `block_lstm`.
    """
    inputs = LSTMBlockInputs(x, cs_prev, h_prev, w, wci, wcf, wco, b)
    return _sequence("block_lstm_v2", "ifco", seq_len_max, inputs, 0.0, cell_clip, use_peephole)


def _sequence(
    op: str,
    gate_order: str,
    seq_len_max: Any,
    inputs: LSTMBlockInputs,
    forget_bias: Any,
    cell_clip: Any,
    use_peephole: Any,
) -> BlockLSTMOutput:
    """The outputs of both forward ops, which differ in `gate_order`."""
    L, ts = check_sequence(op, gate_order, use_peephole, seq_len_max, inputs)
    settled = attributes(op, forget_bias, cell_clip, use_peephole, ts[0].dtype)
    return BlockLSTMOutput(*BlockLSTM(seq_len_max=L, **settled)(*_in_gate_order(gate_order, ts)))


def block_lstm_grad(
    seq_len_max: Any,
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
    h: Any,
    cs_grad: Any,
    h_grad: Any,
    *,
    use_peephole: bool,
    name: str | None = None,
) -> BlockLSTMGradOutput:
    """The gradients of `block_lstm` by backpropagation through time, exactly as in TensorFlow's BlockLSTMGrad.

    The result depends only on the arguments. The forward pass is not computed again, so the saved values may be any.
    Values past seq_len_max are not read. Raises the errors of `block_lstm`.

    Parameters
    ----------
    seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, use_peephole
        The same as for `block_lstm`. The values of b are not used.
    i, cs, f, o, ci, co, h : (T, B, H)
        Saved outputs.
    cs_grad, h_grad : (T, B, H)
        Gradients of cs and h.

    Returns
    -------
    BlockLSTMGradOutput
        ``x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad, wcf_grad, wco_grad, b_grad``, each of the shape of its
        input; x_grad is 0 past seq_len_max, the peephole gradients are 0 without peepholes. All can be differentiated
        again.
    """
    inputs, saved = LSTMBlockInputs(x, cs_prev, h_prev, w, wci, wcf, wco, b), BlockLSTMOutput(i, cs, f, o, ci, co, h)
    return _sequence_grad("block_lstm_grad", "icfo", seq_len_max, inputs, saved, cs_grad, h_grad, use_peephole)


def block_lstm_grad_v2(
    seq_len_max: Any,
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
    h: Any,
    cs_grad: Any,
    h_grad: Any,
    *,
    use_peephole: bool,
    name: str | None = None,
) -> BlockLSTMGradOutput:
    """`block_lstm_grad` for `block_lstm_v2`: gates in the order i, f, ci, o. Otherwise the same."""
    inputs, saved = LSTMBlockInputs(x, cs_prev, h_prev, w, wci, wcf, wco, b), BlockLSTMOutput(i, cs, f, o, ci, co, h)
    return _sequence_grad("block_lstm_grad_v2", "ifco", seq_len_max, inputs, saved, cs_grad, h_grad, use_peephole)


def _sequence_grad(
    op: str,
    gate_order: str,
    seq_len_max: Any,
    inputs: LSTMBlockInputs,
    saved: BlockLSTMOutput,
    cs_grad: Any,
    h_grad: Any,
    use_peephole: Any,
) -> BlockLSTMGradOutput:
    """The outputs of both Grad ops, which differ in `gate_order`."""
    use_peephole = check.flag(op, "use_peephole", use_peephole)
    given = {**saved._asdict(), "cs_grad": cs_grad, "h_grad": h_grad}
    L, ts = check_sequence(op, gate_order, use_peephole, seq_len_max, inputs, **given)
    grads = BlockLSTMGrad(seq_len_max=L, use_peephole=use_peephole)(*_in_gate_order(gate_order, ts))
    if gate_order == "ifco":
        grads[3], grads[7] = exchange_f_and_ci(grads[3]), exchange_f_and_ci(grads[7])  # w_grad, b_grad
    return BlockLSTMGradOutput(*grads)


# ---- gate order: the kernels know one, i, ci, f, o


def exchange_f_and_ci(x: Tensor) -> Tensor:
    """`x` with its last axis, 4H long, changed from the order i, f, ci, o to i, ci, f, o, or back."""
    i, f, ci, o = chunk(x, 4, x.ndim - 1)
    return concat([i, ci, f, o], x.ndim - 1)


def _in_gate_order(gate_order: str, ts: list[Tensor]) -> list[Tensor]:
    """The arguments of a sequence op with the columns of w and b in the order i, ci, f, o."""
    if gate_order == "icfo":
        return ts
    return [*ts[:3], exchange_f_and_ci(ts[3]), *ts[4:7], exchange_f_and_ci(ts[7]), *ts[8:]]
