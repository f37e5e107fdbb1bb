"""What all rungs of the CudnnRNN ladder share: a layer's sizes, and the products over all of its steps at once.

Formulas, shapes and their explanation: `minirnn/devices/cpu/cudnn_rnn/layer.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn.layout import GATES
from minirnn.devices.cuda.launch.lstm_block.sequence import flat
from minirnn.devices.cuda.launch.narrow import in_order
from minirnn.devices.cuda.launch.primitives.elementwise import cells, copy
from minirnn.devices.cuda.launch.primitives.products import product

if TYPE_CHECKING:
    from minirnn.devices.cuda.primitives import Primitives

VALUES = {"rnn_relu": (), "rnn_tanh": (), "gru": ("r", "z", "n", "q", "h_prev"), "lstm": ("i", "f", "n", "o", "c_prev")}
"""What a step keeps for the way back, (B, H) each, besides y."""

Weights = Sequence[tuple[Any, ...]]


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

    @property
    def numbers(self) -> tuple[Any, ...]:
        """All that makes two directions different loops, arrays apart."""
        return self.mode, self.T, self.B, self.H, self.P, self.number, self.width

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


@dataclass
class GateGradients:
    """What a backward pass leaves for the products after it, for one direction."""

    dA: CudaArray
    """Of the pre-activations: (T, B, G*H). gru: (T, B, 4*H), columns q r z n; the first three are dA2, the last dA."""
    ds: CudaArray | None = None
    """With a projection: the gradients of its results, (T, B, P)."""
    ms: CudaArray | None = None
    """With a projection: its inputs, (T, B, H)."""


def input_part(layer: Layer, x: CudaArray, A: CudaArray) -> None:
    """Set A (T, B, G*H) to x W' of all steps; with skip_input to x for every gate."""
    device, W = layer.device, layer.weights[0]
    if W is not None:
        product(device, flat(x), device.transpose(W, (1, 0)), flat(A))
        return
    gates = A.seen_as((layer.T * layer.B, layer.G, layer.H), (layer.G * layer.H, layer.H, 1))
    copy(device, gates, flat(x).seen_as(gates.shape, (layer.H, 0, 1)))


def all_input_parts(layers: list[Layer], x: CudaArray) -> CudaArray:
    """The input parts of all directions, (D, T, B, G*H)."""
    layer = layers[0]
    A = layer.device.empty((len(layers), layer.T, layer.B, layer.G * layer.H), x.dtype)
    for d, each in enumerate(layers):
        input_part(each, x, A[d])
    return A


def all_gate_gradients(layers: list[Layer], dtype: np.dtype) -> CudaArray:
    """Room for the `GateGradients.dA` of all directions: (D, T, B, columns)."""
    layer = layers[0]
    columns = 4 if layer.mode == "gru" else layer.G
    return layer.device.empty((len(layers), layer.T, layer.B, columns * layer.H), dtype)


def stacked(device: Primitives, arrays: list[CudaArray]) -> CudaArray:
    """Arrays of one shape behind each other, in C order."""
    if len(arrays) == 1:
        return device.contiguous(arrays[0])
    result = device.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    for k, a in enumerate(arrays):
        copy(device, result[k], a)
    return result


def sums_over_steps(
    layer: Layer,
    x: CudaArray,
    h0: CudaArray,
    y: CudaArray,
    gradients: GateGradients,
    dweights: tuple[Any, ...],
    dx: CudaArray | None,
) -> None:
    """Set `dweights` of one direction and add to dx: single products over all steps and rows."""
    H = layer.H
    gru = layer.mode == "gru"
    dA = flat_columns(gradients.dA, H if gru else 0)
    dA2 = flat_columns(gradients.dA, 0)
    _weight_gradients(layer, x, h0, y, dA, dA2[:, : 3 * H] if gru else dA2, gradients, dweights)
    if dx is not None:
        _input_gradient(layer, dA, dx)


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
    gradients: GateGradients,
    dweights: tuple[Any, ...],
) -> None:
    device, T, B, H, P = layer.device, layer.T, layer.B, layer.H, layer.P
    dW, dR, dWp, dbW, dbR = dweights
    ds, ms = gradients.ds, gradients.ms
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
    run = device.kernel_of("cudnn_rnn/steps.cu", "without_padding", x.dtype)
    run(*map(np.int32, (T * B, B, n)), lengths, x, clean, **cells(T * B, n))
    return clean


def in_c_order(device: Primitives, weights: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if w is None else in_order(device, w)[0] for w in weights)


def single(device: Primitives, a: Any) -> Any:
    """`a`, or each array in nested lists and tuples, in float32."""
    if isinstance(a, (list, tuple)):
        return type(a)(single(device, b) for b in a)
    return None if a is None else device.cast(a, np.float32)
