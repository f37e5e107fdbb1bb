"""Each layer of a network is its own node: hooks change no bit, and gradients come from the top down.

Tests `minirnn/nn/recurrent.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.each import each

T, B, I, H, L = 3, 2, 3, 4, 2
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "rnn": (mr.nn.RNN, {}),
    "gru, both directions, dropout": (mr.nn.GRU, {"bidirectional": True, "dropout": 0.4}),
    "lstm, projection, variational": (mr.nn.LSTM, {"proj_size": 2, "dropout": 0.4, "variational": True}),
    "lstm, no bias": (mr.nn.LSTM, {"bias": False, "batch_first": True}),
    "lstm, weights dropped, zoneout": (mr.nn.LSTM, {"weight_dropout": 0.5, "zoneout": (0.2, 0.3), "dropout": 0.1}),
}


def passes(layer: Any, x: np.ndarray, states: Any, dy: list[np.ndarray], lengths: Any) -> list[np.ndarray]:
    """All outputs and gradients of a call."""
    mr.manual_seed(7)  # the same masks each time
    layer.zero_grad()
    inputs = [mr.tensor(a, requires_grad=True, device=layer.weight_ih_l0.device) for a in (x, *states)]
    hx = inputs[1] if len(states) == 1 else tuple(inputs[1:])
    y, last = layer(inputs[0], hx, lengths=lengths)
    outputs = [y, *([last] if len(states) == 1 else last)]
    total = sum(
        ((t * g).sum() for t, g in zip(outputs, dy, strict=True)), mr.tensor(0.0, dtype=y.dtype, device=y.device)
    )
    total.backward()
    return [t.numpy() for t in outputs] + [t.grad.numpy() for t in (*inputs, *layer.parameters())]


@each("lengths", [None, [2, 3]], ids=["whole", "lengths"])
@each("kind", KINDS)
def test_hooks_change_no_bit(device: str, rng: np.random.Generator, kind: str, lengths: Any) -> None:
    make, options = KINDS[kind]
    layer = make(I, H, L, device=device, **options)
    net = layer.net
    x = rng.standard_normal((B, T, I) if layer.batch_first else (T, B, I)).astype(np.float32)
    widths = (net.P, net.H) if make is mr.nn.LSTM else (net.P,)
    states = [rng.standard_normal((L * net.D, B, width)).astype(np.float32) for width in widths]
    dy = [rng.standard_normal((*x.shape[:2], net.D * net.P)).astype(np.float32)]
    dy += [rng.standard_normal(s.shape).astype(np.float32) for s in states]
    whole = passes(layer, x, states, dy, lengths)
    layer.weight_hh_l1.register_hook(lambda g: None)
    for a, b in zip(passes(layer, x, states, dy, lengths), whole, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_hooks_of_a_layer_run_before_the_layers_below_are_computed(rng: np.random.Generator) -> None:
    layer = mr.nn.LSTM(I, H, L)
    order: list[str] = []
    for name, p in layer.named_parameters():
        p.register_hook(lambda g, name=name: order.append(name))
    kernel = layer.weight_ih_l0.device.cell_sequence_grad

    def seen(*args: Any, **kwargs: Any) -> Any:
        order.append("a layer")
        return kernel(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(layer.weight_ih_l0.device), "cell_sequence_grad", staticmethod(seen))
        y, _ = layer(mr.tensor(rng.standard_normal((T, B, I)).astype(np.float32)))
        y.sum().backward()
    layers = [name if name == "a layer" else name[-2:] for name in order]
    assert layers == [what for k in ("l1", "l0") for what in ("a layer", k, k, k, k)]
