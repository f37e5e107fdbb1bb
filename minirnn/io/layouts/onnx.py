"""ONNX' LSTM, GRU and RNN: rows are units, both directions in one array, gates i, o, f, c and z, r, h.

    W (D, G*H, in)    R (D, G*H, H)    B = [bW | bR] (D, 2*G*H)    P = [wci | wco | wcf] (D, 3*H), lstm only

One node is one layer; several are written as layer_0/W, ... The attribute linear_before_reset says which GRU it is (1:
reset_after, 0, the default: reset_before), the attribute activations which RNN; the arrays don't.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from minirnn.io.layouts import groups
from minirnn.io.layouts.base import Arrays, mode_of
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights, peephole
from minirnn.io.layouts.settings import Settings, missing


class ONNX(groups.GroupedLayout):
    name = "onnx"
    gates = {"lstm": "iofc", "gru": "zrh", "rnn_tanh": "", "rnn_relu": ""}
    gru_kinds = ("reset_after", "reset_before")
    form = "rows"
    peepholes = True

    names = {name: name for name in "WRBP"}

    def is_layer(self, group: groups.Group) -> bool:
        return {"W", "R"} <= group.keys() and group["W"].ndim == group["R"].ndim == 3

    def read(self, arrays: Arrays, settings: Settings) -> NetworkWeights:
        layers_found, _ = self.layers(arrays)
        first = layers_found[0]
        D, GH, H = first["R"].shape
        rnn_mode = mode_of(self.name, GH, H, settings)
        if rnn_mode == "gru" and settings.gru is None:
            raise missing(self.name, "gru", "reset_after is linear_before_reset=1, reset_before is 0 (ONNX' default)")
        if D not in (1, 2):
            raise ValueError(f"convert: onnx: R has shape {first['R'].shape}\n  expected (D, G*H, H) with D = 1 or 2")
        layers = tuple(self._read_direction(group, d, D, rnn_mode) for group in layers_found for d in range(D))
        return NetworkWeights(rnn_mode, layers, D, settings.gru if rnn_mode == "gru" else None)

    def _read_direction(self, group: groups.Group, d: int, D: int, rnn_mode: str) -> LayerWeights:
        to_hub = partial(self.to_hub, rnn_mode)
        _, GH, H = group["R"].shape
        for name, shape in (
            ("W", (D, GH, group["W"].shape[2])),
            ("R", (D, GH, H)),
            ("B", (D, 2 * GH)),
            ("P", (D, 3 * H)),
        ):
            if name in group and group[name].shape != shape:
                raise ValueError(f"convert: onnx: {name} has shape {group[name].shape}\n  expected {shape}, as R says")
        bW, bR = map(to_hub, np.split(group["B"][d], 2)) if "B" in group else (None, None)
        rows = None
        if "P" in group:
            wci, wco, wcf = np.split(group["P"][d], 3)
            rows = peephole([wci, wcf, wco])
        return LayerWeights(to_hub(group["W"][d]), to_hub(group["R"][d]), bW, bR, peephole=rows)

    def write(self, weights: NetworkWeights, settings: Settings) -> tuple[dict[str, np.ndarray], Settings]:
        D, from_hub = weights.directions, partial(self.from_hub, weights.rnn_mode)
        arrays = {}
        for l in range(len(weights.layers) // D):
            layers = weights.layers[l * D : (l + 1) * D]
            before = groups.prefix(l, 0, len(weights.layers) // D, 1)
            arrays[before + "W"] = np.stack([from_hub(layer.W) for layer in layers])
            arrays[before + "R"] = np.stack([from_hub(layer.R) for layer in layers])
            if weights.has_bias:
                arrays[before + "B"] = np.stack(
                    [np.concatenate([from_hub(b) for b in (layer.bW, layer.bR) if b is not None]) for layer in layers]
                )
            if any(layer.peephole is not None for layer in layers):
                none = np.zeros((3, layers[0].R.shape[1]), layers[0].R.dtype)
                rows = [none if layer.peephole is None else layer.peephole for layer in layers]
                arrays[before + "P"] = np.stack([np.concatenate([wci, wco, wcf]) for wci, wcf, wco in rows])
        return arrays, Settings()
