"""TensorFlow's GRUBlockCell and GRUCell: columns are units, one bias, the reset gate acts before the product.

    w_ru = [W_r | R_r ; W_z | R_z]' (in+H, 2H)    w_c = [W_n | R_n]' (in+H, H)    b_ru (2H,)    b_c (H,)

TensorFlow's u is the hub's z: 1 keeps the old state. GRUCell calls the arrays gates/kernel, candidate/kernel,
gates/bias, candidate/bias. Old versions of GRUBlockCell stored w_ru under the name w_c and vice versa; the shapes
show it.
"""

from __future__ import annotations

import numpy as np

from minirnn.io.layouts import groups
from minirnn.io.layouts.base import Arrays
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights, halves
from minirnn.io.layouts.settings import Settings

OWN = ("w_ru", "w_c", "b_ru", "b_c")
GRU_CELL = ("gates/kernel", "candidate/kernel", "gates/bias", "candidate/bias")


class GRUBlockCell(groups.GroupedLayout):
    name = "tf.gru_block_cell"
    gates = {"gru": "ruc"}
    gru_kinds = ("reset_before",)
    form = "split"
    one_bias = True

    names = {name: name for name in OWN} | dict(zip(GRU_CELL, OWN, strict=True))

    def is_layer(self, group: groups.Group) -> bool:
        return {"w_ru", "w_c"} <= group.keys()

    def read(self, arrays: Arrays, settings: Settings) -> NetworkWeights:
        layers, D = self.layers(arrays)
        return NetworkWeights("gru", tuple(map(self._read_layer, layers)), D, "reset_before")

    def _read_layer(self, group: groups.Group) -> LayerWeights:
        if set(group) != set(OWN):
            raise ValueError(f"convert: {self.name}: got {', '.join(group)}\n  expected {', '.join(OWN)}")
        w_ru, w_c, b_ru, b_c = (group[name] for name in OWN)
        if w_ru.ndim == w_c.ndim == 2 and w_c.shape[1] == 2 * w_ru.shape[1]:
            w_ru, w_c = w_c, w_ru
        if b_c.shape == (2 * b_ru.size,):
            b_ru, b_c = b_c, b_ru
        H = b_c.size
        rows = w_c.shape[0] if w_c.ndim == 2 else 0
        shapes = [a.shape for a in (w_ru, w_c, b_ru, b_c)]
        if shapes != [(rows, 2 * H), (rows, H), (2 * H,), (H,)] or rows <= H:
            raise ValueError(
                f"convert: {self.name}: w_ru, w_c, b_ru, b_c have shapes {', '.join(map(str, shapes))}\n"
                "  expected (in+H, 2*H), (in+H, H), (2*H,), (H,)"
            )
        WR = np.concatenate([w_ru, w_c], axis=1).T  # (3H, in+H), gates r, u, c: the hub's r, z, n
        return LayerWeights(WR[:, :-H], WR[:, -H:], *halves(np.concatenate([b_ru, b_c])))

    def write_layer(self, weights: NetworkWeights, layer: LayerWeights, beside: Settings) -> groups.Group:
        H = weights.network().H
        w, b = np.concatenate([layer.W, layer.R], axis=1).T, layer.bias()  # (in+H, 3H), (3H,)
        return dict(zip(OWN, (w[:, : 2 * H], w[:, 2 * H :], b[: 2 * H], b[2 * H :]), strict=True))
