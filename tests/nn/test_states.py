"""The state of an LSTM is read by its names, never by the order of a pair that has names; cells name an exchange."""

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.each import each

T, B, I, H = 4, 2, 3, 5


def close(ours: Any, theirs: Any) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_lstm_returns_a_named_state_that_unpacks_as_torchs_pair(rng: np.random.Generator, device: str) -> None:
    lstm = nn.LSTM(I, H, 2, proj_size=4, dtype="f8", device=device)
    output, (h_n, c_n) = lstm(rng.normal(size=(T, B, I)))
    assert (output.shape, h_n.shape, c_n.shape) == ((T, B, 4), (2, B, 4), (2, B, H))
    output, state = lstm(rng.normal(size=(T, B, I)))
    assert isinstance(state, nn.LSTMHidden)
    assert state._fields == ("h", "c")
    np.testing.assert_array_equal(state.h.numpy()[1], output.numpy()[-1])
    assert state[0] is state.h and state[1] is state.c


@each("fields", ["c h", "h c", "h_0 c_0", "c_n h_n", "cs h", "hx cx"])
def test_a_named_state_is_read_by_its_names_whatever_their_order(
    fields: str, rng: np.random.Generator, device: str
) -> None:
    h, c = (rng.normal(size=(1, B, H)) for _ in range(2))
    named = namedtuple("named", fields)  # type: ignore[misc]
    parts = {name: h if name.startswith("h") else c for name in fields.split()}

    lstm, x = nn.LSTM(I, H, dtype="f8", device=device), rng.normal(size=(T, B, I))
    expected, state = lstm(x, (h, c))
    found, last = lstm(x, named(**parts))
    close([found, *last], [expected, *state])
    assert np.abs(found.numpy() - lstm(x, (c, h))[0].numpy()).max() > 1e-3

    rows = named(**{name: part[0] for name, part in parts.items()})
    block = nn.LSTMBlockCell(H, I, dtype="f8", device=device)
    fused = nn.LSTMBlockFusedCell(H, I, dtype="f8", device=device)
    lstm_cell = nn.LSTMCell(I, H, dtype="f8", device=device)
    close(lstm_cell(x[0], rows), lstm_cell(x[0], (h[0], c[0])))
    for module, data in ((block, x[0]), (fused, x)):
        expected, state = module(data, (c[0], h[0]))  # TensorFlow's order
        found, last = module(data, rows)
        assert isinstance(last, nn.LSTMState)
        close([found, *last], [expected, *state])


def test_states_go_from_one_kind_of_lstm_to_the_other(rng: np.random.Generator) -> None:
    lstm, cell = nn.LSTM(I, H, dtype="f8"), nn.LSTMBlockCell(H, I, dtype="f8")
    _, state = lstm(rng.normal(size=(T, B, I)))
    with pytest.raises(ValueError, match="likely the state of nn.LSTM"):
        cell(rng.normal(size=(B, I)), state)
    first = nn.LSTMHidden(state.h[0], state.c[0])
    x = rng.normal(size=(B, I))
    close(cell(x, first)[1], cell(x, nn.LSTMState(c=state.c[0], h=state.h[0]))[1])


def test_a_part_of_a_state_may_be_missing_and_is_then_zero(rng: np.random.Generator) -> None:
    lstm, x, h = nn.LSTM(I, H, dtype="f8"), rng.normal(size=(T, B, I)), rng.normal(size=(1, B, H))
    close(lstm(x, nn.LSTMState(None, h))[1], lstm(x, (h, np.zeros((1, B, H))))[1])  # type: ignore[arg-type]


MAKERS = [nn.RNN, nn.GRU, nn.LSTM, nn.RNNCell, nn.GRUCell, nn.LSTMCell]


@pytest.mark.parametrize("make", MAKERS)
def test_arrays_follow_the_parameters_to_their_device_and_tensors_must_be_there(
    make: Any, composed_device: str
) -> None:
    module = make(I, H, device=composed_device)
    layer = make in MAKERS[:3]
    x = np.ones((T, B, I) if layer else (B, I), "f4")
    state: Any = np.zeros((1, B, H) if layer else (B, H), "f4")
    two = make in (nn.LSTM, nn.LSTMCell)
    found = module(x, (state, state) if two else state)
    first = found[0] if layer or two else found
    assert first.device == composed_device
    with pytest.raises(ValueError, match="input is on cpu, the parameters are on cpu-composed\n  expected one device"):
        module(mr.tensor(x))
    there = mr.tensor(x, device=composed_device)
    with pytest.raises(ValueError, match="(hx|h|h_0) is on cpu, the parameters are on cpu-composed"):
        module(there, (mr.tensor(state), mr.tensor(state)) if two else mr.tensor(state))


# ---- forget_bias


@pytest.mark.parametrize("value", [1.0, -0.5, 0])
def test_forget_bias_is_the_sum_of_both_biases_at_the_start_and_nothing_else(value: float, device: str) -> None:
    options: dict[str, Any] = {"num_layers": 2, "bidirectional": True, "dtype": "f8", "device": device}
    mr.manual_seed(3)
    plain = nn.LSTM(I, H, **options)
    mr.manual_seed(3)
    lstm = nn.LSTM(I, H, **options, forget_bias=value)
    assert plain.state_dict().keys() == lstm.state_dict().keys()
    for name, p in lstm.named_parameters():
        expected = plain.state_dict()[name]
        if name.startswith("bias"):
            expected[H : 2 * H] = value if name.startswith("bias_ih") else 0
        np.testing.assert_array_equal(p.numpy(), expected, err_msg=name)
    assert f"forget_bias={value}" in repr(lstm)
    assert "forget_bias" not in repr(plain)
