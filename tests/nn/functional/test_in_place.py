"""``inplace=True`` of activations and dropout works as in torch.

Tests `minirnn/nn/functional/arguments.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.nn import functional as F

NAMES = ("relu", "relu6", "hardtanh", "leaky_relu", "elu", "silu")
MODULES = (nn.ReLU, nn.ReLU6, nn.Hardtanh, nn.LeakyReLU, nn.ELU, nn.SiLU)


@pytest.mark.parametrize(("name", "module"), [*zip(NAMES, MODULES, strict=True)], ids=NAMES)
def test_the_input_becomes_the_result_and_gradients_are_those_of_the_function(
    name: str, module: Any, rng: np.random.Generator
) -> None:
    a, dy = rng.normal(size=(2, 3, 4))
    function = getattr(F, name)
    for call in (lambda h: function(h, inplace=True), module(inplace=True)):
        x = mr.tensor(a, requires_grad=True)
        h = 2 * x
        y = call(h)
        assert y is h
        np.testing.assert_array_equal(y.numpy(), function(mr.tensor(2 * a)).numpy())
        other = mr.tensor(a, requires_grad=True)
        (expected,) = (mr.grad(function(2 * other), other, dy),)
        np.testing.assert_array_equal(mr.grad(y, x, dy).numpy(), expected.numpy())
    assert "inplace=True" in repr(module(inplace=True)) and "inplace" not in repr(module())


def test_dropout_writes_into_its_input(rng: np.random.Generator) -> None:
    x = mr.tensor(rng.normal(size=(5, 7)), requires_grad=True)
    h = x + 0.0
    mr.manual_seed(3)
    y = nn.Dropout(0.4, inplace=True)(h)
    assert y is h
    mr.manual_seed(3)
    np.testing.assert_array_equal(y.numpy(), F.dropout(x, 0.4).numpy())
    kept = y.numpy() != 0
    np.testing.assert_allclose(mr.grad(y.sum(), x).numpy(), kept / 0.6)


@pytest.mark.parametrize("name", [*NAMES, "dropout"])
def test_a_leaf_that_requires_gradients_is_not_written_into(name: str) -> None:
    x = mr.tensor([1.0, -2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(F, name)(x, inplace=True)
    with mr.no_grad():
        getattr(F, name)(x, inplace=True)
