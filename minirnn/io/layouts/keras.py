"""Keras' LSTM, GRU and SimpleRNN: columns are units, one bias, gates i, f, c, o and z, r, h.

    kernel = W' (in, G*H)    recurrent_kernel = R' (H, G*H)    bias = bW + bR (G*H,)

A GRU with reset_after=True (the default) keeps both biases, as rows of a bias (2, 3H): bW, then bR. With
reset_after=False its bias is (3H,), and it is the other kind of GRU. Without bias (use_bias=False) the arrays don't
tell which.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from minirnn.io.layouts import groups
from minirnn.io.layouts.base import Arrays, mode_of
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights, halves
from minirnn.io.layouts.settings import Settings, missing


class Keras(groups.GroupedLayout):
    name = "keras"
    gates = {"lstm": "ifco", "gru": "zrh", "rnn_tanh": "", "rnn_relu": ""}
    gru_kinds = ("reset_after", "reset_before")
    form = "columns"
    one_bias = True
    names = {name: name for name in ("kernel", "recurrent_kernel", "bias")}

    def is_layer(self, group: groups.Group) -> bool:
        return "recurrent_kernel" in group

    def read(self, arrays: Arrays, settings: Settings) -> NetworkWeights:
        layers, D = self.layers(arrays)
        for folder, group in self.collect(arrays).items():
            for name, letters in (("kernel", "in, G*H"), ("recurrent_kernel", "H, G*H")):
                if name not in group or group[name].ndim != 2:
                    got = f"has shape {group[name].shape}" if name in group else "is not there"
                    raise ValueError(f"convert: keras: {folder}{name} {got}\n  expected ({letters})")
        layers = [_standard(group) for group in layers]
        H, GH = layers[0]["recurrent_kernel"].shape
        rnn_mode = mode_of(self.name, GH, H, settings)
        gru = self._gru_kind(layers[0].get("bias"), settings) if rnn_mode == "gru" else None
        return NetworkWeights(rnn_mode, tuple(self._read_layer(group, rnn_mode, gru) for group in layers), D, gru)

    def _gru_kind(self, bias: np.ndarray | None, settings: Settings) -> str:
        if bias is None:
            if settings.gru is None:
                raise missing(self.name, "gru", "a GRU without bias: reset_after=True and False have the same arrays")
            return settings.gru
        return "reset_after" if bias.ndim == 2 else "reset_before"

    def _read_layer(self, group: groups.Group, rnn_mode: str, gru: str | None) -> LayerWeights:
        to_hub = partial(self.to_hub, rnn_mode)
        bW = bR = None
        if "bias" in group:
            bias = group["bias"]
            expected = (2, group["kernel"].shape[1]) if gru == "reset_after" else (group["kernel"].shape[1],)
            if bias.shape != expected:
                letters = "2, 3*H" if gru == "reset_after" else "G*H,"
                raise ValueError(f"convert: keras: bias has shape {bias.shape}\n  expected ({letters}) = {expected}")
            bW, bR = map(to_hub, bias if gru == "reset_after" else halves(bias))
        return LayerWeights(to_hub(group["kernel"].T), to_hub(group["recurrent_kernel"].T), bW, bR)

    def write_layer(self, weights: NetworkWeights, layer: LayerWeights, beside: Settings) -> groups.Group:
        W, R = (self.from_hub(weights.rnn_mode, a).T for a in (layer.W, layer.R))
        arrays = {"kernel": W, "recurrent_kernel": R}
        if layer.bW is not None and layer.bR is not None:
            b = [layer.bW, layer.bR] if weights.gru == "reset_after" else [layer.bias()]
            stacked = np.stack([self.from_hub(weights.rnn_mode, one) for one in b])
            arrays["bias"] = stacked if len(b) == 2 else stacked[0]
        return arrays


def _standard(group: groups.Group) -> groups.Group:
    """The weights of a layer; those of CuDNNLSTM and CuDNNGRU, whose bias has both parts, as of LSTM and GRU.

    cuDNN reads each matrix of a gate from memory as (H, in), where Keras has stored (in, H) without transposing it.
    """
    bias, (H, GH) = group.get("bias"), group["recurrent_kernel"].shape
    if bias is None or bias.shape != (2 * GH,) or GH not in (3 * H, 4 * H):
        return group
    G = GH // H
    found = dict(group)
    for name in ("kernel", "recurrent_kernel"):
        parts = [np.ascontiguousarray(k).reshape(H, -1).T for k in np.split(group[name], G, axis=1)]
        found[name] = np.concatenate(parts, axis=1)
    found["bias"] = bias.reshape(2, GH) if G == 3 else bias.reshape(2, GH).sum(0)
    return found
