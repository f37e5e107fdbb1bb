"""A recurrent layer of CudnnRNN on a CUDA device, step by step: products by the driver, the rest by a kernel.

Formulas, shapes and their explanation: `minirnn/devices/cpu/cudnn_rnn.py`, whose functions have the same names and
arguments; the kernels: `cudnn_rnn_steps.cu`. The inputs of all steps are multiplied at once; a step is one product and
one launch (two each with a projection); what is summed over steps (dx, dW, dR and the biases) is single products after
the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.elementwise import cells, copy
from minirnn.devices.cuda.launch.lstm_block import flat
from minirnn.devices.cuda.launch.matmul import product
from minirnn.devices.cuda.launch.narrow import in_order

if TYPE_CHECKING:
    from minirnn.devices.cuda.primitives import Primitives

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
"""Number G of gates. Row order: lstm i, f, n, o; gru r, z, n."""
VALUES = {"rnn_relu": (), "rnn_tanh": (), "gru": ("r", "z", "n", "q", "h_prev"), "lstm": ("i", "f", "n", "o", "c_prev")}
"""What a step keeps for the way back, (B, H) each, besides y."""

Weights = Sequence[tuple[Any, ...]]


def rnn_sequence_reserve_layout(
    rnn_mode: str, T: int, B: int, I: int, H: int, P: int, D: int, projected: bool, skip: bool
) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the blocks of the reserve array: the `VALUES` of each step, (D, T, 5, B, H); rnn none."""
    names = VALUES[rnn_mode]
    return [("gates", (D, T, len(names), B, H))] if names else []


@dataclass
class Layer:
    """One direction of a layer on a device: sizes, weights, the order of steps, and which rows count."""

    device: Primitives
    mode: str
    T: int
    B: int
    H: int
    P: int
    number: int
    """Of the direction; 1 runs backwards in time."""
    width: int
    """D*P: how far apart the rows of y are."""
    lengths: CudaArray | None
    ends: np.ndarray
    """The length of each row."""
    weights: tuple[Any, ...]

    @property
    def G(self) -> int:
        return GATES[self.mode]

    def visits(self) -> Iterator[int]:
        """The steps in the order in which the forward pass takes them."""
        return iter(range(self.T) if self.number == 0 else range(self.T - 1, -1, -1))

    def returns(self) -> Iterator[int]:
        """The steps in the order of the backward pass."""
        return iter(range(self.T - 1, -1, -1) if self.number == 0 else range(self.T))

    def mine(self, y: CudaArray, t: int) -> CudaArray:
        """This direction's columns of step t of y or dy: (B, P)."""
        offset = (t * self.B * self.width) + self.number * self.P
        return y.seen_as((self.B, self.P), (self.width, 1), offset)

    def run(self, kernel: str, t: int, units: int, *arguments: Any) -> None:
        """Launch `kernel` for one step, one thread a unit of a row."""
        launch = self.device.kernel_of("cudnn_rnn_steps.cu", kernel, self.weights[1].dtype)
        sizes = map(np.int32, (t, self.B, units, self.width))
        numbers = (np.int32(self.mode == "rnn_relu"),) if self.mode.startswith("rnn") else ()
        launch(*sizes, *numbers, self.lengths, *arguments, **cells(self.B, units))


def rnn_sequence(
    device: Primitives,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Weights,
    reserve: CudaArray | None,
    *,
    rnn_mode: str,
    lengths: Any,
    training: bool,
) -> tuple[CudaArray, CudaArray, CudaArray | None]:
    """Run one recurrent layer over a whole sequence: y (T, B, D*P), h_n (D, B, P), c_n (D, B, H) or None."""
    if x.dtype == np.float16:
        wide = None if reserve is None else device.empty(reserve.shape, np.float32)
        x, h0, c0, weights = single(device, [x, h0, c0, list(weights)])
        results = rnn_sequence(device, x, h0, c0, weights, wide, rnn_mode=rnn_mode, lengths=lengths, training=training)
        if reserve is not None and wide is not None:
            copy(device, reserve, wide)
        y, h_n, c_n = (None if a is None else device.cast(a, np.float16) for a in results)
        assert y is not None and h_n is not None
        return y, h_n, c_n

    (T, B, _), (D, _, P) = x.shape, h0.shape
    lengths, ends = on_device(device, lengths, T, B)
    x = without_padding(device, x, lengths)
    y = device.empty((T, B, D * P), x.dtype)
    h_n = device.contiguous(h0, always=True)
    c_n = None if c0 is None else device.contiguous(c0, always=True)
    H = weights[0][1].shape[0] // GATES[rnn_mode]
    kept = blocks_of(reserve if training else None, rnn_mode, T, B, H, D)
    for d in range(D):
        layer = Layer(device, rnn_mode, T, B, H, P, d, D * P, lengths, ends, in_c_order(device, weights[d]))
        _forward(layer, x, h_n[d], None if c_n is None else c_n[d], None if kept is None else kept[d], y)
    return y, h_n, c_n


def _forward(
    layer: Layer, x: CudaArray, h: CudaArray, c: CudaArray | None, kept: CudaArray | None, y: CudaArray
) -> None:
    """Fill this direction's columns of y; h (B, P) and c (B, H) go from the first state to the last."""
    device, B, H, P = layer.device, layer.B, layer.H, layer.P
    _, R, Wp, bW, bR = layer.weights
    A = input_part(layer, x)  # (T, B, G*H)
    R_T = device.transpose(R, (1, 0))
    a2 = device.empty((B, layer.G * H), x.dtype) if layer.mode == "gru" else None
    m, projected = (device.empty((B, n), x.dtype) for n in (H, P)) if Wp is not None else (None, None)
    for t in layer.visits():
        values = None if kept is None else kept[t]
        here = layer.mine(y, t)
        if layer.mode == "gru":
            assert a2 is not None
            product(device, h, R_T, a2)
            layer.run("gru_step", t, H, A[t], a2, bW, bR, values, h, here)
            continue
        product(device, h, R_T, A[t], beta=1.0)
        if layer.mode == "lstm":
            layer.run("lstm_step", t, H, A[t], bW, bR, c, values, m, h, here)
        else:
            layer.run("rnn_step", t, H, A[t], bW, bR, h, here)
        if projected is not None and m is not None:
            product(device, m, device.transpose(Wp, (1, 0)), projected)
            layer.run("projected_step", t, P, projected, h, here)


def input_part(layer: Layer, x: CudaArray) -> CudaArray:
    """x W' of all steps, (T, B, G*H); with skip_input x for every gate."""
    device, W = layer.device, layer.weights[0]
    A = device.empty((layer.T, layer.B, layer.G * layer.H), x.dtype)
    if W is None:
        gates = A.seen_as((layer.T * layer.B, layer.G, layer.H), (layer.G * layer.H, layer.H, 1))
        each = flat(x).seen_as(gates.shape, (layer.H, 0, 1))
        copy(device, gates, each)
    else:
        product(device, flat(x), device.transpose(W, (1, 0)), flat(A))
    return A


def rnn_sequence_grad(
    device: Primitives,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Weights,
    reserve: CudaArray,
    y: CudaArray,
    dy: CudaArray,
    dh_n: CudaArray,
    dc_n: CudaArray | None,
    dweights: Weights,
    *,
    rnn_mode: str,
    lengths: Any,
    need_dx: bool = True,
) -> tuple[CudaArray | None, CudaArray, CudaArray | None]:
    """Gradients of `rnn_sequence`: dx (T, B, in) or None, dh0 (D, B, P), dc0 (D, B, H) or None; sets `dweights`."""
    if x.dtype == np.float16:
        inputs = [x, h0, c0, list(weights), reserve, y, dy, dh_n, dc_n]
        x, h0, c0, weights, reserve, y, dy, dh_n, dc_n = single(device, inputs)
        sums: Any = [
            tuple(None if a is None else device.empty(a.shape, np.float32) for a in parts) for parts in dweights
        ]
        wide = rnn_sequence_grad(
            device, x, h0, c0, weights, reserve, y, dy, dh_n, dc_n, sums,
            rnn_mode=rnn_mode, lengths=lengths, need_dx=need_dx,
        )  # fmt: skip
        for target, source in zip(dweights, sums, strict=True):
            for a, b in zip(target, source, strict=True):
                if a is not None:
                    copy(device, a, b)
        dx, dh0, dc0 = (None if a is None else device.cast(a, np.float16) for a in wide)
        assert dh0 is not None
        return dx, dh0, dc0

    (T, B, _), (D, _, P) = x.shape, h0.shape
    lengths, ends = on_device(device, lengths, T, B)
    x, y, dy = without_padding(device, x, lengths), device.contiguous(y), device.contiguous(dy)
    dx = device.full(x.shape, 0, x.dtype) if need_dx else None
    dh0 = device.contiguous(dh_n, always=True)
    dc0 = None if dc_n is None else device.contiguous(dc_n, always=True)
    H = weights[0][1].shape[0] // GATES[rnn_mode]
    kept = blocks_of(reserve, rnn_mode, T, B, H, D)
    for d in range(D):
        layer = Layer(device, rnn_mode, T, B, H, P, d, D * P, lengths, ends, in_c_order(device, weights[d]))
        dc = None if dc0 is None else dc0[d]
        _backward(layer, x, h0[d], None if kept is None else kept[d], y, dy, dh0[d], dc, dweights[d], dx)
    return dx, dh0, dc0


def _backward(
    layer: Layer,
    x: CudaArray,
    h0: CudaArray,
    kept: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    dweights: tuple[Any, ...],
    dx: CudaArray | None,
) -> None:
    """Set `dweights` and add to dx; dh (B, P) and dc (B, H) go from the gradients of the last state to the first's."""
    device, T, B, H, P = layer.device, layer.T, layer.B, layer.H, layer.P
    _, R, Wp, _, _ = layer.weights
    gru = layer.mode == "gru"
    # gru: columns q r z n, of which the first three are dA2 and the last three dA; else both are the same.
    dA = device.empty((T, B, 4 * H if gru else layer.G * H), x.dtype)
    dA2 = dA[:, :, : 3 * H] if gru else dA
    if gru:
        R = device.concatenate([R[2 * H :], R[: 2 * H]], 0)
    ds, ms = (device.empty((T, B, n), x.dtype) for n in (P, H)) if Wp is not None else (None, None)
    dm = device.empty((B, H), x.dtype) if Wp is not None else None
    for t in layer.returns():
        there = layer.mine(dy, t)
        if ds is not None and ms is not None and dm is not None:
            layer.run("projected_step_grad", t, P, there, dh, ds[t])
            product(device, ds[t], Wp, dm)
        m = None if ms is None else ms[t]
        if layer.mode == "lstm":
            assert kept is not None
            layer.run("lstm_step_grad", t, H, kept[t], there, dm, dh, dc, dA[t], m)
        elif gru:
            assert kept is not None
            layer.run("gru_step_grad", t, H, kept[t], there, dh, dA[t])
        else:
            layer.run("rnn_step_grad", t, H, layer.mine(y, t), there, dh, dA[t])
        product(device, dA2[t], R, dh, beta=1.0)
    _weight_gradients(layer, x, h0, y, flat_columns(dA, H if gru else 0), flat_columns(dA2, 0), ds, ms, dweights)
    if dx is not None:
        _input_gradient(layer, flat_columns(dA, H if gru else 0), dx)


def flat_columns(a: CudaArray, start: int) -> CudaArray:
    """(T, B, n) as a matrix (T*B, n - start) without its first columns."""
    T, B, n = a.shape
    return a.seen_as((T * B, n - start), (a.steps[1], 1), start)


def _weight_gradients(
    layer: Layer,
    x: CudaArray,
    h0: CudaArray,
    y: CudaArray,
    dA: CudaArray,
    dA2: CudaArray,
    ds: CudaArray | None,
    ms: CudaArray | None,
    dweights: tuple[Any, ...],
) -> None:
    device, T, B, H, P = layer.device, layer.T, layer.B, layer.H, layer.P
    dW, dR, dWp, dbW, dbR = dweights
    turned = lambda a: device.transpose(a, (1, 0))  # noqa: E731
    if dW is not None:
        product(device, turned(dA), flat(x), dW)
    if dWp is not None and ds is not None and ms is not None:
        product(device, turned(flat(ds)), flat(ms), dWp)
    # h' of a step is the output of the step before, and h0 at the first step of each row.
    rows = slice(0, (T - 1) * B), slice(B, T * B)
    later, earlier = (rows[1], rows[0]) if layer.number == 0 else rows
    mine = y.seen_as((T * B, P), (layer.width, 1), layer.number * P)
    first = dA2[:B] if layer.number == 0 else device.getitem(dA2, ((layer.ends - 1) * B + np.arange(B),))
    sums = device.full((1, T * B), 1, x.dtype)
    total = device.empty((1, dA2.shape[1]), x.dtype)
    product(device, sums, dA2, total)
    # gru: q r z in dA2, r z n in the weights
    pieces = [(slice(0, dA2.shape[1]), slice(None))]
    if layer.mode == "gru":
        pieces = [(slice(H, 3 * H), slice(0, 2 * H)), (slice(0, H), slice(2 * H, 3 * H))]
    for columns, target in pieces:
        product(device, turned(first[:, columns]), h0, dR[target])
        if T > 1:
            product(device, turned(dA2[later, columns]), mine[earlier], dR[target], beta=1.0)
        copy(device, dbR[target], total[0, columns])
    if layer.mode == "gru":
        total = device.empty((1, 3 * H), x.dtype)
        product(device, sums, dA, total)
    copy(device, dbW, total[0])


def _input_gradient(layer: Layer, dA: CudaArray, dx: CudaArray) -> None:
    device, W = layer.device, layer.weights[0]
    if W is not None:
        product(device, dA, W, flat(dx), beta=1.0)
        return
    each = dA.seen_as((layer.T, layer.B, layer.G, layer.H), (layer.B * dA.steps[0], dA.steps[0], layer.H, 1))
    copy(device, dx, device.add(dx, device.sum(each, (2,), False)))


# ---- what comes in


def blocks_of(reserve: CudaArray | None, rnn_mode: str, T: int, B: int, H: int, D: int) -> CudaArray | None:
    """The reserve array as (D, T, values, B, H); None if nothing is kept."""
    names = VALUES[rnn_mode]
    if reserve is None or not names:
        return None
    shape = (D, T, len(names), B, H)
    assert reserve.size == prod(shape)
    return reserve.seen_as(shape, tuple(prod(shape[k + 1 :]) for k in range(5)))


def on_device(device: Primitives, lengths: Any, T: int, B: int) -> tuple[CudaArray | None, np.ndarray]:
    """The lengths for kernels, None if all rows have T steps; and for the host."""
    if lengths is None:
        return None, np.full(B, T)
    ends = np.asarray(lengths).astype(np.int64)
    return (None if (ends == T).all() else device.asarray(ends.astype(np.int32))), ends


def without_padding(device: Primitives, x: CudaArray, lengths: CudaArray | None) -> CudaArray:
    """x in C order, with zeros where a row does not count."""
    x = device.contiguous(x)
    if lengths is None or not x.size:
        return x
    T, B, n = x.shape
    clean = device.empty(x.shape, x.dtype)
    run = device.kernel_of("cudnn_rnn_steps.cu", "without_padding", x.dtype)
    run(*map(np.int32, (T * B, B, n)), lengths, x, clean, **cells(T * B, n))
    return clean


def in_c_order(device: Primitives, weights: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if w is None else in_order(device, w)[0] for w in weights)


def single(device: Primitives, a: Any) -> Any:
    """`a`, or each array in nested lists and tuples, in float32."""
    if isinstance(a, (list, tuple)):
        return type(a)(single(device, b) for b in a)
    return None if a is None else device.cast(a, np.float32)
