"""The whole-sequence kernels, stacked as the op stacks them, against stored values of torch.

Tests `minirnn/devices/cpu/cudnn_rnn/layer.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cpu.cudnn_rnn.layer import rnn_sequence, rnn_sequence_grad
from tests.devices.cpu.cudnn_rnn.layer_cases import GATES
from tests.devices.cpu.kernel_checks import assert_within

GOLDEN = Path(__file__).parents[3] / "golden" / "cudnn_rnn"


def parameter_views(params: np.ndarray, a: dict[str, Any], skip: bool) -> list[list[tuple[Any, ...]]]:
    """Views of the flat parameter buffer, [layer][direction] -> (W, R, Wp, bW, bR): matrices first, then biases."""
    H, P = a["num_units"], a["num_proj"] or a["num_units"]
    GH, D = GATES[a["rnn_mode"]] * H, 2 if a["direction"] == "bidirectional" else 1
    at = 0

    def take(*shape: int) -> np.ndarray:
        nonlocal at
        at += int(np.prod(shape))
        return params[at - int(np.prod(shape)) : at].reshape(shape)

    matrices = []
    for layer in range(a["num_layers"]):
        width = a["input_size"] if layer == 0 else D * P
        for _ in range(D):
            W = None if layer == 0 and skip else take(GH, width)
            matrices.append((W, take(GH, P), take(P, H) if a["num_proj"] else None))
    flat = [(*m, take(GH), take(GH)) for m in matrices]
    assert at == params.size
    return [flat[layer * D : (layer + 1) * D] for layer in range(a["num_layers"])]


def run_layers(stored: dict[str, np.ndarray], a: dict[str, Any], dtype: Any) -> dict[str, np.ndarray]:
    """Stack layers as CudnnRNNV3 does: states by pseudo-layer l*D + d, masks between layers, the buffer in views."""
    lstm, D = a["rnn_mode"] == "lstm", 2 if a["direction"] == "bidirectional" else 1
    skip = a["input_mode"] == "skip_input" or (a["input_mode"] == "auto_select" and a["input_size"] == a["num_units"])

    def load(name: str) -> np.ndarray:
        value = stored[name].astype(dtype)
        return value if a["time_major"] or value.ndim < 3 else value.swapaxes(-3, -2)

    def store(value: np.ndarray) -> np.ndarray:
        return value if a["time_major"] else value.swapaxes(0, 1)

    x, h0 = load("input"), load("input_h")
    c0 = load("input_c") if lstm else None
    params = stored["params"].astype(dtype)
    params.flags.writeable = False
    weights = parameter_views(params, a, skip)
    masks = load("dropout_masks") if "dropout_masks" in stored else None
    attrs = {"rnn_mode": a["rnn_mode"], "lengths": stored.get("sequence_lengths")}

    inputs, outputs, kept, states = [x], [], [], []
    for layer, parts in enumerate(weights):
        mine = slice(layer * D, (layer + 1) * D)
        c = None if c0 is None else c0[mine]
        y, h_n, c_n, saved = rnn_sequence(inputs[-1], h0[mine], c, parts, training=a["is_training"], **attrs)
        kept.append(saved)
        outputs.append(y)
        states.append((h_n, c_n))
        inputs.append(y * masks[layer] if masks is not None and layer + 1 < len(weights) else y)
    results = {
        "output": store(outputs[-1]),
        "output_h": store(np.concatenate([h for h, _ in states])),
        "output_c": store(np.concatenate([c for _, c in states])) if lstm else np.zeros(0),
    }
    if not a["is_training"]:
        return results

    dparams = np.full_like(params, np.nan)
    dweights = parameter_views(dparams, a, skip)
    dy, dh_n = load("output_backprop"), load("output_h_backprop")
    dc_n = load("output_c_backprop") if lstm else None
    dh0, dc0 = [], []
    for layer in reversed(range(len(weights))):
        mine = slice(layer * D, (layer + 1) * D)
        c, dc = (None, None) if c0 is None or dc_n is None else (c0[mine], dc_n[mine])
        if masks is not None and layer + 1 < len(weights):
            dy = dy * masks[layer]
        dy, dh, dc, found = rnn_sequence_grad(
            inputs[layer], h0[mine], c, weights[layer], kept[layer], outputs[layer], dy, dh_n[mine], dc, **attrs
        )
        for to, parts in zip(dweights[layer], found, strict=True):
            for place, value in zip(to, parts, strict=True):
                if value is not None:
                    place[...] = value
        dh0.insert(0, dh)
        dc0.insert(0, dc)
    return results | {
        "input_backprop": store(dy),
        "input_h_backprop": store(np.concatenate(dh0)),
        "input_c_backprop": store(np.concatenate(dc0)) if lstm else np.zeros(0),
        "params_backprop": dparams,
    }


CASES = [
    pytest.param(path, id=path.stem)
    for path in sorted(GOLDEN.glob("*.npz"))
    if not path.stem.startswith(("canonical_", "params_size"))
]


def test_golden_cases_are_there():
    assert len(CASES) > 60


@pytest.mark.parametrize("path", CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 3e-5)])
def test_layers_match_stored_torch_values(path, dtype, tolerance):
    with np.load(path) as file:
        stored = {name: file[name] for name in file.files}
    attributes = json.loads(str(stored.pop("attributes")))
    results = run_layers(stored, attributes, np.dtype(dtype))
    for name in results:
        assert results[name].dtype == dtype or results[name].size == 0
        assert_within(name, results[name], stored[name], tolerance)
