"""RNNCell, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.nn.torch_twin import gradients, torch_twin


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_rnn_cell_equals_torch_in_values_and_gradients(
    nonlinearity: str, bias: bool, given: bool, device: str, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    B, I, H = 2, 3, 5
    module = nn.RNNCell(I, H, bias, nonlinearity, device=device, dtype=np.float64)
    twin = torch.nn.RNNCell(I, H, bias, nonlinearity, dtype=torch.float64)
    torch_twin(torch, module, twin)
    data = [rng.normal(size=(B, I))] + [rng.normal(size=(B, H))] * given
    dy = rng.normal(size=(B, H))

    theirs = [torch.tensor(a, requires_grad=True) for a in data]
    expected = twin(*theirs)
    expected.backward(torch.tensor(dy))
    ours = [mr.tensor(a, requires_grad=True, device=device) for a in data]
    h = module(*ours)

    np.testing.assert_allclose(h, expected.detach(), rtol=0, atol=1e-14)
    names = dict(twin.named_parameters())
    for g, (name, p) in zip(gradients(h, dy, list(module.parameters())), module.named_parameters(), strict=True):
        assert p.shape == g.shape
        np.testing.assert_allclose(g, names[name].grad, rtol=0, atol=1e-14, err_msg=name)
    for t, tt in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(gradients(module(*ours), dy, [t])[0], tt.grad, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("x", "h", "words"),
    [
        ((2, 4), None, "inputs has shape (2, 4)\n  expected (B, I) = (2, 3)"),
        ((3,), None, "inputs has shape (3,), 1 axis\n  expected (B, I)"),
        ((2, 3), (2, 4), "h_prev has shape (2, 4)\n  expected (B, H) = (2, 5)"),
        ((2, 3), (5,), "h_prev has shape (5,)\n  expected (B, H) = (2, 5)"),
    ],
)
def test_rnn_cell_names_the_argument_and_the_axes(x: Any, h: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        nn.RNNCell(3, 5)(np.zeros(x, np.float32), None if h is None else np.zeros(h, np.float32))
    assert str(caught.value).startswith(f"RNNCell: {words}")
