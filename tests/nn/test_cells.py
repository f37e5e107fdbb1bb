"""RNNCell, GRUCell and LSTMCell are torch's: values, gradients, layouts, order of draws, shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.compare import assert_close
from tests.each import each

GOLDEN = Path(__file__).parents[1] / "golden" / "cells"
B, I, H = 3, 4, 5

CASES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "rnn_tanh": (nn.RNNCell, {}, "RNN"),
    "rnn_relu": (nn.RNNCell, {"nonlinearity": "relu"}, "RNN"),
    "rnn_no_bias": (nn.RNNCell, {"bias": False}, "RNN"),
    "gru": (nn.GRUCell, {}, "GRU"),
    "gru_no_bias": (nn.GRUCell, {"bias": False}, "GRU"),
    "lstm": (nn.LSTMCell, {}, "LSTM"),
    "lstm_no_bias": (nn.LSTMCell, {"bias": False}, "LSTM"),
}
KINDS = [nn.RNNCell, nn.GRUCell, nn.LSTMCell]


def parts(result: Any) -> list[mr.Tensor]:
    """h (and c) of what a cell returned."""
    return list(result) if isinstance(result, tuple) else [result]


def hx(kind: Any, states: Any) -> Any:
    """States as the cell takes them."""
    return tuple(states) if kind is nn.LSTMCell else next(iter(states))


class Stored:
    """A golden file and the cell that it describes."""

    def __init__(self, name: str, dtype: Any, device: str) -> None:
        kind, options, _ = CASES[name]
        with np.load(GOLDEN / f"{name}.npz", allow_pickle=False) as file:
            self.values = {key: file[key] for key in file.files}
        self.kind = kind
        self.cell = kind(I, H, dtype=dtype, device=device, **options)
        self.parameters = self.part("parameter")
        self.cell.load_state_dict(self.parameters)
        self.inputs = {k: mr.tensor(a, True, device, dtype) for k, a in self.part("input").items()}
        self.x, *self.states = self.inputs.values()

    def part(self, kind: str) -> dict[str, np.ndarray]:
        return {key.removeprefix(f"{kind} "): a for key, a in self.values.items() if key.startswith(f"{kind} ")}


@each("name", CASES)
@each("dtype", ["float64", "float32", "float16"])
def test_values_and_gradients_are_those_that_torch_gave(name: str, dtype: str, device: str) -> None:
    stored = Stored(name, dtype, device)
    outputs = parts(stored.cell(stored.x, hx(stored.kind, stored.states)))
    wanted = [*stored.inputs.values(), *stored.cell.parameters()]
    cotangents = [mr.tensor(g, device=device, dtype=dtype) for g in stored.part("cotangent").values()]
    found = mr.grad(outputs, wanted, cotangents)
    # float32 and float16: inputs, weights and each result are rounded
    tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-2}[dtype]
    for got, (part, expected) in zip(outputs, stored.part("output").items(), strict=True):
        assert_close(got, expected, tolerance, "roundings of inputs and results", what=part)
    for got, (part, expected) in zip(found, stored.part("gradient").items(), strict=True):
        assert_close(got, expected, tolerance, "roundings of inputs and results", what=f"gradient of {part}")
        assert got.dtype == dtype


@each("name", CASES)
def test_states_are_zeros_by_default_and_a_row_needs_no_batch_axis(name: str, device: str) -> None:
    stored = Stored(name, "float64", device)
    for got, expected in zip(parts(stored.cell(stored.x)), stored.part("from zeros").values(), strict=True):
        assert_close(got, expected)
    row = stored.cell(stored.x[1], hx(stored.kind, [s[1] for s in stored.states]))
    for got, expected in zip(parts(row), stored.part("of row 1").values(), strict=True):
        assert_close(got, expected)
    for got, expected in zip(parts(stored.cell(stored.x[1])), stored.part("from zeros").values(), strict=True):
        assert_close(got, expected[1])
    again = Stored(name, "float64", device)
    for g in mr.grad(parts(again.cell(again.x[1]))[0].sum(), [again.x, *again.cell.parameters()]):
        assert np.isfinite(g.numpy()).all()


@pytest.mark.parametrize("name", CASES)
def test_parameters_have_torchs_names_layout_order_of_draws_and_bound(name: str) -> None:
    kind, options, _ = CASES[name]
    stored = Stored(name, "float64", "cpu")
    wide = 40  # so that the largest of many draws comes near the bound
    mr.manual_seed(5)
    cell = kind(I, wide, dtype="float64", **options)
    mr.manual_seed(5)
    bound = 1 / np.sqrt(wide)
    assert [n for n, _ in cell.named_parameters()] == list(stored.parameters)
    for parameter, expected in zip(cell.parameters(), stored.parameters.values(), strict=True):
        shape = tuple({I: I, H: wide}.get(n, n * wide // H) for n in expected.shape)
        assert parameter.shape == shape
        drawn = mr.random.generator().uniform(-bound, bound, shape)
        np.testing.assert_array_equal(parameter.numpy(), drawn)
    assert np.abs(cell.weight_hh.numpy()).max() > 0.95 * bound


@each("name", CASES)
def test_a_cell_is_a_step_of_its_layer(name: str, device: str, rng: np.random.Generator) -> None:
    kind, options, layer = CASES[name]
    cell = kind(I, H, dtype="float64", device=device, **options)
    sequence = getattr(nn, layer)(I, H, dtype="float64", device=device, **options)
    sequence.load_state_dict({f"{key}_l0": value for key, value in cell.state_dict().items()})
    x = rng.normal(size=(4, B, I))
    state: Any = None
    outputs = []
    for t in range(4):
        state = cell(x[t], state)
        outputs.append(parts(state)[0].numpy())
    output, last = sequence(x)
    assert_close(np.stack(outputs), output.numpy())
    for got, expected in zip(parts(state), parts(last), strict=True):
        assert_close(got, expected.numpy()[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_one_node_of_the_tape(kind: Any, device: str) -> None:
    cell = kind(I, H, device=device)
    h = parts(cell(np.ones((B, I), "f4")))[0]
    node = h.parents[0]
    assert node.op.name == "RecurrentStep"
    assert all(parent.is_leaf for parent in node.parents)
    assert [p for p in node.parents if p.requires_grad] == list(cell.parameters())
    with mr.no_grad():
        assert parts(cell(np.ones((B, I), "f4")))[0].op is None


def test_forget_bias_is_the_sum_of_both_biases_also_after_a_reset() -> None:
    cell = nn.LSTMCell(I, H, forget_bias=1.5)
    for _ in range(2):
        bias_ih, bias_hh = cell.bias_ih.numpy(), cell.bias_hh.numpy()  # type: ignore[union-attr]
        assert (bias_ih[H : 2 * H] == 1.5).all()
        assert (bias_hh[H : 2 * H] == 0).all()
        rest = np.concatenate([np.delete(b, np.s_[H : 2 * H]) for b in (bias_ih, bias_hh)])
        assert (np.abs(rest) <= 1 / np.sqrt(H)).all()
        assert (rest != 0).all()
        cell.reset_parameters()
