"""Whole layers on the device `native`, by name, as `tests/devices/cpu/sequence/layer_cases.py` has them for cpu."""

from __future__ import annotations

from typing import Any

import numpy as np
from pytest import MonkeyPatch

import minirnn as mr
from minirnn.devices.base import Weights
from minirnn.devices.cpu import workspace
from tests.devices.cpu.sequence.layer_cases import Layer, named, unwritten


def native_layer(n: Layer) -> dict[str, Any]:
    """All outputs and gradients; scratch that is read before it is written would be NaN."""
    device: Any = mr.devices.get("native")
    with MonkeyPatch.context() as patch:
        patch.setattr(workspace, "empty", unwritten)
        given = n.x, n.h0, n.c0, n.weights
        y, h_n, c_n, saved = device.cell_sequence(*given, training=True, **n.attributes)
        found = device.cell_sequence_grad(*given, saved, y, n.dy, n.dh_n, n.dc_n, need_dx=True, **n.attributes)
    return named(y, h_n, c_n, *found)


def scaled(n: Layer) -> Layer:
    """The layer with weights of the size that networks have, so that errors do not grow from step to step."""
    scale = 0.6 * len(n.weights[0].bW) ** -0.5
    weights = [Weights(*[None if w is None else (scale * w).astype(w.dtype) for w in own[:5]]) for own in n.weights]
    return n._replace(weights=weights)


def in_float64(n: Layer) -> Layer:
    """The same numbers in float64; NaN in the padding is 0."""

    def wide(a: Any) -> Any:
        return np.nan_to_num(a.astype(np.float64)) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a

    arrays = {name: wide(getattr(n, name)) for name in ("x", "h0", "c0", "dy", "dh_n", "dc_n")}
    zoneout = None if n.zoneout is None else tuple(map(wide, n.zoneout))
    return n._replace(**arrays, weights=[Weights(*map(wide, own[:5])) for own in n.weights], zoneout=zoneout)
