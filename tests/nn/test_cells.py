"""RNNCell, GRUCell and LSTMCell are steps of their layers, whose stored values are torch's: layouts, draws, shapes."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.compare import assert_close
from tests.each import each

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


@each("name", CASES)
def test_states_are_zeros_by_default_and_a_row_needs_no_batch_axis(
    name: str, device: str, rng: np.random.Generator
) -> None:
    kind, options, _ = CASES[name]
    cell = kind(I, H, dtype="float64", device=device, **options)
    x, *states = (rng.normal(size=(B, n)) for n in (I, H, H)[: 3 if kind is nn.LSTMCell else 2])
    zeros = [0 * s for s in states]
    for rows, row in (((x,), (x[1],)), ((x, hx(kind, states)), (x[1], hx(kind, [s[1] for s in states])))):
        for got, expected in zip(parts(cell(*row)), parts(cell(*rows)), strict=True):
            assert_close(got, expected.numpy()[1])
    for got, expected in zip(parts(cell(x)), parts(cell(x, hx(kind, zeros))), strict=True):
        assert_close(got, expected)
    for g in mr.grad(parts(cell(x[1]))[0].sum(), list(cell.parameters())):
        assert np.isfinite(g.numpy()).all()


@pytest.mark.parametrize("name", CASES)
def test_parameters_have_torchs_names_layout_order_of_draws_and_bound(name: str) -> None:
    kind, options, layer = CASES[name]
    of_layer = getattr(nn, layer)(I, 1, **options).state_dict()
    wide = 40  # so that the largest of many draws comes near the bound
    mr.manual_seed(5)
    cell = kind(I, wide, dtype="float64", **options)
    mr.manual_seed(5)
    bound = 1 / np.sqrt(wide)
    assert [f"{n}_l0" for n, _ in cell.named_parameters()] == list(of_layer)
    for (key, parameter), one in zip(cell.named_parameters(), of_layer.values(), strict=True):
        gates = len(one) * wide
        shape = {"weight_ih": (gates, I), "weight_hh": (gates, wide)}.get(key, (gates,))
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
