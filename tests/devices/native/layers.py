"""Whole layers on the device `native`, by name, as `tests/devices/cpu/cudnn_rnn/layer_cases.py` has them of cpu."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from tests.devices.cpu.cudnn_rnn.layer_cases import GATES, Layer, named


def native_layer(layer: Layer) -> dict[str, Any]:
    """All outputs and gradients; scratch that is read before it is written would be NaN."""
    device: Any = mr.devices.get("native")
    n, attributes = layer, layer.attributes
    W, R, Wp, _, _ = n.weights[0]
    (T, B, I), H = n.x.shape, len(R) // GATES[n.rnn_mode]
    sizes = T, B, I, H, R.shape[1], len(n.weights), Wp is not None, W is None
    parts = device.rnn_sequence_reserve_layout(n.rnn_mode, *sizes)
    reserve = np.full(sum(int(np.prod(shape)) for _, shape in parts), np.nan, n.x.dtype)
    y, h_n, c_n = device.rnn_sequence(n.x, n.h0, n.c0, n.weights, reserve, training=True, **attributes)
    dweights = [tuple(None if a is None else np.full_like(a, np.nan) for a in parts) for parts in n.weights]
    dx, dh0, dc0 = device.rnn_sequence_grad(
        n.x, n.h0, n.c0, n.weights, reserve, y, n.dy, n.dh_n, n.dc_n, dweights, need_dx=True, **attributes
    )
    return named(y, h_n, c_n, dx, dh0, dc0, dweights)
