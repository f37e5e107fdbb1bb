"""TensorFlow's cells with one weight matrix: LSTMBlockCell and BlockLSTM, BlockLSTMV2, BasicRNNCell.

    w = [W | R]' (in+H, G*H)    b = bW + bR (G*H,)

Rows are the inputs, then h; columns are the gates: i, c, f, o (LSTMBlockCell, BlockLSTM, also LSTMCell's ``kernel`` and
``bias``), i, f, c, o (BlockLSTMV2), one without a name (BasicRNNCell). The two LSTMs have arrays of the same names and
shapes.

LSTMBlockCell and BlockLSTM add an attribute, forget_bias, to the forget gate when they run. It belongs to the bias of
every other library, so it is added to b_f on the way out and subtracted on the way in (which rounds, as every sum
does). The arrays don't contain its value. TensorFlow's default is 1, and a file written here is for a cell with the
default unless told otherwise.

Peephole weights wci, wcf, wco (H,) are read and written; all zero counts as none.
"""

from __future__ import annotations

import numpy as np

from minirnn.io.layouts import groups
from minirnn.io.layouts.base import Arrays
from minirnn.io.layouts.gates import CUDNN_GATES, gate
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights, halves, peephole
from minirnn.io.layouts.settings import Settings, missing

PEEPHOLES = ("wci", "wcf", "wco")
FORGET_BIAS = 1.0
"""TensorFlow's default for LSTMBlockCell and BlockLSTM."""


class OneMatrix(groups.GroupedLayout):
    """Reads and writes [W | R]'; the subclasses define the cell."""

    names = {"w": "w", "kernel": "w", "b": "b", "bias": "b"}
    names |= dict.fromkeys(("recurrent_kernel", "gates/kernel", "candidate/kernel"), "other")
    form = "fused"
    one_bias = True

    def is_layer(self, group: groups.Group) -> bool:
        """Whether there is such a matrix, and no array of Keras or of the GRU cell."""
        return "w" in group and "other" not in group

    def claims(self, arrays: Arrays) -> bool:
        return any("b" in group and self._fits(group["w"]) for group in self.collect(arrays).values())

    def _fits(self, w: np.ndarray) -> bool:
        """Whether `w` can be (in+H, G*H) with in > 0."""
        G = self._gates()
        return w.ndim == 2 and w.shape[1] % G == 0 and w.shape[0] > w.shape[1] // G > 0

    def _gates(self) -> int:
        return max(1, len(next(iter(self.gates.values()))))

    def read(self, arrays: Arrays, settings: Settings) -> NetworkWeights:
        (layers, D), G = self.layers(arrays), self._gates()
        for folder, group in self.collect(arrays).items():
            w, b = group["w"], group.get("b")
            if not self._fits(w) or b is None or b.shape != w.shape[1:]:
                got = f"w {w.shape}, {'no b' if b is None else f'b {b.shape}'}"
                raise ValueError(
                    f"convert: {self.name}: {folder or 'the file'} has {got}\n  expected w (in+H, {G}*H), b ({G}*H,)"
                )
        rnn_mode = self._mode(settings)
        forget_bias = 0.0
        if self.adds_forget_bias:
            if settings.forget_bias is None:
                raise missing(self.name, "forget_bias", "the cell adds it to b when it runs (TensorFlow's default: 1)")
            forget_bias = settings.forget_bias
        read = tuple(self._read_layer(group, rnn_mode, forget_bias) for group in layers)
        return NetworkWeights(rnn_mode, read, D, cell_clip=settings.cell_clip or 0.0 if self.clip else 0.0)

    def _mode(self, settings: Settings) -> str:
        if len(self.gates) == 1:
            return next(iter(self.gates))
        if settings.rnn_mode not in self.gates:
            raise missing(self.name, "rnn_mode", "rnn_tanh and rnn_relu have the same arrays")
        return settings.rnn_mode

    def _read_layer(self, group: groups.Group, rnn_mode: str, forget_bias: float) -> LayerWeights:
        WR = self.to_hub(rnn_mode, group["w"].T)  # (G*H, in+H)
        H = WR.shape[0] // self._gates()
        b = self.to_hub(rnn_mode, group["b"])
        if forget_bias:
            b = shifted(b, CUDNN_GATES[rnn_mode], forget_bias)
        rows = [group[name] for name in PEEPHOLES if name in group]
        if rows and [a.shape for a in rows] != [(H,)] * 3:
            raise ValueError(
                f"convert: {self.name}: peephole weights of shapes {[a.shape for a in rows]}\n"
                f"  expected wci, wcf, wco, each (H,) = ({H},), or none of them"
            )
        return LayerWeights(WR[:, :-H], WR[:, -H:], *halves(b), peephole=peephole(rows) if rows else None)

    def beside(self, weights: NetworkWeights, settings: Settings) -> Settings:
        forget_bias = None
        if self.adds_forget_bias:
            forget_bias = FORGET_BIAS if settings.forget_bias is None else settings.forget_bias
        return Settings(forget_bias=forget_bias, cell_clip=weights.cell_clip if self.clip else None)

    def write_layer(self, weights: NetworkWeights, layer: LayerWeights, beside: Settings) -> groups.Group:
        mode, b = weights.rnn_mode, layer.bias()
        if beside.forget_bias:
            b = shifted(b, CUDNN_GATES[mode], -beside.forget_bias)
        arrays = {"w": self.from_hub(mode, np.concatenate([layer.W, layer.R], axis=1)).T, "b": self.from_hub(mode, b)}
        if layer.peephole is not None:
            arrays |= dict(zip(PEEPHOLES, layer.peephole, strict=True))
        return arrays


def shifted(b: np.ndarray, order: str, by: float) -> np.ndarray:
    """A bias with `by` added to its forget gate."""
    b = b.copy()
    b[gate(b, "f", order)] += b.dtype.type(by)
    return b


class LSTMBlockCell(OneMatrix):
    name = "tf.lstm_block_cell"
    names = OneMatrix.names | {name: name for name in PEEPHOLES}
    gates = {"lstm": "icfo"}
    peepholes = clip = adds_forget_bias = True


class BlockLSTMV2(OneMatrix):
    name = "tf.block_lstm_v2"
    names = OneMatrix.names | {name: name for name in PEEPHOLES}
    gates = {"lstm": "ifco"}
    peepholes = clip = True


class BasicRNNCell(OneMatrix):
    name = "tf.basic_rnn_cell"
    gates = {"rnn_tanh": "", "rnn_relu": ""}
