"""Embedding, against torch."""

from __future__ import annotations

import numpy as np
import pytest

from minirnn import nn
from tests.nn.torch_twin import gradients, torch_twin


def test_embedding_equals_torch_where_an_id_comes_twice(device: str, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    module = nn.Embedding(7, 3, device=device, dtype=np.float64)
    twin = torch.nn.Embedding(7, 3, dtype=torch.float64)
    torch_twin(torch, module, twin)
    ids = np.array([[1, 5, 1, 0], [6, 1, 2, 5]])
    dy = rng.normal(size=(2, 4, 3))
    y, expected = module(ids), twin(torch.tensor(ids))
    expected.backward(torch.tensor(dy))
    np.testing.assert_array_equal(y, expected.detach())
    np.testing.assert_allclose(gradients(y, dy, [module.weight])[0], twin.weight.grad, rtol=0, atol=1e-15)
