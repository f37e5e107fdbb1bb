"""A whole recurrent layer (CudnnRNN's modes) and its gradient in C++.

Formulas and their explanation: `minirnn/ops/cudnn_rnn/__init__.py`. Arguments: those of the cpu device,
`minirnn/devices/cpu/cudnn_rnn/layer.py`. Here arrays become addresses. The steps are in `kernels/forward.h` and
`kernels/backward.h`, the cells in `kernels/lstm.h`, `kernels/gru.h` and `kernels/simple.h`. Zoneout stays with the cpu
device: its masks cost more than the products that C++ would save.

Samples come to the kernels in the order of falling lengths, so those that are alive at a step are the first ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.cudnn_rnn import half
from minirnn.devices.cpu.cudnn_rnn import layer as on_cpu
from minirnn.devices.cpu.cudnn_rnn.layer import of_direction
from minirnn.devices.native import blas
from minirnn.devices.native.arguments import NOTHING, Gradients, Layer, address, call, matrix, regular, rows

Array = np.ndarray
Zoneout = tuple[Any, Any]

MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
VALUES = {"lstm": ("i", "f", "n", "o", "c"), "gru": ("q", "r", "z", "n")}
"""What the reserve holds of each step and sample, side by side; of rnn_relu and rnn_tanh nothing."""


def rnn_sequence_reserve_layout(
    rnn_mode: str, T: int, B: int, I: int, H: int, P: int, D: int, projected: bool, skip: bool, zoneout: bool = False
) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the blocks of the reserve array: the `VALUES` of each step, (D, T, B, 5, H), or none."""
    if zoneout:
        return on_cpu.rnn_sequence_reserve_layout(rnn_mode, T, B, I, H, P, D, projected, skip, zoneout)
    values = VALUES.get(rnn_mode)
    return [("gates", (D, T, B, len(values), H))] if values else []


@half.forward
def rnn_sequence(
    device: Any,
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
    reserve: Array | None,
    *,
    rnn_mode: str,
    lengths: Array | None,
    training: bool,
    zoneout: Zoneout | None = None,
) -> tuple[Array, Array, Array | None]:
    """Run one recurrent layer over a whole sequence. Returns y (T, B, D*P), h_n (D, B, P), c_n (D, B, H) or None."""
    if zoneout is not None:
        with blas.one_thread():
            return on_cpu.rnn_sequence(
                x, h0, c0, weights, reserve, rnn_mode=rnn_mode, lengths=lengths, training=training, zoneout=zoneout
            )
    T, B, _ = x.shape
    D, _, P = h0.shape
    ragged = Ragged(lengths, T, B)
    x, h0, c0 = ragged.sorted(x), ragged.states(h0), ragged.states(c0)
    saved = by_direction(reserve if training else None, rnn_mode, T, B, D)
    y = workspace.empty((T, B, D * P), x.dtype)
    h_n, c_n = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    for k in range(D):
        d = direction(ragged, k, rnn_mode, x, h0, c0, weights, saved[k], y, h_n, c_n)
        function = device.function("layer_forward", x.dtype)
        call(function, MODES[rnn_mode], d, work=work_of(x, weights[k][1]))
    return ragged.unsorted(y), ragged.unsorted_states(h_n), ragged.unsorted_states(c_n)


@half.backward
def rnn_sequence_grad(
    device: Any,
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
    reserve: Array,
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: Array | None,
    dweights: Sequence[tuple[Any, ...]],
    *,
    rnn_mode: str,
    lengths: Array | None,
    need_dx: bool = True,
    zoneout: Zoneout | None = None,
) -> tuple[Array | None, Array, Array | None]:
    """The gradients of `rnn_sequence`: dx, dh0, dc0; sets dweights."""
    if zoneout is not None:
        with blas.one_thread():
            return on_cpu.rnn_sequence_grad(
                x, h0, c0, weights, reserve, y, dy, dh_n, dc_n, dweights,
                rnn_mode=rnn_mode, lengths=lengths, need_dx=need_dx, zoneout=zoneout,
            )  # fmt: skip
    T, B, _ = x.shape
    D, _, P = h0.shape
    H = len(weights[0][1]) // GATES[rnn_mode]
    ragged = Ragged(lengths, T, B)
    x, h0, c0 = ragged.sorted(x), ragged.states(h0), ragged.states(c0)
    y, dy = ragged.sorted(y), ragged.sorted(dy)
    dh_n, dc_n = ragged.states(dh_n), ragged.states(dc_n)
    saved = by_direction(reserve, rnn_mode, T, B, D)
    dx = workspace.empty(x.shape, x.dtype) if need_dx else None
    dh0, dc0 = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    da = workspace.empty((T, B, H if rnn_mode.startswith("rnn") else 4 * H), x.dtype)
    for k in range(D):
        d = direction(ragged, k, rnn_mode, x, h0, c0, weights, saved[k], y, None, None)
        sums = [None if a is None else a if a.flags.c_contiguous else np.empty(a.shape, a.dtype) for a in dweights[k]]
        g = Gradients(
            *rows(dy, k * P), *NOTHING, *rows(dh_n[k]), *of(dc_n, k), *rows(da), *rows(dh0[k]), *of(dc0, k), *rows(dx),
            k > 0, 0, *map(address, sums),
        )  # fmt: skip
        function = device.function("layer_backward", x.dtype)
        call(function, MODES[rnn_mode], d, g, work=2 * work_of(x, weights[k][1]))
        for a, b in zip(dweights[k], sums, strict=True):
            if a is not b:
                a[...] = b
    return ragged.unsorted(dx), ragged.unsorted_states(dh0), ragged.unsorted_states(dc0)


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
) -> bytes:
    """Direction k of a layer, as the kernels read it. The arrays must outlive it."""
    W, R, Wp, bW, bR = weights[k]
    T, B, width = x.shape
    P = R.shape[1]
    H = len(R) // GATES[rnn_mode]
    values = list(NOTHING * 6)
    if saved is not None:
        start, distance = rows(saved)
        for n in range(distance // H):
            values[2 * n : 2 * n + 2] = start + n * H * x.itemsize, distance
    return Layer(
        T, B, width, H, P, k == 1, ragged.address, *matrix(W), *matrix(R), *matrix(Wp), address(bW),
        address(bR), 0, 0, 0, np.inf, *rows(x), *rows(h0[k]), *of(c0, k), *values, *rows(y, k * P), *of(h_n, k),
        *of(c_n, k),
    )  # fmt: skip


def of(states: Array | None, k: int) -> tuple[int, int]:
    """The rows of direction k of states, which only the lstm has."""
    return rows(of_direction(states, k))


def by_direction(reserve: Array | None, rnn_mode: str, T: int, B: int, D: int) -> Sequence[Array | None]:
    """The values of each direction, (T, B, 5H), or None."""
    if reserve is None or not reserve.size:
        return [None] * D
    return list(reserve.reshape(D, T, B, -1))


def work_of(x: Array, R: Array) -> int:
    """Multiply-adds of a direction forward."""
    (T, B, I), (rows_of_R, P) = x.shape, R.shape
    return T * B * rows_of_R * (I + P)


class Ragged:
    """Samples of unequal lengths, in the order of falling lengths. Without lengths everything stays as it is."""

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
        """An array (T, B, width) in this order, its padding 0: NaN there must not spread."""
        if self.order is None:
            return regular(a)
        a = np.take(a, self.order, axis=1)
        a[self.padding] = 0
        return a

    def states(self, a: Any) -> Any:
        """States (D, B, width) in this order."""
        return a if a is None else np.ascontiguousarray(a if self.order is None else np.take(a, self.order, axis=1))

    def unsorted(self, a: Any) -> Any:
        """An array (T, B, width) in the order of the samples."""
        if self.order is None or a is None:
            return a
        found = workspace.empty(a.shape, a.dtype)
        found[:, self.order] = a
        return found

    def unsorted_states(self, a: Any) -> Any:
        """States (D, B, width) in the order of the samples."""
        if self.order is None or a is None:
            return a
        found = np.empty_like(a)
        found[:, self.order] = a
        return found
