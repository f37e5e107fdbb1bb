"""Linear, against the formula; the stored values of torch are in `functional/test_stored.py`."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.nn.gradients import gradients


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
def test_linear_refuses_another_dtype(dtype: str, device: str) -> None:
    layer = nn.Linear(3, 5, device=device)
    with pytest.raises(TypeError, match=f"Linear: x has dtype {dtype}, the parameters have float32\n  expected one"):
        layer(mr.tensor(np.ones((2, 3)), device=device, dtype=dtype))
    assert layer([[1.0, 2.0, 3.0]]).dtype == np.float32


def test_a_linear_layer_equals_the_formula(device: str, rng: np.random.Generator) -> None:
    layer = nn.Linear(3, 5, device=device, dtype=np.float64)
    x, dy = rng.normal(size=(7, 4, 3)), rng.normal(size=(7, 4, 5))
    w, b = layer.weight.numpy(), layer.bias.numpy()
    t = mr.tensor(x, requires_grad=True, device=device)
    y = layer(t)
    np.testing.assert_allclose(y, np.einsum("tbi,oi->tbo", x, w) + b, rtol=0, atol=1e-14)
    expected = np.einsum("tbo,oi->tbi", dy, w), np.einsum("tbo,tbi->oi", dy, x), dy.sum((0, 1))
    for ours, theirs in zip(gradients(y, dy, [t, *layer.parameters()]), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


def test_without_a_bias_it_is_the_product_alone_also_of_one_row_and_of_none(rng: np.random.Generator) -> None:
    layer = nn.Linear(3, 5, bias=False, dtype=np.float64)
    assert layer.bias is None and list(layer.state_dict()) == ["weight"]
    for shape in ((3,), (0, 3), (2, 4, 3)):
        x = rng.normal(size=shape)
        np.testing.assert_allclose(layer(x), x @ layer.weight.numpy().T, rtol=0, atol=1e-14)
