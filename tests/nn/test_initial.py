"""Initial values of all layers: one seed, every dtype, the documented bounds; and invalid sizes."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.each import each

LAYERS = {
    "Linear": lambda **kw: nn.Linear(3, 5, **kw),
    "Linear without bias": lambda **kw: nn.Linear(3, 5, bias=False, **kw),
    "Embedding": lambda **kw: nn.Embedding(7, 3, **kw),
    "RNNCell": lambda **kw: nn.RNNCell(3, 5, **kw),
    "GRUCell": lambda **kw: nn.GRUCell(3, 5, **kw),
    "LSTMCell": lambda **kw: nn.LSTMCell(3, 5, **kw),
    "LSTM": lambda **kw: nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2, **kw),
    "GRU without bias": lambda **kw: nn.GRU(3, 5, bidirectional=True, bias=False, **kw),
    "LSTMBlockCell": lambda **kw: nn.LSTMBlockCell(5, 3, use_peephole=True, **kw),
    "LSTMBlockFusedCell": lambda **kw: nn.LSTMBlockFusedCell(5, 3, use_peephole=True, **kw),
    "GRUBlockCell": lambda **kw: nn.GRUBlockCell(5, 3, **kw),
}


@each("name", LAYERS)
def test_one_seed_gives_the_same_values_in_every_dtype_and_again_after_a_reset(name: str, device: str) -> None:
    states = []
    for dtype in (np.float32, np.float64):
        mr.manual_seed(11)
        module = LAYERS[name](device=device, dtype=dtype)
        first, after, objects = module.state_dict(), mr.random.generator().random(), list(module.parameters())
        assert all(p.dtype == dtype and p.device == device for p in objects)
        for p in objects:
            p.assign(np.full(p.shape, 9.0))
        mr.manual_seed(11)
        module.reset_parameters()
        assert mr.random.generator().random() == after
        assert all(p is q for p, q in zip(module.parameters(), objects, strict=True))
        for key, value in module.state_dict().items():
            np.testing.assert_array_equal(value, first[key], err_msg=key)
        states.append(first)
    other = LAYERS[name]().state_dict()
    for key, value in states[1].items():
        np.testing.assert_array_equal(states[0][key], value.astype(np.float32))
        constant = np.ptp(value) == 0
        assert constant or not np.array_equal(other[key], states[0][key]), key


def test_initial_values_lie_within_the_documented_bounds_and_fill_them() -> None:
    mr.manual_seed(0)
    lstm, gru = nn.LSTMBlockCell(40, 30, use_peephole=True), nn.GRUBlockCell(40, 30)
    linear, rnn = nn.Linear(300, 40), nn.RNNCell(30, 400)
    for values, bound in [
        (lstm.w, np.sqrt(6 / (70 + 160))),
        (lstm.wci, np.sqrt(6 / 80)),
        (gru.w_ru, np.sqrt(6 / (70 + 80))),
        (gru.w_c, np.sqrt(6 / (70 + 40))),
        (linear.weight, 1 / np.sqrt(300)),
        (linear.bias, 1 / np.sqrt(300)),
        (rnn.weight_hh, 1 / np.sqrt(400)),
    ]:
        largest = np.abs(values.numpy()).max()
        assert 0.9 * bound < largest <= bound * (1 + 1e-6)
    assert (gru.b_ru.numpy() == 1).all()
    assert (gru.b_c.numpy() == 0).all()
    assert (lstm.b.numpy() == 0).all()


def test_sizes_that_no_memory_holds_are_refused() -> None:
    for number in (2**62, 2**63, 10**30):
        with pytest.raises(ValueError, match="in_features is .*\n  expected .* few enough to fit into memory"):
            nn.Linear(number, 1)
    with pytest.raises(ValueError, match="takes .* bytes to draw"):
        nn.Linear(2**62 - 1, 1)
    assert nn.Linear(1, 1).weight.shape == (1, 1)
