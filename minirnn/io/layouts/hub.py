"""The hub: one form of the weights of a recurrent network, between all the layouts of other libraries.

A layout is read into `NetworkWeights` and written from them, so n layouts need 2n converters instead of n*n. The hub
is what cuDNN and torch compute with: per layer and direction the gates stacked in cuDNN's order (lstm i, f, n, o; gru
r, z, n), rows are units, and two biases::

    W (G*H, in)   R (G*H, P)   Wp (P, H) or None   bW, bR (G*H,) or None

There may be two biases or one. Where both biases of a gate are added in one place (lstm, rnn, the gates r and z, and
all of a GRU that resets before the product), only their sum b matters::

    to a layout with one bias      b = bW + bR
    from a layout with one bias    bW = b/2     bR = b - bW

TensorFlow also uses halves when it restores a cuDNN buffer from such a cell. They are a good choice: both biases get
the same gradient, so they stay equal in training, and weight decay affects both equally. Outputs are the same for every
split; halves also add up to exactly b, so one bias -> two -> one returns every bit. The split of two -> one -> two is
lost. The exception is n of a GRU that resets after the product: r multiplies bR_n and not bW_n, and no layout adds them
up.

There are two GRUs. They differ in where the reset gate r acts, and in general no weights turn one into the other::

    reset_after     n = tanh(x W_n' + bW_n + r * (h R_n' + bR_n))     cuDNN, torch, Keras' default
    reset_before    n = tanh(x W_n' + (r * h) R_n' + b_n)             GRUBlockCell, Keras' reset_after=False

ONNX has both: linear_before_reset = 1 is reset_after, 0 is reset_before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minirnn.ops.cudnn_rnn.params import Network

GRU_KINDS = ("reset_after", "reset_before")
FLOATS = ("float16", "float32", "float64")


class LayerWeights(NamedTuple):
    """One direction of one layer. Gates are stacked in cuDNN's order."""

    W: np.ndarray  # (G*H, in)
    R: np.ndarray  # (G*H, P)
    bW: np.ndarray | None = None  # (G*H,); both biases or none
    bR: np.ndarray | None = None  # (G*H,)
    Wp: np.ndarray | None = None  # (P, H), only with a projection
    peephole: np.ndarray | None = None  # (3, H): wci, wcf, wco

    def bias(self) -> np.ndarray:
        """The sum of both biases (G*H,), zeros without."""
        if self.bW is None or self.bR is None:
            return np.zeros(self.W.shape[0], self.W.dtype)
        return self.bW + self.bR


def halves(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two biases that add up to exactly `b`, even where b/2 is rounded (among the smallest numbers)."""
    bW = b / 2
    return bW.astype(b.dtype), (b - bW).astype(b.dtype)


@dataclass(frozen=True)
class NetworkWeights:
    """All weights of a network, layer by layer.

    Raises ValueError if the arrays don't fit each other, and TypeError if they are not all of one dtype, float16,
    float32 or float64.

    Attributes
    ----------
    rnn_mode : {"lstm", "gru", "rnn_tanh", "rnn_relu"}
    layers : tuple of LayerWeights
        Entry l*D + d is direction d of layer l.
    directions : int
        D.
    gru : {"reset_after", "reset_before"} or None
        The kind of GRU; None for the other modes.
    cell_clip : float
        The limit of the cell state with which the network was run, 0 for none (only TensorFlow's block cells have one).
    """

    rnn_mode: str
    layers: tuple[LayerWeights, ...]
    directions: int = 1
    gru: str | None = None
    cell_clip: float = 0.0

    def __post_init__(self) -> None:
        dtypes = {a.dtype for layer in self.layers for a in layer if a is not None}
        if len(dtypes) > 1 or next(iter(dtypes)).name not in FLOATS:
            raise TypeError(
                f"weights: dtypes are {', '.join(sorted(map(str, dtypes)))}\n"
                f"  expected one of {', '.join(FLOATS)} for all"
            )
        net = self.network()
        GH, H = net.G * net.H, net.H
        has_bias = self.layers[0].bW is not None
        for p, layer in enumerate(self.layers):
            where = f"layer {p // net.D}" + (f", {('forward', 'reverse')[p % net.D]}" if net.D > 1 else "")
            _check(where, "input matrix", layer.W, (GH, net.in_size(p // net.D)), "G*H, I" if p < net.D else "G*H, D*P")
            _check(where, "recurrent matrix", layer.R, (GH, net.P), "G*H, P")
            _check(where, "projection", layer.Wp, (net.P, H) if net.num_proj else None, "P, H")
            _check(where, "input bias", layer.bW, (GH,) if has_bias else None, "G*H,")
            _check(where, "recurrent bias", layer.bR, (GH,) if has_bias else None, "G*H,")
            if layer.peephole is not None:
                _check(where, "peephole weights", layer.peephole, (3, H), "3, H")

    def network(self, input_mode: str = "linear_input") -> Network:
        """The sizes of the network, and of its parameter buffer in cuDNN."""
        first, D = self.layers[0], self.directions
        P = first.R.shape[1]
        num_proj, H = (0, P) if first.Wp is None else (P, first.Wp.shape[1])
        direction = "bidirectional" if D == 2 else "unidirectional"
        I = first.W.shape[1]
        return Network(self.rnn_mode, len(self.layers) // D, H, I, direction, input_mode, num_proj, op="weights")

    @property
    def has_bias(self) -> bool:
        return self.layers[0].bW is not None

    @property
    def has_peephole(self) -> bool:
        return any(layer.peephole is not None for layer in self.layers)

    def __str__(self) -> str:
        net = self.network()
        kind = f" ({self.gru})" if self.gru else ""
        proj = f", P {net.P}" if net.num_proj else ""
        layers = f"{net.L} layer{'s' if net.L > 1 else ''}"
        return f"{self.rnn_mode}{kind}, {layers}, {net.direction}, I {net.I}, H {net.H}{proj}"


def _check(where: str, what: str, array: np.ndarray | None, shape: tuple[int, ...] | None, letters: str) -> None:
    got = None if array is None else array.shape
    if got != shape:
        turned = got is not None and shape is not None and len(got) == len(shape) == 2 and got[1] == shape[0] != got[0]
        raise ValueError(
            f"weights: {what} of {where}: {'none' if got is None else f'shape {got}'}\n"
            f"  expected {'none, as in layer 0' if shape is None else f'({letters}) = {shape}'}"
            + ("\n  likely transposed" if turned else "")
        )


def peephole(rows: Iterable[np.ndarray]) -> np.ndarray | None:
    """wci, wcf and wco, stacked; None if all are zero, since then nothing is lost."""
    stacked = np.stack(list(rows))
    return stacked if stacked.any() else None
