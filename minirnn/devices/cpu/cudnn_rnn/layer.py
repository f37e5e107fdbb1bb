"""A whole recurrent layer (CudnnRNN's modes) and its gradient: all steps, all directions, in NumPy.

Formulas and their explanation: `minirnn/ops/cudnn_rnn/__init__.py`. The loops over the steps of one direction are in
`simple`, `gru` and `columns/lstm.py`, their common code in `columns/direction.py`; the plain loops that check them are
in `reference`. The op above does the stacking of layers, dropout and the flat parameter buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minirnn.devices.base import check_saved
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.arithmetic import without_false_alarms
from minirnn.devices.cpu.columns import lstm
from minirnn.devices.cpu.columns.direction import Direction, Gradients, Weights
from minirnn.devices.cpu.columns.visit import Visit
from minirnn.devices.cpu.columns.zoneout import Keep
from minirnn.devices.cpu.cudnn_rnn import gru, simple

Array = np.ndarray

VALUES = {
    # The sigmoid gates are neighbors, so that one call computes all three, and n is next to c', for (i, f) * (n, c').
    "lstm": ("o", "i", "f", "n", "c_prev"),
    # q r z come from h', and x enters r z n; the rows of each group are neighbors.
    "gru": ("q", "r", "z", "n", "h_minus_n"),
}
"""The saved values of each step, (H, B) each; rnn_relu and rnn_tanh save nothing, because they need only y."""
CANDIDATE = ("h_new",)
"""The value that rnn_relu and rnn_tanh save with zoneout, because y is then a mixture of it and the previous h."""

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}

Zoneout = tuple[Any, Any]

Loop = Callable[..., tuple[Array, Array | None]]
LOOPS: dict[str, tuple[Loop, Loop]] = {
    "rnn_relu": (partial(simple.forward, relu=True), partial(simple.backward, relu=True)),
    "rnn_tanh": (partial(simple.forward, relu=False), partial(simple.backward, relu=False)),
    "lstm": (lstm.forward, lstm.backward),
    "gru": (gru.forward, gru.backward),
}
"""One direction of a layer forward and backward."""


@without_false_alarms
def rnn_sequence(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
    *,
    rnn_mode: str,
    lengths: Array | None,
    training: bool,
    zoneout: Zoneout | None = None,
) -> tuple[Array, Array, Array | None, Array | None]:
    """Run one recurrent layer over a whole sequence.

    Gates are stacked along the rows of the weights: lstm i, f, n, o; gru r, z, n.

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
    lengths : integers (B,) or None
        Each from 1 to T, in any order. At steps t >= lengths[b] the state stays, y is 0, and x does not matter.
    training : bool
        Whether to save what `rnn_sequence_grad` needs.
    zoneout : pair (zh, zc), optional
        The share of the old state that is kept at each step, 0 .. 1: zh a number or (D, T, B, P); zc a number or (D, T,
        B, H), None unless lstm.

    Returns
    -------
    y : (T, B, D*P)
        The directions side by side.
    h_n : (D, B, P)
        State after the last step visited.
    c_n : (D, B, H) or None
    saved : (D*T*5*H*B,) or None
        The `VALUES` of each step, (D, T, 5, H, B), in one row; None if there are none or not training. At steps past a
        sample's length the contents are undefined.

    Notes
    -----
    Memory grows linearly with T: in addition to y and `saved`, T*B*H elements of scratch, and T*B*G*H more for lstm
    when not training and for gru and rnn always; T*B*in more with unequal lengths.
    """
    T, B, _ = x.shape
    D, _, P = h0.shape
    valid, lengths, last = padding(lengths, T)
    shape = saved_shape(rnn_mode, T, B, weights, zoneout is not None)
    H = shape[3]
    saved = workspace.empty(shape, x.dtype) if training and shape[2] else None
    steps: Any = [None] * D if saved is None else saved[:, :last]
    y = workspace.empty((T, B, D * P), x.dtype)
    if valid is not None:
        x = np.where(valid, x[:last], x.dtype.type(0))  # NaN in the padding must not spread
        y[last:] = 0
    forward, _ = LOOPS[rnn_mode]
    h_n, c_n = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    for k in range(D):
        part = y[:last, :, k * P : (k + 1) * P]
        visit = Visit(last, lengths, k == 1)
        keep = None if zoneout is None else keep_of(zoneout, k, x, H, P)
        c = None if c0 is None else c0[k]
        h_n[k], c = forward(Direction(x, h0[k], c, Weights(*weights[k]), steps[k], visit, part, keep))
        if c_n is not None:
            c_n[k] = c
        if valid is not None:
            np.copyto(part, 0, where=~valid)
    return y, h_n, c_n, None if saved is None else saved.reshape(-1)


@without_false_alarms
def rnn_sequence_grad(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
    saved: Array | None,
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: Array | None,
    *,
    rnn_mode: str,
    lengths: Array | None,
    need_dx: bool = True,
    zoneout: Zoneout | None = None,
) -> tuple[Array | None, Array, Array | None, list[tuple[Array | None, ...]]]:
    """The gradients of `rnn_sequence`, by backpropagation through time.

    Parameters
    ----------
    x, h0, c0, weights, rnn_mode, lengths, zoneout
        As given to `rnn_sequence`.
    saved, y
        What `rnn_sequence` returned when training.
    dy, dh_n, dc_n
        Gradients of y, h_n, c_n; dc_n is None unless lstm. dy past a sample's length does not matter.
    need_dx : bool
        Without it dx is not computed, and None.

    Returns
    -------
    dx : (T, B, in) or None
        0 at steps past a sample's length.
    dh0 : (D, B, P)
    dc0 : (D, B, H) or None
    dweights : list of D tuples of arrays shaped as `weights`
        None where the weight is None.

    Notes
    -----
    Memory grows linearly with T: T*B*4*H elements of scratch (rnn_relu, rnn_tanh: T*B*H) for any D; copies of x and dy
    with unequal lengths.
    """
    T, B, _ = x.shape
    D, _, P = h0.shape
    valid, lengths, last = padding(lengths, T)
    shape = saved_shape(rnn_mode, T, B, weights, zoneout is not None)
    H = shape[3]
    check_saved(saved, shape)
    steps: Any = [None] * D if saved is None else saved.reshape(shape)[:, :last]
    dweights = [Weights._make([None if w is None else workspace.empty(w.shape, w.dtype) for w in ws]) for ws in weights]
    dx = workspace.empty(x.shape, x.dtype) if need_dx else None
    if valid is not None:
        zero = x.dtype.type(0)
        x, dy, y = np.where(valid, x[:last], zero), np.where(valid, dy[:last], zero), y[:last]
        if dx is not None:
            dx[last:] = 0
    _, backward = LOOPS[rnn_mode]
    dh0, dc0 = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    wanted = None if dx is None else dx[:last]
    for k in range(D):
        part = ..., slice(k * P, (k + 1) * P)
        visit = Visit(last, lengths, k == 1)
        keep = None if zoneout is None else keep_of(zoneout, k, x, H, P)
        c, dc = (None, None) if c0 is None or dc_n is None else (c0[k], dc_n[k])
        d = Direction(x, h0[k], c, Weights(*weights[k]), steps[k], visit, y[part], keep)
        dh0[k], dc = backward(d, Gradients(dy[part], dh_n[k], dc, dweights[k], wanted, k > 0))
        if dc0 is not None:
            dc0[k] = dc
    return dx, dh0, dc0, [*dweights]


def keep_of(zoneout: Zoneout, k: int, x: Array, H: int, P: int) -> Keep:
    """The masks of direction k at the steps that it visits, (T, B, width) also where they are one number."""
    last, B, _ = x.shape

    def all_steps(z: Any, width: int) -> Array:
        own = np.asarray(z, x.dtype) if isinstance(z, float) else z[k, :last]
        return np.broadcast_to(own, (last, B, width))

    zh, zc = zoneout
    return Keep(all_steps(zh, P), None if zc is None else all_steps(zc, H))


def saved_shape(
    rnn_mode: str, T: int, B: int, weights: Sequence[tuple[Any, ...]], zoneout: bool
) -> tuple[int, int, int, int, int]:
    """The saved values of all steps, (D, T, values, H, B)."""
    bR = weights[0][4]
    H = len(bR) // GATES[rnn_mode]
    return len(weights), T, len(VALUES.get(rnn_mode, CANDIDATE if zoneout else ())), H, B


def padding(lengths: Array | None, T: int) -> tuple[Array | None, Array | None, int]:
    """The valid steps, (last, B, 1); the lengths; the longest. The first two are None if all steps are valid."""
    if lengths is None:
        return None, None, T
    lengths = np.asarray(lengths)
    last = int(lengths.max())
    if lengths.min() == T:
        return None, None, T
    valid = (np.arange(last)[:, None] < lengths)[:, :, None]
    return valid, None if lengths.min() == last else lengths, last
