"""`look_inside` finds the layers of a model, and its norms are those of the fused layers.

Tests `minirnn/viz/inside.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, viz
from minirnn.viz.inside import blocked

T, B, V, H = 6, 2, 7, 5


class Model(nn.Module):
    """Two layers in both directions, under a GRU that a Sequential hides."""

    def __init__(self) -> None:
        self.embedding = nn.Embedding(V, 3)
        self.encoder = nn.LSTM(3, H, 2, bidirectional=True, dtype=np.float32)
        self.top = nn.Sequential(nn.GRU(2 * H, 4))
        self.dropout = nn.Dropout(0.5)

    def forward(self, ids: Any) -> Any:
        return self.top(self.dropout(self.encoder(self.embedding(ids))[0]))[0]


def test_every_layer_and_direction_of_a_model_is_found(rng: np.random.Generator) -> None:
    model = Model()
    model.top.eval()
    picture = viz.look_inside(model, rng.integers(0, V, (T, B)))
    parts = ["encoder.0", "encoder.0 reverse", "encoder.1", "encoder.1 reverse", "top.0.0"]
    assert [name for name in picture.data if ": " not in name] == parts
    assert [name for name in picture.data if name.startswith("top")] == ["top.0.0", *(f"top.0.0: {n}" for n in "rzn")]
    assert all(picture.data[name].shape == (T,) for name in parts) and picture.ax.shape == (2,)
    assert model.training and model.dropout.training and not model.top.training  # as before


@pytest.mark.parametrize("reverse", [False, True])
def test_the_norms_are_gradients_of_the_fused_layer(reverse: bool, rng: np.random.Generator) -> None:
    layer = nn.LSTM(3, H, bidirectional=True, dtype=np.float64)
    x = rng.normal(size=(T, B, 3))
    norms = viz.look_inside(layer, x).data["LSTM.0 reverse" if reverse else "LSTM.0"]
    one = nn.LSTM(3, H, dtype=np.float64)  # this direction alone
    for name, p in one.named_parameters():
        p.assign(dict(layer.named_parameters())[name + "_reverse" * reverse].numpy())
    x = x[::-1].copy() if reverse else x
    for t in range(1, T + 1):
        _, (h, c) = one(x[:t])
        c_t = mr.tensor(c.numpy(), requires_grad=True)
        h_t = mr.tensor(h.numpy() / np.tanh(c.numpy())) * mr.tanh(c_t)
        last = one(x[t:], (h_t, c_t))[0][-1] if t < T else h_t
        np.testing.assert_allclose(norms[T - t], np.linalg.norm(mr.grad(last.sum(), c_t).numpy()), rtol=1e-9)


def test_a_gate_at_its_steepest_blocks_nothing_and_a_saturated_one_everything() -> None:
    ones = np.ones((3, 2, 4))
    np.testing.assert_allclose(blocked(0.5 * ones, ones, gate=True), [0.5, 0, 0], atol=1e-12)
    mean, closed, share = blocked(0.001 * ones, ones, gate=True)
    assert mean == pytest.approx(0.001) and closed == 1 and share > 0.99
    assert blocked(0 * ones, ones, gate=False)[2] == 0 and blocked(ones, ones, gate=False)[2] == 1
    half = np.stack([0.5 * ones[0], ones[0]])  # 3 of 5 parts of a gradient (3, 4) arrive where the slope is largest
    assert blocked(half, np.stack([3 * ones[0], 4 * ones[0]]), gate=True)[2] == pytest.approx(1 - 3 / 5)


def test_a_network_without_gates_has_one_picture_and_batch_first_is_understood(rng: np.random.Generator) -> None:
    layer = nn.RNN(3, H, batch_first=True, dtype=np.float64)
    x = rng.normal(size=(B, T, 3))
    picture = viz.look_inside(layer, x)
    assert picture.ax.shape == (1,) and list(picture.data) == ["RNN.0"]
    _, h = layer(x[:, :-1])
    state = mr.tensor(h.numpy(), requires_grad=True)
    found = mr.grad(layer(x[:, -1:], state)[0].sum(), state).numpy()
    np.testing.assert_allclose(picture.data["RNN.0"][1], np.linalg.norm(found), rtol=1e-9)


def test_a_packed_sequence_is_refused() -> None:
    packed = nn.utils.rnn.pack_padded_sequence(mr.tensor(np.ones((T, 2, 3), np.float32)), [T, T])
    with pytest.raises(TypeError, match=r"LSTM reads a PackedSequence\n  expected a Tensor"):
        viz.look_inside(nn.LSTM(3, H), packed)
