"""Linear, against torch."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.nn.torch_twin import gradients, torch_twin


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (7, 4, 3), (0, 3)])
def test_linear_equals_torch_in_values_and_gradients(
    bias: bool, shape: tuple[int, ...], device: str, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    module = nn.Linear(3, 5, bias=bias, device=device, dtype=np.float64)
    twin = torch.nn.Linear(3, 5, bias=bias, dtype=torch.float64)
    torch_twin(torch, module, twin)
    x, dy = rng.normal(size=shape), rng.normal(size=(*shape[:-1], 5))

    tx = torch.tensor(x, requires_grad=True)
    twin(tx).backward(torch.tensor(dy))
    t = mr.tensor(x, requires_grad=True, device=device)
    y = module(t)

    np.testing.assert_allclose(y, twin(tx).detach(), rtol=0, atol=1e-14)
    theirs = [tx.grad, *[p.grad for p in twin.parameters()]]
    for ours, expected in zip(gradients(y, dy, [t, *module.parameters()]), theirs, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(), (5,), (3, 2), (2, 3, 4)])
def test_linear_names_the_axis_it_expects(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"Linear: x has shape .*\n  expected \(\.\.\., I\) with I = 3"):
        nn.Linear(3, 5)(np.zeros(shape, np.float32))
