"""Whole layers on the device `native`, by name, as `tests/devices/cpu/cudnn_rnn/layer_cases.py` provides them
for cpu.
"""

from __future__ import annotations

from typing import Any

from pytest import MonkeyPatch
from tests.devices.cpu.cudnn_rnn.layer_cases import Layer, named, unwritten

import minirnn as mr
from minirnn.devices.cpu import workspace


def native_layer(layer: Layer) -> dict[str, Any]:
    """All outputs and gradients; scratch that is read before it is written would be NaN."""
    device: Any = mr.devices.get("native")
    n, attributes = layer, layer.attributes
    with MonkeyPatch.context() as patch:
        patch.setattr(workspace, "empty", unwritten)
        y, h_n, c_n, saved = device.rnn_sequence(n.x, n.h0, n.c0, n.weights, training=True, **attributes)
        dx, dh0, dc0, dweights = device.rnn_sequence_grad(
            n.x, n.h0, n.c0, n.weights, saved, y, n.dy, n.dh_n, n.dc_n, need_dx=True, **attributes
        )
    return named(y, h_n, c_n, dx, dh0, dc0, dweights)
