"""Activations as modules: each is the function of its name, with its options. Stored values are torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.each import each
from tests.nn.functional.stored import assert_is_stored, case, cases, inputs_of

MODULES: dict[str, Any] = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "hardtanh": nn.Hardtanh,
    "sigmoid": nn.Sigmoid,
    "logsigmoid": nn.LogSigmoid,
    "tanh": nn.Tanh,
    "silu": nn.SiLU,
    "gelu": nn.GELU,
    "softplus": nn.Softplus,
    "glu": nn.GLU,
    "softmax": nn.Softmax,
    "log_softmax": nn.LogSoftmax,
    "softmin": nn.Softmin,
}
STORED = cases(*MODULES)


@each(("function", "name"), STORED, ids=["-".join(c) for c in STORED])
def test_a_module_hands_all_its_options_on(function: str, name: str) -> None:
    stored = case(function, name)
    inputs = inputs_of(stored, "cpu")
    assert_is_stored(MODULES[function](**stored["said"])(**inputs), inputs, stored)


@pytest.mark.parametrize("module", [nn.Softmax, nn.LogSoftmax, nn.Softmin])
def test_the_axis_must_be_named_once(module: Any) -> None:
    assert module(axis=-1).dim == -1
    assert repr(module(1)) == f"{module.__name__}(dim=1)"
    with pytest.raises(TypeError, match=f"{module.__name__}: dim is None\n  expected the axis"):
        module()
    with pytest.raises(TypeError, match=f"{module.__name__}: got dim=0 and axis=1"):
        module(0, axis=1)


def test_they_show_their_settings() -> None:
    shown = [
        (nn.ReLU(), "ReLU()"),
        (nn.LeakyReLU(0.2), "LeakyReLU(negative_slope=0.2)"),
        (nn.ELU(), "ELU(alpha=1.0)"),
        (nn.Hardtanh(0, 2), "Hardtanh(min_val=0.0, max_val=2.0)"),
        (nn.GELU("tanh"), "GELU(approximate='tanh')"),
        (nn.Softplus(2), "Softplus(beta=2.0, threshold=20.0)"),
        (nn.GLU(), "GLU(dim=-1)"),
    ]
    for module, text in shown:
        assert repr(module) == text
        assert module(mr.tensor(np.zeros((2, 2)))).shape[0] == 2
        assert not list(module.parameters())
