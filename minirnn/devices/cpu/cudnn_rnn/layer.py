"""A whole recurrent layer (CudnnRNN's modes) and its gradient: all steps, all directions, in NumPy.

The formulas stand in `cudnn_rnn_reference`; the fast kernels of each mode in `cudnn_rnn_lstm`, `cudnn_rnn_gru` and
`cudnn_rnn_simple`; what they share in `cudnn_rnn_columns`. Stacking layers, dropout and the flat parameter buffer
belong to the op above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.cudnn_rnn import gru as cudnn_rnn_gru
from minirnn.devices.cpu.cudnn_rnn import lstm as cudnn_rnn_lstm
from minirnn.devices.cpu.cudnn_rnn import simple as cudnn_rnn_simple
from minirnn.devices.cpu.cudnn_rnn.columns import Visit
from minirnn.devices.cpu.cudnn_rnn.reserve import (
    reserve_blocks,
    reserve_views,
    rnn_sequence_reserve_layout,
    rnn_sequence_reserve_size,
)

__all__ = [
    "reserve_views",
    "rnn_sequence",
    "rnn_sequence_grad",
    "rnn_sequence_reserve_layout",
    "rnn_sequence_reserve_size",
]

Array = np.ndarray
Weights = tuple[Array | None, Array, Array | None, Array, Array]

FORWARD: dict[str, Callable[..., tuple[Array, Array | None]]] = {
    "rnn_relu": partial(cudnn_rnn_simple.forward, relu=True),
    "rnn_tanh": partial(cudnn_rnn_simple.forward, relu=False),
    "lstm": cudnn_rnn_lstm.forward,
    "gru": cudnn_rnn_gru.forward,
}
BACKWARD: dict[str, Callable[..., tuple[Array, Array | None]]] = {
    "rnn_relu": partial(cudnn_rnn_simple.backward, relu=True),
    "rnn_tanh": partial(cudnn_rnn_simple.backward, relu=False),
    "lstm": cudnn_rnn_lstm.backward,
    "gru": cudnn_rnn_gru.backward,
}


def rnn_sequence(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[Weights],
    reserve: Array | None,
    *,
    rnn_mode: str,
    lengths: Array | None,
    training: bool,
) -> tuple[Array, Array, Array | None]:
    """Run one recurrent layer over a whole sequence.

    Gates are stacked along the rows of the weights: lstm i, f, n, o; gru r, z, n. With x at step t, h' and c' the state
    before it (``@ W.T`` and ``@ R.T`` left out: W x stands for ``x @ W.T + bW``, R h' for ``h' @ R.T + bR``)::

        rnn_tanh, rnn_relu   h = f(W x + R h')
        lstm                 i, f, o = sigmoid(W x + R h')    n = tanh(W_n x + R_n h')
                             c = f*c' + i*n    h = o*tanh(c), with a projection (o*tanh(c)) @ Wp.T
        gru                  r, z = sigmoid(W x + R h')       n = tanh(W_n x + r*(R_n h'))
                             h = (1-z)*n + z*h'

    Parameters
    ----------
    x : (T, B, in)
    h0 : (D, B, P)
        P is H, or the width of the projection.
    c0 : (D, B, H) or None
        None unless lstm.
    weights : sequence of D tuples (W, R, Wp, bW, bR)
        W (G*H, in), or None for skip_input: x, then in = H wide, enters every gate unchanged. R (G*H, P), Wp (P, H) or
        None, bW and bR (G*H,). Direction 0 visits t = 0..T-1, direction 1 visits t = T-1..0.
    reserve : (rnn_sequence_reserve_size(...),) or None
        Filled when training, for `rnn_sequence_grad`.
    lengths : integers (B,) or None
        Each from 1 to T, in any order. At steps t >= lengths[b] the state stays, y is 0, and x does not matter.
    training : bool

    Returns
    -------
    y : (T, B, D*P)
        The directions side by side.
    h_n : (D, B, P)
        State after the last step visited.
    c_n : (D, B, H) or None

    Notes
    -----
    float32 and float64 compute in their own precision; float16 computes in float32 and rounds each result. Memory grows
    linearly with T: besides y and the reserve, T*B*H elements of scratch, and T*B*G*H more for lstm when not training
    and for gru and rnn always; T*B*in more with unequal lengths. float16 copies everything to float32.
    """
    if x.dtype == np.float16:
        wide = None if reserve is None else np.zeros(reserve.shape, np.float32)
        x, h0, c0, weights = single([x, h0, c0, list(weights)])
        results = rnn_sequence(x, h0, c0, weights, wide, rnn_mode=rnn_mode, lengths=lengths, training=training)
        if reserve is not None and wide is not None:
            reserve[...] = wide
        y, h_n, c_n = (None if a is None else a.astype(np.float16) for a in results)
        assert y is not None and h_n is not None
        return y, h_n, c_n

    T, B, _ = x.shape
    D, _, P = h0.shape
    valid, lengths, last = padding(lengths, T)
    saved = directions(reserve, rnn_mode, T, B, weights, last) if training else [None] * D
    y = workspace.empty((T, B, D * P), x.dtype)
    if valid is not None:
        x = np.where(valid, x[:last], x.dtype.type(0))  # NaN in the padding must not spread
        y[last:] = 0
    h_n, c_n = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    for d in range(D):
        state = None if c0 is None else c0[d]
        part = y[:last, :, d * P : (d + 1) * P]
        h_n[d], c = FORWARD[rnn_mode](x, h0[d], state, weights[d], saved[d], Visit(last, lengths, d == 1), part)
        if c_n is not None:
            c_n[d] = c
        if valid is not None:
            np.copyto(part, 0, where=~valid)
    return y, h_n, c_n


def rnn_sequence_grad(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[Weights],
    reserve: Array,
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: Array | None,
    dweights: Sequence[tuple[Array | None, ...]],
    *,
    rnn_mode: str,
    lengths: Array | None,
    need_dx: bool = True,
) -> tuple[Array | None, Array, Array | None]:
    """Gradients of `rnn_sequence`, backpropagation through time.

    With d the gradient of h at a step (from y and from the step after it), dc that of c, dA and dA2 those of W x and
    R h' (equal but for gru): ``dx = dA @ W``, ``dh' = dA2 @ R``, and summed over steps ``dW = dA.T @ x``,
    ``dR = dA2.T @ h'``::

        rnn_tanh    dA = d*(1-h^2)         rnn_relu    dA = d*[h > 0]
        lstm        dm = d @ Wp, dWp = d.T @ (o*tanh(c)), or dm = d      dC = dc + dm*o*(1-tanh(c)^2)
                    dA_i = dC*n*i*(1-i)    dA_f = dC*c'*f*(1-f)          dA_n = dC*i*(1-n^2)
                    dA_o = dm*tanh(c)*o*(1-o)                            dc' = dC*f
        gru         dA_n = d*(1-z)*(1-n^2)    dA_z = d*(h'-n)*z*(1-z)    dA_r = dA_n*q*r*(1-r), q = R_n h'
                    dA2 = dA, but dA2_n = dA_n*r                         dh' = dA2 @ R + d*z

    Parameters
    ----------
    x, h0, c0, weights, rnn_mode, lengths
        As given to `rnn_sequence`.
    reserve, y
        What `rnn_sequence` filled and returned when training.
    dy, dh_n, dc_n
        Gradients of y, h_n, c_n; dc_n is None unless lstm. dy past a sample's length does not matter.
    dweights : sequence of D tuples of arrays shaped as `weights`
        Are set, not added to. None where the weight is None.
    need_dx : bool
        Without it dx is not computed, and None.

    Returns
    -------
    dx : (T, B, in) or None
        0 at steps past a sample's length.
    dh0 : (D, B, P)
    dc0 : (D, B, H) or None

    Notes
    -----
    Memory grows linearly with T: T*B*4*H elements of scratch (rnn_relu, rnn_tanh: T*B*H), whatever D is; copies of
    x and dy with unequal lengths. float16 copies everything to float32.
    """
    if x.dtype == np.float16:
        inputs = [x, h0, c0, list(weights), reserve, y, dy, dh_n, dc_n]
        x, h0, c0, weights, reserve, y, dy, dh_n, dc_n = single(inputs)
        sums: Any = [tuple(None if a is None else np.empty(a.shape, np.float32) for a in parts) for parts in dweights]
        wide = rnn_sequence_grad(
            x, h0, c0, weights, reserve, y, dy, dh_n, dc_n, sums,
            rnn_mode=rnn_mode, lengths=lengths, need_dx=need_dx,
        )  # fmt: skip
        for target, source in zip(dweights, sums, strict=True):
            for a, b in zip(target, source, strict=True):
                if a is not None:
                    a[...] = b
        dx, dh0, dc0 = (None if a is None else a.astype(np.float16) for a in wide)
        assert dh0 is not None
        return dx, dh0, dc0

    T, B, _ = x.shape
    D, _, P = h0.shape
    valid, lengths, last = padding(lengths, T)
    saved = directions(reserve, rnn_mode, T, B, weights, last)
    dx = workspace.empty(x.shape, x.dtype) if need_dx else None
    if valid is not None:
        zero = x.dtype.type(0)
        x, dy, y = np.where(valid, x[:last], zero), np.where(valid, dy[:last], zero), y[:last]
        if dx is not None:
            dx[last:] = 0
    dh0, dc0 = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    for d in range(D):
        mine = slice(d * P, (d + 1) * P)
        dh0[d], dc = BACKWARD[rnn_mode](
            x,
            h0[d],
            weights[d],
            saved[d],
            Visit(last, lengths, d == 1),
            y[:, :, mine],
            dy[:, :, mine],
            dh_n[d],
            None if dc_n is None else dc_n[d],
            dweights[d],
            None if dx is None else dx[:last],
            d > 0,
        )
        if dc0 is not None:
            dc0[d] = dc
    return dx, dh0, dc0


def single(a: Any) -> Any:
    """`a`, or each array in nested lists and tuples, in float32."""
    if isinstance(a, (list, tuple)):
        return type(a)(single(b) for b in a)
    return None if a is None else a.astype(np.float32)


def directions(
    reserve: Array | None, rnn_mode: str, T: int, B: int, weights: Sequence[Weights], last: int
) -> list[dict[str, Array]]:
    """The blocks of the reserve for each direction, steps 0..last-1."""
    G = {"lstm": 4, "gru": 3}.get(rnn_mode, 1)
    assert reserve is not None
    blocks = reserve_blocks(reserve, rnn_mode, T, B, len(weights[0][1]) // G, len(weights))
    return [{name: block[d, :last] for name, block in blocks.items()} for d in range(len(weights))]


def padding(lengths: Array | None, T: int) -> tuple[Array | None, Array | None, int]:
    """Which steps count, (last, B, 1); the lengths; the longest. The first two are None where they say nothing."""
    if lengths is None:
        return None, None, T
    lengths = np.asarray(lengths)
    last = int(lengths.max())
    if lengths.min() == T:
        return None, None, T
    valid = (np.arange(last)[:, None] < lengths)[:, :, None]
    return valid, None if lengths.min() == last else lengths, last
