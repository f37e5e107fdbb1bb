"""A whole recurrent layer (CudnnRNN's modes) and its gradient in C++.

Formulas and their explanation: `minirnn/ops/cudnn_rnn/__init__.py`. Arguments: those of the cpu device,
`minirnn/devices/cpu/cudnn_rnn/layer.py`. This module converts arrays to addresses. The steps are in `kernels/forward.h`
and `kernels/backward.h`, the cells in `devices/cells/`.

The kernels get samples in the order of falling lengths, so the active ones of a step come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.devices.base import check_saved
from minirnn.devices.cpu import workspace
from minirnn.devices.native.arguments import (
    MOST_VALUES,
    NOTHING,
    Gradients,
    Layer,
    address,
    call,
    matrix,
    regular,
    rows,
)

Array = np.ndarray
Zoneout = tuple[Any, Any]

MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
VALUES = {"lstm": ("i", "f", "n", "o", "c"), "gru": ("q", "r", "z", "n")}
"""The saved values of each step and sample, side by side; rnn_relu and rnn_tanh save nothing."""
CANDIDATE = ("h_new",)
"""The value that rnn_relu and rnn_tanh save with zoneout, because y no longer contains it."""


def rnn_sequence(
    device: Any,
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
    """Run one recurrent layer over a whole sequence: y (T, B, D*P), h_n (D, B, P), c_n (D, B, H) or None, and saved.

    `saved` is 1-D: the `VALUES` of each step, (D, T, B, 5, H); None if there are none or not training.
    """
    T, B, _ = x.shape
    D, _, P = h0.shape
    ragged = Ragged(lengths, T, B)
    x, h0, c0 = ragged.sorted(x), ragged.states(h0), ragged.states(c0)
    shape = saved_shape(rnn_mode, T, B, weights, zoneout is not None)
    saved = workspace.empty(shape, x.dtype) if training and shape[3] else None
    masks = masks_of(zoneout, ragged, D, P, shape[-1], x.dtype)
    y = workspace.empty((T, B, D * P), x.dtype)
    h_n, c_n = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    for k in range(D):
        d = direction(
            ragged, k, rnn_mode, x, h0, c0, weights, None if saved is None else saved[k], y, h_n, c_n, masks[k]
        )
        function = device.function("layer_forward", x.dtype)
        call(function, MODES[rnn_mode], d, work=work_of(x, weights[k][1]))
    saved = None if saved is None else saved.reshape(-1)
    return ragged.unsorted(y), ragged.unsorted_states(h_n), ragged.unsorted_states(c_n), saved


def rnn_sequence_grad(
    device: Any,
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
    """The gradients of `rnn_sequence`: dx, dh0, dc0 and those of the weights."""
    T, B, _ = x.shape
    D, _, P = h0.shape
    shape = saved_shape(rnn_mode, T, B, weights, zoneout is not None)
    check_saved(saved, shape)
    saved = None if saved is None else saved.reshape(shape)
    dweights = [tuple([None if w is None else workspace.empty(w.shape, w.dtype) for w in ws]) for ws in weights]
    ragged = Ragged(lengths, T, B)
    x, h0, c0 = ragged.sorted(x), ragged.states(h0), ragged.states(c0)
    y, dy = ragged.sorted(y), ragged.sorted(dy)
    dh_n, dc_n = ragged.states(dh_n), ragged.states(dc_n)
    masks = masks_of(zoneout, ragged, D, P, shape[-1], x.dtype)
    dx = workspace.empty(x.shape, x.dtype) if need_dx else None
    dh0, dc0 = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    da = workspace.empty((T, B, (1 if rnn_mode.startswith("rnn") else 4) * shape[-1]), x.dtype)
    for k in range(D):
        d = direction(
            ragged, k, rnn_mode, x, h0, c0, weights, None if saved is None else saved[k], y, None, None, masks[k]
        )
        g = Gradients(
            *rows(dy, k * P), *NOTHING, *rows(dh_n[k]), *of(dc_n, k), *rows(da), *rows(dh0[k]), *of(dc0, k), *rows(dx),
            k > 0, 0, *map(address, dweights[k]),
        )  # fmt: skip
        function = device.function("layer_backward", x.dtype)
        call(function, MODES[rnn_mode], d, g, work=2 * work_of(x, weights[k][1]))
    return ragged.unsorted(dx), ragged.unsorted_states(dh0), ragged.unsorted_states(dc0), dweights


def direction(
    ragged: Ragged,
    k: int,
    rnn_mode: str,
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
    saved: Array | None,
    y: Array,
    h_n: Array | None,
    c_n: Array | None,
    masks: tuple[Array | None, ...],
) -> bytes:
    """Direction k of a layer, as the kernels read it. The arrays must outlive it."""
    W, R, Wp, bW, bR = weights[k]
    T, B, width = x.shape
    P = R.shape[1]
    H = len(R) // GATES[rnn_mode]
    values = list(NOTHING * MOST_VALUES)
    if saved is not None:
        start, distance = address(saved), saved[0, 0].size
        for n in range(saved.shape[2]):
            values[2 * n : 2 * n + 2] = start + n * H * x.itemsize, distance
    return Layer(
        T, B, width, H, P, k == 1, ragged.address, *matrix(W), *matrix(R), *matrix(Wp), address(bW),
        address(bR), 0, np.inf, *rows(x), *rows(h0[k]), *of(c0, k), *values, *rows(y, k * P), *of(h_n, k),
        *of(c_n, k), *(part for a in masks for part in ((address(a), 0) if a is not None and a.ndim == 1 else rows(a))),
    )  # fmt: skip


def of(states: Array | None, k: int) -> tuple[int, int]:
    """The rows of direction k of states, which only the lstm has."""
    return rows(None if states is None else states[k])


def saved_shape(
    rnn_mode: str, T: int, B: int, weights: Sequence[tuple[Any, ...]], zoneout: bool
) -> tuple[int, int, int, int, int]:
    """The saved values of all steps, (D, T, B, values, H)."""
    values = VALUES.get(rnn_mode, CANDIDATE if zoneout else ())
    _, R, _, _, _ = weights[0]
    return len(weights), T, B, len(values), len(R) // GATES[rnn_mode]


def masks_of(
    zoneout: Zoneout | None, ragged: Ragged, D: int, P: int, H: int, dtype: np.dtype
) -> list[tuple[Array | None, ...]]:
    """zh and zc of each direction: (T, B, P) and (T, B, H), one row for all steps and samples, or None."""
    each: list[list[Array | None]] = []
    for z, width in zip(zoneout or (None, None), (P, H), strict=True):
        if z is None or isinstance(z, float):
            each.append([None if z is None else np.full(width, z, dtype)] * D)
        else:
            each.append([ragged.sorted(one) for one in z])
    return list(zip(*each, strict=True))


def work_of(x: Array, R: Array) -> int:
    """Multiply-adds of a direction forward."""
    (T, B, I), (rows_of_R, P) = x.shape, R.shape
    return T * B * rows_of_R * (I + P)


class Ragged:
    """Samples of unequal lengths, in the order of falling lengths. Without lengths nothing changes."""

    def __init__(self, lengths: Array | None, T: int, B: int) -> None:
        self.order: Array | None = None
        self.address = 0
        if lengths is None or not B or np.min(lengths) == T:
            return
        lengths = np.asarray(lengths, np.int64)
        self.order = np.argsort(-lengths, kind="stable")
        self.lengths = np.ascontiguousarray(lengths[self.order])
        self.address = address(self.lengths)
        self.padding = np.arange(T)[:, None] >= self.lengths  # (T, B)

    def sorted(self, a: Array) -> Array:
        """An array (T, B, width) in this order, with padding 0 so that NaN there does not spread."""
        if self.order is None:
            return regular(a)
        a = np.take(a, self.order, axis=1)
        a[self.padding] = 0
        return a

    def states(self, a: Any) -> Any:
        """States (.., B, width) in this order."""
        return a if a is None else np.ascontiguousarray(a if self.order is None else np.take(a, self.order, axis=-2))

    def unsorted(self, a: Any) -> Any:
        """An array (T, B, width) in the order of the samples."""
        if self.order is None or a is None:
            return a
        found = workspace.empty(a.shape, a.dtype)
        found[:, self.order] = a
        return found

    def unsorted_states(self, a: Any) -> Any:
        """States (.., B, width) in the order of the samples."""
        if self.order is None or a is None:
            return a
        found = np.empty_like(a)
        found[..., self.order, :] = a
        return found
