"""A layer that is opened computes what the layer computes, with names.

Tests `minirnn/nn/microscope.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, nn, sigmoid, tanh
from minirnn.nn.microscope import opened
from minirnn.nn.own.file import cell_in
from tests.cells.with_torch import GALLERY as CELLS

T, B, I, H = 6, 3, 4, 5


@cell(states=("c", "h"))
def masked(z_f, z_n, c, h, mask_keep=0.25):
    f = sigmoid(z_f)
    c = f * c + (1 - f) * tanh(z_n)
    h = mask_keep * h + (1 - mask_keep) * tanh(c)
    return c, h


@cell(states=("c",), output="h")
def reads_its_output(z_f, x_n, c):
    f = sigmoid(z_f)
    c = f * c + (1 - f) * tanh(x_n)
    h = f * c
    return c, h


BOTH = {"num_layers": 2, "bidirectional": True}
LAYERS: dict[str, Callable[..., Any]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "rnn": nn.RNN,
    "relu": lambda *sizes, **more: nn.RNN(*sizes, nonlinearity="relu", **more),
    "lstm, projected": lambda *sizes, **more: nn.LSTM(*sizes, proj_size=2, **more),
    "lstm, zoneout": lambda *sizes, **more: nn.LSTM(*sizes, zoneout=(0.3, 0.1), **more),
    "own lstm, projected": lambda *sizes, **more: cell_in(f"{CELLS / 'lstm.py'}:lstm").layer(
        *sizes, proj_size=2, **more
    ),
    "masked": masked.layer,
    "reads its output": reads_its_output.layer,
    **{path.stem: cell_in(str(path)).layer for path in sorted(CELLS.glob("*.py"))},
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("more", [{}, BOTH], ids=["one", "both ways"])
def test_a_trace_has_the_outputs_states_and_gradients_of_the_layer(
    name: str, more: dict[str, Any], rng: np.random.Generator
) -> None:
    layer = LAYERS[name](I, H, dtype=np.float64, **more).eval()
    one = opened(layer)
    x = mr.tensor(rng.normal(size=(T, B, I)), requires_grad=True)
    sizes = [t.shape for t in one.zeros(B)]
    values = [np.abs(rng.normal(size=size)) + 0.5 if name == "slstm" else rng.normal(size=size) for size in sizes]
    state = [mr.tensor(value, requires_grad=True) for value in values]  # slstm divides by a state
    y, last = one.run(x, state)
    seen = one.trace(mr.ops.unbind(x), state)
    together = mr.ops.stack(seen.output)
    np.testing.assert_allclose(together, y, rtol=0, atol=1e-13)
    for a, b in zip(seen.state, last, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)
    wanted = [x, *state, *layer.parameters()]
    dy = rng.normal(size=y.shape)
    dlast = [rng.normal(size=t.shape) for t in last]
    for a, b in zip(
        mr.grad([together, *seen.state], wanted, [dy, *dlast]),
        mr.grad([y, *last], wanted, [dy, *dlast]),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_gates_have_the_names_of_the_function_and_lie_within_their_limits(rng: np.random.Generator) -> None:
    x = [mr.tensor(rng.normal(size=(B, I)) * 4) for _ in range(T)]
    names = {}
    for name, make in LAYERS.items():
        one = opened(make(I, H, dtype=np.float64))
        names[name] = one.gates
        seen = one.trace(x, one.zeros(B))
        for step in seen.steps[0]:
            assert list(step.gates) == one.gates
            for n, value in {**step.gates, **step.states}.items():
                low, high = one.limits.get(n) or (-np.inf, np.inf)
                assert low <= value.numpy().min() and value.numpy().max() <= high, (name, n)
    assert names["mgu"] == ["f", "n"] and names["peephole_lstm"] == ["i", "f", "n", "o"]
    assert names["lstm, projected"] == ["i", "f", "n", "o"] and names["rnn"] == []
    assert names["indrnn"] == [] and names["masked"] == ["f"]


def test_the_memory_is_the_state_that_is_not_the_output() -> None:
    assert [opened(LAYERS[n](I, H)).memory for n in ("lstm", "gru", "mgu", "slstm", "sru")] == ["c", "h", "h", "c", "c"]


def test_what_is_no_recurrent_layer_is_refused() -> None:
    with pytest.raises(TypeError, match="opened: got a Linear\n  expected an nn.LSTM, nn.GRU, nn.RNN or a layer"):
        opened(nn.Linear(I, H))
